//! The result of a load, as numbers that add up.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::items::VectorItems;
use crate::outcome::Settled;
use crate::vectors::VectorCounts;

/// Counts of documents, requests and bytes. `docs_read` always equals the sum of `docs_indexed`,
/// `docs_noop`, `docs_not_found`, `docs_already_there`, `docs_conflicting`, `docs_dropped`,
/// `docs_redirected`, `docs_superseded`, `docs_dead_lettered` and `docs_unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Counts {
    /// Settled documents. Documents that were read ahead and given back when a run stopped are in
    /// `docs_given_back`, not here.
    pub docs_read: u64,
    /// `docs_created` + `docs_updated` + `docs_deleted`.
    pub docs_indexed: u64,
    /// New in the index.
    pub docs_created: u64,
    /// Replaced or changed a document.
    pub docs_updated: u64,
    /// Removed a document.
    pub docs_deleted: u64,
    /// Updates without a change.
    pub docs_noop: u64,
    /// Deletes of ids that did not exist.
    pub docs_not_found: u64,
    /// 409 after an attempt of this run with unknown outcome, after a repetition of the cluster, or
    /// with equal content in the index.
    pub docs_already_there: u64,
    /// Other 409s, where the user chose to skip conflicts.
    pub docs_conflicting: u64,
    /// Dropped by an ingest pipeline, or left out as an id without a record (`fetch_missing`).
    pub docs_dropped: u64,
    /// In the failure store of a data stream.
    pub docs_redirected: u64,
    /// Not sent, because a later document with the same id was ([`crate::Coalesce`]).
    pub docs_superseded: u64,
    /// In the dead-letter file.
    pub docs_dead_lettered: u64,
    /// Sent, and no answer came.
    pub docs_unknown: u64,
    /// Read ahead, but not in the index when the run stopped early. A resumed run reads them again.
    pub docs_given_back: u64,
    /// The number of surplus copies that the index may hold. Each document without an id counts
    /// once for each retry after an attempt with unknown outcome.
    pub possible_duplicates: u64,
    /// Documents counted as already there, because an attempt of this run with unknown outcome, or
    /// a repetition of the cluster, may have created them.
    pub uncertain_creates: u64,
    /// Documents counted as updated, although an attempt of this run with unknown outcome may have
    /// created them.
    pub uncertain_updates: u64,
    /// Documents counted as not found, although an attempt of this run with unknown outcome may
    /// have deleted them.
    pub uncertain_deletes: u64,
    /// Bytes read from the sources, before decompression.
    pub bytes_read: u64,
    /// Bytes of request bodies as sent, retries included.
    pub bytes_sent: u64,
    /// Requests, retries included.
    pub requests: u64,
    /// Items that were sent again.
    pub retried_items: u64,
    /// Items refused because of load.
    pub rejected_items: u64,
}

/// Counts of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IndexCounts {
    /// New documents.
    pub created: u64,
    /// Replaced or changed documents.
    pub updated: u64,
    /// Removed documents.
    pub deleted: u64,
    /// Documents that may exist twice, or that count as updated although they are new. The number
    /// of documents in the index may be higher by this count.
    pub uncertain: u64,
    /// Documents by what they did to a field with vectors, by its path. Empty where the load looked
    /// for none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<String, VectorCounts>,
}

/// Errors of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorCount {
    /// The item's status; 0 for records that were not sent.
    pub status: u16,
    /// The error type of the server, or of `inrush` for records that were not sent.
    #[serde(rename = "type")]
    pub kind: String,
    /// The reason of the first error.
    pub reason: String,
    /// The number of errors.
    pub count: u64,
}

impl ErrorCount {
    /// `count` errors of one kind. `reason`: the reason of the first one.
    pub fn new(status: u16, kind: impl Into<String>, reason: impl Into<String>, count: u64) -> Self {
        ErrorCount { status, kind: kind.into(), reason: reason.into(), count }
    }
}

