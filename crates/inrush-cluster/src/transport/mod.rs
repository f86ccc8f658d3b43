//! How requests reach the cluster: addresses, credentials, one connection pool, and the choice of
//! the node.
//!
//! Nothing here knows what a bulk request is. [`Transport::request`] sends a request once: the
//! caller decides by [`HttpErrorKind`] whether to send it again.

use crate::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use ::http::{HeaderMap, HeaderValue};
use inrush_core::retry::RetryPolicy;

pub mod auth;
pub mod aws;
mod body;
mod error;
pub mod gzip;
mod http;
mod local;
pub mod pool;
mod tls;
mod url;

pub use auth::{Credentials, Secret};
pub use error::{BoxError, HttpError, HttpErrorKind, SetupError};
pub use http::{HttpClient, HttpOptions, Request, Response};
pub use http::{download_client, file_client};
pub use local::LocalServer;
pub use pool::NodeIndex;
use pool::SharedPool;
pub use tls::TlsOptions;
pub use url::{NodeUrl, PORT_DEFAULT, path_segment};

/// Retries of API requests: three tries, with pauses of 200 ms and 400 ms.
const RETRIES: RetryPolicy = RetryPolicy::brief(3, Duration::from_millis(200));

/// The name of this program in the logs of the servers.
const AGENT: &str = concat!("inrush/", env!("CARGO_PKG_VERSION"));

/// Everything needed to send requests to a cluster. It is shared by reference. Sending takes a lock
/// only to choose the node.
pub struct Transport {
    shared: Arc<Shared>,
    retries: RetryPolicy,
    patience: Option<RetryPolicy>,
}

/// The parts that transports with other patience share.
struct Shared {
    way: Way,
    nodes: Vec<NodeUrl>,
    pool: SharedPool,
    credentials: Credentials,
    headers: HeaderMap,
    heard: AtomicU8,
}

/// What was heard of the cluster, in this order.
const NOTHING: u8 = 0;
const A_REPLY: u8 = 1;
const ITS_JSON: u8 = 2;

/// How requests reach a node.
enum Way {
    Http(HttpClient),
    Local(Arc<dyn LocalServer>),
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("nodes", &self.shared.nodes)
            .field("credentials", &self.shared.credentials)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// The outcome of one attempt.
#[derive(Debug)]
pub struct Attempt {
    /// The node that was asked.
    pub node: NodeIndex,
    /// The node's reply, or why there is none.
    pub result: Result<Response, HttpError>,
}

impl Transport {
    /// Sets up a transport to the nodes of one cluster. `urls` are parsed by [`NodeUrl::parse`]. A
    /// user name and password in one of them are used for all nodes. Nothing is sent yet.
    ///
    /// # Errors
    /// [`SetupError`] if an address, the credentials or an option cannot be used.
    pub fn new(urls: &[impl AsRef<str>], credentials: Credentials, options: &HttpOptions) -> Result<Self, SetupError> {
        let (nodes, credentials) = nodes_and_credentials(urls, credentials)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(value) = credentials.static_header()? {
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Transport::of(Way::Http(HttpClient::new(&nodes, options)?), nodes, credentials, headers))
    }

    /// A transport to a server in this process. It has one node, whose address is only shown.
    ///
    /// # Errors
    /// [`SetupError::Url`] if `address` is none.
    pub fn to_local(address: &str, server: Arc<dyn LocalServer>) -> Result<Self, SetupError> {
        let (node, _) = NodeUrl::parse(address)?;
        Ok(Transport::of(Way::Local(server), vec![node], Credentials::None, HeaderMap::new()))
    }

    fn of(way: Way, nodes: Vec<NodeUrl>, credentials: Credentials, headers: HeaderMap) -> Self {
        let (pool, heard) = (SharedPool::new(nodes.len()), AtomicU8::new(NOTHING));
        let shared = Shared { way, nodes, pool, credentials, headers, heard };
        Transport { shared: Arc::new(shared), retries: RETRIES, patience: None }
    }

    /// Replaces the retries of API requests. [`Transport::request`] never retries.
    pub fn with_retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    /// The same nodes and connections, with API requests that are sent again within these limits
    /// once the cluster has answered anything. Until then its retries apply: an address that
    /// never answers may be a wrong one.
    #[must_use]
    pub fn patient(&self, limits: RetryPolicy) -> Self {
        Transport { patience: Some(limits), ..self.brief() }
    }

    /// The same nodes and connections, with API requests for which nothing waits long: the
    /// retries alone apply.
    #[must_use]
    pub fn brief(&self) -> Self {
        Transport { shared: Arc::clone(&self.shared), retries: self.retries, patience: None }
    }

    /// The nodes, in the order in which they were given.
    pub fn nodes(&self) -> &[NodeUrl] {
        &self.shared.nodes
    }

    /// Finds the credentials that are looked for outside of the program, so that an error in them
    /// is known before the first request. Has to be called in a tokio runtime.
    ///
    /// # Errors
    /// [`SetupError::Credentials`] where there are none.
    pub async fn ready(&self) -> Result<(), SetupError> {
        match &self.shared.credentials {
            Credentials::SigV4(signer) => signer.ready().await,
            Credentials::None | Credentials::Basic { .. } | Credentials::ApiKey(_) | Credentials::Bearer(_) => Ok(()),
        }
    }

    /// Number of nodes that are not set aside at the moment.
    pub fn nodes_healthy(&self) -> usize {
        self.shared.pool.healthy()
    }

