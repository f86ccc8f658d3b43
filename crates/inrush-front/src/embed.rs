//! For programs that load as `inrush load` does: the same options with the same checks, without a
//! terminal.

mod shards;

use std::net::SocketAddr;

use inrush_bake::{BakeError, HandOver};
pub use inrush_bake::{BuiltShard, ShardBuild, ShardOrder};
pub use inrush_cluster::transport::Secret;
use inrush_commands::bake::BakeOptions;
use inrush_commands::options::{
    Confirmation, EndOptions, Environment, LoadOptions, LoadPlan, LoginOptions, OptionError, OptionGroup, Style, render,
};
pub use inrush_core::Code;
use inrush_load::{Failures, LoadError, Phase, Progress, Report, RunningLoad, Settlements};
pub use inrush_page::JobPage;
use inrush_page::Shown;
use inrush_sources::push::Sender;
use inrush_sources::{SourceError, StoreOptions};
use serde_json::{Map, Value};
pub use shards::ShardsBake;
use tokio::sync::watch;

use crate::errors::{self, UsageError};
use crate::plain::{inline, plain_in};
use crate::progress::{RateWindow, Table, line};
use crate::watching::{self, Watching};
use crate::{Say, local_node, summary};

/// The most bytes of settlements that wait for the program.
const SETTLEMENTS_BYTES_MAX: usize = 64 << 20;

/// The most bytes of dead letters that wait for the program, in addition to twice the memory of the
/// load.
const FAILURES_BYTES_MORE: usize = 64 << 20;

/// The target of a load that has none.
const NO_TARGET: &str = "http://localhost:9200";

/// Options that apply only to the command line.
const ONLY_FOR_THE_COMMAND_LINE: [&str; 12] = [
    "job",
    "mode",
    "output",
    "explain",
    "dry_run",
    "report_every",
    "report",
    "quiet",
    "json",
    "log_level",
    "log_json",
    "verbose",
];

/// The cause of an error before the first document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option is wrong, or contradicts another one. No request was sent.
    Usage,
    /// A source cannot be read.
    Source,
    /// The cluster cannot be reached, refuses, or is not ready.
    Cluster,
}

/// Why a load could not begin. The texts name options as keyword arguments.
#[derive(Clone, Debug)]
pub struct Error {
    /// The cause.
    pub kind: ErrorKind,
    /// The kind of the error, which `inrush explain` explains.
    pub code: Code,
    /// The value found and the value expected.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        let hint = error.hint_in(Style::Keyword).map(|hint| hint.into_owned());
        Error { kind: ErrorKind::Usage, code: error.code(), message: error.message(Style::Keyword), hint }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        if let LoadError::Usage(error) = error {
            return error.into();
        }
        let code = error.code();
        let error = errors::usage(error);
        let kind = if error.is::<UsageError>() {
            ErrorKind::Usage
        } else if error.is::<SourceError>() {
            ErrorKind::Source
        } else {
            ErrorKind::Cluster
        };
        let keyword = |text: &str| render(text, Style::Keyword).into_owned();
        let message = keyword(&errors::causes(&error).join(": "));
        Error { kind, code, message, hint: errors::hint_of(&error).map(keyword) }
    }
}

/// The options of a load that has not begun.
#[derive(Debug)]
pub struct Load {
    options: LoadOptions,
    keep_outcomes: bool,
    parts: Option<Secret>,
    job: Option<JobPage>,
    shard: Option<OrderedShard>,
}

/// A shard of a bake, and how this machine reaches the object store of the repository.
#[derive(Debug)]
struct OrderedShard {
    order: ShardOrder,
    number: u32,
    store: StoreOptions,
}

/// The end of each document of a load, as a program receives it.
///
/// The channels are large enough for a program that receives before it hands over more documents
/// than the load has room for, and that knows the end of all but a million documents. What finds no
/// room is dropped and counted.
#[derive(Debug)]
pub struct Outcomes {
    /// The dead letters: at most twice the memory of the load and 64 MiB wait.
    pub failures: Failures,
    /// The other documents: messages of at most 64 MiB wait.
    pub settlements: Settlements,
}

impl Outcomes {
    /// Documents whose end was dropped because a channel was full.
    pub fn dropped(&self) -> u64 {
        self.failures.dropped() + self.settlements.dropped()
    }
}

/// A load that has begun.
#[derive(Debug)]
pub struct Begun {
    /// The load.
    pub load: RunningLoad,
    /// The end of each document, where the program asked for it.
    pub outcomes: Option<Outcomes>,
    /// The address at which its page listens, if it has one.
    pub page: Option<SocketAddr>,
    /// The shard that it builds, if it is a part of a bake. It is ended after the load.
    pub shard: Option<ShardBuild>,
}

