//! Finds where values begin and end in JSON text. The scan knows strings and nesting and nothing
//! else of JSON.
//!
//! The text is any number of values, one after another. Records are the elements of an array at the
//! top and the values at the requested path. Without a path, every other value at the top is a
//! record as well.

use std::str::FromStr;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};
use serde::Serialize;

use super::beginning;

/// Bytes of a member's name that are kept.
const NAME_KEPT: usize = 4096;

/// Names of an object that are kept for an error.
const NAMES_KEPT: usize = 10;

/// The most objects and arrays that may be open on the way to the records.
const LEVELS_MAX: usize = 1000;

/// Where the records are inside each JSON value: names of members from the outermost to the
/// innermost. An array on the way stands for each of its elements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordsPath {
    #[serde(skip)]
    text: String,
    names: Vec<String>,
}

impl FromStr for RecordsPath {
    type Err = String;

    /// Names separated by dots, as in `hits.hits`, or a JSON pointer (RFC 6901) such as
    /// `/hits/hits`.
    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect(),
            None => text.split('.').map(str::to_owned).collect(),
        };
        if names.iter().any(String::is_empty) {
            return Err(format!(
                "the path {text:?} has an empty name; write it like `features`, `hits.hits` or `/a.b/c`"
            ));
        }
        Ok(RecordsPath { text: text.to_owned(), names })
    }
}

impl RecordsPath {
    /// The first `count` names.
    fn beginning(&self, count: usize) -> String {
        self.names[..count].join(".")
    }
}

/// A record in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The part of the record that is not in the buffer, because the record is too large.
    pub dropped: Dropped,
    /// Why the record is not JSON, if the scan noticed it.
    pub damage: Option<Damage>,
}

/// The middle of an element that is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of line ends among them.
    pub lines: u64,
}

/// Why the scan lost its position between the values at the top. It continues at the next `{` that
/// begins a line or follows a `}`: inside a value there is a comma between those two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A string contains a line end; how many bytes of the element precede it.
    LineEnd(u64),
    /// No value begins with this byte.
    Unexpected(u8),
}

impl Damage {
    /// The reject reason for a record of `bytes` on `lines`.
    pub fn reason(self, bytes: u64, lines: u64) -> String {
        let what = match self {
            Damage::LineEnd(at) => {
                format!("byte {at} is a line end inside a string, where it must be written as \\n or \\r")
            }
            Damage::Unexpected(byte) => format!("no value begins with {:?}", char::from(byte)),
        };
        let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
        format!(
            "the record is not JSON: {what}; everything up to the next `{{` at the beginning of a line or after a `}}` counts \
             as a part of it, {bytes} bytes on {lines}"
        )
    }
}

/// Why the scan cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// The byte at this position of the buffer is not allowed there.
    Unexpected(usize),
    /// The requested records do not exist or are nested too deeply; the position in the buffer
    /// where that was noticed, and the message.
    NoRecords(usize, String),
}

/// What may come next in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// A value at the top.
    #[default]
    Before,
    /// A value at the top, or a comma.
    Between,
    /// An element, or the end of an empty array.
    First,
    /// An element.
    Value,
    /// A comma, or the end of an array.
    After,
    /// A name, or the end of an empty object.
    FirstName,
    /// The name of a member.
    NextName,
    /// More of that name.
    Name,
    /// The colon after it.
    Colon,
    /// The value of a member.
    Member,
    /// A comma, or the end of an object.
    AfterMember,
    /// More of a value that is an object or array.
    Nested,
    /// More of a value that is a string.
    Text,
    /// More of a number or a word.
    Scalar,
    /// More of a value that is not JSON.
    Damaged,
}

impl Expected {
    /// The characters that may follow, for a message.
    pub fn expected(self) -> &'static str {
        match self {
            Expected::Before | Expected::Between | Expected::Member => "a value",
            Expected::First => "an element or `]`",
            Expected::Value | Expected::Nested | Expected::Text | Expected::Scalar | Expected::Damaged => "an element",
            Expected::After => "`,` or `]`",
            Expected::FirstName => "a name or `}`",
            Expected::NextName | Expected::Name => "a name",
            Expected::Colon => "`:`",
            Expected::AfterMember => "`,` or `}`",
        }
    }
}

/// An object or array around the current position.
#[derive(Debug)]
struct Level {
    is_array: bool,
    /// How many names of the path lead to it.
    names: usize,
    /// Whether an object has had the next name of the path.
    met: bool,
    /// Other names that the object has had.
    others: Vec<String>,
}

