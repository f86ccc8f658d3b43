//! The indices that an alias stood for before, and the way back to one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::aliases::{self, Carrier};
use inrush_cluster::api::history::{self, Mark};
use inrush_cluster::api::{ClusterError, copies, stats};
use inrush_cluster::transport::Transport;
use serde::Serialize;

use super::swap;
use super::swapping::{Noted, Old, Swapping, carried, standing};
use super::waiting::Waiting;
use crate::config::SwapConfig;
use crate::error::LoadError;

/// The longest steps back, of one index after the other.
const STEPS_MAX: usize = 100;

/// The indices that loads have made for an alias.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AliasHistory {
    /// The alias.
    pub alias: String,
    /// The index that it stands for.
    pub now: Option<String>,
    /// Complete indices that it could go back to, the one before first.
    pub earlier: Vec<EarlierIndex>,
    /// Indices whose load has failed, or still runs.
    pub unfinished: Vec<EarlierIndex>,
    /// How many of `earlier` the alias stood for before, one after the other. The others are later
    /// ones, or never had the alias.
    #[serde(skip)]
    steps: usize,
}

/// An index that was made for an alias, or that had it before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EarlierIndex {
    /// Its name.
    pub index: String,
    /// Its UUID.
    #[serde(skip)]
    pub uuid: String,
    /// Its other aliases.
    pub aliases: Vec<String>,
    /// Whether its mark has its UUID, and no data stream has it. Copies of an index have its mark.
    #[serde(skip)]
    pub(crate) is_own: bool,
    /// Time (UTC) at which its load began. None of an index that no load has made for the alias.
    pub made: Option<String>,
    /// Time (UTC) at which it was complete.
    pub complete: Option<String>,
    /// Its documents, where they can be counted.
    pub docs: Option<u64>,
}

/// The result of a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RolledBack {
    /// The alias.
    pub alias: String,
    /// The index that it stood for. It is kept.
    pub from: String,
    /// The index that it stands for now.
    pub to: String,
    /// The documents of that index.
    pub docs: u64,
}

/// Reads what an alias stands for, and what it could go back to.
///
/// # Errors
/// A request fails, or the alias stands for several indices.
pub async fn alias_history(transport: &Transport, alias: &str) -> Result<AliasHistory, ClusterError> {
    let mut history = indices_of(transport, alias).await?;
    for index in history.earlier.iter_mut().chain(&mut history.unfinished) {
        index.docs = stats::count(transport, &index.index).await.ok();
    }
    Ok(history)
}

/// The same without the numbers of documents.
pub(crate) async fn indices_of(transport: &Transport, alias: &str) -> Result<AliasHistory, ClusterError> {
    let now = standing(transport, alias).await?.map(|(name, _)| name);
    let pattern = format!("{alias}-*");
    let mut known = aliases::behind(transport, &pattern).await?;
    let mut marks = history::marks(transport, &pattern).await?;
    marks.retain(|_, mark| mark.alias == alias);
    let mut earlier = Vec::new();
    if let Some(now) = &now {
        look(transport, now, alias, &mut known, &mut marks).await?;
        earlier = chain(transport, now, alias, (&mut known, &mut marks)).await?;
    }
    let steps = earlier.len();
    let listed: BTreeSet<String> = earlier.iter().cloned().chain(now.clone()).collect();
    let mut others: Vec<&Mark> = marks.values().filter(|mark| !listed.contains(&mark.index)).collect();
    others.sort_by(|a, b| b.complete.cmp(&a.complete).then_with(|| b.made.cmp(&a.made)));
    let (complete, unfinished): (Vec<&Mark>, Vec<&Mark>) = others.into_iter().partition(|mark| mark.complete.is_some());
    earlier.extend(complete.iter().map(|mark| mark.index.clone()));
    let of = |index: &String| Some(earlier_index(index, alias, known.get(index)?, marks.get(index)));
    Ok(AliasHistory {
        alias: alias.to_owned(),
        now,
        earlier: earlier.iter().filter_map(of).collect(),
        unfinished: unfinished.iter().filter_map(|mark| of(&mark.index)).collect(),
        steps,
    })
}

fn earlier_index(index: &str, alias: &str, carrier: &Carrier, mark: Option<&Mark>) -> EarlierIndex {
    EarlierIndex {
        index: index.to_owned(),
        uuid: carrier.uuid.clone(),
        aliases: carrier.aliases.keys().filter(|other| *other != alias).cloned().collect(),
        is_own: carrier.data_stream.is_none() && mark.is_some_and(|mark| mark.uuid.as_ref() == Some(&carrier.uuid)),
        made: mark.map(|mark| mark.made.clone()),
        complete: mark.and_then(|mark| mark.complete.clone()),
        docs: None,
    }
}

