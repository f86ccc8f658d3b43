//! The engine of `inrush`.

pub mod config;
pub mod source;

pub mod transport;
