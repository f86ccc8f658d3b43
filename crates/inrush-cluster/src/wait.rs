//! Waits: each has an end, and says what it waited for.
//!
//! A wait does not know of a stop by the user. Its future may be dropped at any point, so a caller
//! that can be stopped races it against the stop.

use std::fmt;
use std::time::Duration;

use inrush_core::waits::Waits;

use crate::clock::{self, Instant};

/// First and longest pause between two tries.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The time for something that is asked for again and again, or that takes its time.
#[derive(Clone, Debug)]
pub struct Wait {
    waits: Waits,
    /// `None`: the next failure begins it.
    begun: Option<Instant>,
    /// The option that sets the limit. Empty: none does.
    option: &'static str,
}

impl Wait {
    /// A wait from now on, for at most `limit`. The pauses double from 50 ms to 1 s.
    pub fn new(limit: Duration) -> Self {
        Wait { waits: Waits::new(limit, PAUSE_MIN, PAUSE_MAX), begun: Some(clock::now()), option: "" }
    }

    /// A wait for the end of failures in a row. The first of them begins it.
    pub fn of_failures(waits: Waits) -> Self {
        Wait { waits, begun: None, option: "" }
    }

    /// The same, with the option that sets the limit, for the message.
    #[must_use]
    pub fn by_option(self, option: &'static str) -> Self {
        Wait { option, ..self }
    }

    /// The same, with pauses of this length.
    #[must_use]
    pub fn every(self, pause: Duration) -> Self {
        Wait { waits: Waits::new(self.waits.limit(), pause, pause), ..self }
    }

    /// How long the wait lasts by now.
    pub fn elapsed(&self) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    /// How long the wait may still last.
    pub fn left(&self) -> Duration {
        self.waits.left(self.elapsed())
    }

    /// Whether its time is over.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// The failures in a row.
    pub fn failures(&self) -> u32 {
        self.waits.failures()
    }

    /// Notes a success: the next failure is the first one of a row.
    pub fn succeeded(&mut self) {
        self.begun = None;
        self.waits.begin_again();
    }

    /// The pause after a failure, or `None` where the time is over. `asked_for`: the pause that the
    /// other side asks for.
    pub fn next(&mut self, asked_for: Option<Duration>) -> Option<Duration> {
        let elapsed = self.begun.get_or_insert_with(clock::now).elapsed();
        self.waits.next(elapsed, asked_for)
    }

    /// Pauses before the next try. `state` is what is waited for as it is now, for the message.
    ///
    /// # Errors
    /// The time is over.
    pub async fn pause(&mut self, state: impl fmt::Display) -> Result<(), Late> {
        let Some(pause) = self.next(None) else { return Err(self.late(state)) };
        clock::sleep(pause).await;
        Ok(())
    }

    /// Asks until there is an answer, an error that does not pass, or an error after the end of the
    /// wait.
    ///
    /// # Errors
    /// The last error.
    pub async fn ask_until<T, E, A>(&mut self, mut ask: impl FnMut() -> A, passes: impl Fn(&E) -> bool) -> Result<T, E>
    where
        A: Future<Output = Result<T, E>>,
    {
        loop {
            let ended = ask().await;
            let pause = ended.as_ref().err().filter(|error| passes(error)).and_then(|_| self.next(None));
            let Some(pause) = pause else { return ended };
            clock::sleep(pause).await;
        }
    }

    /// The same, where the caller pauses between two attempts. An error of its pause is the last
    /// one.
    ///
    /// # Errors
    /// The last error.
    pub async fn ask_and_pause<T, E, A, P>(
        &self,
        mut ask: impl FnMut() -> A,
        passes: impl Fn(&E) -> bool,
        mut pause: impl FnMut(E) -> P,
    ) -> Result<T, E>
    where
        A: Future<Output = Result<T, E>>,
        P: Future<Output = Result<(), E>>,
    {
        loop {
            match ask().await {
                Err(error) if passes(&error) && !self.is_over() => pause(error).await?,
                ended => return ended,
            }
        }
    }

    /// Runs `work` no longer than the wait lasts. `what`: what it does, for the message.
    ///
    /// # Errors
    /// The time is over, and `work` was dropped.
    pub async fn limit<T>(&self, what: impl fmt::Display, work: impl Future<Output = T>) -> Result<T, Late> {
        clock::timeout(self.left(), work).await.map_err(|_| self.late(format!("{what}: there is no answer")))
    }

    fn late(&self, state: impl fmt::Display) -> Late {
        let option = match self.option {
            "" => String::new(),
            option => format!(" (option `{option}`)"),
        };
        Late(format!("{state}, still after {} s{option}", self.waits.limit().as_secs_f64()))
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

    #[tokio::test(start_paused = true)]
    async fn questions_end_with_an_answer_with_the_time_or_with_an_error_that_stays() {
        let hour = Duration::from_secs(3600);
        for (succeeds_at, passes, expected) in [(10, true, Ok(10)), (61, true, Err(60)), (10, false, Err(0))] {
            let begun = clock::now();
            let minutes = || begun.elapsed().as_secs() / 60;
            let ask = || async { if minutes() < succeeds_at { Err(minutes()) } else { Ok(minutes()) } };
            assert_eq!(Wait::new(hour).ask_until(ask, |_| passes).await, expected);
            let begun = clock::now();
            let minutes = || begun.elapsed().as_secs() / 60;
            let ask = || async { if minutes() < succeeds_at { Err(minutes()) } else { Ok(minutes()) } };
            let pause = |_| async {
                clock::sleep(Duration::from_secs(60)).await;
                Ok(())
            };
            assert_eq!(Wait::new(hour).ask_and_pause(ask, |_| passes, pause).await, expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_have_a_time_and_a_success_begins_again() {
        let second = Duration::from_secs(1);
        let mut wait = Wait::of_failures(Waits::new(10 * second, second, 4 * second));
        clock::sleep(100 * second).await;
        for _ in 0..3 {
            while wait.pause("it is away").await.is_ok() {}
            assert_eq!((wait.failures(), wait.elapsed().as_secs()), (4, 10));
            wait.succeeded();
        }
    }

    #[tokio::test]
    async fn work_without_an_end_ends_with_the_wait() {
        let wait = Wait::new(Duration::ZERO);
        assert_eq!(wait.limit("counting", async { 7 }).await, Ok(7), "what takes no time is done");
        let late = wait.limit("counting", pending::<()>()).await.unwrap_err();
        assert_eq!(late.to_string(), "counting: there is no answer, still after 0 s");
    }
}
