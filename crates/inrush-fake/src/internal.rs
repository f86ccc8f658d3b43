//! Parts for inrush's own tests. They are not part of the API and change without notice.

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::api::ApiRequest;
use crate::faults;
use crate::product::Flavor;

pub use crate::filter::filter_path;
pub use crate::null::process_cpu_seconds;
pub use crate::random::{draw, rule_seed};

/// A bulk request, as its path and query tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkTarget {
    /// The index of the path.
    pub index: Option<String>,
    /// The query parameter `filter_path`.
    pub filter_path: Option<String>,
}

/// Reads the path and the query of a bulk request; `None` for any other request.
pub fn bulk_target(method: &Method, path_and_query: &str) -> Option<BulkTarget> {
    let request = ApiRequest::new(method.clone(), path_and_query, Bytes::new());
    let defaults = request.bulk_defaults()?;
    Some(BulkTarget { index: defaults.index, filter_path: request.param("filter_path").map(str::to_owned) })
}

/// Decompresses a body; `None` for one that is not what its coding says.
pub fn decode(coding: Option<&str>, wire: &Bytes) -> Option<Bytes> {
    crate::coding::decode(coding, wire).ok()
}

/// Status and error of an item that a full queue rejects.
pub fn rejected(flavor: &Flavor) -> (u16, Value) {
    let error = faults::rejected(flavor);
    (error.status(), error.to_item())
}
