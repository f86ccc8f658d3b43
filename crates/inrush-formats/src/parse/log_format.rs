//! The named formats of access logs.

use std::str::FromStr;

use serde::Serialize;

/// Formats of web servers' access logs. The fields have the names of Logstash's well-known
/// patterns: `clientip`, `ident`, `auth`, `timestamp` (ISO 8601), `verb`, `request`, `httpversion`
/// (or `rawrequest`, if the request line has another form), `response` and `bytes` (integers),
/// `referrer` and `agent`; and `vhost` and `port` (an integer) of the server, `x_forwarded_for`,
/// and `rest`, the end of a line. A value `-` is an absent field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LogFormat {
    /// The format `combined` of Apache and nginx.
    Combined,
    /// The same without referrer and agent.
    Common,
    /// Apache's format `vhost_combined`: the server's name and port in front of `combined`.
    VhostCombined,
    /// nginx's own format `main`: `combined`, and the addresses of `X-Forwarded-For` behind it.
    Main,
    /// Each line shows which of these formats it has. What follows is the field `rest`.
    Auto,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "combined" => Ok(LogFormat::Combined),
            "common" => Ok(LogFormat::Common),
            "vhost_combined" => Ok(LogFormat::VhostCombined),
            "main" => Ok(LogFormat::Main),
            "auto" => Ok(LogFormat::Auto),
            _ => Err(format!("unknown line format {name:?}; expected auto, combined, common, main or vhost_combined")),
        }
    }
}
