//! A repository in an object store.

mod store;
mod upload;

pub(super) use store::{Address, Remote, is_data, remove};
pub(super) use upload::Watcher;
