//! Vectors of a load: the types of their fields in a new index, and whether they are sent packed.
//! Numbers beyond a long get their type with them.

use inrush_cluster::api::vectors::{self, Packed};
use inrush_cluster::api::{ClusterError, ClusterInfo, Product, Target, index, product, trial};
use inrush_cluster::transport::Transport;
use inrush_core::KnownProduct;
use inrush_core::encode::Packer;
use inrush_core::mapping::map_unsigned;
use inrush_core::vectors::{Packing, SeenVector, VectorServer, upgrade};
use serde_json::{Value, json};

use super::prepare::Prepared;
use crate::config::{IdFrom, LoadConfig};

/// The setting without which OpenSearch builds no graph of vectors.
const KNN: &str = "index.knn";

/// Gives the vectors of an inferred mapping, and its numbers beyond a long, the type that the
/// cluster has for them, if the index is created with it. Where the cluster has none, they stay
/// numbers and keywords, and a warning says why.
///
/// # Errors
/// [`ClusterError`] if the cluster does not answer.
pub(crate) async fn fit(transport: &Transport, config: &mut LoadConfig) -> Result<(), ClusterError> {
    let seen = std::mem::take(&mut config.create.vectors);
    let unsigned = std::mem::take(&mut config.create.unsigned);
    let is_nothing = seen.is_empty() && unsigned.is_empty();
    if is_nothing || config.create.mapping.is_none() || is_there(transport, config).await? {
        return Ok(());
    }
    let info = product::detect(transport).await?;
    if !unsigned.is_empty() {
        fit_unsigned(transport, config, &unsigned, &info).await;
    }
    if seen.is_empty() {
        return Ok(());
    }
    let server = match server(transport, &info).await {
        Ok(server) => server,
        Err(why) => {
            warn(config, &seen, &why);
            return Ok(());
        }
    };
    let Some(mapping) = config.create.mapping.as_mut() else { return Ok(()) };
    let kept = upgrade(mapping, &seen, server);
    if info.product == Product::OpenSearch && kept.len() < seen.len() {
        add_knn(&mut config.create.settings);
    }
    for (path, why) in &kept {
        let of: Vec<SeenVector> = seen.iter().filter(|vector| vector.path() == *path).cloned().collect();
        warn(config, &of, why);
    }
    for vector in seen.iter().filter(|vector| kept.iter().all(|(path, _)| *path != vector.path())) {
        tracing::info!("{} is a vector of {} dimensions, {}", vector.path(), vector.dims, vector.lengths());
    }
    Ok(())
}

/// Makes numbers of the keywords of these names, or warns that the cluster has no type for them.
async fn fit_unsigned(transport: &Transport, config: &mut LoadConfig, unsigned: &[Vec<String>], info: &ClusterInfo) {
    let server = info.vector_server();
    let is_older = |VectorServer { product, version }: VectorServer| {
        version.is_some_and(|version| version < unsigned_since(product))
    };
    let why = if server.is_none() {
        "the product is unknown".to_owned()
    } else if server.is_some_and(is_older) {
        format!("{info} has no unsigned_long")
    } else if is_oss(transport, info).await {
        "this cluster is the distribution oss of Elasticsearch, which has no unsigned_long".to_owned()
    } else {
        if let Some(mapping) = config.create.mapping.as_mut() {
            map_unsigned(mapping, unsigned);
        }
        return;
    };
    let names: Vec<String> = unsigned.iter().map(|names| names.join(".")).collect();
    let warning = format!(
        "option `map=auto`: {} has numbers beyond a long, and is mapped as keyword, which sorts and compares them as text: {why}",
        names.join(", ")
    );
    tracing::warn!("{warning}");
    config.create.notes.push(warning);
}

/// The first version with `unsigned_long`.
fn unsigned_since(product: KnownProduct) -> (u32, u32) {
    match product {
        KnownProduct::Elasticsearch => (7, 10),
        KnownProduct::OpenSearch => (2, 8),
    }
}

/// Whether the cluster is the distribution of Elasticsearch without the types of x-pack.
async fn is_oss(transport: &Transport, info: &ClusterInfo) -> bool {
    let is_7 = info.product == Product::Elasticsearch && info.version.is_some_and(|version| version.major == 7);
    is_7 && vectors::is_oss(transport).await
}

/// Whether the index is there and stays, with the mapping that it has.
async fn is_there(transport: &Transport, config: &LoadConfig) -> Result<bool, ClusterError> {
    let Some(name) = config.index.fixed().filter(|_| !config.create.recreate) else { return Ok(false) };
    match index::exists(transport, name).await {
        Err(error) if error.cannot_be_asked() => Ok(false),
        found => found,
    }
}

