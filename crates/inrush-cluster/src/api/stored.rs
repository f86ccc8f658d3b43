//! Documents that a server stores although they are not JSON, for example with a comment behind
//! them. A reply that contains one is not JSON either.

use memchr::{memchr_iter, memmem};
use serde::de::IgnoredAny;

use super::error::ClusterError;

/// The error for a reply that is not JSON because of a document in it.
pub fn no_json(what: &str, reply: &[u8]) -> Option<ClusterError> {
    culprit(reply).map(|(id, problem)| ClusterError::Stored { what: what.to_owned(), id, problem })
}

/// The id of the document whose `_source` is not JSON, and what is wrong with it.
fn culprit(reply: &[u8]) -> Option<(String, String)> {
    // A reply that ends too early was cut off: no document is to blame.
    let error = serde_json::from_slice::<IgnoredAny>(reply).err().filter(|error| !error.is_eof())?;
    let line = memchr_iter(b'\n', reply).nth(error.line().checked_sub(2).unwrap_or(usize::MAX)).map_or(0, |at| at + 1);
    let before = reply.get(..line + error.column())?;
    let source = memmem::rfind(before, b"\"_source\":")?;
    let id = memmem::rfind(&before[..source], b"\"_id\":")? + b"\"_id\":".len();
    let id = serde_json::Deserializer::from_slice(&before[id..source]).into_iter::<String>().next()?.ok()?;
    Some((id, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_that_is_no_json_is_named() {
        let good = r#"{"_id":"1","_source":{"_id":"x"}}"#;
        let bad = r#"{"_id":"2\"","found":true,"_source":{"a":9} // c}"#;
        for (reply, expected) in [
            (format!("{{\"docs\":[{good},{bad},{good}]}}"), Some("2\"")),
            (format!("{{\"docs\":[\n{good},\n\n{bad},\n{good}]}}"), Some("2\"")),
            (format!("{{\"docs\":[{good}]}}"), None),
            ("<html>".to_owned(), None),
            ("{\"docs\":[{\"_id\":\"1\",".to_owned(), None),
            ("{\"docs\":[{\"_id\":\"1\",\"_source\":{\"a\":".to_owned(), None),
            ("{\"docs\":[{\"_id\":\"1\",\"_source\":{\"a\":\"b".to_owned(), None),
        ] {
            assert_eq!(culprit(reply.as_bytes()).map(|(id, _)| id).as_deref(), expected, "{reply}");
        }
        let error = no_json("looking up", format!("[{bad}]").as_bytes()).unwrap().to_string();
        assert!(error.contains("the index holds the document \"2\\\"\", which is not JSON"), "{error}");
    }
}
