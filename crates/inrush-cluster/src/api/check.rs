//! The preflight: everything that would spoil a load and can be found out before its first
//! document.
//!
//! Independent requests are sent at the same time. A question that the cluster does not know or the
//! user may not ask is skipped. A load is refused only if it would fail anyway.

use std::time::Duration;

use crate::{BoxFuture, Wait};
use http::Method;
use inrush_core::Action;
use serde_json::{Map, Value};

use super::allocation::{NoNode, Nodes};
use super::disk::{self, Room};
use super::error::ClusterError;
use super::index::{self, Block, IndexInfo, Target, TargetKind};
use super::index_mode::IndexMode;
use super::limits;
use super::policy::{self, Outlook};
use super::product::{self, ClusterInfo};
use super::rights::{self, Known, Need, Right};
use super::templates;
use crate::transport::{Transport, path_segment};

/// What a load needs of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Index, alias or data stream, if all documents go to one.
    pub index: Option<String>,
    /// The index is deleted and created anew, so its present state does not matter.
    pub recreate: bool,
    /// Number of replicas that the index will be created with, if the user gave one.
    pub replicas: Option<u32>,
    /// Settings that the index will be created with, if there are any.
    pub settings: Option<Value>,
    /// The ingest pipeline that the requests name.
    pub pipeline: Option<String>,
    /// Bytes of the documents to be loaded, if known.
    pub bytes_expected: Option<u64>,
    /// The bulk action of the documents.
    pub action: Action,
    /// Continue although an index policy will make the index refuse documents during the load.
    pub under_policy: bool,
    /// How long to wait for a node that may hold a new index, where that may come by itself.
    pub wait_max: Duration,
    /// Whether all documents have ids.
    pub has_ids: bool,
    /// Whether the load has to create a missing index itself, for its mapping, its settings or its
    /// alias. Otherwise the first document may create it.
    pub creates: bool,
    /// The index comes out of a snapshot, so no document is written.
    pub restores: bool,
    /// Rights beside those to create the index and to write to it.
    pub rights: Vec<Need>,
    /// Rights that the load needs to change settings of the index, which it can do without.
    pub rights_of_guard: Vec<Need>,
}

/// The result of a preflight.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// Product and version.
    pub info: ClusterInfo,
    /// What the target's name stands for now, if one was given.
    pub target: Option<Target>,
    /// The bulk action that the target and the user's rights allow.
    pub action: Action,
    /// The rights that the user lacks to change settings of the index, in words.
    pub lacks_for_guard: Option<String>,
    /// The largest request that the cluster accepts, in bytes, if the cluster reports it.
    pub body_bytes_max: Option<u64>,
    /// Whether an ingest pipeline applies, or may apply because the target cannot be read. False if
    /// documents name their own index: then no target was read.
    pub pipelines: bool,
    /// How the target takes documents, by its settings or by those that a new index will have.
    pub mode: IndexMode,
    /// The body of `mappings` that index templates give to the index, where it is a new one.
    pub mappings_given: Value,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
}

/// Checks whether the cluster can take the documents.
///
/// # Errors
/// The first problem that makes the load impossible: no node reached, credentials rejected, a name
/// that cannot be a target, a block, a closed index, a missing privilege or pipeline, disks that
/// are clearly too small, no node that may hold the new index.
pub fn preflight<'a>(transport: &'a Transport, needs: &'a Needs) -> BoxFuture<'a, Result<Preflight, ClusterError>> {
    Box::pin(async move {
        // The load can do without the answers to these, so nothing waits long for them.
        let brief = &transport.brief();
        let rights = [&needs.rights[..], &needs.rights_of_guard, &rights_of_documents(needs)].concat();
        let (info, target, known, pipeline, room, cluster_blocks, body_bytes_max) = tokio::join!(
            product::detect(transport),
            look_up(transport, needs.index.as_deref()),
            rights::ask(brief, needs.index.as_deref(), &PRIVILEGES, &rights),
            check_pipeline(transport, needs.pipeline.as_deref(), "which the requests are to name".to_owned()),
            disk::ask(brief),
            cluster_blocks(brief),
            limits::body_bytes_max(brief),
        );
        let info = info?;
        let mut target = target?;
        let mut warnings = Vec::new();
        let mut found = Found { pipelines: needs.pipeline.is_some(), ..Found::default() };
        let Room { disks, nodes, settings } = room;
        let mut action = needs.action;
        if let Some(target) = &mut target {
            check_action(target, needs)?;
            if !needs.restores {
                action = check_privileges(target, needs, &known, &mut warnings)?;
            }
        }
        known.check(needs.index.as_deref().unwrap_or("the cluster"), &needs.rights)?;
        known.check(needs.index.as_deref().unwrap_or("the cluster"), &rights_of_documents(needs))?;
        let lacks_for_guard = known.lacking(&needs.rights_of_guard);
        if let Some(target) = &target {
            check_cluster_blocks(target, &cluster_blocks)?;
            let allocation = (&nodes, &settings);
            let of_target = check_target(transport, &info, target, needs, allocation, &mut warnings).await?;
            found = Found { pipelines: found.pipelines | of_target.pipelines, ..of_target };
        }
        pipeline?;
        if let (Some(bytes), Some(disks)) = (needs.bytes_expected, disks) {
            let replicas =
                target.as_ref().filter(|_| !needs.recreate).and_then(Target::write_index).map(|index| index.replicas);
            warnings.extend(disks.check(bytes, replicas.or(needs.replicas).unwrap_or(1))?);
        }
        let Found { pipelines, mode, mappings_given } = found;
        Ok(Preflight {
            info,
            target,
            action,
            lacks_for_guard,
            body_bytes_max,
            pipelines,
            mode,
            mappings_given,
            warnings,
        })
    })
}