impl Load {
    /// Reads the options of a load: the keys of a job file, with paths relative to the working
    /// directory.
    ///
    /// # Errors
    /// An unknown option or a wrong value, of [`ErrorKind::Usage`].
    pub fn new(options: Map<String, Value>) -> Result<Self, Error> {
        let given = LoadOptions::default();
        let mut load = Load { options: given, keep_outcomes: false, parts: None, job: None, shard: None };
        for (key, value) in options {
            let name = key.replace('-', "_");
            if ONLY_FOR_THE_COMMAND_LINE.contains(&name.as_str()) {
                let message = format!("`{key}` applies only to the command line");
                return Err(OptionError::conflict(message).hint("leave it out").into());
            }
            // A word of the language has a `_` behind it.
            load.options.give(name.strip_suffix('_').unwrap_or(&name), value)?;
        }
        Ok(load)
    }

    /// Reads the options of a bake, for a load that builds this shard of it instead of sending its
    /// documents to the cluster. Those that no load has are left out.
    ///
    /// # Errors
    /// As [`Load::new`].
    pub fn of_shard(mut options: Map<String, Value>, order: ShardOrder, shard: u32) -> Result<Self, Error> {
        let of_bake = take_of_bake(&mut options)?;
        let store = StoreOptions::parse(&of_bake.repository_option)
            .map_err(|problem| OptionError::value("repository_option", problem))?;
        let mut load = Load { shard: Some(OrderedShard { order, number: shard, store }), ..Load::new(options)? };
        // The target is asked on the machine of the bake only, and the bake ends there.
        load.options.end = EndOptions::default();
        load.options.login = LoginOptions::default();
        load.options.target.to = vec![NO_TARGET.to_owned()];
        Ok(load)
    }

    /// The options, for changes.
    pub fn options(&mut self) -> &mut LoadOptions {
        &mut self.options
    }

    /// Whether the program receives the result of each document ([`Outcomes`]). Default: no.
    pub fn keep_outcomes(&mut self, keep: bool) {
        self.keep_outcomes = keep;
    }

    /// The load is a job whose parts in other processes report to its page with this token. The
    /// page shows their sums, and does not control the job. Default: there are no parts.
    pub fn with_parts(&mut self, token: Secret) {
        self.parts = Some(token);
    }

    /// The load is a part of a job, and reports to the job's page. Without an answer it loads as
    /// without a page.
    pub fn part_of(&mut self, page: JobPage) {
        self.job = Some(page);
    }

    /// Starts to load the sources, or the dead letters, that the options name. Notes about
    /// automatic choices and the address of the page are said.
    ///
    /// # Errors
    /// The load cannot begin. No document was sent.
    pub async fn start(self, say: Say<'_>) -> Result<Begun, Error> {
        let Load { options, keep_outcomes, parts, job, shard } = self;
        let plan = options.resolve(&Environment::of_process()).await?;
        start(plan, keep_outcomes, (parts, job), shard, say).await
    }

    /// Starts a load that the program feeds. `bytes` is the approximate total size, if known:
    /// settings of the index are changed for large loads only. `name` is the source's name in
    /// reports and dead letters.
    ///
    /// # Errors
    /// The load cannot begin. No document was sent.
    pub async fn start_fed(self, name: &str, bytes: Option<u64>, say: Say<'_>) -> Result<(Sender, Begun), Error> {
        let Load { options, keep_outcomes, parts, job, shard } = self;
        let (sender, plan) = options.resolve_fed(name, bytes, &Environment::of_process()).await?;
        Ok((sender, start(plan, keep_outcomes, (parts, job), shard, say).await?))
    }
}

/// Takes the options of a bake out of those that a program gives.
fn take_of_bake(options: &mut Map<String, Value>) -> Result<BakeOptions, Error> {
    let mut of_bake = BakeOptions::default();
    for info in BakeOptions::infos() {
        let given = options.remove(info.name).and_then(|value| of_bake.set(info.name, value.into()));
        if let Some(Err(problem)) = given {
            return Err(OptionError::value(info.name, problem).into());
        }
    }
    Ok(of_bake)
}

