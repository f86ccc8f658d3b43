//! The merge of the reports of one job's loads.

use inrush_core::report::Tally;
use inrush_sources::Lag;

use super::{Report, SettingsRestored, Status, VerifiedState};

impl Report {
    /// One report for loads of different documents that ran side by side, such as the parts of a
    /// job. `None` without reports.
    ///
    /// | of the result | of the parts |
    /// |---|---|
    /// | counts, `indices`, `errors`, `docs_per_second` | sums |
    /// | `seconds`, `source_idle_seconds` | the longest |
    /// | `status` | the worst |
    /// | `failure`, `dead_letter_topic` | the first |
    /// | `verified`, `settings` | the first one that failed, or that of the first part |
    /// | `tolerance` | compared with the sums |
    /// | `sizes`, `pauses`, `warnings`, `sources`, `lag` | all |
    /// | `not_found_ids` | the first 100 |
    /// | `dead_letters`, `checkpoint`, `this_run` | none: each part has its own |
    /// | the rest | those of the first part |
    pub fn merged(reports: impl IntoIterator<Item = Report>) -> Option<Report> {
        let mut reports = reports.into_iter();
        let mut total = reports.next()?;
        let mut tally = Tally::default();
        tally.absorb(&total.counts, &total.indices, &total.errors);
        for part in reports {
            tally.absorb(&part.counts, &part.indices, &part.errors);
            total.add(part);
        }
        (total.errors, total.counts, total.indices) = (tally.errors(), tally.counts, tally.indices);
        (total.dead_letters, total.checkpoint, total.this_run) = (None, None, None);
        total.tolerance = total.tolerance.map(|tolerance| tolerance.judge_again(&total.counts));
        if matches!(total.status, Status::Complete | Status::Incomplete) {
            let tolerated = total.tolerance.as_ref().is_some_and(|tolerance| tolerance.holds);
            let all_in = total.counts.docs_not_in() == 0 || tolerated;
            total.status = if all_in { Status::Complete } else { Status::Incomplete };
        }
        Some(total)
    }

    /// Adds the values of a part that are not in the tally.
    fn add(&mut self, part: Report) {
        if rank(part.status) > rank(self.status) {
            self.status = part.status;
        }
        if self.failure.is_none() {
            (self.failure, self.failure_code) = (part.failure, part.failure_code);
        }
        self.dead_letter_topic = self.dead_letter_topic.take().or(part.dead_letter_topic);
        self.seconds = self.seconds.max(part.seconds);
        self.source_idle_seconds = self.source_idle_seconds.max(part.source_idle_seconds);
        self.docs_per_second += part.docs_per_second;
        if self.verified.state != VerifiedState::No && part.verified.state == VerifiedState::No {
            self.verified = part.verified;
        }
        if self.settings.restored != SettingsRestored::No && part.settings.restored == SettingsRestored::No {
            self.settings = part.settings;
        }
        self.lag = match (self.lag.take(), part.lag) {
            (Some(one), Some(other)) => Some(Lag::new([one.partitions, other.partitions].concat())),
            (one, other) => one.or(other),
        };
        self.sizes.extend(part.sizes);
        self.pauses.extend(part.pauses);
        self.not_found_ids.extend(part.not_found_ids);
        self.not_found_ids.truncate(100);
        self.warnings.extend(part.warnings);
        self.warning_details.extend(part.warning_details);
        self.sources.extend(part.sources);
    }
}

