//! Faults by script: rules that decide, without a clock and without a random device, what goes wrong and when.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::EsError;
use crate::model::{Op, mix};
use crate::product::Flavor;

/// A script of faults. The default has none.
///
/// In TOML:
///
/// ```toml
/// seed = 7
/// [[rules]]
/// fault = "item_rejected"
/// probability = 0.3
/// [[rules]]
/// fault = "reset_after_applying"
/// every_nth = 100
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Decides every probability: the same seed and the same calls give the same faults.
    pub seed: u64,
    /// Tried in order; the first that applies decides.
    pub rules: Vec<Rule>,
}

/// One rule. All conditions given must hold; a rule without any always applies.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What goes wrong.
    pub fault: Fault,
    /// Applies to this share of the matching items or requests, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Applies to the n-th, 2n-th … matching item or request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_nth: Option<u64>,
    /// Applies to the first n matching items or requests only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Skips so many matching items or requests before it starts to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Item faults: applies this often to each id, then lets it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_per_id: Option<u64>,
    /// Item faults: only these ids. Request faults: only requests that hold one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Only documents (or requests with documents) that contain this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containing: Option<String>,
    /// Only items (or requests with items) for this index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Only requests to this node, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// Only requests with at least so many items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    /// Only bodies of at least so many bytes, as they came over the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_body_bytes: Option<usize>,
    /// Request faults: only paths that contain this text. Without it a rule looks at bulk requests alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `slow`: how long the reply waits, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Refused requests: the seconds of a `Retry-After` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Item 429: a full queue or indexing pressure, in the product's name.
    ItemRejected,
    /// Item 503 `unavailable_shards_exception`.
    ItemUnavailable,
    /// Item 429 `cluster_block_exception`: the disk's flood stage.
    ItemFloodStage,
    /// Item 403 `cluster_block_exception`: a write block.
    ItemWriteBlock,
    /// Item 404 `index_not_found_exception`.
    ItemIndexGone,
    /// Item 400 of the mapper.
    ItemBadRequest,
    /// Item 409 `version_conflict_engine_exception`.
    ItemConflict,
    /// Request 429, nothing applied.
    RequestRejected,
    /// Request 413, nothing applied.
    RequestTooLarge,
    /// Request 400, nothing applied.
    RequestBadRequest,
    /// Request 401.
    RequestUnauthorized,
    /// Request 403.
    RequestForbidden,
    /// Request 502 with an HTML body, as a proxy answers; nothing applied.
    BadGateway,
    /// Request 503, nothing applied.
    Unavailable,
    /// Request 504 with an HTML body; nothing applied.
    GatewayTimeout,
    /// Request 504 with an HTML body, and everything applied.
    GatewayTimeoutAfterApplying,
    /// 429 `circuit_breaking_exception`, durability PERMANENT.
    BreakerPermanent,
    /// 429 `circuit_breaking_exception`, durability TRANSIENT.
    BreakerTransient,
    /// The connection is reset once the head was read.
    ResetBeforeBody,
    /// The connection is reset once the body was read; nothing applied.
    ResetBeforeApplying,
    /// The connection is reset after everything was applied.
    ResetAfterApplying,
    /// Applied, and half of the reply arrives.
    ReplyTruncated,
    /// Applied, and the reply is no JSON.
    ReplyNotJson,
    /// Applied, and the reply has one item less than the request.
    ReplyItemMissing,
    /// Applied, and the reply has one item more than the request.
    ReplyItemExtra,
    /// Applied, answered after `delay_ms`.
    Slow,
    /// Waits before applying until the test releases it; visible in `_tasks` meanwhile.
    HoldBeforeApplying,
    /// Applied at once, answered when the test releases it; visible in `_tasks` meanwhile.
    HoldAfterApplying,
    /// Applied, and never answered; gone from `_tasks`.
    NoReply,
    /// Applied, and a request in SMILE is answered in broken SMILE, whatever it asked for (published of a managed service). Others are answered
    /// as usual.
    SmileReplyGarbled,
}

