//! The page of a bake whose shards tasks build, as `inrush.spark.bake` starts them.

use std::sync::{Mutex, PoisonError};

use inrush_front::embed::{self, Secret};
use inrush_load::Report;
use pyo3::prelude::*;

use crate::error::exception;
use crate::load::parse_options;
use crate::logs::say;
use crate::report::parse;
use crate::runtime::wait_for;

/// A page that shows the sums of all parts until `end`.
#[pyclass(frozen, module = "inrush._inrush")]
pub(crate) struct BakesPage {
    page: Option<(String, u16)>,
    open: Mutex<Option<embed::BakesPage>>,
}

#[pymethods]
impl BakesPage {
    /// Shows the job `name`. `options` is a JSON object with the options of page and metrics. The
    /// parts report with `token`.
    #[new]
    fn new(py: Python<'_>, name: String, options: &str, token: String) -> PyResult<Self> {
        let options = parse_options(options)?;
        let open =
            wait_for(py, async move { embed::BakesPage::start(&name, options, Secret::new(token), &say).await })?;
        let open = open.map_err(exception)?;
        let page = open.address().map(|address| (address.ip().to_string(), address.port()));
        Ok(BakesPage { page, open: Mutex::new(Some(open)) })
    }

    /// The host and the port at which the page listens.
    fn page(&self) -> Option<(String, u16)> {
        self.page.clone()
    }

    /// Shows the end, with the report of all parts as JSON, if there is one. Further calls do
    /// nothing.
    fn end(&self, py: Python<'_>, report: Option<&str>) -> PyResult<()> {
        let report: Option<Report> = report.map(parse).transpose()?;
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        match open {
            None => Ok(()),
            Some(open) => wait_for(py, async move { open.end(report.as_ref()).await }),
        }
    }
}
