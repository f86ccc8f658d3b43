//! Files in object stores: S3, Google Cloud Storage, Azure.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt};
use glob::{MatchOptions, Pattern};
use inrush_cluster::transport::aws::{AwsCredentials, CredentialsError, of_s3};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, CredentialProvider, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};

use super::object::{Fetch, FetchError, Object, Part, RetryLimits};
use super::url::{Store, StoreOptions};
use crate::network::Network;

/// Longest silence of a connection before it counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A place in a bucket.
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) scheme: String,
    pub(super) authority: String,
    pub(super) key: String,
}

/// The files of a key, sorted by key: the file with this exact key, else the files that match it as
/// a pattern, else the files below it as a folder.
pub(super) async fn find(
    place: Place,
    options: &StoreOptions,
    network: Arc<Network>,
) -> Result<Vec<Object>, FetchError> {
    let Place { store, scheme, authority, key } = place;
    let url = format!("{scheme}://{authority}");
    let bucket = Bucket { store: build(store, &authority, &url, options).await?, kind: store };
    let is_folder = key.is_empty() || key.ends_with('/');
    let mut found = Vec::new();
    if !is_folder && let Ok(path) = Path::parse(&key) {
        match bucket.store.head(&path).await {
            Ok(meta) => found.push(meta),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(bucket.explain(error)),
        }
    }
    if found.is_empty() {
        found = if key.contains(['*', '?', '[']) { bucket.matching(&key).await? } else { bucket.below(&key).await? };
    }
    found.sort_by(|a, b| a.location.cmp(&b.location));
    let object = |meta: ObjectMeta| Object {
        name: format!("{url}/{}", meta.location),
        path: meta.location.to_string(),
        size: Some(meta.size),
        version: Some(version(&meta)),
        ranges: true,
        fetch: Arc::new(BucketFile { bucket: bucket.clone(), path: meta.location.clone() }),
        retry_limits: RetryLimits::default(),
        network: Arc::clone(&network),
    };
    Ok(found.into_iter().map(object).collect())
}

/// Version that tells a file from a later one with the same key. Lists have ETags without quotes,
/// and times with more digits than replies.
fn version(meta: &ObjectMeta) -> String {
    match &meta.e_tag {
        Some(tag) => tag.trim_matches('"').to_owned(),
        None => meta.last_modified.timestamp().to_string(),
    }
}

#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    kind: Store,
}

impl Bucket {
    /// The files whose keys match `pattern`. As for local files, `*` does not match a `/`, and `**`
    /// does.
    async fn matching(&self, pattern: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let parsed = Pattern::new(pattern)
            .map_err(|e| FetchError::last(format!("is not a valid glob pattern: {} at character {}", e.msg, e.pos)))?;
        let first = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
        let folder = pattern[..first].rfind('/').map_or("", |end| &pattern[..end]);
        let rules = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let mut found = self.list(folder).await?;
        found.retain(|meta| parsed.matches_with(meta.location.as_ref(), rules));
        if found.is_empty() {
            return Err(FetchError::last("matches no file"));
        }
        Ok(found)
    }

    /// All files below a folder. Names that begin with `.` or `_` are skipped, because they are not
    /// data, such as `_SUCCESS`.
    async fn below(&self, folder: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let folder = folder.trim_end_matches('/');
        let mut found = self.list(folder).await?;
        found.retain(|meta| {
            let key = meta.location.as_ref();
            let rest = key.strip_prefix(folder).unwrap_or(key);
            !rest.split('/').any(|part| part.starts_with(['.', '_']))
        });
        if found.is_empty() {
            return Err(FetchError::last("does not exist, neither as a file nor as a folder with files"));
        }
        Ok(found)
    }

