//! AWS Signature Version 4 for Amazon OpenSearch Service (`es`) and OpenSearch Serverless (`aoss`).
//!
//! The signature is aws-sigv4's; ours is what goes into it: the exact address, the headers, the hash over the slices of the
//! body, which both services take in `x-amz-content-sha256` (Serverless insists on it), and the moment. Signatures
//! are valid for about five minutes, so each attempt is signed anew.

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

use super::aws::AwsCredentials;
use super::error::BoxError;

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
    region: String,
    credentials: AwsCredentials,
    clock: WallClock,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("service", &self.service)
            .field("region", &self.region)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// A signer that uses the system's clock.
    pub fn new(service: Service, region: impl Into<String>, credentials: AwsCredentials) -> Self {
        Signer::with_clock(service, region, credentials, Arc::new(SystemTime::now))
    }

    /// A signer that uses another clock.
    pub fn with_clock(
        service: Service,
        region: impl Into<String>,
        credentials: AwsCredentials,
        clock: WallClock,
    ) -> Self {
        Signer { service, region: region.into(), credentials, clock }
    }

    /// The region that is signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The headers to add: `authorization`, `x-amz-date`, `x-amz-content-sha256` and, for temporary credentials,
    /// `x-amz-security-token`. Hashing costs about a millisecond a megabyte.
    ///
    /// # Errors
    /// Where the credentials cannot be had (again), or the request cannot be signed.
    pub(super) async fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[Bytes],
    ) -> Result<HeaderMap, BoxError> {
        let now = (self.clock)();
        let credentials = self.credentials.current(now).await?;
        let scope = Scope { service: self.service.name(), region: &self.region, credentials, now };
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
