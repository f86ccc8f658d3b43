//! The threads that read and encode. Each takes the next chunk of the source under a lock, and
//! decodes and encodes it outside of the lock. So a chunk stays in the cache of one core from the
//! read to the encoded body. A closed `Gate` is the back-pressure: the loop opens it as far as
//! the memory allows, and the readers wait for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::ItemBlock;
use inrush_core::encode::{Encoder, SmileItemEncoder};
use inrush_core::ledger::Partition;
use inrush_formats::buffer::BufferPool;
use inrush_sources::{CHUNK_BYTES, Chunk, IDLE_MIN, Source, Step};
use tokio::sync::mpsc::UnboundedSender;

use crate::event::Event;
use crate::ids::Ids;

/// The number of bytes that the readers may take. The loop sets it, and the readers wait for it.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Default)]
struct GateState {
    room: u64,
    reserved: u64,
    closed: bool,
    /// Readers that wait. A notification without a waiting reader would still be a system call.
    waiting: u32,
}

impl Gate {
    /// Lets the readers take `room` bytes, including those that they are reading.
    pub(crate) fn set_room(&self, room: u64) {
        let mut state = self.lock();
        state.room = room;
        if state.waiting > 0 && state.room > state.reserved {
            drop(state);
            self.opened.notify_all();
        }
    }

    /// Stops all reading.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.opened.notify_all();
    }

    /// The loop has received a chunk. From now on the loop counts the chunk's bytes, and passes the
    /// remaining room to [`Gate::set_room`].
    pub(crate) fn arrived(&self) {
        let mut state = self.lock();
        state.reserved = state.reserved.saturating_sub(CHUNK_BYTES as u64);
    }

    /// Returns the room of a chunk that the source did not have, and waits for `wait`, or until the
    /// gate closes.
    fn leave(&self, wait: Duration) {
        let mut state = self.lock();
        state.reserved = state.reserved.saturating_sub(CHUNK_BYTES as u64);
        if !wait.is_zero() {
            // The result of the wait does not matter, because the reader calls `enter` next.
            drop(self.opened.wait_timeout_while(state, wait, |state| !state.closed));
        }
    }

    /// Waits for the room of a chunk. Returns false when the gate is closed.
    fn enter(&self) -> bool {
        let mut state = self.lock();
        while !state.closed && state.room <= state.reserved {
            state.waiting += 1;
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state.reserved += CHUNK_BYTES as u64;
        !state.closed
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        // The state is a few numbers that are valid at every moment, so a panic of another thread
        // leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The encoding of documents.
pub(crate) struct Encode {
    pub(crate) encoder: Encoder,
    pub(crate) ids: Option<Ids>,
    /// Whether the readers also encode items as SMILE. The loop sets it, and may change it.
    pub(crate) smile: Arc<AtomicBool>,
    /// Whether the values of documents are taken beside their text.
    pub(crate) columns: bool,
}

/// The reading threads before they read. They wait for their source, and end where there is none.
pub(crate) struct Threads(Vec<std::sync::mpsc::Sender<Arc<Work>>>);

/// What the threads share.
struct Work {
    reading: Mutex<Reading>,
    encode: Encode,
    gate: Arc<Gate>,
    bodies: Arc<BufferPool>,
    chunk_bytes: usize,
    events: UnboundedSender<Event>,
}

impl Threads {
    /// Starts `workers` threads.
    pub(crate) fn start(workers: usize) -> std::io::Result<Self> {
        let thread = |worker| {
            let (sender, waiting) = std::sync::mpsc::channel::<Arc<Work>>();
            std::thread::Builder::new().name(format!("read-{worker}")).spawn(move || {
                let Ok(shared) = waiting.recv() else { return };
                let mut watch = Watch { events: &shared.events, ids: shared.encode.ids.as_ref(), done: false };
                work(&shared);
                watch.done = true;
            })?;
            Ok(sender)
        };
        (0..workers).map(thread).collect::<std::io::Result<_>>().map(Threads)
    }

    /// Reads `source` to its end, and sends encoded blocks. The threads end after their current
    /// read when the gate closes.
    pub(crate) fn read(
        self,
        mut source: Box<dyn Source>,
        encode: Encode,
        gate: Arc<Gate>,
        chunk_bytes: usize,
        events: UnboundedSender<Event>,
    ) {
        source.keep_texts(&encode.encoder.fields());
        let reading = Mutex::new(Reading { source: Some(source), next: 0, is_idle: false });
        let shared = Arc::new(Work { reading, encode, gate, bodies: BufferPool::new(), chunk_bytes, events });
        for thread in self.0 {
            // It waits for this message and cannot have ended.
            let _ = thread.send(Arc::clone(&shared));
        }
    }
}

struct Reading {
    /// `None` after the end.
    source: Option<Box<dyn Source>>,
    next: u64,
    /// The loop already knows that the source has no documents for now.
    is_idle: bool,
}

/// The result of a read by one thread.
enum Taken {
    Chunk(u64, Chunk),
    /// No documents, and the time that the source waited for some.
    Idle(Duration),
    End,
}

impl Reading {
    fn take(&mut self, chunk_bytes: usize, events: &UnboundedSender<Event>) -> Taken {
        let Some(source) = &mut self.source else { return Taken::End };
        let asked = clock::now();
        let end = match source.next(chunk_bytes) {
            Ok(Step::Chunk(chunk)) => {
                self.is_idle = false;
                let number = self.next;
                self.next += 1;
                return Taken::Chunk(number, chunk);
            }
            Ok(Step::Idle) => {
                if !std::mem::replace(&mut self.is_idle, true) {
                    let _ = events.send(Event::SourceIdle { blocks: self.next });
                }
                return Taken::Idle(asked.elapsed());
            }
            Ok(Step::End) => Ok(()),
            Err(error) => Err(error),
        };
        self.source = None;
        let _ = events.send(Event::SourceEnd { blocks: self.next, result: end });
        Taken::End
    }
}

/// Reports the panic of a reader to the loop, because its documents are missing then.
struct Watch<'a> {
    events: &'a UnboundedSender<Event>,
    ids: Option<&'a Ids>,
    done: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.done {
            if let Some(ids) = self.ids {
                ids.end();
            }
            let _ = self.events.send(Event::ReaderDied);
        }
    }
}

