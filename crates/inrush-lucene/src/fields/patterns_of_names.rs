//! Patterns of full names, and what they keep of objects that are hash maps of Java.
//!
//! Source: the documentation of the field `_source` in OpenSearch and Elasticsearch.

use crate::fields::java_map;
use crate::fields::tree::{Json, Members};

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// This character.
    One(char),
    /// Any characters, or none.
    Any,
}

/// Patterns with stars. A name fits one, or what is before a dot in it does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patterns(Vec<Vec<Part>>);

/// How far names may be in patterns: the number of one, and a place in it. That behind the last one
/// is the end, and the next one is behind a dot that follows.
type Places = Vec<(usize, usize)>;

/// Patterns, and how far a name is in them.
#[derive(Clone)]
struct State<'p> {
    patterns: &'p Patterns,
    places: Places,
}

impl Patterns {
    pub(super) fn new(patterns: &[&str]) -> Result<Self, String> {
        let part = |c| if c == '*' { Part::Any } else { Part::One(c) };
        // The servers compare units of UTF-16 with characters.
        match patterns.iter().find(|pattern| pattern.chars().any(|c| c > '\u{ffff}')) {
            Some(pattern) => Err(format!("the pattern {pattern:?} in \"_source\"")),
            None => Ok(Self(patterns.iter().map(|pattern| pattern.chars().map(part).collect()).collect())),
        }
    }

    /// What fits every name.
    pub(super) fn any() -> Self {
        Self(vec![vec![Part::Any]])
    }

    /// The members that these patterns fit, and `excludes` do not. `None` if their order is not
    /// known.
    pub(super) fn filter<'a>(&self, members: Members<'a>, excludes: &Self) -> Option<Members<'a>> {
        object(members, &State::new(self), &State::new(excludes))
    }
}

impl<'p> State<'p> {
    fn new(patterns: &'p Patterns) -> Self {
        let mut state = Self { patterns, places: Vec::new() };
        (0..patterns.0.len()).for_each(|pattern| state.enter(pattern, 0));
        state
    }

    /// Adds a place, and those behind it that are reached without a character.
    fn enter(&mut self, pattern: usize, place: usize) {
        if self.places.contains(&(pattern, place)) {
            return;
        }
        self.places.push((pattern, place));
        if self.patterns.0[pattern].get(place) == Some(&Part::Any) {
            self.enter(pattern, place + 1);
        }
    }

    /// The state behind a text.
    fn after(&self, text: &str) -> Self {
        let mut state = self.clone();
        for c in text.chars() {
            for (pattern, place) in std::mem::take(&mut state.places) {
                let parts = &self.patterns.0[pattern];
                match parts.get(place) {
                    Some(Part::Any) => state.enter(pattern, place),
                    Some(Part::One(one)) if *one == c => state.enter(pattern, place + 1),
                    None if place > parts.len() => state.enter(pattern, place),
                    None if c == '.' => state.enter(pattern, place + 1),
                    _ => {}
                }
            }
        }
        state
    }

    /// Whether the name fits.
    fn fits(&self) -> bool {
        self.places.iter().any(|(pattern, place)| *place >= self.patterns.0[*pattern].len())
    }

    /// Whether no longer name fits either.
    fn is_over(&self) -> bool {
        self.places.is_empty()
    }
}

fn object<'a>(members: Members<'a>, includes: &State, excludes: &State) -> Option<Members<'a>> {
    let any = Patterns::any();
    let mut kept: Members = Vec::new();
    for (name, value) in members {
        let (included, excluded) = (includes.after(&name), excludes.after(&name));
        if included.is_over() || excluded.fits() {
            continue;
        }
        let is_included = included.fits();
        if is_included && excluded.after(".").is_over() {
            kept.push((name, value));
            continue;
        }
        // Below what is included only the others count.
        let below = if is_included { State::new(&any) } else { included };
        let value = match value {
            Json::Object(members) => Json::Object(object(members, &below.after("."), &excluded.after("."))?),
            Json::Array(elements) => Json::Array(array(elements, &below, &excluded)?),
            Json::Scalar(scalar) if is_included => Json::Scalar(scalar),
            Json::Scalar(_) => continue,
        };
        if is_included || !value.is_empty() {
            kept.push((name, value));
        }
    }
    java_map::in_order(kept, java_map::BUCKETS, |(name, _)| name)
}

fn array<'a>(elements: Vec<Json<'a>>, includes: &State, excludes: &State) -> Option<Vec<Json<'a>>> {
    let mut kept = Vec::new();
    for value in elements {
        let value = match value {
            Json::Object(members) => Json::Object(object(members, &includes.after("."), &excludes.after("."))?),
            Json::Array(elements) => Json::Array(array(elements, includes, excludes)?),
            Json::Scalar(scalar) if includes.fits() => {
                kept.push(Json::Scalar(scalar));
                continue;
            }
            Json::Scalar(_) => continue,
        };
        if !value.is_empty() {
            kept.push(value);
        }
    }
    Some(kept)
}
