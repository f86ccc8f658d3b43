//! A dry run: the first documents as the load would send them, the index that it would create, and
//! its errors. A dry run writes nothing, neither to the cluster nor to this machine.

mod fit;
mod read;

use std::time::Duration;

use fit::Mapping;
use http::Method;
use inrush_cluster::BoxFuture;
use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::trial::{self, Verdict};
use inrush_cluster::api::{ClusterError, Product, TargetKind, index};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::encode::Encoder;
use inrush_core::mapping::{Note, NoteKind};
use inrush_core::shaping::TIMESTAMP;
use inrush_core::{Action, Code, FieldTypes, RowForm};
use inrush_sources::{Source, SourceError, SourceInfo};
use read::{Limits, ReadDocuments, read_documents};
use serde::Serialize;
use serde_json::Value;

use crate::config::LoadConfig;
use crate::cutover::Swapping;
use crate::error::LoadError;
use crate::ids::{self, Ids};
use crate::loader::{
    NOTHING_READ, Stream, begin_swap, check_index_mode, connect, field_types, fit_vectors, index_uuids, missing_time,
    needs, reads_itself,
};
use crate::report::SinceReport;
use crate::since;

/// Largest number of records that a dry run reads.
const DOCS: u64 = 10_000;
/// Documents that a dry run shows.
const SHOWN: usize = 3;

/// The result of a dry run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DryRun {
    /// Product and version of the cluster. `None` where no cluster was given.
    pub cluster: Option<String>,
    /// Index, alias or data stream that would get the documents.
    pub index: String,
    /// Kind of the target: `missing`, `index`, `alias`, `data_stream`, `hidden`. `None` where no
    /// cluster was given, or each document names its index.
    pub stands_for: Option<&'static str>,
    /// Body of the request that would create the index. `None` where the load would create none.
    pub create: Option<Value>,
    /// Mapping inferred from the documents, also where the user gave one.
    pub inferred_mapping: Value,
    /// Findings about the inferred mapping, by field.
    pub notes: Vec<String>,
    /// Records that were read.
    pub docs_looked_at: u64,
    /// Whether these are all records of the source.
    pub complete: bool,
    /// The rows that the load would read, with option `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceReport>,
    /// Ratio of the bytes that would be sent to the bytes of the source.
    pub growth: Option<f64>,
    /// The first documents that would be sent.
    pub documents: Vec<Shown>,
    /// Number of the records read that would become dead letters.
    pub docs_failing: u64,
    /// The first of these records.
    pub failures: Vec<Failure>,
    /// How a bake would build the index and hand it over. `None` for a load without a bake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake: Option<String>,
    /// Problems that would prevent the load or stop it.
    pub problems: Vec<String>,
    /// Other findings.
    pub warnings: Vec<String>,
}

/// A document as the load would send it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// The action line.
    pub action: String,
    /// The document. A long one is cut.
    pub document: String,
}

/// A document that would become a dead letter.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// The name of its source.
    pub source: String,
    /// Its line or row.
    pub line: u64,
    /// The kind, such as `missing_field` or `mapping`.
    pub kind: Code,
    /// The value found and the value expected.
    pub reason: String,
}

