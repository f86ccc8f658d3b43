//! Clients that only say what librdkafka says: of dead letters.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::producer::{DeliveryResult, ProducerContext};

use super::ClientError;
use super::librdkafka::{NO_TOKENS, not_created};
use super::messages::{log, log_error};
use super::token::Tokens;
use crate::KafkaOptions;

/// Logs what librdkafka says, and keeps the first record that could not be written.
#[derive(Default)]
pub(crate) struct Log {
    failed: Mutex<Option<KafkaError>>,
    tokens: Option<Tokens>,
}

impl Log {
    /// For a client with the login of these options.
    pub(crate) fn of(options: &KafkaOptions) -> Self {
        Log { tokens: Tokens::of(options), ..Log::default() }
    }

    /// A configuration with these properties.
    pub(crate) fn config(properties: Vec<(String, String)>) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (name, value) in properties {
            config.set(name, value);
        }
        config.set_log_level(RDKafkaLogLevel::Warning);
        config
    }

    /// The error where a client cannot be created.
    pub(crate) fn not_created(error: &KafkaError) -> ClientError {
        ClientError::lasting(not_created(error))
    }

    /// Why the first record could not be written.
    pub(crate) fn failed(&self) -> Option<KafkaError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for Log {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.tokens.as_ref().ok_or(NO_TOKENS)?.next()
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // The user's properties are those of the consumer, and librdkafka tells of each that other
        // clients do not have.
        let level = if facility == "CONFWARN" { RDKafkaLogLevel::Debug } else { level };
        log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log_error(&error, reason);
    }
}

impl ConsumerContext for Log {}

impl ProducerContext for Log {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
        }
    }
}
