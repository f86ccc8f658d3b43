//! All endpoints but `_bulk`: one synchronous function from a request to a reply, over the state of
//! the cluster.

mod aggregate;
mod aliases;
mod cluster;
mod data_streams;
mod documents;
mod expand;
mod health;
mod indices;
mod nodes;
mod point_in_time;
mod query;
mod request;
mod route;
mod scroll;
mod search;
mod settings;
mod shards;
mod tasks;
mod templates;

pub(crate) use self::request::{ApiReply, ApiRequest, Environment, Task};
pub(crate) use self::route::handle;
