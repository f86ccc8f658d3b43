//! Which nodes may hold the shards of an index, and why a shard has no node.
//!
//! The rules are those of the servers' filters, tiers, switch and disk watermarks (Elasticsearch's
//! reference, "Index-level shard allocation filtering", "Data tier allocation"; the same without
//! tiers in OpenSearch). Only the server knows all of them, so this refuses no more than what it
//! can prove.

use std::collections::BTreeMap;

use http::Method;
use inrush_core::wildcard;
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use super::product::{ClusterInfo, Product};
use super::watermark::{self, Stage};
use crate::transport::{Transport, path_segment};

/// The settings with the rules of an index, and of the whole cluster.
const OF_INDEX: &str = "index.routing.allocation.";
const OF_CLUSTER: &str = "cluster.routing.allocation.";

/// Reasons in a message. A cluster of many nodes may have many.
const REASONS_MAX: usize = 3;

/// Why no node may hold a primary shard of a new index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoNode {
    /// Only a change of the settings or of the nodes helps.
    Ever(String),
    /// It may pass by itself: allocation is switched off.
    Now(String),
    /// It may pass by itself: the disks are above their high watermark.
    Disk(String),
}

/// The data nodes, as `_nodes/stats` shows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes(Vec<Node>);

#[derive(Clone, Debug, Default)]
struct Node {
    id: String,
    name: String,
    host: String,
    address: String,
    roles: Vec<String>,
    attributes: BTreeMap<String, String>,
    /// Bytes of the disk, and those that are free.
    disk: Option<(f64, f64)>,
}

/// The part of `_nodes/stats/fs` that [`Nodes::parse`] reads.
pub(super) const NODES: &str =
    "nodes.*.name,nodes.*.host,nodes.*.transport_address,nodes.*.roles,nodes.*.attributes,nodes.*.fs.total";

impl Nodes {
    pub(super) fn parse(body: &Value) -> Self {
        let nodes = body.get("nodes").and_then(Value::as_object).into_iter().flatten();
        Nodes(nodes.map(|(id, node)| Node::parse(id, node)).filter(Node::holds_data).collect())
    }

    /// Why no node may hold a primary shard of a new index with these settings, by their full
    /// names. `cluster` is an answer to [`watermark::ask`].
    pub(super) fn refuse(&self, info: &ClusterInfo, index: &Map<String, Value>, cluster: &Value) -> Option<NoNode> {
        if self.0.is_empty() {
            return None;
        }
        let layers = watermark::settings(cluster);
        let cluster = |name: &str| layers.get(&format!("{OF_CLUSTER}{name}")).copied();
        let index: BTreeMap<String, String> = index.iter().filter_map(|(k, v)| Some((k.clone(), text(v)?))).collect();
        let switch = match index.get(&format!("{OF_INDEX}enable")) {
            Some(value) => Some((format!("{OF_INDEX}enable"), value.as_str())),
            None => cluster("enable").map(|value| (format!("{OF_CLUSTER}enable"), value)),
        };
        if let Some((name, "none")) = switch {
            return Some(NoNode::Now(format!("{name} is none, so no node takes a shard; set it to all")));
        }
        let tiers = info.product == Product::Elasticsearch;
        let rules = Rules::of(OF_INDEX, index.iter().map(|(k, v)| (k.as_str(), v.as_str())), tiers);
        let of_all = Rules::of(OF_CLUSTER, layers.iter().map(|(k, v)| (k.as_str(), *v)), tiers);
        let fitting: Vec<&Node> =
            self.0.iter().filter(|node| rules.take(node, self) && of_all.take(node, self)).collect();
        if fitting.is_empty() {
            let words: Vec<String> = [rules.words, of_all.words].concat();
            return Some(NoNode::Ever(format!(
                "none of the {} data nodes meets {}; their attributes are {}; change the setting, or give a node the attribute",
                self.0.len(),
                words.join(" and "),
                self.attributes()
            )));
        }
        self.disks(&fitting, info, &layers).map(NoNode::Disk)
    }

