//! `inrush bake`.

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush::bake::{BakeConfig, BakeError, Baker, BuilderConfig, Cost, Estimate, Layout, OpenSource, Place};
use inrush::config::LoadConfig;
use inrush::source::{Source, Warnings, open};
use tokio::sync::oneshot;

use super::bake_flags;
use super::load;
use super::signals::Signals;
use super::source;
use crate::args::{BakeArgs, BakeFlags, LayoutArg, OutputArgs};
use crate::auth::Surroundings;
use crate::failure::{ExitStatus, UsageError};
use crate::job::{self, Job};
use crate::logging::{self, Stderr};
use crate::options;
use crate::progress::{self, Display};
use crate::summary::Rows;
use crate::units::{bytes, count, counted, seconds};

/// Enough for a warm server to show its pace.
const SAMPLE_BYTES: u64 = 32 << 20;

/// Bakes, reports, and returns the exit status.
/// `command_line` are the arguments after `inrush bake`.
pub(crate) async fn run(args: BakeArgs, command_line: &[OsString]) -> Result<u8> {
    let job = job::complete(args.load, Some(args.flags), command_line)?;
    let stderr = Stderr::new();
    logging::start(&job.args.output.log, job.args.output.quiet, &stderr);
    go(job, stderr).await
}

/// The same for flags that are complete.
pub(super) async fn go(job: Job, stderr: Stderr) -> Result<u8> {
    let output = job.args.output.clone();
    let flags = job.bake.clone().unwrap_or_default();
    let mut load = options::config(&job, &Surroundings::of_process())?;
    bake_flags::refuse_unused(&job.args)?;
    if load.to.is_empty() {
        // It shares a folder with the builder only if it was started with it.
        load.to = vec![super::node::running().await?];
    }
    let sources = sources(&job, &load)?;
    super::mapping::of_load(&job.args.source, &job.args.index, &mut load).await?;
    let bytes = sources()?.bytes_total();
    super::shards::of_load(&job.args.source, &job.args.index, bytes, false, &mut load, output.quiet, &stderr).await?;
    let config = config(load, &flags)?;
    if job.args.errors.dry_run {
        if flags.estimate {
            return Err(UsageError::new("--dry-run writes nothing, and --estimate builds a sample")
                .hint("give one")
                .into());
        }
        let found = inrush::bake::dry_run(config, sources).await.map_err(explain)?;
        return super::dry_run::print(&output, &found);
    }
    if flags.estimate {
        return estimate(config, sources, &flags, &output, stderr).await;
    }
    if flags.sample.is_some() {
        return Err(UsageError::new("--sample means nothing without --estimate").into());
    }
    let baker = Baker::new(config, sources).map_err(explain)?;

    let signals = Signals::new()?;
    let bake = baker.start();
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = tokio::spawn(progress::show(bake.progress(), display, stderr.clone()));
    let stop = bake.stop_handle();
    tokio::spawn(stop_on_signals(signals, stderr.clone(), "the target is left as it was", move || stop.stop()));
    let ended = bake.finish().await;
    // The progress line is cleared before the report is printed; how it fared does not matter any more.
    let _ = shown.await;
    match ended {
        Ok(report) => {
            load::print_bake(&report, &output, stderr)?;
            Ok(report.exit_code())
        }
        Err(error) => failed(error, "nothing was loaded, and the target is as it was", stderr),
    }
}

/// The first signal ends the work in order, Ctrl-C a second later or more at once.
async fn stop_on_signals(mut signals: Signals, mut stderr: Stderr, what_follows: &str, stop: impl FnOnce()) {
    signals.next().await;
    let _ = writeln!(stderr, "interrupted: {what_follows}; Ctrl-C a second later to leave at once");
    stop();
    signals.again().await;
    std::process::exit(i32::from(ExitStatus::Interrupted.code()));
}

