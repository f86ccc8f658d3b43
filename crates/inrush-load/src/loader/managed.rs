//! Elastic's managed `_bulk` endpoint: a queue in front of a cluster.
//!
//! It answers before documents are indexed, with 201 for each of them, and serves `/`, `_license`
//! and `_bulk` below `/_es`. Only the count of the cluster behind it says how many of them are in.
//!
//! Source: elastic.co/docs/reference/opentelemetry/managed-inputs/elasticsearch-bulk.

use std::time::Duration;

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::check::Preflight;
use inrush_cluster::api::index_mode::IndexMode;
use inrush_cluster::api::{Product, product, stats};
use inrush_cluster::transport::{NodeUrl, Transport};
use inrush_core::{Action, Encoding};
use serde_json::Value;

use super::prepare::Prepared;
use crate::config::{BulkRouting, Durability, FinishConfig, GraphTime, LoadConfig};
use crate::error::LoadError;
use crate::option_error::OptionError;
use crate::report::{Verified, VerifiedState};

/// The path of the endpoint on its host.
const PATH: &str = "/_es";

/// The label of hosts that take documents for a cluster.
const INGEST: &str = ".ingest.";

/// How long the count may stand still before it counts as the last one.
const STILL_MAX: Duration = Duration::from_secs(60);

/// What to do about documents that are not counted.
const NEXT: &str = "documents that the cluster refused are in the failure store of the data stream, and Data Set \
                    Quality of Kibana shows them; the endpoint itself never tells";

/// A load through the endpoint.
pub(crate) struct Managed {
    stream: String,
    /// The cluster behind the endpoint, or why there is no address of it.
    cluster: Result<Transport, String>,
    /// Documents of the data stream before the load, or why they could not be counted.
    before: Result<u64, String>,
    patience: Duration,
    /// Whether the load is verified at all.
    verifies: bool,
}

/// Whether the host is one of Elastic's that take documents for a cluster.
fn is_ingest(node: &NodeUrl) -> bool {
    node.host().contains(INGEST) && node.is_of_elastic()
}

/// Refuses the address of an ingest host without the path of its `_bulk` endpoint.
///
/// # Errors
/// The path is missing.
pub(crate) fn check_addresses(config: &LoadConfig) -> Result<(), LoadError> {
    for url in &config.to {
        let Ok((node, _)) = NodeUrl::parse(url) else { continue };
        if is_ingest(&node) && !node.path().ends_with(PATH) {
            let message = format!("{url} is an ingest host of Elastic, whose _bulk endpoint has the path {PATH}");
            let hint =
                format!("give option `to={}{PATH}`, or the address of the cluster itself", url.trim_end_matches('/'));
            return Err(OptionError::conflict(message).of("to").hint(hint).into());
        }
    }
    Ok(())
}

/// The load through the endpoint, where the target is one.
///
/// # Errors
/// An option, an action or a target that the endpoint does not take, or option `count_at` without
/// an endpoint.
pub(crate) async fn find(transport: &Transport, config: &mut LoadConfig) -> Result<Option<Managed>, LoadError> {
    if is_meant(transport).await {
        return prepare(config).await.map(Some);
    }
    if config.count_at.is_some() {
        let message = "option `count_at` is for the managed _bulk endpoint of Elastic, but the target is a cluster";
        return Err(OptionError::conflict(message).of("count_at").hint("leave it out: a cluster counts itself").into());
    }
    Ok(None)
}

/// Whether the target is the endpoint: by its address, and where another gateway may have the path,
/// by its answers: it is Elasticsearch and does not know a path that each cluster has.
async fn is_meant(transport: &Transport) -> bool {
    let Some(node) = transport.nodes().first().filter(|node| node.path().ends_with(PATH)) else { return false };
    if is_ingest(node) {
        return true;
    }
    let health = transport.ask(Method::GET, "/_cluster/health?filter_path=status", None).await;
    if !health.is_ok_and(|answer| matches!(answer.status(), 400 | 404 | 405)) {
        return false;
    }
    // Without a version, the path of the address may be one that a cluster itself refuses.
    let info = product::detect(transport).await.unwrap_or_default();
    info.product == Product::Elasticsearch && info.version.is_some()
}

