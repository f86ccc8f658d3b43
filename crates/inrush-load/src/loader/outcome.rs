//! The status of a load after its loop.

use inrush_core::{Code, Flow, Stop, StopReason};

use crate::dead_letter::{DeadLetterWriter, WrittenLetters};
use crate::report::{SettingsReport, SettingsRestored, Status, Verified, VerifiedState};

/// Status of the load after its loop. Each later step may make it worse.
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) failure: Option<StopReason>,
    /// The loop ended by itself, so all documents are settled.
    pub(super) settled: bool,
}

impl Outcome {
    pub(super) fn of_loop(flow: &Flow) -> Self {
        let (status, failure) = match flow.stopped() {
            None => (Status::Complete, None),
            Some(Stop::Interrupted) => (Status::Interrupted, None),
            // Documents that were in flight at the stop may have become dead letters since.
            Some(Stop::Failed(_)) if flow.stopped_by_errors() => {
                (Status::Failed, Some(StopReason::new(Code::TooManyErrors, flow.max_errors_message())))
            }
            Some(Stop::Failed(failure)) => (Status::Failed, Some(failure.clone())),
        };
        Outcome { status, failure, settled: status == Status::Complete }
    }

    pub(super) fn fail(&mut self, code: Code, why: impl Into<String>) {
        self.failure.get_or_insert_with(|| StopReason::new(code, why));
        self.status = Status::Failed;
    }

    /// Closes the flow, which checks that each document was settled once.
    pub(super) fn close(&mut self, flow: &mut Flow) {
        if let Err(error) = flow.close() {
            self.fail(Code::Defect, error.to_string());
        }
    }

    /// Ends the dead letters. Returns where the load wrote any. A load that `was_stopped` does not
    /// wait for those that are not kept yet; the source was not told that they are settled.
    pub(super) fn finish_dead_letters(&mut self, dead_letters: DeadLetterWriter, was_stopped: bool) -> WrittenLetters {
        let place = dead_letters.place();
        let mut written = match dead_letters.finish() {
            Ok(written) => written,
            Err(error) => {
                self.fail(Code::DeadLettersFailed, format!("cannot write dead letters to {place}: {error}"));
                return WrittenLetters::default();
            }
        };
        let Some(why) = written.not_kept.take() else { return written };
        if was_stopped && self.status != Status::Failed {
            (self.status, self.settled) = (Status::Interrupted, false);
        } else {
            self.fail(Code::DeadLettersFailed, format!("cannot write dead letters to {place}: {why}"));
        }
        written.not_kept = Some(format!(
            "the load ended before {place} had all dead letters: {why}; the source was not told that their documents \
             are settled, so the next load reads them again"
        ));
        written
    }

    pub(super) fn check_errors(&mut self, flow: &Flow) {
        if self.status == Status::Complete && flow.too_many_errors() {
            self.fail(Code::TooManyErrors, flow.max_errors_message());
        }
    }

    /// Judges a load that came to its end. Returns why the load is not complete, or why its alias
    /// may not be swapped.
    pub(super) fn judge(
        &mut self,
        not_in: Option<String>,
        verified: &Verified,
        settings: &SettingsReport,
        swaps: bool,
    ) -> String {
        if self.status == Status::Complete {
            self.status = if not_in.is_some() {
                Status::Incomplete
            } else if verified.state == VerifiedState::No || settings.restored == SettingsRestored::No {
                Status::CheckFailed
            } else {
                Status::Complete
            };
        }
        match self.status {
            Status::Complete if settings.restored == SettingsRestored::PassedOn && swaps => {
                self.status = Status::CheckFailed;
                settings.detail.clone()
            }
            Status::Complete => String::new(),
            Status::CheckFailed if verified.state == VerifiedState::No => verified.detail.clone(),
            Status::CheckFailed => settings.detail.clone(),
            Status::Incomplete => not_in.unwrap_or_default(),
            Status::Failed | Status::Interrupted => "the load did not finish".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use inrush_core::{DeadLetter, Position};
    use inrush_sources::DeadLetterSink;

    use super::*;

    /// A sink that keeps nothing, for this reason.
    #[derive(Debug)]
    struct Keeps(Option<io::ErrorKind>);

    impl DeadLetterSink for Keeps {
        fn name(&self) -> &str {
            "dead"
        }

        fn write(&self, _: &DeadLetter) {}

        fn waiting_bytes(&self) -> u64 {
            0
        }

        fn sync(&self) -> io::Result<()> {
            self.close()
        }

        fn close(&self) -> io::Result<()> {
            self.0.map_or(Ok(()), |kind| Err(io::Error::new(kind, "two are missing")))
        }
    }

    #[test]
    fn a_stopped_load_with_letters_that_are_not_kept_is_interrupted() {
        use Status::{Complete, Failed, Interrupted};
        let (late, refused) = (Some(io::ErrorKind::TimedOut), Some(io::ErrorKind::Other));
        for (status, sink, was_stopped, expected) in [
            (Complete, None, false, (Complete, false)),
            (Interrupted, None, true, (Interrupted, false)),
            (Interrupted, late, true, (Interrupted, true)),
            (Complete, late, true, (Interrupted, true)),
            (Complete, late, false, (Failed, true)),
            (Failed, late, true, (Failed, true)),
            (Interrupted, refused, true, (Failed, false)),
        ] {
            let mut outcome = Outcome { status, failure: None, settled: status == Complete };
            let mut letters =
                DeadLetterWriter::without_file(vec!["a".to_owned()], None).sink(Some(Arc::new(Keeps(sink))));
            letters.write(&DeadLetter::new(Position::default(), "k", "r", "x".into())).unwrap();
            let written = outcome.finish_dead_letters(letters, was_stopped);
            assert_eq!((outcome.status, written.not_kept.is_some()), expected, "{status:?} {sink:?} {was_stopped}");
            assert_eq!(outcome.settled, outcome.status == Complete || expected.0 == Failed && status == Complete);
            let says = |text: Option<&String>| text.is_some_and(|text| text.contains("two are missing"));
            let failure = outcome.failure.as_ref().map(|failure| &failure.message);
            assert_eq!((says(failure), says(written.not_kept.as_ref())), (expected.0 == Failed, expected.1));
        }
    }
}
