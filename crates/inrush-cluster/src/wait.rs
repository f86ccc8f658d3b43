//! Waits: each has an end, and says what it waited for.
//!
//! A wait does not know of a stop by the user. Its future may be dropped at any point, so a caller
//! that can be stopped races it against the stop.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// First and longest pause between two tries.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The time for something that is asked for again and again, or that takes its time.
#[derive(Clone, Debug)]
pub struct Wait {
    begun: Instant,
    limit: Duration,
    /// The option that sets the limit. Empty: none does.
    option: &'static str,
    pause: Duration,
    longest: Duration,
}

impl Wait {
    /// A wait from now on, for at most `limit`. The pauses double from 50 ms to 1 s.
    pub fn new(limit: Duration) -> Self {
        Wait { begun: Instant::now(), limit, option: "", pause: PAUSE_MIN, longest: PAUSE_MAX }
    }

    /// The same, with the option that sets the limit, for the message.
    #[must_use]
    pub fn by_option(self, option: &'static str) -> Self {
        Wait { option, ..self }
    }

    /// The same, with pauses of this length.
    #[must_use]
    pub fn every(self, pause: Duration) -> Self {
        Wait { pause, longest: pause, ..self }
    }

    /// How long the wait may still last.
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }

    /// Whether its time is over.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Pauses before the next try. `state` is what is waited for as it is now, for the message.
    ///
    /// # Errors
    /// The time is over.
    pub async fn pause(&mut self, state: impl fmt::Display) -> Result<(), Late> {
        let left = self.left();
        if left.is_zero() {
            return Err(self.late(state));
        }
        sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(self.longest);
        Ok(())
    }

    /// Runs `work` no longer than the wait lasts. `what`: what it does, for the message.
    ///
    /// # Errors
    /// The time is over, and `work` was dropped.
    pub async fn limit<T>(&self, what: impl fmt::Display, work: impl Future<Output = T>) -> Result<T, Late> {
        timeout(self.left(), work).await.map_err(|_| self.late(format!("{what}: there is no answer")))
    }

    fn late(&self, state: impl fmt::Display) -> Late {
        let option = match self.option {
            "" => String::new(),
            option => format!(" (option `{option}`)"),
        };
        Late(format!("{state}, still after {} s{option}", self.limit.as_secs_f64()))
    }
}

/// The time of a wait is over. The text has what was waited for, how long, and the option for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Late(String);

impl From<Late> for String {
    fn from(late: Late) -> String {
        late.0
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn pauses_end_with_the_wait_and_the_message_says_of_what() {
        let mut wait = Wait::new(Duration::from_millis(2)).by_option("wait_timeout").every(Duration::from_millis(1));
        let late = loop {
            match wait.pause("it is red").await {
                Ok(()) => assert!(wait.left() < Duration::from_millis(2)),
                Err(late) => break late.to_string(),
            }
        };
        assert_eq!(late, "it is red, still after 0.002 s (option `wait_timeout`)");
        assert!(wait.is_over());
    }

    #[tokio::test]
    async fn work_without_an_end_ends_with_the_wait() {
        let wait = Wait::new(Duration::ZERO);
        assert_eq!(wait.limit("counting", async { 7 }).await, Ok(7), "what takes no time is done");
        let late = wait.limit("counting", pending::<()>()).await.unwrap_err();
        assert_eq!(late.to_string(), "counting: there is no answer, still after 0 s");
    }
}
