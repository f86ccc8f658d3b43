//! The server that an index is for, and what only a server builds.

pub use inrush_core::KnownProduct;

/// The server that opens an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerVersion {
    /// Its product.
    pub product: KnownProduct,
    /// Its version: major, minor, bugfix.
    pub version: [u32; 3],
    /// Its version of Lucene, which it says at its root.
    pub lucene: [u32; 3],
}

impl ServerVersion {
    /// Whether the names of fields with malformed values are doc values, and not stored.
    pub(crate) fn has_ignored_values(&self) -> bool {
        self.product == KnownProduct::Elasticsearch && self.version >= [8, 15, 0]
    }

    /// Whether it refuses names with half a pair of UTF-16.
    pub(crate) fn has_whole_names(&self) -> bool {
        self.product == KnownProduct::OpenSearch && self.version >= [3, 6, 0]
    }

    /// Whether it refuses some malformed values that the mapping says to ignore: objects, and
    /// numbers out of range for `unsigned_long`. OpenSearch 2.19 does, 3.6 does not; no test was
    /// made between.
    pub(crate) fn refuses_malformed(&self) -> bool {
        self.product == KnownProduct::OpenSearch && self.version < [3, 6, 0]
    }

    /// Whether it takes names of more than 50,000 characters and more than 1,000 levels of objects
    /// and arrays. OpenSearch 2.19 does, 3.6 does not; no test was made between.
    pub(crate) fn takes_any_json(&self) -> bool {
        self.product == KnownProduct::OpenSearch && self.version < [3, 6, 0]
    }

    /// Whether a `flat_object` is built for it. What it has was found of 2.19, 3.6 and 3.8; no test
    /// was made of others.
    pub(crate) fn has_flat_objects(&self) -> bool {
        self.product == KnownProduct::OpenSearch && matches!(self.version, [2, 19, _] | [3, 6 | 8, _])
    }

    /// Whether `wildcard` is built for it, of which 2.19 has other terms. No test was made between,
    /// nor of Elasticsearch, which has something else of this name.
    pub(crate) fn has_wildcards(&self) -> bool {
        self.product == KnownProduct::OpenSearch && self.version >= [3, 6, 0]
    }

    /// Whether `rank_feature`, `rank_features` and `search_as_you_type` are built for it. No test
    /// was made of Elasticsearch.
    pub(crate) fn has_features(&self) -> bool {
        self.product == KnownProduct::OpenSearch
    }

    /// Whether it reads documents as Elasticsearch 9.4 and 9.5 do: a number of more than 32 bits is
    /// milliseconds by the default formats, and those beyond nanoseconds are the least or the
    /// greatest date; an object is a malformed date; an interface may stand behind each address; a
    /// `flattened` that is not indexed has its keyed values alone; a document's first value makes a
    /// new field. 9.1 does not; 9.2 and 9.3 do some of it.
    pub(crate) fn reads_as_9_4(&self) -> bool {
        self.product == KnownProduct::Elasticsearch && self.version >= [9, 4, 0]
    }

    /// Whether a `_source` with less than the document is built for it. No test was made of others.
    pub(crate) fn has_source_filters(&self) -> bool {
        match self.product {
            KnownProduct::OpenSearch => matches!(self.version, [3, 6..=8, _]),
            KnownProduct::Elasticsearch => matches!(self.version, [8, 19, _] | [9, 4..=5, _]),
        }
    }

    /// Whether it writes characters of two units of UTF-16 as two escapes. OpenSearch 3.7 does not.
    pub(crate) fn escapes_pairs(&self) -> bool {
        self.product == KnownProduct::Elasticsearch || self.version < [3, 7, 0]
    }

    /// Whether booleans may be malformed, too. No test was made of other versions of Elasticsearch;
    /// OpenSearch has no such parameter.
    pub(crate) fn ignores_malformed_booleans(&self) -> bool {
        self.product == KnownProduct::Elasticsearch && matches!(self.version, [8, 19, _])
    }

    /// Whether dates named `@timestamp` have an index of ranges.
    pub(crate) fn has_timestamp_ranges(&self) -> bool {
        self.product == KnownProduct::OpenSearch && self.version >= [3, 3, 0]
    }
}

/// Why a mapping cannot be built here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The field's full name, empty for the whole mapping.
    pub field: String,
    /// The unsupported part, such as `the type "percolator"`.
    pub what: String,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "the mapping has {}, which only a server builds", self.what),
            field => write!(f, "field {field:?} of the mapping has {}, which only a server builds", self.what),
        }
    }
}

impl std::error::Error for Unsupported {}
