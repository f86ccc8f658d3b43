//! The users of the repository's folder: the one of this program and those of the target's nodes.
//! What stands against it is found before anything is changed on the target.
//!
//! A node on this machine is known by its process, whose user, groups and mask for new files Linux
//! shows in `/proc/PID/status` (proc(5)). Of a node on another machine nothing is known here; what
//! it may do shows when the target registers the repository.

use std::fs;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use http::Method;
use inrush_cluster::transport::Transport;
use serde_json::Value;

use crate::config::BakeError;
use crate::files::SET_GROUP;

/// The user that a process runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    uid: u32,
    /// The groups, the primary one among them.
    groups: Vec<u32>,
    /// The permissions that new files do not get.
    umask: u32,
}

/// What a user may do with a file or folder, by its mode. An access control list may say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    Yes,
    No,
    Unknown,
}

const READ: u32 = 0o4;
const PASS: u32 = 0o1;

impl User {
    /// The user of this process.
    pub(crate) fn own() -> Option<User> {
        User::of_process("self")
    }

    fn of_process(process: &str) -> Option<User> {
        User::parse(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<User> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        // Real, effective, saved and file-system id.
        let effective = |name: &str| field(name)?.split_whitespace().nth(1)?.parse().ok();
        let mut groups: Vec<u32> =
            field("Groups")?.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        groups.insert(0, effective("Gid")?);
        Some(User { uid: effective("Uid")?, groups, umask: u32::from_str_radix(field("Umask")?.trim(), 8).ok()? })
    }

    /// The name with the number, for messages.
    fn title(&self) -> String {
        match name_of(self.uid) {
            Some(name) => format!("user {name} (uid {})", self.uid),
            None => format!("uid {}", self.uid),
        }
    }

    /// Whether the user has all of these rights, of [`READ`] and [`PASS`].
    fn may(&self, path: &Path, rights: u32) -> May {
        let Ok(found) = fs::metadata(path) else { return May::Unknown };
        if self.uid == 0 {
            return May::Yes;
        }
        let shift = match () {
            () if found.uid() == self.uid => 6,
            () if self.groups.contains(&found.gid()) => 3,
            () => 0,
        };
        let granted = found.permissions().mode() >> shift & rights == rights;
        match granted {
            // Entries for single users and groups come before the bits of the others.
            _ if has_acl(path) => May::Unknown,
            true => May::Yes,
            false => May::No,
        }
    }

    /// Whether this user can read the files that `other` makes in a folder. A folder with the
    /// set-group-ID bit gives new files its group.
    fn reads_files_of(&self, other: &User, folder: &Path) -> May {
        let Ok(found) = fs::metadata(folder) else { return May::Unknown };
        if self.uid == 0 || self.uid == other.uid {
            return May::Yes;
        }
        let of_folder = found.permissions().mode() & SET_GROUP != 0;
        let group = if of_folder { Some(found.gid()) } else { other.groups.first().copied() };
        let shift = if group.is_some_and(|group| self.groups.contains(&group)) { 3 } else { 0 };
        match other.umask >> shift & READ == 0 {
            // A default list of the folder replaces the mask.
            _ if has_acl(folder) => May::Unknown,
            true => May::Yes,
            false => May::No,
        }
    }
}

/// Whether a path has an access control list (acl(5)), as far as the file system says.
fn has_acl(path: &Path) -> bool {
    ["system.posix_acl_access", "system.posix_acl_default", "system.nfs4_acl"]
        .into_iter()
        .any(|name| rustix::fs::getxattr(path, name, &mut [0_u8; 0][..]).is_ok_and(|length: usize| length > 0))
}

/// The name of a user.
fn name_of(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = fields.into_iter().find(|fields| fields.get(2).and_then(|text| text.parse().ok()) == Some(uid));
    found.and_then(|fields| Some((*fields.first()?).to_owned()))
}

/// Owner and mode of a path, for messages.
fn described(path: &Path) -> String {
    match fs::metadata(path) {
        Ok(found) => {
            let owner = name_of(found.uid()).unwrap_or_else(|| format!("uid {}", found.uid()));
            format!("{} (owner {owner}, mode {:04o})", path.display(), found.permissions().mode() & 0o7777)
        }
        Err(_) => path.display().to_string(),
    }
}

/// The users of the target's nodes on this machine, each once.
pub(crate) async fn of_nodes(target: &Transport) -> Vec<User> {
    let path = "/_nodes/process?filter_path=nodes.*.ip,nodes.*.process.id";
    let Ok(body) = target.demand("asking the nodes for their processes", Method::GET, path, None).await else {
        return Vec::new();
    };
    let nodes = body.get("nodes").and_then(Value::as_object).into_iter().flat_map(|nodes| nodes.values());
    let mut users = Vec::new();
    for user in nodes.filter_map(of_node) {
        if !users.contains(&user) {
            users.push(user);
        }
    }
    users
}

fn of_node(node: &Value) -> Option<User> {
    let address: IpAddr = node.get("ip")?.as_str()?.parse().ok()?;
    // Only an address of this machine can be bound.
    UdpSocket::bind((address, 0)).ok()?;
    let process = node.pointer("/process/id")?.as_u64()?.to_string();
    // In a container the number is that of another process here, or of none.
    let command = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let is_server = ["opensearch", "elasticsearch"]
        .iter()
        .any(|name| command.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes())));
    if is_server { User::of_process(&process) } else { None }
}

