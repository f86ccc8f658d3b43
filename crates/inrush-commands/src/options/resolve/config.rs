//! Converts options to the engine's configuration. Nothing is started or sent.

use std::path::Path;

use super::kinds::Found;
use super::{Environment, LOCAL, ending, files};
use crate::options::{
    EarlierLoad, ErrorOptions, ForAll, LoadOptions, OptionError, OptionErrorKind, OrAuto, PatternEntry, ResumeOptions,
    SizeOptions, TargetOptions,
};
use inrush_cluster::transport::NodeUrl;
use inrush_core::IndexTemplate;
use inrush_load::config::{
    DeadLetters, Gentle, GuardConfig, IndexCreation, IndexPattern, Learning, Limits, LoadConfig, MaxErrors,
    StateFolder, SwapConfig,
};
use inrush_node::user;

/// The configuration, without an address if the target is the local node. `recreate` is not
/// confirmed yet.
pub(super) fn config(
    options: &LoadOptions,
    found: &Found<'_>,
    environment: &Environment,
) -> Result<LoadConfig, OptionError> {
    // Listed one by one, so that a new group has to be handled here. Those of `source` are read
    // where they are opened, and the plan of the load has `fetch` and `watch`.
    let ForAll { source, shape, fetch: _, target, login, sizes, errors, end, resume, watch: _ } = options.for_all();
    files::Inputs::of_load(options)
        .check([("option `trace`", sizes.trace.as_ref()), ("option `dead_letters`", errors.dead_letters.as_ref())])?;
    let finish = ending::finish(options)?;
    let Some(index) = index(options, finish.swap.as_ref())? else {
        let hint = match source.from_dead_letters {
            Some(_) => "the dead letters name no index: name that of the first load with option `index=NAME`",
            None => "name it with option `index=NAME`",
        };
        return Err(OptionError::new(OptionErrorKind::Missing, "no index given").of("index").hint(hint));
    };
    let urls = nodes(&target.to, environment)?;
    let mut config = LoadConfig::new(urls.iter().map(NodeUrl::to_string).collect(), index);
    config.tls = login.tls()?;
    config.finish = finish;
    of_target(&mut config, target)?;
    let shaping = shape.shaping();
    // They may be named as in the documents that are sent.
    for path in [&mut config.id, &mut config.routing, &mut config.version].into_iter().flatten() {
        *path = shaping.in_source(path);
    }
    config.shaping = shaping;
    of_sizes(&mut config, sizes);
    of_errors(&mut config, errors, environment);
    of_resuming(&mut config, resume, environment);
    super::checks::of_options(options, found.kind.has_ids, &config)?;
    // `end` is `finish`.
    let _ = end;
    // Last, because it may prompt for a password.
    config.credentials = login.credentials(&urls, environment)?;
    Ok(config)
}

/// The configuration for reading sources only, without a target.
pub(super) fn of_sources() -> Result<LoadConfig, OptionError> {
    let index = "documents".parse().map_err(|problem: String| OptionError::value("index", problem))?;
    Ok(LoadConfig::new(Vec::new(), index))
}

/// The index of option `index`, of the dead letters, or for an alias.
fn index(options: &LoadOptions, swap: Option<&SwapConfig>) -> Result<Option<IndexTemplate>, OptionError> {
    match (&options.target.index, &options.source.from_dead_letters, swap) {
        (Some(index), ..) => Ok(Some(index.clone())),
        (None, Some(letters), _) => super::letters::index(letters),
        (None, None, Some(swap)) => {
            swap.alias.parse().map(Some).map_err(|problem: String| OptionError::value("alias", problem))
        }
        (None, None, None) => Ok(None),
    }
}

/// The variable with the nodes for commands without option `to`, separated by commas.
const TO_VARIABLE: &str = "INRUSH_TO";

