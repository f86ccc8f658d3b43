//! Random bytes of a bake, and its refusals.

use sha2::{Digest, Sha256};

use crate::config::BakeError;
use crate::record::{NativeRecord, Saved};

/// An error with this text.
pub(super) fn refuse(why: impl Into<String>) -> BakeError {
    BakeError::Refused(why.into())
}

/// The record of a bake without a builder.
///
/// # Errors
/// It is of a builder.
pub(super) fn native(saved: &Saved) -> Result<&NativeRecord, BakeError> {
    saved.native().ok_or_else(|| refuse("this bake has a builder"))
}

/// Bytes that differ between bakes and shards. `id` is that of the bake.
pub(super) fn random(id: &str, what: &str, shard: usize) -> [u8; 32] {
    Sha256::digest(format!("{id} {what} {shard}")).into()
}
