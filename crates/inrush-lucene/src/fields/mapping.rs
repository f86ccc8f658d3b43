//! The mapping of an index: its fields, and what is indexed of each.
//!
//! Source: the documentation of mappings in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::fields::definition::{field, path_of};
use crate::fields::field::Field;
use crate::hash::hash;

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
    /// Whether the names of fields with malformed values are doc values, and not stored.
    pub(crate) fn has_ignored_values(&self) -> bool {
        self.product == Product::Elasticsearch && self.version >= [8, 15, 0]
    }

    /// Whether dates named `@timestamp` have an index of ranges.
    pub(crate) fn has_timestamp_ranges(&self) -> bool {
        self.product == Product::OpenSearch && self.version >= [3, 3, 0]
    }
}

/// An object, or a field with what is made of its values.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Object(Object),
    /// The numbers of the field, of its multi-fields, and of what they are copied to.
    Fields(Vec<usize>),
    /// The number of a field of points, which are objects or arrays.
    Points(usize),
    /// A value of which nothing is indexed.
    Ignored,
    /// Another name of a field, which documents must not have.
    Alias,
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

/// Objects that are documents of their own, before the one that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nested {
    pub(crate) path: String,
    /// Whether the fields belong to the document above, too, and to the whole document.
    pub(crate) in_parent: bool,
    pub(crate) in_root: bool,
}

/// The members of an object, in the order of the mapping.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) path: String,
    members: Vec<(String, Node)>,
    /// A power of two of places; a member's number plus 1, or 0.
    table: Vec<u16>,
    pub(crate) dynamic: Dynamic,
    /// Whether `dynamic` is its own, and not that of the object above.
    pub(crate) own_dynamic: bool,
    /// The number of its path among those of nested objects.
    pub(crate) nested: Option<usize>,
}

impl Object {
    /// The place of a member and what it is.
    #[inline]
    pub(crate) fn member(&self, name: &str, expected: usize) -> Option<(usize, &Node)> {
        // Members often come in the order of the mapping.
        if let Some((expected_name, node)) = self.members.get(expected)
            && expected_name == name
        {
            return Some((expected, node));
        }
        let mask = self.table.len().checked_sub(1)?;
        let mut place = hash(name.as_bytes()) as usize & mask;
        loop {
            let at = usize::from(self.table[place]).checked_sub(1)?;
            let (other, node) = &self.members[at];
            if other == name {
                return Some((at, node));
            }
            place = (place + 1) & mask;
        }
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.members.iter_mut().find(|(other, _)| other == name).map(|(_, node)| node)
    }

    /// Makes the table, here and in the objects below. `None` if there are too many members.
    fn finish(&mut self) -> Option<()> {
        self.table = vec![0; (2 * self.members.len() + 1).next_power_of_two()];
        let mask = self.table.len() - 1;
        for (number, (name, node)) in self.members.iter_mut().enumerate() {
            let mut place = hash(name.as_bytes()) as usize & mask;
            while self.table[place] != 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = u16::try_from(number + 1).ok()?;
            if let Node::Object(object) = node {
                object.finish()?;
            }
        }
        Some(())
    }
}

/// The fields of an index.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub(crate) root: Object,
    pub(crate) fields: Vec<Field>,
    pub(crate) nested: Vec<Nested>,
    /// Whether documents need a routing value.
    pub(crate) routing_required: bool,
    pub(crate) target: Target,
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
        let mut definition = mapping.as_object().ok_or_else(|| unsupported("no object"))?.clone();
        let routing_required = match definition.remove("_routing") {
            None => false,
            Some(routing) => routing_required(&routing).ok_or_else(|| unsupported("the parameter \"_routing\""))?,
        };
        for parameter in ["date_detection", "numeric_detection", "dynamic_date_formats", "dynamic_templates"] {
            // They are about new fields, which are refused.
            definition.remove(parameter);
        }
        if definition.get("_source").is_some_and(|source| *source == serde_json::json!({ "enabled": true })) {
            definition.remove("_source");
        }
        let mut reader = Reader { target, fields: Vec::new(), nested: Vec::new(), copies: Vec::new() };
        let mut root = reader.object(&definition, "", None, Dynamic::Add)?;
        let copies = std::mem::take(&mut reader.copies);
        for (from, to) in copies {
            copy_to(&mut root, &reader.fields, &from, &to)?;
        }
        check_numbers(&root, &reader.fields)?;
        root.finish().ok_or_else(|| unsupported("more than 65,535 members in an object"))?;
        Ok(Self { root, fields: reader.fields, nested: reader.nested, routing_required, target })
    }
}

