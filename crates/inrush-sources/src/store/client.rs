//! Clients of object stores, with the options and the credentials of the user.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use inrush_cluster::clock;
use inrush_cluster::transport::aws::{AwsCredentials, CredentialsError, of_s3};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, CredentialProvider, ObjectStore, RetryConfig};

use super::object::FetchError;
use super::url::{Store, StoreOptions};

/// The error, with a plain message where the user can act on its cause. `public` is what to do
/// without credentials.
pub(super) fn explain(store: Store, error: &object_store::Error, public: &str) -> FetchError {
    use object_store::Error;
    let again = matches!(error, Error::Generic { .. } | Error::JoinError { .. });
    let name = store.name();
    let mut message = match &error {
        Error::NotFound { .. } => "does not exist".to_owned(),
        Error::Unauthenticated { .. } => format!("{name} does not accept these credentials: {}", innermost(error)),
        Error::PermissionDenied { .. } => format!("{name} denies access: {}", innermost(error)),
        _ => match cause::<CredentialsError>(error) {
            Some(error) => error.to_string(),
            None => innermost(error),
        },
    };
    if let Some(CredentialsError::None { .. }) = cause(error) {
        message.push_str(public);
    }
    // Addresses where cloud machines ask for their credentials.
    if ["169.254.169.254", "metadata.google.internal"].iter().any(|host| message.contains(host)) {
        message = format!("no credentials for {name} were found: set them in the environment{public} ({message})");
    }
    FetchError { again, ..FetchError::last(message) }
}

/// Whether credentials are missing, or do not allow the request.
pub(super) fn is_denied(error: &object_store::Error) -> bool {
    use object_store::Error;
    matches!(error, Error::Unauthenticated { .. } | Error::PermissionDenied { .. })
        || matches!(cause(error), Some(CredentialsError::None { .. }))
}

/// The first cause of this type.
fn cause<'a, E: std::error::Error + 'static>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

/// The text of an error, with the texts of its causes as far as they add something.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

/// Options of the HTTP client, unless a store option replaces them. `silence` is the longest time
/// without a byte of a reply before the connection counts as broken.
fn client(silence: Duration) -> ClientOptions {
    // Reading a file may take any time.
    ClientOptions::new().with_timeout_disabled().with_read_timeout(silence)
}

/// Retries of single requests by the library. The callers retry for longer.
fn retries() -> RetryConfig {
    RetryConfig { max_retries: 5, retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
}

/// Sets the options of the environment and then those of `options`, where the builder knows the
/// key.
macro_rules! configure {
    ($builder:expr, $store:expr, $prefix:literal, $options:expr, $silence:expr) => {{
        let mut builder = $builder.with_client_options(client($silence)).with_retry(retries());
        for (key, value) in environment($prefix) {
            if let Ok(key) = key.parse() {
                builder = builder.with_config(key, value);
            }
        }
        for (key, value) in $options.iter() {
            let key = if key == "anonymous" { "skip_signature" } else { key };
            let Ok(key) = key.parse() else {
                return Err(FetchError::last(format!(
                    "unknown store option {key} for {}; use endpoint, region, allow_http, anonymous, or another one of docs/sources.md",
                    $store.name()
                )));
            };
            builder = builder.with_config(key, value);
        }
        builder
    }};
}

/// The variables of the environment that begin with `prefix`, in lower case.
fn environment(prefix: &'static str) -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(move |(key, value)| {
        let key = key.into_string().ok().filter(|key| key.starts_with(prefix))?;
        Some((key.to_ascii_lowercase(), value.into_string().ok().filter(|value| !value.is_empty())?))
    })
}

/// A client of a store, for files and for files that are written in parts.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) parts: Arc<dyn MultipartStore>,
}

impl Client {
    pub(super) fn new(store: impl ObjectStore + MultipartStore) -> Client {
        let store = Arc::new(store);
        Client { objects: Arc::clone(&store) as Arc<dyn ObjectStore>, parts: store }
    }
}

/// Makes the client of a bucket: its name is `authority`, its address `url`. A connection without a
/// byte of a reply for `silence` counts as broken.
///
/// # Errors
/// Options that the store does not know, or no credentials.
pub(super) async fn build(
    store: Store,
    authority: &str,
    url: &str,
    options: &StoreOptions,
    silence: Duration,
) -> Result<Client, FetchError> {
    // The library makes its HTTP client with the process-wide cryptography provider. An error means
    // that the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |error: object_store::Error| FetchError::last(innermost(&error));
    Ok(match store {
        Store::S3 => {
            let builder =
                configure!(AmazonS3Builder::new().with_bucket_name(authority), store, "AWS_", options, silence);
            Client::new(with_credentials(builder).await?.build().map_err(failed)?)
        }
        Store::Gcs => {
            let builder =
                configure!(GoogleCloudStorageBuilder::new().with_url(url), store, "GOOGLE_", options, silence);
            Client::new(builder.build().map_err(failed)?)
        }
        Store::Azure => {
            let builder = configure!(MicrosoftAzureBuilder::new().with_url(url), store, "AZURE_", options, silence);
            Client::new(builder.build().map_err(failed)?)
        }
    })
}

/// Sets the credentials that sign requests to a cluster of Amazon, and the region of the profile
/// where no option sets one. A given address of the metadata service, or its first version, leaves
/// both to the library.
async fn with_credentials(mut builder: AmazonS3Builder) -> Result<AmazonS3Builder, FetchError> {
    use AmazonS3ConfigKey::{DefaultRegion, ImdsV1Fallback, MetadataEndpoint, Region, SkipSignature};
    let value = |key: AmazonS3ConfigKey| builder.get_config_value(&key);
    let is_true = |key: AmazonS3ConfigKey| value(key).as_deref() == Some("true");
    if is_true(SkipSignature) || is_true(ImdsV1Fallback) || value(MetadataEndpoint).is_some() {
        return Ok(builder);
    }
    let region = value(Region).or_else(|| value(DefaultRegion));
    let (region, credentials) = of_s3(region.as_deref()).await.map_err(|error| FetchError::last(error.to_string()))?;
    if let Some(region) = region {
        builder = builder.with_region(region);
    }
    Ok(builder.with_credentials(Arc::new(S3Credentials(credentials))))
}

/// Credentials for S3, renewed before they expire.
#[derive(Debug)]
struct S3Credentials(AwsCredentials);

#[async_trait]
impl CredentialProvider for S3Credentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let keys = self.0.current(clock::date()).await;
        let keys = keys.map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?;
        Ok(Arc::new(AwsCredential {
            key_id: keys.access_key_id().to_owned(),
            secret_key: keys.secret_access_key().to_owned(),
            token: keys.session_token().map(str::to_owned),
        }))
    }
}
