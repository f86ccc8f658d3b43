//! Records of answers, and the keys that were asked for.

use inrush_core::Code;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use bytes::Bytes;
use inrush_formats::beginning;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Answer;

/// The field that servers refuse in a document, so a record's is left out.
pub(crate) const REFUSED_FIELD: &str = "_id";

/// A record of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The text of its key. `None` where it has none.
    pub(crate) key: Option<String>,
    pub(crate) document: Bytes,
}

/// The answer for each of `keys`, which are sorted and differ.
///
/// A record that was not asked for may be that of a key in another form, as `ABC` for `abc`. Then
/// it is not known whether keys without a record have none, so none of them counts as missing.
pub(crate) fn by_key(keys: &[String], records: Vec<Found>, document_bytes_max: usize) -> Vec<(String, Answer)> {
    let mut answers: HashMap<&str, Answer> = HashMap::with_capacity(keys.len());
    let mut stranger = None;
    for Found { key, document } in records {
        let place = key.as_ref().and_then(|key| keys.binary_search(key).ok());
        let Some(place) = place else {
            stranger.get_or_insert(key);
            continue;
        };
        match answers.entry(&keys[place]) {
            Entry::Occupied(mut other) => {
                other.insert(several());
            }
            Entry::Vacant(free) => {
                free.insert(sized(document, document_bytes_max));
            }
        }
    }
    let without = match stranger {
        None => Answer::NoRecord,
        Some(key) => unclear(key.as_deref()),
    };
    let answer = |key: &String| answers.remove(key.as_str()).unwrap_or_else(|| without.clone());
    let answered: Vec<Answer> = keys.iter().map(answer).collect();
    keys.iter().cloned().zip(answered).collect()
}

fn several() -> Answer {
    let reason = "the look-up found several records with this id, and a document is one record; correct the query, or \
                  the field of the id with option `fetch_id`";
    Answer::Refused { kind: Code::SeveralRecords, reason: reason.to_owned() }
}

fn unclear(other: Option<&str>) -> Answer {
    let other = match other {
        Some(key) => format!("a record with the id {}, which was not asked for", beginning(key.as_bytes())),
        None => "a record without an id".to_owned(),
    };
    let reason = format!(
        "the look-up found no record with this id, but {other}; ids are compared with case and as text: correct the \
         keys, the query, or the field of the id with option `fetch_id`"
    );
    Answer::Refused { kind: Code::UnclearRecord, reason }
}

fn sized(document: Bytes, document_bytes_max: usize) -> Answer {
    if document.len() <= document_bytes_max {
        return Answer::Document(document);
    }
    let reason = format!(
        "the record has {} bytes, more than the limit of {document_bytes_max}; raise it with option \
         `max_document_bytes`",
        document.len()
    );
    Answer::Refused { kind: Code::TooLarge, reason }
}

/// The records of a body: a JSON array of objects, or objects one after another, as in NDJSON.
pub(crate) fn records(body: &Bytes, id: &str) -> Result<Vec<Found>, String> {
    let wrong =
        |error: serde_json::Error| format!("its answer is no JSON: {error}; it begins with {}", beginning(body));
    let is_array = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let values: Vec<&RawValue> = match is_array {
        true => serde_json::from_slice(body).map_err(wrong)?,
        false => serde_json::Deserializer::from_slice(body).into_iter().collect::<Result<_, _>>().map_err(wrong)?,
    };
    values.into_iter().map(|value| record(body, value, id)).collect()
}

fn record(body: &Bytes, value: &RawValue, id: &str) -> Result<Found, String> {
    let expected = || {
        let found = beginning(value.get().as_bytes());
        format!(
            "its answer has {found}; expected an array of objects, or one object a line, each with its id in the field \
             `{id}` as text or a whole number; option `fetch_id` names another field"
        )
    };
    let Fields(fields) = serde_json::from_str(value.get()).map_err(|_| expected())?;
    let key = fields.iter().find(|(name, _)| name == id).and_then(|(_, value)| key(value));
    let key = Some(key.ok_or_else(expected)?);
    let document = match id {
        REFUSED_FIELD => without(&fields, id),
        _ => body.slice_ref(value.get().as_bytes()),
    };
    Ok(Found { key, document })
}

/// The text of a key that is a string or a whole number.
fn key(value: &RawValue) -> Option<String> {
    let text = value.get();
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.to_owned())
}

