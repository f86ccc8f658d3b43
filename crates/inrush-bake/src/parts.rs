//! The options of a bake, each where it is used.

use inrush_load::config::LoadConfig;

use crate::config::Delivery;
use crate::engine::Engines;

/// What a bake is to make, and by what.
pub(crate) struct Parts {
    /// The load of the documents.
    pub(crate) load: LoadConfig,
    pub(crate) delivery: Delivery,
    pub(crate) engines: Engines,
    /// Whether a bake that fails leaves what it has built, for a later run.
    pub(crate) stays: bool,
}
