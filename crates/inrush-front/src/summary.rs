//! The text of a report: the command line prints it, and a program receives it by
//! [`ReportText`](crate::embed::ReportText).

mod bake;
mod finish;

use inrush_bake::{BakeReport, Engine, HandOver};
use inrush_cluster::api::stats::IndexStats;
use inrush_commands::options::Style;
use inrush_core::Code;
use inrush_core::report::{Counts, ErrorCount};
use inrush_load::{
    Report, SettingChange, SettingsRestored, SinceReport, StartFrom, StartOutcome, StartReport, Status, ThisRun,
    ToleranceReport, VerifiedState,
};

use crate::plain::{inline_in, quoted};
use crate::units::{bytes, bytes_exact, count, counted, seconds};

/// The most kinds of errors in the summary. The JSON report has all of them.
const ERRORS_MAX: usize = 3;

/// The most characters of an error within a sentence.
const SENTENCE_ERROR_MAX: usize = 200;

/// How the same load, or one of its dead letters, is started again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// The load has the option `once`.
    pub once: bool,
    /// The flags with which the cluster is reached, each with a space before it.
    pub flags: String,
    /// The flags that change documents, in the same form. Records that were never sent need them.
    pub shape: String,
}

impl From<bool> for Again {
    fn from(once: bool) -> Self {
        Again { once, ..Again::default() }
    }
}

/// The text of a load's report. Rows that are zero are left out, except documents read and indexed.
pub fn text(report: &Report, again: impl Into<Again>) -> String {
    rows(report, None, again).text()
}

/// The text of a bake's report.
pub fn text_of_bake(report: &BakeReport) -> String {
    rows(&report.load, Some(&report.hand_over), false).text()
}

/// The rows of a report.
pub fn rows(report: &Report, hand_over: Option<&HandOver>, again: impl Into<Again>) -> Rows {
    let mut rows = Rows::default();
    outcome(report, if hand_over.is_some() { "bake" } else { "load" }, &mut rows);
    documents(report, &mut rows);
    work(report, hand_over.is_some(), &mut rows);
    if hand_over.is_none_or(|hand_over| hand_over.engine != Engine::Native) {
        requests(report, &mut rows);
    }
    checks(report, &mut rows);
    hand_over.into_iter().for_each(|hand_over| bake::rows(hand_over, &mut rows));
    problems(report, &mut rows);
    for (at, next) in what_next(report, hand_over.is_some(), &again.into()).into_iter().enumerate() {
        rows.add(if at == 0 { "what next" } else { "" }, next);
    }
    rows
}

/// The problem in one sentence, for stderr. None if the load was a success.
pub fn problem(report: &Report) -> Option<String> {
    let counts = &report.counts;
    match report.status {
        Status::Complete => None,
        Status::Incomplete => {
            let file = report.dead_letters.as_ref().map(|path| format!("; see {}", path.display()));
            let whereto = file.or_else(|| Some(format!("; see topic {}", report.dead_letter_topic.as_ref()?)));
            let not_in = counted(counts.docs_not_in(), "document");
            let were = if counts.docs_not_in() == 1 { "was" } else { "were" };
            let tolerance = report.tolerance.as_ref().map(ToleranceReport::problem).unwrap_or_default();
            let first = report.errors.first();
            let error = first.map(|error| format!("; most frequent error: {}", shortened(error))).unwrap_or_default();
            Some(format!("{not_in} {were} not indexed{tolerance}{error}{}", whereto.unwrap_or_default()))
        }
        Status::CheckFailed => Some(format!("{}, but a check failed: {}", are_in(report), failed_checks(report))),
        Status::Failed => Some(report.failure.clone().unwrap_or_else(|| "the load failed".to_owned())),
        Status::Interrupted if counts.docs_read == 0 => Some("interrupted, and no document was indexed".to_owned()),
        Status::Interrupted => Some(format!("interrupted after {}", counted(counts.docs_read, "document"))),
    }
}

/// The same with the hand-over of a bake, which may have left something behind.
pub fn problem_of_bake(report: &Report, hand_over: &HandOver) -> Option<String> {
    match report.code() {
        Some(Code::NotCleanedUp) if !hand_over.left.is_empty() => {
            Some(format!("{}, but not everything is cleaned up: {}", are_in(report), hand_over.left.join("; ")))
        }
        _ => problem(report),
    }
}