    /// The disks above the high watermark, if all that matter are.
    fn disks(&self, fitting: &[&Node], info: &ClusterInfo, layers: &BTreeMap<String, &str>) -> Option<String> {
        let mark = watermark::of_settings(Stage::High, layers)?;
        // Elasticsearch 8 and newer look at the disk of an only node, too. Others do it on request.
        let single = layers.get("cluster.routing.allocation.disk.watermark.enable_for_single_data_node");
        let newer = info.product == Product::Elasticsearch && info.version.is_some_and(|version| version.major >= 8);
        if self.0.len() == 1 && *single.unwrap_or(&if newer { "true" } else { "false" }) != "true" {
            return None;
        }
        let full = fitting.iter().map(|node| {
            let (total, free) = node.disk?;
            let used = (1.0 - free / total.max(1.0)) * 100.0;
            (free < mark.reserve(total)).then(|| format!("{} ({used:.1} % used)", node.name))
        });
        let full: Vec<String> = full.collect::<Option<_>>()?;
        let which = match full.len() {
            1 => format!("the disk of node {} is above its high watermark ({mark})", full[0]),
            _ => format!("the disks of nodes {} are above their high watermark ({mark})", few(&full)),
        };
        Some(format!(
            "{which}, so no node takes a new shard; free disk space, or raise cluster.routing.allocation.disk.watermark.high"
        ))
    }

    fn attributes(&self) -> String {
        let of = |node: &Node| {
            let all: Vec<String> = node.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{}: {}", node.name, if all.is_empty() { "none".to_owned() } else { all.join(" ") })
        };
        few(&self.0.iter().map(of).collect::<Vec<_>>())
    }
}

impl Node {
    fn parse(id: &str, node: &Value) -> Self {
        let string = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let strings = |value: Option<&Value>| -> Vec<String> {
            value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let bytes = |key: &str| node.pointer(&format!("/fs/total/{key}")).and_then(Value::as_u64).map(|b| b as f64);
        let attributes = node.get("attributes").and_then(Value::as_object).into_iter().flatten();
        let address = string("transport_address");
        Node {
            id: id.to_owned(),
            name: node.get("name").and_then(Value::as_str).unwrap_or(id).to_owned(),
            host: string("host"),
            // Without the port, and an address of IPv6 without its brackets.
            address: address.rsplit_once(':').map_or("", |(host, _)| host.trim_matches(['[', ']'])).to_owned(),
            roles: strings(node.get("roles")),
            attributes: attributes.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
            disk: bytes("total_in_bytes").zip(bytes("available_in_bytes")),
        }
    }

    /// A node without roles in the answer may hold data.
    fn holds_data(&self) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|role| role == "data" || role.starts_with("data_"))
    }

    fn is_in_tier(&self, tier: &str) -> bool {
        self.roles.iter().any(|role| role == "data" || role == tier)
    }
}

/// The filters of an index or of the cluster.
#[derive(Default)]
struct Rules {
    require: Vec<(String, String)>,
    include: Vec<(String, String)>,
    exclude: Vec<(String, String)>,
    /// Tiers in the order of preference. The first one that has a node takes the index.
    tiers: Vec<String>,
    /// The settings, for messages.
    words: Vec<String>,
}

impl Rules {
    fn of<'a>(prefix: &str, settings: impl Iterator<Item = (&'a str, &'a str)>, tiers: bool) -> Self {
        let mut rules = Rules::default();
        for (name, value) in settings {
            let Some((kind, attribute)) = name.strip_prefix(prefix).and_then(|rest| rest.split_once('.')) else {
                continue;
            };
            if value.trim().is_empty() {
                continue;
            }
            let pair = (attribute.to_owned(), value.to_owned());
            match kind {
                "include" if tiers && attribute == "_tier_preference" => {
                    rules.tiers = values(value).map(str::to_owned).collect();
                }
                "require" => rules.require.push(pair),
                "include" => rules.include.push(pair),
                "exclude" => rules.exclude.push(pair),
                _ => continue,
            }
            rules.words.push(format!("{name} {value}"));
        }
        rules
    }

    fn take(&self, node: &Node, all: &Nodes) -> bool {
        let all_match = |(name, value): &(String, String)| match name.as_str() {
            "_ip" | "_host_ip" | "_publish_ip" => values(value).any(|value| matches(node, name, value)),
            _ => values(value).all(|value| matches(node, name, value)),
        };
        let any_matches = |rules: &[(String, String)]| {
            rules.iter().any(|(name, value)| values(value).any(|value| matches(node, name, value)))
        };
        let tier = self.tiers.iter().find(|tier| all.0.iter().any(|node| node.is_in_tier(tier)));
        self.require.iter().all(all_match)
            && (self.include.is_empty() || any_matches(&self.include))
            && !self.exclude.iter().any(|rule| surely_excludes(node, rule))
            && (self.tiers.is_empty() || tier.is_some_and(|tier| node.is_in_tier(tier)))
    }
}

