//! The mapping of an index: its fields, and what is indexed of each.
//!
//! Source: the documentation of mappings in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::fields::dynamic::Detection;
use crate::fields::field::{Field, Kind};
use crate::fields::new_fields::{NewField, NewFields, Section};
use crate::fields::properties::{add_fields, add_runtime, read_fields};
use crate::fields::refused::Refused;
use crate::fields::sorting::SortBy;
use crate::hash::hash;

/// The most fields of a mapping, and the most levels, where the settings name no other limit.
const FIELDS_MAX: u64 = 1000;
const DEPTH_MAX: usize = 20;

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

    /// Whether it refuses names with half a pair of UTF-16.
    pub(crate) fn has_whole_names(&self) -> bool {
        self.product == Product::OpenSearch && self.version >= [3, 6, 0]
    }

    /// Whether it refuses some malformed values that the mapping says to ignore: objects, and
    /// numbers out of range for `unsigned_long`. OpenSearch 2.19 does, 3.6 does not; no test was
    /// made between.
    pub(crate) fn refuses_malformed(&self) -> bool {
        self.product == Product::OpenSearch && self.version < [3, 6, 0]
    }

    /// Whether it takes names of more than 50,000 characters and more than 1,000 levels of objects
    /// and arrays. OpenSearch 2.19 does, 3.6 does not; no test was made between.
    pub(crate) fn takes_any_json(&self) -> bool {
        self.product == Product::OpenSearch && self.version < [3, 6, 0]
    }

    /// Whether a `flat_object` is built for it. What it has was found of 2.19 and 3.6; no test was
    /// made of others.
    pub(crate) fn has_flat_objects(&self) -> bool {
        self.product == Product::OpenSearch && matches!(self.version, [2, 19, _] | [3, 6, _])
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
    /// An object of which each value is a term, with its name and without.
    Flat(Flat),
    /// The one value that documents may have, which is not indexed.
    Constant(String),
    /// A value of any kind of which nothing is indexed.
    Ignored,
    /// The same of a field: an object there is not supported.
    Unread,
    /// A runtime field, which searches compute: values are not looked at. An object there is one
    /// that the mapping does not have.
    Runtime,
    /// Another name of a field, which documents must not have.
    Alias,
}

/// A field of the type `flattened` or `flat_object`.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    /// The number of the field itself, and of the one with names and values.
    pub(crate) root: usize,
    pub(crate) keyed: usize,
    /// Of `flat_object`, the number of the one with the values: the field itself has the parts of
    /// their names.
    pub(crate) values: Option<usize>,
    /// The most levels of objects.
    pub(crate) depth_max: usize,
}

/// What happens to members that the mapping does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dynamic {
    /// A field is added.
    #[default]
    Add,
    /// A runtime field is added, and no objects on the way to it.
    Runtime,
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
    /// How many objects there are on the way that are nested, with this one.
    pub(crate) depth: usize,
}

/// The members of an object, in the order of the mapping.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) path: String,
    /// Its number among all objects.
    pub(crate) number: usize,
    pub(super) members: Vec<(String, Node)>,
    /// The names with their quotes and a colon; empty where a document may write one differently.
    pub(super) quoted: Vec<Vec<u8>>,
    /// A power of two of places; a member's number plus 1, or 0.
    pub(super) table: Vec<u16>,
    pub(crate) dynamic: Dynamic,
    /// Whether `dynamic` is its own, and not that of the object above.
    pub(crate) own_dynamic: bool,
    /// The number of its path among those of nested objects.
    pub(crate) nested: Option<usize>,
}

