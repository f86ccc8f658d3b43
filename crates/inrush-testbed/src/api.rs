//! Everything but `_bulk`: one synchronous function from a request to a reply, over the state of the cluster.

mod cluster;
mod documents;
mod indices;
mod point_in_time;
mod scroll;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use crate::bulk;
use crate::error::EsError;
use crate::json::parse_body;
use crate::model::Cluster;
use crate::pattern;

/// A request, its body decoded.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// Method.
    pub method: Method,
    /// Path, as it came.
    pub path: String,
    /// Path segments, percent-decoded.
    pub segments: Vec<String>,
    /// Query parameters, percent-decoded.
    pub query: Vec<(String, String)>,
    /// Body, decompressed.
    pub body: Bytes,
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiReply {
    /// HTTP status.
    pub status: u16,
    /// JSON body; null for none at all.
    pub body: Value,
}

/// A task under way, as `_tasks` lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Number, unique in the cluster.
    pub id: u64,
    /// Node it runs on, counted from 0.
    pub node: usize,
    /// The request's `X-Opaque-Id`.
    pub opaque_id: Option<String>,
    /// When it began, milliseconds since 1970.
    pub start_time_ms: u64,
    /// What it does.
    pub description: String,
}

/// What the cluster's state does not hold.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Status of `GET /`: 200, or the 405 of test distributions, or the 403 of gateways.
    pub root_status: u16,
    /// Bulk requests under way.
    pub tasks: Vec<Task>,
    /// Node the request came to.
    pub node: usize,
    /// Whether credentials are asked for; Elasticsearch's security endpoints answer only then.
    pub secured: bool,
    /// Bytes free on each node's disk.
    pub disk_available_bytes: u64,
    /// `http.max_content_length`.
    pub max_content_length_bytes: usize,
    /// Where each node listens.
    pub addresses: Vec<String>,
}

impl ApiRequest {
    /// Takes a path with query apart.
    pub fn new(method: Method, path_and_query: &str, body: Bytes) -> Self {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let segments = path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
        let query = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (percent_decode(name), percent_decode(&value.replace('+', " ")))
            })
            .collect();
        ApiRequest { method, path: path.to_owned(), segments, query, body }
    }

    /// A query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch: given without a value it is on.
    pub fn flag(&self, name: &str) -> bool {
        self.param(name).is_some_and(|value| value.is_empty() || value == "true")
    }

    /// Whether this is a bulk request, and to which index.
    pub fn bulk_defaults(&self) -> Option<bulk::Defaults> {
        if self.method != Method::POST && self.method != Method::PUT {
            return None;
        }
        let index = match self.segments.as_slice() {
            [bulk] if bulk == "_bulk" => None,
            [index, bulk] if bulk == "_bulk" => Some(index.clone()),
            _ => return None,
        };
        Some(bulk::Defaults {
            index,
            pipeline: self.param("pipeline").map(str::to_owned),
            routing: self.param("routing").map(str::to_owned),
            require_alias: self.flag("require_alias"),
        })
    }

    fn json(&self) -> Result<Value, EsError> {
        parse_body(&self.body)
            .map_err(|error| EsError::new(400, "parse_exception", format!("Failed to parse content to map: {error}")))
    }
}

impl ApiReply {
    /// 200 with a body.
    pub fn ok(body: Value) -> Self {
        ApiReply { status: 200, body }
    }

    /// A status without a body.
    pub fn empty(status: u16) -> Self {
        ApiReply { status, body: Value::Null }
    }

    fn acknowledged() -> Self {
        ApiReply::ok(json!({"acknowledged": true}))
    }
}

impl From<EsError> for ApiReply {
    fn from(error: EsError) -> Self {
        ApiReply { status: error.status, body: error.to_body() }
    }
}

/// Answers any request other than a bulk request.
pub fn handle(cluster: &mut Cluster, request: &ApiRequest, around: &Surroundings) -> ApiReply {
    let head = request.method == Method::HEAD;
    let reply = match cluster.canned.get(&request.path) {
        Some((status, body)) => ApiReply { status: *status, body: body.clone() },
        None => route(cluster, request, around).unwrap_or_else(ApiReply::from),
    };
    let body = match request.param("filter_path") {
        Some(patterns) if reply.status < 300 => bulk::filter_path(reply.body, patterns),
        _ => reply.body,
    };
    ApiReply { status: reply.status, body: if head { Value::Null } else { body } }
}

