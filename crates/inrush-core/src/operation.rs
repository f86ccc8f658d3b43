//! The operation on each document: its action, and the fields of id, routing and version.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::field_path::FieldPath;
pub use crate::index_name::{IndexPart, IndexTemplate, check_index_name};
use crate::shaping::Shaping;

/// The longest id that servers accept, bytes of UTF-8. A longer one spoils the whole request (bulk
/// request validation in both servers), so it is checked here.
pub const ID_LEN_MAX: usize = 512;

/// The action of a bulk item, in the servers' words. `upsert` is an `update` with `doc_as_upsert`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Add the document, or replace the document with the same id.
    #[default]
    Index,
    /// Add the document; 409 if the id exists. The only action of data streams.
    Create,
    /// Merge the document into an existing one; 404 if the id does not exist. Needs an id.
    Update,
    /// Merge the document into an existing one, or add it. Needs an id.
    Upsert,
    /// Remove the document with this id; the content is not sent. Needs an id.
    Delete,
}

impl Action {
    /// The key of the action line.
    pub const fn bulk_key(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Update | Action::Upsert => "update",
            Action::Delete => "delete",
        }
    }

    /// Whether the action needs an id. Otherwise the server generates one where none is given.
    pub const fn needs_id(self) -> bool {
        match self {
            Action::Index | Action::Create => false,
            Action::Update | Action::Upsert | Action::Delete => true,
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "index" => Ok(Action::Index),
            "create" => Ok(Action::Create),
            "update" => Ok(Action::Update),
            "upsert" => Ok(Action::Upsert),
            "delete" => Ok(Action::Delete),
            other => Err(format!("unknown action {other:?}; expected index, create, update, upsert or delete")),
        }
    }
}

/// The type of an external version, in the servers' words (`version_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionType {
    /// A document replaces one with a lower version.
    #[default]
    #[serde(alias = "external_gt")]
    External,
    /// A document replaces one with a lower version or the same.
    ExternalGte,
}

impl VersionType {
    /// The name in an action line.
    pub const fn name(self) -> &'static str {
        match self {
            VersionType::External => "external",
            VersionType::ExternalGte => "external_gte",
        }
    }
}

/// The operation on every document of a job. A source can override it ([`crate::DocMeta`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// The action.
    pub action: Action,
    /// The index.
    pub index: IndexTemplate,
    /// The field of the id. Without it the server generates ids.
    pub id: Option<FieldPath>,
    /// The field of the routing value.
    pub routing: Option<FieldPath>,
    /// The field of the external version, a whole number from 0 to 2^63 - 1. Its type is
    /// [`VersionType::External`].
    pub version: Option<FieldPath>,
    /// How the document is changed before it is sent.
    pub shaping: Shaping,
}

impl Operations {
    /// This action on all documents, in this index, with ids of this field.
    pub fn new(action: Action, index: IndexTemplate, id: Option<FieldPath>) -> Self {
        Operations { action, index, id, routing: None, version: None, shaping: Shaping::default() }
    }

    /// The same operations with the names that fields have in the source.
    #[must_use]
    pub(crate) fn of_source(mut self) -> Self {
        let shaping = std::mem::take(&mut self.shaping);
        for path in [&mut self.id, &mut self.routing, &mut self.version].into_iter().flatten() {
            *path = shaping.in_source(path);
        }
        Operations { index: self.index.with_fields(|path| shaping.in_source(path)), shaping, ..self }
    }

    /// The fields that ids, routing values, versions and index names are made of.
    pub fn fields(&self) -> Vec<String> {
        let Operations { index, id, routing, version, .. } = self;
        let parts = index.parts().iter().filter_map(|part| match part {
            IndexPart::Field(path) | IndexPart::Date(path, _) => Some(path),
            IndexPart::Text(_) => None,
        });
        [id, routing, version].into_iter().flatten().chain(parts).map(|path| path.as_str().to_owned()).collect()
    }
}
