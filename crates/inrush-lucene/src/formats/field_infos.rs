//! The fields of a segment.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene94.Lucene94FieldInfosFormat`.

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};

/// The format of postings, which is part of the names of their files.
pub(crate) const POSTINGS_FORMAT: &str = "Lucene912";
/// The format of postings of suggestions, which is part of the names of their files.
pub(crate) const SUGGEST_FORMAT: &str = "Completion912";
/// The format of doc values, which is part of the names of their files.
pub(crate) const DOC_VALUES_FORMAT: &str = "Lucene90";

/// A version of Lucene: major, minor, bugfix.
pub(crate) type LuceneVersion = [u32; 3];

/// What is indexed of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexed {
    No = 0,
    Docs = 1,
    Freqs = 2,
    Positions = 3,
    Offsets = 4,
}

/// The doc values of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocValuesKind {
    None = 0,
    Numeric = 1,
    Binary = 2,
    Sorted = 3,
    SortedSet = 4,
    SortedNumeric = 5,
}

/// What a segment says of a field.
#[derive(Clone)]
pub(crate) struct FieldInfo {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) indexed: Indexed,
    pub(crate) norms: bool,
    /// The format of its postings; none if there are none of all fields of that format.
    pub(crate) postings: Option<&'static str>,
    /// Whether there are bytes beside its terms.
    pub(crate) payloads: bool,
    /// Whether there are vectors of its terms.
    pub(crate) vectors: bool,
    pub(crate) doc_values: DocValuesKind,
    /// Whether the doc values have an index of ranges.
    pub(crate) ranges: bool,
    /// Whether it says which documents are no nested objects.
    pub(crate) is_parent: bool,
    /// The bytes of a dimension of the points, how many dimensions, and how many of them are in the
    /// tree; 0 if there are none.
    pub(crate) point: (u32, u32, u32),
}

/// Writes `.fnm` for a reader of the given version.
pub(crate) fn write_field_infos(
    folder: &Path,
    segment: &str,
    id: &[u8; ID_BYTES],
    fields: &[FieldInfo],
    version: LuceneVersion,
) -> io::Result<String> {
    const VECTORS: u8 = 1;
    const OMIT_NORMS: u8 = 2;
    const PAYLOADS: u8 = 4;
    const PARENT: u8 = 16;
    // Indexes of ranges came with Lucene 10.
    let ranges = version[0] >= 10;
    let mut out = FileOutput::create(folder, format!("{segment}.fnm"))?;
    out.put_index_header("Lucene94FieldInfos", if ranges { 2 } else { 1 }, id, "");
    out.put_vint(fields.len() as u32);
    for field in fields {
        out.put_string(&field.name);
        out.put_vint(field.number);
        let indexed = field.indexed != Indexed::No;
        let norms = if indexed && !field.norms { OMIT_NORMS } else { 0 };
        let vectors = if field.vectors { VECTORS } else { 0 };
        let payloads = if field.payloads { PAYLOADS } else { 0 };
        out.put_u8(vectors | payloads | norms | if field.is_parent { PARENT } else { 0 });
        out.put_u8(field.indexed as u8);
        out.put_u8(match field.doc_values {
            DocValuesKind::None => 0,
            DocValuesKind::Numeric => 1,
            DocValuesKind::Binary => 2,
            DocValuesKind::Sorted => 3,
            DocValuesKind::SortedSet => 4,
            DocValuesKind::SortedNumeric => 5,
        });
        if ranges {
            out.put_u8(u8::from(field.ranges));
        }
        // No updates of doc values.
        out.put_i64(-1);
        let mut attributes = Vec::new();
        let mut format = |kind: &str, name: &str| {
            attributes.push((format!("{kind}.format"), name.to_owned()));
            attributes.push((format!("{kind}.suffix"), "0".to_owned()));
        };
        if let Some(name) = field.postings.filter(|_| indexed) {
            format("PerFieldPostingsFormat", name);
        }
        if field.doc_values != DocValuesKind::None {
            format("PerFieldDocValuesFormat", DOC_VALUES_FORMAT);
        }
        out.put_string_map(&attributes);
        let (bytes, dimensions, in_tree) = field.point;
        out.put_vint(dimensions);
        if dimensions > 0 {
            out.put_vint(in_tree);
            out.put_vint(bytes);
        }
        // No vectors: no dimension, numbers of 32 bits, Euclidean.
        out.put_vint(0);
        out.put_u8(1);
        out.put_u8(0);
    }
    out.put_footer();
    out.finish()
}
