//! Decoders that may panic where a file is damaged.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a decoder; a panic becomes an error. What was being decoded must not be used after an error.
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
