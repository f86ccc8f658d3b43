//! JSON Schema as Confluent's converter writes it.
//!
//! `io.confluent.connect.json.JsonSchemaData`: the name of a type is its `title`, its parameters
//! are `connect.parameters`, and an optional value is `oneOf` null and its type.

use serde_json::Value;

use super::{At, Node, PLAIN, Plan, Planning, number};
use crate::values::logical::Logical;

/// A schema and those that it refers to, by their names.
struct Reading<'a> {
    root: &'a Value,
    references: &'a [(String, Value)],
}

impl Plan {
    /// The plan of a schema of a registry. `references` are the names and texts of those that it
    /// refers to.
    pub(in crate::values) fn of_json_schema(text: &str, references: &[(String, String)]) -> Plan {
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_default();
        let references: Vec<(String, Value)> =
            references.iter().map(|(name, text)| (name.clone(), parse(text))).collect();
        let root = parse(text);
        let reading = Reading { root: &root, references: &references };
        let mut planning = Planning::new();
        let at = planning.json_schema(&root, &reading);
        planning.done(at)
    }
}

impl Planning {
    fn json_schema(&mut self, schema: &Value, reading: &Reading<'_>) -> At {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(name, reading);
        }
        let parameter = |name: &str| number(schema.get("connect.parameters")?.get(name)?);
        let title = schema.get("title").and_then(Value::as_str);
        if let Some(logical) = title.and_then(|title| Logical::named(title, parameter)) {
            return self.add(Node::Logical(logical));
        }
        for several in ["oneOf", "anyOf", "allOf"] {
            let Some(branches) = schema.get(several).and_then(Value::as_array) else { continue };
            let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
            let mut others = branches.iter().filter(|branch| !is_null(branch));
            // Of several types the value does not say which it has.
            return match (others.next(), others.next()) {
                (Some(only), None) => self.json_schema(only, reading),
                _ => PLAIN,
            };
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let field = |(name, schema): (&String, &Value)| (name.clone(), self.json_schema(schema, reading));
            let fields = properties.iter().map(field).collect();
            return self.fields(fields);
        }
        if let Some(items @ Value::Object(_)) = schema.get("items") {
            let items = self.json_schema(items, reading);
            return self.around(items, Node::Array);
        }
        if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
            let values = self.json_schema(values, reading);
            return self.around(values, Node::Map);
        }
        PLAIN
    }

    /// `#/definitions/Name`, `#`, `name.json`, `name.json#/definitions/Name`.
    fn reference(&mut self, name: &str, reading: &Reading<'_>) -> At {
        let (file, pointer) = name.split_once('#').unwrap_or((name, ""));
        let root = match file {
            "" => Some(reading.root),
            file => reading.references.iter().find(|(known, _)| known == file).map(|(_, schema)| schema),
        };
        let Some((root, found)) = root.and_then(|root| Some((root, root.pointer(pointer)?))) else { return PLAIN };
        let key = format!("{:p} {pointer}", root);
        self.begin(key, |planning| planning.json_schema(found, &Reading { root, ..*reading }))
    }
}
