//! Messages of librdkafka in the log.
//!
//! While a broker is away, librdkafka repeats itself many times a second. Of equal warnings, one a
//! minute is logged.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inrush_cluster::clock::{self, Instant};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Different warnings that are remembered.
const REMEMBERED: usize = 64;

/// Of all clients of the process: each of them repeats what the others say.
static RECENT: Mutex<Recent> = Mutex::new(Recent { warnings: BTreeMap::new() });

/// Writes a message of librdkafka to the log.
pub(super) fn log(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Debug => tracing::debug!(target: "librdkafka", "{facility}: {message}"),
        RDKafkaLogLevel::Info | RDKafkaLogLevel::Notice => {
            tracing::info!(target: "librdkafka", "{facility}: {message}");
        }
        _ => warn(&format!("{facility}: {message}")),
    }
}

/// Writes an error to the log that librdkafka reports apart from any call.
pub(super) fn log_error(error: &KafkaError, reason: &str) {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::AllBrokersDown) => {
            warn(&format!("no broker answers, and the client keeps trying: {reason}"));
        }
        // The log has a message of it already.
        Some(RDKafkaErrorCode::BrokerTransportFailure) => tracing::debug!(target: "librdkafka", "{reason}"),
        _ => warn(&format!("{error}: {reason}")),
    }
}

/// Writes an error to the log that a poll brought, and after which the client goes on.
pub(super) fn log_passing(error: &KafkaError, code: RDKafkaErrorCode) {
    match code {
        // They were reported apart from the poll as well.
        RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure => {
            tracing::debug!(target: "librdkafka", "{error}");
        }
        _ => warn(&format!("{error}; the client tries again")),
    }
}

fn warn(message: &str) {
    let left_out = RECENT.lock().unwrap_or_else(PoisonError::into_inner).next(message, clock::now());
    match left_out {
        None => {}
        Some(0) => tracing::warn!(target: "librdkafka", "{message}"),
        Some(times) => tracing::warn!(target: "librdkafka", "{message} ({times} more since the last message)"),
    }
}

struct Recent {
    /// By their text without figures: when each was logged, and how often it was left out since.
    warnings: BTreeMap<String, (Instant, u64)>,
}

impl Recent {
    /// Whether this warning is to be logged: the number of equal ones that were left out before it.
    fn next(&mut self, message: &str, now: Instant) -> Option<u64> {
        let kind: String = message.chars().filter(|character| !character.is_ascii_digit()).collect();
        match self.warnings.get_mut(&kind) {
            Some((logged, left_out)) if now.duration_since(*logged) < AGAIN_AFTER => {
                *left_out += 1;
                None
            }
            Some(known) => Some(std::mem::replace(known, (now, 0)).1),
            None => {
                if self.warnings.len() == REMEMBERED {
                    self.warnings.clear();
                }
                self.warnings.insert(kind, (now, 0));
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_warnings_one_a_minute_is_logged() {
        let mut recent = Recent { warnings: BTreeMap::new() };
        let began = clock::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(recent.next("refused (after 1ms)", at(0)), Some(0));
        assert_eq!(recent.next("refused (after 27ms)", at(1)), None);
        assert_eq!(recent.next("no such topic", at(1)), Some(0));
        assert_eq!(recent.next("refused (after 3ms)", at(59)), None);
        assert_eq!(recent.next("refused (after 3ms)", at(60)), Some(2));
        assert_eq!(recent.next("refused (after 3ms)", at(61)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent { warnings: BTreeMap::new() };
        for number in 0..1000_usize {
            assert_eq!(recent.next(&"x".repeat(number), clock::now()), Some(0));
        }
        assert!(recent.warnings.len() <= REMEMBERED);
    }
}
