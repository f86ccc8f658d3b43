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

use pyo3::prelude::*;

/// As in the binary, because glibc keeps the memory that each thread's arena once held.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the command line, and returns its exit status. Only this needs the crate of the command
/// line.
#[cfg(feature = "command")]
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| inrush_cli::run(arguments))
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
    #[cfg(feature = "command")]
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add_function(wrap_pyfunction!(report::merge, module)?)
}