/// Starts without a terminal: a step that needs a confirmation is refused, unless the option `yes`
/// was given. `parts`, `job`, `shard`: as [`Load::with_parts`], [`Load::part_of`] and
/// [`Load::of_shard`] set them.
async fn start(
    mut plan: LoadPlan,
    keep_outcomes: bool,
    (parts, job): (Option<Secret>, Option<JobPage>),
    shard: Option<OrderedShard>,
    say: Say<'_>,
) -> Result<Begun, Error> {
    if let Some(refusal) = plan.confirmations.iter().find_map(Confirmation::refusal) {
        return Err(refusal.into());
    }
    plan.notes.iter().for_each(|note| say(&as_keywords(note)));
    if let (Some(local), true) = (&plan.local, plan.config.to.is_empty()) {
        let local = local_node::url(local.is_named, say).await;
        plan.config.to = vec![local.map_err(|error| Error {
            kind: ErrorKind::Cluster,
            code: error.code(),
            message: errors::causes(&error.into()).join(": "),
            hint: None,
        })?];
    }
    let failures_bytes_max = plan.config.limits.memory.saturating_mul(2).saturating_add(FAILURES_BYTES_MORE);
    let (mut watch, name) = watching::of_plan(&mut plan);
    let has_parts = parts.is_some();
    if let Some(page) = &mut watch.page {
        page.parts = parts;
    }
    watch.job = job;
    let (mut loader, source, shard) = match shard {
        None => {
            let (loader, source) = plan.loader().await?;
            (loader, source, None)
        }
        Some(OrderedShard { order, number, store }) => {
            let (loader, source, shard) = plan.shard_loader(&order, number, &store).await?;
            (loader, source, Some(shard))
        }
    };
    let mut watching = Watching::start(watch, false, say).await?;
    let outcomes = keep_outcomes.then(|| Outcomes {
        failures: loader.failures(failures_bytes_max),
        settlements: loader.settlements(SETTLEMENTS_BYTES_MAX),
    });
    let (loader, shown) = watching.observe(loader, &name);
    watching.report(shown.as_ref())?;
    match loader.start(source).await {
        Ok(load) => {
            // The page of a job would control only what the job does itself.
            watching.begun(shown.filter(|_| !has_parts), &load);
            let page = watching.address();
            Ok(Begun { load: load.followed_by(watching.end()), outcomes, page, shard })
        }
        Err(error) => {
            watching.end().await;
            Err(error.into())
        }
    }
}

/// The page of a job whose parts are bakes in other processes, which report to it.
#[derive(Debug)]
pub struct BakesPage {
    watching: Watching,
    shown: Option<(Shown, watch::Sender<Progress>)>,
}

impl BakesPage {
    /// Begins to show the job `name`, and says the address of its page. `options` are those of a
    /// load about page and metrics. The parts report with `token`. Must be called in a tokio
    /// runtime.
    ///
    /// # Errors
    /// An option cannot be used, of [`ErrorKind::Usage`].
    pub async fn start(name: &str, options: Map<String, Value>, token: Secret, say: Say<'_>) -> Result<Self, Error> {
        let mut watch = Load::new(options)?.options.watch.config_in(&Environment::of_process())?;
        if let Some(page) = &mut watch.page {
            page.parts = Some(token);
        }
        let watching = Watching::start(watch, false, say).await?;
        let shown = watching.job(name);
        Ok(BakesPage { watching, shown })
    }

    /// The address at which the page listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.watching.address()
    }

    /// Shows the end of the job, and closes the page. `report` is the report of all parts, if there
    /// is one.
    pub async fn end(self, report: Option<&Report>) {
        if let Some((shown, progress)) = self.shown {
            match report {
                Some(report) => {
                    progress.send_modify(|progress| progress.phase = Phase::Done);
                    shown.ended(report);
                }
                None => {
                    // What follows the progress ends with it, and shows no other phase.
                    drop(progress);
                    shown.failed("the job has failed; the error of its program has the reason");
                }
            }
        }
        self.watching.end().await;
    }
}

impl From<BakeError> for Error {
    fn from(error: BakeError) -> Self {
        if let BakeError::Load(error) = error {
            return error.into();
        }
        let (kind, code) = (ErrorKind::Cluster, error.code());
        Error { kind, code, message: as_keywords(&error.to_string()).into_owned(), hint: None }
    }
}

/// A text of the engine, such as a warning or a message of the log, with its options named as
/// keyword arguments.
pub fn as_keywords(text: &str) -> std::borrow::Cow<'_, str> {
    render(text, Style::Keyword)
}

/// The text of a report that a command prints, with its options named as keyword arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportText {
    /// What went wrong, in one sentence; `None` if all went well.
    pub problem: Option<String>,
    /// Names and values, each on one line. A value without a name continues the one above it.
    pub rows: Vec<(String, String)>,
}

