//! The table of endpoints.

use serde_json::{Value, json};

use super::request::{ApiReply, ApiRequest, Environment};
use super::{
    aliases, cluster as whole, data_streams, documents, health, indices, nodes, point_in_time, scroll, search,
    settings, shards, tasks, templates,
};
use crate::error::ServerError;
use crate::filter::filter_path;
use crate::model::Cluster;

/// The reply of an endpoint; `None` where no endpoint has this method and path.
type Routed = Option<Result<ApiReply, ServerError>>;

/// Answers any request but a bulk request.
pub(crate) fn handle(cluster: &mut Cluster, request: &ApiRequest, environment: &Environment) -> ApiReply {
    let head = request.method == http::Method::HEAD;
    let reply = match cluster.canned.get(&request.path) {
        Some((status, body)) => ApiReply { status: *status, body: body.clone() },
        None => route(cluster, request, environment).unwrap_or_else(ApiReply::from),
    };
    let body = match request.param("filter_path") {
        Some(patterns) if reply.status < 300 => filter_path(reply.body, patterns),
        _ => reply.body,
    };
    ApiReply { status: reply.status, body: if head { Value::Null } else { body } }
}

fn route(cluster: &mut Cluster, request: &ApiRequest, environment: &Environment) -> Result<ApiReply, ServerError> {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    // HEAD asks whether GET would find something.
    let method = if request.method == http::Method::HEAD { "GET" } else { request.method.as_str() };
    let at = (method, segments.as_slice());
    let routed = of_the_cluster(cluster, request, environment, at)
        .or_else(|| of_metadata(cluster, request, at))
        .or_else(|| of_documents(cluster, request, at))
        .or_else(|| of_indices(cluster, request, at));
    routed.unwrap_or_else(|| Ok(no_handler(request, method)))
}

/// The cluster, its nodes and its tasks.
fn of_the_cluster(
    cluster: &mut Cluster,
    request: &ApiRequest,
    environment: &Environment,
    at: (&str, &[&str]),
) -> Routed {
    Some(match at {
        ("GET", []) => Ok(whole::root(cluster, environment)),
        ("GET", ["_cluster", "health"]) => health::health(cluster, "*", request),
        ("GET", ["_cluster", "health", expression]) => health::health(cluster, expression, request),
        ("GET", ["_cluster", "state", _metrics]) => health::state(cluster, "*"),
        ("GET", ["_cluster", "state", _metrics, expression]) => health::state(cluster, expression),
        ("GET", ["_cluster", "settings"]) => Ok(whole::settings(cluster)),
        ("PUT", ["_cluster", "settings"]) => whole::put_settings(cluster, request),
        ("GET", ["_nodes", "stats", ..] | ["_nodes", _, "stats", ..]) => Ok(nodes::node_stats(cluster, environment)),
        ("GET", ["_nodes", rest @ ..]) => Ok(nodes::nodes(cluster, environment, rest)),
        ("GET", ["_tasks", id]) => tasks::task(cluster, id),
        ("GET", ["_tasks"]) => Ok(tasks::tasks(cluster, request, environment)),
        ("GET", ["_cat", "allocation"]) => Ok(nodes::cat_allocation(cluster, environment)),
        ("GET", ["_cat", "indices"]) => health::cat_indices(cluster, "*"),
        ("GET", ["_cat", "indices", expression]) => health::cat_indices(cluster, expression),
        ("POST" | "GET", ["_security", "user", "_has_privileges"])
            if cluster.flavor.is_elasticsearch() && environment.secured =>
        {
            whole::has_privileges(cluster, request)
        }
        _ => return None,
    })
}

