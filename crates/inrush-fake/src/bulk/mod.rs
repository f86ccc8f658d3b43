//! `_bulk`: the body is parsed as `BulkRequestParser` of the servers does it, and the reply built.

mod action_line;
mod parse;
mod reply;

pub(crate) use self::action_line::Defaults;
pub(crate) use self::parse::parse;
pub(crate) use self::reply::{in_reply_order, reply};
