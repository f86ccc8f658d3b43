//! Search hits as documents: the reply of a search, or the lines that elasticdump writes.

use inrush_core::Code;
use inrush_core::{DocBlock, DocMeta, Reject};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of a hit that describe the document. Its `_index` is ignored: the load has its own
/// target.
#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(rename = "_id")]
    id: Option<String>,
    #[serde(rename = "_routing", default, deserialize_with = "one_text")]
    routing: Option<String>,
    #[serde(rename = "routing", default, deserialize_with = "one_text")]
    plain_routing: Option<String>,
    #[serde(rename = "_parent", default, deserialize_with = "one_text")]
    parent: Option<String>,
    #[serde(rename = "parent", default, deserialize_with = "one_text")]
    plain_parent: Option<String>,
    /// Elasticsearch 1 has the metadata here, and a search for `fields` has each value as a list.
    #[serde(default)]
    fields: Option<MetadataFields>,
    #[serde(rename = "_source", borrow)]
    source: Option<&'a RawValue>,
}

/// The metadata among the fields that a search returned. Other fields are those of the document.
#[derive(Deserialize)]
struct MetadataFields {
    #[serde(rename = "_routing", default, deserialize_with = "one_text")]
    routing: Option<String>,
    #[serde(rename = "_parent", default, deserialize_with = "one_text")]
    parent: Option<String>,
}

/// A text, or a list of it. Some tools write numbers.
fn one_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::Array(mut values) if values.len() < 2 => values.pop().unwrap_or_default(),
        value => value,
    };
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(serde::de::Error::custom(format!("expected one routing value or parent, found {other}"))),
    }
}

impl Hit<'_> {
    /// The routing value. Of a child without one it is the id of its parent, by which servers up to
    /// version 5 chose the shard.
    fn take_routing(&mut self) -> Result<Option<String>, String> {
        let (routing, parent) = self.fields.take().map_or((None, None), |fields| (fields.routing, fields.parent));
        let routing = only("routing values", [self.routing.take(), self.plain_routing.take(), routing])?;
        let parent = only("parents", [self.parent.take(), self.plain_parent.take(), parent])?;
        Ok(routing.or(parent))
    }
}

/// The value that all members that are there have.
fn only(what: &str, values: [Option<String>; 3]) -> Result<Option<String>, String> {
    let mut values = values.into_iter().flatten();
    let first = values.next();
    match (&first, values.find(|value| Some(value) != first.as_ref())) {
        (Some(first), Some(other)) => {
            Err(format!("the search hit has two {what}, {first:?} and {other:?}; expected one"))
        }
        _ => Ok(first),
    }
}

/// Replaces each record by its `_source`, with its id and routing value as metadata. A record that
/// is not a hit becomes a reject.
pub fn take_sources(block: &mut DocBlock) {
    block.meta = vec![DocMeta::default(); block.records.len()];
    let mut rejects = Vec::new();
    for at in block.accepted().collect::<Vec<_>>() {
        match read(block.record(at as usize)) {
            Ok((meta, within)) => {
                block.meta[at as usize] = meta;
                let record = &mut block.records[at as usize];
                (record.start, record.end) = (record.start + within.start as u32, record.start + within.end as u32);
            }
            Err(reason) => rejects.push(Reject { record: at, kind: Code::BadHit, reason }),
        }
    }
    block.add_rejects(rejects);
}

fn read(text: &[u8]) -> Result<(DocMeta, std::ops::Range<usize>), String> {
    let mut hit: Hit<'_> =
        serde_json::from_slice(text).map_err(|error| format!("the record is not a search hit: {error}"))?;
    let routing = hit.take_routing()?;
    let source = hit.source.filter(|source| source.get().starts_with('{'));
    let (Some(id), Some(source)) = (hit.id, source) else {
        return Err(
            "the record is not a search hit: expected an object with `_id`, and with `_source`, which is an object"
                .to_owned(),
        );
    };
    // `source` borrows from the text.
    let start = source.get().as_ptr() as usize - text.as_ptr() as usize;
    let meta = DocMeta::default().with_id(id).with_routing(routing);
    Ok((meta, start..start + source.get().len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routing(hit: &str) -> Result<Option<String>, String> {
        read(hit.as_bytes()).map(|(meta, _)| meta.routing)
    }

    #[test]
    fn the_routing_value_is_found_wherever_servers_and_tools_write_it() {
        for (members, expected) in [
            (r#""_routing":"a""#, Some("a")),
            (r#""routing":"a""#, Some("a")),
            (r#""_routing":["a"]"#, Some("a")),
            (r#""fields":{"_routing":"a"}"#, Some("a")),
            (r#""fields":{"_routing":["a"],"other":[1,2]}"#, Some("a")),
            (r#""fields":{"_parent":"a"}"#, Some("a")),
            (r#""fields":{"_parent":["a"]}"#, Some("a")),
            (r#""_parent":"a""#, Some("a")),
            (r#""parent":"a""#, Some("a")),
            (r#""_routing":7"#, Some("7")),
            // A grandchild has the routing value of its grandparent.
            (r#""_routing":"a","_parent":"b""#, Some("a")),
            (r#""fields":{"_parent":"b","_routing":"a"}"#, Some("a")),
            (r#""_routing":"a","routing":"a","fields":{"_routing":["a"]}"#, Some("a")),
            // Fields of the document, and no values.
            (r#""fields":{"routing":["a"],"parent":["b"]}"#, None),
            (r#""fields":null,"_routing":null,"parent":null"#, None),
            (r#""fields":{"_routing":[]}"#, None),
            (r#""sort":[1],"_score":null"#, None),
        ] {
            let hit = format!(r#"{{"_index":"i","_type":"t","_id":"1",{members},"_source":{{}}}}"#);
            assert_eq!(routing(&hit), Ok(expected.map(str::to_owned)), "{hit}");
        }
    }

    #[test]
    fn hits_with_unclear_routing_are_refused() {
        for (members, expected) in [
            (r#""_routing":"a","routing":"b""#, "two routing values, \"a\" and \"b\""),
            (r#""_routing":"a","fields":{"_routing":["b"]}"#, "two routing values"),
            (r#""_parent":"a","fields":{"_parent":"b"}"#, "two parents"),
            (r#""_routing":["a","b"]"#, "expected one routing value"),
            (r#""parent":{"id":"a"}"#, "expected one routing value or parent"),
        ] {
            let hit = format!(r#"{{"_id":"1",{members},"_source":{{}}}}"#);
            let reason = routing(&hit).unwrap_err();
            assert!(reason.contains(expected), "{hit}: {reason}");
        }
    }
}
