//! A fake cluster as a server in this process: without sockets, so a paused clock moves only where
//! everything waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use inrush_cluster::BoxFuture;
use inrush_cluster::transport::{LocalServer, Request, Response, Transport};
use inrush_fake::{FakeCluster, FakeConfig};

/// A way to a fake cluster, which can be cut.
pub struct InProcess {
    fake: Arc<FakeCluster>,
    cut: AtomicBool,
}

impl InProcess {
    /// Starts a fake cluster in the runtime of the caller.
    ///
    /// # Panics
    /// It cannot be started.
    pub async fn start(config: FakeConfig) -> (Arc<FakeCluster>, Arc<InProcess>) {
        let fake = Arc::new(FakeCluster::start(config).await.expect("a port of the loopback interface is free"));
        (Arc::clone(&fake), InProcess::to(fake))
    }

    /// A way of its own to the cluster.
    pub fn to(fake: Arc<FakeCluster>) -> Arc<InProcess> {
        Arc::new(InProcess { fake, cut: AtomicBool::new(false) })
    }

    /// The transport that uses this way.
    ///
    /// # Panics
    /// Never: the address is one.
    pub fn transport(self: &Arc<Self>) -> Transport {
        let server: Arc<dyn LocalServer> = self.clone();
        Transport::to_local(&self.fake.url(), server).expect("a fake cluster has an address")
    }

    /// Requests on this way get 503 from now on, or are answered again.
    pub fn cut(&self, is_cut: bool) {
        self.cut.store(is_cut, Ordering::Relaxed);
    }
}

impl LocalServer for InProcess {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            if self.cut.load(Ordering::Relaxed) {
                return Response::json(503, "{}");
            }
            let mut sent = http::Request::new(request.body.concat().into());
            *sent.method_mut() = request.method.clone();
            *sent.uri_mut() = request.path_and_query.parse().expect("the path of a request is one");
            *sent.headers_mut() = request.headers.clone();
            let (parts, body) = self.fake.answer(sent).await.into_parts();
            let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            Response {
                status: parts.status.as_u16(),
                retry_after: header(RETRY_AFTER).and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
                content_type: header(CONTENT_TYPE),
                elastic_product: parts.headers.contains_key("x-elastic-product"),
                body,
                elapsed: Duration::ZERO,
            }
        })
    }
}
