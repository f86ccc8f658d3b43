//! Checks whether the cluster would create an index, before an existing one is deleted for it.

use http::Method;
use serde_json::{Map, Value, json};

use super::aliases;
use super::error::{ClusterError, error_type};
use super::index::{self, CreateIndex, WAIT_FOR_NO_SHARD};
use super::templates::{self, flat};
use crate::transport::{Transport, path_segment};

/// The priority of the simulated template. No template of a user has it, and no other template may
/// have the same.
const PRIORITY: u32 = 2_147_483_646;
/// The servers' limit of an index name, bytes.
const NAME_BYTES_MAX: usize = 255;

/// The cluster's verdict on a body that would create an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It accepts mapping and settings.
    Taken,
    /// It rejects them, for this reason.
    Refused(String),
    /// It could not be asked, for this reason.
    NotAsked(String),
}

/// Asks whether the index `name` could be created, without writing anything. The servers check
/// mappings and settings as those of an index template. They do not check what depends on the
/// cluster, or on mapping and settings together: the cluster's limit of shards, sort fields.
pub async fn simulate(transport: &Transport, name: &str, how: &CreateIndex) -> Verdict {
    let template = with_templates(transport, name, how).await;
    let path = format!("/_index_template/_simulate_index/{}", path_segment(name));
    let question = json!({"index_patterns": [name], "priority": PRIORITY, "template": template});
    let answer = match transport.ask(Method::POST, &path, Some(&question)).await {
        Ok(answer) => answer,
        Err(error) => return Verdict::NotAsked(error.to_string()),
    };
    let body = answer.json("").unwrap_or_default();
    let why = |status| ClusterError::from_status("asking whether it can be made", status, &body).to_string();
    match answer.status() {
        200..=299 => Verdict::Taken,
        // An error without a type comes from a server that does not know the path.
        400 if error_type(&body).is_some() => Verdict::Refused(why(400)),
        status => Verdict::NotAsked(why(status)),
    }
}

/// Aliases that the cluster does not put on an index of this body.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedAliases {
    /// The aliases, with their properties.
    pub aliases: Map<String, Value>,
    /// Why.
    pub why: String,
}

/// Creates an index of another name with the same body, and deletes it: the cluster checks
/// everything that it will check for `name`. If the cluster's refusal concerns only the other
/// index, [`simulate`] is asked instead.
///
/// Where the cluster refuses the index, it is tried without the aliases that have a filter, and
/// then without any. Returns those that were left out.
///
/// # Errors
/// [`ClusterError::Target`] if `name` could not be created, also without aliases.
pub async fn make(
    transport: &Transport,
    name: &str,
    how: &CreateIndex,
    run_id: &str,
) -> Result<Option<RefusedAliases>, ClusterError> {
    let Some(trial) = trial_name(transport, name, run_id).await else {
        only_ask(transport, name, how, "every index gets an alias from a template").await?;
        return Ok(None);
    };
    let body = with_templates(transport, name, how).await;
    let part = |key: &str| body.get(key).cloned();
    let mut like_it = CreateIndex {
        settings: part("settings"),
        mappings: part("mappings"),
        aliases: trial_aliases(&trial, &how.aliases),
        ..CreateIndex::default()
    };
    let (mut taken, mut why) = (how.aliases.clone(), None);
    loop {
        let error = match index::create_with(transport, &trial, &like_it, WAIT_FOR_NO_SHARD).await {
            Ok(_) => {
                delete_trial(transport, name, &trial).await?;
                return Ok(left_out(&how.aliases, &taken, why));
            }
            Err(error) => error,
        };
        if is_of_the_trial(&error) {
            only_ask(transport, name, how, &error.to_string()).await?;
            return Ok(left_out(&how.aliases, &taken, why));
        }
        if error.status() == Some(400) && !taken.is_empty() {
            let plain = aliases::without_filter(&taken);
            taken = if plain.len() < taken.len() { plain } else { Map::new() };
            like_it.aliases = trial_aliases(&trial, &taken);
            why = Some(error.to_string());
            continue;
        }
        if error.may_be_done() {
            // The index may exist. The warning of its creation names it.
            let _ = index::delete(transport, &trial).await;
        }
        return refuse(name, &format!("{error} (found by creating {trial} with the same body)")).map(|()| None);
    }
}

/// The aliases without those that the cluster took. `why` is set where it refused some.
fn left_out(all: &Map<String, Value>, taken: &Map<String, Value>, why: Option<String>) -> Option<RefusedAliases> {
    let left = all.iter().filter(|(alias, _)| !taken.contains_key(*alias));
    let aliases = left.map(|(alias, properties)| (alias.clone(), properties.clone())).collect();
    why.map(|why| RefusedAliases { aliases, why })
}

async fn delete_trial(transport: &Transport, name: &str, trial: &str) -> Result<(), ClusterError> {
    match index::delete(transport, trial).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let why = format!("{error}; delete the index {trial} by hand, which was created for this check");
            refuse(name, &why)
        }
    }
}

fn refuse(name: &str, why: &str) -> Result<(), ClusterError> {
    let problem = format!("it was not deleted, because the cluster would not create it again: {why}");
    Err(ClusterError::Target { name: name.to_owned(), problem })
}

