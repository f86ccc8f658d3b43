//! The name of a document's index, and the placeholders in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::date_format::DateFormat;
use crate::field_path::FieldPath;

/// The index of a document: a fixed name, or a name with placeholders: `{field}` as in
/// `logs-{tenant}`, and `{field:format}` for a date as in `logs-{@timestamp:yyyy.MM.dd}`
/// ([`DateFormat`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IndexTemplate {
    text: String,
    parts: Vec<IndexPart>,
}

/// A piece of an [`IndexTemplate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// Literal text.
    Text(String),
    /// The value of a field of the document.
    Field(FieldPath),
    /// The date in a field of the document, in UTC.
    Date(FieldPath, DateFormat),
}

impl IndexTemplate {
    /// The name, if the template has no placeholders.
    pub fn fixed(&self) -> Option<&str> {
        self.parts.iter().all(|p| matches!(p, IndexPart::Text(_))).then_some(self.text.as_str())
    }

    /// The parts in order.
    #[doc(hidden)]
    pub fn parts(&self) -> &[IndexPart] {
        &self.parts
    }

    /// The same template with other names of its fields.
    pub(crate) fn with_fields(mut self, name: impl Fn(&FieldPath) -> FieldPath) -> Self {
        for part in &mut self.parts {
            match part {
                IndexPart::Text(_) => {}
                IndexPart::Field(path) | IndexPart::Date(path, _) => *path = name(path),
            }
        }
        self
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for IndexTemplate {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s.starts_with('<') && s.ends_with('>') {
            return Err(format!(
                "index {s:?} is date math, which is not resolved here; write the name out, as in `logs-2026.01.31`, or \
                 take it from a field, as in `logs-{{day}}` or `logs-{{@timestamp:yyyy.MM.dd}}`"
            ));
        }
        let mut parts = Vec::new();
        let mut rest = s;
        while let Some(open) = rest.find('{') {
            let close = rest[open..].find('}').map(|i| open + i).ok_or_else(|| {
                format!("index {s:?} has `{{` without `}}`; write a placeholder like `logs-{{tenant}}`")
            })?;
            if open > 0 {
                parts.push(IndexPart::Text(rest[..open].to_owned()));
            }
            parts.push(match rest[open + 1..close].split_once(':') {
                Some((field, format)) => IndexPart::Date(field.parse()?, format.parse()?),
                None => IndexPart::Field(rest[open + 1..close].parse()?),
            });
            rest = &rest[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(IndexPart::Text(rest.to_owned()));
        }
        let template = IndexTemplate { text: s.to_owned(), parts };
        if let Some(name) = template.fixed() {
            check_index_name(name)?;
        }
        Ok(template)
    }
}

impl TryFrom<String> for IndexTemplate {
    type Error = String;

    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}

impl From<IndexTemplate> for String {
    fn from(template: IndexTemplate) -> String {
        template.text
    }
}

impl fmt::Display for IndexTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Checks an index name by the servers' own rules (`MetadataCreateIndexService`): lower case, at
/// most 255 bytes, none of `\ / * ? " < > | , # :` and space, not `.` or `..`, no leading `-`, `_`
/// or `+`.
pub fn check_index_name(name: &str) -> Result<(), String> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > 255 {
        "is longer than 255 bytes"
    } else if name == "." || name == ".." {
        "must not be `.` or `..`"
    } else if name.starts_with(['-', '_', '+']) {
        "must not begin with `-`, `_` or `+`"
    } else if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#', ':']) {
        "must not contain any of \\ / * ? \" < > | , # : or a space"
    } else if name.chars().any(char::is_uppercase) {
        "must be lower case"
    } else {
        return Ok(());
    };
    Err(format!("index name {name:?} {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_split_at_their_placeholders() {
        let t: IndexTemplate = "logs-{tenant.id}-v1".parse().unwrap();
        assert_eq!(t.fixed(), None);
        assert_eq!(
            t.parts(),
            [
                IndexPart::Text("logs-".into()),
                IndexPart::Field("tenant.id".parse().unwrap()),
                IndexPart::Text("-v1".into())
            ]
        );
        let t: IndexTemplate = "logs-{@timestamp:yyyy.MM.dd}".parse().unwrap();
        let format = "yyyy.MM.dd".parse().unwrap();
        assert_eq!(
            t.parts(),
            [IndexPart::Text("logs-".into()), IndexPart::Date("@timestamp".parse().unwrap(), format)]
        );
        assert!("logs-{t:dd.QQ}".parse::<IndexTemplate>().unwrap_err().contains("QQ"));
        assert_eq!("logs".parse::<IndexTemplate>().unwrap().fixed(), Some("logs"));
        assert!("logs-{x".parse::<IndexTemplate>().unwrap_err().contains("without `}`"));
        assert!("<logs-{now/d}>".parse::<IndexTemplate>().unwrap_err().contains("date math"));
        assert!("Logs".parse::<IndexTemplate>().unwrap_err().contains("lower case"));
        assert!("".parse::<IndexTemplate>().unwrap_err().contains("empty"));
    }

    #[test]
    fn index_names_follow_the_servers_rules() {
        for good in ["a", "logs-2024.01", ".hidden", "été"] {
            assert_eq!(check_index_name(good), Ok(()), "{good}");
        }
        for bad in ["", "A", "-a", "_a", "+a", "a b", "a/b", "a,b", "a#b", "a:b", ".", "..", &"x".repeat(256)] {
            assert!(check_index_name(bad).is_err(), "{bad}");
        }
    }
}
