//! Paths of names with stars, and what they keep of a text in its order.
//!
//! Source: the documentation of the field `_source` in Elasticsearch.

use crate::fields::tree::{Json, Member, Members};

/// Paths of patterns of names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldPaths(Vec<Vec<String>>);

/// The paths that fit so far, each with the number of names on the way.
type Places = Vec<(usize, usize)>;

impl FieldPaths {
    pub(super) fn new(paths: &[&str]) -> Result<Self, String> {
        let read = |path: &&str| {
            let is_plain = !path.contains("**") && !path.contains('\\') && path.trim() == *path;
            let parts: Vec<String> = path.split('.').map(str::to_owned).collect();
            match is_plain && parts.iter().all(|part| !part.is_empty()) {
                true => Ok(parts),
                false => Err(format!("the path {path:?} in \"_source\"")),
            }
        };
        paths.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    fn start(&self) -> Places {
        (0..self.0.len()).map(|path| (path, 0)).collect()
    }

    /// What fits with a further name, which may have dots. `None` if the whole member does.
    fn step(&self, places: &Places, name: &str) -> Option<Places> {
        let mut places = places.clone();
        for part in name.split('.') {
            let mut next = Vec::new();
            for (path, depth) in places {
                let parts = &self.0[path];
                if fits(&parts[depth], part) {
                    if depth + 1 == parts.len() {
                        return None;
                    }
                    next.push((path, depth + 1));
                }
            }
            places = next;
        }
        Some(places)
    }

    /// The members of a document that no path fits.
    pub(super) fn without<'a>(&self, members: Members<'a>) -> Members<'a> {
        self.members_without(members, &self.start())
    }

    fn members_without<'a>(&self, members: Members<'a>, places: &Places) -> Members<'a> {
        let keep = |(name, value): Member<'a>| {
            let places = self.step(places, &name)?;
            Some((name, self.value_without(value, &places)?))
        };
        members.into_iter().filter_map(keep).collect()
    }

    /// The rest of a value. An object or an array that lost all is left out.
    fn value_without<'a>(&self, value: Json<'a>, places: &Places) -> Option<Json<'a>> {
        if places.is_empty() || value.is_empty() {
            return Some(value);
        }
        let rest = match value {
            Json::Object(members) => Json::Object(self.members_without(members, places)),
            Json::Array(values) => {
                Json::Array(values.into_iter().filter_map(|value| self.value_without(value, places)).collect())
            }
            Json::Scalar(_) => return Some(value),
        };
        (!rest.is_empty()).then_some(rest)
    }

    /// The members of a document that a path fits.
    pub(super) fn only<'a>(&self, members: Members<'a>) -> Members<'a> {
        self.only_members(members, &self.start())
    }

    fn only_members<'a>(&self, members: Members<'a>, places: &Places) -> Members<'a> {
        let keep = |(name, value): Member<'a>| match self.step(places, &name) {
            None => Some((name, value)),
            Some(places) => Some((name, self.only_value(value, &places)?)),
        };
        members.into_iter().filter_map(keep).collect()
    }

    fn only_value<'a>(&self, value: Json<'a>, places: &Places) -> Option<Json<'a>> {
        if places.is_empty() {
            return None;
        }
        let kept = match value {
            Json::Object(members) => Json::Object(self.only_members(members, places)),
            Json::Array(values) => {
                Json::Array(values.into_iter().filter_map(|value| self.only_value(value, places)).collect())
            }
            Json::Scalar(_) => return None,
        };
        (!kept.is_empty()).then_some(kept)
    }
}

/// Whether a name fits a pattern with stars.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let starts = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            starts.into_iter().any(|at| fits(rest, &name[at..]))
        }),
    }
}
