//! Errors: those of the servers, in their words, and those of texts.

use std::fmt;

use serde_json::{Map, Value, json};

/// An error reply of the fake, worded as the server words it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerError {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) reason: String,
    /// Keys beside type and reason: `index`, `index_uuid`, `shard`, `durability` and others.
    extra: Vec<(String, Value)>,
    caused_by: Option<Box<ServerError>>,
}

impl ServerError {
    /// The HTTP status of the request or of the item.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The error type, such as `version_conflict_engine_exception`. Empty for the few replies that
    /// carry a text alone.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The reason, as a person reads it.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn new(status: u16, kind: impl Into<String>, reason: impl Into<String>) -> Self {
        ServerError { status, kind: kind.into(), reason: reason.into(), extra: Vec::new(), caused_by: None }
    }

    /// 400 `illegal_argument_exception`, the most common error.
    pub(crate) fn illegal_argument(reason: impl Into<String>) -> Self {
        ServerError::new(400, "illegal_argument_exception", reason)
    }

    /// 400 `action_request_validation_exception` with one failure.
    pub(crate) fn validation(failure: &str) -> Self {
        ServerError::new(400, "action_request_validation_exception", format!("Validation Failed: 1: {failure};"))
    }

    /// 404 for a missing index. `resource_type` differs between single-document requests and
    /// others.
    pub(crate) fn index_not_found(index: &str, resource_type: &str) -> Self {
        ServerError::new(404, "index_not_found_exception", format!("no such index [{index}]"))
            .with("resource.type", resource_type)
            .with("resource.id", index)
            .with("index_uuid", "_na_")
            .with("index", index)
    }

    /// 403 or 429 for a blocked index; `block` is the block in the servers' words.
    pub(crate) fn blocked(status: u16, index: &str, block: &str) -> Self {
        ServerError::new(status, "cluster_block_exception", format!("index [{index}] blocked by: [{block}];"))
    }

    /// Adds a key beside type and reason.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.push((key.to_owned(), value.into()));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn caused_by(mut self, kind: &str, reason: impl Into<String>) -> Self {
        self.caused_by = Some(Box::new(ServerError::new(self.status, kind, reason)));
        self
    }

    /// The object under an item's `error`.
    pub(crate) fn to_item(&self) -> Value {
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
    pub(crate) fn to_body(&self) -> Value {
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

    /// The error in the body of a reply: an object with type and reason, a text, or no error at
    /// all.
    pub(crate) fn from_reply(status: u16, body: &Value) -> Self {
        let error = &body["error"];
        match (error["type"].as_str(), error["reason"].as_str(), error.as_str()) {
            (Some(kind), reason, _) => ServerError::new(status, kind, reason.unwrap_or_default()),
            (None, _, Some(text)) => ServerError::new(status, "", text),
            _ => ServerError::new(status, "", body.to_string()),
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.as_str() {
            "" => write!(f, "{}: {}", self.status, self.reason),
            kind => write!(f, "{} {kind}: {}", self.status, self.reason),
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.caused_by.as_ref().map(|cause| cause.as_ref() as &(dyn std::error::Error + 'static))
    }
}

/// A text that cannot be read: an unknown product, or a malformed script of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    message: String,
}

impl ParseError {
    pub(crate) fn new(message: String) -> Self {
        ParseError { message }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
