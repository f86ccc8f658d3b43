//! `inrush verify`.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use inrush::LoadError;
use inrush::audit::{AuditError, AuditOptions, AuditProgress, AuditReport, Example, Outcome, audit};
use inrush::cluster::connect;
use inrush::options::{Environment, IndexSourceOptions, Inputs, LoadOptions, LoadPlan, SourceOptions, TargetOptions};
use inrush::transport::HttpOptions;
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use crate::args::{CompareArgs, VerifyArgs};
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::plain::inline;
use crate::progress::Display;
use crate::summary::Rows;
use crate::units::{count, seconds};

/// How often a plain line is written; on a terminal it is drawn more often.
const LINE_EVERY: Duration = Duration::from_secs(5);
const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// Compares, prints, and returns the exit status.
pub(crate) async fn run(args: VerifyArgs) -> Result<u8> {
    let VerifyArgs { sources, reading, database, sql, what, query, source_login, login, output } = args;
    let stderr = Stderr::new();
    logging::start(&output.log, output.quiet, &stderr);
    if what.index.fixed().is_none() {
        let message = format!("--index {} stands for several indices", what.index);
        return Err(UsageError::new(message).hint("compare with one at a time").into());
    }
    Inputs::of_query(&sources, &sql).check([("--missing", what.missing.as_ref())]).map_err(load::refused)?;
    let CompareArgs { index, to, id, id_from, routing, drop: dropped, sample, missing } = what;
    let options = LoadOptions {
        source: SourceOptions { sources, ..SourceOptions::default() },
        reading: reading.0,
        database: database.0,
        query: sql.0,
        index_source: IndexSourceOptions { query, ..IndexSourceOptions::default() },
        source_login: source_login.0,
        target: TargetOptions {
            index: Some(index.clone()),
            to,
            id: id.clone(),
            id_from,
            routing: routing.clone(),
            ..TargetOptions::default()
        },
        login: login.0,
        ..LoadOptions::default()
    };
    load::tell_of_terminal(&options);
    let plan = options.resolve(&load::with_prompt(Environment::of_process())).await.map_err(load::usage)?;
    let plan = load::confirm(plan, load::somebody_is_there())?;
    // Of a load, only the source and the cluster are needed: a comparison makes no index.
    let LoadPlan { config, source, reopen: _, local: _, model: _, confirmations: _, notes: _ } = plan;
    let nodes = match config.to.is_empty() {
        true => vec![super::node::local(output.quiet, &stderr).await?],
        false => config.to,
    };
    let mut signals = Signals::new()?;
    let http = HttpOptions { tls: config.tls, ..HttpOptions::default() };
    let transport = connect(&nodes, config.credentials, &http).await.map_err(load::usage)?;
    let options = AuditOptions {
        id,
        id_from,
        routing,
        drop: dropped,
        sample: sample.map(|n| n as usize),
        missing,
        ..AuditOptions::new(index)
    };
    let (progress, watched) = watch::channel(AuditProgress::default());
    let tell = |now| {
        progress.send_replace(now);
    };
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = tokio::spawn(show(watched, display, stderr.clone()));
    let compared = tokio::select! {
        compared = audit(transport, source, &options, tell) => compared,
        () = signals.next() => return Ok(ExitStatus::Interrupted.code()),
    };
    drop(progress);
    // The progress line is cleared before the report is printed; how it fared does not matter any more.
    let _ = shown.await;
    let report = compared.map_err(explain)?;
    let text = match (output.json, output.quiet) {
        (true, _) => serde_json::to_string(&report).context("cannot write the report as JSON")? + "\n",
        (false, true) => String::new(),
        (false, false) => text(&report),
    };
    super::print(&text)?;
    Ok(match report.result {
        Outcome::Equal => 0,
        Outcome::Different => ExitStatus::CheckFailed.code(),
    })
}

fn explain(error: AuditError) -> anyhow::Error {
    match error {
        AuditError::Usage(message) => UsageError::new(message).into(),
        AuditError::Cluster(error) => load::usage(LoadError::Cluster(error)),
        error @ (AuditError::Source(_) | AuditError::File { .. }) => error.into(),
    }
}

