//! Errors of requests to the cluster's API.

use inrush_core::Code;
use serde_json::Value;

use super::again;
use crate::transport::{HttpError, HttpErrorKind};

/// An API request without a usable reply. Each variant says what was expected and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// No complete reply, after the tries that were safe.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// 401: the cluster rejects the credentials.
    #[error(
        "{what}: the cluster does not accept the credentials (401{reason}); check user and password, API key or token"
    )]
    LogIn {
        /// What was requested.
        what: String,
        /// The reason that the server gave, with a separator before it, or nothing.
        reason: String,
    },
    /// 403: the cluster accepts the credentials, but forbids the request.
    #[error("{what}: forbidden (403{reason}); grant the user the privilege, or use another user")]
    Forbidden {
        /// What was requested.
        what: String,
        /// The reason that the server gave, with a separator before it, or nothing.
        reason: String,
    },
    /// Another error status.
    #[error("{what}: refused with {status}{reason}")]
    Refused {
        /// What was requested.
        what: String,
        /// The HTTP status.
        status: u16,
        /// The reason that the server gave, with a separator before it, or nothing.
        reason: String,
        /// The kind.
        code: Code,
    },
    /// A reply that neither Elasticsearch nor OpenSearch would give: another server answers, or an
    /// unknown version.
    #[error("{what}: the reply is not what was expected: {problem}; is this address Elasticsearch or OpenSearch?")]
    Reply {
        /// What was requested.
        what: String,
        /// What is wrong with the reply.
        problem: String,
    },
    /// A reply that is not JSON because of a document in it. The server had accepted the document
    /// although it is not JSON.
    #[error(
        "{what}: the index holds the document {id:?}, which is not JSON: {problem}; load it again as JSON, or delete it"
    )]
    Stored {
        /// What was requested.
        what: String,
        /// The id of the document.
        id: String,
        /// What is wrong with the reply.
        problem: String,
    },
    /// The target cannot take documents as it is.
    #[error("{name}: {problem}")]
    Target {
        /// Index, alias or data stream.
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An ingest pipeline is named and does not exist.
    #[error(
        "the ingest pipeline {pipeline} ({named_by}) does not exist; create it with PUT _ingest/pipeline/{pipeline}, or name another"
    )]
    NoPipeline {
        /// The pipeline.
        pipeline: String,
        /// What names the pipeline.
        named_by: String,
    },
    /// The documents cannot fit on the cluster's disks.
    #[error("{0}")]
    Disk(String),
}

impl ClusterError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            ClusterError::Http(error) => error.code(),
            ClusterError::LogIn { .. } => Code::Unauthenticated,
            ClusterError::Forbidden { .. } => Code::Forbidden,
            ClusterError::Refused { code, .. } => *code,
            ClusterError::Reply { .. } => Code::NotACluster,
            ClusterError::Stored { .. } => Code::StoredNotJson,
            ClusterError::Target { .. } => Code::TargetUnusable,
            ClusterError::NoPipeline { .. } => Code::NoPipeline,
            ClusterError::Disk(_) => Code::DiskFull,
        }
    }

    /// The HTTP status, if the reply was an error.
    pub fn status(&self) -> Option<u16> {
        match self {
            ClusterError::LogIn { .. } => Some(401),
            ClusterError::Forbidden { .. } => Some(403),
            ClusterError::Refused { status, .. } => Some(*status),
            ClusterError::Http(_)
            | ClusterError::Reply { .. }
            | ClusterError::Stored { .. }
            | ClusterError::Target { .. }
            | ClusterError::NoPipeline { .. }
            | ClusterError::Disk(_) => None,
        }
    }

    /// Whether the same read may succeed later: a node restarts, or a shard has no active copy.
    pub fn may_pass(&self) -> bool {
        match self {
            ClusterError::Http(error) => matches!(error.kind, HttpErrorKind::NotSent | HttpErrorKind::Lost),
            ClusterError::Refused { status, .. } => matches!(status, 429 | 500..=599),
            ClusterError::Target { .. } => true,
            ClusterError::LogIn { .. }
            | ClusterError::Forbidden { .. }
            | ClusterError::Reply { .. }
            | ClusterError::Stored { .. }
            | ClusterError::NoPipeline { .. }
            | ClusterError::Disk(_) => false,
        }
    }

    /// The error of a new index: a cluster that refuses it with 400 does not accept its name, its
    /// mapping or its settings.
    pub(super) fn of_new_index(self, body: &Value) -> Self {
        match self {
            ClusterError::Refused { what, status: 400, reason, .. } => {
                let code = Code::of_new_index(error_type(body).unwrap_or_default(), &reason);
                ClusterError::Refused { what, status: 400, reason, code }
            }
            other => other,
        }
    }

    /// Whether the request may have been carried out although it failed, and a later one may
    /// succeed: the cluster or the way to it failed for the moment.
    pub fn may_be_done(&self) -> bool {
        match self {
            ClusterError::Http(error) => !error.kind.surely_not_applied(),
            ClusterError::Refused { status: 500, reason, .. } => again::names_an_error_of_the_cluster(reason),
            ClusterError::Refused { status, .. } => matches!(status, 502..=504),
            // A page of a proxy.
            ClusterError::Reply { .. } => true,
            _ => false,
        }
    }

    /// Whether the cluster does not know the request, or does not let the user make it. The caller
    /// then skips a request whose answer would only have been useful. Older versions and gateways
    /// answer 400 or 405 to paths that they do not know.
    pub fn cannot_be_asked(&self) -> bool {
        matches!(self.status(), Some(400 | 403 | 404 | 405 | 410 | 500 | 501))
    }

    /// The error for a reply with `status` to the request `what`, with the reason in `body`.
    pub fn from_status(what: &str, status: u16, body: &Value) -> Self {
        let what = what.to_owned();
        let reason = match reason(body) {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        match status {
            401 => ClusterError::LogIn { what, reason },
            403 => ClusterError::Forbidden { what, reason },
            404 => ClusterError::Refused { what, status, reason, code: Code::NotFound },
            status => ClusterError::Refused { what, status, reason, code: Code::RequestRefused },
        }
    }
}

