//! Hints for documents that have fields of the server, such as the `_id` of MongoDB's documents, or
//! lack the time of a data stream.

use std::collections::BTreeSet;

use inrush_core::report::ErrorCount;
use inrush_core::shaping::TIMESTAMP;

/// What servers say of such a field.
const REFUSED: &str = "is a metadata field and cannot be added inside a document";

/// What servers say of a line that goes on after its document.
const GOES_ON: &str = "found extra data after parsing";

/// What servers say of a document without the time of a data stream.
const NO_TIME: [&str; 2] =
    ["timestamp field [@timestamp] is missing", "must contain a single-valued timestamp field '@timestamp'"];

/// A hint for each such field that the errors name, and for lines of several documents.
pub(super) fn hints(errors: &[ErrorCount]) -> Vec<String> {
    let fields: BTreeSet<&str> = errors.iter().filter_map(|error| field(&error.reason)).collect();
    let several = errors.iter().any(|error| error.reason.contains(GOES_ON)).then(|| {
        "lines hold more than one document, and the cluster takes one for each line: option `format=json` reads them all"
            .to_owned()
    });
    let without_time = errors.iter().any(|error| NO_TIME.iter().any(|words| error.reason.contains(words))).then(|| {
        format!(
            "documents of a data stream need the field `{TIMESTAMP}`: option `timestamp=FIELD` makes it of the field that \
             has their time"
        )
    });
    fields.into_iter().map(hint).chain(several).chain(without_time).collect()
}

fn field(reason: &str) -> Option<&str> {
    let (before, _) = reason.split_once(REFUSED)?;
    let (_, name) = before.rsplit_once("ield [")?;
    name.split(']').next()
}

fn hint(field: &str) -> String {
    match field {
        "_id" => "documents have a field `_id`, which the servers keep for themselves: option `id=_id` with option `drop=_id` \
                  makes it the id; where it is an object, as {\"$oid\":…} of MongoDB, option `extended_json` does the same, or \
                  option `id=_id.$oid` with option `drop=_id`"
            .to_owned(),
        "_routing" => "documents have a field `_routing`, which the servers keep for themselves: option `routing=_routing` with \
                       option `drop=_routing` makes it the routing value"
            .to_owned(),
        other => format!(
            "documents have a field `{other}`, which the servers keep for themselves: option `drop={other}` leaves it out"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_the_server_has_one_hint() {
        let error = |reason: &str| ErrorCount::new(400, "mapper_parsing_exception", reason, 1);
        let of = |field: &str| {
            format!(
                "Field [{field}] is a metadata field and cannot be added inside a document. Use the index API request parameters."
            )
        };
        let found = hints(&[
            error(&of("_id")),
            error(&format!("[1:8] {}", of("_id"))),
            error(&format!("failed to parse; caused by x: {}", of("_index"))),
            error(&of("_routing")),
            error("failed to parse field [a] of type [long]"),
        ]);
        let expected =
            ["option `id=_id.$oid` with option `drop=_id`", "option `drop=_index`", "option `routing=_routing`"];
        assert_eq!(found.len(), 3);
        let several = hints(&[error(
            "failed to parse; caused by x: Malformed content, found extra data after parsing: START_OBJECT",
        )]);
        for reason in NO_TIME {
            let found = hints(&[error(&format!("failed to parse: documents {reason} of date type"))]);
            assert!(found[0].contains("option `timestamp=FIELD`"), "{found:?}");
        }
        assert!(several[0].contains("option `format=json`"), "{several:?}");
        assert!(found.iter().zip(expected).all(|(found, expected)| found.contains(expected)), "{found:?}");
    }
}
