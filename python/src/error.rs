//! Errors as Python's exceptions, which are classes of the package itself (`inrush/_errors.py`).

use inrush_front::embed::{Error, ErrorKind};
use pyo3::prelude::*;

pyo3::import_exception!(inrush._errors, InrushError);
pyo3::import_exception!(inrush._errors, UsageError);
pyo3::import_exception!(inrush._errors, SourceError);
pyo3::import_exception!(inrush._errors, ClusterError);

/// The exception for an error before the first document.
pub(crate) fn exception(error: Error) -> PyErr {
    let code = error.code.name();
    let mut text = error.message;
    if let Some(hint) = error.hint {
        text.push_str("\nhint: ");
        text.push_str(&hint);
    }
    let raised = match error.kind {
        ErrorKind::Usage => UsageError::new_err(text),
        ErrorKind::Source => SourceError::new_err(text),
        ErrorKind::Cluster => ClusterError::new_err(text),
    };
    // The attribute only adds to the exception.
    Python::attach(|py| raised.value(py).setattr("code", code).ok());
    raised
}