/// Reads an index whose name does not begin with that of the alias.
async fn look(
    transport: &Transport,
    index: &str,
    alias: &str,
    known: &mut BTreeMap<String, Carrier>,
    marks: &mut BTreeMap<String, Mark>,
) -> Result<(), ClusterError> {
    if known.contains_key(index) {
        return Ok(());
    }
    known.extend(aliases::behind(transport, index).await?.into_iter().filter(|(name, _)| name == index));
    marks.extend(history::marks(transport, index).await?.into_iter().filter(|(_, mark)| mark.alias == alias));
    Ok(())
}

/// The indices before `now`, one after the other, as far as they exist.
async fn chain(
    transport: &Transport,
    now: &str,
    alias: &str,
    (known, marks): (&mut BTreeMap<String, Carrier>, &mut BTreeMap<String, Mark>),
) -> Result<Vec<String>, ClusterError> {
    let mut found: Vec<String> = Vec::new();
    let mut at = now.to_owned();
    while let Some(before) = marks.get(&at).and_then(|mark| mark.before.clone()) {
        look(transport, &before.index, alias, known, marks).await?;
        let is_there = known.get(&before.index).is_some_and(|carrier| carrier.uuid == before.uuid);
        if !is_there || before.index == now || found.contains(&before.index) || found.len() == STEPS_MAX {
            break;
        }
        found.push(before.index.clone());
        at = before.index;
    }
    Ok(found)
}

/// Moves the alias in one step to the index before, or to `index`, which the alias stood for or
/// which was made for it. The alias keeps its filter, routing and write-index flag, and no index is
/// deleted.
///
/// # Errors
/// There is no such index, it cannot be searched, or the alias was not moved.
pub async fn rollback(transport: &Arc<Transport>, alias: &str, index: Option<&str>) -> Result<RolledBack, LoadError> {
    let history = indices_of(transport, alias).await?;
    let Some((from, carrier)) = standing(transport, alias).await? else {
        return Err(refuse(alias, "there is no such alias".to_owned()));
    };
    if from == alias {
        return Err(refuse(alias, "it is an index, and only an alias can be moved".to_owned()));
    }
    let to = choose(&history, index)?;
    let docs = check(transport, to).await?;
    let old = Old { name: from.clone(), uuid: carrier.uuid.clone(), marks: None };
    let carried = carried(alias, &Some((from.clone(), carrier)));
    let swapping = Swapping {
        options: SwapConfig::new(alias),
        noted: Noted { index: to.index.clone(), old: Some(old) },
        is_done: false,
        resumed: false,
        allow_empty: false,
        missing: None,
        carried,
        warnings: Vec::new(),
        during: "since the rollback began",
    };
    let waiting = Waiting { transport: Arc::clone(transport), show: Arc::new(|_| {}), timeout: Duration::MAX };
    let mut in_doubt = false;
    match swap::swap(&waiting, &swapping, &mut in_doubt).await {
        Ok(_) => Ok(RolledBack { alias: alias.to_owned(), from, to: to.index.clone(), docs }),
        Err(why) if in_doubt => Err(LoadError::InDoubt(format!(
            "the alias {alias} may or may not have been moved to {}: {why}; look with GET /_alias/{alias}",
            to.index
        ))),
        Err(why) => Err(refuse(alias, format!("it was not moved to {}: {why}", to.index))),
    }
}

fn choose<'a>(history: &'a AliasHistory, index: Option<&str>) -> Result<&'a EarlierIndex, LoadError> {
    let alias = &history.alias;
    let Some(index) = index else {
        let before = history.earlier.get(..history.steps).and_then(<[_]>::first);
        return before.ok_or_else(|| {
            let why = "no load has noted an index before this one, or it was deleted; name one of the indices that the history of the alias has, or move it by hand with POST /_aliases";
            refuse(alias, why.to_owned())
        });
    };
    if history.now.as_deref() == Some(index) {
        return Err(refuse(alias, format!("it stands for {index} already")));
    }
    if history.unfinished.iter().any(|other| other.index == index) {
        return Err(refuse(
            alias,
            format!("the load of {index} has failed or still runs, so the alias is not moved to it"),
        ));
    }
    history.earlier.iter().find(|earlier| earlier.index == index).ok_or_else(|| {
        let names: Vec<&str> = history.earlier.iter().map(|earlier| earlier.index.as_str()).collect();
        let known =
            if names.is_empty() { "there is none".to_owned() } else { format!("there are {}", names.join(", ")) };
        refuse(alias, format!("{index} is not an index that it stood for before or that was made for it; {known}"))
    })
}

/// Checks that searches of the index work. Returns its documents.
async fn check(transport: &Transport, to: &EarlierIndex) -> Result<u64, LoadError> {
    let name = &to.index;
    let health = copies::health(transport, name).await?;
    if health.status == "red" {
        return Err(refuse(name, format!("the alias is not moved to it, because it is {}", health.words())));
    }
    let docs = stats::count_now(transport, name).await?;
    if docs == 0 {
        let why = "the alias is not moved to it, because it has no documents; move it by hand with POST /_aliases";
        return Err(refuse(name, why.to_owned()));
    }
    Ok(docs)
}

fn refuse(name: &str, problem: String) -> LoadError {
    ClusterError::Target { name: name.to_owned(), problem }.into()
}