/// The object without one of its fields.
fn without(fields: &[(Cow<'_, str>, &RawValue)], left_out: &str) -> Bytes {
    let mut out = vec![b'{'];
    for (name, value) in fields.iter().filter(|(name, _)| name != left_out) {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'"');
        crate::push_escaped(&mut out, name.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b'}');
    out.into()
}

/// The fields of an object, with their texts.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(OfObject)
    }
}

/// A name of a field, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, id: &str) -> Vec<(String, String)> {
        let records = records(&Bytes::copy_from_slice(body.as_bytes()), id).unwrap();
        let text = |document: Bytes| String::from_utf8(document.to_vec()).unwrap();
        records.into_iter().map(|found| (found.key.unwrap(), text(found.document))).collect()
    }

    #[track_caller]
    fn check(body: &str, id: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found(body, id), expected, "{body}");
    }

    #[test]
    fn an_answer_is_an_array_or_objects_one_after_another() {
        check(
            " [{\"id\":1,\"a\":[2]}, {\"id\":\"x\\u0041\"}]",
            "id",
            &[("1", "{\"id\":1,\"a\":[2]}"), ("xA", "{\"id\":\"x\\u0041\"}")],
        );
        check(
            "{\"id\":-7}\n{\"n\": {\"id\":1},\n \"id\":8}\n",
            "id",
            &[("-7", "{\"id\":-7}"), ("8", "{\"n\": {\"id\":1},\n \"id\":8}")],
        );
        check("[]", "id", &[]);
        check("", "id", &[]);
        check("\n", "id", &[]);
    }

    #[test]
    fn the_id_of_a_document_is_left_out_where_servers_refuse_its_name() {
        check(
            "[{\"_id\":\"a\",\"n\\\"\": 1.50}, {\"x\":1,\"_id\":7}]",
            "_id",
            &[("a", "{\"n\\\"\":1.50}"), ("7", "{\"x\":1}")],
        );
        check("{\"id\":1,\"_id\":2}", "id", &[("1", "{\"id\":1,\"_id\":2}")]);
    }

    #[test]
    fn other_answers_are_errors_that_show_them() {
        for (body, expected) in [
            ("<html>", "no JSON"),
            ("[1]", "its answer has 1; expected an array"),
            ("{\"items\":[{\"id\":1}]}", "`id`"),
            ("[{\"id\":null}]", "{\"id\":null}"),
            ("[{\"id\":1.5}]", "a whole number"),
            ("[{\"id\":1}", "no JSON"),
            ("[{\"id\":1}] 2", "no JSON"),
        ] {
            let error = records(&Bytes::copy_from_slice(body.as_bytes()), "id").unwrap_err();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    fn asked(keys: &[&str], records: &[(Option<&str>, &str)]) -> Vec<Answer> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let found = |(key, text): &(Option<&str>, &str)| Found {
            key: key.map(str::to_owned),
            document: Bytes::copy_from_slice(text.as_bytes()),
        };
        let answers = by_key(&keys, records.iter().map(found).collect(), 10);
        assert!(answers.iter().map(|(key, _)| key).eq(&keys));
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn kinds(answers: &[Answer]) -> Vec<&'static str> {
        let kind = |answer: &Answer| match answer {
            Answer::Document(_) => "document",
            Answer::NoRecord => "no record",
            Answer::Refused { kind, .. } => kind.name(),
        };
        answers.iter().map(kind).collect()
    }

    #[test]
    fn records_are_matched_by_their_keys() {
        let answers =
            asked(&["a", "b", "c", "d"], &[(Some("c"), "{}"), (Some("a"), "{\"a\":12345}"), (Some("c"), "{}")]);
        assert_eq!(kinds(&answers), ["too_large", "no record", "several_records", "no record"]);
        assert_eq!(asked(&["a"], &[(Some("a"), "{}")]), [Answer::Document(Bytes::from_static(b"{}"))]);
    }

    #[test]
    fn no_key_counts_as_missing_beside_a_record_that_was_not_asked_for() {
        for stranger in [Some("ABC"), None] {
            let answers = asked(&["abc", "x"], &[(stranger, "{}"), (Some("x"), "{}")]);
            assert_eq!(kinds(&answers), ["unclear_record", "document"]);
        }
    }
}
