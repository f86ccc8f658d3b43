//! The text that version 0.1.0 recorded: all options, as `derive(Debug)` writes them.

use serde_json::{Map, Value};

/// The beginning of the text.
const BEGIN: &str = "FormatOptions { ";

/// The deepest value of the text has five levels.
const LEVELS_MAX: u32 = 10;

/// Replaces the options in a text of version 0.1.0 by [`super::text`]. What is around them stays: a
/// query, the names of its tables. Text that is not of that version stays, too.
pub fn translated(text: &str) -> String {
    let mut new = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        new.push_str(&rest[..at]);
        let mut reader = Reader { rest: &rest[at..] };
        if let Some(Value::Object(options)) = reader.value(LEVELS_MAX) {
            new.push_str(&super::write(renamed(options)));
            rest = reader.rest;
        } else {
            new.push_str(BEGIN);
            rest = &rest[at + BEGIN.len()..];
        }
    }
    new + rest
}

/// The value at the beginning of a text of `derive(Debug)`, and what is behind it. `Some(x)` is x,
/// `None` is null, and a variant with a value is an object of one member. `None` where the text
/// begins otherwise.
pub fn value(text: &str) -> Option<(Value, &str)> {
    let mut reader = Reader { rest: text };
    Some((reader.value(LEVELS_MAX)?, reader.rest))
}

/// The members as this version writes them.
fn renamed(mut options: Map<String, Value>) -> Map<String, Value> {
    if let Some(charset) = options.get_mut("charset") {
        if charset.get("Charset").is_some_and(|kind| kind == "Ascii") {
            *charset = "US-ASCII".into();
        } else if let Some(name) = charset.pointer_mut("/Charset/Encoding/name").map(Value::take) {
            *charset = name;
        }
    }
    for (option, member) in [("records", "text"), ("sheet", "bytes_max")] {
        if let Some(Value::Object(members)) = options.get_mut(option) {
            members.remove(member);
        }
    }
    options
}

/// Reads `derive(Debug)` of structs, enums, lists, texts, numbers and options.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// The next value, with at most `levels` inside each other.
    fn value(&mut self, levels: u32) -> Option<Value> {
        let levels = levels.checked_sub(1)?;
        match self.rest.chars().next()? {
            '"' => self.text(),
            '[' => Some(self.list('[', ']', levels)?.into()),
            '(' => Some(self.list('(', ')', levels)?.into()),
            digit if digit.is_ascii_digit() => self.word().parse::<u64>().ok().map(Value::from),
            _ => self.named(levels),
        }
    }

    /// A value that begins with a name.
    fn named(&mut self, levels: u32) -> Option<Value> {
        let name = self.word();
        if self.rest.starts_with('(') {
            let [inner] = self.list('(', ')', levels)?.try_into().ok()?;
            return Some(if name == "Some" { inner } else { Map::from_iter([(name.to_owned(), inner)]).into() });
        }
        if self.skip(" { ") {
            return self.members(levels).map(Value::Object);
        }
        match name {
            "" => None,
            "None" => Some(Value::Null),
            "true" | "false" => Some((name == "true").into()),
            variant => Some(variant.into()),
        }
    }

    /// The members of a struct behind its opening brace.
    fn members(&mut self, levels: u32) -> Option<Map<String, Value>> {
        let mut members = Map::new();
        loop {
            // A struct that does not show all its members ends with two dots.
            if self.skip(".. }") {
                return Some(members);
            }
            let name = self.word();
            if name.is_empty() || !self.skip(": ") {
                return None;
            }
            members.insert(name.to_owned(), self.value(levels)?);
            if self.skip(" }") {
                return Some(members);
            }
            if !self.skip(", ") {
                return None;
            }
        }
    }

    fn list(&mut self, open: char, close: char, levels: u32) -> Option<Vec<Value>> {
        self.rest = self.rest.strip_prefix(open)?;
        let mut values = Vec::new();
        while !self.rest.starts_with(close) {
            if !values.is_empty() && !self.skip(", ") {
                return None;
            }
            values.push(self.value(levels)?);
        }
        self.rest = self.rest.strip_prefix(close)?;
        Some(values)
    }

    fn text(&mut self) -> Option<Value> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        loop {
            match chars.next()? {
                (at, '"') => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text.into());
                }
                (_, '\\') => text.push(match chars.next()?.1 {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    'u' => {
                        let digits: String = chars.by_ref().skip(1).map(|(_, c)| c).take_while(|&c| c != '}').collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                    }
                    escaped => escaped,
                }),
                (_, plain) => text.push(plain),
            }
        }
    }

    /// Letters, digits and underscores. They may be none.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::examples;
    use super::*;

    #[test]
    fn options_are_those_of_this_version() {
        for (_, expected, before) in examples() {
            assert_eq!(translated(before.trim_end()), expected.trim_end());
        }
    }

    #[test]
    fn what_is_around_stays() {
        let (_, csv, before) = examples().swap_remove(1);
        let (csv, before) = (csv.trim_end(), before.trim_end());
        assert_eq!(
            translated(&format!("select 'é' from t t {before} u {before} part 1 of None")),
            format!("select 'é' from t t {csv} u {csv} part 1 of None")
        );
    }

    #[test]
    fn other_text_stays() {
        let deep = format!("FormatOptions {{ a: {}1", "[".repeat(100_000));
        for text in [
            "",
            "{}",
            "query {}",
            "FormatOptions { ",
            "FormatOptions { a: ",
            "FormatOptions { é: 1 }",
            "FormatOptions { a: \"",
            &deep,
        ] {
            assert_eq!(translated(text), text);
        }
    }
}
