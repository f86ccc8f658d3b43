//! Memory for documents that are looked up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a permit of the semaphore.
const UNIT: u64 = 1 << 10;

/// Bytes of a document before the first one has come.
const FIRST_GUESS: u64 = 16 << 10;

/// Bounds the bytes of looked-up documents of all requests.
///
/// The size of documents is known only when they have come. So a look-up waits for as much room as
/// documents of the last ones took. Where its documents are larger, the bound is exceeded until
/// they are sent.
#[derive(Debug)]
pub(super) struct Budget {
    room: Arc<Semaphore>,
    units: u32,
    /// Bytes of a document, as of the last look-ups.
    document_bytes: AtomicU64,
}

/// The room of the documents of a request, until it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    /// `None` where there is no bound.
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        Budget { room: Arc::new(Semaphore::new(units as usize)), units, document_bytes: AtomicU64::new(FIRST_GUESS) }
    }

    /// Waits for room for the documents of this number of ids. A request that needs more than all
    /// of it waits until no other one has any.
    pub(super) async fn room(&self, ids: usize) -> Room {
        let document_bytes = self.document_bytes.load(Ordering::Relaxed);
        // While a request is made of them, documents are there twice.
        let units = self.units(document_bytes.saturating_mul(2 * ids as u64));
        // The semaphore is never closed, which would be the error.
        Room { permit: Arc::clone(&self.room).acquire_many_owned(units).await.ok() }
    }

    /// The documents of this number of ids have come, and take `bytes` in all from now on.
    pub(super) fn came(&self, room: &mut Room, ids: usize, bytes: usize) {
        let Some(found) = (bytes as u64).checked_div(ids as u64) else { return };
        let before = self.document_bytes.load(Ordering::Relaxed);
        self.document_bytes.store(found.max(before - before / 8), Ordering::Relaxed);
        let Some(permit) = &mut room.permit else { return };
        let (held, needed) = (permit.num_permits(), self.units(bytes as u64) as usize);
        if needed < held {
            drop(permit.split(held - needed));
        } else if let Ok(more) = Arc::clone(&self.room).try_acquire_many_owned((needed - held) as u32) {
            permit.merge(more);
        }
    }

    /// The units of this number of bytes, but not more than there are.
    fn units(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(budget: &Budget) -> usize {
        budget.room.available_permits()
    }

    #[tokio::test]
    async fn a_look_up_waits_for_the_room_that_the_last_ones_took() {
        let budget = Budget::new(100 << 10);
        let mut first = budget.room(2).await;
        assert_eq!(left(&budget), 100 - 64, "two documents, twice, of the size that is assumed");
        budget.came(&mut first, 2, 40 << 10);
        assert_eq!(left(&budget), 60);
        tokio::select! {
            biased;
            _ = budget.room(2) => panic!("two documents of 20 KiB are there twice while they are looked up"),
            () = tokio::task::yield_now() => {}
        }
        let mut second = budget.room(1).await;
        budget.came(&mut second, 1, 90 << 10);
        assert_eq!(left(&budget), 20, "there was no room for more");
        drop(first);
        drop(second);
        let all = budget.room(1_000).await;
        assert_eq!((left(&budget), all.permit.unwrap().num_permits()), (0, 100), "more than all is all");
    }

    #[tokio::test]
    async fn small_documents_are_believed_after_a_while() {
        let budget = Budget::new(1 << 20);
        for _ in 0..60 {
            let mut room = budget.room(10).await;
            budget.came(&mut room, 10, 1_000);
        }
        assert_eq!(budget.document_bytes.load(Ordering::Relaxed), 100);
        let mut room = budget.room(0).await;
        budget.came(&mut room, 0, 70_000);
        assert_eq!((room.permit.unwrap().num_permits(), budget.room(1).await.permit.unwrap().num_permits()), (0, 1));
    }

    #[test]
    fn each_size_is_a_bound() {
        let units = |bytes| Budget::new(bytes).units;
        assert_eq!((units(0), units(64 << 20)), (1, 64 << 10));
        assert!(units(u64::MAX) > 1 << 20);
    }
}
