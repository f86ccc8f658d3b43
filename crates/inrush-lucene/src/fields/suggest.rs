//! Suggestions, which are texts with a weight: fields of the type `completion`.
//!
//! Source: the documentation of the type in OpenSearch and Elasticsearch, and the indices that
//! they make. A suggestion has one term: the terms that the analyser makes of it, with a byte
//! between them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::analysis::{Analyzer, Unread};
use crate::fields::composed::{Suggest, Suggestion};
use crate::fields::convert::Indexable;
use crate::fields::document::Walk;
use crate::fields::field::Kind;
use crate::fields::java_map;
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::refused::Refused;

/// The weight of a suggestion that names none.
const WEIGHT: u32 = 1;

/// What is between the terms of a suggestion, and at positions without one.
const SEPARATOR: u8 = 0x1f;

/// Why there is no suggestion.
enum NoSuggestion {
    Blank,
    Reserved,
    Unsupported(&'static str),
}

impl Suggest {
    fn suggestion(&self, text: &str, weight: u32) -> Result<Suggestion, NoSuggestion> {
        if text.chars().all(|c| c <= ' ') {
            return Err(NoSuggestion::Blank);
        }
        let text = self.cut(text).to_owned();
        if text.contains(['\0', '\u{1e}', '\u{1f}']) {
            return Err(NoSuggestion::Reserved);
        }
        let term = self.term(&text)?;
        Ok(Suggestion { term, text, weight })
    }

    /// The beginning of a text that is not too long. Pairs of UTF-16 stay whole.
    fn cut<'t>(&self, text: &'t str) -> &'t str {
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            let is_behind = units >= self.length_max;
            units += c.len_utf16();
            is_behind
        });
        end.map_or(text, |(at, _)| &text[..at])
    }

    fn term(&self, text: &str) -> Result<Option<Vec<u8>>, NoSuggestion> {
        let mut joined = Vec::new();
        let (mut count, mut is_empty, mut is_stacked) = (0, false, false);
        let mut add = |term: &[u8], increment: u32| {
            let increment = if self.gaps { increment } else { increment.min(1) };
            is_empty |= term.is_empty();
            is_stacked |= increment == 0;
            let separators = if self.separators { increment - u32::from(count == 0 && increment > 0) } else { 0 };
            joined.extend(std::iter::repeat_n(SEPARATOR, separators as usize));
            joined.extend_from_slice(term);
            count += 1;
        };
        let unread = match &self.analyzer {
            Analyzer::Plain(plain) => {
                plain.each(text, |term| add(term, 1));
                None
            }
            Analyzer::Pipeline(pipeline) => {
                let end = pipeline.each(text, false, |term| add(term.term, term.increment));
                if self.gaps && self.separators && count > 0 {
                    joined.extend(std::iter::repeat_n(SEPARATOR, end.increment as usize));
                }
                end.unread
            }
        };
        match unread {
            Some(Unread::Many) => Err(NoSuggestion::Unsupported("the terms of a long text")),
            Some(Unread::Pattern) => Err(NoSuggestion::Unsupported("a text with what a regular expression may find")),
            // What is made of these is a graph.
            None if is_stacked || is_empty => Err(NoSuggestion::Unsupported("a suggestion of several paths")),
            None => Ok((count > 0).then_some(joined)),
        }
    }
}

