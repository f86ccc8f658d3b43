//! The verification of a load. At the end the load counts the index. The count must equal the count
//! before the load plus created documents minus deleted ones. Where another cause can change the
//! count, the report says that the count proves nothing, and why.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use inrush_cluster::api::{Target, TargetKind, index, stats};
use inrush_cluster::transport::Transport;
use inrush_core::report::{Counts, IndexCounts};
use inrush_core::vectors::VectorCounts;

use crate::beginnings::{Beginnings, Repeated};
use crate::progress::Phase;
use crate::report::{Verified, VerifiedState};
pub(crate) use crate::share::{Before, Share};
use crate::vector_check::Vectors;

impl Share {
    /// Changes by one load. `repeated` says whether a primary of the index changed during the load.
    /// The node that takes over a request then repeats the operations of the old primary, and
    /// answers `updated` or `noop` for a new document and `not_found` for a deleted one.
    pub(crate) fn of(counts: &Counts, indices: &BTreeMap<String, IndexCounts>, repeated: Repeated) -> Self {
        let sum = |of: fn(&IndexCounts) -> u64| indices.values().map(of).sum::<u64>();
        // A summary of replies names no index, so the total counts are used.
        let (created, deleted) = match indices.is_empty() {
            true => (counts.docs_created, counts.docs_deleted),
            false => (sum(|i| i.created), sum(|i| i.deleted)),
        };
        let mut share = Share::new((created, counts.docs_updated, deleted), counts, repeated);
        indices.values().for_each(|index| share.add_vectors(&index.vectors));
        share
    }

    fn add_vectors(&mut self, vectors: &BTreeMap<String, VectorCounts>) {
        for (field, more) in vectors {
            self.vectors.entry(field.clone()).or_default().add(more);
        }
    }

    /// Changes of one of several indices.
    fn of_index(index: &IndexCounts, counts: &Counts, repeated: Repeated) -> Self {
        Share::new((index.created, index.updated, index.deleted), counts, repeated)
    }

    fn new((created, updated, deleted): (u64, u64, u64), counts: &Counts, repeated: Repeated) -> Self {
        let more_if = (updated + counts.docs_noop).saturating_sub(counts.uncertain_updates);
        let fewer_if = counts.docs_not_found.saturating_sub(counts.uncertain_deletes);
        let (sure, unsure) = match repeated {
            Repeated::No => ((0, 0), (0, 0)),
            Repeated::Yes => ((more_if, fewer_if), (0, 0)),
            Repeated::Unknown => ((0, 0), (more_if, fewer_if)),
        };
        let possible_duplicates = counts.possible_duplicates;
        let more = possible_duplicates + counts.uncertain_creates + counts.uncertain_updates + counts.docs_unknown;
        Share {
            created,
            updated,
            deleted,
            vectors: BTreeMap::new(),
            possible_duplicates,
            more: more + sure.0,
            fewer: counts.uncertain_deletes + counts.docs_unknown + sure.1,
            more_if_repeated: unsure.0,
            fewer_if_repeated: unsure.1,
        }
    }

