//! Whether an index keeps the sequence numbers of its documents. Elasticsearch 9.5 and newer drop
//! them in some modes of an index.

use serde_json::Value;

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// What [`missing`] looks at, as a `filter_path` of `GET /INDEX?include_defaults=true`.
pub const PATHS: &str = "*.settings.index.disable_sequence_numbers,*.defaults.index.disable_sequence_numbers";

/// Why an index keeps no sequence numbers, after its name. `index` is the answer to `GET /INDEX`.
pub fn missing(index: &Value) -> Option<&'static str> {
    let is_true = |value: &Value| value.as_bool() == Some(true) || value.as_str() == Some("true");
    let of = |part: &str| index.pointer(&format!("/{part}/index/disable_sequence_numbers"));
    of("settings")
        .or_else(|| of("defaults"))
        .is_some_and(is_true)
        .then_some("keeps no sequence numbers (index.disable_sequence_numbers, which some index modes set)")
}

/// The first index behind `name` without sequence numbers, and why. `None` too if there is no such
/// index, or the user may not ask.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn missing_in(transport: &Transport, name: &str) -> Result<Option<String>, ClusterError> {
    let path = format!("/{}?include_defaults=true&filter_path={PATHS}", path_segment(name));
    let (status, body) = transport.get_json(&path).await?;
    let indices = body.as_object().filter(|_| status == 200).into_iter().flatten();
    Ok(indices.into_iter().find_map(|(name, body)| missing(body).map(|why| format!("the index {name} {why}"))))
}

/// Refuses an index without sequence numbers, which the question `what` needs.
///
/// # Errors
/// [`ClusterError`] if the request fails, or the index keeps none.
pub(super) async fn demand(transport: &Transport, name: &str, what: &str) -> Result<(), ClusterError> {
    match missing_in(transport, name).await? {
        Some(why) => Err(ClusterError::Target { name: name.to_owned(), problem: format!("{why}, which {what}") }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_server_says_what_a_mode_means() {
        let of = |settings: Value, defaults: Value| {
            missing(&json!({"settings": {"index": settings}, "defaults": {"index": defaults}})).is_some()
        };
        let default = |value: &str| json!({"disable_sequence_numbers": value});
        assert!(of(json!({"mode": "columnar"}), default("true")));
        assert!(of(default("true"), json!({})) && of(json!({"disable_sequence_numbers": true}), json!({})));
        assert!(!of(default("false"), default("true")), "what a user set counts before the default");
        assert!(!of(json!({"mode": "logsdb"}), default("false")) && !of(json!({}), json!({})));
        assert_eq!(missing(&json!({})), None);
    }
}
