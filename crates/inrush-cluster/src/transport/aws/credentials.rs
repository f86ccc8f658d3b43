//! AWS credentials, kept while they hold and renewed before they expire.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials as Keys;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError as ProviderError;
use tokio::sync::Mutex;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::client::AwsHttpClient;
use crate::clock;
use crate::transport::auth::Secret;

/// Temporary credentials are renewed when they have less than this left.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// A renewal of credentials that still hold is not tried again before this time has passed.
const RENEW_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The time that one provider has, its own retries included. A `credential_process` may ask a
/// person.
const PROVIDER_MAX: Duration = Duration::from_secs(60);

/// Credentials to sign with. Temporary ones are renewed five minutes before they expire; while that
/// fails, they are used as long as they hold.
pub struct AwsCredentials {
    providers: Vec<Provider>,
    /// The HTTP client of the providers.
    client: AwsHttpClient,
    held: RwLock<Option<Keys>>,
    renewal: Mutex<Renewal>,
}

/// One place that may have credentials.
pub(super) struct Provider {
    /// The name in errors.
    name: String,
    /// Nothing configures it, so another service may answer its requests.
    unasked: bool,
    source: Arc<dyn ProvideCredentials>,
}

#[derive(Default)]
struct Renewal {
    not_before: Option<SystemTime>,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// No provider is configured, and the metadata service of EC2, which needs no configuration,
    /// gives none.
    #[error("no AWS credentials in {looked}; {hint}")]
    None {
        /// The providers, and why the last one has none.
        looked: String,
        /// What to do.
        hint: &'static str,
    },
    /// The provider that was to have them failed.
    #[error("cannot get AWS credentials from {name}: {reason}")]
    Failed {
        /// The provider.
        name: String,
        /// What it found.
        reason: String,
    },
    /// The provider gave credentials that hold no longer.
    #[error("the AWS credentials from {name} expired at {expiry}; renew them there")]
    Expired {
        /// The provider.
        name: String,
        /// When, UTC.
        expiry: String,
    },
}

impl Provider {
    pub(super) fn new(name: impl Into<String>, source: impl ProvideCredentials + 'static) -> Self {
        Provider { name: name.into(), unasked: false, source: Arc::new(source) }
    }

    /// Marks a place that nothing configures: another service may answer its requests, so an error
    /// only means that it has no credentials.
    pub(super) fn unasked(self) -> Self {
        Provider { unasked: true, ..self }
    }

    async fn keys(&self) -> Result<Keys, ProviderError> {
        let keys = silently(self.source.provide_credentials());
        match clock::timeout(PROVIDER_MAX, keys).await {
            Ok(keys) => keys,
            Err(_) => Err(ProviderError::provider_timed_out(PROVIDER_MAX)),
        }
    }
}

impl fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.providers.iter().map(|provider| provider.name.as_str()).collect();
        let held = self.held();
        f.debug_struct("AwsCredentials")
            .field("providers", &names)
            .field("access_key_id", &held.as_ref().map(Keys::access_key_id))
            .finish_non_exhaustive()
    }
}

impl AwsCredentials {
    /// Keys that do not change while the program runs.
    pub fn fixed(access_key_id: &str, secret_access_key: &Secret, session_token: Option<&Secret>) -> Self {
        let token = session_token.map(|token| token.expose().to_owned());
        let keys = Keys::from_keys(access_key_id, secret_access_key.expose(), token);
        AwsCredentials::new(vec![Provider::new("the program", keys)], AwsHttpClient::default())
    }

    /// These keys, until they expire.
    #[cfg(test)]
    pub(super) fn given(keys: Keys) -> Self {
        AwsCredentials::new(vec![Provider::new("the test", keys)], AwsHttpClient::default())
    }

    /// The first of `providers` that has credentials gives them. They send their requests with
    /// `client`.
    pub(super) fn new(providers: Vec<Provider>, client: AwsHttpClient) -> Self {
        AwsCredentials { providers, client, held: RwLock::default(), renewal: Mutex::default() }
    }

    /// The keys to sign with at `now`. Where the held ones are about to expire, one caller renews
    /// them, and the others go on with them; where they have expired, all wait.
    ///
    /// # Errors
    /// [`CredentialsError`] where there are none, and none are held that still hold.
    pub async fn current(&self, now: SystemTime) -> Result<Keys, CredentialsError> {
        let Some(keys) = self.held().filter(|keys| holds_at(keys, now)) else {
            let _alone = self.renewal.lock().await;
            // Another caller may have renewed them.
            return match self.held().filter(|keys| holds_at(keys, now)) {
                Some(keys) => Ok(keys),
                None => self.get(now).await,
            };
        };
        if holds_at(&keys, now + RENEW_BEFORE) {
            return Ok(keys);
        }
        let Ok(mut renewal) = self.renewal.try_lock() else { return Ok(keys) };
        if renewal.not_before.is_some_and(|not_before| now < not_before) {
            return Ok(keys);
        }
        renewal.not_before = Some(now + RENEW_AGAIN_AFTER);
        match self.get(now).await {
            Ok(renewed) => Ok(renewed),
            Err(error) => {
                tracing::warn!("the AWS credentials could not be renewed and are used until they expire: {error}");
                Ok(keys)
            }
        }
    }