/// What is found of the target: as the fields of [`Preflight`] say.
#[derive(Default)]
struct Found {
    pipelines: bool,
    mode: IndexMode,
    mappings_given: Value,
}

async fn look_up(transport: &Transport, name: Option<&str>) -> Result<Option<Target>, ClusterError> {
    let Some(name) = name else { return Ok(None) };
    match index::resolve(transport, name).await {
        Err(ClusterError::Forbidden { .. }) => Ok(Some(Target { name: name.to_owned(), kind: TargetKind::Hidden })),
        found => found.map(Some),
    }
}

fn check_action(target: &Target, needs: &Needs) -> Result<(), ClusterError> {
    let refuse = |problem: &str| Err(ClusterError::Target { name: target.name.clone(), problem: problem.to_owned() });
    match (&target.kind, needs.action) {
        (TargetKind::Alias { .. }, _) if needs.recreate => {
            refuse("it is an alias, which cannot be recreated; name the index behind it")
        }
        (TargetKind::DataStream { .. }, _) if needs.recreate => {
            refuse("it is a data stream, which cannot be recreated; delete it with DELETE _data_stream first")
        }
        (_, Action::Update | Action::Upsert | Action::Delete) if target.is_data_stream() => {
            refuse("it is a data stream, which takes new documents only; use the action create")
        }
        (TargetKind::Missing { .. }, Action::Update | Action::Delete) => {
            refuse("it does not exist, so there is nothing to update or delete; check the name")
        }
        _ => Ok(()),
    }
}

/// Checks the index itself: closed, blocked, its pipelines, room for fields. Returns whether the
/// index has pipelines, or may have some, how it takes documents, and what templates give to a new
/// one.
async fn check_target(
    transport: &Transport,
    info: &ClusterInfo,
    target: &Target,
    needs: &Needs,
    allocation: (&Nodes, &Value),
    warnings: &mut Vec<String>,
) -> Result<Found, ClusterError> {
    if matches!(target.kind, TargetKind::Hidden) {
        let name = &target.name;
        warnings.push(format!(
            "the user lacks the privilege view_index_metadata on {name}: blocks, pipelines and mapping were not checked"
        ));
    }
    let mut mappings_given = Value::Null;
    let (index, default, last, mode) = match target.write_index().filter(|_| !needs.recreate) {
        Some(index) => {
            check_open(index)?;
            warnings.extend(fields_warning(index));
            let rolls_over = target.is_data_stream() || matches!(target.kind, TargetKind::Alias { .. });
            match policy::outlook(transport, info.product, index, rolls_over).await {
                Some(Outlook::Bad(problem)) if !needs.under_policy => {
                    return Err(ClusterError::Target { name: index.name.clone(), problem });
                }
                Some(Outlook::Bad(problem)) => warnings.push(format!("{}: {problem}", index.name)),
                Some(Outlook::Warning(warning)) => warnings.push(warning),
                None => {}
            }
            (&index.name, index.default_pipeline.clone(), index.final_pipeline.clone(), index.mode.clone())
        }
        None if needs.recreate || matches!(target.kind, TargetKind::Missing { .. }) => {
            let settings;
            (settings, mappings_given) = given_to_new(transport, &target.name, needs.settings.as_ref()).await?;
            wait_for_node(transport, info, &target.name, (needs, &settings), allocation, warnings).await?;
            let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::to_owned);
            let mode = IndexMode::of(|name| settings.get(&format!("index.{name}")));
            (&target.name, text("index.default_pipeline"), text("index.final_pipeline"), mode)
        }
        None => return Ok(Found { pipelines: true, ..Found::default() }),
    };
    // The pipeline that a request names replaces the default pipeline of the index, never the final
    // one.
    let default = default.filter(|_| needs.pipeline.is_none());
    let named_by = |setting: &str| format!("which index.{setting} of {index} names");
    let pipelines = [&default, &last].into_iter().flatten().any(|name| name != "_none");
    let (default, last) = tokio::join!(
        check_pipeline(transport, default.as_deref(), named_by("default_pipeline")),
        check_pipeline(transport, last.as_deref(), named_by("final_pipeline")),
    );
    default.and(last).map(|()| Found { pipelines, mode, mappings_given })
}

