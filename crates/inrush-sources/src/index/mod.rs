//! An index of another cluster as a source.
//!
//! Each shard is a partition. It is read in the order of its sequence numbers, and the number of a
//! document is its sequence number. So a load can continue in the middle of a shard
//! after any changes of the index, because later changes have higher numbers. Each shard is read
//! in a point in time where the server supports it. A lost point in time is opened again.

mod address;
mod kind;
mod lookup;
mod pace;
mod page;
mod read;
mod retries;
mod shard;
mod shared;
mod shared_ids;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

pub use address::IndexAddress;
use http::Method;
use inrush_cluster::api::ConnectError;
use inrush_cluster::api::{ClusterError, ClusterInfo, Product, Version, product, stats, stored};
use inrush_cluster::transport::{Credentials, HttpOptions, TlsOptions, Transport, path_segment};
use inrush_core::ledger::Partition;
use inrush_core::{Code, SourceId};
pub use kind::IndexKind;
pub use kind::IndexModels;
use lookup::Found;
use pace::Pace;
use page::Ask;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use shared::{Message, Reading, Shard};
use shared_ids::SharedIds;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::{Chunk, Fingerprint, IDLE_AFTER, Repeats, Source, SourceError, SourceInfo, Step, Warnings};

/// Largest number of pages in memory.
const PAGES: usize = 8;
/// Largest size of a page's documents, bytes, as far as it can be estimated before.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// Documents of the sample that is read first.
const SAMPLE: usize = 20;
/// Estimated bytes of a document, without a sample.
const DOC_BYTES: f64 = 1024.0;

/// Options of an index source.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// Node and index.
    pub address: IndexAddress,
    /// Credentials for the source's cluster. Default: none.
    pub credentials: Credentials,
    /// Trusted certificate authorities and the client certificate. Default: the system's roots.
    pub tls: TlsOptions,
    /// Query for the documents, as in a search under `query`. Default: all documents.
    pub query: Option<Value>,
    /// Keeps the documents' ids. Default: true.
    pub keep_ids: bool,
    /// Writes ids as `index:id`, so that documents of several indices stay apart. Default: false.
    pub index_in_id: bool,
    /// Keeps the documents' routing values. Default: true.
    pub keep_routing: bool,
    /// Writes documents with their versions, as external ones. Default: false.
    pub keep_versions: bool,
    /// Reads documents that are written during the load as well, until no more arrive or after ten
    /// passes. Deletions are not detected. Default: false.
    pub catch_up: bool,
    /// Bytes of documents that wait to be read, as far as their sizes can be estimated before.
    /// Default: 8 MiB.
    pub memory: usize,
    /// Largest document, bytes. A larger one is a reject of kind `too_large`. Default: 100 MiB.
    pub document_bytes_max: usize,
    /// Timeout of one search. Default: 120 s.
    pub request_timeout: Duration,
    /// Time for which a shard is retried that does not answer: it is missing, or its search queue
    /// is full. Default: 10 min.
    pub retry_for: Duration,
}

impl IndexOptions {
    /// Default options for this index.
    pub fn new(address: IndexAddress) -> Self {
        IndexOptions {
            address,
            credentials: Credentials::None,
            tls: TlsOptions::default(),
            query: None,
            keep_ids: true,
            index_in_id: false,
            keep_routing: true,
            keep_versions: false,
            catch_up: false,
            memory: PAGES * PAGE_BYTES_MAX,
            document_bytes_max: 100 << 20,
            request_timeout: Duration::from_secs(120),
            retry_for: Duration::from_secs(600),
        }
    }
}

/// Mapping and settings of a source index, for creating one like it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexModel {
    /// The index.
    pub name: String,
    /// The body of `mappings`.
    pub mappings: Value,
    /// The body of `settings`.
    pub settings: Value,
    /// The names of its aliases.
    pub aliases: Vec<String>,
}

/// Indices of a cluster. Each index is a source of its own ([`SourceId`]), and each of its shards a
/// partition.
pub struct IndexSource {
    options: IndexOptions,
    info: ClusterInfo,
    indices: Vec<Found>,
    warnings: Warnings,
    runtime: Handle,
    /// State of the reading tasks until the first call of `next`.
    prepared: Option<(Reading, Vec<Shard>)>,
    messages: mpsc::Receiver<Message>,
    pages: Arc<Semaphore>,
    ended: bool,
    docs: u64,
    bytes_total: u64,
}

