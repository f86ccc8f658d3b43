//! What cannot be built without a server, by name.

use inrush_cluster::api::snapshots::Repository;
use inrush_cluster::api::{ClusterInfo, Version};
use inrush_load::config::LoadConfig;
use inrush_lucene::{KnownProduct, Mapping, ServerVersion};
use inrush_sources::Store;
use serde_json::{Map, Value};

use super::options::NativeOptions;
use super::remote::Address;
use super::tested;
use crate::record::{Plan, Shared};

/// Settings of an index that do not change what is in its files, and those that are looked at with
/// the mapping: analysers, similarities, defaults of fields and the index sort. A dot at the end
/// stands for all settings below.
const SETTINGS: [&str; 27] = [
    "index.analysis.",
    "index.number_of_shards",
    "index.number_of_replicas",
    "index.number_of_routing_shards",
    "index.refresh_interval",
    "index.auto_expand_replicas",
    "index.gc_deletes",
    "index.hidden",
    "index.highlight.",
    "index.indexing.",
    "index.mapping.coerce",
    "index.mapping.field_name_length.",
    "index.mapping.ignore_malformed",
    "index.mapping.nested_fields.",
    "index.mapping.total_fields.",
    "index.max_",
    "index.merge.",
    "index.priority",
    "index.queries.cache.",
    "index.query.",
    "index.requests.",
    "index.search.",
    "index.similarity.",
    "index.soft_deletes.retention",
    "index.sort.",
    "index.store.preload",
    "index.translog.",
];

/// Settings that do not change what is in the files, with some of their values. A codec is that of
/// later merges: each segment names the codec that it was written with, and servers read both.
const VALUES: [(&str, &[&str]); 6] = [
    ("index.codec", &["default", "best_compression", "lz4"]),
    ("index.default_pipeline", &["_none"]),
    ("index.final_pipeline", &["_none"]),
    ("index.mapper.dynamic", &["true"]),
    ("index.mapping.source.mode", &["stored"]),
    ("index.store.type", &["fs", "hybridfs", "mmapfs", "niofs"]),
];

/// The servers: of each major version, from the first one that reads the codec to the newest one
/// that restored an index.
const VERSIONS: [(KnownProduct, Version, Version); 5] = [
    (KnownProduct::OpenSearch, Version::new(2, 18, 0), Version::new(2, 20, 0)),
    (KnownProduct::OpenSearch, Version::new(3, 0, 0), Version::new(3, 9, 0)),
    (KnownProduct::Elasticsearch, Version::new(8, 16, 0), Version::new(8, 20, 0)),
    (KnownProduct::Elasticsearch, Version::new(9, 0, 0), Version::new(9, 2, 0)),
    // 9.2 and 9.3 read some documents as 9.1 does, and some as 9.4.
    (KnownProduct::Elasticsearch, Version::new(9, 4, 0), Version::new(9, 6, 0)),
];

/// The product and the version of the target, whose oldest node has the version `oldest`.
///
/// # Errors
/// A target that does not say what it is.
pub(super) fn target(info: &ClusterInfo, oldest: Option<Version>) -> Result<(KnownProduct, Version), String> {
    use inrush_cluster::api::Product as Of;
    let product = match info.product {
        Of::OpenSearch => KnownProduct::OpenSearch,
        Of::Elasticsearch => KnownProduct::Elasticsearch,
        Of::Unknown => return Err("the target does not say its product".to_owned()),
    };
    Ok((product, oldest.or(info.version).ok_or("the target does not say its version")?))
}

/// The first thing that stands against building an index without a server on this target.
///
/// # Errors
/// What it is.
pub(super) fn check(
    options: &NativeOptions,
    load: &LoadConfig,
    (plan, shared): (&Plan, &Shared),
    (product, version): (KnownProduct, Version),
) -> Result<(), String> {
    check_version(product, version)?;
    check_place(shared, options.untested, product)?;
    if options.has_builder {
        return Err("the options name a builder".to_owned());
    }
    check_load(load)?;
    if !plan.aliases.is_empty() {
        return Err(
            "an index template gives the index an alias, which would stand for it before it is whole".to_owned()
        );
    }
    if !plan.pipelines().is_empty() || load.pipeline.is_some() {
        return Err("the documents go through an ingest pipeline".to_owned());
    }
    check_settings(&plan.building)?;
    plan.routing()?;
    // The version of Lucene is known once the target has made the index. It decides on no field,
    // but for how a tokenizer of paths counts positions, which only `shingle` asks for.
    let target = ServerVersion { product, version: [version.major, version.minor, version.patch], lucene: [9, 12, 0] };
    let unsupported = Mapping::unsupported(&plan.mappings, &plan.building, target);
    if !unsupported.is_empty() {
        let all: Vec<String> = unsupported.iter().map(ToString::to_string).collect();
        return Err(all.join("; "));
    }
    if !options.untested {
        tested::check((product, version), &plan.mappings, &plan.building)?;
    }
    Ok(())
}

