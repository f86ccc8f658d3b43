//! Faults of a request, before it is applied, and of its reply, afterwards.

use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, BAD_GATEWAY, GATEWAY_TIMEOUT};
use super::shared::Shared;
use crate::faults::{Fault, Rule, request_error};

/// The answer of a fault that keeps a request from being applied; `None` for any other fault.
pub(super) fn before(shared: &Shared, rule: &Rule) -> Option<Answer> {
    match rule.fault() {
        Fault::RequestTooLarge => Some(Answer::Text(413, "")),
        Fault::BadGateway => Some(Answer::Text(502, BAD_GATEWAY)),
        Fault::GatewayTimeout => Some(Answer::Text(504, GATEWAY_TIMEOUT)),
        Fault::ResetBeforeApplying => Some(Answer::Reset),
        _ => request_error(&shared.config.flavor, rule).map(|error| match rule.retry_after() {
            Some(seconds) => Answer::Later(error.status, error.to_body(), seconds),
            None => error.into(),
        }),
    }
}

/// The answer to a request that was applied, spoiled by a fault of the reply.
pub(super) async fn after(shared: &Shared, rule: &Rule, status: u16, mut body: Value) -> Answer {
    match rule.fault() {
        Fault::ResetAfterApplying => return Answer::Reset,
        Fault::NoReply => return Answer::Never,
        Fault::SmileReplyGarbled => return Answer::BrokenSmile(status),
        Fault::GatewayTimeoutAfterApplying => return Answer::Text(504, GATEWAY_TIMEOUT),
        Fault::ReplyTruncated => return Answer::Truncated(status, body),
        Fault::ReplyNotJson => return Answer::Text(status, "<html><body>It works!</body></html>"),
        Fault::Slow => tokio::time::sleep(Duration::from_millis(rule.delay())).await,
        Fault::HoldAfterApplying => shared.hold().await,
        Fault::ReplyItemMissing => {
            if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                items.pop();
            }
        }
        Fault::ReplyItemExtra => {
            if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut)
                && let Some(last) = items.last().cloned()
            {
                items.push(last);
            }
        }
        // The other faults act before the request is applied.
        _ => {}
    }
    Answer::Json(status, body)
}