/// The order of statuses, from the best to the worst.
const fn rank(status: Status) -> u8 {
    match status {
        Status::Complete => 0,
        Status::Incomplete => 1,
        Status::CheckFailed => 2,
        Status::Interrupted => 3,
        Status::Failed => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use inrush_core::report::{Counts, ErrorCount, IndexCounts};
    use inrush_core::{Code, Encoding};

    use super::*;
    use crate::report::{FinishReport, PlanReport, SettingsReport, Verified};
    use crate::tolerance::ToleranceReport;

    fn part(docs_read: u64, docs_dead_lettered: u64, tolerate: Option<&str>) -> Report {
        let docs_created = docs_read - docs_dead_lettered;
        let mut created = IndexCounts::default();
        created.created = docs_created;
        let tolerance = |limit: &str| {
            let limit = limit.to_owned();
            ToleranceReport { limit, docs: docs_dead_lettered, docs_unknown: 0, holds: false }
        };
        Report {
            status: if docs_dead_lettered > 0 { Status::Incomplete } else { Status::Complete },
            failure: None,
            failure_code: None,
            counts: Counts::build(|counts| {
                (counts.docs_read, counts.docs_dead_lettered) = (docs_read, docs_dead_lettered);
                (counts.docs_indexed, counts.docs_created) = (docs_created, docs_created);
            }),
            seconds: docs_read as f64,
            docs_per_second: 1.0,
            this_run: None,
            checkpoint: None,
            plan: PlanReport {
                batch_bytes: 1,
                batch_docs: None,
                in_flight: 1,
                why: String::new(),
                encoding: Encoding::Json,
                compression: "none".into(),
                wire_why: String::new(),
                start: None,
                learned: None,
            },
            verified: Verified::new(VerifiedState::Off, String::new()),
            tolerance: tolerate.map(tolerance),
            settings: SettingsReport::new(SettingsRestored::Unchanged, String::new()),
            since: None,
            sizes: BTreeMap::new(),
            pauses: Vec::new(),
            source_idle_seconds: 0.0,
            lag: None,
            finish: FinishReport::default(),
            swap: None,
            new_index: None,
            ended_before: None,
            indices: [("a".to_owned(), created)].into(),
            errors: (docs_dead_lettered > 0)
                .then(|| ErrorCount::new(400, "k", "r", docs_dead_lettered))
                .into_iter()
                .collect(),
            dead_letters: Some("d".into()),
            dead_letter_topic: None,
            not_found_ids: Vec::new(),
            warnings: vec![format!("{docs_read}")],
            warning_details: Vec::new(),
            sources: Vec::new(),
            run_id: "r".into(),
        }
    }

    #[test]
    fn a_report_has_the_code_of_its_problem() {
        let mut report = part(10, 0, None);
        assert_eq!(report.code(), None);
        assert_eq!(part(10, 1, None).code(), Some(Code::DocumentsNotIn));
        report.status = Status::CheckFailed;
        assert_eq!(report.code(), Some(Code::NotCleanedUp), "nothing else failed");
        report.settings.restored = SettingsRestored::PassedOn;
        assert_eq!(report.code(), Some(Code::StepFailed));
        report.settings.restored = SettingsRestored::No;
        assert_eq!(report.code(), Some(Code::SettingsNotRestored));
        report.verified.state = VerifiedState::No;
        assert_eq!(report.code(), Some(Code::CountDiffers));
        report.finish.failure = Some("force-merge: refused".into());
        assert_eq!(report.code(), Some(Code::StepFailed));
        report.status = Status::Interrupted;
        assert_eq!(report.code(), Some(Code::Interrupted));
        report.status = Status::Failed;
        assert_eq!(report.code(), Some(Code::Failed), "of an earlier version");
        let failed = || {
            let mut failed = part(10, 0, None);
            (failed.status, failed.failure) = (Status::Failed, Some("-".into()));
            failed.failure_code = Some(Code::RetriesSpent);
            failed
        };
        let merged = Report::merged([part(10, 1, None), failed()]).unwrap();
        assert_eq!((merged.code(), merged.failure_code), (Some(Code::RetriesSpent), Some(Code::RetriesSpent)));
    }

    #[test]
    fn numbers_are_sums_and_the_worst_end_counts() {
        let total = Report::merged([part(10, 0, None), part(5, 2, None), part(7, 1, None)]).unwrap();
        assert_eq!(total.status, Status::Incomplete);
        assert!(total.counts.add_up());
        assert_eq!((total.counts.docs_read, total.indices["a"].created, total.errors[0].count), (22, 19, 3));
        assert_eq!((total.errors.len(), total.seconds, total.docs_per_second), (1, 10.0, 3.0));
        assert_eq!((total.warnings, total.dead_letters), (["10", "5", "7"].map(String::from).to_vec(), None));
        let mut failed = part(1, 0, None);
        (failed.status, failed.failure) = (Status::Failed, Some("the disk is full".into()));
        let total = Report::merged([part(5, 2, None), failed]).unwrap();
        assert_eq!((total.status, total.failure.as_deref()), (Status::Failed, Some("the disk is full")));
        assert!(Report::merged([]).is_none());
    }

    #[test]
    fn a_tolerance_is_judged_for_all_documents_together() {
        for (limit, status) in
            [("2", Status::Complete), ("1", Status::Incomplete), ("10%", Status::Complete), ("9%", Status::Incomplete)]
        {
            let total = Report::merged([part(10, 2, Some(limit)), part(10, 0, Some(limit))]).unwrap();
            assert_eq!(total.status, status, "{limit}");
            assert_eq!(total.tolerance.unwrap().docs, 2);
        }
    }
}