/// The numbers of a run, kept while it runs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The sums.
    pub counts: Counts,
    /// Counts by index.
    pub indices: BTreeMap<String, IndexCounts>,
    errors: BTreeMap<ErrorKey, ErrorCount>,
}

/// Kinds of errors that are counted separately. Further ones count as `other`.
const ERROR_KINDS_MAX: usize = 200;

impl Tally {
    /// A tally that continues from these numbers.
    pub(crate) fn resume(counts: Counts, indices: BTreeMap<String, IndexCounts>, errors: Vec<ErrorCount>) -> Self {
        let errors = errors.into_iter().map(|e| (error_key(e.status, &e.kind, &e.reason), e)).collect();
        Tally { counts, indices, errors }
    }

    /// Counts `count` documents that ended as `settled`, in `index` if the reply named one.
    pub fn settle(&mut self, settled: Settled, count: u64, index: Option<&str>, uncertain: bool) {
        let c = &mut self.counts;
        c.docs_read += count;
        match settled {
            Settled::Created => c.docs_created += count,
            Settled::Updated => c.docs_updated += count,
            Settled::Deleted => c.docs_deleted += count,
            Settled::Noop => c.docs_noop += count,
            Settled::NotFound => c.docs_not_found += count,
            Settled::AlreadyThere => c.docs_already_there += count,
            Settled::Conflicting => c.docs_conflicting += count,
            Settled::Dropped => c.docs_dropped += count,
            Settled::Redirected => c.docs_redirected += count,
            Settled::Superseded => c.docs_superseded += count,
            Settled::Unknown => c.docs_unknown += count,
        }
        c.docs_indexed = c.docs_created + c.docs_updated + c.docs_deleted;
        if uncertain {
            match settled {
                Settled::AlreadyThere => c.uncertain_creates += count,
                Settled::Updated => c.uncertain_updates += count,
                Settled::NotFound => c.uncertain_deletes += count,
                _ => {}
            }
        }
        if let Some(index) = index {
            let entry = match self.indices.get_mut(index) {
                Some(entry) => entry,
                None => self.indices.entry(index.to_owned()).or_default(),
            };
            match settled {
                Settled::Created => entry.created += count,
                Settled::Updated => entry.updated += count,
                Settled::Deleted => entry.deleted += count,
                _ => {}
            }
            if uncertain {
                entry.uncertain += count;
            }
        }
    }

    /// Counts the vectors of items that were settled so in `index`.
    pub(crate) fn settle_vectors(&mut self, settled: Settled, index: &str, vectors: &VectorItems, items: Range<u32>) {
        let count = match settled {
            Settled::Created => VectorCounts::created,
            Settled::Updated => VectorCounts::updated,
            _ => return,
        };
        let Some(entry) = self.indices.get_mut(index) else { return };
        for (number, field) in vectors.fields.iter().enumerate() {
            let counts = match entry.vectors.get_mut(field) {
                Some(counts) => counts,
                None => entry.vectors.entry(field.clone()).or_default(),
            };
            items.clone().filter_map(|item| vectors.mark(item, number)).for_each(|mark| count(counts, mark));
        }
    }

    /// Counts a dead letter.
    pub fn dead_letter(&mut self, status: u16, kind: &str, reason: &str) {
        self.counts.docs_read += 1;
        self.counts.docs_dead_lettered += 1;
        let key = error_key(status, kind, reason);
        if let Some(entry) = self.errors.get_mut(&key) {
            entry.count += 1;
        } else if self.errors.len() < ERROR_KINDS_MAX {
            self.errors.insert(key, ErrorCount::new(status, kind, reason, 1));
        } else {
            let other = error_key(0, "other", "many kinds");
            self.errors.entry(other).or_insert_with(|| ErrorCount::new(0, "other", "many kinds", 0)).count += 1;
        }
    }

    /// Leaves out the counts by index where they are not those of all documents: a summary of
    /// replies names no index, and the entries that follow a refusal do.
    pub fn drop_partial_indices(&mut self) {
        let named: u64 = self.indices.values().map(|index| index.created).sum();
        if named < self.counts.docs_created {
            self.indices.clear();
        }
    }

