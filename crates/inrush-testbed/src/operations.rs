//! Operations for a load, drawn by a seed, and what has to be there when each of them was carried
//! out once and in order: documents, and the operations that the cluster or the loader refuses.
//!
//! Few ids get many operations and many ids get few. An id keeps its routing value, because the
//! servers store a document for each shard that an id is sent to. The ids with external versions
//! have no other operations, and some of their versions come too late: they are older than that of
//! a document that is there.

use std::collections::BTreeMap;

use inrush_core::retry::Jitter;
use serde_json::{Map, Value, json};

/// Ends of ids that are written with escapes, in JSON or in an address.
const ODD: [&str; 16] = [
    " with a space",
    "\"quoted\"",
    "back\\slash",
    "/a/b",
    "%2F",
    "ü",
    "e\u{301}",
    "日本",
    "😀",
    "\ttab",
    "\nline",
    ",a;b",
    "{}",
    "#?&=",
    "'",
    "\u{2028}",
];
/// Operations for each id, on average.
const PER_ID: u64 = 10;
/// One of this many operations is one that the loader does not take.
const NOT_TAKEN_OF: u64 = 400;

/// What the source of a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Action lines and documents: all actions.
    Bulk,
    /// Documents, one a line, without ids.
    Lines,
    /// The same with a time, for a data stream.
    Stream,
}

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The form of the source.
    pub form: Form,
    /// How many operations.
    pub operations: u64,
    /// Whether some of them have to end as dead letters. [`Form::Bulk`] only.
    pub refused: bool,
}

/// Why an operation does not take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The document to create is there.
    Exists,
    /// The document to update is not there.
    Missing,
    /// A newer version was there before. In another order than that of the source it is none.
    Older,
    /// The highest version is another one, which comes later. In the order of the source it is no
    /// refusal; but versions make the order irrelevant.
    Overtaken,
    /// A loader takes no scripts, and no `upsert` that differs from `doc`.
    NotTaken,
}

/// A document that has to be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The routing value of its id.
    pub routing: Option<String>,
    /// Its content.
    pub source: Value,
}

/// What the operations leave when each was carried out once, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Documents by their ids. Others with ids of the source must not be there.
    pub documents: BTreeMap<String, Document>,
    /// Documents whose ids the cluster makes, by their line.
    pub fresh: BTreeMap<u64, Value>,
    /// Operations that do not take effect, by their line.
    pub refused: BTreeMap<u64, Refusal>,
}

/// An operation as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its first line, from 1.
    pub line: u64,
    /// Its lines.
    pub text: String,
}

/// A source and what it leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// The operations in order.
    pub items: Vec<Item>,
    /// What they leave.
    pub expected: Expected,
}

impl Operations {
    /// Draws them.
    pub fn drawn(seed: u64, shape: Shape) -> Operations {
        let ids = (shape.operations / PER_ID).max(10);
        let mut drawing = Drawing {
            random: Random::new(seed),
            ids,
            states: BTreeMap::new(),
            line: 1,
            refused: shape.refused,
            made: Operations { items: Vec::new(), expected: Expected::default() },
        };
        for _ in 0..shape.operations {
            match shape.form {
                Form::Bulk => drawing.operation(),
                Form::Lines => drawing.document(false),
                Form::Stream => drawing.document(true),
            }
        }
        drawing.end()
    }

    /// The source.
    pub fn text(&self) -> String {
        self.items.iter().map(|item| item.text.as_str()).collect()
    }
}