/// The cluster's nodes: those of option `to`, or else those of the variable `INRUSH_TO`. None for
/// the local node.
///
/// # Errors
/// An address that cannot be used.
pub fn nodes(to: &[String], environment: &Environment) -> Result<Vec<NodeUrl>, OptionError> {
    if !to.is_empty() {
        return urls(to);
    }
    let variable = environment.variable(TO_VARIABLE).unwrap_or_default();
    let variable = variable.to_str().ok_or_else(|| {
        OptionError::unusable(format!("the variable {TO_VARIABLE} is not UTF-8, but the address of a node is")).of("to")
    })?;
    let nodes = variable.split(',').map(str::trim).filter(|node| !node.is_empty());
    urls(&nodes.map(str::to_owned).collect::<Vec<_>>())
        .map_err(|error| error.hint(format!("the address is that of the variable {TO_VARIABLE}")))
}

/// The nodes with these addresses. None for the local node.
///
/// # Errors
/// An address that cannot be used.
pub fn urls(to: &[String]) -> Result<Vec<NodeUrl>, OptionError> {
    if to.iter().any(|url| url == LOCAL) {
        if to.iter().any(|url| url != LOCAL) {
            let message = "option `to` names the local node and other nodes, but a load has one cluster";
            return Err(OptionError::conflict(message).of("to"));
        }
        return Ok(Vec::new());
    }
    to.iter()
        .map(|text| {
            match NodeUrl::parse(text)
                .map_err(|error| OptionError::unusable(error.to_string()).coded(error.code()).of("to"))?
            {
                (url, None) => Ok(url),
                // Every user of the machine can read arguments.
                (url, Some(_)) => Err(OptionError::unusable(format!(
                    "the address of {url} contains a user name or password"
                ))
                .of("to")
                .hint(
                    "give the user with option `user`, and the password with option `password_file` or INRUSH_PASSWORD",
                )),
            }
        })
        .collect()
}

fn of_target(config: &mut LoadConfig, target: &TargetOptions) -> Result<(), OptionError> {
    let TargetOptions {
        index: _,
        to: _,
        action,
        id,
        id_from,
        routing,
        version,
        pipeline,
        mapping,
        // Values that depend on the documents are set once the sources are open.
        map: _,
        mixed: _,
        settings,
        indices,
        no_copy,
        shards,
        replicas,
        recreate,
        leave_settings,
        durability,
        replicas_off,
        under_policy,
        yes,
    } = target.clone();
    config.action = action.unwrap_or_default();
    config.id = id;
    config.id_from = id_from;
    config.routing = routing;
    config.version = version;
    config.pipeline = pipeline;
    config.create = IndexCreation {
        mapping: mapping.map(|body| files::body(&body, "mappings")).transpose()?,
        settings: settings.map(|body| files::body(&body, "settings")).transpose()?,
        // `auto` is resolved once the sources are open.
        shards: shards.and_then(OrAuto::given).map(|shards| shards.get()),
        replicas: replicas.map(|replicas| replicas.get()),
        anew: no_copy,
        recreate,
        patterns: indices.iter().map(pattern).collect::<Result<_, _>>()?,
        ..IndexCreation::default()
    };
    config.durability = durability.unwrap_or_default();
    config.under_policy = under_policy;
    config.guard = GuardConfig { leave_settings, replicas_off, replicas_off_confirmed: yes, state: None };
    Ok(())
}

fn pattern(entry: &PatternEntry) -> Result<IndexPattern, OptionError> {
    let body = |body: &Option<_>, key: &str| body.as_ref().map(|body| files::body(body, key)).transpose();
    Ok(IndexPattern {
        pattern: entry.pattern.clone(),
        mapping: body(&entry.mapping, "mappings")?,
        settings: body(&entry.settings, "settings")?,
        shards: entry.shards,
        replicas: entry.replicas,
    })
}

