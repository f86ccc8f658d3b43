//! Adds up the findings, and makes the report.

use std::io;

use super::VerifyOptions;
use super::extra::Extra;
use super::found::{Finding, Verdict, id_of};
use super::missing::number_key;
use super::read::Place;
use super::report::{Example, Examples, First, Outcome, VerifyReport, has_room};
use super::sort::{Sorted, Sorter};

fn example(names: &[String], place: Place) -> Example {
    let source = names.get(place.source as usize).cloned();
    Example { id: None, routing: None, source, line: Some(place.line), detail: None }
}

#[derive(Default)]
pub(super) struct Rejected {
    docs: u64,
    examples: Vec<Example>,
}

impl Rejected {
    pub(super) fn add(&mut self, rejected: Vec<(Place, String)>, names: &[String]) {
        self.docs += rejected.len() as u64;
        for (place, reason) in rejected {
            if !has_room(&self.examples) {
                break;
            }
            self.examples.push(Example { detail: Some(reason), ..example(names, place) });
        }
    }
}

/// The totals of the findings, each id counted once.
pub(super) struct Totals {
    records: u64,
    ids: u64,
    missing: u64,
    different: u64,
    missing_first: First,
    different_first: First,
    /// The numbers of the documents for the file of missing documents.
    pub(super) wanted: Sorter,
}

impl Totals {
    pub(super) fn of(findings: &Sorted, names: &[String], to_file: bool) -> io::Result<Self> {
        // Eight bytes per document: 16 MiB hold two million of them, and the rest goes to disk.
        let mut totals = Totals {
            records: 0,
            ids: 0,
            missing: 0,
            different: 0,
            missing_first: First::default(),
            different_first: First::default(),
            wanted: Sorter::new(16 << 20),
        };
        let mut groups = findings.read()?;
        while let Some((key, group)) = groups.next_group()? {
            let finding = Finding::from_bytes(&group.last).ok_or(io::ErrorKind::InvalidData)?;
            totals.records += group.count;
            totals.ids += 1;
            let (count, first) = match finding.verdict {
                Verdict::Same => continue,
                Verdict::Missing => (&mut totals.missing, &mut totals.missing_first),
                Verdict::Different => (&mut totals.different, &mut totals.different_first),
            };
            *count += 1;
            first.add(finding.place.source, finding.place.line, || {
                let (id, routing) = id_of(&key);
                let detail = (!finding.fields.is_empty()).then(|| finding.fields.clone());
                Example { id: Some(id), routing, detail, ..example(names, finding.place) }
            });
            if let (true, Some(number)) = (to_file, finding.kept) {
                totals.wanted.push(&number_key(number), &[])?;
            }
        }
        Ok(totals)
    }

    /// The number of ids that the index has.
    pub(super) fn in_index(&self) -> u64 {
        self.ids - self.missing
    }
}

/// The data for the report.
pub(super) struct Draft<'a> {
    pub(super) options: &'a VerifyOptions,
    pub(super) with_ids: bool,
    pub(super) docs_read: u64,
    pub(super) rejected: Rejected,
    pub(super) docs_in_index: u64,
    pub(super) found: Totals,
}

impl Draft<'_> {
    pub(super) fn finish(self, more: Option<Extra>, contents_unlike: Option<String>) -> VerifyReport {
        let Conclusion { equal, docs_extra, not_proven, warnings } =
            self.judge(more.as_ref(), contents_unlike.as_deref());
        let all = self.compares_all();
        let Draft { options, with_ids, docs_read, rejected, docs_in_index, found } = self;
        VerifyReport {
            result: if equal { Outcome::Equal } else { Outcome::Different },
            index: options.index.as_str().to_owned(),
            docs_read,
            docs_rejected: rejected.docs,
            docs_replaced: all.then_some(found.records - found.ids),
            docs_in_index,
            docs_compared: with_ids.then_some(found.ids),
            docs_missing: with_ids.then_some(found.missing),
            docs_different: (with_ids && contents_unlike.is_none()).then_some(found.different),
            docs_extra,
            sample: options.sample.map(|_| found.ids),
            not_proven,
            warnings,
            examples: Examples {
                missing: found.missing_first.into_examples(),
                different: found.different_first.into_examples(),
                extra: more.map(|more| more.examples).unwrap_or_default(),
                rejected: rejected.examples,
            },
            missing_file: options.missing.clone(),
            seconds: 0.0,
        }
    }

    /// Whether all ids of the source are compared.
    fn compares_all(&self) -> bool {
        self.with_ids && self.options.sample.is_none()
    }

    /// Decides whether source and index are equal, as far as compared.
    fn judge(&self, more: Option<&Extra>, contents_unlike: Option<&str>) -> Conclusion {
        let Draft { with_ids, docs_read, rejected, docs_in_index, found, .. } = self;
        let (with_ids, docs_in_index) = (*with_ids, *docs_in_index);
        let sendable = docs_read - rejected.docs;
        let mut not_proven = Vec::new();
        let mut warnings = Vec::new();
        if let (true, Some(why)) = (with_ids, contents_unlike) {
            not_proven.push(format!("contents: {why}, so only ids were compared"));
        }
        let mut equal = rejected.docs == 0 && found.missing == 0 && found.different == 0;
        let mut docs_extra = None;
        if !with_ids {
            not_proven.push(
                "ids and contents: without option `id` or option `id_from` documents are only counted".to_owned(),
            );
            equal &= docs_in_index == sendable;
        } else if self.compares_all() {
            let in_index = found.in_index();
            let docs = more.map_or(0, |more| more.docs);
            let seen = in_index + docs + more.map_or(0, |more| more.not_found_by_id);
            docs_extra = Some(docs);
            equal &= docs == 0;
            if docs_in_index != seen {
                equal = false;
                warnings.push(format!(
                    "the index holds {docs_in_index} documents, but the comparison saw {seen}: the index has changed since; compare again"
                ));
            }
        } else {
            // More documents than the source has lines are extra documents, with any ids.
            let least = docs_in_index.saturating_sub(sendable);
            docs_extra = (least > 0).then_some(least);
            equal &= least == 0;
            not_proven.push(format!(
                "ids outside the sample of {} ids: missing, different and extra documents among them are not seen",
                found.ids
            ));
            if docs_in_index < sendable {
                not_proven.push(format!(
                    "completeness: the index holds {} documents fewer than were read, which only repeated ids can explain",
                    sendable - docs_in_index
                ));
            }
        }
        if let Some(more) = more.filter(|more| more.not_found_by_id > 0) {
            warnings.push(format!(
                "{} of the missing documents are in the index: under a routing value, whose field option `routing` names, or \
                 written since the lookup",
                more.not_found_by_id
            ));
        }
        Conclusion { equal, docs_extra, not_proven, warnings }
    }
}

/// The conclusion of a comparison, for the report.
struct Conclusion {
    equal: bool,
    docs_extra: Option<u64>,
    not_proven: Vec<String>,
    warnings: Vec<String>,
}
