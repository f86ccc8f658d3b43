//! Where logical types are in a JSON value, by its schema.

mod json_schema;
#[cfg(feature = "protobuf")]
mod message;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use inrush_formats::json_string::push_text;
use serde_json::Value;
use serde_json::value::RawValue;

#[cfg(feature = "protobuf")]
pub(super) use message::Messages;

use super::key::members;
use super::logical::{Logical, Purpose};

/// The most values inside each other that are looked at. What is further inside stays as it is.
const LEVELS_MAX: usize = 200;

/// Schemas of envelopes that are remembered.
const KNOWN_MAX: usize = 256;

/// The place of a node in [`Plan::nodes`].
pub(super) type At = usize;

/// The node of values that stay as they are.
const PLAIN: At = 0;

/// What to do with the values that a schema describes. Nodes refer to each other, because types of
/// JSON Schema and Protobuf may contain themselves.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<Node>,
    root: At,
}

#[derive(Clone, Debug)]
enum Node {
    Plain,
    Logical(Logical),
    Struct(BTreeMap<String, At>),
    Array(At),
    /// An object with any names, or an array of keys and values.
    Map(At),
}

/// A plan while it is made.
struct Planning {
    nodes: Vec<Node>,
    /// Types that were begun, by their names.
    begun: HashMap<String, At>,
    /// Structs without logical types are kept, so that absent fields can be added.
    has_nulls: bool,
}

impl Planning {
    fn new() -> Self {
        Planning { nodes: vec![Node::Plain], begun: HashMap::new(), has_nulls: false }
    }

    fn add(&mut self, node: Node) -> At {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// A node around another one. Around plain values it is plain.
    fn around(&mut self, inner: At, node: fn(At) -> Node) -> At {
        if inner == PLAIN { PLAIN } else { self.add(node(inner)) }
    }

    fn fields(&mut self, fields: BTreeMap<String, At>) -> At {
        let is_plain = !self.has_nulls && fields.values().all(|at| *at == PLAIN);
        if is_plain { PLAIN } else { self.add(Node::Struct(fields)) }
    }

    /// A type that may contain itself.
    fn begin(&mut self, name: String, make: impl FnOnce(&mut Self) -> At) -> At {
        if let Some(at) = self.begun.get(&name) {
            return *at;
        }
        let own = self.add(Node::Plain);
        self.begun.insert(name.clone(), own);
        let made = make(self);
        if made == PLAIN {
            self.begun.insert(name, PLAIN);
            return PLAIN;
        }
        self.nodes[own] = self.nodes[made].clone();
        own
    }

    fn done(self, root: At) -> Plan {
        Plan { nodes: self.nodes, root }
    }

    /// A schema of Kafka Connect as its JSON converter writes it.
    fn connect(&mut self, schema: &Value) -> At {
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        let parameter = |name: &str| number(schema.get("parameters")?.get(name)?);
        if let Some(logical) = text("name").and_then(|name| Logical::named(name, parameter)) {
            return self.add(Node::Logical(logical));
        }
        match text("type") {
            Some("struct") => {
                let fields = schema.get("fields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let field = |field: &Value| {
                    let name = field.get("field").and_then(Value::as_str)?.to_owned();
                    Some((name, self.connect(field)))
                };
                let fields = fields.iter().filter_map(field).collect();
                self.fields(fields)
            }
            Some("array") => {
                let items = schema.get("items").map_or(PLAIN, |items| self.connect(items));
                self.around(items, Node::Array)
            }
            Some("map") => {
                let values = schema.get("values").map_or(PLAIN, |values| self.connect(values));
                self.around(values, Node::Map)
            }
            _ => PLAIN,
        }
    }
}

/// A parameter of a schema, which is text or a number.
pub(super) fn number(parameter: &Value) -> Option<i64> {
    parameter.as_str().map_or_else(|| parameter.as_i64(), |text| text.parse().ok())
}

impl Plan {
    fn of_connect(schema: &[u8]) -> Plan {
        let schema: Value = serde_json::from_slice(schema).unwrap_or_default();
        let mut planning = Planning::new();
        let root = planning.connect(&schema);
        planning.done(root)
    }

    /// The node of the whole value.
    pub(super) fn root(&self) -> At {
        self.root
    }

    /// The node of a field.
    pub(super) fn field(&self, at: At, name: &str) -> At {
        match &self.nodes[at] {
            Node::Struct(fields) => fields.get(name).copied().unwrap_or(PLAIN),
            _ => PLAIN,
        }
    }

