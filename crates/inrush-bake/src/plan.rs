//! What is compatible with a target: the servers that may build for it, and the settings of the
//! index that the builder gets.

use inrush_cluster::api::templates::{Given, flat, merge};
use inrush_cluster::api::{CreateIndex, Version};
use inrush_core::routing::Routing;
use inrush_node::Product;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How the index is created on a builder, and what changes on the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The body of `settings` on the builder, flat.
    pub(super) building: Map<String, Value>,
    /// The body of `mappings`.
    pub(super) mappings: Value,
    /// Settings that the restored index gets in addition or instead.
    pub(super) restored: Map<String, Value>,
    /// Settings that it loses, because they were for building only.
    pub(super) ignored: Vec<String>,
    /// Aliases from the target's templates.
    pub(super) aliases: Map<String, Value>,
}

const REPLICAS: &str = "index.number_of_replicas";
const REFRESH: &str = "index.refresh_interval";
const SHARDS: &str = "index.number_of_shards";
const ROUTING_SHARDS: &str = "index.number_of_routing_shards";

/// Settings about the target's nodes, policies and searches. A builder cannot have them, or they
/// would slow it down.
const TARGET_ONLY: [&str; 10] = [
    REPLICAS,
    REFRESH,
    "index.auto_expand_replicas",
    "index.routing.allocation.",
    "index.lifecycle.",
    "index.plugins.",
    "index.opendistro.",
    "index.blocks.",
    "index.unassigned.",
    "index.write.wait_for_active_shards",
];

impl Plan {
    /// The index that a load with `create` would create on a cluster that applies `given`.
    pub(super) fn new(given: Given, create: &CreateIndex) -> Plan {
        let mut settings = flat(&given.settings);
        settings.extend(flat(create.settings.as_ref().unwrap_or(&Value::Null)));
        let mut number = |name: &str, said: Option<u32>, default: Option<u32>| match (said, default) {
            (Some(n), _) => drop(settings.insert(name.to_owned(), json!(n))),
            (None, Some(n)) => drop(settings.entry(name).or_insert(json!(n))),
            (None, None) => {}
        };
        number(SHARDS, create.shards, given.shards);
        number(REPLICAS, create.replicas, Some(given.replicas.unwrap_or(1)));
        // A null removes a setting of a template.
        let (restored, mut building): (Map<_, _>, Map<_, _>) = settings
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .partition(|(name, _)| TARGET_ONLY.iter().any(|only| name.starts_with(only)));
        building.insert(REPLICAS.to_owned(), json!(0));
        building.insert(REFRESH.to_owned(), json!("-1"));
        let ignored = if restored.contains_key(REFRESH) { Vec::new() } else { vec![REFRESH.to_owned()] };
        let mut mappings = match given.mappings {
            mappings @ Value::Object(_) => mappings,
            _ => json!({}),
        };
        if let Some(own) = &create.mappings {
            merge(&mut mappings, own);
        }
        Plan { building, mappings, restored, ignored, aliases: given.aliases }
    }

    /// The function from documents to shards.
    ///
    /// # Errors
    /// Numbers that servers reject, or routing by partitions.
    pub(super) fn routing(&self) -> Result<Routing, String> {
        let number = |name: &str| {
            let value = self.building.get(name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok()).and_then(|n| u32::try_from(n).ok())
        };
        if number("index.routing_partition_size").is_some_and(|n| n > 1) {
            return Err("the index has a routing_partition_size, which spreads equal routing values over several shards; leave option `layout=stitched` out".to_owned());
        }
        let shards = number(SHARDS).unwrap_or(1);
        let routing_shards = number(ROUTING_SHARDS);
        Routing::new(shards, routing_shards, 1).ok_or_else(|| match routing_shards {
            Some(n) => format!("number_of_routing_shards {n} is not a multiple of {shards} shards"),
            None => format!("no index has {shards} shards"),
        })
    }

    /// The same plan with this number of shards.
    pub(super) fn with_shards(mut self, shards: u32) -> Plan {
        self.building.insert(SHARDS.to_owned(), json!(shards));
        self
    }

    /// The plan of an index of the same kind with one shard.
    pub(super) fn one_shard(&self) -> Plan {
        let mut part = self.clone().with_shards(1);
        part.building.remove(ROUTING_SHARDS);
        part
    }

