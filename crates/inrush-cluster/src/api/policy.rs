//! Index policies (ILM, ISM): what they will do to an index during the load. No policy is changed.
//! A policy belongs to its owner, and an index whose policy was removed and not restored would grow
//! or stay for ever.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use super::index::IndexInfo;
use super::product::Product;
use crate::clock;
use crate::transport::{Transport, path_segment};

/// An action that is due within this time counts as due during the load: a day, which is longer
/// than nearly every load.
const DURING_THE_LOAD: Duration = Duration::from_secs(24 * 3600);

/// ILM actions after which the index takes no documents, is gone, or is another index.
const ILM_ACTIONS: [&str; 8] =
    ["readonly", "shrink", "forcemerge", "searchable_snapshot", "downsample", "rollup", "freeze", "delete"];
/// The same actions of ISM.
const ISM_ACTIONS: [&str; 6] = ["read_only", "shrink", "force_merge", "close", "convert_index_to_remote", "delete"];
const PHASES: [&str; 5] = ["hot", "warm", "cold", "frozen", "delete"];

/// What a policy will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// An action that keeps documents out during the load.
    Bad(String),
    /// An action that the user should know of.
    Warning(String),
}

/// An action that keeps documents out, and the shortest time until it can start.
#[derive(Clone, Debug, PartialEq)]
struct Due {
    action: String,
    seconds: f64,
}

/// Reads the policy of an index. `rolls_over`: documents are sent to an alias or a data stream, so
/// after a rollover they go to the next index.
pub(super) async fn outlook(
    transport: &Transport,
    product: Product,
    index: &IndexInfo,
    rolls_over: bool,
) -> Option<Outlook> {
    let found = match product {
        Product::OpenSearch => ism(transport, &index.name, rolls_over).await,
        Product::Elasticsearch | Product::Unknown => match &index.policy {
            Some(policy) => {
                ilm(transport, &index.name, policy, rolls_over).await.map(|due| Some((policy.clone(), due)))
            }
            None => return None,
        },
    };
    match found {
        Ok(found) => {
            let (policy, due) = found?;
            judge(&index.name, &policy, due)
        }
        // The policy may not be read, or there is none because the settings name none.
        Err(error) => index.policy.as_ref().map(|policy| {
            let name = &index.name;
            Outlook::Warning(format!(
                "the policy {policy} manages {name} and cannot be read ({error}): if it makes the index read-only, shrinks it or deletes it during the load, documents fail"
            ))
        }),
    }
}

fn judge(name: &str, policy: &str, due: Vec<Due>) -> Option<Outlook> {
    let first = due.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let action = &first.action;
    let when = words(first.seconds);
    if first.seconds > DURING_THE_LOAD.as_secs_f64() {
        return Some(Outlook::Warning(format!(
            "the policy {policy} manages {name}: {action} is due {when}, after which it takes no documents"
        )));
    }
    Some(Outlook::Bad(format!(
        "the policy {policy} manages it, and {action} is due {when}, after which it takes no documents; remove the policy (POST {name}/_ilm/remove, OpenSearch: POST _plugins/_ism/remove/{name}) and add it again after the load, or give option `under_policy`"
    )))
}

async fn ilm(transport: &Transport, name: &str, policy: &str, rolls_over: bool) -> Result<Vec<Due>, ClusterError> {
    let what = "looking at the index's policy";
    let explain = format!("/{}/_ilm/explain", path_segment(name));
    let body = format!("/_ilm/policy/{}", path_segment(policy));
    let (explain, body) = tokio::join!(
        transport.demand(what, Method::GET, &explain, None),
        transport.demand(what, Method::GET, &body, None),
    );
    let (explain, body) = (explain?, body?);
    Ok(ilm_due(&explain["indices"][name], &body[policy]["policy"]["phases"], rolls_over))
}

