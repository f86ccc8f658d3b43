//! Schemas of Avro (<https://avro.apache.org/docs/1.12.0/specification/>, "Schema Declaration").

use std::collections::HashMap;
use std::path::Path;

use inrush_formats::json_string::push_text;
use inrush_formats::time::{TimeUnit, Zone};
use serde_json::{Map, Value};

use crate::values::logical::Logical;
use crate::values::plan::number;

/// The largest scale of a decimal. One above it is ignored as one that is not valid.
const SCALE_MAX: u64 = 1_000;

/// The place of a type in [`Schema::types`].
pub(super) type At = usize;

/// A schema: types that refer to each other.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(super) types: Vec<Type>,
    pub(super) root: At,
}

#[derive(Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Uuid,
    Date,
    TimeMillis,
    TimeMicros,
    Timestamp(TimeUnit, Zone),
    /// Of as many bytes, or with a length in front.
    Decimal(Option<usize>, i32),
    Duration,
    /// The symbols as JSON strings.
    Enum(Vec<Vec<u8>>),
    Array(At),
    Map(At),
    Union(Vec<At>),
    /// `"name":` and the type of each field.
    Record(Vec<(Vec<u8>, At)>),
    /// A type of Kafka Connect or Debezium, and its plain one.
    Logical(Logical, At),
}

/// Schemas of one document, while they are read.
struct Reading {
    types: Vec<Type>,
    names: HashMap<String, At>,
}

impl Schema {
    /// Reads a schema file.
    pub(crate) fn read(path: &Path) -> Result<Schema, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("the schema file {name}: {error}"))?;
        Schema::parse(&text, &[]).map_err(|problem| format!("the schema file {name}: {problem}"))
    }

    /// Parses a schema. Its types may be those of `references`, of which each may refer to the ones
    /// before it.
    pub(crate) fn parse(text: &str, references: &[String]) -> Result<Schema, String> {
        let mut reading = Reading { types: Vec::new(), names: HashMap::new() };
        let mut root = 0;
        for text in references.iter().map(String::as_str).chain([text]) {
            let json: Value = match serde_json::from_str(text) {
                Ok(json) => json,
                // Registries accept the name of a type without its quotes.
                Err(_) if is_primitive(text.trim()) => Value::String(text.trim().to_owned()),
                Err(error) => return Err(format!("it is not JSON: {error}")),
            };
            root = reading.at(&json, "")?;
        }
        Ok(Schema { types: reading.types, root })
    }
}

fn is_primitive(name: &str) -> bool {
    matches!(name, "null" | "boolean" | "int" | "long" | "float" | "double" | "bytes" | "string")
}

impl Reading {
    fn add(&mut self, kind: Type) -> At {
        self.types.push(kind);
        self.types.len() - 1
    }

    /// Reads a type. `namespace` is that of the type around it.
    fn at(&mut self, json: &Value, namespace: &str) -> Result<At, String> {
        match json {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => {
                let branches = branches.iter().map(|branch| self.at(branch, namespace)).collect::<Result<_, _>>()?;
                Ok(self.add(Type::Union(branches)))
            }
            Value::Object(object) => match object.get("type") {
                Some(Value::String(kind)) => self.object(kind, object, namespace),
                Some(nested @ (Value::Object(_) | Value::Array(_))) => self.at(nested, namespace),
                _ => Err(format!("a type is missing in {}", shown(json))),
            },
            _ => Err(format!("{} is no type", shown(json))),
        }
    }

