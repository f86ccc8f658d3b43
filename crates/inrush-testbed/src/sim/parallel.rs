//! Independent jobs on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `f` to each job on all processors, in any order. The results are in the order of `jobs`.
pub fn map<T: Sync, R: Send>(jobs: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_with(processors(), jobs, f)
}

/// The number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// As [`map`], on `threads` threads.
pub fn map_with<T: Sync, R: Send>(threads: usize, jobs: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1).min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(job), Some(result)) = (jobs.get(at), results.get(at)) else { return };
                    let value = f(job);
                    // Each result is locked once, by the thread with its number.
                    if let Ok(mut result) = result.lock() {
                        *result = Some(value);
                    }
                }
            });
        }
    });
    // A panic of a thread would have ended the scope, so no result is missing.
    results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_their_order() {
        let jobs: Vec<u64> = (0..100).collect();
        assert_eq!(super::map(&jobs, |job| job * 2), jobs.iter().map(|job| job * 2).collect::<Vec<_>>());
    }
}
