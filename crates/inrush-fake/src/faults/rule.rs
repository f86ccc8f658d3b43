//! One rule of a script.

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use crate::error::ServerError;

/// A fault and the conditions under which it occurs. A rule without conditions always applies; with
/// several, all must hold.
///
/// A rule of an item fault looks at the items of bulk requests. A rule of another fault looks at
/// bulk requests, or, with [`Rule::path`], at all requests with that path.
///
/// [`first`](Rule::first), [`after`](Rule::after), [`every_nth`](Rule::every_nth) and
/// [`probability`](Rule::probability) count the items or requests for which the other conditions
/// hold.
///
/// ```
/// use inrush_fake::{Fault, Rule};
///
/// // The third and the fourth bulk request to node 1 are reset.
/// let rule = Rule::new(Fault::ResetBeforeApplying).node(1).after(2).first(2);
/// ```
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub(super) fault: Fault,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) probability: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) every_nth: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times_per_id: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) containing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min_items: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min_body_bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<(u16, String, String)>,
}

impl Rule {
    /// A rule that always applies.
    pub fn new(fault: Fault) -> Self {
        Rule {
            fault,
            probability: None,
            every_nth: None,
            first: None,
            after: None,
            times_per_id: None,
            ids: Vec::new(),
            containing: None,
            index: None,
            node: None,
            min_items: None,
            min_body_bytes: None,
            path: None,
            method: None,
            delay_ms: None,
            retry_after_s: None,
            error: None,
        }
    }

    /// Applies to a share of the items or requests, from 0 to 1. The seed of the script decides
    /// which ones.
    #[must_use]
    pub fn probability(mut self, share: f64) -> Self {
        self.probability = Some(share);
        self
    }

    /// Applies to the n-th, the 2n-th … item or request. 0 is taken for 1.
    #[must_use]
    pub fn every_nth(mut self, n: u64) -> Self {
        self.every_nth = Some(n);
        self
    }

    /// Applies to the first `n` items or requests; counted after those of [`Rule::after`].
    #[must_use]
    pub fn first(mut self, n: u64) -> Self {
        self.first = Some(n);
        self
    }

    /// Skips `n` items or requests, and counts from there.
    #[must_use]
    pub fn after(mut self, n: u64) -> Self {
        self.after = Some(n);
        self
    }

    /// Applies `n` times to each id, for item faults. An item without an id counts by its source.
    #[must_use]
    pub fn times_per_id(mut self, n: u64) -> Self {
        self.times_per_id = Some(n);
        self
    }

    /// Applies to items with one of these ids, or to requests with such an item.
    #[must_use]
    pub fn ids<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Applies to items whose document contains this text, or to requests with such an item.
    #[must_use]
    pub fn containing(mut self, text: impl Into<String>) -> Self {
        self.containing = Some(text.into());
        self
    }

    /// Applies to items for this index, as the request names it, or to requests with such an item.
    #[must_use]
    pub fn index(mut self, index: impl Into<String>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// Applies to requests to this node, counted from 0.
    #[must_use]
    pub fn node(mut self, node: usize) -> Self {
        self.node = Some(node);
        self
    }

    /// Applies to requests with at least this number of items.
    #[must_use]
    pub fn min_items(mut self, items: usize) -> Self {
        self.min_items = Some(items);
        self
    }

    /// Applies to bodies of at least this size, in bytes on the wire.
    #[must_use]
    pub fn min_body_bytes(mut self, bytes: usize) -> Self {
        self.min_body_bytes = Some(bytes);
        self
    }

    /// Applies to requests whose path contains this text, without the query. For faults other than
    /// item faults. Default: the path ends with `/_bulk`.
    #[must_use]
    pub fn path(mut self, text: impl Into<String>) -> Self {
        self.path = Some(text.into());
        self
    }

    /// Applies to requests with this method, such as `PUT`. For faults other than item faults.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// The delay of [`Fault::Slow`], in milliseconds. Default 0.
    #[must_use]
    pub fn delay_ms(mut self, delay: u64) -> Self {
        self.delay_ms = Some(delay);
        self
    }

    /// The header `Retry-After` of a refused request, in seconds. Default: no header.
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The error of [`Fault::ItemRefused`] and [`Fault::RequestRefused`]: HTTP status, type and
    /// reason. Default: 500 `exception`.
    #[must_use]
    pub fn error(mut self, status: u16, kind: impl Into<String>, reason: impl Into<String>) -> Self {
        self.error = Some((status, kind.into(), reason.into()));
        self
    }

    /// The fault.
    pub(crate) fn fault(&self) -> Fault {
        self.fault
    }

    /// The delay of [`Fault::Slow`], in milliseconds.
    pub(crate) fn delay(&self) -> u64 {
        self.delay_ms.unwrap_or(0)
    }

    /// The error of the rule.
    pub(crate) fn refusal(&self) -> ServerError {
        match &self.error {
            Some((status, kind, reason)) => ServerError::new(*status, kind, reason),
            None => ServerError::new(500, "exception", "refused by the fault script"),
        }
    }

    /// The seconds of `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.retry_after_s
    }
}
