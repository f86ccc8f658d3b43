//! What `_source` keeps of a document.
//!
//! Source: the documentation of the field `_source` in OpenSearch and Elasticsearch.
//!
//! The servers also keep the whole document as `_recovery_source`, which merges drop: other nodes
//! may ask for it only as long as they may ask for the single operations. Of an index that is built
//! here none does, as its commit says.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::fields::field_paths::FieldPaths;
use crate::fields::json::Reader;
use crate::fields::patterns_of_names::Patterns;
use crate::fields::refused::Refused;
use crate::fields::target::{KnownProduct, ServerVersion};
use crate::fields::tree::Json;

/// What `_source` keeps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeptSource {
    /// The text as it came.
    Whole,
    /// Nothing.
    Nothing,
    /// Some members, written as the server writes them.
    Some { filter: Filter, escapes_pairs: bool },
}

/// Which members are kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    /// By full names, with hash maps of Java.
    Maps { includes: Option<Patterns>, excludes: Patterns },
    /// By the names of levels, in the order of the text.
    Streams { includes: Option<FieldPaths>, excludes: Option<FieldPaths> },
}

impl KeptSource {
    /// Reads the definition of `_source`. `Err` has the part that is not supported.
    pub(super) fn read(definition: Option<&Value>, target: ServerVersion) -> Result<Self, String> {
        let none = Map::new();
        let definition = match definition {
            None => &none,
            Some(Value::Object(definition)) => definition,
            Some(_) => return Err("the parameter \"_source\"".to_owned()),
        };
        let (mut enabled, mut includes, mut excludes) = (true, Vec::new(), Vec::new());
        for (parameter, value) in definition {
            let unsupported = || format!("the parameter {parameter:?} with {value} of \"_source\"");
            match (parameter.as_str(), value) {
                ("enabled", Value::Bool(is)) => enabled = *is,
                ("includes", Value::Array(names)) => includes = texts(names).ok_or_else(unsupported)?,
                ("excludes", Value::Array(names)) => excludes = texts(names).ok_or_else(unsupported)?,
                _ => return Err(unsupported()),
            }
        }
        let is_changed = !enabled || !includes.is_empty() || !excludes.is_empty();
        if is_changed && !target.has_source_filters() {
            return Err("the parameter \"_source\" in this version".to_owned());
        }
        if !enabled {
            return Ok(Self::Nothing);
        }
        match is_changed {
            false => Ok(Self::Whole),
            true => Filter::new(&includes, &excludes, target.product)
                .map(|filter| Self::Some { filter, escapes_pairs: target.escapes_pairs() }),
        }
    }

    /// Whether it is the text as it came.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::Whole
    }

    /// What is kept of a document that was read.
    pub(crate) fn of<'a>(&self, source: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, Refused> {
        match self {
            Self::Whole => Ok(Some(Cow::Borrowed(source))),
            Self::Nothing => Ok(None),
            Self::Some { filter, escapes_pairs } => {
                let mut kept = Vec::with_capacity(source.len());
                filter.of(source)?.write(*escapes_pairs, &mut kept);
                Ok(Some(Cow::Owned(kept)))
            }
        }
    }
}

fn texts(values: &[Value]) -> Option<Vec<&str>> {
    values.iter().map(Value::as_str).collect()
}

impl Filter {
    fn new(includes: &[&str], excludes: &[&str], product: KnownProduct) -> Result<Self, String> {
        let by_maps = product == KnownProduct::OpenSearch || excludes.iter().any(|name| name.contains('*'));
        let some = |names: &[&str]| !names.is_empty();
        Ok(match by_maps {
            true => Self::Maps {
                includes: some(includes).then(|| Patterns::new(includes)).transpose()?,
                excludes: Patterns::new(excludes)?,
            },
            false => Self::Streams {
                includes: some(includes).then(|| FieldPaths::new(includes)).transpose()?,
                excludes: some(excludes).then(|| FieldPaths::new(excludes)).transpose()?,
            },
        })
    }

