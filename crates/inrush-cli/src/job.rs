//! The job file: the options of a load in a TOML file.
//!
//! A key is the name of an option, with underscores or dashes (`batch_bytes`, `batch-bytes`). The
//! code that parses the flag parses the key, too. Flags of the command line win. Two keys are not
//! options: `mode`, which is `load` or `bake`, and `[[output]]`, whose tables have the options of
//! one of several loads from the same sources.

use std::path::{Path, PathBuf};

use inrush_commands::bake::BakeOptions;
use inrush_commands::options::{Given, Inputs, LoadOptions, OptionGroup, OptionInfo, Outputs, Style, nearest, render};
use inrush_core::Code;
use serde_json::Value;

use crate::args::{LoadArgs, LogOptions, Options, OutputArgs, OutputOptions, RunOptions};
use crate::failure::UsageError;

/// The options of a load, with those of its job file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) options: LoadOptions,
    /// The options of a bake. None for a load.
    pub(crate) bake: Option<BakeOptions>,
    pub(crate) run: RunOptions,
    pub(crate) output: OutputArgs,
    /// The folder of the job file. Files that no option names are created here.
    pub(crate) folder: Option<PathBuf>,
    /// The options of each `[[output]]`, together with the options for all outputs.
    pub(crate) outputs: Vec<LoadOptions>,
}

/// The job file and its folder.
struct Place<'a> {
    file: &'a Path,
    /// The base of relative paths.
    folder: PathBuf,
}

impl<'a> Place<'a> {
    fn new(file: &'a Path) -> Self {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        Place { file, folder: folder.to_owned() }
    }

    fn error(&self, problem: impl std::fmt::Display) -> UsageError {
        UsageError::new(Code::BadJobFile, format!("{}: {problem}", self.file.display()))
    }
}

/// All options of one table of a job file, or of the command line.
#[derive(Clone, Debug, Default)]
struct Layer {
    load: LoadOptions,
    bake: BakeOptions,
    run: RunOptions,
    output: OutputOptions,
    log: LogOptions,
}

impl Layer {
    fn infos() -> Vec<&'static OptionInfo> {
        [LoadOptions::infos(), BakeOptions::infos(), RunOptions::infos(), OutputOptions::infos(), LogOptions::infos()]
            .concat()
    }

    /// The option of a key, which has underscores or dashes.
    fn info(key: &str) -> Option<&'static OptionInfo> {
        let name = key.replace('-', "_");
        Layer::infos().into_iter().find(|info| info.name == name)
    }

    fn set(&mut self, name: &str, given: Given) -> Option<Result<(), String>> {
        let Layer { load, bake, run, output, log } = self;
        load.set(name, given.clone())
            .or_else(|| bake.set(name, given.clone()))
            .or_else(|| run.set(name, given.clone()))
            .or_else(|| output.set(name, given.clone()))
            .or_else(|| log.set(name, given))
    }

    fn relative_to(&mut self, folder: &Path) {
        self.load.relative_to(folder);
        self.bake.relative_to(folder);
        self.run.relative_to(folder);
    }

    /// These options, completed by those of `lower` that these do not set.
    fn over(self, lower: &Layer) -> Layer {
        let Layer { load, mut bake, mut run, mut output, mut log } = self;
        // The place of a bake and the end of a resumed one are each one choice with two options.
        let decided = |name: &str| match name {
            "repository_path" | "repository" => bake.is_given("repository_path") || bake.is_given("repository"),
            "no_resume" => bake.no_resume || load.resume.resume,
            _ => false,
        };
        let decided: Vec<&str> =
            BakeOptions::infos().into_iter().map(|info| info.name).filter(|name| decided(name)).collect();
        bake.fill(&lower.bake, &|name| decided.contains(&name));
        run.fill(&lower.run, &|_| false);
        output.fill(&lower.output, &|_| false);
        log.fill(&lower.log, &|_| false);
        Layer { load: load.over(&lower.load), bake, run, output, log }
    }
}

/// Adds the options of the job file, if there is one, to those of the command line. `bake`: the
/// options of `inrush bake`; none for `inrush load`.
pub(crate) fn complete(args: LoadArgs, bake: Option<BakeOptions>) -> Result<Job, UsageError> {
    let LoadArgs { options, job, run, output } = args;
    let bakes = bake.is_some();
    let given =
        Layer { load: options.0, bake: bake.unwrap_or_default(), run: run.0, output: output.own.0, log: output.log.0 };
    let Some(path) = job else {
        return Ok(of_layer(given, bakes, None));
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        UsageError::new(Code::of_io(&error), format!("cannot read the job file {}: {error}", path.display()))
    })?;
    let job = parse(&text, &path, bakes, given)?;
    for options in job.outputs.iter().chain([&job.options]) {
        let (trace, dead_letters) = (options.sizes.trace.as_ref(), options.errors.dead_letters.as_ref());
        Inputs::default().and([&path]).check([("--trace", trace), ("--dead-letters", dead_letters)])?;
    }
    Ok(job)
}