fn route(cluster: &mut Cluster, request: &ApiRequest, around: &Surroundings) -> Result<ApiReply, EsError> {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    // HEAD asks whether GET would find something.
    let method = if request.method == Method::HEAD { "GET" } else { request.method.as_str() };
    match (method, segments.as_slice()) {
        ("GET", []) => Ok(cluster::root(cluster, around)),
        ("GET", ["_cluster", "health"]) => cluster::health(cluster, "*", request),
        ("GET", ["_cluster", "health", expression]) => cluster::health(cluster, expression, request),
        ("GET", ["_cluster", "state", _metrics, expression]) => cluster::state(cluster, expression),
        ("GET", ["_cluster", "settings"]) => Ok(cluster::settings(cluster)),
        ("PUT", ["_cluster", "settings"]) => cluster::put_settings(cluster, request),
        ("GET", ["_nodes", "stats", ..] | ["_nodes", _, "stats", ..]) => Ok(cluster::node_stats(cluster, around)),
        ("GET", ["_nodes", rest @ ..]) => Ok(cluster::nodes(cluster, around, rest)),
        ("GET", ["_tasks", id]) => cluster::task(cluster, id),
        ("GET", ["_tasks"]) => Ok(cluster::tasks(cluster, request, around)),
        ("GET", ["_cat", "allocation"]) => Ok(cluster::cat_allocation(cluster, around)),
        ("GET", ["_cat", "indices"]) => cluster::cat_indices(cluster, "*"),
        ("GET", ["_cat", "indices", expression]) => cluster::cat_indices(cluster, expression),
        ("GET", ["_resolve", "index", expression]) => indices::resolve(cluster, expression),
        ("POST" | "GET", ["_security", "user", "_has_privileges"])
            if cluster.flavor.is_elasticsearch() && around.secured =>
        {
            cluster::has_privileges(cluster, request)
        }
        ("POST", ["_aliases"]) => indices::update_aliases(cluster, request),
        ("GET", ["_alias"]) => indices::aliases(cluster, "*", None),
        ("GET", ["_alias", alias]) => indices::aliases(cluster, "*", Some(alias)),
        ("GET", [index, "_alias"]) => indices::aliases(cluster, index, None),
        ("GET", [index, "_alias", alias]) => indices::aliases(cluster, index, Some(alias)),
        ("PUT" | "POST", [index, "_alias" | "_aliases", alias]) => indices::put_alias(cluster, index, alias, request),
        ("DELETE", [index, "_alias" | "_aliases", alias]) => indices::delete_alias(cluster, index, alias),
        ("POST", ["_index_template", "_simulate_index", name]) => indices::simulate_index(cluster, name, request),
        (_, ["_index_template", name]) => indices::template(cluster, method, name, request),
        ("GET", ["_data_stream"]) => indices::data_streams(cluster, "*"),
        ("GET", ["_data_stream", name]) => indices::data_streams(cluster, name),
        ("PUT", ["_data_stream", name]) => cluster.create_data_stream(name).map(|()| ApiReply::acknowledged()),
        ("POST", [name, "_rollover"]) => {
            let (old, new) = cluster.roll_over(name)?;
            Ok(ApiReply::ok(json!({"acknowledged": true, "old_index": old, "new_index": new, "rolled_over": true})))
        }
        ("DELETE", ["_data_stream", name]) => indices::delete_data_stream(cluster, name),
        ("GET", ["_ingest", "pipeline"]) => Ok(indices::pipelines(cluster, "*")),
        ("GET", ["_ingest", "pipeline", name]) => Ok(indices::pipelines(cluster, name)),
        ("PUT", ["_ingest", "pipeline", name]) => indices::put_pipeline(cluster, name, request),
        ("DELETE", ["_ingest", "pipeline", name]) => indices::delete_pipeline(cluster, name),
        ("POST" | "GET", ["_mget"]) => documents::mget(cluster, None, request),
        ("POST" | "GET", [index, "_mget"]) => documents::mget(cluster, Some(index), request),
        ("POST" | "GET", ["_count"]) => documents::count(cluster, "*", request),
        ("POST" | "GET", [index, "_count"]) => documents::count(cluster, index, request),
        ("POST" | "GET", ["_search", "scroll"]) => scroll::next(cluster, request),
        ("DELETE", ["_search", "scroll"]) => scroll::clear(request),
        ("POST", [index, "_pit"]) if cluster.flavor.is_elasticsearch() => point_in_time::open(cluster, index, request),
        ("DELETE", ["_pit"]) if cluster.flavor.is_elasticsearch() => point_in_time::close(cluster, request),
        ("POST", [index, "_search", "point_in_time"]) if !cluster.flavor.is_elasticsearch() => {
            point_in_time::open(cluster, index, request)
        }
        ("DELETE", ["_search", "point_in_time"]) if !cluster.flavor.is_elasticsearch() => {
            point_in_time::close(cluster, request)
        }
        ("POST" | "GET", [index, "_search"]) if request.param("scroll").is_some() => {
            scroll::begin(cluster, index, request)
        }
        ("POST" | "GET", ["_search"]) => documents::search(cluster, "*", request),
        ("POST" | "GET", [index, "_search"]) => documents::search(cluster, index, request),
        ("GET", [index, "_doc", id]) => documents::get(cluster, index, id, request),
        ("GET", [index, "_source", id]) => documents::get_source(cluster, index, id, request),
        ("PUT" | "POST" | "DELETE", [index, kind @ ("_doc" | "_create" | "_update"), rest @ ..]) if rest.len() < 2 => {
            documents::write(cluster, index, kind, rest.first().copied(), request)
        }
        ("POST" | "GET", ["_refresh"]) => documents::refresh(cluster, "*"),
        ("POST" | "GET", [index, "_refresh"]) => documents::refresh(cluster, index),
        ("POST" | "GET", ["_flush"]) => documents::flush(cluster, "*"),
        ("POST" | "GET", [index, "_flush"]) => documents::flush(cluster, index),
        ("POST", [index, "_forcemerge"]) => documents::force_merge(cluster, index, request),
        ("GET", ["_stats", ..]) => documents::stats(cluster, "*", request),
        ("GET", [index, "_stats", ..]) => documents::stats(cluster, index, request),
        ("GET", ["_settings"]) => indices::settings(cluster, "*", None, request),
        ("GET", [index, "_settings"]) => indices::settings(cluster, index, None, request),
        ("GET", [index, "_settings", names]) => indices::settings(cluster, index, Some(names), request),
        ("PUT", [index, "_settings"]) => indices::put_settings(cluster, index, request),
        ("GET", ["_mapping"]) => indices::mapping(cluster, "*"),
        ("GET", [index, "_mapping"]) => indices::mapping(cluster, index),
        ("PUT" | "POST", [index, "_mapping"]) => indices::put_mapping(cluster, index, request),
        ("POST", [index, verb @ ("_close" | "_open")]) => indices::open_or_close(cluster, index, *verb == "_open"),
        ("PUT", [index, "_block", block]) => indices::block(cluster, index, block),
        ("PUT", [index]) if !index.starts_with('_') => {
            cluster.create_index(index, &request.json()?)?;
            Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true, "index": index})))
        }
        ("GET", [index]) if !index.starts_with('_') => indices::get(cluster, index, request),
        ("DELETE", [index]) if !index.starts_with('_') => indices::delete(cluster, index),
        (_, ["_bulk"] | [_, "_bulk"]) => Ok(ApiReply {
            status: 405,
            body: json!({"error": format!("Incorrect HTTP method for uri [{}] and method [{method}], allowed: [POST, PUT]", request.path), "status": 405}),
        }),
        _ => Ok(ApiReply {
            status: 400,
            body: json!({"error": format!("no handler found for uri [{}] and method [{method}]", request.path)}),
        }),
    }
}