/// Shows progress until the comparison has hung up.
async fn show(mut progress: watch::Receiver<AuditProgress>, display: Display, mut stderr: Stderr) {
    let every = match display {
        Display::None => return,
        Display::Terminal => REDRAW_EVERY,
        Display::Plain => LINE_EVERY,
    };
    let bar = (display == Display::Terminal).then(ProgressBar::new_spinner);
    if let Some(bar) = &bar {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        stderr.attach(bar.clone());
    }
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let line = line(&progress.borrow());
                match &bar {
                    Some(bar) => {
                        bar.set_message(inline(&line).into_owned());
                        bar.tick();
                    }
                    // Nobody is left to tell if stderr is closed.
                    None => drop(writeln!(stderr, "{line}")),
                }
            }
            changed = progress.changed() => {
                if changed.is_err() {
                    break;
                }
            }
        }
    }
    if let Some(bar) = bar {
        stderr.detach();
        bar.finish_and_clear();
    }
}

fn line(now: &AuditProgress) -> String {
    let mut line = format!("{} documents read, {} compared", count(now.docs_read), count(now.docs_compared));
    if now.ids_read > 0 {
        line.push_str(&format!(", {} ids of the index read", count(now.ids_read)));
    }
    line
}

/// What is printed. Kinds that were not looked for are left out.
fn text(report: &AuditReport) -> String {
    let mut rows = Rows::default();
    let result = match report.result {
        Outcome::Equal if report.not_proven.is_empty() => "equal",
        Outcome::Equal => "equal, as far as was compared",
        Outcome::Different => "different",
    };
    rows.add("result", result);
    rows.add("documents read", count(report.docs_read));
    let mut row = |name: &str, number: Option<u64>, examples: &[Example]| {
        if let Some(number) = number {
            rows.add(name, count(number));
        }
        for example in examples {
            rows.add("", format!("  {}", told(example)));
        }
    };
    row("rejected", (report.docs_rejected > 0).then_some(report.docs_rejected), &report.examples.rejected);
    row("replaced by later", report.docs_replaced.filter(|replaced| *replaced > 0), &[]);
    row("in the index", Some(report.docs_in_index), &[]);
    row("compared", report.docs_compared, &[]);
    row("missing", report.docs_missing, &report.examples.missing);
    row("different", report.docs_different, &report.examples.different);
    row(if report.sample.is_some() { "extra, at least" } else { "extra" }, report.docs_extra, &report.examples.extra);
    for what in &report.not_proven {
        rows.add("not proven", what);
    }
    for warning in &report.warnings {
        rows.add("warning", warning);
    }
    if let (Some(path), true) = (&report.missing_file, report.docs_missing > Some(0) || report.docs_different > Some(0))
    {
        rows.add("written to", path.display().to_string());
    }
    rows.add("time", seconds(report.seconds));
    rows.text()
}

fn told(example: &Example) -> String {
    let id = example.id.as_ref().map(|id| format!("id {id}"));
    let routing = example.routing.as_ref().map(|routing| format!("routing {routing}"));
    let place = example.line.map(|line| format!("{} line {line}", example.source.as_deref().unwrap_or("-")));
    let told: Vec<String> = [id, routing, place].into_iter().flatten().collect();
    let detail = example.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{}{detail}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use inrush::audit::Examples;

    use super::*;

    #[test]
    fn what_was_found_is_told_with_examples() {
        let example = |id: &str, line, detail: Option<&str>| Example {
            id: Some(id.into()),
            routing: None,
            source: Some("a.ndjson".into()),
            line: Some(line),
            detail: detail.map(str::to_owned),
        };
        let report = AuditReport {
            result: Outcome::Different,
            index: "docs".into(),
            docs_read: 1_234,
            docs_rejected: 0,
            docs_replaced: Some(0),
            docs_in_index: 1_233,
            docs_compared: Some(1_234),
            docs_missing: Some(1),
            docs_different: Some(1),
            docs_extra: Some(0),
            sample: None,
            not_proven: Vec::new(),
            warnings: Vec::new(),
            examples: Examples {
                missing: vec![example("i1", 2, None)],
                different: vec![example("i9", 10, Some("n"))],
                ..Examples::default()
            },
            missing_file: Some("m.ndjson".into()),
            seconds: 1.5,
        };
        let text = text(&report);
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "result different",
                "documents read 1,234",
                "in the index 1,233",
                "compared 1,234",
                "missing 1",
                "id i1, a.ndjson line 2",
                "different 1",
                "id i9, a.ndjson line 10: n",
                "extra 0",
                "written to m.ndjson",
                "time 1.5 s",
            ],
            "{text}"
        );
    }
}
