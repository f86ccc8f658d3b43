//! The relations of a field of the type `join`.
//!
//! Source: the documentation of `join` in OpenSearch and Elasticsearch, and the indices that
//! OpenSearch makes of it. The field has the name of a document's relation. For each relation that
//! has children there is a field with a `#` in its name: its documents have their own id there, and
//! their children the id of the parent.

use serde_json::{Map, Value};

use crate::fields::definition::field;
use crate::fields::field::{Field, JOIN};
use crate::fields::index_settings::IndexSettings;
use crate::fields::target::{KnownProduct, Unsupported};

/// A field of the type `join`.
#[derive(Debug, Clone)]
pub(crate) struct Join {
    /// The number of the field with the names of relations.
    pub(super) root: usize,
    pub(super) relations: Vec<Relation>,
}

#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) name: String,
    /// The number of the field with the ids of parents, if it is one of children.
    pub(super) parents: Option<usize>,
    /// The number of the field with the ids of its documents, if these may be parents.
    pub(super) own: Option<usize>,
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
