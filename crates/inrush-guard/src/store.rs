//! The guard's requests to the cluster: its lease, and the settings of its index.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use inrush_cluster::api::own::OwnDocument;
use inrush_cluster::api::{ClusterError, stats};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::settings_guard::{Changes, Command, Lease, Part, Precondition, Reply, Settings, Version, policy};
use inrush_core::vectors::graph;
use serde_json::{Map, Value, json};

pub use inrush_cluster::api::guarded::GUARD_INDEX;

/// Access to the lease and the settings of one index, or of its graphs of vectors.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) transport: Arc<Transport>,
    pub(crate) index: String,
    pub(crate) uuid: String,
    pub(crate) part: Part,
}

impl Store {
    /// Executes a command of the guard. Its requests are sent again within the limits of the
    /// transport while the cluster cannot answer. That is safe, because the lease is written by
    /// compare-and-set.
    pub(crate) async fn execute(&self, command: &Command) -> Reply {
        self.try_to(command).await.unwrap_or_else(|error| Reply::Failed(error.to_string()))
    }

    /// The same store, with requests for which nothing waits long.
    pub(crate) fn brief(&self) -> Store {
        Store { transport: Arc::new(self.transport.brief()), ..self.clone() }
    }

    async fn try_to(&self, command: &Command) -> Result<Reply, ClusterError> {
        match command {
            Command::ReadLease => Ok(Reply::Lease(self.read_lease().await?)),
            Command::ReadSettings => self.read_settings().await,
            Command::WriteLease { lease, over } => self.write_lease(lease, *over).await,
            Command::DeleteLease { version } => self.delete_lease(*version).await,
            Command::Put { values, .. } => self.put(values).await,
            // The caller has a clock and waits.
            Command::Wait { .. } => Ok(Reply::Due),
        }
    }

    fn document(&self) -> OwnDocument {
        OwnDocument { transport: Arc::clone(&self.transport), index: GUARD_INDEX, id: self.lease_id() }
    }

    pub(crate) fn lease_id(&self) -> String {
        self.part.lease_id(&self.uuid)
    }

    async fn read_lease(&self) -> Result<Option<(Lease, Version)>, ClusterError> {
        let what = format!("reading the lease of {}", self.index);
        let found = self.document().read(&what).await?;
        found.map(|(source, version)| Ok((lease(&what, source)?, version))).transpose()
    }

    async fn write_lease(&self, lease: &Lease, over: Precondition) -> Result<Reply, ClusterError> {
        let what = format!("writing the lease of {} to {GUARD_INDEX}", self.index);
        let document = serde_json::to_value(lease)
            .map_err(|error| ClusterError::Reply { what: what.clone(), problem: error.to_string() })?;
        let written = self.document().write(&what, &document, over).await?;
        Ok(written.map_or(Reply::Conflict, Reply::Written))
    }

    async fn delete_lease(&self, version: Version) -> Result<Reply, ClusterError> {
        let what = format!("deleting the lease of {}", self.index);
        let deleted = self.document().delete(&what, version).await?;
        Ok(if deleted { Reply::Deleted } else { Reply::Conflict })
    }

    async fn read_settings(&self) -> Result<Reply, ClusterError> {
        let what = format!("reading the settings of {}", self.index);
        let path = format!("/{}/_settings?flat_settings=true&include_defaults=true", path_segment(&self.index));
        let body = self.transport.find(&what, Method::GET, &path).await?.unwrap_or_default();
        let Some(index) = body.get(&self.index) else { return Ok(Reply::Gone) };
        let mut set = flat(index.get("settings"));
        // The index was created again, and its settings belong to its owner.
        if set.get("index.uuid") != Some(&self.uuid) {
            return Ok(Reply::Gone);
        }
        if self.part == Part::Graphs {
            set.extend(graph::shown(&self.read_mapping().await?));
        }
        Ok(Reply::Settings(Settings { set, defaults: flat(index.get("defaults")) }))
    }

    async fn read_mapping(&self) -> Result<Value, ClusterError> {
        let what = format!("reading the mapping of {}", self.index);
        let path = format!("/{}/_mapping", path_segment(&self.index));
        let mut body = self.transport.demand(&what, Method::GET, &path, None).await?;
        Ok(body.get_mut(&self.index).and_then(|index| index.get_mut("mappings")).map(Value::take).unwrap_or_default())
    }

    /// Changes settings, and options of the mapping that the guard knows as settings.
    async fn put(&self, values: &BTreeMap<String, Option<String>>) -> Result<Reply, ClusterError> {
        let mut settings = values.clone();
        let options = settings.extract_if(.., |name, _| graph::path_of(name).is_some()).collect();
        if !settings.is_empty() {
            let reply = self.put_settings(&settings).await?;
            if reply != Reply::Put {
                return Ok(reply);
            }
        }
        self.put_options(&options).await
    }

    /// Gives fields of the mapping other `index_options`.
    async fn put_options(&self, options: &BTreeMap<String, Option<String>>) -> Result<Reply, ClusterError> {
        if options.is_empty() {
            return Ok(Reply::Put);
        }
        let update = graph::update(&self.read_mapping().await?, options);
        let what = format!("changing the mapping of {}", self.index);
        self.change(&what, "_mapping", &update).await
    }

