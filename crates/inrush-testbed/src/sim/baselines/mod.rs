//! The plans of other loaders: fixed defaults, and two algorithms that adapt the requests in
//! flight. Batches, retries and the choice of a node are those of the simulated loader, although
//! most of the other loaders lose rejected documents.

mod gradient;
mod vector;

use inrush_core::tune::{Bounds, Fixed, Plan, Tuner};

use gradient::Gradient2;
use vector::Vector;

const MIB: u64 = 1 << 20;

/// Documents and bytes of a batch, and requests in flight. `None` is no limit, and as many requests
/// as processors.
struct Defaults {
    name: &'static str,
    docs: Option<u32>,
    bytes: Option<u64>,
    in_flight: Option<u32>,
}

const fn defaults(name: &'static str, docs: Option<u32>, bytes: Option<u64>, in_flight: Option<u32>) -> Defaults {
    Defaults { name, docs, bytes, in_flight }
}

const FIXED: [Defaults; 7] = [
    // cmd/esbulk/main.go, 0.7.35: -size 1000, -w runtime.NumCPU().
    defaults("esbulk", Some(1000), None, None),
    // src/main.rs and output.rs, 0.7.0: --batch-size 5000, 16 tasks.
    defaults("espipe", Some(5000), None, Some(16)),
    // esutil/bulk_indexer.go, v8: FlushBytes 5e+6, NumWorkers runtime.NumCPU().
    defaults("go-elasticsearch", None, Some(5_000_000), None),
    // helpers/bulk/BulkIngester.java, 8.x: 1,000 operations, 5 MiB, 1 concurrent request.
    defaults("java-bulk-ingester", Some(1000), Some(5 * MIB), Some(1)),
    // helpers/actions.py, streaming_bulk: chunk_size 500, max_chunk_bytes 100 MiB.
    defaults("python", Some(500), Some(100 * MIB), Some(1)),
    // helpers/actions.py, parallel_bulk: the same with 4 threads.
    defaults("python-parallel", Some(500), Some(100 * MIB), Some(4)),
    // logstash.yml: pipeline.batch.size 125, pipeline.workers = processors; output plugin: 20 MiB.
    defaults("logstash", Some(125), Some(20 * MIB), None),
];

/// The names for [`baseline`].
pub(super) fn names() -> Vec<&'static str> {
    FIXED.iter().map(|defaults| defaults.name).chain(["vector", "gradient2"]).collect()
}

/// The baseline of this name, on a machine with `client_cpus` processors.
pub(super) fn baseline(name: &str, bounds: &Bounds, client_cpus: u32) -> Option<Box<dyn Tuner>> {
    let plan = |bytes: Option<u64>, docs: Option<u32>, in_flight: u32| Plan {
        batch_bytes: bytes.unwrap_or(bounds.batch_bytes.1),
        batch_docs: docs.unwrap_or(bounds.batch_docs),
        in_flight,
    };
    match name {
        // src/sinks/elasticsearch/config.rs: 10 MB a batch.
        "vector" => return Some(Box::new(Vector::new(plan(Some(10_000_000), None, 1)))),
        // The algorithm says nothing about batches; they are those of go-elasticsearch.
        "gradient2" => return Some(Box::new(Gradient2::new(plan(Some(5_000_000), None, 20)))),
        _ => {}
    }
    let found = FIXED.iter().find(|defaults| defaults.name == name)?;
    Some(Box::new(Fixed(plan(found.bytes, found.docs, found.in_flight.unwrap_or(client_cpus)))))
}
