//! Objects whose values are terms of one field, as fields of the type `flattened` take them.
//!
//! Source: the documentation of `flattened` in Elasticsearch.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::convert::{Indexable, convert};
use crate::fields::document::Walk;
use crate::fields::json::NO_DUPLICATE;
use crate::fields::mapping::Flat;
use crate::fields::refused::{Refused, TERM_MAX};

impl Walk<'_, '_> {
    /// An object whose values are terms, or an array of them.
    pub(super) fn flat(&mut self, flat: &Flat) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.flat(flat)),
            b'n' => Ok(self.reader.skip()?),
            b'{' => self.flat_object(flat, &mut Vec::new()),
            _ => Err(self.wrong(flat.root, "an object")),
        }
    }

    fn flat_object(&mut self, flat: &Flat, path: &mut Vec<String>) -> Result<(), Refused> {
        if path.len() >= flat.depth_max {
            return Err(self.wrong(flat.root, "an object of fewer levels"));
        }
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            path.push(name.clone().into_owned());
            if !names.insert(name) {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            self.flat_value(flat, path)?;
            path.pop();
        }
        Ok(())
    }

    fn flat_value(&mut self, flat: &Flat, path: &mut Vec<String>) -> Result<(), Refused> {
        match self.reader.peek() {
            b'{' => return self.flat_object(flat, path),
            b'[' => {
                self.reader.open(b'[')?;
                let mut first = true;
                while self.reader.more(first, b']')? {
                    first = false;
                    self.flat_value(flat, path)?;
                }
                return Ok(());
            }
            _ => {}
        }
        let scalar = self.reader.scalar()?;
        let root = &self.mapping.fields[flat.root];
        let Some(Indexable::Term(value)) = convert(&scalar, root, self.mapping.target.product)? else { return Ok(()) };
        let name = path.join(".");
        if name.contains('\0') {
            return Err(self.wrong(flat.root, "names without the character 0"));
        }
        let keyed = format!("{name}\0{value}");
        if keyed.len() > TERM_MAX {
            return Err(Refused::ImmenseTerm(self.mapping.fields[flat.keyed].name.clone()));
        }
        self.push(flat.root, Indexable::Term(value));
        self.push(flat.keyed, Indexable::Term(Cow::Owned(keyed)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fields::convert::Indexable;
    use crate::fields::document::{Document, Habits, read};
    use crate::fields::mapping::{Mapping, Product, Target};
    use crate::fields::refused::Refused;

    fn mapping() -> Mapping {
        let target = Target { product: Product::Elasticsearch, version: [8, 19, 0], lucene: [9, 12, 2] };
        let fields = json!({"properties": {"f": {
            "type": "flattened", "depth_limit": 2, "null_value": "none", "ignore_above": 5}}});
        Mapping::parse(&fields, target).unwrap()
    }

    #[test]
    fn values_are_terms_with_their_names_and_without() {
        let mapping = mapping();
        let document =
            read(br#"{"f":[{"a":[1,null,"too long"],"b":{"c":true}},{}]}"#, &mapping, &mut Habits::default()).unwrap();
        let terms = |document: &Document, field: &str| -> Vec<String> {
            let of_field = document.values.iter().filter(|(number, _)| mapping.fields[*number].name == field);
            of_field
                .map(|(_, value)| match value {
                    Indexable::Term(term) => term.to_string(),
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(terms(&document, "f"), ["1", "none", "true"]);
        assert_eq!(terms(&document, "f._keyed"), ["a\x001", "a\0none", "b.c\0true"]);
        let refused = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).err();
        for source in [r#"{"f":1}"#, r#"{"f":{"a":{"b":{"c":1}}}}"#, r#"{"f":{"a\u0000":1}}"#] {
            assert!(matches!(refused(source), Some(Refused::Value { .. })), "{source}");
        }
        assert_eq!(refused(r#"{"f":null}"#), None);
    }
}
