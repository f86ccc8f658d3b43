//! Which operations replace an earlier one, by their action lines.
//!
//! Hashes of ids find the candidates. The lines are compared because a collision of two hashes
//! would lose a document.

use memchr::memmem;

use crate::batch::Segment;
use crate::items::VERSION_KEY;

/// The action line of an operation that leaves nothing of an earlier one.
struct Line<'a> {
    /// The text before and after the version: index, id, routing value and type of the version.
    address: (&'a [u8], &'a [u8]),
    version: Option<u64>,
    /// Whether the same version replaces the document: `external_gte`.
    takes_same: bool,
}

impl<'a> Line<'a> {
    /// `None` for other actions. An earlier run may have sent the item: then it is sent again, so
    /// that its uncertain outcome is counted.
    fn of(item: &'a Segment) -> Option<Self> {
        if item.sent_before() {
            return None;
        }
        let items = &item.block.items;
        let bytes = &items.body[items.start(item.first) as usize..items.start(item.end) as usize];
        let line = &bytes[..memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())];
        let rest = line.strip_prefix(b"{\"index\":").or_else(|| line.strip_prefix(b"{\"delete\":"))?;
        let Some(at) = memmem::find(rest, VERSION_KEY) else {
            return Some(Line { address: (rest, b""), version: None, takes_same: false });
        };
        let (before, after) = (&rest[..at], &rest[at + VERSION_KEY.len()..]);
        let (number, after) = after.split_at(after.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let version = std::str::from_utf8(number).ok()?.parse().ok()?;
        let takes_same = after.starts_with(b",\"version_type\":\"external_gte\"");
        Some(Line { address: (before, after), version: Some(version), takes_same })
    }
}

/// Whether the operation leaves nothing of an earlier one, so that it may wait for later ones.
pub(super) fn is_whole(item: &Segment) -> bool {
    Line::of(item).is_some()
}

/// Whether the index ends in the same state without `earlier`.
pub(super) fn replaces(later: &Segment, earlier: &Segment) -> bool {
    let (Some(later), Some(earlier)) = (Line::of(later), Line::of(earlier)) else { return false };
    later.address == earlier.address
        && match (later.version, earlier.version) {
            (None, None) => true,
            (Some(version), Some(earlier)) => version > earlier || (later.takes_same && version == earlier),
            (Some(_), None) | (None, Some(_)) => false,
        }
}
