//! What shows a load, from its options.

use inrush_cluster::transport::Secret;
use inrush_page::{OtlpConfig, PageConfig, WatchConfig, WatchError};

use super::Environment;
use crate::options::{Folder, OptionError, OptionGroup as _, WatchOptions};

/// The checked configuration of page and metrics.
pub(crate) fn config(options: &WatchOptions, environment: &Environment) -> Result<WatchConfig, OptionError> {
    let WatchOptions { page, page_token_file, textfile, otlp } = options;
    let token = page_token_file.as_deref().map(Secret::from_file).transpose();
    let token =
        token.map_err(|error| OptionError::unusable(error.to_string()).coded(error.code()).of("page_token_file"))?;
    let page = match (page, token) {
        (Some(address), token) => Some(PageConfig { address: *address, token, parts: None }),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(OptionError::conflict("option `page_token_file` needs option `page`")
                .of("page_token_file")
                .hint("add option `page`, or leave option `page_token_file` out"));
        }
    };
    if let Some(page) = &page {
        page.check().map_err(|error| refused(&error))?;
    }
    let variable = |name: &str| environment.variable(name).and_then(|value| value.into_string().ok());
    let otlp = match otlp {
        Some(endpoint) => OtlpConfig::new(endpoint, variable).map_err(|problem| refused(&WatchError::Otlp(problem)))?,
        None => None,
    };
    Ok(WatchConfig { page, textfile: textfile.clone().map(|Folder(folder)| folder), otlp, job: None })
}

/// An error of page or metrics as one of their options.
pub fn refused(error: &WatchError) -> OptionError {
    OptionError::unusable(error.to_string()).coded(error.code()).of(error.option())
}

impl WatchOptions {
    /// The checked configuration of page and metrics, without environment variables.
    ///
    /// # Errors
    /// An option cannot be used, or the page would be open to other machines.
    pub fn config(&self) -> Result<WatchConfig, OptionError> {
        self.config_in(&Environment::empty())
    }

    /// The checked configuration of page and metrics. Variables of `environment` say where a
    /// collector is.
    ///
    /// # Errors
    /// As [`WatchOptions::config`].
    pub fn config_in(&self, environment: &Environment) -> Result<WatchConfig, OptionError> {
        config(self, environment)
    }

    /// Refuses the options where `what` has no page and no metrics.
    ///
    /// # Errors
    /// One of the options is given.
    pub fn refuse(&self, what: &str) -> Result<(), OptionError> {
        match self.given().next() {
            None => Ok(()),
            Some(info) => Err(OptionError::conflict(format!("option `{}` does not work with {what}", info.name))
                .of(info.name)
                .hint("leave it out")),
        }
    }
}
