//! The folders of a bake without a builder.

use std::path::PathBuf;

use crate::context::Context;
use crate::record::{Saved, WHOLE};

/// The place in the repository for the index without documents.
pub(super) const EMPTY: &str = "empty";

/// The folders of a bake: below the one that both sides reach, or on this machine if the repository
/// is in an object store.
pub(super) struct Folders {
    /// The repository to which the target writes the index without documents, if it is a folder.
    pub(super) empty: PathBuf,
    /// A copy of it. The next two are made of this one, however often.
    pub(super) form: PathBuf,
    /// Where the files of the shards grow.
    pub(super) build: PathBuf,
    /// Where they grow if other machines build them.
    pub(super) tasks: PathBuf,
    /// The repository that the target restores, or what is copied into an object store.
    pub(super) whole: PathBuf,
}

impl Folders {
    pub(super) fn of(context: &Context, saved: &Saved) -> Folders {
        let folder = saved.shared.folder.clone().unwrap_or_else(|| context.keep.of_load(&saved.id));
        let within = |name: &str| folder.join(name);
        Folders {
            empty: within(EMPTY),
            form: within("form"),
            build: within("build"),
            tasks: within("tasks"),
            whole: within(WHOLE),
        }
    }
}
