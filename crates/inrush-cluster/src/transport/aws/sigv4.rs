//! AWS Signature Version 4 for Amazon OpenSearch Service (`es`) and OpenSearch Serverless (`aoss`).
//!
//! The crate aws-sigv4 makes the signature. This file gives it the exact address, the headers, the
//! moment, and the hash over the slices of the body, which both services take in
//! `x-amz-content-sha256` (Serverless insists on it). Signatures are valid for about five minutes,
//! so each attempt is signed anew.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::chain::{self, Found};
use super::{AwsCredentials, AwsOptions};
use crate::clock;
use crate::transport::error::{BoxError, SetupError};

/// What is signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Amazon OpenSearch Service, domains of OpenSearch and Elasticsearch.
    Es,
    /// Amazon OpenSearch Serverless.
    Aoss,
}

impl Service {
    /// The name that goes into the signature.
    pub const fn name(self) -> &'static str {
        match self {
            Service::Es => "es",
            Service::Aoss => "aoss",
        }
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "es" => Ok(Service::Es),
            "aoss" => Ok(Service::Aoss),
            other => Err(format!("unknown AWS service {other:?}; expected es or aoss")),
        }
    }
}

/// Where a signer takes the time from.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Signs requests for one service in one region.
pub struct Signer {
    service: Service,
    identity: Identity,
    clock: WallClock,
}

/// Region and credentials.
enum Identity {
    Given(Found),
    /// Looked for once, before the first signature.
    Sought {
        options: AwsOptions,
        host: String,
        found: OnceCell<Found>,
    },
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (options, found) = match &self.identity {
            Identity::Given(found) => (None, Some(found)),
            Identity::Sought { options, found, .. } => (Some(options), found.get()),
        };
        f.debug_struct("Signer")
            .field("service", &self.service)
            .field("options", &options)
            .field("region", &found.map(|found| &found.region))
            .field("credentials", &found.map(|found| &found.credentials))
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// A signer that uses the system's clock.
    pub fn new(service: Service, region: impl Into<String>, credentials: AwsCredentials) -> Self {
        Signer::with_clock(service, region, credentials, Arc::new(clock::date))
    }

    /// A signer that uses another clock.
    pub fn with_clock(
        service: Service,
        region: impl Into<String>,
        credentials: AwsCredentials,
        clock: WallClock,
    ) -> Self {
        Signer { service, identity: Identity::Given(Found { region: region.into(), credentials }), clock }
    }

    /// A signer for requests to `host` that looks for what `options` leave out, as [`AwsOptions`]
    /// says. Nothing is read before [`Signer::ready`] or the first request.
    pub fn find(options: &AwsOptions, host: &str) -> Self {
        let by_host = chain::service_and_region(host).map(|(service, _)| service);
        Signer {
            service: options.service.or(by_host).unwrap_or(Service::Es),
            identity: Identity::Sought { options: options.clone(), host: host.to_owned(), found: OnceCell::new() },
            clock: Arc::new(clock::date),
        }
    }

    /// Finds region and credentials now, so that what is wrong with them is known before the first
    /// request.
    ///
    /// # Errors
    /// [`SetupError::Credentials`]: where they were looked for, what was found there and what to
    /// do.
    pub async fn ready(&self) -> Result<(), SetupError> {
        let found = self.found().await?;
        let keys = found.credentials.current((self.clock)()).await;
        keys.map(drop).map_err(|error| SetupError::Credentials(error.to_string()))
    }

    async fn found(&self) -> Result<&Found, SetupError> {
        match &self.identity {
            Identity::Given(found) => Ok(found),
            Identity::Sought { options, host, found } => {
                let region = chain::service_and_region(host).map(|(_, region)| region);
                found.get_or_try_init(|| chain::find(options, host, region)).await
            }
        }
    }

