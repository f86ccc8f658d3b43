//! Indices of another cluster.

use inrush_cluster::BoxFuture;
use inrush_core::{Action, Code};
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_sources::index::{IndexAddress, IndexModels, IndexOptions};
use serde_json::Value;

use super::super::{Environment, Model};
use super::{Can, Kind, Opened, Opening, Use, take_memory};
use crate::options::{IndexSourceOptions, LoadOptions, OptionError, SearchQuery, SourceLoginOptions};

pub(super) static INDICES: Kind = Kind {
    many: "an index of another cluster",
    example: "name the index as in https://host:9200/index",
    alone: Some(
        "load one after the other; several indices of one cluster go into one URL: https://host:9200/a,b,logs-*",
    ),
    options: &[IndexSourceOptions::TABLE, SourceLoginOptions::TABLE],
    reads: |_, _| false,
    read_as: "whose documents are JSON",
    has_ids: true,
    can: |what| match what {
        Use::Load | Use::DryRun | Use::Verify | Use::Shards | Use::Convert => Can::Do,
        Use::Query => Can::NoFiles("select documents of the index with option `query`"),
        Use::Bake | Use::Sweep => Can::NoFiles("copy the index with `inrush load`"),
        Use::Map => Can::Never(
            "option `map=auto` infers a mapping, but the index has one already",
            "copy it with option `copy_mapping`",
        ),
        Use::Infer => Can::Never(
            "an index has a mapping already",
            "`inrush load` copies it with option `copy_mapping`, and GET INDEX/_mapping shows it",
        ),
    },
    open,
};

fn open(opening: Opening<'_>) -> BoxFuture<'_, Result<Opened, LoadError>> {
    Box::pin(async move {
        let load = opening.load;
        let IndexSourceOptions { copy_mapping, copy_settings, .. } = load.index_source;
        let mut options = options(load, opening.config, opening.environment)?;
        options.memory = take_memory(&mut opening.config.limits, options.memory);
        let inrush_sources::Opened { source, reopen, models, .. } =
            opening.open(&opening.request().with(options)).await?;
        let model = models.and_then(|IndexModels { info, models, docs, .. }| {
            tracing::info!("{} has {docs} documents", source.describe().title());
            let (mapping, settings) = (copy_mapping, copy_settings);
            let by_default = !mapping && !settings && !load.target.no_copy;
            (mapping || settings || by_default).then_some(Model { info, models, mapping, settings, by_default })
        });
        Ok(Opened { source, reopen, model })
    })
}

fn options(load: &LoadOptions, config: &LoadConfig, environment: &Environment) -> Result<IndexOptions, OptionError> {
    check(load)?;
    let LoadOptions { source, index_source, source_login, target, .. } = load;
    // The kind was found by it.
    let url = source.sources.first().and_then(|url| url.to_str()).unwrap_or_default();
    let address = IndexAddress::parse(url)
        .map_err(|error| OptionError::unusable(error.to_string()).coded(Code::BadAddress).of("sources"))?;
    let IndexSourceOptions { query, index_in_id, keep_versions, catch_up, copy_mapping: _, copy_settings: _ } =
        index_source;
    let mut index = IndexOptions::new(address);
    index.query = query.as_ref().map(search_query).transpose()?;
    index.tls = source_login.tls()?;
    index.credentials = source_login.credentials(&index.address.node, environment)?;
    index.keep_ids = target.id.is_none();
    index.index_in_id = *index_in_id;
    index.keep_routing = target.routing.is_none();
    index.keep_versions = *keep_versions;
    index.catch_up = *catch_up;
    index.document_bytes_max = config.limits.document_bytes_max;
    index.request_timeout = config.limits.request_timeout;
    index.retry_for = config.limits.retry_for;
    Ok(index)
}

/// Refuses combinations of options for a source index.
fn check(options: &LoadOptions) -> Result<(), OptionError> {
    let (from, to) = (&options.index_source, &options.target);
    let twice = |ours: &'static str, other: &str| {
        Err(OptionError::conflict(format!("option `{ours}` and option `{other}` exclude each other; choose one"))
            .of(ours))
    };
    if from.copy_mapping && to.mapping.is_some() {
        return twice("copy_mapping", "mapping");
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
    if from.index_in_id && to.id.is_some() {
        return twice("index_in_id", "id");
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

/// The query, given in the syntax of a search or as the part under `query`.
fn search_query(given: &SearchQuery) -> Result<Value, OptionError> {
    let wrong = |problem: String| OptionError::value("query", problem);
    let value: Value = match given {
        SearchQuery::Json(value) => value.clone(),
        SearchQuery::Text(text) => {
            let text = match text.strip_prefix('@') {
                Some(path) => {
                    std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read {path}: {error}")))?
                }
                None => text.clone(),
            };
            serde_json::from_str(&text).map_err(|error| wrong(format!("not valid JSON: {error}")))?
        }
    };
    let Value::Object(mut object) = value else {
        return Err(wrong("expected a JSON object such as {\"term\": {\"color\": \"red\"}}".to_owned()));
    };
    match object.remove("query") {
        Some(query) if object.is_empty() => Ok(query),
        Some(_) => {
            let others: Vec<_> = object.keys().map(|other| format!("`{other}`")).collect();
            Err(wrong(format!("holds {} besides `query`, but only the query is used", others.join(", "))))
        }
        None if object.len() == 1 => Ok(Value::Object(object)),
        None => Err(wrong("expected one query, as under `query` of a search".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_given_in_either_form() {
        let parse = |text: &str| search_query(&SearchQuery::Text(text.to_owned()));
        assert_eq!(parse(r#"{"term":{"a":1}}"#).unwrap(), json!({"term": {"a": 1}}));
        assert_eq!(parse(r#"{"query":{"match_all":{}}}"#).unwrap(), json!({"match_all": {}}));
        assert_eq!(search_query(&SearchQuery::Json(json!({"term": {}}))).unwrap(), json!({"term": {}}));
        for (text, problem) in [
            (r#"{"query":{},"size":3}"#, "holds `size` besides `query`"),
            (r#"{"term":{},"terms":{}}"#, "expected one query"),
            ("{}", "expected one query"),
            ("[]", "expected a JSON object"),
            ("{", "not valid JSON"),
            ("@/nowhere/at/all", "cannot read /nowhere/at/all"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
