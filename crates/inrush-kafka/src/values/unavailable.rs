//! Columns of which Debezium says that the database did not give their value.
//!
//! The word of its property `unavailable.value.placeholder` stands for them, in the form of each
//! type: `UnchangedToastedPlaceholder` of its connector for Postgres, and the connectors for
//! Oracle, MySQL and SQL Server.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use inrush_core::Code;
use inrush_formats::json_string::push_text;
use memchr::memmem::Finder;
use serde_json::{Value, json};

use super::Problem;
use super::key::members;

/// The word unless Debezium is configured otherwise.
pub(super) const WORD: &str = "__debezium_unavailable_value";

/// The element of an array of UUIDs: `UUID.nameUUIDFromBytes` of [`WORD`].
const UUID: &str = "b68a35a7-17ad-35b3-af2a-ae46edb4545a";

/// The values that stand for others.
pub(super) struct Unavailable {
    /// Whole values.
    values: Vec<Value>,
    /// Elements of arrays.
    elements: Vec<Value>,
    /// A document without any of these texts has no such value.
    texts: Vec<Finder<'static>>,
    /// Whether documents are merged into those of the index, so that a field that is left out
    /// keeps its value.
    is_merged: bool,
}

impl Unavailable {
    /// `word` as in Debezium's configuration, where `hex:` is in front of the bytes in hexadecimal.
    pub(super) fn new(word: &str, is_merged: bool) -> Result<Self, String> {
        let bytes = match word.strip_prefix("hex:") {
            Some(hex) => from_hex(hex).ok_or_else(|| {
                format!(
                    "option `unavailable_value` is `{word}`; behind `hex:` two digits of 0 to 9 and a to f are a byte"
                )
            })?,
            None => word.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err(
                "option `unavailable_value` is empty; give the word of `unavailable.value.placeholder`".to_owned()
            );
        }
        let word = String::from_utf8_lossy(&bytes).into_owned();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Bytes of Java have a sign.
        let numbers: Vec<i8> = bytes.iter().map(|byte| *byte as i8).collect();
        let mut elements = vec![json!(word), json!(STANDARD.encode(&bytes))];
        elements.extend((word == WORD).then(|| json!(UUID)));
        let mut values = elements.clone();
        values.extend([json!(URL_SAFE.encode(&bytes)), json!(hex), json!(numbers), json!({&word: word})]);
        let in_json = |text: &str| {
            let mut json = Vec::new();
            push_text(&mut json, text);
            json[1..json.len() - 1].to_vec()
        };
        let mut texts: Vec<Vec<u8>> = values.iter().filter_map(Value::as_str).map(in_json).collect();
        texts.push(json!(numbers).to_string().into_bytes());
        texts.dedup();
        let texts = texts.into_iter().map(|text| Finder::new(&text).into_owned()).collect();
        Ok(Unavailable { values, elements, texts, is_merged })
    }

    /// The document without the columns whose value is not available. `None` where it has none.
    ///
    /// # Errors
    /// Such a column in a document that replaces the one in the index.
    pub(super) fn without(&self, document: &[u8]) -> Result<Option<Vec<u8>>, Problem> {
        if !self.texts.iter().any(|text| text.find(document).is_some()) {
            return Ok(None);
        }
        // What is damaged is found later.
        let Ok(columns) = members(document) else { return Ok(None) };
        let (missing, there): (Vec<_>, Vec<_>) = columns
            .into_iter()
            .partition(|(_, value)| serde_json::from_str(value.get()).is_ok_and(|value| self.is(&value)));
        if missing.is_empty() {
            return Ok(None);
        }
        if !self.is_merged {
            let names: Vec<String> = missing.iter().map(|(name, _)| format!("`{name}`")).collect();
            let reason = format!(
                "the event has no value for {}, because the database did not give it, and the document would replace the \
                 one that has it; give option `action=upsert`, which keeps the old value, or let the database give all \
                 columns (Postgres: ALTER TABLE … REPLICA IDENTITY FULL)",
                names.join(", ")
            );
            return Err((Code::UnavailableValue, reason));
        }
        let mut out = vec![b'{'];
        for (nth, (name, value)) in there.iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            push_text(&mut out, name);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
        }
        out.push(b'}');
        Ok(Some(out))
    }

    fn is(&self, value: &Value) -> bool {
        let is_element = |element: &Value| self.elements.contains(element);
        self.values.contains(value) || value.as_array().is_some_and(|items| items.iter().any(is_element))
    }
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(word: &str, document: &str) -> Option<String> {
        let found = Unavailable::new(word, true).unwrap().without(document.as_bytes()).unwrap();
        found.map(|left| String::from_utf8(left).unwrap())
    }

    #[test]
    fn every_form_of_the_word_is_left_out() {
        let word = "__debezium_unavailable_value";
        let base64 = STANDARD.encode(word);
        let numbers: Vec<String> = word.bytes().map(|byte| byte.to_string()).collect();
        let numbers = format!("[{}]", numbers.join(","));
        let hex: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
        for value in [
            format!("\"{word}\""),
            format!("[\"{word}\"]"),
            format!("\"{base64}\""),
            format!("[\"{base64}\"]"),
            format!("[\"a\",\"{word}\"]"),
            format!("\"{hex}\""),
            numbers,
            format!("{{\"{word}\":\"{word}\"}}"),
            format!("[\"{UUID}\"]"),
        ] {
            let document = format!("{{\"id\":1,\"a\":{value},\"b\":\"x\"}}");
            assert_eq!(left(WORD, &document).as_deref(), Some(r#"{"id":1,"b":"x"}"#), "{value}");
        }
        assert_eq!(left(WORD, &format!("{{\"a\":\"{word}\"}}")).as_deref(), Some("{}"));
    }

    #[test]
    fn other_values_stay() {
        for document in [
            r#"{"a":"x"}"#,
            r#"{"a":"about __debezium_unavailable_value"}"#,
            r#"{"a":{"b":"__debezium_unavailable_value"}}"#,
            r#"{"__debezium_unavailable_value":1}"#,
            "[7]",
            "{",
        ] {
            assert_eq!(left(WORD, document), None, "{document}");
        }
    }

    #[test]
    fn the_word_may_be_another_one() {
        assert_eq!(
            left("n/a \"x\"", r#"{"a":"n/a \"x\"","b":"__debezium_unavailable_value"}"#).unwrap(),
            r#"{"b":"__debezium_unavailable_value"}"#
        );
        assert_eq!(left("hex:ff00", r#"{"a":"/wA=","b":[-1,0],"c":"_wA=","d":"ff00","e":1}"#).unwrap(), r#"{"e":1}"#);
        for (word, problem) in
            [("", "is empty"), ("hex:", "is empty"), ("hex:f", "two digits"), ("hex:é0", "two digits")]
        {
            let error = Unavailable::new(word, true).err().unwrap();
            assert!(error.contains(problem), "{word}: {error}");
        }
    }

    #[test]
    fn a_document_that_replaces_another_is_refused() {
        let unavailable = Unavailable::new(WORD, false).unwrap();
        assert_eq!(unavailable.without(br#"{"a":1}"#), Ok(None));
        let document = br#"{"id":1,"bio":"__debezium_unavailable_value","tags":["__debezium_unavailable_value"]}"#;
        let (code, reason) = unavailable.without(document).unwrap_err();
        assert_eq!(code, Code::UnavailableValue);
        for part in ["`bio`, `tags`", "action=upsert", "REPLICA IDENTITY FULL"] {
            assert!(reason.contains(part), "{reason}");
        }
    }
}
