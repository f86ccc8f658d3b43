//! The rows about the steps after the last document.

use inrush_load::{OldIndex, Report};

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
    let moved = match (swap.swapped, swap.waits_for_others) {
        (true, _) => "moved",
        (false, true) => "not yet moved",
        (false, false) => "NOT moved",
    };
    rows.add("alias", format!("{moved}: {}", swap.detail));
    if let Some(old) = &swap.old_index {
        let became = match swap.old {
            OldIndex::None => return,
            OldIndex::Untouched => "not changed",
            OldIndex::Kept => "kept",
            OldIndex::Deleted => "deleted",
        };
        rows.add("old index", format!("{old}: {became}"));
    }
    if let Some(writes) = &swap.old_writes {
        rows.add("old writes", &writes.detail);
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::report::ErrorCount;
    use inrush_load::config::OldWrites;
    use inrush_load::{OldIndex, OldWritesReport, Status, Step, StepReport, SwapReport};

    use super::super::tests::report;
    use super::super::{problem, text};

    #[test]
    fn a_swap_is_told_with_what_became_of_the_old_index() {
        let mut report = report(Status::Complete);
        let step = |step, seconds, detail: &str| StepReport { step, seconds, detail: detail.into() };
        report.finish.steps = vec![step(Step::Green, 12.0, "green"), step(Step::Swap, 0.25, "moved")];
        report.swap = Some(SwapReport {
            alias: "trips".into(),
            index: "trips-2".into(),
            old_index: Some("trips-1".into()),
            swapped: true,
            waits_for_others: false,
            old: OldIndex::Kept,
            detail: "the alias trips was moved from trips-1 to trips-2".into(),
            what_next: None,
            old_writes: Some(OldWritesReport {
                policy: OldWrites::Report,
                operations: Some(0),
                operations_not_in: Some(0),
                docs_copied: 0,
                ids: Vec::new(),
                detail: "nothing was written to trips-1 during the load".into(),
            }),
        });
        let all = text(&report, false);
        let end = &all[all.find("at the end").unwrap()..];
        assert_eq!(
            end,
            "\
at the end      green 12.0 s: green
                swap 0.2 s: moved
alias           moved: the alias trips was moved from trips-1 to trips-2
old index       trips-1: kept
old writes      nothing was written to trips-1 during the load
"
        );

        report.status = Status::CheckFailed;
        report.finish.failure = Some("warm: search 1 of 1 failed".into());
        let swap = report.swap.as_mut().unwrap();
        (swap.swapped, swap.old, swap.what_next) = (false, OldIndex::Untouched, Some("DELETE /trips-2".into()));
        let all = text(&report, false);
        assert!(all.contains("not done        warm: search 1 of 1 failed"), "{all}");
        assert!(all.contains("alias           NOT moved") && all.contains("trips-1: not changed"), "{all}");
        assert!(all.contains("what next       DELETE /trips-2"), "{all}");
        assert!(problem(&report).unwrap().ends_with("warm: search 1 of 1 failed"));

        // The dead letters have the simpler way, so it comes first.
        (report.status, report.dead_letters) = (Status::Incomplete, Some("dead.ndjson".into()));
        report.errors = vec![ErrorCount::new(400, "mapper_parsing_exception", "x", 1)];
        let all = text(&report, false);
        let (_, next) = all.split_once("what next ").unwrap();
        let (first, then) = next.trim().split_once('\n').unwrap();
        assert!(first.contains("--from-dead-letters dead.ndjson --alias trips`, which then moves"), "{all}");
        assert!(then.trim().starts_with("otherwise DELETE /trips-2"), "{all}");
    }
}
