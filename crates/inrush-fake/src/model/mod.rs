//! The state of the fake cluster: indices, documents, versions. One operation goes in, one item
//! comes out.

mod cluster;
mod crash;
mod create;
mod document;
mod index;
mod mapping;
mod op;
mod pipeline;
mod resolve;
mod settings;
mod write;

pub use self::cluster::{Cluster, DataStream, PointInTime};
pub use self::document::Document;
pub use self::index::Index;
pub(crate) use self::mapping::Mapping;
pub(crate) use self::op::{Action, Op, VersionType};
pub(crate) use self::pipeline::Pipeline;
pub use self::settings::Settings;
pub(crate) use self::settings::{flatten, nest};
pub(crate) use self::write::Reached;
