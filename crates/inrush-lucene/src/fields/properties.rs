//! The fields of a mapping, from its JSON.
//!
//! Source: the documentation of mappings in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::fields::as_you_type::{self, AS_YOU_TYPE};
use crate::fields::composed::{Feature, SHARED, is_feature};
use crate::fields::definition::{field, path_of};
use crate::fields::field::{FLAT_OBJECT, Field, JOIN, Kind};
use crate::fields::index_settings::IndexSettings;
use crate::fields::new_field::{NewField, Section};
use crate::fields::object::{Dynamic, Flat, Nested, Node, Object, is_blank};
use crate::fields::relations::Join;
use crate::fields::target::{KnownProduct, ServerVersion, Unsupported};

/// The most levels of objects in a field of the type `flattened`, by default.
const FLAT_DEPTH_MAX: usize = 20;
/// The most levels in one of the type `flat_object` that are built. OpenSearch has no limit of its
/// own, and 3.6 sometimes dies of about 1,000: its stack overflows.
const FLAT_OBJECT_DEPTH_MAX: usize = 500;

/// Reads the fields of a mapping; the analysers of the settings may be theirs.
pub(super) fn read_fields(
    definition: &Map<String, Value>,
    settings: &Map<String, Value>,
    target: ServerVersion,
) -> Result<(Object, Vec<Field>, Vec<Nested>), Unsupported> {
    let settings = IndexSettings::read(settings, target)?;
    let mut reader = Reader { settings, fields: Vec::new(), nested: Vec::new(), copies: Vec::new() };
    let mut definition = definition.clone();
    if target.product == KnownProduct::Elasticsearch {
        definition.remove("runtime");
    }
    let mut root = reader.object(&definition, "", None, Dynamic::Add)?;
    for (from, to) in std::mem::take(&mut reader.copies) {
        copy_to(&mut root, &mut reader, &from, &to)?;
    }
    check_numbers(&root, &reader.fields)?;
    Ok((root, reader.fields, reader.nested))
}

/// Adds the new fields that are no runtime fields.
pub(super) fn add_fields(
    (root, fields, nested): (&mut Object, &mut Vec<Field>, &mut Vec<Nested>),
    settings: &Map<String, Value>,
    target: ServerVersion,
    new: &[NewField],
) -> Result<(), Unsupported> {
    let mut reader = Reader {
        settings: IndexSettings::read(settings, target)?,
        fields: std::mem::take(fields),
        nested: std::mem::take(nested),
        copies: Vec::new(),
    };
    let mut add = |NewField { path, definition, .. }: &NewField| {
        let unsupported = || Unsupported { field: path.clone(), what: "no object above it".to_owned() };
        let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
        let (mut object, mut scope) = (&mut *root, None);
        for part in above.split('.').filter(|part| !part.is_empty()) {
            let Some(Node::Object(below)) = object.get_mut(part) else { return Err(unsupported()) };
            scope = below.nested.or(scope);
            object = below;
        }
        let definition = definition.as_object().ok_or_else(unsupported)?;
        reader.member(object, name, definition, above, scope)
    };
    new.iter().filter(|field| field.section == Section::Properties).try_for_each(&mut add)?;
    if let Some((from, to)) = reader.copies.first() {
        return Err(Unsupported { field: from.clone(), what: format!("`copy_to` {to:?} in a template") });
    }
    let from = |field: &Field| field.copied_to.iter().map(|to| (field.name.clone(), to.clone())).collect::<Vec<_>>();
    let waiting: Vec<(String, String)> = reader.fields.iter().flat_map(from).collect();
    reader.fields.iter_mut().for_each(|field| field.copied_to.clear());
    for (from, to) in waiting {
        copy_to(root, &mut reader, &from, &to)?;
    }
    check_numbers(root, &reader.fields)?;
    (*fields, *nested) = (reader.fields, reader.nested);
    Ok(())
}

/// Adds a runtime field to the object that has it, if that is in the mapping. Members of other
/// objects are found by [`super::mapping::Mapping::is_runtime`].
pub(super) fn add_runtime(object: &mut Object, name: &str) {
    match name.split_once('.') {
        None if object.get_mut(name).is_none() => object.members.push((name.to_owned(), Node::Runtime)),
        None => {}
        Some((first, rest)) => {
            if let Some(Node::Object(object)) = object.get_mut(first) {
                add_runtime(object, rest);
            }
        }
    }
}

