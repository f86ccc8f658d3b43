//! The threads that write the shards of an index, and their memory.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use inrush_core::columns::RowSelection;
use inrush_lucene::{Committed, LiveMapping, MadeIds, Shard, ShardOptions, ShardWriter};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tokio::sync::oneshot;

use super::build_plan::{BuildPlan, ShardPlan, Stopped};
use super::items::Items;

/// The least memory of a segment, as long as one thread can have it. Smaller segments would make
/// searches slow.
const SEGMENT_MEMORY_MIN: usize = 16 << 20;
/// Threads whose ids can be told apart.
const THREADS_MAX: usize = 255;
/// Stack of a thread, bytes, for documents of 1,000 levels.
const STACK_BYTES: usize = 8 << 20;

/// A bulk request.
struct Job {
    body: Vec<Bytes>,
    /// Where the values of its documents are, if not in the body only.
    rows: Arc<[RowSelection]>,
    /// Its place among all of them.
    arrival: u64,
    reply: oneshot::Sender<Result<Vec<u8>, Stopped>>,
}

/// Writes the documents of bulk requests into the shards of an index.
pub(super) struct Writers {
    /// `None` once no further document is taken.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    arrivals: AtomicU64,
    mapping: Arc<LiveMapping>,
    shared: Arc<Shared>,
    threads: usize,
    memory: usize,
    thread: Mutex<Option<JoinHandle<io::Result<Vec<Committed>>>>>,
}

/// What all threads know.
#[derive(Default)]
struct Shared {
    stopped: Mutex<Option<Stopped>>,
    /// Whether the documents are not needed any more.
    is_abandoned: AtomicBool,
}

impl Shared {
    fn stop(&self, why: &Stopped) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.get_or_insert_with(|| why.clone());
        self.is_abandoned.store(true, Ordering::Relaxed);
    }
}

/// The number of threads, and the memory of a segment. One segment for each shard grows on each
/// thread, and one is written, which needs as much again.
fn shares(memory: usize, shards: usize, threads: usize) -> (usize, usize) {
    let affordable = memory / (SEGMENT_MEMORY_MIN * (shards + 1));
    let threads = threads.clamp(1, affordable.clamp(1, THREADS_MAX));
    (threads, memory / (threads * (shards + 1)))
}

