//! What a load would do, without doing it: the first documents as they would be sent, the index that would be made, and what would
//! fail. Nothing is written, to the cluster or to this machine.

mod fit;
mod read;

use fit::Mapping;
use http::Method;
use inrush_cluster::api::check::{Preflight, preflight};
use inrush_cluster::api::trial::{self, Verdict};
use inrush_cluster::api::{ClusterError, TargetKind, connect, index};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::Action;
use inrush_core::encode::Encoder;
use inrush_core::mapping::NoteKind;
use inrush_sources::Source;
use read::{Limits, Looked, look};
use serde::Serialize;
use serde_json::Value;

use crate::config::LoadConfig;
use crate::cutover;
use crate::error::LoadError;
use crate::ids::Ids;
use crate::loader::{NOTHING_READ, http_options, index_uuids, needs, reads_itself};

/// Records that are looked at.
const DOCS: u64 = 10_000;
/// Documents that are shown.
const SHOWN: usize = 3;

/// What a load would do.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DryRun {
    /// Product and version; `None` where no cluster was asked.
    pub cluster: Option<String>,
    /// The name that documents would go to.
    pub index: String,
    /// What it stands for: `missing`, `index`, `alias`, `data_stream`, `hidden`; `None` where nobody was asked, or each document names its own.
    pub stands_for: Option<&'static str>,
    /// The body of the request that would make the index; `None` where none would be made.
    pub create: Option<Value>,
    /// The mapping that the documents want, whether or not one was given.
    pub inferred_mapping: Value,
    /// What there is to know about it, by field.
    pub notes: Vec<String>,
    /// Records that were looked at.
    pub docs_looked_at: u64,
    /// Whether these are all.
    pub complete: bool,
    /// Bytes of documents as they would be sent for each byte of the source.
    pub growth: Option<f64>,
    /// The first documents that would be sent.
    pub documents: Vec<Shown>,
    /// Of the records that were looked at, how many would be dead letters.
    pub docs_failing: u64,
    /// The first of them.
    pub failures: Vec<Failure>,
    /// How a bake would build the index and hand it over; `None` where it would be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake: Option<String>,
    /// What would keep the load from beginning, or from coming to its end.
    pub problems: Vec<String>,
    /// What a person should know besides.
    pub warnings: Vec<String>,
}

/// A document as it would be sent.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// The action line.
    pub action: String,
    /// The document; only its beginning where it is long.
    pub document: String,
}

/// A document that would be a dead letter.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// Where it comes from.
    pub source: String,
    /// Its line or row.
    pub line: u64,
    /// A short machine-readable name, such as `missing_field` or `mapping`.
    pub kind: String,
    /// What was found, and what was expected.
    pub reason: String,
}

impl DryRun {
    /// Whether all is well, as far as it was looked at.
    pub fn is_fine(&self) -> bool {
        self.docs_failing == 0 && self.problems.is_empty()
    }
}

