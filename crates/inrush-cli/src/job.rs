//! The job file: the flags of `inrush load` written down.
//!
//! A key is the name of a long flag, with underscores or dashes (`batch_bytes`, `batch-bytes`); `sources` stands for
//! the arguments. So there is nothing to define twice: each entry becomes the flag it names and is parsed by the same
//! code, and what the command line gives is left out. What has no flag: `[[indices]]`, and `mode`, which is `load` or `bake`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use inrush::config::IndexPattern;
use serde::Deserialize;

use crate::args::{BakeFlags, LoadArgs};
use crate::failure::UsageError;
use crate::json_file;

/// Flags that are one choice: where the command line makes it, the file's part of it does not count.
const CHOICES: [&[&str]; 8] = [
    &["sources", "from_dead_letters"],
    &["id", "id_from"],
    &["recreate", "resume"],
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
}

impl Job {
    /// Of a command line without a job file.
    pub(crate) fn of(args: LoadArgs) -> Self {
        Job { args, bake: None, patterns: Vec::new(), mapping: None, settings: None }
    }
}

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

fn entries(table: toml::Table, place: &Place<'_>, bakes: bool, command_line: &[OsString]) -> Result<Job, UsageError> {
    let command = load_command();
    let given = given_ids(&command, command_line);
    let at = |key: &str, problem: String| place.error(format!("{key}: {problem}"));

    let mut arguments: Vec<OsString> = vec!["inrush load".into()];
    let mut patterns = Vec::new();
    let bakes = match table.get("mode") {
        None => bakes,
        Some(toml::Value::String(mode)) if mode == "bake" => true,
        Some(toml::Value::String(mode)) if mode == "load" && !bakes => false,
        Some(toml::Value::String(mode)) if mode == "load" => {
            return Err(at("mode", "it is load, and the command is `inrush bake`; give `inrush load`".to_owned()));
        }
        Some(_) => return Err(at("mode", "expected \"load\" or \"bake\"".to_owned())),
    };
    let (mut mapping, mut settings) = (None, None);
    for (key, value) in table {
        let id = key.replace('-', "_");
        let given_here = given.contains(&id);
        match (id.as_str(), &value) {
            ("mode", _) => continue,
            ("indices", _) => {
                patterns = index_patterns(value, place.folder).map_err(|problem| at(&key, problem))?;
                continue;
            }
            ("mapping", toml::Value::Table(_)) => {
                let file = body(Some(value), "mappings", place.folder).map_err(|problem| at(&key, problem))?;
                mapping = file.filter(|_| !given_here && !given.iter().any(|given| given == "map"));
                continue;
            }
            ("settings", toml::Value::Table(_)) => {
                let file = body(Some(value), "settings", place.folder).map_err(|problem| at(&key, problem))?;
                settings = file.filter(|_| !given_here);
                continue;
            }
            _ => {}
        }
        let arg = find(&command, &id).ok_or_else(|| unknown_key(&command, place, &key))?;
        if !bakes && is_of_bake(arg) {
            return Err(at(&key, "this is a flag of `inrush bake`; add mode = \"bake\" if that is meant".to_owned()));
        }
        let flags = flags(arg, value, place.folder).map_err(|problem| at(&key, problem))?;
        // Each entry is parsed alone first, so that an error names its key.
        let alone = std::iter::once(OsStr::new("inrush load")).chain(flags.iter().map(OsString::as_os_str));
        command.clone().try_get_matches_from(alone).map_err(|error| at(&key, first_line(&error)))?;
        let id = arg.get_id().as_str();
        let decided = given.iter().any(|given| {
            given == id || CHOICES.iter().any(|choice| choice.contains(&id) && choice.contains(&given.as_str()))
        });
        if !decided {
            arguments.extend(flags);
        }
    }
    arguments.extend_from_slice(command_line);
    let matches = command.try_get_matches_from(arguments).map_err(|error| {
        // Each entry is fine alone, so these are two that exclude each other.
        place.error(first_line(&error))
    })?;
    let flags = Flags::from_arg_matches(&matches).map_err(|error| UsageError::new(first_line(&error)))?;
    if mapping.is_some() && flags.load.index.map.is_some() {
        return Err(place.error("--map and --mapping are given, and a mapping has one origin"));
    }
    Ok(Job { args: flags.load, bake: bakes.then_some(flags.bake), patterns, mapping, settings })
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
        .chain(["indices".to_owned(), "mode".to_owned()])
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

/// The flags an entry stands for.
fn flags(arg: &Arg, value: toml::Value, folder: Option<&Path>) -> Result<Vec<OsString>, String> {
    let path_like = matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath);
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, toml::Value::Boolean(on)) => Ok(if on { vec![flag(arg, None)] } else { Vec::new() }),
        (ArgAction::SetTrue, other) => Err(format!("expected true or false, found {}", type_name(&other))),
        (ArgAction::Count, toml::Value::Integer(times @ 0..=9)) => Ok((0..times).map(|_| flag(arg, None)).collect()),
        (ArgAction::Count, _) => Err("expected a whole number from 0 to 9".to_owned()),
        (ArgAction::Append, toml::Value::Array(items)) => {
            items.into_iter().map(|item| Ok(flag(arg, Some(resolve(scalar(item)?, path_like, folder))))).collect()
        }
        (ArgAction::Append, item) => {
            let text = scalar(item).map_err(|problem| format!("{problem}, or a list of them"))?;
            Ok(vec![flag(arg, Some(resolve(text, path_like, folder)))])
        }
        (_, item) => Ok(vec![flag(arg, Some(resolve(scalar(item)?, path_like, folder)))]),
    }
}