    /// Adds the result of another load of the same job.
    pub fn absorb(&mut self, counts: &Counts, indices: &BTreeMap<String, IndexCounts>, errors: &[ErrorCount]) {
        self.counts.add(counts);
        for (name, more) in indices {
            let entry = self.indices.entry(name.clone()).or_default();
            entry.created += more.created;
            entry.updated += more.updated;
            entry.deleted += more.deleted;
            entry.uncertain += more.uncertain;
            for (field, more) in &more.vectors {
                entry.vectors.entry(field.clone()).or_default().add(more);
            }
        }
        for error in errors {
            let key = error_key(error.status, &error.kind, &error.reason);
            let entry = self.errors.entry(key).or_insert_with(|| ErrorCount { count: 0, ..error.clone() });
            entry.count += error.count;
        }
    }

    /// Errors by kind, most frequent first.
    pub fn errors(&self) -> Vec<ErrorCount> {
        let mut errors: Vec<_> = self.errors.values().cloned().collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
        errors
    }
}

/// The common part of errors of the same kind: status, type, and beginning of the reason.
pub type ErrorKey = (u16, String, String);

/// The common part of errors of the same kind. Servers put the document's id and a preview of the
/// value at the end of the reason, and Elasticsearch the position in the document at the start. The
/// text between them is the same for all. Errors about the document in the index begin with the id
/// and end with versions.
pub fn error_key(status: u16, kind: &str, reason: &str) -> ErrorKey {
    if let "version_conflict_engine_exception" | "document_missing_exception" = kind
        && let Some((_, rest)) = reason.rsplit_once("]: ").filter(|_| reason.starts_with('['))
    {
        let stem = rest.split(['(', '[']).next().unwrap_or(rest);
        return (status, kind.to_owned(), stem[..stem.floor_char_boundary(160)].to_owned());
    }
    if status == 0 {
        return (status, kind.to_owned(), without_values(reason));
    }
    let stem = reason.split(" in document with id").next().unwrap_or(reason);
    let place = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let stem = match stem.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((inside, rest)) if place(inside) => rest,
        _ => stem,
    };
    (status, kind.to_owned(), stem[..stem.floor_char_boundary(160)].to_owned())
}

