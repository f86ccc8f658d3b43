//! In which form requests are sent: what was asked for, as far as the cluster takes it.

use inrush_cluster::api::body_formats::probe;
use inrush_cluster::transport::Transport;
use inrush_core::tune::{BodyFormatChoices, BodyFormatTuner};
use inrush_core::{BodyFormat, Compression, Encoding, GzipLevel};

use crate::config::LoadConfig;

/// Tries what was asked for on the cluster. What may be chosen is tried when that matters.
pub(super) async fn choose(transport: &Transport, config: &LoadConfig, warnings: &mut Vec<String>) -> BodyFormatTuner {
    let smile = config.encoding == Some(Encoding::Smile);
    let gzip = matches!(config.compression, Some(Compression::Gzip(_)));
    let forms = probe(transport, config.index.fixed(), smile, gzip).await;
    let mut wire = BodyFormat::PLAIN;
    let mut why = Vec::new();
    let mut refused = |what: &str, instead: &str, reason: &str| {
        let sentence = format!("{instead}, because the cluster does not accept {what}: {reason}");
        warnings.push(sentence.clone());
        sentence
    };
    match (config.encoding, &forms.smile) {
        (Some(Encoding::Smile), Err(reason)) => why.push(refused("SMILE", "documents go as JSON", reason)),
        (Some(given), _) => {
            wire.encoding = given;
            why.push(format!("{given} as given"));
        }
        (None, _) => {}
    }
    match (config.compression, &forms.gzip) {
        (Some(Compression::Gzip(_)), Err(reason)) => why.push(refused("gzip", "bodies go uncompressed", reason)),
        (Some(given), _) => {
            wire.compression = given;
            why.push(format!("{given} as given"));
        }
        (None, _) => {}
    }
    let knobs = BodyFormatChoices {
        smile: config.encoding.is_none(),
        gzip: config.compression.is_none().then(GzipLevel::default),
    };
    BodyFormatTuner::new(wire, knobs, why.join("; "))
}
