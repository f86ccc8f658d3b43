//! A field of a mapping.

use serde_json::Value;

use crate::analysis::{Analyzer, Normalizer};
use crate::fields::composed::Suggest;
use crate::fields::dates::Formats;
use crate::fields::shapes::ShapeOptions;
use crate::formats::term_vectors::VectorOptions;

/// The type of objects whose values are terms, in OpenSearch.
pub(crate) const FLAT_OBJECT: &str = "flat_object";

/// The type of texts that are found by patterns, in OpenSearch.
pub(crate) const WILDCARD: &str = "wildcard";

/// The type of a field by which documents are parents and children.
pub(crate) const JOIN: &str = "join";

/// What a field is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// The whole text is one term.
    Keyword {
        /// Longer texts, in units of UTF-16, are left out.
        ignore_above: u32,
        /// What is made of the text.
        normalizer: Normalizer,
    },
    /// The words of a text.
    Text { analyzer: Analyzer, options: TextOptions },
    /// A whole number between two bounds; the width of its point in bytes.
    Whole { least: i64, most: i64, point_bytes: u32 },
    /// A whole number of 64 bits without a sign; the width of its point in bytes.
    Unsigned { point_bytes: u32 },
    /// A number of 64 bits.
    Double,
    /// A number of 32 bits.
    Float,
    /// A number of 16 bits.
    HalfFloat,
    /// A number that is multiplied and rounded.
    Scaled(f64),
    /// Milliseconds since 1970.
    Date(Formats),
    /// Nanoseconds since 1970.
    DateNanos(Formats),
    /// An address of 128 bits.
    Ip,
    /// True or false.
    Boolean,
    /// How many terms a text has; with `gaps` also the positions that are left out.
    TokenCount { analyzer: Analyzer, gaps: bool },
    /// Bytes. `repeats`: whether doc values keep some values that a document has twice.
    Bytes { repeats: bool },
    /// Terms with a weight.
    Feature,
    /// Suggestions.
    Suggest(Box<Suggest>),
    /// Ranges, of which the ends are those of another field.
    Range(Box<Field>),
    /// A latitude and a longitude; whether a third number is left out.
    GeoPoint { ignore_height: bool },
    /// A shape on the earth.
    GeoShape(ShapeOptions),
}

/// What is indexed of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextOptions {
    pub(crate) freqs: bool,
    pub(crate) positions: bool,
    /// Where words start and end in the text.
    pub(crate) offsets: bool,
    /// The gap in positions between two values of one document (`position_increment_gap`).
    pub(crate) gap: u32,
    /// What the vectors of the terms have, if there are some.
    pub(crate) vectors: Option<VectorOptions>,
}

impl TextOptions {
    /// Whether places of words are needed while documents are read.
    pub(crate) fn needs_places(&self) -> bool {
        self.offsets || self.vectors.is_some_and(|vectors| vectors.offsets)
    }
}

impl Kind {
    /// The bytes of a dimension of the field's points, how many dimensions, and how many of them
    /// the tree has; 0 for fields that have terms.
    pub(crate) fn point(&self) -> (u32, u32, u32) {
        match self {
            Self::Keyword { .. } | Self::Text { .. } | Self::Boolean => (0, 0, 0),
            Self::Bytes { .. } | Self::Feature | Self::Suggest(_) => (0, 0, 0),
            Self::Whole { point_bytes, .. } | Self::Unsigned { point_bytes } => (*point_bytes, 1, 1),
            Self::HalfFloat => (2, 1, 1),
            Self::Float | Self::TokenCount { .. } => (4, 1, 1),
            Self::Double | Self::Scaled(_) | Self::Date(_) | Self::DateNanos(_) => (8, 1, 1),
            Self::Ip => (16, 1, 1),
            Self::GeoPoint { .. } => (4, 2, 2),
            Self::GeoShape(_) => (4, 7, 4),
            Self::Range(bound) => (bound.kind.point().0, 2, 2),
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Whole { .. } | Self::Unsigned { .. } | Self::Double | Self::Float | Self::HalfFloat | Self::Scaled(_)
        )
    }

    pub(crate) fn is_date(&self) -> bool {
        matches!(self, Self::Date(_) | Self::DateNanos(_))
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// Whether it is known here how values are stored beside the document. Shapes are never
    /// stored.
    pub(crate) fn can_be_stored(&self) -> bool {
        let is_unknown = matches!(self, Self::Unsigned { .. } | Self::HalfFloat);
        !is_unknown && !matches!(self, Self::Feature | Self::Range(_) | Self::Suggest(_))
    }

    pub(crate) fn is_points(&self) -> bool {
        matches!(self, Self::GeoPoint { .. } | Self::GeoShape(_))
    }

    /// Whether the field has no multi-fields and copies, and is no copy.
    pub(crate) fn is_alone(&self) -> bool {
        let is_bare = matches!(self, Self::Bytes { .. } | Self::Feature | Self::Range(_) | Self::Suggest(_));
        is_bare || self.is_points()
    }
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The name of its type in the mapping.
    pub(crate) type_name: String,
    pub(crate) kind: Kind,
    /// The nested object that has it.
    pub(crate) scope: Option<usize>,
    /// Whether it has points or terms.
    pub(crate) indexed: bool,
    pub(crate) doc_values: bool,
    /// Whether a document has one value at most.
    pub(crate) single: bool,
    /// Whether the terms are all parts of three characters.
    pub(crate) grams: bool,
    /// Names of fields that get its values, and that no document has added yet.
    pub(crate) copied_to: Vec<String>,
    /// Whether it is a part of another field, by whose name documents are found.
    pub(crate) is_part: bool,
    /// What the doc values have before each term.
    pub(crate) prefix: String,
    /// Whether values are stored, too.
    pub(crate) stored: bool,
    /// Whether the doc values have an index of ranges.
    pub(crate) ranges: bool,
    /// Of texts.
    pub(crate) norms: bool,
    /// What stands for null.
    pub(crate) null_value: Option<Value>,
    /// Whether texts are taken as numbers.
    pub(crate) coerce: bool,
    /// Whether a wrong value is left out, and not the document.
    pub(crate) ignore_malformed: bool,
}

impl Field {
    /// Whether documents with the field are found by its name only. Of the number of a text's words
    /// the servers do not note it.
    pub(crate) fn needs_name(&self) -> bool {
        let is_kept = self.indexed || self.stored;
        match self.kind {
            Kind::TokenCount { .. } | Kind::Feature => false,
            Kind::Suggest(_) => true,
            _ => is_kept && !self.is_part && !self.doc_values && !self.norms,
        }
    }

    /// The servers do not look at the values of a boolean of which they keep nothing.
    pub(crate) fn is_unread(&self) -> bool {
        self.kind == Kind::Boolean && !self.indexed && !self.doc_values && !self.stored
    }
}
