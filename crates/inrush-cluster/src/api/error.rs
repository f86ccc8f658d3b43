//! Why the cluster could not be asked, or did not do what it was asked.

use serde_json::Value;

use crate::transport::HttpError;

/// A question to the cluster without a usable answer. Each variant says what was expected and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No complete reply, after the tries that were safe.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// 401: the cluster does not know who is asking.
    #[error(
        "{what}: the cluster does not accept the credentials (401{reason}); check user and password, API key or token"
    )]
    LogIn {
        /// What was asked.
        what: String,
        /// The server's words, with a separator before them, or nothing.
        reason: String,
    },
    /// 403: the cluster knows who is asking and forbids it.
    #[error("{what}: forbidden (403{reason}); give the user the privilege, or use another one")]
    Forbidden {
        /// What was asked.
        what: String,
        /// The server's words, with a separator before them, or nothing.
        reason: String,
    },
    /// Another error status.
    #[error("{what}: refused with {status}{reason}")]
    Refused {
        /// What was asked.
        what: String,
        /// The HTTP status.
        status: u16,
        /// The server's words, with a separator before them, or nothing.
        reason: String,
    },
    /// A reply of another form than this server's: something else answers, or a version that is not known here.
    #[error("{what}: the reply is not what was expected: {problem}; is this address Elasticsearch or OpenSearch?")]
    Reply {
        /// What was asked.
        what: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// A reply that cannot be read because of a document in it that is no JSON, and was taken by
    /// the server all the same.
    #[error(
        "{what}: the document {id:?} is kept in the index and is no JSON: {problem}; load it again as JSON, or delete it"
    )]
    Stored {
        /// What was asked.
        what: String,
        /// The id of the document.
        id: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The target cannot be loaded into as it is.
    #[error("{name}: {problem}")]
    Target {
        /// Index, alias or data stream.
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An ingest pipeline that is named and does not exist.
    #[error(
        "the ingest pipeline {pipeline} ({named_by}) does not exist; create it with PUT _ingest/pipeline/{pipeline}, or name another"
    )]
    NoPipeline {
        /// The pipeline.
        pipeline: String,
        /// What names it.
        named_by: String,
    },
    /// The documents cannot fit on the cluster's disks.
    #[error("{0}")]
    Disk(String),
}

impl ClusterError {
    /// The HTTP status, where there was a reply with an error.
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

    /// Whether the cluster does not have what was asked for, or lets nobody ask: such a question is skipped where the
    /// answer would only have been of use. 400 and 405 are what older versions and gateways answer to paths that they
    /// do not know.
    pub fn cannot_be_asked(&self) -> bool {
        matches!(self.status(), Some(400 | 403 | 404 | 405 | 410 | 500 | 501))
    }

    /// The error of an answer with `status` to the question `what`, with the reason that `body` gives.
    pub fn from_status(what: &str, status: u16, body: &Value) -> Self {
        let what = what.to_owned();
        let reason = match reason(body) {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        match status {
            401 => ClusterError::LogIn { what, reason },
            403 => ClusterError::Forbidden { what, reason },
            status => ClusterError::Refused { what, status, reason },
        }
    }
}

/// The type of a server's error, as in `index_not_found_exception`.
pub(super) fn error_type(body: &Value) -> Option<&str> {
    body.get("error")?.get("type")?.as_str()
}

/// The server's own words for an error: type and reason, and the innermost cause where there is one.
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
            "creating index x: forbidden (403: User is not authorized); give the user the privilege, or use another one",
        );
    }
}
