//! Forms of a body: `Content-Encoding` and SMILE.

use std::io::{Read, Write};

use bytes::Bytes;
use inrush_smile::{SEPARATOR, SmileDecoder};

use crate::error::ServerError;

/// The media type of SMILE.
pub(crate) const SMILE: &str = "application/smile";

/// Decompresses a body. A coding that the servers do not know leaves the body as it is, because the
/// servers take it for plain text.
pub(crate) fn decode(coding: Option<&str>, wire: &Bytes) -> Result<Bytes, ServerError> {
    let mut decoded = Vec::new();
    let read = match coding {
        Some("gzip") => flate2::read::MultiGzDecoder::new(wire.as_ref()).read_to_end(&mut decoded),
        Some("deflate") => flate2::read::ZlibDecoder::new(wire.as_ref()).read_to_end(&mut decoded),
        Some(_) | None => return Ok(wire.clone()),
    };
    match read {
        Ok(_) => Ok(Bytes::from(decoded)),
        // The servers drop a body that they cannot decompress, and then miss it.
        Err(_) => Err(ServerError::new(400, "parse_exception", "request body is required")),
    }
}

/// Compresses the body of a reply for a client that accepts gzip.
pub(crate) fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default().into()
}

/// Turns a body of SMILE documents into JSON, one document a line.
pub(crate) fn json_of_smile(smile: &[u8]) -> Result<Bytes, ServerError> {
    if smile.last().is_some_and(|last| *last != SEPARATOR) {
        return Err(ServerError::illegal_argument("The bulk request must be terminated by a newline [\\xff]"));
    }
    let (mut decoder, mut json, mut at) = (SmileDecoder::default(), Vec::new(), 0);
    while at < smile.len() {
        at += decoder
            .decode(&smile[at..], &mut json)
            .map_err(|error| ServerError::new(400, "parse_exception", error.to_string()))?;
        json.push(b'\n');
    }
    Ok(json.into())
}

/// Turns the first SMILE value into JSON; an unreadable value becomes incomplete JSON.
pub(crate) fn json_of_smile_value(smile: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    // The caller ignores incomplete JSON as it ignores a line that is not JSON.
    let _ = SmileDecoder::default().decode(smile, &mut json);
    json
}
