//! Nodes never outlive the tests. Statics are not dropped at the end of a process, and a process
//! that is killed or interrupted drops nothing at all; but the system closes its pipes in each of
//! these cases. So a guardian, a shell, waits for the end of its stdin.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads process groups until its stdin ends, then ends the last one in order, within a minute, and
/// deletes a folder if it was given one.
const SCRIPT: &str = r#"
group=
while read -r line; do group=$line; done
if [ -n "$group" ]; then
  kill -s TERM -- "-$group"
  left=120
  while [ "$left" -gt 0 ] && kill -s 0 -- "-$group"; do
    left=$((left - 1))
    sleep 0.5
  done
  kill -s KILL -- "-$group"
fi
[ $# = 0 ] || rm -rf -- "$1"
"#;

/// Ends a node when it is dropped, and when the process of the tests is gone, however it ended.
pub(super) struct Guardian(Child);

impl Guardian {
    /// `folder`: deleted after the node's end.
    pub(super) fn new(folder: Option<&Path>) -> Guardian {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", SCRIPT, "guardian"]).args(folder);
        // A group of its own: Ctrl-C ends the tests, and not the guardian.
        guardian.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Guardian(guardian.spawn().unwrap())
    }

    /// The process group of the node from now on.
    pub(super) fn watch(&mut self, group: u32) {
        writeln!(self.0.stdin.as_ref().unwrap(), "{group}").unwrap();
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // A drop cannot report a failure.
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Child {
        Command::new("sleep").arg("600").process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_guardian_ends_the_last_group_and_deletes_the_folder() {
        let folder = tempfile::tempdir().unwrap().keep();
        let (mut first, mut second) = (node(), node());
        let mut guardian = Guardian::new(Some(&folder));
        guardian.watch(first.id());
        guardian.watch(second.id());
        assert_eq!(second.try_wait().unwrap(), None);
        let ended = std::thread::spawn(move || second.wait().unwrap());
        drop(guardian);
        assert!(!ended.join().unwrap().success());
        assert!(!folder.exists());
        assert_eq!(first.try_wait().unwrap(), None);
        first.kill().unwrap();
        first.wait().unwrap();
    }
}
