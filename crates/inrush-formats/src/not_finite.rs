//! Values that JSON does not have and that programs write all the same: `NaN`, `Infinity` and
//! `-Infinity`, as Python's `json.dumps` does.
//!
//! They are left out as those of columns are, where documents are parsed anyway: with validation,
//! or if the beginning of a file shows one.

use bytes::Bytes;
use inrush_core::{Code, DocBlock, Reject};
use memchr::memmem;

use super::validate;
use super::warnings::Warnings;

const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// Validates the documents of a block. Values that are not finite are left out and counted.
/// Adds a reject for each other document that is not a JSON object.
pub(crate) fn check(block: &mut DocBlock, source: &str, warnings: &Warnings) {
    let mut rejects: Vec<Reject> = Vec::new();
    let mut mended: Vec<(u32, Vec<u8>)> = Vec::new();
    for record in block.accepted() {
        let text = block.record(record as usize);
        let Some(reject) = validate::reject(record, text) else { continue };
        let without = Some(text).filter(|_| reject.kind == Code::InvalidJson).and_then(without);
        match without.filter(|(text, _)| validate::reject(record, text).is_none()) {
            None => rejects.push(reject),
            Some((text, fields)) => {
                for field in fields {
                    warnings.add(source, "not_finite", &field, 1, || {
                        "NaN or infinity, which JSON cannot express: it counts as null, and the field is left out"
                            .to_owned()
                    });
                }
                mended.push((record, text));
            }
        }
    }
    block.add_rejects(rejects);
    if !mended.is_empty() {
        replace(block, &mended);
    }
}

/// Replaces the text of some records, which are sorted.
fn replace(block: &mut DocBlock, mended: &[(u32, Vec<u8>)]) {
    let mut out = Vec::with_capacity(block.data.len());
    let mut mended = mended.iter().peekable();
    for (at, record) in block.records.iter_mut().enumerate() {
        let start = out.len();
        match mended.next_if(|(record, _)| *record as usize == at) {
            Some((_, text)) => out.extend_from_slice(text),
            None => out.extend_from_slice(&block.data[record.start as usize..record.end as usize]),
        }
        (record.start, record.end) = (start as u32, out.len() as u32);
    }
    block.data = Bytes::from(out);
}

/// Whether the beginning of a text has such a value.
pub(crate) fn is_in(head: &[u8]) -> bool {
    let may_be = |word: &[u8]| memmem::find(head, word).is_some();
    (may_be(b"NaN") || may_be(b"Infinity")) && Scan::default().run(head) > 0
}

/// The document without members of such a value, and the names of the members. In an array such a
/// value becomes a null, so that the others keep their places. `None` if there is none.
fn without(text: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
    let mut scan = Scan::default();
    (scan.run(text) > 0).then_some((scan.out, scan.fields))
}

#[derive(Default)]
struct Scan {
    out: Vec<u8>,
    open: Vec<Open>,
    /// The last string, without its quotes.
    string: Vec<u8>,
    fields: Vec<String>,
    found: u64,
}

/// An object or array that is open.
struct Open {
    is_object: bool,
    /// Where its current member begins in the output, with the comma before it.
    member: usize,
    /// The name of that member.
    name: Vec<u8>,
}

impl Scan {
    /// Returns the number of such values.
    fn run(&mut self, text: &[u8]) -> u64 {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += match byte {
                b'"' => self.string(&text[at..]),
                b'N' | b'I' | b'-' => self.value(&text[at..]),
                _ => {
                    self.mark(byte);
                    1
                }
            };
        }
        self.found
    }

    fn string(&mut self, text: &[u8]) -> usize {
        let mut len = 1;
        while let Some(&byte) = text.get(len) {
            len += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        let len = len.min(text.len());
        self.string.clear();
        self.string.extend_from_slice(text[1..len].strip_suffix(b"\"").unwrap_or(&text[1..len]));
        self.out.extend_from_slice(&text[..len]);
        len
    }

    fn mark(&mut self, byte: u8) {
        let top = self.open.last_mut().filter(|open| open.is_object);
        match (byte, top) {
            // The first member was left out, and its comma with it.
            (b',', Some(open)) if self.out.trim_ascii_end().last() == Some(&b'{') => {
                open.member = self.out.len();
                return;
            }
            (b',', Some(open)) => open.member = self.out.len(),
            (b':', Some(open)) => open.name.clone_from(&self.string),
            (b'}' | b']', _) => drop(self.open.pop()),
            _ => {}
        }
        self.out.push(byte);
        if matches!(byte, b'{' | b'[') {
            self.open.push(Open { is_object: byte == b'{', member: self.out.len(), name: Vec::new() });
        }
    }

    fn value(&mut self, text: &[u8]) -> usize {
        let ends = |word: &&&[u8]| match text.strip_prefix(**word) {
            Some(rest) => rest.first().is_none_or(|byte| b",]} \t\r\n".contains(byte)),
            None => false,
        };
        let Some(word) = WORDS.iter().find(ends) else {
            self.out.push(text[0]);
            return 1;
        };
        self.found += 1;
        let path: Vec<_> = self.open.iter().filter(|open| open.is_object).map(|open| &open.name[..]).collect();
        self.fields.push(String::from_utf8_lossy(&path.join(&b'.')).into_owned());
        match self.open.last() {
            Some(open) if open.is_object => self.out.truncate(open.member),
            _ => self.out.extend_from_slice(b"null"),
        }
        word.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_left_out_and_elements_are_null() {
        for (text, expected, fields) in [
            (r#"{"id":1,"a":NaN}"#, r#"{"id":1}"#, &["a"][..]),
            (r#"{"a":NaN,"id":1}"#, r#"{"id":1}"#, &["a"]),
            (r#"{"a": Infinity , "b": -Infinity}"#, r"{}", &["a", "b"]),
            (r#"{"a": NaN, "b": NaN, "c": 2}"#, r#"{ "c": 2}"#, &["a", "b"]),
            (
                r#"{"a":[1,NaN,-Infinity],"b":{"c":NaN,"d":"NaN"}}"#,
                r#"{"a":[1,null,null],"b":{"d":"NaN"}}"#,
                &["a", "a", "b.c"],
            ),
            (r#"{"s":"x\",NaN","l":[{"e":Infinity},-1]}"#, r#"{"s":"x\",NaN","l":[{},-1]}"#, &["l.e"]),
        ] {
            let (without, found) = without(text.as_bytes()).unwrap();
            assert!(validate::reject(0, &without).is_none(), "{}", String::from_utf8_lossy(&without));
            let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
            assert_eq!(value(&without), value(expected.as_bytes()), "{text}");
            assert_eq!(found, fields, "{text}");
        }
        for text in [r#"{"a":"NaN","Infinity":1}"#, r#"{"a":NaNs,"b":-1}"#, "{", "NaN1", r#"{"a":nan}"#] {
            assert_eq!(without(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_file_shows_it_outside_of_strings() {
        for (head, expected) in [
            (&b"{\"a\":1}\n{\"a\":NaN}\n{\"a\":\"x"[..], true),
            (b"[{\"a\":-Infinity},", true),
            (b"{\"a\":\"NaN\"}\n{\"b\":\"NaN", false),
            (b"{\"NaN\":1}", false),
            (b"", false),
        ] {
            assert_eq!(is_in(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[\\\\\"{}\\[\\],:NaInfty -]{0,40}") {
            without(text.as_bytes());
        }
    }
}
