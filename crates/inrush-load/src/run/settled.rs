//! Checkpoints of what is settled, and the way back to the source.

use inrush_core::Time;

use super::{Intake, Run};
use crate::event::{Event, Written};

impl Run {
    /// A checkpoint was written, or could not be.
    pub(super) fn checkpoint_ended(&mut self, now: Time, written: Written, intake: &mut Intake) {
        let Some(checkpointer) = &mut self.checkpointer else { return };
        match checkpointer.ended(written) {
            Ok(checkpoint) => {
                self.flow.handle_checkpoint(&checkpoint);
                if let Some(to_source) = &mut self.to_source {
                    to_source.checkpoint_written();
                }
                self.admit(now, intake);
            }
            Err(why) => self.fail(now, why),
        }
    }

    /// The source was told what is settled, or dead letters could not be synced before.
    pub(super) fn source_told(&mut self, now: Time, told: Result<(), String>) {
        if let Some(to_source) = &mut self.to_source {
            to_source.ended();
        }
        if let Err(why) = told {
            self.fail(now, format!("dead letters cannot be synced to disk: {why}; documents would be lost"));
        }
    }

    /// Begins to write a checkpoint where one is due. Here all commands were obeyed, so the dead
    /// letters that are counted are written.
    pub(super) fn keep_checkpoint(&mut self, intake: &Intake) {
        let read_all = intake.has_read_all();
        let Some(checkpointer) = &mut self.checkpointer else { return };
        if !checkpointer.is_due(&self.flow, &intake.waiting, read_all) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                if let Some(to_source) = &mut self.to_source {
                    to_source.checkpoint_taken(self.flow.settled_below());
                }
                checkpointer.start(&self.flow, &intake.waiting, read_all, letters);
            }
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Tells the source what is settled, where it is time to and there are no checkpoints to wait
    /// for. As in [`Run::keep_checkpoint`], dead letters that are counted are written.
    pub(super) fn tell_source(&mut self) {
        let Some(to_source) = self.to_source.as_mut().filter(|to_source| to_source.is_due()) else { return };
        if self.checkpointer.is_some() {
            return;
        }
        let settled = self.flow.settled_below();
        if !to_source.has_news(&settled) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => to_source.start(settled, letters.file),
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Tells the source what is settled at the end, unless a checkpoint was to say so (`written`:
    /// it does). Returns why it was not told.
    pub(super) async fn tell_source_last(&mut self, written: bool) -> Option<String> {
        let to_source = self.to_source.take().filter(|_| written)?;
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                let longest = self.flow.drain_max();
                to_source.finish(self.flow.settled_below(), letters.file, longest).await.err()
            }
            Err(e) => {
                Some(format!("the source was not told what is settled, because dead letters could not be written: {e}"))
            }
        }
    }

    /// When nothing is under way any more. Returns why it could not be written.
    pub(super) async fn keep_last_checkpoint(&mut self) -> Option<String> {
        let checkpointer = self.checkpointer.as_mut()?;
        while checkpointer.is_writing() {
            if let Event::Checkpoint(written) = self.events.recv().await? {
                // Whether it was written matters no more.
                let _ = checkpointer.ended(written);
            }
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => checkpointer.finish(self.flow.last_checkpoint(), letters).await.err(),
            Err(e) => Some(format!("the last checkpoint was not written, because dead letters could not be: {e}")),
        }
    }
}
