//! The verification of a load. At the end the load counts the index. The count must equal the count
//! before the load plus created documents minus deleted ones. Where another cause can change the
//! count, the report says that the count proves nothing, and why.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use inrush_cluster::api::{Target, TargetKind, index, stats};
use inrush_cluster::transport::Transport;
use inrush_core::report::{Counts, IndexCounts};
use serde::{Deserialize, Serialize};

use crate::progress::Phase;
use crate::report::{Verified, VerifiedState};

/// Changes of the number of documents in an index by one load, or by several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) created: u64,
    pub(crate) deleted: u64,
    pub(crate) possible_duplicates: u64,
    /// Largest number of documents that may exist besides the acknowledged ones: possible
    /// duplicates, and attempts with an unknown outcome.
    pub(crate) more: u64,
    /// Largest number of acknowledged documents that may be missing.
    pub(crate) fewer: u64,
}

impl Share {
    /// Changes by one load. `repeated` says that a primary of the index changed during the load.
    /// The node that takes over a request then repeats the operations of the old primary, and
    /// answers `updated` for a new document and `not_found` for a deleted one.
    pub(crate) fn of(counts: &Counts, indices: &BTreeMap<String, IndexCounts>, repeated: bool) -> Self {
        let sum = |of: fn(&IndexCounts) -> u64| indices.values().map(of).sum::<u64>();
        // A summary of replies names no index, so the total counts are used.
        let (created, deleted) = match indices.is_empty() {
            true => (counts.docs_created, counts.docs_deleted),
            false => (sum(|i| i.created), sum(|i| i.deleted)),
        };
        Share::new(created, deleted, counts, repeated)
    }

    fn new(created: u64, deleted: u64, counts: &Counts, repeated: bool) -> Self {
        let (updates, deletes) = match repeated {
            true => (counts.docs_updated, counts.docs_not_found),
            false => (counts.uncertain_updates, counts.uncertain_deletes),
        };
        let possible_duplicates = counts.possible_duplicates;
        let more = possible_duplicates + counts.uncertain_creates + updates + counts.docs_unknown;
        Share { created, deleted, possible_duplicates, more, fewer: deletes + counts.docs_unknown }
    }

    /// The sum of two shares.
    pub(crate) fn plus(&self, other: &Share) -> Self {
        Share {
            created: self.created + other.created,
            deleted: self.deleted + other.deleted,
            possible_duplicates: self.possible_duplicates + other.possible_duplicates,
            more: self.more + other.more,
            fewer: self.fewer + other.fewer,
        }
    }

    fn exact(&self, before: u64) -> u64 {
        (before + self.created).saturating_sub(self.deleted)
    }

    /// Range of the count that the acknowledged operations and the attempts with unknown outcome
    /// allow.
    fn allowed(&self, before: u64) -> RangeInclusive<u64> {
        let exact = self.exact(before);
        exact.saturating_sub(self.fewer)..=exact.saturating_add(self.more)
    }
}

/// The expected content of the fixed target of a load.
pub(crate) struct Fixed<'a> {
    /// The target.
    pub(crate) target: &'a Target,
    /// Documents before the load.
    pub(crate) before: u64,
    /// Changes by this load, and by loads that ran at the same time.
    pub(crate) share: Share,
    /// Number of these loads.
    pub(crate) loads: u64,
}

/// The expected counts.
pub(crate) struct Expectation<'a> {
    /// `None` where every document names its index.
    pub(crate) fixed: Option<Fixed<'a>>,
    /// Indices of earlier runs of the same load.
    pub(crate) earlier: &'a [String],
    /// Documents before the load where they could be counted, by index that a placeholder named.
    pub(crate) before: &'a BTreeMap<String, Option<u64>>,
    pub(crate) counts: &'a Counts,
    pub(crate) indices: &'a BTreeMap<String, IndexCounts>,
}

/// The result without a verification.
pub(crate) fn off() -> Verified {
    Verified::new(VerifiedState::Off, "off".to_owned())
}

/// Shows the phase of the verification.
pub(crate) type Show<'a> = &'a (dyn Fn(&Phase) + Send + Sync);

