//! For a program that loads as `inrush load` does: the same options, checked by the same code, without a terminal.

use std::ffi::OsString;

use inrush::config::LoadConfig;
use inrush::source::SourceError;
use inrush::source::feed::{Feed, feed};
use inrush::source::push::PushOptions;
pub use inrush::transport::Secret;
use inrush::{Progress, RunningLoad};

use crate::args::Shards;
use crate::auth::Surroundings;
use crate::commands;
use crate::commands::source::Opened;
use crate::failure::{self, UsageError};
use crate::job::{self, Job};
use crate::logging::Stderr;
use crate::options;
use crate::plain::inline;
use crate::progress::{RateWindow, line};

/// Bytes of documents that wait to be read, at most; a load with less memory takes a quarter of that.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Options that say something to the command line only.
const ONLY_FOR_THE_COMMAND_LINE: [&str; 8] =
    ["job", "mode", "dry_run", "quiet", "json", "log_level", "log_json", "verbose"];

/// Secrets that a program holds already, instead of a file or a variable that holds them.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// The password of `user`.
    pub password: Option<Secret>,
    /// An API key, as `id:key` or as the cluster encoded it.
    pub api_key: Option<Secret>,
    /// A bearer token.
    pub bearer: Option<Secret>,
}

/// What went wrong before the first document, and whose matter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option is wrong, or does not fit the others; nothing was asked of the cluster or done to it.
    Usage,
    /// A source cannot be read.
    Source,
    /// The cluster cannot be reached, refuses, or is not ready.
    Cluster,
}

/// Why a load could not begin.
#[derive(Clone, Debug)]
pub struct Error {
    /// Whose matter it is.
    pub kind: ErrorKind,
    /// What was found and what was expected; flags are named as on the command line.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Error {
    fn new(error: &anyhow::Error) -> Self {
        let kind = if error.is::<UsageError>() {
            ErrorKind::Usage
        } else if error.is::<SourceError>() {
            ErrorKind::Source
        } else {
            ErrorKind::Cluster
        };
        Error { kind, message: failure::causes(error).join(": "), hint: failure::hint_of(error).map(str::to_owned) }
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Error::new(&error)
    }
}

impl From<UsageError> for Error {
    fn from(error: UsageError) -> Self {
        Error::new(&error.into())
    }
}

/// A load that is fully described, and has not begun.
#[derive(Debug)]
pub struct Load {
    job: Job,
    config: LoadConfig,
}

impl Load {
    /// Reads the options of a load: the keys of a job file but `sources`, paths relative to the working directory.
    ///
    /// # Errors
    /// Of [`ErrorKind::Usage`].
    pub fn new(table: toml::Table, sources: Vec<OsString>, secrets: Secrets) -> Result<Self, Error> {
        let only = |key: &&String| ONLY_FOR_THE_COMMAND_LINE.contains(&key.replace('-', "_").as_str());
        if let Some(key) = table.keys().find(only) {
            return Err(UsageError::new(format!("`{key}` is for the command line and means nothing in a program"))
                .hint("leave it out")
                .into());
        }
        let mut job = job::of_options(table)?;
        job.args.source.sources = sources;
        job.args.auth.held = secrets;
        let surroundings = Surroundings { terminal: false, ..Surroundings::of_process() };
        let mut config = options::config(&job, &surroundings)?;
        commands::load::confirm(&job.args.index, &mut config, false)?;
        Ok(Load { job, config })
    }

    /// The configuration.
    pub fn config(&self) -> &LoadConfig {
        &self.config
    }

    /// Whether to tell what becomes of each document ([`RunningLoad::settlements`]). Default: no.
    pub fn tell_settlements(&mut self, tell: bool) {
        self.config.settlements = tell;
    }

    /// Begins to load the sources, or the dead letters, that the options name.
    ///
    /// # Errors
    /// Where the load cannot begin; nothing was sent then.
    pub async fn start(mut self) -> Result<RunningLoad, Error> {
        let Opened { source, model } = commands::source::open(&self.job.args, &mut self.config).await?;
        commands::mapping::of_load(&self.job.args.source, &self.job.args.index, &mut self.config).await?;
        commands::node::confirm_local(&self.job.args.index.to, false).await?;
        let (to, stderr) = (&self.job.args, Stderr::new());
        let (bytes, ids) = (source.bytes_total(), source.has_ids());
        commands::shards::of_load(&to.source, &to.index, bytes, ids, &mut self.config, false, &stderr).await?;
        Ok(commands::load::start(self.config, source, model, false, &stderr).await?)
    }