/// Makes the configuration one that the endpoint takes, and counts the data stream.
///
/// # Errors
/// An option, an action or a target that the endpoint does not take.
async fn prepare(config: &mut LoadConfig) -> Result<Managed, LoadError> {
    check(config)?;
    let stream = stream(config)?;
    config.action = Action::Create;
    config.guard.leave_settings = true;
    config.encoding = Some(Encoding::Json);
    config.compression = Some(config.compression.unwrap_or(inrush_core::Compression::None));
    config.bulk_routing = BulkRouting::Spread;
    let verifies = std::mem::replace(&mut config.verify, false);
    let cluster = match verifies {
        true => cluster(config),
        false => Err("option `no_verify` is given".to_owned()),
    };
    let before = match &cluster {
        Ok(cluster) => count(cluster, &stream).await,
        Err(why) => Err(why.clone()),
    };
    if let (true, Err(why)) = (verifies, &before) {
        config.told.warn(format!("this load cannot be verified: {why}"));
    }
    let patience = config.finish.wait_timeout.min(STILL_MAX);
    Ok(Managed { stream, cluster, before, patience, verifies })
}

/// Refuses what needs more than the endpoint serves.
fn check(config: &LoadConfig) -> Result<(), OptionError> {
    let FinishConfig { wait_for, force_merge, graph, swap, .. } = &config.finish;
    let create = &config.create;
    let given = [
        (matches!(config.action, Action::Update | Action::Upsert | Action::Delete), "action"),
        (create.recreate, "recreate"),
        (create.mapping.is_some(), "mapping"),
        (create.settings.is_some(), "settings"),
        (create.shards.is_some(), "shards"),
        (create.replicas.is_some(), "replicas"),
        (!create.patterns.is_empty(), "indices"),
        (config.pipeline.is_some(), "pipeline"),
        (config.version.is_some(), "version"),
        (config.guard.replicas_off, "replicas_off"),
        (config.durability == Durability::Async, "durability"),
        (config.once, "once"),
        (config.encoding == Some(Encoding::Smile), "encoding"),
        (config.bulk_routing == BulkRouting::OneShard, "bulk_routing"),
        (swap.is_some(), "alias"),
        (force_merge.is_some(), "force_merge"),
        (*graph == GraphTime::End, "graph"),
        (wait_for.is_some(), "wait_for"),
    ];
    let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) else { return Ok(()) };
    let what = match (option, config.action) {
        ("action", Action::Update) => "option `action=update`".to_owned(),
        ("action", Action::Upsert) => "option `action=upsert`".to_owned(),
        ("action", _) => "option `action=delete`".to_owned(),
        (option, _) => format!("option `{option}`"),
    };
    let message = format!(
        "{what} does not work with the managed _bulk endpoint of Elastic, which only takes new documents (action create) of data streams"
    );
    Err(OptionError::conflict(message)
        .of(option)
        .hint("leave it out, or give the address of the cluster in option `to`"))
}

/// The data stream of the load. The endpoint takes documents of others, too, and drops them.
fn stream(config: &LoadConfig) -> Result<String, OptionError> {
    let refuse = |message: String, hint: &str| Err(OptionError::conflict(message).of("index").hint(hint));
    let name = config.index.as_str();
    if config.index.fixed().is_none() {
        let message =
            format!("the managed _bulk endpoint of Elastic takes one data stream, but {name} has placeholders");
        return refuse(message, "load each data stream by itself, or give the address of the cluster in option `to`");
    }
    if name != "logs" && !name.starts_with("logs-") && !name.starts_with("logs.") {
        let message = format!(
            "the managed _bulk endpoint of Elastic accepts documents for {name}, and never indexes them: it takes logs only"
        );
        return refuse(
            message,
            "name a data stream such as logs-nginx.access-default, or give the address of the cluster in option `to`",
        );
    }
    Ok(name.to_owned())
}