    /// The ingest pipelines that the index names.
    pub(super) fn pipelines(&self) -> Vec<String> {
        let names = ["index.default_pipeline", "index.final_pipeline"];
        let named = names.iter().filter_map(|name| self.building.get(*name)?.as_str());
        named.filter(|name| *name != "_none").map(str::to_owned).collect()
    }
}

/// The mapping of an index whose parts were built separately. `found`: the mapping of each part.
///
/// # Errors
/// A field that differs between the parts. Without a mapping, each server decides a field's type by
/// the first value that it sees.
pub(super) fn union(found: &[Value]) -> Result<Value, String> {
    fn add(path: &str, all: &mut Value, one: &Value) -> Result<(), String> {
        match (all, one) {
            (Value::Object(all), Value::Object(one)) => {
                for (key, value) in one {
                    match all.get_mut(key) {
                        Some(there) => add(&format!("{path}.{key}"), there, value)?,
                        None => drop(all.insert(key.clone(), value.clone())),
                    }
                }
                Ok(())
            }
            (all, one) if all == one => Ok(()),
            (all, one) => Err(format!(
                "the builders found different mappings: {} is {all} in one part and {one} in another; say what it is with option `mapping` (see `inrush mapping`)",
                path.trim_start_matches('.').replace("properties.", "").replace(".type", "")
            )),
        }
    }
    let mut all = json!({});
    for one in found.iter().filter(|one| one.is_object()) {
        add("", &mut all, one)?;
    }
    Ok(all)
}

/// Number of replicas that the target creates at least.
pub(super) fn replicas(plan: &Plan) -> u64 {
    let value = plan.restored.get(REPLICAS);
    value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok())).unwrap_or(0)
}

/// The major version of Lucene in a server. It has to be the same on both sides: the files of a
/// newer version cannot be read, and those of an older one are read with restrictions.
fn lucene(product: Product, version: Version) -> Option<u32> {
    match (product, version.major) {
        (Product::OpenSearch, 1) | (Product::Elasticsearch, 7) => Some(8),
        (Product::OpenSearch, 2) | (Product::Elasticsearch, 8) => Some(9),
        (Product::OpenSearch, 3) | (Product::Elasticsearch, 9) => Some(10),
        _ => None,
    }
}

/// Checks that indices of a builder can be restored on a target.
///
/// # Errors
/// Why not, and which version would be compatible.
pub(super) fn check(product: Product, builder: Version, target: Version) -> Result<(), String> {
    let Some(lucene_target) = lucene(product, target) else {
        return Err(format!(
            "the target's version {target} is unknown here, so no builder can be chosen for it; load into it with `inrush load`"
        ));
    };
    if builder > target {
        return Err(format!(
            "the builder's version {builder} is newer than the target's oldest node, {target}, which cannot read the files that it writes; name {target} or an older one"
        ));
    }
    match lucene(product, builder) {
        Some(lucene) if lucene == lucene_target => Ok(()),
        found => Err(format!(
            "the builder's version {builder} has Lucene {}, and the target's {target} has Lucene {lucene_target}; name a version {}.x that is not newer than {target}",
            found.map_or_else(|| "of an unknown version".to_owned(), |found| found.to_string()),
            target.major
        )),
    }
}