/// What was read so far.
struct Reader {
    settings: IndexSettings,
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
        let depth = 1 + self.depth(scope);
        let mut nested = Nested { path: path.to_owned(), in_parent: false, in_root: false, depth };
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
                        "runtime" if self.settings.target.product == KnownProduct::Elasticsearch => Dynamic::Runtime,
                        other => return Err(unsupported(format!("`dynamic` {other:?}"))),
                    };
                }
                (parameter, _) => return Err(unsupported(format!("the parameter {parameter:?}"))),
            }
        }
        // The values would get to the whole document on two ways.
        if nested.in_parent && nested.in_root && scope.is_some() {
            return Err(unsupported("`include_in_parent` with `include_in_root` below a nested object".to_owned()));
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
        if object.get_mut(first).is_some_and(|node| !matches!(node, Node::Runtime)) {
            return Err(Unsupported { field: first_path, what: "two definitions".to_owned() });
        }
        let node = self.node(definition, first_path, scope, object.dynamic)?;
        if let Node::Join(join) = &node {
            for name in join.names(&self.fields, self.settings.target.product) {
                if object.get_mut(name).is_some() {
                    return Err(Unsupported { field: name.to_owned(), what: "two definitions".to_owned() });
                }
                object.members.push((name.to_owned(), Node::OfJoin));
            }
        }
        match object.get_mut(first) {
            // It hides the runtime field.
            Some(runtime) => *runtime = node,
            None => object.members.push((first.to_owned(), node)),
        }
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
            Some("nested") if disabled => Node::IgnoredNested,
            None | Some("object" | "nested") => Node::Object(self.object(definition, &path, scope, dynamic)?),
            Some("alias") => Node::Alias,
            Some("flattened") if self.settings.target.product == KnownProduct::Elasticsearch => {
                Node::Flat(self.flat(definition, path, scope)?)
            }
            Some(FLAT_OBJECT) if self.settings.target.has_flat_objects() => {
                Node::Flat(self.flat_object(definition, &path, scope)?)
            }
            Some(JOIN) => {
                let (join, fields) = Join::read(definition, &path, self.fields.len(), &self.settings)?;
                self.fields.extend(fields);
                Node::Join(join)
            }
            Some("constant_keyword") if self.settings.target.product == KnownProduct::OpenSearch => {
                constant(definition, path)?
            }
            Some("binary") if keeps_nothing(definition) => Node::Unread,
            Some(kind) if self.settings.target.has_features() && is_feature(kind) => {
                Node::Feature(self.feature(definition, path, scope)?)
            }
            Some(_) => {
                let numbers = self.field(definition, path, scope)?;
                let Field { kind, doc_values, name, .. } = &self.fields[numbers[0]];
                if matches!(kind, Kind::Bytes { .. } | Kind::Range(_) | Kind::GeoShape(_)) && *doc_values {
                    self.check_not_included(name, scope)?;
                }
                match kind {
                    Kind::GeoPoint { .. } => Node::Points(numbers[0]),
                    Kind::GeoShape(_) => Node::Shape(numbers[0]),
                    Kind::Range(_) => Node::Range(numbers[0]),
                    Kind::Suggest(_) => Node::Suggest(numbers[0]),
                    _ => Node::Fields(numbers),
                }
            }
        })
    }

    /// Adds a field with features.
    fn feature(
        &mut self,
        definition: &Map<String, Value>,
        name: String,
        scope: Option<usize>,
    ) -> Result<Feature, Unsupported> {
        let is_object = definition["type"] == "rank_features";
        let mut feature = Feature { name, is_object, number: self.fields.len(), is_positive: true };
        for (parameter, value) in definition {
            match (parameter.as_str(), value) {
                ("type" | "meta", _) => {}
                ("positive_score_impact", Value::Bool(is)) => feature.is_positive = *is,
                _ => {
                    return Err(Unsupported { field: feature.name, what: format!("the parameter {parameter:?}") });
                }
            }
        }
        // The servers do not join the values of several nested objects.
        self.check_not_included(&feature.name, scope)?;
        let (name, scope) = if is_object { (feature.name.as_str(), scope) } else { (SHARED, None) };
        let shared = self.fields.iter().position(|field| field.name == name);
        feature.number = shared.unwrap_or(self.fields.len());
        if shared.is_none() {
            let keyword = Map::from_iter([("type".to_owned(), Value::from("keyword"))]);
            let field = field(&keyword, name, scope, &self.settings)?;
            self.fields.push(Field { kind: Kind::Feature, doc_values: false, ..field });
        }
        Ok(feature)
    }

    /// Checks that the values of a document stay in it, and do not get into the document above a
    /// nested object.
    fn check_not_included(&self, name: &str, scope: Option<usize>) -> Result<(), Unsupported> {
        let is_copied = |nested: &Nested| nested.in_parent || nested.in_root;
        let is_above = |at: usize| scope == Some(at) || self.contains(Some(at), scope);
        match self.nested.iter().enumerate().any(|(at, nested)| is_copied(nested) && is_above(at)) {
            false => Ok(()),
            true => {
                let what = "this type below `include_in_parent` or `include_in_root`".to_owned();
                Err(Unsupported { field: name.to_owned(), what })
            }
        }
    }

    /// Whether the nested object `inner` is below the document or nested object `outer`.
    fn contains(&self, outer: Option<usize>, inner: Option<usize>) -> bool {
        match (outer, inner) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(outer), Some(inner)) => {
                let path = &self.nested[inner].path;
                path.strip_prefix(self.nested[outer].path.as_str()).is_some_and(|rest| rest.starts_with('.'))
            }
        }
    }

    /// How many nested objects there are on the way to a field.
    fn depth(&self, scope: Option<usize>) -> usize {
        scope.map_or(0, |scope| self.nested[scope].depth)
    }

    /// Adds the two fields of an object whose values are terms.
    fn flat(
        &mut self,
        definition: &Map<String, Value>,
        name: String,
        scope: Option<usize>,
    ) -> Result<Flat, Unsupported> {
        let mut definition = definition.clone();
        let unsupported = |what: &str| Unsupported { field: name.clone(), what: format!("the parameter {what:?}") };
        let depth_max = match definition.remove("depth_limit") {
            None => FLAT_DEPTH_MAX,
            Some(limit) => limit.as_u64().ok_or_else(|| unsupported("depth_limit"))? as usize,
        };
        for no in ["normalizer", "norms", "store", "copy_to", "fields", "doc_values"] {
            if definition.contains_key(no) {
                return Err(unsupported(no));
            }
        }
        definition.insert("type".to_owned(), Value::from("keyword"));
        let root = self.fields.len();
        for name in [name.clone(), format!("{name}._keyed")] {
            self.fields
                .push(Field { type_name: "flattened".to_owned(), ..field(&definition, &name, scope, &self.settings)? });
        }
        let field = &mut self.fields[root];
        field.doc_values &= field.indexed || !self.settings.target.reads_as_9_4();
        Ok(Flat { root, keyed: root + 1, values: None, depth_max })
    }

    /// Adds the three fields of a `flat_object`, which has no parameters.
    fn flat_object(
        &mut self,
        definition: &Map<String, Value>,
        name: &str,
        scope: Option<usize>,
    ) -> Result<Flat, Unsupported> {
        if let Some(parameter) = definition.keys().find(|parameter| *parameter != "type") {
            return Err(Unsupported { field: name.to_owned(), what: format!("the parameter {parameter:?}") });
        }
        let keyword = Map::from_iter([("type".to_owned(), Value::from("keyword"))]);
        let root = self.fields.len();
        let prefix = format!("{name}.");
        for (suffix, prefix) in [("", ""), ("._value", &*prefix), ("._valueAndPath", &*prefix)] {
            self.fields.push(Field {
                type_name: FLAT_OBJECT.to_owned(),
                prefix: prefix.to_owned(),
                ..field(&keyword, &format!("{name}{suffix}"), scope, &self.settings)?
            });
        }
        Ok(Flat { root, keyed: root + 2, values: Some(root + 1), depth_max: FLAT_OBJECT_DEPTH_MAX })
    }

    /// Adds a field and its multi-fields; returns their numbers.
    fn field(
        &mut self,
        definition: &Map<String, Value>,
        name: String,
        scope: Option<usize>,
    ) -> Result<Vec<usize>, Unsupported> {
        let first = self.fields.len();
        let kind = definition.get("type").and_then(Value::as_str);
        if kind == Some(AS_YOU_TYPE) && self.settings.target.has_features() {
            self.fields.extend(as_you_type::read(definition, &name, scope, &self.settings)?);
        } else {
            let field = field(definition, &name, scope, &self.settings)?;
            if field.grams {
                // OpenSearch 3.6 and 3.8 refuse each document with a value there: "TokenStream
                // contract violation".
                self.check_not_included(&name, scope)?;
            }
            self.fields.push(field);
        }
        let mut numbers: Vec<usize> = (first..self.fields.len()).collect();
        let targets = match definition.get("copy_to") {
            None => Vec::new(),
            Some(Value::String(target)) => vec![target.clone()],
            Some(Value::Array(targets)) if targets.iter().all(Value::is_string) => {
                targets.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
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
            let own = self.field(definition, name.clone(), scope)?;
            let [whole, part] = [numbers[0], own[0]].map(|number| &self.fields[number]);
            let is_alone = part.kind.is_alone() && !matches!(part.kind, Kind::Suggest(_));
            if whole.kind.is_alone() || is_alone {
                let what = format!("the type {:?} as a multi-field of {:?}", part.type_name, whole.type_name);
                return Err(Unsupported { field: name, what });
            }
            numbers.extend(own);
        }
        Ok(numbers)
    }
}