/// The details of all checks that failed.
fn failed_checks(report: &Report) -> String {
    let mut failed: Vec<&str> = report.finish.failure.as_deref().into_iter().collect();
    if report.verified.state == VerifiedState::No {
        failed.push(&report.verified.detail);
    }
    // If nothing else failed, the detail names the load that holds the settings.
    if report.settings.restored == SettingsRestored::No || failed.is_empty() {
        failed.push(&report.settings.detail);
    }
    failed.join("; ")
}

/// An error on one line of at most [`SENTENCE_ERROR_MAX`] characters.
fn shortened(error: &ErrorCount) -> String {
    let text = one_error(error).replace('\n', " ");
    match text.char_indices().nth(SENTENCE_ERROR_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn one_error(error: &ErrorCount) -> String {
    // Records that were not sent have the status 0.
    let status = if error.status == 0 { String::new() } else { format!("{} ", error.status) };
    format!("{status}{}: {}", error.kind, error.reason)
}

/// A table of names and values.
#[derive(Default)]
pub struct Rows(Vec<(String, String)>);

impl Rows {
    /// Adds a row. One without a name continues the one above it.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Each row on one line, without characters that control a terminal. Names and reasons of
    /// servers may have several lines.
    pub fn into_lines(self, style: Style) -> Vec<(String, String)> {
        let line = |text: String| inline_in(&text.replace('\n', " "), style).into_owned();
        self.0.into_iter().map(|(name, value)| (line(name), line(value))).collect()
    }

    /// The text of the command line.
    pub fn text(self) -> String {
        let lines = self.into_lines(Style::Flag);
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in lines {
            text.push_str(format!("{name:<width$}  {value}").trim_end());
            text.push('\n');
        }
        text
    }
}

fn outcome(report: &Report, what: &str, rows: &mut Rows) {
    let result = match report.status {
        Status::Complete => are_in(report),
        Status::Incomplete => "some documents were not indexed".to_owned(),
        Status::CheckFailed => format!("{}, but a check failed", are_in(report)),
        Status::Failed => format!("the {what} failed"),
        Status::Interrupted => "interrupted".to_owned(),
    };
    rows.add("result", result);
    if let (Status::Incomplete, Some(tolerance)) = (report.status, &report.tolerance) {
        rows.add(
            "why",
            format!("{} not indexed{}", counted(report.counts.docs_not_in(), "document"), tolerance.problem()),
        );
    }
    if let Some(at) = &report.ended_before {
        rows.add(
            "loaded before",
            format!("by run {}, which ended at {at}; nothing was read or sent now", report.run_id),
        );
    }
    if let Some(failure) = &report.failure {
        rows.add("why", failure);
    }
}

/// The statement about the documents that are in, for a load that has finished.
fn are_in(report: &Report) -> String {
    let counts = &report.counts;
    // Only deletes can find nothing without being a dead letter.
    if counts.docs_not_found > 0 && counts.docs_indexed == counts.docs_deleted {
        let missing = counted(counts.docs_not_found, "id");
        return match counts.docs_deleted {
            0 => format!("no document was deleted: {missing} not found"),
            deleted => format!("{} deleted, {missing} not found", counted(deleted, "document")),
        };
    }
    let all = match report.tolerance.as_ref().filter(|tolerance| tolerance.docs > 0) {
        None => String::from("all documents were indexed"),
        Some(tolerance) => format!(
            "all documents were indexed, except {} of {}, which option `tolerate={}` allows",
            count(tolerance.docs),
            count(report.counts.docs_read),
            tolerance.limit
        ),
    };
    match report.verified.duplicates {
        0 => all,
        1 => format!("{all}, and 1 duplicate"),
        more => format!("{all}, and {} duplicates", count(more)),
    }
}

fn documents(report: &Report, rows: &mut Rows) {
    add_counts(&report.counts, rows);
    if !report.not_found_ids.is_empty() {
        rows.add("ids not found", some_ids(&report.not_found_ids, report.counts.docs_not_found));
    }
    if report.indices.len() > 1 {
        for (index, counts) in &report.indices {
            rows.add(format!("  {index}"), parts(counts.created, counts.updated, counts.deleted));
        }
    }
}

/// The first ids of a list, and how many there are besides. Quotes show blanks around an id.
fn some_ids(ids: &[String], all: u64) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("{id:?}")).collect();
    match all.saturating_sub(shown.len() as u64) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), count(more)),
    }
}

