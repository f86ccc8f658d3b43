//! Compression of bodies on threads of its own, at most as many at once as reading threads.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use inrush_cluster::transport::gzip::Gzip;
use inrush_core::GzipLevel;
use inrush_core::body_format::Body;
use tokio::sync::Semaphore;

/// Idle compressors. Each compressor takes the memory of a [`Gzip`].
#[derive(Debug)]
pub(crate) struct Compressors {
    idle: Mutex<Vec<Gzip>>,
    permits: Semaphore,
}

impl Compressors {
    /// `at_once` is the number of bodies that are compressed at the same time, at least one.
    pub(crate) fn new(at_once: usize) -> Self {
        Compressors { idle: Mutex::default(), permits: Semaphore::new(at_once.max(1)) }
    }

    /// The compressed form of a body. It is made once and kept in the body. `None` where the
    /// compression panicked.
    pub(crate) async fn pack(&self, body: &Body, level: GzipLevel) -> Option<Bytes> {
        if let Some(packed) = body.packed() {
            return Some(packed.clone());
        }
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await.ok()?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut gzip = idle.filter(|gzip| gzip.level() == level).unwrap_or_else(|| Gzip::new(level));
        let slices = body.slices.clone();
        let work = move || {
            let packed = gzip.compress(&slices);
            (gzip, packed)
        };
        let (gzip, packed) = tokio::task::spawn_blocking(work).await.ok()?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(gzip);
        body.pack(packed.clone());
        Some(packed)
    }
}
