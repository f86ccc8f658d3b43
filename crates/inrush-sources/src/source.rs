//! What can be read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inrush_core::ledger::Partition;
use inrush_formats::{Chunk, SourceError, Warnings};

use super::repeat::{Fingerprint, Repeats};

/// Something that is read from its beginning to its end, by one thread at a time.
pub trait Source: Send {
    /// The next piece, of about `bytes` or of one record if that is larger; `None` at the end. May block. After an
    /// error the source is at its end.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError>;

    /// What people call each source of the job, indexed by [`SourceId`](inrush_core::SourceId): a path, `-`, a URL.
    fn names(&self) -> Vec<String>;

    /// Bytes to be read in all (before decompression), where that is known.
    fn bytes_total(&self) -> Option<u64>;

    /// What reading it once more would give. Default: [`Repeats::Unordered`], so that there are neither checkpoints nor ids from
    /// positions.
    fn repeats(&self) -> Repeats {
        Repeats::Unordered
    }

    /// What tells whether the sources are still the same, one for each of [`Source::names`]; only for [`Repeats::Always`].
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(Vec::new())
    }

    /// All options on which the documents and their order depend, in any form that tells one from another.
    fn reading(&self) -> String {
        String::new()
    }

    /// Rows behind the documents, where there are such.
    fn rows_read(&self) -> Option<RowsRead> {
        None
    }

    /// Whether all documents bring ids of their own.
    fn has_ids(&self) -> bool {
        false
    }

    /// Whether they bring versions, too, to be written as external ones.
    fn has_versions(&self) -> bool {
        false
    }

    /// Whether it numbers its documents itself ([`own_numbers`](inrush_core::block::Origin::own_numbers)), and can begin in the middle.
    fn has_own_numbers(&self) -> bool {
        false
    }

    /// Fields that ids and the like are made of: the text that the source has for them stands in [`inrush_core::DocMeta::texts`] from then
    /// on, where the document may write another. Called before the first chunk. Default: nothing, documents write what is there.
    fn keep_texts(&mut self, _fields: &[String]) {}

    /// Goes on where an earlier run was: by part of the sources, the number below which all is settled. Called before the first chunk,
    /// and only of use where the source numbers its documents itself; others are read from their beginnings. Default: nothing.
    fn go_on(&mut self, _settled: &BTreeMap<Partition, u64>) {}

    /// Whether a program hands the documents over while the load runs, so that none can be read
    /// before it begins. Default: no.
    fn is_fed(&self) -> bool {
        false
    }

    /// Looks at the beginnings of all parts that can be read again, so that one that cannot be read
    /// is known before anything is deleted for the load. Default: nothing is looked at.
    ///
    /// # Errors
    /// The first part that cannot be read, and why.
    fn check_all(&self) -> Result<(), SourceError> {
        Ok(())
    }

    /// What a person should know at the end although nothing failed.
    fn warnings(&self) -> Option<Warnings> {
        None
    }
}

/// How many rows a source has read, where they are not its documents: those of the tables of a query.
#[derive(Clone, Debug)]
pub struct RowsRead {
    /// So far; it goes on.
    pub read: Arc<AtomicU64>,
    /// In all, where that is known.
    pub total: Option<u64>,
}