/// Adds the documents by result. Rows that are zero are left out, except documents read and
/// indexed.
pub fn add_counts(c: &Counts, rows: &mut Rows) {
    rows.add("documents read", count(c.docs_read));
    let mut indexed = count(c.docs_indexed);
    if c.docs_updated + c.docs_deleted > 0 {
        indexed.push_str(&format!(" ({})", parts(c.docs_created, c.docs_updated, c.docs_deleted)));
    }
    rows.add("indexed", indexed);
    for (name, number) in [
        ("unchanged", c.docs_noop),
        ("not found", c.docs_not_found),
        ("already there", c.docs_already_there),
        ("conflicting", c.docs_conflicting),
        ("dropped", c.docs_dropped),
        ("in failure store", c.docs_redirected),
        ("superseded", c.docs_superseded),
        ("dead letters", c.docs_dead_lettered),
        ("unknown", c.docs_unknown),
        ("read, not settled", c.docs_given_back),
    ] {
        if number > 0 {
            rows.add(name, count(number));
        }
    }
    if c.possible_duplicates > 0 {
        rows.add("possible duplicates", possible_duplicates(c.possible_duplicates, c.docs_read));
    }
}

/// The number of documents that may be in the index more than once. It is at most the number of
/// documents; the number of copies is told beside it.
fn possible_duplicates(copies: u64, docs: u64) -> String {
    match copies > docs && docs > 0 {
        true => format!("{}, sent again up to {} times in total", count(docs), count(copies)),
        false => count(copies),
    }
}

fn parts(created: u64, updated: u64, deleted: u64) -> String {
    let parts = [(created, "created"), (updated, "updated"), (deleted, "deleted")];
    let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    if parts.is_empty() { "0".to_owned() } else { parts.join(", ") }
}

fn work(report: &Report, is_bake: bool, rows: &mut Rows) {
    let c = &report.counts;
    if let Some(ThisRun { counts, seconds: took }) = &report.this_run {
        let of =
            format!("{} read, {} indexed, {}", count(counts.docs_read), count(counts.docs_indexed), seconds(*took));
        rows.add("this run", of);
    }
    // Most of a bake's time is that of other steps.
    let of = if is_bake { " while they were read" } else { "" };
    rows.add("time", format!("{} ({} docs/s{of})", seconds(report.seconds), count(report.docs_per_second as u64)));
    for pause in &report.pauses {
        let times = if pause.times == 1 { String::new() } else { format!(" in {} pauses", pause.times) };
        rows.add("paused", format!("{}{times}: {}", seconds(pause.seconds), pause.why));
    }
    if report.source_idle_seconds >= 1.0 {
        rows.add("source idle", format!("{}, with all documents settled", seconds(report.source_idle_seconds)));
    }
    if let Some(lag) = &report.lag {
        let written = lag.seconds.map(|age| format!("; the first was written {} ago", seconds(age)));
        let written = written.unwrap_or_default();
        rows.add("behind", format!("{} to the ends of the partitions{written}", counted(lag.records, "offset")));
    }
    rows.add("bytes read", bytes(c.bytes_read));
}

/// What was sent to the cluster, and how.
fn requests(report: &Report, rows: &mut Rows) {
    let c = &report.counts;
    rows.add("bytes sent", format!("{} in {}", bytes(c.bytes_sent), counted(c.requests, "request")));
    for (name, number) in [("items retried", c.retried_items), ("items rejected", c.rejected_items)] {
        if number > 0 {
            rows.add(name, count(number));
        }
    }
    let plan = &report.plan;
    let docs = plan.batch_docs.map(|docs| format!(" option `batch_docs={docs}`")).unwrap_or_default();
    let batch = bytes_exact(plan.batch_bytes);
    rows.add(
        "plan",
        format!("option `batch_bytes={batch}`{docs} option `in_flight={}` ({})", plan.in_flight, plan.why),
    );
    if let Some(start) = plan.start.as_ref().filter(|start| !start.detail.is_empty() || start.outcome.is_some()) {
        rows.add("began with", began_with(start));
    }
    let wire = format!("option `encoding={}` option `compression={}`", plan.encoding, plan.compression);
    rows.add("sent as", format!("{wire} ({})", plan.wire_why));
}

