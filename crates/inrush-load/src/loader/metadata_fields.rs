//! Hints for documents that have fields of the server, such as the `_id` of MongoDB's documents, or
//! lack the time of a data stream.

use std::collections::BTreeSet;

use inrush_core::FieldPath;
use inrush_core::report::ErrorCount;
use inrush_core::shaping::TIMESTAMP;

/// What servers say of such a field.
const REFUSED: &str = "is a metadata field and cannot be added inside a document";

/// What servers say of a line that goes on after its document.
const GOES_ON: &str = "found extra data after parsing";

/// What servers say of a document without the time of a data stream.
const NO_TIME: [&str; 2] =
    ["timestamp field [@timestamp] is missing", "must contain a single-valued timestamp field '@timestamp'"];

/// What servers say of a field with a dot in its name, such as `a.b`, beside a value `a`.
const BELOW: [&str; 2] = ["Could not dynamically add mapping for field [", "]. Existing mapping for ["];

/// A hint for each such field that the errors name, and for lines of several documents.
/// `timestamp`: the field that option `timestamp` names.
pub(super) fn hints(errors: &[ErrorCount], timestamp: Option<&FieldPath>) -> Vec<String> {
    let fields: BTreeSet<&str> = errors.iter().filter_map(|error| field(&error.reason)).collect();
    let several = errors.iter().any(|error| error.reason.contains(GOES_ON)).then(|| {
        "lines hold more than one document, and the cluster takes one for each line: option `format=json` reads them all"
            .to_owned()
    });
    let without_time = errors.iter().any(|error| NO_TIME.iter().any(|words| error.reason.contains(words))).then(|| {
        match timestamp {
            None => format!(
                "documents of a data stream need the field `{TIMESTAMP}`: option `timestamp=FIELD` makes it of the field \
                 that has their time"
            ),
            Some(field) => format!(
                "documents of a data stream need the field `{TIMESTAMP}`, and some have no `{field}` (option \
                 `timestamp={field}`), of which it is made: fill the field in the source, or with option `sql`"
            ),
        }
    });
    let below: BTreeSet<(&str, &str)> = errors.iter().filter_map(|error| below(&error.reason)).collect();
    let below = below.into_iter().map(|(name, value)| {
        format!(
            "`{value}` is a value in the index, and `{name}` makes it an object: give one of the two another name, as with \
             option `rename={name}={}`",
            name.replace('.', "_")
        )
    });
    fields.into_iter().map(hint).chain(several).chain(without_time).chain(below).collect()
}

/// A field with a dot in its name, and the value that the index has of the name before the dot.
fn below(reason: &str) -> Option<(&str, &str)> {
    let [begin, middle] = BELOW;
    let (name, rest) = reason.split_once(begin)?.1.split_once(middle)?;
    Some((name, rest.split(']').next()?))
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
        let errors = [
            error(&of("_id")),
            error(&format!("[1:8] {}", of("_id"))),
            error(&format!("failed to parse; caused by x: {}", of("_index"))),
            error(&of("_routing")),
            error("failed to parse field [a] of type [long]"),
        ];
        let found = hints(&errors, None);
        let expected =
            ["option `id=_id.$oid` with option `drop=_id`", "option `drop=_index`", "option `routing=_routing`"];
        assert_eq!(found.len(), 3);
        let goes_on = "failed to parse; caused by x: Malformed content, found extra data after parsing: START_OBJECT";
        let several = hints(&[error(goes_on)], None);
        for reason in NO_TIME {
            let errors = [error(&format!("failed to parse: documents {reason} of date type"))];
            let found = hints(&errors, None);
            assert!(found[0].contains("option `timestamp=FIELD`"), "{found:?}");
            let given = hints(&errors, Some(&"ts".parse().unwrap()));
            assert!(given[0].contains("some have no `ts` (option `timestamp=ts`)"), "{given:?}");
        }
        assert!(several[0].contains("option `format=json`"), "{several:?}");
        let below = "Could not dynamically add mapping for field [a.b.c]. Existing mapping for [a.b] must be of type object \
                     but found [text].";
        let told = hints(&[error(below)], None);
        assert!(told[0].starts_with("`a.b` is a value in the index, and `a.b.c` makes it"), "{told:?}");
        assert!(told[0].ends_with("option `rename=a.b.c=a_b_c`"), "{told:?}");
        assert!(found.iter().zip(expected).all(|(found, expected)| found.contains(expected)), "{found:?}");
    }
}