    /// The headers to add: `authorization`, `x-amz-date`, `x-amz-content-sha256` and, for temporary
    /// credentials, `x-amz-security-token`. Hashing costs about a millisecond a megabyte.
    ///
    /// # Errors
    /// Where the credentials cannot be had (again), or the request cannot be signed.
    pub(in crate::transport) async fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[Bytes],
    ) -> Result<HeaderMap, BoxError> {
        let now = (self.clock)();
        let Found { region, credentials } = self.found().await?;
        let credentials = credentials.current(now).await?;
        let scope = Scope { service: self.service.name(), region, credentials, now };
        signed_headers(&scope, method, url, headers, body, PayloadChecksumKind::XAmzSha256)
    }
}

/// What a signature is bound to besides the request.
struct Scope<'a> {
    service: &'a str,
    region: &'a str,
    credentials: aws_credential_types::Credentials,
    now: SystemTime,
}

fn signed_headers(
    scope: &Scope<'_>,
    method: &Method,
    url: &Url,
    headers: &HeaderMap,
    body: &[Bytes],
    checksum: PayloadChecksumKind,
) -> Result<HeaderMap, BoxError> {
    let identity = scope.credentials.clone().into();
    let mut settings = SigningSettings::default();
    settings.payload_checksum_kind = checksum;
    let params: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&identity)
        .region(scope.region)
        .name(scope.service)
        .time(scope.now)
        .settings(settings)
        .build()?
        .into();

    // As the connection will write it: with the port unless it is the scheme's own.
    let host = match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return Err("the address has no host".into()),
    };
    let mut to_sign = vec![("host", host.as_str())];
    for (name, value) in headers {
        if name != http::header::HOST {
            to_sign.push((name.as_str(), value.to_str()?));
        }
    }
    let request = SignableRequest::new(
        method.as_str(),
        url.as_str(),
        to_sign.into_iter(),
        SignableBody::Precomputed(payload_hash(body)),
    )?;
    let (instructions, _) = sign(request, &params)?.into_parts();
    let mut signed = HeaderMap::new();
    for header in instructions.into_parts().0 {
        let mut value = HeaderValue::from_str(header.value())?;
        value.set_sensitive(header.sensitive() || header.name().eq_ignore_ascii_case("authorization"));
        signed.insert(HeaderName::from_str(header.name())?, value);
    }
    Ok(signed)
}

