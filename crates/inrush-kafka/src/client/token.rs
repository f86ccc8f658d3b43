//! Tokens for the mechanism OAUTHBEARER.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use inrush_cluster::clock;
use inrush_cluster::transport::aws::KafkaTokens;
use rdkafka::client::OAuthToken;
use serde::Deserialize;

use crate::KafkaOptions;

/// How long a token is used that does not say when it expires. A file is read again then.
const LIFETIME: Duration = Duration::from_secs(300);

/// The claims of a JSON Web Token (RFC 7519) that matter here.
#[derive(Default, Deserialize)]
struct Claims {
    /// Seconds since 1970.
    exp: Option<f64>,
    sub: Option<String>,
}

/// Where tokens come from. librdkafka asks for the next one when four fifths of the time of the
/// last one are over.
pub(crate) enum Tokens {
    /// A file, which another program renews.
    File(PathBuf),
    /// Credentials of AWS.
    Aws(Box<KafkaTokens>),
}

impl Tokens {
    /// `None` where the login has no token.
    pub(crate) fn of(options: &KafkaOptions) -> Option<Self> {
        match (&options.token_file, &options.aws_iam) {
            (Some(file), _) => Some(Tokens::File(file.clone())),
            (None, Some(aws)) => {
                let broker = options.address.brokers.first().map_or("", |broker| host(broker));
                Some(Tokens::Aws(Box::new(KafkaTokens::find(aws, broker))))
            }
            (None, None) => None,
        }
    }

    /// Waits for credentials of AWS, for as long as their place takes.
    pub(crate) fn next(&self) -> Result<OAuthToken, Box<dyn Error>> {
        match self {
            Tokens::File(file) => read(file),
            Tokens::Aws(tokens) => of_aws(tokens),
        }
    }

    /// What the user can do about a login that a broker refuses.
    pub(crate) fn remedy(tokens: Option<&Tokens>) -> &'static str {
        match tokens {
            Some(Tokens::Aws(_)) => {
                "allow the identity of the AWS credentials the action kafka-cluster:Connect on this cluster, and name \
                 the region of the cluster with option `from_aws_region`"
            }
            Some(Tokens::File(_)) | None => {
                "correct option `from_user` and its password, or option `from_bearer_file`, and option `kafka_sasl`"
            }
        }
    }
}

/// The host of a broker, `host:port` or `[address]:port`.
fn host(broker: &str) -> &str {
    broker.rsplit_once(':').map_or(broker, |(host, _)| host)
}

/// A token of Amazon MSK. The thread that polls may belong to a runtime, which must not wait, so
/// another thread does.
fn of_aws(tokens: &KafkaTokens) -> Result<OAuthToken, Box<dyn Error>> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("starting a runtime: {error}"))?;
        runtime.block_on(tokens.token()).map_err(|error| error.to_string())
    };
    let asked = std::thread::scope(|scope| scope.spawn(ask).join());
    let made = asked.map_err(|_| "the thread that asks for AWS credentials panicked")??;
    let lifetime_ms = made.expires.duration_since(UNIX_EPOCH)?.as_millis() as i64;
    Ok(OAuthToken { token: made.token.expose().to_owned(), principal_name: String::new(), lifetime_ms })
}

/// The token in a file.
fn read(file: &Path) -> Result<OAuthToken, Box<dyn Error>> {
    let text = std::fs::read_to_string(file);
    let token = text.map_err(|error| format!("the token file {}: {error}", file.display()))?.trim().to_owned();
    let claims = claims(&token).unwrap_or_default();
    let default = clock::date().duration_since(UNIX_EPOCH)? + LIFETIME;
    let lifetime_ms = claims.exp.map_or(default.as_millis() as i64, |seconds| (seconds * 1000.0) as i64);
    Ok(OAuthToken { token, principal_name: claims.sub.unwrap_or_default(), lifetime_ms })
}

/// The claims of a token, without a check of its signature, which is the broker's. `None` for a
/// token of another form.
fn claims(token: &str) -> Option<Claims> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifetime_is_that_of_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let payload = URL_SAFE_NO_PAD.encode(r#"{"sub":"loader","exp":1800000000}"#);
        std::fs::write(&file, format!("e30.{payload}.\n")).unwrap();
        let token = read(&file).unwrap();
        assert_eq!((token.principal_name.as_str(), token.lifetime_ms), ("loader", 1_800_000_000_000));
        assert_eq!(token.token, format!("e30.{payload}."));
        std::fs::write(&file, "opaque").unwrap();
        let opaque = read(&file).unwrap();
        assert!(opaque.lifetime_ms > 1_700_000_000_000 && opaque.principal_name.is_empty());
        std::fs::remove_file(&file).unwrap();
        assert!(read(&file).err().unwrap().to_string().starts_with("the token file"));
    }
}
