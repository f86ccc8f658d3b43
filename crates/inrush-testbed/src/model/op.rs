//! One operation of a bulk request.

use bytes::Bytes;

/// What a bulk item asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write, whatever is there.
    Index,
    /// Write unless the id exists.
    Create,
    /// Change an existing document.
    Update,
    /// Remove a document.
    Delete,
}

impl Action {
    /// The name on the action line and in the reply.
    pub fn name(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Update => "update",
            Action::Delete => "delete",
        }
    }
}

/// How a given version is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionType {
    /// The server counts; a version cannot be given.
    #[default]
    Internal,
    /// Must be higher than what is there.
    External,
    /// Must not be lower than what is there.
    ExternalGte,
}

/// One operation of a bulk request.
#[derive(Clone, Debug)]
pub struct Op {
    /// What to do.
    pub action: Action,
    /// Index, alias or data stream as the request named it.
    pub index: String,
    /// The id, unless the server is to make one.
    pub id: Option<String>,
    /// Routing value, unless the id decides.
    pub routing: Option<String>,
    /// Version, with external version types.
    pub version: Option<i64>,
    /// How `version` is compared.
    pub version_type: VersionType,
    /// Compare-and-set on the sequence number.
    pub if_seq_no: Option<u64>,
    /// Ingest pipeline; `_none` for none at all.
    pub pipeline: Option<String>,
    /// Refuse names that are no alias.
    pub require_alias: bool,
    /// The document, or the body of an update; empty for deletes.
    pub source: Bytes,
}
