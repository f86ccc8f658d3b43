//! Documents of MongoDB in Debezium's events: text of extended JSON, whose objects of one value
//! become the value.

use std::borrow::Cow;

use inrush_core::Code;
use inrush_formats::extended_json;
use inrush_formats::json_string::push_text;
use serde_json::value::RawValue;

use super::Problem;
use super::key::members;

/// A document, which an event has as text. Where its id is that of the record (`has_id`), the
/// document is without `_id`, which a document of an index cannot have.
pub(super) fn document(text: &RawValue, has_id: bool) -> Result<Vec<u8>, Problem> {
    let wrong = |error: serde_json::Error| (Code::NoEnvelope, format!("the document of MongoDB: {error}"));
    let text: Cow<'_, str> = serde_json::from_str(text.get()).map_err(wrong)?;
    let document = members(text.as_bytes()).map_err(wrong)?;
    let mut out = vec![b'{'];
    // Where the id is a field of the document, option `id` names the field as it is there.
    let (ids, others): (Vec<_>, Vec<_>) = document.into_iter().partition(|(name, _)| name == "_id");
    let ids = ids.into_iter().filter(|_| !has_id).map(|member| (member, true));
    for ((name, value), is_id) in ids.chain(others.into_iter().map(|member| (member, false))) {
        if out.len() > 1 {
            out.push(b',');
        }
        push_text(&mut out, &name);
        out.push(b':');
        if is_id {
            let value: serde_json::Value = serde_json::from_str(value.get()).map_err(wrong)?;
            out.extend_from_slice(value.to_string().as_bytes());
        } else {
            extended_json::push(value.get(), &mut out);
        }
    }
    out.push(b'}');
    Ok(out)
}

/// The text of an id in a key, where it is extended JSON: `{"$oid":"…"}`.
pub(super) fn id(text: &str) -> Option<String> {
    if !text.starts_with('{') || !text.contains("\"$") {
        return None;
    }
    extended_json::single(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_id_only_where_the_record_does_not_give_it() {
        let text = serde_json::value::to_raw_value(r#"{"_id":{"$oid":"57"},"n":{"$numberLong":"5"}}"#).unwrap();
        let found = |has_id| String::from_utf8(document(&text, has_id).unwrap()).unwrap();
        assert_eq!(found(true), r#"{"n":5}"#);
        assert_eq!(found(false), r#"{"_id":{"$oid":"57"},"n":5}"#);
        for other in ["[1]", "", "not json"] {
            let text = serde_json::value::to_raw_value(other).unwrap();
            assert_eq!(document(&text, true).unwrap_err().0, Code::NoEnvelope, "{other}");
        }
    }

    #[test]
    fn ids_of_keys_are_the_text_of_their_value() {
        for (text, expected) in
            [(r#"{"$oid" : "571e"}"#, Some("571e")), (r#"{"a":{"$oid":"1"}}"#, None), ("abc", None), ("{", None)]
        {
            assert_eq!(id(text).as_deref(), expected, "{text}");
        }
    }
}