/// Aliases, templates, data streams and pipelines.
fn of_metadata(cluster: &mut Cluster, request: &ApiRequest, at: (&str, &[&str])) -> Routed {
    Some(match at {
        ("GET", ["_resolve", "index", expression]) => indices::resolve(cluster, expression),
        ("POST", ["_aliases"]) => aliases::update_aliases(cluster, request),
        ("GET", ["_alias"]) => aliases::aliases(cluster, "*", None),
        ("GET", ["_alias", alias]) => aliases::aliases(cluster, "*", Some(alias)),
        ("GET", [index, "_alias"]) => aliases::aliases(cluster, index, None),
        ("GET", [index, "_alias", alias]) => aliases::aliases(cluster, index, Some(alias)),
        ("PUT" | "POST", [index, "_alias" | "_aliases", alias]) => aliases::put_alias(cluster, index, alias, request),
        ("DELETE", [index, "_alias" | "_aliases", alias]) => aliases::delete_alias(cluster, index, alias),
        ("POST", ["_index_template", "_simulate_index", name]) => templates::simulate_index(cluster, name, request),
        (method, ["_index_template", name]) => templates::template(cluster, method, name, request),
        ("GET", ["_template"]) => Ok(templates::legacy(cluster)),
        ("PUT", ["_template", name]) => templates::put_legacy(cluster, name, request),
        ("DELETE", ["_template", name]) => templates::delete_legacy(cluster, name),
        ("GET", ["_data_stream"]) => data_streams::data_streams(cluster, "*"),
        ("GET", ["_data_stream", name]) => data_streams::data_streams(cluster, name),
        ("PUT", ["_data_stream", name]) => data_streams::create_data_stream(cluster, name),
        ("DELETE", ["_data_stream", name]) => data_streams::delete_data_stream(cluster, name),
        ("POST", [name, "_rollover"]) => data_streams::roll_over(cluster, name),
        ("GET", ["_ingest", "pipeline"]) => Ok(templates::pipelines(cluster, "*")),
        ("GET", ["_ingest", "pipeline", name]) => Ok(templates::pipelines(cluster, name)),
        ("PUT", ["_ingest", "pipeline", name]) => templates::put_pipeline(cluster, name, request),
        ("DELETE", ["_ingest", "pipeline", name]) => templates::delete_pipeline(cluster, name),
        _ => return None,
    })
}

/// Reads and writes of documents.
fn of_documents(cluster: &mut Cluster, request: &ApiRequest, at: (&str, &[&str])) -> Routed {
    let elasticsearch = cluster.flavor.is_elasticsearch();
    Some(match at {
        ("POST" | "GET", ["_mget"]) => documents::mget(cluster, None, request),
        ("POST" | "GET", [index, "_mget"]) => documents::mget(cluster, Some(index), request),
        ("POST" | "GET", ["_count"]) => search::count(cluster, "*", request),
        ("POST" | "GET", [index, "_count"]) => search::count(cluster, index, request),
        ("POST" | "GET", ["_search", "scroll"]) => scroll::next(cluster, request),
        ("DELETE", ["_search", "scroll"]) => scroll::clear(request),
        ("POST", [index, "_pit"]) if elasticsearch => point_in_time::open(cluster, index, request),
        ("DELETE", ["_pit"]) if elasticsearch => point_in_time::close(cluster, request),
        ("POST", [index, "_search", "point_in_time"]) if !elasticsearch => point_in_time::open(cluster, index, request),
        ("DELETE", ["_search", "point_in_time"]) if !elasticsearch => point_in_time::close(cluster, request),
        ("POST" | "GET", [index, "_search"]) if request.param("scroll").is_some() => {
            scroll::begin(cluster, index, request)
        }
        ("POST" | "GET", ["_search"]) => search::search(cluster, "*", request),
        ("POST" | "GET", [index, "_search"]) => search::search(cluster, index, request),
        ("GET", [index, "_doc", id]) => documents::get(cluster, index, id, request),
        ("GET", [index, "_source", id]) => documents::get_source(cluster, index, id, request),
        ("PUT" | "POST" | "DELETE", [index, kind @ ("_doc" | "_create" | "_update"), rest @ ..]) if rest.len() < 2 => {
            documents::write(cluster, index, kind, rest.first().copied(), request)
        }
        _ => return None,
    })
}

/// Indices: their shards, settings and mappings, creation and deletion.
fn of_indices(cluster: &mut Cluster, request: &ApiRequest, at: (&str, &[&str])) -> Routed {
    Some(match at {
        ("POST" | "GET", ["_refresh"]) => shards::refresh(cluster, "*"),
        ("POST" | "GET", [index, "_refresh"]) => shards::refresh(cluster, index),
        ("POST" | "GET", ["_flush"]) => shards::flush(cluster, "*"),
        ("POST" | "GET", [index, "_flush"]) => shards::flush(cluster, index),
        ("POST", [index, "_forcemerge"]) => shards::force_merge(cluster, index, request),
        ("GET", ["_segments"]) => shards::segments(cluster, "*"),
        ("GET", [index, "_segments"]) => shards::segments(cluster, index),
        ("GET", ["_stats", ..]) => shards::stats(cluster, "*", request),
        ("GET", [index, "_stats", ..]) => shards::stats(cluster, index, request),
        ("GET", ["_settings"]) => settings::settings(cluster, "*", None, request),
        ("GET", [index, "_settings"]) => settings::settings(cluster, index, None, request),
        ("GET", [index, "_settings", names]) => settings::settings(cluster, index, Some(names), request),
        ("PUT", [index, "_settings"]) => settings::put_settings(cluster, index, request),
        ("GET", ["_mapping"]) => settings::mapping(cluster, "*"),
        ("GET", [index, "_mapping"]) => settings::mapping(cluster, index),
        ("PUT" | "POST", [index, "_mapping"]) => settings::put_mapping(cluster, index, request),
        ("POST", [index, verb @ ("_close" | "_open")]) => indices::open_or_close(cluster, index, *verb == "_open"),
        ("PUT", [index, "_block", block]) => settings::block(cluster, index, block),
        ("PUT", [index]) if !index.starts_with('_') => indices::create(cluster, index, request),
        ("GET", [index]) if !index.starts_with('_') => indices::get(cluster, index, request),
        ("DELETE", [index]) if !index.starts_with('_') => indices::delete(cluster, index),
        _ => return None,
    })
}

