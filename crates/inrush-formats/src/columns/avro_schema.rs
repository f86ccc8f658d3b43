//! Avro schemas that the reader of columns does not accept: either explained in a message or
//! rewritten to ones that it accepts.

use serde_json::Value;

/// Why no rows can be made with the schema `text`. `None` if they can, or if the text is not a
/// schema.
pub(super) fn problem(text: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(text).ok()?;
    match kind(&schema) {
        "record" if takes_no_bytes(&schema) => Some("its rows have no values: all fields of its schema are null".to_owned()),
        "record" => recursive(&schema, &mut Vec::new(), "").map(|(record, field)| {
            format!("record {record} contains itself, in field {field}; a column has a fixed depth: convert the file to JSON first")
        }),
        kind => Some(format!("its schema is of type {kind} and has no fields; a record is expected at the top")),
    }
}

/// Whether a value takes no bytes in the file. Such rows can only be counted.
fn takes_no_bytes(schema: &Value) -> bool {
    match kind(schema) {
        "null" => true,
        "record" => {
            let fields = schema.get("fields").and_then(Value::as_array);
            fields.is_some_and(|fields| fields.iter().all(|field| field.get("type").is_some_and(takes_no_bytes)))
        }
        _ => false,
    }
}

/// The same schema with every type name `a.b.c` split into the name `c` and the namespace `a.b`,
/// which is equivalent. The reader does not find references to a dotted name. `None` if no name has
/// dots.
pub(super) fn with_short_names(text: &str) -> Option<String> {
    let mut schema: Value = serde_json::from_str(text).ok()?;
    shorten(&mut schema).then(|| schema.to_string())
}

fn shorten(schema: &mut Value) -> bool {
    let object = match schema {
        Value::Array(branches) => return branches.iter_mut().fold(false, |changed, branch| shorten(branch) | changed),
        Value::Object(object) => object,
        _ => return false,
    };
    let is_named = matches!(object.get("type").and_then(Value::as_str), Some("record" | "error" | "enum" | "fixed"));
    let name = object.get("name").and_then(Value::as_str).filter(|_| is_named);
    let parts = name.and_then(|name| name.rsplit_once('.')).map(|(space, name)| (space.to_owned(), name.to_owned()));
    let mut changed = parts.is_some();
    if let Some((namespace, name)) = parts {
        object.insert("namespace".to_owned(), namespace.into());
        object.insert("name".to_owned(), name.into());
    }
    for part in ["type", "items", "values"] {
        changed |= object.get_mut(part).is_some_and(shorten);
    }
    let fields = object.get_mut("fields").and_then(Value::as_array_mut);
    for kind in fields.into_iter().flatten().filter_map(|field| field.get_mut("type")) {
        changed |= shorten(kind);
    }
    changed
}

/// The type of a schema. A union has none of its own.
fn kind(schema: &Value) -> &str {
    match schema {
        Value::String(name) => name,
        Value::Array(_) => "union",
        Value::Object(object) => match object.get("type") {
            // A type nested in a type, as some writers have it.
            Some(inner) => kind(inner),
            None => "unknown",
        },
        _ => "unknown",
    }
}

/// A record that contains itself, and the field in which it does. `open` are the full names of the
/// records around `schema`.
fn recursive(schema: &Value, open: &mut Vec<String>, namespace: &str) -> Option<(String, String)> {
    let in_parts = |parts: &Value, open: &mut Vec<String>, namespace: &str| recursive(parts, open, namespace);
    match schema {
        Value::String(name) => {
            let full = full_name(name, namespace);
            open.contains(&full).then(|| (full, String::new()))
        }
        Value::Array(branches) => branches.iter().find_map(|branch| in_parts(branch, open, namespace)),
        Value::Object(object) => {
            if let (Some(Value::String(name)), Some(Value::Array(fields))) = (object.get("name"), object.get("fields"))
            {
                let namespace = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
                let full = full_name(name, namespace);
                let namespace = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
                open.push(full);
                let found = fields.iter().find_map(|field| {
                    let (record, inner) = in_parts(field.get("type")?, open, &namespace)?;
                    let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
                    let place = if inner.is_empty() { name.to_owned() } else { format!("{name}.{inner}") };
                    Some((record, place))
                });
                open.pop();
                return found;
            }
            let parts = ["type", "items", "values"].into_iter().filter_map(|part| object.get(part));
            parts.into_iter().find_map(|part| in_parts(part, open, namespace))
        }
        _ => None,
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') { name.to_owned() } else { format!("{namespace}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_names_are_taken_apart() {
        let schema = r#"{"type":"record","name":"a.b.R","fields":[{"name":"x","type":["null",{"type":"enum","name":"c.E","symbols":["A"]}]},
            {"name":"y","type":"c.E"}]}"#;
        let expected = r#"{"fields":[{"name":"x","type":["null",{"name":"E","namespace":"c","symbols":["A"],"type":"enum"}]},{"name":"y","type":"c.E"}],"name":"R","namespace":"a.b","type":"record"}"#;
        assert_eq!(with_short_names(schema).unwrap().parse::<Value>().unwrap(), expected.parse::<Value>().unwrap());
        assert_eq!(with_short_names(r#"{"type":"record","name":"R","namespace":"a","fields":[]}"#), None);
    }

    #[test]
    fn what_has_no_rows_is_told_in_words() {
        for (schema, expected) in [
            (r#""string""#, Some("its schema is of type string and has no fields")),
            (r#"{"type":"array","items":"long"}"#, Some("its schema is of type array and has no fields")),
            (r#"["null","long"]"#, Some("its schema is of type union and has no fields")),
            (
                r#"{"type":"record","name":"N","namespace":"a","fields":[{"name":"v","type":"long"},
                {"name":"next","type":["null",{"type":"array","items":"N"}]}]}"#,
                Some("record a.N contains itself, in field next"),
            ),
            (
                r#"{"type":"record","name":"A","fields":[{"name":"b","type":{"type":"record","name":"B","fields":[
                {"name":"a","type":{"type":"map","values":"A"}}]}}]}"#,
                Some("record A contains itself, in field b.a"),
            ),
            (r#"{"type":"record","name":"A","fields":[{"name":"x","type":"null"}]}"#, Some("its rows have no values")),
            // The same record twice is not a recursion.
            (
                r#"{"type":"record","name":"A","fields":[{"name":"x","type":{"type":"record","name":"P","fields":[{"name":"z","type":"int"}]}},
                {"name":"y","type":"P"}]}"#,
                None,
            ),
            ("{", None),
        ] {
            let found = problem(schema);
            match expected {
                Some(expected) => assert!(found.as_ref().is_some_and(|p| p.contains(expected)), "{schema}: {found:?}"),
                None => assert_eq!(found, None),
            }
        }
    }
}