/// The cluster behind the endpoint: the given one, or for a host of Elastic that of the same
/// project by its name. The credentials go to no other host.
fn cluster(config: &LoadConfig) -> Result<Transport, String> {
    let is_known = |to: &str| NodeUrl::parse(to).is_ok_and(|(node, _)| is_ingest(&node));
    let address = match (&config.count_at, config.to.first()) {
        (Some(given), _) => given.clone(),
        (None, Some(to)) if is_known(to) => to.replace(INGEST, ".es.").trim_end_matches('/').replace(PATH, ""),
        (None, _) => return Err("the cluster behind it is not known; give option `count_at`".to_owned()),
    };
    let options = super::http_options(config);
    Transport::new(&[address], config.credentials.clone(), &options).map_err(|error| error.to_string())
}

/// The documents of the data stream. It need not exist.
async fn count(cluster: &Transport, stream: &str) -> Result<u64, String> {
    match stats::count_now(cluster, stream).await {
        Ok(count) => Ok(count),
        Err(error) if error.status() == Some(404) => Ok(0),
        // A user who may not refresh sees the documents a little later.
        Err(error) if error.status() == Some(403) => {
            stats::count(cluster, stream).await.map_err(|_| format!("{stream} cannot be counted: {error}"))
        }
        Err(error) => Err(format!("{stream} cannot be counted: {error}")),
    }
}

impl Managed {
    /// What is known before the first document.
    pub(crate) async fn prepared(self, transport: &Transport) -> Prepared {
        Prepared::of_managed(self.preflight(transport).await, self)
    }

    async fn preflight(&self, transport: &Transport) -> Preflight {
        let warning = format!(
            "the target is the managed _bulk endpoint of Elastic: it answers before documents are indexed, and does not \
             tell which ones the cluster refuses; what a load sends again after a lost answer is in {} twice, also with ids",
            self.stream
        );
        tracing::warn!("{warning}");
        Preflight {
            info: product::detect(transport).await.unwrap_or_default(),
            target: None,
            action: Action::Create,
            lacks_for_guard: None,
            body_bytes_max: None,
            pipelines: false,
            mode: IndexMode::default(),
            mappings_given: Value::Null,
            warnings: vec![warning],
        }
    }

    /// Documents of the data stream before the load, where they were counted.
    pub(crate) fn before(&self) -> Option<u64> {
        self.before.as_ref().ok().copied()
    }

    /// For a load that goes on: the count is the one before its first run, because the documents of
    /// all runs are compared with it.
    pub(crate) fn go_on(&mut self, before: Option<u64>) {
        let not_counted = || format!("the interrupted run has not counted {}", self.stream);
        self.before = before.ok_or_else(not_counted);
    }

    /// Waits until the cluster has as many documents more as the load has sent, or has no more for
    /// a while.
    pub(crate) async fn verify(&self, sent: u64) -> Verified {
        if !self.verifies {
            return crate::count_check::off();
        }
        let unproven = |why: &str| {
            let stream = &self.stream;
            let detail = format!(
                "the endpoint has taken {sent} documents, and whether they are indexed is not known: {why}; count {stream} \
                 before and after a load with GET {stream}/_count at the cluster; {NEXT}"
            );
            Verified::new(VerifiedState::NotProvable, detail)
        };
        let (cluster, before) = match (&self.cluster, &self.before) {
            (Ok(cluster), Ok(before)) => (cluster, *before),
            (Err(why), _) | (_, Err(why)) => return unproven(why),
        };
        let mut wait = Wait::new(self.patience);
        let mut most = None;
        loop {
            let more = match count(cluster, &self.stream).await {
                Ok(now) => now.saturating_sub(before),
                Err(why) => return unproven(&why),
            };
            if more >= sent {
                return self.judge(more, sent);
            }
            if most.is_none_or(|most| more > most) {
                (wait, most) = (Wait::new(self.patience), Some(more));
            }
            if wait.pause(format!("{more} of {sent} documents are indexed")).await.is_err() {
                return self.judge(more, sent);
            }
        }
    }

