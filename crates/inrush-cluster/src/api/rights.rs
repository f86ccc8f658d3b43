//! The rights that a command needs, asked before it begins: one that only its end needs would
//! otherwise be missed after hours.
//!
//! Elasticsearch is asked for all of them at once (`_has_privileges`), by two names each, of which
//! one is enough. A role may grant an action by another privilege than the usual one; and the name
//! of an action stands for all actions that begin so, which `delete_index` and others do not grant.
//!
//! OpenSearch has no such request. It gets one for each right that asks for the action and changes
//! nothing: it checks the permission before it finds that there is no such alias, task or
//! repository.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use super::error::ClusterError;
use crate::transport::{Request, Transport, path_segment};

/// An id, an alias, a task and a repository that do not exist.
const NONE: &str = "inrush-none";
/// A sequence number and a primary term that no document has. The servers refuse the write.
const NEVER: u64 = 9_007_199_254_740_990;

/// Something that the security of a cluster grants or denies a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Bulk requests.
    Bulk,
    /// Writing new documents, and others in the place of documents with the same ids.
    Index,
    /// Deleting a document.
    DeleteDocument,
    /// Refreshing an index.
    Refresh,
    /// Searching and counting.
    Search,
    /// Statistics of an index.
    Stats,
    /// Merging the segments of an index.
    ForceMerge,
    /// Giving an alias to an index, and taking it away.
    Aliases,
    /// Creating an index.
    CreateIndex,
    /// Creating an index with an alias of this name. OpenSearch needs no right on the alias.
    CreateAliased,
    /// Creating an index out of a snapshot.
    CreateRestored,
    /// Deleting an index.
    DeleteIndex,
    /// Changing settings of an index.
    Settings,
    /// Reading what a name stands for.
    Metadata,
    /// Reading the mapping of an index.
    ReadMapping,
    /// Adding fields to the mapping of an index.
    Mapping,
    /// The health of indices.
    Health,
    /// The state of the cluster: where shards are.
    State,
    /// The state of a task that the cluster works on.
    Task,
    /// What index templates give a new index.
    Templates,
    /// Registering a repository of snapshots.
    PutRepository,
    /// Removing a repository of snapshots.
    DeleteRepository,
    /// Making a snapshot.
    CreateSnapshot,
    /// The state of a snapshot.
    GetSnapshot,
    /// Deleting a snapshot.
    DeleteSnapshot,
    /// Restoring a snapshot.
    Restore,
}