/// Checks that this process can write to the folder, and that the nodes can pass through to it.
///
/// # Errors
/// [`BakeError::Files`] or [`BakeError::Refused`], with the folder, both users, and what to do.
pub(crate) fn check(around: &Path, nodes: &[User]) -> Result<(), BakeError> {
    let own = User::own().as_ref().map_or_else(|| "another user".to_owned(), User::title);
    let server = nodes.first().map_or_else(|| "the user of the target's server".to_owned(), User::title);
    write_to(around).map_err(|source| {
        let what = format!("inrush runs as {own}, who cannot write to {}", described(around));
        match source.kind() {
            io::ErrorKind::PermissionDenied => BakeError::Refused(format!(
                "{what}: {source}; let this user write there and {server} pass through it, or name another folder"
            )),
            _ => BakeError::Files { what, source },
        }
    })?;
    let around = fs::canonicalize(around).unwrap_or_else(|_| around.to_owned());
    for node in nodes {
        let closed = around.ancestors().filter(|above| node.may(above, PASS) == May::No).last();
        if let Some(closed) = closed {
            return Err(BakeError::Refused(format!(
                "the target's server runs as {}, who cannot pass through {} to {}, where inrush writes as {own}; let that user pass (`chmod o+x {}`, or a common group), or name a folder that both users reach",
                node.title(),
                described(closed),
                around.display(),
                closed.display()
            )));
        }
    }
    Ok(())
}

/// Makes a folder with a file of one byte, and deletes both.
fn write_to(around: &Path) -> io::Result<()> {
    let made = tempfile::Builder::new().prefix(".inrush-bake-").tempdir_in(around)?;
    fs::write(made.path().join("written"), "-")?;
    made.close()
}

/// Checks that this process can read what the nodes write to the folder.
///
/// # Errors
/// Both users, and what to do.
pub(crate) fn check_reading(around: &Path, nodes: &[User]) -> Result<(), String> {
    let Some(own) = User::own() else { return Ok(()) };
    match nodes.iter().find(|node| own.reads_files_of(node, around) == May::No) {
        None => Ok(()),
        Some(node) => Err(format!(
            "the target's server runs as {} with the file mode mask {:04o}, so inrush as {} cannot read what it writes to {}; give the server the mask 0022, or both users a common group and the folder this group and the set-group-ID bit",
            node.title(),
            node.umask,
            own.title(),
            around.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::set_mode;

    fn user(uid: u32, groups: &[u32], umask: u32) -> User {
        User { uid, groups: groups.to_vec(), umask }
    }

    #[test]
    fn a_user_is_read_from_the_status_of_a_process() {
        let status =
            "Name:\tjava\nUmask:\t0027\nState:\tS\nUid:\t1000\t1001\t1001\t1001\nGid:\t7\t8\t8\t8\nGroups:\t9 10 \n";
        assert_eq!(User::parse(status), Some(user(1001, &[8, 9, 10], 0o027)));
        assert_eq!(User::parse("Name:\tkernel\n"), None);
        let own = User::own().unwrap();
        assert_eq!(own.uid, rustix::process::geteuid().as_raw());
    }

    #[test]
    fn the_first_closed_folder_is_named_with_both_users() {
        let folder = tempfile::tempdir().unwrap();
        let (closed, shared) = (folder.path().join("closed"), folder.path().join("closed/a/shared"));
        fs::create_dir_all(&shared).unwrap();
        set_mode(folder.path(), 0o755).unwrap();
        set_mode(&closed, 0o755).unwrap();
        let own = User::own().unwrap();
        let node = user(own.uid + 4_000_000, &[4_000_000_001], 0o022);
        check(&shared, std::slice::from_ref(&node)).unwrap();
        set_mode(&closed, 0o750).unwrap();
        let error = check(&shared, std::slice::from_ref(&node)).unwrap_err().to_string();
        for expected in [&node.title(), &own.title(), "mode 0750", "chmod o+x"] {
            assert!(error.contains(expected), "{expected}: {error}");
        }
        // The group of the folder, its owner and root pass.
        let group = fs::metadata(&closed).unwrap().gid();
        check(&shared, &[user(node.uid, &[4_000_000_001, group], 0), own, user(0, &[0], 0)]).unwrap();
        check(&shared, &[]).unwrap();
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = check(&file, &[user(4_000_000, &[1], 0)]).unwrap_err();
        assert!(error.to_string().contains(&format!("cannot write to {}", file.display())), "{error}");
        assert_eq!(error.code(), inrush_core::Code::FileFailed);
    }

    #[test]
    fn files_of_a_server_are_read_by_its_mask_and_a_common_group() {
        let folder = tempfile::tempdir().unwrap();
        let group = fs::metadata(folder.path()).unwrap().gid();
        let own = user(3_000_000, &[3_000_000, group], 0o022);
        let may = |umask, mode| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            own.reads_files_of(&user(4_000_000, &[4_000_000], umask), folder.path())
        };
        assert_eq!([may(0o022, 0o755), may(0o027, 0o755), may(0o077, 0o755)], [May::Yes, May::No, May::No]);
        assert_eq!([may(0o027, 0o2770), may(0o077, 0o2770), may(0o007, 0o2770)], [May::Yes, May::No, May::Yes]);
        assert_eq!(own.reads_files_of(&user(own.uid, &[1], 0o077), folder.path()), May::Yes);
        assert_eq!(user(0, &[0], 0).reads_files_of(&user(1, &[1], 0o077), folder.path()), May::Yes);
    }
}
