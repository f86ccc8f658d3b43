//! The counts of a null server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::replies::ReplyKind;
use crate::clock::micros_now;
use crate::model::Cluster;
use crate::product::Flavor;

/// The counts of a null server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NullStats {
    /// Documents in bulk requests.
    pub docs: u64,
    /// Bytes of bulk bodies on the wire.
    pub bytes: u64,
    /// Bulk requests.
    pub requests: u64,
    /// CPU time of the process so far, in seconds; 0 on other systems than Unix.
    pub cpu_seconds: f64,
    /// Time of the first bulk request, in microseconds since 1970; `None` before it.
    pub first_bulk_unix_us: Option<u64>,
}

/// The state that all connections share.
pub(super) struct Shared {
    pub(super) reply_kind: ReplyKind,
    pub(super) cluster: Mutex<Cluster>,
    pub(super) docs: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) stopping: AtomicBool,
    /// How long the server is to be away. `None`: it is there.
    away: Mutex<Option<Duration>>,
    first_bulk_unix_us: OnceLock<u64>,
}

impl Shared {
    pub(super) fn new(reply_kind: ReplyKind) -> Self {
        Shared {
            reply_kind,
            cluster: Mutex::new(Cluster::new(Flavor::opensearch_3())),
            docs: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            away: Mutex::new(None),
            first_bulk_unix_us: OnceLock::new(),
        }
    }

    pub(super) fn set_away(&self, time: Option<Duration>) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    pub(super) fn away(&self) -> Option<Duration> {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the time of the first bulk request.
    pub(super) fn note_bulk(&self) {
        self.first_bulk_unix_us.get_or_init(micros_now);
    }

    pub(super) fn stats(&self) -> NullStats {
        NullStats {
            docs: self.docs.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            cpu_seconds: process_cpu_seconds(),
            first_bulk_unix_us: self.first_bulk_unix_us.get().copied(),
        }
    }
}

/// CPU time of this process, user and system, in seconds; 0 on other systems than Unix.
pub fn process_cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
    #[cfg(not(unix))]
    0.0
}
