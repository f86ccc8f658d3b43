//! The status of a load after its loop.

use inrush_core::{Flow, Stop};

use crate::dead_letter::{DeadLetterWriter, WrittenLetters};
use crate::report::{SettingsReport, SettingsRestored, Status, Verified, VerifiedState};

/// Status of the load after its loop. Each later step may make it worse.
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) failure: Option<String>,
    /// The loop ended by itself, so all documents are settled.
    pub(super) settled: bool,
}

impl Outcome {
    pub(super) fn of_loop(flow: &Flow) -> Self {
        let (status, failure) = match flow.stopped() {
            None => (Status::Complete, None),
            Some(Stop::Interrupted) => (Status::Interrupted, None),
            // Documents that were in flight at the stop may have become dead letters since.
            Some(Stop::Failed(_)) if flow.stopped_by_errors() => (Status::Failed, Some(flow.max_errors_message())),
            Some(Stop::Failed(why)) => (Status::Failed, Some(why.clone())),
        };
        Outcome { status, failure, settled: status == Status::Complete }
    }

    pub(super) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
        self.status = Status::Failed;
    }

    /// Closes the flow, which checks that each document was settled once.
    pub(super) fn close(&mut self, flow: &mut Flow) {
        if let Err(error) = flow.close() {
            self.fail(error.to_string());
        }
    }

    /// Ends the dead letters. Returns where the load wrote any.
    pub(super) fn finish_dead_letters(&mut self, dead_letters: DeadLetterWriter) -> WrittenLetters {
        let place = dead_letters.place();
        dead_letters.finish().unwrap_or_else(|error| {
            self.fail(format!("cannot write dead letters to {place}: {error}"));
            WrittenLetters::default()
        })
    }

    pub(super) fn check_errors(&mut self, flow: &Flow) {
        if self.status == Status::Complete && flow.too_many_errors() {
            self.fail(flow.max_errors_message());
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
