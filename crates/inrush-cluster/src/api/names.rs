//! The names that a cluster knows.

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// Characters with a meaning of their own in an expression, which no name contains.
const NOT_IN_NAMES: [char; 4] = ['*', ',', '<', '/'];

/// Names of a cluster, sorted. Those that begin with a dot are left out unless they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Open indices.
    pub indices: Vec<String>,
    /// Aliases of open indices.
    pub aliases: Vec<String>,
    /// Data streams.
    pub data_streams: Vec<String>,
}

/// The names that begin with `beginning`; all of them if it is empty. None if it contains a
/// character that no name has.
///
/// # Errors
/// [`ClusterError`] if the request fails. Elasticsearch before 7.9 does not know it.
pub async fn beginning_with(transport: &Transport, beginning: &str) -> Result<Names, ClusterError> {
    if beginning.contains(NOT_IN_NAMES) {
        return Ok(Names::default());
    }
    let path = format!("/_resolve/index/{}", path_segment(&format!("{beginning}*")));
    let body = transport.demand("looking up names", Method::GET, &path, None).await?;
    Ok(names(&body, beginning))
}

fn names(body: &Value, beginning: &str) -> Names {
    let of = |kind: &str| {
        let entries = body.get(kind).and_then(Value::as_array).into_iter().flatten();
        let all = entries.filter_map(|entry| entry.get("name")?.as_str());
        let is_shown = |name: &&str| name.starts_with(beginning) && (!name.starts_with('.') || !beginning.is_empty());
        let mut all: Vec<String> = all.filter(is_shown).map(str::to_owned).collect();
        all.sort_unstable();
        all
    };
    Names { indices: of("indices"), aliases: of("aliases"), data_streams: of("data_streams") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_with_a_dot_are_shown_where_they_were_asked_for() {
        let body = json!({
            "indices": [{"name": "logs-b"}, {"name": ".security-7"}, {"name": "logs-a", "aliases": ["logs"]}],
            "aliases": [{"name": "logs", "indices": ["logs-a"]}],
            "data_streams": [{"name": "logs-web"}],
        });
        let all = names(&body, "");
        assert_eq!(all.indices, ["logs-a", "logs-b"]);
        assert_eq!((all.aliases, all.data_streams), (vec!["logs".to_owned()], vec!["logs-web".to_owned()]));
        assert_eq!(names(&body, ".s").indices, [".security-7"]);
        assert_eq!(names(&json!({}), ""), Names::default());
    }
}
