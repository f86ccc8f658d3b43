//! One operation of a bulk request.

use bytes::Bytes;

/// The action of a bulk item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Writes a document and replaces an older one.
    Index,
    /// Writes a document unless its id exists.
    Create,
    /// Changes an existing document.
    Update,
    /// Removes a document.
    Delete,
}

impl Action {
    /// The name on the action line and in the reply.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Update => "update",
            Action::Delete => "delete",
        }
    }
}

/// The rule by which a given version is compared with the present one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VersionType {
    /// The server counts; a version cannot be given.
    #[default]
    Internal,
    /// The given version must be higher.
    External,
    /// The given version must not be lower.
    ExternalGte,
}

/// One operation of a bulk request.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    /// The action.
    pub(crate) action: Action,
    /// Index, alias or data stream, as the request names it.
    pub(crate) index: String,
    /// The id; `None` if the server makes one.
    pub(crate) id: Option<String>,
    /// The routing value; `None` if the id decides.
    pub(crate) routing: Option<String>,
    /// The version, for external version types.
    pub(crate) version: Option<i64>,
    /// The rule for `version`.
    pub(crate) version_type: VersionType,
    /// The sequence number that the present document must have.
    pub(crate) if_seq_no: Option<u64>,
    /// The ingest pipeline; `_none` turns off all pipelines.
    pub(crate) pipeline: Option<String>,
    /// Refuses names that are not an alias.
    pub(crate) require_alias: bool,
    /// The document, or the body of an update; empty for a delete.
    pub(crate) source: Bytes,
}