/// Asks whether `name` could be created, if that cannot be tried. `why_not` says why it cannot.
async fn only_ask(transport: &Transport, name: &str, how: &CreateIndex, why_not: &str) -> Result<(), ClusterError> {
    match simulate(transport, name, how).await {
        Verdict::Taken => Ok(()),
        Verdict::Refused(why) => refuse(name, &why),
        Verdict::NotAsked(why) => {
            tracing::warn!(
                "it was not checked before {name} is deleted whether it can be created again: {why_not}; {why}"
            );
            Ok(())
        }
    }
}

/// Whether an index was refused for its name, or because it would exist beside another one. Such an
/// error says nothing about an index that takes the other one's name and place.
fn is_of_the_trial(error: &ClusterError) -> bool {
    match error {
        ClusterError::Forbidden { .. } => true,
        ClusterError::Refused { reason, .. } => {
            index::needs_data_stream(error)
                || reason.contains("more than one write index")
                || (reason.contains("maximum") && reason.contains("shards open"))
        }
        _ => false,
    }
}

/// Deletes what a check of `name` has left that was stopped.
///
/// # Errors
/// [`ClusterError`] if a request fails.
pub async fn clean_up(transport: &Transport, name: &str, run_id: &str) -> Result<(), ClusterError> {
    for trial in trial_names(name, run_id) {
        if index::exists(transport, &trial).await? {
            index::delete(transport, &trial).await?;
        }
    }
    Ok(())
}

/// A name to which no template adds an alias, because searches of the alias would find the trial
/// index. `None` if every name gets one.
pub(super) async fn trial_name(transport: &Transport, name: &str, run_id: &str) -> Option<String> {
    for trial in trial_names(name, run_id) {
        // A user who may not read templates may create indices all the same.
        let given = templates::given(transport, &trial).await.unwrap_or_default();
        if given.aliases.is_empty() {
            return Some(trial);
        }
    }
    None
}

/// The names to try. A user who may create `name` is likely to be allowed the first one.
fn trial_names(name: &str, run_id: &str) -> Vec<String> {
    let mut names = vec![format!("{name}-inrush-trial-{run_id}"), format!("inrush-trial-{run_id}")];
    names.retain(|trial| trial.len() <= NAME_BYTES_MAX);
    names
}

/// Aliases of other names: searches of the aliases themselves would find the trial index. Only one
/// index may be the one for writes.
fn trial_aliases(trial: &str, aliases: &Map<String, Value>) -> Map<String, Value> {
    let renamed = |(number, properties): (usize, &Value)| {
        let mut properties = properties.clone();
        if let Some(properties) = properties.as_object_mut() {
            properties.remove("is_write_index");
        }
        (format!("{trial}-{number}"), properties)
    };
    let named = aliases.values().enumerate().map(renamed);
    named.filter(|(name, _)| name.len() <= NAME_BYTES_MAX).collect()
}

/// The body that creates the index, merged over what templates apply to its name: a mapping may
/// name an analyzer of a template.
pub async fn with_templates(transport: &Transport, name: &str, how: &CreateIndex) -> Value {
    let body = index::creation_body(how);
    // A user who may not read templates may create indices all the same.
    let Ok(given) = templates::given(transport, name).await else { return body };
    let mut settings = flat(&given.settings);
    settings.extend(flat(&body["settings"]));
    let mut mappings = given.mappings;
    if let Some(own) = body.get("mappings") {
        templates::merge(&mut mappings, own);
    }
    let mut merged = json!({});
    if !settings.is_empty() {
        merged["settings"] = Value::Object(settings);
    }
    if mappings.is_object() {
        merged["mappings"] = mappings;
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_a_name_that_servers_take() {
        assert_eq!(trial_names("docs", "0a"), ["docs-inrush-trial-0a", "inrush-trial-0a"]);
        assert_eq!(trial_names(&"x".repeat(250), "0a"), ["inrush-trial-0a"]);
    }

    #[test]
    fn aliases_are_tried_under_other_names() {
        let aliases = json!({"live": {"filter": {"term": {"n": 1}}, "is_write_index": true}, "old": {}});
        let tried = trial_aliases("docs-inrush-trial-0a", aliases.as_object().unwrap());
        assert_eq!(
            Value::Object(tried),
            json!({"docs-inrush-trial-0a-0": {"filter": {"term": {"n": 1}}}, "docs-inrush-trial-0a-1": {}})
        );
    }

    #[test]
    fn what_is_only_true_of_the_trial_refuses_nothing() {
        let refused = |reason: &str| {
            let what = "creating the index docs-inrush-trial-0a".to_owned();
            let (reason, code) = (format!(": {reason}"), inrush_core::Code::MappingRejected);
            is_of_the_trial(&ClusterError::Refused { what, status: 400, reason, code })
        };
        for reason in [
            "validation_exception: Validation Failed: 1: this action would add [2] shards, but this cluster currently has [1000]/[1000] maximum normal shards open;",
            "validation_exception: Validation Failed: 1: this action would add [2] total shards, but this cluster currently has [1000]/[1000] maximum shards open;",
            "illegal_state_exception: alias [docs] has more than one write index [docs-1,docs-inrush-trial-0a]",
        ] {
            assert!(refused(reason), "{reason}");
        }
        assert!(!refused("mapper_parsing_exception: No handler for type [lnog] declared on field [n]"));
    }
}
