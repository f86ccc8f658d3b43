//! The checks before anything is started: whether the target can take an index that was built
//! elsewhere, and how that index has to be created.

use http::Method;
use inrush_cluster::BoxFuture;
use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::rights::{Need, Right};
use inrush_cluster::api::{ClusterError, ClusterInfo, Target, TargetKind, Version, data_streams, templates};
use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::Transport;
use inrush_load::checkpoint::Job;
use inrush_load::cutover::{self, Swapping};
use serde_json::Value;

use crate::access;
use crate::config::{BakeError, Engine};
use crate::engine::{Engines, Subject};
use crate::parts::Parts;
use crate::record::{Build, Plan, Saved, Shared};

/// A target for which a bake is possible.
pub(crate) struct Prepared {
    pub(crate) saved: Saved,
    pub(crate) swapping: Option<Swapping>,
    pub(crate) warnings: Vec<String>,
}

/// Checks the target, without changing it.
pub(crate) fn prepare<'a>(
    target: &'a Transport,
    parts: &'a Parts,
    job: Job,
    bytes: Option<u64>,
) -> BoxFuture<'a, Result<Prepared, BakeError>> {
    Box::pin(async move {
        let (load, delivery, engines) = (&parts.load, &parts.delivery, &parts.engines);
        let swapping = cutover::begin(target, load, None).await?;
        let new = swapping.as_ref().map(|swapping| swapping.noted.index());
        let index = new.or(load.index.fixed()).unwrap_or_default().to_owned();
        let needs = needs(parts, &index, swapping.as_ref(), bytes);
        let Preflight { info, target: found, mut warnings, .. } = preflight(target, &needs).await?;
        load.tell_inferred();
        warnings.extend(load.told.take().into_iter().map(|warning| warning.text));
        check_name(swapping.as_ref(), found.as_ref(), &index)?;
        if let Some(stream) = &delivery.data_stream {
            check_data_stream(target, &info, stream).await?;
        }
        let oldest = oldest_node(target).await?;
        let given = templates::given(target, &index).await?;
        if let Some(swap) = load.finish.swap.as_ref().filter(|swap| given.aliases.contains_key(&swap.alias)) {
            return Err(BakeError::Refused(format!(
                "an index template gives {index} the alias {}, which must move only when the index is complete; remove the alias from the template",
                swap.alias
            )));
        }
        let id = run_id();
        let shared = Shared::find(delivery, &format!("inrush-bake-{id}"), target).await?;
        let nodes = match &shared.folder {
            Some(_) if delivery.path_on_target.is_none() => access::of_nodes(target).await,
            _ => Vec::new(),
        };
        if let Some(around) = shared.around() {
            access::check(around, &nodes)?;
        }
        let plan = Plan::new(given, &load.create.for_index(&index));
        if delivery.data_stream.is_some() {
            has_timestamp(&plan.mappings)?;
        }
        let subject = Subject { load, id: &id, plan: &plan, shared: &shared, nodes: &nodes, info: &info, oldest };
        let (build, server_because) = choose(engines, &subject).await?;
        let mut saved = Saved::new(job, id, index, plan, shared, build);
        tracing::info!("building {} with {} for {info}", saved.index, engines.of(&saved).title(&saved));
        saved.server_because = server_because;
        saved.data_stream.clone_from(&delivery.data_stream);
        saved.swap = swapping.as_ref().map(|swapping| swapping.noted.clone());
        Ok(Prepared { saved, swapping, warnings })
    })
}

/// The record of the first engine that can build the index, and why the one before it cannot.
async fn choose(engines: &Engines, subject: &Subject<'_>) -> Result<(Build, Option<String>), BakeError> {
    let mut because = None;
    let mut to_try = engines.to_try().into_iter().peekable();
    while let Some(engine) = to_try.next() {
        match engine.prepare(subject).await {
            Ok(build) => return Ok((build, because)),
            Err(BakeError::NotNative(why)) if to_try.peek().is_some() => because = Some(why),
            Err(error) => return Err(error),
        }
    }
    Err(BakeError::Refused("no engine builds the index".to_owned()))
}

