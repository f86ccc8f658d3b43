//! The repository between builder and target: a folder of its own at a location that both reach, so
//! that two clusters never write to the same repository.

use std::io;
use std::path::{Path, PathBuf};

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::snapshots::{self, Repository};
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::{BakeError, Delivery, Place};
use crate::files::{readable, remove, set_mode};

/// Where the snapshot goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// The repository as the builder registers it.
    pub(crate) repository: Repository,
    /// The folder on this machine, which the bake creates and deletes. `None` for other types than
    /// `fs`.
    pub(crate) folder: Option<PathBuf>,
    /// The same folder as the target's nodes see it, if they have it at another path.
    #[serde(default)]
    pub(crate) on_target: Option<PathBuf>,
}

impl Shared {
    /// A folder of the name `own` at the location that the user gave.
    ///
    /// # Errors
    /// A repository that does not exist, or of a read-only type.
    pub(crate) async fn find(how: &Delivery, own: &str, target: &Transport) -> Result<Shared, BakeError> {
        match &how.place {
            Place::Path(folder) => {
                let folder = std::path::absolute(folder).map_err(|e| refuse(format!("{}: {e}", folder.display())))?;
                if !folder.is_dir() {
                    return Err(refuse(format!(
                        "option `repository_path={}` is not a folder on this machine; name one of a file system that this machine and all nodes of the target have",
                        folder.display()
                    )));
                }
                let on_target = how.path_on_target.as_ref().map(|there| there.join(own));
                Ok(Shared { on_target, ..Shared::in_folder(&folder.join(own)) })
            }
            Place::Repository(name) => {
                let Some(found) = snapshots::repository(target, name).await? else {
                    return Err(refuse(format!(
                        "the target has no repository {name}; register it, or name a folder with option `repository_path`"
                    )));
                };
                Shared::below(name, found, own, target).await
            }
        }
    }

    /// A location of its own inside this one.
    pub(crate) fn within(&self, name: &str) -> Shared {
        let mut inner = self.clone();
        if let Some(folder) = &mut inner.folder {
            folder.push(name);
            inner.repository.settings.insert("location".to_owned(), json!(folder));
            inner.on_target.iter_mut().for_each(|there| there.push(name));
        } else {
            let base =
                inner.repository.settings.get("base_path").and_then(serde_json::Value::as_str).unwrap_or_default();
            let base = format!("{base}/{name}");
            inner.repository.settings.insert("base_path".to_owned(), json!(base));
        }
        inner
    }

    /// The repository as the target registers it, which may write to it.
    pub(crate) fn for_target(&self) -> Repository {
        let mut repository = self.repository.clone();
        if let Some(there) = &self.on_target {
            repository.settings.insert("location".to_owned(), json!(there));
        }
        repository
    }

    /// The same, read-only.
    pub(crate) fn read_only(&self) -> Repository {
        let mut repository = self.for_target();
        repository.settings.insert("readonly".to_owned(), json!(true));
        repository
    }

    /// The folder in which this bake has its own.
    pub(crate) fn around(&self) -> Option<&Path> {
        self.folder.as_deref().and_then(Path::parent)
    }

    /// The same as the target's nodes see it, for messages.
    pub(crate) fn around_on_target(&self) -> String {
        let own = self.on_target.as_deref().or(self.folder.as_deref());
        own.and_then(Path::parent).map_or_else(|| "the place".to_owned(), |folder| folder.display().to_string())
    }

    fn in_folder(folder: &Path) -> Shared {
        let mut settings = serde_json::Map::new();
        settings.insert("location".to_owned(), json!(folder));
        let repository = Repository { kind: "fs".to_owned(), settings, crypto_metadata: None };
        Shared { repository, folder: Some(folder.to_owned()), on_target: None }
    }

