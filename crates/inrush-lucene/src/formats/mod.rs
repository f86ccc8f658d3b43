//! The formats of Lucene 9.12's codec, one file each, which names its source.
//!
//! Lucene 9.12 reads and writes this codec, and Lucene 10 reads it. Where the documentation of a
//! format does not give the order of bytes, it is what Lucene 9.12 reads.

pub(crate) mod commit;
pub(crate) mod doc_values;
pub(crate) mod docs_with;
pub(crate) mod field_infos;
pub(crate) mod fields_index;
pub(crate) mod fst;
pub(crate) mod live_docs;
pub(crate) mod lz4;
pub(crate) mod norms;
pub(crate) mod output;
pub(crate) mod packed;
pub(crate) mod points;
pub(crate) mod positions;
pub(crate) mod postings;
pub(crate) mod stored;
pub(crate) mod suggestions;
pub(crate) mod term_vectors;
pub(crate) mod terms;