fn payload_hash(body: &[Bytes]) -> String {
    let mut hash = Sha256::new();
    for slice in body {
        hash.update(slice);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    //! The vectors are AWS's own, from the sources of the signing crate.

    use std::path::{Path, PathBuf};

    use aws_credential_types::Credentials;
    use serde_json::{Value, json};

    use super::*;

    /// Vectors for what our requests never are, with the reason.
    const NOT_OURS: [(&str, &str); 12] = [
        ("double-encode-path", "published without its credentials"),
        ("get-header-value-multiline", "a header's value has no line break in HTTP/1.1 (RFC 9112, section 5.2)"),
        ("get-space-normalized", "the path is encoded once, as S3 has it"),
        ("get-space-unnormalized", "the path is encoded once, as S3 has it"),
        ("get-utf8", "the path is encoded once, as S3 has it"),
        ("get-relative-unnormalized", "the path is not normalized, as S3 has it"),
        ("get-relative-relative-unnormalized", "the path is not normalized, as S3 has it"),
        ("get-slash-dot-slash-unnormalized", "the path is not normalized, as S3 has it"),
        ("get-slash-pointless-dot-unnormalized", "the path is not normalized, as S3 has it"),
        ("get-slash-unnormalized", "the path is not normalized, as S3 has it"),
        ("get-slashes-unnormalized", "the path is not normalized, as S3 has it"),
        ("post-sts-header-after", "the session token is not signed"),
    ];

    #[test]
    fn the_published_vectors_are_reproduced() {
        let suite = suite();
        let mut folders: Vec<PathBuf> = std::fs::read_dir(&suite).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        let mut checked = 0;
        for folder in folders {
            let name = folder.file_name().unwrap().to_str().unwrap();
            if NOT_OURS.iter().all(|(other, _)| *other != name) {
                let (ours, published) = sign_vector(&folder);
                assert_eq!(ours, published, "{name}");
                checked += 1;
            }
        }
        assert!(checked >= 26, "only {checked} vectors in {}", suite.display());
    }

    #[test]
    fn the_hash_is_over_all_slices() {
        let whole = payload_hash(&[Bytes::from_static(b"Param1=value1")]);
        assert_eq!(whole, "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e");
        let sliced = [Bytes::from_static(b"Param1"), Bytes::new(), Bytes::from_static(b"=value1")];
        assert_eq!(payload_hash(&sliced), whole);
    }

    /// Our `Authorization` for a vector's request, and the published one.
    fn sign_vector(folder: &Path) -> (String, String) {
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        let context: Value = if folder.ends_with("double-url-encode") {
            // Published without its context, which is in its `Authorization`; the keys are those of
            // all the others.
            json!({
                "credentials": {
                    "access_key_id": "AKIDEXAMPLE",
                    "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                },
                "region": "us-east-2", "service": "lambda", "sign_body": false, "timestamp": "2021-05-11T15:40:45Z",
            })
        } else {
            serde_json::from_str(&read("context.json")).unwrap()
        };
        let text = |pointer: &str| context.pointer(pointer).and_then(Value::as_str);
        let request = read("request.txt");
        let (head, body) = request.split_once("\n\n").unwrap_or((&request, ""));
        let mut lines = head.lines();
        let (method, target) = lines.next().unwrap().strip_suffix(" HTTP/1.1").unwrap().split_once(' ').unwrap();
        let mut headers = HeaderMap::new();
        let mut host = "";
        for line in lines {
            let (name, value) = line.split_once(':').unwrap();
            match name.to_lowercase().as_str() {
                "host" => host = value,
                // Some requests come with the date that signing adds.
                "x-amz-date" => {}
                name => {
                    headers.append(HeaderName::from_str(name).unwrap(), HeaderValue::from_str(value).unwrap());
                }
            }
        }
        let scope = Scope {
            service: text("/service").unwrap(),
            region: text("/region").unwrap(),
            credentials: Credentials::from_keys(
                text("/credentials/access_key_id").unwrap(),
                text("/credentials/secret_access_key").unwrap(),
                text("/credentials/token").map(str::to_owned),
            ),
            now: moment(text("/timestamp").unwrap()),
        };
        let checksum = match context["sign_body"].as_bool() {
            Some(true) => PayloadChecksumKind::XAmzSha256,
            _ => PayloadChecksumKind::NoHeader,
        };
        let url = Url::parse(&format!("https://{host}{target}")).unwrap();
        let body = [Bytes::copy_from_slice(body.as_bytes())];
        let signed = signed_headers(&scope, &method.parse().unwrap(), &url, &headers, &body, checksum).unwrap();

        let published = read("header-signed-request.txt");
        let published =
            published.lines().find_map(|line| line.strip_prefix("Authorization:")).unwrap().trim().to_owned();
        let ours = &signed["authorization"];
        assert!(ours.is_sensitive());
        (ours.to_str().unwrap().to_owned(), published)
    }

    /// The moment of a vector, as `2021-05-11T15:40:45Z`.
    fn moment(text: &str) -> SystemTime {
        let at = |range: std::ops::Range<usize>| text[range].parse::<u8>().unwrap();
        let month = at(5..7).try_into().unwrap();
        let date = time::Date::from_calendar_date(text[..4].parse().unwrap(), month, at(8..10)).unwrap();
        date.with_hms(at(11..13), at(14..16), at(17..19)).unwrap().assume_utc().into()
    }

    /// The test suite in the sources of aws-sigv4, wherever cargo keeps them.
    fn suite() -> PathBuf {
        // Without a platform, cargo would want the sources of every platform's dependencies.
        let rustc = std::process::Command::new("rustc").arg("-vV").output().unwrap();
        let rustc = String::from_utf8(rustc.stdout).unwrap();
        let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let output = std::process::Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let manifest =
            packages.iter().find(|package| package["name"] == "aws-sigv4").unwrap()["manifest_path"].as_str();
        let suite = Path::new(manifest.unwrap()).with_file_name("aws-signing-test-suite").join("v4");
        assert!(suite.is_dir(), "no test vectors at {}: did the crate stop shipping them?", suite.display());
        suite
    }
}
