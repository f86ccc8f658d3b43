//! The progress channel of a load.

use std::time::Duration;

use tokio::sync::watch;

use super::{LoadEvent, Observer};
use crate::progress::Progress;

/// Publishes the last progress.
pub(crate) struct ProgressSender(pub(crate) watch::Sender<Progress>);

impl Observer for ProgressSender {
    fn on_event(&mut self, _: Duration, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Progress(progress) => {
                self.0.send_replace((*progress).clone());
            }
            LoadEvent::Phase(phase) => self.0.send_modify(|progress| progress.phase = (*phase).clone()),
            _ => {}
        }
    }
}