/// Checks that the target can get a new index of the name `index`. `found`: what the name stands
/// for now.
fn check_name(swapping: Option<&Swapping>, found: Option<&Target>, index: &str) -> Result<(), BakeError> {
    match (swapping, found.map(|found| &found.kind)) {
        (_, Some(TargetKind::Missing { template: Some(template), .. })) if template.data_stream => {
            Err(BakeError::Refused(format!(
                "the index template {} creates data streams of the name {index}, but a bake hands over an index; load into it with `inrush load`",
                template.name
            )))
        }
        (Some(swapping), _) => Ok(swapping.check_new(found)?),
        (None, Some(TargetKind::Missing { .. })) => Ok(()),
        (None, Some(TargetKind::Alias { .. })) => Err(BakeError::Refused(format!(
            "{index} is an alias on the target, but a bake hands over a new index; give option `alias={index}` in place of option `index` to replace the index behind it"
        ))),
        (None, _) => Err(BakeError::Refused(format!(
            "{index} exists on the target, but a bake hands over a new index; give another name, or load into it with `inrush load`"
        ))),
    }
}

/// Checks that the target has that data stream, and can attach an index to it.
async fn check_data_stream(target: &Transport, info: &ClusterInfo, stream: &str) -> Result<(), BakeError> {
    if !data_streams::can_attach(info) {
        return Err(BakeError::Refused(format!(
            "{info} cannot attach an index to a data stream (Elasticsearch 7.16 and newer can); load into {stream} with `inrush load`, or bake an index of its own and search both"
        )));
    }
    match data_streams::indices(target, stream).await {
        Ok(Some(_)) => Ok(()),
        // The path means something else on this server.
        Err(error) if matches!(error.status(), Some(400 | 405)) => {
            Err(BakeError::Refused(format!("this {info} has no data streams; bake an index by itself")))
        }
        Err(error) => Err(error.into()),
        Ok(None) => Err(BakeError::Refused(format!(
            "there is no data stream {stream} on the target; create it with PUT /_data_stream/{stream}, which needs an index template"
        ))),
    }
}

/// Checks what every index of a data stream needs, as far as the mapping tells.
fn has_timestamp(mappings: &Value) -> Result<(), BakeError> {
    match mappings.pointer("/properties/@timestamp/type").and_then(Value::as_str) {
        None | Some("date" | "date_nanos") => Ok(()),
        Some(other) => Err(BakeError::Refused(format!(
            "the mapping has @timestamp as {other}, but in a data stream it must be date or date_nanos"
        ))),
    }
}

/// What the target has to have for the new index.
fn needs(parts: &Parts, index: &str, swapping: Option<&Swapping>, bytes: Option<u64>) -> Needs {
    let load = &parts.load;
    let create = load.create.for_index(index);
    Needs {
        index: Some(index.to_owned()),
        recreate: false,
        replicas: create.replicas,
        settings: create.settings,
        pipeline: load.pipeline.clone(),
        bytes_expected: bytes,
        action: load.action,
        under_policy: load.under_policy,
        wait_max: load.limits.pause_max,
        has_ids: true,
        creates: true,
        restores: true,
        rights: rights(index, &parts.engines, swapping),
        rights_of_guard: Vec::new(),
    }
}

/// The rights that a bake needs on the target, most of them after the index is built.
fn rights(made: &str, engines: &Engines, swapping: Option<&Swapping>) -> Vec<Need> {
    let mut rights = Vec::new();
    let mut add = |by, on: &str, asked: &[Right]| rights.extend(asked.iter().map(|right| Need::new(*right, on, by)));
    let always = [
        Right::Templates,
        Right::PutRepository,
        Right::GetSnapshot,
        Right::Restore,
        Right::DeleteRepository,
        Right::State,
        Right::Health,
        Right::Metadata,
        Right::CreateRestored,
        Right::Index,
        Right::Stats,
        Right::Refresh,
        Right::Search,
    ];
    add("every bake needs", made, &always);
    if engines.wanted != Engine::Server {
        let native = [
            Right::CreateIndex,
            Right::CreateSnapshot,
            Right::DeleteSnapshot,
            Right::DeleteIndex,
            Right::ReadMapping,
            Right::Mapping,
            Right::Settings,
        ];
        let by = "a bake without option `engine=server` needs";
        add(by, made, &native);
        // The index without documents is marked by an alias.
        add(by, made, &[Right::Aliases]);
        add(by, "inrush-bake-*", &[Right::CreateAliased]);
    }
    if let Some(swapping) = swapping {
        add("option `alias` needs at the end", made, &[Right::Aliases]);
        rights.extend(swapping.rights());
    }
    rights
}