impl Writers {
    /// Starts the threads.
    pub(super) fn start(plan: BuildPlan) -> io::Result<Writers> {
        allow_files();
        let (jobs, received) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let mapping = Arc::clone(&plan.mapping);
        let memory = plan.memory;
        let (threads, segment_memory) = shares(memory, plan.shards.len(), plan.threads);
        tracing::debug!("{threads} threads write segments of {segment_memory} bytes in memory");
        let work = move || build(&plan, (threads, segment_memory), received, &of_thread);
        let thread = thread::Builder::new().name("inrush-build".to_owned()).spawn(work)?;
        Ok(Writers {
            jobs: Mutex::new(Some(jobs)),
            arrivals: AtomicU64::new(0),
            mapping,
            shared,
            threads,
            memory,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The reply to a bulk request whose documents are in the shards.
    pub(super) async fn take(&self, body: Vec<Bytes>, rows: Arc<[RowSelection]>) -> Result<Vec<u8>, Stopped> {
        let (reply, replied) = oneshot::channel();
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let gone = || self.stopped().unwrap_or_else(|| Stopped::Failed("a thread that writes it has ended".to_owned()));
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        jobs.and_then(|jobs| jobs.send(Job { body, rows, arrival, reply }).ok()).ok_or_else(gone)?;
        replied.await.unwrap_or_else(|_| Err(gone()))
    }

    /// The threads and their memory, as text.
    pub(super) fn words(&self) -> String {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        format!("{} {threads} with {} MiB of memory", self.threads, self.memory >> 20)
    }

    /// Why no further document is taken.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.shared.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The fields that documents have added to the mapping of the index, if there are any.
    pub(super) fn new_fields(&self) -> Option<Value> {
        self.mapping.new_fields()
    }

    /// Forgets the documents: [`Writers::end`] returns soon, also if it has begun.
    pub(super) fn abandon(&self) {
        self.shared.is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Ends all segments and writes the commits; nothing is written once the documents are
    /// forgotten.
    pub(super) async fn end(&self) -> Result<Vec<Committed>, Stopped> {
        // The threads end once they have no more to wait for.
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let joined = tokio::task::spawn_blocking(move || thread.map(JoinHandle::join));
        let failed = |why: String| Stopped::Failed(why);
        let committed = match joined.await {
            Ok(Some(Ok(committed))) => committed.map_err(Stopped::from),
            Ok(Some(Err(_))) => Err(failed("a thread that writes it panicked".to_owned())),
            // They are ended once, and the runtime waits for this task.
            Ok(None) | Err(_) => Err(failed("the threads that write it have ended".to_owned())),
        };
        self.stopped().map_or(committed, Err)
    }
}

/// Allows as many open files as the system lets a process have: each segment that grows has some,
/// and all of a shard are read at once at the end.
fn allow_files() {
    let limits = getrlimit(Resource::Nofile);
    if limits.current < limits.maximum || limits.maximum.is_none() {
        let most = Rlimit { current: limits.maximum, maximum: limits.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, most) {
            tracing::debug!("the limit of open files stays: {error}");
        }
    }
}

fn build(
    plan: &BuildPlan,
    (threads, segment_memory): (usize, usize),
    jobs: mpsc::Receiver<Job>,
    shared: &Shared,
) -> io::Result<Vec<Committed>> {
    let shard = |shard: &ShardPlan| ShardOptions {
        folder: shard.folder.clone(),
        primary_term: 1,
        segment_memory,
        random: shard.random,
        keep: plan.keep,
    };
    let shards: Vec<Shard> = plan.shards.iter().map(|plan_of| Shard::new(shard(plan_of), &plan.mapping)).collect();
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        let work = |number: usize| work(plan, &shards, number, &jobs, shared);
        let spawn = |number| {
            let thread = thread::Builder::new().name("inrush-write".to_owned()).stack_size(STACK_BYTES);
            // Threads that have started wait for documents until `stop`.
            let spawned = thread.spawn_scoped(scope, move || work(number));
            spawned.inspect_err(|error| shared.stop(&Stopped::Files(error.kind(), error.to_string())))
        };
        let threads = (0..threads).map(spawn).collect::<io::Result<Vec<_>>>()?;
        let panicked = || io::Error::other("a thread that writes it panicked");
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
    })?;
    if shared.is_abandoned.load(Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let each = shards.into_iter().zip(&plan.shards).take_while(|_| !shared.is_abandoned.load(Ordering::Relaxed));
    each.map(|(shard, plan)| shard.commit(plan.generation, &plan.user_data)).collect()
}

/// The work of one thread.
fn work(
    plan: &BuildPlan,
    shards: &[Shard],
    number: usize,
    jobs: &Mutex<mpsc::Receiver<Job>>,
    shared: &Shared,
) -> io::Result<()> {
    let mut writers: Vec<ShardWriter> = shards.iter().map(Shard::writer).collect();
    let mut random = [0; 9];
    random.copy_from_slice(&plan.shards[0].random[16..25]);
    let ids = MadeIds::new(random, u8::try_from(number).unwrap_or(u8::MAX));
    let mut items = Items::new(plan, ids);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { body, rows, arrival, reply }) = job else { break };
        writers.iter_mut().for_each(|writer| writer.arrive(arrival));
        // It is no failure if the documents are not needed any more.
        let answer = match shared.is_abandoned.load(Ordering::Relaxed) {
            true => Err(Stopped::Failed("the documents are not needed any more".to_owned())),
            false => items.add(&body, &rows, &mut writers).inspect_err(|why| shared.stop(why)),
        };
        // A load that was stopped does not wait for the reply.
        let _ = reply.send(answer);
    }
    let mut needed = writers.into_iter().take_while(|_| !shared.is_abandoned.load(Ordering::Relaxed));
    needed.try_for_each(ShardWriter::finish)
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn memory_is_shared_by_threads_and_shards() {
        let mib = 1 << 20;
        assert_eq!(shares(512 * mib, 1, 2), (2, 128 * mib));
        assert_eq!(shares(512 * mib, 1, 32), (16, 16 * mib));
        assert_eq!(shares(512 * mib, 3, 2), (2, 64 * mib));
        // One thread works with however little there is.
        assert_eq!(shares(mib, 63, 8), (1, mib / 64));
    }
}
