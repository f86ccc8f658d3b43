//! The cluster as a whole: its identity, settings and privileges.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::nodes::node_name;
use super::request::{ApiReply, ApiRequest, Environment};
use crate::error::ServerError;
use crate::model::{Cluster, flatten, nest};
use crate::pattern;
use crate::product::Product;

/// `GET /`.
pub(super) fn root(cluster: &Cluster, environment: &Environment) -> ApiReply {
    match environment.root_status {
        405 => {
            return ApiReply {
                status: 405,
                body: json!({"error": "Incorrect HTTP method for uri [/] and method [GET], allowed: [DELETE]", "status": 405}),
            };
        }
        403 => {
            return ApiReply { status: 403, body: json!({"message": "Forbidden"}) };
        }
        _ => {}
    }
    let number = cluster.flavor.version();
    let (version, tagline) = match cluster.flavor.product() {
        Product::OpenSearch => (
            json!({"distribution": "opensearch", "number": number, "build_type": "zip", "build_snapshot": false,
                "minimum_wire_compatibility_version": "2.19.0", "minimum_index_compatibility_version": "2.0.0"}),
            "The OpenSearch Project: https://opensearch.org/",
        ),
        Product::Elasticsearch => (
            json!({"number": number, "build_flavor": "default", "build_type": "zip", "build_snapshot": false,
                "minimum_wire_compatibility_version": "7.17.0", "minimum_index_compatibility_version": "7.0.0"}),
            "You Know, for Search",
        ),
    };
    ApiReply::ok(json!({
        "name": node_name(environment.node),
        "cluster_name": cluster.flavor.product().to_string(),
        "cluster_uuid": cluster.uuid,
        "version": version,
        "tagline": tagline,
    }))
}

/// `GET _cluster/settings`.
pub(super) fn settings(cluster: &Cluster) -> ApiReply {
    ApiReply::ok(json!({"persistent": show_flat(&cluster.persistent_settings), "transient": {}}))
}

/// `PUT _cluster/settings`. Two settings have an effect: `action.auto_create_index` and
/// `cluster.blocks.read_only`.
pub(super) fn put_settings(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let mut given = BTreeMap::new();
    for scope in ["persistent", "transient"] {
        if let Some(settings) = body.get(scope) {
            flatten("", settings, &mut given);
        }
    }
    for (name, value) in given {
        if value.is_null() {
            cluster.persistent_settings.remove(&name);
        } else {
            cluster.persistent_settings.insert(name, value);
        }
    }
    let text = |name: &str| cluster.persistent_settings.get(name).and_then(Value::as_str);
    let auto_create_index = text("action.auto_create_index") != Some("false");
    let read_only = text("cluster.blocks.read_only") == Some("true");
    cluster.auto_create_index = auto_create_index;
    cluster.read_only = read_only;
    let persistent = show_flat(&cluster.persistent_settings);
    Ok(ApiReply::ok(json!({"acknowledged": true, "persistent": persistent, "transient": {}})))
}

fn show_flat(settings: &BTreeMap<String, Value>) -> Value {
    nest(settings.iter())
}

/// `POST _security/user/_has_privileges`: all privileges but those on denied indices.
pub(super) fn has_privileges(cluster: &Cluster, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let texts = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = true;
    let mut indices = Map::new();
    for entry in body.get("index").and_then(Value::as_array).into_iter().flatten() {
        for name in texts(entry.get("names")) {
            let allowed = !cluster.denied_indices.iter().any(|denied| pattern::matches(denied, &name));
            all &= allowed;
            let privileges: Map<String, Value> =
                texts(entry.get("privileges")).into_iter().map(|privilege| (privilege, json!(allowed))).collect();
            indices.insert(name, Value::Object(privileges));
        }
    }
    let granted: Map<String, Value> =
        texts(body.get("cluster")).into_iter().map(|privilege| (privilege, json!(true))).collect();
    Ok(ApiReply::ok(
        json!({"username": "test", "has_all_requested": all, "cluster": granted, "index": indices, "application": {}}),
    ))
}
