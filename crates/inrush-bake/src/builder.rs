//! The server that builds the index: it is started for the bake, restarted if it dies, and removed
//! afterwards.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::{ClusterInfo, Version, product};
use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_node::{self, Distribution, NodeError, Product, StartOptions, Starting, State};
use serde::{Deserialize, Serialize};

use super::config::{BakeError, BuilderConfig};
use super::plan;

/// How often the builder is checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a builder is restarted. One that dies more often lacks memory or disk.
const RESTARTS_MAX: u32 = 5;

/// The record of a builder, by which a later run finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The name of the node.
    pub(super) name: String,
    pub(super) product: Product,
    pub(super) version: String,
    /// The address, from its first start on.
    pub(super) url: Option<String>,
    /// The port for other nodes, from its first start on.
    pub(super) transport_port: Option<u16>,
    /// Whether the user started it. Then it keeps running.
    pub(super) is_lent: bool,
}

impl Note {
    /// Product and version for messages.
    pub(super) fn title(&self) -> String {
        Distribution { product: self.product, version: self.version.clone() }.title()
    }
}

/// A running builder: one server, or several that form one cluster.
pub(super) struct Builder {
    nodes: Vec<StartOptions>,
    pub(super) transport: Arc<Transport>,
    restarts: u32,
}

/// The product and versions that may build for a target whose oldest node has the version `oldest`.
///
/// # Errors
/// A target that no builder can build for, or a version that the user gave and that is not
/// compatible.
pub(super) fn versions(
    info: &ClusterInfo,
    oldest: Option<Version>,
    config: &BuilderConfig,
) -> Result<(Product, Vec<String>), BakeError> {
    use inrush_cluster::api::Product as Target;
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
            "the target does not report its version, so nothing can be built for it; load into it with `inrush load`"
                .to_owned(),
        ));
    };
    let named = match (&config.home, &config.version) {
        (Some(home), _) => Some(inrush_node::version_in(product, home)?),
        (None, version) => version.clone(),
    };
    match named {
        Some(version) => {
            let parsed = version
                .parse()
                .map_err(|why: String| BakeError::Refused(format!("option `builder_version`: {why}")))?;
            plan::check(product, parsed, target).map_err(BakeError::Refused)?;
            Ok((product, vec![version]))
        }
        None => {
            plan::check(product, target, target).map_err(BakeError::Refused)?;
            Ok((product, plan::candidates(product, target, &Distribution::versions_here(product))))
        }
    }
}

impl Builder {
    /// Starts the builder of these notes, or finds it running. `repository`: the folder to which it
    /// may write snapshots.
    pub(super) async fn start(
        notes: &mut [Note],
        candidates: &[String],
        config: &BuilderConfig,
        repository: Option<&Path>,
    ) -> Result<Builder, BakeError> {
        if let Some(note) = notes.first_mut().filter(|note| note.is_lent) {
            return Builder::borrow(note, candidates).await;
        }
        let (mut nodes, mut starting) = (Vec::new(), Vec::new());
        let cluster = notes.first().map(|first| first.name.clone()).filter(|_| notes.len() > 1);
        let free = free_ports(2 * notes.len())?;
        let mut seed = None;
        for (note, free) in notes.iter_mut().zip(free.chunks_exact(2)) {
            if cluster.is_some() && note.transport_port.is_none() {
                // A start that was cut off may have left it running, and its port for other nodes
                // is unknown.
                inrush_node::stop(&note.name, false).await?;
            }
            let port = note.url.as_deref().and_then(|url| url.rsplit_once(':')?.1.parse().ok());
            let transport_port = note.transport_port.unwrap_or(free[0]);
            note.transport_port = Some(transport_port);
            let mut settings: Vec<(String, String)> = repository
                .map(|folder| ("path.repo".to_owned(), quoted(&folder.to_string_lossy())))
                .into_iter()
                .collect();
            settings.extend(config.settings.iter().map(|(name, value)| (name.clone(), quoted(value))));
            if let Some(cluster) = &cluster {
                settings.extend(of_cluster(note, cluster, seed.unwrap_or(transport_port)));
            }
            let options = StartOptions {
                name: note.name.clone(),
                // A port of its own, so that it is not found as the local node at the usual port.
                port: Some(port.unwrap_or(free[1])),
                transport_port: Some(transport_port),
                heap_mib: Some(config.heap_mib),
                data: config.data.as_ref().map(|data| data.join(&note.name)),
                java_home: config.java_home.clone(),
                product: note.product,
                version: None,
                home: config.home.clone(),
                settings,
            };
            let (options, launched) = launch(note, options, candidates).await?;
            nodes.push(options);
            starting.push(launched);
            // The launch may have given it another port.
            seed = seed.or(note.transport_port);
        }
        // Waits only after all are launched: a node of a cluster that was stopped is not ready
        // without the shards of the others.
        inrush_node::ready(&starting).await?;
        for (note, _) in notes.iter().zip(&starting).filter(|(_, launched)| !launched.already_running) {
            tracing::info!("the builder, {}, was started at {}", note.title(), note.url.as_deref().unwrap_or_default());
        }
        let urls: Vec<String> = notes.iter().filter_map(|note| note.url.clone()).collect();
        Ok(Builder { nodes, transport: Arc::new(transport(&urls)?), restarts: 0 })
    }

