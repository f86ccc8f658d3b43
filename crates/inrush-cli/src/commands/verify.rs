//! `inrush verify`.

use anyhow::{Context, Result};
use inrush_cluster::api::{connect, product};
use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::HttpOptions;
use inrush_commands::options::{
    Environment, IndexSourceOptions, Inputs, LoadOptions, LoadPlan, SourceOptions, TargetOptions, Use,
};
use inrush_commands::verify::{
    Example, VerifyError, VerifyOptions, VerifyOutcome, VerifyProgress, VerifyReport, verify,
};
use inrush_core::Code;
use inrush_front::local_node;
use inrush_load::LoadError;
use inrush_page::Comparison;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use crate::args::VerifyArgs;
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::progress::{Display, show_row};
use crate::summary::Rows;
use crate::units::{count, seconds};
use crate::watching::Watching;

/// Compares, prints, and returns the exit status.
pub(crate) async fn run(args: VerifyArgs) -> Result<u8> {
    let VerifyArgs { what, output, .. } = &args;
    let stderr = Stderr::new();
    logging::start(&output.log, output.quiet, &stderr);
    if what.index.fixed().is_none() {
        let message = format!("--index {} has placeholders, so it names several indices", what.index);
        return Err(UsageError::new(Code::OptionsConflict, message).hint("compare with one at a time").into());
    }
    Inputs::of_sources(&args.sources, &args.reading, &args.sql)
        .check([("--missing", what.missing.as_ref())])
        .map_err(load::refused)?;
    let options = load_options(&args);
    load::tell_of_terminal(&options);
    let plan =
        options.resolve_for(Use::Verify, &load::with_prompt(Environment::of_process())).await.map_err(load::usage)?;
    let plan = load::confirm(plan, load::has_terminal())?;
    // Only the source and the cluster of the plan are used: a comparison creates no index.
    let LoadPlan { config, source, reopen: _, fetch: _, local, model: _, confirmations: _, notes: _, watch } = plan;
    let nodes = match config.to.is_empty() {
        true => {
            let is_named = local.is_some_and(|local| local.is_named);
            vec![local_node::url(is_named, &stderr.say(output.quiet && is_named)).await?]
        }
        false => config.to,
    };
    let mut signals = Signals::new()?;
    let http = HttpOptions { tls: config.tls, ..HttpOptions::default() };
    let transport = connect(&nodes, config.credentials, &http).await.map_err(load::usage)?;
    let options = verify_options(&args);
    let watching = Watching::start(watch, false, &stderr.say(output.quiet)).await.map_err(load::refused)?;
    let page = watching.compare(what.index.as_str());
    if let Some(page) = &page {
        let cluster = product::detect(&transport).await.map_err(|error| load::usage(LoadError::Cluster(error)))?;
        page.compares(&cluster.to_string(), &source.describe().names, &run_id());
    }
    let (progress, watched) = watch::channel(VerifyProgress::default());
    let tell = |now| {
        progress.send_replace(now);
        if let Some(page) = &page {
            page.compared(&shown(&now));
        }
    };
    let display = Display::detect(output.quiet, output.log.log_json);
    let terminal = tokio::spawn(show_row(watched, line, display, stderr.clone()));
    let compared = tokio::select! {
        compared = verify(transport, source, &options, tell) => Some(compared),
        () = signals.next() => None,
    };
    drop(progress);
    if let Some(page) = &page {
        let (status, report) = ended(compared.as_ref());
        page.compared_all(status, report);
    }
    watching.end().await;
    // The progress is cleared before the report is printed. Its result no longer matters.
    let _ = terminal.await;
    let Some(compared) = compared else { return Ok(ExitStatus::Interrupted.code()) };
    let report = compared.map_err(explain)?;
    let text = match (output.json, output.quiet) {
        (true, _) => serde_json::to_string(&report).context("cannot write the report as JSON")? + "\n",
        (false, true) => String::new(),
        (false, false) => text(&report),
    };
    super::print(&text)?;
    Ok(status(&report))
}

