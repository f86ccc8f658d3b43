//! What `index.mode` of Elasticsearch does to documents: ids that are made of them, and `_source`
//! that is rebuilt from their fields. The mapping of a field decides only on dates and numbers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::mapping::{Mapping, failed_to_parse};
use super::op::{Action, Op};
use super::settings::Settings;
use crate::clock::{millis_of, time_of};
use crate::error::ServerError;
use crate::product::Flavor;
use crate::random::mix;

/// The first byte of an id of a time series, so that others are told from it.
const MADE: u8 = 0x24;

impl Settings {
    fn mode(&self) -> &str {
        self.get("index.mode").unwrap_or("standard")
    }

    fn is_columnar(&self) -> bool {
        matches!(self.mode(), "columnar" | "logsdb_columnar")
    }

    /// True where ids are made of the documents.
    pub(crate) fn is_time_series(&self) -> bool {
        self.mode() == "time_series"
    }

    /// True where documents have no sequence numbers that a client can use.
    pub(crate) fn hides_seq_nos(&self) -> bool {
        self.get("index.disable_sequence_numbers").map_or(self.is_columnar(), |value| value == "true")
    }

    /// True where `_source` is made of the fields of a document.
    pub(crate) fn rebuilds_source(&self) -> bool {
        let by_mode = self.is_columnar() || matches!(self.mode(), "logsdb" | "time_series");
        self.get("index.mapping.source.mode").map_or(by_mode, |mode| mode.eq_ignore_ascii_case("synthetic"))
    }
}

/// Refuses what a time series does not take, and returns the id of a document that is indexed.
///
/// # Errors
///
/// The server's, for the item.
pub(super) fn id_of_document(
    op: &Op,
    name: &str,
    (settings, mapping, flavor): (&Settings, &Mapping, &Flavor),
    document: impl FnOnce() -> Result<Map<String, Value>, ServerError>,
) -> Result<String, ServerError> {
    let unsupported = |what: &str| {
        let reason = format!("{what} is not supported because the destination index [{name}] is in time_series mode");
        Err(ServerError::illegal_argument(reason))
    };
    if op.routing.is_some() {
        return unsupported("specifying routing");
    }
    match (op.action, &op.id) {
        (Action::Update, _) => return unsupported("update"),
        (Action::Delete, Some(id)) if !is_made(id) => {
            let reason = format!("invalid id [{id}] for index [{name}] in time_series mode");
            return Err(ServerError::new(404, "resource_not_found_exception", reason));
        }
        (Action::Delete, id) => return Ok(id.clone().unwrap_or_default()),
        (Action::Index | Action::Create, _) => {}
    }
    let document = document()?;
    let dimensions = dimensions(settings, mapping);
    let values: Vec<Value> = dimensions.iter().map(|field| values_at(&document, field)).collect();
    if values.iter().all(|values| values.as_array().is_some_and(Vec::is_empty)) {
        return Err(ServerError::illegal_argument(
            "Error extracting routing: source didn't contain any routing fields",
        ));
    }
    let refuse = |reason: String| failed_to_parse(flavor, "illegal_argument_exception", &reason);
    let Some(time) = document.get("@timestamp").filter(|time| !time.is_null()) else {
        return Err(refuse("data stream timestamp field [@timestamp] is missing".to_owned()));
    };
    let Some(millis) = millis(time) else {
        return Err(refuse(format!("failed to parse date field [{time}]")));
    };
    let limit = |setting: &str| settings.get(setting).and_then(millis_of);
    if limit("index.time_series.start_time").is_some_and(|start| millis < start) {
        return Err(refuse(format!("time series index @timestamp value [{}] is too early", time_of(millis))));
    }
    if limit("index.time_series.end_time").is_some_and(|end| millis >= end) {
        return Err(refuse(format!("time series index @timestamp value [{}] is too late", time_of(millis))));
    }
    let id = made(&json!([dimensions, values]).to_string(), millis);
    match &op.id {
        Some(given) if *given != id => Err(refuse(format!(
            "_id must be unset or set to [{id}] but was [{given}] because [{name}] is in time_series mode"
        ))),
        _ => Ok(id),
    }
}

