//! Rules about vectors: where they are kept, whether their fields are mapped for searches, how
//! often their graphs are built, and the memory that graphs need.

use std::collections::BTreeMap;

use inrush_cluster::api::source_kept::SourceKept;
use inrush_cluster::api::{ClusterInfo, Product, Version};
use inrush_core::vectors::{DIMS, VectorField};
use serde_json::Value;

use super::ask::Answers;
use super::{Confidence, Finding, Group, at, entries, finding, number, size};

/// The first version of Elasticsearch that leaves vectors out of `_source`, and of OpenSearch that
/// derives them.
const LEFT_OUT_SINCE: Version = Version::new(9, 2, 0);
const DERIVED_SINCE: Version = Version::new(3, 0, 0);

/// The fewest documents with a list that tell a vector from another list.
const SAMPLED_MIN: usize = 3;

/// The least time of merges, in ms, for which the share of graphs matters.
const MERGED_MIN: f64 = 60_000.0;

/// The most segments of a shard whose graphs searches go through one by one. Elastic's page "Tune
/// approximate kNN search" advises to have few.
const SEGMENTS_MAX: f64 = 20.0;

/// Neighbours of a vector in a graph, the default of both products.
const NEIGHBOURS: f64 = 16.0;

/// The part of the memory beside the heap that the engines `faiss` and `nmslib` of OpenSearch may
/// use (`knn.memory.circuit_breaker.limit`).
const NATIVE_PART: f64 = 50.0;

/// The mapping of an index, and its vectors by their paths.
struct Index<'a> {
    name: &'a str,
    mapping: &'a Value,
    settings: &'a Value,
    vectors: Vec<(String, &'a Value)>,
}

impl Index<'_> {
    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(format!("index.{name}"))?.as_str()
    }

    /// Fields with graphs, and the bytes of memory for each of their vectors.
    fn graphs(&self, product: Product) -> Vec<(&str, &Value, f64)> {
        let has_graphs = product == Product::Elasticsearch || self.setting("knn") == Some("true");
        let vectors = self.vectors.iter().filter(|_| has_graphs);
        vectors.filter_map(|(path, field)| Some((path.as_str(), *field, graph_bytes(field)?))).collect()
    }
}

pub(super) fn judge(answers: &Answers, info: &ClusterInfo, findings: &mut Vec<Finding>) {
    let shown = entries(&answers.mappings).filter(|(index, _)| !index.starts_with('.'));
    let indices: Vec<Index<'_>> = shown
        .map(|(name, entry)| {
            let mapping = &entry["mappings"];
            let mut vectors = Vec::new();
            fields("", mapping, &|field| VectorField::of(field).is_some(), &mut vectors);
            Index { name, mapping, settings: &answers.settings[name.as_str()]["settings"], vectors }
        })
        .collect();
    kept(&indices, answers, info, findings);
    unmapped(answers, findings);
    if answers.is_named {
        different(&indices, findings);
    }
    rebuilt(&indices, answers, info.product, findings);
    memory(&indices, answers, info.product, findings);
}

/// The fields of a mapping that are `wanted`, by their paths.
fn fields<'a>(
    above: &str,
    definition: &'a Value,
    wanted: &dyn Fn(&Value) -> bool,
    found: &mut Vec<(String, &'a Value)>,
) {
    for (name, field) in entries(&definition["properties"]) {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        fields(&path, field, wanted, found);
        if wanted(field) {
            found.push((path, field));
        }
    }
}