fn status(report: &VerifyReport) -> u8 {
    match report.result {
        VerifyOutcome::Equal => 0,
        VerifyOutcome::Different => ExitStatus::CheckFailed.code(),
    }
}

/// The end of a comparison as the page shows it: its exit status and its report. `None` was
/// interrupted.
fn ended(compared: Option<&Result<VerifyReport, VerifyError>>) -> (u8, Option<Value>) {
    match compared {
        None => (ExitStatus::Interrupted.code(), Some(json!({ "status": "interrupted" }))),
        Some(Err(error)) => {
            (ExitStatus::Failed.code(), Some(json!({ "status": "failed", "failure": error.to_string() })))
        }
        Some(Ok(report)) => {
            // A report is always JSON.
            let mut json = serde_json::to_value(report).unwrap_or_default();
            json["status"] = json["result"].take();
            (status(report), Some(json))
        }
    }
}

/// The progress as the page shows it.
fn shown(now: &VerifyProgress) -> Comparison {
    Comparison {
        docs_read: now.docs_read,
        bytes_read: now.bytes_read,
        bytes_total: now.bytes_total,
        counted: now.docs_counted,
        equal: now.docs_compared - now.docs_missing - now.docs_different,
        missing: now.docs_missing,
        different: now.docs_different,
        rejected: now.docs_rejected,
        ids_read: now.ids_read,
    }
}

/// The source and the target as options of a load.
fn load_options(args: &VerifyArgs) -> LoadOptions {
    let what = &args.what;
    LoadOptions {
        source: SourceOptions { sources: args.sources.clone(), ..SourceOptions::default() },
        reading: args.reading.0.clone(),
        database: args.database.0.clone(),
        query: args.sql.0.clone(),
        index_source: IndexSourceOptions { query: args.query.clone(), ..IndexSourceOptions::default() },
        source_login: args.source_login.0.clone(),
        shape: args.shape.0.clone(),
        target: TargetOptions {
            index: Some(what.index.clone()),
            to: what.to.clone(),
            id: what.id.clone(),
            id_from: what.id_from,
            routing: what.routing.clone(),
            ..TargetOptions::default()
        },
        login: args.login.0.clone(),
        watch: args.watch.0.clone(),
        ..LoadOptions::default()
    }
}

fn verify_options(args: &VerifyArgs) -> VerifyOptions {
    let what = &args.what;
    VerifyOptions {
        id: what.id.clone(),
        id_from: what.id_from,
        routing: what.routing.clone(),
        shaping: args.shape.shaping(),
        sample: what.sample.map(|n| n as usize),
        missing: what.missing.clone(),
        ..VerifyOptions::new(what.index.clone())
    }
}

fn explain(error: VerifyError) -> anyhow::Error {
    match error {
        VerifyError::Usage(message) => UsageError::new(Code::OptionsConflict, message).into(),
        VerifyError::Cluster(error) => load::usage(LoadError::Cluster(error)),
        error => error.into(),
    }
}

fn line(now: &VerifyProgress) -> String {
    let mut line = format!("{} documents read, {} compared", count(now.docs_read), count(now.docs_compared));
    if now.ids_read > 0 {
        line.push_str(&format!(", {} ids of the index read", count(now.ids_read)));
    }
    line
}

/// The text of a report. Kinds of differences that were not checked are left out.
fn text(report: &VerifyReport) -> String {
    let mut rows = Rows::default();
    let result = match report.result {
        VerifyOutcome::Equal if report.not_proven.is_empty() => "equal",
        VerifyOutcome::Equal => "equal, as far as compared",
        VerifyOutcome::Different => "different",
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
    use inrush_commands::verify::Examples;

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
        let report = VerifyReport {
            result: VerifyOutcome::Different,
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
