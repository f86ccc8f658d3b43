//! The beginning of a load that swaps: the new index's name, and what its alias stands for.

use std::time::SystemTime;

use inrush_cluster::api::aliases::{self, Carrier};
use inrush_cluster::api::changes::{self, Marks};
use inrush_cluster::api::{ClusterError, Target, TargetKind, index};
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::LoadConfig;
use crate::config::{OldWrites, SwapConfig};
use crate::error::LoadError;

/// What is known from before the first document; kept in the checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Noted {
    /// The new index.
    pub(super) index: String,
    /// The index that it takes the place of.
    pub(super) old: Option<Old>,
}

/// The index that is to be replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Old {
    pub(super) name: String,
    pub(super) uuid: String,
    /// Where its shards were before the load; `None`: that could not be asked.
    pub(super) marks: Option<Marks>,
}

impl Noted {
    /// The new index.
    pub fn index(&self) -> &str {
        &self.index
    }
}

/// A swap that is to come.
#[derive(Clone, Debug)]
pub struct Swapping {
    pub(super) options: SwapConfig,
    /// What the checkpoint says of the swap.
    pub noted: Noted,
    /// The alias stands for the new index already: an earlier run was cut off after the swap.
    pub is_done: bool,
    /// This run goes on with the index of an earlier one.
    pub(super) resumed: bool,
    /// The new index may be empty.
    pub(super) allow_empty: bool,
    /// What the alias carries where it stands before the load.
    pub(super) carried: Map<String, Value>,
    pub(super) warnings: Vec<String>,
}

/// What the alias stands for.
pub(super) type Standing = Option<(String, Carrier)>;

/// Decides before the first document which index is made, and puts it in the place of the alias in `config`. `earlier`: what a run that was
/// cut off has noted.
///
/// # Errors
/// An alias that cannot be moved, or an index that is in the way.
pub async fn begin(
    transport: &Transport,
    config: &mut LoadConfig,
    earlier: Option<Noted>,
) -> Result<Option<Swapping>, LoadError> {
    let Some(options) = config.finish.swap.clone() else { return Ok(None) };
    let alias = &options.alias;
    let now = standing(transport, alias).await?;
    let is_done = matches!((&now, &earlier), (Some((name, _)), Some(noted)) if *name == noted.index);
    if !is_done {
        check_old(&options, &now)?;
    }
    let warnings = routing_warning(config, alias, &now).into_iter().collect();
    let carried = carried(alias, &now);
    let resumed = earlier.is_some();
    let noted = match earlier {
        Some(noted) => {
            if !is_done && let Some(problem) = difference(alias, &noted, &now) {
                let flag = if config.once { "option `once`" } else { "option `resume`" };
                return Err(LoadError::State(format!(
                    "{problem} since the load was cut off; leave {flag} out to load from the beginning"
                )));
            }
            noted
        }
        None => {
            let index = match config.index.fixed() {
                Some(index) if index != alias => index.to_owned(),
                _ => name_at(alias, SystemTime::now()),
            };
            if index::exists(transport, &index).await? {
                return Err(exists(&index));
            }
            let old = match now {
                Some((name, carrier)) => Some(note(transport, &options, name, carrier.uuid).await?),
                None => None,
            };
            Noted { index, old }
        }
    };
    config.index = noted.index.parse().map_err(LoadError::usage)?;
    tracing::info!("loading into the new index {}, for the alias {alias}", noted.index);
    let allow_empty = config.allow_empty;
    Ok(Some(Swapping { options, noted, is_done, resumed, allow_empty, carried, warnings }))
}

impl Swapping {
    /// Whether the new index can be made. Asked before it is.
    ///
    /// # Errors
    /// A template that makes data streams, or an index that has come meanwhile.
    pub fn check_new(&self, target: Option<&Target>) -> Result<(), LoadError> {
        let Some(Target { name, kind }) = target.filter(|_| !self.resumed) else { return Ok(()) };
        match kind {
            TargetKind::Missing { template: Some(template) } if template.data_stream => Err(refuse(
                name,
                format!(
                    "the index template {} makes data streams of this name, which an alias cannot be moved to; name another with option `index`",
                    template.name
                ),
            )),
            TargetKind::Missing { .. } => Ok(()),
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::DataStream { .. } | TargetKind::Hidden => {
                Err(exists(name))
            }
        }
    }

    /// Whether the alias is still where it was, now that the new index is made.
    ///
    /// # Errors
    /// A template that gives new indices the alias: it would show a half-loaded index. That is deleted.
    pub async fn check_made(&self, transport: &Transport) -> Result<(), LoadError> {
        let (alias, index) = (&self.options.alias, &self.noted.index);
        if self.resumed || !aliases::behind(transport, alias).await?.contains_key(index) {
            return Ok(());
        }
        index::delete(transport, index).await?;
        Err(refuse(
            index,
            format!(
                "an index template gives it the alias {alias}, which would stand for an index that is not complete; take the alias out of the template"
            ),
        ))
    }
}

/// The index that has the alias, or its name.
///
/// # Errors
/// Where it is several, or a data stream.
pub(super) async fn standing(transport: &Transport, alias: &str) -> Result<Standing, ClusterError> {
    let found = aliases::behind(transport, alias).await?;
    let refuse = |problem: String| Err(ClusterError::Target { name: alias.to_owned(), problem });
    if let Some(stream) =
        found.values().find_map(|carrier| carrier.data_stream.as_ref()).filter(|_| !found.contains_key(alias))
    {
        return refuse(format!(
            "it is the data stream {stream} or an alias of it, whose indices are not replaced; load into it with option `index`"
        ));
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.keys().map(String::as_str).take(5).collect();
        let more = if found.len() > names.len() { ", …" } else { "" };
        return refuse(format!(
            "it is an alias of {} indices ({}{more}), and option `alias` puts one index in the place of one; take it off the others, or load into one of them with option `index`",
            found.len(),
            names.join(", ")
        ));
    }
    Ok(found.into_iter().next())
}

