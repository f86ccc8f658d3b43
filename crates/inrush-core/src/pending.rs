//! Items that wait to be sent, and how they are grouped into batches.

use std::collections::VecDeque;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::batch::{Batch, Segment};
use crate::body_format::Encoding;
use crate::coalesce::{Coalesce, End, Windows};
use crate::items::NO_SHARD;
use crate::order::{AlreadyHashed, IdsInFlight};
use crate::time::Time;
use crate::tune::Plan;

/// Items in source order with one destination.
#[derive(Debug, Default)]
struct Group {
    blocks: VecDeque<Segment>,
    bytes: u64,
    items: u64,
}

/// An id that requests without an answer may still write.
#[derive(Clone, Copy, Debug, Default)]
struct OpenId {
    /// The number of these requests.
    requests: u32,
    /// The item of the id has ended: only the requests hold back later ones.
    ended: bool,
}

/// Memory of an open id, bytes: its entry in the map and its key in the request.
const OPEN_ID_BYTES: u64 = 48;

/// Items that were read and not sent, in source order, and items held back because of their id.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The first group holds items whose shard is unknown or irrelevant; usually it is the only
    /// one. The others are one for each shard.
    groups: Vec<Group>,
    /// Items whose id has become free. They are sent first.
    released: VecDeque<Segment>,
    /// Items without a SMILE form, from blocks that are sent as SMILE. Their ids are in flight.
    set_apart: VecDeque<Segment>,
    /// A batch of other items was taken since an item was set apart. The items set apart are next,
    /// so that they do not hold ids and memory for long.
    set_apart_next: bool,
    ids: IdsInFlight<Segment>,
    /// Items with an id that wait for later ones. They keep the order by id then, not `ids`.
    windows: Option<Windows>,
    /// Ids that a request without an answer may still write.
    open: HashMap<u64, OpenId, BuildHasherDefault<AlreadyHashed>>,
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
        Pending {
            groups: vec![Group::default()],
            released: VecDeque::new(),
            set_apart: VecDeque::new(),
            set_apart_next: false,
            ids: IdsInFlight::default(),
            windows: None,
            open: HashMap::default(),
            bytes: 0,
            items: 0,
            oldest: None,
            keep_order,
            repeats: 0,
        }
    }

    /// Of several items with one id that wait, only the last is sent.
    pub(crate) fn coalescing(option: Coalesce) -> Self {
        Pending { windows: Some(Windows::new(option)), ..Pending::new(false) }
    }

    /// Adds adjacent items of a block.
    pub(crate) fn push(&mut self, now: Time, segment: Segment) {
        if self.windows.is_none() || segment.block.items.keys.is_empty() {
            return self.enqueue(now, segment);
        }
        for item in 0..segment.len() {
            let one = segment.part(item, item + 1);
            match (&mut self.windows, segment.block.items.key(one.first)) {
                (Some(windows), Some(key)) => windows.push(now, key, one),
                (_, _) => self.enqueue(now, one),
            }
        }
    }

    /// Adds adjacent items of a block that may be sent.
    fn enqueue(&mut self, now: Time, segment: Segment) {
        if segment.first == segment.end {
            return;
        }
        self.bytes += segment.bytes();
        self.items += u64::from(segment.len());
        self.oldest.get_or_insert(now);
        if segment.sent_before() {
            self.repeats += segment.without_id();
        }
        let shards = &segment.block.items.shards;
        if shards.is_empty() {
            return self.queue(0, segment);
        }
        let mut first = segment.first;
        for run in shards[segment.first as usize..segment.end as usize].chunk_by(|a, b| a == b) {
            let part = segment.part(first - segment.first, first - segment.first + run.len() as u32);
            first = part.end;
            self.queue(if run[0] == NO_SHARD { 0 } else { usize::from(run[0]) + 1 }, part);
        }
    }

    /// Adds items to a group. Items without a SMILE form become segments of their own.
    fn queue(&mut self, group: usize, segment: Segment) {
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Group::default);
        }
        let group = &mut self.groups[group];
        group.bytes += segment.bytes();
        group.items += u64::from(segment.len());
        let json_only = match &segment.block.items.smile {
            Some(smile) if !smile.json_only.is_empty() => &smile.json_only[..],
            _ => return group.blocks.push_back(segment),
        };
        let within = json_only.partition_point(|&item| item < segment.first)
            ..json_only.partition_point(|&item| item < segment.end);
        let mut next = segment.first;
        for &item in &json_only[within] {
            group.blocks.extend((next < item).then(|| segment.part(next - segment.first, item - segment.first)));
            group.blocks.push_back(segment.part(item - segment.first, item + 1 - segment.first));
            next = item + 1;
        }
        group
            .blocks
            .extend((next < segment.end).then(|| segment.part(next - segment.first, segment.end - segment.first)));
    }

    /// Items without an id that an earlier run may have sent. Each may exist twice once all are
    /// sent.
    pub(crate) fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Ends the windows of ids that are due, and the oldest ones until `bytes_wanted` bytes can be
    /// sent.
    pub(crate) fn end_windows(&mut self, now: Time, bytes_wanted: u64) {
        if let Some(windows) = &mut self.windows {
            windows.end(now, bytes_wanted.saturating_sub(self.bytes));
        }
    }

    /// When the oldest window of an id ends, if no event occurs.
    pub(crate) fn next_window_end(&self) -> Option<Time> {
        self.windows.as_ref().and_then(Windows::next_end)
    }

    /// Memory of windows besides the items, bytes.
    pub(crate) fn windows_overhead(&self) -> u64 {
        self.windows.as_ref().map_or(0, Windows::overhead)
    }

    /// Whether nothing waits, not even for the end of a window.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_empty() && self.held() == 0 && !self.windows.as_ref().is_some_and(Windows::has_open)
    }

    /// Whether nothing can be sent, not even a partial batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.blocks.is_empty())
            && self.released.is_empty()
            && self.set_apart.is_empty()
            && self.windows.as_ref().is_none_or(|windows| windows.ready() == 0)
    }

    /// Whether there is enough for a full batch.
    pub(crate) fn is_full(&self, plan: &Plan) -> bool {
        match &self.groups[..] {
            [_] => self.has_plenty(plan),
            // The groups of items whose window has ended are not known before they are taken.
            groups => {
                self.has_full_group(plan) || self.ready_bytes() >= plan.batch_bytes.saturating_mul(groups.len() as u64)
            }
        }
    }

    fn has_full_group(&self, plan: &Plan) -> bool {
        let enough = |bytes, items| bytes >= plan.batch_bytes || items >= u64::from(plan.batch_docs);
        match &self.groups[..] {
            [_] => enough(self.bytes, self.items),
            groups => groups.iter().any(|group| enough(group.bytes, group.items)),
        }
    }

    /// Whether there is as much as a full batch holds, over all groups.
    pub(crate) fn has_plenty(&self, plan: &Plan) -> bool {
        let items = self.items + self.windows.as_ref().map_or(0, Windows::ready);
        self.ready_bytes() >= plan.batch_bytes || items >= u64::from(plan.batch_docs)
    }

    /// Bytes of the items that may be sent.
    fn ready_bytes(&self) -> u64 {
        self.bytes + self.windows.as_ref().map_or(0, Windows::ready_bytes)
    }

    /// The number of batches that fill in parallel.
    pub(crate) fn groups(&self) -> u64 {
        self.groups.len() as u64
    }

    /// The time from which the oldest item waits.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let ready = self.windows.as_ref().and_then(Windows::ready_since);
        self.oldest.into_iter().chain(ready).min()
    }

    /// The number of documents held back because their id is in flight.
    pub(crate) fn held(&self) -> usize {
        self.ids.held() + self.windows.as_ref().map_or(0, Windows::held)
    }

    /// Takes the items of one request: as many as fit into `plan.batch_bytes`, at least one. The
    /// batch is empty if all waiting items are held back. Where `encoding` is SMILE, items without
    /// a SMILE form go in batches of their own.
    pub(crate) fn take(&mut self, now: Time, plan: &Plan, encoding: Encoding) -> Batch {
        while !self.has_full_group(plan)
            && let Some(item) = self.windows.as_mut().and_then(|windows| windows.next(now))
        {
            self.enqueue(now, item);
        }
        let mut batch = Batch::default();
        if !std::mem::take(&mut self.set_apart_next) {
            self.take_others(plan, encoding, &mut batch);
            self.set_apart_next = !batch.is_empty() && !self.set_apart.is_empty();
        }
        if batch.is_empty() {
            self.take_set_apart(plan, &mut batch);
        }
        if batch.sent_before() {
            self.repeats -= batch.without_id();
        }
        // The remaining items came later. Their own times are not stored, so they wait at most one
        // more linger.
        self.oldest = (self.items > 0).then_some(now);
        batch
    }

    fn take_others(&mut self, plan: &Plan, encoding: Encoding, batch: &mut Batch) {
        while let Some(segment) = self.released.pop_front() {
            if encoding == Encoding::Smile && segment.is_json_only() {
                self.set_apart.push_back(segment);
                continue;
            }
            if !fits(batch, segment.bytes(), plan) || !batch.is_alike(&segment, encoding) {
                self.released.push_front(segment);
                break;
            }
            self.subtract(&segment);
            batch.push(segment);
        }
        // The fullest of several groups.
        let Some(at) = (0..self.groups.len()).max_by_key(|&at| self.groups[at].bytes) else { return };
        let alone = batch.is_empty();
        while self.released.is_empty()
            && let Some(segment) = self.groups[at].blocks.pop_front()
        {
            if encoding == Encoding::Smile && segment.is_json_only() {
                self.leave_group(at, &segment);
                self.set_apart_items(segment);
                continue;
            }
            if !batch.is_alike(&segment, encoding) {
                self.groups[at].blocks.push_front(segment);
                break;
            }
            let end = self.take_from(&segment, plan, batch);
            self.leave_group(at, &segment.part(0, end - segment.first));
            if end < segment.end {
                self.groups[at].blocks.push_front(Segment { first: end, ..segment });
                break;
            }
        }
        batch.shard = at.checked_sub(1).filter(|_| alone).and_then(|shard| u16::try_from(shard).ok());
    }

    fn leave_group(&mut self, at: usize, segment: &Segment) {
        self.groups[at].bytes -= segment.bytes();
        self.groups[at].items -= u64::from(segment.len());
    }

    /// Takes items that were set apart.
    fn take_set_apart(&mut self, plan: &Plan, batch: &mut Batch) {
        batch.set_apart = true;
        while let Some(segment) = self.set_apart.pop_front() {
            if !fits(batch, segment.bytes(), plan) || !batch.is_alike(&segment, Encoding::Json) {
                self.set_apart.push_front(segment);
                break;
            }
            self.subtract(&segment);
            batch.push(segment);
        }
    }

    /// Sets apart items without a SMILE form. They keep their turn among documents of the same id:
    /// later ones are held back.
    fn set_apart_items(&mut self, segment: Segment) {
        if !self.keep_order || segment.block.items.keys.is_empty() {
            return self.set_apart.push_back(segment);
        }
        for item in 0..segment.len() {
            let one = segment.part(item, item + 1);
            match segment.block.items.key(one.first) {
                Some(key) if !self.ids.enter(key, || one.clone()) => self.subtract(&one),
                Some(_) | None => self.set_apart.push_back(one),
            }
        }
    }

    /// Moves items from the front of `segment` into the batch or to the held items. Returns the
    /// first item that remains.
    fn take_from(&mut self, segment: &Segment, plan: &Plan, batch: &mut Batch) -> u32 {
        let items = &segment.block.items;
        let base = u64::from(items.start(segment.first));
        if !self.keep_order || items.keys.is_empty() {
            // Ends ascend, so bisection finds the last item that fits.
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

    /// Whether documents with the same id take effect in source order.
    pub(crate) fn keeps_order(&self) -> bool {
        self.keep_order || self.windows.is_some()
    }

    /// A request that may be carried out at any later time has these ids. Items with one of them
    /// are held back until [`Pending::close`].
    pub(crate) fn open(&mut self, keys: &[u64]) {
        for key in keys {
            self.open.entry(*key).or_default().requests += 1;
        }
    }

    /// The request is over. Items that waited for it are released.
    pub(crate) fn close(&mut self, now: Time, keys: &[u64]) {
        for &key in keys {
            let Some(open) = self.open.get_mut(&key) else { continue };
            open.requests -= 1;
            if open.requests > 0 {
                continue;
            }
            let ended = open.ended;
            self.open.remove(&key);
            if ended {
                self.leave(now, key, End::Done);
            }
        }
    }

    /// Memory of the open ids, bytes.
    pub(crate) fn open_bytes(&self) -> u64 {
        self.open.len() as u64 * OPEN_ID_BYTES
    }

    /// The items have ended. Items that waited for their ids are released, unless a request without
    /// an answer may still write the id. Returns the items that these ones replaced and that end
    /// with them.
    pub(crate) fn settled(&mut self, now: Time, segment: &Segment, end: End) -> Vec<Segment> {
        if segment.block.items.keys.is_empty() {
            return Vec::new();
        }
        if !self.keeps_order() {
            return Vec::new();
        }
        let mut replaced = Vec::new();
        for key in (segment.first..segment.end).filter_map(|item| segment.block.items.key(item)) {
            if let Some(open) = self.open.get_mut(&key) {
                open.ended = true;
                replaced
                    .extend(self.windows.as_mut().map(|windows| windows.settled_open(key, end)).unwrap_or_default());
            } else {
                replaced.extend(self.leave(now, key, end));
            }
        }
        replaced
    }

    /// No item of the id is in flight any more. Releases the next one.
    fn leave(&mut self, now: Time, key: u64, end: End) -> Vec<Segment> {
        if let Some(windows) = &mut self.windows {
            return windows.settled(now, key, end);
        }
        if let Some(next) = self.ids.leave(key) {
            self.bytes += next.bytes();
            self.items += 1;
            self.oldest.get_or_insert(now);
            self.released.push_back(next);
        }
        Vec::new()
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
    use crate::batch::Tracked;
    use crate::block::{Origin, Record};
    use crate::items::ItemBlock;
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
        batch.body(Encoding::Json).iter().map(|b| String::from_utf8_lossy(b).into_owned()).collect()
    }

    fn drain(pending: &mut Pending, plan: &Plan) -> Vec<String> {
        let mut all = Vec::new();
        while !pending.is_empty() {
            all.push(text(&pending.take(NOW, plan, Encoding::Json)));
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
        let first = pending.take(NOW, &plan(100, 100), Encoding::Json);
        assert_eq!(text(&first), "a1b1c1");
        assert_eq!(pending.held(), 2);
        assert!(pending.is_empty());
        first.segments.iter().for_each(|s| drop(pending.settled(NOW, s, End::Done)));
        let second = pending.take(NOW, &plan(100, 100), Encoding::Json);
        assert_eq!(text(&second), "a2");
        second.segments.iter().for_each(|s| drop(pending.settled(NOW, s, End::Done)));
        assert_eq!(text(&pending.take(NOW, &plan(100, 100), Encoding::Json)), "a3");
        assert_eq!((pending.bytes, pending.items, pending.held()), (0, 0, 0));
    }

    #[test]
    fn documents_of_one_shard_leave_together_the_fullest_first() {
        let mut grouped = segment(&[("a1", 1), ("b1", 2), ("c0", 3), ("d1", 4), ("a2", 1), ("e", 5)]);
        Arc::get_mut(&mut grouped.block).unwrap().items.shards = vec![1, 1, 0, 1, 1, NO_SHARD];
        let mut pending = Pending::new(true);
        pending.push(NOW, grouped);
        assert!(!pending.is_full(&plan(9, 100)) && pending.is_full(&plan(8, 100)) && pending.has_plenty(&plan(9, 100)));
        assert_eq!(pending.groups(), 3);
        let first = pending.take(NOW, &plan(100, 100), Encoding::Json);
        assert_eq!((text(&first).as_str(), first.shard, pending.held()), ("a1b1d1", Some(1), 1));
        first.segments.iter().for_each(|s| drop(pending.settled(NOW, s, End::Done)));
        // Items that waited for their id go first, together with the other waiting items.
        let second = pending.take(NOW, &plan(100, 100), Encoding::Json);
        assert_eq!((text(&second).as_str(), second.shard), ("a2c0", None));
        let third = pending.take(NOW, &plan(100, 100), Encoding::Json);
        assert_eq!((text(&third).as_str(), third.shard), ("e", None));
        assert!(pending.is_empty() && pending.groups.iter().all(|group| (group.bytes, group.items) == (0, 0)));
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

    #[test]
    fn the_rows_of_a_batch_follow_its_items() {
        let with_columns = |items: &[(&str, u64)]| {
            let mut segment = segment(items);
            Arc::get_mut(&mut segment.block).unwrap().items.columns = Some(Arc::default());
            segment
        };
        let (a, b, c) = (
            with_columns(&[("a", 1), ("a", 1), ("b", 2)]),
            segment(&[("c", 3), ("d", 4)]),
            with_columns(&[("b", 2), ("e", 5), ("f", 6)]),
        );
        let check = |batch: &Batch, expected: &[(u32, Option<&Segment>, &[u32])]| {
            let rows = batch.rows();
            assert_eq!(rows.len(), expected.len(), "{}", text(batch));
            for (rows, (items, of, records)) in rows.iter().zip(expected) {
                let found = rows.columns.as_ref().map(|(columns, records)| (Arc::as_ptr(columns), &records[..]));
                let of = of.and_then(|segment| segment.block.items.columns.as_ref()).map(Arc::as_ptr);
                assert_eq!((rows.items, found), (*items, of.map(|columns| (columns, *records))), "{}", text(batch));
            }
        };
        let mut pending = Pending::new(true);
        [&a, &b, &c].into_iter().for_each(|segment| pending.push(NOW, segment.clone()));
        let batch = pending.take(NOW, &plan(100, 100), Encoding::Json);
        // Later items of the same ids are held back.
        assert_eq!(text(&batch), "abcdef");
        check(&batch, &[(1, Some(&a), &[0]), (1, Some(&a), &[2]), (2, None, &[]), (2, Some(&c), &[1, 2])]);
        let (first, second) = batch.halves();
        check(&first, &[(1, Some(&a), &[0]), (1, Some(&a), &[2]), (1, None, &[])]);
        check(&second, &[(1, None, &[]), (2, Some(&c), &[1, 2])]);
        let (first, second) = second.halves();
        check(&first, &[(1, None, &[]), (1, Some(&c), &[1])]);
        check(&second, &[(1, Some(&c), &[2])]);
        // Nothing is said of values that are in the body only.
        let mut without = Batch::default();
        without.push(b);
        check(&without, &[]);
    }
}
