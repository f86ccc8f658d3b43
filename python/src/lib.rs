//! The extension module of the Python package `inrush`.

use pyo3::prelude::*;

#[pymodule]
fn _inrush(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