impl<'a> Walk<'a, '_> {
    /// The suggestions of a document: a text, an object, or an array of these.
    pub(super) fn suggestions(&mut self, number: usize) -> Result<(), Refused> {
        let mut all = Inputs::new();
        match self.reader.peek() {
            b'n' => return Ok(self.reader.skip()?),
            b'[' => {
                self.reader.open(b'[')?;
                let mut first = true;
                while self.reader.more(first, b']')? {
                    first = false;
                    self.inputs(number, &mut all)?;
                }
            }
            _ => self.inputs(number, &mut all)?,
        }
        self.push(number, Indexable::Exists);
        for (text, weight) in self.in_order(number, all, 2)? {
            self.suggestion(number, &text, weight)?;
        }
        Ok(())
    }

    /// A value of another field that is a suggestion, too.
    pub(super) fn suggestion_of_value(&mut self, number: usize, scalar: &Scalar<'a>) -> Result<(), Refused> {
        match scalar {
            Scalar::Null => Ok(()),
            Scalar::Text(text) => {
                self.push(number, Indexable::Exists);
                self.suggestion(number, text, WEIGHT)
            }
            Scalar::Number(_) | Scalar::Bool(_) => Err(self.wrong(number, "a text or an object")),
        }
    }

    fn suggestion(&mut self, number: usize, text: &str, weight: u32) -> Result<(), Refused> {
        let field = &self.mapping.fields[number];
        let Kind::Suggest(suggest) = &field.kind else { return Ok(()) };
        if self.reader.half_pair {
            return Err(Refused::Unsupported(format!("half a pair of UTF-16 in the field {:?}", field.name)));
        }
        match suggest.suggestion(text, weight) {
            Ok(suggestion) => self.push(number, Indexable::Suggestion(Box::new(suggestion))),
            Err(NoSuggestion::Blank) => self.document.ignored.push(number),
            Err(NoSuggestion::Reserved) => return Err(self.wrong(number, "a text without the characters 0, 30 and 31")),
            Err(NoSuggestion::Unsupported(what)) => {
                return Err(Refused::Unsupported(format!("{what} in the field {:?}", field.name)));
            }
        }
        Ok(())
    }

    /// Adds the texts of a value.
    fn inputs(&mut self, number: usize, all: &mut Inputs<'a>) -> Result<(), Refused> {
        match self.reader.peek() {
            b'"' => {
                if let Scalar::Text(text) = self.reader.scalar()? {
                    all.put(text, WEIGHT, true);
                }
                Ok(())
            }
            b'{' => self.weighted(number, all),
            _ => Err(self.wrong(number, "texts or objects")),
        }
    }

    fn weighted(&mut self, number: usize, all: &mut Inputs<'a>) -> Result<(), Refused> {
        let (mut texts, mut weight) = (Inputs::new(), WEIGHT);
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            if !names.insert(name.clone()) {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            match (&*name, self.reader.peek()) {
                ("input", b'[') => {
                    self.reader.open(b'[')?;
                    let mut first = true;
                    while self.reader.more(first, b']')? {
                        first = false;
                        self.input(number, &mut texts)?;
                    }
                }
                ("input", _) => self.input(number, &mut texts)?,
                ("weight", b'[' | b'{') => return Err(self.wrong(number, "a whole number as the weight")),
                ("weight", _) => {
                    let found = weight_of(&self.reader.scalar()?);
                    weight = found.ok_or_else(|| self.wrong(number, "a weight from 0 to 2147483647"))?;
                }
                _ => return Err(self.wrong(number, "no members but `input` and `weight`")),
            }
        }
        for (text, _) in self.in_order(number, texts, 16)? {
            all.put(text, weight, false);
        }
        Ok(())
    }

    fn input(&mut self, number: usize, texts: &mut Inputs<'a>) -> Result<(), Refused> {
        match self.reader.peek() {
            b'"' => {
                if let Scalar::Text(text) = self.reader.scalar()? {
                    texts.put(text, WEIGHT, false);
                }
                Ok(())
            }
            _ => Err(self.wrong(number, "texts as `input`")),
        }
    }

    /// The texts in the order of a hash map of Java that began with `buckets` buckets.
    fn in_order(&self, number: usize, inputs: Inputs<'a>, buckets: usize) -> Result<Vec<(Cow<'a, str>, u32)>, Refused> {
        java_map::in_order(inputs.0, buckets, |input| &input.0).ok_or_else(|| {
            let name = &self.mapping.fields[number].name;
            Refused::Unsupported(format!("that many suggestions of a document in the field {name:?}"))
        })
    }
}

/// The weight that a value names.
fn weight_of(scalar: &Scalar) -> Option<u32> {
    let text: &str = match scalar {
        Scalar::Number(text) => text,
        // Java reads the digits of all scripts, which are not read here: the document is refused.
        Scalar::Text(text) => text,
        Scalar::Null | Scalar::Bool(_) => return None,
    };
    text.parse::<i64>().ok().and_then(|weight| i32::try_from(weight).ok()).and_then(|weight| u32::try_from(weight).ok())
}

/// Texts with their weights, each once, in the order in which they came.
struct Inputs<'a>(Vec<(Cow<'a, str>, u32)>);

