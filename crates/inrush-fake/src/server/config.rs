//! The configuration of a fake cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;

use crate::faults::Faults;
use crate::product::Flavor;

/// A check of the head and the body of a request. The body is as it came over the wire.
pub(super) type Verify = Arc<dyn Fn(&Parts, &[u8]) -> Result<(), String> + Send + Sync>;

/// The configuration of a fake cluster. The default is one node of OpenSearch 3.6.0 on a free port,
/// without credentials and without faults.
///
/// ```
/// use inrush_fake::{Auth, FakeConfig, Fault, Flavor, Rule};
///
/// let config = FakeConfig::default()
///     .flavor(Flavor::elasticsearch_8())
///     .nodes(3)
///     .auth(Auth::ApiKey("a2V5".to_owned()))
///     .faults(Rule::new(Fault::ItemRejected).every_nth(10));
/// ```
#[derive(Clone)]
pub struct FakeConfig {
    pub(super) flavor: Flavor,
    pub(super) nodes: usize,
    pub(super) ports: Vec<u16>,
    pub(super) root_status: u16,
    pub(super) auth: Option<Auth>,
    pub(super) verify: Option<Verify>,
    pub(super) max_content_length_bytes: usize,
    pub(super) smile: bool,
    pub(super) gzip: bool,
    pub(super) auto_create_index: bool,
    pub(super) failure_store: bool,
    pub(super) little_endian_vectors: bool,
    pub(super) denied_indices: Vec<String>,
    pub(super) disk_available_bytes: u64,
    pub(super) latency: Duration,
    pub(super) faults: Faults,
    pub(super) managed: Option<u16>,
}

impl Default for FakeConfig {
    fn default() -> Self {
        FakeConfig {
            flavor: Flavor::default(),
            nodes: 1,
            ports: Vec::new(),
            root_status: 200,
            auth: None,
            verify: None,
            max_content_length_bytes: 100 << 20,
            smile: true,
            gzip: true,
            auto_create_index: true,
            failure_store: false,
            little_endian_vectors: false,
            denied_indices: Vec::new(),
            disk_available_bytes: 100_000_000_000,
            latency: Duration::ZERO,
            faults: Faults::default(),
            managed: None,
        }
    }
}

impl FakeConfig {
    /// Product and version. Default OpenSearch 3.6.0.
    #[must_use]
    pub fn flavor(mut self, flavor: Flavor) -> Self {
        self.flavor = flavor;
        self
    }

    /// Number of data nodes, each on a port of its own. Default 1; 0 is taken for 1.
    #[must_use]
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// Ports of the nodes, in order. 0 or a missing port takes a free one. Default: free ports.
    #[must_use]
    pub fn ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.ports = ports.into_iter().collect();
        self
    }

    /// Status of `GET /`. Default 200. Elasticsearch's test distribution answers 405, some gateways
    /// 403.
    #[must_use]
    pub fn root_status(mut self, status: u16) -> Self {
        self.root_status = status;
        self
    }

    /// Credentials that every request must carry; a request with others gets 401. Default none.
    #[must_use]
    pub fn auth(mut self, auth: impl Into<Option<Auth>>) -> Self {
        self.auth = auth.into();
        self
    }

    /// A check of every request, such as that of a signature. It gets the head and the body as it
    /// came over the wire. An error is answered with 403 and becomes its `message`, as Amazon's
    /// gateway answers. Default none.
    #[must_use]
    pub fn verify(mut self, verify: impl Fn(&Parts, &[u8]) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.verify = Some(Arc::new(verify));
        self
    }

    /// `http.max_content_length`: the largest body, in bytes on the wire. A larger one gets 413.
    /// Default 100 MiB, as in the servers.
    #[must_use]
    pub fn max_content_length_bytes(mut self, bytes: usize) -> Self {
        self.max_content_length_bytes = bytes;
        self
    }

    /// Accepts bodies in SMILE; without it they get 406. Default true.
    #[must_use]
    pub fn smile(mut self, accepted: bool) -> Self {
        self.smile = accepted;
        self
    }

    /// Decompresses bodies with `Content-Encoding: gzip` or `deflate`. Default true. Without it the
    /// fake reads the compressed bytes as JSON, as a server behind a broken proxy.
    #[must_use]
    pub fn gzip(mut self, accepted: bool) -> Self {
        self.gzip = accepted;
        self
    }

    /// `action.auto_create_index`: a bulk request creates a missing index. Default true.
    #[must_use]
    pub fn auto_create_index(mut self, allowed: bool) -> Self {
        self.auto_create_index = allowed;
        self
    }

    /// A managed `_bulk` endpoint below `/_es`, which answers bulk requests with this status before
    /// it indexes their documents, and does not tell errors. Default none.
    #[must_use]
    pub fn managed(mut self, status: u16) -> Self {
        self.managed = Some(status);
        self
    }

    /// Elasticsearch's failure store, for every data stream. Default false.
    #[must_use]
    pub fn failure_store(mut self, enabled: bool) -> Self {
        self.failure_store = enabled;
        self
    }

    /// Takes packed vectors for little-endian and gives them back so, which no server of a version
    /// that takes big-endian does. Default false.
    #[must_use]
    pub fn little_endian_vectors(mut self, enabled: bool) -> Self {
        self.little_endian_vectors = enabled;
        self
    }

    /// Patterns of index names, with `*`. A write to such an index is refused with item 403
    /// `security_exception`. Default none.
    #[must_use]
    pub fn denied_indices<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.denied_indices = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Free bytes on the disk of each node, of twice that size. Default 100 GB.
    #[must_use]
    pub fn disk_available_bytes(mut self, bytes: u64) -> Self {
        self.disk_available_bytes = bytes;
        self
    }

    /// Delay of every reply. Default none.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The first script of faults. Default none.
    #[must_use]
    pub fn faults(mut self, faults: impl Into<Faults>) -> Self {
        self.faults = faults.into();
        self
    }
}

impl fmt::Debug for FakeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Credentials are left out.
        f.debug_struct("FakeConfig").field("flavor", &self.flavor).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Credentials that the fake asks for.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `Authorization: Basic`.
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: String,
    },
    /// `Authorization: ApiKey`, the key in its encoded form.
    ApiKey(String),
    /// `Authorization: Bearer`.
    Bearer(String),
}

impl Auth {
    /// The value of the header `Authorization`.
    pub fn header(&self) -> String {
        match self {
            Auth::Basic { user, password } => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            Auth::ApiKey(key) => format!("ApiKey {key}"),
            Auth::Bearer(token) => format!("Bearer {token}"),
        }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auth::Basic { user, .. } => write!(f, "Basic {{ user: {user:?}, password: *** }}"),
            Auth::ApiKey(_) => f.write_str("ApiKey(***)"),
            Auth::Bearer(_) => f.write_str("Bearer(***)"),
        }
    }
}
