//! Writes files to disk while the next ones are made: at the end little is left to wait for.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// A thread that syncs files, one after the other. It ends with this.
#[derive(Default)]
pub(crate) struct Syncing {
    started: Option<(Sender<PathBuf>, JoinHandle<io::Result<()>>)>,
    /// Whether the files are not needed any more.
    is_abandoned: Arc<AtomicBool>,
}

impl Syncing {
    /// Takes files that are whole.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started, or one of the files before could not be written to disk.
    pub(crate) fn take(&mut self, files: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let (sender, _) = match &mut self.started {
            Some(started) => started,
            none => {
                let (sender, received) = mpsc::channel::<PathBuf>();
                let is_abandoned = Arc::clone(&self.is_abandoned);
                let sync = move || {
                    let mut needed = received.iter().take_while(|_| !is_abandoned.load(Ordering::Relaxed));
                    needed.try_for_each(|file| File::open(file)?.sync_data())
                };
                none.insert((sender, thread::Builder::new().name("inrush-sync".to_owned()).spawn(sync)?))
            }
        };
        for file in files {
            // Only a thread that has failed takes no more.
            if sender.send(file).is_err() {
                return self.end();
            }
        }
        Ok(())
    }

    /// Waits for all files.
    ///
    /// # Errors
    ///
    /// If one could not be written to disk.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some((sender, thread)) = self.started.take() else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs files panicked")))
    }
}

impl Drop for Syncing {
    /// No file is opened any more after this.
    fn drop(&mut self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
        // Without a commit, no file is needed.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_synced_ends_the_segments() {
        let folder = std::env::temp_dir().join(format!("inrush-lucene-sync-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let whole = folder.join("whole");
        std::fs::write(&whole, "x").unwrap();
        let mut syncing = Syncing::default();
        syncing.take([whole.clone(), folder.join("none")].into_iter()).unwrap();
        // The thread ends soon.
        let error = std::iter::repeat_with(|| syncing.take([whole.clone()].into_iter())).find_map(Result::err);
        assert_eq!(error.unwrap().kind(), io::ErrorKind::NotFound);
        let mut all = Syncing::default();
        all.take([whole].into_iter()).unwrap();
        all.finish().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
