//! What a fake cluster is to be like.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::faults::Faults;
use crate::product::Flavor;

/// Looks at the head and the body (as they came over the wire) of every request; an error is answered with 403.
pub type Verify = Arc<dyn Fn(&http::request::Parts, &[u8]) -> Result<(), String> + Send + Sync>;

/// What a fake cluster is to be like. The default is one node of OpenSearch 3.6.0 that asks for nothing.
#[derive(Clone)]
pub struct FakeConfig {
    /// Product and version to imitate.
    pub flavor: Flavor,
    /// Data nodes, each a port. Default 1.
    pub nodes: usize,
    /// Ports by node; 0 or none takes a free one.
    pub ports: Vec<u16>,
    /// Status of `GET /`: 200, 405 (Elasticsearch's test distribution) or 403 (gateways).
    pub root_status: u16,
    /// Credentials to ask for.
    pub auth: Option<Auth>,
    /// Further check of every request, for signatures.
    pub verify: Option<Verify>,
    /// Larger bodies, as they come over the wire, are answered with 413. Default 100 MiB, as the servers have it.
    pub max_content_length_bytes: usize,
    /// Whether bodies in SMILE are understood; refused with 406 if not.
    pub smile: bool,
    /// Whether compressed bodies are understood; taken for what they look like if not.
    pub gzip: bool,
    /// `action.auto_create_index`.
    pub auto_create_index: bool,
    /// Elasticsearch's failure store, for every data stream.
    pub failure_store: bool,
    /// Patterns of names a write to which is refused with item 403 `security_exception`.
    pub denied_indices: Vec<String>,
    /// Free bytes on each node's disk. Default 100 GB.
    pub disk_available_bytes: u64,
    /// Wait before every reply.
    pub latency: Duration,
    /// Script of faults to start with.
    pub faults: Faults,
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
            denied_indices: Vec::new(),
            disk_available_bytes: 100_000_000_000,
            latency: Duration::ZERO,
            faults: Faults::default(),
        }
    }
}

impl fmt::Debug for FakeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeConfig").field("flavor", &self.flavor).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Credentials the fake asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Basic`.
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: String,
    },
    /// `Authorization: ApiKey`, the encoded form.
    ApiKey(String),
    /// `Authorization: Bearer`.
    Bearer(String),
}

impl Auth {
    /// The header's value.
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
