//! Writes formats for any document: NDJSON, SMILE, and the bodies of bulk requests.

use inrush_core::encode::{Encoder, SmileItemEncoder};
use inrush_core::{IndexTemplate, Operations, Shaping};
use inrush_smile::{EncodeError, SEPARATOR, SmileEncoder, SmileOptions};

use super::packed::Out;
use super::reading::Reading;
use super::{BulkLines, ConvertError};

/// The advice for a document that SMILE cannot represent.
const AS_JSON: &str = "SMILE would change it; convert to NDJSON instead, which can represent every document";

pub(super) fn ndjson(reading: &mut Reading<'_>, out: &mut impl Out) -> Result<(), ConvertError> {
    reading.for_each_block(|block, rows| {
        for record in 0..block.records.len() {
            let document = block.record(record);
            if document.is_empty() {
                return Err(rows.error(record, "the document is empty; expected a JSON object"));
            }
            out.write_all(document)?;
            out.write_all(b"\n")?;
        }
        Ok(out.bytes())
    })
}

pub(super) fn smile(reading: &mut Reading<'_>, out: &mut impl Out) -> Result<(), ConvertError> {
    let mut encoder = SmileEncoder::new(SmileOptions::default());
    let mut buffer = Vec::new();
    reading.for_each_block(|block, rows| {
        buffer.clear();
        for record in 0..block.records.len() {
            encoder.encode(block.record(record), &mut buffer).map_err(|error| match error {
                EncodeError::Inexact { .. } => rows.error(record, format!("{error}: {AS_JSON}")),
                error => rows.error(record, error.to_string()),
            })?;
            buffer.push(SEPARATOR);
        }
        out.write_all(&buffer)?;
        Ok(out.bytes())
    })
}

/// What makes the action lines. They do not name a fixed index.
pub(super) fn bulk_encoder(lines: &BulkLines, shaping: &Shaping) -> Result<Encoder, ConvertError> {
    let index = "any".parse::<IndexTemplate>().map_err(ConvertError::Impossible)?;
    let BulkLines { action, id, routing } = lines.clone();
    Ok(Encoder::new(Operations { routing, shaping: shaping.clone(), ..Operations::new(action, index, id) }))
}

pub(super) fn bulk(
    reading: &mut Reading<'_>,
    encoder: &Encoder,
    smile: bool,
    out: &mut impl Out,
) -> Result<(), ConvertError> {
    let mut smile_encoder = SmileItemEncoder::default();
    reading.for_each_block(|block, rows| {
        let mut items = encoder.encode(block);
        if let Some(reject) = items.rejects.first() {
            return Err(rows.coded(reject.record as usize, reject.kind, reject.reason.clone()));
        }
        if !smile {
            out.write_all(&items.body)?;
            return Ok(out.bytes());
        }
        smile_encoder.encode(&mut items, Vec::new(), Into::into);
        let Some(smile) = items.smile else { return Ok(out.bytes()) };
        match smile.json_only.first() {
            None => {
                out.write_all(&smile.body)?;
                Ok(out.bytes())
            }
            Some(&record) => {
                let why = format!("SMILE cannot represent the document exactly, or it is not a JSON object: {AS_JSON}");
                Err(rows.error(record as usize, why))
            }
        }
    })
}