    /// Whether the pool counts this node as healthy.
    pub fn is_node_healthy(&self, node: NodeIndex) -> bool {
        self.shared.pool.is_healthy(node)
    }

    /// Sends a request once, signed now, to the node that the pool chooses, and reports the outcome
    /// to the pool. Dropping the future closes the connection.
    pub async fn request(&self, request: &Request) -> Attempt {
        self.request_at(request, None).await
    }

    /// The same, sent to the `preferred` node if that node is healthy.
    pub async fn request_at(&self, request: &Request, preferred: Option<NodeIndex>) -> Attempt {
        let mut pick = self.shared.pool.pick(preferred);
        let node = pick.node();
        let result = self.send(&self.shared.nodes[node], request).await;
        pick.says = match &result {
            Ok(response) => pool::says_status(response.status),
            Err(error) => pool::says_error(error.kind),
        };
        Attempt { node, result }
    }

    /// Sends a request to this node, even if the pool has set it aside. The pool does not learn the
    /// outcome.
    pub async fn request_to(&self, node: NodeIndex, request: &Request) -> Result<Response, HttpError> {
        self.send(&self.shared.nodes[node], request).await
    }

    /// The retries of API requests.
    pub(crate) fn retries(&self) -> RetryPolicy {
        self.retries
    }

    /// The limits of API requests once the cluster has answered, where they are not the retries.
    pub(crate) fn patience(&self) -> Option<RetryPolicy> {
        self.patience
    }

    /// Whether a node, or a proxy in its name, has answered anything.
    pub(crate) fn has_answered(&self) -> bool {
        self.shared.heard.load(Ordering::Relaxed) >= A_REPLY
    }

    /// Whether a reply in JSON came, as a cluster gives it.
    pub(crate) fn is_known(&self) -> bool {
        self.shared.heard.load(Ordering::Relaxed) >= ITS_JSON
    }

    fn hear(&self, response: &Response) {
        let is_json = response.content_type.as_deref().is_some_and(|of| of.contains("json"));
        self.shared.heard.fetch_max(if is_json { ITS_JSON } else { A_REPLY }, Ordering::Relaxed);
    }

    fn send<'a>(&'a self, node: &'a NodeUrl, request: &'a Request) -> BoxFuture<'a, Result<Response, HttpError>> {
        Box::pin(async move {
            let client = match &self.shared.way {
                Way::Http(client) => client,
                Way::Local(server) => {
                    let response = server.answer(request).await;
                    self.hear(&response);
                    return Ok(response);
                }
            };
            let mut request = request.clone();
            for (name, value) in &self.shared.headers {
                request.headers.entry(name).or_insert_with(|| value.clone());
            }
            if let Credentials::SigV4(signer) = &self.shared.credentials {
                let url = http::address(node, &request)?;
                let signed = signer.sign(&request.method, &url, &request.headers, &request.body).await;
                request.headers.extend(signed.map_err(|source| HttpError {
                    kind: HttpErrorKind::Local,
                    method: request.method.clone(),
                    url: format!("{node}{}", request.path_and_query),
                    source,
                })?);
            }
            let sent = client.send(node, &request).await;
            if let Ok(response) = &sent {
                self.hear(response);
            }
            sent
        })
    }
}

fn nodes_and_credentials(
    urls: &[impl AsRef<str>],
    given: Credentials,
) -> Result<(Vec<NodeUrl>, Credentials), SetupError> {
    let mut nodes = Vec::with_capacity(urls.len());
    let mut in_url: Option<(Credentials, Option<HeaderValue>)> = None;
    for url in urls {
        let (node, credentials) = NodeUrl::parse(url.as_ref())?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        let Some(credentials) = credentials else { continue };
        let header = credentials.static_header()?;
        if in_url.as_ref().is_some_and(|(_, other)| *other != header) {
            return Err(SetupError::TwoCredentials("the URLs have different user names or passwords".into()));
        }
        in_url = Some((credentials, header));
    }
    if nodes.is_empty() {
        return Err(SetupError::NoNodes);
    }
    match in_url {
        None => Ok((nodes, given)),
        Some((credentials, _)) if given.is_none() => Ok((nodes, credentials)),
        Some(_) => Err(SetupError::TwoCredentials(
            "there are a user name and password in the URL and other credentials beside it".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(urls: &[&str], credentials: Credentials) -> Result<Transport, SetupError> {
        Transport::new(urls, credentials, &HttpOptions::default())
    }

    #[test]
    fn credentials_come_from_one_place() {
        let basic = || Credentials::basic("u", Secret::new("p")).unwrap();
        let url = ["http://u:p@localhost:9200", "http://u:p@localhost:9201"];
        let made = transport(&url, Credentials::None).unwrap();
        assert_eq!(made.shared.headers[AUTHORIZATION], "Basic dTpw");
        assert_eq!(made.nodes().len(), 2);
        assert!(!format!("{made:?}").contains("dTpw"));

        let twice = transport(&url, basic()).unwrap_err().to_string();
        assert!(twice.contains("give one of them"), "{twice}");
        let differing = transport(&["http://u:p@a", "http://u:q@b"], Credentials::None).unwrap_err().to_string();
        assert!(differing.contains("different user names or passwords"), "{differing}");
        assert!(matches!(transport(&[], Credentials::None), Err(SetupError::NoNodes)));
    }

    #[test]
    fn a_node_named_twice_is_one_node() {
        let made = transport(&["http://localhost", "http://localhost:9200/"], Credentials::None).unwrap();
        assert_eq!(made.nodes().len(), 1);
    }
}
