//! Lines of text that have parts: access logs, what a regular expression finds, columns of fixed width.

mod access_log;
mod fields;
mod fixed;
mod pattern;

use std::str::FromStr;

pub use fixed::FixedColumn;

use self::access_log::AccessLog;
use self::fixed::FixedWidth;
use self::pattern::Pattern;
use super::csv::ColumnType;
use super::lines::PushLine;

/// How a line of text becomes fields. A line that has another form is a reject of kind `no_match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parse {
    /// A format with a name.
    Named(LogFormat),
    /// A regular expression (syntax of the crate `regex`) whose named groups are the fields. It need not match the whole line; a group
    /// that is empty or takes no part is an absent field.
    Regex(String),
    /// Parts of a fixed width. Spaces around a value are left out, an empty one is an absent field.
    FixedWidth(Vec<FixedColumn>),
}

/// Formats of web servers' access logs. Fields have the names that Logstash's patterns made known: `clientip`, `ident`, `auth`,
/// `timestamp` (ISO 8601), `verb`, `request`, `httpversion` (or `rawrequest`, where the request line has another form), `response` and
/// `bytes` (integers), `referrer` and `agent`. What is `-` is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Apache's and nginx's `combined`.
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
            _ => Err(format!("unknown format of lines {name:?}; expected combined or common")),
        }
    }
}

impl Parse {
    /// What parses lines; `schema` has the types of fields, which are strings otherwise, and `texts` names those whose
    /// own text is kept.
    pub(super) fn parser(
        &self,
        schema: &[(String, ColumnType)],
        texts: &[String],
    ) -> Result<Box<dyn PushLine>, String> {
        Ok(match self {
            Parse::Named(format) => {
                if let Some((field, _)) = schema.first() {
                    return Err(format!("the schema names {field:?}, and a format with a name has its own types"));
                }
                Box::new(AccessLog { combined: *format == LogFormat::Combined })
            }
            Parse::Regex(pattern) => Box::new(Pattern::new(pattern, schema, texts)?),
            Parse::FixedWidth(columns) => Box::new(FixedWidth::new(columns, schema, texts)?),
        })
    }
}
