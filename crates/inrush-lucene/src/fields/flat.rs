//! Objects whose values are terms of a few fields, as fields of the types `flattened` and
//! `flat_object` take them.
//!
//! Source: the documentation of `flattened` in Elasticsearch and of `flat_object` in OpenSearch,
//! and the indices that OpenSearch makes of the latter.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use crate::fields::convert::{self, Indexable, convert};
use crate::fields::document::Walk;
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::object::Flat;
use crate::fields::refused::{Refused, TERM_MAX};

/// Where the walk through an object is.
#[derive(Default)]
struct At {
    /// The names on the way.
    path: Vec<String>,
    /// Of `flat_object`, the parts between dots of all names that have a value.
    parts: BTreeSet<String>,
}

impl<'a> Walk<'a, '_> {
    /// An object whose values are terms, or an array of them.
    pub(super) fn flat(&mut self, flat: &Flat) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.flat(flat)),
            b'n' => Ok(self.reader.skip()?),
            b'{' => {
                let mut at = At::default();
                self.flat_object(flat, &mut at)?;
                let name = &self.mapping.fields[flat.root].name;
                for part in at.parts {
                    self.push(flat.root, Indexable::Term(Cow::Owned(format!("{name}.{part}"))));
                }
                Ok(())
            }
            _ => Err(self.wrong(flat.root, "an object")),
        }
    }

    fn flat_object(&mut self, flat: &Flat, at: &mut At) -> Result<(), Refused> {
        if at.path.len() >= flat.depth_max {
            let field = &self.mapping.fields[flat.root].name;
            return Err(match flat.values {
                None => self.wrong(flat.root, "an object of fewer levels"),
                Some(_) => {
                    let most = flat.depth_max;
                    Refused::Unsupported(format!("an object of more than {most} levels in the field {field:?}"))
                }
            });
        }
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            at.path.push(name.clone().into_owned());
            if !names.insert(name) {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            self.flat_value(flat, at)?;
            at.path.pop();
        }
        Ok(())
    }

    fn flat_value(&mut self, flat: &Flat, at: &mut At) -> Result<(), Refused> {
        match self.reader.peek() {
            b'{' => return self.flat_object(flat, at),
            b'[' => {
                self.reader.open(b'[')?;
                let mut first = true;
                while self.reader.more(first, b']')? {
                    first = false;
                    self.flat_value(flat, at)?;
                }
                return Ok(());
            }
            _ => {}
        }
        let scalar = self.reader.scalar()?;
        match flat.values {
            None => self.flattened(flat, &at.path.join("."), &scalar),
            Some(values) => {
                self.part_of_object(flat, values, at, &scalar);
                Ok(())
            }
        }
    }

    /// A value of `flattened`.
    fn flattened(&mut self, flat: &Flat, name: &str, scalar: &Scalar<'a>) -> Result<(), Refused> {
        let root = &self.mapping.fields[flat.root];
        let Some(Indexable::Term(value)) = convert(scalar, root, self.mapping.target)? else { return Ok(()) };
        if name.contains('\0') {
            return Err(self.wrong(flat.root, "names without the character 0"));
        }
        let keyed = format!("{name}\0{value}");
        if keyed.len() > TERM_MAX {
            return Err(Refused::ImmenseTerm(self.mapping.fields[flat.keyed].name.clone()));
        }
        if root.indexed || root.doc_values {
            self.push(flat.root, Indexable::Term(value));
        }
        self.push(flat.keyed, Indexable::Term(Cow::Owned(keyed)));
        Ok(())
    }

    /// A value of `flat_object`. Null is none.
    fn part_of_object(&mut self, flat: &Flat, values: usize, at: &mut At, scalar: &Scalar<'a>) {
        if *scalar == Scalar::Null {
            return;
        }
        let (name, value) = (at.path.join("."), convert::text(scalar));
        let keyed = format!("{}.{name}={value}", self.mapping.fields[flat.root].name);
        let field = &self.mapping.fields[flat.keyed];
        // Of all terms this one with its prefix, in the doc values, is the longest.
        if field.prefix.len() + keyed.len() > TERM_MAX {
            let error = Refused::ImmenseTerm(field.name.clone());
            self.document.refused.get_or_insert(error);
            return;
        }
        at.parts.extend(parts(&name).map(str::to_owned));
        self.push(values, Indexable::Term(value));
        self.push(flat.keyed, Indexable::Term(Cow::Owned(keyed)));
    }
}

