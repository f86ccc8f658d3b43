//! Nodes never outlive the tests that have started them. Statics are not dropped at the end of a
//! process, and a process that is killed or interrupted drops nothing at all; but the system closes
//! its pipes in each of these cases. So a guardian, a shell, waits for the end of its stdin.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::users;

/// Ends the nodes and programs of tests when it is dropped, and when the process of the tests is
/// gone, however it ended.
///
/// A process belongs to the tests if one of these paths begins with their mark:
///
/// | path | process |
/// |---|---|
/// | `XDG_STATE_HOME` | a program that a test has started, and the nodes of its bakes |
/// | `OPENSEARCH_PATH_CONF`, `ES_PATH_CONF` | a node of the tests, from its launch |
/// | one in its configuration | a node of a bake, for its folder of snapshots (`path.repo`) |
///
/// They are ended in order within a minute, and then killed. Where this process may start programs
/// as other users, those may be others'.
#[derive(Debug)]
pub struct Guardian(Child);

impl Guardian {
    /// Starts a guardian. It has to be there before the processes that it ends. `mark`: how the
    /// paths of all folders of this process's tests begin, and those of no others.
    ///
    /// # Errors
    /// A machine without `sh`.
    pub fn new(mark: &str) -> io::Result<Guardian> {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", include_str!("guardian.sh"), "guardian", mark]);
        // A group of its own: Ctrl-C ends the tests, and not the guardian.
        guardian.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        if users::may_change() {
            // Only root sees the environment of others' processes.
            guardian.uid(0).gid(0);
        }
        Ok(Guardian(guardian.spawn()?))
    }

    /// The process of the guardian.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Deletes a folder when the processes have ended.
    ///
    /// # Errors
    /// A guardian that was killed.
    pub fn delete(&mut self, folder: &Path) -> io::Result<()> {
        let Some(stdin) = &mut self.0.stdin else { return Ok(()) };
        stdin.write_all(&[folder.as_os_str().as_bytes(), b"\n"].concat())
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // A drop cannot report a failure.
        let _ = self.0.wait();
    }
}
