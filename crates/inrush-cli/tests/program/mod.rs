//! The binary, as tests with servers start it.
// Each executable uses a part of it.
#![allow(dead_code)]

use std::process::Command;

use inrush_testbed::users;

/// The binary, run by the user of the tests, who may not more than any other user.
pub fn inrush() -> Command {
    users::program(env!("CARGO_BIN_EXE_inrush"), None, None).unwrap()
}

/// The binary, run by this user and with this file mode mask. Only where tests may start programs
/// as other users: `users::may_change_for`.
pub fn inrush_as(user: &str, umask: u32) -> Command {
    users::program(env!("CARGO_BIN_EXE_inrush"), Some(user), Some(umask)).unwrap()
}
