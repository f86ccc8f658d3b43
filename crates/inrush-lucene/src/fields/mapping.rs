//! The mapping of an index: its fields, and what is indexed of each.
//!
//! Source: the documentation of mappings in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::fields::dynamic::Detection;
use crate::fields::field::{Field, JOIN, Kind};
use crate::fields::new_field::{NewField, Section};
use crate::fields::new_fields::NewFields;
use crate::fields::object::{Nested, Object};
use crate::fields::properties::{add_fields, add_runtime, read_fields};
use crate::fields::refused::Refused;
use crate::fields::sorting::SortBy;
use crate::fields::source::KeptSource;
use crate::fields::spelled;
use crate::fields::target::{KnownProduct, ServerVersion, Unsupported};

/// The most fields of a mapping, and the most levels, where the settings name no other limit.
const FIELDS_MAX: u64 = 1000;
const DEPTH_MAX: usize = 20;

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
    /// What `_source` keeps of documents.
    pub(crate) source: KeptSource,
    pub(crate) target: ServerVersion,
    /// What becomes of new fields.
    pub(crate) detection: Detection,
    /// What it was read from, with the new fields, and these alone.
    pub(crate) definition: Map<String, Value>,
    pub(crate) added: Map<String, Value>,
    pub(super) settings: Map<String, Value>,
}

/// Leaves a parameter of a field out of a definition, if it is what is meant, or else the field.
/// Whether there was one.
fn leave_out(definition: &mut Value, field: &str, what: &str) -> bool {
    for members in ["properties", "fields"] {
        let Some(members) = definition.get_mut(members).and_then(Value::as_object_mut) else { continue };
        let is_on_way = |name: &&String| field.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        if let Some(own) = members.get_mut(field) {
            let parameter = what.strip_prefix("the parameter \"").and_then(|what| what.split('"').next());
            let removed = parameter.and_then(|parameter| own.as_object_mut()?.remove(parameter));
            return removed.is_some() || members.remove(field).is_some();
        }
        let below: Vec<String> = members.keys().filter(is_on_way).cloned().collect();
        for name in below {
            if let Some(own) = members.get_mut(&name)
                && leave_out(own, &field[name.len() + 1..], what)
            {
                return true;
            }
        }
    }
    false
}

impl Mapping {
    /// Reads a mapping: an object with `properties`.
    ///
    /// # Errors
    ///
    /// If something in it is not supported. It is named, and nothing is left out silently.
    pub fn parse(mapping: &Value, target: ServerVersion) -> Result<Self, Unsupported> {
        Self::with_settings(mapping, &Map::new(), target)
    }

    /// Reads a mapping whose fields may have analysers and normalizers of the settings of their
    /// index: full names with dots, such as `index.analysis.normalizer.own.filter`. The settings
    /// `index.sort.*` say how the documents of each segment are sorted.
    ///
    /// # Errors
    ///
    /// As [`Mapping::parse`]. What the settings define and no field uses is not looked at.
    pub fn with_settings(
        mapping: &Value,
        settings: &Map<String, Value>,
        target: ServerVersion,
    ) -> Result<Self, Unsupported> {
        let unsupported = |what: &str| Unsupported { field: String::new(), what: what.to_owned() };
        let Value::Object(mut definition) = spelled::plain(mapping) else { return Err(unsupported("no object")) };
        let routing_required = match definition.remove("_routing") {
            None => false,
            Some(routing) => routing_required(&routing).ok_or_else(|| unsupported("the parameter \"_routing\""))?,
        };
        let source = definition.remove("_source");
        let source = KeptSource::read(source.as_ref(), target).map_err(|what| unsupported(&what))?;
        let detection = Detection::take(&mut definition, target);
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
        Ok(Self {
            root,
            fields,
            nested,
            sort,
            routing_required,
            source,
            target,
            detection,
            definition,
            added,
            settings,
        })
    }

    /// All that is not supported of a mapping that [`Mapping::with_settings`] refuses, as far as it
    /// is of fields: what is found is left out, and the rest is read again.
    pub fn unsupported(mapping: &Value, settings: &Map<String, Value>, target: ServerVersion) -> Vec<Unsupported> {
        let (mut rest, mut all) = (mapping.clone(), Vec::new());
        while let Err(unsupported) = Self::with_settings(&rest, settings, target) {
            let is_left_out = leave_out(&mut rest, &unsupported.field, &unsupported.what);
            all.push(unsupported);
            if !is_left_out {
                break;
            }
        }
        all
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
        let Mapping { root, fields, nested, .. } = &mut grown;
        let added = add_fields((root, fields, nested), &self.settings, self.target, new);
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
        if count(&self.definition) + self.unnamed_count() + new <= fields_max {
            return Ok(());
        }
        let ignored = self.settings.get("index.mapping.total_fields.ignore_dynamic_beyond_limit");
        Err(match ignored.is_some_and(|is| *is == true || *is == "true") {
            false => Refused::Fields(fields_max),
            true => Refused::Unsupported(format!("a new field beyond the limit of {fields_max}")),
        })
    }

    /// The fields that the mapping does not name, and that OpenSearch counts: those of parents,
    /// `_parent_join`, and parts of fields.
    fn unnamed_count(&self) -> u64 {
        match self.target.product {
            KnownProduct::OpenSearch => {
                self.fields.iter().filter(|field| field.type_name == JOIN || field.is_part).count() as u64
            }
            KnownProduct::Elasticsearch => 0,
        }
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
            KnownProduct::OpenSearch => (self.target.version >= [3, 2, 0]).then_some("__nested_parent"),
            KnownProduct::Elasticsearch => Some("__root_doc_for_nested"),
        }
    }

    /// Whether the server leaves out values that a field does not take, also where the field does
    /// not say so: the setting of the index does so in OpenSearch.
    pub(crate) fn leaves_out_wrong_values(&self) -> bool {
        let setting = self.settings.get("index.mapping.ignore_malformed");
        self.target.product == KnownProduct::OpenSearch && setting.is_some_and(|is| *is == true || *is == "true")
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