impl Object {
    /// The name of a member as documents write it, with its quotes and a colon, and what it is.
    #[inline]
    pub(crate) fn quoted(&self, place: usize) -> Option<(&[u8], &Node)> {
        let quoted = self.quoted.get(place).filter(|quoted| !quoted.is_empty())?;
        Some((quoted, &self.members.get(place)?.1))
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn name(&self, place: usize) -> &str {
        &self.members[place].0
    }

    /// The place of a member and what it is.
    pub(crate) fn member(&self, name: &str) -> Option<(usize, &Node)> {
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

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.members.iter_mut().find(|(other, _)| other == name).map(|(_, node)| node)
    }

    /// Makes the table, here and in the objects below, of which there are `objects` before. `None`
    /// if there are too many members.
    fn finish(&mut self, objects: &mut usize) -> Option<()> {
        self.number = *objects;
        *objects += 1;
        self.quoted = self.members.iter().map(|(name, _)| quoted(name)).collect();
        self.table = vec![0; (2 * self.members.len() + 1).next_power_of_two()];
        let mask = self.table.len() - 1;
        for (number, (name, node)) in self.members.iter_mut().enumerate() {
            let mut place = hash(name.as_bytes()) as usize & mask;
            while self.table[place] != 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = u16::try_from(number + 1).ok()?;
            if let Node::Object(object) = node {
                object.finish(objects)?;
            }
        }
        Some(())
    }
}

fn quoted(name: &str) -> Vec<u8> {
    let is_plain = !name.bytes().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
    if is_plain && name.len() < 256 { format!("\"{name}\":").into_bytes() } else { Vec::new() }
}

/// The fields of an index.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub(crate) root: Object,
    pub(crate) fields: Vec<Field>,
    pub(crate) nested: Vec<Nested>,
    /// By what the documents of each segment are sorted.
    pub(crate) sort: Vec<SortBy>,
    /// Whether documents need a routing value.
    pub(crate) routing_required: bool,
    pub(crate) target: Target,
    /// What becomes of new fields.
    pub(crate) detection: Detection,
    /// What it was read from, with the new fields, and these alone.
    pub(crate) definition: Map<String, Value>,
    pub(crate) added: Map<String, Value>,
    pub(super) settings: Map<String, Value>,
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

impl Mapping {
    /// Reads a mapping: an object with `properties`.
    ///
    /// # Errors
    ///
    /// If something in it is not supported. It is named, and nothing is left out silently.
    pub fn parse(mapping: &Value, target: Target) -> Result<Self, Unsupported> {
        Self::with_settings(mapping, &Map::new(), target)
    }

    /// Reads a mapping whose fields may have analysers and normalizers of the settings of their
    /// index: full names with dots, such as `index.analysis.normalizer.own.filter`. The settings
    /// `index.sort.*` say how the documents of each segment are sorted.
    ///
    /// # Errors
    ///
    /// As [`Mapping::parse`]. What the settings define and no field uses is not looked at.
    pub fn with_settings(mapping: &Value, settings: &Map<String, Value>, target: Target) -> Result<Self, Unsupported> {
        let unsupported = |what: &str| Unsupported { field: String::new(), what: what.to_owned() };
        let mut definition = mapping.as_object().ok_or_else(|| unsupported("no object"))?.clone();
        let routing_required = match definition.remove("_routing") {
            None => false,
            Some(routing) => routing_required(&routing).ok_or_else(|| unsupported("the parameter \"_routing\""))?,
        };
        let detection = Detection::take(&mut definition, target);
        if definition.get("_source").is_some_and(|source| *source == serde_json::json!({ "enabled": true })) {
            definition.remove("_source");
        }
        let (mut root, mut fields, nested) = read_fields(&definition, settings, target)?;
        for (name, definition) in runtime_fields(&definition) {
            if definition.get("type").is_some_and(|kind| kind == "composite") {
                return Err(Unsupported { field: name.clone(), what: "the type \"composite\"".to_owned() });
            }
            add_runtime(&mut root, name);
        }
        root.finish(&mut 0).ok_or_else(|| unsupported("more than 65,535 members in an object"))?;
        let sort = SortBy::read(settings, &fields, !nested.is_empty(), target)?;
        // The date by which the index is sorted first has an index of ranges, too.
        if let Some(by) = sort.first().filter(|_| target.has_timestamp_ranges()) {
            fields[by.field].ranges |= matches!(fields[by.field].kind, Kind::Date(_) | Kind::DateNanos(_));
        }
        let (definition, added, settings) =
            (mapping.as_object().cloned().unwrap_or_default(), Map::new(), settings.clone());
        Ok(Self { root, fields, nested, sort, routing_required, target, detection, definition, added, settings })
    }

