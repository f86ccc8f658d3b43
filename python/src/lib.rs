//! The extension module of the Python package `inrush`. It only registers classes and functions.
//! The package's public part is in `python/inrush/`.

mod bakes_page;
mod error;
mod json;
mod load;
mod logs;
mod report;
mod runtime;
mod shards_bake;
mod text;

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
/// keys of a job file. `job` is the page of the job that the bake is a part of: its address, the
/// token, and the name and the machine of the part.
#[pyfunction]
fn run_bake(py: Python<'_>, options: &str, job: Option<load::Job>) -> PyResult<u8> {
    let options = load::parse_options(options)?;
    let whole = job.map(load::job_page);
    Ok(py.detach(|| inrush_cli::embed::bake(options, whole)))
}

#[pymodule]
fn _inrush(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<load::Load>()?;
    module.add_class::<bakes_page::BakesPage>()?;
    module.add_class::<shards_bake::ShardsBake>()?;
    module.add_class::<shards_bake::ShardDivider>()?;
    module.add_function(wrap_pyfunction!(logs::take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(report::describe, module)?)?;
    module.add_function(wrap_pyfunction!(report::merge, module)?)?;
    module.add_function(wrap_pyfunction!(run_bake, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