    /// A type by its name.
    fn named(&mut self, name: &str, namespace: &str) -> Result<At, String> {
        let kind = match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" => Type::Int,
            "long" => Type::Long,
            "float" => Type::Float,
            "double" => Type::Double,
            "bytes" => Type::Bytes,
            "string" => Type::String,
            _ => {
                let known = self.names.get(&full_name(name, namespace)).or_else(|| self.names.get(name));
                return known.copied().ok_or_else(|| format!("the type {name} is not defined before its use"));
            }
        };
        Ok(self.add(kind))
    }

    fn object(&mut self, kind: &str, object: &Map<String, Value>, namespace: &str) -> Result<At, String> {
        let part = |name: &str| object.get(name).ok_or_else(|| format!("`{name}` is missing in {}", beginning(object)));
        match kind {
            "record" | "error" => self.record(object, namespace),
            "enum" => {
                let symbols = part("symbols")?.as_array().map(Vec::as_slice).unwrap_or_default();
                let quoted = symbols.iter().map(|symbol| {
                    let mut json = Vec::new();
                    push_text(&mut json, symbol.as_str().ok_or_else(|| format!("{} is no symbol", shown(symbol)))?);
                    Ok(json)
                });
                let kind = Type::Enum(quoted.collect::<Result<_, String>>()?);
                self.define(object, namespace, kind).map(|(at, _)| at)
            }
            "fixed" => {
                let size = part("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| format!("`size` is no number in {}", beginning(object)))?;
                self.define(object, namespace, fixed(size, object)).map(|(at, _)| at)
            }
            "array" => {
                let items = self.at(part("items")?, namespace)?;
                Ok(self.add(Type::Array(items)))
            }
            "map" => {
                let values = self.at(part("values")?, namespace)?;
                Ok(self.add(Type::Map(values)))
            }
            _ => match logical(kind, object) {
                Some(kind) => Ok(self.add(kind)),
                None => {
                    let plain = self.named(kind, namespace)?;
                    let logical = object.get("connect.name").and_then(Value::as_str);
                    let logical = logical.and_then(|name| connect(name, object));
                    Ok(logical.map_or(plain, |logical| self.add(Type::Logical(logical, plain))))
                }
            },
        }
    }

    fn record(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<At, String> {
        // Its fields may refer to it.
        let (at, namespace) = self.define(object, namespace, Type::Null)?;
        let Some(Value::Array(list)) = object.get("fields") else {
            return Err(format!("`fields` is missing in {}", beginning(object)));
        };
        let mut fields = Vec::with_capacity(list.len());
        for field in list {
            let (Some(name), Some(kind)) = (field.get("name").and_then(Value::as_str), field.get("type")) else {
                return Err(format!("a field has no name or no type: {}", shown(field)));
            };
            let mut prefix = Vec::with_capacity(name.len() + 3);
            push_text(&mut prefix, name);
            prefix.push(b':');
            // A field may have the attributes of its type beside its own.
            let kind = match (kind, field.get("logicalType").or_else(|| field.get("connect.name"))) {
                (Value::String(_), Some(_)) => self.at(field, &namespace),
                _ => self.at(kind, &namespace),
            };
            fields.push((prefix, kind.map_err(|problem| format!("field {name}: {problem}"))?));
        }
        let full = self.names.iter().find(|(_, known)| **known == at).map(|(name, _)| name.as_str());
        let name = object.get("connect.name").and_then(Value::as_str).or(full);
        self.types[at] = match name.and_then(|name| connect(name, object)) {
            None => Type::Record(fields),
            Some(logical) => Type::Logical(logical, self.add(Type::Record(fields))),
        };
        Ok(at)
    }

    /// Adds a type with a name. Returns the namespace of the types in it.
    fn define(&mut self, object: &Map<String, Value>, namespace: &str, kind: Type) -> Result<(At, String), String> {
        let name = object.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| format!("`name` is missing in {}", beginning(object)))?;
        let namespace = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
        let full = full_name(name, namespace);
        let inner = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
        let at = self.add(kind);
        self.names.insert(full, at);
        Ok((at, inner))
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// The logical type of a primitive one. One that is not known, or does not fit, is ignored, as the
/// specification requires.
fn logical(kind: &str, object: &Map<String, Value>) -> Option<Type> {
    const UTC: Zone = Zone::Offset(0);
    Some(match (kind, object.get("logicalType")?.as_str()?) {
        ("int", "date") => Type::Date,
        ("int", "time-millis") => Type::TimeMillis,
        ("long", "time-micros") => Type::TimeMicros,
        ("long", "timestamp-millis") => Type::Timestamp(TimeUnit::Millisecond, UTC),
        ("long", "timestamp-micros") => Type::Timestamp(TimeUnit::Microsecond, UTC),
        ("long", "timestamp-nanos") => Type::Timestamp(TimeUnit::Nanosecond, UTC),
        ("long", "local-timestamp-millis") => Type::Timestamp(TimeUnit::Millisecond, Zone::None),
        ("long", "local-timestamp-micros") => Type::Timestamp(TimeUnit::Microsecond, Zone::None),
        ("long", "local-timestamp-nanos") => Type::Timestamp(TimeUnit::Nanosecond, Zone::None),
        ("bytes", "decimal") => Type::Decimal(None, scale(object)?),
        _ => return None,
    })
}

/// A type by its name in Kafka Connect, whose schema has the parameters.
fn connect(name: &str, object: &Map<String, Value>) -> Option<Logical> {
    Logical::named(name, |name| number(object.get("connect.parameters")?.get(name)?))
}

fn fixed(size: usize, object: &Map<String, Value>) -> Type {
    match (object.get("logicalType").and_then(Value::as_str), size) {
        (Some("decimal"), _) => scale(object).map_or(Type::Fixed(size), |scale| Type::Decimal(Some(size), scale)),
        (Some("uuid"), 16) => Type::Uuid,
        (Some("duration"), 12) => Type::Duration,
        _ => Type::Fixed(size),
    }
}

/// The scale of a decimal, if it and the precision are valid.
fn scale(object: &Map<String, Value>) -> Option<i32> {
    let precision = object.get("precision")?.as_u64().filter(|precision| *precision > 0)?;
    let scale = object.get("scale").map_or(Some(0), Value::as_u64)?;
    i32::try_from(scale).ok().filter(|_| scale <= precision.min(SCALE_MAX))
}

fn shown(json: &Value) -> String {
    inrush_formats::beginning(json.to_string().as_bytes())
}

fn beginning(object: &Map<String, Value>) -> String {
    shown(&Value::Object(object.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_schemas_are_refused_with_what_is_wrong() {
        for (text, problem) in [
            ("{", "not JSON"),
            ("7", "7 is no type"),
            ("\"shop.Order\"", "the type shop.Order is not defined"),
            (r#"{"name":"a"}"#, "a type is missing"),
            (r#"{"type":"record","fields":[]}"#, "`name` is missing"),
            (r#"{"type":"record","name":"R"}"#, "`fields` is missing"),
            (r#"{"type":"record","name":"R","fields":[{"name":"a","type":"lnog"}]}"#, "field a: the type lnog"),
            (r#"{"type":"record","name":"R","fields":[{"type":"long"}]}"#, "has no name"),
            (r#"{"type":"array"}"#, "`items` is missing"),
            (r#"{"type":"map"}"#, "`values` is missing"),
            (r#"{"type":"enum","name":"E"}"#, "`symbols` is missing"),
            (r#"{"type":"enum","name":"E","symbols":[1]}"#, "1 is no symbol"),
            (r#"{"type":"fixed","name":"F","size":-1}"#, "`size` is no number"),
        ] {
            let error = Schema::parse(text, &[]).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn the_name_of_a_primitive_type_is_a_schema() {
        assert!(Schema::parse("string", &[]).is_ok() && Schema::parse("\"long\"", &[]).is_ok());
    }
}
