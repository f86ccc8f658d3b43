//! The beginning of a swap: the name of the new index, and the index behind the alias.

use std::time::SystemTime;

use inrush_cluster::api::aliases::{self, Carrier};
use inrush_cluster::api::changes::{self, Marks};
use inrush_cluster::api::history::{self, Before, Mark, Missing};
use inrush_cluster::api::rights::{Need, Right};
use inrush_cluster::api::{ClusterError, Target, TargetKind, index};
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::LoadConfig;
use crate::config::{OldWrites, SwapConfig};
use crate::error::LoadError;
use crate::utc::utc_ms;

/// State of the swap before the first document. The checkpoint keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Noted {
    /// The new index.
    pub(super) index: String,
    /// The index that it replaces.
    pub(super) old: Option<Old>,
}

/// The index that the swap replaces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Old {
    pub(super) name: String,
    pub(super) uuid: String,
    /// Sequence numbers of its shards before the load. `None` where they could not be read.
    pub(super) marks: Option<Marks>,
}

impl Noted {
    /// The new index.
    pub fn index(&self) -> &str {
        &self.index
    }
}

/// A swap that the load makes at its end.
#[derive(Clone, Debug)]
pub struct Swapping {
    pub(super) options: SwapConfig,
    /// State of the swap in the checkpoint.
    pub noted: Noted,
    /// The alias already stands for the new index: an earlier run was interrupted after the swap.
    pub is_done: bool,
    /// This run resumes a load into the index of an earlier run.
    pub(super) resumed: bool,
    /// The new index may be empty.
    pub(super) allow_empty: bool,
    /// What an earlier load has left out of the new index, where this one gives it the rest.
    pub(super) missing: Option<Missing>,
    /// Filter, routing and write-index flag of the alias before the load.
    pub(super) carried: Map<String, Value>,
    pub(super) warnings: Vec<String>,
    /// When the alias may have changed, in words for the error.
    pub(super) during: &'static str,
}

/// The index behind the alias.
pub(super) type Standing = Option<(String, Carrier)>;

/// Decides the name of the new index before the first document: [`Noted::index`]. `earlier` is the
/// state of an interrupted run.
///
/// # Errors
/// The alias cannot be moved, or an index has the name of the new one.
pub async fn begin(
    transport: &Transport,
    config: &LoadConfig,
    earlier: Option<Noted>,
) -> Result<Option<Swapping>, LoadError> {
    let Some(options) = config.finish.swap.clone() else { return Ok(None) };
    let alias = &options.alias;
    let now = standing(transport, alias).await?;
    let shared = config.index.fixed().filter(|index| options.is_shared && index != alias);
    let done = earlier.as_ref().map(|noted| noted.index.as_str()).or(shared);
    let is_done = matches!((&now, done), (Some((name, _)), Some(index)) if *name == *index);
    if !is_done {
        check_old(&options, &now)?;
    }
    let warnings = routing_warning(config, alias, &now).into_iter().collect();
    let carried = carried(alias, &now);
    let resumed = earlier.is_some();
    let mut missing = None;
    let noted = match earlier {
        Some(noted) => {
            if !is_done && let Some(problem) = difference(alias, &noted, &now) {
                let option = if config.once { "option `once`" } else { "option `resume`" };
                return Err(LoadError::State(format!(
                    "{problem} since the load was interrupted; leave {option} out to load from the beginning"
                )));
            }
            if options.finishes && !is_done {
                missing = Some(left_out(transport, &noted.index, alias, &now).await?);
            }
            noted
        }
        None => {
            let index = match config.index.fixed() {
                Some(index) if index != alias => index.to_owned(),
                _ => name_at(alias, clock::date()),
            };
            if options.finishes {
                missing = Some(left_out(transport, &index, alias, &now).await?);
            } else if !options.is_shared && index::exists(transport, &index).await? {
                return Err(exists(&index));
            }
            let old = match now.filter(|_| !is_done) {
                Some((name, carrier)) => Some(note(transport, config, &options, (name, carrier.uuid)).await?),
                None => None,
            };
            Noted { index, old }
        }
    };
    tracing::info!("loading into the new index {}, for the alias {alias}", noted.index);
    let allow_empty = config.allow_empty;
    let during = "during the load";
    Ok(Some(Swapping { options, noted, is_done, resumed, allow_empty, missing, carried, warnings, during }))
}