/// The pipelines of an index that does not exist yet, its mode, and its rules about nodes, by the
/// full names of the settings. Its own settings take precedence over those of its template, whose
/// mapping is returned as well.
async fn given_to_new(
    transport: &Transport,
    name: &str,
    own: Option<&Value>,
) -> Result<(Map<String, Value>, Value), ClusterError> {
    let mut template = match templates::of_new_index(transport, name).await {
        Ok(template) => template,
        Err(error) if error.cannot_be_asked() => Value::Null,
        Err(error) => return Err(error),
    };
    let mut settings = templates::flat(template.get("settings").unwrap_or(&Value::Null));
    settings.extend(templates::flat(own.unwrap_or(&Value::Null)));
    let mappings = template.get_mut("mappings").map(Value::take).unwrap_or_default();
    Ok((settings, mappings))
}

/// Checks that a node may hold the new index. Waits where one may come by itself: allocation is
/// switched off, or the disks are above their high watermark.
async fn wait_for_node(
    transport: &Transport,
    info: &ClusterInfo,
    name: &str,
    (needs, index): (&Needs, &Map<String, Value>),
    (nodes, settings): (&Nodes, &Value),
    warnings: &mut Vec<String>,
) -> Result<(), ClusterError> {
    let mut wait = Wait::new(needs.wait_max);
    let mut refused = nodes.refuse(info, index, settings);
    let mut is_told = false;
    loop {
        let (is_disk, why) = match refused {
            None => return Ok(()),
            Some(NoNode::Ever(why)) => return Err(ClusterError::Target { name: name.to_owned(), problem: why }),
            // The index that is deleted before may be what fills them.
            Some(NoNode::Disk(why)) if needs.recreate => {
                warnings.push(why);
                return Ok(());
            }
            Some(NoNode::Disk(why)) => (true, why),
            Some(NoNode::Now(why)) => (false, why),
        };
        if !std::mem::replace(&mut is_told, true) && !needs.wait_max.is_zero() {
            tracing::warn!("waiting up to {} s before {name} is made: {why}", needs.wait_max.as_secs_f64());
        }
        if wait.pause(&why).await.is_err() {
            let waited = match needs.wait_max {
                Duration::ZERO => String::new(),
                waited => format!(" after a wait of {} s (option `pause_for`)", waited.as_secs_f64()),
            };
            return Err(match is_disk {
                true => ClusterError::Disk(format!("no node can hold the new index {name}{waited}: {why}")),
                false => ClusterError::Target {
                    name: name.to_owned(),
                    problem: format!("no node can hold this new index{waited}: {why}"),
                },
            });
        }
        let room = disk::ask(transport).await;
        refused = room.nodes.refuse(info, index, &room.settings);
    }
}

fn check_open(index: &IndexInfo) -> Result<(), ClusterError> {
    let name = &index.name;
    let problem = if index.closed {
        format!("it is closed; open it with POST {name}/_open")
    } else {
        match index.blocks.first() {
            None => return Ok(()),
            Some(block @ (Block::Write | Block::ReadOnly)) => {
                let setting = block.setting();
                format!(
                    "{setting} keeps documents out; remove the block with PUT {name}/_settings {{\"{setting}\": null}}"
                )
            }
            Some(block @ Block::FloodStage) => format!(
                "{} keeps documents out, because a disk passed the flood stage; free disk space, and the servers remove the block",
                block.setting()
            ),
        }
    };
    Err(ClusterError::Target { name: name.clone(), problem })
}