/// Random numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Random(Jitter);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(Jitter::new(seed))
    }

    /// A whole number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((self.0.unit() * end as f64) as u64).min(end - 1)
    }

    /// Whether one of `of` cases is drawn.
    pub fn one_of(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// What is known of an id.
#[derive(Default)]
struct State {
    source: Option<Map<String, Value>>,
    /// The highest external version, and how many were drawn.
    version: u64,
    /// The lines of operations that raised the version.
    raised: Vec<u64>,
}

struct Drawing {
    random: Random,
    ids: u64,
    states: BTreeMap<u64, State>,
    line: u64,
    refused: bool,
    made: Operations,
}

impl Drawing {
    fn operation(&mut self) {
        if self.random.one_of(16) {
            return self.without_id();
        }
        let number = self.number();
        match is_versioned(number) {
            true => self.versioned(number),
            false if self.refused && self.random.one_of(NOT_TAKEN_OF) => self.not_taken(number),
            false => self.ordered(number),
        }
    }

    /// The number of an id: a few are drawn often.
    fn number(&mut self) -> u64 {
        let among = match self.random.below(100) {
            0..25 => self.ids / 20,
            25..55 => self.ids / 4,
            _ => self.ids,
        };
        self.random.below(among.max(1))
    }

    fn without_id(&mut self) {
        let verb = self.random.pick(&["index", "create"]);
        let routing = self.random.one_of(4).then(|| format!("r{}", self.line % 11));
        let action = self.action(verb, None, routing.as_deref(), None);
        let source = json!({"at": self.line, "fresh": true, "t": self.words()});
        self.made.expected.fresh.insert(self.line, source.clone());
        self.push(&action, Some(&source));
    }

    /// An operation whose place among those of its id matters.
    fn ordered(&mut self, number: u64) {
        let is_there = self.states.get(&number).is_some_and(|state| state.source.is_some());
        let line = self.line;
        let (verb, document) = match self.random.below(100) {
            0..38 => ("index", Some(Value::Object(self.whole()))),
            38..50 if self.refused || !is_there => ("create", Some(Value::Object(self.whole()))),
            38..50 => ("index", Some(Value::Object(self.whole()))),
            50..72 if self.refused || is_there => ("update", Some(json!({"doc": self.part()}))),
            50..86 => ("update", Some(self.upsert())),
            _ => ("delete", None),
        };
        let action = self.action(verb, Some(number), routing(number).as_deref(), None);
        self.push(&action, document.as_ref());
        let state = self.states.entry(number).or_default();
        let refusal = match (verb, document, &mut state.source) {
            ("create", _, Some(_)) => Some(Refusal::Exists),
            ("index" | "create", Some(Value::Object(whole)), source) => {
                *source = Some(whole);
                None
            }
            ("update", Some(update), Some(source)) => {
                merge(source, update["doc"].as_object().expect("an update has a document"));
                None
            }
            ("update", Some(update), source @ None) if update["doc_as_upsert"] == true => {
                *source = update["doc"].as_object().cloned();
                None
            }
            ("update", ..) => Some(Refusal::Missing),
            (_, _, source) => {
                *source = None;
                None
            }
        };
        self.made.expected.refused.extend(refusal.map(|refusal| (line, refusal)));
    }

    /// An operation whose version decides.
    fn versioned(&mut self, number: u64) {
        let state = self.states.entry(number).or_default();
        // A server that restarts forgets the versions of deleted documents.
        let late = self.refused && state.source.is_some() && self.random.one_of(5);
        let highest = state.version;
        // A step of 10 leaves versions for those that come late.
        let version = match highest {
            10.. if late => highest - 10 + 1 + self.random.below(9),
            _ => highest + 10,
        };
        let kind = self.random.pick(&["external", "external_gte"]);
        let document = (!self.random.one_of(6)).then(|| self.whole());
        let verb = if document.is_some() { "index" } else { "delete" };
        let action = self.action(verb, Some(number), routing(number).as_deref(), Some((version, kind)));
        let line = self.line;
        self.push(&action, document.clone().map(Value::Object).as_ref());
        let state = self.states.entry(number).or_default();
        if version > highest {
            (state.version, state.source) = (version, document);
            state.raised.push(line);
        } else {
            self.made.expected.refused.insert(line, Refusal::Older);
        }
    }

    fn not_taken(&mut self, number: u64) {
        let action = self.action("update", Some(number), routing(number).as_deref(), None);
        let update = match self.random.one_of(2) {
            true => json!({"script": {"source": "ctx._source.n += 1"}}),
            false => json!({"doc": {"n": 1}, "upsert": {"n": 0}}),
        };
        self.made.expected.refused.insert(self.line, Refusal::NotTaken);
        self.push(&action, Some(&update));
    }

    /// A line of NDJSON.
    fn document(&mut self, has_time: bool) {
        let mut source = json!({"at": self.line, "fresh": true, "t": self.words()});
        if has_time {
            source["@timestamp"] = json!(format!("2026-01-01T00:00:{:02}Z", self.line % 60));
        }
        self.made.expected.fresh.insert(self.line, source.clone());
        let text = format!("{source}\n");
        self.made.items.push(Item { line: self.line, text });
        self.line += 1;
    }

    /// A whole document.
    fn whole(&mut self) -> Map<String, Value> {
        let (at, n) = (self.line, self.random.below(1000));
        let document = json!({"at": at, "n": n, "f0": at, "o": {"a": at, "deep": {"x": n}}, "t": self.words()});
        into_map(document)
    }

    /// A part of a document. Some parts are the same each time, so that they change nothing.
    fn part(&mut self) -> Map<String, Value> {
        if self.random.one_of(8) {
            return into_map(json!({"o": {"deep": {"same": true}}}));
        }
        let field = format!("f{}", self.random.below(4));
        into_map(json!({"at": self.line, field: self.line, "o": {"b": self.line, "deep": {"y": self.words()}}}))
    }

    fn upsert(&mut self) -> Value {
        json!({"doc_as_upsert": true, "doc": self.part()})
    }

    fn words(&mut self) -> &'static str {
        self.random.pick(&["some words to fill it", "a\ttab and \"quotes\"", "日本語 😀", "", "a line\nand another"])
    }

    /// An action line. Keys come in any order, and an id is written in several ways.
    fn action(&mut self, verb: &str, id: Option<u64>, routing: Option<&str>, version: Option<(u64, &str)>) -> String {
        let mut keys = Vec::new();
        keys.extend(id.map(|number| format!("\"_id\":{}", self.id_text(number))));
        keys.extend(routing.map(|value| format!("\"routing\":{}", self.quoted(value))));
        keys.extend(
            version
                .iter()
                .flat_map(|(number, kind)| [format!("\"version\":{number}"), format!("\"version_type\":\"{kind}\"")]),
        );
        if !keys.is_empty() {
            let first = self.random.below(keys.len() as u64) as usize;
            keys.rotate_left(first);
        }
        let space = if self.random.one_of(8) { " " } else { "" };
        format!("{{{space}\"{verb}\":{space}{{{}{space}}}}}", keys.join(&format!(",{space}")))
    }

    fn id_text(&mut self, number: u64) -> String {
        let id = id(number);
        // Servers take numbers, too.
        if is_digits(&id) && self.random.one_of(2) { id } else { self.quoted(&id) }
    }

    /// A string of JSON, with more escapes than needed in some cases.
    fn quoted(&mut self, text: &str) -> String {
        if !self.random.one_of(3) {
            return Value::from(text).to_string();
        }
        let mut quoted = String::from("\"");
        for unit in text.encode_utf16() {
            let plain = char::from_u32(u32::from(unit)).filter(|c| c.is_ascii_alphanumeric());
            match plain.filter(|_| !self.random.one_of(4)) {
                Some(plain) => quoted.push(plain),
                None => quoted.push_str(&format!("\\u{unit:04x}")),
            }
        }
        quoted.push('"');
        quoted
    }

    fn push(&mut self, action: &str, document: Option<&Value>) {
        let text = match document {
            Some(document) => format!("{action}\n{document}\n"),
            None => format!("{action}\n"),
        };
        let lines = 1 + u64::from(document.is_some());
        self.made.items.push(Item { line: self.line, text });
        self.line += lines;
    }

    fn end(mut self) -> Operations {
        for (number, state) in self.states {
            if let Some(source) = state.source {
                let document = Document { routing: routing(number), source: Value::Object(source) };
                self.made.expected.documents.insert(id(number), document);
            }
            // All but the last may meet a higher version where their order is not held.
            let overtaken = state.raised.iter().rev().skip(1).map(|line| (*line, Refusal::Overtaken));
            self.made.expected.refused.extend(overtaken);
        }
        self.made
    }
}

