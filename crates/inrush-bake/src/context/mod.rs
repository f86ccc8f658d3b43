//! What all steps of a bake share: its options, its target, its record, its progress, and the time
//! that they may take.

mod documents;
mod loading;
mod no_node;
mod patience;
mod times;
mod work;

pub(crate) use documents::{Documents, LoadObservers};
pub(crate) use loading::{aside, follow};
pub(crate) use no_node::NoNode;
pub(crate) use patience::{Patience, none_begins};
pub(crate) use work::{Context, after};
