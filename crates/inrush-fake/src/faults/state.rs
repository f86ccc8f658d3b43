//! A running script.

use std::collections::HashMap;

use super::fault::Fault;
use super::rule::Rule;
use super::script::Faults;
use crate::model::Op;
use crate::random::{draw, rule_seed};

/// The facts about a request that rules look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFacts<'a> {
    /// Method.
    pub(crate) method: &'a str,
    /// Path without query.
    pub(crate) path: &'a str,
    /// The node of the request, counted from 0.
    pub(crate) node: usize,
    /// Bytes of the body on the wire; the declared length as long as the body was not read.
    pub(crate) body_bytes: usize,
    /// True for a body in SMILE.
    pub(crate) smile: bool,
    /// Items of a readable bulk request; empty for any other request.
    pub(crate) ops: &'a [Op],
}

/// A running script: its rules with their counters.
#[derive(Debug, Default)]
pub(crate) struct FaultState {
    faults: Faults,
    /// Matching items or requests so far, by rule.
    seen: Vec<u64>,
    /// Matching items so far, by rule and id.
    per_id: HashMap<(usize, String), u64>,
    applied: u64,
}

impl FaultState {
    /// Starts a script from its beginning.
    pub(crate) fn new(faults: Faults) -> Self {
        let rules = faults.rules.len();
        FaultState { faults, seen: vec![0; rules], per_id: HashMap::new(), applied: 0 }
    }

    /// The script.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Number of items and requests that a rule applied to.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// The rule that resets the connection before the body; the items are unknown then.
    pub(crate) fn on_head(&mut self, request: RequestFacts<'_>) -> Option<Rule> {
        self.on_request_where(request, |fault| fault == Fault::ResetBeforeBody)
    }

    /// The rule that applies to a whole request.
    pub(crate) fn on_request(&mut self, request: RequestFacts<'_>) -> Option<Rule> {
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
                && rule.method.as_ref().is_none_or(|method| method == request.method)
                && rule.node.is_none_or(|node| node == request.node)
                && rule.min_items.is_none_or(|items| request.ops.len() >= items)
                && rule.min_body_bytes.is_none_or(|bytes| request.body_bytes >= bytes)
                && (!looks_at_items || request.ops.iter().any(|op| matches(rule, op)));
            if fits && self.counts(number) {
                return Some(self.faults.rules[number].clone());
            }
        }
        None
    }

    /// The rule that applies to one item of a request.
    pub(crate) fn on_item(&mut self, request: RequestFacts<'_>, op: &Op) -> Option<&Rule> {
        for number in 0..self.faults.rules.len() {
            let rule = &self.faults.rules[number];
            let fits = rule.fault.is_item()
                && rule.node.is_none_or(|node| node == request.node)
                && rule.min_items.is_none_or(|items| request.ops.len() >= items)
                && rule.min_body_bytes.is_none_or(|bytes| request.body_bytes >= bytes)
                && matches(rule, op);
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
                return self.faults.rules.get(number);
            }
        }
        None
    }

    /// Counts a match of a rule. Returns true if the rule applies to it.
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
        self.applied += u64::from(applies);
        applies
    }
}

/// True if an item meets the conditions on items.
fn matches(rule: &Rule, op: &Op) -> bool {
    (rule.ids.is_empty() || op.id.as_ref().is_some_and(|id| rule.ids.contains(id)))
        && rule.index.as_ref().is_none_or(|index| *index == op.index)
        && rule.containing.as_ref().is_none_or(|text| memchr::memmem::find(&op.source, text.as_bytes()).is_some())
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
        RequestFacts { method: "POST", path, node: 0, body_bytes: 100, smile: false, ops }
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
    fn request_rules_look_at_bulk_requests_without_a_path() {
        let ops = [op("1")];
        let mut state = FaultState::new(Rule::new(Fault::RequestRejected).ids(["1"]).into());
        assert_eq!(state.on_request(request("/a/_count", &ops)), None);
        assert_eq!(state.on_request(request("/a/_bulk", &[])), None);
        assert_eq!(state.on_request(request("/a/_bulk", &ops)).map(|rule| rule.fault), Some(Fault::RequestRejected));
        let mut state = FaultState::new(Rule::new(Fault::Unavailable).path("_refresh").into());
        assert!(state.on_request(request("/a/_refresh", &[])).is_some());
        for (method, applies) in [("POST", true), ("PUT", false)] {
            let rule = Rule::new(Fault::Unavailable).path("/a").method(method);
            let found = FaultState::new(rule.into()).on_request(request("/a/_refresh", &[]));
            assert_eq!(found.is_some(), applies, "{method}");
        }
    }
}