fn of_sizes(config: &mut LoadConfig, sizes: &SizeOptions) {
    let SizeOptions {
        batch_bytes,
        batch_docs,
        in_flight,
        gentle,
        max_rate,
        forget,
        learned,
        trace,
        linger,
        coalesce,
        memory,
        workers,
        max_document_bytes,
        request_timeout,
        retry_for,
        retries,
        pause_for,
        grace,
        encoding,
        compression,
        bulk_routing,
        replies,
    } = sizes.clone();
    let defaults = Limits::default();
    config.limits = Limits {
        batch_bytes: batch_bytes.map(|size| size.as_usize()),
        batch_docs: batch_docs.map(|docs| docs.get()),
        in_flight: in_flight.map(|requests| requests.get()),
        gentle: gentle.then(Gentle::default),
        max_rate,
        linger: linger.unwrap_or(defaults.linger),
        memory: memory.map_or(defaults.memory, |size| size.as_usize()),
        workers: workers.map_or(defaults.workers, |workers| workers.get() as usize),
        document_bytes_max: max_document_bytes.map_or(defaults.document_bytes_max, |size| size.as_usize()),
        request_timeout: request_timeout.map_or(defaults.request_timeout, |time| time.get()),
        retry_for: retry_for.unwrap_or(defaults.retry_for),
        retries: retries.map_or(defaults.retries, |retries| retries.get()),
        pause_max: pause_for.unwrap_or(defaults.pause_max),
        grace: grace.unwrap_or(defaults.grace),
        // These have no options. They are for tests.
        retry_wait: defaults.retry_wait,
        health_every: defaults.health_every,
    };
    config.trace = trace;
    config.learning = match learned {
        Some(EarlierLoad(learned)) => Learning::Given(learned),
        None if forget => Learning::Anew,
        None => Learning::Kept,
    };
    config.coalesce = coalesce;
    config.encoding = encoding.and_then(OrAuto::given);
    config.compression = compression.and_then(OrAuto::given);
    config.bulk_routing = bulk_routing.unwrap_or_default();
    config.replies = replies.unwrap_or_default();
}

fn of_errors(config: &mut LoadConfig, errors: &ErrorOptions, environment: &Environment) {
    let ErrorOptions {
        on_conflict,
        dead_letters,
        strict,
        max_errors,
        tolerate,
        allow_empty,
        fail_on_warning,
        count_at,
        no_verify,
    } = errors.clone();
    config.on_conflict = on_conflict.unwrap_or_default();
    config.dead_letters = match (dead_letters, &environment.folder) {
        (Some(path), _) => DeadLetters::File(path),
        (None, Some(folder)) => DeadLetters::Folder(folder.clone()),
        (None, None) => DeadLetters::DefaultFile,
    };
    config.max_errors = if strict { MaxErrors::Count(0) } else { max_errors.unwrap_or_default() };
    config.tolerate = tolerate;
    config.allow_empty = allow_empty;
    config.fail_on_warning = fail_on_warning;
    config.count_at = count_at;
    config.verify = !no_verify;
}

fn of_resuming(config: &mut LoadConfig, options: &ResumeOptions, environment: &Environment) {
    let ResumeOptions { resume, once, state } = options.clone();
    let state = state.map(|folder| folder.0);
    config.resume = resume;
    config.once = once;
    config.state = state_folder(state.as_deref(), environment);
    config.guard.state = state;
}

/// The folder of the option, or that of the service or user. `None` for a user without a home.
fn state_folder(given: Option<&Path>, environment: &Environment) -> Option<StateFolder> {
    if let Some(given) = given {
        return Some(StateFolder::new(given));
    }
    let folder = user::state_folder(|name| environment.variable(name))?;
    Some(StateFolder { required: false, ..StateFolder::new(folder) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_comes_before_the_environment() {
        let folder = |given: Option<&str>, variables: &'static [(&'static str, &'static str)]| {
            let environment = Environment::new(move |name| variables.iter().find(|v| v.0 == name).map(|v| v.1.into()));
            state_folder(given.map(Path::new), &environment).map(|folder| (folder.path, folder.required))
        };
        let both: &[_] = &[("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(folder(Some("s"), both), Some(("s".into(), true)));
        assert_eq!(folder(None, both), Some(("/x/inrush".into(), false)));
        assert_eq!(folder(None, &[]), None);
    }
}
