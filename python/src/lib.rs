//! The extension module of the Python package `inrush`. It only registers classes and functions.
//! The package's public part is in `python/inrush/`.

mod error;
mod json;
mod load;
mod logs;
mod report;
mod runtime;

use std::ffi::OsString;

use pyo3::prelude::*;

/// As in the binary, because glibc keeps the memory that each thread's arena once held.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the command line, and returns its exit status.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| inrush_cli::run(arguments))
}

/// Bakes as `inrush bake` does, and returns its exit status. `options` is a JSON object with the
/// keys of a job file.
#[pyfunction]
fn run_bake(py: Python<'_>, options: &str) -> PyResult<u8> {
    let options = load::parse_options(options)?;
    Ok(py.detach(|| inrush_cli::embed::bake(options)))
}

#[pymodule]
fn _inrush(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<load::Load>()?;
    module.add_function(wrap_pyfunction!(logs::take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(report::describe, module)?)?;
    module.add_function(wrap_pyfunction!(report::merge, module)?)?;
    module.add_function(wrap_pyfunction!(run_bake, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