    /// This mapping with the fields that a document adds. The numbers of fields stay.
    ///
    /// # Errors
    ///
    /// If they are more than the settings allow, or deeper.
    pub(crate) fn with_fields(&self, new: &NewFields) -> Result<Self, Refused> {
        let new = new.members();
        new.iter().try_for_each(|field| self.check_new(field))?;
        self.check_count(new)?;
        let mut grown = self.clone();
        for field in new {
            field.define(&mut grown.definition);
            field.define(&mut grown.added);
        }
        let added = add_fields(&mut grown, new);
        added.map_err(|Unsupported { field, what }| {
            Refused::Unsupported(format!("the new field {field:?} with {what}"))
        })?;
        for name in runtime_fields(&grown.definition).map(|(name, _)| name).filter(|name| is_for(name, new)) {
            add_runtime(&mut grown.root, name);
        }
        grown.root.finish(&mut 0).ok_or(Refused::Fields(u64::from(u16::MAX)))?;
        Ok(grown)
    }

    /// Checks that there are not too many fields. A document beyond the limit costs no copy.
    fn check_count(&self, new: &[NewField]) -> Result<(), Refused> {
        let fields_max = self.limit("total_fields.limit", FIELDS_MAX)?;
        let new: u64 = new.iter().map(|field| 1 + field.definition.as_object().map_or(0, count)).sum();
        if count(&self.definition) + new <= fields_max {
            return Ok(());
        }
        let ignored = self.settings.get("index.mapping.total_fields.ignore_dynamic_beyond_limit");
        Err(match ignored.is_some_and(|is| *is == true || *is == "true") {
            false => Refused::Fields(fields_max),
            true => Refused::Unsupported(format!("a new field beyond the limit of {fields_max}")),
        })
    }

    fn check_new(&self, NewField { path, section, definition, .. }: &NewField) -> Result<(), Refused> {
        let levels = path.split('.').count() + usize::from(definition["type"] == "object");
        if levels > DEPTH_MAX && *section == Section::Properties {
            return Err(Refused::Depth(path.clone()));
        }
        let length_max = self.limit("field_name_length.limit", u64::MAX)?;
        match path.split('.').any(|name| name.encode_utf16().count() as u64 > length_max) {
            true => Err(Refused::Unsupported(format!("the new field {path:?} beyond the limit of {length_max}"))),
            false => Ok(()),
        }
    }

    /// A limit of the settings.
    fn limit(&self, name: &str, default: u64) -> Result<u64, Refused> {
        let name = format!("index.mapping.{name}");
        let Some(limit) = self.settings.get(&name) else { return Ok(default) };
        let number = limit.as_u64().or_else(|| limit.as_str()?.parse().ok());
        number.ok_or_else(|| Refused::Unsupported(format!("a new field with {name} {limit}")))
    }

    /// The field by which Lucene knows which documents are no nested objects. Sorted indices have
    /// it, with nested objects or without, so that a merge keeps them together.
    pub(crate) fn parent_field(&self) -> Option<&'static str> {
        match self.target.product {
            _ if self.sort.is_empty() => None,
            Product::OpenSearch => (self.target.version >= [3, 2, 0]).then_some("__nested_parent"),
            Product::Elasticsearch => Some("__root_doc_for_nested"),
        }
    }

    /// Whether a full name is that of a runtime field.
    pub(crate) fn is_runtime(&self, path: &str) -> bool {
        self.definition.get("runtime").is_some_and(|fields| fields.get(path).is_some())
    }

    /// How many nested objects there are on the way to a field.
    pub(crate) fn depth(&self, number: usize) -> usize {
        self.fields[number].scope.map_or(0, |scope| self.nested[scope].depth)
    }
}

/// The members of a definition, with their multi-fields and what is in them.
fn count(definition: &Map<String, Value>) -> u64 {
    let below = |(_, definition): (&String, &Value)| 1 + definition.as_object().map_or(0, count);
    let parts = ["properties", "fields", "runtime"].into_iter().filter_map(|part| definition.get(part)?.as_object());
    parts.flatten().map(below).sum()
}

/// The runtime fields with their full names.
fn runtime_fields(definition: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    definition.get("runtime").and_then(Value::as_object).into_iter().flatten()
}

/// Whether a runtime field is new, or its object is.
fn is_for(name: &str, new: &[NewField]) -> bool {
    let is_below = |object: &str| name.strip_prefix(object).is_some_and(|rest| rest.starts_with('.'));
    new.iter().any(|field| match field.section {
        Section::Runtime => field.path == name,
        Section::Properties => is_below(&field.path),
    })
}

fn routing_required(routing: &Value) -> Option<bool> {
    let routing = routing.as_object()?;
    match (routing.len(), routing.get("required")) {
        (0, None) => Some(false),
        (1, Some(Value::Bool(required))) => Some(*required),
        _ => None,
    }
}