impl DryRun {
    /// The result before the source and the cluster are read.
    fn new(config: &LoadConfig) -> Self {
        DryRun {
            cluster: None,
            index: config.index.as_str().to_owned(),
            stands_for: None,
            create: None,
            inferred_mapping: Value::Null,
            notes: Vec::new(),
            docs_looked_at: 0,
            complete: false,
            since: None,
            growth: None,
            documents: Vec::new(),
            docs_failing: 0,
            failures: Vec::new(),
            bake: None,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds the documents that were read. `unreadable` is the first file that cannot be opened, and
    /// `mapping` that of the index.
    fn add(
        &mut self,
        read: ReadDocuments,
        unreadable: Option<SourceError>,
        names: &[String],
        mapping: Option<&Mapping>,
    ) {
        let ReadDocuments { docs, complete, shown, failures, failing, schema, bytes, error } = read;
        let advice = schema.advise(names);
        let note = |note: &Note| {
            let kind = if note.kind == NoteKind::Conflict { "conflict" } else { "note" };
            let field = if note.field.is_empty() { String::new() } else { format!("{} ", note.field) };
            format!("{kind}: {field}{}", note.text)
        };
        self.notes = advice.notes.iter().map(note).collect();
        self.inferred_mapping = advice.mapping;
        let may_refuse = |clash: &String| mapping.is_none_or(|mapping| mapping.may_refuse(clash));
        self.problems.extend(advice.clashes.into_iter().filter(may_refuse));
        self.growth = (bytes.1 > 0).then(|| bytes.0 as f64 / bytes.1 as f64);
        (self.docs_looked_at, self.complete, self.documents) = (docs, complete, shown);
        (self.docs_failing, self.failures) = (failing, failures);
        let unchecked = mapping.map(Mapping::unchecked).unwrap_or_default();
        if !unchecked.is_empty() {
            self.warnings.push(format!(
                "not checked, because only the cluster can: the values of fields of type {}",
                unchecked.join(", ")
            ));
        }
        let error = error.map(|error| format!("cannot read the source any further: {error}"));
        self.problems.extend(error.or_else(|| unreadable.map(|error| error.to_string())));
    }

    /// Adds the problem of documents without the time that a data stream needs.
    fn check_time(&mut self) {
        let has_time = self.inferred_mapping["properties"].get(TIMESTAMP).is_some();
        if let (false, Some(first)) = (has_time, self.documents.first()) {
            let document = serde_json::from_str(&first.document).unwrap_or_default();
            let (message, hint) = missing_time(&self.index, &document);
            self.problems.push(format!("{message}; {hint}"));
        }
    }

    /// Whether the dry run found no error.
    pub fn is_fine(&self) -> bool {
        self.docs_failing == 0 && self.problems.is_empty()
    }
}

/// Reads the beginning of the source, and checks the cluster where `config` names one.
///
/// # Errors
/// [`LoadError`] for options that exclude each other, and where the cluster cannot be reached.
/// Problems that would stop a load are in the result.
pub fn dry_run(mut config: LoadConfig, mut source: Box<dyn Source>) -> BoxFuture<'static, Result<DryRun, LoadError>> {
    Box::pin(async move {
        config.check().map_err(LoadError::usage)?;
        let info = source.describe();
        config.check_source(&info).map_err(LoadError::usage)?;
        let mut run = DryRun::new(&config);
        let mut target = Target { may_be_made: true, ..Target::default() };
        if !config.to.is_empty() {
            let transport = connect(&config).await?;
            let has_ids = config.has_ids(&info);
            let read_from = index_uuids(source.as_ref())?;
            let input = Input { source: &info, has_ids, read_from };
            target = check_target(&transport, &mut config, input, &mut run).await?;
            run.since = since::look(&config, &info, source.as_mut(), Some(&transport)).await?;
            run.warnings.extend(config.create.notes.iter().cloned());
        } else {
            run.since = since::look(&config, &info, source.as_mut(), None).await?;
        }
        // A load with `recreate` deletes an index, so all files are checked before.
        let unreadable = if config.create.recreate { source.check_all().err() } else { None };
        if target.may_be_made && config.index.fixed().is_some() {
            run.create = Some(index::creation_body(&config.create.for_index(config.index.as_str())));
        }
        let action =
            if target.is_data_stream && config.action == Action::Index { Action::Create } else { config.action };
        let encoder = Encoder::new(config.operations(action));
        let shape = encoder.shape();
        let mapping = match target.mapping {
            Some(mapping) => Some(mapping),
            // Mapping of the index that the load would create.
            None => run.create.as_ref().map(Mapping::new),
        };
        let ids = config.id_from.map(|from| Ids::new(from, info.names.clone()));
        let form = RowForm::new(action, target.fields.unwrap_or_else(|| field_types(&config, None, &Value::Null)));
        let form = ids::row_form(form, config.id_from);
        let of_index = mapping.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut source = source;
            source.keep_texts(&encoder.fields());
            source.form_rows(&form);
            let limits = Limits { docs: DOCS, shown: SHOWN };
            read_documents(source.as_mut(), &encoder, ids.as_ref(), mapping.as_ref(), &limits)
        });
        let read = reading.await.map_err(|e| LoadError::usage(format!("the reading thread panicked: {e}")))?;
        let warnings = info.warnings.map(|warnings| warnings.list()).unwrap_or_default();
        let (docs, complete) = (read.docs, read.complete);
        run.add(read, unreadable, &info.names, of_index.as_ref());
        if target.needs_time {
            run.check_time();
        }
        let is_part = run.since.as_ref().is_some_and(|since| since.from.is_some());
        if docs == 0 && complete && !config.allow_empty && !is_part {
            let refused = config.create.recreate || config.finish.swap.is_some();
            if refused { &mut run.problems } else { &mut run.warnings }.push(NOTHING_READ.to_owned());
        }
        run.warnings.extend(warnings.iter().map(ToString::to_string));
        run.warnings.extend(config.told.take().into_iter().map(|warning| warning.text));
        if complete && docs > 0 {
            run.warnings.extend(shape.warnings());
        }
        Ok(run)
    })
}

