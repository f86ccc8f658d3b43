//! Items wait here, and leave in batches.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::items::ItemBlock;
use crate::ledger::BlockId;
use crate::order::IdsUnderWay;
use crate::time::Time;
use crate::tune::Plan;

/// Slices shorter than this on average are copied together: a socket takes at most 1,024 slices a call, and a call costs
/// more than copying so few bytes.
const SLICE_BYTES_MIN: usize = 4096;

/// A block that the ledger watches.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) id: BlockId,
    pub(crate) items: ItemBlock,
    /// The first so many records may have been sent by an earlier run.
    pub(crate) sent_before: u32,
}

/// Neighbouring items of one block.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) block: Arc<Tracked>,
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Segment {
    pub(crate) fn len(&self) -> u32 {
        self.end - self.first
    }

    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.block.items.start(self.end) - self.block.items.start(self.first))
    }

    /// The items `from..to` of this segment.
    pub(crate) fn part(&self, from: u32, to: u32) -> Segment {
        Segment { block: Arc::clone(&self.block), first: self.first + from, end: self.first + to }
    }

    /// Whether an earlier run may have sent it. A segment that is pending is so as a whole or not at all.
    pub(crate) fn sent_before(&self) -> bool {
        self.first < self.block.sent_before
    }

    /// How many of its items have no id.
    pub(crate) fn without_id(&self) -> u64 {
        if self.block.items.keys.is_empty() {
            return u64::from(self.len());
        }
        (self.first..self.end).filter(|&i| self.block.items.key(i).is_none()).count() as u64
    }
}

/// The items of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) segments: Vec<Segment>,
    pub(crate) items: u32,
    pub(crate) bytes: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, segment: Segment) {
        if segment.first == segment.end {
            return;
        }
        self.items += segment.len();
        self.bytes += segment.bytes();
        if let Some(last) = self.segments.last_mut()
            && last.end == segment.first
            && Arc::ptr_eq(&last.block, &segment.block)
        {
            last.end = segment.end;
        } else {
            self.segments.push(segment);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Whether an earlier run may have sent its items.
    pub(crate) fn sent_before(&self) -> bool {
        self.segments.first().is_some_and(Segment::sent_before)
    }

    /// Whether the segment may be added: what may have been sent before and what was not do not share a request.
    fn is_alike(&self, segment: &Segment) -> bool {
        self.is_empty() || self.sent_before() == segment.sent_before()
    }

    /// How many of its items have no id.
    pub(crate) fn without_id(&self) -> u64 {
        self.segments.iter().map(Segment::without_id).sum()
    }

    /// The request's body as few slices. Nothing is encoded again; only short slices are copied together.
    pub(crate) fn body(&self) -> Vec<Bytes> {
        let slices = self.segments.iter().map(|s| s.block.items.slice(s.first, s.end));
        if self.segments.len() == 1 || self.bytes as usize / self.segments.len().max(1) >= SLICE_BYTES_MIN {
            return slices.collect();
        }
        let mut copy = BytesMut::with_capacity(self.bytes as usize);
        slices.for_each(|slice| copy.extend_from_slice(&slice));
        vec![copy.freeze()]
    }

    /// Two halves, the first with the larger one of an odd number of items.
    pub(crate) fn halves(&self) -> (Batch, Batch) {
        let (mut a, mut b) = (Batch::default(), Batch::default());
        let mut left = self.items.div_ceil(2);
        for segment in &self.segments {
            let here = left.min(segment.len());
            a.push(segment.part(0, here));
            b.push(segment.part(here, segment.len()));
            left -= here;
        }
        (a, b)
    }
}

/// What was read and has not been sent, in source order, and what is held back because of its id.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    blocks: VecDeque<Segment>,
    /// Documents whose id has become free; they go first.
    released: VecDeque<Segment>,
    ids: IdsUnderWay<Segment>,
    bytes: u64,
    items: u64,
    oldest: Option<Time>,
    keep_order: bool,
    /// Items without an id that an earlier run may have sent.
    repeats: u64,
}

impl Pending {
    /// `keep_order`: documents with the same id take effect in source order.
    pub(crate) fn new(keep_order: bool) -> Self {
        Pending { keep_order, ..Pending::default() }
    }