fn fields_warning(index: &IndexInfo) -> Option<String> {
    let (name, fields, limit) = (&index.name, index.fields, index.fields_limit);
    let full = fields >= limit;
    (full || fields * 10 >= limit * 9).then(|| {
        let consequence =
            if full { "documents with a new field will fail" } else { "documents with many new fields will fail" };
        format!("{name} has {fields} of {limit} fields (index.mapping.total_fields.limit): {consequence}")
    })
}

/// An error if the pipeline surely does not exist.
async fn check_pipeline(transport: &Transport, name: Option<&str>, named_by: String) -> Result<(), ClusterError> {
    let Some(name) = name.filter(|name| *name != "_none") else { return Ok(()) };
    let path = format!("/_ingest/pipeline/{}?filter_path=*.version", path_segment(name));
    match transport.demand("looking up an ingest pipeline", Method::GET, &path, None).await {
        Err(ClusterError::Refused { status: 404, .. }) => {
            Err(ClusterError::NoPipeline { pipeline: name.to_owned(), named_by })
        }
        // A user who may not read pipelines may still write through them.
        Err(error) if error.cannot_be_asked() => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// The blocks of the whole cluster that are on. Empty if the user may not read them.
async fn cluster_blocks(transport: &Transport) -> Vec<&'static str> {
    let path = "/_cluster/settings?filter_path=persistent.cluster.blocks,transient.cluster.blocks";
    let Ok(body) = transport.demand("asking for blocks", Method::GET, path, None).await else { return Vec::new() };
    let is_on = |block: &&'static str| {
        let found = ["transient", "persistent"]
            .iter()
            .find_map(|kind| body.pointer(&format!("/{kind}/cluster/blocks/{block}")));
        matches!(found, Some(Value::Bool(true))) || found.and_then(Value::as_str) == Some("true")
    };
    ["read_only", "read_only_allow_delete", "create_index"].into_iter().filter(is_on).collect()
}