impl Fault {
    /// Whether the fault befalls one item; the others befall the request.
    pub fn is_item(self) -> bool {
        matches!(
            self,
            Fault::ItemRejected
                | Fault::ItemUnavailable
                | Fault::ItemFloodStage
                | Fault::ItemWriteBlock
                | Fault::ItemIndexGone
                | Fault::ItemBadRequest
                | Fault::ItemConflict
        )
    }
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
            delay_ms: None,
            retry_after_s: None,
        }
    }

    /// Sets [`Rule::probability`].
    #[must_use]
    pub fn probability(mut self, share: f64) -> Self {
        self.probability = Some(share);
        self
    }

    /// Sets [`Rule::every_nth`].
    #[must_use]
    pub fn every_nth(mut self, n: u64) -> Self {
        self.every_nth = Some(n);
        self
    }

    /// Sets [`Rule::first`].
    #[must_use]
    pub fn first(mut self, n: u64) -> Self {
        self.first = Some(n);
        self
    }

    /// Sets [`Rule::after`].
    #[must_use]
    pub fn after(mut self, n: u64) -> Self {
        self.after = Some(n);
        self
    }

    /// Sets [`Rule::times_per_id`].
    #[must_use]
    pub fn times_per_id(mut self, n: u64) -> Self {
        self.times_per_id = Some(n);
        self
    }

    /// Sets [`Rule::ids`].
    #[must_use]
    pub fn ids<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`Rule::containing`].
    #[must_use]
    pub fn containing(mut self, text: impl Into<String>) -> Self {
        self.containing = Some(text.into());
        self
    }

    /// Sets [`Rule::index`].
    #[must_use]
    pub fn index(mut self, index: impl Into<String>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// Sets [`Rule::node`].
    #[must_use]
    pub fn node(mut self, node: usize) -> Self {
        self.node = Some(node);
        self
    }

    /// Sets [`Rule::min_items`].
    #[must_use]
    pub fn min_items(mut self, items: usize) -> Self {
        self.min_items = Some(items);
        self
    }

    /// Sets [`Rule::min_body_bytes`].
    #[must_use]
    pub fn min_body_bytes(mut self, bytes: usize) -> Self {
        self.min_body_bytes = Some(bytes);
        self
    }

    /// Sets [`Rule::path`].
    #[must_use]
    pub fn path(mut self, text: impl Into<String>) -> Self {
        self.path = Some(text.into());
        self
    }

    /// Sets [`Rule::delay_ms`].
    #[must_use]
    pub fn delay_ms(mut self, delay: u64) -> Self {
        self.delay_ms = Some(delay);
        self
    }

    /// Sets [`Rule::retry_after_s`].
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    fn fits_op(&self, op: &Op) -> bool {
        (self.ids.is_empty() || op.id.as_ref().is_some_and(|id| self.ids.contains(id)))
            && self.index.as_ref().is_none_or(|index| *index == op.index)
            && self.containing.as_ref().is_none_or(|text| memchr::memmem::find(&op.source, text.as_bytes()).is_some())
    }
}

impl Faults {
    /// A script of these rules with seed 1.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Faults { seed: 1, rules: rules.into_iter().collect() }
    }
}

impl From<Rule> for Faults {
    fn from(rule: Rule) -> Self {
        Faults::new([rule])
    }
}

/// A request as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// Path without query.
    pub path: &'a str,
    /// Node it came to.
    pub node: usize,
    /// Bytes of the body as they came over the wire; the declared length before the body was read.
    pub body_bytes: usize,
    /// Whether the body is SMILE.
    pub smile: bool,
    /// Items, empty for anything but a readable bulk request.
    pub ops: &'a [Op],
}

/// The script with its counters.
#[derive(Debug, Default)]
pub struct FaultState {
    faults: Faults,
    /// Matching items or requests seen, by rule.
    seen: Vec<u64>,
    per_id: HashMap<(usize, String), u64>,
    met: u64,
}

impl FaultState {
    /// Starts a script from its beginning.
    pub fn new(faults: Faults) -> Self {
        let rules = faults.rules.len();
        FaultState { faults, seen: vec![0; rules], per_id: HashMap::new(), met: 0 }
    }

    /// The script.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// How often a rule applied.
    pub fn met(&self) -> u64 {
        self.met
    }

    /// A reset before the body is decided without knowing the items.
    pub fn on_head(&mut self, request: RequestFacts<'_>) -> Option<Rule> {
        self.on_request_where(request, |fault| fault == Fault::ResetBeforeBody)
    }

    /// What befalls a whole request.
    pub fn on_request(&mut self, request: RequestFacts<'_>) -> Option<Rule> {
        self.on_request_where(request, |fault| !fault.is_item() && fault != Fault::ResetBeforeBody)
    }