impl ReportText {
    /// The text of a report, with the hand-over of a bake. `once`: the load has the option `once`,
    /// so that it is repeated in order to continue.
    pub fn new(report: &Report, hand_over: Option<&HandOver>, once: bool) -> Self {
        let problem = match hand_over {
            Some(hand_over) => summary::problem_of_bake(report, hand_over),
            None => summary::problem(report),
        };
        ReportText {
            problem: problem.map(|problem| plain_in(&problem, Style::Keyword).into_owned()),
            rows: summary::rows(report, hand_over, once).into_lines(Style::Keyword),
        }
    }
}

/// The progress in one line.
#[derive(Debug, Default)]
pub struct ProgressLine {
    rates: RateWindow,
}

impl ProgressLine {
    /// The line for `now`. Call it a few times per second, because rates cover the last seconds.
    pub fn text(&mut self, now: &Progress) -> String {
        self.rates.see(now);
        inline(&line(now, &self.rates)).into_owned()
    }
}

/// The progress as names and values, for a program with a display of its own. The names of counts
/// are those of the report, and options are named as keyword arguments.
#[derive(Debug, Default)]
pub struct ProgressTable {
    table: Table,
}

impl ProgressTable {
    /// The rows for `now`, each on one line. A value without a name continues the one above it.
    /// Call it about once a second.
    pub fn rows(&mut self, now: &Progress) -> Vec<(String, String)> {
        self.table.rows(now)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn load(options: Value) -> Result<Load, Error> {
        let Value::Object(options) = options else { panic!("an object") };
        Load::new(options)
    }

    async fn problem(options: Value) -> Error {
        let load = match load(options) {
            Ok(load) => load,
            Err(error) => return error,
        };
        load.start_fed("python", None, &|_| {}).await.map(drop).unwrap_err()
    }

    #[test]
    fn options_are_the_keys_of_a_job_file() {
        let options = json!({
            "index": "t",
            "to": ["http://a", "http://b:9201"],
            "batch_bytes": "1MiB",
            "in-flight": 3,
            "user": null,
            "mapping": {"properties": {"n": {"type": "long"}}},
        });
        let options = load(options).unwrap().options;
        assert_eq!(options.target.to, ["http://a", "http://b:9201"]);
        assert_eq!(options.sizes.batch_bytes.map(|size| size.bytes()), Some(1 << 20));
        assert_eq!(options.sizes.in_flight.map(|n| n.get()), Some(3));
        let mapping = json!({"properties": {"n": {"type": "long"}}});
        assert_eq!(options.target.mapping, Some(inrush_commands::options::Body::Inline(mapping)));
    }

    #[tokio::test]
    async fn errors_name_keyword_arguments() {
        let to = "http://127.0.0.1:1";
        for (options, message, hint) in [
            (json!({"to": to}), "no index given", "index='NAME'"),
            (json!({"index": "t", "indexx": 1}), "no option is called `indexx`", "did you mean `index`"),
            (json!({"index": "t", "dry_run": true}), "`dry_run` applies only to the command line", "leave it out"),
            (json!({"index": "t", "report_every": "5s"}), "applies only to the command line", "leave it out"),
            (json!({"index": "t", "quiet": true}), "`quiet` applies only to the command line", "leave it out"),
            (json!({"index": "t", "to": to, "recreate": true}), "recreate deletes t", "add yes"),
            (json!({"index": "t", "batch_bytes": "many"}), "batch_bytes: invalid value 'many'", ""),
            (json!({"index": "t", "to": to, "map": "auto", "mapping": {}}), "map and mapping exclude each other", ""),
            (json!({"index": "t", "to": to, "user": "u"}), "user='u' has no password", "INRUSH_PASSWORD"),
            (json!({"index": "t", "to": to, "format": "csv"}), "format is for files", "leave it out"),
            (json!({"index": "t", "to": to, "shards": "auto"}), "shards='auto' reads the sources twice", "number"),
        ] {
            let text = options.to_string();
            let error = problem(options).await;
            assert_eq!(error.kind, ErrorKind::Usage, "{text}");
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert!(error.hint.unwrap_or_default().contains(hint), "{text}");
        }
    }

    #[tokio::test]
    async fn secrets_that_are_held_are_not_shown() {
        let mut load = load(json!({"index": "t", "to": "http://a", "user": "u", "password_env": "X"})).unwrap();
        load.options().login.password = Some(Secret::new("hunter2"));
        assert!(!format!("{load:?}").contains("hunter2"));
        let error = load.start_fed("python", None, &|_| {}).await.map(drop).unwrap_err();
        assert!(error.message.contains("the password is given directly, and by file or environment"), "{error:?}");
    }
}