    async fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let folder = Path::parse(folder).map_err(|e| FetchError::last(format!("is not a valid key: {e}")))?;
        let folder = (!folder.as_ref().is_empty()).then_some(&folder);
        self.store.list(folder).try_collect().await.map_err(|error| self.explain(error))
    }

    /// The error, with a plain message where the user can act on its cause.
    fn explain(&self, error: object_store::Error) -> FetchError {
        use object_store::Error;
        let again = matches!(error, Error::Generic { .. } | Error::JoinError { .. });
        let name = self.kind.name();
        let mut message = match &error {
            Error::NotFound { .. } => "does not exist".to_owned(),
            Error::Unauthenticated { .. } => format!("{name} does not accept these credentials: {}", innermost(&error)),
            Error::PermissionDenied { .. } => format!("{name} denies access: {}", innermost(&error)),
            _ => match cause::<CredentialsError>(&error) {
                Some(error) => error.to_string(),
                None => innermost(&error),
            },
        };
        if let Some(CredentialsError::None { .. }) = cause(&error) {
            message.push_str("; for public files, give option `store_option=anonymous=true`");
        }
        // Addresses where cloud machines ask for their credentials.
        if ["169.254.169.254", "metadata.google.internal"].iter().any(|host| message.contains(host)) {
            message = format!(
                "no credentials for {name} were found: set them in the environment, or give option `store_option=anonymous=true` for public files ({message})"
            );
        }
        FetchError { again, ..FetchError::last(message) }
    }
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

/// A file in a bucket.
struct BucketFile {
    bucket: Bucket,
    path: Path,
}

impl Fetch for BucketFile {
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>> {
        let (bucket, path) = (self.bucket.clone(), self.path.clone());
        let range = match to {
            Some(to) => Some(GetRange::Bounded(from..to)),
            None if from == 0 => None,
            None => Some(GetRange::Offset(from)),
        };
        Box::pin(async move {
            let options = GetOptions { range, ..GetOptions::default() };
            let result = bucket.store.get_opts(&path, options).await.map_err(|error| bucket.explain(error))?;
            let (from, version, size) = (result.range.start, Some(version(&result.meta)), Some(result.meta.size));
            let body = result.into_stream().map(move |piece| piece.map_err(|error| bucket.explain(error))).boxed();
            Ok(Part { from, version, size, body })
        })
    }
}

/// Options of the HTTP client, unless a store option replaces them.
fn client() -> ClientOptions {
    // Reading a file may take any time.
    ClientOptions::new().with_timeout_disabled().with_read_timeout(SILENCE_MAX)
}

/// Retries of single requests by the library. Reads are retried for longer.
fn retries() -> RetryConfig {
    RetryConfig { max_retries: 5, retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
}

/// Sets the options of the environment and then those of `options`, where the builder knows the
/// key.
macro_rules! configure {
    ($builder:expr, $store:expr, $prefix:literal, $options:expr) => {{
        let mut builder = $builder.with_client_options(client()).with_retry(retries());
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

async fn build(
    store: Store,
    authority: &str,
    url: &str,
    options: &StoreOptions,
) -> Result<Arc<dyn ObjectStore>, FetchError> {
    // The library makes its HTTP client with the process-wide cryptography provider. An error means
    // that the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |error: object_store::Error| FetchError::last(innermost(&error));
    Ok(match store {
        Store::S3 => {
            let builder = configure!(AmazonS3Builder::new().with_bucket_name(authority), store, "AWS_", options);
            Arc::new(with_credentials(builder).await?.build().map_err(failed)?)
        }
        Store::Gcs => {
            let builder = configure!(GoogleCloudStorageBuilder::new().with_url(url), store, "GOOGLE_", options);
            Arc::new(builder.build().map_err(failed)?)
        }
        Store::Azure => {
            let builder = configure!(MicrosoftAzureBuilder::new().with_url(url), store, "AZURE_", options);
            Arc::new(builder.build().map_err(failed)?)
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
        let keys = self.0.current(SystemTime::now()).await;
        let keys = keys.map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?;
        Ok(Arc::new(AwsCredential {
            key_id: keys.access_key_id().to_owned(),
            secret_key: keys.secret_access_key().to_owned(),
            token: keys.session_token().map(str::to_owned),
        }))
    }
}
