//! The headers that say why a record is a dead letter.
//!
//! They have the names that Kafka Connect gives them
//! (`org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter`), so that tools which read
//! its dead letters read these as well.

use inrush_core::Code;
use rdkafka::message::{Header, OwnedHeaders};

use super::Letter;

/// The beginning of the names of Connect's headers.
const PREFIX: &str = "__connect.errors.";

/// The HTTP status of the cluster's answer, for which Connect has no header.
const STATUS: &str = "inrush.errors.status";

/// The headers of a dead letter: those of its record, and the reasons. Reasons that the record has
/// already, because it was a dead letter before, are left out.
pub(super) fn headers<'a>(
    of_record: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>,
    letter: &Letter,
    group: &str,
) -> OwnedHeaders {
    let mut headers = OwnedHeaders::new();
    for (key, value) in of_record {
        if !key.starts_with(PREFIX) && key != STATUS {
            headers = headers.insert(Header { key, value });
        }
    }
    for (name, value) in reasons(letter, group) {
        headers = headers.insert(Header { key: &name, value: Some(value.as_bytes()) });
    }
    headers
}

fn reasons(letter: &Letter, group: &str) -> Vec<(String, String)> {
    let mut reasons = Vec::new();
    let mut add = |name: &str, value: &str| reasons.push((format!("{PREFIX}{name}"), value.to_owned()));
    if let Some(at) = &letter.at {
        add("topic", &at.topic);
        add("partition", &at.partition.to_string());
        add("offset", &letter.offset.to_string());
    }
    add("connector.name", group);
    add("stage", stage(letter));
    add("exception.class.name", &letter.kind);
    add("exception.message", &letter.reason);
    reasons.push((STATUS.to_owned(), letter.status.to_string()));
    reasons
}

/// The step that failed (`org.apache.kafka.connect.runtime.errors.Stage`).
fn stage(letter: &Letter) -> &'static str {
    match (letter.is_unsent, Code::named(&letter.kind)) {
        (true, Some(Code::BadId)) => "KEY_CONVERTER",
        (true, _) => "VALUE_CONVERTER",
        (false, _) => "TASK_PUT",
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::{DeadLetter, Position};
    use inrush_sources::TopicPartition;
    use rdkafka::message::Headers;

    use super::*;

    #[test]
    fn a_dead_letter_has_the_headers_of_its_record_and_the_reasons() {
        let letter = DeadLetter::new(Position::default(), "invalid_json", "no }", "{".into());
        let mut letter = Letter::copied(Some(TopicPartition::new("orders", 3)), &letter);
        letter.offset = 1200;
        let before = [("trace", Some(&b"t"[..])), ("__connect.errors.offset", Some(b"7")), (STATUS, None), ("a", None)];
        let made = headers(before, &letter, "group");
        let found: Vec<(&str, Option<&str>)> =
            made.iter().map(|h| (h.key, h.value.map(|value| std::str::from_utf8(value).unwrap()))).collect();
        let expected = [
            ("trace", Some("t")),
            ("a", None),
            ("__connect.errors.topic", Some("orders")),
            ("__connect.errors.partition", Some("3")),
            ("__connect.errors.offset", Some("1200")),
            ("__connect.errors.connector.name", Some("group")),
            ("__connect.errors.stage", Some("VALUE_CONVERTER")),
            ("__connect.errors.exception.class.name", Some("invalid_json")),
            ("__connect.errors.exception.message", Some("no }")),
            ("inrush.errors.status", Some("0")),
        ];
        assert_eq!(found, expected);
    }
}
