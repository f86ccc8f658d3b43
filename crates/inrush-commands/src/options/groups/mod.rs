//! The options of a load, by topic.

mod ending;
mod errors;
mod fetch;
mod index_source;
mod kafka;
mod login;
mod reading;
mod resume;
mod shape;
mod sizes;
mod source;
mod target;
mod watch;

pub use ending::EndOptions;
pub use errors::ErrorOptions;
pub use fetch::FetchOptions;
pub use index_source::{IndexSourceOptions, SourceLoginOptions};
pub use kafka::{KafkaGroupOptions, KafkaSourceOptions, KafkaValueOptions};
pub use login::LoginOptions;
pub use reading::ReadingOptions;
pub use resume::ResumeOptions;
pub use shape::ShapeOptions;
pub use sizes::SizeOptions;
pub use source::{DatabaseSourceOptions, QueryOptions, SourceOptions};
pub use target::TargetOptions;
pub use watch::WatchOptions;
