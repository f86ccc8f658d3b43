//! Merges the reports of a bake's parts into one.

use std::collections::BTreeMap;

use inrush_core::report::{ErrorCount, IndexCounts};
use inrush_load::{Report, Status, Verified, VerifiedState};

/// One report of all parts. `index`: the name that stands for all of them.
pub(super) fn merge(reports: Vec<Report>, index: &str) -> Option<Report> {
    let count = reports.len();
    let mut reports = reports.into_iter();
    let mut all = reports.next()?;
    if count == 1 {
        return Some(all);
    }
    let each = all.verified.state;
    let mut verified = (u32::from(each == VerifiedState::Yes), each);
    // Every part reads the whole source.
    let bytes_read = all.counts.bytes_read;
    for other in reports {
        all.counts = all.counts.plus(&other.counts);
        all.status = worse(all.status, other.status);
        all.failure = all.failure.or(other.failure);
        all.seconds = all.seconds.max(other.seconds);
        all.docs_per_second += other.docs_per_second;
        add_errors(&mut all.errors, other.errors);
        all.pauses.extend(other.pauses);
        for (name, counts) in other.indices {
            add(all.indices.entry(name).or_default(), &counts);
        }
        all.warnings.extend(other.warnings);
        if let Some(letters) = other.dead_letters {
            match &all.dead_letters {
                None => all.dead_letters = Some(letters),
                Some(_) => all.warnings.push(format!("further dead letters are in {}", letters.display())),
            }
        }
        for (source, other) in all.sources.iter_mut().zip(other.sources) {
            source.docs_settled += other.docs_settled;
        }
        verified.0 += u32::from(other.verified.state == VerifiedState::Yes);
        if other.verified.state != VerifiedState::Yes {
            verified.1 = other.verified.state;
            all.verified = other.verified;
        }
    }
    all.counts.bytes_read = bytes_read;
    // The properties of one part do not apply to the whole.
    all.sizes = BTreeMap::new();
    all.this_run = None;
    if verified.0 as usize == count {
        let docs: u64 = all.indices.values().map(|index| index.created - index.deleted.min(index.created)).sum();
        let detail = format!("the {count} parts of {index} hold {docs} documents");
        all.verified = Verified::new(VerifiedState::Yes, detail);
    }
    Some(all)
}

fn worse(a: Status, b: Status) -> Status {
    let rank = |status: Status| match status {
        Status::Complete => 0,
        Status::Incomplete => 1,
        Status::CheckFailed => 2,
        Status::Interrupted => 3,
        Status::Failed => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn add(all: &mut IndexCounts, other: &IndexCounts) {
    all.created += other.created;
    all.updated += other.updated;
    all.deleted += other.deleted;
    all.uncertain += other.uncertain;
}

fn add_errors(all: &mut Vec<ErrorCount>, others: Vec<ErrorCount>) {
    for other in others {
        match all.iter_mut().find(|one| one.status == other.status && one.kind == other.kind) {
            Some(one) => one.count += other.count,
            None => all.push(other),
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.count));
}