/// Names in an expression (commas, `*`, aliases, data streams) as concrete indices.
fn expand(cluster: &Cluster, expression: &str) -> Result<Vec<String>, EsError> {
    let mut names = Vec::new();
    for part in expression.split(',').filter(|part| !part.is_empty()) {
        let part = if part == "_all" { "*" } else { part };
        let before = names.len();
        for (name, index) in &cluster.indices {
            let hidden = name.starts_with('.') && !part.starts_with('.');
            let by_name = pattern::matches(part, name) && !(hidden && part.contains('*'));
            let by_alias = index.aliases.keys().any(|alias| pattern::matches(part, alias));
            let by_stream = cluster
                .data_streams
                .iter()
                .any(|(stream, state)| pattern::matches(part, stream) && state.indices.contains(name));
            if (by_name || by_alias || by_stream) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.len() == before && !part.contains('*') && !names.iter().any(|name| name == part) {
            return Err(EsError::index_not_found(part, "index_or_alias"));
        }
    }
    Ok(names)
}

fn by_index(names: Vec<String>, mut value: impl FnMut(&str) -> Option<Value>) -> Value {
    let object: Map<String, Value> =
        names.into_iter().filter_map(|name| value(&name).map(|value| (name, value))).collect();
    Value::Object(object)
}

/// `%41` as `A`; what is no valid escape stays as it is.
fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte =
            escape.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::Flavor;

    fn call(cluster: &mut Cluster, method: &str, path: &str, body: Value) -> ApiReply {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let method = Method::from_bytes(method.as_bytes()).expect("method");
        let around = Surroundings { root_status: 200, ..Surroundings::default() };
        handle(cluster, &ApiRequest::new(method, path, body), &around)
    }

    #[test]
    fn paths_and_queries_are_decoded() {
        let request = ApiRequest::new(Method::GET, "/a%2Fb/_doc/x%20y?q=1%2C2&flag&z=a+b", Bytes::new());
        assert_eq!(request.segments, ["a/b", "_doc", "x y"]);
        assert_eq!(request.param("q"), Some("1,2"));
        assert!(request.flag("flag"));
        assert_eq!(request.param("z"), Some("a b"));
    }

    #[test]
    fn an_index_lives_from_put_to_delete() {
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