/// Whether files can be written to the repository. Of the types that are not tested, none is chosen
/// by itself.
fn check_place(shared: &Shared, untested: bool, product: KnownProduct) -> Result<(), String> {
    if shared.folder.is_some() {
        return Ok(());
    }
    let address = Address::of(&shared.repository)?;
    if let Some(name) = encryption(&shared.repository) {
        return Err(format!(
            "the repository has {name}, and objects that are written from here would not be encrypted so"
        ));
    }
    if !untested && (address.store != Store::S3 || product != KnownProduct::OpenSearch) {
        let of = if product == KnownProduct::OpenSearch { "OpenSearch" } else { "Elasticsearch" };
        return Err(format!(
            "a repository of the type {} of {of} was never tested without a server, which option `engine=native` would do",
            shared.repository.kind
        ));
    }
    Ok(())
}

/// What a repository asks for that encrypts its objects in another way than the store does by
/// itself.
fn encryption(repository: &Repository) -> Option<String> {
    if repository.crypto_metadata.is_some() {
        return Some("crypto settings".to_owned());
    }
    let is_off = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_ascii_lowercase);
        ["false", "null", "", "bucket_default"].contains(&text.as_str())
    };
    let asks = |(name, value): &(&String, &Value)| {
        let name = name.to_ascii_lowercase();
        ["encrypt", "crypto", "kms"].iter().any(|part| name.contains(part)) && !is_off(value)
    };
    repository.settings.iter().find(asks).map(|(name, _)| format!("the setting {name}"))
}

fn check_version(product: KnownProduct, version: Version) -> Result<(), String> {
    let fits = VERSIONS.iter().any(|(of, from, to)| *of == product && (*from..*to).contains(&version));
    let spans = VERSIONS.iter().filter(|(of, ..)| *of == product);
    let spans: Vec<String> = spans
        .map(|(_, from, to)| match to.minor - 1 {
            last if last == from.minor => format!("{}.{last}", from.major),
            last => format!("{0}.{1} to {0}.{last}", from.major, from.minor),
        })
        .collect();
    if fits { Ok(()) } else { Err(format!("the target has version {version}, expected {}", spans.join(" or "))) }
}

fn check_load(load: &LoadConfig) -> Result<(), String> {
    let why = |option: &str, why: &str| Err(format!("option `{option}` {why}"));
    if load.finish.force_merge.is_some() {
        return why("force_merge", "needs a server that merges");
    }
    if load.version.is_some() {
        return why("version", "stores a version");
    }
    Ok(())
}