    fn held(&self) -> Option<Keys> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the providers one after the other, and keeps what the first one gives.
    async fn get(&self, now: SystemTime) -> Result<Keys, CredentialsError> {
        let mut last = String::new();
        for provider in &self.providers {
            let name = provider.name.clone();
            self.client.forget_last();
            match provider.keys().await {
                Ok(keys) if holds_at(&keys, now) => {
                    *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(keys.clone());
                    return Ok(keys);
                }
                Ok(keys) => {
                    let expiry = keys.expiry().map(utc).unwrap_or_default();
                    return Err(CredentialsError::Expired { name, expiry });
                }
                Err(error) if provider.unasked || matches!(error, ProviderError::CredentialsNotLoaded(_)) => {
                    last = self.reason(&error);
                }
                Err(error) => return Err(CredentialsError::Failed { name, reason: self.reason(&error) }),
            }
        }
        let names: Vec<&str> = self.providers.iter().map(|provider| provider.name.as_str()).collect();
        let hint = match names.len() {
            1 => "name another profile, or put credentials into it",
            _ => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or give this \
                 machine a role"
            }
        };
        Err(CredentialsError::None { looked: format!("{} ({last})", names.join(", ")), hint })
    }

    /// The causes of a provider's error, from the outside in, and its last request. The error
    /// itself has only its kind.
    fn reason(&self, error: &ProviderError) -> String {
        let mut text = causes(cause(error).unwrap_or(error));
        if text.contains("SSO token") {
            text.push_str("; log in with `aws sso login`");
        }
        match self.client.last() {
            Some(last) => format!("{text} ({last})"),
            None => text,
        }
    }
}

