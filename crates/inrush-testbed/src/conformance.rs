//! What a loader relies on, as cases that are run against the fake and against real servers alike. Where a real
//! server and the fake differ, the real one is right and the fake is to be mended.

mod bulk_body;
mod guard;
mod indices;
mod items;
mod reads;
mod swap;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::PoisonError;

use serde_json::{Value, json};

use crate::client::{Client, NoReply, Reply};
use crate::product::{Flavor, Product};

/// What a case found: nothing, or in which way the server differs.
pub type Check = Result<(), String>;

type Run = for<'a> fn(&'a Target) -> Pin<Box<dyn Future<Output = Check> + Send + 'a>>;

/// One thing a loader relies on.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name, unique.
    pub name: &'static str,
    /// What holds, in a sentence.
    pub says: &'static str,
    /// Modules without which the case is skipped.
    pub modules: &'static [&'static str],
    /// Whether it holds for this product and version; elsewhere it is skipped.
    pub applies: fn(&Flavor) -> bool,
    run: Run,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server does as the case says.
    Passed,
    /// It does not; how it differs.
    Failed(String),
    /// The case does not apply; why.
    Skipped(String),
}

/// The server the cases are run against.
pub struct Target {
    client: Client,
    /// Product and version it answers with.
    pub flavor: Flavor,
    /// Modules and plugins it has.
    pub modules: BTreeSet<String>,
    prefix: String,
    used: Mutex<BTreeSet<String>>,
}

impl Target {
    /// Asks a server what it is. `authorization` goes into every request.
    ///
    /// # Errors
    ///
    /// No server there, or one that does not tell its version.
    pub async fn connect(url: &str, authorization: Option<String>) -> Result<Target, String> {
        let client = Client::new(url)?.with_authorization(authorization);
        let path = "/_nodes?filter_path=nodes.*.version,nodes.*.modules.name,nodes.*.plugins.name";
        let reply = client.json("GET", path, Value::Null).await?.json();
        let nodes: Vec<&Value> = reply["nodes"].as_object().into_iter().flat_map(|nodes| nodes.values()).collect();
        let version = nodes
            .first()
            .and_then(|node| node["version"].as_str())
            .ok_or_else(|| format!("{url} does not tell its version: {reply}"))?;
        let names = |key: &str| -> BTreeSet<String> {
            let lists = nodes.iter().filter_map(|node| node[key].as_array());
            lists.flatten().filter_map(|one| one["name"].as_str()).map(str::to_owned).collect()
        };
        let mut modules = names("modules");
        modules.extend(names("plugins"));
        // The root refuses to answer on some distributions; Elasticsearch marks every reply since 7.14.
        let probe = client.json("GET", "/_cluster/health", Value::Null).await?;
        let product =
            if probe.headers.contains_key("x-elastic-product") { Product::Elasticsearch } else { Product::OpenSearch };
        let flavor = Flavor::new(product, version);
        // Part of the server itself everywhere but in Elasticsearch 7, where they are a module.
        if !flavor.is_elasticsearch_7() || modules.contains("x-pack-data-streams") {
            modules.insert(DATA_STREAMS.to_owned());
        }
        let prefix = format!("conformance-{}", crate::model::millis_now());
        Ok(Target { client, flavor, modules, prefix, used: Mutex::new(BTreeSet::new()) })
    }

    /// A name for an index that nothing else uses; deleted after the case.
    fn name(&self, suffix: &str) -> String {
        let name = format!("{}-{suffix}", self.prefix);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        name
    }

    async fn json(&self, method: &str, path: &str, body: Value) -> Result<Reply, NoReply> {
        self.client.json(method, path, body).await
    }

    async fn get(&self, path: &str) -> Result<Value, NoReply> {
        Ok(self.client.json("GET", path, Value::Null).await?.json())
    }

    async fn bulk(&self, path: &str, body: &str) -> Result<Reply, NoReply> {
        self.client.bulk(path, body.to_owned()).await
    }

    /// Sends a bulk body and expects 200; answers the items without their action.
    async fn items(&self, path: &str, body: &str) -> Result<Vec<Value>, String> {
        let reply = self.bulk(path, body).await?;
        if reply.status != 200 {
            return Err(format!("bulk answered {}: {}", reply.status, reply.json()));
        }
        let items = reply.json()["items"].as_array().cloned().unwrap_or_default();
        Ok(items.iter().filter_map(|item| item.as_object()?.values().next().cloned()).collect())
    }