    async fn below(name: &str, found: Repository, own: &str, target: &Transport) -> Result<Shared, BakeError> {
        let text = |key: &str| found.settings.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        match found.kind.as_str() {
            "fs" => {
                let location = PathBuf::from(text("location").unwrap_or_default());
                let location = match location.is_absolute() {
                    true => location,
                    false => first_path(target).await?.join(location),
                };
                if !location.is_dir() {
                    return Err(refuse(format!(
                        "the repository {name} is in {}, which is not a folder on this machine; mount it here at the same path, or at another one and give options `repository_path` and `repository_path_on_target` in place of option `repository`",
                        location.display()
                    )));
                }
                Ok(Shared::in_folder(&location.join(own)))
            }
            "url" | "source" => Err(refuse(format!(
                "the repository {name} is of the type {}, which is read-only; name another one",
                found.kind
            ))),
            _ => {
                let mut repository = found.clone();
                let base = text("base_path").map(|base| format!("{}/", base.trim_end_matches('/'))).unwrap_or_default();
                repository.settings.insert("base_path".to_owned(), json!(format!("{base}{own}")));
                repository.settings.remove("readonly");
                Ok(Shared { repository, folder: None, on_target: None })
            }
        }
    }

    /// Creates the folder, which every user can read.
    ///
    /// # Errors
    /// [`BakeError::Files`].
    pub(crate) fn make(&self) -> Result<(), BakeError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let made = std::fs::create_dir_all(folder).and_then(|()| set_mode(folder, 0o755));
        made.map_err(|source| BakeError::Files { what: format!("cannot create {}", folder.display()), source })
    }

    /// Creates the folder for a builder, which runs as another user if this user is root.
    ///
    /// # Errors
    /// [`BakeError::Files`], [`BakeError::Node`].
    pub(crate) fn make_for_builder(&self) -> Result<(), BakeError> {
        self.make()?;
        match &self.folder {
            Some(folder) if rustix::process::geteuid().is_root() => Ok(inrush_node::make_writable(folder)?),
            _ => Ok(()),
        }
    }

    /// Lets the target's user read all files in the folder, for any mask of the process that
    /// wrote them. Those of a server of the user may belong to another one, and stay.
    pub(crate) fn open(&self) {
        if let Some(folder) = &self.folder
            && let Err(error) = readable(folder)
        {
            tracing::debug!("{} stays as it is: {error}", folder.display());
        }
    }

    /// Deletes the folder with its contents.
    pub(crate) fn remove(&self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        remove(folder).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "; the target's server has written to it; delete it as its user, or as root"
                }
                _ => "",
            };
            format!("cannot delete {}: {error}{why}", folder.display())
        })
    }
}

/// The base for relative locations on the target's nodes: the first entry of `path.repo`.
async fn first_path(target: &Transport) -> Result<PathBuf, BakeError> {
    let what = "asking for path.repo";
    let path = "/_nodes/settings?filter_path=nodes.*.settings.path.repo";
    let body = target.demand(what, Method::GET, path, None).await?;
    let node = body.get("nodes").and_then(|nodes| nodes.as_object()?.values().next());
    let repo = node.and_then(|node| node.pointer("/settings/path/repo"));
    let first = repo.and_then(|repo| repo.as_str().or_else(|| repo.get(0)?.as_str()));
    first.map(PathBuf::from).ok_or_else(|| {
        ClusterError::Reply { what: what.to_owned(), problem: "no node reports its path.repo".to_owned() }.into()
    })
}

fn refuse(why: String) -> BakeError {
    BakeError::Refused(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let around = tempfile::tempdir().unwrap();
        let file = around.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Shared::in_folder(&file.join("own")).make().unwrap_err();
        assert_eq!(error.code(), inrush_core::Code::FileFailed);
        assert!(error.to_string().starts_with(&format!("cannot create {}", file.join("own").display())), "{error}");
    }

    #[test]
    fn the_target_may_have_the_folder_at_another_path() {
        let here = Shared::in_folder(Path::new("/here/own"));
        let there = Shared { on_target: Some("/there/own".into()), ..here.clone() }.within("whole");
        assert_eq!(there.repository.settings["location"], "/here/own/whole");
        assert_eq!(there.for_target().settings["location"], "/there/own/whole");
        assert_eq!(there.read_only().settings["location"], "/there/own/whole");
        assert_eq!(there.around_on_target(), "/there/own");
        assert_eq!(here.read_only().settings["location"], "/here/own");
    }
}