/// Looks at the source and, where `config` names one, at the cluster.
///
/// # Errors
/// [`LoadError`] for options that do not fit together, and where the cluster cannot be reached. What would stop a load is in the
/// result.
pub async fn dry_run(mut config: LoadConfig, source: Box<dyn Source>) -> Result<DryRun, LoadError> {
    config.check().map_err(LoadError::usage)?;
    let info = source.describe();
    config.check_source(&info).map_err(LoadError::usage)?;
    let mut run = DryRun {
        cluster: None,
        index: config.index.as_str().to_owned(),
        stands_for: None,
        create: None,
        inferred_mapping: Value::Null,
        notes: Vec::new(),
        docs_looked_at: 0,
        complete: false,
        growth: None,
        documents: Vec::new(),
        docs_failing: 0,
        failures: Vec::new(),
        bake: None,
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    let mut target = Target { may_be_made: true, ..Target::default() };
    if !config.to.is_empty() {
        let transport = connect(&config.to, config.credentials.clone(), &http_options(&config)).await?;
        let coming = Coming { bytes: info.bytes_total, read_from: index_uuids(source.as_ref())? };
        target = ask(&transport, &mut config, coming, &mut run).await?;
    }
    // All files are looked at where an index is deleted for them.
    let unreadable = if config.create.recreate { source.check_all().err() } else { None };
    if target.may_be_made && config.index.fixed().is_some() {
        run.create = Some(index::creation_body(&config.create.for_index(config.index.as_str())));
    }
    let action = if target.is_data_stream && config.action == Action::Index { Action::Create } else { config.action };
    let encoder = Encoder::new(config.operations(action));
    let dropped = encoder.dropped();
    let mapping = match target.mapping {
        Some(mapping) => Some(mapping),
        // That of the index that would be made.
        None => run.create.as_ref().map(Mapping::new),
    };
    let ids = config.id_from.map(|from| Ids::new(from, info.names.clone()));
    let reading = tokio::task::spawn_blocking(move || {
        let mut source = source;
        source.keep_texts(&encoder.fields());
        let limits = Limits { docs: DOCS, shown: SHOWN };
        look(source.as_mut(), &encoder, ids.as_ref(), mapping.as_ref(), &limits)
    });
    let looked = reading.await.map_err(|e| LoadError::usage(format!("reading panicked: {e}")))?;
    let warnings = info.warnings.map(|warnings| warnings.list()).unwrap_or_default();
    let Looked { docs, complete, shown, failures, failing, schema, bytes, broken } = looked;
    let advice = schema.advise(&info.names);
    run.notes = advice
        .notes
        .iter()
        .map(|note| {
            let kind = if note.kind == NoteKind::Conflict { "conflict" } else { "note" };
            let field = if note.field.is_empty() { String::new() } else { format!("{} ", note.field) };
            format!("{kind}: {field}{}", note.text)
        })
        .collect();
    run.inferred_mapping = advice.mapping;
    run.growth = (bytes.1 > 0).then(|| bytes.0 as f64 / bytes.1 as f64);
    (run.docs_looked_at, run.complete, run.documents) = (docs, complete, shown);
    (run.docs_failing, run.failures) = (failing, failures);
    let broken = broken.map(|error| format!("cannot read on: {error}"));
    run.problems.extend(broken.or_else(|| unreadable.map(|error| error.to_string())));
    if docs == 0 && complete && !config.allow_empty {
        let refused = config.create.recreate || config.finish.swap.is_some();
        if refused { &mut run.problems } else { &mut run.warnings }.push(NOTHING_READ.to_owned());
    }
    run.warnings.extend(warnings.iter().map(ToString::to_string));
    if complete && docs > 0 {
        run.warnings.extend(dropped.warnings());
    }
    Ok(run)
}

/// What the cluster says about the index.
#[derive(Default)]
struct Target {
    /// The mapping that it has.
    mapping: Option<Mapping>,
    is_data_stream: bool,
    may_be_made: bool,
}

/// What is known about the documents.
struct Coming {
    bytes: Option<u64>,
    /// The UUIDs of the indices that they are read from.
    read_from: Vec<String>,
}

async fn ask(
    transport: &Transport,
    config: &mut LoadConfig,
    Coming { bytes, read_from }: Coming,
    run: &mut DryRun,
) -> Result<Target, LoadError> {
    match cutover::begin(transport, config, None).await {
        Ok(_) => run.index = config.index.as_str().to_owned(),
        Err(LoadError::Cluster(error @ ClusterError::Http(_))) => return Err(error.into()),
        Err(error) => run.problems.push(error.to_string()),
    }
    let found = match preflight(transport, &needs(config, bytes)).await {
        Ok(Preflight { info, target, warnings, .. }) => {
            run.cluster = Some(info.to_string());
            run.warnings.extend(warnings);
            target
        }
        Err(error @ (ClusterError::Http(_) | ClusterError::LogIn { .. })) => return Err(error.into()),
        Err(error) => {
            run.problems.push(error.to_string());
            // It may be known all the same.
            match config.index.fixed() {
                Some(name) => index::resolve(transport, name).await.ok(),
                None => None,
            }
        }
    };
    let Some(found) = found else { return Ok(Target { may_be_made: true, ..Target::default() }) };
    run.stands_for = Some(match &found.kind {
        TargetKind::Missing { .. } => "missing",
        TargetKind::Index(_) => "index",
        TargetKind::Alias { .. } => "alias",
        TargetKind::DataStream { .. } => "data_stream",
        TargetKind::Hidden => "hidden",
    });
    run.problems.extend(reads_itself(Some(&found), &read_from).err().map(|error| error.to_string()));
    let missing = matches!(found.kind, TargetKind::Missing { .. });
    let mut target = Target {
        mapping: None,
        is_data_stream: found.is_data_stream(),
        may_be_made: config.create.recreate || missing && !found.is_data_stream(),
    };
    if target.may_be_made {
        match trial::simulate(transport, &found.name, &config.create.for_index(&found.name)).await {
            Verdict::Taken if config.create.is_given() => run.warnings.push(
                "not checked, because it takes making the index: the cluster's limit of shards, and what depends on mapping and settings together, such as sort fields".to_owned(),
            ),
            Verdict::Taken => {}
            Verdict::Refused(why) => run.problems.push(format!("the index {} could not be made: {why}", found.name)),
            Verdict::NotAsked(why) => run.warnings.push(format!(
                "whether the cluster takes mapping, settings and shards was not checked: it does not answer without making the index ({why})"
            )),
        }
    }
    if let (false, Some(write)) = (target.may_be_made, found.write_index()) {
        let what = format!("looking up the mapping of {}", write.name);
        let body = transport.demand(&what, Method::GET, &format!("/{}", path_segment(&write.name)), None).await;
        match body {
            Ok(body) => target.mapping = body.get(&write.name).map(Mapping::new),
            Err(error) => run.warnings.push(error.to_string()),
        }
        if config.create.is_given() {
            run.warnings.push(format!(
                "{} exists: option `mapping`, option `settings`, option `shards` and option `replicas` are left out; option `recreate` makes it anew",
                found.name
            ));
        }
    }
    Ok(target)
}
