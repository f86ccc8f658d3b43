//! Where checkpoints are kept, by the flags and the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use inrush::config::StateFolder;

/// The folder that was named, or the user's (the XDG base directory specification). `None` for a user without a home.
pub(crate) fn folder(given: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Option<StateFolder> {
    if let Some(given) = given {
        return Some(StateFolder::new(given));
    }
    // A relative path in these variables is to be ignored, says the specification.
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(StateFolder { required: false, ..StateFolder::new(base.join("inrush")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_comes_before_the_environment() {
        let folder = |given: Option<&str>, variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.into());
            folder(given.map(Path::new), variable).map(|folder| (folder.path, folder.required))
        };
        let all = [("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(folder(Some("s"), &all), Some(("s".into(), true)));
        assert_eq!(folder(None, &all), Some(("/x/inrush".into(), false)));
        assert_eq!(folder(None, &[("XDG_STATE_HOME", "x"), all[1]]), Some(("/h/.local/state/inrush".into(), false)));
        assert_eq!(folder(None, &[]), None);
    }
}