    /// Uses a running server of the user. Its version must be compatible.
    async fn borrow(note: &mut Note, candidates: &[String]) -> Result<Builder, BakeError> {
        let url = note.url.clone().unwrap_or_default();
        let builder = transport(std::slice::from_ref(&url))?;
        let info = product::detect(&builder).await?;
        let (Some(version), Some(target)) = (info.version, candidates.first().and_then(|target| target.parse().ok()))
        else {
            return Err(BakeError::Refused(format!("the builder {url} does not report its version")));
        };
        if info.product != product_of(note.product) {
            return Err(BakeError::Refused(format!("the builder {url} is {info}, but the target is not")));
        }
        plan::check(note.product, version, target).map_err(BakeError::Refused)?;
        note.version = version.to_string();
        Ok(Builder { nodes: Vec::new(), transport: Arc::new(builder), restarts: 0 })
    }

    /// Restarts the nodes that have died, and waits until all are ready. Returns whether one had
    /// died.
    pub(super) async fn revive(&mut self) -> Result<bool, BakeError> {
        let mut had_died = false;
        while self.count_dead().await? {
            had_died = true;
            tracing::warn!("the builder has died and is restarted on its data");
            let mut starting = Vec::new();
            for options in &self.nodes {
                starting.push(inrush_node::launch(options.clone()).await?);
            }
            match inrush_node::ready(&starting).await {
                // A node that had outlived the others may have died by now, too.
                Err(NodeError::Died { .. }) if starting.iter().any(|node| node.already_running) => {}
                ready => ready?,
            }
        }
        Ok(had_died)
    }

    /// Whether a node has died. Each one is counted.
    async fn count_dead(&mut self) -> Result<bool, BakeError> {
        let before = self.restarts;
        for options in &self.nodes {
            if inrush_node::status(&options.name).await?.state == State::Running {
                continue;
            }
            if self.restarts >= RESTARTS_MAX {
                return Err(BakeError::Refused(format!(
                    "the builder has died {} times; `inrush node logs` shows the log of node {}; see whether it has enough memory (option `builder_heap`) and disk",
                    self.restarts + 1,
                    options.name
                )));
            }
            self.restarts += 1;
        }
        Ok(self.restarts > before)
    }

    /// Keeps the builder alive until the future is dropped. Returns only if that fails.
    pub(super) async fn keep_alive(&mut self) -> BakeError {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Err(error) = self.revive().await {
                return error;
            }
        }
    }

    /// The addresses of the builder.
    pub(super) fn urls(&self) -> Vec<String> {
        self.transport.nodes().iter().map(ToString::to_string).collect()
    }
}

