//! Makes a document one line of a bulk body.

use inrush_core::Code;
use inrush_core::Reject;
use memchr::{memchr, memchr2};

/// Makes one line of JSON: line ends between values become spaces. Returns the reject of a record
/// with a line end inside a string. Such a record is not JSON, and a space would change the text,
/// so it is not sent.
pub fn one_line(record: u32, json: &mut [u8]) -> Option<Reject> {
    let mut at = 0;
    while at < json.len() {
        let string = memchr(b'"', &json[at..]).map_or(json.len(), |found| at + found);
        for byte in &mut json[at..string] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        let end = end_of_string(json, string);
        if let Some(found) = memchr2(b'\n', b'\r', &json[string..end]) {
            let byte = string + found;
            let reason = format!(
                "the record is not JSON: byte {byte} is a line end inside a string, where it must be written as \\n or \\r"
            );
            return Some(Reject { record, kind: Code::InvalidJson, reason });
        }
        at = end;
    }
    None
}

/// The position after the string that begins at `start`.
pub fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_between_values_become_spaces() {
        for (text, expected) in [
            ("{\r\n\"a\\\"\\\\\":\n[1,\n\"b\"]\n}\n", "{  \"a\\\"\\\\\": [1, \"b\"] } "),
            ("", ""),
            ("\n", " "),
            ("{\"open", "{\"open"),
            ("{\"a\\", "{\"a\\"),
        ] {
            let mut json = text.as_bytes().to_vec();
            assert_eq!(one_line(0, &mut json), None, "{text}");
            assert_eq!(String::from_utf8(json).unwrap(), expected);
        }
    }

    #[test]
    fn one_inside_of_a_string_is_found() {
        for (text, byte) in [("{\n\"a\":\"b\nc\"}", 8), ("{\"a\\\"\r\":1}", 5), ("\"\n", 1)] {
            let mut json = text.as_bytes().to_vec();
            let reject = one_line(7, &mut json).unwrap();
            assert_eq!((reject.record, reject.kind), (7, Code::InvalidJson));
            assert!(reject.reason.contains(&format!("byte {byte} is a line end")), "{}", reject.reason);
        }
    }
}
