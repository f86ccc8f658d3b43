//! Why a document is not indexed, in the words of the servers.

use crate::fields::json::Malformed;
use crate::fields::target::KnownProduct;

/// The longest id in bytes.
pub(crate) const ID_MAX: usize = 512;
/// The longest term in bytes.
pub(crate) const TERM_MAX: usize = 32_766;
/// The most nested objects of a document.
pub(crate) const NESTED_MAX: usize = 10_000;

/// What fields expect where an object is.
pub(crate) const NO_OBJECT: &str = "no object";

/// Why a document is not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It is not JSON, or not an object.
    Malformed {
        /// The byte from which it is not.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// It is no UTF-8.
    NotUtf8,
    /// Its id is empty or longer than 512 bytes.
    Id,
    /// It has no routing value, which the mapping demands.
    Routing,
    /// A field is not in the mapping, which is strict.
    Unmapped {
        /// The full name of the object, empty for the whole document.
        object: String,
        /// The name of the field.
        name: String,
    },
    /// The name of a field is empty, or a part of it between dots is.
    Name(String),
    /// A value is none of its field's type.
    Value {
        /// The field's full name.
        field: String,
        /// The name of its type.
        type_name: String,
        /// What the field takes.
        expected: &'static str,
    },
    /// An object is expected, and a value is there.
    NoObject(String),
    /// A term is longer than 32,766 bytes.
    ImmenseTerm(String),
    /// A field that takes one value has several.
    Several(String),
    /// There are more than 10,000 nested objects.
    Nested,
    /// Arrays are nested more than 20 levels deep, which OpenSearch refuses.
    Arrays,
    /// Values of a new field would make it of two types.
    Changed {
        /// The field's full name.
        field: String,
        /// The type of its first value.
        from: String,
        /// That of a further one.
        to: String,
    },
    /// A new field would be one more than this limit of the index.
    Fields(u64),
    /// A new field, of this full name, is more than 20 levels deep.
    Depth(String),
    /// The index writer does not know this yet, but a server does.
    Unsupported(String),
    /// The segment is full; the document fits into another one.
    Full,
}

impl Refused {
    /// The type of the server's error, as it has it in the reply to a bulk request.
    #[must_use]
    pub fn kind(&self, product: KnownProduct) -> &'static str {
        match self {
            Self::Unmapped { .. } => "strict_dynamic_mapping_exception",
            Self::Routing => "routing_missing_exception",
            Self::Id
            | Self::ImmenseTerm(_)
            | Self::Several(_)
            | Self::Changed { .. }
            | Self::Unsupported(_)
            | Self::Full => "illegal_argument_exception",
            Self::Fields(_) if product == KnownProduct::OpenSearch => "illegal_argument_exception",
            Self::Malformed { .. }
            | Self::Fields(_)
            | Self::Depth(_)
            | Self::NotUtf8
            | Self::Name(_)
            | Self::Value { .. }
            | Self::NoObject(_)
            | Self::Nested
            | Self::Arrays => match product {
                KnownProduct::OpenSearch => "mapper_parsing_exception",
                KnownProduct::Elasticsearch => "document_parsing_exception",
            },
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed { at, expected } => {
                write!(f, "failed to parse: byte {at} of the document is not {expected}")
            }
            Self::NotUtf8 => write!(f, "failed to parse: the document is no UTF-8"),
            Self::Id => write!(f, "id is empty or too long, must be no longer than {ID_MAX} bytes"),
            Self::Routing => write!(f, "routing is required"),
            Self::Unmapped { object, name } => {
                let object = if object.is_empty() { "_doc" } else { object };
                write!(f, "mapping set to strict, dynamic introduction of [{name}] within [{object}] is not allowed")
            }
            Self::Name(name) => {
                write!(f, "object field starting or ending with a [.] makes object resolution ambiguous: [{name}]")
            }
            Self::Value { field, type_name, expected } => {
                write!(f, "failed to parse field [{field}] of type [{type_name}]: expected {expected}")
            }
            Self::NoObject(field) => {
                write!(
                    f,
                    "object mapping for [{field}] tried to parse field [{field}] as object, but found a concrete value"
                )
            }
            Self::ImmenseTerm(field) => write!(
                f,
                "Document contains at least one immense term in field=\"{field}\" (whose UTF8 encoding is longer than the max length {TERM_MAX})"
            ),
            Self::Several(field) => write!(
                f,
                "DocValuesField \"{field}\" appears more than once in this document (only one value is allowed per field)"
            ),
            Self::Nested => {
                write!(f, "The number of nested documents has exceeded the allowed limit of [{NESTED_MAX}]")
            }
            Self::Arrays => write!(f, "The depth of the nested array field has exceeded the allowed limit of [20]"),
            Self::Changed { field, from, to } => {
                write!(f, "mapper [{field}] cannot be changed from type [{from}] to [{to}]")
            }
            Self::Fields(limit) => write!(f, "Limit of total fields [{limit}] has been exceeded"),
            Self::Depth(field) => {
                write!(f, "Limit of mapping depth [20] has been exceeded due to object field [{field}]")
            }
            Self::Unsupported(what) => {
                write!(f, "{what} needs a server")
            }
            Self::Full => write!(f, "the segment is full"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Malformed> for Refused {
    fn from(error: Malformed) -> Self {
        Self::Malformed { at: error.at, expected: error.expected }
    }
}
