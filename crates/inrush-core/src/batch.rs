//! The items of one request.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::body_format::Encoding;
use crate::columns::RowSelection;
use crate::items::ItemBlock;
use crate::ledger::BlockId;

/// Shorter slices, on average, are copied into one. A socket takes at most 1,024 slices a call, and
/// a call costs more than copying so few bytes.
const SLICE_BYTES_MIN: usize = 4096;

/// A block that the ledger tracks.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) id: BlockId,
    pub(crate) items: ItemBlock,
    /// The number of leading records that an earlier run may have sent.
    pub(crate) sent_before: u32,
}

/// Adjacent items of one block.
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

    /// Whether an earlier run may have sent the items. This holds for all items of a pending
    /// segment or for none.
    pub(crate) fn sent_before(&self) -> bool {
        self.first < self.block.sent_before
    }

    /// Whether the items have a SMILE form. This holds for all items of a pending segment or for
    /// none.
    pub(crate) fn has_smile(&self) -> bool {
        self.block.items.has_smile(self.first)
    }

    /// Whether the items are JSON only in a block with a SMILE form.
    pub(crate) fn is_json_only(&self) -> bool {
        self.block.items.smile.is_some() && !self.has_smile()
    }

    /// The number of items without an id.
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
    /// The size as JSON, bytes.
    pub(crate) bytes: u64,
    /// The items have no SMILE form and were set apart from others. The size of such a request says
    /// nothing about the plan.
    pub(crate) set_apart: bool,
    /// The shard that all items belong to, where items are grouped by shard.
    pub(crate) shard: Option<u16>,
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

    /// Whether all items have a SMILE form.
    pub(crate) fn has_smile(&self) -> bool {
        !self.is_empty() && self.segments.iter().all(Segment::has_smile)
    }

    /// Whether the segment may share a request with this batch. Items that an earlier run may have
    /// sent go apart from others. Where `encoding` is SMILE, so do items without a SMILE form.
    pub(crate) fn is_alike(&self, segment: &Segment, encoding: Encoding) -> bool {
        let Some(first) = self.segments.first() else { return true };
        first.sent_before() == segment.sent_before()
            && (encoding == Encoding::Json || first.has_smile() == segment.has_smile())
    }

    /// Whether an item may have an id.
    pub(crate) fn has_ids(&self) -> bool {
        self.segments.iter().any(|segment| !segment.block.items.keys.is_empty())
    }

    /// The number of items without an id.
    pub(crate) fn without_id(&self) -> u64 {
        self.segments.iter().map(Segment::without_id).sum()
    }

    /// The request body as a list of slices. Nothing is encoded again; only short slices are
    /// copied.
    pub(crate) fn body(&self, encoding: Encoding) -> Vec<Bytes> {
        let slices = self.segments.iter().map(|segment| {
            let items = &segment.block.items;
            match encoding {
                Encoding::Json => items.slice(segment.first, segment.end),
                Encoding::Smile => items.smile_slice(segment.first, segment.end).unwrap_or_default(),
            }
        });
        if self.segments.len() == 1 || self.bytes as usize / self.segments.len().max(1) >= SLICE_BYTES_MIN {
            return slices.collect();
        }
        let mut copy = BytesMut::with_capacity(self.bytes as usize);
        slices.for_each(|slice| copy.extend_from_slice(&slice));
        vec![copy.freeze()]
    }

    /// Where the values of the items are; nothing if they are all in the body only.
    pub(crate) fn rows(&self) -> Arc<[RowSelection]> {
        if self.segments.iter().all(|segment| segment.block.items.columns.is_none()) {
            return Arc::new([]);
        }
        self.segments.iter().map(|segment| segment.block.items.rows(segment.first, segment.end)).collect()
    }

    /// Splits the batch in half. The first half gets the larger part of an odd number of items.
    pub(crate) fn halves(&self) -> (Batch, Batch) {
        let half = || Batch { set_apart: self.set_apart, shard: self.shard, ..Batch::default() };
        let (mut a, mut b) = (half(), half());
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
