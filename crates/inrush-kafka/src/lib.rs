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
//! use inrush_sources::{Registry, Request};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "kafka://broker:9092/orders";
//! let mut options = KafkaOptions::new(KafkaAddress::parse(address)?);
//! options.group = "orders-to-search".to_owned();
//! options.until = Some(Until::Latest);
//! let registry = Registry::default().with(KafkaKind);
//! let source = registry.open(&Request::new([address]).with(options)).await?.source;
//! # Ok(())
//! # }
//! ```

mod address;
mod assignment;
mod client;
mod consumer;
mod gather;
mod kind;
mod member;
mod options;
mod properties;
mod shared;
mod source;

pub use address::{AddressError, KafkaAddress};
pub use kind::KafkaKind;
pub use options::{Ids, KafkaOptions, OnGap, OnNull, Start, Until};
pub use source::KafkaSource;