/// The servers' reply to a method and a path without an endpoint.
fn no_handler(request: &ApiRequest, method: &str) -> ApiReply {
    let path = &request.path;
    let is_bulk = matches!(request.segments.as_slice(), [bulk] | [_, bulk] if bulk == "_bulk");
    if is_bulk {
        let allowed = "allowed: [POST, PUT]";
        let error = format!("Incorrect HTTP method for uri [{path}] and method [{method}], {allowed}");
        return ApiReply { status: 405, body: json!({"error": error, "status": 405}) };
    }
    ApiReply { status: 400, body: json!({"error": format!("no handler found for uri [{path}] and method [{method}]")}) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Method;

    use super::*;
    use crate::product::Flavor;

    fn call(cluster: &mut Cluster, method: &str, path: &str, body: Value) -> ApiReply {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let method = Method::from_bytes(method.as_bytes()).expect("method");
        let environment = Environment { root_status: 200, ..Environment::default() };
        handle(cluster, &ApiRequest::new(method, path, body), &environment)
    }

    #[test]
    fn an_index_is_created_written_and_deleted() {
        let mut cluster = Cluster::new(Flavor::opensearch_3());
        assert_eq!(call(&mut cluster, "HEAD", "/a", Value::Null).status, 404);
        let body = json!({"settings": {"number_of_shards": 2}, "mappings": {"_meta": {"m": 1}}, "aliases": {"al": {}}});
        assert_eq!(call(&mut cluster, "PUT", "/a", body).status, 200);
        assert_eq!(call(&mut cluster, "PUT", "/a", Value::Null).status, 400);
        let shown = call(&mut cluster, "GET", "/al", Value::Null).body;
        assert_eq!(shown["a"]["settings"]["index"]["number_of_shards"], "2");
        assert_eq!(shown["a"]["mappings"]["_meta"], json!({"m": 1}));
        assert_eq!(call(&mut cluster, "PUT", "/a/_doc/1", json!({"n": 1})).status, 201);
        assert_eq!(call(&mut cluster, "GET", "/a/_count", Value::Null).body["count"], 0);
        call(&mut cluster, "POST", "/a/_refresh", Value::Null);
        assert_eq!(call(&mut cluster, "GET", "/a/_count", Value::Null).body["count"], 1);
        assert_eq!(call(&mut cluster, "DELETE", "/a", Value::Null).status, 200);
        assert_eq!(call(&mut cluster, "GET", "/a/_count", Value::Null).status, 404);
    }

    #[test]
    fn aggregations_and_paging() {
        let mut cluster = Cluster::new(Flavor::opensearch_3());
        for (id, town) in ["x", "y", "x"].iter().enumerate() {
            call(&mut cluster, "PUT", &format!("/a/_doc/{id}?refresh=true"), json!({"town": town, "n": id}));
        }
        let body = json!({"size": 1, "from": 1, "query": {"match_all": {}},
            "aggs": {"towns": {"terms": {"field": "town.keyword"}, "aggs": {"s": {"sum": {"field": "n"}}}}, "mean": {"avg": {"field": "n"}}}});
        let found = call(&mut cluster, "POST", "/a/_search", body).body;
        assert_eq!(found["hits"]["total"]["value"], 3);
        assert_eq!(found["hits"]["hits"][0]["_id"], "1");
        assert_eq!(found["aggregations"]["mean"]["value"], 1.0);
        assert_eq!(
            found["aggregations"]["towns"]["buckets"][0],
            json!({"key": "x", "doc_count": 2, "s": {"value": 2.0}})
        );
    }
}
