//! The verification of vectors. A server can take a document and lose its vector without an error,
//! so the documents that have one are counted before and after the load, and the load counts those
//! that it has sent with one.

use std::collections::BTreeMap;

use inrush_cluster::api::stats;
use inrush_cluster::transport::Transport;
use inrush_core::FieldTypes;
use inrush_core::encode::Presence;
use inrush_core::vectors::{VectorCounts, VectorsBefore};

use crate::report::{Verified, VerifiedState, VerifiedVectors};
use crate::share::{Before, Share};

/// The fields with vectors of the index that documents go to.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    presence: Presence,
    /// Fields that are not counted, and why.
    others: BTreeMap<String, &'static str>,
}

impl Vectors {
    /// The fields of an index. `unlike`: why its documents may have other vectors than those that
    /// are sent.
    pub(crate) fn new(fields: &FieldTypes, unlike: Option<&'static str>) -> Self {
        let nested = "it is in nested objects, which the index keeps as documents of their own";
        let paths = || fields.vectors().map(|(path, _)| path);
        let is_counted = |path: &&str| unlike.is_none() && !fields.is_nested(path);
        let presence = Presence::new(paths().filter(is_counted).map(str::to_owned));
        let mut others = BTreeMap::new();
        for path in paths().filter(|path| !presence.fields().iter().any(|field| field == path)) {
            let is_nested = fields.is_nested(path).then_some(nested);
            let why = unlike.or(is_nested).unwrap_or("the index has too many fields with vectors");
            others.insert(path.to_owned(), why);
        }
        Vectors { presence, others }
    }

    /// Looks for the vectors of documents.
    pub(crate) fn presence(&self) -> Presence {
        self.presence.clone()
    }

    /// The documents with a vector of an index that has `docs` documents, by field. Fields that
    /// cannot be counted are left out.
    pub(crate) async fn count(&self, transport: &Transport, name: &str, docs: u64) -> BTreeMap<String, u64> {
        let mut counted = BTreeMap::new();
        for field in self.presence.fields().iter() {
            let with = if docs == 0 { Ok(0) } else { stats::count_with(transport, name, field).await };
            match with {
                Ok(with) => drop(counted.insert(field.clone(), with)),
                Err(error) => tracing::debug!("{error}"),
            }
        }
        counted
    }

    /// Counts the documents with vectors of an index whose documents were counted. A difference
    /// changes the result.
    pub(crate) async fn check(
        &self,
        transport: &Transport,
        mut verified: Verified,
        name: &str,
        (before, share): (&Before, &Share),
    ) -> Verified {
        if verified.state != VerifiedState::Yes {
            return verified;
        }
        for field in self.presence.fields().iter() {
            let judged = match (before.vectors.get(field), stats::count_with(transport, name, field).await) {
                (_, Err(error)) => VerifiedVectors::not_provable(error.to_string()),
                (None, Ok(found)) => {
                    let why = "the documents with a vector could not be counted before the load".to_owned();
                    VerifiedVectors { found: Some(found), ..VerifiedVectors::not_provable(why) }
                }
                (Some(&with), Ok(found)) => {
                    let counts = share.vectors.get(field).copied().unwrap_or_default();
                    judge(found, &counts, VectorsBefore { docs: before.docs, with }, share)
                }
            };
            if judged.state == VerifiedState::No {
                verified.state = VerifiedState::No;
                verified.detail.push_str(&format!("; of the field {field}, {}", judged.detail));
            }
            verified.vectors.insert(field.clone(), judged);
        }
        verified
    }

    /// The result with all fields, also those that were not counted.
    pub(crate) fn complete(&self, mut verified: Verified) -> Verified {
        for field in self.presence.fields().iter() {
            let why = || VerifiedVectors::not_provable("it is not proven that the documents are in".to_owned());
            verified.vectors.entry(field.clone()).or_insert_with(why);
        }
        for (field, why) in &self.others {
            verified.vectors.insert(field.clone(), VerifiedVectors::not_provable((*why).to_owned()));
        }
        verified
    }
}