/// The oldest version among the nodes: all of them have to be able to read the index. `None` if the
/// user may not read the versions.
async fn oldest_node(target: &Transport) -> Result<Option<Version>, ClusterError> {
    let path = "/_nodes?filter_path=nodes.*.version";
    let body = match target.demand("asking the nodes for their versions", Method::GET, path, None).await {
        Ok(body) => body,
        Err(error) if error.cannot_be_asked() => return Ok(None),
        Err(error) => return Err(error),
    };
    let nodes = body.get("nodes").and_then(|nodes| nodes.as_object()).into_iter().flat_map(|nodes| nodes.values());
    Ok(nodes.filter_map(|node| node.get("version")?.as_str()?.parse().ok()).min())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use inrush_cluster::api::snapshots::Repository;
    use inrush_load::config::LoadConfig;
    use inrush_node::KnownProduct;
    use inrush_sources::StoreOptions;
    use serde_json::{Map, json};

    use super::*;
    use crate::context::{Context, Patience};
    use crate::engine::{BuildEngine, Ended};
    use crate::record::{NativeRecord, ServerRecord};

    /// An engine that says no more than whether it can.
    struct Stub(fn() -> Result<Build, BakeError>);

    impl BuildEngine for Stub {
        fn title(&self, _: &Saved) -> String {
            String::new()
        }

        fn prepare<'a>(&'a self, _: &'a Subject<'a>) -> BoxFuture<'a, Result<Build, BakeError>> {
            Box::pin(async { (self.0)() })
        }

        fn build<'a>(&'a self, _: &'a Arc<Context>) -> BoxFuture<'a, Result<(), BakeError>> {
            Box::pin(async { Ok(()) })
        }

        fn undo<'a>(&'a self, _: &'a Transport, _: &'a mut Saved, _: &'a Patience) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }

        fn rest<'a>(&'a self, _: &'a Saved) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }

        fn forget<'a>(&'a self, _: &'a Ended<'a>) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(async { Ok(()) })
        }
    }

    fn native() -> Result<Build, BakeError> {
        Ok(Build::Native(Box::new(NativeRecord::new(
            KnownProduct::OpenSearch,
            "3.6.0".to_owned(),
            StoreOptions::default(),
        ))))
    }

    fn server() -> Result<Build, BakeError> {
        let (name, version) = ("bake-1".to_owned(), "3.6.0".to_owned());
        let record = ServerRecord {
            name,
            product: KnownProduct::OpenSearch,
            versions: vec![version.clone()],
            version,
            url: None,
            is_lent: false,
        };
        Ok(Build::Server(record))
    }

    /// What is chosen of two engines: which one, or the error; and why not the first.
    async fn chosen(engine: Engine, is_elsewhere: bool, native: Stub, server: Stub) -> (String, Option<String>) {
        let load = LoadConfig::new(vec!["http://target:9200".to_owned()], "x".parse().unwrap());
        let repository = Repository { kind: "fs".to_owned(), settings: Map::new(), crypto_metadata: None };
        let shared = Shared { repository, folder: None, on_target: None };
        let (plan, info) = (Plan::default(), ClusterInfo::default());
        let (load, plan, shared, info) = (&load, &plan, &shared, &info);
        let subject = Subject { load, id: "1", plan, shared, nodes: &[], info, oldest: None };
        let engines = Engines { wanted: engine, server: Box::new(server), native: Box::new(native), is_elsewhere };
        match choose(&engines, &subject).await {
            Ok((Build::Native(_), because)) => ("native".to_owned(), because),
            Ok((Build::Server(_), because)) => ("server".to_owned(), because),
            Err(error) => (error.to_string(), None),
        }
    }

    #[tokio::test]
    async fn the_first_engine_that_can_build_the_index_does() {
        let not_native = || Err(BakeError::NotNative("of a percolator".to_owned()));
        let broken = || Err(BakeError::Refused("the folder is gone".to_owned()));
        let of = |engine, is_elsewhere, native, server| chosen(engine, is_elsewhere, Stub(native), Stub(server));
        assert_eq!(of(Engine::Auto, false, native, broken).await, ("native".to_owned(), None));
        let because = Some("of a percolator".to_owned());
        assert_eq!(of(Engine::Auto, false, not_native, server).await, ("server".to_owned(), because));
        assert_eq!(of(Engine::Server, false, broken, server).await, ("server".to_owned(), None));
        // Only an engine that does not support it leaves the choice. Other machines have no server.
        for (engine, is_elsewhere, native, expected) in [
            (Engine::Auto, false, broken as fn() -> _, "the folder is gone"),
            (Engine::Auto, true, not_native, "of a percolator"),
            (Engine::Native, false, not_native, "of a percolator"),
        ] {
            let (problem, _) = of(engine, is_elsewhere, native, server).await;
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_stream_wants_a_date() {
        let mapping = |of: &str| json!({"properties": {"@timestamp": {"type": of}}});
        assert!(has_timestamp(&json!({})).is_ok() && has_timestamp(&mapping("date_nanos")).is_ok());
        assert!(has_timestamp(&mapping("keyword")).unwrap_err().to_string().contains("@timestamp as keyword"));
    }
}
