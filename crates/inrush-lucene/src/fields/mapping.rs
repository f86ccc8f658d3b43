//! The mapping of an index: its fields, and what is indexed of each.
//!
//! Source: the documentation of mappings in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::fields::dates::Formats;

/// The product of the server that opens an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// OpenSearch.
    OpenSearch,
    /// Elasticsearch.
    Elasticsearch,
}

/// The server that opens an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Its product.
    pub product: Product,
    /// Its version: major, minor, bugfix.
    pub version: [u32; 3],
    /// Its version of Lucene, which it says at its root.
    pub lucene: [u32; 3],
}

impl Target {
    /// Whether dates named `@timestamp` have an index of ranges.
    fn has_timestamp_ranges(&self) -> bool {
        self.product == Product::OpenSearch && self.version >= [3, 3, 0]
    }
}

/// What a field is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// The whole text is one term.
    Keyword {
        /// Longer texts, in units of UTF-16, are left out.
        ignore_above: u32,
        /// Whether the term is in lower case.
        lower: bool,
    },
    /// The words of a text.
    Text,
    /// A whole number between two bounds; the width of its point in bytes.
    Whole { least: i64, most: i64, point_bytes: u32 },
    /// A number of 64 bits.
    Double,
    /// A number of 32 bits.
    Float,
    /// A number that is multiplied and rounded.
    Scaled(f64),
    /// Milliseconds since 1970.
    Date(Formats),
    /// An address of 128 bits.
    Ip,
    /// True or false.
    Boolean,
}

impl Kind {
    /// Bytes of the field's points; 0 for fields that have terms.
    pub(crate) fn point_bytes(&self) -> u32 {
        match self {
            Self::Keyword { .. } | Self::Text | Self::Boolean => 0,
            Self::Whole { point_bytes, .. } => *point_bytes,
            Self::Float => 4,
            Self::Double | Self::Scaled(_) | Self::Date(_) => 8,
            Self::Ip => 16,
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Whole { .. } | Self::Double | Self::Float | Self::Scaled(_))
    }
}

/// A field.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether it has points or terms.
    pub(crate) indexed: bool,
    pub(crate) doc_values: bool,
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

/// An object, or a field with what is made of its values.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Object(Object),
    /// The numbers of the field and of its multi-fields.
    Fields(Vec<usize>),
    /// A value of which nothing is indexed.
    Ignored,
}

/// What happens to members that the mapping does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dynamic {
    /// The server would add a field.
    #[default]
    Add,
    /// They are left out.
    Ignore,
    /// The document is refused.
    Refuse,
}

/// The members of an object, in the order of the mapping.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) members: Vec<(String, Node)>,
    pub(crate) dynamic: Dynamic,
}

/// The fields of an index.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub(crate) root: Object,
    pub(crate) fields: Vec<Field>,
    pub(crate) target: Target,
}

/// Why a mapping cannot be built here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The field's full name, empty for the whole mapping.
    pub field: String,
    /// The unsupported part, such as `the type "nested"`.
    pub what: String,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "field {:?} of the mapping has {}, which the index writer does not build; let a server build it",
            self.field, self.what
        )
    }
}

impl std::error::Error for Unsupported {}

impl Mapping {
    /// Reads a mapping: an object with `properties`.
    ///
    /// # Errors
    ///
    /// If something in it is not supported. It is named, and nothing is left out silently.
    pub fn parse(mapping: &Value, target: Target) -> Result<Self, Unsupported> {
        let unsupported = |what: &str| Unsupported { field: String::new(), what: what.to_owned() };
        let definition = mapping.as_object().ok_or_else(|| unsupported("no object"))?;
        let mut fields = Vec::new();
        let root = read_object(definition, "", Dynamic::Add, target, &mut fields)?;
        Ok(Self { root, fields, target })
    }
}

fn read_object(
    definition: &Map<String, Value>,
    path: &str,
    above: Dynamic,
    target: Target,
    fields: &mut Vec<Field>,
) -> Result<Object, Unsupported> {
    let unsupported = |what: String| Unsupported { field: path.to_owned(), what };
    let mut object = Object { members: Vec::new(), dynamic: above };
    for (parameter, value) in definition {
        match (parameter.as_str(), value) {
            ("properties" | "_meta", Value::Object(_)) => {}
            ("type", value) if value == "object" => {}
            ("dynamic", value) => {
                object.dynamic = match value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str() {
                    "true" => Dynamic::Add,
                    "false" => Dynamic::Ignore,
                    "strict" => Dynamic::Refuse,
                    other => return Err(unsupported(format!("`dynamic` {other:?}"))),
                };
            }
            (parameter, _) => return Err(unsupported(format!("the parameter {parameter:?}"))),
        }
    }
    for (name, definition) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let Value::Object(definition) = definition else {
            return Err(Unsupported { field: path, what: "no definition".to_owned() });
        };
        let is_object = definition.get("type").is_none_or(|kind| kind == "object");
        let node = if is_object && definition.get("enabled") == Some(&Value::Bool(false)) {
            Node::Ignored
        } else if is_object {
            Node::Object(read_object(definition, &path, object.dynamic, target, fields)?)
        } else {
            Node::Fields(read_field(definition, path, target, fields)?)
        };
        // A name with dots is a path of objects.
        if name.contains('.') {
            return Err(unsupported(format!("the name {name:?}")));
        }
        object.members.push((name.clone(), node));
    }
    Ok(object)
}

