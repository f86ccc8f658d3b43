//! What fields with values of several parts have: ranges, suggestions and features.

use crate::analysis::Analyzer;

/// The types of ranges, and that of the ends of each.
const RANGES: [(&str, &str); 6] = [
    ("integer_range", "integer"),
    ("long_range", "long"),
    ("float_range", "float"),
    ("double_range", "double"),
    ("date_range", "date"),
    ("ip_range", "ip"),
];

/// The type of the ends of a range type.
pub(super) fn type_of_ends(type_name: &str) -> Option<&'static str> {
    RANGES.iter().find(|(name, _)| *name == type_name).map(|(_, ends)| *ends)
}

/// A range with its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    /// The least and the greatest value in it, as numbers without a sign that sort as the values.
    pub(crate) ends: [u128; 2],
    /// Whether each end is the neighbour of the one that is written: the servers keep two such
    /// ranges that differ in nothing else.
    pub(super) is_open: [bool; 2],
}

/// How the terms of suggestions are made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Suggest {
    pub(crate) analyzer: Analyzer,
    /// Whether something is between the terms.
    pub(crate) separators: bool,
    /// Whether positions without a term count.
    pub(crate) gaps: bool,
    /// The most units of UTF-16.
    pub(crate) length_max: usize,
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// None if the analyser makes nothing of the text.
    pub(crate) term: Option<Vec<u8>>,
    pub(crate) text: String,
    pub(crate) weight: u32,
}

/// The type of a field that is one feature.
pub(super) const ONE: &str = "rank_feature";
/// The type of objects of which each member is a feature.
pub(super) const SEVERAL: &str = "rank_features";

/// The field of all features of the type `rank_feature`, whose terms are names of fields.
pub(super) const SHARED: &str = "_feature";

/// Whether this is the name of one of the two types of features.
pub(super) fn is_feature(kind: &str) -> bool {
    [ONE, SEVERAL].contains(&kind)
}

/// A field with features.
#[derive(Debug, Clone)]
pub(crate) struct Feature {
    /// The full name.
    pub(super) name: String,
    /// Whether each member of an object is one.
    pub(super) is_object: bool,
    /// The number of the field that has the terms.
    pub(super) number: usize,
    /// Whether the weight is the value, and not the value's reciprocal.
    pub(super) is_positive: bool,
}
