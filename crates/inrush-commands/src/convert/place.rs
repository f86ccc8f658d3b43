//! Where the parts of an output go: a folder of this machine, or of an object store. A part has
//! another name, or is no object, until it is complete.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use inrush_node::lock_file::Held;
use inrush_sources::shown_path;

use super::object::{Bucket, ObjectWriter, Upload};

/// A folder for the parts of an output.
#[derive(Clone, Debug)]
pub enum Place {
    /// A folder of this machine, which need not be there.
    Folder(PathBuf),
    /// A folder of an object store.
    Bucket(Bucket),
}

/// The lock of a folder, until it is dropped. Folders of object stores have none: their state says
/// which run writes.
pub(super) struct Lock(#[expect(dead_code, reason = "it is only dropped")] Option<Held>);

/// A part that is being written.
pub(super) enum Part {
    File { file: BufWriter<File>, temporary: PathBuf, path: PathBuf },
    Object(ObjectWriter),
}

impl Place {
    /// The name in messages.
    pub(super) fn title(&self) -> String {
        match self {
            Place::Folder(path) => shown_path(path),
            Place::Bucket(bucket) => bucket.title().to_owned(),
        }
    }

    /// Makes the folder.
    pub(super) fn make(&self) -> io::Result<()> {
        match self {
            Place::Folder(path) => fs::create_dir_all(path).map_err(|error| cannot(path, error)),
            Place::Bucket(_) => Ok(()),
        }
    }

    /// Keeps other processes out of the folder until the result is dropped. `None`: another process
    /// has it.
    pub(super) fn lock(&self) -> io::Result<Option<Lock>> {
        let Place::Folder(path) = self else { return Ok(Some(Lock(None))) };
        let folder = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Lock(None))),
            folder => folder.map_err(|error| cannot(path, error))?,
        };
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Ok(()) => Ok(Some(Lock(Some(Held::of(folder))))),
            // Some network file systems have no locks of folders.
            Err(TryLockError::Error(_)) => Ok(Some(Lock(None))),
        }
    }

    /// The names and sizes of all files. Those in folders have their names in front.
    pub(super) fn files(&self) -> io::Result<BTreeMap<String, u64>> {
        match self {
            Place::Folder(path) => {
                let mut files = BTreeMap::new();
                let entries = match fs::read_dir(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
                    entries => entries.map_err(|error| cannot(path, error))?,
                };
                for entry in entries {
                    let entry = entry?;
                    let name = shown_path(Path::new(&entry.file_name()));
                    files.insert(name, entry.metadata()?.len());
                }
                Ok(files)
            }
            Place::Bucket(bucket) => Ok(bucket.list()?.into_iter().map(|blob| (blob.name, blob.size)).collect()),
        }
    }

    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match self {
            Place::Folder(path) => fs::read(path.join(name)).map_err(|error| cannot(&path.join(name), error)),
            Place::Bucket(bucket) => Ok(bucket.read(name)?.into()),
        }
    }

    /// Writes a small file as a whole, also in place of another one.
    pub(super) fn write(&self, name: &str, text: Vec<u8>) -> io::Result<()> {
        match self {
            Place::Folder(_) => {
                let mut file = self.begin(name, 0)?;
                file.write_all(&text)?;
                file.complete()
            }
            Place::Bucket(bucket) => bucket.write(name, &Bytes::from(text)),
        }
    }

    /// Deletes a file, and what is there of it under its other name. It is no error if there is
    /// none.
    pub(super) fn delete(&self, name: &str) -> io::Result<()> {
        match self {
            Place::Folder(path) => {
                for path in [path.join(name), path.join(temporary(name))] {
                    match fs::remove_file(&path) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(&path, error)),
                        _ => {}
                    }
                }
                Ok(())
            }
            Place::Bucket(bucket) => bucket.delete(name),
        }
    }

    /// Deletes the pieces of an object that was not completed.
    pub(super) fn abort(&self, upload: &Upload) -> io::Result<()> {
        match self {
            Place::Folder(_) => Ok(()),
            Place::Bucket(bucket) => bucket.abort(upload),
        }
    }

    /// Begins a part of about `bytes`.
    pub(super) fn begin(&self, name: &str, bytes: u64) -> io::Result<Part> {
        match self {
            Place::Folder(path) => {
                let (temporary, path) = (path.join(temporary(name)), path.join(name));
                let file = File::create(&temporary).map_err(|error| cannot(&temporary, error))?;
                Ok(Part::File { file: BufWriter::new(file), temporary, path })
            }
            Place::Bucket(bucket) => Ok(Part::Object(bucket.part_writer(name, bytes)?)),
        }
    }
}

impl Part {
    pub(super) fn upload(&self) -> Option<&Upload> {
        match self {
            Part::File { .. } => None,
            Part::Object(object) => object.upload(),
        }
    }

    /// Gives the part its name, once it is on the disk.
    pub(super) fn complete(self) -> io::Result<()> {
        match self {
            Part::File { file, temporary, path } => {
                let named = || {
                    file.into_inner()?.sync_all()?;
                    fs::rename(&temporary, &path)?;
                    // The folder has the name on the disk.
                    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
                };
                named().map_err(|error: io::Error| cannot(&path, error))
            }
            Part::Object(mut object) => match object.finish() {
                Ok(()) => Ok(()),
                Err(error) => {
                    // The state has the upload, too.
                    let _ = object.abort();
                    Err(error)
                }
            },
        }
    }

    /// Takes back what was written. A run that goes on does it, too, where this fails.
    pub(super) fn abort(self) {
        let _ = match self {
            Part::File { temporary, .. } => fs::remove_file(temporary),
            Part::Object(object) => object.abort(),
        };
    }
}

impl Write for Part {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Part::File { file, path, .. } => file.write(data).map_err(|error| cannot(path, error)),
            Part::Object(object) => object.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Part::File { file, path, .. } => file.flush().map_err(|error| cannot(path, error)),
            Part::Object(object) => object.flush(),
        }
    }
}

/// Deletes a folder, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(path, error)),
        _ => Ok(()),
    }
}

/// Makes a folder for documents that only this user may read.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| cannot(path, error))
}

/// The name of a file until it is complete. Readers of folders skip such names.
fn temporary(name: &str) -> String {
    format!(".{name}.tmp")
}

fn cannot(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", shown_path(path)))
}