/// The type of an error of the server, as in `index_not_found_exception`.
pub(super) fn error_type(body: &Value) -> Option<&str> {
    body.get("error")?.get("type")?.as_str()
}

/// The server's description of an error: type and reason, and the innermost cause if there is one.
fn reason(body: &Value) -> Option<String> {
    let shown = |text: &str| text.chars().take(400).collect::<String>();
    let error = match body.get("error") {
        Some(Value::String(text)) => return Some(shown(text)),
        Some(error) => error,
        None => {
            let text =
                body.as_str().or_else(|| body.get("message")?.as_str()).or_else(|| body.get("Message")?.as_str())?;
            return (!text.trim().is_empty()).then(|| shown(text.trim()));
        }
    };
    let words = |error: &Value| {
        let kind = error.get("type").and_then(Value::as_str).unwrap_or("error");
        match error.get("reason").and_then(Value::as_str) {
            Some(reason) => format!("{kind}: {}", shown(reason)),
            None => kind.to_owned(),
        }
    };
    let mut innermost = error;
    while let Some(cause) = innermost.get("caused_by") {
        innermost = cause;
    }
    let mut text = words(error);
    // Many outer reasons end with the inner one.
    let inner = innermost.get("reason").and_then(Value::as_str).unwrap_or_default();
    if !text.contains(inner) {
        text.push_str(&format!(", because of {}", words(innermost)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: u16, body: Value, expected: &str) {
        assert_eq!(ClusterError::from_status("creating index x", status, &body).to_string(), expected);
    }

    #[test]
    fn each_kind_of_refusal_has_a_code() {
        let of = |status, kind: &str| {
            let body = json!({"error": {"type": kind, "reason": "-"}});
            ClusterError::from_status("creating index x", status, &body).of_new_index(&body).code()
        };
        assert_eq!(of(401, "security_exception"), Code::Unauthenticated);
        assert_eq!(of(403, "security_exception"), Code::Forbidden);
        assert_eq!(of(404, "index_not_found_exception"), Code::NotFound);
        assert_eq!(of(400, "mapper_parsing_exception"), Code::MappingRejected);
        assert_eq!(of(400, "invalid_index_name_exception"), Code::InvalidIndexName);
        assert_eq!(of(400, "illegal_argument_exception"), Code::MappingRejected);
        assert_eq!(of(500, "null_pointer_exception"), Code::RequestRefused);
        assert_eq!(of(400, "index_limit_exceeded_exception"), Code::TooManyShards);
        for (kind, shards) in [
            ("validation_exception", "normal shards"),
            ("validation_exception", "frozen shards"),
            ("illegal_argument_exception", "shards"),
        ] {
            let reason =
                format!("this action would add [2] shards, but this cluster has [1000]/[1000] maximum {shards} open;");
            let body = json!({"error": {"type": kind, "reason": reason}});
            let error = ClusterError::from_status("creating index x", 400, &body).of_new_index(&body);
            assert_eq!(error.code(), Code::TooManyShards, "{error}");
        }
        assert_eq!(of(400, "validation_exception"), Code::MappingRejected);
        let other =
            ClusterError::from_status("searching", 400, &json!({"error": {"type": "illegal_argument_exception"}}));
        assert_eq!(other.code(), Code::RequestRefused, "it is about no mapping");
        let stored = ClusterError::Stored { what: "w".into(), id: "i".into(), problem: "p".into() };
        assert_eq!(stored.code(), Code::StoredNotJson);
        let pipeline = ClusterError::NoPipeline { pipeline: "p".into(), named_by: "n".into() };
        assert_eq!(pipeline.code(), Code::NoPipeline);
        assert_eq!(ClusterError::Disk("full".into()).code(), Code::DiskFull);
    }

    #[test]
    fn the_servers_words_are_passed_on() {
        check(
            400,
            json!({"error": {"type": "mapper_parsing_exception", "reason": "Failed to parse mapping",
                "caused_by": {"type": "mapper_parsing_exception", "reason": "No handler for type [strin]"}}, "status": 400}),
            "creating index x: refused with 400: mapper_parsing_exception: Failed to parse mapping, because of \
             mapper_parsing_exception: No handler for type [strin]",
        );
        check(
            405,
            json!({"error": "Incorrect HTTP method", "status": 405}),
            "creating index x: refused with 405: Incorrect HTTP method",
        );
        check(502, Value::String("<html>bad gateway".into()), "creating index x: refused with 502: <html>bad gateway");
        check(504, Value::Null, "creating index x: refused with 504");
        check(
            401,
            Value::Null,
            "creating index x: the cluster does not accept the credentials (401); check user and password, API key or token",
        );
        check(
            403,
            json!({"Message": "User is not authorized"}),
            "creating index x: forbidden (403: User is not authorized); grant the user the privilege, or use another user",
        );
    }
}