    /// Begins a load that the program feeds. `bytes` are about how many will come, where that is known: the settings of the index
    /// are changed for large loads only. `name` is what reports and dead letters call the source.
    ///
    /// # Errors
    /// Where the load cannot begin; nothing was sent then.
    pub async fn start_fed(self, name: &str, bytes: Option<u64>) -> Result<(Feed, RunningLoad), Error> {
        let source = &self.job.args.source;
        if let Some(flag) = source.reading.given_for_files().or_else(|| source.from.given()) {
            let message = format!("{flag} is for files, and documents of a program are no file");
            return Err(UsageError::new(message).hint("leave it out").into());
        }
        if source.from_dead_letters.is_some() {
            let message = "--from-dead-letters is a source of its own, and documents are given as well";
            return Err(UsageError::new(message).hint("load one after the other").into());
        }
        if self.job.args.index.map.is_some() {
            let message = "--map auto reads the sources twice, which documents of a program do not allow";
            return Err(UsageError::new(message).hint("give a mapping with --mapping").into());
        }
        if self.job.args.index.shards == Some(Shards::Auto) {
            let message = "--shards auto looks at the sources first, which documents of a program do not allow";
            return Err(UsageError::new(message).hint("give a number of shards").into());
        }
        let limits = &self.config.limits;
        let (feed, source) = feed(PushOptions {
            memory: (limits.memory / 4).clamp(1, WAITING_BYTES_MAX),
            linger: limits.linger.min(PushOptions::default().linger),
            document_bytes_max: limits.document_bytes_max,
            name: name.to_owned(),
            timestamps: options::timestamps(&source.reading),
        });
        commands::node::confirm_local(&self.job.args.index.to, false).await?;
        let source = Box::new(source.with_bytes_total(bytes));
        let load = commands::load::start(self.config, source, None, false, &Stderr::new()).await?;
        Ok((feed, load))
    }
}

/// The progress line of the command line.
#[derive(Debug, Default)]
pub struct ProgressLine {
    rates: RateWindow,
}

impl ProgressLine {
    /// The line for a moment; to be asked a few times a second, because rates are those of the last seconds.
    pub fn text(&mut self, now: &Progress) -> String {
        self.rates.see(now);
        inline(&line(now, &self.rates)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: &str) -> Result<Load, Error> {
        Load::new(options.parse().unwrap(), vec!["a.csv".into()], Secrets::default())
    }

    #[test]
    fn options_are_the_keys_of_a_job_file() {
        let load = load(
            r#"
            index = "t"
            to = ["http://a", "http://b:9201"]
            batch_bytes = "1MiB"
            in-flight = 3
            [mapping.properties.n]
            type = "long"
            "#,
        )
        .unwrap();
        let config = load.config();
        assert_eq!(config.to, ["http://a:9200", "http://b:9201"]);
        assert_eq!((config.limits.batch_bytes, config.limits.in_flight), (Some(1 << 20), Some(3)));
        let mapping = serde_json::json!({"properties": {"n": {"type": "long"}}});
        assert_eq!(config.create.mapping, Some(mapping));
        assert_eq!(load.job.args.source.sources, ["a.csv"]);
    }

    #[test]
    fn what_is_wrong_is_said_as_on_the_command_line() {
        for (options, message, hint) in [
            ("", "no index given", "--index NAME"),
            ("index = 't'\nindexx = 1", "unknown key `indexx`", "did you mean `index`"),
            ("index = 't'\ndry_run = true", "`dry_run` is for the command line", "leave it out"),
            ("index = 't'\nquiet = true", "`quiet` is for the command line", "leave it out"),
            ("index = 't'\nrecreate = true", "--recreate deletes t", "--yes"),
            ("index = 't'\nbatch_bytes = 'many'", "batch_bytes: ", ""),
            ("index = 't'\nmap = 'auto'\n[mapping]\ndynamic = false", "one origin", ""),
            ("index = 't'\nto = 'http://a'\nuser = 'u'", "no password", "INRUSH_PASSWORD"),
        ] {
            let error = load(options).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{options}");
            assert!(error.message.contains(message), "{options}: {error:?}");
            assert!(error.hint.unwrap_or_default().contains(hint), "{options}");
        }
    }

    #[test]
    fn secrets_that_are_held_are_used_and_not_shown() {
        let table: toml::Table = "index = 't'\nto = 'http://a'\nuser = 'u'".parse().unwrap();
        let secrets = Secrets { password: Some(Secret::new("hunter2")), ..Secrets::default() };
        let load = Load::new(table.clone(), Vec::new(), secrets.clone()).unwrap();
        assert!(!load.config().credentials.is_none());
        assert!(!format!("{load:?}").contains("hunter2"));
        let mut table = table;
        table.insert("password_env".into(), "X".into());
        let error = Load::new(table, Vec::new(), secrets).unwrap_err();
        assert!(error.message.contains("the password is given itself, and by file or environment"), "{error:?}");
    }
}
