//! Extended JSON of MongoDB: objects that stand for one value, such as `{"$numberLong":"5"}`.
//!
//! <https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/>, both versions. All other
//! text stays as it is, so numbers keep their digits.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use inrush_core::{Code, DocBlock, DocMeta, Reject};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::cut_file::ReadFile;
use super::json_string::push_text;
use super::time::{TimeUnit, Zone, push_timestamp};
use super::{Chunk, SourceError};

/// Objects and arrays below this depth stay as they are.
const DEPTH_MAX: usize = 200;

/// A file whose documents are extended JSON. Their `_id` is the id, and each of them has one:
/// others become rejects.
pub(crate) struct ExtendedJson(pub(crate) Box<dyn ReadFile>);

impl ReadFile for ExtendedJson {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let chunk = self.0.next_chunk(bytes)?;
        Ok(chunk.map(|chunk| Chunk::Deferred(Box::new(move || convert(chunk.into_block())))))
    }
}

fn convert(mut block: DocBlock) -> DocBlock {
    let mut out = Vec::with_capacity(block.data.len());
    let mut meta = std::mem::take(&mut block.meta);
    meta.resize(block.records.len(), DocMeta::default());
    let known: Vec<u32> = block.rejects.iter().map(|reject| reject.record).collect();
    let mut rejects = Vec::new();
    for (at, record) in block.records.iter_mut().enumerate() {
        let text = &block.data[record.start as usize..record.end as usize];
        let start = out.len();
        if known.binary_search(&(at as u32)).is_err() {
            match document(text, &mut out) {
                Ok(id) => meta[at].id = Some(id),
                Err((kind, reason)) => {
                    out.truncate(start);
                    rejects.push(Reject { record: at as u32, kind, reason });
                }
            }
        }
        if out.len() == start {
            out.extend_from_slice(text);
        }
        (record.start, record.end) = (start as u32, out.len() as u32);
    }
    block.data = Bytes::from(out);
    block.meta = meta;
    block.add_rejects(rejects);
    block
}

/// Appends the document without its `_id`, and returns that.
///
/// # Errors
/// The text is no object, or has no `_id`, or the `_id` is no single value.
fn document(text: &[u8], out: &mut Vec<u8>) -> Result<String, (Code, String)> {
    let Members(members) = serde_json::from_slice::<Members<'_>>(text)
        .map_err(|error| (Code::InvalidJson, format!("the document is no JSON object: {error}")))?;
    let of_id = members.iter().find(|(name, _)| name == "_id").map(|(_, value)| value.get());
    let Some(value) = of_id.filter(|value| *value != "null") else {
        let reason = "the document has no `_id`, which is its id with option `extended_json`".to_owned();
        return Err((Code::MissingId, reason));
    };
    let id = id_of(value).ok_or_else(|| {
        let reason = format!(
            "the `_id` is {}, and an id is one value; name another field with option `id`, without option `extended_json`",
            super::beginning(value.as_bytes())
        );
        (Code::BadId, reason)
    })?;
    push_members(members.iter().filter(|(name, _)| name != "_id"), 1, out);
    Ok(id)
}

/// The text of the value of an id.
fn id_of(value: &str) -> Option<String> {
    let mut out = Vec::new();
    push_at(value, 0, &mut out);
    match out.first()? {
        b'"' => serde_json::from_slice(&out).ok(),
        b'{' | b'[' | b'n' => None,
        _ => String::from_utf8(out).ok(),
    }
}

/// Appends a JSON value, in which objects of extended JSON are replaced by the values that they
/// stand for.
pub fn push(json: &str, out: &mut Vec<u8>) {
    push_at(json, 0, out);
}

/// The text of an object that stands for one value, such as `{"$oid":"571e"}`; `None` for all other
/// text.
pub fn single(json: &str) -> Option<String> {
    let Members(members) = serde_json::from_str(json).ok()?;
    let mut out = Vec::new();
    push_one(&members, &mut out).then_some(())?;
    let text = std::str::from_utf8(&out).ok()?;
    Some(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
}

fn push_at(json: &str, depth: usize, out: &mut Vec<u8>) {
    match json.as_bytes().first() {
        Some(b'{') if depth < DEPTH_MAX => match serde_json::from_str::<Members<'_>>(json) {
            Ok(Members(members)) if push_one(&members, out) => {}
            Ok(Members(members)) => push_members(members.iter(), depth + 1, out),
            Err(_) => push_line(json, out),
        },
        Some(b'[') if depth < DEPTH_MAX => match serde_json::from_str::<Vec<&RawValue>>(json) {
            Ok(items) => {
                out.push(b'[');
                for (nth, item) in items.iter().enumerate() {
                    if nth > 0 {
                        out.push(b',');
                    }
                    push_at(item.get(), depth + 1, out);
                }
                out.push(b']');
            }
            Err(_) => push_line(json, out),
        },
        _ => push_line(json, out),
    }
}

/// Appends text that stays, in one line: a line end can only be between tokens.
fn push_line(json: &str, out: &mut Vec<u8>) {
    out.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}