/// Who needs the rights of a swap.
pub(crate) const BY_ALIAS: &str = "option `alias` needs at the end";

impl Swapping {
    /// The index that the new one replaces. None where there is none, or where it was replaced.
    pub(crate) fn replaces(&self) -> Option<&str> {
        self.noted.old.as_ref().filter(|_| !self.is_done).map(|old| old.name.as_str())
    }

    /// What is written into the mapping of the new index when it is created.
    pub(crate) fn mark(&self) -> Mark {
        let before = self.noted.old.as_ref().filter(|old| old.name != self.options.alias);
        Mark {
            alias: self.options.alias.clone(),
            index: self.noted.index.clone(),
            made: utc_ms(clock::date()),
            complete: None,
            uuid: None,
            missing: None,
            before: before.map(|old| Before { index: old.name.clone(), uuid: old.uuid.clone() }),
        }
    }

    /// Notes in the new index that it is complete, before the alias moves to it.
    ///
    /// # Errors
    /// A request failed.
    pub(super) async fn note_complete(&self, transport: &Transport) -> Result<(), ClusterError> {
        let complete = Some(utc_ms(clock::date()));
        let uuid = index::uuids(transport, &self.noted.index).await?.remove(&self.noted.index);
        history::mark(transport, &self.noted.index, |found| {
            let mark = self.mark();
            let made = found.map_or(mark.made, |found| found.made);
            Mark { made, complete, uuid, ..mark }
        })
        .await
    }

    /// Notes in the new index what the load has left out, so that a later load can give it the
    /// rest.
    ///
    /// # Errors
    /// A request failed.
    pub(super) async fn note_missing(&self, transport: &Transport, missing: Missing) -> Result<(), ClusterError> {
        history::mark(transport, &self.noted.index, |found| Mark {
            missing: Some(missing),
            ..found.unwrap_or_else(|| self.mark())
        })
        .await
    }

    /// Whether the new index may exist already: another run or another load has made it.
    pub(crate) fn may_go_on(&self) -> bool {
        self.resumed || self.options.is_shared || self.options.finishes
    }

    /// Whether several loads fill the new index.
    pub fn is_shared(&self) -> bool {
        self.options.is_shared
    }

    /// The rights that the swap needs on the alias and on the index that it replaces.
    pub fn rights(&self) -> Vec<Need> {
        let SwapConfig { alias, delete_old, keep, old_writes, .. } = &self.options;
        let mut rights = vec![Need::new(Right::Aliases, alias, BY_ALIAS)];
        let Some(old) = self.noted.old.as_ref().filter(|_| !self.is_done) else { return rights };
        if old.name == *alias {
            // The swap deletes the index that has the name of the alias.
            rights.clear();
        } else {
            rights.push(Need::new(Right::Aliases, &old.name, BY_ALIAS));
        }
        if keep.is_some() {
            rights.push(Need::new(Right::DeleteIndex, &old.name, "option `keep` needs at the end"));
        }
        if *delete_old {
            rights.push(Need::new(Right::DeleteIndex, &old.name, "option `delete_old` needs at the end"));
        }
        if *old_writes == OldWrites::CatchUp {
            let by = "option `old_writes=catch-up` needs at the end";
            rights.extend([Right::Refresh, Right::Search, Right::Stats].map(|right| Need::new(right, &old.name, by)));
        }
        rights
    }