/// The paths of fields that hold fractions, which a list of numbers becomes where it is not mapped.
pub(super) fn fractions(mappings: &Value) -> Vec<String> {
    let is_fraction = |field: &Value| matches!(field["type"].as_str(), Some("float" | "double" | "half_float"));
    let mut found = Vec::new();
    for (_, entry) in entries(mappings) {
        fields("", &entry["mappings"], &is_fraction, &mut found);
    }
    let mut paths: Vec<String> = found.into_iter().map(|(path, _)| path).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Vectors that `_source` has as text, beside those of the index.
fn kept(indices: &[Index<'_>], answers: &Answers, info: &ClusterInfo, findings: &mut Vec<Finding>) {
    let mut group = Group::default();
    for index in indices.iter().filter(|index| is_in_source(index, answers, info)) {
        let paths: Vec<&str> = index.vectors.iter().map(|(path, _)| path.as_str()).collect();
        if !paths.is_empty() {
            group.add(format!("{}: {}", index.name, paths.join(", ")));
        }
    }
    let why = "_source has each vector as text, some ten bytes a number: it is stored, compressed and merged beside the \
               vector itself";
    let (fix, confidence) = match (info.product, info.version) {
        (Product::OpenSearch, Some(version)) if version >= DERIVED_SINCE => {
            ("for a new index: index.knn.derived_source.enabled true, its default with index.knn", Confidence::Likely)
        }
        (Product::OpenSearch, _) => (
            "OpenSearch 3.0 and newer derive it; before, `_source` with `excludes` in the mapping of a new index, which \
             then gives no vector back, to a copy neither",
            Confidence::Maybe,
        ),
        (_, Some(version)) if version < LEFT_OUT_SINCE && !info.serverless => (
            "Elasticsearch 9.2 and newer leave it out; before, `_source` with `excludes` in the mapping of a new index, \
             which then gives no vector back, to an update or a copy neither",
            Confidence::Maybe,
        ),
        _ => ("for a new index: index.mapping.exclude_source_vectors true, its default", Confidence::Likely),
    };
    group.tell(findings, finding("vectors_in_source", confidence, "_source keeps vectors", why, fix));
}

fn is_in_source(index: &Index<'_>, answers: &Answers, info: &ClusterInfo) -> bool {
    let source = &index.mapping["_source"];
    let is_list = |key: &str| source[key].as_array().is_some_and(|list| !list.is_empty());
    if source["enabled"] == false || is_list("excludes") || is_list("includes") {
        return false;
    }
    if info.product == Product::OpenSearch {
        // The server writes the setting down where it is the default.
        let derives = |name| index.setting(name) == Some("true");
        return index.setting("knn") == Some("true")
            && !derives("knn.derived_source.enabled")
            && !derives("derived_source.enabled");
    }
    if let Some(body) = answers.modes.get(index.name) {
        return SourceKept::of(body) == SourceKept::AsSent;
    }
    let is_old = !info.serverless && info.version.is_some_and(|version| version < LEFT_OUT_SINCE);
    let is_synthetic = index.setting("mapping.source.mode").is_some_and(|mode| mode != "stored");
    !is_synthetic && (is_old || index.setting("mapping.exclude_source_vectors") == Some("false"))
}

/// Fields of numbers whose documents have lists of one length, as vectors are.
fn unmapped(answers: &Answers, findings: &mut Vec<Finding>) {
    let mut lengths: BTreeMap<(&str, &str), Vec<Option<usize>>> = BTreeMap::new();
    for hit in answers.samples.as_array().into_iter().flatten() {
        for path in &answers.sampled {
            let Some(value) = value_at(&hit["_source"], path) else { continue };
            let numbers = value.as_array().filter(|list| list.iter().all(Value::is_number)).map(Vec::len);
            let index = hit["_index"].as_str().unwrap_or_default();
            lengths.entry((index, path.as_str())).or_default().push(numbers);
        }
    }
    let mut group = Group::default();
    for ((index, path), lengths) in lengths {
        if let Some(Some(dims)) = lengths.first()
            && lengths.len() >= SAMPLED_MIN
            && DIMS.contains(dims)
            && lengths.iter().all(|length| *length == Some(*dims))
        {
            group.add(format!("{index}: {path} has {dims} numbers in each of {} documents", lengths.len()));
        }
    }
    let why = "each number is indexed and kept in doc values on its own, which costs several times a vector, and no \
               search by a vector finds it";
    let fix = "for a new index: dense_vector (Elasticsearch) or knn_vector (OpenSearch, with index.knn) in the mapping; \
               option `map=auto` writes it";
    group.tell(findings, finding("vectors_as_numbers", Confidence::Likely, "vectors are mapped as numbers", why, fix));
}

/// The value of a field that is no list of objects.
fn value_at<'a>(source: &'a Value, path: &str) -> Option<&'a Value> {
    let value = source.get(path).or_else(|| path.split('.').try_fold(source, |value, name| value.get(name)))?;
    (!value.is_null()).then_some(value)
}

