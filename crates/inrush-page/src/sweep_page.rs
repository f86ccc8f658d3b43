//! The result of a sweep as a page.

use serde_json::Value;

use crate::self_contained::{SWEEP, self_contained};

/// One page of a sweep, as `inrush sweep` describes its runs. It loads nothing, and sends nothing.
pub fn sweep_page(sweep: &Value) -> String {
    self_contained(SWEEP, &sweep.to_string())
}
