//! Names of fields.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_paths_refuse_empty_names() {
        assert!("a..b".parse::<FieldPath>().is_err());
        assert_eq!("a.b".parse::<FieldPath>().unwrap().names(), ["a", "b"]);
    }
}
