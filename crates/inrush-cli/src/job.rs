//! The job file: the flags of `inrush load` written down.
//!
//! A key is the name of a long flag, with underscores or dashes (`batch_bytes`, `batch-bytes`); `sources` stands for
//! the arguments. So there is nothing to define twice: each entry becomes the flag it names and is parsed by the same
//! code, and what the command line gives is left out. What has no flag: `[[indices]]`, `mode`, which is `load` or `bake`, and `[[output]]`,
//! whose tables have the flags of one of several loads from the same sources.

mod indices;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use inrush::config::IndexPattern;

use self::indices::index_patterns;
use self::values::{body, flags};
use crate::args::{BakeFlags, LoadArgs};
use crate::failure::UsageError;

/// Flags that are one choice: where the command line makes it, the file's part of it does not count.
const CHOICES: [&[&str]; 11] = [
    &["sources", "from_dead_letters"],
    &["id", "id_from"],
    &["recreate", "resume"],
    &["resume", "once"],
    &["sql", "sql_file"],
    &[
        "user",
        "password_file",
        "password_env",
        "api_key_file",
        "api_key_env",
        "bearer_file",
        "bearer_env",
        "aws_sigv4",
        "aws_region",
        "aws_profile",
    ],
    &["no_header", "columns"],
    &["mapping", "map", "copy_mapping"],
    &["mapping", "mixed", "copy_mapping"],
    &["settings", "copy_settings"],
    &[
        "from_user",
        "from_password_file",
        "from_password_env",
        "from_api_key_file",
        "from_api_key_env",
        "from_bearer_file",
        "from_bearer_env",
        "from_aws_sigv4",
        "from_aws_region",
        "from_aws_profile",
    ],
];

/// The flags of a load, with those of its job file, and what only a job file can say.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) args: LoadArgs,
    /// Of a bake: its flags.
    pub(crate) bake: Option<BakeFlags>,
    pub(crate) patterns: Vec<IndexPattern>,
    /// `mapping` as a table, where it is no file.
    pub(crate) mapping: Option<serde_json::Value>,
    /// `settings` as a table, where they are no file.
    pub(crate) settings: Option<serde_json::Value>,
    /// A job for each `[[output]]`, with what holds for all.
    pub(crate) outputs: Vec<Job>,
}

impl Job {
    /// Of a command line without a job file.
    pub(crate) fn of(args: LoadArgs) -> Self {
        Job { args, bake: None, patterns: Vec::new(), mapping: None, settings: None, outputs: Vec::new() }
    }
}

/// Flags of an output. What one of them is said to be on the command line would be that of all.
const OF_OUTPUTS: [&str; 9] =
    ["index", "alias", "sql", "sql_file", "id", "id_from", "mapping", "dead_letters", "trace"];

/// Where entries come from.
struct Place<'a> {
    /// The job file; `None` for a program's options.
    file: Option<&'a Path>,
    /// What paths are relative to; `None`: the working directory, and they stay as they are.
    folder: Option<&'a Path>,
}

impl Place<'_> {
    fn error(&self, problem: impl std::fmt::Display) -> UsageError {
        UsageError::new(match self.file {
            Some(file) => format!("{}: {problem}", file.display()),
            None => problem.to_string(),
        })
    }
}

/// All that a job file may say by flags.
#[derive(Debug, Default, Args)]
struct Flags {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    bake: BakeFlags,
}

/// Adds what the job file says, if there is one, to what was given on the command line. `bake`: the flags of `inrush bake`; none for
/// `inrush load`. `command_line` are the arguments after the command.
pub(crate) fn complete(args: LoadArgs, bake: Option<BakeFlags>, command_line: &[OsString]) -> Result<Job, UsageError> {
    let Some(path) = args.source.job.clone() else {
        return Ok(Job { bake, ..Job::of(args) });
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| UsageError::new(format!("cannot read the job file {}: {error}", path.display())))?;
    parse(&text, &path, bake.is_some(), command_line)
}

/// The options that a program gives, as the entries of a job file; paths are relative to the working directory. `sources` are
/// not among them.
pub(crate) fn of_options(options: toml::Table) -> Result<Job, UsageError> {
    entries(options, &Place { file: None, folder: None }, false, &[])
}

fn parse(text: &str, path: &Path, bakes: bool, command_line: &[OsString]) -> Result<Job, UsageError> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| UsageError::new(format!("{}: {error}", path.display())))?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    entries(table, &Place { file: Some(path), folder: Some(folder) }, bakes, command_line)
}