impl IndexSource {
    /// Reads the metadata of the indices and a sample of their documents. It needs a tokio runtime,
    /// whose threads read later.
    ///
    /// # Errors
    /// [`ConnectError`] where the cluster cannot be reached, the index does not exist or cannot be
    /// read, or the query is refused.
    pub async fn open(options: IndexOptions, warnings: &Warnings) -> Result<Self, ConnectError> {
        let http = HttpOptions {
            request_timeout: options.request_timeout,
            tls: options.tls.clone(),
            ..HttpOptions::default()
        };
        let expression = options.address.expression.clone();
        let transport = Transport::new(&[options.address.node.to_string()], options.credentials.clone(), &http)?;
        transport.ready().await?;
        let info = product::detect(&transport).await?;
        let indices = lookup::find(&transport, &expression).await?;
        for index in &indices {
            if let Some(why) = index.changed_source {
                warnings.add(&index.name, "source_changed", "", 1, || why.to_owned());
            }
        }
        let ask = ask(&options, &info);
        // A user who may not refresh sees the state of the last refresh. The reading tasks warn
        // about it.
        if let Err(error) = stats::refresh(&transport, &expression).await {
            tracing::debug!("{error}");
        }
        let sample = sample(&transport, &expression, &ask).await?;
        let (sender, messages) = mpsc::channel();
        let pages = Arc::new(Semaphore::new(PAGES));
        let page_bytes = (options.memory / PAGES).clamp(1, PAGE_BYTES_MAX);
        let reading = Reading {
            transport,
            info: info.clone(),
            expression,
            ask,
            uuids: indices.iter().map(|index| (index.name.clone(), index.uuid.clone())).collect(),
            catch_up: options.catch_up,
            retry_for: options.retry_for,
            warnings: warnings.clone(),
            shared_ids: shared_ids(&options, &indices),
            pages: Arc::clone(&pages),
            messages: sender,
        };
        let shards = (0..).zip(&indices).flat_map(|(source, index)| {
            let pace = Pace::new(page_bytes, index.window_max, sample.doc_bytes);
            (0..index.shards).map(move |number| Shard {
                source: SourceId(source),
                index: index.name.clone(),
                number,
                next: 0,
                filter: index.filter.clone(),
                pace: pace.clone(),
            })
        });
        Ok(IndexSource {
            prepared: Some((reading, shards.collect())),
            options,
            info,
            indices,
            warnings: warnings.clone(),
            runtime: Handle::current(),
            messages,
            pages,
            ended: false,
            docs: sample.docs,
            bytes_total: (sample.docs as f64 * sample.doc_bytes) as u64,
        })
    }

    /// Product and version of the source's cluster.
    pub fn info(&self) -> &ClusterInfo {
        &self.info
    }

    /// URLs of the indices.
    fn names(&self) -> Vec<String> {
        self.indices.iter().map(|index| format!("{}/{}", self.options.address.node, index.name)).collect()
    }

    /// Number of documents when the source was opened.
    pub fn docs(&self) -> u64 {
        self.docs
    }

    /// Mappings and settings of the indices.
    pub fn models(&self) -> Vec<IndexModel> {
        let model = |index: &Found| IndexModel {
            name: index.name.clone(),
            mappings: index.mappings.clone(),
            settings: index.settings.clone(),
            aliases: index.aliases.clone(),
        };
        self.indices.iter().map(model).collect()
    }
}

impl Source for IndexSource {
    fn describe(&self) -> SourceInfo {
        let IndexOptions { query, keep_ids, index_in_id, keep_routing, keep_versions, .. } = &self.options;
        let query = query.as_ref().map(Value::to_string).unwrap_or_default();
        let mut info = SourceInfo::new(self.names());
        // An estimate from the sample.
        info.bytes_total = Some(self.bytes_total);
        info.repeats = Repeats::Always;
        info.reading = format!("query {query}, ids {keep_ids}, routing {keep_routing}, versions {keep_versions}");
        if *index_in_id {
            info.reading.push_str(", index in id");
        }
        info.has_ids = *keep_ids;
        info.has_versions = *keep_versions;
        info.own_numbers = true;
        info.warnings = Some(self.warnings.clone());
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        if let Some((reading, shards)) = self.prepared.take() {
            self.runtime.spawn(Arc::new(reading).run(shards));
        }
        match self.messages.recv_timeout(IDLE_AFTER) {
            // The permit is returned, because from here on the documents count towards the load's
            // memory.
            Ok(Message::Block(block, _permit)) => Ok(Step::Chunk(Chunk::Docs(block))),
            Ok(Message::End(result)) => {
                self.ended = true;
                result.map(|()| Step::End)
            }
            Err(RecvTimeoutError::Timeout) => Ok(Step::Idle),
            Err(RecvTimeoutError::Disconnected) if self.ended => Ok(Step::End),
            Err(RecvTimeoutError::Disconnected) => {
                let name = &*self.options.address.expression;
                Err(SourceError::new(
                    name,
                    "a reading task ended without a result, which is a defect of inrush; please report it",
                )
                .coded(Code::Defect))
            }
        }
    }