fn values(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|value| !value.is_empty())
}

/// Whether the node has this value. What cannot be told counts as a match.
fn matches(node: &Node, name: &str, value: &str) -> bool {
    let any = |of: &[&str]| of.iter().any(|of| wildcard::matches(value, of));
    match name {
        "_id" => value == node.id,
        "_name" => any(&[&node.name, &node.id]),
        "_ip" | "_host_ip" | "_publish_ip" => value.contains('/') || any(&[&node.address, &node.host]),
        "_host" => any(&[&node.host, &node.address]),
        name if name.starts_with('_') => true,
        name => node.attributes.get(name).is_some_and(|of| wildcard::matches(value, of)),
    }
}

/// Whether the rule excludes the node. What cannot be told excludes none.
fn surely_excludes(node: &Node, (name, value): &(String, String)) -> bool {
    let known = !name.starts_with('_') || matches!(name.as_str(), "_id" | "_name" | "_ip" | "_host");
    known && values(value).filter(|value| !value.contains('/')).any(|value| matches(node, name, value))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => Some(all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Object(_) => None,
    }
}

fn few(all: &[String]) -> String {
    let more = all.len().saturating_sub(REASONS_MAX);
    let shown = all[..all.len() - more].join("; ");
    if more > 0 { format!("{shown}; and {more} more") } else { shown }
}

/// A primary shard without a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unassigned {
    /// The shard and the reason, as in `shard 0: node es-1: the node is above the high watermark`.
    pub why: String,
    /// No node may hold it as things are. Otherwise a node will get it, or the server still
    /// decides.
    pub no_node: bool,
}

/// Why a primary shard of `index`, which must not be an alias, has no node. `None` where each has
/// one, or where the user may not ask (cluster privilege `monitor`).
pub async fn unassigned(transport: &Transport, index: &str) -> Option<Unassigned> {
    let path = format!("/_cat/shards/{}?format=json&h=shard,prirep,state", path_segment(index));
    let what = format!("asking for the shards of {index}");
    let shards = transport.demand(&what, Method::GET, &path, None).await.ok()?;
    let is_unassigned = |shard: &&Value| shard["prirep"] == "p" && shard["state"] == "UNASSIGNED";
    let shard = shards.as_array()?.iter().find(is_unassigned)?["shard"].as_str()?.parse::<u32>().ok()?;
    let what = format!("asking why shard {shard} of {index} is not assigned");
    let question = json!({"index": index, "shard": shard, "primary": true});
    let path = "/_cluster/allocation/explain";
    let answer: Result<Value, ClusterError> = transport.demand(&what, Method::POST, path, Some(&question)).await;
    explained(shard, &answer.ok()?)
}

