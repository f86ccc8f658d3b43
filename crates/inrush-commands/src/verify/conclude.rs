//! Adds up the findings, and makes the report.

use std::collections::BTreeSet;
use std::io;

use super::VerifyOptions;
use super::extra::Extra;
use super::found::{Finding, Verdict, id_of};
use super::missing::number_key;
use super::read::Place;
use super::report::{Example, Examples, First, VerifyOutcome, VerifyReport, has_room};
use super::series::Distinct;
use super::sort::{Sorted, Sorter};
use super::target::Contents;
use super::vectors::Vectors;

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
    /// What a time series stores of the documents.
    pub(super) series: Option<Distinct>,
}

impl Draft<'_> {
    /// `contents`: what was compared of documents, and the fields of which nothing was concluded.
    pub(super) fn finish(self, more: Option<Extra>, contents: (&Contents, BTreeSet<String>)) -> VerifyReport {
        let of_contents = contents_not_proven(contents.0, &contents.1);
        let Conclusion { equal, docs_extra, not_proven, warnings } = self.judge(more.as_ref(), of_contents);
        let all = self.compares_all();
        let Draft { options, with_ids, docs_read, rejected, docs_in_index, found, series } = self;
        let replaced = series.filter(|series| series.unread.is_empty()).map(|series| series.records - series.docs);
        VerifyReport {
            result: if equal { VerifyOutcome::Equal } else { VerifyOutcome::Different },
            index: options.index.as_str().to_owned(),
            docs_read,
            docs_rejected: rejected.docs,
            docs_replaced: replaced.or(all.then_some(found.records - found.ids)),
            docs_in_index,
            docs_compared: with_ids.then_some(found.ids),
            docs_missing: with_ids.then_some(found.missing),
            docs_different: (with_ids && !matches!(contents.0, Contents::Nothing(_))).then_some(found.different),
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
    fn judge(&self, more: Option<&Extra>, of_contents: Option<String>) -> Conclusion {
        let Draft { with_ids, docs_read, rejected, docs_in_index, found, .. } = self;
        let (with_ids, docs_in_index) = (*with_ids, *docs_in_index);
        let sendable = docs_read - rejected.docs;
        let mut not_proven = Vec::new();
        let mut warnings = Vec::new();
        not_proven.extend(of_contents.filter(|_| with_ids));
        let mut equal = rejected.docs == 0 && found.missing == 0 && found.different == 0;
        let mut docs_extra = None;
        if let Some(Distinct { title, docs, unread, .. }) = &self.series {
            not_proven.push(format!(
                "ids and contents: {title}, so documents with different dimensions or times are only counted"
            ));
            docs_extra = (docs_in_index > *docs).then(|| docs_in_index - docs);
            // Some of the documents may be equal, but none of the texts stands for two of them.
            let may_be_fewer = !unread.is_empty() && docs_in_index > 0;
            equal &= docs_in_index == *docs || may_be_fewer && docs_in_index < *docs;
            if !unread.is_empty() {
                not_proven.push(format!(
                    "completeness: only the server reads the values of {}, so the source may have fewer different \
                     documents than the {docs} that were counted, and the index has {docs_in_index}",
                    unread.join(", ")
                ));
            }
        } else if !with_ids {
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

/// What a comparison of contents leaves open. `unknown`: fields of which nothing was concluded.
fn contents_not_proven(contents: &Contents, unknown: &BTreeSet<String>) -> Option<String> {
    match contents {
        Contents::Documents(vectors, _) => vectors_not_proven(vectors, unknown),
        Contents::Nothing(why) => Some(format!("contents: {why}, so only ids were compared")),
        Contents::Values(why, _) => {
            let mut text = format!(
                "contents beside values: {why}, so the values of fields were compared, without their order, their \
                 repetitions, and which of them belong to one object of an array"
            );
            if !unknown.is_empty() {
                let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
                text.push_str(&format!("; values of {} that differ as texts were not compared", names.join(", ")));
            }
            Some(text)
        }
    }
}

/// What a comparison of documents with vectors leaves open.
fn vectors_not_proven(vectors: &Vectors, unknown: &BTreeSet<String>) -> Option<String> {
    let mut open = Vec::new();
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
        open.push(format!("values of {} that differ as texts were not compared", names.join(", ")));
    }
    let near: Vec<&str> = vectors.near().collect();
    if !near.is_empty() {
        let names = near.join(", ");
        open.push(format!(
            "the index may normalise those of {names} (cosine), so their numbers were compared within a factor of 1e-5"
        ));
    }
    (!open.is_empty()).then(|| format!("contents of vectors: {}", open.join("; ")))
}

/// The conclusion of a comparison, for the report.
struct Conclusion {
    equal: bool,
    docs_extra: Option<u64>,
    not_proven: Vec<String>,
    warnings: Vec<String>,
}
