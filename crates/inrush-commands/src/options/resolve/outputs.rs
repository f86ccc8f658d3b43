//! Several loads from the same sources, each of the result of a query.

use std::collections::BTreeSet;

use super::kinds;
use super::query::{check_zone, tables, text};
use super::{Environment, confirmations, local, mapping, shards, watch_config};
use crate::options::{ForAll, LoadOptions, LoadPlan, OptionError, OptionErrorKind, SourceOptions};
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_sources::SourceInfo;

/// An output that is checked.
struct Output {
    options: LoadOptions,
    query: String,
    config: LoadConfig,
}

impl LoadOptions {
    /// The plans of several loads from the sources of these options. Each of `outputs` has a query,
    /// the options for all outputs, and its own options.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`]. Options that do not work with several loads are refused.
    pub async fn resolve_outputs(
        self,
        outputs: Vec<LoadOptions>,
        environment: &Environment,
    ) -> Result<Vec<LoadPlan>, LoadError> {
        let outputs = check(outputs, environment)?;
        let bytes_max = outputs.iter().map(|output| output.config.limits.document_bytes_max).max().unwrap_or_default();
        let found = kinds::find(&self, &environment.kinds)?;
        let tables = tables(&self, bytes_max, &found)?;
        let queries = outputs.iter().map(|output| (output.query.as_str(), output.config.id.clone())).collect();
        let sources = tables.sources(queries).await?;
        let mut plans = Vec::new();
        for (Output { options, query: _, mut config }, source) in outputs.into_iter().zip(sources) {
            mapping::of_load(&options, &mut config, (&found, environment)).await?;
            let SourceInfo { bytes_total, has_ids, .. } = source.describe();
            let notes = shards::of_load(&options, (bytes_total, has_ids), &mut config, (&found, environment)).await?;
            let local = local(&config, &options.target.to).await?;
            let confirmations = confirmations(&options, &config, local.as_ref());
            plans.push(LoadPlan {
                config,
                source,
                reopen: None,
                fetch: None,
                local,
                model: None,
                confirmations,
                notes,
                watch: watch_config(&options.watch, environment)?,
            });
        }
        Ok(plans)
    }
}

fn check(outputs: Vec<LoadOptions>, environment: &Environment) -> Result<Vec<Output>, LoadError> {
    let mut checked = Vec::new();
    let (mut indices, mut files) = (BTreeSet::new(), BTreeSet::new());
    for options in outputs {
        let Some(query) = text(&options.query)? else {
            return Err(OptionError::new(OptionErrorKind::Missing, "an [[output]] has no query")
                .of("sql")
                .hint("give a query with option `sql` or option `sql_file`")
                .into());
        };
        refuse(&options)?;
        check_zone(&options, &query)?;
        let config = options.config(environment)?;
        if !indices.insert(config.index.as_str().to_owned()) {
            let message =
                format!("two outputs go to the index {}, so its count could not be verified", config.index.as_str());
            return Err(OptionError::conflict(message).of("index").hint("combine the queries with UNION ALL").into());
        }
        for file in options.errors.dead_letters.iter().chain(&options.sizes.trace) {
            if !files.insert(file.clone()) {
                let message = format!("two outputs write to {}", file.display());
                return Err(OptionError::conflict(message).hint("name a file for each [[output]]").into());
            }
        }
        checked.push(Output { options, query, config });
    }
    Ok(checked)
}

/// Refuses options that do not work with several loads.
fn refuse(options: &LoadOptions) -> Result<(), OptionError> {
    let ForAll {
        source: SourceOptions { sources: _, from_dead_letters },
        fetch,
        shape,
        // These apply to each output.
        target: _,
        login: _,
        sizes: _,
        errors: _,
        end: _,
        watch: _,
        resume,
    } = options.for_all();
    if from_dead_letters.is_some() {
        return Err(OptionError::conflict("option `from_dead_letters` and [[output]] exclude each other")
            .of("from_dead_letters")
            .hint("load one after the other"));
    }
    fetch.refuse("a load of several outputs")?;
    if shape.limit.is_some() {
        let message = "option `limit` does not work with several outputs, each of which is the result of a query";
        return Err(OptionError::conflict(message).of("limit").hint("write LIMIT into the queries"));
    }
    if resume.resume {
        let message = "option `resume` does not work with several outputs, some of which may have ended";
        return Err(OptionError::conflict(message)
            .of("resume")
            .hint("load the missing outputs alone, or all again; with ids no document is duplicated"));
    }
    if resume.once {
        let message = "option `once` does not work with several outputs, each of which is the result of a query";
        return Err(OptionError::conflict(message)
            .of("once")
            .hint("leave it out; with ids no document is duplicated by a repeated load"));
    }
    Ok(())
}
