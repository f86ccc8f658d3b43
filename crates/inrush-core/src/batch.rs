//! Items that are sent together.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::body_format::Encoding;
use crate::items::ItemBlock;
use crate::ledger::BlockId;

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

    /// Whether it can be sent as SMILE. A segment that is pending can be so as a whole or not at all.
    pub(crate) fn has_smile(&self) -> bool {
        self.block.items.has_smile(self.first)
    }

    /// Whether SMILE cannot say what its neighbours can be sent as.
    pub(crate) fn is_json_only(&self) -> bool {
        self.block.items.smile.is_some() && !self.has_smile()
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
    /// As JSON.
    pub(crate) bytes: u64,
    /// It is what SMILE could not say of others: no measure of a request.
    pub(crate) set_apart: bool,
    /// The one shard that all items lead to, where they were grouped.
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

    /// Whether all of it can be sent as SMILE.
    pub(crate) fn has_smile(&self) -> bool {
        !self.is_empty() && self.segments.iter().all(Segment::has_smile)
    }

    /// Whether the segment may be added: what may have been sent before and what was not do not share a request, and neither does what
    /// can be sent as SMILE and what cannot, where SMILE is wanted.
    pub(crate) fn is_alike(&self, segment: &Segment, encoding: Encoding) -> bool {
        let Some(first) = self.segments.first() else { return true };
        first.sent_before() == segment.sent_before()
            && (encoding == Encoding::Json || first.has_smile() == segment.has_smile())
    }

    /// Whether any of its items may have an id.
    pub(crate) fn has_ids(&self) -> bool {
        self.segments.iter().any(|segment| !segment.block.items.keys.is_empty())
    }

    /// How many of its items have no id.
    pub(crate) fn without_id(&self) -> u64 {
        self.segments.iter().map(Segment::without_id).sum()
    }

    /// The request's body as few slices. Nothing is encoded again; only short slices are copied together.
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

    /// Two halves, the first with the larger one of an odd number of items.
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