fn checks(report: &Report, rows: &mut Rows) {
    if let Some(new) = &report.new_index {
        rows.add("new index", format!("{}: mapping {}, settings {}", new.name, new.mapping, new.settings));
    }
    if let Some(since) = &report.since {
        rows.add("since", since_row(since));
    }
    let state = |state| match state {
        VerifiedState::Yes => "yes",
        VerifiedState::No => "NO",
        VerifiedState::NotProvable => "not provable",
        VerifiedState::Off => "off",
    };
    rows.add("verified", format!("{}: {}", state(report.verified.state), report.verified.detail));
    for (field, vectors) in &report.verified.vectors {
        rows.add("vectors", format!("{}: {field}: {}", state(vectors.state), vectors.detail));
    }
    sizes(report, rows);
    settings(report, rows);
    finish::rows(report, rows);
}

/// The rows that a load with option `since` has read, and where the next one begins.
pub fn since_row(since: &SinceReport) -> String {
    let to = since.to.as_deref().unwrap_or("no value");
    let rows = match &since.from {
        Some(from) => format!("{} from {from} to {to}", since.column),
        None => format!("{} up to {to}: all rows", since.column),
    };
    if since.detail.is_empty() { rows } else { format!("{rows} ({})", since.detail) }
}

/// The first plan, its origin, and what became of it.
fn began_with(start: &StartReport) -> String {
    let from = match (start.from, &start.learned_at) {
        (StartFrom::EarlierLoad, Some(at)) => format!("learned by a load that ended at {at}"),
        (StartFrom::Given, _) => "option `learned`".to_owned(),
        (StartFrom::EarlierLoad, None) => "learned by an earlier load".to_owned(),
        (StartFrom::Defaults, _) => "the defaults".to_owned(),
    };
    let outcome = match start.outcome {
        Some(StartOutcome::Held) => "; it held",
        Some(StartOutcome::Contradicted) => "; it did not hold, and the load began again with the defaults",
        Some(StartOutcome::Unchecked) => "; too few requests to say whether it holds",
        None => "",
    };
    let detail = if start.detail.is_empty() { String::new() } else { format!(" ({})", start.detail) };
    format!("{} x {}, {from}{outcome}{detail}", start.in_flight, bytes_exact(start.batch_bytes))
}

/// The sizes of all indices together.
fn sizes(report: &Report, rows: &mut Rows) {
    let sum = |of: fn(&IndexStats) -> u64| {
        let before: u64 = report.sizes.values().filter_map(|sizes| sizes.before.as_ref()).map(of).sum();
        let after: u64 = report.sizes.values().filter_map(|sizes| sizes.after.as_ref()).map(of).sum();
        (before, after)
    };
    if report.sizes.values().all(|sizes| sizes.after.is_none()) {
        return;
    }
    let (before, after) = sum(|stats| stats.primary_bytes);
    let (_, all) = sum(|stats| stats.total_bytes);
    let copies = if all > after { format!(", {} with replicas", bytes(all)) } else { String::new() };
    // Servers update the size every ten seconds. A size that has not changed at all was most likely
    // measured before the load.
    if before != after || report.counts.docs_read == 0 {
        rows.add("store size", format!("{} before, {} now{copies}", bytes(before), bytes(after)));
    }
    let (before, after) = sum(|stats| stats.docs_deleted);
    if before + after > 0 {
        rows.add(
            "deleted documents",
            format!("{} before, {} now, until merges remove them", count(before), count(after)),
        );
    }
}