/// Reckons, and prints what comes out.
async fn estimate(
    config: BakeConfig,
    sources: OpenSource,
    flags: &BakeFlags,
    output: &OutputArgs,
    stderr: Stderr,
) -> Result<u8> {
    let sample = flags.sample.unwrap_or(SAMPLE_BYTES).try_into().unwrap_or(usize::MAX);
    let signals = Signals::new()?;
    let (stopping, stopped) = oneshot::channel();
    let stop = move || {
        // What has ended needs no stop.
        let _ = stopping.send(());
    };
    tokio::spawn(stop_on_signals(signals, stderr.clone(), "what was made for the estimate is taken away", stop));
    // The other end lives until it has sent.
    let stopped = async { stopped.await.unwrap_or_default() };
    let found = match inrush::bake::estimate(config, sources, sample, stopped).await {
        Ok(found) => found,
        Err(error) => return failed(error, "nothing is left of the estimate", stderr),
    };
    let text = match output.json {
        true => serde_json::to_string(&found).context("cannot write the estimate as JSON")? + "\n",
        false => told(&found),
    };
    super::print(&text)?;
    Ok(0)
}

fn told(found: &Estimate) -> String {
    let mut rows = Rows::default();
    let cost = |cost: &Cost| format!("{}, {} of processors", seconds(cost.seconds), seconds(cost.cpu_seconds));
    let times = found.factor.map_or_else(
        || "the size of the source is not known: this is for the sample".to_owned(),
        |f| format!("the source is {f:.1} times as large"),
    );
    rows.add("sample", format!("{} documents; {times}", count(found.sample_docs)));
    rows.add("index", format!("{} without replicas; {}", bytes(found.index_bytes), counted(found.replicas, "replica")));
    rows.add("load, target", cost(&found.load));
    rows.add("bake, target", cost(&found.bake_on_target));
    rows.add(
        "bake, in all",
        format!("{}; of these to start the builder {}", cost(&found.bake), cost(&found.builder_start)),
    );
    rows.add(
        "reckoned",
        "as if the target's processors were like those of this machine, and did nothing else; docs/bake.md",
    );
    rows.text()
}

/// What opens the sources; that they can be opened is known then.
fn sources(job: &Job, load: &LoadConfig) -> Result<OpenSource> {
    if source::index_address(&job.args.source.sources, &job.args.source.reading)?.is_some() {
        return Err(UsageError::new("the source is an index, and a bake reads files")
            .hint("load it with `inrush load`")
            .into());
    }
    let (specs, format) = source::specs(&job.args.source, load.limits.document_bytes_max)?;
    let again = move || -> Result<Box<dyn Source>, inrush::source::SourceError> {
        Ok(Box::new(open(&specs, format.clone(), &Warnings::default())?))
    };
    again().map_err(|error| UsageError::new(error.to_string()))?;
    Ok(Arc::new(again))
}

fn config(load: LoadConfig, flags: &BakeFlags) -> Result<BakeConfig> {
    let place = match (&flags.repository_path, &flags.repository) {
        (Some(folder), None) => Place::Path(folder.clone()),
        (None, Some(name)) => Place::Repository(name.clone()),
        // A job file can give both.
        (Some(_), Some(_)) => {
            return Err(UsageError::new("--repository-path and --repository are given; a bake goes through one").into());
        }
        (None, None) => {
            return Err(UsageError::new("no repository given")
                .hint("name a folder that both sides reach with --repository-path DIR, or a repository of the target with --repository NAME")
                .into());
        }
    };
    if flags.layout.is_some() && flags.builders.unwrap_or(flags.builder_urls.len() as u32) <= 1 {
        return Err(UsageError::new("--layout says what several builders build")
            .hint("say how many with --builders N")
            .into());
    }
    let defaults = BuilderConfig::default();
    let heap_mib = flags.builder_heap.map(super::node::heap_mib).transpose()?.unwrap_or(defaults.heap_mib);
    Ok(BakeConfig {
        builder: BuilderConfig {
            urls: options::urls(&flags.builder_urls)?.iter().map(ToString::to_string).collect(),
            version: flags.builder_version.clone(),
            home: flags.builder_home.clone(),
            settings: flags.builder_settings.clone(),
            heap_mib,
            data: flags.builder_data.clone(),
            java_home: flags.java_home.clone(),
        },
        builders: flags.builders.unwrap_or(flags.builder_urls.len().max(1) as u32),
        layout: match flags.layout {
            Some(LayoutArg::Cluster) | None => Layout::Cluster,
            Some(LayoutArg::Alias) => Layout::Alias,
            Some(LayoutArg::Stitched) => Layout::Stitched,
        },
        data_stream: flags.data_stream.clone(),
        unthrottle: flags.unthrottle,
        no_resume: flags.no_resume,
        ..BakeConfig::new(load, place)
    })
}