/// The target in the cluster.
#[derive(Default)]
struct Target {
    /// Mapping of the existing index.
    mapping: Option<Mapping>,
    /// Its fields that rows are written for.
    fields: Option<FieldTypes>,
    is_data_stream: bool,
    /// Whether its documents have to bring their time.
    needs_time: bool,
    may_be_made: bool,
}

/// Properties of the documents.
struct Input<'a> {
    source: &'a SourceInfo,
    has_ids: bool,
    /// UUIDs of the indices that the documents are read from.
    read_from: Vec<String>,
}

/// Begins a swap, and gives the new index its mapping, as the load does before it looks at its
/// target.
async fn begin(
    transport: &Transport,
    config: &mut LoadConfig,
    run: &mut DryRun,
) -> Result<Option<Swapping>, LoadError> {
    let swapping = match begin_swap(transport, config, None).await {
        Ok(swapping) => swapping,
        Err(LoadError::Cluster(error @ ClusterError::Http(_))) => return Err(error.into()),
        Err(error) => {
            run.problems.push(error.to_string());
            None
        }
    };
    run.index = config.index.as_str().to_owned();
    // Other errors are told by the checks that come next: they begin with the same requests.
    if let Err(error @ (ClusterError::Http(_) | ClusterError::LogIn { .. })) = fit_vectors(transport, config).await {
        return Err(error.into());
    }
    Ok(swapping)
}

/// Checks the target in the cluster, and adds its problems to `run`.
async fn check_target(
    transport: &Transport,
    config: &mut LoadConfig,
    Input { source, has_ids, read_from }: Input<'_>,
    run: &mut DryRun,
) -> Result<Target, LoadError> {
    let swapping = begin(transport, config, run).await?;
    // A dry run tells what a load would wait for.
    let (mut pipelines, mut product, mut given) = (true, Product::Unknown, Value::Null);
    let mut needs = Needs { wait_max: Duration::ZERO, ..needs(config, source.bytes_total, has_ids) };
    needs.rights.extend(swapping.iter().flat_map(Swapping::rights));
    let found = match preflight(transport, &needs).await {
        Ok(Preflight { info, target, warnings, pipelines: may_add, mode, mappings_given, .. }) => {
            (pipelines, product, given) = (may_add, info.product, mappings_given);
            run.cluster = Some(info.to_string());
            run.warnings.extend(warnings);
            match check_index_mode(config, source, &mode) {
                Ok(note) => run.warnings.extend(note),
                Err(error) => run.problems.push(error.to_string()),
            }
            target
        }
        Err(error @ (ClusterError::Http(_) | ClusterError::LogIn { .. })) => return Err(error.into()),
        Err(error) => {
            run.problems.push(error.to_string());
            // The target may still be readable.
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
        fields: Some(field_types(config, Some(&found), &given)),
        is_data_stream: found.is_data_stream(),
        needs_time: Stream::needs_time(transport, &found, product, pipelines).await,
        may_be_made: config.create.recreate || missing && !found.is_data_stream(),
    };
    if target.may_be_made {
        match trial::simulate(transport, &found.name, &config.create.for_index(&found.name)).await {
            Verdict::Taken if config.create.is_given() => run.warnings.push(
                "not checked, because only the creation of the index would check it: the cluster's limit of shards, and combinations of mapping and settings, such as sort fields".to_owned(),
            ),
            Verdict::Taken => {}
            Verdict::Refused(why) => run.problems.push(format!("the index {} could not be created: {why}", found.name)),
            Verdict::NotAsked(why) => run.warnings.push(format!(
                "mapping, settings and shards were not checked, because this cluster checks them only at the creation of the index ({why})"
            )),
        }
    }
    if !target.may_be_made {
        target.mapping = existing(transport, config, &found, run).await;
    }
    Ok(target)
}

/// The mapping of an index that exists.
async fn existing(
    transport: &Transport,
    config: &LoadConfig,
    found: &inrush_cluster::api::Target,
    run: &mut DryRun,
) -> Option<Mapping> {
    let mut mapping = None;
    if let Some(write) = found.write_index() {
        let what = format!("looking up the mapping of {}", write.name);
        let body = transport.demand(&what, Method::GET, &format!("/{}", path_segment(&write.name)), None).await;
        match body {
            Ok(body) => mapping = body.get(&write.name).map(Mapping::new),
            Err(error) => run.warnings.push(error.to_string()),
        }
        run.warnings.extend(config.create.without_effect(&found.name));
    }
    mapping
}