fn settings(report: &Report, rows: &mut Rows) {
    let settings = &report.settings;
    if !settings.changed.is_empty() {
        let one =
            |(name, change): (&String, &SettingChange)| format!("{}={}", name.trim_start_matches("index."), change.to);
        let changed: Vec<String> = settings.changed.iter().map(one).collect();
        rows.add("settings", format!("{} during the load", changed.join(", ")));
    }
    match settings.restored {
        SettingsRestored::Yes => rows.add("put back", format!("yes: {}", settings.detail)),
        SettingsRestored::PassedOn => rows.add("put back", format!("passed on: {}", settings.detail)),
        SettingsRestored::No => rows.add("put back", format!("NO: {}", settings.detail)),
        SettingsRestored::Unchanged => {}
    }
}

fn problems(report: &Report, rows: &mut Rows) {
    for error in report.errors.iter().take(ERRORS_MAX) {
        rows.add("error", format!("{} x {}", count(error.count), one_error(error)));
    }
    if let Some(more) = report.errors.len().checked_sub(ERRORS_MAX).filter(|more| *more > 0) {
        rows.add("", format!("and {} of errors", counted(more as u64, "other kind")));
    }
    for warning in &report.warnings {
        rows.add("warning", warning);
    }
    if let Some(path) = &report.dead_letters {
        rows.add("dead-letter file", path.display().to_string());
    }
    if let Some(topic) = &report.dead_letter_topic {
        rows.add("dead-letter topic", topic);
    }
}

/// Whether a source cannot be read for what is in it. What corrects that, another file or other
/// options, makes another load, which cannot be resumed.
fn is_of_contents(code: Code) -> bool {
    use Code::{BadEncoding, BadQuery, BadSource, BadTable, DamagedCompression, UnknownFormat};
    matches!(code, BadEncoding | BadQuery | BadSource | BadTable | DamagedCompression | UnknownFormat)
}

fn what_next(report: &Report, is_bake: bool, same: &Again) -> Vec<String> {
    let (again, goes_on) = match same.once {
        true => ("the same command again", "the same command"),
        false => ("the same command with option `resume`", "the same command with option `resume`"),
    };
    let mut next = Vec::new();
    match report.status {
        Status::Complete | Status::Incomplete => {}
        Status::CheckFailed if report.verified.state != VerifiedState::No => {}
        Status::CheckFailed => next
            .push("check whether another program writes to the index or deletes from it, then count again".to_owned()),
        Status::Failed | Status::Interrupted => {
            let first = if report.status == Status::Failed { "fix the cause, then " } else { "" };
            let is_other = report.failure_code.is_some_and(is_of_contents);
            next.push(match report.checkpoint {
                Some(_) if is_other && !is_bake => {
                    "correct the source or the options, then load again from the beginning; with option `id` no document is duplicated".to_owned()
                }
                Some(_) => format!("{first}run {again}"),
                None if is_bake => format!("{first}bake again"),
                None => format!("{first}load again; with option `id` no document is duplicated"),
            });
        }
    }
    if report.verified.duplicates > 0 {
        next.push(
            "the cluster executed requests whose answer was lost, and inrush sent them again: to have no duplicates, load into \
             a new index with option `id=FIELD`, option `id_from=content` or option `id_from=position`"
                .to_owned(),
        );
    }
    letters(report, is_bake, same, &mut next);
    // The dead letters have the simpler way to the alias.
    let otherwise =
        if report.status == Status::Incomplete && report.dead_letters.is_some() { "otherwise " } else { "" };
    let by_swap = report.swap.iter().filter_map(|swap| swap.what_next.as_ref());
    next.extend(by_swap.map(|text| format!("{otherwise}{text}")));
    let moved = report.swap.as_ref().is_none_or(|swap| swap.swapped);
    if report.status == Status::CheckFailed && moved && report.finish.failure.is_some() && report.checkpoint.is_some() {
        next.push(format!("{goes_on} does the remaining steps and loads nothing again"));
    }
    if report.settings.restored == SettingsRestored::No {
        next.push("fix the problem with the settings, then run `inrush recover`".to_owned());
    }
    if let (Some(topic), None) = (&report.dead_letter_topic, &report.dead_letters) {
        next.push(format!("fix the causes of the errors, then load topic {topic} with a group of its own"));
    }
    if report.counts.docs_unknown > 0 && report.checkpoint.is_none() {
        let hint = "the cluster never answered for the unknown documents: load them again; with option `id` no document is duplicated";
        next.push(hint.to_owned());
    }
    if report.counts.docs_redirected > 0 {
        next.push("read the failure store with `GET INDEX::failures/_search`".to_owned());
    }
    next
}