impl Right {
    /// The action that both servers check, and the usual privilege of Elasticsearch that grants it.
    /// `None` where Elasticsearch needs none: a bulk request is one right there, asked for by the
    /// name of its privilege, and a restore writes without rights on the index.
    const fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Right::Bulk => ("indices:data/write/bulk", None),
            Right::Index => ("indices:data/write/index", None),
            Right::DeleteDocument => ("indices:data/write/delete", Some("delete")),
            Right::Refresh => ("indices:admin/refresh", Some("maintenance")),
            Right::Search => ("indices:data/read/search", Some("read")),
            Right::Stats => ("indices:monitor/stats", Some("monitor")),
            Right::ForceMerge => ("indices:admin/forcemerge", Some("maintenance")),
            Right::Aliases => ("indices:admin/aliases", Some("manage")),
            Right::CreateIndex => ("indices:admin/create", Some("create_index")),
            Right::CreateAliased => ("indices:admin/aliases", Some("manage")),
            Right::CreateRestored => ("indices:admin/create", None),
            Right::DeleteIndex => ("indices:admin/delete", Some("delete_index")),
            Right::Settings => ("indices:admin/settings/update", Some("manage")),
            Right::Metadata => ("indices:admin/get", Some("view_index_metadata")),
            Right::ReadMapping => ("indices:admin/mappings/get", Some("view_index_metadata")),
            Right::Mapping => ("indices:admin/mapping/put", Some("manage")),
            Right::Health => ("cluster:monitor/health", Some("monitor")),
            Right::State => ("cluster:monitor/state", Some("monitor")),
            Right::Task => ("cluster:monitor/task/get", Some("monitor")),
            Right::Templates => ("indices:admin/index_template/simulate_index", Some("manage_index_templates")),
            Right::PutRepository => ("cluster:admin/repository/put", Some("manage")),
            Right::DeleteRepository => ("cluster:admin/repository/delete", Some("manage")),
            Right::CreateSnapshot => ("cluster:admin/snapshot/create", Some("create_snapshot")),
            Right::GetSnapshot => ("cluster:admin/snapshot/get", Some("create_snapshot")),
            Right::DeleteSnapshot => ("cluster:admin/snapshot/delete", Some("manage")),
            Right::Restore => ("cluster:admin/snapshot/restore", Some("manage")),
        }
    }

    /// The action, by the name that both servers give it.
    pub const fn action(self) -> &'static str {
        self.names().0
    }

    /// Whether the right is one on the cluster, not on an index.
    pub const fn is_of_cluster(self) -> bool {
        match self {
            Right::Bulk
            | Right::Health
            | Right::State
            | Right::Task
            | Right::Templates
            | Right::PutRepository
            | Right::DeleteRepository
            | Right::CreateSnapshot
            | Right::GetSnapshot
            | Right::DeleteSnapshot
            | Right::Restore => true,
            Right::Index
            | Right::DeleteDocument
            | Right::Refresh
            | Right::Search
            | Right::Stats
            | Right::ForceMerge
            | Right::Aliases
            | Right::CreateIndex
            | Right::CreateAliased
            | Right::CreateRestored
            | Right::DeleteIndex
            | Right::Settings
            | Right::Metadata
            | Right::ReadMapping
            | Right::Mapping => false,
        }
    }

    /// A request that the server refuses with 403 where the right is missing, and that changes
    /// nothing where it is there. `None` for a restore, which OpenSearch checks when it has found
    /// the snapshot.
    fn request(self, index: &str) -> Option<(Method, String, Option<Value>)> {
        let name = path_segment(index);
        let of = |method, path: String| Some((method, path, None));
        let with = |method, path: String, body| Some((method, path, Some(body)));
        match self {
            // An alias of that name does not exist, so the request writes nothing.
            Right::Bulk => {
                let item = json!({"index": {"_index": NONE, "_id": NONE, "require_alias": true}});
                with(Method::POST, "/_bulk".to_owned(), item)
            }
            // Where the name is no alias, nothing is written, and where it is one, no document has
            // that number.
            Right::Index => {
                let never = format!("if_seq_no={NEVER}&if_primary_term={NEVER}&require_alias=true");
                with(Method::PUT, format!("/{name}/_doc/{NONE}?{never}"), json!({}))
            }
            Right::DeleteDocument => {
                let never = format!("if_seq_no={NEVER}&if_primary_term={NEVER}");
                of(Method::DELETE, format!("/{name}/_doc/{NONE}?{never}"))
            }
            Right::Refresh => of(Method::POST, format!("/{name}/_refresh")),
            Right::Search => of(Method::GET, format!("/{name}/_search?size=0&terminate_after=1")),
            Right::Stats => of(Method::GET, format!("/{name}/_stats/docs?filter_path=_shards")),
            // No shard has more segments, so none is merged.
            Right::ForceMerge => {
                of(Method::POST, format!("/{name}/_forcemerge?flush=false&max_num_segments={}", i32::MAX))
            }
            Right::Aliases => {
                let remove = json!({"remove": {"index": index, "alias": NONE, "must_exist": true}});
                with(Method::POST, "/_aliases".to_owned(), json!({"actions": [remove]}))
            }
            // No server knows the setting.
            Right::CreateIndex | Right::CreateRestored => {
                with(Method::PUT, format!("/{name}"), json!({"settings": {"index.inrush_none": 0}}))
            }
            Right::Settings => with(Method::PUT, format!("/{name}/_settings"), json!({"index.inrush_none": 0})),
            Right::Metadata => of(Method::GET, format!("/{name}?filter_path=*.settings.index.uuid")),
            Right::ReadMapping => of(Method::GET, format!("/{name}/_mapping?filter_path=*.mappings.dynamic")),
            Right::Mapping => with(Method::PUT, format!("/{name}/_mapping"), json!({})),
            Right::State => of(Method::GET, "/_cluster/state/version?filter_path=cluster_uuid".to_owned()),
            Right::Health => of(Method::GET, "/_cluster/health?timeout=1s&filter_path=status".to_owned()),
            Right::Task => of(Method::GET, format!("/_tasks/{NONE}:1")),
            Right::Templates => of(Method::POST, format!("/_index_template/_simulate_index/{name}")),
            Right::PutRepository => with(Method::PUT, format!("/_snapshot/{NONE}"), json!({"type": NONE})),
            Right::DeleteRepository => of(Method::DELETE, format!("/_snapshot/{NONE}")),
            Right::CreateSnapshot => of(Method::PUT, format!("/_snapshot/{NONE}/{NONE}")),
            Right::GetSnapshot => of(Method::GET, format!("/_snapshot/{NONE}/{NONE}")),
            Right::DeleteSnapshot => of(Method::DELETE, format!("/_snapshot/{NONE}/{NONE}")),
            // All or nothing: there is no such alias, and none of an index that is gone.
            Right::DeleteIndex => {
                let remove = json!({"remove": {"index": index, "alias": NONE, "must_exist": true}});
                let actions = json!([{"remove_index": {"index": index}}, remove]);
                with(Method::POST, "/_aliases".to_owned(), json!({ "actions": actions }))
            }
            Right::CreateAliased | Right::Restore => None,
        }
    }
}

