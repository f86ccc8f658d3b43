//! Copies the files of an index into the object store, large ones in parts.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use inrush_sources::Blob;

use super::super::names::refuse;
use super::store::{AT_ONCE, Remote, Work, blocking, is_data};
use crate::config::BakeError;
use crate::record::Upload;

/// Bytes of a part of a large object, unless it would have more than [`PARTS_MAX`] of them.
pub(super) const PART_BYTES: u64 = 8 << 20;
/// The most parts of an object that S3 takes.
const PARTS_MAX: u64 = 10_000;

/// What has to know how far an upload is.
pub(in super::super) struct Watcher<'a> {
    /// Writes down which object is written in parts, before the first of them.
    pub(in super::super) record: &'a (dyn Fn(Option<Upload>) -> Result<(), BakeError> + Sync),
    /// Shows the bytes that are written, of all.
    pub(in super::super) show: &'a (dyn Fn(u64, u64) + Sync),
}

/// A file for the object store.
struct Local {
    path: PathBuf,
    name: String,
    size: u64,
}

impl Remote {
    /// Writes the files of a folder as objects below `below`. Files of an index that are there with
    /// their size stay. Large ones are written in parts, of which few are in memory. Returns the
    /// bytes of all files.
    pub(in super::super) async fn upload(
        &self,
        from: &Path,
        below: &str,
        watcher: &Watcher<'_>,
    ) -> Result<u64, BakeError> {
        let there = self.again(below, || self.blobs.list(below)).await?;
        let (from, prefix) = (from.to_owned(), below.to_owned());
        let files = blocking(move || {
            let mut files = Vec::new();
            files_of(&from, &prefix, &mut files).map(|()| files)
        });
        let files = files.await.map_err(|error| refuse(format!("cannot read the index on this machine: {error}")))?;
        let all: u64 = files.iter().map(|file| file.size).sum();
        let is_there = |file: &Local| {
            is_data(&file.name) && there.iter().any(|blob| blob.name == file.name && blob.size == file.size)
        };
        let (done, left): (Vec<Local>, Vec<Local>) = files.into_iter().partition(is_there);
        let mut written: u64 = done.iter().map(|file| file.size).sum();
        let (small, large): (Vec<Local>, Vec<Local>) = left.into_iter().partition(|file| file.size <= PART_BYTES);
        let puts: Vec<Work<'_, u64>> = small.iter().map(|file| self.put(file).boxed()).collect();
        let mut puts = stream::iter(puts).buffer_unordered(AT_ONCE);
        while let Some(size) = puts.try_next().await? {
            written += size;
            (watcher.show)(written, all);
        }
        for file in &large {
            self.put_in_parts(file, watcher, &mut written, all).await?;
        }
        Ok(all)
    }

    async fn put(&self, file: &Local) -> Result<u64, BakeError> {
        let contents = file.read(0, file.size).await?;
        self.again(&file.name, || self.blobs.write(&file.name, contents.clone())).await?;
        Ok(file.size)
    }

    async fn put_in_parts(
        &self,
        file: &Local,
        watcher: &Watcher<'_>,
        written: &mut u64,
        all: u64,
    ) -> Result<(), BakeError> {
        let name = &file.name;
        let id = self.again(name, || self.blobs.begin(name)).await?;
        (watcher.record)(Some(Upload { name: name.clone(), id: id.clone() }))?;
        let part_bytes = PART_BYTES.max(file.size.div_ceil(PARTS_MAX));
        let numbers = 0..file.size.div_ceil(part_bytes);
        let puts: Vec<Work<'_, _>> =
            numbers.map(|number| self.put_part(file, &id, number, part_bytes).boxed()).collect();
        let mut puts = stream::iter(puts).buffered(AT_ONCE);
        let mut parts = Vec::new();
        while let Some((part, size)) = puts.try_next().await? {
            parts.push(part);
            *written += size;
            (watcher.show)(*written, all);
        }
        let completed = self.again(name, || self.blobs.complete(name, &id, parts.clone())).await;
        if let Err(error) = completed
            && !self.has(file).await?
        {
            return Err(error);
        }
        (watcher.record)(None)
    }

    async fn put_part(
        &self,
        file: &Local,
        upload: &str,
        number: u64,
        part_bytes: u64,
    ) -> Result<(String, u64), BakeError> {
        let (at, name) = (number * part_bytes, &file.name);
        let size = part_bytes.min(file.size - at);
        let part = file.read(at, size).await?;
        let put = || self.blobs.put_part(name, upload, number as usize, part.clone());
        Ok((self.again(name, put).await?, size))
    }

    /// Whether a file is in the store: the reply to the request that made it may be lost.
    async fn has(&self, file: &Local) -> Result<bool, BakeError> {
        let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let there = self.again(folder, || self.blobs.list(folder)).await?;
        Ok(there.contains(&Blob { name: file.name.clone(), size: file.size }))
    }
}

impl Local {
    /// Reads a part of the file.
    async fn read(&self, at: u64, size: u64) -> Result<Bytes, BakeError> {
        let path = self.path.clone();
        let read = blocking(move || {
            let mut part = vec![0; usize::try_from(size).map_err(io::Error::other)?];
            fs::File::open(path)?.read_exact_at(&mut part, at)?;
            Ok(Bytes::from(part))
        });
        read.await.map_err(|error| refuse(format!("cannot read {}: {error}", self.path.display())))
    }
}

/// The files below a folder, with their names below `name`.
fn files_of(folder: &Path, name: &str, files: &mut Vec<Local>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()));
        match entry.file_type()?.is_dir() {
            true => files_of(&path, &name, files)?,
            false => files.push(Local { path, name, size: entry.metadata()?.len() }),
        }
    }
    Ok(())
}
