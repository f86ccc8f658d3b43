//! Catches the panics of decoders that may panic on damaged files.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a decoder and turns a panic into an error. After an error, the decoder's state must not be
/// used again.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("the contents contradict each other ({})", said.unwrap_or_default()))
    })
}

pub(crate) fn text(error: impl Display) -> String {
    error.to_string()
}