    /// The sum of two shares.
    pub(crate) fn plus(&self, other: &Share) -> Self {
        let mut vectors = Share { vectors: self.vectors.clone(), ..Share::default() };
        vectors.add_vectors(&other.vectors);
        Share {
            created: self.created + other.created,
            updated: self.updated + other.updated,
            deleted: self.deleted + other.deleted,
            vectors: vectors.vectors,
            possible_duplicates: self.possible_duplicates + other.possible_duplicates,
            more: self.more + other.more,
            fewer: self.fewer + other.fewer,
            more_if_repeated: self.more_if_repeated + other.more_if_repeated,
            fewer_if_repeated: self.fewer_if_repeated + other.fewer_if_repeated,
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

    /// As [`Share::allowed`], if a new primary repeated operations.
    fn allowed_if_repeated(&self, before: u64) -> RangeInclusive<u64> {
        let allowed = self.allowed(before);
        allowed.start().saturating_sub(self.fewer_if_repeated)..=allowed.end().saturating_add(self.more_if_repeated)
    }
}

/// What tells whether other clients wrote to an index.
#[derive(Clone, Copy)]
pub(crate) struct Signs<'a> {
    pub(crate) beginnings: &'a Beginnings,
    /// This load, in one run, is the only one that is known to write to its indices.
    pub(crate) alone: bool,
}

impl Signs<'_> {
    /// What is known of other clients of an index that does not hold the expected documents.
    /// `own`: what the load did there.
    async fn tell(&self, transport: &Transport, index: &str, own: &IndexCounts, counts: &Counts) -> String {
        let unknown = "whether another client wrote to it is not known";
        let repeated = self.beginnings.repeated(transport, [&index.to_owned()]).await;
        let operations = match (self.alone, repeated) {
            (true, Repeated::No) => self.beginnings.operations(transport, index).await,
            (true, Repeated::Yes) => {
                return format!(
                    "a new primary took over during the load, and its repetitions do not explain that; {unknown}"
                );
            }
            _ => None,
        };
        let least = own.created + own.updated + own.deleted;
        // Others may have been carried out without an answer, or without an effect.
        let most = least + counts.docs_read.saturating_sub(counts.docs_indexed) + counts.retried_items;
        match operations {
            Some(operations) if operations > most => format!(
                "its shards carried out {} operations more than this load sent, of another client or of a proxy that \
                 repeats requests",
                operations - most
            ),
            Some(operations) if operations <= least => "its shards carried out no others than those of this load, so \
                                                        no other client wrote to it"
                .to_owned(),
            Some(_) | None => unknown.to_owned(),
        }
    }
}

/// The expected content of the fixed target of a load.
pub(crate) struct Fixed<'a> {
    /// The target.
    pub(crate) target: &'a Target,
    /// Its documents before the load.
    pub(crate) before: Before,
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
    pub(crate) signs: Signs<'a>,
    /// The fields with vectors of the fixed target.
    pub(crate) vectors: &'a Vectors,
}

/// The result without a verification.
pub(crate) fn off() -> Verified {
    Verified::new(VerifiedState::Off, "off".to_owned())
}

/// Shows the phase of the verification.
pub(crate) type Show<'a> = &'a (dyn Fn(&Phase) + Send + Sync);

/// Refreshes the index, counts its documents and compares the count.
pub(crate) async fn verify(transport: &Transport, expectation: &Expectation<'_>, show: Show<'_>) -> Verified {
    let Expectation { fixed, earlier, before, counts, indices, signs, vectors } = expectation;
    match fixed {
        Some(Fixed { target, before, share, loads }) => {
            if let Some(why) = moved(transport, target, earlier, indices).await {
                return Verified::new(VerifiedState::No, why);
            }
            if let Some(why) = unprovable(target, indices) {
                return not_provable(why);
            }
            let counted = count(transport, &target.name, show).await;
            let verified = judge(&target.name, counted, before.docs, share);
            let mut verified = vectors.check(transport, verified, &target.name, (before, share)).await;
            if verified.state == VerifiedState::No {
                let signs = Signs { alone: signs.alone && *loads == 1, ..*signs };
                // A summary of replies names no index, and operations of several ones are not told
                // apart.
                let named = indices.keys().next().filter(|_| indices.len() == 1);
                let index = named.unwrap_or(&target.name);
                verified.detail.push_str(&format!("; {}", signs.tell(transport, index, &all(counts), counts).await));
            }
            if *loads > 1 {
                verified.detail.push_str(&format!("; the counts include {loads} loads that ran at the same time"));
            }
            verified
        }
        None => each(transport, before, (counts, indices), *signs, show).await,
    }
}

/// The documents of all indices.
fn all(counts: &Counts) -> IndexCounts {
    let mut all = IndexCounts::default();
    (all.created, all.updated, all.deleted) = (counts.docs_created, counts.docs_updated, counts.docs_deleted);
    all
}