/// The state of the scan between any two bytes.
#[derive(Debug, Default)]
pub struct Scan {
    path: Arc<RecordsPath>,
    /// What may come next.
    pub state: Expected,
    levels: Vec<Level>,
    /// How many names of the path lead to the next member's value. `None` if the value is not on
    /// the path.
    wanted: Option<usize>,
    /// Whether the open value is a record. If not, it is skipped.
    is_record: bool,
    /// Objects and arrays that are open inside that value.
    depth: u64,
    in_string: bool,
    /// The next byte to look at. One past the end of the buffer after a backslash at its end.
    pub at: usize,
    /// Where the open value begins.
    pub start: usize,
    /// Bytes of it that are no longer in the buffer.
    pub dropped: Dropped,
    damage: Option<Damage>,
    /// For a damaged value: whether the last byte was a line end, and the last byte that was not a
    /// space.
    line_ended: bool,
    last: u8,
    /// The open name, as written, and the position in the buffer up to which it was read.
    name: Vec<u8>,
    name_taken: usize,
}

impl Scan {
    /// A scan from the first byte, for the records at `path`.
    pub fn new(path: Option<&RecordsPath>) -> Self {
        Scan { path: Arc::new(path.cloned().unwrap_or_default()), ..Scan::default() }
    }

    /// Whether a record is open, which the buffer has to keep.
    pub fn in_record(&self) -> bool {
        self.is_record && matches!(self.state, Expected::Nested | Expected::Text | Expected::Scalar | Expected::Damaged)
    }

    /// Whether the open value is at the top.
    pub fn is_at_the_top(&self) -> bool {
        self.levels.is_empty()
    }

    /// Adjusts the positions after the first `bytes` of the buffer were removed.
    pub fn moved(&mut self, bytes: usize) {
        self.at -= bytes;
        self.start = self.start.saturating_sub(bytes);
        self.name_taken = self.name_taken.saturating_sub(bytes);
    }

    /// Scans to the end of `data` and adds the records that have ended.
    pub fn run(&mut self, data: &[u8], elements: &mut Vec<Element>) -> Result<(), ScanError> {
        while self.at < data.len() {
            if self.in_string {
                if !self.string(data) {
                    return Ok(());
                }
                match self.state {
                    Expected::Text => self.close(self.at, elements),
                    Expected::Name => self.named(),
                    _ => {}
                }
                continue;
            }
            match self.state {
                Expected::Nested => self.nested(data, elements),
                Expected::Damaged => self.damaged(data, elements),
                _ => self.step(data[self.at], elements)?,
            }
        }
        Ok(())
    }

    /// Ends the text: closes a value that needs no end of its own.
    pub fn finish(&mut self, elements: &mut Vec<Element>) {
        if self.levels.is_empty() && matches!(self.state, Expected::Scalar | Expected::Damaged) {
            self.close(self.at, elements);
        }
    }