/// Adds a field and its multi-fields; returns their numbers.
fn read_field(
    definition: &Map<String, Value>,
    name: String,
    target: Target,
    fields: &mut Vec<Field>,
) -> Result<Vec<usize>, Unsupported> {
    let mut numbers = vec![fields.len()];
    fields.push(field(definition, &name, target)?);
    for (suffix, definition) in definition.get("fields").and_then(Value::as_object).into_iter().flatten() {
        let name = format!("{name}.{suffix}");
        let Value::Object(definition) = definition else {
            return Err(Unsupported { field: name, what: "no definition".to_owned() });
        };
        let more = read_field(definition, name.clone(), target, fields)?;
        // The servers read the second number off what the first one made of the text.
        if more.iter().chain(&numbers).filter(|&&number| fields[number].kind.is_number()).count() > 1 {
            return Err(Unsupported {
                field: name,
                what: "the type of a number, as another one of its multi-fields".to_owned(),
            });
        }
        numbers.extend(more);
    }
    Ok(numbers)
}

fn field(definition: &Map<String, Value>, name: &str, target: Target) -> Result<Field, Unsupported> {
    let unsupported = |what: String| Unsupported { field: name.to_owned(), what };
    let kind = kind(definition).ok_or_else(|| {
        let kind = definition.get("type").and_then(Value::as_str).unwrap_or("object");
        unsupported(format!("the type {kind:?}"))
    })?;
    let text = kind == Kind::Text;
    let ranges = matches!(kind, Kind::Date(_)) && name == "@timestamp" && target.has_timestamp_ranges();
    let mut field = Field {
        name: name.to_owned(),
        kind,
        indexed: true,
        doc_values: !text,
        ranges,
        norms: text,
        null_value: None,
        coerce: true,
        ignore_malformed: false,
    };
    for (parameter, value) in definition {
        let number = field.kind.is_number();
        match (parameter.as_str(), value, &mut field.kind) {
            ("type" | "fields" | "meta" | "scaling_factor", _, _) => {}
            ("eager_global_ordinals" | "split_queries_on_whitespace", Value::Bool(_), Kind::Keyword { .. }) => {}
            ("ignore_above", Value::Number(most), Kind::Keyword { ignore_above, .. }) => {
                *ignore_above = most.as_u64().and_then(|most| u32::try_from(most).ok()).unwrap_or(u32::MAX);
            }
            ("normalizer", value, Kind::Keyword { lower, .. }) if value == "lowercase" => *lower = true,
            ("analyzer", value, Kind::Text) if value == "standard" => {}
            ("norms", Value::Bool(norms), Kind::Text) => field.norms = *norms,
            ("format", Value::String(text), Kind::Date(formats)) => {
                *formats = Formats::parse(text).ok_or_else(|| unsupported(format!("the format {text:?}")))?;
            }
            ("index", Value::Bool(index), _) => field.indexed = *index,
            ("doc_values", Value::Bool(values), kind) if *kind != Kind::Text => field.doc_values = *values,
            ("null_value", value, kind) if *kind != Kind::Text => {
                field.null_value = Some(value.clone()).filter(|value| !value.is_null())
            }
            ("coerce", Value::Bool(coerce), _) if number => field.coerce = *coerce,
            ("ignore_malformed", Value::Bool(ignore), kind) if number || matches!(kind, Kind::Date(_) | Kind::Ip) => {
                field.ignore_malformed = *ignore
            }
            _ => return Err(unsupported(format!("the parameter {parameter:?}"))),
        }
    }
    field.ranges &= field.doc_values;
    Ok(field)
}

fn kind(definition: &Map<String, Value>) -> Option<Kind> {
    let whole = |least, most, point_bytes| Kind::Whole { least, most, point_bytes };
    Some(match definition.get("type")?.as_str()? {
        "keyword" => Kind::Keyword { ignore_above: u32::MAX, lower: false },
        "text" => Kind::Text,
        "long" => whole(i64::MIN, i64::MAX, 8),
        "integer" => whole(i64::from(i32::MIN), i64::from(i32::MAX), 4),
        "short" => whole(i64::from(i16::MIN), i64::from(i16::MAX), 4),
        "byte" => whole(i64::from(i8::MIN), i64::from(i8::MAX), 4),
        "double" => Kind::Double,
        "float" => Kind::Float,
        "scaled_float" => Kind::Scaled(definition.get("scaling_factor")?.as_f64()?),
        "date" => Kind::Date(Formats::default()),
        "ip" => Kind::Ip,
        "boolean" => Kind::Boolean,
        _ => return None,
    })
}