/// Verifies the indices that the documents named.
async fn each(
    transport: &Transport,
    before: &BTreeMap<String, Option<u64>>,
    (counts, indices): (&Counts, &BTreeMap<String, IndexCounts>),
    signs: Signs<'_>,
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
        let own = indices.get(name).cloned().unwrap_or_default();
        let counted = count(transport, name, show).await;
        let repeated = match signs.alone {
            true => signs.beginnings.repeated(transport, [name]).await,
            // An earlier run may have met another primary.
            false => Repeated::Yes,
        };
        let mut one = judge(name, counted, before, &Share::of_index(&own, counts, repeated));
        if one.state == VerifiedState::No {
            one.detail.push_str(&format!("; {}", signs.tell(transport, name, &own, counts).await));
        }
        duplicates += one.duplicates;
        match (one.state, &elsewhere) {
            (VerifiedState::Yes, _) => {}
            (VerifiedState::No, Some(elsewhere)) => return elsewhere.clone(),
            _ => return one,
        }
    }
    elsewhere.unwrap_or_else(|| {
        let detail = format!("{} indices hold the counted documents", before.len());
        Verified { duplicates, ..Verified::new(VerifiedState::Yes, detail) }
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
        return Verified { duplicates, ..Verified::new(VerifiedState::Yes, detail) };
    }
    let difference = match counted < exact {
        true => format!("{name} holds {counted} documents, {} fewer than {sum}", exact - counted),
        false => format!("{name} holds {counted} documents, {} more than {sum}", counted - exact),
    };
    if share.allowed_if_repeated(before).contains(&counted) {
        return not_provable(format!(
            "{difference}; a new primary that repeats operations explains that, but the shards could not be read \
             (cluster:monitor/state), so it is not known"
        ));
    }
    Verified::new(VerifiedState::No, difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counted: u64, counts: &Counts, state: VerifiedState, words: &str) {
        let verified = judge("x", Ok(counted), 10, &Share::new((5, 0, 2), counts, Repeated::No));
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
        let proven = |counted, counts: &Counts| {
            judge("x", Ok(counted), 10, &Share::new((5, 0, 2), counts, Repeated::No)).duplicates
        };
        let counts = Counts::build(|c| c.possible_duplicates = 5);
        assert_eq!((proven(13, &counts), proven(16, &counts), proven(18, &counts)), (0, 3, 5));
        let either = Counts::build(|c| (c.possible_duplicates, c.uncertain_updates) = (5, 2));
        assert_eq!((proven(15, &either), proven(16, &either)), (0, 1));
    }

    #[test]
    fn after_another_primary_took_over_an_update_may_be_a_new_document() {
        let counts = Counts::build(|c| (c.docs_not_found, c.uncertain_updates, c.docs_noop) = (1, 1, 2));
        let share = |repeated| Share::new((5, 3, 2), &counts, repeated);
        assert_eq!(share(Repeated::No).allowed(10), 13..=14);
        assert_eq!(share(Repeated::Yes).allowed(10), 12..=18);
        let unknown = share(Repeated::Unknown);
        assert_eq!((unknown.allowed(10), unknown.allowed_if_repeated(10)), (13..=14, 12..=18));
        let state = |counted, repeated| judge("x", Ok(counted), 10, &share(repeated)).state;
        for (counted, no, yes, unknown) in [
            (11, VerifiedState::No, VerifiedState::No, VerifiedState::No),
            (12, VerifiedState::No, VerifiedState::Yes, VerifiedState::NotProvable),
            (18, VerifiedState::No, VerifiedState::Yes, VerifiedState::NotProvable),
            (19, VerifiedState::No, VerifiedState::No, VerifiedState::No),
        ] {
            assert_eq!(state(counted, Repeated::No), no, "{counted}");
            assert_eq!(state(counted, Repeated::Yes), yes, "{counted}");
            assert_eq!(state(counted, Repeated::Unknown), unknown, "{counted}");
        }
    }

    #[test]
    fn other_indices_make_it_unprovable() {
        let target = Target { name: "x".into(), kind: TargetKind::Missing { template: None, by_document: false } };
        let to = |name: &str| BTreeMap::from([(name.to_owned(), IndexCounts::default())]);
        assert_eq!(unprovable(&target, &to("x")), None);
        assert!(unprovable(&target, &to("y")).unwrap().contains("went to y"));
    }
}