/// A right that a command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The right.
    pub right: Right,
    /// The index, for a right on one.
    pub index: String,
    /// What needs it, as in "option `alias` needs at the end".
    pub by: &'static str,
}

impl Need {
    /// A right that `by` needs on `index`.
    pub fn new(right: Right, index: &str, by: &'static str) -> Self {
        Need { right, index: index.to_owned(), by }
    }

    fn words(&self, asked: Asked) -> String {
        let (action, privilege) = self.right.names();
        let (scope, on) = match self.right.is_of_cluster() {
            true => ("cluster", String::new()),
            false => ("index", format!(" on {}", self.index)),
        };
        let right = match (asked, privilege) {
            (Asked::Elasticsearch, Some(privilege)) => format!("privilege {privilege} ({action})"),
            (Asked::Elasticsearch, None) | (Asked::OpenSearch, _) => format!("permission {action}"),
        };
        format!("the {scope} {right}{on}, which {}", self.by)
    }
}

/// Whose security was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Elasticsearch,
    OpenSearch,
}

/// What the cluster says of the user's rights.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    asked: Option<Asked>,
    /// The answer of Elasticsearch for each index, by privilege or action.
    of_indices: BTreeMap<String, Value>,
    of_cluster: Value,
    /// The needs that OpenSearch denies.
    denied: Vec<Need>,
}

impl Known {
    /// The answer of Elasticsearch for one index.
    #[cfg(test)]
    pub(super) fn of_index(index: &str, privileges: &[&str], lacking: &[&str]) -> Known {
        let answer = |privilege: &&str| ((*privilege).to_owned(), json!(!lacking.contains(privilege)));
        let of_indices = [(index.to_owned(), Value::Object(privileges.iter().map(answer).collect()))].into();
        Known { asked: Some(Asked::Elasticsearch), of_indices, ..Known::default() }
    }

    /// Whether the user has no right of this name on the index. False if that is unknown.
    pub(super) fn lacks(&self, index: &str, privilege: &str) -> bool {
        let known = self.of_indices.get(index).and_then(|of| of.get(privilege));
        known.and_then(Value::as_bool) == Some(false)
    }

    fn denies(&self, need: &Need) -> bool {
        match self.asked {
            None => false,
            Some(Asked::Elasticsearch) => {
                let known = match need.right.is_of_cluster() {
                    true => Some(&self.of_cluster),
                    false => self.of_indices.get(&need.index),
                };
                let is = |name: &str, has| known.and_then(|known| known.get(name)?.as_bool()) == Some(has);
                let (action, privilege) = need.right.names();
                is(action, false) && privilege.is_some_and(|privilege| is(privilege, false))
            }
            Some(Asked::OpenSearch) => self.denied.contains(need),
        }
    }

    /// The rights among `needs` that the user lacks, in words: nothing if there are none.
    pub(super) fn lacking(&self, needs: &[Need]) -> Option<String> {
        let asked = self.asked?;
        let lacking: Vec<String> =
            needs.iter().filter(|need| self.denies(need)).map(|need| need.words(asked)).collect();
        (!lacking.is_empty()).then(|| format!("the user lacks {}", lacking.join("; and ")))
    }

    /// Checks that the user has all of these rights.
    ///
    /// # Errors
    /// [`ClusterError::Target`] that names those that are missing.
    pub(super) fn check(&self, name: &str, needs: &[Need]) -> Result<(), ClusterError> {
        match self.lacking(needs) {
            None => Ok(()),
            Some(lacking) => Err(ClusterError::Target {
                name: name.to_owned(),
                problem: format!("{lacking}; grant it, or use another user or key"),
            }),
        }
    }
}

