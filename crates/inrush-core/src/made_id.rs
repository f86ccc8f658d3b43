//! Ids that a cluster makes for documents without one. They contain the time of the coordinating
//! node's clock, to about a minute as they are read here.
//!
//! Both products make 15 bytes (`TimeBasedUUIDGenerator`), in base64 for URLs: bytes 2 to 5 are the
//! milliseconds since 1970 without the two low bytes, the lowest first. Newer versions of
//! Elasticsearch make others for some indices (`TimeBasedKOrderedUUIDGenerator`): bytes 0 to 3, the
//! highest first, and four more bytes where the document's routing is part of the id. Ids of time
//! series are made of the document, so they are not among them.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The granularity of the times, milliseconds.
const STEP_MS: u64 = 1 << 16;

/// 2010 to 2100, milliseconds since 1970.
const EVER: RangeInclusive<u64> = 1_262_304_000_000..=4_102_444_800_000;

/// Whether the id has the form of one that a cluster made at a time in this range, in milliseconds
/// since 1970.
pub fn is_made_in(id: &str, range: RangeInclusive<u64>) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(id) else { return false };
    let time = |bytes: [u8; 4]| u64::from(u32::from_be_bytes(bytes)) * STEP_MS;
    let may_be = |from: u64| from <= *range.end() && from + STEP_MS > *range.start();
    match bytes[..] {
        [a, b, c, d, e, f, ..] if bytes.len() == 15 => may_be(time([f, e, d, c])) || may_be(time([a, b, c, d])),
        [a, b, c, d, ..] if bytes.len() == 19 => may_be(time([a, b, c, d])),
        _ => false,
    }
}

/// Whether the id has the form of one that a cluster made at some time.
pub fn is_made(id: &str) -> bool {
    is_made_in(id, EVER)
}

/// The id in the reason of a conflict (409): `[ID]: version conflict, …`; Elasticsearch has the
/// parts of a time series behind it.
pub fn in_conflict(reason: &str) -> Option<&str> {
    let (before, _) = reason.split_once("]: version conflict")?;
    let inside = before.strip_prefix('[')?;
    Some(inside.split_once("][").map_or(inside, |(id, _)| id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_products_contain_their_time() {
        // Made by OpenSearch 3.6 on 28 November 2026, about 22:00 UTC.
        let bytes = |time: u64| {
            let t = time.to_be_bytes();
            let plain = [9, 8, t[5], t[4], t[3], t[2], 1, 2, 3, 4, 5, 6, t[6], 7, t[7]];
            let ordered = [t[2], t[3], t[4], t[5], 1, 2, 3, 4, 5, 6, 9, t[6], 8, t[7], 7];
            (plain, ordered)
        };
        let time = 1_795_903_200_123;
        let (plain, ordered) = bytes(time);
        let mut with_routing = ordered.to_vec();
        with_routing.extend([1, 2, 3, 4]);
        for id in [URL_SAFE_NO_PAD.encode(plain), URL_SAFE_NO_PAD.encode(ordered), URL_SAFE_NO_PAD.encode(with_routing)]
        {
            assert!(is_made_in(&id, time - 10..=time + 10), "{id}");
            assert!(!is_made_in(&id, time + 2 * STEP_MS..=time + 1_000_000), "{id}");
            assert!(!is_made_in(&id, time - 1_000_000..=time - 2 * STEP_MS), "{id}");
            assert!(is_made(&id), "{id}");
        }
    }

    #[test]
    fn ids_of_users_are_not_made() {
        // A number, a UUID, a fingerprint of a pipeline in base64, and the id of a time series.
        let fingerprint = base64::engine::general_purpose::STANDARD.encode([7; 16]);
        let series = URL_SAFE_NO_PAD.encode([1; 20]);
        for id in ["7", "", "9b2c6a64-0c1b-4a0e-9d8e-2c1f0f6f9a31", &fingerprint, &series, "order-2026-11-28-0001"] {
            assert!(!is_made(id), "{id}");
        }
    }

    #[test]
    fn the_id_of_a_conflict_is_in_its_reason() {
        let known = [
            ("[k1]: version conflict, document already exists (current version [1])", "k1"),
            ("[a]b]: version conflict, document already exists (current version [1])", "a]b"),
            ("[k1][host=a@2026-01-01T00:00:00Z]: version conflict, document already exists", "k1"),
            ("[k]: version conflict, current version [5] is higher or equal to the one provided [5]", "k"),
        ];
        for (reason, id) in known {
            assert_eq!(in_conflict(reason), Some(id));
        }
        assert_eq!(in_conflict("document already exists"), None);
    }
}
