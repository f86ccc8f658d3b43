//! Disks of a test: a file system in memory that only the tested process sees.
// Each executable uses a part of it.
#![allow(dead_code)]

use std::path::Path;

/// What the disk of a test is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// It takes files, and no byte of them.
    Full,
    /// It takes no file.
    ReadOnly,
}

impl Disk {
    /// The command, for a process that finds such a disk at `at`. `None` where the system lets no
    /// user mount one; the reason is printed then.
    pub fn command(self, at: &Path, command: &[&str]) -> Option<Vec<String>> {
        let user: &[&str] = match rustix::process::geteuid().is_root() {
            true => &[],
            false => &["--user", "--map-root-user"],
        };
        let mount = match self {
            Disk::Full => "mount -t tmpfs -o size=64k full \"$0\"; ! head -c 1M /dev/zero >\"$0/rest\" 2>/dev/null",
            Disk::ReadOnly => "mount -t tmpfs -o ro none \"$0\"",
        };
        let script = format!("set -e; {mount}; exec \"$@\"");
        let at = at.to_str().unwrap();
        let all = |command: &[&str]| -> Vec<String> {
            let words = [&["unshare", "--mount"], user, &["sh", "-c", &script, at], command].concat();
            words.into_iter().map(str::to_owned).collect()
        };
        let tried = all(&["true"]);
        let tried = std::process::Command::new(&tried[0]).args(&tried[1..]).output();
        match tried {
            Ok(output) if output.status.success() => Some(all(command)),
            other => {
                println!("skipped: this system lets no test mount a disk: {other:?}");
                None
            }
        }
    }
}
