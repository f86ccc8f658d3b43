//! Control over HTTP, for tests in other languages: faults, held requests and the log.

use http::Method;
use serde_json::json;

use super::answer::Answer;
use super::shared::{Shared, lock};
use crate::error::ServerError;
use crate::faults::Faults;

/// The prefix of all paths of control. Their requests are not logged.
pub(super) const PREFIX: &str = "/_fake/";

/// Answers a request of control; `None` for any other request.
pub(super) fn control(shared: &Shared, method: &Method, path: &str, body: &[u8]) -> Option<Answer> {
    let acknowledged = || Answer::Json(200, json!({"acknowledged": true}));
    Some(match (method.as_str(), path) {
        ("POST" | "PUT", "/_fake/faults") => match serde_json::from_slice::<Faults>(body) {
            Ok(faults) => {
                shared.set_faults(faults);
                acknowledged()
            }
            Err(error) => ServerError::illegal_argument(format!("not a script of faults: {error}")).into(),
        },
        ("GET", "/_fake/faults") => Answer::Json(200, json!(lock(&shared.faults).faults())),
        ("GET", "/_fake/held") => Answer::Json(200, json!({"held": *shared.held.borrow()})),
        ("POST", "/_fake/release") => {
            shared.release_held();
            acknowledged()
        }
        ("GET", "/_fake/requests") => Answer::Json(200, json!({"requests": *lock(&shared.log)})),
        ("DELETE", "/_fake/requests") => {
            lock(&shared.log).clear();
            acknowledged()
        }
        _ => return None,
    })
}
