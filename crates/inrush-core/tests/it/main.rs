//! The core held against other implementations.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "a test reads files")]

#[cfg(feature = "jackson")]
mod jackson;