    fn step(&mut self, byte: u8, elements: &mut Vec<Element>) -> Result<(), ScanError> {
        match (self.state, byte) {
            (Expected::Scalar, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') => {
                // This byte is looked at again, as the one after the value.
                self.close(self.at, elements);
                return Ok(());
            }
            (Expected::Scalar, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => {}
            (
                Expected::Before | Expected::Between | Expected::First | Expected::Value | Expected::Member,
                b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z',
            ) => self.begin(byte)?,
            (Expected::Between, b',') => self.state = Expected::Before,
            (Expected::First | Expected::After, b']') => self.leave()?,
            (Expected::After, b',') => self.state = Expected::Value,
            (Expected::FirstName | Expected::NextName, b'"') => {
                self.state = Expected::Name;
                self.in_string = true;
                self.name.clear();
                self.name_taken = self.at + 1;
            }
            (Expected::Colon, b':') => self.state = Expected::Member,
            (Expected::FirstName | Expected::AfterMember, b'}') => self.leave()?,
            (Expected::AfterMember, b',') => self.state = Expected::NextName,
            (Expected::Before | Expected::Between, _) => {
                self.open(Expected::Damaged, true);
                self.damaged_by(Damage::Unexpected(byte));
                // A comma too many is followed by what would follow it anyway.
                self.last = if byte == b',' { b'}' } else { byte };
            }
            _ => return Err(ScanError::Unexpected(self.at)),
        }
        self.at += 1;
        Ok(())
    }

    /// Begins a value: one to enter, a record, or one to skip.
    fn begin(&mut self, byte: u8) -> Result<(), ScanError> {
        let in_array = matches!(self.state, Expected::First | Expected::Value);
        let wanted = match self.levels.last() {
            None => Some(0),
            Some(level) if in_array => Some(level.names),
            Some(_) => self.wanted,
        };
        let is_record = match wanted {
            None => false,
            Some(names) if names < self.path.names.len() => {
                match byte {
                    b'{' | b'[' => self.enter(byte == b'[', names)?,
                    _ => return Err(ScanError::NoRecords(self.at, self.no_object(names))),
                }
                return Ok(());
            }
            Some(names) if byte == b'[' && !in_array => {
                return self.enter(true, names);
            }
            // `null` at the path is not a record, but no record is missing either.
            Some(names) => names == 0 || in_array || byte != b'n',
        };
        match byte {
            b'{' | b'[' => {
                self.open(Expected::Nested, is_record);
                self.depth = 1;
            }
            b'"' => {
                self.open(Expected::Text, is_record);
                self.in_string = true;
            }
            _ => self.open(Expected::Scalar, is_record),
        }
        Ok(())
    }

    fn enter(&mut self, is_array: bool, names: usize) -> Result<(), ScanError> {
        if self.levels.len() == LEVELS_MAX {
            let path = &self.path.text;
            let why =
                format!("more than {LEVELS_MAX} arrays and objects are nested, where option `records={path}` looks");
            return Err(ScanError::NoRecords(self.at, why));
        }
        self.levels.push(Level { is_array, names, met: false, others: Vec::new() });
        self.state = if is_array { Expected::First } else { Expected::FirstName };
        Ok(())
    }

    fn leave(&mut self) -> Result<(), ScanError> {
        if let Some(level) = self.levels.pop()
            && !level.is_array
            && !level.met
        {
            return Err(ScanError::NoRecords(self.at, self.no_member(&level)));
        }
        self.after_value();
        Ok(())
    }

    /// After a value.
    fn after_value(&mut self) {
        self.state = match self.levels.last() {
            None => Expected::Between,
            Some(level) if level.is_array => Expected::After,
            Some(_) => Expected::AfterMember,
        };
    }

    fn open(&mut self, state: Expected, is_record: bool) {
        self.state = state;
        self.start = self.at;
        self.is_record = is_record;
        self.dropped = Dropped::default();
        self.damage = None;
    }

    fn close(&mut self, end: usize, elements: &mut Vec<Element>) {
        if self.is_record {
            let (dropped, damage) = (std::mem::take(&mut self.dropped), self.damage.take());
            elements.push(Element { start: self.start, end, dropped, damage });
        }
        self.after_value();
    }

    /// Ends the name of a member.
    fn named(&mut self) {
        let name = self.name.strip_suffix(b"\"").unwrap_or(&self.name);
        self.state = Expected::Colon;
        self.wanted = None;
        // Names are only looked at inside objects.
        let Some(level) = self.levels.last_mut() else { return };
        let wanted = self.path.names[level.names].as_bytes();
        let escaped = || serde_json::from_slice::<String>(&[b"\"", name, b"\""].concat());
        if name == wanted || memchr(b'\\', name).is_some() && escaped().is_ok_and(|name| name.as_bytes() == wanted) {
            self.wanted = Some(level.names + 1);
            level.met = true;
        } else if !level.met && level.others.len() < NAMES_KEPT {
            level.others.push(beginning(name));
        }
    }

    fn no_member(&self, level: &Level) -> String {
        let wanted = self.path.beginning(level.names + 1);
        let others: Vec<String> = level.others.iter().map(|name| format!("`{name}`")).collect();
        let others = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
        format!(
            "an object that ends here has no `{wanted}`, where option `records={}` looks; it has {others}",
            self.path.text
        )
    }

    fn no_object(&self, names: usize) -> String {
        let what = if names == 0 { "the value".to_owned() } else { format!("`{}`", self.path.beginning(names)) };
        let (wanted, path) = (self.path.beginning(names + 1), &self.path.text);
        format!("{what} is not an object here, but option `records={path}` looks for `{wanted}` in it")
    }

    /// Skips the rest of a string. False if it does not end in `data`.
    #[inline]
    fn string(&mut self, data: &[u8]) -> bool {
        let ended = match self.levels.is_empty() {
            true => self.string_at_the_top(data),
            false => self.string_inside(data),
        };
        if self.state == Expected::Name {
            let (from, to) = (self.name_taken.min(data.len()), self.at.min(data.len()));
            if self.name.len() < NAME_KEPT {
                self.name.extend_from_slice(&data[from..to]);
            }
            self.name_taken = to;
        }
        ended
    }

    #[inline]
    fn string_inside(&mut self, data: &[u8]) -> bool {
        while let Some(found) = data.get(self.at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            self.at += found;
            if data[self.at] == b'"' {
                self.at += 1;
                self.in_string = false;
                return true;
            }
            self.at += 2;
        }
        self.at = self.at.max(data.len());
        false
    }

    /// The same in a value at the top. If its string continues beyond the line, the scan can
    /// continue behind the value.
    #[inline]
    fn string_at_the_top(&mut self, data: &[u8]) -> bool {
        while let Some(found) = data.get(self.at..).and_then(|rest| memchr3(b'"', b'\\', b'\n', rest)) {
            self.at += found;
            match data[self.at] {
                b'"' => {
                    self.at += 1;
                    self.in_string = false;
                    return true;
                }
                b'\\' => self.at += 2,
                _ => {
                    self.in_string = false;
                    self.damaged_by(Damage::LineEnd((self.at - self.start) as u64 + self.dropped.bytes));
                    return true;
                }
            }
        }
        self.at = self.at.max(data.len());
        false
    }

    fn damaged_by(&mut self, damage: Damage) {
        self.damage = Some(damage);
        self.state = Expected::Damaged;
        self.line_ended = false;
        self.last = b' ';
    }

    /// Skips to the beginning of the next value ([`Damage`]), or to the end of `data`.
    fn damaged(&mut self, data: &[u8], elements: &mut Vec<Element>) {
        for (i, &byte) in data[self.at..].iter().enumerate() {
            if byte == b'{' && (self.line_ended || self.last == b'}') {
                self.at += i;
                self.close(self.at, elements);
                return;
            }
            self.line_ended = byte == b'\n';
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
        }
        self.at = data.len();
    }

    /// Continues inside an object or array, up to a string, the end of the value or of `data`.
    #[inline]
    fn nested(&mut self, data: &[u8], elements: &mut Vec<Element>) {
        for (i, &byte) in data[self.at..].iter().enumerate() {
            match byte {
                b'"' => {
                    self.at += i + 1;
                    self.in_string = true;
                    return;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.at += i + 1;
                        self.close(self.at, elements);
                        return;
                    }
                }
                _ => {}
            }
        }
        self.at = data.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn elements(text: &str, path: Option<&str>, cuts: &[usize]) -> Result<Vec<String>, ScanError> {
        let path: Option<RecordsPath> = path.map(|path| path.parse().unwrap());
        let (mut scan, mut found) = (Scan::new(path.as_ref()), Vec::new());
        for &cut in cuts.iter().filter(|cut| **cut <= text.len()) {
            scan.run(&text.as_bytes()[..cut], &mut found)?;
        }
        scan.run(text.as_bytes(), &mut found)?;
        scan.finish(&mut found);
        Ok(found.iter().map(|e| text[e.start..e.end].to_owned()).collect())
    }

    fn check_at(text: &str, path: Option<&str>, expected: &[&str]) {
        // Split at every position, and at every two adjacent ones.
        for cut in 0..=text.len() {
            assert_eq!(elements(text, path, &[cut, cut + 1]).unwrap(), expected, "{text} cut at {cut}");
        }
    }

    fn check(text: &str, expected: &[&str]) {
        check_at(text, None, expected);
    }

    #[test]
    fn elements_end_where_they_should() {
        check(" [ ] ", &[]);
        check(r#"[{"a":1},{"b":[{}]} , {}]"#, &[r#"{"a":1}"#, r#"{"b":[{}]}"#, "{}"]);
        check(r#"[{"a":"}]\"{"},{"\\":"\u005d"}]"#, &[r#"{"a":"}]\"{"}"#, r#"{"\\":"\u005d"}"#]);
    }

    #[test]
    fn values_stand_beside_each_other() {
        check("", &[]);
        check(" {}{\"a\":\"}\"}\n{} ", &["{}", "{\"a\":\"}\"}", "{}"]);
        check("{\n  \"a\": [1]\n}\n{\n}\n", &["{\n  \"a\": [1]\n}", "{\n}"]);
        check("{},\n{},\n[{},[1]] 12 \"x\"true", &["{}", "{}", "{}", "[1]", "12", "\"x\"", "true"]);
        check("[{}]\n[{},{}]", &["{}", "{}", "{}"]);
    }

    #[test]
    fn what_is_damaged_ends_where_the_next_object_begins() {
        check("{\"a\":\"x}\n{\"a\":\"y\"}\n", &["{\"a\":\"x}\n", "{\"a\":\"y\"}"]);
        check("{}\n}\n {}\n{} // x\n{\"b\":1}", &["{}", "}\n ", "{}", "{}", "// x\n", "{\"b\":1}"]);
        check("{} * {},{} {} : [{}]", &["{}", "* {},{} ", "{}", ": [{}]"]);
        check("{},,{},{}", &["{}", ",", "{}", "{}"]);
        check("{\"a\":\"x\n y", &["{\"a\":\"x\n y"]);
    }

    #[test]
    fn records_are_where_the_path_leads() {
        let reply =
            r#"{"took":3,"x":{"hits":[1]},"hits":{"total":{"value":2},"hits":[{"_id":"1"},{"_id":"2"}]},"y":[]}"#;
        check_at(reply, Some("hits.hits"), &[r#"{"_id":"1"}"#, r#"{"_id":"2"}"#]);
        check_at(reply, Some("/hits/hits"), &[r#"{"_id":"1"}"#, r#"{"_id":"2"}"#]);
        check_at(reply, Some("hits"), &[r#"{"total":{"value":2},"hits":[{"_id":"1"},{"_id":"2"}]}"#]);
        check_at(r#"{"a":[{"b":[1,[2]]},{"b":{}},{"b":null}]} {"a":[]}"#, Some("a.b"), &["1", "[2]", "{}"]);
        check_at(r#"[{"d\u0061ta":[{}]},{"data":[]}]"#, Some("data"), &["{}"]);
        check_at(r#"{"x.y":{"a/b":[{}]},"q\"":"\\"}"#, Some("/x.y/a~1b"), &["{}"]);
        check_at(r#"{"a":"\\","b":{"a":3},"a":[{}]}"#, Some("b.a"), &["3"]);
        for bad in ["", "/", "a..b", "/a//b"] {
            assert!(bad.parse::<RecordsPath>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_not_where_it_was_looked_for_is_named() {
        for (text, path, expected) in [
            (
                r#"{"type":1,"feature":[]}"#,
                "features",
                "has no `features`, where option `records=features` looks; it has `type`, `feature`",
            ),
            (r#"{"hits":{"total":0}}"#, "hits.hits", "has no `hits.hits`"),
            (
                r#"{"hits":7}"#,
                "hits.hits",
                "`hits` is not an object here, but option `records=hits.hits` looks for `hits.hits` in it",
            ),
            ("{}", "a", "it has nothing"),
            ("[7]", "a", "the value is not an object here"),
        ] {
            let Err(ScanError::NoRecords(_, why)) = elements(text, Some(path), &[]) else { panic!("{text} is taken") };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn what_cannot_be_there_is_found() {
        for (text, at) in [("[,", 1), ("[{},]", 4), ("[{} {}]", 4), ("[1 2]", 3), ("[}", 1), ("[] [}", 4)] {
            assert_eq!(elements(text, None, &[]), Err(ScanError::Unexpected(at)), "{text}");
        }
        for (text, at) in [("{\"a\" 1}", 5), ("{a", 1), ("{\"a\":}", 5), ("{\"a\":1 2}", 7), ("{\"a\":1,}", 7)] {
            assert_eq!(elements(text, Some("x"), &[]), Err(ScanError::Unexpected(at)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_values_in_any_pieces(
            values in prop::collection::vec(
                r#"\{\}|\{"[]a{},]{0,4}(\\\\|\\")?":[0-9]{1,3}\}|"([^"\\\n]|\\["\\])*"|-?[0-9]{1,5}|true|\[(1,\[\])?\]"#,
                0..8,
            ),
            space in "[ \n]{0,2}",
            cuts in prop::collection::vec(0usize..200, 0..5),
            at in 0..3,
        ) {
            let separator = format!("{space},{space}");
            let text = format!("{space}[{space}{}{space}]{space}", values.join(&separator));
            let (text, path) = match at {
                0 => (text, None),
                1 => (format!("{{\"b\":[{{}}],\"a\":{text}}}"), Some("a")),
                _ => (format!("[{{\"a\":{{\"c\":\"\\\"\",\"b\":{text}}}}}]"), Some("a.b")),
            };
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
            cuts.sort_unstable();
            prop_assert_eq!(elements(&text, path, &cuts).unwrap(), values);
        }
    }
}
