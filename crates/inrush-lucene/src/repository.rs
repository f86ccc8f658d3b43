//! A shard in a snapshot repository: an index that was built here takes the place of an empty one.
//!
//! The way of an index into a cluster, without a server beside it: the cluster makes the empty
//! index with its mapping and settings, and snapshots it into a repository without compression. For
//! each of its shards, [`ShardSnapshot`] says what the new commit needs to know, and takes the
//! files of the built index. The cluster restores the snapshot.
//!
//! Source: the blobs of a repository of OpenSearch 3.6 and the documentation of
//! `BlobStoreIndexShardSnapshot` and `BlobStoreIndexShardSnapshots`: `snap-UUID.dat` lists the
//! files of a snapshot, `index-GENERATION` those of all snapshots, both as SMILE with Lucene's
//! header and footer. The description of a segment and the commit are in these lists whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use inrush_smile::{SmileDecoder, SmileEncoder, SmileOptions};
use serde_json::{Value, json};

use crate::formats::commit::{Commit, read_commit};
use crate::formats::output::{ID_BYTES, Put, put_footer};

const SNAPSHOT: &str = "snapshot";
const SNAPSHOTS: &str = "snapshots";
const VERSION: u32 = 1;
const FOOTER_BYTES: usize = 16;

/// The folder of a shard in a repository, with the snapshot of an empty shard.
#[derive(Debug)]
pub struct ShardSnapshot {
    folder: PathBuf,
    /// The file `snap-UUID.dat`, and what is in it.
    list_file: PathBuf,
    list: Value,
    /// The file `index-GENERATION`.
    all_file: PathBuf,
    commit: Commit,
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl ShardSnapshot {
    /// Reads the snapshot of an empty shard.
    ///
    /// # Errors
    ///
    /// If the folder has no snapshot or several, if the shard has documents, or if the repository
    /// compresses its blobs.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let list_file = only(folder, "snap-")?;
        let all_file = only(folder, "index-")?;
        let list = decode(&fs::read(&list_file)?).ok_or_else(|| {
            invalid(format!("{} is no list of files; make the repository with `compress: false`", list_file.display()))
        })?;
        let commit =
            list["files"].as_array().filter(|files| files.len() == 1).and_then(|files| files[0]["meta_hash"].as_str());
        let commit = commit.and_then(|text| STANDARD.decode(text).ok()).and_then(|bytes| read_commit(&bytes));
        let commit =
            commit.ok_or_else(|| invalid(format!("{} is not the snapshot of an empty shard", list_file.display())))?;
        Ok(Self { folder: folder.to_owned(), list_file, list, all_file, commit })
    }

    /// What the commit of the built index has to say, too.
    #[must_use]
    pub fn user_data(&self) -> &[(String, String)] {
        &self.commit.user_data
    }

    /// The generation that the commit of the built index has.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.commit.generation + 1
    }

    /// The server's version of Lucene.
    #[must_use]
    pub fn lucene(&self) -> [u32; 3] {
        self.commit.lucene
    }

    /// The beginning of the names of the files that [`ShardSnapshot::fill`] makes of `random`.
    #[must_use]
    pub fn file_prefix(random: [u8; ID_BYTES]) -> String {
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("__{random}")
    }

    /// Puts the files of the built index into the shard's folder, and lists them instead of the
    /// empty commit. `random` makes the names of the files. They are linked where that is possible,
    /// else copied, so `index` stays as it is.
    ///
    /// The lists are written last. A call that was interrupted leaves files that no list has; the
    /// same call does it again. Returns the bytes of the files.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn fill(self, index: &Path, random: [u8; ID_BYTES]) -> io::Result<u64> {
        let version = self.commit.lucene.map(|part| part.to_string()).join(".");
        let prefix = Self::file_prefix(random);
        let mut names: Vec<String> = fs::read_dir(index)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?;
        names.retain(|name| name.starts_with("segments_") || name.starts_with('_'));
        names.sort_unstable();
        let mut files = Vec::new();
        let mut bytes = 0;
        for (number, name) in names.iter().enumerate() {
            let path = index.join(name);
            let whole = name.starts_with("segments_") || name.ends_with(".si");
            let blob = format!("{}{prefix}{number}", if whole { "v" } else { "" });
            let (len, checksum) = checksum(&path)?;
            bytes += len;
            let mut file = json!({ "name": blob, "physical_name": name, "length": len, "checksum": checksum, "part_size": i64::MAX, "written_by": version });
            if whole {
                file["meta_hash"] = STANDARD.encode(fs::read(&path)?).into();
            } else {
                link(&path, &self.folder.join(&blob))?;
            }
            files.push(file);
        }
        let name = self.list["name"].as_str().unwrap_or_default().to_owned();
        let blobs: Vec<Value> = files.iter().map(|file| file["name"].clone()).collect();
        let mut list = self.list;
        list["number_of_files"] = files.len().into();
        list["total_size"] = bytes.into();
        list["files"] = files.clone().into();
        replace(&self.list_file, &encode(SNAPSHOT, &list)?)?;
        let mut snapshots = serde_json::Map::new();
        snapshots.insert(name, json!({ "files": blobs }));
        replace(&self.all_file, &encode(SNAPSHOTS, &json!({ "files": files, "snapshots": snapshots }))?)?;
        Ok(bytes)
    }
}

/// Gives a file a second name, or copies it where the file system has no such names.
fn link(file: &Path, name: &Path) -> io::Result<()> {
    match fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::hard_link(file, name).or_else(|_| fs::copy(file, name).map(drop))
}

/// The only file of a folder whose name begins so.
fn only(folder: &Path, start: &str) -> io::Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(start) {
            found.push(entry.path());
        }
    }
    match found.as_mut_slice() {
        [file] => Ok(std::mem::take(file)),
        _ => Err(invalid(format!("{} has {} files {start}…, expected one", folder.display(), found.len()))),
    }
}

/// Replaces a file at once.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    fs::write(&new, bytes)?;
    fs::rename(&new, file)
}

/// The length of a file of an index, and the checksum at its end, in base 36.
fn checksum(file: &Path) -> io::Result<(u64, String)> {
    use std::io::{Read, Seek, SeekFrom};
    let mut open = fs::File::open(file)?;
    let mut last = [0; 8];
    open.seek(SeekFrom::End(-8))?;
    open.read_exact(&mut last)?;
    Ok((open.metadata()?.len(), crate::formats::commit::base36(u64::from_be_bytes(last))))
}

/// A blob: header, SMILE, footer.
fn encode(codec: &str, value: &Value) -> io::Result<Vec<u8>> {
    let mut blob = Vec::new();
    blob.put_header(codec, VERSION);
    let text = serde_json::to_vec(value)?;
    SmileEncoder::new(SmileOptions::default()).encode(&text, &mut blob).map_err(|error| invalid(error.to_string()))?;
    put_footer(&mut blob);
    Ok(blob)
}

/// What is between the header and the footer of a blob.
fn decode(blob: &[u8]) -> Option<Value> {
    let mut header = Vec::new();
    header.put_header(SNAPSHOT, VERSION);
    let smile = blob.strip_prefix(header.as_slice())?;
    let smile = smile.get(..smile.len().checked_sub(FOOTER_BYTES)?)?;
    let mut text = Vec::new();
    SmileDecoder::default().decode(smile, &mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn blobs_are_read_as_they_are_written() {
        let value = serde_json::json!({ "name": "s", "files": [{ "length": 3, "meta_hash": "YWJjZA==" }] });
        assert_eq!(decode(&encode("snapshot", &value).unwrap()), Some(value));
        assert_eq!(decode(b"no blob"), None);
    }
}