    /// Whether the values of this node stay as they are.
    pub(super) fn is_plain(&self, at: At) -> bool {
        matches!(self.nodes[at], Node::Plain)
    }

    /// Appends the JSON that a value becomes. One that its schema does not allow stays as it is.
    /// In a document to merge, absent fields of structs are added as nulls.
    pub(super) fn push(&self, at: At, json: &[u8], purpose: Purpose, out: &mut Vec<u8>) {
        Pushing { nodes: &self.nodes, purpose, out }.value(at, json, 0);
    }
}

/// A value while its JSON is appended.
struct Pushing<'a> {
    nodes: &'a [Node],
    purpose: Purpose,
    out: &'a mut Vec<u8>,
}

impl Pushing<'_> {
    fn value(&mut self, at: At, json: &[u8], level: usize) {
        let (nodes, before) = (self.nodes, self.out.len());
        let is_done = level < LEVELS_MAX
            && match &nodes[at] {
                Node::Plain => false,
                Node::Logical(logical) => {
                    logical.push(json, self.purpose, self.out);
                    true
                }
                Node::Struct(fields) => self.fields(fields, json, level).is_some(),
                Node::Array(items) => self.items(json, level, |_| *items).is_some(),
                Node::Map(values) if json.first() == Some(&b'[') => self.pairs(*values, json, level).is_some(),
                Node::Map(values) => self.members(json, level, |_| *values).is_some(),
            };
        if !is_done {
            self.out.truncate(before);
            self.out.extend_from_slice(json);
        }
    }

    fn fields(&mut self, fields: &BTreeMap<String, At>, json: &[u8], level: usize) -> Option<()> {
        self.members(json, level, |name| fields.get(name).copied().unwrap_or(PLAIN))?;
        if !self.purpose.has_nulls() {
            return Some(());
        }
        let there = members(json).ok()?;
        for name in fields.keys().filter(|name| !there.iter().any(|(known, _)| known == *name)) {
            // In the place of the bracket.
            let bracket = self.out.pop();
            if self.out.last() != Some(&b'{') {
                self.out.push(b',');
            }
            push_text(self.out, name);
            self.out.extend_from_slice(b":null");
            self.out.extend(bracket);
        }
        Some(())
    }

    fn members(&mut self, json: &[u8], level: usize, child: impl Fn(&str) -> At) -> Option<()> {
        self.out.push(b'{');
        for (nth, (name, value)) in members(json).ok()?.into_iter().enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            push_text(self.out, &name);
            self.out.push(b':');
            self.value(child(&name), value.get().as_bytes(), level + 1);
        }
        self.out.push(b'}');
        Some(())
    }

    fn items(&mut self, json: &[u8], level: usize, child: impl Fn(usize) -> At) -> Option<()> {
        let items: Vec<&RawValue> = serde_json::from_slice(json).ok()?;
        self.out.push(b'[');
        for (nth, item) in items.into_iter().enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            self.value(child(nth), item.get().as_bytes(), level + 1);
        }
        self.out.push(b']');
        Some(())
    }

    /// A map whose keys are no strings: `[[key, value], …]`.
    fn pairs(&mut self, values: At, json: &[u8], level: usize) -> Option<()> {
        let pairs: Vec<&RawValue> = serde_json::from_slice(json).ok()?;
        self.out.push(b'[');
        for (nth, pair) in pairs.into_iter().enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            let child = |nth| if nth == 1 { values } else { PLAIN };
            self.items(pair.get().as_bytes(), level + 1, child)?;
        }
        self.out.push(b']');
        Some(())
    }
}

/// Plans of the schemas in envelopes. Each record has its schema in full, mostly the same as the
/// record before.
#[derive(Debug, Default)]
pub(super) struct Plans(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    schema: Box<[u8]>,
    plan: Arc<Plan>,
}

impl Plans {
    /// The plan of a schema of Kafka Connect.
    pub(super) fn of_connect(&self, schema: &[u8]) -> Arc<Plan> {
        // Nothing is changed in several steps.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.iter().find(|known| *known.schema == *schema) {
            return Arc::clone(&found.plan);
        }
        if known.len() == KNOWN_MAX {
            known.clear();
        }
        let plan = Arc::new(Plan::of_connect(schema));
        known.push(Known { schema: schema.into(), plan: Arc::clone(&plan) });
        plan
    }
}

#[cfg(test)]
mod tests;