    async fn put_settings(&self, values: &BTreeMap<String, Option<String>>) -> Result<Reply, ClusterError> {
        if policy::brings_replicas(values)
            && let Err(error) = stats::flush(&self.transport.brief(), &self.index).await
        {
            // A new replica copies the files of the last commit and indexes all later operations.
            // Without a commit now, those would be a large part of the load.
            tracing::warn!(
                "{} could not be flushed before its replicas are added, so they may index a part of the load again: {error}",
                self.index
            );
        }
        let what = format!("changing the settings of {}", self.index);
        self.change(&what, "_settings", &json!(values)).await
    }

    async fn change(&self, what: &str, of: &str, body: &Value) -> Result<Reply, ClusterError> {
        let path = format!("/{}/{of}", path_segment(&self.index));
        let answer = self.transport.ask(Method::PUT, &path, Some(body)).await?;
        let body = answer.json(what)?;
        match answer.status() {
            200..=299 => Ok(Reply::Put),
            404 => Ok(Reply::Gone),
            status => {
                let error = ClusterError::from_status(what, status, &body);
                // Blocks (403, and 429 at the flood stage) and values that are not allowed.
                if is_passing(&error) || status >= 500 { Err(error) } else { Ok(Reply::Refused(error.to_string())) }
            }
        }
    }
}

/// All leases of the cluster, by the UUIDs of their indices. Empty where no index was ever guarded.
pub(crate) async fn leases(transport: &Transport) -> Result<Vec<(String, Lease)>, ClusterError> {
    let what = format!("looking for leases in {GUARD_INDEX}");
    let refreshed = transport.find(&what, Method::POST, &format!("/{GUARD_INDEX}/_refresh")).await?;
    if refreshed.is_none() {
        return Ok(Vec::new());
    }
    let path = format!("/{GUARD_INDEX}/_search");
    let body = transport.demand(&what, Method::POST, &path, Some(&json!({"size": 10_000}))).await?;
    let hits = body.pointer("/hits/hits").and_then(Value::as_array).cloned().unwrap_or_default();
    let one = |mut hit: Value| {
        let id = hit.get("_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let source = hit.get_mut("_source").map(Value::take).unwrap_or_default();
        lease(&what, source).map(|lease| (id, lease))
    };
    hits.into_iter().map(one).collect()
}

/// An index that was created without graphs of its vectors, by its mapping.
pub(crate) struct Created {
    pub(crate) index: String,
    pub(crate) uuid: String,
    pub(crate) made: Changes,
}

/// The indices that were created without graphs of their vectors, also those whose load was killed
/// before it could write a lease. `names`: only these. Those that the user may not see are left
/// out.
pub(crate) async fn without_graphs(transport: &Transport, names: &[String]) -> Result<Vec<Created>, ClusterError> {
    let what = "looking for indices without graphs of their vectors";
    let names: Vec<String> = names.iter().map(|name| path_segment(name).to_string()).collect();
    let of = if names.is_empty() { "*".to_owned() } else { names.join(",") };
    let mark = graph::MARK;
    let path = format!(
        "/{of}/_mapping?expand_wildcards=all&ignore_unavailable=true&allow_no_indices=true&filter_path=*.mappings._meta.{mark}"
    );
    let marked = match transport.demand(what, Method::GET, &path, None).await {
        Err(error) if matches!(error.status(), Some(403 | 404)) => return Ok(Vec::new()),
        found => found?,
    };
    let mut created = Vec::new();
    for index in marked.as_object().into_iter().flatten().map(|(index, _)| index) {
        let path = format!("/{}?filter_path=*.mappings,*.settings.index.uuid", path_segment(index));
        let found = match transport.demand(what, Method::GET, &path, None).await {
            // It was deleted meanwhile, or the user may not read it.
            Err(error) if matches!(error.status(), Some(403 | 404)) => continue,
            found => found?,
        };
        let Some(found) = found.get(index) else { continue };
        let uuid = found.pointer("/settings/index/uuid").and_then(Value::as_str);
        let made = found.get("mappings").map(graph::made).unwrap_or_default();
        if let Some(uuid) = uuid.filter(|_| !made.is_empty()) {
            created.push(Created { index: index.clone(), uuid: uuid.to_owned(), made });
        }
    }
    Ok(created)
}

fn lease(what: &str, source: Value) -> Result<Lease, ClusterError> {
    serde_json::from_value(source).map_err(|error| ClusterError::Reply {
        what: what.to_owned(),
        problem: format!("it was written by another version of inrush: {error}"),
    })
}

fn flat(settings: Option<&Value>) -> BTreeMap<String, String> {
    let settings: Option<&Map<String, Value>> = settings.and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    settings.into_iter().flatten().filter_map(text).collect()
}

/// Whether the same request may succeed a little later. A block does not count, with
/// any status.
fn is_passing(error: &ClusterError) -> bool {
    match error {
        ClusterError::Http(_) => true,
        ClusterError::Refused { status: 502..=504, .. } => true,
        ClusterError::Refused { status: 429, reason, .. } => !reason.contains("cluster_block_exception"),
        _ => false,
    }
}
