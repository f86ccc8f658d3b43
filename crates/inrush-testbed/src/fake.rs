//! The fake cluster in the form that the tests of inrush use so far: a configuration with public
//! fields, and access to the state behind the API of `inrush-fake`.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use http::request::Parts;
use inrush_fake::internal::{Cluster, state};
use inrush_fake::{Auth, FakeNode, Faults, Flavor};

/// A check of the head and the body of a request.
type Verify = Arc<dyn Fn(&Parts, &[u8]) -> Result<(), String> + Send + Sync>;

/// The options of [`inrush_fake::FakeConfig`] as fields.
#[allow(missing_docs)]
pub struct FakeConfig {
    pub flavor: Flavor,
    pub nodes: usize,
    pub ports: Vec<u16>,
    pub root_status: u16,
    pub auth: Option<Auth>,
    pub verify: Option<Verify>,
    pub max_content_length_bytes: usize,
    pub smile: bool,
    pub gzip: bool,
    pub auto_create_index: bool,
    pub failure_store: bool,
    pub denied_indices: Vec<String>,
    pub disk_available_bytes: u64,
    pub latency: Duration,
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

impl From<FakeConfig> for inrush_fake::FakeConfig {
    fn from(config: FakeConfig) -> Self {
        let built = inrush_fake::FakeConfig::default()
            .flavor(config.flavor)
            .nodes(config.nodes)
            .ports(config.ports)
            .root_status(config.root_status)
            .auth(config.auth)
            .max_content_length_bytes(config.max_content_length_bytes)
            .smile(config.smile)
            .gzip(config.gzip)
            .auto_create_index(config.auto_create_index)
            .failure_store(config.failure_store)
            .denied_indices(config.denied_indices)
            .disk_available_bytes(config.disk_available_bytes)
            .latency(config.latency)
            .faults(config.faults);
        match config.verify {
            Some(verify) => built.verify(move |head, body| verify(head, body)),
            None => built,
        }
    }
}

/// A running [`inrush_fake::FakeCluster`], with access to its state.
pub struct FakeCluster(inrush_fake::FakeCluster);

impl Deref for FakeCluster {
    type Target = inrush_fake::FakeCluster;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FakeCluster {
    /// See [`inrush_fake::FakeCluster::start`].
    ///
    /// # Errors
    ///
    /// A port is taken.
    pub async fn start(config: FakeConfig) -> io::Result<FakeCluster> {
        inrush_fake::FakeCluster::start(config.into()).await.map(FakeCluster)
    }

    /// A node by its number.
    ///
    /// # Panics
    ///
    /// There is no node of this number.
    pub fn node(&self, number: usize) -> &FakeNode {
        &self.0.nodes()[number]
    }

    /// The state. Requests wait while it is locked.
    pub fn cluster(&self) -> MutexGuard<'_, Cluster> {
        state(&self.0)
    }

    /// See [`inrush_fake::FakeCluster::faults_applied`].
    pub fn faults_met(&self) -> u64 {
        self.0.faults_applied()
    }

    /// See [`inrush_fake::FakeCluster::shutdown`].
    pub async fn shutdown(self) {
        self.0.shutdown().await;
    }
}
