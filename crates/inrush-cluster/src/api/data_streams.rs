//! Data streams: their time, and attaching an index that was created on its own.

use http::Method;
use serde_json::{Value, json};

use super::error::ClusterError;
use super::product::{ClusterInfo, Product, Version};
use crate::transport::{Transport, path_segment};

/// The first version of Elasticsearch with the request ("Modify data streams API", 7.16).
/// OpenSearch has none.
const ATTACH_SINCE: Version = Version::new(7, 16, 0);

/// Whether the cluster can attach an index to a data stream.
pub fn can_attach(info: &ClusterInfo) -> bool {
    info.product == Product::Elasticsearch && info.version.is_none_or(|version| version >= ATTACH_SINCE)
}

/// The indices of a data stream. `None` if there is no such stream.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn indices(transport: &Transport, stream: &str) -> Result<Option<Vec<String>>, ClusterError> {
    let what = format!("looking up the data stream {stream}");
    let found = transport.find(&what, Method::GET, &format!("/_data_stream/{}", path_segment(stream))).await?;
    Ok(found.and_then(|body| names(&body, stream)))
}

fn names(body: &Value, stream: &str) -> Option<Vec<String>> {
    let streams = body.get("data_streams")?.as_array()?;
    let found = streams.iter().find(|found| found.get("name").and_then(Value::as_str) == Some(stream))?;
    let indices = found.get("indices").and_then(Value::as_array).into_iter().flatten();
    Some(indices.filter_map(|index| Some(index.get("index_name")?.as_str()?.to_owned())).collect())
}

/// The field that has the time in the documents of a data stream: one that the template of a
/// missing stream, or the stream itself, names. Elasticsearch has one name for all.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn time_field(transport: &Transport, stream: &str, template: Option<&str>) -> Result<String, ClusterError> {
    let (path, what) = match template {
        Some(template) => (format!("/_index_template/{}", path_segment(template)), format!("the template {template}")),
        None => (format!("/_data_stream/{}", path_segment(stream)), format!("the data stream {stream}")),
    };
    let body = transport.demand(&format!("looking up {what}"), Method::GET, &path, None).await?;
    let field = body
        .pointer("/index_templates/0/index_template/data_stream/timestamp_field/name")
        .or_else(|| body.pointer("/data_streams/0/timestamp_field/name"));
    Ok(field.and_then(Value::as_str).unwrap_or("@timestamp").to_owned())
}

/// Attaches `index` to the stream, behind its write index. Repeating the request changes nothing.
///
/// # Errors
/// [`ClusterError`] if the request fails. If the reply is lost, the index may have been attached
/// all the same.
pub async fn attach(transport: &Transport, stream: &str, index: &str) -> Result<(), ClusterError> {
    let body = json!({"actions": [{"add_backing_index": {"data_stream": stream, "index": index}}]});
    let what = format!("attaching the index {index} to the data stream {stream}");
    transport.demand(&what, Method::POST, "/_data_stream/_modify", Some(&body)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_found_by_its_very_name() {
        let body = json!({"data_streams": [
            {"name": "logs-b", "indices": [{"index_name": ".ds-logs-b-1"}]},
            {"name": "logs-a", "indices": [{"index_name": ".ds-logs-a-1"}, {"index_name": "slice"}]},
        ]});
        assert_eq!(names(&body, "logs-a"), Some(vec![".ds-logs-a-1".to_owned(), "slice".to_owned()]));
        assert_eq!(names(&body, "logs-*"), None);
    }
}