/// Refreshes the index, counts its documents and compares the count.
pub(crate) async fn verify(transport: &Transport, expectation: &Expectation<'_>, show: Show<'_>) -> Verified {
    let Expectation { fixed, earlier, before, counts, indices } = expectation;
    match fixed {
        Some(Fixed { target, before, share, loads }) => {
            if let Some(why) = moved(transport, target, earlier, indices).await {
                return Verified::new(VerifiedState::No, why);
            }
            if let Some(why) = unprovable(target, indices) {
                return not_provable(why);
            }
            let counted = count(transport, &target.name, show).await;
            let mut verified = judge(&target.name, counted, *before, share);
            if *loads > 1 {
                verified.detail.push_str(&format!("; the counts include {loads} loads that ran at the same time"));
            }
            verified
        }
        None => each(transport, before, (counts, indices), show).await,
    }
}

/// Verifies the indices that the documents named.
async fn each(
    transport: &Transport,
    before: &BTreeMap<String, Option<u64>>,
    (counts, indices): (&Counts, &BTreeMap<String, IndexCounts>),
    show: Show<'_>,
) -> Verified {
    // An alias, a data stream or a pipeline wrote documents to an index of another name.
    let elsewhere = indices.keys().find(|name| !before.contains_key(*name)).map(|other| {
        not_provable(format!(
            "documents went to {other}, which no document names: an alias, a data stream or a pipeline sent them there"
        ))
    });
    let mut duplicates = 0;
    for (name, before) in before {
        let Some(before) = *before else {
            return not_provable(format!("{name} could not be counted before the load"));
        };
        let IndexCounts { created, deleted, .. } = indices.get(name).cloned().unwrap_or_default();
        let counted = count(transport, name, show).await;
        let one = judge(name, counted, before, &Share::new(created, deleted, counts, false));
        duplicates += one.duplicates;
        match (one.state, &elsewhere) {
            (VerifiedState::Yes, _) => {}
            (VerifiedState::No, Some(elsewhere)) => return elsewhere.clone(),
            _ => return one,
        }
    }
    elsewhere.unwrap_or_else(|| Verified {
        state: VerifiedState::Yes,
        detail: format!("{} indices hold the counted documents", before.len()),
        duplicates,
    })
}

/// The result of a verification that can prove nothing, and why.
pub(crate) fn not_provable(detail: String) -> Verified {
    Verified::new(VerifiedState::NotProvable, detail)
}

/// Why documents are outside the indices of the alias: the alias was moved or removed while they
/// were sent, or between an interrupted run and this one.
async fn moved(
    transport: &Transport,
    target: &Target,
    earlier: &[String],
    indices: &BTreeMap<String, IndexCounts>,
) -> Option<String> {
    let TargetKind::Alias { indices: first, .. } = &target.kind else { return None };
    let alias = &target.name;
    let now = index::uuids(transport, alias).await.ok()?;
    let elsewhere: Vec<String> = indices
        .iter()
        // Documents that a pipeline sent to another index are handled elsewhere.
        .filter(|(name, _)| first.contains(name) || earlier.contains(name) || *name == alias)
        .filter(|(name, _)| !now.contains_key(*name))
        .map(|(name, counts)| format!("{} in {name}", counts.created + counts.updated + counts.deleted))
        .collect();
    let stands_for = match now.is_empty() {
        true => "it does not exist any more".to_owned(),
        false => format!("it stands for {}", now.into_keys().collect::<Vec<_>>().join(", ")),
    };
    (!elsewhere.is_empty()).then(|| {
        format!(
            "the alias {alias} was moved during the load: {stands_for}, and documents are elsewhere ({}); load into an \
             index by its own name, and move the alias at the end",
            elsewhere.join(", ")
        )
    })
}

/// Why a count through the target's name can prove nothing.
pub(crate) fn unprovable(target: &Target, indices: &BTreeMap<String, IndexCounts>) -> Option<String> {
    let elsewhere = |known: &dyn Fn(&str) -> bool| {
        indices.keys().find(|name| !known(name)).map(|name| {
            format!(
                "documents went to {name}, which is not part of {}: a pipeline or another alias sent them there",
                target.name
            )
        })
    };
    match &target.kind {
        TargetKind::Alias { filtered: true, .. } => {
            Some(format!("the alias {} has a filter, so a count through it misses documents", target.name))
        }
        TargetKind::Hidden => Some(format!("this user has no permission to read the metadata of {}", target.name)),
        TargetKind::Alias { indices: known, .. } => elsewhere(&|name| known.iter().any(|k| k == name)),
        // The server names the backing indices. A rollover may have added one.
        TargetKind::DataStream { stream, .. } => elsewhere(&|name| name.starts_with(&format!(".ds-{stream}-"))),
        TargetKind::Missing { .. } | TargetKind::Index(_) => {
            elsewhere(&|name| name == target.name || name.starts_with(&format!(".ds-{}-", target.name)))
        }
    }
}

