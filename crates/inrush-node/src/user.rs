//! The user of this process: the folders and the name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A variable of this process. Where `HOME` is empty or not set, as in cron and containers with an
/// empty environment, it is the home that the system knows of the user.
pub fn variable(name: &str) -> Option<OsString> {
    match name {
        "HOME" => std::env::home_dir().map(Into::into),
        _ => std::env::var_os(name),
    }
}

/// The folder for the state of loads: that of a service of systemd, or `inrush` in the state folder
/// of the XDG base directory specification. `None` for a user without a home.
pub fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The specification says to ignore a relative path in these variables.
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // A service may have several, with colons between them.
    let of_service = variable("STATE_DIRECTORY");
    let of_service = of_service.as_ref().and_then(|all| std::env::split_paths(all).next());
    if let Some(folder) = of_service.filter(|folder| folder.is_absolute()) {
        return Some(folder);
    }
    let base = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("inrush"))
}

/// The owner of a file, where that is another user than that of this process.
pub fn other_owner(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let owner = fs::metadata(path).ok()?.uid();
    (owner != rustix::process::geteuid().as_raw()).then(|| name_of(owner))
}

/// The name of a user, or the number where the password file has none.
fn name_of(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut entries = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|fields| fields.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    entry.map_or_else(|| format!("user {uid}"), |fields| format!("user {}", fields[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_is_that_of_the_service_or_of_the_user() {
        let folder = |variables: &[(&str, &str)]| {
            state_folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let all = [("STATE_DIRECTORY", "/s:/t"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        for (variables, expected) in [
            (&all[..], Some("/s")),
            (&all[1..], Some("/x/inrush")),
            (&all[2..], Some("/h/.local/state/inrush")),
            (&[("STATE_DIRECTORY", "s"), ("XDG_STATE_HOME", "x"), ("HOME", "/")], Some("/.local/state/inrush")),
            (&[("STATE_DIRECTORY", ""), ("XDG_STATE_HOME", ""), ("HOME", "")], None),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            assert_eq!(folder(variables), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn users_have_names() {
        assert_eq!(name_of(0), "user root");
        assert_eq!(name_of(u32::MAX - 7), "user 4294967288");
        assert_eq!(other_owner(Path::new("/no/such/file")), None);
        assert_eq!(other_owner(tempfile::tempdir().unwrap().path()), None);
    }
}
