//! Where distributions, nodes and downloads are on this machine.

use std::path::PathBuf;

/// The folder of distributions and nodes. It is not in root's home, which the node's user often
/// cannot read.
pub(super) fn root() -> PathBuf {
    if let Some(root) = std::env::var_os("INRUSH_NODE_ROOT") {
        return root.into();
    }
    if rustix::process::geteuid().is_root() {
        return "/var/lib/inrush".into();
    }
    xdg("XDG_DATA_HOME", ".local/share").join("inrush")
}

/// The folder of downloads.
pub(super) fn cache() -> PathBuf {
    xdg("XDG_CACHE_HOME", ".cache").join("inrush/dist")
}

fn xdg(variable: &str, in_home: &str) -> PathBuf {
    match std::env::var_os(variable).filter(|v| !v.is_empty()) {
        Some(folder) => folder.into(),
        None => PathBuf::from(crate::user::variable("HOME").unwrap_or_else(|| "/".into())).join(in_home),
    }
}
