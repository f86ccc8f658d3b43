//! The repository between builder and target: a folder of its own at a location that both reach, so
//! that two clusters never write to the same repository.

use std::path::{Path, PathBuf};

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::snapshots::{self, Repository};
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::{BakeError, Place};

/// Where the snapshot goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shared {
    /// The repository as the builder registers it.
    pub(super) repository: Repository,
    /// The folder on this machine, which the bake creates and deletes. `None` for other types than
    /// `fs`.
    pub(super) folder: Option<PathBuf>,
}

impl Shared {
    /// A folder of the name `own` at the location that the user gave.
    ///
    /// # Errors
    /// A repository that does not exist, or of a read-only type.
    pub(super) async fn find(place: &Place, own: &str, target: &Transport) -> Result<Shared, BakeError> {
        match place {
            Place::Path(folder) => {
                let folder = std::path::absolute(folder).map_err(|e| refuse(format!("{}: {e}", folder.display())))?;
                if !folder.is_dir() {
                    return Err(refuse(format!(
                        "option `repository_path={}` is not a folder on this machine; name one of a file system that this machine and all nodes of the target have at the same path",
                        folder.display()
                    )));
                }
                Ok(Shared::in_folder(&folder.join(own)))
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
    pub(super) fn within(&self, name: &str) -> Shared {
        let mut inner = self.clone();
        if let Some(folder) = &mut inner.folder {
            folder.push(name);
            inner.repository.settings.insert("location".to_owned(), json!(folder));
        } else {
            let base =
                inner.repository.settings.get("base_path").and_then(serde_json::Value::as_str).unwrap_or_default();
            let base = format!("{base}/{name}");
            inner.repository.settings.insert("base_path".to_owned(), json!(base));
        }
        inner
    }

    /// The repository as the target registers it: read-only.
    pub(super) fn read_only(&self) -> Repository {
        let mut repository = self.repository.clone();
        repository.settings.insert("readonly".to_owned(), json!(true));
        repository
    }

    fn in_folder(folder: &Path) -> Shared {
        let mut settings = serde_json::Map::new();
        settings.insert("location".to_owned(), json!(folder));
        let repository = Repository { kind: "fs".to_owned(), settings, crypto_metadata: None };
        Shared { repository, folder: Some(folder.to_owned()) }
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
                        "the repository {name} is in {}, which is not a folder on this machine; mount it here at the same path",
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
                Ok(Shared { repository, folder: None })
            }
        }
    }

    /// Creates the folder, so that the builder can write to it.
    pub(super) fn make(&self) -> Result<(), BakeError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        inrush_node::make_writable(folder).map_err(|error| {
            let around = folder.parent().unwrap_or(folder).display();
            refuse(format!(
                "the folder of the bake cannot be made: {error}; the user who runs inrush has to be able to write to {around}"
            ))
        })
    }

    /// Deletes the folder with its contents.
    pub(super) fn remove(&self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("cannot delete {}: {e}", folder.display()))
            }
            _ => Ok(()),
        }
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
    fn a_folder_that_cannot_be_made_says_who_needs_it() {
        let around = tempfile::tempdir().unwrap();
        let file = around.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Shared::in_folder(&file.join("own")).make().unwrap_err();
        assert_eq!(error.code(), inrush_core::Code::BakeRefused);
        let needed = format!("the user who runs inrush has to be able to write to {}", file.display());
        assert!(error.to_string().ends_with(&needed), "{error}");
    }
}
