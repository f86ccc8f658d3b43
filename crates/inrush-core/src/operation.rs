//! The operation on each document: its action, and the fields of id, routing, version and index.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id that servers accept, bytes of UTF-8. A longer one spoils the whole request (bulk
/// request validation in both servers), so it is checked here.
pub const ID_LEN_MAX: usize = 512;

/// The action of a bulk item, in the servers' words. `upsert` is an `update` with `doc_as_upsert`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Add the document, or replace the document with the same id.
    #[default]
    Index,
    /// Add the document; 409 if the id exists. The only action of data streams.
    Create,
    /// Merge the document into an existing one; 404 if the id does not exist. Needs an id.
    Update,
    /// Merge the document into an existing one, or add it. Needs an id.
    Upsert,
    /// Remove the document with this id; the content is not sent. Needs an id.
    Delete,
}

impl Action {
    /// The key of the action line.
    pub const fn bulk_key(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Update | Action::Upsert => "update",
            Action::Delete => "delete",
        }
    }

    /// Whether the action needs an id. Otherwise the server generates one where none is given.
    pub const fn needs_id(self) -> bool {
        match self {
            Action::Index | Action::Create => false,
            Action::Update | Action::Upsert | Action::Delete => true,
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "index" => Ok(Action::Index),
            "create" => Ok(Action::Create),
            "update" => Ok(Action::Update),
            "upsert" => Ok(Action::Upsert),
            "delete" => Ok(Action::Delete),
            other => Err(format!("unknown action {other:?}; expected index, create, update, upsert or delete")),
        }
    }
}

/// A field of a document: names separated by dots, as in `artist.id`. A key that contains the dots
/// itself takes precedence over the nested field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FieldPath {
    text: String,
    names: Vec<String>,
}

impl FieldPath {
    /// The names from the outermost to the innermost.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let names: Vec<String> = s.split('.').map(str::to_owned).collect();
        if names.iter().any(String::is_empty) {
            return Err(format!("field path {s:?} has an empty name; write it like `id` or `artist.id`"));
        }
        Ok(FieldPath { text: s.to_owned(), names })
    }
}

impl TryFrom<String> for FieldPath {
    type Error = String;

    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> String {
        path.text
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The index of a document: a fixed name, or a name with `{field}` placeholders as in
/// `logs-{tenant}`.
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
                 take it from a field, as in `logs-{{day}}`"
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
            parts.push(IndexPart::Field(rest[open + 1..close].parse()?));
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

/// The operation on every document of a job. A source can override it ([`crate::DocMeta`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// The action.
    pub action: Action,
    /// The index.
    pub index: IndexTemplate,
    /// The field of the id. Without it the server generates ids.
    pub id: Option<FieldPath>,
    /// The field of the routing value.
    pub routing: Option<FieldPath>,
    /// The field of the external version, a whole number from 0 to 2^63 - 1.
    pub version: Option<FieldPath>,
    /// Fields to remove from the document before it is sent.
    pub drop: Vec<FieldPath>,
}

impl Operations {
    /// The fields that ids, routing values, versions and index names are made of.
    pub fn fields(&self) -> Vec<String> {
        let Operations { index, id, routing, version, .. } = self;
        let parts = index.parts().iter().filter_map(|part| match part {
            IndexPart::Field(path) => Some(path),
            IndexPart::Text(_) => None,
        });
        [id, routing, version].into_iter().flatten().chain(parts).map(|path| path.as_str().to_owned()).collect()
    }
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

    #[test]
    fn field_paths_refuse_empty_names() {
        assert!("a..b".parse::<FieldPath>().is_err());
        assert_eq!("a.b".parse::<FieldPath>().unwrap().names(), ["a", "b"]);
    }
}
