//! Tokens for Amazon MSK, the managed Kafka whose brokers know identities of AWS (IAM).
//!
//! A token is an address of `kafka.REGION.amazonaws.com` with the action `kafka-cluster:Connect`,
//! signed in its query (Signature Version 4), in base64. A broker takes it by the mechanism
//! OAUTHBEARER. Amazon's own libraries make the same (`aws-msk-iam-sasl-signer-python`,
//! `MSKAuthTokenProvider.py`).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials as Keys;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningParams, SigningSettings, sign};
use aws_sigv4::sign::v4;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use tokio::sync::OnceCell;

use super::chain::{self, Found};
use super::{AwsOptions, WallClock};
use crate::clock;
use crate::transport::auth::Secret;
use crate::transport::error::{BoxError, SetupError};

/// The name of the service in signatures.
const SERVICE: &str = "kafka-cluster";

/// How long a token is valid. It is the longest time that brokers accept.
const VALID_FOR: Duration = Duration::from_secs(900);

/// What makes the tokens, for Amazon's log.
const USER_AGENT: &str = concat!("inrush/", env!("CARGO_PKG_VERSION"));

/// Makes tokens for the brokers of a cluster of Amazon MSK.
pub struct KafkaTokens {
    options: AwsOptions,
    broker: String,
    /// Looked for once, before the first token.
    found: OnceCell<Found>,
    clock: WallClock,
}

/// A token.
#[derive(Clone, Debug)]
pub struct KafkaToken {
    /// The token.
    pub token: Secret,
    /// The end of its time, or of that of temporary credentials, if that is earlier.
    pub expires: SystemTime,
}

impl fmt::Debug for KafkaTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.get();
        f.debug_struct("KafkaTokens")
            .field("options", &self.options)
            .field("broker", &self.broker)
            .field("region", &found.map(|found| &found.region))
            .field("credentials", &found.map(|found| &found.credentials))
            .finish_non_exhaustive()
    }
}

impl KafkaTokens {
    /// Makes tokens for the cluster of the broker with this host name. The first token looks for
    /// the region and the credentials that `options` leave out, as [`AwsOptions`] says. The service
    /// of the options is not used.
    pub fn find(options: &AwsOptions, broker: &str) -> Self {
        KafkaTokens {
            options: options.clone(),
            broker: broker.to_owned(),
            found: OnceCell::new(),
            clock: Arc::new(clock::date),
        }
    }

    /// A new token.
    ///
    /// # Errors
    /// [`SetupError::Credentials`]: where credentials or the region were looked for, what was found
    /// there and what to do.
    pub async fn token(&self) -> Result<KafkaToken, SetupError> {
        let wrong = |error: &dyn fmt::Display| SetupError::Credentials(error.to_string());
        let now = (self.clock)();
        let region = chain::region_of_broker(&self.broker);
        let found = self.found.get_or_try_init(|| chain::find(&self.options, &self.broker, region)).await?;
        let keys = found.credentials.current(now).await.map_err(|error| wrong(&error))?;
        let end = now + VALID_FOR;
        let expires = keys.expiry().map_or(end, |expiry| expiry.min(end));
        let address = signed_address(&found.region, keys, now).map_err(|error| wrong(&error))?;
        Ok(KafkaToken { token: Secret::new(URL_SAFE_NO_PAD.encode(address.as_str())), expires })
    }
}

fn signed_address(region: &str, keys: Keys, now: SystemTime) -> Result<Url, BoxError> {
    let identity = keys.into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(VALID_FOR);
    let params: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(settings)
        .build()?
        .into();
    let host = format!("kafka.{region}.amazonaws.com");
    let mut address = Url::parse_with_params(&format!("https://{host}/"), [("Action", "kafka-cluster:Connect")])?;
    let headers = [("host", host.as_str())];
    let request = SignableRequest::new("GET", address.as_str(), headers.into_iter(), SignableBody::empty())?;
    let (instructions, _) = sign(request, &params)?.into_parts();
    // The signature does not cover the last parameter.
    address.query_pairs_mut().extend_pairs(instructions.params()).append_pair("User-Agent", USER_AGENT);
    Ok(address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::transport::aws::AwsCredentials;

    const KEY: &str = "AKIDEXAMPLE";
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    /// 2026-11-25T08:00:00Z.
    const NOW: u64 = 1_795_593_600;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn tokens_of(credentials: AwsCredentials) -> KafkaTokens {
        let found = Found { region: "eu-west-1".to_owned(), credentials };
        KafkaTokens {
            found: OnceCell::new_with(Some(found)),
            clock: Arc::new(now),
            ..KafkaTokens::find(&AwsOptions::default(), "broker")
        }
    }

    /// The address in a token, without its query, and the query.
    fn taken_apart(token: &str) -> (String, BTreeMap<String, String>) {
        let address = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        assert!(address.is_ascii(), "{address}");
        let url = Url::parse(&address).unwrap();
        (url[..url::Position::BeforeQuery].to_owned(), url.query_pairs().into_owned().collect())
    }

    /// Amazon's `aws-msk-iam-sasl-signer-python` 1.0.2 with botocore 1.43.11 made these for the
    /// same keys at the same moment.
    #[tokio::test]
    async fn tokens_are_those_of_amazon() {
        let plain = "b1fd3258609dafbce6d084b5b69a6172f92a86cc2f0a4b05cf020ddae669294a";
        let with_session = "f7ae6186d8ea09ba76a164ad362aebcddea9f5dc727c024b4646ebb390cebb0f";
        let session = "AQoDYXdz+EXAMPLE/TOKEN==";
        for (session, signature) in [(None, plain), (Some(session), with_session)] {
            let of_session = session.map(Secret::new);
            let keys = AwsCredentials::fixed(KEY, &Secret::new(SECRET), of_session.as_ref());
            let made = tokens_of(keys).token().await.unwrap();
            assert_eq!(made.expires, now() + Duration::from_secs(900));
            let (address, query) = taken_apart(made.token.expose());
            assert_eq!(address, "https://kafka.eu-west-1.amazonaws.com/?");
            let mut expected = BTreeMap::from([
                ("Action", "kafka-cluster:Connect"),
                ("User-Agent", USER_AGENT),
                ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
                ("X-Amz-Credential", "AKIDEXAMPLE/20261125/eu-west-1/kafka-cluster/aws4_request"),
                ("X-Amz-Date", "20261125T080000Z"),
                ("X-Amz-Expires", "900"),
                ("X-Amz-Signature", signature),
                ("X-Amz-SignedHeaders", "host"),
            ]);
            expected.extend(session.map(|session| ("X-Amz-Security-Token", session)));
            let query: BTreeMap<&str, &str> = query.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            assert_eq!(query, expected);
        }
    }

    #[tokio::test]
    async fn a_token_ends_with_the_credentials_that_signed_it() {
        let expiry = now() + Duration::from_secs(400);
        let keys = Keys::new(KEY, SECRET, None, Some(expiry), "test");
        let tokens = tokens_of(AwsCredentials::given(keys));
        assert_eq!(tokens.token().await.unwrap().expires, expiry);
        let shown = format!("{tokens:?} {:?}", tokens.token().await.unwrap());
        assert!(shown.contains(KEY) && !shown.contains(SECRET) && !shown.contains("aHR0c"), "{shown}");
    }
}
