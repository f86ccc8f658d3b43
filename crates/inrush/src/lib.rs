//! The engine of `inrush`.

pub mod cluster;
pub mod config;
pub mod source;

pub mod transport;