/// Compares `found` documents with a vector with those that the load has sent.
fn judge(found: u64, counts: &VectorCounts, before: VectorsBefore, share: &Share) -> VerifiedVectors {
    if !counts.are_of_all(share.created, share.updated) {
        let why = "not all documents were looked at: replies named no index, a document was nested too deeply, or a \
                   part of the load verifies nothing or ran in an older version of inrush";
        return VerifiedVectors { found: Some(found), ..VerifiedVectors::not_provable(why.to_owned()) };
    }
    let expected = counts.expected(before, share.deleted);
    let (least, most) = (*expected.start(), *expected.end());
    let one = (least == most).then_some(least);
    let wanted = match one {
        Some(one) => format!("{one}"),
        None => format!("{least} to {most}"),
    };
    let with = format!("{} before + {} created with one", before.with, counts.created_with);
    let of = |number: u64, what: &str| if number == 0 { String::new() } else { format!(", {number} {what}") };
    let sum = format!(
        "{with}{}{}{}",
        of(counts.updated_with, "replaced or changed with one"),
        of(counts.updated_without, "replaced or changed without one"),
        of(share.deleted, "deleted")
    );
    let allowed = least.saturating_sub(share.fewer)..=most.saturating_add(share.more);
    let if_repeated =
        allowed.start().saturating_sub(share.fewer_if_repeated)..=allowed.end().saturating_add(share.more_if_repeated);
    let (state, detail) = if one == Some(found) {
        (VerifiedState::Yes, format!("{found} documents have a vector = {sum}"))
    } else if expected.contains(&found) {
        let open = "it is not known how many of the replaced, changed or deleted ones had one before";
        (VerifiedState::NotProvable, format!("{found} documents have a vector, and {wanted} may: {sum}; {open}"))
    } else if allowed.contains(&found) {
        let state = if one.is_some() { VerifiedState::Yes } else { VerifiedState::NotProvable };
        let explained =
            "requests without an answer, or documents that a new primary already had, explain the difference";
        (state, format!("{found} documents have a vector, not {wanted}: {sum}; {explained}"))
    } else if if_repeated.contains(&found) {
        let explained = "a new primary that repeats operations explains that, but it is not known whether one did";
        (VerifiedState::NotProvable, format!("{found} documents have a vector, not {wanted}: {sum}; {explained}"))
    } else if found < least {
        let fewer = least - found;
        (VerifiedState::No, format!("{found} documents have a vector, {fewer} fewer than {wanted}: {sum}"))
    } else {
        let more = found - most;
        let open = "no vector is proven lost: updates of others or the server itself may have added some";
        (
            VerifiedState::NotProvable,
            format!("{found} documents have a vector, {more} more than {wanted}: {sum}; {open}"),
        )
    };
    VerifiedVectors { state, found: Some(found), expected: one, detail }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counts(created_with: u64, created_without: u64, updated_with: u64) -> VectorCounts {
        let mut counts = VectorCounts::default();
        (counts.created_with, counts.created_without, counts.updated_with) =
            (created_with, created_without, updated_with);
        counts
    }

    fn check(found: u64, counts: &VectorCounts, share: &Share, state: VerifiedState, words: &str) {
        let judged = judge(found, counts, VectorsBefore { docs: 10, with: 7 }, share);
        assert_eq!((judged.state, judged.found), (state, Some(found)), "{judged:?}");
        assert!(judged.detail.contains(words), "{judged:?}");
    }

    #[test]
    fn a_lost_vector_is_no() {
        use VerifiedState::{No, NotProvable, Yes};
        let (share, counts) = (Share { created: 5, ..Share::default() }, counts(4, 1, 0));
        check(11, &counts, &share, Yes, "11 documents have a vector = 7 before + 4 created with one");
        check(10, &counts, &share, No, "1 fewer than 11: 7 before");
        check(13, &counts, &share, NotProvable, "2 more than 11: 7 before");
        check(13, &counts, &share, NotProvable, "may have added some");
        let unsure = Share { more: 2, ..share };
        check(13, &counts, &unsure, Yes, "explain the difference");
        check(10, &counts, &unsure, No, "1 fewer");
        let unsure = Share { fewer_if_repeated: 1, ..unsure };
        check(10, &counts, &unsure, NotProvable, "not known whether one did");
        check(9, &counts, &unsure, No, "2 fewer");
    }

    #[test]
    fn what_replaced_documents_had_before_is_not_guessed() {
        use VerifiedState::{No, NotProvable, Yes};
        let (share, counts) = (Share { created: 5, updated: 2, ..Share::default() }, counts(5, 0, 2));
        check(12, &counts, &share, NotProvable, "and 12 to 14 may: 7 before + 5 created with one, 2 replaced");
        check(14, &counts, &share, NotProvable, "12 to 14");
        check(11, &counts, &share, No, "1 fewer than 12 to 14");
        check(16, &counts, &share, NotProvable, "2 more than 12 to 14");
        let judged = judge(15, &counts, VectorsBefore { docs: 10, with: 10 }, &share);
        assert_eq!((judged.state, judged.expected), (Yes, Some(15)), "none was without one before: {judged:?}");
    }

    #[test]
    fn documents_that_were_not_looked_at_prove_nothing() {
        let share = Share { created: 6, ..Share::default() };
        check(12, &counts(5, 0, 0), &share, VerifiedState::NotProvable, "not all documents were looked at");
    }

    #[test]
    fn fields_that_were_not_counted_are_named() {
        let yes = || Verified::new(VerifiedState::Yes, "x holds 3 documents".to_owned());
        assert_eq!(Vectors::default().complete(yes()), yes());
        let vector = json!({"type": "dense_vector", "dims": 8});
        let nested = json!({"type": "nested", "properties": {"v": vector}});
        let fields = FieldTypes::of_mapping(&json!({"properties": {"v": vector, "n": nested, "k": {"type": "long"}}}));
        let vectors = Vectors::new(&fields, None);
        assert_eq!(vectors.presence().fields()[..], ["v"]);
        let complete = vectors.complete(yes());
        assert_eq!((complete.state, complete.vectors.len()), (VerifiedState::Yes, 2));
        assert!(complete.vectors["n.v"].detail.contains("nested") && !complete.vectors["v"].detail.contains("nested"));
        let piped = Vectors::new(&fields, Some("it is piped"));
        assert!(piped.presence().fields().is_empty());
        assert!(piped.complete(yes()).vectors.values().all(|field| field.detail == "it is piped"));
    }
}