fn explained(shard: u32, answer: &Value) -> Option<Unassigned> {
    let can = answer.get("can_allocate").and_then(Value::as_str)?;
    let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in answer.get("node_allocation_decisions").and_then(Value::as_array).into_iter().flatten() {
        let name = node.get("node_name").and_then(Value::as_str).unwrap_or("?");
        let deciders = node.get("deciders").and_then(Value::as_array).into_iter().flatten();
        for decider in deciders.filter(|decider| decider["decision"] == "NO") {
            nodes.entry(decider.get("explanation").and_then(Value::as_str).unwrap_or_default()).or_default().push(name);
        }
    }
    let reasons: Vec<String> = nodes
        .into_iter()
        .map(|(why, names)| match names.as_slice() {
            [name] => format!("node {name}: {why}"),
            names => format!("{} nodes: {why}", names.len()),
        })
        .collect();
    let general = answer.get("allocate_explanation").and_then(Value::as_str).unwrap_or(can);
    // A shard whose copies are lost, or that failed too often, has its reason elsewhere.
    let details = answer.pointer("/unassigned_info/details").and_then(Value::as_str);
    let why = match (reasons.is_empty(), details) {
        (false, _) => few(&reasons),
        (true, Some(details)) => format!("{general} ({details})"),
        (true, None) => general.to_owned(),
    };
    let no_node = !matches!(can, "yes" | "throttled" | "awaiting_info" | "allocation_delayed");
    Some(Unassigned { why: format!("shard {shard}: {why}"), no_node })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Version;
    use crate::api::templates::flat;

    fn info(product: Product, major: u32) -> ClusterInfo {
        ClusterInfo { product, version: Some(Version::new(major, 0, 0)), ..ClusterInfo::default() }
    }

    fn node(name: &str, roles: &[&str], attributes: Value, free: u64) -> Value {
        json!({"name": name, "host": format!("{name}.lan"), "transport_address": "10.0.0.7:9300", "roles": roles,
            "attributes": attributes, "fs": {"total": {"total_in_bytes": 100, "available_in_bytes": free}}})
    }

    fn nodes() -> Nodes {
        Nodes::parse(&json!({"nodes": {
            "n1": node("es-1", &["data_hot", "data_content"], json!({"box": "hot", "zone": "a"}), 50),
            "n2": node("es-2", &["data", "ingest"], json!({"box": "warm"}), 5),
            "n3": node("es-3", &["master"], json!({"box": "none"}), 50),
        }}))
    }

    fn refused(index: Value, cluster: Value, product: Product) -> Option<NoNode> {
        nodes().refuse(&info(product, 8), &flat(&index), &cluster)
    }

    #[test]
    fn filters_that_no_data_node_meets_are_named() {
        let allocation = |rules: Value| json!({"routing": {"allocation": rules}});
        for (rules, fits) in [
            (json!({"require": {"box": "hot"}}), true),
            (json!({"require": {"box": "hot", "zone": "b"}}), false),
            (json!({"require": {"box": "none"}}), false),
            (json!({"require": {"box": "hot,warm"}}), false),
            (json!({"require": {"box": "h*"}}), true),
            (json!({"require": {"missing": "*"}}), false),
            (json!({"require": {"_name": "es-2"}}), true),
            (json!({"require": {"_name": "n1"}}), true),
            (json!({"require": {"_name": "nowhere"}}), false),
            (json!({"require": {"_id": "es-1"}}), false),
            (json!({"require": {"_host": "es-1.lan"}}), true),
            (json!({"require": {"_ip": "10.0.0.*"}}), true),
            (json!({"require": {"_ip": "10.0.0.0/24"}}), true),
            (json!({"require": {"_ip": "10.1.0.1"}}), false),
            (json!({"require": {"box": ""}}), true),
            (json!({"include": {"box": "cold,warm"}}), true),
            (json!({"include": {"box": "cold"}}), false),
            (json!({"include": {"box": "cold", "_name": "es-1"}}), true),
            (json!({"exclude": {"box": "hot,warm"}}), false),
            (json!({"exclude": {"box": "hot"}}), true),
            (json!({"exclude": {"_name": "es-*"}}), false),
            (json!({"exclude": {"_ip": "10.0.0.7"}}), false),
            (json!({"include": {"_tier_preference": "data_frozen,data_hot"}}), true),
            (json!({"include": {"_tier_preference": "data_cold"}}), true),
        ] {
            let found = refused(allocation(rules.clone()), json!({}), Product::Elasticsearch);
            // The disk of one of them is full.
            assert_eq!(!matches!(found, Some(NoNode::Ever(_))), fits, "{rules}: {found:?}");
            let all = json!({"persistent": {"cluster": allocation(rules.clone())}});
            let found = refused(json!({}), all, Product::OpenSearch);
            assert!(
                matches!(found, Some(NoNode::Ever(_))) != fits || rules.to_string().contains("_tier"),
                "of the cluster {rules}: {found:?}"
            );
        }
        let only = Nodes::parse(&json!({"nodes": {"n": node("es-1", &["data_hot"], json!({}), 50)}}));
        let cold = flat(&json!({"routing.allocation.include._tier_preference": "data_cold,data_warm"}));
        assert!(only.refuse(&info(Product::Elasticsearch, 8), &cold, &json!({})).is_some());
        let Some(NoNode::Ever(why)) =
            refused(json!({"index.routing.allocation.require.box": "blue"}), json!({}), Product::OpenSearch)
        else {
            panic!("not refused");
        };
        let expected = "none of the 2 data nodes meets index.routing.allocation.require.box blue; their attributes are \
                        es-1: box=hot zone=a; es-2: box=warm; ";
        assert!(why.starts_with(expected), "{why}");
    }

    #[test]
    fn a_switch_and_full_disks_are_named() {
        let switch = |value: &str| json!({"transient": {"cluster": {"routing": {"allocation": {"enable": value}}}}});
        let on = |index: Value, cluster: Value| refused(index, cluster, Product::OpenSearch);
        assert_eq!(on(json!({}), switch("new_primaries")), None);
        assert!(matches!(on(json!({}), switch("none")), Some(NoNode::Now(why)) if why.contains("cluster.routing")));
        assert_eq!(on(json!({"routing.allocation.enable": "all"}), switch("none")), None);
        assert!(on(json!({"routing.allocation.enable": "none"}), json!({})).is_some());
        // The disk of the only node that the index may have.
        let warm = json!({"routing.allocation.require.box": "warm"});
        let Some(NoNode::Disk(why)) = on(warm, json!({})) else { panic!("not refused") };
        assert!(why.starts_with("the disk of node es-2 (95.0 % used) is above its high watermark (90%)"), "{why}");
        let high = |mark: &str| json!({"persistent": {"cluster": {"routing": {"allocation": {"disk": {"watermark": {"high": mark}}}}}}});
        assert!(
            matches!(on(json!({}), high("1%")), Some(NoNode::Disk(why)) if why.contains("the disks of nodes es-1"))
        );
        // OpenSearch and older servers do not look at the disk of an only node.
        let only = Nodes::parse(&json!({"nodes": {"n": node("es-1", &["data"], json!({}), 1)}}));
        let alone =
            |product, major, cluster: Value| only.refuse(&info(product, major), &Map::new(), &cluster).is_some();
        assert!(!alone(Product::OpenSearch, 3, json!({})));
        assert!(!alone(Product::Elasticsearch, 7, json!({})));
        assert!(alone(Product::Elasticsearch, 8, json!({})));
        let asked = json!({"defaults": {"cluster": {"routing": {"allocation": {"disk": {"watermark": {"enable_for_single_data_node": "true"}}}}}}});
        assert!(alone(Product::OpenSearch, 3, asked));
        assert_eq!(Nodes::parse(&json!({})).refuse(&info(Product::OpenSearch, 3), &Map::new(), &switch("none")), None);
    }

    #[test]
    fn the_reasons_of_the_nodes_are_told_once_each() {
        let decision = |name: &str, why: &str| json!({"node_name": name, "deciders": [{"decider": "d", "decision": "NO", "explanation": why}, {"decision": "YES"}]});
        let answer = json!({"can_allocate": "no", "allocate_explanation": "not permitted to any of the nodes",
            "node_allocation_decisions": [decision("a", "too full"), decision("b", "too full"), decision("c", "no box")]});
        let found = explained(2, &answer).unwrap();
        assert_eq!((found.why.as_str(), found.no_node), ("shard 2: node c: no box; 2 nodes: too full", true));
        let lost = json!({"can_allocate": "no_valid_shard_copy", "allocate_explanation": "no copy",
            "unassigned_info": {"details": "node left"}});
        assert_eq!(explained(0, &lost).unwrap().why, "shard 0: no copy (node left)");
        assert!(!explained(0, &json!({"can_allocate": "throttled"})).unwrap().no_node);
        assert_eq!(explained(0, &json!({"error": "x"})), None);
    }
}
