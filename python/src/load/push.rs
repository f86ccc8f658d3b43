//! Converts Python objects to documents, in the calling thread, so that generators run in their own
//! thread.

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_pyarrow::FromPyArrow;
use inrush_core::Code;
use inrush_core::DocMeta;
use inrush_sources::push::Sender;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString};

use super::Load;
use crate::error::SourceError;
use crate::json::{Problem, Writer};
use crate::text::utf8;

/// The number of documents of an iterable after which other Python threads get a turn.
const TURN_DOCS: u64 = 4096;

/// The most characters that are kept of an object that is not a document.
const KEPT_CHARS: usize = 1024;

/// Adds the elements of an iterable.
pub(crate) fn items(load: &Load, items: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = items.py();
    let feed = load.fed()?;
    let mut writer = Writer::default();
    for (at, item) in items.try_iter()?.enumerate() {
        let item = item?;
        if !load.room(py)? {
            return Ok(false);
        }
        let taken = match any(feed, &mut writer, &item, DocMeta::default())? {
            Taken::Yes => true,
            Taken::Ended => false,
            Taken::Rows => arrow(load, &item)?,
            Taken::No { path, what } => {
                let text: String = item.repr().map_or_else(|_| String::new(), |text| text.to_string());
                let text: String = text.chars().take(KEPT_CHARS).collect();
                feed.reject(text.as_bytes(), Code::NotSerializable, Problem::reason(&path, &what)).is_ok()
            }
        };
        if !taken {
            return Ok(false);
        }
        if (at as u64 + 1).is_multiple_of(TURN_DOCS) {
            py.check_signals()?;
            py.detach(|| {});
        }
    }
    Ok(true)
}

/// Adds one document. An object that is not a document raises.
pub(crate) fn one(load: &Load, document: &Bound<'_, PyAny>, meta: DocMeta) -> PyResult<bool> {
    if !load.room(document.py())? {
        return Ok(false);
    }
    match any(load.fed()?, &mut Writer::default(), document, meta)? {
        Taken::Yes => Ok(true),
        Taken::Ended => Ok(false),
        Taken::Rows => Err(PyTypeError::new_err("a record batch is not a document; give it to add_batch")),
        Taken::No { path, what } => Err(PyTypeError::new_err(Problem::reason(&path, &what))),
    }
}

/// The result of an item.
enum Taken {
    Yes,
    /// The load has ended.
    Ended,
    /// The item is not one document, but rows.
    Rows,
    /// The item is not a document, with place and reason.
    No {
        path: String,
        what: String,
    },
}

fn any(feed: &Sender, writer: &mut Writer, item: &Bound<'_, PyAny>, meta: DocMeta) -> PyResult<Taken> {
    let added = if item.is_exact_instance_of::<PyDict>() {
        return object(feed, writer, item, meta);
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        line(feed, bytes.as_bytes(), meta)
    } else if let Ok(text) = item.cast::<PyString>() {
        match utf8(text) {
            Ok(text) => line(feed, text.as_bytes(), meta),
            Err(error) => return Ok(Taken::No { path: String::new(), what: format!("no text ({error})") }),
        }
    } else if let Ok(bytes) = item.cast::<PyByteArray>() {
        line(feed, &bytes.to_vec(), meta)
    } else if item.is_none() {
        // An action without a document, such as a delete.
        feed.add(b"", meta).is_ok()
    } else if item.cast::<PyMapping>().is_ok() {
        return object(feed, writer, item, meta);
    } else if item.hasattr(intern!(item.py(), "__arrow_c_array__"))?
        || item.hasattr(intern!(item.py(), "__arrow_c_stream__"))?
    {
        return Ok(Taken::Rows);
    } else {
        return object(feed, writer, item, meta);
    };
    Ok(if added { Taken::Yes } else { Taken::Ended })
}

fn object(feed: &Sender, writer: &mut Writer, item: &Bound<'_, PyAny>, meta: DocMeta) -> PyResult<Taken> {
    match writer.document(item) {
        Ok(()) => {
            if writer.not_finite > 0 {
                feed.left_out(std::mem::take(&mut writer.not_finite));
            }
            Ok(if feed.add(&writer.out, meta).is_ok() { Taken::Yes } else { Taken::Ended })
        }
        Err(Problem::Value { path, what }) => Ok(Taken::No { path, what }),
        Err(Problem::Raised(error)) => Err(error),
    }
}

/// Adds a line of NDJSON, unless it is empty.
fn line(feed: &Sender, text: &[u8], meta: DocMeta) -> bool {
    let text = text.trim_ascii();
    text.is_empty() && meta == DocMeta::default() || feed.add(text, meta).is_ok()
}

/// Adds record batches.
pub(crate) fn arrow(load: &Load, data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = data.py();
    let feed = load.fed()?;
    if data.hasattr(intern!(py, "__arrow_c_array__"))? {
        let batch = RecordBatch::from_pyarrow_bound(data)?;
        return Ok(load.room(py)? && feed.add_rows(batch).is_ok());
    }
    let mut reader = ArrowArrayStreamReader::from_pyarrow_bound(data)?;
    loop {
        if !load.room(py)? {
            return Ok(false);
        }
        // The producer may run code of its own, such as a query of DuckDB, and takes the GIL itself
        // if it needs it.
        let Some(batch) = py.detach(|| reader.next()) else { return Ok(true) };
        py.check_signals()?;
        let batch = batch.map_err(|error| SourceError::new_err(format!("the Arrow stream cannot be read: {error}")))?;
        if feed.add_rows(batch).is_err() {
            return Ok(false);
        }
    }
}
