//! The metrics as a file for the textfile collector of node_exporter.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, interval_at};

use crate::board::Board;
use crate::config::WatchError;
use crate::exposition::Format;
use crate::snapshot::Kind;

/// The interval between two versions of the file.
const EVERY: Duration = Duration::from_secs(15);
/// The collector runs as another user.
const READABLE: u32 = 0o644;

/// Writes the file `inrush-NAME.prom`, where NAME is the first load's index, or
/// `inrush-verify-NAME.prom` for a comparison.
#[derive(Debug)]
pub(crate) struct Textfile {
    board: Arc<Board>,
    folder: PathBuf,
    ending: Arc<Notify>,
}

impl Textfile {
    /// Checks that the folder can be written to.
    pub(crate) fn new(board: Arc<Board>, folder: PathBuf, ending: Arc<Notify>) -> Result<Self, WatchError> {
        // A full disk refuses no file, but its first byte.
        let written = new_file(&folder).and_then(|mut file| {
            file.write_all(b"\n")?;
            file.as_file().sync_all()
        });
        match written {
            Ok(()) => Ok(Textfile { board, folder, ending }),
            Err(source) => Err(WatchError::Folder { folder, source }),
        }
    }

    /// Writes the file in intervals, and once more at the end.
    pub(crate) async fn run(self) {
        let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
        let mut has_failed = false;
        loop {
            let is_over = tokio::select! {
                biased;
                () = self.ending.notified() => true,
                _ = ticks.tick() => false,
            };
            let written = self.write().await;
            if let (Err(error), false) = (&written, has_failed) {
                tracing::warn!("cannot write the metrics to {}: {error}", self.folder.display());
            }
            has_failed = written.is_err();
            if is_over {
                return;
            }
        }
    }

    async fn write(&self) -> io::Result<()> {
        let text = self.board.metrics(0).text(Format::Text);
        let (kind, name) = self.board.name().unwrap_or_default();
        let prefix = if kind == Kind::Verify { "inrush-verify" } else { "inrush" };
        let path = self.folder.join(format!("{prefix}-{}.prom", file_name(&name)));
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || replace(&folder, &path, &text)).await;
        written.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// Replaces the file in one step, so that the collector never reads half of it.
fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = new_file(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A file whose name the collector ignores.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".inrush-").permissions(std::fs::Permissions::from_mode(READABLE)).tempfile_in(folder)
}

/// The name of an index as a part of a file name.
fn file_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(100).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_at_once_and_readable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inrush-a.prom");
        for text in ["one\n", "two\n"] {
            replace(folder.path(), &path, text).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o044, 0o044);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_of_an_index_has_no_way_out_of_the_folder() {
        assert_eq!(file_name("logs-{@timestamp:yyyy}"), "logs-__timestamp_yyyy_");
        assert_eq!(file_name("../../etc/x"), ".._.._etc_x");
    }
}