fn flag(arg: &Arg, value: Option<OsString>) -> OsString {
    match (arg.get_long(), value) {
        (Some(long), None) => format!("--{long}").into(),
        (Some(long), Some(value)) => {
            let mut flag = OsString::from(format!("--{long}="));
            flag.push(value);
            flag
        }
        // A source. It is `-` or begins with the job's folder or a scheme, so it cannot be taken for a flag.
        (None, value) => value.unwrap_or_default(),
    }
}

fn scalar(value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        other => Err(format!("expected a string or a whole number, found {}", type_name(&other))),
    }
}

fn type_name(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a string",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number with a decimal point",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a date or time",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}

/// Paths in a job file are relative to it.
fn resolve(text: String, path_like: bool, folder: Option<&Path>) -> OsString {
    let Some(folder) = folder else { return text.into() };
    if !path_like || text == "-" || text.contains("://") || Path::new(&text).is_absolute() {
        return text.into();
    }
    // The folder's own name is no pattern, whatever is in it.
    if text.contains(['*', '?', '[']) {
        let folder = folder.to_string_lossy();
        let mut escaped = String::with_capacity(folder.len());
        for c in folder.chars() {
            match c {
                '*' | '?' | '[' | ']' => escaped.extend(['[', c, ']']),
                c => escaped.push(c),
            }
        }
        return Path::new(&escaped).join(text).into();
    }
    folder.join(text).into()
}

/// clap's own words without the usage text that follows them.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// An entry of `[[indices]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexEntry {
    pattern: String,
    mapping: Option<toml::Value>,
    settings: Option<toml::Value>,
    shards: Option<u32>,
    replicas: Option<u32>,
}

fn index_patterns(value: toml::Value, folder: Option<&Path>) -> Result<Vec<IndexPattern>, String> {
    let toml::Value::Array(entries) = value else {
        return Err("expected tables, written as [[indices]]".to_owned());
    };
    entries.into_iter().map(|entry| index_pattern(entry, folder)).collect()
}

fn index_pattern(value: toml::Value, folder: Option<&Path>) -> Result<IndexPattern, String> {
    let entry: IndexEntry = value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if entry.shards == Some(0) {
        return Err(format!("pattern {:?}: shards must be at least 1", entry.pattern));
    }
    let name = |problem| format!("pattern {:?}: {problem}", entry.pattern);
    Ok(IndexPattern {
        mapping: body(entry.mapping, "mappings", folder).map_err(name)?,
        settings: body(entry.settings, "settings", folder).map_err(name)?,
        shards: entry.shards,
        replicas: entry.replicas,
        pattern: entry.pattern,
    })
}

/// A table as it stands, or the file a string names.
fn body(value: Option<toml::Value>, key: &str, folder: Option<&Path>) -> Result<Option<serde_json::Value>, String> {
    match value {
        None => Ok(None),
        Some(toml::Value::String(file)) => {
            json_file::read(&PathBuf::from(resolve(file, true, folder)), key).map(Some).map_err(|e| e.to_string())
        }
        Some(table @ toml::Value::Table(_)) => json_file::inner(json(table)?, key).map(Some),
        Some(other) => Err(format!("{key}: expected a table or the name of a file, found {}", type_name(&other))),
    }
}

