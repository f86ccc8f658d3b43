//! The users of tests with servers. `scripts/as-ordinary-user.sh` lets root run them as an ordinary
//! user that may start programs as others: the nodes as one, some programs as root.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The capability to become another user, as a bit of those of a process.
const SETUID: u64 = 1 << 7;

/// Whether this process may start programs as other users.
pub fn may_change() -> bool {
    capabilities("CapEff:") & SETUID != 0
}

/// The same; says that a test is skipped where it may not. `test`: its name.
#[allow(clippy::print_stdout, reason = "who runs the tests reads it")]
pub fn may_change_for(test: &str) -> bool {
    let may = may_change();
    if !may {
        println!("{test} is skipped: it starts programs as other users, which only root may; `make servers` as root");
    }
    may
}

/// The user that runs the nodes of tests, where it is not the one that starts them. `None` where
/// that user is all there is, and for root, whose nodes run as another one anyway.
pub fn of_nodes() -> Option<String> {
    (may_change() && !is_root()).then(|| "nobody".to_owned())
}

/// A program as a test starts it: by this user or a named one, without the capabilities of this
/// process, and with this file mode mask.
///
/// # Errors
/// A user that does not exist.
pub fn program(program: impl AsRef<OsStr>, user: Option<&str>, umask: Option<u32>) -> io::Result<Command> {
    let mut words = Vec::new();
    if user.is_some() || capabilities("CapAmb:") != 0 {
        words.extend(["setpriv", "--inh-caps=-all"].map(str::to_owned));
        if let Some(user) = user {
            let (uid, gid) = ids(user)?;
            words.extend([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
        }
        words.push("--".to_owned());
    }
    if let Some(umask) = umask {
        words.extend(["sh", "-c", "umask \"$0\" && exec \"$@\"", &format!("{umask:03o}")].map(str::to_owned));
    }
    let Some((first, others)) = words.split_first() else { return Ok(Command::new(program)) };
    let mut command = Command::new(first);
    command.args(others).arg(program);
    Ok(command)
}

/// Deletes a folder, also where files in it belong to other users.
///
/// # Errors
/// A folder that cannot be deleted.
pub fn delete(folder: &Path) -> io::Result<()> {
    let mut delete = Command::new("rm");
    delete.arg("-rf").arg("--").arg(folder);
    if may_change() {
        delete.uid(0).gid(0);
    }
    match delete.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("cannot delete {}", folder.display()))),
    }
}

/// A disk in memory that soon is full, which every user may write to. Unmounted when it is dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of `mib` MiB in a folder, which exists. `None`, and a reason is printed, where
    /// this process may not. `test`: its name.
    ///
    /// # Errors
    /// A disk that root cannot mount.
    pub fn mount(folder: &Path, mib: u32, test: &str) -> io::Result<Option<SmallDisk>> {
        if !may_change_for(test) {
            return Ok(None);
        }
        let options = format!("size={mib}m,mode=1777");
        let mounted = program("mount", Some("root"), None)?
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder)
            .status()?;
        match mounted.success() {
            true => Ok(Some(SmallDisk(folder.to_owned()))),
            false => Err(io::Error::other(format!("cannot mount a disk in {}", folder.display()))),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A drop cannot report a failure.
        if let Ok(mut unmount) = program("umount", Some("root"), None) {
            let _ = unmount.arg("--lazy").arg(&self.0).status();
        }
    }
}

fn is_root() -> bool {
    status("Uid:").split_whitespace().nth(1) == Some("0")
}

/// A set of capabilities of this process.
fn capabilities(set: &str) -> u64 {
    u64::from_str_radix(status(set).trim(), 16).unwrap_or_default()
}

/// A line of what the system says of this process.
fn status(line: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|text| text.strip_prefix(line)).unwrap_or_default().to_owned()
}

fn ids(user: &str) -> io::Result<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd")?;
    let entry = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == user);
    let ids = entry.and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)));
    ids.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("the user {user} does not exist")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_mask_and_the_user() {
        let said = |mut command: Command| {
            let output = command.args(["-c", "umask; id -u"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let own = said(program("sh", None, None).unwrap());
        assert_eq!(said(program("sh", None, Some(0o077)).unwrap()), ["0077", &own[1]]);
        if may_change_for("users::a_program_gets_the_mask_and_the_user") {
            let (uid, _) = ids("nobody").unwrap();
            assert_eq!(said(program("sh", Some("nobody"), Some(0o027)).unwrap()), ["0027", &uid.to_string()]);
        }
        assert!(program("sh", Some("no such user"), None).is_err());
    }
}