/// Fields with vectors that other indices of the same name map in another way.
fn different(indices: &[Index<'_>], findings: &mut Vec<Finding>) {
    let mut kinds: BTreeMap<&str, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for (path, _) in indices.iter().flat_map(|index| &index.vectors) {
        if kinds.contains_key(path.as_str()) {
            continue;
        }
        let of_path = kinds.entry(path.as_str()).or_default();
        for index in indices {
            if let Some(kind) = kind_at(index.mapping, path) {
                of_path.entry(kind).or_default().push(index.name);
            }
        }
    }
    let mut group = Group::default();
    for (path, kinds) in kinds.iter().filter(|(_, kinds)| kinds.len() > 1) {
        let one = |(kind, indices): (&String, &Vec<&str>)| match indices.as_slice() {
            [index] => format!("{kind} in {index}"),
            [first, ..] => format!("{kind} in {} indices, such as {first}", indices.len()),
            [] => String::new(),
        };
        group.add(format!("{path}: {}", kinds.iter().map(one).collect::<Vec<_>>().join(", ")));
    }
    let why = "a search by a vector fails on the indices with another number of dimensions, or finds nothing in them";
    let fix = "one mapping for all, in an index template; load the documents of the other indices again";
    group.tell(
        findings,
        finding("vectors_differ", Confidence::Sure, "indices of this name have different vectors", why, fix),
    );
}

/// The type of a field, with its dimensions.
fn kind_at(mapping: &Value, path: &str) -> Option<String> {
    let mut field = mapping;
    for name in path.split('.') {
        field = field["properties"].get(name)?;
    }
    let kind = field["type"].as_str()?;
    let dims = number(field.get("dims").or_else(|| field.get("dimension")));
    Some(dims.map_or_else(|| kind.to_owned(), |dims| format!("{kind} of {dims} dimensions")))
}

/// Graphs that merges build again, and that searches go through one by one.
fn rebuilt(indices: &[Index<'_>], answers: &Answers, product: Product, findings: &mut Vec<Finding>) {
    let (mut merged, mut many) = (Group::default(), Group::default());
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for shard in answers.shards.as_array().into_iter().flatten().filter(|shard| shard["prirep"] == "p") {
        if let (Some(index), Some(count)) = (shard["index"].as_str(), number(shard.get("segments.count"))) {
            let most = most.entry(index).or_default();
            *most = most.max(count);
        }
    }
    for index in indices {
        let graphs = index.graphs(product);
        let (Some((path, ..)), false) = (graphs.first(), waits_for_graphs(index)) else { continue };
        let stats = &answers.stats[index.name]["primaries"];
        let (merging, indexing) =
            (at(stats, "/merges/total_time_in_millis"), at(stats, "/indexing/index_time_in_millis"));
        if let (Some(merging), Some(indexing)) = (merging, indexing)
            && merging > MERGED_MIN
            && merging > indexing
        {
            let seconds = (merging / 1000.0, indexing / 1000.0);
            merged
                .add(format!("{}: {path}, {:.0} s of merging, {:.0} s of indexing", index.name, seconds.0, seconds.1));
        }
        if let Some(count) = most.get(index.name).filter(|count| **count > SEGMENTS_MAX) {
            many.add(format!("{}: {path}, {count} segments in one shard", index.name));
        }
    }
    let why = "a merge builds the graph of all vectors that it joins again, so a load builds each several times";
    let fix = "load with option `graph=end`, which builds them once after the last document; else fewer merges: a longer \
               index.refresh_interval, a higher index.merge.policy.segments_per_tier and a lower \
               index.merge.policy.max_merged_segment while loading";
    merged.tell(findings, finding("graphs_rebuilt", Confidence::Likely, "merges build graphs again", why, fix));
    let why = "a search by a vector goes through the graph of each segment, and each later merge builds graphs again";
    let fix = "when no more documents come: POST INDEX/_forcemerge?max_num_segments=1";
    many.tell(findings, finding("graph_segments", Confidence::Likely, "graphs are in many segments", why, fix));
}

/// Whether a load has graphs built later.
fn waits_for_graphs(index: &Index<'_>) -> bool {
    index.setting("knn.advanced.approximate_threshold") == Some("-1")
}

/// The memory that graphs need for searches, against that of the nodes. The engines `faiss` and
/// `nmslib` of OpenSearch keep graphs in memory of their own, which has a limit. Others leave them
/// to the cache of the file system.
fn memory(indices: &[Index<'_>], answers: &Answers, product: Product, findings: &mut Vec<Finding>) {
    let Some(beside) = beside_heap(&answers.nodes) else { return };
    let part = answers.cluster_settings.get("knn.memory.circuit_breaker.limit").map_or(Some(NATIVE_PART), |limit| {
        // A number of bytes is not a part.
        number(Some(limit))
    });
    let (mut cached, mut native) = ((0.0, Vec::new()), (0.0, Vec::new()));
    for index in indices {
        let stats = &answers.stats[index.name]["primaries"];
        let (docs, copies) = (at(stats, "/docs/count").unwrap_or(0.0), 1.0 + replicas(index));
        for (path, field, bytes) in index.graphs(product) {
            let all = bytes * docs * copies;
            let is_native = product == Product::OpenSearch && field["method"]["engine"] != "lucene";
            let (needed, fields) = if is_native { &mut native } else { &mut cached };
            *needed += all;
            fields.push((all, format!("{}: {path} {} for {docs} documents in {copies} copies", index.name, size(all))));
        }
    }
    let whole = "the memory beside the heap of all data nodes".to_owned();
    let limits = [
        (cached, Some((beside, whole.clone()))),
        (native, part.map(|part| (beside * part / 100.0, format!("{part} % of {whole}")))),
    ];
    let mut group = Group::default();
    for ((needed, mut fields), limit) in limits {
        if let Some((limit, of)) = limit.filter(|(limit, _)| needed > *limit) {
            fields.sort_by(|a, b| b.0.total_cmp(&a.0));
            group.add(format!("{} are needed, {of} is {}", size(needed), size(limit)));
            fields.into_iter().for_each(|(_, text)| group.add(text));
        }
    }
    let why = "graphs that are not in memory are read from disk at each step of a search, and of the merges that build them; \
               the figure counts each document as one with a vector";
    let fix = match product {
        Product::OpenSearch => {
            "for a new index: mode on_disk or a compression_level, or fewer dimensions; knn.memory.circuit_breaker.limit; \
             more or larger nodes"
        }
        _ => {
            r#"index_options with fewer bits, such as {"type":"bbq_hnsw"}, which a mapping may change to; fewer dimensions; more or larger nodes"#
        }
    };
    group.tell(
        findings,
        finding("graph_memory", Confidence::Likely, "graphs of vectors need more memory than the nodes have", why, fix),
    );
}

/// The memory of all data nodes beside their heaps, if all of them tell it.
fn beside_heap(nodes: &Value) -> Option<f64> {
    let data = || entries(nodes).filter(|(_, node)| super::holds_data(node));
    data().next()?;
    let beside =
        |node: &Value| Some((at(node, "/os/mem/total_in_bytes")? - at(node, "/jvm/mem/heap_max_in_bytes")?).max(0.0));
    data().map(|(_, node)| beside(node)).sum()
}

fn replicas(index: &Index<'_>) -> f64 {
    index.setting("number_of_replicas").and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

/// Bytes of memory for a vector of a field and its place in the graph. `None`: the field has no
/// graph, or its size is not known.
///
/// Elasticsearch: "Tune approximate kNN search", the vector in its quantised form and 4 bytes for
/// each neighbour. OpenSearch: "Methods and engines", 1.1 times the vector and 8 bytes for each
/// neighbour.
fn graph_bytes(field: &Value) -> Option<f64> {
    let dims = number(field.get("dims").or_else(|| field.get("dimension")))?;
    if field["type"] == "dense_vector" {
        if field["index"] == false {
            return None;
        }
        let options = &field["index_options"];
        let kind = options["type"].as_str().unwrap_or("hnsw");
        let vector = match (field["element_type"].as_str().unwrap_or("float"), kind) {
            ("float", "hnsw") => 4.0 * dims,
            ("bfloat16", "hnsw") => 2.0 * dims,
            ("byte", "hnsw") => dims,
            ("bit", "hnsw") => dims / 8.0,
            (_, "int8_hnsw") => dims + 4.0,
            (_, "int4_hnsw") => dims / 2.0 + 4.0,
            (_, "bbq_hnsw") => dims / 8.0 + 14.0,
            _ => return None,
        };
        return Some(vector + 4.0 * number(options.get("m")).unwrap_or(NEIGHBOURS));
    }
    let method = &field["method"];
    if method["name"].as_str().is_some_and(|name| name != "hnsw") || method["parameters"].get("encoder").is_some() {
        return None;
    }
    let level = field["compression_level"].as_str().and_then(|level| level.strip_suffix('x')?.parse::<f64>().ok());
    let on_disk = if field["mode"] == "on_disk" { 32.0 } else { 1.0 };
    let vector = match field["data_type"].as_str().unwrap_or("float") {
        "float" => 4.0 * dims / level.unwrap_or(on_disk),
        "byte" => dims,
        "binary" => dims / 8.0,
        _ => return None,
    };
    Some(1.1 * (vector + 8.0 * number(method["parameters"].get("m")).unwrap_or(NEIGHBOURS)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(product: Product, version: &str) -> ClusterInfo {
        ClusterInfo { product, version: version.parse().ok(), cluster_name: None, serverless: false }
    }

    fn found(answers: &Answers, info: &ClusterInfo) -> Vec<Finding> {
        let mut findings = Vec::new();
        judge(answers, info, &mut findings);
        findings
    }

    fn ids(answers: &Answers, info: &ClusterInfo) -> Vec<&'static str> {
        found(answers, info).into_iter().map(|finding| finding.id).collect()
    }

    fn dense(dims: u64) -> Value {
        json!({"type": "dense_vector", "dims": dims, "index_options": {"type": "int8_hnsw", "m": 16}})
    }

    fn mappings(fields: Value) -> Value {
        json!({"a": {"mappings": {"properties": fields}}})
    }

    #[test]
    fn an_index_without_vectors_has_no_findings() {
        let answers = Answers {
            mappings: mappings(json!({"n": {"type": "long"}, "f": {"type": "float"}})),
            is_named: true,
            ..Answers::default()
        };
        assert_eq!(ids(&answers, &server(Product::Elasticsearch, "8.19.0")), Vec::<&str>::new());
        assert_eq!(ids(&Answers::default(), &server(Product::OpenSearch, "3.6.0")), Vec::<&str>::new());
    }

    #[test]
    fn product_version_and_settings_say_whether_source_has_vectors() {
        use Product::{Elasticsearch, OpenSearch};
        let of = |product, version: &str, field: Value, settings: Value, source: Value| {
            let mut mappings = mappings(json!({"o": {"properties": {"v": field}}}));
            mappings["a"]["mappings"]["_source"] = source;
            let settings = json!({"a": {"settings": settings}});
            let answers = Answers { mappings, settings, ..Answers::default() };
            found(&answers, &server(product, version)).into_iter().find(|finding| finding.id == "vectors_in_source")
        };
        let flag = |name: &str, value: &str| json!({(name): value});
        let exclude = "index.mapping.exclude_source_vectors";
        let old = of(Elasticsearch, "8.19.0", dense(64), json!({}), json!({})).unwrap();
        assert_eq!((old.evidence.as_str(), old.confidence), ("a: o.v", Confidence::Maybe));
        assert_eq!(of(Elasticsearch, "8.19.0", dense(64), json!({}), json!({"excludes": ["o.v"]})), None);
        assert_eq!(of(Elasticsearch, "8.19.0", dense(64), json!({}), json!({"enabled": false})), None);
        assert_eq!(of(Elasticsearch, "9.5.0", dense(64), json!({}), json!({})), None);
        assert_eq!(of(Elasticsearch, "9.5.0", dense(64), flag(exclude, "true"), json!({})), None);
        let kept = of(Elasticsearch, "9.5.0", dense(64), flag(exclude, "false"), json!({})).unwrap();
        assert!(kept.fix.contains("exclude_source_vectors true"), "{kept:?}");
        let knn = || json!({"type": "knn_vector", "dimension": 64});
        let (on, derived) = (flag("index.knn", "true"), "index.knn.derived_source.enabled");
        assert!(of(OpenSearch, "2.19.0", knn(), on.clone(), json!({})).is_some());
        assert!(of(OpenSearch, "3.6.0", knn(), on.clone(), json!({})).unwrap().fix.contains("derived_source"));
        let both = json!({"index.knn": "true", (derived): "true"});
        assert_eq!(of(OpenSearch, "3.6.0", knn(), both, json!({})), None);
        assert_eq!(of(OpenSearch, "3.6.0", knn(), json!({}), json!({})), None, "it cannot be derived there");
    }

    /// A named index tells its defaults.
    #[test]
    fn a_named_index_of_an_older_version_says_what_it_keeps() {
        let modes = |value: &str| {
            let mapping = json!({"properties": {"v": dense(64)}});
            json!({"a": {"mappings": mapping, "defaults": {"index": {"mapping": {"exclude_source_vectors": value}}}}})
        };
        let of = |value: &str| {
            let mappings = mappings(json!({"v": dense(64)}));
            let answers = Answers { mappings, modes: modes(value), is_named: true, ..Answers::default() };
            ids(&answers, &server(Product::Elasticsearch, "9.5.0"))
        };
        assert_eq!((of("false"), of("true")), (vec!["vectors_in_source"], vec![]));
    }

    #[test]
    fn lists_of_one_length_are_vectors() {
        let of = |documents: &[Value]| {
            let hit = |document: &Value| json!({"_index": "a", "_source": document});
            let samples = documents.iter().map(hit).collect();
            let sampled = vec!["o.v".to_owned(), "f".to_owned()];
            let answers = Answers { samples, sampled, is_named: true, ..Answers::default() };
            found(&answers, &server(Product::OpenSearch, "3.6.0"))
        };
        let with = |length: usize| json!({"o": {"v": vec![0.5; length]}, "f": 1.5});
        let vectors = of(&[with(64), with(64), json!({"o": {"v": null}}), json!({}), with(64)]);
        assert_eq!((vectors.len(), vectors[0].id), (1, "vectors_as_numbers"));
        assert_eq!(vectors[0].evidence, "a: o.v has 64 numbers in each of 3 documents");
        assert!(of(&[with(64), with(64)]).is_empty(), "too few");
        assert!(of(&[with(64), with(64), with(65)]).is_empty(), "of two lengths");
        assert!(of(&[with(8), with(8), with(8)]).is_empty(), "too short");
        assert!(of(&[with(64), with(64), json!({"o": {"v": 1.5}})]).is_empty());
        let words = || json!({"f": vec!["x"; 64]});
        assert!(of(&[words(), words(), words()]).is_empty());
        let fields =
            json!({"v": {"type": "float"}, "o": {"properties": {"w": {"type": "double"}}}, "n": {"type": "long"}});
        assert_eq!(fractions(&mappings(fields)), ["o.w", "v"]);
    }

    #[test]
    fn indices_of_a_name_have_the_same_vectors() {
        let of = |a: Value, b: Value, is_named| {
            let index = |field: Value| json!({"mappings": {"properties": {"o": {"properties": {"v": field}}}}});
            let mappings = json!({"a": index(a), "b": index(b), "c": {"mappings": {}}});
            let answers = Answers { mappings, is_named, ..Answers::default() };
            let found = found(&answers, &server(Product::Elasticsearch, "9.5.0"));
            found.into_iter().map(|finding| finding.evidence).collect::<Vec<_>>()
        };
        let both = of(dense(64), dense(65), true);
        assert_eq!(both, ["o.v: dense_vector of 64 dimensions in a, dense_vector of 65 dimensions in b"]);
        assert_eq!(of(dense(64), json!({"type": "float"}), true).len(), 1);
        assert!(of(dense(64), dense(64), true).is_empty());
        assert!(of(dense(64), dense(65), false).is_empty(), "they are of no name");
    }

    fn loaded(field: Value, settings: Value, docs: u64) -> Answers {
        Answers {
            mappings: mappings(json!({"v": field})),
            settings: json!({"a": {"settings": settings}}),
            stats: json!({"a": {"primaries": {"docs": {"count": docs}, "indexing": {"index_time_in_millis": 20_000},
                "merges": {"total_time_in_millis": 90_000}}}}),
            shards: json!([{"index": "a", "prirep": "p", "segments.count": "30"},
                {"index": "a", "prirep": "r", "segments.count": "90"}]),
            nodes: json!({"1": {"os": {"mem": {"total_in_bytes": 3u64 << 30}},
                "jvm": {"mem": {"heap_max_in_bytes": 1u64 << 30}}}}),
            ..Answers::default()
        }
    }

    #[test]
    fn graphs_that_are_built_again_show() {
        let info = server(Product::Elasticsearch, "9.5.0");
        let findings = found(&loaded(dense(64), json!({}), 1000), &info);
        let shown: Vec<_> = findings.iter().map(|finding| (finding.id, finding.evidence.as_str())).collect();
        let expected = [
            ("graphs_rebuilt", "a: v, 90 s of merging, 20 s of indexing"),
            ("graph_segments", "a: v, 30 segments in one shard"),
        ];
        assert_eq!(shown, expected);
        for without in [json!({"type": "dense_vector", "dims": 64, "index": false}), json!({"type": "long"}), {
            json!({"type": "dense_vector", "dims": 64, "index_options": {"type": "int8_flat"}})
        }] {
            assert_eq!(ids(&loaded(without, json!({}), 1000), &info), Vec::<&str>::new());
        }
        let info = server(Product::OpenSearch, "3.6.0");
        let knn = || json!({"type": "knn_vector", "dimension": 64});
        let settings = |threshold: &str| {
            json!({"index.knn": "true", "index.knn.derived_source.enabled": "true",
                "index.knn.advanced.approximate_threshold": threshold})
        };
        assert_eq!(ids(&loaded(knn(), settings("15000"), 1000), &info), ["graphs_rebuilt", "graph_segments"]);
        assert_eq!(ids(&loaded(knn(), settings("-1"), 1000), &info), Vec::<&str>::new());
        assert_eq!(ids(&loaded(knn(), json!({}), 1000), &info), Vec::<&str>::new(), "without index.knn");
    }

    #[test]
    fn the_memory_of_graphs_is_that_of_the_guides() {
        let es = |more: Value| {
            let mut field = json!({"type": "dense_vector", "dims": 256});
            field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            graph_bytes(&field)
        };
        let of = |kind: &str| json!({"index_options": {"type": kind}});
        assert_eq!(es(of("hnsw")), Some(1024.0 + 64.0));
        assert_eq!(es(of("int8_hnsw")), Some(260.0 + 64.0));
        assert_eq!(es(of("int4_hnsw")), Some(132.0 + 64.0));
        assert_eq!(es(json!({"index_options": {"type": "bbq_hnsw", "m": 32}})), Some(46.0 + 128.0));
        assert_eq!(es(json!({"element_type": "byte"})), Some(256.0 + 64.0));
        assert_eq!(es(json!({"element_type": "bit"})), Some(32.0 + 64.0));
        assert_eq!([es(of("flat")), es(of("bbq_disk")), es(json!({"index": false}))], [None; 3]);
        let knn = |more: Value| {
            let mut field = json!({"type": "knn_vector", "dimension": 256});
            field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            graph_bytes(&field).map(|bytes| (bytes * 10.0).round() / 10.0)
        };
        // The example of the guide: 1.267 GB for a million vectors.
        assert_eq!(knn(json!({})), Some(1267.2));
        assert_eq!(knn(json!({"data_type": "byte"})), Some(422.4));
        assert_eq!(knn(json!({"mode": "on_disk"})), Some(176.0));
        assert_eq!(knn(json!({"method": {"name": "hnsw", "parameters": {"m": 32}}})), Some(1408.0));
        assert_eq!(knn(json!({"method": {"name": "ivf"}})), None);
        assert_eq!(knn(json!({"method": {"name": "hnsw", "parameters": {"encoder": {"name": "pq"}}}})), None);
    }

    #[test]
    fn graphs_larger_than_the_memory_show() {
        // Beside the heap the node has 2 GiB, and OpenSearch uses half of it.
        let info = server(Product::Elasticsearch, "9.5.0");
        let memory = |docs, field: Value, settings: Value, info: &ClusterInfo| {
            let found = found(&loaded(field, settings, docs), info);
            found.into_iter().find(|finding| finding.id == "graph_memory")
        };
        let one = json!({"index.number_of_replicas": "0"});
        // 1,092 bytes each.
        assert_eq!(memory(1_900_000, dense(1024), one.clone(), &info), None);
        let more = memory(1_000_000, dense(1024), json!({}), &info).unwrap();
        let needed = "2.0 GiB are needed, the memory beside the heap of all data nodes is 2.0 GiB";
        assert!(more.evidence.starts_with(needed), "{more:?}");
        assert!(more.evidence.contains("a: v 2.0 GiB for 1000000 documents in 2 copies"), "{more:?}");
        let info = server(Product::OpenSearch, "3.6.0");
        let knn = || json!({"type": "knn_vector", "dimension": 256});
        let settings = json!({"index.knn": "true", "index.number_of_replicas": "0"});
        assert_eq!(memory(800_000, knn(), settings.clone(), &info), None);
        let more = memory(900_000, knn(), settings, &info).unwrap();
        assert!(more.evidence.contains("50 % of the memory beside the heap of all data nodes is 1.0 GiB"), "{more:?}");
    }
}