/// The server as one that has vectors.
///
/// # Errors
/// Why it has none, or why that is unknown.
async fn server(transport: &Transport, info: &ClusterInfo) -> Result<VectorServer, String> {
    let server = info.vector_server().ok_or("the product is unknown")?;
    if is_oss(transport, info).await {
        return Err("this cluster is the distribution oss of Elasticsearch, which has no dense_vector".to_owned());
    }
    if info.product != Product::OpenSearch {
        return Ok(server);
    }
    match vectors::has_knn(transport).await {
        Ok(true) => Ok(server),
        Ok(false) => Err("this cluster has no plugin opensearch-knn".to_owned()),
        Err(why) => Err(format!("whether this cluster has the plugin opensearch-knn could not be asked: {why}")),
    }
}

fn warn(config: &mut LoadConfig, vectors: &[SeenVector], why: &str) {
    let names: Vec<String> = vectors.iter().map(SeenVector::path).collect();
    let warning = format!(
        "option `map=auto`: {} has vectors by its documents, and is mapped as numbers, which no vector search finds: {why}",
        names.join(", ")
    );
    tracing::warn!("{warning}");
    config.create.notes.push(warning);
}

/// Switches graphs of vectors on, unless the settings of the user say something about them.
fn add_knn(settings: &mut Option<Value>) {
    let settings = settings.get_or_insert_with(|| json!({}));
    let is_told = settings.get(KNN).is_some()
        || settings.get("knn").is_some()
        || settings.pointer("/index/knn").is_some()
        || settings.pointer("/settings/index/knn").is_some();
    if let Some(settings) = settings.as_object_mut().filter(|_| !is_told) {
        settings.insert(KNN.to_owned(), json!(true));
    }
}

/// Packs the vectors of documents if the cluster takes them so. It is shown by an index of another
/// name with the same fields, which is deleted again, so that no document has to bear it.
///
/// `packing` is that of the source. Ids that are made of the content of documents must not depend
/// on the form of vectors, so then only the encoder packs.
pub(super) async fn packer(
    transport: &Transport,
    config: &LoadConfig,
    prepared: &Prepared,
    packing: &Packing,
    run_id: &str,
) -> Packer {
    let preflight = &prepared.preflight;
    let changes_nothing_else = config.guard.leave_settings;
    let Some(index) = prepared.index(config).filter(|_| !changes_nothing_else && !preflight.pipelines) else {
        return Packer::default();
    };
    if !preflight.info.may_take_packed_vectors() {
        return Packer::default();
    }
    // What is known of an index that was there. One that the load creates may have more by a
    // template.
    let known = prepared.target.as_ref().and_then(Target::write_index).filter(|_| !config.create.recreate);
    if known.is_some_and(|index| index.field_types.vectors().all(|(_, field)| !field.is_packable())) {
        return Packer::default();
    }
    match vectors::takes_packed(transport, &preflight.info, index, run_id).await {
        Packed::Taken(fields) => {
            let own = Packing::default();
            own.begin();
            if config.id_from != Some(IdFrom::Content) {
                packing.begin();
            }
            let packed = fields.vectors().filter(|(_, field)| field.is_packable());
            let names: Vec<&str> = packed.map(|(path, _)| path).collect();
            tracing::info!("vectors of {index} are sent as base64: {}", names.join(", "));
            Packer::new(&fields, own)
        }
        Packed::Nothing => Packer::default(),
        Packed::Unfit(why) => {
            tracing::info!("vectors of {index} are sent as numbers, not as base64: {why}");
            Packer::default()
        }
        Packed::Not(why) => {
            config.told.warn(format!("vectors of {index} are sent as numbers, not as base64: {why}"));
            Packer::default()
        }
    }
}

/// Deletes the index of another name that [`packer`] has left because it was stopped.
pub(super) async fn clean_up(transport: &Transport, config: &LoadConfig, prepared: &Prepared, run_id: &str) {
    let Some(index) = prepared.index(config) else { return };
    if let Err(error) = trial::clean_up(transport, index, run_id).await {
        tracing::warn!(
            "an index with -trial-{run_id} in its name may be left: it was created for a check, and a later load that packs vectors into {index} deletes it: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_on_unless_the_settings_say_something_else() {
        let with = |settings: Value| {
            let mut settings = Some(settings);
            add_knn(&mut settings);
            settings.unwrap()
        };
        let mut none = None;
        add_knn(&mut none);
        assert_eq!(none, Some(json!({"index.knn": true})));
        assert_eq!(with(json!({"number_of_shards": 2})), json!({"number_of_shards": 2, "index.knn": true}));
        for told in [json!({"index.knn": false}), json!({"index": {"knn": "false"}}), json!({"knn": false})] {
            assert_eq!(with(told.clone()), told);
        }
    }
}