fn push_members<'m, 'a: 'm>(members: impl Iterator<Item = &'m Member<'a>>, depth: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    for (nth, (name, value)) in members.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        push_text(out, name);
        out.push(b':');
        push_at(value.get(), depth, out);
    }
    out.push(b'}');
}

/// Appends the value of an object that stands for one. Returns `false` for other objects, and
/// appends nothing.
fn push_one(members: &[Member<'_>], out: &mut Vec<u8>) -> bool {
    let Some((name, value)) = members.first().filter(|(name, _)| name.starts_with('$')) else { return false };
    let text = serde_json::from_str::<Cow<'_, str>>(value.get()).ok();
    let text = text.as_deref();
    let is_only = members.len() == 1;
    match (name.as_ref(), text) {
        ("$oid" | "$uuid" | "$symbol" | "$date", Some(text)) if is_only => push_text(out, text),
        ("$numberInt" | "$numberLong" | "$numberDouble" | "$numberDecimal", Some(text)) if is_only => {
            push_number(text, out);
        }
        ("$date", None) if is_only => match millis(value.get()) {
            Some(millis) => push_moment(millis, TimeUnit::Millisecond, out),
            None => return false,
        },
        ("$timestamp", None) if is_only => match member(value.get(), "t").and_then(|seconds| seconds.parse().ok()) {
            Some(seconds) => push_moment(seconds, TimeUnit::Second, out),
            None => return false,
        },
        ("$binary", Some(base64)) if is_only || members.iter().any(|(name, _)| name == "$type") => {
            push_text(out, base64);
        }
        ("$binary", None) if is_only => match member(value.get(), "base64") {
            Some(base64) => out.extend_from_slice(base64.as_bytes()),
            None => return false,
        },
        ("$undefined", _) if is_only => out.extend_from_slice(b"null"),
        _ => return false,
    }
    true
}

/// The JSON of a member of an object.
fn member<'a>(json: &'a str, wanted: &str) -> Option<&'a str> {
    let Members(members) = serde_json::from_str(json).ok()?;
    members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.get())
}

/// Milliseconds since 1970: a number, or `{"$numberLong":"…"}`.
fn millis(json: &str) -> Option<i64> {
    json.parse().ok().or_else(|| member(json, "$numberLong")?.trim_matches('"').parse().ok())
}

fn push_moment(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    out.push(b'"');
    push_timestamp(out, value, unit, Zone::Offset(0));
    out.push(b'"');
}

/// Appends a number with all its digits. NaN and infinity become null, as in other formats.
fn push_number(text: &str, out: &mut Vec<u8>) {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    match serde_json::from_str::<&RawValue>(text) {
        Ok(number) if is_number => out.extend_from_slice(number.get().as_bytes()),
        _ => out.extend_from_slice(b"null"),
    }
}

/// JSON in which values are objects that have their types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Mongo,
    Dynamo,
}

/// Whose typed JSON the first document of a text has.
pub(crate) fn look(head: &[u8]) -> Option<Typed> {
    let first = head.iter().position(|byte| *byte == b'{')?;
    let mut values = serde_json::Deserializer::from_slice(&head[first..]).into_iter::<&RawValue>();
    let document: &RawValue = values.next()?.ok()?;
    let Members(members) = serde_json::from_str(document.get()).ok()?;
    let is_one = |json: &str| {
        serde_json::from_str::<Members<'_>>(json).is_ok_and(|Members(members)| push_one(&members, &mut Vec::new()))
    };
    // An `_id` alone is told by the servers, where the options do not name it.
    if members.iter().any(|(name, value)| name != "_id" && is_one(value.get())) {
        return Some(Typed::Mongo);
    }
    let item = match &members[..] {
        [(name, item)] if name == "Item" => serde_json::from_str::<Members<'_>>(item.get()).ok()?.0,
        _ => members,
    };
    (!item.is_empty() && item.iter().all(|(_, value)| is_dynamo(value.get()))).then_some(Typed::Dynamo)
}

/// Whether a value is one of DynamoDB's JSON: an object of the type and the value.
fn is_dynamo(json: &str) -> bool {
    const TYPES: [&str; 10] = ["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"];
    serde_json::from_str::<Members<'_>>(json)
        .is_ok_and(|Members(members)| members.len() == 1 && TYPES.contains(&members[0].0.as_ref()))
}

type Member<'a> = (Cow<'a, str>, &'a RawValue);

/// The members of an object, in their order.
struct Members<'a>(Vec<Member<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<Member<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

