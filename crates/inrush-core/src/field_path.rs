//! Names of fields.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A field of a document: names separated by dots, as in `artist.id`. A key that contains the dots
/// itself takes precedence over the nested field. A dot without a name on one side is a part of the
/// name on the other, as in the column `Order No.`.
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

    /// A member of the document itself, whose name is not empty.
    pub(crate) fn member(name: &str) -> Self {
        FieldPath { text: name.to_owned(), names: vec![name.to_owned()] }
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s.is_empty() {
            return Err("a field path is empty; write it like `id` or `artist.id`".to_owned());
        }
        let mut names: Vec<String> = Vec::new();
        let mut has_name = false;
        for part in s.split('.') {
            match names.last_mut() {
                // The dots before the first name belong to it.
                Some(first) if !has_name => {
                    first.push('.');
                    first.push_str(part);
                }
                Some(last) if part.is_empty() => last.push('.'),
                _ => names.push(part.to_owned()),
            }
            has_name |= !part.is_empty();
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
    fn a_dot_without_a_name_beside_it_is_a_part_of_a_name() {
        assert!("".parse::<FieldPath>().is_err());
        for (path, names) in [
            ("a.b", &["a", "b"][..]),
            ("Order No.", &["Order No."]),
            ("order.No.", &["order", "No."]),
            (".a", &[".a"]),
            ("..a.b", &["..a", "b"]),
            ("a..b", &["a.", "b"]),
            ("a...b..", &["a..", "b.."]),
            (".", &["."]),
            ("..", &[".."]),
        ] {
            let found: FieldPath = path.parse().unwrap();
            assert_eq!(
                (found.names(), found.names().join(".").as_str()),
                (&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()[..], path)
            );
        }
    }
}
