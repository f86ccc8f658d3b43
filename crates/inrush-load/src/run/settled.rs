//! Checkpoints of settled documents, and the report of settled positions to the source.

use std::time::Duration;

use inrush_core::Code;
use inrush_core::Time;
use inrush_sources::Lag;

use super::{Intake, Run};
use crate::event::{Event, Written};
use crate::feedback::SourceFeedback;

/// How long the source may take to confirm its last settled positions.
const CONFIRM_MAX: Duration = Duration::from_secs(30);

impl Run {
    /// Handles the end of writing a checkpoint.
    pub(super) fn checkpoint_ended(&mut self, now: Time, written: Written, intake: &mut Intake) {
        let Some(checkpointer) = &mut self.checkpointer else { return };
        match checkpointer.ended(written) {
            Ok(checkpoint) => {
                self.flow.handle_checkpoint(&checkpoint);
                if let Some(source_feedback) = &mut self.source_feedback {
                    source_feedback.checkpoint_written();
                }
                self.admit(now, intake);
            }
            Err(why) => self.fail(now, Code::CheckpointFailed, why),
        }
    }

    /// Handles the end of a report to the source. An error means that dead letters could not be
    /// kept before.
    pub(super) fn feedback_sent(&mut self, now: Time, result: Result<(), String>) {
        if let Some(source_feedback) = &mut self.source_feedback {
            source_feedback.ended();
        }
        if let Err(why) = result {
            self.fail(now, Code::DeadLettersFailed, format!("{why}; the load stops so that no document is lost"));
        }
    }

    /// Begins to write a checkpoint where one is due. All commands were executed before, so the
    /// counted dead letters are in the file.
    pub(super) fn keep_checkpoint(&mut self, intake: &Intake) {
        let read_all = intake.has_read_all();
        let Some(checkpointer) = &mut self.checkpointer else { return };
        if !checkpointer.is_due(&self.flow, &intake.waiting, read_all) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                if let Some(source_feedback) = &mut self.source_feedback {
                    source_feedback.checkpoint_taken(self.flow.settled_below());
                }
                checkpointer.start(&self.flow, &intake.waiting, read_all, letters);
            }
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Reports settled positions to the source where a report is due and there are no checkpoints.
    /// As in [`Run::keep_checkpoint`], the counted dead letters are in the file.
    pub(super) fn report_settled(&mut self) {
        let Some(source_feedback) = self.source_feedback.as_mut().filter(|feedback| feedback.is_due()) else { return };
        if self.checkpointer.is_some() {
            return;
        }
        let settled = self.flow.settled_below();
        if !source_feedback.has_news(&settled) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => source_feedback.start(settled, letters.unsynced),
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Gives back what the source has lost, forgets what it needs no more, and ends the wait for
    /// later documents while the source waits for settled positions.
    pub(super) fn follow_source(&mut self, intake: &mut Intake) {
        let Some(source_feedback) = &self.source_feedback else { return };
        let lost = source_feedback.lost();
        if !lost.is_empty() {
            intake.waiting.retain(|block| !lost.contains(&block.partition()));
            self.flow.handle_lost(lost);
        }
        self.flow.handle_ended(source_feedback.ended_partitions());
        if source_feedback.is_waiting() {
            self.flow.handle_source_wait(self.now());
        }
    }

    /// Reports the last settled positions to the source. `written` says that the last checkpoint
    /// contains them, where there are checkpoints. Returns why the source did not get them, and how
    /// far it is behind.
    pub(super) async fn report_last_settled(&mut self, written: bool) -> (Option<String>, Option<Lag>) {
        let Some(source_feedback) = self.source_feedback.take() else { return (None, None) };
        let feedback = source_feedback.feedback();
        let failure = match written {
            true => self.finish_feedback(source_feedback).await,
            false => None,
        };
        let lag = feedback.lag();
        // A reading thread may still have the source, and the process may end after the load.
        let closed = tokio::task::spawn_blocking(move || feedback.close());
        // A source that does not close is closed by the end of the process.
        let _ = self.grace.limit(closed).await;
        (failure, lag)
    }

    async fn finish_feedback(&mut self, source_feedback: SourceFeedback) -> Option<String> {
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                let finish = source_feedback.finish(self.flow.settled_below(), letters.unsynced, CONFIRM_MAX);
                let late = |why| {
                    format!(
                        "the source did not confirm its settled positions, so it may read some documents again: {why}"
                    )
                };
                self.grace.limit(finish).await.unwrap_or_else(|why| Err(late(why))).err()
            }
            Err(e) => Some(format!(
                "the source did not get its last settled positions, because the dead letters could not be synced to disk: {e}"
            )),
        }
    }

    /// Writes the last checkpoint, after the last request. Returns why it could not be written.
    pub(super) async fn keep_last_checkpoint(&mut self) -> Option<String> {
        let checkpointer = self.checkpointer.as_mut()?;
        while checkpointer.is_writing() {
            if let Event::Checkpoint(written) = self.events.recv().await? {
                // The last checkpoint replaces this one, so its error does not matter.
                let _ = checkpointer.ended(written);
            }
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => checkpointer.finish(self.flow.last_checkpoint(), letters).await.err(),
            Err(e) => Some(format!(
                "the last checkpoint was not written, because the dead letters could not be synced to disk: {e}"
            )),
        }
    }
}