fn entries(
    mut table: toml::Table,
    place: &Place<'_>,
    bakes: bool,
    command_line: &[OsString],
) -> Result<Job, UsageError> {
    let at = |key: &str, problem: &str| place.error(format!("{key}: {problem}"));
    let bakes = match table.remove("mode") {
        None => bakes,
        Some(toml::Value::String(mode)) if mode == "bake" => true,
        Some(toml::Value::String(mode)) if mode == "load" && !bakes => false,
        Some(toml::Value::String(mode)) if mode == "load" => {
            return Err(at("mode", "it is load, and the command is `inrush bake`; give `inrush load`"));
        }
        Some(_) => return Err(at("mode", "expected \"load\" or \"bake\"")),
    };
    let patterns = match table.remove("indices") {
        Some(value) => index_patterns(value, place.folder).map_err(|problem| at("indices", &problem))?,
        None => Vec::new(),
    };
    let outputs = match table.remove("output") {
        None => Vec::new(),
        Some(_) if place.file.is_none() => return Err(at("output", "several outputs are for job files")),
        Some(_) if bakes => return Err(at("output", "a bake has one output")),
        Some(toml::Value::Array(outputs)) => outputs,
        Some(_) => return Err(at("output", NO_OUTPUTS)),
    };
    let command = load_command();
    let given = given_ids(&command, command_line);
    if let (false, Some(id)) = (outputs.is_empty(), given.iter().find(|id| OF_OUTPUTS.contains(&id.as_str()))) {
        let flag = id.replace('_', "-");
        return Err(place.error(format!("--{flag} is said for each [[output]]")).hint("change it in the file"));
    }
    let reader = Reader { place, command, given, command_line, bakes, patterns };
    let common = reader.layer(table)?;
    let mut job = reader.job(&[&common])?;
    for output in outputs {
        let toml::Value::Table(output) = output else { return Err(at("output", NO_OUTPUTS)) };
        if let Some(key) = output.keys().find(|key| !reader.is_of_outputs(&key.replace('-', "_"))) {
            return Err(at(key, "holds for all outputs; write it above the first [[output]]"));
        }
        job.outputs.push(reader.job(&[&common, &reader.layer(output)?])?);
    }
    Ok(job)
}

const NO_OUTPUTS: &str = "expected tables, written as [[output]]";

/// What a table says.
struct Layer {
    /// By argument's id, the flags that an entry stands for; none where it has no flag.
    entries: Vec<(String, Vec<OsString>)>,
    mapping: Option<serde_json::Value>,
    settings: Option<serde_json::Value>,
}

/// Reads the tables of a job.
struct Reader<'a> {
    place: &'a Place<'a>,
    command: Command,
    /// Ids of the arguments that the command line gives.
    given: Vec<String>,
    command_line: &'a [OsString],
    bakes: bool,
    patterns: Vec<IndexPattern>,
}