    /// Checks that the new index can be created. Called before its creation.
    ///
    /// # Errors
    /// A template that creates data streams, or an index that was created meanwhile.
    pub fn check_new(&self, target: Option<&Target>) -> Result<(), LoadError> {
        let Some(Target { name, kind }) = target.filter(|_| !self.resumed) else { return Ok(()) };
        if self.may_go_on() && matches!(kind, TargetKind::Index(_)) {
            return Ok(());
        }
        match kind {
            TargetKind::Missing { template: Some(template), .. } if template.data_stream => Err(refuse(
                name,
                format!(
                    "the index template {} creates data streams for this name, and option `alias` needs an index; name another with option `index`",
                    template.name
                ),
            )),
            TargetKind::Missing { .. } => Ok(()),
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::DataStream { .. } | TargetKind::Hidden => {
                Err(exists(name))
            }
        }
    }

    /// Checks that the new index has not got the alias by its creation.
    ///
    /// # Errors
    /// A template gives new indices the alias, which would show an incomplete index. The new index
    /// is deleted.
    pub async fn check_made(&self, transport: &Transport) -> Result<(), LoadError> {
        let (alias, index) = (&self.options.alias, &self.noted.index);
        if self.resumed || !aliases::behind(transport, alias).await?.contains_key(index) {
            return Ok(());
        }
        index::delete(transport, index).await?;
        Err(refuse(
            index,
            format!(
                "an index template gives the alias {alias} to new indices, so it would stand for an incomplete index; remove the alias from the template"
            ),
        ))
    }
}

/// The index that has the alias, or its name.
///
/// # Errors
/// The alias stands for several indices, or for a data stream.
pub(super) async fn standing(transport: &Transport, alias: &str) -> Result<Standing, ClusterError> {
    let found = aliases::behind(transport, alias).await?;
    let refuse = |problem: String| Err(ClusterError::Target { name: alias.to_owned(), problem });
    if let Some(stream) =
        found.values().find_map(|carrier| carrier.data_stream.as_ref()).filter(|_| !found.contains_key(alias))
    {
        return refuse(format!(
            "it is the data stream {stream} or an alias of it, and option `alias` cannot replace its indices; load into it with option `index`"
        ));
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.keys().map(String::as_str).take(5).collect();
        let more = if found.len() > names.len() { ", …" } else { "" };
        return refuse(format!(
            "it is an alias of {} indices ({}{more}), and option `alias` replaces exactly one index; remove the alias from the others, or load into one of them with option `index`",
            found.len(),
            names.join(", ")
        ));
    }
    Ok(found.into_iter().next())
}

/// What an earlier load for the alias has left out of this index.
///
/// # Errors
/// The index was not made for the alias, its load has not read all documents, or the alias has
/// moved since.
async fn left_out(transport: &Transport, index: &str, alias: &str, now: &Standing) -> Result<Missing, LoadError> {
    let mark = history::marks(transport, index).await?.remove(index).filter(|mark| mark.alias == alias);
    let Some(mark) = mark else {
        let problem = format!(
            "no load has made it for the alias {alias}, so the alias is not moved to it; leave option `alias` out"
        );
        return Err(refuse(index, problem));
    };
    let stands = now.as_ref().filter(|(name, _)| name != alias).map(|(_, carrier)| carrier.uuid.as_str());
    if mark.before.as_ref().map(|before| before.uuid.as_str()) != stands {
        let problem = format!(
            "the alias {alias} was moved since the load that made this index; leave option `alias` out, or load again from the beginning"
        );
        return Err(refuse(index, problem));
    }
    mark.missing.ok_or_else(|| {
        let problem = format!("the load that made it for the alias {alias} has not read all of its documents, so the dead letters are not the rest of them; resume it, or load again from the beginning");
        refuse(index, problem)
    })
}

/// Filter, routing and write-index flag of the alias.
pub(super) fn carried(alias: &str, now: &Standing) -> Map<String, Value> {
    let carried = now.as_ref().and_then(|(_, carrier)| carrier.aliases.get(alias)?.as_object().cloned());
    carried.unwrap_or_default()
}