    fn resume(&mut self, settled: &BTreeMap<Partition, u64>) {
        let Some((_, shards)) = &mut self.prepared else { return };
        for shard in shards {
            shard.next = settled.get(&(shard.source, shard.number)).copied().unwrap_or(0);
        }
    }

    fn ends(&self) -> Result<BTreeMap<Partition, u64>, SourceError> {
        let Some((reading, shards)) = &self.prepared else { return Ok(BTreeMap::new()) };
        self.runtime.block_on(reading.numbers(shards))
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let of = |(name, index): (String, &Found)| Fingerprint::of_index(&name, &index.uuid);
        Ok(self.names().into_iter().zip(&self.indices).map(of).collect())
    }
}

impl Drop for IndexSource {
    /// Ends the reading tasks.
    fn drop(&mut self) {
        self.pages.close();
    }
}

/// What looks for ids of several indices. Nothing does where they do not meet in the target.
fn shared_ids(options: &IndexOptions, indices: &[Found]) -> Option<SharedIds> {
    let meet = options.keep_ids && !options.index_in_id;
    meet.then(|| SharedIds::of(indices.iter().map(|index| index.name.clone()).collect())).flatten()
}

/// The options of all searches.
fn ask(options: &IndexOptions, info: &ClusterInfo) -> Ask {
    Ask {
        query: options.query.clone(),
        with_vectors: info.product == Product::Elasticsearch
            && (info.serverless || info.version >= Some(Version::new(9, 2, 0))),
        ids: options.keep_ids,
        index_in_id: options.index_in_id,
        routing: options.keep_routing,
        versions: options.keep_versions,
        document_bytes_max: options.document_bytes_max,
    }
}

/// A sample of the documents, and their number.
struct Sample {
    docs: u64,
    /// Average bytes of a document.
    doc_bytes: f64,
}

async fn sample(transport: &Transport, expression: &str, ask: &Ask) -> Result<Sample, ClusterError> {
    #[derive(Deserialize)]
    struct Reply {
        hits: Hits,
    }
    #[derive(Deserialize)]
    struct Hits {
        total: Total,
        hits: Vec<Hit>,
    }
    #[derive(Deserialize)]
    struct Total {
        value: u64,
    }
    #[derive(Deserialize)]
    struct Hit {
        #[serde(rename = "_id")]
        id: String,
        #[serde(rename = "_source")]
        source: Option<Box<RawValue>>,
    }
    let what = format!("reading the first documents of {expression}");
    let query = ask.query.clone().unwrap_or_else(|| json!({"match_all": {}}));
    let body = json!({"query": query, "size": SAMPLE, "track_total_hits": true, "_source": ask.source()});
    let path = format!("/{}/_search?allow_partial_search_results=false", path_segment(expression));
    let answer = transport.ask(Method::POST, &path, Some(&body)).await?;
    if !(200..=299).contains(&answer.status()) {
        return Err(ClusterError::from_status(&what, answer.status(), &answer.json(&what)?));
    }
    let Reply { hits: Hits { total, hits } } = serde_json::from_slice(answer.body()).map_err(|error| {
        let unknown = || ClusterError::Reply { what: what.clone(), problem: error.to_string() };
        stored::no_json(&what, answer.body()).unwrap_or_else(unknown)
    })?;
    let mut bytes = 0;
    for hit in &hits {
        let Some(source) = &hit.source else {
            let problem = format!(
                "its document {:?} has no _source, so it cannot be read; load the documents from their original source",
                hit.id
            );
            return Err(ClusterError::Target { name: expression.to_owned(), problem });
        };
        bytes += source.get().len();
    }
    let doc_bytes = if hits.is_empty() { DOC_BYTES } else { bytes as f64 / hits.len() as f64 };
    Ok(Sample { docs: total.value, doc_bytes })
}