impl Reader<'_> {
    fn layer(&self, table: toml::Table) -> Result<Layer, UsageError> {
        let at = |key: &str, problem: String| self.place.error(format!("{key}: {problem}"));
        let folder = self.place.folder;
        let mut layer = Layer { entries: Vec::new(), mapping: None, settings: None };
        for (key, value) in table {
            let id = key.replace('-', "_");
            match (id.as_str(), &value) {
                ("mapping", toml::Value::Table(_)) => {
                    layer.mapping = body(Some(value), "mappings", folder).map_err(|problem| at(&key, problem))?;
                    layer.entries.push((id, Vec::new()));
                    continue;
                }
                ("settings", toml::Value::Table(_)) => {
                    layer.settings = body(Some(value), "settings", folder).map_err(|problem| at(&key, problem))?;
                    layer.entries.push((id, Vec::new()));
                    continue;
                }
                _ => {}
            }
            let arg = find(&self.command, &id).ok_or_else(|| unknown_key(&self.command, self.place, &key))?;
            if !self.bakes && is_of_bake(arg) {
                let problem = "this is a flag of `inrush bake`; add mode = \"bake\" if that is meant";
                return Err(at(&key, problem.to_owned()));
            }
            let flags = flags(arg, value, folder).map_err(|problem| at(&key, problem))?;
            // Each entry is parsed alone first, so that an error names its key.
            let alone = std::iter::once(OsStr::new("inrush load")).chain(flags.iter().map(OsString::as_os_str));
            self.command.clone().try_get_matches_from(alone).map_err(|error| at(&key, first_line(&error)))?;
            layer.entries.push((arg.get_id().to_string(), flags));
        }
        Ok(layer)
    }

    /// What several tables and the command line say together; what comes later decides.
    fn job(&self, layers: &[&Layer]) -> Result<Job, UsageError> {
        let mut arguments: Vec<OsString> = vec!["inrush load".into()];
        let (mut mapping, mut settings) = (None, None);
        for (number, layer) in layers.iter().enumerate() {
            let later = layers[number + 1..].iter().flat_map(|layer| layer.entries.iter().map(|(id, _)| id));
            let deciding: Vec<&String> = self.given.iter().chain(later).collect();
            let decided = |id: &str| {
                let excludes =
                    |other: &str| CHOICES.iter().any(|choice| choice.contains(&id) && choice.contains(&other));
                deciding.iter().any(|other| *other == id || excludes(other))
            };
            for (_, flags) in layer.entries.iter().filter(|(id, _)| !decided(id)) {
                arguments.extend_from_slice(flags);
            }
            if layer.mapping.is_some() && !decided("mapping") && !deciding.iter().any(|other| *other == "map") {
                mapping = layer.mapping.clone();
            }
            if layer.settings.is_some() && !decided("settings") {
                settings = layer.settings.clone();
            }
        }
        arguments.extend_from_slice(self.command_line);
        // Each entry is fine alone, so an error is about two that exclude each other.
        let matches = self
            .command
            .clone()
            .try_get_matches_from(arguments)
            .map_err(|error| self.place.error(first_line(&error)))?;
        let flags = Flags::from_arg_matches(&matches).map_err(|error| UsageError::new(first_line(&error)))?;
        if mapping.is_some() && flags.load.index.map.is_some() {
            return Err(self.place.error("--map and --mapping are given, and a mapping has one origin"));
        }
        let bake = self.bakes.then_some(flags.bake);
        Ok(Job { bake, patterns: self.patterns.clone(), mapping, settings, ..Job::of(flags.load) })
    }

    /// Whether each output may say it for itself: what is not about sources, the cluster and what is shown. An unknown key is told
    /// elsewhere.
    fn is_of_outputs(&self, key: &str) -> bool {
        let Some(arg) = find(&self.command, key) else { return true };
        let of_all = ["Source", "Source: an index of another cluster", "Authentication", "Output", "Resuming"];
        !arg.get_help_heading().is_some_and(|heading| of_all.contains(&heading))
            && !["to", "table", "sql_memory", "explain", "sources"].contains(&arg.get_id().as_str())
    }
}

fn load_command() -> Command {
    Flags::augment_args(Command::new("inrush load")).disable_help_flag(true)
}

/// Whether a load has no such flag.
fn is_of_bake(arg: &Arg) -> bool {
    let of_bake = BakeFlags::augment_args(Command::new("inrush bake"));
    of_bake.get_arguments().any(|other| other.get_id() == arg.get_id())
}

/// Which arguments the command line gives.
fn given_ids(command: &Command, command_line: &[OsString]) -> Vec<String> {
    let argv = std::iter::once(OsStr::new("inrush load")).chain(command_line.iter().map(OsString::as_os_str));
    // The same arguments were parsed before we came here.
    let matches = command.clone().try_get_matches_from(argv).unwrap_or_default();
    ids(&matches)
}

fn ids(matches: &ArgMatches) -> Vec<String> {
    matches
        .ids()
        .filter(|id| {
            // Groups of flattened structs are ids as well; they have no source of their own worth asking for.
            matches.try_contains_id(id.as_str()).unwrap_or(false)
                && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
        })
        .map(|id| id.as_str().to_owned())
        .collect()
}

/// What a key may be called, in the file's words.
fn key_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| long.replace('-', "_"))
}

fn find<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_id() != "job" && key_of(arg) == key)
}

fn unknown_key(command: &Command, place: &Place<'_>, key: &str) -> UsageError {
    let known = command.get_arguments().filter(|arg| arg.get_id() != "job").map(key_of);
    let wanted = key.replace('-', "_");
    let nearest = known
        .chain(["indices", "mode", "output"].map(str::to_owned))
        .map(|name| (strsim::jaro_winkler(&wanted, &name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let error = place.error(format!("unknown key `{key}`"));
    if ["password", "api_key", "bearer"].contains(&wanted.as_str()) {
        return error.hint(format!("secrets are not written into job files; name a file with `{wanted}_file`, or an environment variable with `{wanted}_env`"));
    }
    match nearest {
        Some((similarity, name)) if similarity > 0.7 => error.hint(format!("did you mean `{name}`?")),
        _ => {
            error.hint("keys are the long flags of `inrush load`, with underscores or dashes; see `inrush load --help`")
        }
    }
}

/// clap's own words without the usage text that follows them.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests;
