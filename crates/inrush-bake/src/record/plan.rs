//! How an index is created where it is built, and what changes on the target.

use inrush_cluster::api::CreateIndex;
use inrush_cluster::api::templates::{Given, flat, merge};
use inrush_core::routing::Routing;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How the index is created where it is built, and what changes on the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The body of `settings`, flat.
    pub(crate) building: Map<String, Value>,
    /// The body of `mappings`.
    pub(crate) mappings: Value,
    /// Settings that the restored index gets in addition or instead.
    pub(crate) restored: Map<String, Value>,
    /// Settings that it loses, because they were for building only.
    pub(crate) ignored: Vec<String>,
    /// Aliases from the target's templates.
    pub(crate) aliases: Map<String, Value>,
}

/// Keeps documents out of an index.
pub(crate) const WRITE_BLOCK: &str = "index.blocks.write";
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
    pub(crate) fn new(given: Given, create: &CreateIndex) -> Plan {
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
    pub(crate) fn routing(&self) -> Result<Routing, String> {
        let number = |name: &str| {
            let value = self.building.get(name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok()).and_then(|n| u32::try_from(n).ok())
        };
        if number("index.routing_partition_size").is_some_and(|n| n > 1) {
            return Err(
                "the index has a routing_partition_size, which spreads equal routing values over several shards"
                    .to_owned(),
            );
        }
        let shards = number(SHARDS).unwrap_or(1);
        let routing_shards = number(ROUTING_SHARDS);
        Routing::new(shards, routing_shards, 1).ok_or_else(|| match routing_shards {
            Some(n) => format!("number_of_routing_shards {n} is not a multiple of {shards} shards"),
            None => format!("no index has {shards} shards"),
        })
    }

    /// The ingest pipelines that the index names.
    pub(crate) fn pipelines(&self) -> Vec<String> {
        let names = ["index.default_pipeline", "index.final_pipeline"];
        let named = names.iter().filter_map(|name| self.building.get(*name)?.as_str());
        named.filter(|name| *name != "_none").map(str::to_owned).collect()
    }
}

/// A number of shards as text.
pub(crate) fn of_shards(count: u64) -> String {
    if count == 1 { "of 1 shard".to_owned() } else { format!("of {count} shards") }
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
    fn documents_are_routed_as_the_index_routes_them() {
        let routing = |settings: Value| plan(json!({}), settings).routing();
        assert_eq!(Some(routing(json!({})).unwrap()), Routing::new(3, None, 1));
        assert_eq!(Some(routing(json!({"number_of_routing_shards": "12"})).unwrap()), Routing::new(3, Some(12), 1));
        assert!(routing(json!({"number_of_routing_shards": 10})).unwrap_err().contains("not a multiple"));
        assert!(routing(json!({"routing_partition_size": 2})).unwrap_err().contains("routing_partition_size"));
    }
}
