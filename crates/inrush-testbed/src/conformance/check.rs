//! Checks of replies and items.

use serde_json::Value;

use crate::client::Reply;

/// The result of a case; the error says how the server differs.
pub type Check = Result<(), String>;

/// Compares a value.
pub(super) fn equal(what: &str, found: &Value, expected: Value) -> Check {
    if *found == expected { Ok(()) } else { Err(format!("{what}: expected {expected}, found {found}")) }
}

/// Checks a condition; `seen` is shown if it does not hold.
pub(super) fn holds(what: &str, condition: bool, seen: impl std::fmt::Display) -> Check {
    if condition { Ok(()) } else { Err(format!("{what}: {seen}")) }
}

/// Checks the status of a reply.
pub(super) fn expect_status(reply: &Reply, status: u16) -> Check {
    if reply.status == status {
        Ok(())
    } else {
        Err(format!("expected {status}, got {}: {}", reply.status, reply.json()))
    }
}

/// Checks that a whole request is refused with 400, an error type, and a reason with this text.
pub(super) fn refused(reply: &Reply, kind: &str, reason: &str) -> Check {
    expect_status(reply, 400)?;
    let error = reply.json()["error"].clone();
    holds("error type", error["type"] == kind, &error)?;
    holds("reason", error["reason"].as_str().is_some_and(|text| text.contains(reason)), &error)
}

/// A field of each item.
pub(super) fn field<'a>(items: &'a [Value], name: &str) -> Vec<&'a Value> {
    items.iter().map(|item| &item[name]).collect()
}

/// Checks the statuses of items.
pub(super) fn statuses(items: &[Value], expected: &[u64]) -> Check {
    let found: Vec<u64> = items.iter().filter_map(|item| item["status"].as_u64()).collect();
    if found == expected { Ok(()) } else { Err(format!("expected statuses {expected:?}, found {items:?}")) }
}

/// The error type of each item; empty for a success.
pub(super) fn error_types(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["error"]["type"].as_str().unwrap_or_default()).collect()
}