fn json(value: toml::Value) -> Result<serde_json::Value, String> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(on) => on.into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect::<Result<Vec<_>, _>>()?.into(),
        toml::Value::Table(table) => table
            .into_iter()
            .map(|(key, value)| Ok((key, json(value)?)))
            .collect::<Result<serde_json::Map<_, _>, String>>()?
            .into(),
        toml::Value::Datetime(when) => return Err(format!("{when}: a date or time must be a string here")),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn job(text: &str, command_line: &[&str]) -> Result<Job, UsageError> {
        let command_line: Vec<OsString> = command_line.iter().map(OsString::from).collect();
        parse(text, Path::new("jobs/j.toml"), false, &command_line)
    }

    fn problem(text: &str) -> String {
        let error = anyhow::Error::new(job(text, &[]).unwrap_err());
        let mut out = Vec::new();
        crate::failure::print(&error, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_flags_with_underscores_or_dashes() {
        let args = job(
            r#"
            sources = ["a.csv", "b/*.csv", "-", "/abs.csv"]
            index = "trips"
            to = ["https://a:9200", "https://b:9200"]
            batch-bytes = "4MiB"
            batch_docs = 100
            linger = "5s"
            no_verify = true
            quiet = false
            drop = "x"
            null = ["NA", "-99"]
            version = "v"
            dead_letters = "dead.ndjson"
            verbose = 2
            "#,
            &[],
        )
        .unwrap()
        .args;
        assert_eq!(args.source.sources, ["jobs/a.csv", "jobs/b/*.csv", "-", "/abs.csv"]);
        assert_eq!(args.source.reading.null, ["NA", "-99"]);
        assert_eq!(args.index.index.unwrap().as_str(), "trips");
        assert_eq!(args.index.to, ["https://a:9200", "https://b:9200"]);
        assert_eq!(args.sizes.batch_bytes, Some(4 << 20));
        assert_eq!(args.sizes.batch_docs, Some(100));
        assert_eq!(args.sizes.linger, Some(Duration::from_secs(5)));
        assert!(args.errors.no_verify);
        assert!(!args.output.quiet);
        assert_eq!(args.index.drop, ["x".parse().unwrap()]);
        assert_eq!(args.index.version_field, Some("v".parse().unwrap()));
        assert_eq!(args.errors.dead_letters, Some(PathBuf::from("jobs/dead.ndjson")));
        assert_eq!(args.output.log.verbose, 2);
    }

    #[test]
    fn a_mapping_may_be_a_table() {
        let text = "index = 'a'\n[mapping.properties.n]\ntype = 'long'\n[settings.settings]\nnumber_of_shards = 2";
        let job = self::job(text, &[]).unwrap();
        assert_eq!(job.mapping, Some(serde_json::json!({"properties": {"n": {"type": "long"}}})));
        assert_eq!(job.settings, Some(serde_json::json!({"number_of_shards": 2})));
        let job = self::job(text, &["--mapping", "m.json", "--settings", "s.json"]).unwrap();
        assert_eq!((job.mapping, job.settings), (None, None));
        assert_eq!(self::job(text, &["--map", "auto"]).unwrap().mapping, None);
        assert!(problem(&format!("map = 'auto'\n{text}")).contains("one origin"));
    }

    #[test]
    fn the_command_line_wins() {
        let text = r#"
            sources = ["a.ndjson"]
            index = "a"
            drop = ["x", "y"]
            user = "u"
            password_file = "p"
        "#;
        let args = job(text, &["--index", "b", "--drop", "z", "--api-key-file", "k", "other.ndjson"]).unwrap().args;
        assert_eq!(args.source.sources, ["other.ndjson"]);
        assert_eq!(args.index.index.unwrap().as_str(), "b");
        assert_eq!(args.index.drop, ["z".parse().unwrap()]);
        assert_eq!(args.auth.api_key_file, Some(PathBuf::from("k")));
        assert_eq!((args.auth.user, args.auth.password_file), (None, None), "another way to log in replaces the whole");

        let args = job(text, &["--from-dead-letters", "d.ndjson"]).unwrap().args;
        assert!(args.source.sources.is_empty());
        assert_eq!(args.index.drop.len(), 2);
    }

    #[test]
    fn unknown_keys_name_the_nearest_known_one() {
        assert_eq!(
            problem("batch_byte = 1"),
            "error: jobs/j.toml: unknown key `batch_byte`\nhint: did you mean `batch_bytes`?\n"
        );
        assert!(problem("source = 'x'").contains("did you mean `sources`?"));
        assert!(problem("index_patterns = 1").contains("hint:"));
        assert!(problem("job = 'other.toml'").contains("unknown key `job`"));
        assert!(problem("zzz = 1").contains("keys are the long flags"));
    }

    #[test]
    fn secrets_are_referenced_not_written() {
        for key in ["password", "api_key", "bearer", "api-key"] {
            let text = problem(&format!("{key} = 'hunter2'"));
            assert!(text.contains("_file`") && !text.contains("hunter2"), "{text}");
        }
        let args = job("user = 'u'\npassword_env = 'MY_PASSWORD'", &[]).unwrap().args;
        assert_eq!(args.auth.password_env.as_deref(), Some("MY_PASSWORD"));
    }

    #[test]
    fn wrong_values_name_their_key() {
        for (text, expected) in [
            ("batch_bytes = 'lots'", "jobs/j.toml: batch_bytes: invalid value 'lots'"),
            ("no_verify = 'yes'", "jobs/j.toml: no_verify: expected true or false, found a string"),
            ("batch_docs = 1.5", "jobs/j.toml: batch_docs: expected a string or a whole number"),
            (
                "sources = {}",
                "jobs/j.toml: sources: expected a string or a whole number, found a table, or a list of them",
            ),
            ("index = 'Trips'", "jobs/j.toml: index: "),
            ("a = ", "jobs/j.toml: TOML parse error at line 1"),
            ("indices = 1", "jobs/j.toml: indices: expected tables"),
            ("[[indices]]\npattern = 'a'\nshard = 1", "unknown field `shard`"),
            ("[[indices]]\nshards = 1", "missing field `pattern`"),
            ("[[indices]]\npattern = 'a'\nshards = 0", "at least 1"),
            ("[[indices]]\npattern = 'a'\nsettings = 1", "settings: expected a table or the name of a file"),
            ("[[indices]]\npattern = 'a'\nmapping = 'none.json'", "none.json"),
        ] {
            let problem = problem(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn indices_by_pattern_are_only_in_the_file() {
        let patterns = job(
            "[[indices]]\npattern = 'logs-big*'\nshards = 6\nsettings = { refresh_interval = '30s' }\n[[indices]]\npattern = '*'",
            &[],
        )
        .unwrap()
        .patterns;
        assert_eq!(patterns.len(), 2);
        assert_eq!((patterns[0].pattern.as_str(), patterns[0].shards), ("logs-big*", Some(6)));
        assert_eq!(patterns[0].settings, Some(serde_json::json!({"refresh_interval": "30s"})));
        assert_eq!(patterns[1].pattern, "*");
    }

    #[test]
    fn a_job_can_be_a_bake() {
        let job =
            job("mode = 'bake'\nsources = 'a.csv'\nrepository_path = 'shared'\nbuilder_heap = '4g'", &[]).unwrap();
        let bake = job.bake.unwrap();
        assert_eq!(bake.repository_path, Some(PathBuf::from("jobs/shared")));
        assert_eq!(bake.builder_heap, Some(4 << 30));
        assert_eq!(job.args.source.sources, ["jobs/a.csv"]);
        assert!(problem("unthrottle = true").contains("add mode = \"bake\""));
        assert!(problem("mode = 'brew'").contains("mode: expected"));
        assert!(super::parse("mode = 'load'", Path::new("j.toml"), true, &[]).is_err());
    }

    #[test]
    fn a_folder_with_brackets_is_no_pattern() {
        assert_eq!(resolve("*.csv".into(), true, Some(Path::new("[a]"))), "[[]a[]]/*.csv");
        assert_eq!(resolve("x.csv".into(), true, Some(Path::new("[a]"))), "[a]/x.csv");
        assert_eq!(resolve("https://h/*".into(), true, Some(Path::new("a"))), "https://h/*");
    }
}
