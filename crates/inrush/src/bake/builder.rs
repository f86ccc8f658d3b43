//! The server that builds the index: started for it, started again where it dies, and gone afterwards.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::{BakeError, BuilderConfig};
use super::fitting;
use crate::cluster::{ClusterInfo, Version};
use crate::node::{self, Distribution, NodeError, Product, StartOptions, State};
use crate::transport::{Credentials, HttpOptions, Transport};

/// How often it is looked whether it lives.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often it is started again. Whoever dies more often lacks memory or disk.
const RESTARTS_MAX: u32 = 5;

/// What is written down of a builder, so that another run finds it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The node's name.
    pub(super) name: String,
    pub(super) product: Product,
    pub(super) version: String,
    /// Where it answers, from its first start on.
    pub(super) url: Option<String>,
}

impl Note {
    /// As people say it.
    pub(super) fn title(&self) -> String {
        Distribution { product: self.product, version: self.version.clone() }.title()
    }
}

/// A builder that runs.
pub(super) struct Builder {
    options: StartOptions,
    pub(super) transport: Arc<Transport>,
    restarts: u32,
}

/// Which product and versions may build for a target whose oldest node is of version `oldest`.
///
/// # Errors
/// A target that nothing can be built for, or a version that was named and does not fit.
pub(super) fn versions(
    info: &ClusterInfo,
    oldest: Option<Version>,
    config: &BuilderConfig,
) -> Result<(Product, Vec<String>), BakeError> {
    use crate::cluster::Product as Target;
    if info.serverless {
        return Err(BakeError::Refused(
            "a serverless target restores no snapshots; load into it with `inrush load`".to_owned(),
        ));
    }
    let product = match info.product {
        Target::OpenSearch => Product::OpenSearch,
        Target::Elasticsearch => Product::Elasticsearch,
        Target::Unknown => {
            return Err(BakeError::Refused("the target does not say whether it is OpenSearch or Elasticsearch, so nothing can be built for it; load into it with `inrush load`".to_owned()));
        }
    };
    let Some(target) = oldest.or(info.version) else {
        return Err(BakeError::Refused(
            "the target does not tell its version, so nothing can be built for it; load into it with `inrush load`"
                .to_owned(),
        ));
    };
    let named = match (&config.home, &config.version) {
        (Some(home), _) => Some(node::version_in(product, home)?),
        (None, version) => version.clone(),
    };
    match named {
        Some(version) => {
            let parsed =
                version.parse().map_err(|why: String| BakeError::Refused(format!("--builder-version: {why}")))?;
            fitting::check(product, parsed, target).map_err(BakeError::Refused)?;
            Ok((product, vec![version]))
        }
        None => {
            fitting::check(product, target, target).map_err(BakeError::Refused)?;
            Ok((product, fitting::candidates(product, target, &Distribution::versions_here(product))))
        }
    }
}

impl Builder {
    /// Starts the builder of `note`, or finds it running. `repository`: the folder that it may write snapshots to.
    pub(super) async fn start(
        note: &mut Note,
        candidates: &[String],
        config: &BuilderConfig,
        repository: Option<&std::path::Path>,
    ) -> Result<Builder, BakeError> {
        let port = note.url.as_deref().and_then(|url| url.rsplit_once(':')?.1.parse().ok());
        let quoted = |path: &std::path::Path| serde_json::Value::from(path.display().to_string()).to_string();
        let mut options = StartOptions {
            name: note.name.clone(),
            // Its own, so that it is not taken for the local node, which is looked for at its usual port.
            port: Some(port.map_or_else(free_port, Ok)?),
            heap_mib: Some(config.heap_mib),
            data: config.data.as_ref().map(|data| data.join(&note.name)),
            java_home: config.java_home.clone(),
            product: note.product,
            version: None,
            home: config.home.clone(),
            settings: repository.map(|folder| ("path.repo".to_owned(), quoted(folder))).into_iter().collect(),
        };
        let mut missing = None;
        for version in candidates {
            options.version = Some(version.clone());
            match node::start(options.clone()).await {
                Ok(started) => {
                    if !started.already_running {
                        tracing::info!("the builder, {}, was started at {}", note.title(), started.url);
                    }
                    note.version = started.version;
                    note.url = Some(started.url.clone());
                    options.port = started.url.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                    return Ok(Builder { options, transport: Arc::new(transport(&started.url)?), restarts: 0 });
                }
                // Somebody else's by now; what was loaded through it is not found again through another.
                Err(NodeError::PortTaken(_)) if note.url.take().is_some() => {
                    return Box::pin(Builder::start(note, candidates, config, repository)).await;
                }
                Err(error @ (NodeError::NoDistribution { .. } | NodeError::NoJava { .. })) => {
                    missing.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(missing.map_or_else(|| BakeError::Refused("there is no version to build with".to_owned()), BakeError::Node))
    }

    /// Starts it again where it has died. Whether it had.
    pub(super) async fn revive(&mut self) -> Result<bool, BakeError> {
        if node::status(&self.options.name).await?.state == State::Running {
            return Ok(false);
        }
        if self.restarts >= RESTARTS_MAX {
            return Err(BakeError::Refused(format!(
                "the builder has died {} times; see `inrush node logs --name {}`, and whether it has enough memory (--builder-heap) and disk",
                self.restarts + 1,
                self.options.name
            )));
        }
        self.restarts += 1;
        tracing::warn!("the builder has died, and is started again on its data");
        node::start(self.options.clone()).await?;
        Ok(true)
    }

    /// Keeps it alive until dropped; returns only where that cannot be done.
    pub(super) async fn keep_alive(&mut self) -> BakeError {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Err(error) = self.revive().await {
                return error;
            }
        }
    }

    /// Where it answers.
    pub(super) fn url(&self) -> String {
        self.transport.nodes()[0].to_string()
    }
}

fn transport(url: &str) -> Result<Transport, BakeError> {
    Transport::new(&[url], Credentials::None, &HttpOptions::default()).map_err(|e| crate::LoadError::Setup(e).into())
}

/// A port that nobody listens on now. Not 9200 and those after it, where people look for servers.
fn free_port() -> Result<u16, NodeError> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|source| NodeError::Io { what: "cannot find a free port".into(), source })
}
