//! The null server: reads bulk requests at the least cost and counts them, so that a benchmark on
//! one machine measures the client. Each connection has a thread, a blocking socket and one buffer
//! that stays in the cache.
//!
//! The null server does not read documents, so every item succeeds. It counts lines: half of them
//! are documents, unless the request starts with a delete. All endpoints but `_bulk` are those of
//! the fake cluster, so the preflight of a loader and its verification by `_count` work.

mod body;
mod connection;
mod head;
mod replies;
mod server;
mod state;

pub use self::replies::ReplyKind;
pub use self::server::NullServer;
pub use self::state::{NullStats, process_cpu_seconds};
