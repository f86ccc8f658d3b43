//! The state of the fake cluster: indices, documents, versions. One operation goes in, one item
//! comes out.

mod cluster;
mod crash;
mod create;
mod document;
mod index;
mod mapping;
mod modes;
mod op;
mod pipeline;
mod resolve;
mod segments;
pub(crate) mod settings;
mod write;

pub(crate) use self::cluster::{Cluster, PointInTime};
pub use self::document::Document;
pub(crate) use self::index::Index;
pub(crate) use self::mapping::Mapping;
pub(crate) use self::op::{Action, Op, VersionType};
pub(crate) use self::pipeline::Pipeline;
pub(crate) use self::settings::{Settings, flatten, nest};
pub(crate) use self::write::Reached;