/// What to do about dead letters in a file.
fn letters(report: &Report, is_bake: bool, same: &Again, next: &mut Vec<String>) {
    let Some(path) = &report.dead_letters else { return };
    let path = quoted(&path.display().to_string());
    // 0 marks records that were never sent, and the sum of further kinds of errors.
    let never_sent = |error: &&ErrorCount| error.status == 0 && error.kind != "other";
    if report.errors.iter().any(|error| !never_sent(&error)) {
        // The letters name their index.
        let swap = report.swap.as_ref().filter(|swap| !swap.swapped && report.status == Status::Incomplete && !is_bake);
        let (load, moves) = match swap {
            None => (format!("inrush load --from-dead-letters {path}"), ""),
            Some(swap) => (
                format!("inrush load --from-dead-letters {path} --alias {}", quoted(&swap.alias)),
                ", which then moves the alias",
            ),
        };
        let shape = if report.errors.iter().any(|error| never_sent(&error)) { same.shape.as_str() } else { "" };
        next.push(format!("fix the causes of the errors, then run `{load}{shape}{}`{moves}", same.flags));
    }
    if let Some(error) = report.errors.iter().find(never_sent) {
        next.push(format!(
            "records with the error {} were never sent: correct the source or the options and load it again; with option `id` no document is duplicated",
            error.kind
        ));
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::report::IndexCounts;
    use inrush_core::{PauseKind, PauseTotal};
    use inrush_load::config::Encoding;
    use inrush_load::{IndexSizes, PlanReport, SettingsReport, Verified};

    use super::*;

    fn text(report: &Report) -> String {
        super::text(report, false)
    }

    fn index_counts(created: u64, updated: u64) -> IndexCounts {
        let mut counts = IndexCounts::default();
        (counts.created, counts.updated) = (created, updated);
        counts
    }

    pub(super) fn report(status: Status) -> Report {
        let plan = PlanReport {
            batch_bytes: 2 << 20,
            batch_docs: None,
            in_flight: 4,
            why: "fixed values".into(),
            encoding: Encoding::Json,
            compression: "none".into(),
            wire_why: "as given".into(),
            start: None,
            learned: None,
        };
        let verified = Verified::new(VerifiedState::Yes, "0 before + 1500 created = 1500".into());
        let settings = SettingsReport::new(SettingsRestored::Unchanged, "the settings were not changed".into());
        let mut report = Report::new("r".into(), status, plan, verified, settings);
        report.counts = Counts::build(|counts| {
            (counts.docs_read, counts.docs_indexed, counts.docs_created) = (1_500, 1_500, 1_500);
            (counts.bytes_read, counts.bytes_sent, counts.requests) = (2 << 20, 3 << 20, 2);
        });
        (report.seconds, report.docs_per_second) = (2.0, 750.0);
        report.indices = [("a".to_owned(), index_counts(1_500, 0))].into();
        report
    }

    #[test]
    fn copies_that_are_proven_stand_in_the_first_line() {
        let mut report = report(Status::Complete);
        report.verified.duplicates = 3000;
        report.counts.possible_duplicates = 3000;
        let text = text(&report);
        assert!(text.starts_with("result               all documents were indexed, and 3,000 duplicates\n"), "{text}");
        assert!(text.contains("possible duplicates  1,500, sent again up to 3,000 times in total"), "{text}");
        assert!(text.contains("what next            the cluster executed requests whose answer was lost"), "{text}");
    }

    #[test]
    fn what_a_load_began_with_is_told_where_there_was_a_memory() {
        let start = |start: serde_json::Value| {
            let mut report = report(Status::Complete);
            report.plan.start = Some(serde_json::from_value(start).unwrap());
            text(&report).lines().find(|line| line.starts_with("began with")).map(str::to_owned)
        };
        let plan = |from: &str, outcome: Option<&str>, detail: &str| {
            serde_json::json!({"from": from, "batch_bytes": 4 << 20, "in_flight": 8, "detail": detail,
                "outcome": outcome, "learned_at": outcome.map(|_| "2026-11-24T02:00:00Z")})
        };
        let held = start(plan("earlier load", Some("held"), "")).unwrap();
        assert!(held.ends_with("8 x 4MiB, learned by a load that ended at 2026-11-24T02:00:00Z; it held"), "{held}");
        let wrong = start(plan("earlier load", Some("contradicted"), "a request takes 9 ms")).unwrap();
        assert!(wrong.contains("began again with the defaults (a request takes 9 ms)"), "{wrong}");
        assert_eq!(start(plan("defaults", None, "")), None);
    }

    #[test]
    fn a_load_without_a_problem_is_short() {
        let report = report(Status::Complete);
        assert_eq!(
            text(&report),
            "\
result          all documents were indexed
documents read  1,500
indexed         1,500
time            2.0 s (750 docs/s)
bytes read      2.0 MiB
bytes sent      3.0 MiB in 2 requests
plan            --batch-bytes 2MiB --in-flight 4 (fixed values)
sent as         --encoding json --compression none (as given)
verified        yes: 0 before + 1500 created = 1500
"
        );
        assert_eq!(problem(&report), None);
    }

    #[test]
    fn a_tolerance_is_told_with_its_numbers() {
        let mut report = report(Status::Complete);
        report.counts.docs_dead_lettered = 15;
        let tolerance = ToleranceReport { limit: "1%".into(), docs: 15, docs_unknown: 0, holds: true };
        report.tolerance = Some(tolerance.clone());
        let all = text(&report);
        assert!(
            all.starts_with(
                "result          all documents were indexed, except 15 of 1,500, which --tolerate 1% allows\n"
            ),
            "{all}"
        );
        assert_eq!(problem(&report), None);
        report.status = Status::Incomplete;
        report.tolerance = Some(ToleranceReport { limit: "10".into(), holds: false, ..tolerance });
        assert_eq!(
            problem(&report).unwrap(),
            "15 documents were not indexed, more than the 10 that option `tolerate` allows"
        );
        assert!(text(&report).contains("15 documents not indexed, more than the 10"), "{}", text(&report));
    }

    #[test]
    fn documents_that_are_not_in_come_with_reasons_and_what_to_do() {
        let mut report = report(Status::Incomplete);
        report.counts.docs_indexed = 1_000;
        report.counts.docs_created = 900;
        report.counts.docs_updated = 100;
        report.counts.docs_dead_lettered = 499;
        report.counts.docs_unknown = 1;
        report.dead_letters = Some("dead.ndjson".into());
        for kind in 0..5 {
            let reason = "failed\nto parse".to_owned();
            let status = if kind == 0 { 0 } else { 400 };
            report.errors.push(ErrorCount::new(status, format!("kind_{kind}"), reason, 9 - kind));
        }
        report.indices.insert("b".into(), index_counts(0, 3));
        assert_eq!(
            text(&report),
            "\
result            some documents were not indexed
documents read    1,500
indexed           1,000 (900 created, 100 updated)
dead letters      499
unknown           1
  a               1,500 created
  b               3 updated
time              2.0 s (750 docs/s)
bytes read        2.0 MiB
bytes sent        3.0 MiB in 2 requests
plan              --batch-bytes 2MiB --in-flight 4 (fixed values)
sent as           --encoding json --compression none (as given)
verified          yes: 0 before + 1500 created = 1500
error             9 x kind_0: failed to parse
error             8 x 400 kind_1: failed to parse
error             7 x 400 kind_2: failed to parse
                  and 2 other kinds of errors
dead-letter file  dead.ndjson
what next         fix the causes of the errors, then run `inrush load --from-dead-letters dead.ndjson`
                  records with the error kind_0 were never sent: correct the source or the options and load it again; with --id no document is duplicated
                  the cluster never answered for the unknown documents: load them again; with --id no document is duplicated
"
        );
        assert_eq!(
            problem(&report).as_deref(),
            Some("500 documents were not indexed; most frequent error: kind_0: failed to parse; see dead.ndjson")
        );
        // Only records that were never sent need the options that change documents.
        let again = Again { once: false, flags: " --to a".to_owned(), shape: " --drop b".to_owned() };
        let both = super::text(&report, again.clone());
        assert!(both.contains("--from-dead-letters dead.ndjson --drop b --to a`"), "{both}");
        let unsent = report.errors.remove(0);
        let sent = super::text(&report, again);
        assert!(sent.contains("--from-dead-letters dead.ndjson --to a`"), "{sent}");
        report.errors.insert(0, unsent);
        // Rows that are not documents are not in the dead-letter file either.
        report.errors.truncate(1);
        assert!(!text(&report).contains("--from-dead-letters"), "{}", text(&report));
    }

    #[test]
    fn settings_that_were_changed_are_told_and_what_to_do_where_they_still_are() {
        let mut report = report(Status::CheckFailed);
        report.settings = SettingsReport::new(SettingsRestored::No, "refused; inrush recover a".into());
        let change = SettingChange { from: None, to: "60s".into() };
        report.settings.changed.insert("index.refresh_interval".into(), change);
        let text = text(&report);
        assert!(text.contains("settings        refresh_interval=60s during the load"), "{text}");
        assert!(text.contains("put back        NO: refused; inrush recover a"), "{text}");
        assert!(text.contains("then run `inrush recover`") && !text.contains("count again"), "{text}");
        assert!(problem(&report).unwrap().ends_with("a check failed: refused; inrush recover a"));
        report.verified.state = VerifiedState::No;
        assert!(problem(&report).unwrap().contains("a check failed: 0 before + 1500 created = 1500; refused"));
    }

    #[test]
    fn pauses_and_sizes_are_told() {
        let mut report = report(Status::Complete);
        let pause = |kind, why: &str, times, seconds| PauseTotal::new(kind, why, times, seconds);
        report.pauses = vec![
            pause(PauseKind::ByHand, "by hand", 1, 12.0),
            pause(PauseKind::IndexRed, "a is red: a primary shard is not assigned", 3, 61.5),
        ];
        let stats = |deleted, primary_bytes| IndexStats {
            docs: 1,
            docs_deleted: deleted,
            primary_bytes,
            total_bytes: 2 * primary_bytes,
        };
        let sizes = IndexSizes { before: Some(stats(0, 1 << 20)), after: Some(stats(1200, 3 << 20)) };
        report.sizes = [("a".to_owned(), sizes)].into();
        let later = IndexSizes { before: None, after: Some(stats(3, 1 << 20)) };
        report.sizes.insert("b".to_owned(), later);
        let shown = text(&report);
        for line in [
            "paused             12.0 s: by hand",
            "paused             1 min 02 s in 3 pauses: a is red: a primary shard is not assigned",
            "store size         1.0 MiB before, 4.0 MiB now, 8.0 MiB with replicas",
            "deleted documents  0 before, 1,203 now, until merges remove them",
        ] {
            assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
        }
        let same = IndexSizes { before: Some(stats(0, 208)), after: Some(stats(0, 208)) };
        report.sizes = [("a".to_owned(), same)].into();
        assert!(!text(&report).contains("store size"), "not renewed yet");
    }

    #[test]
    fn every_bad_end_says_what_to_do_next() {
        for (status, checkpoint, expected) in [
            (Status::CheckFailed, None, "count again"),
            (Status::Failed, None, "fix the cause, then load again"),
            (Status::Failed, Some("c"), "fix the cause, then run the same command with --resume"),
            (Status::Interrupted, None, "load again"),
            (Status::Interrupted, Some("c"), "the same command with --resume"),
        ] {
            let mut report = report(status);
            report.verified.state = VerifiedState::No;
            report.failure = Some("the disk is full".into());
            report.checkpoint = checkpoint.map(Into::into);
            assert!(text(&report).contains(expected), "{status:?}");
            assert!(text(&report).contains("the disk is full"), "{status:?}");
            // --once refuses --resume.
            let once = super::text(&report, true);
            assert!(!once.contains("--resume"), "{once}");
            assert_eq!(once.contains("the same command again"), checkpoint.is_some(), "{once}");
            assert!(problem(&report).is_some());
        }
        assert_eq!(problem(&report(Status::Interrupted)).as_deref(), Some("interrupted after 1,500 documents"));
    }
}
