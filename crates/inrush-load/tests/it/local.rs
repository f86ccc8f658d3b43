//! A load into a server in this process.

use std::sync::{Arc, Mutex};

use inrush_cluster::BoxFuture;
use inrush_cluster::transport::{LocalServer, Request, Response, Transport};
use inrush_core::DocMeta;
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Status};
use inrush_sources::push::Document;
use serde_json::json;

/// Takes every second document.
#[derive(Default)]
struct Server {
    taken: Mutex<Vec<String>>,
}

impl LocalServer for Server {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            let path = request.path_and_query.split('?').next().unwrap();
            let root = json!({"version": {"number": "3.6.0", "distribution": "opensearch"}});
            match (request.method.as_str(), path) {
                ("GET", "/") => Response::json(200, root.to_string()),
                ("GET", "/x") => Response::json(200, json!({"x": {"settings": {"index": {"uuid": "u"}}}}).to_string()),
                ("POST", "/x/_bulk") => Response::json(200, self.bulk(&request.body.concat())),
                _ => Response::json(405, "{}"),
            }
        })
    }
}

impl Server {
    fn bulk(&self, body: &[u8]) -> String {
        let mut taken = self.taken.lock().unwrap();
        let items = std::str::from_utf8(body).unwrap().lines().skip(1).step_by(2).map(|document| {
            let number: serde_json::Value = serde_json::from_str(document).unwrap();
            if number["n"].as_u64().unwrap().is_multiple_of(2) {
                taken.push(document.to_owned());
                return json!({"index": {"_index": "x", "status": 201, "result": "created"}});
            }
            json!({"index": {"_index": "x", "status": 400, "error": {"type": "mapper_parsing_exception", "reason": "it is odd"}}})
        });
        let items: Vec<_> = items.collect();
        json!({"took": 0, "errors": true, "items": items}).to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_needs_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(vec!["http://nowhere.invalid".to_owned()], "x".parse().unwrap());
    (config.guard.leave_settings, config.verify) = (true, false);
    config.dead_letters = DeadLetters::Folder(folder.path().to_owned());
    let server = Arc::new(Server::default());
    let of_load: Arc<dyn LocalServer> = server.clone();
    let transport = Transport::to_local("http://localhost", of_load).unwrap();
    let load = ConfiguredLoad::new(config).unwrap().through(Arc::new(transport)).sender().await.unwrap();
    for n in 0..1000 {
        let body = json!({ "n": n }).to_string().into();
        load.send(Document { body, meta: DocMeta::default() }).await.unwrap();
    }
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Incomplete, 500), "{report:#?}");
    assert_eq!((report.counts.docs_dead_lettered, report.errors[0].kind.as_str()), (500, "mapper_parsing_exception"));
    assert_eq!(server.taken.lock().unwrap().len(), 500);
}
