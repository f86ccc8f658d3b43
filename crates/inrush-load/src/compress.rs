//! Bodies are compressed on threads of their own, at most as many at once as there are threads that read.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use inrush_cluster::transport::gzip::Gzip;
use inrush_core::GzipLevel;
use inrush_core::body_format::Body;
use tokio::sync::Semaphore;

/// Compressors that wait for work. Memory: that of [`Gzip`] for each that works at once.
#[derive(Debug)]
pub(crate) struct Compressors {
    idle: Mutex<Vec<Gzip>>,
    permits: Semaphore,
}

impl Compressors {
    /// `at_once`: bodies that are compressed side by side, at least one.
    pub(crate) fn new(at_once: usize) -> Self {
        Compressors { idle: Mutex::default(), permits: Semaphore::new(at_once.max(1)) }
    }

    /// The compressed form of a body, which is made once and kept in it. `None` if the thread died that was to make it.
    pub(crate) async fn pack(&self, body: &Body, level: GzipLevel) -> Option<Bytes> {
        if let Some(packed) = body.packed() {
            return Some(packed.clone());
        }
        // Nobody closes it.
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