    fn on_request_where(&mut self, request: RequestFacts<'_>, wanted: impl Fn(Fault) -> bool) -> Option<Rule> {
        for number in 0..self.faults.rules.len() {
            let rule = &self.faults.rules[number];
            let path_fits = match &rule.path {
                Some(text) => request.path.contains(text.as_str()),
                None => request.path.ends_with("/_bulk"),
            };
            let looks_at_items = !rule.ids.is_empty() || rule.index.is_some() || rule.containing.is_some();
            let fits = wanted(rule.fault)
                && (rule.fault != Fault::SmileReplyGarbled || request.smile)
                && path_fits
                && rule.node.is_none_or(|node| node == request.node)
                && rule.min_items.is_none_or(|items| request.ops.len() >= items)
                && rule.min_body_bytes.is_none_or(|bytes| request.body_bytes >= bytes)
                && (!looks_at_items || request.ops.iter().any(|op| rule.fits_op(op)));
            if fits && self.counts(number) {
                return Some(self.faults.rules[number].clone());
            }
        }
        None
    }

    /// What befalls one item of a request.
    pub fn on_item(&mut self, request: RequestFacts<'_>, op: &Op) -> Option<Fault> {
        for number in 0..self.faults.rules.len() {
            let rule = &self.faults.rules[number];
            let fits = rule.fault.is_item()
                && rule.node.is_none_or(|node| node == request.node)
                && rule.min_items.is_none_or(|items| request.ops.len() >= items)
                && rule.min_body_bytes.is_none_or(|bytes| request.body_bytes >= bytes)
                && rule.fits_op(op);
            if !fits {
                continue;
            }
            if let Some(times) = rule.times_per_id {
                let key = (number, op.id.clone().unwrap_or_else(|| String::from_utf8_lossy(&op.source).into_owned()));
                let seen = self.per_id.entry(key).or_insert(0);
                *seen += 1;
                if *seen > times {
                    continue;
                }
            }
            if self.counts(number) {
                return Some(self.faults.rules[number].fault);
            }
        }
        None
    }

    /// Counts a match and tells whether the rule applies to it.
    fn counts(&mut self, number: usize) -> bool {
        let rule = &self.faults.rules[number];
        let before = self.seen[number];
        self.seen[number] += 1;
        let Some(nth) = (before + 1).checked_sub(rule.after.unwrap_or(0)).filter(|nth| *nth > 0) else {
            return false;
        };
        let draw = draw(rule_seed(self.faults.seed, number as u64), nth);
        let applies = rule.first.is_none_or(|first| nth <= first)
            && rule.every_nth.is_none_or(|n| nth.is_multiple_of(n.max(1)))
            && rule.probability.is_none_or(|share| draw < share);
        self.met += u64::from(applies);
        applies
    }
}

/// The seed of one of several rules.
pub(crate) fn rule_seed(seed: u64, number: u64) -> u64 {
    mix(seed ^ mix(number + 1))
}