    /// Adds neighbouring items of a block.
    pub(crate) fn push(&mut self, now: Time, segment: Segment) {
        if segment.first == segment.end {
            return;
        }
        self.bytes += segment.bytes();
        self.items += u64::from(segment.len());
        self.oldest.get_or_insert(now);
        if segment.sent_before() {
            self.repeats += segment.without_id();
        }
        self.blocks.push_back(segment);
    }

    /// Items without an id that an earlier run may have sent: so many may be there twice when all is sent.
    pub(crate) fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Whether nothing could be sent, even if a partial batch were allowed.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.released.is_empty()
    }

    /// Whether there is enough for a full batch.
    pub(crate) fn is_full(&self, plan: &Plan) -> bool {
        self.bytes >= plan.batch_bytes || self.items >= u64::from(plan.batch_docs)
    }

    /// Since when the oldest item has been waiting.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.oldest
    }

    /// Documents that are held back because one with their id is under way.
    pub(crate) fn held(&self) -> usize {
        self.ids.held()
    }

    /// Takes what fits into one request: items until the next would exceed `plan.batch_bytes`, at least one. May come out
    /// empty if all that waited is now held back.
    pub(crate) fn take(&mut self, now: Time, plan: &Plan) -> Batch {
        let mut batch = Batch::default();
        while let Some(segment) = self.released.pop_front() {
            if !fits(&batch, segment.bytes(), plan) || !batch.is_alike(&segment) {
                self.released.push_front(segment);
                break;
            }
            self.subtract(&segment);
            batch.push(segment);
        }
        while self.released.is_empty()
            && let Some(segment) = self.blocks.pop_front()
        {
            if !batch.is_alike(&segment) {
                self.blocks.push_front(segment);
                break;
            }
            let end = self.take_from(&segment, plan, &mut batch);
            if end < segment.end {
                self.blocks.push_front(Segment { first: end, ..segment });
                break;
            }
        }
        if batch.sent_before() {
            self.repeats -= batch.without_id();
        }
        // What is left came later than what was taken; its own time is not kept, so it waits at most one more linger.
        self.oldest = (!self.is_empty()).then_some(now);
        batch
    }

    /// Moves items from the front of `segment` into the batch, or to those held back. Returns the first that stays.
    fn take_from(&mut self, segment: &Segment, plan: &Plan, batch: &mut Batch) -> u32 {
        let items = &segment.block.items;
        let base = u64::from(items.start(segment.first));
        if !self.keep_order || items.keys.is_empty() {
            // Ends ascend, so the last one that fits is found by bisection.
            let room = plan.batch_bytes.saturating_sub(batch.bytes);
            let by_bytes = items.ends[segment.first as usize..segment.end as usize]
                .partition_point(|&end| u64::from(end) - base <= room) as u32;
            let by_docs = plan.batch_docs.saturating_sub(batch.items);
            let mut count = by_bytes.min(by_docs);
            if count == 0 && batch.is_empty() {
                count = 1;
            }
            let taken = segment.part(0, count.min(segment.len()));
            self.subtract(&taken);
            let end = taken.end;
            batch.push(taken);
            return end;
        }
        let mut run = segment.first;
        for item in segment.first..segment.end {
            let one = || Segment { block: Arc::clone(&segment.block), first: item, end: item + 1 };
            let pending_bytes = u64::from(items.start(item) - items.start(run));
            let size = u64::from(items.ends[item as usize] - items.start(item));
            let full =
                batch.bytes + pending_bytes + size > plan.batch_bytes || batch.items + (item - run) >= plan.batch_docs;
            let empty = batch.is_empty() && item == run;
            if full && !empty {
                self.move_run(segment, run, item, batch);
                return item;
            }
            if let Some(key) = items.key(item)
                && !self.ids.enter(key, one)
            {
                self.move_run(segment, run, item, batch);
                self.subtract(&one());
                run = item + 1;
            }
        }
        self.move_run(segment, run, segment.end, batch);
        segment.end
    }

    fn move_run(&mut self, segment: &Segment, first: u32, end: u32, batch: &mut Batch) {
        let run = Segment { block: Arc::clone(&segment.block), first, end };
        self.subtract(&run);
        batch.push(run);
    }

    /// The items are settled: what waited for their ids may go.
    pub(crate) fn settled(&mut self, now: Time, segment: &Segment) {
        if !self.keep_order || segment.block.items.keys.is_empty() {
            return;
        }
        for item in segment.first..segment.end {
            if let Some(key) = segment.block.items.key(item)
                && let Some(next) = self.ids.leave(key)
            {
                self.bytes += next.bytes();
                self.items += 1;
                self.oldest.get_or_insert(now);
                self.released.push_back(next);
            }
        }
    }

    fn subtract(&mut self, segment: &Segment) {
        self.bytes -= segment.bytes();
        self.items -= u64::from(segment.len());
    }
}