/// Whether a field of bytes has nothing but its source.
fn keeps_nothing(definition: &Map<String, Value>) -> bool {
    definition.iter().all(|(parameter, value)| match parameter.as_str() {
        "type" | "meta" => true,
        "store" | "doc_values" => *value == Value::Bool(false),
        _ => false,
    })
}

/// The value of a field of which all documents have the same.
fn constant(definition: &Map<String, Value>, path: String) -> Result<Node, Unsupported> {
    let plain = definition.keys().all(|parameter| ["type", "value", "meta"].contains(&parameter.as_str()));
    match definition.get("value").and_then(Value::as_str).filter(|_| plain) {
        Some(value) => Ok(Node::Constant(value.to_owned())),
        None => Err(Unsupported { field: path, what: "other parameters than one text as \"value\"".to_owned() }),
    }
}

/// Adds the numbers of the field `to`, and of its multi-fields, to those of the field `from`. If
/// there is none yet, the first value adds it.
fn copy_to(root: &mut Object, reader: &mut Reader, from: &str, to: &str) -> Result<(), Unsupported> {
    let opensearch = reader.settings.target.product == KnownProduct::OpenSearch;
    let fields = &reader.fields;
    let unsupported = || Unsupported { field: from.to_owned(), what: format!("`copy_to` {to:?}") };
    let own = |number: &usize| fields[*number].name == to || fields[*number].name.starts_with(&format!("{to}."));
    let numbers = match find(root, to) {
        Some(Node::Fields(numbers)) => numbers.iter().copied().filter(own).collect::<Vec<_>>(),
        None if opensearch && !to.contains('.') && !is_blank(to) => Vec::new(),
        _ => return Err(unsupported()),
    };
    let Some(Node::Fields(all)) = find(root, from) else { return Err(unsupported()) };
    // A copy goes to the same document, or to one that has it.
    let own = fields[all[0]].scope;
    let above = |number: &usize| {
        let to = fields[*number].scope;
        to == own || reader.contains(to, own)
    };
    let is_alone = |numbers: &[usize]| numbers.first().is_some_and(|first| fields[*first].kind.is_alone());
    if !numbers.iter().all(above) || is_alone(all) || is_alone(&numbers) {
        return Err(unsupported());
    }
    if numbers.is_empty() {
        let first = all[0];
        reader.fields[first].copied_to.push(to.to_owned());
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
            Node::Points(_) | Node::Range(_) | Node::Suggest(_) | Node::Flat(_) | Node::Join(_) => {}
            Node::Shape(_) | Node::Feature(_) | Node::Constant(_) => {}
            Node::OfJoin | Node::Ignored | Node::IgnoredNested | Node::Unread | Node::Runtime | Node::Alias => {}
        }
    }
    Ok(())
}