/// The n-th draw of a rule, from 0 to below 1.
pub(crate) fn draw(rule_seed: u64, nth: u64) -> f64 {
    // The upper 53 bits make a double in [0, 1).
    (mix(rule_seed.wrapping_add(nth)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// How an item fault is worded.
pub fn item_error(flavor: &Flavor, fault: Fault, op: &Op) -> Option<EsError> {
    let index = op.index.as_str();
    match fault {
        Fault::ItemRejected => Some(rejected(flavor)),
        Fault::ItemUnavailable => Some(EsError::new(
            503,
            "unavailable_shards_exception",
            format!("[{index}][0] primary shard is not active Timeout: [1m], request: [BulkShardRequest [[{index}][0]] containing [1] requests]"),
        )),
        Fault::ItemFloodStage => Some(EsError::blocked(
            429,
            index,
            "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block",
        )),
        Fault::ItemWriteBlock => Some(EsError::blocked(403, index, "FORBIDDEN/8/index write (api)")),
        Fault::ItemIndexGone => Some(EsError::index_not_found(index, "index_or_alias")),
        Fault::ItemBadRequest => Some(
            EsError::new(
                400,
                flavor.mapper_error_type(),
                format!(
                    "failed to parse field [fault] of type [long] in document with id '{}'. Preview of field's value: 'x'",
                    op.id.as_deref().unwrap_or_default()
                ),
            )
            .caused_by("illegal_argument_exception", "For input string: \"x\""),
        ),
        Fault::ItemConflict => {
            let id = op.id.as_deref().unwrap_or_default();
            Some(EsError::new(
                409,
                "version_conflict_engine_exception",
                format!("[{id}]: version conflict, document already exists (current version [1])"),
            ))
        }
        _ => None,
    }
}

/// How a request fault is worded that answers instead of applying; `None` for the others.
pub fn request_error(flavor: &Flavor, fault: Fault) -> Option<EsError> {
    match fault {
        Fault::RequestRejected => Some(rejected(flavor)),
        Fault::RequestBadRequest => Some(EsError::illegal_argument("refused by the fault script")),
        Fault::RequestUnauthorized => Some(unauthorized()),
        Fault::RequestForbidden => Some(EsError::new(
            403,
            "security_exception",
            "no permissions for [indices:data/write/bulk] and User [name=test, backend_roles=[], requestedTenant=null]",
        )),
        Fault::Unavailable => {
            Some(EsError::new(503, "cluster_block_exception", "blocked by: [SERVICE_UNAVAILABLE/2/no master];"))
        }
        Fault::BreakerPermanent => Some(breaker("PERMANENT")),
        Fault::BreakerTransient => Some(breaker("TRANSIENT")),
        _ => None,
    }
}

/// The 401 of a request without the right credentials.
pub fn unauthorized() -> EsError {
    EsError::new(401, "security_exception", "missing authentication credentials for REST request [/]")
}

fn breaker(durability: &str) -> EsError {
    EsError::new(
        429,
        "circuit_breaking_exception",
        "[parent] Data too large, data for [<http_request>] would be [1020000000/972.7mb], which is larger than the limit of [1020054732/972.7mb]",
    )
    .with("bytes_wanted", 1_020_100_000)
    .with("bytes_limit", 1_020_054_732)
    .with("durability", durability)
}

/// A full queue or indexing pressure, of an item or of a request.
pub(crate) fn rejected(flavor: &Flavor) -> EsError {
    EsError::new(
        429,
        flavor.rejected_type(),
        "rejected execution of coordinating operation [coordinating_and_primary_bytes=107374182, replica_bytes=0, all_bytes=107374182, coordinating_operation_bytes=5242880, max_coordinating_and_primary_bytes=107374182]",
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::model::{Action, VersionType};

    fn op(id: &str) -> Op {
        Op {
            action: Action::Index,
            index: "a".into(),
            id: Some(id.into()),
            routing: None,
            version: None,
            version_type: VersionType::Internal,
            if_seq_no: None,
            pipeline: None,
            require_alias: false,
            source: Bytes::from_static(b"{\"x\":1}"),
        }
    }

    fn request<'a>(path: &'a str, ops: &'a [Op]) -> RequestFacts<'a> {
        RequestFacts { path, node: 0, body_bytes: 100, smile: false, ops }
    }

    fn hits(rule: Rule, times: usize) -> Vec<usize> {
        let mut state = FaultState::new(rule.into());
        (1..=times).filter(|_| state.on_item(request("/_bulk", &[]), &op("1")).is_some()).collect()
    }

    #[test]
    fn conditions_combine() {
        let rule = Rule::new(Fault::ItemRejected);
        assert_eq!(hits(rule.clone().first(2), 5).len(), 2);
        assert_eq!(hits(rule.clone().every_nth(3), 9), [3, 6, 9]);
        assert_eq!(hits(rule.clone().every_nth(3).first(6), 9), [3, 6]);
        assert_eq!(hits(rule.clone().after(2).first(1), 9), [3]);
        assert_eq!(hits(rule.clone().times_per_id(2), 9), [1, 2]);
        assert_eq!(hits(rule.clone().ids(["2"]), 9), [0_usize; 0]);
        assert_eq!(hits(rule.clone().containing("\"x\":1"), 2), [1, 2]);
        let share = hits(rule.clone().probability(0.3), 10_000).len();
        assert!((2_800..3_200).contains(&share), "{share}");
        assert_eq!(hits(rule.clone().probability(0.3), 100), hits(rule.probability(0.3), 100));
    }

    #[test]
    fn request_rules_look_at_bulk_requests_unless_told_otherwise() {
        let ops = [op("1")];
        let mut state = FaultState::new(Rule::new(Fault::RequestRejected).ids(["1"]).into());
        assert_eq!(state.on_request(request("/a/_count", &ops)), None);
        assert_eq!(state.on_request(request("/a/_bulk", &[])), None);
        assert_eq!(state.on_request(request("/a/_bulk", &ops)).map(|rule| rule.fault), Some(Fault::RequestRejected));
        let mut state = FaultState::new(Rule::new(Fault::Unavailable).path("_refresh").into());
        assert!(state.on_request(request("/a/_refresh", &[])).is_some());
    }

    #[test]
    fn scripts_are_read_from_toml_and_json() {
        let script: Faults =
            toml::from_str("seed = 7\n[[rules]]\nfault = \"item_rejected\"\nprobability = 0.3\n").expect("toml");
        assert_eq!(script.rules, [Rule::new(Fault::ItemRejected).probability(0.3)]);
        let json = serde_json::to_string(&script).expect("json");
        assert_eq!(serde_json::from_str::<Faults>(&json).expect("json"), script);
        assert!(toml::from_str::<Faults>("[[rules]]\nfault = \"item_rejected\"\nprobabilty = 0.3\n").is_err());
    }
}
