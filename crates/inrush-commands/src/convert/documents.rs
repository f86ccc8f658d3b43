//! Writes formats for any document: NDJSON, SMILE, and the bodies of bulk requests.

use std::io::Write;

use inrush_core::encode::{Encoder, SmileItemEncoder};
use inrush_core::{IndexTemplate, Operations};
use inrush_smile::{EncodeError, SEPARATOR, SmileEncoder, SmileOptions};

use super::{BulkLines, ConvertError, Converted, Reading};

/// The advice for a document that SMILE cannot represent.
const AS_JSON: &str = "SMILE would change it; convert to NDJSON instead, which can represent every document";

pub(super) fn ndjson(reading: Reading<'_>, out: &mut impl Write) -> Result<Converted, ConvertError> {
    reading.for_each_block(|block, rows| {
        for record in 0..block.records.len() {
            let document = block.record(record);
            if document.is_empty() {
                return Err(rows.error(record, "the document is empty; expected a JSON object"));
            }
            out.write_all(document)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}

pub(super) fn smile(reading: Reading<'_>, out: &mut impl Write) -> Result<Converted, ConvertError> {
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
        Ok(out.write_all(&buffer)?)
    })
}

pub(super) fn bulk(
    reading: Reading<'_>,
    lines: &BulkLines,
    smile: bool,
    out: &mut impl Write,
) -> Result<Converted, ConvertError> {
    let index = "any".parse::<IndexTemplate>().map_err(ConvertError::Impossible)?;
    let BulkLines { action, id, routing } = lines.clone();
    // The lines do not name a fixed index.
    let encoder = Encoder::new(Operations { routing, ..Operations::new(action, index, id) });
    reading.source.keep_texts(&encoder.fields());
    let mut smile_encoder = SmileItemEncoder::default();
    reading.for_each_block(|block, rows| {
        let mut items = encoder.encode(block);
        if let Some(reject) = items.rejects.first() {
            return Err(rows.coded(reject.record as usize, reject.kind, reject.reason.clone()));
        }
        if !smile {
            return Ok(out.write_all(&items.body)?);
        }
        smile_encoder.encode(&mut items, Vec::new(), Into::into);
        let Some(smile) = items.smile else { return Ok(()) };
        match smile.json_only.first() {
            None => Ok(out.write_all(&smile.body)?),
            Some(&record) => {
                let why = format!("SMILE cannot represent the document exactly, or it is not a JSON object: {AS_JSON}");
                Err(rows.error(record as usize, why))
            }
        }
    })
}