/// How it ends without a report. `as_before`: what is said of one that was stopped and has left nothing.
fn failed(error: BakeError, as_before: &str, mut stderr: Stderr) -> Result<u8> {
    if !error.is_interrupted() {
        return Err(explain(error));
    }
    let _ = match error {
        BakeError::Interrupted => writeln!(stderr, "interrupted: {as_before}"),
        BakeError::Unfinished { left, resumable: false, .. } if left.is_empty() => {
            writeln!(stderr, "interrupted: {as_before}")
        }
        error => writeln!(stderr, "{error}"),
    };
    Ok(ExitStatus::Interrupted.code())
}

fn explain(error: BakeError) -> anyhow::Error {
    match error {
        BakeError::Load(error) => load::usage(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> LoadConfig {
        LoadConfig::new(vec!["http://target:9200".to_owned()], "x".parse().unwrap())
    }

    #[test]
    fn a_bake_goes_through_one_place() {
        let problem = |flags: BakeFlags| config(load(), &flags).unwrap_err().to_string();
        assert_eq!(problem(BakeFlags::default()), "no repository given");
        let (folder, name) = (Some("shared".into()), Some("nightly".to_owned()));
        let both = BakeFlags { repository_path: folder.clone(), repository: name, ..BakeFlags::default() };
        assert!(problem(both).contains("goes through one"));
        let layout =
            BakeFlags { repository_path: folder.clone(), layout: Some(LayoutArg::Alias), ..BakeFlags::default() };
        assert!(problem(layout).contains("several builders"));
        let odd = BakeFlags { repository_path: folder, builder_heap: Some(1000), ..BakeFlags::default() };
        assert!(problem(odd).contains("whole MiB"));
    }

    #[test]
    fn flags_reach_the_configuration() {
        let flags = BakeFlags {
            repository: Some("nightly".to_owned()),
            builder_urls: vec!["http://a".to_owned(), "http://b:9201".to_owned()],
            layout: Some(LayoutArg::Stitched),
            builder_heap: Some(4 << 30),
            data_stream: Some("logs".to_owned()),
            unthrottle: true,
            ..BakeFlags::default()
        };
        let config = config(load(), &flags).unwrap();
        assert_eq!(config.place, Place::Repository("nightly".to_owned()));
        assert_eq!(config.builder.urls, ["http://a:9200", "http://b:9201"]);
        assert_eq!((config.builders, config.layout, config.unthrottle), (2, Layout::Stitched, true));
        assert_eq!((config.builder.heap_mib, config.data_stream.as_deref()), (4096, Some("logs")));
    }

    #[test]
    fn an_estimate_is_told_side_by_side() {
        let cost = |seconds, cpu_seconds| Cost { seconds, cpu_seconds };
        let found = Estimate {
            sample_docs: 1000,
            factor: Some(12.5),
            replicas: 1,
            load: cost(100.0, 200.0),
            bake: cost(130.0, 240.0),
            bake_on_target: cost(2.0, 1.0),
            builder_start: cost(20.0, 25.0),
            index_bytes: 3 << 20,
        };
        let text = told(&found);
        assert!(text.contains("1,000 documents; the source is 12.5 times as large"), "{text}");
        assert!(text.contains("load, target") && text.contains("1 replica"), "{text}");
        assert!(told(&Estimate { factor: None, ..found }).contains("this is for the sample"));
    }
}
