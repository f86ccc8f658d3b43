//! Errors as the servers word them, for a whole request and for one item.

use serde_json::{Map, Value, json};

/// An error reply: status, type, reason and what else the servers put beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct EsError {
    /// HTTP status, of the request or of the item.
    pub status: u16,
    /// The error's type, such as `version_conflict_engine_exception`.
    pub kind: String,
    /// The human-readable reason.
    pub reason: String,
    /// Further keys (`index`, `index_uuid`, `shard`, `durability` …).
    pub extra: Vec<(String, Value)>,
    /// What the server gives as the cause.
    pub caused_by: Option<Box<EsError>>,
}

impl EsError {
    /// An error without further keys.
    pub fn new(status: u16, kind: impl Into<String>, reason: impl Into<String>) -> Self {
        EsError { status, kind: kind.into(), reason: reason.into(), extra: Vec::new(), caused_by: None }
    }

    /// The commonest one: 400 `illegal_argument_exception`.
    pub fn illegal_argument(reason: impl Into<String>) -> Self {
        EsError::new(400, "illegal_argument_exception", reason)
    }

    /// 400 `action_request_validation_exception` with one failure.
    pub fn validation(failure: &str) -> Self {
        EsError::new(400, "action_request_validation_exception", format!("Validation Failed: 1: {failure};"))
    }

    /// 404 for an index that is not there; `resource_type` differs between single-document and other requests.
    pub fn index_not_found(index: &str, resource_type: &str) -> Self {
        EsError::new(404, "index_not_found_exception", format!("no such index [{index}]"))
            .with("resource.type", resource_type)
            .with("resource.id", index)
            .with("index_uuid", "_na_")
            .with("index", index)
    }

    /// 403 or 429 for a blocked index, in the servers' wording of the block.
    pub fn blocked(status: u16, index: &str, block: &str) -> Self {
        EsError::new(status, "cluster_block_exception", format!("index [{index}] blocked by: [{block}];"))
    }

    /// Adds a key beside type and reason.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.push((key.to_owned(), value.into()));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, kind: &str, reason: impl Into<String>) -> Self {
        self.caused_by = Some(Box::new(EsError::new(self.status, kind, reason)));
        self
    }

    /// The object that stands under an item's `error`.
    pub fn to_item(&self) -> Value {
        let mut object = Map::new();
        object.insert("type".into(), self.kind.clone().into());
        object.insert("reason".into(), self.reason.clone().into());
        object.extend(self.extra.clone());
        if let Some(cause) = &self.caused_by {
            object.insert("caused_by".into(), cause.to_item());
        }
        Value::Object(object)
    }

    /// The body of a refused request.
    pub fn to_body(&self) -> Value {
        let mut root = self.to_item();
        if let Some(object) = root.as_object_mut() {
            object.remove("caused_by");
        }
        let mut error = Map::new();
        error.insert("root_cause".into(), json!([root]));
        if let Value::Object(item) = self.to_item() {
            error.extend(item);
        }
        json!({ "error": error, "status": self.status })
    }
}