/// Filter, routing and write-index flag of the alias.
pub(super) fn carried(alias: &str, now: &Standing) -> Map<String, Value> {
    let carried = now.as_ref().and_then(|(_, carrier)| carrier.aliases.get(alias)?.as_object().cloned());
    carried.unwrap_or_default()
}

/// What keeps the old index from being treated as is asked for.
fn check_old(options: &SwapConfig, now: &Standing) -> Result<(), LoadError> {
    let (alias, Some((name, carrier))) = (&options.alias, now) else { return Ok(()) };
    if name == alias && !options.delete_old {
        return Err(LoadError::usage(format!(
            "{alias} is an index, and gives way to the alias of its name: it is deleted with all its documents in the moment in which the alias is made; add option `delete_old` if that is meant"
        )));
    }
    let others: Vec<&str> = carrier.aliases.keys().filter(|other| *other != alias).map(String::as_str).collect();
    if options.delete_old && !others.is_empty() {
        return Err(LoadError::usage(format!(
            "option `delete_old` deletes {name}, which has other aliases too ({}); move them first, or leave option `delete_old` out",
            others.join(", ")
        )));
    }
    Ok(())
}

/// Where the old index is before the load.
async fn note(transport: &Transport, options: &SwapConfig, name: String, uuid: String) -> Result<Old, ClusterError> {
    let marks = match changes::marks(transport, &name).await {
        Ok(marks) => Some(marks),
        Err(error) if options.old_writes == OldWrites::CatchUp => return Err(error),
        Err(error) => {
            tracing::warn!("writes to {name} during the load will not be noticed: {error}");
            None
        }
    };
    Ok(Old { name, uuid, marks })
}

/// In what way the alias does not stand for what it stood for.
pub(super) fn difference(alias: &str, noted: &Noted, now: &Standing) -> Option<String> {
    match (&noted.old, now) {
        (None, None) => None,
        (Some(old), Some((name, carrier))) if old.name == *name && old.uuid == carrier.uuid => None,
        (Some(old), Some((name, _))) if old.name == *name => Some(format!("{name} was deleted and made anew")),
        (None, Some((name, _))) if name == alias => Some(format!("an index {alias} was made")),
        (None, Some((name, _))) => Some(format!("the alias {alias} was put on {name}")),
        (Some(old), None) => Some(format!("the alias {alias}, which stood for {}, was removed", old.name)),
        (Some(old), Some((name, _))) => Some(format!("the alias {alias} was moved from {} to {name}", old.name)),
    }
}

/// Searches through an alias with routing look at some shards only.
fn routing_warning(config: &LoadConfig, alias: &str, now: &Standing) -> Option<String> {
    let carried = now.as_ref()?.1.aliases.get(alias)?;
    let routing = carried.get("search_routing")?.as_str().filter(|_| config.routing.is_none())?;
    Some(format!(
        "searches through {alias} look only at the shards of its search_routing {routing}, and the documents are loaded without routing: in an index of several shards they may not be found; give option `routing`"
    ))
}

/// `trips-20260131-235959-123`, UTC: in the order of time.
fn name_at(alias: &str, now: SystemTime) -> String {
    let t = time::OffsetDateTime::from(now);
    format!(
        "{alias}-{:04}{:02}{:02}-{:02}{:02}{:02}-{:03}",
        t.year(),
        u8::from(t.month()),
        t.day(),
        t.hour(),
        t.minute(),
        t.second(),
        t.millisecond()
    )
}

fn exists(index: &str) -> LoadError {
    refuse(
        index,
        "it exists already, and option `alias` loads into a new index; name another, delete it, or leave option `index` out"
            .to_owned(),
    )
}

fn refuse(name: &str, problem: String) -> LoadError {
    ClusterError::Target { name: name.to_owned(), problem }.into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn names_are_in_the_order_of_time() {
        let at = |ms: u64| name_at("trips", UNIX_EPOCH + Duration::from_millis(ms));
        assert_eq!(at(1_769_903_999_123), "trips-20260131-235959-123");
        assert!(at(1_769_903_999_999) < at(1_769_904_000_000));
    }

    #[test]
    fn a_move_by_somebody_else_is_noticed() {
        let carrier = |uuid: &str| Carrier { uuid: uuid.into(), aliases: serde_json::Map::new(), data_stream: None };
        let old = Old { name: "a".into(), uuid: "u".into(), marks: None };
        let with = Noted { index: "n".into(), old: Some(old) };
        let without = Noted { index: "n".into(), old: None };
        let check = |noted: &Noted, now: Option<(&str, &str)>| {
            difference("al", noted, &now.map(|(name, uuid)| (name.to_owned(), carrier(uuid)))).unwrap_or_default()
        };
        assert_eq!(check(&with, Some(("a", "u"))), "");
        assert_eq!(check(&without, None), "");
        assert!(check(&with, Some(("a", "other"))).contains("made anew"));
        assert!(check(&with, Some(("b", "u"))).contains("moved from a to b"));
        assert!(check(&with, None).contains("was removed"));
        assert!(check(&without, Some(("b", "u"))).contains("put on b"));
    }
}