fn check_settings(settings: &Map<String, Value>) -> Result<(), String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fits = |(name, value): &(&String, &Value)| {
        SETTINGS.iter().any(|known| name.starts_with(known))
            || VALUES.iter().any(|(known, values)| name == known && values.contains(&text(value).as_str()))
    };
    match settings.iter().find(|setting| !fits(setting)) {
        Some((name, _)) => Err(format!("the index has the setting {name}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use inrush_load::config::SwapConfig;
    use inrush_sources::StoreOptions;
    use serde_json::json;

    use super::*;

    /// What the options say. `repository`: its type, if it is none of the type fs.
    struct Given {
        options: NativeOptions,
        load: LoadConfig,
        repository: Option<&'static str>,
    }

    fn checked(change: impl FnOnce(&mut Given, &mut Plan, &mut ClusterInfo)) -> Result<(), String> {
        let options =
            NativeOptions { store: StoreOptions::default(), memory: 1 << 30, untested: true, has_builder: false };
        let load = LoadConfig::new(vec!["http://target:9200".into()], "x".parse().unwrap());
        let mut given = Given { options, load, repository: None };
        let building = json!({"index.number_of_shards": 3, "index.refresh_interval": "-1"});
        let mut plan = Plan {
            building: building.as_object().cloned().unwrap(),
            mappings: json!({"properties": {"n": {"type": "long"}}}),
            ..Plan::default()
        };
        let mut info = ClusterInfo {
            product: inrush_cluster::api::Product::OpenSearch,
            version: Some(Version::new(3, 6, 0)),
            ..ClusterInfo::default()
        };
        change(&mut given, &mut plan, &mut info);
        let Given { options, load, repository } = given;
        let (kind, folder) = repository.map_or(("fs", Some("/shared".into())), |kind| (kind, None));
        let settings = json!({"bucket": "b", "container": "c"}).as_object().cloned().unwrap();
        let repository = Repository { kind: kind.to_owned(), settings, crypto_metadata: None };
        let shared = Shared { repository, folder, on_target: None };
        check(&options, &load, (&plan, &shared), target(&info, info.version)?)
    }

    #[test]
    fn objects_are_not_written_where_the_repository_encrypts_them() {
        let of = |settings: Value, crypto_metadata: Option<Value>| {
            let settings = settings.as_object().cloned().unwrap();
            encryption(&Repository { kind: "s3".to_owned(), settings, crypto_metadata })
        };
        for settings in [
            json!({"bucket": "b", "storage_class": "standard"}),
            json!({"server_side_encryption": "false"}),
            json!({"server_side_encryption": false, "server_side_encryption_type": "bucket_default"}),
        ] {
            assert_eq!(of(settings.clone(), None), None, "{settings}");
        }
        for name in ["server_side_encryption", "server_side_encryption_kms_key_id", "client_side_encryption_key"] {
            assert!(of(json!({ name: "true" }), None).unwrap().contains(name), "{name}");
        }
        assert!(of(json!({"server_side_encryption_type": "aws:kms"}), None).is_some());
        assert!(of(json!({}), Some(json!({"key_provider_name": "k"}))).unwrap().contains("crypto"));
    }

    #[test]
    fn what_needs_a_server_is_named() {
        checked(|_, _, _| {}).unwrap();
        checked(|given, _, _| given.load.finish.swap = Some(SwapConfig::new("y"))).unwrap();
        let problem = |change: fn(&mut Given, &mut Plan, &mut ClusterInfo)| checked(change).unwrap_err();
        for kind in ["s3", "gcs", "azure"] {
            checked(|given, _, _| given.repository = Some(kind)).unwrap();
            let auto = checked(|given, _, _| (given.repository, given.options.untested) = (Some(kind), false));
            assert_eq!(auto.is_ok(), kind == "s3", "{auto:?}");
        }
        assert!(problem(|g, _, _| g.repository = Some("hdfs")).contains("of the type hdfs"));
        assert!(problem(|g, _, _| g.options.has_builder = true).contains("name a builder"));
        assert!(problem(|g, _, _| g.load.finish.force_merge = Some(1)).contains("option `force_merge`"));
        assert!(problem(|g, _, _| g.load.pipeline = Some("p".into())).contains("ingest pipeline"));
        assert!(problem(|g, _, _| g.load.version = Some("v".parse().unwrap())).contains("option `version`"));
        assert!(problem(|_, p, _| drop(p.aliases.insert("a".into(), json!({})))).contains("alias"));
        checked(|_, plan, _| plan.mappings = json!({})).unwrap();
        // A type that is built for some versions.
        let shapes = |untested, version| {
            checked(|given, plan, info| {
                given.options.untested = untested;
                plan.mappings = json!({"properties": {"g": {"type": "geo_shape"}}});
                info.version = Some(version);
            })
        };
        for (minor, is_built) in [(6, true), (7, false), (8, true)] {
            let version = Version::new(3, minor, 0);
            assert_eq!([true, false].map(|untested| shapes(untested, version).is_ok()), [is_built; 2], "{version}");
        }
        assert!(problem(|_, p, _| p.mappings = json!({"properties": {"n": {"type": "vector"}}})).contains("vector"));
        let sorted = |by: &'static str| {
            checked(|_, plan, _| drop(plan.building.insert("index.sort.field".to_owned(), json!(by))))
        };
        sorted("n").unwrap();
        assert!(sorted("m").unwrap_err().contains("index.sort.field"));
        for (name, value) in [
            ("index.codec", json!("best_compression")),
            ("index.queries.cache.enabled", json!(false)),
            ("index.store.type", json!("niofs")),
            ("index.final_pipeline", json!("_none")),
            ("index.mapper.dynamic", json!("true")),
            ("index.mapper.dynamic", json!(true)),
        ] {
            checked(|_, plan, _| drop(plan.building.insert(name.to_owned(), value))).unwrap();
        }
        let similarity = |of: &'static str, parameter: &'static str| {
            checked(|_, plan, _| {
                plan.building.insert("index.similarity.own.type".to_owned(), json!(of));
                plan.building.insert(format!("index.similarity.own.{parameter}"), json!("0.5"));
                plan.mappings = json!({"properties": {"t": {"type": "text", "similarity": "own"}}});
            })
        };
        similarity("BM25", "b").unwrap();
        for (of, parameter) in [("BM25", "discount_overlaps"), ("DFR", "b")] {
            let found = similarity(of, parameter).unwrap_err();
            assert!(found.contains("field \"t\"") && found.contains("\"similarity\" with \"own\""), "{found}");
        }
        for name in ["index.codec", "index.store.type", "index.mode", "index.routing_partition_size"] {
            let found = checked(|_, plan, _| drop(plan.building.insert(name.to_owned(), json!("2")))).unwrap_err();
            assert!(found.contains(name), "{found}");
        }
        let own = |filter: &'static str| {
            checked(|_, plan, _| {
                let name = "index.analysis.normalizer.own.filter";
                drop(plan.building.insert(name.to_owned(), json!([filter])));
                plan.mappings = json!({"properties": {"k": {"type": "keyword", "normalizer": "own"}}});
            })
        };
        own("lowercase").unwrap();
        assert!(own("pattern_replace").unwrap_err().contains("normalizer"));
        let older = |untested| {
            checked(|given, _, info| {
                (given.options.untested, info.version) = (untested, Some(Version::new(3, 1, 0)));
            })
        };
        older(true).unwrap();
        assert!(older(false).unwrap_err().contains("3.1.0 was never tested"));
        assert!(problem(|_, _, i| i.version = Some(Version::new(3, 9, 0))).contains("2.18 to 2.19 or 3.0 to 3.8"));
        assert!(problem(|_, _, i| i.version = None).contains("does not say its version"));
    }
}