/// The fields that tell a time series from others.
fn dimensions(settings: &Settings, mapping: &Mapping) -> Vec<String> {
    let mut fields = settings.list("index.routing_path");
    fields.extend(mapping.dimensions());
    fields.sort();
    fields.dedup();
    fields
}

fn values_at(document: &Map<String, Value>, field: &str) -> Value {
    let found = match document.get(field) {
        Some(value) => Some(value),
        None => {
            let mut names = field.split('.');
            let first = names.next().and_then(|name| document.get(name));
            names.fold(first, |value, name| value?.get(name))
        }
    };
    match found {
        None | Some(Value::Null) => json!([]),
        Some(Value::Array(items)) => json!(items),
        Some(one) => json!([one]),
    }
}

fn millis(time: &Value) -> Option<i64> {
    match time {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => millis_of(text).or_else(|| text.parse().ok()),
        _ => None,
    }
}

fn made(series: &str, millis: i64) -> String {
    let hash = series.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
    let mut bytes = vec![MADE];
    for part in [hash, mix(hash), mix(mix(hash)), millis.cast_unsigned()] {
        bytes.extend(part.to_be_bytes());
    }
    URL_SAFE_NO_PAD.encode(bytes)
}

fn is_made(id: &str) -> bool {
    URL_SAFE_NO_PAD.decode(id).is_ok_and(|bytes| bytes.len() == 33 && bytes[0] == MADE)
}

/// A document as an index shows it that makes `_source` of its fields: names in their order, dates
/// in their own form, no nulls and no empty arrays. Columnar ones have flat names, so that objects
/// of an array are not told apart.
pub(super) fn rebuilt(document: &Map<String, Value>, settings: &Settings, mapping: &Mapping) -> Value {
    let mut flat = Map::new();
    for (name, value) in document {
        flatten(name, value, mapping, settings.is_columnar(), &mut flat);
    }
    flat.sort_keys();
    if settings.is_columnar() {
        return Value::Object(flat);
    }
    let mut nested = Map::new();
    for (path, value) in flat {
        insert(&mut nested, &path, value);
    }
    Value::Object(nested)
}

fn flatten(path: &str, value: &Value, mapping: &Mapping, is_columnar: bool, flat: &mut Map<String, Value>) {
    match value {
        Value::Null => {}
        Value::Object(object) => {
            for (name, value) in object {
                flatten(&format!("{path}.{name}"), value, mapping, is_columnar, flat);
            }
        }
        Value::Array(items) if is_columnar && items.iter().any(Value::is_object) => {
            for item in items {
                flatten(path, item, mapping, is_columnar, flat);
            }
        }
        Value::Array(items) => {
            let kept: Vec<Value> =
                items.iter().filter(|item| !item.is_null()).map(|item| of_field(path, item, mapping)).collect();
            for one in kept {
                add(flat, path, one);
            }
        }
        one => add(flat, path, of_field(path, one, mapping)),
    }
}

/// Adds a value to those of a field. One value is no array.
fn add(flat: &mut Map<String, Value>, path: &str, value: Value) {
    match flat.get_mut(path) {
        None => drop(flat.insert(path.to_owned(), value)),
        Some(Value::Array(items)) => items.push(value),
        Some(one) => *one = json!([one.take(), value]),
    }
}

fn of_field(path: &str, value: &Value, mapping: &Mapping) -> Value {
    match (mapping.kind(path), value) {
        (Some("date"), time) => millis(time).map_or_else(|| time.clone(), |millis| json!(time_of(millis))),
        (Some("long" | "integer" | "short" | "byte"), Value::String(text)) => {
            text.trim().parse::<i64>().map_or_else(|_| value.clone(), |number| json!(number))
        }
        (Some("boolean"), Value::String(text)) => json!(text == "true"),
        _ => value.clone(),
    }
}

fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let inner = object.entry(first).or_insert_with(|| json!({}));
            match inner {
                Value::Object(inner) => insert(inner, rest, value),
                _ => drop(object.insert(path.to_owned(), value)),
            }
        }
    }
}