fn routing_required(routing: &Value) -> Option<bool> {
    let routing = routing.as_object()?;
    match (routing.len(), routing.get("required")) {
        (0, None) => Some(false),
        (1, Some(Value::Bool(required))) => Some(*required),
        _ => None,
    }
}

/// What was read so far.
struct Reader {
    target: Target,
    fields: Vec<Field>,
    nested: Vec<Nested>,
    /// Fields of which the values are copied, and where to.
    copies: Vec<(String, String)>,
}

impl Reader {
    fn object(
        &mut self,
        definition: &Map<String, Value>,
        path: &str,
        scope: Option<usize>,
        above: Dynamic,
    ) -> Result<Object, Unsupported> {
        let unsupported = |what: String| Unsupported { field: path.to_owned(), what };
        let mut object = Object { path: path.to_owned(), dynamic: above, ..Object::default() };
        let mut nested = Nested { path: path.to_owned(), in_parent: false, in_root: false };
        let is_nested = definition.get("type").is_some_and(|kind| kind == "nested");
        for (parameter, value) in definition {
            match (parameter.as_str(), value) {
                ("properties" | "_meta", Value::Object(_)) | ("enabled", Value::Bool(true)) => {}
                ("type", value) if value == "object" || value == "nested" => {}
                ("include_in_parent", Value::Bool(is)) if is_nested => nested.in_parent = *is,
                ("include_in_root", Value::Bool(is)) if is_nested => nested.in_root = *is,
                ("dynamic", value) => {
                    object.own_dynamic = true;
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
        if is_nested {
            object.nested = Some(self.nested.len());
            self.nested.push(nested);
        }
        let scope = object.nested.or(scope);
        let mut members: Vec<(&String, &Value)> =
            definition.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
        // Names with dots may be below others.
        members.sort_by_key(|(name, _)| name.contains('.'));
        for (name, definition) in members {
            let Value::Object(definition) = definition else {
                return Err(Unsupported { field: path_of(path, name), what: "no definition".to_owned() });
            };
            self.member(&mut object, name, definition, path, scope)?;
        }
        Ok(object)
    }

    /// Adds a member. A name with dots is a path of objects.
    fn member(
        &mut self,
        object: &mut Object,
        name: &str,
        definition: &Map<String, Value>,
        path: &str,
        scope: Option<usize>,
    ) -> Result<(), Unsupported> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let first_path = path_of(path, first);
        if first.is_empty() {
            return Err(Unsupported { field: path.to_owned(), what: format!("the name {name:?}") });
        }
        if let Some(rest) = rest {
            if object.get_mut(first).is_none() {
                let new = Object { path: first_path.clone(), dynamic: object.dynamic, ..Object::default() };
                object.members.push((first.to_owned(), Node::Object(new)));
            }
            return match object.get_mut(first) {
                Some(Node::Object(object)) => {
                    let scope = object.nested.or(scope);
                    self.member(object, rest, definition, &first_path, scope)
                }
                _ => Err(Unsupported { field: first_path, what: format!("the name {name:?} below it") }),
            };
        }
        if object.get_mut(first).is_some() {
            return Err(Unsupported { field: first_path, what: "two definitions".to_owned() });
        }
        let node = self.node(definition, first_path, scope, object.dynamic)?;
        object.members.push((first.to_owned(), node));
        Ok(())
    }

    fn node(
        &mut self,
        definition: &Map<String, Value>,
        path: String,
        scope: Option<usize>,
        dynamic: Dynamic,
    ) -> Result<Node, Unsupported> {
        let kind = definition.get("type").and_then(Value::as_str);
        let disabled = definition.get("enabled") == Some(&Value::Bool(false));
        Ok(match kind {
            None | Some("object") if disabled => Node::Ignored,
            None | Some("object" | "nested") => Node::Object(self.object(definition, &path, scope, dynamic)?),
            Some("alias") => Node::Alias,
            Some(_) => {
                let numbers = self.field(definition, path, scope)?;
                let is_point = self.fields[numbers[0]].kind.is_points();
                if is_point { Node::Points(numbers[0]) } else { Node::Fields(numbers) }
            }
        })
    }

    /// Adds a field and its multi-fields; returns their numbers.
    fn field(
        &mut self,
        definition: &Map<String, Value>,
        name: String,
        scope: Option<usize>,
    ) -> Result<Vec<usize>, Unsupported> {
        let mut numbers = vec![self.fields.len()];
        self.fields.push(field(definition, &name, scope, self.target)?);
        let targets = match definition.get("copy_to") {
            None => Vec::new(),
            Some(Value::String(target)) => vec![target.clone()],
            Some(Value::Array(targets)) => targets.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(_) => return Err(Unsupported { field: name, what: "the parameter \"copy_to\"".to_owned() }),
        };
        self.copies.extend(targets.into_iter().map(|target| (name.clone(), target)));
        for (suffix, definition) in definition.get("fields").and_then(Value::as_object).into_iter().flatten() {
            let name = format!("{name}.{suffix}");
            let Value::Object(definition) = definition else {
                return Err(Unsupported { field: name, what: "no definition".to_owned() });
            };
            if definition.contains_key("copy_to") {
                return Err(Unsupported { field: name, what: "the parameter \"copy_to\"".to_owned() });
            }
            let is_points = |number: usize| self.fields[number].kind.is_points();
            if definition.get("type").is_some_and(|kind| kind == "geo_point") || is_points(numbers[0]) {
                return Err(Unsupported { field: name, what: "a multi-field with points".to_owned() });
            }
            numbers.extend(self.field(definition, name, scope)?);
        }
        Ok(numbers)
    }
}

/// Adds the numbers of the field `to`, and of its multi-fields, to those of the field `from`.
fn copy_to(root: &mut Object, fields: &[Field], from: &str, to: &str) -> Result<(), Unsupported> {
    let unsupported = || Unsupported { field: from.to_owned(), what: format!("`copy_to` {to:?}") };
    let own = |number: &usize| fields[*number].name == to || fields[*number].name.starts_with(&format!("{to}."));
    let numbers = match find(root, to) {
        Some(Node::Fields(numbers)) => numbers.iter().copied().filter(own).collect::<Vec<_>>(),
        _ => return Err(unsupported()),
    };
    let Some(Node::Fields(all)) = find(root, from) else { return Err(unsupported()) };
    // A copy to another document is not built.
    let same_document = |number: &usize| fields[*number].scope == fields[all[0]].scope;
    if !numbers.iter().all(same_document) {
        return Err(unsupported());
    }
    all.extend(numbers);
    Ok(())
}

fn find<'o>(object: &'o mut Object, path: &str) -> Option<&'o mut Node> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (object.get_mut(first)?, rest) {
        (Node::Object(object), Some(rest)) => find(object, rest),
        (node, None) => Some(node),
        _ => None,
    }
}

/// The servers read a second number off what the first one made of a text, so all have to be of one
/// kind.
fn check_numbers(object: &Object, fields: &[Field]) -> Result<(), Unsupported> {
    for (_, node) in &object.members {
        match node {
            Node::Object(object) => check_numbers(object, fields)?,
            Node::Fields(numbers) => {
                let mut kinds: Vec<&Field> =
                    numbers.iter().map(|&number| &fields[number]).filter(|field| field.kind.is_number()).collect();
                kinds.dedup_by(|a, b| a.kind == b.kind && a.coerce == b.coerce);
                if let [_, other, ..] = kinds.as_slice() {
                    let what = "the type of a number, made of the same value as another number".to_owned();
                    return Err(Unsupported { field: other.name.clone(), what });
                }
            }
            Node::Points(_) | Node::Ignored | Node::Alias => {}
        }
    }
    Ok(())
}
