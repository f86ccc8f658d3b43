//! What a load has left in an index and in its file of dead letters, compared with what its
//! operations leave when each is carried out once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::operations::{Expected, Refusal};

/// Examples of faults that are kept.
const EXAMPLES: usize = 12;

/// A document of the index.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// Its routing value.
    pub routing: Option<String>,
    /// Its content.
    pub source: Value,
}

/// What the load said and did.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Documents of the index after the load.
    pub found: Vec<Found>,
    /// The lines of dead letters, each with its error.
    pub letters: BTreeMap<u64, String>,
    /// Whether conflicts are counted and are no dead letters.
    pub skips_conflicts: bool,
    /// The duplicates that the report allows for.
    pub duplicates: u64,
    /// Whether a proxy may have sent a request twice. The answer is then that of the second time
    /// (docs/guarantees.md).
    pub is_repeated: bool,
}

/// The errors of an operation that is done a second time.
const DONE_BEFORE: [&str; 2] = ["version_conflict_engine_exception", "document_missing_exception"];

/// The faults of a load. All are 0 if the index is what it has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Documents with an older or another content than that of the last operation.
    pub wrong: u64,
    /// Ids without a document that must have one, and documents without ids that are missing.
    pub missing: u64,
    /// Ids with a document that must have none.
    pub surplus: u64,
    /// Copies of documents without ids.
    pub copies: u64,
    /// Those of them that the report does not allow for.
    pub untold: u64,
    /// Dead letters of operations that have taken effect or must take effect.
    pub false_letters: u64,
    /// Dead letters of operations that a proxy may have repeated. They are no fault.
    pub repeated: u64,
    /// Operations that were refused and are no dead letters.
    pub lacking_letters: u64,
    /// The first faults in words.
    pub examples: Vec<String>,
}

impl Judgement {
    /// Compares.
    pub fn of(expected: &Expected, told: &Told) -> Judgement {
        let mut judgement = Judgement::default();
        judgement.documents(expected, told);
        judgement.letters(expected, told);
        judgement
    }

    /// Whether the content of the index is right.
    pub fn is_right(&self) -> bool {
        self.wrong + self.missing + self.surplus + self.untold == 0
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.is_right() && self.false_letters + self.lacking_letters == 0
    }

    fn example(&mut self, words: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(words());
        }
    }

    fn documents(&mut self, expected: &Expected, told: &Told) {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut fresh: BTreeMap<u64, u64> = BTreeMap::new();
        for found in &told.found {
            let line = found.source["at"].as_u64().filter(|_| found.source["fresh"] == true);
            if let Some(line) = line {
                *fresh.entry(line).or_default() += 1;
                if expected.fresh.get(&line) != Some(&found.source) {
                    self.wrong += 1;
                    self.example(|| format!("{} without an id is wrong: {}", found.id, found.source));
                }
                continue;
            }
            let Some(document) = expected.documents.get(&found.id) else {
                self.surplus += 1;
                self.example(|| format!("{:?} must be deleted, and is {}", found.id, found.source));
                continue;
            };
            if !seen.insert(&found.id) {
                self.surplus += 1;
                self.example(|| format!("{:?} is there twice", found.id));
            } else if document.source != found.source || document.routing != found.routing {
                self.wrong += 1;
                let (right, is) = (&document.source, &found.source);
                self.example(|| format!("{:?} must be {right}, and is {is}, routing {:?}", found.id, found.routing));
            }
        }
        for (id, document) in expected.documents.iter().filter(|(id, _)| !seen.contains(id.as_str())) {
            self.missing += 1;
            self.example(|| format!("{id:?} is missing: {}", document.source));
        }
        for line in expected.fresh.keys().filter(|line| !fresh.contains_key(line)) {
            self.missing += 1;
            self.example(|| format!("the document of line {line}, without an id, is missing"));
        }
        self.copies = fresh.values().map(|count| count - 1).sum();
        self.untold = self.copies.saturating_sub(told.duplicates);
    }

    fn letters(&mut self, expected: &Expected, told: &Told) {
        for (line, error) in &told.letters {
            let allowed = match expected.refused.get(line) {
                None => {
                    let is_repeated = told.is_repeated && DONE_BEFORE.iter().any(|kind| error.contains(kind));
                    self.repeated += u64::from(is_repeated);
                    is_repeated
                }
                Some(Refusal::Missing | Refusal::NotTaken) => true,
                Some(Refusal::Exists | Refusal::Older | Refusal::Overtaken) => !told.skips_conflicts,
            };
            if !allowed {
                self.false_letters += 1;
                self.example(|| format!("the dead letter of line {line} is false: {error}"));
            }
        }
        for (line, refusal) in &expected.refused {
            let wanted = match refusal {
                Refusal::Missing | Refusal::NotTaken => true,
                Refusal::Exists => !told.skips_conflicts,
                Refusal::Older | Refusal::Overtaken => false,
            };
            if wanted && !told.letters.contains_key(line) {
                self.lacking_letters += 1;
                self.example(|| format!("line {line} is refused ({refusal:?}) and no dead letter"));
            }
        }
    }
}

