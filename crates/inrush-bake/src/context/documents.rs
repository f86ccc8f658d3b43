//! The documents of a bake.

use std::sync::Arc;

use inrush_load::observe::ObserverSet;
use inrush_sources::Reopen;

/// Makes the observers of a load.
pub(crate) type LoadObservers = Arc<dyn Fn() -> ObserverSet + Send + Sync>;

/// Where the documents of a bake come from, and what sees them loaded.
#[derive(Clone)]
pub(crate) struct Documents {
    pub(crate) open: Reopen,
    pub(crate) observers: LoadObservers,
}
