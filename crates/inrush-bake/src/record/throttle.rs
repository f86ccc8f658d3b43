//! The record of the target's throttle.

use serde::{Deserialize, Serialize};

/// The changed setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Throttle {
    /// `persistent`, or `transient` if the setting is set there, which takes precedence.
    pub(crate) scope: String,
    /// The former value. `None` if it was not set.
    pub(crate) original: Option<String>,
}
