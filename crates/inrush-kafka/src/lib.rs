//! Kafka topics as a source of inrush.
//!
//! [`KafkaSource`] is a member of a consumer group. A thread of its own polls librdkafka, gathers
//! records to blocks, commits offsets once everything before them is settled, and lets partitions
//! go when the group wants them back:
//!
//! ```text
//! brokers ── client ── consumer ── shared ── source ── engine
//!                          ^         │
//!                          └ commits ┴──── feedback ─────┘
//! ```
//!
//! ```no_run
//! use inrush_kafka::{KafkaAddress, KafkaKind, KafkaOptions, Until};
//! use inrush_sources::{Request, SourceKind};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "kafka://broker:9092/orders";
//! let mut options = KafkaOptions::new(KafkaAddress::parse(address)?);
//! options.group = "orders-to-search".to_owned();
//! options.until = Some(Until::Latest);
//! let source = KafkaKind.open(&Request::new([address]).with(options)).await?.source;
//! # Ok(())
//! # }
//! ```

mod address;
#[cfg(feature = "client")]
mod assignment;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod consumer;
#[cfg(feature = "client")]
mod dead_letters;
#[cfg(feature = "client")]
mod gather;
mod kind;
#[cfg(feature = "client")]
mod lag;
#[cfg(feature = "client")]
mod member;
mod options;
mod parse;
#[cfg(feature = "client")]
mod properties;
#[cfg(feature = "client")]
mod shared;
#[cfg(feature = "client")]
mod source;
mod values;
#[cfg(feature = "client")]
mod written;

pub use address::{AddressError, KafkaAddress};
pub use kind::KafkaKind;
#[cfg(feature = "client")]
pub use lag::{PartitionLag, lag};
pub use options::{Ids, KafkaOptions, OnGap, OnNull, PartitionOffset, SaslMechanism, Start, Until, VersionFrom};
#[cfg(feature = "client")]
pub use source::KafkaSource;
pub use values::{Metadata, SchemaIds, SchemaRegistry, Unwrap, Values, With};