fn work(Work { reading, encode, gate, bodies, chunk_bytes, events }: &Work) {
    let mut smile_encoder = SmileItemEncoder::default();
    while gate.enter() {
        let taken = {
            // A panic inside the source leaves it in an unknown state. The loop has got the report.
            let Ok(mut reading) = reading.lock() else { return };
            reading.take(*chunk_bytes, events)
        };
        let (number, chunk) = match taken {
            Taken::Chunk(number, chunk) => (number, chunk),
            // The runtime was shut down, so the load needs no more documents.
            Taken::Idle(_) if events.is_closed() => return,
            Taken::Idle(waited) => {
                gate.leave(IDLE_MIN.saturating_sub(waited));
                continue;
            }
            Taken::End => return,
        };
        let (block, columns) = match encode.columns {
            true => chunk.into_block_with_columns(),
            false => (chunk.into_block(), None),
        };
        let block = match &encode.ids {
            None => block,
            Some(ids) => match ids.assign(number, block) {
                Some(block) => block,
                None => return,
            },
        };
        let share = |body: Vec<u8>| {
            let len = body.len();
            bodies.share(body, len)
        };
        let mut block = encode.encoder.encode_into(block, bodies.take(), share);
        // Items without some fields have other documents than the columns.
        block.columns = columns.filter(|_| encode.encoder.keeps_documents()).map(Arc::new);
        if encode.smile.load(Ordering::Relaxed) {
            smile_encoder.encode(&mut block, bodies.take(), share);
        }
        if events.send(Event::Block { number, block }).is_err() {
            return;
        }
    }
}

/// Restores the order in which blocks were read, and fills in the numbers that depend on the order.
#[derive(Default)]
pub struct Sequencer {
    next: u64,
    early: BTreeMap<u64, ItemBlock>,
    partitions: BTreeMap<Partition, (u64, u64)>,
}

impl Sequencer {
    /// Takes the block `number`.
    pub fn push(&mut self, number: u64, block: ItemBlock) {
        self.early.insert(number, block);
    }

    /// The next block in order, if it has arrived.
    pub fn next_block(&mut self) -> Option<ItemBlock> {
        let mut block = self.early.remove(&self.next)?;
        self.next += 1;
        if block.origin.own_numbers {
            return Some(block);
        }
        let (docs, lines) = self.partitions.entry((block.origin.source, block.origin.partition)).or_insert((0, 1));
        block.origin.first_doc = *docs;
        block.origin.first_line = *lines;
        *docs += u64::from(block.len());
        *lines += block.lines;
        Some(block)
    }

    /// Number of blocks that were returned.
    pub fn count(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use inrush_sources::{SourceError, SourceInfo};

    use super::*;

    struct Quiet(u32);

    impl Source for Quiet {
        fn describe(&self) -> SourceInfo {
            SourceInfo::new(["quiet"])
        }

        fn next(&mut self, _: usize) -> Result<Step, SourceError> {
            self.0 += 1;
            Ok(match self.0 {
                1 | 2 => Step::Idle,
                3 => Step::Chunk(Chunk::Docs(inrush_core::DocBlock::default())),
                4 => Step::Idle,
                _ => Step::End,
            })
        }
    }

    #[test]
    fn the_loop_is_told_once_that_the_source_is_idle() {
        let (events, mut received) = tokio::sync::mpsc::unbounded_channel();
        let mut reading = Reading { source: Some(Box::new(Quiet(0))), next: 0, is_idle: false };
        let mut chunks = 0;
        loop {
            match reading.take(1000, &events) {
                Taken::Chunk(number, _) => {
                    assert_eq!(number, chunks);
                    chunks += 1;
                }
                Taken::Idle(_) => {}
                Taken::End => break,
            }
        }
        assert!(matches!(received.try_recv(), Ok(Event::SourceIdle { blocks: 0 })));
        assert!(matches!(received.try_recv(), Ok(Event::SourceIdle { blocks: 1 })));
        assert!(matches!(received.try_recv(), Ok(Event::SourceEnd { blocks: 1, result: Ok(()) })));
        assert!(matches!(reading.take(1000, &events), Taken::End) && received.try_recv().is_err());
    }

    #[test]
    fn a_chunk_that_did_not_come_takes_no_room() {
        let gate = Gate::default();
        gate.set_room(1);
        for _ in 0..3 {
            assert!(gate.enter(), "there is room for one chunk");
            gate.leave(Duration::ZERO);
        }
        gate.close();
        gate.leave(Duration::from_secs(3600));
        assert!(!gate.enter());
    }

    #[test]
    fn blocks_come_out_in_order_with_their_places() {
        let block = |docs: usize, lines| ItemBlock { ends: vec![0; docs], lines, ..ItemBlock::default() };
        let mut sequencer = Sequencer::default();
        sequencer.push(1, block(5, 7));
        assert!(sequencer.next_block().is_none());
        sequencer.push(0, block(2, 3));
        let first = sequencer.next_block().unwrap().origin;
        let second = sequencer.next_block().unwrap().origin;
        assert_eq!((first.first_doc, first.first_line), (0, 1));
        assert_eq!((second.first_doc, second.first_line), (2, 4));
        assert_eq!(sequencer.count(), 2);
    }
}
