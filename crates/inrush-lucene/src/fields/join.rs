//! Documents that are parents and children of each other, by a field of the type `join`.
//!
//! Source: as of [`Join`].

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::convert::Indexable;
use crate::fields::document::Walk;
use crate::fields::field::{Field, JOIN};
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::refused::{Refused, TERM_MAX};
use crate::fields::relations::Join;

/// What a document says of its relation.
#[derive(Default)]
struct Joined<'a> {
    name: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

/// The refusal of a child without a routing value.
pub(crate) fn no_routing(field: &Field) -> Refused {
    let expected = "a routing value of the document, which is a child";
    Refused::Value { field: field.name.clone(), type_name: JOIN.to_owned(), expected }
}

impl<'a> Walk<'a, '_> {
    /// The relation of a document. In an array are several, which Lucene refuses.
    pub(super) fn join(&mut self, join: &Join) -> Result<(), Refused> {
        let mut joined = Joined::default();
        match self.reader.peek() {
            b'[' => return self.each(|walk| walk.join(join)),
            b'{' => self.joined(join, &mut joined)?,
            b'"' => self.joined_value(join, "name", &mut joined)?,
            _ => return Err(self.wrong(join.root, "the name of a relation, or an object")),
        }
        let Joined { name, parent } = joined;
        let relation = name.as_ref().and_then(|name| join.relations.iter().find(|relation| relation.name == *name));
        let Some((relation, name)) = relation.zip(name) else {
            return Err(self.wrong(join.root, "a `name` that is a relation of the mapping"));
        };
        if let Some(number) = relation.parents {
            let parent = parent.ok_or_else(|| self.wrong(join.root, "a `parent`, as the document is a child"))?;
            self.document.child_by = Some(join.root);
            self.push_single(number, Indexable::Term(parent));
        }
        if let Some(number) = relation.own {
            self.push_single(number, Indexable::OwnId);
        }
        self.push_single(join.root, Indexable::Term(name));
        Ok(())
    }

    fn joined(&mut self, join: &Join, joined: &mut Joined<'a>) -> Result<(), Refused> {
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            if !names.insert(name.clone()) {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            self.joined_value(join, &name, joined)?;
        }
        Ok(())
    }

    /// A value of a member. Of an array the servers read the values, and take the last one.
    fn joined_value(&mut self, join: &Join, member: &str, joined: &mut Joined<'a>) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => {
                self.reader.open(b'[')?;
                let mut first = true;
                while self.reader.more(first, b']')? {
                    first = false;
                    self.joined_value(join, member, joined)?;
                }
                return Ok(());
            }
            // The servers take its end for that of the whole one.
            b'{' => {
                let name = &self.mapping.fields[join.root].name;
                return Err(Refused::Unsupported(format!("an object in that of the field {name:?}")));
            }
            _ => {}
        }
        match (member, self.reader.scalar()?) {
            (_, Scalar::Null | Scalar::Bool(_)) => {}
            ("name", Scalar::Text(name)) => joined.name = Some(name),
            ("parent", Scalar::Text(parent)) => joined.parent = Some(parent),
            ("parent", Scalar::Number(number)) => joined.parent = Some(self.number_of_parent(join, number)?),
            _ => return Err(self.wrong(join.root, "no members but `name` and `parent`, which are texts")),
        }
        Ok(())
    }

    /// The text of a number, as Java writes it.
    fn number_of_parent(&self, join: &Join, number: &'a str) -> Result<Cow<'a, str>, Refused> {
        if number.bytes().any(|byte| !byte.is_ascii_digit() && byte != b'-') {
            let name = &self.mapping.fields[join.root].name;
            return Err(Refused::Unsupported(format!("a decimal as the parent in the field {name:?}")));
        }
        Ok(Cow::Borrowed(if number == "-0" { "0" } else { number }))
    }

    /// Adds a value to a field that takes one.
    fn push_single(&mut self, number: usize, value: Indexable<'a>) {
        let name = &self.mapping.fields[number].name;
        let refused = if self.document.values.iter().any(|(other, _)| *other == number) {
            Some(Refused::Several(name.clone()))
        } else if matches!(&value, Indexable::Term(term) if term.len() > TERM_MAX) {
            Some(Refused::ImmenseTerm(name.clone()))
        } else {
            None
        };
        match refused {
            Some(refused) => drop(self.document.refused.get_or_insert(refused)),
            None => self.push(number, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fields::convert::Indexable;
    use crate::fields::document::{Document, Habits, read};
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const OPENSEARCH: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
    const ELASTICSEARCH: ServerVersion =
        ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 21], lucene: [9, 12, 2] };

    fn mapping(target: ServerVersion) -> Mapping {
        let join = json!({"type": "join", "eager_global_ordinals": "false",
            "relations": {"a": ["b", "c"], "b": "d", "e": []}});
        Mapping::parse(&json!({"properties": {"j": join, "k": {"type": "keyword"}}}), target).unwrap()
    }

    /// The values of the fields of a `join`; `#` is the id of the document.
    fn values(document: &Document, mapping: &Mapping) -> Vec<(String, String)> {
        let text = |value: &Indexable| match value {
            Indexable::Term(term) => term.to_string(),
            Indexable::OwnId => "#".to_owned(),
            other => panic!("{other:?}"),
        };
        document.values.iter().map(|(number, value)| (mapping.fields[*number].name.clone(), text(value))).collect()
    }

    fn read_one(value: &str, target: ServerVersion) -> Result<(Vec<(String, String)>, bool), Refused> {
        let (mapping, source) = (mapping(target), format!("{{\"j\":{value}}}"));
        let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
        match &document.refused {
            Some(refused) => Err(refused.clone()),
            None => Ok((values(&document, &mapping), document.child_by.is_some())),
        }
    }

    #[test]
    fn parents_have_their_own_id_and_children_that_of_the_parent() {
        let found = |value: &str| {
            let (values, is_child) = read_one(value, OPENSEARCH).unwrap();
            let values: Vec<String> = values.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
            (values.join(" "), is_child)
        };
        for (value, expected, is_child) in [
            (r#""a""#, "j#a=# j=a", false),
            (r#"["a"]"#, "j#a=# j=a", false),
            ("[[],[]]", "", false),
            (r#"{"name":"a","parent":"1","more":[null,true]}"#, "j#a=# j=a", false),
            (r#"{"parent":"1","name":"b"}"#, "j#a=1 j#b=# j=b", true),
            (r#"{"name":"c","parent":-7}"#, "j#a=-7 j=c", true),
            (r#"{"name":"d","parent":-0}"#, "j#b=0 j=d", true),
            (r#"{"name":["e","d"],"parent":["1",["2"],null]}"#, "j#b=2 j=d", true),
            (r#"{"name":"b","parent":""}"#, "j#a= j#b=# j=b", true),
            (r#""e""#, "j#e=# j=e", false),
        ] {
            assert_eq!(found(value), (expected.to_owned(), is_child), "{value}");
        }
        // Elasticsearch knows no relation without a child.
        assert!(matches!(read_one(r#""e""#, ELASTICSEARCH), Err(Refused::Value { .. })));
    }

    #[test]
    fn what_the_servers_refuse() {
        for value in [
            "null",
            "5",
            "true",
            "[null]",
            "{}",
            r#""x""#,
            r#""""#,
            r#""b""#,
            r#"{"name":"b"}"#,
            r#"{"name":"b","parent":null}"#,
            r#"{"name":5}"#,
            r#"{"name":"a","more":"x"}"#,
            r#"{"name":"a","more":1}"#,
            r#"{"parent":"1"}"#,
        ] {
            for target in [OPENSEARCH, ELASTICSEARCH] {
                assert!(matches!(read_one(value, target), Err(Refused::Value { .. })), "{value}");
            }
        }
        let several = |field: &str| Err(Refused::Several(field.to_owned()));
        assert_eq!(read_one(r#"["a","a"]"#, OPENSEARCH), several("j#a"));
        assert_eq!(read_one(r#"["a","e"]"#, OPENSEARCH), several("j"));
        let long = |bytes| format!(r#"{{"name":"d","parent":"{}"}}"#, "x".repeat(bytes));
        assert!(read_one(&long(32_766), OPENSEARCH).is_ok());
        assert_eq!(read_one(&long(32_767), OPENSEARCH), Err(Refused::ImmenseTerm("j#b".to_owned())));
        assert!(matches!(read_one(r#"{"name":"a","name":"a"}"#, OPENSEARCH), Err(Refused::Malformed { .. })));
    }

    #[test]
    fn what_only_a_server_builds_is_named() {
        for value in [r#"{"name":{"name":"a"}}"#, r#"{"name":"d","parent":1.5}"#] {
            assert!(matches!(read_one(value, OPENSEARCH), Err(Refused::Unsupported(_))), "{value}");
        }
        for (name, target) in [("j#a", ELASTICSEARCH), ("j#a", OPENSEARCH), ("_parent_join", OPENSEARCH)] {
            let source = format!(r#"{{"{name}":"x"}}"#);
            let found = read(source.as_bytes(), &mapping(target), &mut Habits::default()).map(|_| ());
            assert!(matches!(found, Err(Refused::Unsupported(_))), "{name}: {found:?}");
        }
        let of = |properties: Value| {
            Mapping::parse(&json!({ "properties": properties }), OPENSEARCH).err().map(|error| error.to_string())
        };
        let join = json!({"type": "join", "relations": {"a": "b"}});
        for (properties, expected) in [
            (json!({"o": {"properties": {"j": join}}}), "\"o.j\" of the mapping has the type \"join\" in an object"),
            (json!({"j": join, "j#a": {"type": "keyword"}}), "\"j#a\" of the mapping has two definitions"),
            (json!({"j": {"type": "join", "store": true}}), "the parameter \"store\""),
            (json!({"j": {"type": "join", "relations": {"a": 5}}}), "the relation \"a\""),
            (json!({"j": {"type": "join", "relations": {"a": "c", "b": "c"}}}), "two parents of the relation \"c\""),
            (json!({"j": join, "k": {"type": "keyword", "copy_to": "j"}}), "`copy_to` \"j\""),
        ] {
            let found = of(properties);
            assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{found:?}");
        }
    }

    #[test]
    fn its_fields_count_where_the_server_counts_them() {
        let most = |target: ServerVersion, most: u64| {
            let settings = json!({"index.mapping.total_fields.limit": most});
            let join =
                json!({"properties": {"j": {"type": "join", "relations": {"a": ["b", "c"], "b": "d", "e": []}}}});
            let mapping = Mapping::with_settings(&join, settings.as_object().unwrap(), target).unwrap();
            let new = read(br#"{"n":1}"#, &mapping, &mut Habits::default()).unwrap().new.unwrap();
            mapping.with_fields(&new).map(|_| ()).err()
        };
        // The field, three with `#`, and `_parent_join`.
        assert_eq!((most(OPENSEARCH, 5), most(OPENSEARCH, 6)), (Some(Refused::Fields(5)), None));
        assert_eq!((most(ELASTICSEARCH, 1), most(ELASTICSEARCH, 2)), (Some(Refused::Fields(1)), None));
    }
}
