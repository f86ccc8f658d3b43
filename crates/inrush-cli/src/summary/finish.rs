//! What followed the last document, for people.

use inrush::{OldIndex, Report};

use super::Rows;
use crate::units::seconds;

pub(super) fn rows(report: &Report, rows: &mut Rows) {
    for (at, step) in report.finish.steps.iter().enumerate() {
        let name = if at == 0 { "at the end" } else { "" };
        rows.add(name, format!("{} {}: {}", step.step.name(), seconds(step.seconds), step.detail));
    }
    if let Some(failure) = &report.finish.failure {
        rows.add("not done", failure);
    }
    let Some(swap) = &report.swap else { return };
    rows.add("alias", format!("{}: {}", if swap.swapped { "moved" } else { "NOT moved" }, swap.detail));
    if let Some(old) = &swap.old_index {
        let became = match swap.old {
            OldIndex::None => return,
            OldIndex::Untouched => "as it was",
            OldIndex::Kept => "kept",
            OldIndex::Deleted => "deleted",
        };
        rows.add("old index", format!("{old}: {became}"));
    }
    if let Some(writes) = &swap.old_writes {
        rows.add("old writes", &writes.detail);
    }
}