fn check_cluster_blocks(target: &Target, blocks: &[&'static str]) -> Result<(), ClusterError> {
    let missing = matches!(target.kind, TargetKind::Missing { .. });
    match blocks.iter().find(|block| **block != "create_index" || missing) {
        None => Ok(()),
        Some(block) => Err(ClusterError::Target {
            name: target.name.clone(),
            problem: format!(
                "the cluster takes no documents for it, cluster.blocks.{block} is on; turn it off with PUT _cluster/settings"
            ),
        }),
    }
}

/// Privileges that a load can need on its index, by the names of Elasticsearch.
const PRIVILEGES: [&str; 8] =
    ["create_doc", "index", "delete", "create_index", "auto_configure", "delete_index", "maintenance", "read"];

/// The rights to send documents, by the names of their actions.
fn rights_of_documents(needs: &Needs) -> Vec<Need> {
    match (&needs.index, needs.action) {
        (Some(index), Action::Index | Action::Create) if !needs.restores => {
            [Right::Bulk, Right::Index].map(|right| Need::new(right, index, "every document needs")).into()
        }
        _ => Vec::new(),
    }
}

/// Checks the privileges to create the index and to write to it, as far as they are known. Returns
/// the bulk action that the user may send.
fn check_privileges(
    target: &mut Target,
    needs: &Needs,
    known: &Known,
    warnings: &mut Vec<String>,
) -> Result<Action, ClusterError> {
    let name = target.name.clone();
    let lacks = |privilege: &str| known.lacks(&name, privilege);
    let missing = matches!(target.kind, TargetKind::Missing { .. });
    // Documents without ids are new ones with either action.
    let adds = needs.action == Action::Create || needs.action == Action::Index && !needs.has_ids;
    if let TargetKind::Missing { by_document, .. } = &mut target.kind {
        let by_load = needs.creates || needs.recreate;
        *by_document = adds && !by_load && lacks("create_index") && !lacks("auto_configure");
    }
    // A name that the user may not look up can stand for a data stream.
    let hidden = matches!(target.kind, TargetKind::Hidden);
    let action = match needs.action {
        Action::Index if target.is_data_stream() || adds && (hidden || lacks("index")) => Action::Create,
        action => action,
    };
    let write = match action {
        Action::Index | Action::Update | Action::Upsert => "index",
        Action::Create => "create_doc",
        Action::Delete => "delete",
    };
    let may_make = target.is_data_stream() && !lacks("auto_configure");
    let create = ((missing && !may_make) || needs.recreate).then_some("create_index");
    let delete = (needs.recreate && !missing).then_some("delete_index");
    if let Some(privilege) = [Some(write), create, delete].into_iter().flatten().find(|privilege| lacks(privilege)) {
        let by_load = needs.creates || needs.recreate;
        let create_is_enough = match privilege {
            "index" => needs.action == Action::Index && !lacks("create_doc"),
            "create_index" => !adds && !by_load && !lacks("auto_configure"),
            _ => false,
        };
        let or_other = match privilege {
            "create_index" if target.is_data_stream() || adds && !by_load => " or auto_configure",
            _ => "",
        };
        let or = if create_is_enough { ", give option `action=create`" } else { "" };
        return Err(ClusterError::Target {
            name,
            problem: format!(
                "the user lacks the privilege {privilege}{or_other} on it; grant it{or}, or use another user or key"
            ),
        });
    }
    if let Some(privilege) = ["maintenance", "read"].into_iter().find(|privilege| lacks(privilege)) {
        warnings.push(format!(
            "the user lacks the privilege {privilege} on {name}: documents cannot be counted at the end"
        ));
    }
    Ok(action)
}

#[cfg(test)]
mod tests {
    use inrush_core::FieldTypes;

    use super::*;
    use crate::api::index::Template;

    fn index() -> IndexInfo {
        IndexInfo {
            name: "trips".into(),
            uuid: "u".into(),
            shards: 1,
            replicas: 0,
            closed: false,
            blocks: Vec::new(),
            fields: 10,
            field_types: FieldTypes::default(),
            graphs_are_to_come: false,
            fields_limit: 1000,
            default_pipeline: None,
            final_pipeline: None,
            refresh_interval: None,
            policy: None,
            mode: IndexMode::default(),
        }
    }

    fn target(kind: TargetKind) -> Target {
        Target { name: "trips".into(), kind }
    }

    #[test]
    fn a_closed_or_blocked_index_says_how_to_open_it() {
        assert!(check_open(&index()).is_ok());
        let message = |index: IndexInfo| check_open(&index).unwrap_err().to_string();
        let closed = message(IndexInfo { closed: true, ..index() });
        assert_eq!(closed, "trips: it is closed; open it with POST trips/_open");
        let write = message(IndexInfo { blocks: vec![Block::Write], ..index() });
        assert!(write.contains("PUT trips/_settings {\"index.blocks.write\": null}"), "{write}");
        let flood = message(IndexInfo { blocks: vec![Block::FloodStage], ..index() });
        assert!(flood.contains("free disk space"), "{flood}");
    }

    #[test]
    fn a_full_mapping_is_warned_of() {
        let warning = |fields| fields_warning(&IndexInfo { fields, ..index() });
        assert_eq!(warning(899), None);
        assert!(warning(900).unwrap().contains("many new fields"));
        assert!(warning(1000).unwrap().contains("a new field will fail"));
    }

    /// The action of a load whose user lacks these privileges, or the error; and the warnings.
    fn checked(kind: TargetKind, needs: &Needs, lacking: &[&str]) -> (Result<Action, String>, Target, Vec<String>) {
        let (mut target, mut warnings) = (target(kind), Vec::new());
        let known = Known::of_index("trips", &PRIVILEGES, lacking);
        let action = check_privileges(&mut target, needs, &known, &mut warnings);
        (action.map_err(|error| error.to_string()), target, warnings)
    }

    #[test]
    fn privileges_that_are_missing_stop_the_load_or_are_told() {
        let check = |kind: TargetKind, needs: &Needs, lacking: &[&str]| checked(kind, needs, lacking).0;
        let missing = || TargetKind::Missing { template: None, by_document: false };
        let needs = |action| Needs { action, has_ids: true, ..Needs::default() };
        let index = || TargetKind::Index(index());
        assert_eq!(check(missing(), &needs(Action::Index), &[]), Ok(Action::Index));
        let all_to_create = ["create_index", "auto_configure"];
        assert!(check(missing(), &needs(Action::Index), &all_to_create).unwrap_err().contains("create_index"));
        assert!(check(index(), &needs(Action::Index), &["create_index"]).is_ok());
        let refused = check(index(), &needs(Action::Index), &["index", "create_doc"]).unwrap_err();
        assert_eq!(refused, "trips: the user lacks the privilege index on it; grant it, or use another user or key");
        assert_eq!(check(index(), &needs(Action::Create), &["index"]), Ok(Action::Create));
        assert!(check(index(), &needs(Action::Delete), &["delete"]).is_err());
        let recreate = Needs { recreate: true, ..needs(Action::Index) };
        assert!(check(index(), &recreate, &["delete_index"]).is_err());
        let (_, _, warnings) = checked(index(), &needs(Action::Index), &["maintenance"]);
        assert!(warnings[0].contains("maintenance"), "{warnings:?}");
    }

    #[test]
    fn a_user_who_may_only_add_documents_adds_them() {
        let shipper = ["index", "delete", "create_index", "delete_index", "maintenance", "read"];
        let missing = |data_stream: Option<bool>| {
            let template = data_stream.map(|data_stream| Template { name: "t".into(), data_stream });
            TargetKind::Missing { template, by_document: false }
        };
        let ids = |has_ids| Needs { has_ids, ..Needs::default() };
        for template in [None, Some(true), Some(false)] {
            let (action, target, _) = checked(missing(template), &ids(false), &shipper);
            assert_eq!(action, Ok(Action::Create), "{template:?}");
            assert!(target.is_data_stream(), "the first document creates it");
        }
        assert_eq!(checked(missing(Some(true)), &ids(true), &shipper).0, Ok(Action::Create));
        let refused = checked(missing(None), &ids(true), &shipper).0.unwrap_err();
        assert!(refused.contains("the privilege index on it; grant it, give option `action=create`, or"), "{refused}");
        let refused = checked(missing(None), &ids(true), &["create_index"]).0.unwrap_err();
        assert!(refused.contains("create_index on it; grant it, give option `action=create`, or"), "{refused}");
        let with_create = Needs { action: Action::Create, ..ids(true) };
        assert_eq!(checked(missing(None), &with_create, &shipper).0, Ok(Action::Create));
        let refused = checked(missing(None), &ids(false), &["index", "create_doc"]).0.unwrap_err();
        assert!(refused.contains("the privilege create_doc on it"), "{refused}");
        let refused = checked(missing(None), &ids(false), &["create_index", "auto_configure"]).0.unwrap_err();
        assert!(refused.contains("the privilege create_index or auto_configure on it"), "{refused}");
        let with_mapping = Needs { creates: true, ..ids(false) };
        assert!(checked(missing(None), &with_mapping, &shipper).0.unwrap_err().contains("create_index"));
        assert_eq!(checked(TargetKind::Index(index()), &ids(false), &shipper).0, Ok(Action::Create));
        assert_eq!(checked(TargetKind::Hidden, &ids(false), &[]).0, Ok(Action::Create));
        assert_eq!(checked(TargetKind::Hidden, &ids(true), &[]).0, Ok(Action::Index));
    }

    #[test]
    fn actions_that_a_target_does_not_take_are_refused() {
        let stream = || target(TargetKind::DataStream { stream: "trips".into(), write: index() });
        let alias = target(TargetKind::Alias { write: index(), indices: vec![], filtered: false });
        let check =
            |target: &Target, action, recreate| check_action(target, &Needs { action, recreate, ..Needs::default() });
        assert!(check(&stream(), Action::Index, false).is_ok());
        assert!(check(&stream(), Action::Update, false).unwrap_err().to_string().contains("use the action create"));
        assert!(check(&stream(), Action::Create, true).is_err());
        assert!(check(&alias, Action::Delete, false).is_ok());
        let missing = target(TargetKind::Missing { template: None, by_document: false });
        assert!(check(&missing, Action::Upsert, false).is_ok());
        for action in [Action::Update, Action::Delete] {
            assert!(check(&missing, action, false).unwrap_err().to_string().contains("check the name"));
        }
        assert!(check(&alias, Action::Index, true).unwrap_err().to_string().contains("is an alias"));
    }

    #[test]
    fn blocks_of_the_cluster_count_where_they_matter() {
        let missing = target(TargetKind::Missing { template: None, by_document: false });
        let there = target(TargetKind::Index(index()));
        assert!(check_cluster_blocks(&there, &["create_index"]).is_ok());
        assert!(check_cluster_blocks(&missing, &["create_index"]).is_err());
        assert!(check_cluster_blocks(&there, &["read_only"]).is_err());
        assert!(check_cluster_blocks(&missing, &[]).is_ok());
    }
}
