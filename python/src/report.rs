//! The text of reports, and one report of several.

use inrush_bake::HandOver;
use inrush_core::Code;
use inrush_front::embed::ReportText;
use inrush_load::Report;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A report of a load or of a bake.
#[derive(Deserialize)]
struct Any {
    #[serde(flatten)]
    load: Report,
    bake: Option<HandOver>,
}

/// Exit status, code of the problem, problem, and names and values of the rows.
type Described = (u8, Option<&'static str>, Option<String>, Vec<(String, String)>);

/// The command line's text of a report, which is given as JSON. `once`: the load has this option.
#[pyfunction]
pub(crate) fn describe(report: &str, once: bool) -> PyResult<Described> {
    let Any { load, bake } = parse(report)?;
    let ReportText { problem, rows } = ReportText::new(&load, bake.as_ref(), once);
    Ok((load.exit_code(), load.code().map(Code::name), problem, rows))
}

/// One report of several, each as JSON; `None` without reports.
#[pyfunction]
pub(crate) fn merge(reports: Vec<String>) -> PyResult<Option<String>> {
    let reports: PyResult<Vec<Report>> = reports.iter().map(|report| parse(report)).collect();
    let merged = Report::merged(reports?).map(|report| serde_json::to_string(&report));
    merged.transpose().map_err(|e| PyValueError::new_err(format!("the report cannot be written: {e}")))
}

pub(crate) fn parse<T: DeserializeOwned>(report: &str) -> PyResult<T> {
    serde_json::from_str(report).map_err(|e| PyValueError::new_err(format!("not a report: {e}")))
}