fn is_versioned(number: u64) -> bool {
    number % 7 == 3
}

fn routing(number: u64) -> Option<String> {
    (number % 5 == 2).then(|| format!("r{} ü", number % 11))
}

fn id(number: u64) -> String {
    match number % 4 {
        0 => format!("{number}{}", ODD[(number / 4) as usize % ODD.len()]),
        1 => number.to_string(),
        _ => format!("k{number}"),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What a partial update leaves: objects are merged, other values replaced.
fn merge(source: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (key, value) in part {
        match (source.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(part)) => merge(inner, part),
            _ => {
                source.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SHAPE: Shape = Shape { form: Form::Bulk, operations: 20_000, refused: true };

    #[test]
    fn a_seed_repeats_its_operations_and_another_one_draws_others() {
        let [one, again, other] = [7, 7, 8].map(|seed| Operations::drawn(seed, SHAPE));
        assert_eq!(one, again);
        assert_ne!(one.items, other.items);
        assert_eq!(one.items.len(), 20_000);
    }

    #[test]
    fn lines_are_counted_as_they_stand_in_the_text() {
        for form in [Form::Bulk, Form::Lines, Form::Stream] {
            let made = Operations::drawn(3, Shape { form, operations: 500, ..SHAPE });
            let text = made.text();
            let lines: Vec<&str> = text.lines().collect();
            for item in &made.items {
                assert!(item.text.starts_with(lines[item.line as usize - 1]), "{item:?}");
            }
            assert!(lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()));
        }
    }

    #[test]
    fn all_kinds_of_operations_and_refusals_are_drawn() {
        let made = Operations::drawn(1, SHAPE);
        let verbs: BTreeSet<String> = made.items.iter().map(|item| verb(&item.text)).collect();
        assert_eq!(verbs, ["create", "delete", "index", "update"].map(str::to_owned).into());
        for refusal in [Refusal::Exists, Refusal::Missing, Refusal::Older, Refusal::Overtaken, Refusal::NotTaken] {
            assert!(made.expected.refused.values().any(|found| *found == refusal), "{refusal:?}");
        }
        assert!(made.expected.documents.values().any(|document| document.routing.is_some()));
        assert!(ODD.iter().all(|odd| made.expected.documents.keys().any(|id| id.ends_with(odd))));
        assert!(made.expected.fresh.len() > 1000);
    }

    #[test]
    fn nothing_has_to_be_refused_where_that_is_not_wanted() {
        let made = Operations::drawn(1, Shape { refused: false, ..SHAPE });
        assert!(made.expected.refused.values().all(|refusal| *refusal == Refusal::Overtaken));
        assert!(!made.expected.documents.is_empty());
    }

    #[test]
    fn a_few_ids_get_many_operations() {
        let made = Operations::drawn(1, SHAPE);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for item in &made.items {
            let action: Value = serde_json::from_str(item.text.lines().next().unwrap()).unwrap();
            let target = action.as_object().unwrap().values().next().unwrap();
            match &target["_id"] {
                Value::Null => {}
                Value::String(id) => *counts.entry(id.clone()).or_default() += 1,
                number => *counts.entry(number.to_string()).or_default() += 1,
            }
        }
        assert!(counts.len() > 1900 && counts.len() <= 2000, "{}", counts.len());
        assert!(counts.values().max().unwrap() > &50 && counts.values().min().unwrap() < &6);
    }

    #[test]
    fn parts_are_merged_as_the_servers_do() {
        let mut source = into_map(json!({"a": {"b": 1, "c": [1, 2]}, "d": 1}));
        merge(&mut source, &into_map(json!({"a": {"c": [3], "e": null}, "d": {"f": 1}})));
        assert_eq!(Value::Object(source), json!({"a": {"b": 1, "c": [3], "e": null}, "d": {"f": 1}}));
    }

    fn verb(text: &str) -> String {
        let action: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        action.as_object().unwrap().keys().next().unwrap().clone()
    }
}