impl<'a> Inputs<'a> {
    fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a text. Of one that is there the higher weight stays, or the last one.
    fn put(&mut self, text: Cow<'a, str>, weight: u32, replaces: bool) {
        match self.0.iter_mut().find(|(other, _)| *other == text) {
            Some((_, before)) => *before = if replaces { weight } else { weight.max(*before) },
            None => self.0.push((text, weight)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fields::convert::Indexable;
    use crate::fields::document::{Habits, read};
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const TARGET: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

    fn parse(fields: &Value) -> Result<Mapping, String> {
        Mapping::parse(&json!({"dynamic": "strict", "properties": fields}), TARGET).map_err(|error| error.what)
    }

    /// The terms of suggestions, with `|` for the byte between, their texts and weights; and how
    /// many values are ignored.
    fn found(definition: &Value, value: &str) -> Result<(Vec<String>, usize), Refused> {
        let mapping = parse(&json!({ "s": definition })).unwrap();
        let source = format!("{{\"s\":{value}}}");
        let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
        let shown = |(_, value): &(usize, Indexable)| match value {
            Indexable::Suggestion(suggestion) => {
                let term = suggestion.term.as_ref().map(|term| String::from_utf8_lossy(term).replace('\u{1f}', "|"));
                Some(format!("{} {:?} {}", term.unwrap_or_default(), suggestion.text, suggestion.weight))
            }
            _ => None,
        };
        Ok((document.values.iter().filter_map(shown).collect(), document.ignored.len()))
    }

    #[test]
    fn texts_become_terms_with_a_byte_between() {
        let plain = json!({"type": "completion"});
        for (value, expected, ignored) in [
            (r#""New York""#, vec![r#"new|york "New York" 1"#], 0),
            (r#"{"input":"a","weight":"7"}"#, vec![r#"a "a" 7"#], 0),
            (r#"{"weight":3,"input":["B","a"]}"#, vec![r#"a "a" 3"#, r#"b "B" 3"#], 0),
            (r#"["x",{"input":["x","y"],"weight":5},"y"]"#, vec![r#"x "x" 5"#, r#"y "y" 1"#], 0),
            (r#"["  ",{"input":""}]"#, vec![], 2),
            (r#""12""#, vec![r#" "12" 1"#], 0),
            ("[]", vec![], 0),
            ("null", vec![], 0),
            ("{}", vec![], 0),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(found(&plain, value).unwrap(), (expected, ignored), "{value}");
        }
        let of = |parameters: Value, value: &str| {
            let mut definition = parameters;
            definition["type"] = json!("completion");
            found(&definition, value).unwrap().0.remove(0)
        };
        assert_eq!(of(json!({"preserve_separators": false}), r#""a b""#), r#"ab "a b" 1"#);
        assert_eq!(of(json!({"max_input_length": 3}), r#""ab👩c""#), r#"ab "ab👩" 1"#);
        assert_eq!(
            of(json!({"analyzer": "stop"}), r#""the end of a day of""#),
            r#"|end|||day| "the end of a day of" 1"#
        );
        let joined = json!({"analyzer": "stop", "preserve_position_increments": false});
        assert_eq!(of(joined, r#""the end of a day of""#), r#"end|day "the end of a day of" 1"#);
    }

    #[test]
    fn suggestions_are_in_the_order_of_a_hash_map() {
        let texts: Vec<String> = (0..14).map(|number| format!("text {}", number * 37)).collect();
        let shown = found(&json!({"type": "completion", "analyzer": "keyword"}), &json!(texts).to_string()).unwrap().0;
        let order: Vec<&str> = shown.iter().map(|text| text.split('"').nth(1).unwrap()).collect();
        let mut expected: Vec<&str> = texts.iter().map(String::as_str).collect();
        expected.sort_by_key(|text| crate::fields::java_map::bucket(text, 32));
        assert_eq!(order, expected);
        // "Aa" and "BB" have one hash.
        let same = format!(
            "{:?}",
            (0..8)
                .map(|bits| (0..3).map(|bit| if bits >> bit & 1 == 0 { "Aa" } else { "BB" }).collect::<String>())
                .collect::<Vec<_>>()
        );
        assert!(matches!(found(&json!({"type": "completion"}), &same), Err(Refused::Unsupported(_))));
    }

    #[test]
    fn what_is_no_suggestion_is_refused() {
        for value in [
            "5",
            "true",
            "[null]",
            r#"[["a"]]"#,
            r#"{"input":5}"#,
            r#"{"input":[["a"]]}"#,
            r#"{"input":"a","weight":-1}"#,
            r#"{"input":"a","weight":2147483648}"#,
            r#"{"input":"a","weight":1.5}"#,
            r#"{"input":"a","weight":null}"#,
            r#"{"input":"a","contexts":{}}"#,
            r#"{"text":"a"}"#,
            r#""a\u001fb""#,
        ] {
            assert!(matches!(found(&json!({"type": "completion"}), value), Err(Refused::Value { .. })), "{value}");
        }
    }

    #[test]
    fn a_suggestion_may_be_a_multi_field() {
        let fields = json!({"t": {"type": "text", "fields": {"s": {"type": "completion"}}}});
        let mapping = parse(&fields).unwrap();
        let document = read(br#"{"t":["a","a",null," "]}"#, &mapping, &mut Habits::default()).unwrap();
        let count = document.values.iter().filter(|(_, value)| matches!(value, Indexable::Suggestion(_))).count();
        assert_eq!((count, document.ignored.len()), (2, 1));
        assert!(matches!(read(br#"{"t":5}"#, &mapping, &mut Habits::default()), Err(Refused::Value { .. })));
        for definition in [
            json!({"type": "completion", "contexts": [{"name": "c", "type": "category"}]}),
            json!({"type": "completion", "fields": {"k": {"type": "keyword"}}}),
            json!({"type": "completion", "max_input_length": 1000}),
            json!({"type": "keyword", "copy_to": "s"}),
            json!({"type": "completion", "analyzer": "dutch"}),
        ] {
            let fields = json!({"f": definition, "s": {"type": "completion"}});
            assert!(parse(&fields).is_err(), "{fields}");
        }
    }
}