fn ilm_due(explain: &Value, phases: &Value, rolls_over: bool) -> Vec<Due> {
    if explain["managed"] == Value::Bool(false) {
        return Vec::new();
    }
    let text = |key: &str| explain[key].as_str().unwrap_or_default();
    let (current, action) = (text("phase"), text("action"));
    // "new" comes before all of them, and all of its actions are complete.
    let current = PHASES.iter().position(|phase| *phase == current);
    let waits = current.is_none_or(|at| at == 0 && action != "complete" && !ILM_ACTIONS.contains(&action));
    let before_rollover = waits && !phases["hot"]["actions"]["rollover"].is_null();
    if before_rollover && rolls_over {
        return Vec::new();
    }
    // The age of a phase after a rollover counts from the rollover, and that may be now.
    let age = if before_rollover { 0.0 } else { seconds(text("age")).unwrap_or(0.0) };
    let mut due = Vec::new();
    for (at, phase) in PHASES.iter().enumerate().skip(current.unwrap_or(0)) {
        if Some(at) == current && action == "complete" {
            continue;
        }
        let min_age = phases[phase]["min_age"].as_str().and_then(seconds).unwrap_or(0.0);
        let seconds = if Some(at) == current { 0.0 } else { (min_age - age).max(0.0) };
        let actions = phases[phase]["actions"].as_object().into_iter().flatten();
        let bad = actions.filter(|(name, _)| ILM_ACTIONS.contains(&name.as_str()));
        due.extend(bad.map(|(action, _)| Due { action: action.clone(), seconds }));
    }
    due
}

/// The name of the policy and the actions that are due. `None` if no policy manages the index.
async fn ism(transport: &Transport, name: &str, rolls_over: bool) -> Result<Option<(String, Vec<Due>)>, ClusterError> {
    let what = "looking at the index's policy";
    let path = format!("/_plugins/_ism/explain/{}", path_segment(name));
    let explain = transport.demand(what, Method::GET, &path, None).await?;
    let explain = &explain[name];
    let Some(policy) = explain["policy_id"].as_str().filter(|_| explain["enabled"] != Value::Bool(false)) else {
        return Ok(None);
    };
    let body = format!("/_plugins/_ism/policies/{}", path_segment(policy));
    let created = format!("/{}/_settings?filter_path=*.settings.index.creation_date", path_segment(name));
    let (body, created) = tokio::join!(
        transport.demand(what, Method::GET, &body, None),
        transport.demand(what, Method::GET, &created, None),
    );
    let created = created?[name].pointer("/settings/index/creation_date").and_then(Value::as_str).map(str::to_owned);
    let created = Duration::from_millis(created.and_then(|millis| millis.parse().ok()).unwrap_or(u64::MAX));
    let now = clock::date().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(created).as_secs_f64();
    Ok(Some((policy.to_owned(), ism_due(explain, &body?["policy"], age, rolls_over))))
}

fn ism_due(explain: &Value, policy: &Value, age: f64, rolls_over: bool) -> Vec<Due> {
    let states = policy["states"].as_array().map(Vec::as_slice).unwrap_or_default();
    let find = |name: &Value| states.iter().find(|state| state["name"] == *name);
    let has = |state: &Value, action: &str| {
        state["actions"].as_array().is_some_and(|actions| actions.iter().any(|one| !one[action].is_null()))
    };
    let started = !explain["state"]["name"].is_null();
    let current = if started { find(&explain["state"]["name"]) } else { find(&policy["default_state"]) };
    let actions_done = explain["action"]["name"] == "transition";
    let mut due = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next: Vec<(&Value, f64)> = current.into_iter().map(|state| (state, 0.0)).collect();
    while let Some((state, seconds)) = next.pop() {
        let first = seen.is_empty();
        if !seen.insert(state["name"].as_str().unwrap_or_default()) {
            continue;
        }
        let done = first && actions_done;
        if !done {
            let bad = ISM_ACTIONS.iter().filter(|action| has(state, action));
            due.extend(bad.map(|action| Due { action: (*action).to_owned(), seconds }));
            // Actions after a rollover concern an index that no longer takes the documents of this
            // load.
            if rolls_over && has(state, "rollover") {
                continue;
            }
        }
        for transition in state["transitions"].as_array().into_iter().flatten() {
            let Some(state) = find(&transition["state_name"]) else { continue };
            let condition = |name: &str| transition["conditions"][name].as_str();
            let until = match (condition("min_index_age"), condition("min_rollover_age")) {
                (Some(min), _) => self::seconds(min).map_or(0.0, |min| (min - age).max(0.0)),
                (None, Some(_)) if rolls_over => continue,
                (None, Some(min)) => self::seconds(min).unwrap_or(0.0),
                // Conditions on documents and bytes are met by the load itself. The time of a cron
                // condition is unknown.
                (None, None) => 0.0,
            };
            next.push((state, seconds.max(until)));
        }
    }
    due
}

/// A duration in seconds, from the form that the servers write: `30d`, `5.6m`, `0ms`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "nanos" => 1e-9,
        "micros" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