impl fmt::Display for Judgement {
    /// The faults with their numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.wrong, "wrong"),
            (self.missing, "missing"),
            (self.surplus, "surplus"),
            (self.untold, "untold copies"),
            (self.false_letters, "false dead letters"),
            (self.lacking_letters, "lacking dead letters"),
        ];
        let words: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(&if words.is_empty() { "right".to_owned() } else { words.join("; ") })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operations::{Form, Operations, Shape};

    /// A load that went well, and what it had to leave.
    fn well() -> (Expected, Told) {
        let shape = Shape { form: Form::Bulk, operations: 2000, refused: true };
        let expected = Operations::drawn(1, shape).expected;
        let with_ids = expected.documents.iter().map(|(id, document)| Found {
            id: id.clone(),
            routing: document.routing.clone(),
            source: document.source.clone(),
        });
        let without = expected.fresh.iter().map(|(line, source)| Found {
            id: format!("made-{line}"),
            routing: None,
            source: source.clone(),
        });
        let found = with_ids.chain(without).collect();
        let refused = expected.refused.iter().filter(|(_, refusal)| **refusal != Refusal::Overtaken);
        let letters = refused.map(|(line, refusal)| (*line, format!("{refusal:?}"))).collect();
        (expected, Told { found, letters, ..Told::default() })
    }

    #[test]
    fn a_load_that_went_well_is_clean() {
        let (expected, mut told) = well();
        let judgement = Judgement::of(&expected, &told);
        assert!(judgement.is_clean() && judgement.to_string() == "right", "{judgement:?}");
        told.letters.retain(|line, _| matches!(expected.refused[line], Refusal::Missing | Refusal::NotTaken));
        told.skips_conflicts = true;
        assert!(Judgement::of(&expected, &told).is_clean());
    }

    #[test]
    fn each_fault_is_counted_as_what_it_is() {
        type Change = fn(&Expected, &mut Told);
        let with_id = |told: &Told| told.found.iter().position(|found| found.source["fresh"] != true).unwrap();
        let faults: [(&str, Change); 9] = [
            ("1 wrong", |_, told| told.found[0].source["f0"] = json!(-1)),
            ("1 wrong", |_, told| told.found[0].routing = Some("elsewhere".to_owned())),
            ("1 missing", |_, told| drop(told.found.remove(0))),
            ("1 missing", |_, told| drop(told.found.pop())),
            ("1 surplus", |_, told| told.found.push(Found { id: "deleted".to_owned(), ..told.found[0].clone() })),
            ("1 surplus", |_, told| told.found.push(told.found[0].clone())),
            ("1 untold copies", |_, told| told.found.push(told.found.last().unwrap().clone())),
            ("1 false dead letters", |expected, told| {
                let line = (1..).find(|line| !expected.refused.contains_key(line)).unwrap();
                told.letters.insert(line, String::new());
            }),
            ("1 lacking dead letters", |expected, told| {
                let lacking = expected.refused.iter().find(|(_, refusal)| **refusal == Refusal::Missing).unwrap();
                told.letters.remove(lacking.0);
            }),
        ];
        for (words, change) in faults {
            let (expected, mut told) = well();
            assert_eq!(with_id(&told), 0);
            change(&expected, &mut told);
            let judgement = Judgement::of(&expected, &told);
            assert_eq!(judgement.to_string(), words, "{judgement:?}");
            assert!(!judgement.is_clean() && judgement.examples.len() <= EXAMPLES);
        }
    }

    #[test]
    fn copies_that_the_report_tells_are_no_fault() {
        let (expected, mut told) = well();
        told.found.push(told.found.last().unwrap().clone());
        told.duplicates = 1;
        let judgement = Judgement::of(&expected, &told);
        assert!(judgement.is_clean() && judgement.copies == 1, "{judgement:?}");
    }

    #[test]
    fn an_operation_that_a_proxy_repeats_may_be_a_conflict() {
        let (expected, mut told) = well();
        let line = (1..).find(|line| !expected.refused.contains_key(line)).unwrap();
        for (error, right) in [("version_conflict_engine_exception", true), ("mapper_parsing_exception", false)] {
            told.letters.insert(line, format!("{{\"type\":\"{error}\"}}"));
            for is_repeated in [false, true] {
                told.is_repeated = is_repeated;
                let judgement = Judgement::of(&expected, &told);
                let excused = right && is_repeated;
                assert_eq!((judgement.is_clean(), judgement.repeated), (excused, u64::from(excused)), "{error}");
            }
        }
    }
}