    fn of<'a>(&self, source: &'a [u8]) -> Result<Json<'a>, Refused> {
        let text = std::str::from_utf8(source).map_err(|_| Refused::NotUtf8)?;
        let mut reader = Reader::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        let Json::Object(members) = Json::read(&mut reader)? else { return Err(Refused::NoObject(String::new())) };
        if reader.half_pair {
            return Err(Refused::Unsupported("half a pair of UTF-16 in a document that `_source` filters".to_owned()));
        }
        let kept = match self {
            Self::Maps { includes, excludes } => {
                let any = Patterns::any();
                let includes = includes.as_ref().unwrap_or(&any);
                includes
                    .filter(members, excludes)
                    .ok_or_else(|| Refused::Unsupported("that many members of one hash in a document".to_owned()))?
            }
            Self::Streams { includes, excludes } => {
                let kept = excludes.iter().fold(members, |members, excludes| excludes.without(members));
                includes.iter().fold(kept, |members, includes| includes.only(members))
            }
        };
        Ok(Json::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(product: KnownProduct) -> ServerVersion {
        match product {
            KnownProduct::OpenSearch => ServerVersion { product, version: [3, 6, 0], lucene: [10, 4, 0] },
            KnownProduct::Elasticsearch => ServerVersion { product, version: [8, 19, 21], lucene: [9, 12, 2] },
        }
    }

    fn kept(product: KnownProduct, definition: Value, document: &str) -> String {
        let source = KeptSource::read(Some(&definition), target(product)).unwrap();
        let kept = source.of(document.as_bytes()).unwrap().unwrap_or_default();
        String::from_utf8(kept.into_owned()).unwrap()
    }

    #[test]
    fn empty_lists_keep_the_text() {
        for product in [KnownProduct::OpenSearch, KnownProduct::Elasticsearch] {
            for definition in [json!({}), json!({"enabled": true}), json!({"includes": [], "excludes": []})] {
                let text = " {\"a\" : 1.0e1}";
                assert_eq!(kept(product, definition, text), text);
            }
            let nothing = KeptSource::read(Some(&json!({"enabled": false, "includes": ["a"]})), target(product));
            assert_eq!(nothing, Ok(KeptSource::Nothing));
            for no in
                [json!({"mode": "synthetic"}), json!({"includes": "a"}), json!({"recovery_source_enabled": false})]
            {
                KeptSource::read(Some(&no), target(product)).unwrap_err();
            }
        }
    }

    #[test]
    fn what_a_filter_keeps_is_written_again() {
        let text = r#"{"b":1.10,"a":{"z":[],"y":-0},"c":"\u00e9\/\u001f😀","FB":1,"Ea":2e7,"n":null}"#;
        let all = json!({"includes": ["*"]});
        assert_eq!(
            kept(KnownProduct::OpenSearch, all.clone(), text),
            r#"{"a":{"z":[],"y":0},"b":1.1,"c":"é/\u001F\uD83D\uDE00","FB":1,"Ea":2.0E7,"n":null}"#
        );
        let version = ServerVersion { version: [3, 8, 0], ..target(KnownProduct::OpenSearch) };
        let newer = KeptSource::read(Some(&all), version).unwrap();
        assert!(String::from_utf8_lossy(&newer.of(text.as_bytes()).unwrap().unwrap()).contains("\\u001F😀\""));
        assert_eq!(
            kept(KnownProduct::Elasticsearch, all, text),
            r#"{"b":1.1,"a":{"z":[],"y":0},"c":"é/\u001F\uD83D\uDE00","FB":1,"Ea":2.0E7,"n":null}"#
        );
    }

    #[test]
    fn opensearch_keeps_objects_without_members() {
        let of = |definition, text| kept(KnownProduct::OpenSearch, definition, text);
        let text = r#"{"a":[1,{"b":1},[{"b":2,"c":3}],"t",{}],"b":{"c":{"d":{}}},"c":{"c":1},"d":[[],[[]],{}]}"#;
        assert_eq!(
            of(json!({"excludes": ["a.b", "b.c.d", "c.c"]}), text),
            r#"{"a":[1,[{"c":3}],"t"],"b":{"c":{}},"c":{},"d":[[],[[]],{}]}"#
        );
        assert_eq!(
            of(json!({"includes": ["a.*", "b"]}), text),
            r#"{"a":[{"b":1},[{"b":2,"c":3}]],"b":{"c":{"d":{}}}}"#
        );
        assert_eq!(of(json!({"excludes": ["*.c"]}), text), r#"{"a":[1,{"b":1},[{"b":2}],"t"],"b":{},"c":{},"d":[]}"#);
        let dots = r#"{"a.b":1,"a":{"c":2,"b.d":{"e":3}},"a.c.x":4,"aa":5,"A":6}"#;
        assert_eq!(of(json!({"excludes": ["a.b"]}), dots), r#"{"aa":5,"a":{"c":2},"A":6,"a.c.x":4}"#);
        assert_eq!(of(json!({"includes": ["a.b"]}), dots), r#"{"a":{"b.d":{"e":3}},"a.b":1}"#);
    }

    #[test]
    fn elasticsearch_leaves_out_objects_that_lost_their_members() {
        let of = |definition, text| kept(KnownProduct::Elasticsearch, definition, text);
        let text = r#"{"a":[1,{"b":1},[{"b":2,"c":3}],"t",{}],"b":{"c":{"d":{}}},"c":{"c":1},"d":[[],[[]],{}]}"#;
        assert_eq!(
            of(json!({"excludes": ["a.b", "b.c.d", "c.c"]}), text),
            r#"{"a":[1,[{"c":3}],"t",{}],"d":[[],[[]],{}]}"#
        );
        assert_eq!(
            of(json!({"includes": ["a.*", "b"]}), text),
            r#"{"a":[{"b":1},[{"b":2,"c":3}]],"b":{"c":{"d":{}}}}"#
        );
        assert_eq!(of(json!({"excludes": ["*.c"]}), text), r#"{"a":[1,{"b":1},[{"b":2}],"t"],"b":{},"c":{},"d":[]}"#);
        let dots = r#"{"a.b":1,"a":{"c":2,"b.d":{"e":3}},"a.c.x":4,"aa":5,"A":6}"#;
        assert_eq!(of(json!({"excludes": ["a.b"]}), dots), r#"{"a":{"c":2},"a.c.x":4,"aa":5,"A":6}"#);
        assert_eq!(of(json!({"includes": ["a.b"]}), dots), r#"{"a.b":1,"a":{"b.d":{"e":3}}}"#);
    }
}
