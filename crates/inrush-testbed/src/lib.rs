//! The test bed of inrush; never published.
//!
//! | module | part |
//! |---|---|
//! | [`conformance`] | cases that a fake cluster and the real servers must both pass |
//! | [`proxy`] | a proxy before a real server: rejected items, broken connections, a slow link |
//! | [`sim`] | a model of cluster and loaders in virtual time, which judges the tuner |
//! | [`operations`] | operations drawn by a seed, and what they leave |
//! | [`judgement`] | what a load has left, compared with that |
//! | [`in_process`] | a fake cluster without sockets, for tests with a paused clock |
//! | [`client`] | the HTTP client of the tests |
//! | [`guardian`] | the end of nodes whose tests were killed |
//! | [`users`] | the users that run the tests, their nodes and programs |
//!
//! The fake cluster itself is the crate `inrush-fake`.

pub mod client;
pub mod conformance;
pub mod guardian;
pub mod in_process;
pub mod judgement;
pub mod operations;
pub mod proxy;
pub mod sim;
pub mod users;

pub use self::proxy::{Proxy, ProxyConfig, ProxyStats};
