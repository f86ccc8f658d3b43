//! What the values of a topic look like where an option would read them better. Each is said once.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_sources::Warnings;
use memchr::memmem;
use serde_json::value::RawValue;

use super::Unwrap;
use super::framing::begins_with_id;
use super::key::members;
use super::unavailable::WORD;
use super::unwrap::DELETED;

/// A kind of values, by the name of its warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    ConnectEnvelope,
    DebeziumEnvelope,
    DeletedRows,
    UnavailableValues,
    SchemaIds,
}

impl Hint {
    fn kind(self) -> &'static str {
        match self {
            Hint::ConnectEnvelope => "connect_envelope",
            Hint::DebeziumEnvelope => "debezium_envelope",
            Hint::DeletedRows => "deleted_rows",
            Hint::UnavailableValues => "unavailable_values",
            Hint::SchemaIds => "schema_ids",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Hint::ConnectEnvelope => {
                "the values are in the envelope of Kafka Connect, and become documents with it; give option \
                 `unwrap=connect`, which takes it off values and keys"
            }
            Hint::DebeziumEnvelope => {
                "the values are change events of Debezium, and become documents as they are, deletions as well; give \
                 option `unwrap=debezium`, which indexes and deletes the rows"
            }
            Hint::DeletedRows => {
                "the values are rows with the field `__deleted` of Debezium's ExtractNewRecordState, and deleted rows \
                 become documents, too; give option `unwrap=debezium-flat`, which deletes them"
            }
            Hint::UnavailableValues => {
                "a value has the word of Debezium for columns that the database did not give, and the document has it \
                 in the place of the column; give option `unwrap=debezium-flat`, with option `action=upsert` so that \
                 the old value stays, or let the database give all columns (Postgres: REPLICA IDENTITY FULL)"
            }
            Hint::SchemaIds => {
                "a key begins as those of a schema registry do, and its bytes are the id; give option \
                 `schema_registry`, or option `id_from=position` where keys are numbers"
            }
        }
    }
}

/// The hints of a load.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    warnings: Warnings,
    said: [AtomicBool; Hint::SchemaIds as usize + 1],
}

impl Hints {
    /// Where they are counted.
    pub(crate) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    fn say(&self, hint: Hint, topic: &str) {
        if !self.said[hint as usize].swap(true, Ordering::Relaxed) {
            tracing::warn!("topic {topic}: {}", hint.message());
            self.warnings.add(topic, hint.kind(), "", 1, || hint.message().to_owned());
        }
    }

    /// Looks at a document that was made with this option.
    pub(crate) fn look_at(&self, unwrap: Unwrap, topic: &str, document: &[u8]) {
        if !matches!(unwrap, Unwrap::None | Unwrap::Connect) {
            return;
        }
        let Ok(fields) = members(document) else { return };
        match (field(&fields, "schema").filter(|schema| is_object(schema)), field(&fields, "payload")) {
            (Some(_), Some(payload)) => {
                let inner = members(payload.get().as_bytes()).unwrap_or_default();
                let hint = if is_event(&inner) { Hint::DebeziumEnvelope } else { Hint::ConnectEnvelope };
                self.say(hint, topic);
            }
            _ if is_event(&fields) => self.say(Hint::DebeziumEnvelope, topic),
            _ if field(&fields, DELETED).is_some() => self.say(Hint::DeletedRows, topic),
            _ => {}
        }
    }

    /// Looks for the word of unavailable values in values that were made with this option.
    pub(crate) fn look_into(&self, unwrap: Unwrap, topic: &str, values: &[u8]) {
        if matches!(unwrap, Unwrap::None | Unwrap::Connect)
            && !self.said[Hint::UnavailableValues as usize].load(Ordering::Relaxed)
            && memmem::find(values, WORD.as_bytes()).is_some()
        {
            self.say(Hint::UnavailableValues, topic);
        }
    }

    /// Looks at a key that no schema describes.
    pub(crate) fn look_at_key(&self, topic: &str, key: &[u8]) {
        if begins_with_id(key) {
            self.say(Hint::SchemaIds, topic);
        }
    }
}

type Fields<'a> = [(Cow<'a, str>, &'a RawValue)];

fn field<'a>(fields: &Fields<'a>, wanted: &str) -> Option<&'a RawValue> {
    fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value)
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// Whether these are the fields of a change event of Debezium.
fn is_event(fields: &Fields<'_>) -> bool {
    let has_op = field(fields, "op").is_some_and(|op| matches!(op.get(), "\"c\"" | "\"r\"" | "\"u\"" | "\"d\""));
    let has_row = field(fields, "after").is_some() || field(fields, "before").is_some();
    has_op && has_row && field(fields, "source").is_some_and(is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(look: impl Fn(&Hints)) -> Vec<&'static str> {
        let hints = Hints::default();
        // What was said once is not said again.
        look(&hints);
        look(&hints);
        hints.warnings.list().iter().map(|warning| (warning.count == 1).then_some(warning.kind).unwrap()).collect()
    }

    #[test]
    fn envelopes_and_flattened_rows_are_recognized() {
        for (document, without, with_connect) in [
            (r#"{"schema":{"type":"struct"},"payload":{"id":1}}"#, Some("connect_envelope"), Some("connect_envelope")),
            (
                r#"{"schema":{},"payload":{"op":"c","after":{},"source":{}},"at":1}"#,
                Some("debezium_envelope"),
                Some("debezium_envelope"),
            ),
            (r#"{"op":"d","before":{},"source":{}}"#, Some("debezium_envelope"), Some("debezium_envelope")),
            (r#"{"id":1,"__deleted":"false"}"#, Some("deleted_rows"), Some("deleted_rows")),
            (r#"{"schema":"v1","payload":{"id":1}}"#, None, None),
            (r#"{"op":"c","after":"noon"}"#, None, None),
            (r#"{"op":"update","source":{},"before":{},"after":{}}"#, None, None),
            (r#"{"id":1}"#, None, None),
            ("[1]", None, None),
        ] {
            for (unwrap, expected) in
                [(Unwrap::None, without), (Unwrap::Connect, with_connect), (Unwrap::Debezium, None)]
            {
                let found = said(|hints| hints.look_at(unwrap, "orders", document.as_bytes()));
                assert_eq!(found.first().copied(), expected, "{document} {unwrap:?}");
            }
        }
    }

    #[test]
    fn the_word_of_unavailable_values_and_ids_of_schemas_are_recognized() {
        let values = br#"{"a":1}{"a":"__debezium_unavailable_value"}"#;
        assert_eq!(said(|hints| hints.look_into(Unwrap::None, "orders", values)), ["unavailable_values"]);
        assert_eq!(said(|hints| hints.look_into(Unwrap::DebeziumFlat, "orders", values)), [""; 0]);
        assert_eq!(said(|hints| hints.look_at_key("orders", b"\0\0\0\0\x01\x02a")), ["schema_ids"]);
        for key in [&b"a"[..], b"", b"\0\0\0\x07", b"\0\0\0\0\x07"] {
            assert_eq!(said(|hints| hints.look_at_key("orders", key)), [""; 0]);
        }
    }
}
