//! The server that builds the index: it is started for the bake, restarted if it dies, and removed
//! afterwards.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::product;
use inrush_cluster::clock;
use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_node::{self, KnownProduct, NodeError, RunState, StartOptions, Started};

use super::versions;
use crate::config::{BakeError, BuilderConfig};
use crate::record::ServerRecord;

/// How often the builder is checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a builder is restarted. One that dies more often lacks memory or disk.
const RESTARTS_MAX: u32 = 5;
/// How often it is started where other programs take the ports that were free.
const PORT_TRIES: u32 = 5;

/// A running builder.
pub(super) struct Builder {
    /// How it is started again. `None` if the user started it.
    options: Option<StartOptions>,
    pub(super) transport: Arc<Transport>,
    restarts: u32,
}

impl Builder {
    /// Starts the builder of this record, or finds it running. `repository`: the folder to which it
    /// may write snapshots.
    pub(super) async fn start(
        record: &mut ServerRecord,
        config: &BuilderConfig,
        repository: Option<&Path>,
    ) -> Result<Builder, BakeError> {
        if record.is_lent {
            return Builder::borrow(record).await;
        }
        let port = record.url.as_deref().and_then(|url| url.rsplit_once(':')?.1.parse().ok());
        let mut settings: Vec<(String, String)> =
            repository.map(|folder| ("path.repo".to_owned(), quoted(&folder.to_string_lossy()))).into_iter().collect();
        settings.extend(config.settings.iter().map(|(name, value)| (name.clone(), quoted(value))));
        let options = StartOptions {
            name: record.name.clone(),
            // A port of its own, so that it is not found as the local node at the usual port.
            port: Some(port.map_or_else(free_port, Ok)?),
            heap_mib: Some(config.heap_mib),
            data: config.data.as_ref().map(|data| data.join(&record.name)),
            java_home: config.java_home.clone(),
            product: record.product,
            version: None,
            home: config.home.clone(),
            settings,
            tell: inrush_node::Tell::new(|line| tracing::info!("{line}")),
        };
        let (options, started) = start(record, options).await?;
        if !started.already_running {
            tracing::info!("the builder, {}, was started at {}", record.title(), started.url);
        }
        Ok(Builder { options: Some(options), transport: Arc::new(transport(&started.url)?), restarts: 0 })
    }

    /// Uses a running server of the user. Its version must be compatible.
    async fn borrow(record: &mut ServerRecord) -> Result<Builder, BakeError> {
        let url = record.url.clone().unwrap_or_default();
        let builder = transport(&url)?;
        let info = product::detect(&builder).await?;
        let (Some(version), Some(target)) =
            (info.version, record.versions.first().and_then(|target| target.parse().ok()))
        else {
            return Err(BakeError::Refused(format!("the builder {url} does not report its version")));
        };
        if info.product != product_of(record.product) {
            return Err(BakeError::Refused(format!("the builder {url} is {info}, but the target is not")));
        }
        versions::check(record.product, version, target).map_err(BakeError::Refused)?;
        record.version = version.to_string();
        Ok(Builder { options: None, transport: Arc::new(builder), restarts: 0 })
    }

    /// Restarts the builder if it has died, and waits until it is ready. Returns whether it had
    /// died.
    pub(super) async fn revive(&mut self) -> Result<bool, BakeError> {
        let Some(options) = self.options.clone() else { return Ok(false) };
        let mut had_died = false;
        while self.is_dead(&options.name).await? {
            had_died = true;
            tracing::warn!("the builder has died and is restarted on its data");
            inrush_node::start(options.clone()).await?;
        }
        Ok(had_died)
    }

    /// Whether it has died, which is counted.
    async fn is_dead(&mut self, name: &str) -> Result<bool, BakeError> {
        if inrush_node::status(name).await?.state == RunState::Running {
            return Ok(false);
        }
        if self.restarts >= RESTARTS_MAX {
            return Err(BakeError::Refused(format!(
                "the builder has died {} times; `inrush node logs` shows the log of node {name}; see whether it has enough memory (option `builder_heap`) and disk",
                self.restarts + 1
            )));
        }
        self.restarts += 1;
        Ok(true)
    }

    /// Keeps the builder alive until the future is dropped. Returns only if that fails.
    pub(super) async fn keep_alive(&mut self) -> BakeError {
        loop {
            clock::sleep(LOOK_EVERY).await;
            if let Err(error) = self.revive().await {
                return error;
            }
        }
    }

    /// The address of the builder.
    pub(super) fn urls(&self) -> Vec<String> {
        self.transport.nodes().iter().map(ToString::to_string).collect()
    }
}

/// Starts a server of the first version that is available.
async fn start(record: &mut ServerRecord, mut options: StartOptions) -> Result<(StartOptions, Started), BakeError> {
    let mut missing = None;
    // Data of one version are not given to another one.
    let candidates = if record.url.is_some() { vec![record.version.clone()] } else { record.versions.clone() };
    for version in candidates {
        options.version = Some(version);
        let mut tries = 1;
        let started = loop {
            match inrush_node::start(options.clone()).await {
                Err(NodeError::PortTaken(_)) if tries < PORT_TRIES => {
                    // Another program uses the port by now. Documents that were loaded through it
                    // cannot be found through another port.
                    record.url = None;
                    options.port = Some(free_port()?);
                    tries += 1;
                }
                started => break started,
            }
        };
        match started {
            Ok(started) => {
                options.port = started.url.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                (record.version, record.url) = (started.version.clone(), Some(started.url.clone()));
                return Ok((options, started));
            }
            Err(error @ (NodeError::NoDistribution { .. } | NodeError::NoJava { .. })) => {
                missing.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(missing.map_or_else(|| BakeError::Refused("there is no version to build with".to_owned()), BakeError::Node))
}

fn transport(url: &str) -> Result<Transport, BakeError> {
    Transport::new(&[url], Credentials::None, &HttpOptions::default())
        .map_err(|error| inrush_load::LoadError::Setup(error).into())
}

fn product_of(product: KnownProduct) -> inrush_cluster::api::Product {
    match product {
        KnownProduct::OpenSearch => inrush_cluster::api::Product::OpenSearch,
        KnownProduct::Elasticsearch => inrush_cluster::api::Product::Elasticsearch,
    }
}

fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// A port that no program uses now: not 9200 or one after it, where users look for servers.
fn free_port() -> Result<u16, NodeError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let port = bound.map(|address| address.port());
    port.map_err(|source| NodeError::Io { what: "cannot find a free port".into(), source })
}