/// The parts of a name between its dots, as `String.split` of Java has them: without those at the
/// end that are empty.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let ended = name.trim_end_matches('.');
    let only_dots = ended.is_empty() && !name.is_empty();
    ended.split('.').filter(move |_| !only_dots)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parts;
    use crate::fields::convert::Indexable;
    use crate::fields::document::{Document, Habits, read};
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const OPENSEARCH: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

    fn mapping() -> Mapping {
        let target = ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 0], lucene: [9, 12, 2] };
        let fields = json!({"properties": {"f": {
            "type": "flattened", "depth_limit": 2, "null_value": "none", "ignore_above": 5}}});
        Mapping::parse(&fields, target).unwrap()
    }

    fn flat_object() -> Mapping {
        let fields = json!({"dynamic": "strict", "properties": {"o": {"properties": {"f": {"type": "flat_object"}}}}});
        Mapping::parse(&fields, OPENSEARCH).unwrap()
    }

    fn terms(document: &Document, mapping: &Mapping, field: &str) -> Vec<String> {
        let of_field = document.values.iter().filter(|(number, _)| mapping.fields[*number].name == field);
        of_field
            .map(|(_, value)| match value {
                Indexable::Term(term) => term.to_string(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn values_are_terms_with_their_names_and_without() {
        let mapping = mapping();
        let document =
            read(br#"{"f":[{"a":[1,null,"too long"],"b":{"c":true}},{}]}"#, &mapping, &mut Habits::default()).unwrap();
        assert_eq!(terms(&document, &mapping, "f"), ["1", "none", "true"]);
        assert_eq!(terms(&document, &mapping, "f._keyed"), ["a\x001", "a\0none", "b.c\0true"]);
        let refused = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).err();
        for source in [r#"{"f":1}"#, r#"{"f":{"a":{"b":{"c":1}}}}"#, r#"{"f":{"a\u0000":1}}"#] {
            assert!(matches!(refused(source), Some(Refused::Value { .. })), "{source}");
        }
        assert_eq!(refused(r#"{"f":null}"#), None);
    }

    #[test]
    fn a_flat_object_has_values_and_their_names_in_parts_and_whole() {
        let mapping = flat_object();
        let source =
            br#"{"o":{"f":[{"a":[1.50,null,[""]],"b.c":{"d":true,"a":{},"no":null}},null,[{"a":{"x":"y"}}]]}}"#;
        let document = read(source, &mapping, &mut Habits::default()).unwrap();
        assert_eq!(terms(&document, &mapping, "o.f"), ["o.f.a", "o.f.b", "o.f.c", "o.f.d", "o.f.a", "o.f.x"]);
        assert_eq!(terms(&document, &mapping, "o.f._value"), ["1.50", "", "true", "y"]);
        let keyed = ["o.f.a=1.50", "o.f.a=", "o.f.b.c.d=true", "o.f.a.x=y"];
        assert_eq!(terms(&document, &mapping, "o.f._valueAndPath"), keyed);
        let prefixes: Vec<&str> = mapping.fields.iter().map(|field| field.prefix.as_str()).collect();
        assert_eq!(prefixes, ["", "o.f.", "o.f."]);
    }

    #[test]
    fn parts_of_names_as_java_has_them() {
        let found = ["a.b", "", ".", "..", ".a", "a..b", "a..", "a. "].map(|name| parts(name).collect::<Vec<_>>());
        let expected: [&[&str]; 8] = [&["a", "b"], &[""], &[], &[], &["", "a"], &["a", "", "b"], &["a"], &["a", " "]];
        assert_eq!(found.each_ref().map(Vec::as_slice), expected);
    }

    #[test]
    fn what_a_flat_object_refuses() {
        let mapping = flat_object();
        let refused = |value: &str| {
            let source = format!(r#"{{"o":{value}}}"#);
            read(source.as_bytes(), &mapping, &mut Habits::default()).map(|document| document.refused)
        };
        for value in [r#"{"f":"x"}"#, r#"{"f":[1]}"#, r#"{"f":""}"#] {
            assert!(matches!(refused(value), Err(Refused::Value { .. })), "{value}");
        }
        for value in [r#"{"f":null}"#, r#"{"f":[null,[]]}"#, r#"{"f":{"":{}}}"#, r#"{"f.x":null}"#] {
            assert_eq!(refused(value), Ok(None), "{value}");
        }
        assert!(matches!(refused(r#"{"f.x":1}"#), Err(Refused::NoObject(_))));
        assert!(matches!(refused(r#"{"f":{"a":1,"a":2}}"#), Err(Refused::Malformed { .. })));
        let deep = |levels| format!(r#"{{"f":{}1{}}}"#, r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert_eq!(refused(&deep(500)), Ok(None));
        assert!(matches!(refused(&deep(501)), Err(Refused::Unsupported(_))));
        // "o.f." stands before "o.f.a=".
        let long = |bytes| format!(r#"{{"f":{{"a":"{}"}}}}"#, "x".repeat(bytes));
        assert_eq!(refused(&long(32_766 - 10)), Ok(None));
        assert_eq!(refused(&long(32_767 - 10)), Ok(Some(Refused::ImmenseTerm("o.f._valueAndPath".to_owned()))));
    }

    #[test]
    fn what_of_a_flat_object_is_not_built_is_named() {
        let of = |definition: Value, version, settings: Value| {
            let fields = json!({"properties": {"f": definition}});
            let target = ServerVersion { version, ..OPENSEARCH };
            Mapping::with_settings(&fields, settings.as_object().unwrap(), target).err().map(|error| error.what)
        };
        let flat = json!({"type": "flat_object"});
        for version in [[2, 19, 6], [3, 6, 1], [3, 8, 0]] {
            assert_eq!(of(flat.clone(), version, json!({})), None);
        }
        for version in [[2, 18, 0], [3, 5, 0], [3, 7, 0]] {
            assert_eq!(of(flat.clone(), version, json!({})), Some("the type \"flat_object\"".to_owned()));
        }
        let parameter = json!({"type": "flat_object", "ignore_above": 5});
        assert_eq!(of(parameter, [3, 6, 0], json!({})), Some("the parameter \"ignore_above\"".to_owned()));
        let fields = json!({"type": "keyword", "fields": {"x": flat}});
        assert_eq!(of(fields, [3, 6, 0], json!({})), Some("the type \"flat_object\"".to_owned()));
        for field in ["f", "f._value"] {
            assert!(of(flat.clone(), [3, 6, 0], json!({"index.sort.field": field})).is_some(), "{field}");
        }
    }
}
