//! Checks that a record is a JSON object, for users who want to know before the servers do.

use inrush_core::{Code, Reject};
use serde::de::IgnoredAny;

/// The reject of a record that is not JSON (RFC 8259), or JSON but not an object.
///
/// RFC 8259 leaves some choices to the reader. Accepted, because they are passed on as text:
/// numbers of any size, any nesting, repeated names, a `\u` surrogate without its other half.
/// Refused: bytes that are not UTF-8, and a byte order mark.
pub fn reject(record: u32, text: &[u8]) -> Option<Reject> {
    let (kind, reason) = match json(text) {
        Err(problem) => (Code::InvalidJson, format!("the record is not JSON: {problem}")),
        Ok(()) if text.trim_ascii_start().first() != Some(&b'{') => {
            (Code::NotAnObject, "the record is JSON but not an object; documents must be objects".to_owned())
        }
        Ok(()) => return None,
    };
    Some(Reject { record, kind, reason })
}

/// The reject of a line that does not end like an object, which is visible without parsing it.
/// Servers ignore a comment after a document and store it. Every reply that returns the document is
/// then not JSON.
#[cold]
pub fn no_end(record: u32, line: &[u8]) -> Option<Reject> {
    let line = line.trim_ascii_end();
    if line.last() == Some(&b'}') {
        return None;
    }
    let reason = "the line does not end with the `}` of a JSON object; if documents go over several \
                  lines, or have commas between them, give option `format=json`"
        .to_owned();
    Some(Reject { record, kind: Code::InvalidJson, reason })
}

fn json(text: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|e| format!("byte {} is not UTF-8", e.valid_up_to()))?;
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn objects_are_taken_and_everything_else_is_named() {
        assert_eq!(reject(0, br#" {"a":[1,{"b":null}]} "#), None);
        assert_eq!(reject(7, b"[1]").map(|r| (r.record, r.kind)), Some((7, Code::NotAnObject)));
        let invalid = reject(0, b"{\"a\":1,}").unwrap();
        assert!(invalid.kind == Code::InvalidJson && invalid.reason.contains("column 8"), "{}", invalid.reason);
        assert!(reject(0, b"{\"a\":\"\xFF\"}").unwrap().reason.contains("byte 6 is not UTF-8"));
    }

    #[test]
    fn what_the_rfc_leaves_open() {
        for (text, taken) in [
            (&b"[1e400, -1e400, 123456789012345678901234567890]"[..], true),
            (b"\"\\uD800\"", true),
            (b"\"\\uD800\\u0041\"", true),
            (b"\xEF\xBB\xBF{}", false),
            (&[[b'['; 10_000], [b']'; 10_000]].concat(), true),
            (b"{\"a\":1,\"a\":2}", true),
        ] {
            assert_eq!(json(text).is_ok(), taken, "{}: {:?}", String::from_utf8_lossy(text), json(text));
        }
    }

    /// github.com/nst/JSONTestSuite: every `y_` is JSON, no `n_` is.
    #[test]
    fn the_json_test_suite() {
        let folder =
            std::env::var_os("INRUSH_SHARED_DATA").map_or_else(|| PathBuf::from("../../../shared/data"), Into::into);
        let Ok(files) = std::fs::read_dir(folder.join("json/JSONTestSuite")) else { return };
        let mut seen = [0, 0];
        for file in files {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let expected = match name.as_bytes() {
                [b'y', b'_', ..] => true,
                [b'n', b'_', ..] => false,
                _ => continue,
            };
            seen[usize::from(expected)] += 1;
            let result = json(&std::fs::read(&path).unwrap());
            assert_eq!(result.is_ok(), expected, "{name}: {result:?}");
        }
        assert!(seen[0] > 100 && seen[1] > 50, "{seen:?}");
    }
}
