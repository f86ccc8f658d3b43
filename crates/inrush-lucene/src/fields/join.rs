//! Documents that are parents and children of each other, by a field of the type `join`.
//!
//! Source: the documentation of `join` in OpenSearch and Elasticsearch, and the indices that
//! OpenSearch makes of it. The field has the name of a document's relation. For each relation that
//! has children there is a field with a `#` in its name: its documents have their own id there, and
//! their children the id of the parent.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::fields::convert::Indexable;
use crate::fields::definition::field;
use crate::fields::document::Walk;
use crate::fields::field::{Field, JOIN};
use crate::fields::index_settings::IndexSettings;
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::refused::{Refused, TERM_MAX};
use crate::fields::target::{KnownProduct, Unsupported};

/// A field of the type `join`.
#[derive(Debug, Clone)]
pub(crate) struct Join {
    /// The number of the field with the names of relations.
    root: usize,
    relations: Vec<Relation>,
}

#[derive(Debug, Clone)]
struct Relation {
    name: String,
    /// The number of the field with the ids of parents, if it is one of children.
    parents: Option<usize>,
    /// The number of the field with the ids of its documents, if these may be parents.
    own: Option<usize>,
}

/// What a document says of its relation.
#[derive(Default)]
struct Joined<'a> {
    name: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

impl Join {
    /// Reads a definition; returns its fields, too, of which `first` is the first number.
    pub(super) fn read(
        definition: &Map<String, Value>,
        name: &str,
        first: usize,
        settings: &IndexSettings,
    ) -> Result<(Self, Vec<Field>), Unsupported> {
        let unsupported = |what: String| Unsupported { field: name.to_owned(), what };
        if name.contains('.') {
            return Err(unsupported("the type \"join\" in an object".to_owned()));
        }
        let known = |parameter: &str| matches!(parameter, "type" | "relations" | "eager_global_ordinals" | "meta");
        if let Some(parameter) = definition.keys().find(|parameter| !known(parameter)) {
            return Err(unsupported(format!("the parameter {parameter:?}")));
        }
        let keyword = Map::from_iter([("type".to_owned(), Value::from("keyword"))]);
        let field = |name: &str| {
            let field = field(&keyword, name, None, settings)?;
            Ok(Field { type_name: JOIN.to_owned(), single: true, ..field })
        };
        let (mut join, mut fields) = (Self { root: first, relations: Vec::new() }, vec![field(name)?]);
        for (parent, children) in definition.get("relations").and_then(Value::as_object).into_iter().flatten() {
            let children = names(children).ok_or_else(|| unsupported(format!("the relation {parent:?}")))?;
            let number = first + fields.len();
            fields.push(field(&format!("{name}#{parent}"))?);
            // Without children, there is no such relation in Elasticsearch.
            if !children.is_empty() || settings.target.product == KnownProduct::OpenSearch {
                join.relation(parent).own = Some(number);
            }
            for child in children {
                let parents = &mut join.relation(child).parents;
                if parents.replace(number).is_some_and(|before| before != number) {
                    return Err(unsupported(format!("two parents of the relation {child:?}")));
                }
            }
        }
        Ok((join, fields))
    }

    /// The names of the other fields that it adds, which no other field can have.
    pub(super) fn names<'f>(&self, fields: &'f [Field], product: KnownProduct) -> impl Iterator<Item = &'f str> {
        let own = fields[self.root + 1..].iter().map(|field| field.name.as_str());
        // It says in OpenSearch that there is one `join` only.
        own.chain((product == KnownProduct::OpenSearch).then_some("_parent_join"))
    }

    fn relation(&mut self, name: &str) -> &mut Relation {
        let at = self.relations.iter().position(|relation| relation.name == name).unwrap_or_else(|| {
            self.relations.push(Relation { name: name.to_owned(), parents: None, own: None });
            self.relations.len() - 1
        });
        &mut self.relations[at]
    }
}

/// The names of children: a text, or an array of some.
fn names(children: &Value) -> Option<Vec<&str>> {
    match children {
        Value::String(child) => Some(vec![child]),
        Value::Array(children) => children.iter().map(Value::as_str).collect(),
        _ => None,
    }
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