/// Launches one server, of the first version that is available.
async fn launch(
    note: &mut Note,
    mut options: StartOptions,
    candidates: &[String],
) -> Result<(StartOptions, Starting), BakeError> {
    let mut missing = None;
    for version in candidates {
        options.version = Some(version.clone());
        let mut launched = inrush_node::launch(options.clone()).await;
        if matches!(launched, Err(NodeError::PortTaken(_))) && note.url.take().is_some() {
            // Another program uses the port by now. Documents that were loaded through it cannot be
            // found through another port.
            let free = free_ports(2)?;
            (options.port, options.transport_port) = (Some(free[0]), Some(free[1]));
            note.transport_port = options.transport_port;
            launched = inrush_node::launch(options.clone()).await;
        }
        match launched {
            Ok(launched) => {
                let (url, version) = (launched.node.url.clone(), launched.node.version.clone());
                options.port = url.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                (note.version, note.url) = (version, Some(url));
                return Ok((options, launched));
            }
            Err(error @ (NodeError::NoDistribution { .. } | NodeError::NoJava { .. })) => {
                missing.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(missing.map_or_else(|| BakeError::Refused("there is no version to build with".to_owned()), BakeError::Node))
}

/// The settings that make a server a node of the cluster whose first node, of the same name,
/// listens for the others at `seed`.
fn of_cluster(note: &Note, cluster: &str, seed: u16) -> Vec<(String, String)> {
    let first = match note.product {
        Product::OpenSearch => "cluster.initial_cluster_manager_nodes",
        Product::Elasticsearch => "cluster.initial_master_nodes",
    };
    let mut settings = vec![
        ("cluster.name".to_owned(), cluster.to_owned()),
        // An empty value removes the setting of the node.
        ("discovery.type".to_owned(), String::new()),
        ("discovery.seed_hosts".to_owned(), format!("[\"127.0.0.1:{seed}\"]")),
    ];
    if note.name == cluster {
        settings.push((first.to_owned(), format!("[\"{cluster}\"]")));
    }
    settings
}

fn transport(urls: &[String]) -> Result<Transport, BakeError> {
    Transport::new(urls, Credentials::None, &HttpOptions::default())
        .map_err(|error| inrush_load::LoadError::Setup(error).into())
}

fn product_of(product: Product) -> inrush_cluster::api::Product {
    match product {
        Product::OpenSearch => inrush_cluster::api::Product::OpenSearch,
        Product::Elasticsearch => inrush_cluster::api::Product::Elasticsearch,
    }
}

fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// Ports that no program uses now. Not 9200 and those after it, where users look for servers.
fn free_ports(count: usize) -> Result<Vec<u16>, NodeError> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // All are held at once, so that they differ: nodes that are launched together bind theirs
    // later.
    let listeners: io::Result<Vec<TcpListener>> = (0..count).map(bind).collect();
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let ports = listeners.and_then(|all| all.iter().map(port).collect());
    ports.map_err(|source| NodeError::Io { what: "cannot find free ports".into(), source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_the_first_node_founds_a_cluster_and_all_look_for_it() {
        let node = |name: &str| {
            let note = Note {
                name: name.to_owned(),
                product: Product::OpenSearch,
                version: "3.6.0".to_owned(),
                url: None,
                transport_port: None,
                is_lent: false,
            };
            of_cluster(&note, "bake-1", 7)
        };
        let (first, second) = (node("bake-1"), node("bake-2"));
        assert_eq!(first[..second.len()], second);
        let founder = ("cluster.initial_cluster_manager_nodes".to_owned(), "[\"bake-1\"]".to_owned());
        assert_eq!(first[second.len()..], [founder]);
        assert!(second.contains(&("discovery.seed_hosts".to_owned(), "[\"127.0.0.1:7\"]".to_owned())));
    }

    #[test]
    fn free_ports_are_different() {
        let ports = free_ports(32).unwrap();
        assert_eq!((ports.len(), ports.iter().collect::<BTreeSet<_>>().len()), (32, 32));
    }
}
