//! `Content-Encoding` of request bodies, as the servers take it, and SMILE.

use std::io::{Read, Write};

use bytes::Bytes;
use inrush_smile::{SEPARATOR, SmileDecoder};

use crate::error::EsError;

/// A body without its coding; one that the servers do not know is left as it is, which they take for plain text.
pub(crate) fn decode(coding: Option<&str>, wire: &Bytes) -> Result<Bytes, EsError> {
    let mut decoded = Vec::new();
    let read = match coding {
        Some("gzip") => flate2::read::MultiGzDecoder::new(wire.as_ref()).read_to_end(&mut decoded),
        Some("deflate") => flate2::read::ZlibDecoder::new(wire.as_ref()).read_to_end(&mut decoded),
        Some(_) | None => return Ok(wire.clone()),
    };
    match read {
        Ok(_) => Ok(Bytes::from(decoded)),
        // The servers drop what they cannot inflate and then miss the body.
        Err(_) => Err(EsError::new(400, "parse_exception", "request body is required")),
    }
}

/// A reply's body, for a client that asked for gzip.
pub(crate) fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default().into()
}

/// A body of SMILE documents as JSON, one a line.
pub(crate) fn json_of_smile(smile: &[u8]) -> Result<Bytes, EsError> {
    if smile.last().is_some_and(|last| *last != SEPARATOR) {
        return Err(EsError::illegal_argument("The bulk request must be terminated by a newline [\\xff]"));
    }
    let (mut decoder, mut json, mut at) = (SmileDecoder::default(), Vec::new(), 0);
    while at < smile.len() {
        at += decoder
            .decode(&smile[at..], &mut json)
            .map_err(|error| EsError::new(400, "parse_exception", error.to_string()))?;
        json.push(b'\n');
    }
    Ok(json.into())
}
