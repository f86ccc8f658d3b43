//! Waits for a state of the index: refreshed, green, replicated.

use std::collections::BTreeMap;

use inrush_cluster::api::changes::{self, Copies, ShardCopy};
use inrush_cluster::api::copies::{self, Health};
use inrush_cluster::api::stats;

use super::waiting::{Waiting, is_passing};
use crate::progress::Step;

/// Refreshes the indices, so that searches find all documents.
pub(super) async fn searchable(waiting: &Waiting, names: &[String]) -> Result<String, String> {
    waiting.show(Step::Searchable, "refreshing");
    for name in names {
        let shards = stats::refresh(&waiting.transport, name).await.map_err(|e| e.to_string())?;
        if shards.failed > 0 {
            return Err(format!("{} of {} shard copies of {name} were not refreshed", shards.failed, shards.total));
        }
    }
    Ok("refreshed".to_owned())
}

/// Waits until all shard copies are in use. With `or_best` it waits only for the copies that the
/// nodes can hold. Returns the state of each index.
pub(super) async fn green(waiting: &Waiting, names: &[String], or_best: bool) -> Result<String, String> {
    let (mut states, transport) = (Vec::new(), waiting.asking());
    for name in names {
        let mut wait = waiting.wait();
        loop {
            let state = match copies::health(&transport, name).await {
                Ok(health) if health.is_green() => {
                    states.push(format!("{name} is green"));
                    break;
                }
                Ok(health) if or_best && health.is_as_good_as_it_gets() => {
                    let missing = health.copies.saturating_sub(health.active);
                    states.push(format!(
                        "{name} is {}, the best state that the nodes allow (no node for {missing} of {} shard copies)",
                        health.status, health.copies
                    ));
                    break;
                }
                Ok(health) => of(name, &health),
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) => return Err(error.to_string()),
            };
            waiting.show(Step::Green, &state);
            wait.pause(&state).await?;
        }
    }
    Ok(states.join("; "))
}

fn of(name: &str, health: &Health) -> String {
    format!("{name} is {}", health.words())
}

/// Waits until every copy has all operations that its primary had at the beginning of the wait. A
/// copy in use is "in sync", so it has them; with segment replication it can still lack segments.
pub(super) async fn replicated(waiting: &Waiting, names: &[String]) -> Result<String, String> {
    let (mut copies, transport) = (0, waiting.asking());
    for name in names {
        let mut wanted: Option<BTreeMap<(String, u32), i64>> = None;
        let mut wait = waiting.wait();
        loop {
            let found = async {
                let health = copies::health(&transport, name).await?;
                Ok((health, changes::copies(&transport, name).await?))
            };
            let state = match found.await {
                Ok((health, found)) => {
                    let wanted = wanted.get_or_insert_with(|| primaries(&found));
                    match lacking(&health, &found, wanted) {
                        None => {
                            copies += found.shards.values().map(Vec::len).sum::<usize>();
                            break;
                        }
                        Some(state) => format!("{name}: {state}"),
                    }
                }
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) => return Err(error.to_string()),
            };
            waiting.show(Step::Replicated, &state);
            wait.pause(&state).await?;
        }
    }
    Ok(format!("{copies} shard copies have all operations"))
}

fn primaries(copies: &Copies) -> BTreeMap<(String, u32), i64> {
    let primary = |copies: &Vec<ShardCopy>| copies.iter().find(|copy| copy.primary).map_or(-1, |copy| copy.max);
    copies.shards.iter().map(|(shard, copies)| (shard.clone(), primary(copies))).collect()
}

/// The missing copies or operations, as text. `None` where nothing is missing.
fn lacking(health: &Health, copies: &Copies, wanted: &BTreeMap<(String, u32), i64>) -> Option<String> {
    if !health.is_green() {
        return Some(health.words());
    }
    let present: usize = copies.shards.values().map(Vec::len).sum();
    if (present as u64) < health.copies {
        return Some(format!("{present} of {} shard copies answer", health.copies));
    }
    let has_all = |(shard, copies): (&(String, u32), &Vec<ShardCopy>)| {
        let wanted = wanted.get(shard).copied().unwrap_or(-1);
        copies.iter().all(|copy| copy.all_up_to >= wanted)
    };
    let behind = copies.shards.iter().filter(|shard| !has_all(*shard)).count();
    match behind {
        0 if !copies.lags => None,
        0 => Some("replicas lack segments of their primaries".to_owned()),
        behind => Some(format!("copies of {behind} shards lack operations of their primaries")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_to_be_there_and_to_have_everything() {
        let health = |status: &str| Health {
            status: status.into(),
            copies: 2,
            active: 2,
            initializing: 0,
            possible: 2,
            data_nodes: 2,
        };
        let copies = |replica: Option<i64>| {
            let one = |primary, max| ShardCopy { primary, max, all_up_to: max, on_all_up_to: max };
            let copies = std::iter::once(one(true, 9)).chain(replica.map(|max| one(false, max))).collect();
            Copies { shards: [(("a".to_owned(), 0), copies)].into(), lags: false }
        };
        let wanted = primaries(&copies(None));
        assert_eq!(wanted[&("a".to_owned(), 0)], 9);
        let check = |status: &str, replica: Option<i64>| lacking(&health(status), &copies(replica), &wanted);
        assert!(check("yellow", Some(9)).unwrap().contains("yellow"));
        assert_eq!(check("green", None).unwrap(), "1 of 2 shard copies answer");
        assert_eq!(check("green", Some(8)).unwrap(), "copies of 1 shards lack operations of their primaries");
        assert_eq!(check("green", Some(9)), None);
        let lags = Copies { lags: true, ..copies(Some(9)) };
        assert!(lacking(&health("green"), &lags, &wanted).unwrap().contains("segments"));
    }
}
