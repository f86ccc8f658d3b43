//! The guard against the fake cluster, in paused time: hours pass at once.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod hours;