    fn judge(&self, more: u64, sent: u64) -> Verified {
        let stream = &self.stream;
        if more == sent {
            let detail = format!("{stream} has {sent} documents more than before, as many as the endpoint has taken");
            return Verified::new(VerifiedState::Yes, detail);
        }
        if more > sent {
            let detail = format!(
                "{stream} has {more} documents more than before, and the endpoint has taken {sent}: others write to it, \
                 or documents that were sent again are in twice"
            );
            return Verified::new(VerifiedState::NotProvable, detail);
        }
        let detail = format!(
            "the endpoint has taken {sent} documents, but {stream} has only {more} more than before, and for {} s no \
             further ones; {NEXT}",
            self.patience.as_secs()
        );
        Verified::new(VerifiedState::No, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(to: &str, index: &str) -> LoadConfig {
        LoadConfig::new(vec![to.to_owned()], index.parse().unwrap())
    }

    #[test]
    fn an_ingest_host_needs_the_path_of_the_endpoint() {
        let host = "https://x-1.ingest.us-east-1.aws.elastic.cloud";
        let error = check_addresses(&config(host, "logs")).unwrap_err().to_string();
        assert!(error.contains("/_es"), "{error}");
        for good in [
            &format!("{host}/_es"),
            &format!("{host}:443/_es/"),
            "https://x.es.us-east-1.aws.elastic.cloud",
            "http://a.ingest.example.com:9200",
        ] {
            assert!(check_addresses(&config(good, "logs")).is_ok(), "{good}");
        }
    }

    #[test]
    fn only_data_streams_of_logs_are_indexed() {
        for good in ["logs", "logs-nginx.access-default", "logs.otel"] {
            assert_eq!(stream(&config("http://a/_es", good)).unwrap(), good);
        }
        for bad in ["metrics-a-b", "trips", "filebeat-8", "logsdb", "logs-{a}-b"] {
            assert!(stream(&config("http://a/_es", bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_needs_more_than_bulk_requests_is_refused_by_name() {
        type Change = fn(&mut LoadConfig);
        let changes: [(&str, Change); 8] = [
            ("action=delete", |c| c.action = Action::Delete),
            ("action=update", |c| c.action = Action::Update),
            ("action=upsert", |c| c.action = Action::Upsert),
            ("recreate", |c| c.create.recreate = true),
            ("shards", |c| c.create.shards = Some(2)),
            ("pipeline", |c| c.pipeline = Some("p".to_owned())),
            ("force_merge", |c| c.finish.force_merge = Some(1)),
            ("once", |c| c.once = true),
        ];
        for (name, change) in changes {
            let mut config = config("http://a/_es", "logs");
            assert!(check(&config).is_ok());
            change(&mut config);
            let error = check(&config).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")) || error.contains(name), "{error}");
        }
    }

    #[test]
    fn the_cluster_of_a_project_has_another_label() {
        let of = |to: &str| cluster(&config(to, "logs")).map(|cluster| cluster.nodes()[0].to_string());
        assert_eq!(
            of("https://x-1.ingest.us-east-1.aws.elastic.cloud/_es/").as_deref(),
            Ok("https://x-1.es.us-east-1.aws.elastic.cloud:443")
        );
        for other in ["http://localhost:9200/_es", "https://x-1.ingest.example.com/_es"] {
            assert!(of(other).unwrap_err().contains("count_at"), "{other}");
        }
        let mut given = config("http://localhost:9200/_es", "logs");
        given.count_at = Some("http://localhost:9200".to_owned());
        assert_eq!(cluster(&given).unwrap().nodes()[0].to_string(), "http://localhost:9200");
    }
}