fn of_layer(layer: Layer, bakes: bool, folder: Option<PathBuf>) -> Job {
    let Layer { load, bake, run, mut output, log } = layer;
    // Who reads the lines of the progress reads the report, too.
    output.json |= run.report_every.is_some();
    crate::failure::as_json(output.json);
    let output = OutputArgs { own: Options(output), log: Options(log) };
    Job { options: load, bake: bakes.then_some(bake), run, output, folder, outputs: Vec::new() }
}

fn parse(text: &str, path: &Path, bakes: bool, given: Layer) -> Result<Job, UsageError> {
    let place = Place::new(path);
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| place.error(error))?;
    let at = |key: &str, problem: &str| place.error(format!("{key}: {problem}"));
    let bakes = match table.remove("mode") {
        None => bakes,
        Some(toml::Value::String(mode)) if mode == "bake" => true,
        Some(toml::Value::String(mode)) if mode == "load" && !bakes => false,
        Some(toml::Value::String(mode)) if mode == "load" => {
            return Err(at("mode", "is load, but the command is `inrush bake`; use `inrush load`"));
        }
        Some(_) => return Err(at("mode", "expected \"load\" or \"bake\"")),
    };
    let outputs = match table.remove("output") {
        None => Vec::new(),
        Some(_) if bakes => return Err(at("output", "a bake has only one output; leave [[output]] out")),
        Some(toml::Value::Array(outputs)) => outputs,
        Some(_) => return Err(at("output", NO_OUTPUTS)),
    };
    let of_each = given.load.given().find(|info| info.outputs == Outputs::Own);
    if let (false, Some(info)) = (outputs.is_empty(), of_each) {
        return Err(place.error(format!("{} is set for each [[output]]", info.flag())).hint("change it in the file"));
    }
    let common = layer(table, &place, bakes)?;
    let mut job = of_layer(given.clone().over(&common), bakes, path.parent().map(Path::to_owned));
    for output in outputs {
        let toml::Value::Table(output) = output else { return Err(at("output", NO_OUTPUTS)) };
        let is_of_all = |key: &&String| Layer::info(key).is_some_and(|info| !info.is_of_output());
        if let Some(key) = output.keys().find(is_of_all) {
            return Err(at(key, "applies to all outputs; write it above the first [[output]]"));
        }
        let own = layer(output, &place, bakes)?;
        job.outputs.push(given.clone().over(&own.over(&common)).load);
    }
    Ok(job)
}

const NO_OUTPUTS: &str = "expected tables, written as [[output]]";

/// Parses a table.
fn layer(table: toml::Table, place: &Place<'_>, bakes: bool) -> Result<Layer, UsageError> {
    let mut layer = Layer::default();
    for (key, value) in table {
        let at = |problem: String| place.error(format!("{key}: {}", render(&problem, Style::Key)));
        let info = Layer::info(&key).filter(|info| info.is_key()).ok_or_else(|| unknown_key(place, &key))?;
        if !bakes && BakeOptions::TABLE.iter().any(|of_bake| of_bake.name == info.name) {
            return Err(at("an option of `inrush bake`; add mode = \"bake\" to bake instead of load".to_owned()));
        }
        let value = json(value).map_err(&at)?;
        if info.name == "indices" && !value.is_array() {
            return Err(at("expected tables, written as [[indices]]".to_owned()));
        }
        match layer.set(info.name, value.into()) {
            Some(set) => set.map_err(&at)?,
            None => return Err(unknown_key(place, &key)),
        }
    }
    layer.relative_to(&place.folder);
    Ok(layer)
}

fn unknown_key(place: &Place<'_>, key: &str) -> UsageError {
    let wanted = key.replace('-', "_");
    let known = Layer::infos().into_iter().filter(|info| info.is_key()).map(|info| info.name);
    let error = place.error(format!("unknown key `{key}`"));
    if ["password", "api_key", "bearer"].contains(&wanted.as_str()) {
        return error.hint(format!("secrets are not written into job files; name a file with `{wanted}_file`, or an environment variable with `{wanted}_env`"));
    }
    match nearest(&wanted, known.chain(["mode", "output"])) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => {
            error.hint("keys are the long flags of `inrush load`, with underscores or dashes; see `inrush load --help`")
        }
    }
}

/// Converts a value of TOML to one of JSON.
fn json(value: toml::Value) -> Result<Value, String> {
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
mod tests;
