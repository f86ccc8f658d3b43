//! Lines of text with parts: access logs, matches of a regular expression, columns of fixed width.

mod access_log;
mod fields;
mod fixed;
mod pattern;

use std::str::FromStr;

pub use fixed::FixedColumn;
use serde::Serialize;

use self::access_log::AccessLog;
use self::fixed::FixedWidth;
use self::pattern::Pattern;
use super::csv::ColumnType;
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

/// Formats of web servers' access logs. The fields have the names of Logstash's well-known
/// patterns: `clientip`, `ident`, `auth`, `timestamp` (ISO 8601), `verb`, `request`, `httpversion`
/// (or `rawrequest`, if the request line has another form), `response` and `bytes` (integers),
/// `referrer` and `agent`. A value `-` is an absent field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LogFormat {
    /// The format `combined` of Apache and nginx.
    Combined,
    /// The same without referrer and agent.
    Common,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "combined" => Ok(LogFormat::Combined),
            "common" => Ok(LogFormat::Common),
            _ => Err(format!("unknown line format {name:?}; expected combined or common")),
        }
    }
}

impl Parse {
    /// The parser of lines. `schema` has the types of fields, which are strings otherwise. `texts`
    /// names the fields whose original text is kept.
    pub(super) fn parser(
        &self,
        schema: &[(String, ColumnType)],
        texts: &[String],
    ) -> Result<Box<dyn PushLine>, String> {
        Ok(match self {
            Parse::Named(format) => {
                if let Some((field, _)) = schema.first() {
                    return Err(format!("the schema names {field:?}, but a named line format has its own types"));
                }
                Box::new(AccessLog { combined: *format == LogFormat::Combined })
            }
            Parse::Regex(pattern) => Box::new(Pattern::new(pattern, schema, texts)?),
            Parse::FixedWidth(columns) => Box::new(FixedWidth::new(columns, schema, texts)?),
        })
    }
}
