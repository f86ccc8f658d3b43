//! What the options say about a build in this process.

use inrush_sources::StoreOptions;

/// The options of a build in this process.
#[derive(Clone, Debug)]
pub(crate) struct NativeOptions {
    /// How this machine reaches the object store of the repository.
    pub(crate) store: StoreOptions,
    /// Bytes for segments that grow, and for writing them.
    pub(crate) memory: usize,
    /// Whether it also builds what no test compared with the index of a server.
    pub(crate) untested: bool,
    /// Whether the options are about a builder, which it does not have.
    pub(crate) has_builder: bool,
}
