//! Writes files to disk while the next ones are made: at the end little is left to wait for.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// A thread that syncs files, one after the other.
#[derive(Default)]
pub(crate) struct Syncing(Option<(Sender<PathBuf>, JoinHandle<io::Result<()>>)>);

impl Syncing {
    /// Takes files that are whole.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn take(&mut self, files: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let (sender, _) = match &mut self.0 {
            Some(started) => started,
            none => {
                let (sender, received) = mpsc::channel::<PathBuf>();
                let sync = move || received.iter().try_for_each(|file| File::open(file)?.sync_data());
                none.insert((sender, thread::Builder::new().name("inrush-sync".to_owned()).spawn(sync)?))
            }
        };
        for file in files {
            // A thread that has failed says so at the end.
            let _ = sender.send(file);
        }
        Ok(())
    }

    /// Waits for all files.
    ///
    /// # Errors
    ///
    /// If one could not be written to disk.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Some((sender, thread)) = self.0 else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs files panicked")))
    }
}