fn words(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => "now".to_owned(),
        s if s < 2.0 * 3600.0 => format!("in {:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("in {:.0} h", s / 3600.0),
        s => format!("in {:.0} days", s / 86400.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn due(list: &[(&str, f64)]) -> Vec<Due> {
        list.iter().map(|(action, seconds)| Due { action: (*action).to_owned(), seconds: *seconds }).collect()
    }

    const DAY: f64 = 86400.0;

    #[test]
    fn ilm_phases_come_by_age_and_after_a_rollover_from_there() {
        let phases = json!({
            "hot": {"min_age": "0ms", "actions": {"rollover": {"max_age": "7d"}, "set_priority": {"priority": 1}}},
            "warm": {"min_age": "2d", "actions": {"shrink": {}, "allocate": {}}},
            "delete": {"min_age": "30d", "actions": {"delete": {}}},
        });
        let at = |phase: &str, action: &str, age: &str| json!({"managed": true, "phase": phase, "action": action, "age": age});
        let waiting = at("hot", "rollover", "6d");
        assert_eq!(ilm_due(&waiting, &phases, true), []);
        assert_eq!(ilm_due(&at("new", "complete", "1s"), &phases, true), []);
        assert_eq!(ilm_due(&waiting, &phases, false), due(&[("shrink", 2.0 * DAY), ("delete", 30.0 * DAY)]));
        assert_eq!(
            ilm_due(&at("hot", "complete", "1d"), &phases, true),
            due(&[("shrink", DAY), ("delete", 29.0 * DAY)])
        );
        assert_eq!(
            ilm_due(&at("warm", "shrink", "3d"), &phases, true),
            due(&[("shrink", 0.0), ("delete", 27.0 * DAY)])
        );
        assert_eq!(ilm_due(&at("warm", "complete", "3d"), &phases, false), due(&[("delete", 27.0 * DAY)]));
        assert_eq!(ilm_due(&json!({"managed": false}), &phases, false), []);
        let only = json!({"delete": {"min_age": "1h", "actions": {"delete": {}}}});
        assert_eq!(ilm_due(&at("new", "complete", "30m"), &only, false), due(&[("delete", 1800.0)]));
    }

    #[test]
    fn ism_states_are_followed_along_their_transitions() {
        let policy = json!({"default_state": "hot", "states": [
            {"name": "hot", "actions": [{"rollover": {"min_size": "50gb"}}], "transitions": [{"state_name": "warm", "conditions": {"min_index_age": "3d"}}]},
            {"name": "warm", "actions": [{"replica_count": {}}, {"force_merge": {}}], "transitions": [
                {"state_name": "gone", "conditions": {"min_index_age": "30d"}}, {"state_name": "hot", "conditions": {"min_doc_count": 5}}]},
            {"name": "gone", "actions": [{"delete": {}}], "transitions": []},
        ]});
        let at =
            |state: &str, action: &str| json!({"policy_id": "p", "state": {"name": state}, "action": {"name": action}});
        assert_eq!(ism_due(&at("hot", "rollover"), &policy, DAY, true), []);
        let later = due(&[("force_merge", 2.0 * DAY), ("delete", 29.0 * DAY)]);
        assert_eq!(ism_due(&at("hot", "rollover"), &policy, DAY, false), later);
        assert_eq!(ism_due(&json!({"policy_id": "p"}), &policy, DAY, false), later);
        assert_eq!(ism_due(&at("warm", "transition"), &policy, 4.0 * DAY, true), due(&[("delete", 26.0 * DAY)]));
        let full = json!({"states": [
            {"name": "a", "transitions": [{"state_name": "b", "conditions": {"min_size": "1gb"}}]},
            {"name": "b", "actions": [{"read_only": {}}]},
        ]});
        assert_eq!(ism_due(&at("a", "transition"), &full, 0.0, true), due(&[("read_only", 0.0)]));
    }

    #[test]
    fn what_is_due_within_a_day_is_bad_and_later_is_told() {
        assert_eq!(judge("docs", "p", Vec::new()), None);
        let found = judge("docs", "p", due(&[("delete", 40.0 * DAY), ("shrink", 3.0 * DAY)]));
        let Some(Outlook::Warning(words)) = found else { panic!("{found:?}") };
        assert_eq!(words, "the policy p manages docs: shrink is due in 3 days, after which it takes no documents");
        let found = judge("docs", "p", due(&[("delete", 40.0 * DAY), ("shrink", 5.0 * 3600.0)]));
        let Some(Outlook::Bad(words)) = found else { panic!("{found:?}") };
        assert!(words.contains("shrink is due in 5 h") && words.contains("option `under_policy`"), "{words}");
    }
}