/// An error and its causes, from the outside in, on one line.
pub(super) fn causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    for deeper in std::iter::successors(cause(error), |&error| cause(error)) {
        let deeper = deeper.to_string();
        if !text.contains(&deeper) {
            text = format!("{text}: {deeper}");
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cause of an error. Some errors of the library have it in `cause`, the former `source`.
#[expect(deprecated, reason = "`source` of these errors is empty")]
fn cause(error: &dyn StdError) -> Option<&dyn StdError> {
    error.cause()
}

fn holds_at(keys: &Keys, moment: SystemTime) -> bool {
    keys.expiry().is_none_or(|expiry| expiry > moment)
}

/// Runs a future of the library without its log, which can hold replies with credentials.
pub(super) async fn silently<T>(future: impl Future<Output = T>) -> T {
    future.with_subscriber(NoSubscriber::new()).await
}

/// A moment as `2026-01-31 12:00:00 UTC`.
fn utc(moment: SystemTime) -> String {
    let t = time::OffsetDateTime::from(moment);
    format!("{} {:02}:{:02}:{:02} UTC", t.date(), t.hour(), t.minute(), t.second())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use aws_credential_types::provider::future;
    use tokio::sync::Notify;

    use super::*;

    const START: SystemTime = SystemTime::UNIX_EPOCH;
    const MINUTE: Duration = Duration::from_secs(60);

    /// Gives keys that hold for an hour, named by the number of the call.
    #[derive(Clone, Debug, Default)]
    struct Hourly(Arc<Calls>);

    #[derive(Debug, Default)]
    struct Calls {
        now: StdMutex<Duration>,
        count: AtomicUsize,
        fails: std::sync::atomic::AtomicBool,
        waits: std::sync::atomic::AtomicBool,
        go_on: Notify,
    }

    impl ProvideCredentials for Hourly {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            future::ProvideCredentials::new(async {
                let call = self.0.count.fetch_add(1, Ordering::SeqCst) + 1;
                if self.0.waits.load(Ordering::SeqCst) {
                    self.0.go_on.notified().await;
                }
                if self.0.fails.load(Ordering::SeqCst) {
                    return Err(ProviderError::provider_error("STS is not reachable"));
                }
                let expiry = START + *self.0.now.lock().unwrap() + 60 * MINUTE;
                Ok(Keys::new(format!("K{call}"), "hunter2", Some("token".to_owned()), Some(expiry), "test"))
            })
        }
    }

    fn credentials_of(providers: Vec<Provider>) -> AwsCredentials {
        AwsCredentials::new(providers, AwsHttpClient::default())
    }

    fn hourly() -> (Hourly, AwsCredentials) {
        let source = Hourly::default();
        let credentials = credentials_of(vec![Provider::new("the test", source.clone())]);
        (source, credentials)
    }

    impl Hourly {
        /// The keys that are used so long after the start.
        async fn at(&self, credentials: &AwsCredentials, after: Duration) -> Result<String, String> {
            *self.0.now.lock().unwrap() = after;
            let keys = credentials.current(START + after).await.map_err(|error| error.to_string())?;
            assert!(holds_at(&keys, START + after), "{keys:?} after {after:?}");
            Ok(keys.access_key_id().to_owned())
        }

        fn calls(&self) -> usize {
            self.0.count.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn keys_are_renewed_before_they_expire_for_as_long_as_it_takes() {
        let (source, credentials) = hourly();
        for minute in 0..12 * 60 {
            let key = source.at(&credentials, minute * MINUTE).await.unwrap();
            // 55 minutes of an hour are used.
            assert_eq!(key, format!("K{}", minute / 55 + 1), "minute {minute}");
        }
    }

    #[tokio::test]
    async fn a_renewal_that_fails_is_tried_again_while_the_keys_hold() {
        let (source, credentials) = hourly();
        source.at(&credentials, Duration::ZERO).await.unwrap();
        source.0.fails.store(true, Ordering::SeqCst);
        let second = Duration::from_secs(1);
        for after in (55 * 60..60 * 60).map(|seconds| seconds * second) {
            assert_eq!(source.at(&credentials, after).await.unwrap(), "K1");
        }
        assert_eq!(source.calls(), 1 + 300 / 30);
        let error = source.at(&credentials, 60 * MINUTE).await.unwrap_err();
        assert_eq!(error, "cannot get AWS credentials from the test: STS is not reachable");
        source.0.fails.store(false, Ordering::SeqCst);
        assert_eq!(source.at(&credentials, 60 * MINUTE).await.unwrap(), "K13");
    }

    #[tokio::test]
    async fn one_request_renews_and_the_others_go_on() {
        let (source, credentials) = hourly();
        source.at(&credentials, Duration::ZERO).await.unwrap();
        source.0.waits.store(true, Ordering::SeqCst);
        let renewing = source.at(&credentials, 56 * MINUTE);
        let others = async {
            for _ in 0..5 {
                assert_eq!(source.at(&credentials, 56 * MINUTE).await.unwrap(), "K1");
            }
            source.0.go_on.notify_one();
        };
        let (renewed, ()) = tokio::join!(renewing, others);
        assert_eq!((renewed.unwrap().as_str(), source.calls()), ("K2", 2));
    }

    #[tokio::test]
    async fn all_wait_where_no_keys_hold() {
        let (source, credentials) = hourly();
        let all = futures_util::future::join_all((0..5).map(|_| source.at(&credentials, MINUTE))).await;
        assert!(all.iter().all(|key| key.as_deref() == Ok("K1")), "{all:?}");
        assert_eq!(source.calls(), 1);
    }

    #[tokio::test]
    async fn keys_that_come_expired_are_refused() {
        let keys = Keys::new("K", "hunter2", None, Some(START + MINUTE), "test");
        let credentials = credentials_of(vec![Provider::new("the test", keys)]);
        let error = credentials.current(START + MINUTE).await.unwrap_err().to_string();
        assert_eq!(error, "the AWS credentials from the test expired at 1970-01-01 00:01:00 UTC; renew them there");
    }

    #[tokio::test]
    async fn the_first_provider_that_has_credentials_gives_them() {
        #[derive(Debug)]
        struct Without;
        impl ProvideCredentials for Without {
            fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
            where
                Self: 'a,
            {
                future::ProvideCredentials::ready(Err(ProviderError::not_loaded("not configured")))
            }
        }
        let fixed = Keys::from_keys("K", "hunter2", None);
        let credentials = credentials_of(vec![Provider::new("a", Without), Provider::new("b", fixed)]);
        assert_eq!(credentials.current(START).await.unwrap().access_key_id(), "K");
        let shown = format!("{credentials:?}");
        assert!(shown.contains('K') && !shown.contains("hunter2"), "{shown}");
        let none = credentials_of(vec![Provider::new("a", Without), Provider::new("b", Without)]);
        let error = none.current(START).await.unwrap_err().to_string();
        assert!(error.starts_with("no AWS credentials in a, b (not configured); set "), "{error}");
    }
}
