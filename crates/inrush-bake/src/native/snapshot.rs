//! The folders of shards in a repository with one snapshot.
//!
//! The layout of a repository (both servers, `BlobStoreRepository`):
//!
//! - `index-N` has for each index its id and the generation of each of its shards.
//! - The folder of a shard is `indices/ID/SHARD`. OpenSearch may spread these folders below another
//!   one.
//! - In that folder `snap-UUID.dat` lists the files of the snapshot, `index-GENERATION` those of
//!   all snapshots. The other files are those of Lucene.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use inrush_lucene::ShardSnapshot;
use serde_json::Value;

use super::names::refuse;
use crate::config::BakeError;

/// The folders of the shards of `index` in a repository with one snapshot, in their order.
///
/// # Errors
/// A repository of an unknown format, or an error of the operating system.
pub(super) fn shard_folders(repository: &Path, index: &str) -> io::Result<Vec<PathBuf>> {
    let newest = fs::read_dir(repository)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("index-")?.parse::<u64>().ok())
        .max()
        .ok_or_else(|| unknown(format!("{} holds no index-N", repository.display())))?;
    let path = repository.join(format!("index-{newest}"));
    let body: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let (id, shards) = entry(&body, index)
        .ok_or_else(|| unknown(format!("{} does not describe one snapshot of {index}", path.display())))?;
    (0..shards).map(|shard| find(repository, id, shard)).collect()
}

/// The snapshots of the shards of `index`, in their order.
///
/// # Errors
/// As [`shard_folders`].
pub(super) fn snapshots(repository: &Path, index: &str) -> Result<Vec<ShardSnapshot>, BakeError> {
    let cannot = |error: io::Error| refuse(format!("the snapshot without documents cannot be read: {error}"));
    let folders = shard_folders(repository, index).map_err(cannot)?;
    folders.iter().map(|folder| ShardSnapshot::open(folder).map_err(cannot)).collect()
}

/// The id of an index in a repository with one snapshot, and the number of its shards.
fn entry<'a>(body: &'a Value, index: &str) -> Option<(&'a str, usize)> {
    let entry = body.get("indices")?.get(index)?;
    let [_] = body.get("snapshots")?.as_array()?.as_slice() else { return None };
    Some((entry.get("id")?.as_str()?, entry.get("shard_generations")?.as_array()?.len()))
}

/// The folder of a shard: `indices/ID/SHARD`, with or without a folder before it and one between.
fn find(repository: &Path, id: &str, shard: usize) -> io::Result<PathBuf> {
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if !path.is_dir() {
                continue;
            }
            let names: Vec<&str> =
                path.strip_prefix(repository).into_iter().flatten().filter_map(|name| name.to_str()).collect();
            let is_it = names.contains(&id) && names.last() == Some(&shard.to_string().as_str());
            if is_it && names.contains(&"indices") {
                return Ok(path);
            }
            folders.push(path);
        }
    }
    Err(unknown(format!("{} has no folder for shard {shard} of {id}", repository.display())))
}

fn unknown(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the repository has an unknown format: {what}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn folders_of_shards_are_found_wherever_a_server_puts_them() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path();
        let write = |name: &str, body: &Value| fs::write(repository.join(name), body.to_string()).unwrap();
        let body = |snapshots: &[&str]| json!({"snapshots": snapshots, "indices": {"trips": {"id": "W", "shard_generations": ["g0", "g1"]}}});
        write("index-0", &json!({}));
        write("index-1", &body(&["s"]));
        // As OpenSearch may spread shards.
        let expected = ["indices/W/0", "x/indices/W/1"].map(|path| repository.join(path));
        for path in &expected {
            fs::create_dir_all(path).unwrap();
        }
        fs::create_dir_all(repository.join("indices/V/1")).unwrap();
        assert_eq!(shard_folders(repository, "trips").unwrap(), expected);
        let problem = || shard_folders(repository, "trips").unwrap_err().to_string();
        fs::remove_dir(&expected[1]).unwrap();
        assert!(problem().contains("no folder for shard 1 of W"));
        for snapshots in [&[][..], &["s", "t"]] {
            write("index-2", &body(snapshots));
            assert!(problem().contains("index-2 does not describe one snapshot of trips"));
        }
    }
}