/// The beginning of a reason of this side, without the values and places of one record: quoted
/// texts behind a verb, as in `holds "7"`, and numbers. Names in quotes stay.
fn without_values(reason: &str) -> String {
    let (mut stem, mut rest) = (String::new(), reason);
    while let Some(next) = rest.chars().next().filter(|_| stem.len() < 160) {
        let after = &rest[next.len_utf8()..];
        let taken = match next {
            '"' | '`' => {
                let mut escaped = false;
                let end = after.find(|c: char| {
                    let is_end = c == next && !escaped;
                    escaped = c == '\\' && !escaped;
                    is_end
                });
                let taken = next.len_utf8() + end.map_or(after.len(), |end| end + 1);
                let is_value =
                    next == '"' && [" has ", " holds ", " is ", " with "].iter().any(|verb| stem.ends_with(verb));
                stem.push_str(if is_value { "\"\"" } else { &rest[..taken] });
                taken
            }
            '0'..='9' => {
                stem.push('0');
                rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())
            }
            other => {
                stem.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    stem.truncate(stem.floor_char_boundary(160));
    stem
}

impl Counts {
    /// Counts that `set` has set; all others are 0.
    pub fn build(set: impl FnOnce(&mut Counts)) -> Counts {
        let mut counts = Counts::default();
        set(&mut counts);
        counts
    }

    /// The counts since `earlier`, an earlier state of the same counts. A count that has fallen is
    /// 0.
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            docs_read: self.docs_read.saturating_sub(earlier.docs_read),
            docs_indexed: self.docs_indexed.saturating_sub(earlier.docs_indexed),
            docs_created: self.docs_created.saturating_sub(earlier.docs_created),
            docs_updated: self.docs_updated.saturating_sub(earlier.docs_updated),
            docs_deleted: self.docs_deleted.saturating_sub(earlier.docs_deleted),
            docs_noop: self.docs_noop.saturating_sub(earlier.docs_noop),
            docs_not_found: self.docs_not_found.saturating_sub(earlier.docs_not_found),
            docs_already_there: self.docs_already_there.saturating_sub(earlier.docs_already_there),
            docs_conflicting: self.docs_conflicting.saturating_sub(earlier.docs_conflicting),
            docs_dropped: self.docs_dropped.saturating_sub(earlier.docs_dropped),
            docs_redirected: self.docs_redirected.saturating_sub(earlier.docs_redirected),
            docs_superseded: self.docs_superseded.saturating_sub(earlier.docs_superseded),
            docs_dead_lettered: self.docs_dead_lettered.saturating_sub(earlier.docs_dead_lettered),
            docs_unknown: self.docs_unknown.saturating_sub(earlier.docs_unknown),
            docs_given_back: self.docs_given_back.saturating_sub(earlier.docs_given_back),
            possible_duplicates: self.possible_duplicates.saturating_sub(earlier.possible_duplicates),
            uncertain_creates: self.uncertain_creates.saturating_sub(earlier.uncertain_creates),
            uncertain_updates: self.uncertain_updates.saturating_sub(earlier.uncertain_updates),
            uncertain_deletes: self.uncertain_deletes.saturating_sub(earlier.uncertain_deletes),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
            bytes_sent: self.bytes_sent.saturating_sub(earlier.bytes_sent),
            requests: self.requests.saturating_sub(earlier.requests),
            retried_items: self.retried_items.saturating_sub(earlier.retried_items),
            rejected_items: self.rejected_items.saturating_sub(earlier.rejected_items),
        }
    }

    /// The sum of the counts of two loads of different documents.
    pub fn plus(&self, other: &Counts) -> Counts {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    /// Adds each number of `more`.
    fn add(&mut self, more: &Counts) {
        self.docs_read += more.docs_read;
        self.docs_indexed += more.docs_indexed;
        self.docs_created += more.docs_created;
        self.docs_updated += more.docs_updated;
        self.docs_deleted += more.docs_deleted;
        self.docs_noop += more.docs_noop;
        self.docs_not_found += more.docs_not_found;
        self.docs_already_there += more.docs_already_there;
        self.docs_conflicting += more.docs_conflicting;
        self.docs_dropped += more.docs_dropped;
        self.docs_redirected += more.docs_redirected;
        self.docs_superseded += more.docs_superseded;
        self.docs_dead_lettered += more.docs_dead_lettered;
        self.docs_unknown += more.docs_unknown;
        self.docs_given_back += more.docs_given_back;
        self.possible_duplicates += more.possible_duplicates;
        self.uncertain_creates += more.uncertain_creates;
        self.uncertain_updates += more.uncertain_updates;
        self.uncertain_deletes += more.uncertain_deletes;
        self.bytes_read += more.bytes_read;
        self.bytes_sent += more.bytes_sent;
        self.requests += more.requests;
        self.retried_items += more.retried_items;
        self.rejected_items += more.rejected_items;
    }

    /// Whether every document is in exactly one bucket.
    pub fn add_up(&self) -> bool {
        self.docs_read
            == self.docs_indexed
                + self.docs_noop
                + self.docs_not_found
                + self.docs_already_there
                + self.docs_conflicting
                + self.docs_dropped
                + self.docs_redirected
                + self.docs_superseded
                + self.docs_dead_lettered
                + self.docs_unknown
    }

    /// Documents that are not in the index although they should be: dead letters, redirected and
    /// unknown ones.
    pub fn docs_not_in(&self) -> u64 {
        self.docs_dead_lettered + self.docs_redirected + self.docs_unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_counted_by_index_and_field() {
        let encoder = crate::encode::Presence::new(["v".to_owned(), "w".to_owned()]);
        let operations = crate::Operations::new(crate::Action::Index, "i".parse().unwrap(), None);
        let encoder = crate::encode::Encoder::new(operations).with_presence(encoder);
        let texts = ["{\"v\":[1]}", "{\"w\":[1]}", "{\"v\":[1],\"w\":null}"];
        let data = texts.concat();
        let starts: Vec<u32> =
            texts.iter().scan(0, |end, text| Some(std::mem::replace(end, *end + text.len() as u32))).collect();
        let ends = starts.iter().skip(1).copied().chain([data.len() as u32]);
        let records =
            starts.iter().zip(ends).map(|(&start, end)| crate::block::Record { start, end, byte: start, line: 0 });
        let block = crate::DocBlock { records: records.collect(), data: data.into(), ..crate::DocBlock::default() };
        let vectors = encoder.encode(block).vectors.unwrap();
        let mut tally = Tally::default();
        for (settled, items) in [(Settled::Created, 0..2), (Settled::Updated, 2..3), (Settled::AlreadyThere, 0..3)] {
            tally.settle(settled, u64::from(items.end - items.start), Some("i"), false);
            tally.settle_vectors(settled, "i", &vectors, items);
        }
        let mut both = Tally::default();
        both.absorb(&tally.counts, &tally.indices, &[]);
        both.absorb(&tally.counts, &tally.indices, &[]);
        let of = |field: &str| both.indices["i"].vectors[field];
        let (v, w) = (of("v"), of("w"));
        assert_eq!([v.created_with, v.created_without, v.updated_with, v.updated_without], [2, 2, 2, 0]);
        assert_eq!([w.created_with, w.created_without, w.updated_with, w.updated_without], [2, 2, 0, 2]);
        assert!(v.are_of_all(both.indices["i"].created, both.indices["i"].updated));
    }

    #[test]
    fn errors_are_grouped_by_their_common_part() {
        let mut tally = Tally::default();
        for id in ["1", "2"] {
            let reason =
                format!("[1:{id}] failed to parse field [a] of type [long] in document with id '{id}'. Preview: 'x'");
            tally.dead_letter(400, "mapper_parsing_exception", &reason);
        }
        tally.dead_letter(0, "missing_id", "no id");
        for (id, version) in [("a", 1), ("b]: c", 2)] {
            let reason = format!("[{id}]: version conflict, document already exists (current version [{version}])");
            tally.dead_letter(409, "version_conflict_engine_exception", &reason);
        }
        let errors = tally.errors();
        assert_eq!(errors.iter().map(|error| error.count).collect::<Vec<_>>(), [2, 2, 1]);
        assert!(tally.counts.add_up());
        let mut both = Tally::default();
        tally.settle(Settled::Created, 5, Some("i"), false);
        both.absorb(&tally.counts, &tally.indices, &tally.errors());
        both.absorb(&tally.counts, &tally.indices, &tally.errors());
        assert_eq!((both.counts.docs_read, both.indices["i"].created, both.errors()[0].count), (20, 10, 4));
        assert!(both.counts.add_up());
        assert_eq!(both.counts.since(&tally.counts), tally.counts);
        // Of this side: the values and places of a record do not count, the names of fields do.
        let mut own = Tally::default();
        for i in 0..500 {
            for reason in [
                format!("column \"q1\" holds \"{i}.0\\\"\", expected decimal-comma; correct the value"),
                format!("column \"q2\" holds \"{i}\", expected date; correct the value"),
                format!("field `t1` (the time) is \"{i}Z\"; expected a time by ISO 8601"),
                format!("byte {i} of the record is 0xe{}, which is not UTF-8", i % 10),
                format!("the id has {i} bytes, and servers accept at most 512; it starts with \"{i}\""),
            ] {
                own.dead_letter(0, "bad_value", &reason);
            }
        }
        assert_eq!(own.errors().iter().map(|error| error.count).collect::<Vec<_>>(), [500; 5]);
        for i in 0..500 {
            tally.dead_letter(400, "x", &format!("r{i}"));
        }
        assert_eq!(tally.errors().iter().map(|e| e.count).sum::<u64>(), 505);
    }
}
