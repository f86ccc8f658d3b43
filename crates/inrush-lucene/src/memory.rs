//! The memory that a part of a segment needs.

/// Bytes in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Until the segment is written.
    pub(crate) held: usize,
    /// Besides, while this is written: the most of what is there at once.
    pub(crate) writing: usize,
}