/// A name that borrows where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_stand_for_a_value_become_it() {
        for (text, expected) in [
            (r#"{"$oid":"571e00"}"#, r#""571e00""#),
            (r#"{"$numberLong":"9007199254740993"}"#, "9007199254740993"),
            (r#"{"$numberInt":"5"}"#, "5"),
            (r#"{"$numberDouble":"1.50"}"#, "1.50"),
            (r#"{"$numberDouble":"NaN"}"#, "null"),
            (r#"{"$numberDecimal":"0.10000000000000000000000001"}"#, "0.10000000000000000000000001"),
            (r#"{"$numberDecimal":"-Infinity"}"#, "null"),
            (r#"{"$date":1735689600123}"#, r#""2025-01-01T00:00:00.123Z""#),
            (r#"{"$date":{"$numberLong":"-1"}}"#, r#""1969-12-31T23:59:59.999Z""#),
            (r#"{"$date":"2025-01-01T00:00:00Z"}"#, r#""2025-01-01T00:00:00Z""#),
            (r#"{"$timestamp":{"t":1735689600,"i":2}}"#, r#""2025-01-01T00:00:00Z""#),
            (r#"{"$binary":"AQI=","$type":"00"}"#, r#""AQI=""#),
            (r#"{"$binary":{"base64":"AQI=","subType":"00"}}"#, r#""AQI=""#),
            (r#"{"$uuid":"5d3b"}"#, r#""5d3b""#),
            (r#"{"$undefined":true}"#, "null"),
            (r#"[{"a":{"$oid":"1"}}, [{"$numberInt":"2"}]]"#, r#"[{"a":"1"},[2]]"#),
            (r#"{"$ref":"c","$id":{"$oid":"1"}}"#, r#"{"$ref":"c","$id":"1"}"#),
            (r#"{"$date":{"a":1}}"#, r#"{"$date":{"a":1}}"#),
            (r#"{"a":null,"b":[true,1.50,"x\ny"]}"#, r#"{"a":null,"b":[true,1.50,"x\ny"]}"#),
            ("{\"n\":12345678901234567890123,\r\n \"e\":{ }}", r#"{"n":12345678901234567890123,"e":{}}"#),
        ] {
            let mut out = Vec::new();
            push(text, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let mut out = Vec::new();
        push(&deep, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), deep);
    }

    #[test]
    fn the_id_leaves_the_document() {
        let read = |text: &str| {
            let mut out = Vec::new();
            let id = document(text.as_bytes(), &mut out)?;
            Ok::<_, (Code, String)>((id, String::from_utf8(out).unwrap()))
        };
        for (text, id, expected) in [
            (r#"{"_id":{"$oid":"571e"},"n":{"$numberLong":"5"}}"#, "571e", r#"{"n":5}"#),
            (r#"{"n":1.50,"_id":"a b"}"#, "a b", r#"{"n":1.50}"#),
            (r#"{"_id":7}"#, "7", "{}"),
            (r#"{"_id":{"$numberLong":"70"}}"#, "70", "{}"),
            (r#"{"_id":{"$uuid":"5d3b"}}"#, "5d3b", "{}"),
            (r#"{"_id":{"$date":0},"a":1}"#, "1970-01-01T00:00:00Z", r#"{"a":1}"#),
            (r#"{"_id":1,"a":{"_id":{"$oid":"1"}}}"#, "1", r#"{"a":{"_id":"1"}}"#),
        ] {
            assert_eq!(read(text), Ok((id.to_owned(), expected.to_owned())), "{text}");
        }
        for (text, kind, expected) in [
            (r#"{"_id":{"day":1,"n":2}}"#, Code::BadId, "an id is one value"),
            (r#"{"a":{"_id":{"$oid":"1"}}}"#, Code::MissingId, "has no `_id`"),
            (r#"{"_id":null,"n":1}"#, Code::MissingId, "has no `_id`"),
            ("[1]", Code::InvalidJson, "no JSON object"),
            (r#"{"_id":1"#, Code::InvalidJson, "no JSON object"),
        ] {
            let (found, reason) = read(text).unwrap_err();
            assert!(found == kind && reason.contains(expected), "{text}: {reason}");
        }
    }

    #[test]
    fn the_first_document_shows_whose_json_it_is() {
        for (head, expected) in [
            ("{\"_id\":{\"$oid\":\"1\"},\"n\":{\"$numberLong\":\"5\"}}\n{", Some(Typed::Mongo)),
            ("{\"_id\":{\"$oid\":\"1\"},\"n\":5}\n{", None),
            ("[{\"a\":1,\"at\":{\"$date\":0}},", Some(Typed::Mongo)),
            ("{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"5\"}}}\n", Some(Typed::Dynamo)),
            ("{\"id\":{\"S\":\"a\"},\"m\":{\"M\":{\"x\":{\"BOOL\":true}}}}\n", Some(Typed::Dynamo)),
            ("{\"id\":{\"S\":\"a\"},\"n\":5}\n", None),
            ("{}\n", None),
            ("{\"a\":{\"$schema\":\"x\"}}\n", None),
            ("{\"a\":", None),
        ] {
            assert_eq!(look(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn ids_of_keys_are_the_text_of_their_value() {
        for (text, expected) in [
            (r#"{"$oid" : "571e"}"#, Some("571e")),
            (r#"{"$numberLong":"5"}"#, Some("5")),
            (r#"{"$binary" : "a2E=", "$type" : "00"}"#, Some("a2E=")),
            (r#"{"a":1}"#, None),
            (r#"{"a":{"$oid":"1"}}"#, None),
            ("abc", None),
            ("{", None),
        ] {
            assert_eq!(single(text).as_deref(), expected, "{text}");
        }
    }
}