/// Refuses an old index that the swap cannot handle as configured.
fn check_old(options: &SwapConfig, now: &Standing) -> Result<(), LoadError> {
    let (alias, Some((name, carrier))) = (&options.alias, now) else { return Ok(()) };
    if name == alias && !options.delete_old {
        return Err(LoadError::usage(format!(
            "{alias} is an index, and an alias cannot have the name of an index: the swap would delete the index with all its documents and create the alias in one step; give option `delete_old` to allow that"
        )));
    }
    let others: Vec<&str> = carrier.aliases.keys().filter(|other| *other != alias).map(String::as_str).collect();
    if options.delete_old && !others.is_empty() {
        return Err(LoadError::usage(format!(
            "option `delete_old` deletes {name}, which has other aliases ({}); move them first, or leave option `delete_old` out",
            others.join(", ")
        )));
    }
    Ok(())
}

/// Reads the state of the old index before the load.
async fn note(
    transport: &Transport,
    config: &LoadConfig,
    options: &SwapConfig,
    (name, uuid): (String, String),
) -> Result<Old, ClusterError> {
    let marks = match changes::marks(transport, &name).await {
        Ok(marks) => Some(marks),
        Err(error) if options.old_writes == OldWrites::CatchUp => return Err(error),
        Err(error) => {
            config.told.warn(format!("writes to {name} during the load will not be detected: {error}"));
            None
        }
    };
    Ok(Old { name, uuid, marks })
}

/// Change of the index behind the alias since the load began, as text.
pub(super) fn difference(alias: &str, noted: &Noted, now: &Standing) -> Option<String> {
    match (&noted.old, now) {
        (None, None) => None,
        (Some(old), Some((name, carrier))) if old.name == *name && old.uuid == carrier.uuid => None,
        (Some(old), Some((name, _))) if old.name == *name => Some(format!("{name} was deleted and created again")),
        (None, Some((name, _))) if name == alias => Some(format!("an index {alias} was created")),
        (None, Some((name, _))) => Some(format!("the alias {alias} was added to {name}")),
        (Some(old), None) => Some(format!("the alias {alias}, which stood for {}, was removed", old.name)),
        (Some(old), Some((name, _))) => Some(format!("the alias {alias} was moved from {} to {name}", old.name)),
    }
}

/// A warning where the alias has a search routing: its searches read only some of the shards.
fn routing_warning(config: &LoadConfig, alias: &str, now: &Standing) -> Option<String> {
    let carried = now.as_ref()?.1.aliases.get(alias)?;
    let routing = carried.get("search_routing")?.as_str().filter(|_| config.routing.is_none())?;
    Some(format!(
        "searches through {alias} read only the shards of its search_routing {routing}, and the documents are loaded without routing, so searches may miss them in an index of several shards; give option `routing`"
    ))
}

/// A name such as `trips-20260131-235959-123` (UTC), so that names sort by time.
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
        "it exists already, and option `alias` loads into a new index; name another index, delete this one, or leave option `index` out"
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
    fn a_move_by_another_client_is_noticed() {
        let carrier = |uuid: &str| Carrier { uuid: uuid.into(), aliases: serde_json::Map::new(), data_stream: None };
        let old = Old { name: "a".into(), uuid: "u".into(), marks: None };
        let with = Noted { index: "n".into(), old: Some(old) };
        let without = Noted { index: "n".into(), old: None };
        let check = |noted: &Noted, now: Option<(&str, &str)>| {
            difference("al", noted, &now.map(|(name, uuid)| (name.to_owned(), carrier(uuid)))).unwrap_or_default()
        };
        assert_eq!(check(&with, Some(("a", "u"))), "");
        assert_eq!(check(&without, None), "");
        assert!(check(&with, Some(("a", "other"))).contains("created again"));
        assert!(check(&with, Some(("b", "u"))).contains("moved from a to b"));
        assert!(check(&with, None).contains("was removed"));
        assert!(check(&without, Some(("b", "u"))).contains("added to b"));
    }
}
