//! The form of request bodies: the requested one, as far as the cluster accepts it.

use inrush_cluster::api::body_formats::probe;
use inrush_cluster::transport::Transport;
use inrush_core::tune::{BodyFormatChoices, BodyFormatTuner};
use inrush_core::{BodyFormat, Compression, Encoding, GzipLevel};

use crate::config::LoadConfig;

/// Probes the cluster for the requested encoding and compression, or for those that an earlier load
/// found best. The tuner probes the others later.
pub(super) async fn choose(
    transport: &Transport,
    config: &LoadConfig,
    recalled: Option<BodyFormat>,
    warnings: &mut Vec<String>,
) -> BodyFormatTuner {
    let recalled = recalled.unwrap_or(BodyFormat::PLAIN);
    let smile = config.encoding.unwrap_or(recalled.encoding) == Encoding::Smile;
    let gzip = matches!(config.compression.unwrap_or(recalled.compression), Compression::Gzip(_));
    let accepted = probe(transport, config.index.fixed(), smile, gzip).await;
    let mut format = BodyFormat::PLAIN;
    let mut why = Vec::new();
    let mut refused = |what: &str, instead: &str, reason: &str| {
        let sentence = format!("{instead}, because the cluster does not accept {what}: {reason}");
        warnings.push(sentence.clone());
        sentence
    };
    match (config.encoding, &accepted.smile) {
        (Some(Encoding::Smile), Err(reason)) => why.push(refused("SMILE", "documents go as JSON", reason)),
        (Some(given), _) => {
            format.encoding = given;
            why.push(format!("{given} as given"));
        }
        (None, _) => {}
    }
    match (config.compression, &accepted.gzip) {
        (Some(Compression::Gzip(_)), Err(reason)) => why.push(refused("gzip", "bodies go uncompressed", reason)),
        (Some(given), _) => {
            format.compression = given;
            why.push(format!("{given} as given"));
        }
        (None, _) => {}
    }
    let choices = BodyFormatChoices {
        smile: config.encoding.is_none(),
        gzip: config.compression.is_none().then(GzipLevel::default),
    };
    let mut usable = recalled;
    if accepted.smile.is_err() {
        usable.encoding = Encoding::Json;
    }
    if accepted.gzip.is_err() {
        usable.compression = Compression::None;
    }
    BodyFormatTuner::new(format, choices, why.join("; ")).recalling(usable)
}