async fn count(transport: &Transport, name: &str, show: Show<'_>) -> Result<u64, String> {
    show(&Phase::Refreshing);
    stats::refresh(transport, name).await.map_err(|e| e.to_string())?;
    show(&Phase::Verifying);
    stats::count(transport, name).await.map_err(|e| e.to_string())
}

fn judge(name: &str, counted: Result<u64, String>, before: u64, share: &Share) -> Verified {
    let counted = match counted {
        Ok(counted) => counted,
        Err(e) => return not_provable(format!("{name} could not be counted: {e}")),
    };
    let (exact, expected) = (share.exact(before), share.allowed(before));
    let Share { created, deleted, possible_duplicates, .. } = share;
    let sum = format!("{before} before + {created} created - {deleted} deleted");
    if counted == exact {
        let detail = format!("{name} holds {counted} documents = {sum}");
        return Verified::new(VerifiedState::Yes, detail);
    }
    if expected.contains(&counted) {
        let detail = format!(
            "{name} holds {counted} documents, {} {} than {sum}; requests without an answer, or documents that a new primary already had, explain the difference",
            counted.abs_diff(exact),
            if counted > exact { "more" } else { "fewer" }
        );
        // Only duplicates explain a larger count.
        let explained = expected.end().saturating_sub(*possible_duplicates).max(exact);
        let duplicates = counted.saturating_sub(explained);
        return Verified { state: VerifiedState::Yes, detail, duplicates };
    }
    let detail = if counted < exact {
        format!(
            "{name} holds {counted} documents, {} fewer than {sum}: another client deleted them, or the cluster lost them",
            exact - counted
        )
    } else {
        format!(
            "{name} holds {counted} documents, {} more than {sum}: another client may be writing to it",
            counted - exact
        )
    };
    Verified::new(VerifiedState::No, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counted: u64, counts: &Counts, state: VerifiedState, words: &str) {
        let verified = judge("x", Ok(counted), 10, &Share::new(5, 2, counts, false));
        assert_eq!(verified.state, state, "{verified:?}");
        assert!(verified.detail.contains(words), "{verified:?}");
    }

    #[test]
    fn counts_are_compared() {
        let sure = Counts::default();
        check(13, &sure, VerifiedState::Yes, "13 documents = 10 before + 5 created - 2 deleted");
        check(12, &sure, VerifiedState::No, "1 fewer");
        check(14, &sure, VerifiedState::No, "1 more");
        let unsure = Counts::build(|c| c.possible_duplicates = 2);
        check(15, &unsure, VerifiedState::Yes, "2 more");
        check(16, &unsure, VerifiedState::No, "3 more");
        check(12, &unsure, VerifiedState::No, "1 fewer");
        let unsure = Counts::build(|c| (c.docs_already_there, c.uncertain_creates) = (2, 2));
        check(15, &unsure, VerifiedState::Yes, "2 more");
        // The comparison found these documents in the index before.
        let compared = Counts::build(|c| c.docs_already_there = 2);
        check(14, &compared, VerifiedState::No, "1 more");
    }

    #[test]
    fn copies_that_nothing_else_explains_are_proven() {
        let proven =
            |counted, counts: &Counts| judge("x", Ok(counted), 10, &Share::new(5, 2, counts, false)).duplicates;
        let counts = Counts::build(|c| c.possible_duplicates = 5);
        assert_eq!((proven(13, &counts), proven(16, &counts), proven(18, &counts)), (0, 3, 5));
        let either = Counts::build(|c| (c.possible_duplicates, c.uncertain_updates) = (5, 2));
        assert_eq!((proven(15, &either), proven(16, &either)), (0, 1));
    }

    #[test]
    fn after_another_primary_took_over_an_update_may_be_a_new_document() {
        let counts = Counts::build(|c| (c.docs_updated, c.docs_not_found, c.uncertain_updates) = (3, 1, 1));
        assert_eq!(Share::new(5, 2, &counts, false).allowed(10), 13..=14);
        assert_eq!(Share::new(5, 2, &counts, true).allowed(10), 12..=16);
    }

    #[test]
    fn other_indices_make_it_unprovable() {
        let target = Target { name: "x".into(), kind: TargetKind::Missing { template: None, by_document: false } };
        let to = |name: &str| BTreeMap::from([(name.to_owned(), IndexCounts::default())]);
        assert_eq!(unprovable(&target, &to("x")), None);
        assert!(unprovable(&target, &to("y")).unwrap().contains("went to y"));
    }
}