/// The versions to try, the best one first: the target's own, then the newest compatible ones on
/// this machine (`here`).
pub(super) fn candidates(product: Product, target: Version, here: &[String]) -> Vec<String> {
    let mut others: Vec<Version> = here.iter().filter_map(|text| text.parse().ok()).collect();
    others.retain(|version| *version != target && check(product, *version, target).is_ok());
    others.sort();
    others.dedup();
    std::iter::once(target).chain(others.into_iter().rev()).map(|version| version.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(given: Value, settings: Value) -> Plan {
        let given = Given { settings: given, replicas: Some(2), ..Given::default() };
        let create = CreateIndex { settings: Some(settings), shards: Some(3), ..CreateIndex::default() };
        Plan::new(given, &create)
    }

    #[test]
    fn what_only_the_target_can_have_waits_for_it() {
        let given =
            json!({"index": {"codec": "best_compression", "refresh_interval": "30s", "lifecycle": {"name": "p"}}});
        let plan = plan(
            given,
            json!({"analysis": {"analyzer": {"a": {"type": "custom", "filter": ["x", "y"]}}}, "index.codec": null,
            "routing": {"allocation": {"require": {"box": "hot"}}}}),
        );
        assert_eq!(
            Value::Object(plan.building),
            json!({"index.number_of_shards": 3, "index.number_of_replicas": 0, "index.refresh_interval": "-1",
                "index.analysis.analyzer.a.type": "custom", "index.analysis.analyzer.a.filter": ["x", "y"]})
        );
        assert_eq!(
            Value::Object(plan.restored),
            json!({"index.number_of_replicas": 2, "index.refresh_interval": "30s", "index.lifecycle.name": "p",
                "index.routing.allocation.require.box": "hot"})
        );
        assert!(plan.ignored.is_empty());
    }

    #[test]
    fn what_was_never_set_is_not_set_afterwards() {
        let plan =
            plan(json!({}), json!({"number_of_replicas": 0, "default_pipeline": "p", "final_pipeline": "_none"}));
        assert_eq!(plan.ignored, [REFRESH]);
        assert_eq!(Value::Object(plan.restored.clone()), json!({"index.number_of_replicas": 0}));
        assert_eq!(plan.pipelines(), ["p"]);
    }

    #[test]
    fn own_mappings_are_laid_over_those_of_templates() {
        let given =
            Given { mappings: json!({"dynamic": "strict", "properties": {"a": {"type": "long"}}}), ..Given::default() };
        let own = json!({"properties": {"a": {"type": "text"}, "b": {"type": "date"}}});
        let plan = Plan::new(given, &CreateIndex { mappings: Some(own), ..CreateIndex::default() });
        let expected = json!({"dynamic": "strict", "properties": {"a": {"type": "text"}, "b": {"type": "date"}}});
        assert_eq!(plan.mappings, expected);
        assert_eq!(plan.restored[REPLICAS], 1);
    }

    #[test]
    fn parts_have_one_mapping_or_are_refused() {
        let a = json!({"properties": {"n": {"type": "long"}, "o": {"properties": {"x": {"type": "date"}}}}});
        let b = json!({"properties": {"n": {"type": "long"}, "o": {"properties": {"y": {"type": "text"}}}, "m": {"type": "ip"}}});
        let both = union(&[a.clone(), b, json!({})]).unwrap();
        let expected = json!({"properties": {"n": {"type": "long"}, "o": {"properties": {"x": {"type": "date"}, "y": {"type": "text"}}}, "m": {"type": "ip"}}});
        assert_eq!(both, expected);
        let error = union(&[a, json!({"properties": {"o": {"properties": {"x": {"type": "long"}}}}})]).unwrap_err();
        assert!(error.contains("o.x is \"date\" in one part and \"long\" in another"), "{error}");
    }

    #[test]
    fn documents_are_parted_as_the_index_routes_them() {
        let routing = |settings: Value| plan(json!({}), settings).routing();
        assert_eq!(Some(routing(json!({})).unwrap()), Routing::new(3, None, 1));
        assert_eq!(Some(routing(json!({"number_of_routing_shards": "12"})).unwrap()), Routing::new(3, Some(12), 1));
        assert!(routing(json!({"number_of_routing_shards": 10})).unwrap_err().contains("not a multiple"));
        assert!(routing(json!({"routing_partition_size": 2})).unwrap_err().contains("routing_partition_size"));
        let part = plan(json!({}), json!({"number_of_routing_shards": 12})).one_shard();
        assert_eq!((part.building[SHARDS].as_u64(), part.building.contains_key(ROUTING_SHARDS)), (Some(1), false));
    }

    #[test]
    fn a_builder_is_not_newer_and_has_the_same_lucene() {
        let fits =
            |builder: &str, target: &str| check(Product::OpenSearch, builder.parse().unwrap(), target.parse().unwrap());
        fits("3.6.0", "3.6.0").unwrap();
        fits("3.1.0", "3.6.0").unwrap();
        assert!(fits("3.6.1", "3.6.0").unwrap_err().contains("newer"));
        assert!(fits("2.19.6", "3.6.0").unwrap_err().contains("Lucene 9, and the target's 3.6.0 has Lucene 10"));
        assert!(fits("3.6.0", "4.0.0").unwrap_err().contains("unknown here"));
        let here = ["2.19.6", "3.6.0", "3.2.0", "3.10.0", "3.9.0", "x"].map(str::to_owned);
        let target = "3.9.5".parse().unwrap();
        assert_eq!(candidates(Product::OpenSearch, target, &here), ["3.9.5", "3.9.0", "3.6.0", "3.2.0"]);
    }
}