fn fits(batch: &Batch, bytes: u64, plan: &Plan) -> bool {
    batch.is_empty() || (batch.bytes + bytes <= plan.batch_bytes && batch.items < plan.batch_docs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Origin, Record};
    use crate::ledger::Ledger;

    const NOW: Time = Time::START;

    fn segment(items: &[(&str, u64)]) -> Segment {
        let mut body = Vec::new();
        let mut ends = Vec::new();
        for (text, _) in items {
            body.extend_from_slice(text.as_bytes());
            ends.push(body.len() as u32);
        }
        let block = ItemBlock {
            body: body.into(),
            records: vec![Record { start: 0, end: 0, byte: 0, line: 0 }; ends.len()],
            keys: if items.iter().any(|i| i.1 != 0) { items.iter().map(|i| i.1).collect() } else { Vec::new() },
            ends,
            ..ItemBlock::default()
        };
        let id = Ledger::default().open(&Origin::default(), block.len()).unwrap();
        let end = block.len();
        Segment { block: Arc::new(Tracked { id, items: block, sent_before: 0 }), first: 0, end }
    }

    fn plan(batch_bytes: u64, batch_docs: u32) -> Plan {
        Plan { batch_bytes, batch_docs, in_flight: 1 }
    }

    fn text(batch: &Batch) -> String {
        batch.body().iter().map(|b| String::from_utf8_lossy(b).into_owned()).collect()
    }

    fn drain(pending: &mut Pending, plan: &Plan) -> Vec<String> {
        let mut all = Vec::new();
        while !pending.is_empty() {
            all.push(text(&pending.take(NOW, plan)));
        }
        all
    }

    #[test]
    fn batches_end_before_their_bounds() {
        for keyed in [false, true] {
            let key = |k: u64| if keyed { k } else { 0 };
            let make =
                || segment(&[("aa", key(1)), ("bb", key(2)), ("cccccccc", key(3)), ("d", key(4)), ("e", key(5))]);
            let check = |plan: Plan, expected: &[&str]| {
                let mut pending = Pending::new(true);
                pending.push(NOW, make());
                assert_eq!(drain(&mut pending, &plan), expected, "{plan:?}");
                assert_eq!((pending.bytes, pending.items), (0, 0));
            };
            check(plan(4, 100), &["aabb", "cccccccc", "de"]);
            check(plan(5, 100), &["aabb", "cccccccc", "de"]);
            check(plan(100, 2), &["aabb", "ccccccccd", "e"]);
            check(plan(1, 100), &["aa", "bb", "cccccccc", "d", "e"]);
        }
    }

    #[test]
    fn equal_ids_wait_for_each_other() {
        let mut pending = Pending::new(true);
        let all = segment(&[("a1", 1), ("b1", 2), ("a2", 1), ("a3", 1), ("c1", 3)]);
        pending.push(NOW, all);
        let first = pending.take(NOW, &plan(100, 100));
        assert_eq!(text(&first), "a1b1c1");
        assert_eq!(pending.held(), 2);
        assert!(pending.is_empty());
        first.segments.iter().for_each(|s| pending.settled(NOW, s));
        let second = pending.take(NOW, &plan(100, 100));
        assert_eq!(text(&second), "a2");
        second.segments.iter().for_each(|s| pending.settled(NOW, s));
        assert_eq!(text(&pending.take(NOW, &plan(100, 100))), "a3");
        assert_eq!((pending.bytes, pending.items, pending.held()), (0, 0, 0));
    }

    #[test]
    fn halves_keep_all_items_in_order() {
        let mut batch = Batch::default();
        batch.push(segment(&[("a", 0), ("b", 0), ("c", 0)]));
        batch.push(segment(&[("d", 0), ("e", 0)]));
        let (a, b) = batch.halves();
        assert_eq!((text(&a).as_str(), text(&b).as_str()), ("abc", "de"));
        let (a, b) = a.halves();
        assert_eq!((text(&a).as_str(), text(&b).as_str()), ("ab", "c"));
        let (a, b) = b.halves();
        assert_eq!((a.items, b.items), (1, 0));
    }
}
