//! Checks of the combination of options.

use inrush_core::Action;

use crate::options::{ByteSize, LoadOptions, OptionError, OptionErrorKind, OptionGroup, SizeOptions};
use inrush_load::config::LoadConfig;

/// All checks of a configuration that need no source.
pub(super) fn of_options(options: &LoadOptions, config: &LoadConfig) -> Result<(), OptionError> {
    of_sizes(&options.sizes, config)?;
    let target = &options.target;
    if target.recreate && config.index.fixed().is_none() {
        return Err(OptionError::conflict("option `recreate` needs one index, but option `index` has placeholders")
            .of("recreate")
            .hint("delete the indices yourself"));
    }
    of_ids(options, config)?;
    if target.mixed.is_some() && target.map.is_none() {
        let message = "option `mixed` needs option `map=auto`";
        return Err(OptionError::conflict(message)
            .of("mixed")
            .hint("add option `map=auto`, or leave option `mixed` out"));
    }
    config.check()
}

/// Checks that batches in flight fit into the memory.
fn of_sizes(sizes: &SizeOptions, config: &LoadConfig) -> Result<(), OptionError> {
    let memory = config.limits.memory as u64;
    let batch = sizes.batch_bytes.map_or(1, ByteSize::bytes);
    let in_flight = u64::from(config.limits.in_flight.unwrap_or(1));
    let Some(needed) = ByteSize::new(batch.saturating_mul(in_flight)).filter(|needed| needed.bytes() > memory) else {
        return Ok(());
    };
    let given = [
        sizes.batch_bytes.map(|bytes| format!("option `batch_bytes={bytes}`")),
        config.limits.in_flight.map(|n| format!("option `in_flight={n}`")),
    ];
    let given = given.into_iter().flatten().collect::<Vec<_>>().join(" x ");
    let default = if sizes.memory.is_some() { "" } else { " (default)" };
    let memory = ByteSize::new(memory).map(|size| size.to_string()).unwrap_or_default();
    Err(OptionError::conflict(format!("{given} needs {needed} of memory, more than option `memory={memory}`{default}"))
        .of("memory")
        .hint(format!("give option `memory={needed}`, or lower the other options")))
}

/// Refuses options that dead letters do not need: they have their ids and actions.
fn of_ids(options: &LoadOptions, config: &LoadConfig) -> Result<(), OptionError> {
    let action = match config.action {
        Action::Update => "update",
        Action::Upsert => "upsert",
        Action::Delete => "delete",
        Action::Index | Action::Create => return Ok(()),
    };
    if options.source.from_dead_letters.is_some() {
        let message = format!("option `action={action}` does not work with option `from_dead_letters`");
        return Err(OptionError::conflict(message)
            .of("action")
            .hint("leave it out: each dead letter has its own action and id"));
    }
    if options.target.id.is_none() && !options.reads_topics()? {
        let message = format!("option `action={action}` needs the ids of the documents");
        return Err(OptionError::new(OptionErrorKind::Missing, message)
            .of("id")
            .hint("name the field that holds them with option `id=FIELD`"));
    }
    Ok(())
}

/// Refuses options about sources together with dead letters.
pub(super) fn of_dead_letters(options: &LoadOptions) -> Result<(), OptionError> {
    let LoadOptions { source, reading, query, index_source, kafka, kafka_values, kafka_group, source_login, .. } =
        options;
    if !source.sources.is_empty() {
        return Err(OptionError::conflict("sources and option `from_dead_letters` exclude each other")
            .of("from_dead_letters")
            .hint("load one after the other"));
    }
    let of_topics = kafka.given().chain(kafka_values.given()).chain(kafka_group.given());
    let of_sources = reading.given().chain(index_source.given()).chain(of_topics).chain(source_login.given());
    let given = of_sources.chain(query.given()).next();
    match given {
        None => Ok(()),
        Some(info) => {
            let message = format!("option `{}` does not work with option `from_dead_letters`", info.name);
            Err(OptionError::conflict(message).of(info.name).hint("leave it out: dead letters are documents already"))
        }
    }
}

/// Refuses combinations of options for a source index.
pub(super) fn of_index(options: &LoadOptions) -> Result<(), OptionError> {
    let (from, to) = (&options.index_source, &options.target);
    let twice = |ours: &'static str, other: &str| {
        Err(OptionError::conflict(format!("option `{ours}` and option `{other}` exclude each other; choose one"))
            .of(ours))
    };
    if from.copy_mapping && to.mapping.is_some() {
        return twice("copy_mapping", "mapping");
    }
    if to.map.is_some() {
        let message = "option `map=auto` infers a mapping, but the index has one already";
        return Err(OptionError::conflict(message).of("map").hint("copy it with option `copy_mapping`"));
    }
    if from.copy_settings && to.settings.is_some() {
        return twice("copy_settings", "settings");
    }
    if from.keep_versions && to.version.is_some() {
        return twice("keep_versions", "version");
    }
    if to.id_from.is_some() {
        let message = "option `id_from` is for documents without ids, but those of an index have ids";
        return Err(OptionError::conflict(message)
            .of("id_from")
            .hint("leave it out, or name a field with option `id`"));
    }
    if from.keep_versions && to.id.is_some() {
        let message = "option `keep_versions` is for documents that keep their ids";
        return Err(OptionError::conflict(message).of("keep_versions").hint("leave option `id` out"));
    }
    if from.keep_versions && to.action.is_some_and(|action| action != Action::Index) {
        return Err(OptionError::conflict("servers accept external versions only with the action index")
            .of("keep_versions")
            .hint("leave option `keep_versions` or option `action` out"));
    }
    Ok(())
}