    /// Creates an index of one shard without replicas, so that it is green on one node.
    async fn create(&self, suffix: &str, mappings: Value) -> Result<String, String> {
        self.create_with(suffix, json!({"number_of_shards": 1, "number_of_replicas": 0}), mappings).await
    }

    async fn create_with(&self, suffix: &str, settings: Value, mappings: Value) -> Result<String, String> {
        let name = self.name(suffix);
        let reply = self.json("PUT", &format!("/{name}"), json!({"settings": settings, "mappings": mappings})).await?;
        expect_status(&reply, 200)?;
        Ok(name)
    }

    async fn clean_up(&self) {
        let names = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        for name in names {
            // Most names were never created, or are aliases that went with their index.
            let _ = self.json("DELETE", &format!("/{name}"), Value::Null).await;
        }
    }
}

/// What a case names that needs data streams.
const DATA_STREAMS: &str = "data-streams";

/// All cases.
pub fn cases() -> Vec<Case> {
    [bulk_body::CASES, items::CASES, indices::CASES, reads::CASES, guard::CASES, swap::CASES].concat()
}

/// Runs every case, one after the other.
pub async fn run_all(target: &Target) -> Vec<(&'static str, Outcome)> {
    let mut outcomes = Vec::new();
    for case in cases() {
        outcomes.push((case.name, run(&case, target).await));
    }
    outcomes
}

/// Runs one case and removes what it created.
pub async fn run(case: &Case, target: &Target) -> Outcome {
    if !(case.applies)(&target.flavor) {
        return Outcome::Skipped(format!("does not apply to {}", target.flavor));
    }
    if let Some(missing) = case.modules.iter().find(|module| !target.modules.contains(**module)) {
        return Outcome::Skipped(format!("module {missing} is missing"));
    }
    let checked = (case.run)(target).await;
    target.clean_up().await;
    match checked {
        Ok(()) => Outcome::Passed,
        Err(difference) => Outcome::Failed(difference),
    }
}

fn anywhere(_: &Flavor) -> bool {
    true
}

/// A table of cases: name, sentence, function, and optionally modules and where it applies.
macro_rules! case_table {
    ($($name:ident $says:literal $(modules $modules:expr)? $(, on $applies:expr)?;)+) => {
        pub(super) const CASES: &[$crate::conformance::Case] = &[$($crate::conformance::Case {
            name: stringify!($name),
            says: $says,
            modules: $crate::conformance::case_table!(@modules $($modules)?),
            applies: $crate::conformance::case_table!(@applies $($applies)?),
            run: |target| Box::pin($name(target)),
        }),+];
    };
    (@modules) => { &[] };
    (@modules $modules:expr) => { &$modules };
    (@applies) => { $crate::conformance::anywhere };
    (@applies $applies:expr) => { $applies };
}
use case_table;

fn equal(what: &str, found: &Value, expected: Value) -> Check {
    if *found == expected { Ok(()) } else { Err(format!("{what}: expected {expected}, found {found}")) }
}

fn holds(what: &str, condition: bool, seen: impl std::fmt::Display) -> Check {
    if condition { Ok(()) } else { Err(format!("{what}: {seen}")) }
}

fn expect_status(reply: &Reply, status: u16) -> Check {
    if reply.status == status {
        Ok(())
    } else {
        Err(format!("expected {status}, got {}: {}", reply.status, reply.json()))
    }
}

/// The whole request is refused with 400 and a reason that contains `reason`.
fn refused(reply: &Reply, kind: &str, reason: &str) -> Check {
    expect_status(reply, 400)?;
    let error = reply.json()["error"].clone();
    holds("error type", error["type"] == kind, &error)?;
    holds("reason", error["reason"].as_str().is_some_and(|text| text.contains(reason)), &error)
}

fn field<'a>(items: &'a [Value], name: &str) -> Vec<&'a Value> {
    items.iter().map(|item| &item[name]).collect()
}

fn statuses(items: &[Value], expected: &[u64]) -> Check {
    let found: Vec<u64> = items.iter().filter_map(|item| item["status"].as_u64()).collect();
    if found == expected { Ok(()) } else { Err(format!("expected statuses {expected:?}, found {items:?}")) }
}

fn error_types(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["error"]["type"].as_str().unwrap_or_default()).collect()
}
