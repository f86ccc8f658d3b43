//! Lines of text with parts: access logs, matches of a regular expression, columns of fixed width.

mod access_client;
mod access_log;
mod fields;
mod fixed;
mod log_format;
mod pattern;

pub use fixed::FixedColumn;
pub use log_format::LogFormat;
use serde::Serialize;

use self::access_log::AccessLog;
use self::fixed::FixedWidth;
use self::pattern::Pattern;
use super::csv::CsvOptions;
use super::lines::PushLine;

/// How a line of text becomes fields. A line of another form is a reject of kind `no_match`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Parse {
    /// A named format.
    Named(LogFormat),
    /// A regular expression (syntax of the crate `regex`). Its named groups are the fields. It need
    /// not match the whole line. A group that is empty or does not match is an absent field.
    Regex(String),
    /// Parts of a fixed width. Spaces around a value are removed. An empty value is an absent
    /// field.
    FixedWidth(Vec<FixedColumn>),
}

impl Parse {
    /// The parser of lines. The schema of `options` has the types of fields, which are strings
    /// otherwise. `texts` names the fields whose original text is kept.
    pub(super) fn parser(&self, options: &CsvOptions, texts: &[String]) -> Result<Box<dyn PushLine>, String> {
        Ok(match self {
            Parse::Named(format) => {
                if let Some((field, _)) = options.schema.first() {
                    return Err(format!("the schema names {field:?}, but a named line format has its own types"));
                }
                Box::new(AccessLog { format: *format })
            }
            Parse::Regex(pattern) => Box::new(Pattern::new(pattern, options, texts)?),
            Parse::FixedWidth(columns) => Box::new(FixedWidth::new(columns, options, texts)?),
        })
    }
}
