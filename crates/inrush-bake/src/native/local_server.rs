//! The server that a load sees: in this process, with one index, whose documents go into the
//! writers.

use std::sync::Arc;

use http::Method;
use inrush_cluster::BoxFuture;
use inrush_cluster::transport::{LocalServer, Request, Response, path_segment};
use inrush_node::KnownProduct;
use serde_json::{Value, json};

use super::build_plan::Stopped;
use super::writers::Writers;

/// Answers as a server of the target's version would.
pub(super) struct LocalIndex {
    root: Value,
    index: Value,
    path: String,
    writers: Arc<Writers>,
}

impl LocalIndex {
    pub(super) fn new(product: KnownProduct, version: &str, index: &str, writers: Arc<Writers>) -> LocalIndex {
        let (distribution, tagline) = match product {
            KnownProduct::OpenSearch => (json!("opensearch"), "The OpenSearch Project: https://opensearch.org/"),
            KnownProduct::Elasticsearch => (Value::Null, "You Know, for Search"),
        };
        let version = json!({"number": version, "distribution": distribution});
        let settings = json!({"index": {"uuid": "native", "number_of_replicas": "0"}});
        LocalIndex {
            root: json!({"cluster_name": "inrush", "version": version, "tagline": tagline}),
            index: json!({ index: { "settings": settings } }),
            path: format!("/{}", path_segment(index)),
            writers,
        }
    }
}

impl LocalServer for LocalIndex {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            let path = request.path_and_query.split('?').next().unwrap_or_default();
            let of_index = path.strip_prefix(&self.path);
            match (&request.method, of_index) {
                (&Method::POST, Some("/_bulk")) => {
                    match self.writers.take(request.body.clone(), Arc::clone(&request.rows)).await {
                        Ok(reply) => Response::json(200, reply),
                        // The next request would meet the same.
                        Err(Stopped::Unsupported(why) | Stopped::Failed(why) | Stopped::Files(_, why)) => {
                            let error = json!({"error": {"type": "native_engine", "reason": why}, "status": 403});
                            Response::json(403, error.to_string())
                        }
                    }
                }
                (&Method::GET, Some("")) => Response::json(200, self.index.to_string()),
                (&Method::GET, _) if path == "/" => Response::json(200, self.root.to_string()),
                // Nothing is wrong with the cluster.
                (&Method::GET, _) if path.starts_with("/_cluster/") || path.starts_with("/_nodes") => {
                    Response::json(200, "{}")
                }
                _ => Response::json(405, json!({"error": "unknown here", "status": 405}).to_string()),
            }
        })
    }
}