/// Asks for the rights of the user: `privileges` of Elasticsearch on `index`, and those of `needs`.
/// Nothing is known where the cluster has no security or does not tell.
pub(super) async fn ask(transport: &Transport, index: Option<&str>, privileges: &[&str], needs: &[Need]) -> Known {
    let (of_elasticsearch, has_plugin) = tokio::join!(has_privileges(transport, index, privileges, needs), async {
        let path = "/_plugins/_security/authinfo?filter_path=user_name";
        transport.demand("asking who the user is", Method::GET, path, None).await.is_ok()
    });
    match of_elasticsearch {
        Some(known) => known,
        None if has_plugin => {
            let mut denied = Vec::new();
            for need in needs {
                if is_denied(transport, need).await {
                    denied.push(need.clone());
                }
            }
            Known { asked: Some(Asked::OpenSearch), denied, ..Known::default() }
        }
        None => Known::default(),
    }
}

async fn has_privileges(
    transport: &Transport,
    index: Option<&str>,
    privileges: &[&str],
    needs: &[Need],
) -> Option<Known> {
    let mut of_indices: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    if let Some(index) = index {
        of_indices.entry(index).or_default().extend(privileges);
    }
    let mut of_cluster = BTreeSet::new();
    for Need { right, index, .. } in needs {
        let (action, Some(privilege)) = right.names() else { continue };
        match right.is_of_cluster() {
            true => of_cluster.extend([action, privilege]),
            false => of_indices.entry(index).or_default().extend([action, privilege]),
        }
    }
    let names = of_indices.iter().map(|(name, asked)| json!({"names": [name], "privileges": asked}));
    let question = json!({"cluster": of_cluster, "index": names.collect::<Vec<_>>()});
    if of_indices.is_empty() && of_cluster.is_empty() {
        return None;
    }
    let path = "/_security/user/_has_privileges";
    let answer = transport.demand("asking for privileges", Method::POST, path, Some(&question)).await.ok()?;
    let of_indices = answer.get("index")?.as_object()?.clone().into_iter().collect();
    let of_cluster = answer.get("cluster").cloned().unwrap_or_default();
    Some(Known { asked: Some(Asked::Elasticsearch), of_indices, of_cluster, denied: Vec::new() })
}

/// Whether the security of OpenSearch, and nothing else, refuses the request of a right.
async fn is_denied(transport: &Transport, need: &Need) -> bool {
    let Some((method, path, body)) = need.right.request(&need.index) else { return false };
    let mut request = Request::new(method, &path);
    if let Some(body) = body {
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A bulk request is one line for its action and one for its document.
        let document = if need.right == Right::Bulk { "\n{}\n" } else { "" };
        request.body = vec![Bytes::from(format!("{body}{document}"))];
    }
    // Some actions answer with the refusals of their shards.
    match transport.request(&request).await.result {
        Ok(answer) => {
            let body = String::from_utf8_lossy(&answer.body);
            answer.status == 403 && body.contains("security_exception") && body.contains(need.right.action())
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_as_each_product_names_it() {
        let needs = [
            Need::new(Right::Health, "", "option `alias` needs at the end"),
            Need::new(Right::Aliases, "trips-1", "option `alias` needs at the end"),
        ];
        let elasticsearch = Known {
            asked: Some(Asked::Elasticsearch),
            of_cluster: json!({"cluster:monitor/health": false, "monitor": false}),
            of_indices: [("trips-1".to_owned(), json!({"indices:admin/aliases": false, "manage": false}))].into(),
            denied: Vec::new(),
        };
        assert_eq!(
            elasticsearch.check("trips-1", &needs).unwrap_err().to_string(),
            "trips-1: the user lacks the cluster privilege monitor (cluster:monitor/health), which option `alias` needs at the end; and the index privilege manage (indices:admin/aliases) on trips-1, which option `alias` needs at the end; grant it, or use another user or key"
        );
        let opensearch = Known { asked: Some(Asked::OpenSearch), denied: vec![needs[1].clone()], ..Known::default() };
        assert_eq!(
            opensearch.check("trips-1", &needs).unwrap_err().to_string(),
            "trips-1: the user lacks the index permission indices:admin/aliases on trips-1, which option `alias` needs at the end; grant it, or use another user or key"
        );
        assert!(Known::default().check("trips-1", &needs).is_ok());
        let by_privilege = json!({"indices:admin/aliases": false, "manage": true});
        let enough = Known { of_indices: [("trips-1".to_owned(), by_privilege)].into(), ..elasticsearch.clone() };
        assert!(enough.check("trips-1", &needs[1..]).is_ok());
        let unknown = Known { of_cluster: Value::Null, of_indices: BTreeMap::new(), ..elasticsearch };
        assert!(unknown.check("trips-1", &needs).is_ok(), "what is not answered refuses nothing");
    }
}
