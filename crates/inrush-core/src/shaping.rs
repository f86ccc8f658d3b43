//! How documents are changed on their way: fields with other names, fields that are left out, and
//! the time of a data stream.

use std::fmt;
use std::str::FromStr;

use crate::field_path::FieldPath;
use crate::zone::Zone;

/// The field that has the time in the documents of a data stream.
pub const TIMESTAMP: &str = "@timestamp";

/// The changes of each document before it is sent. Default: none.
///
/// Names are those of the source. A field that is renamed, or has the time, is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shaping {
    /// The field that becomes [`TIMESTAMP`], with its value in ISO 8601.
    pub timestamp: Option<FieldPath>,
    /// The zone of such times that name none. Default: they are sent without a zone.
    pub time_zone: Option<Zone>,
    /// Fields that get another name.
    pub rename: Vec<Rename>,
    /// The only fields that stay. Empty: all.
    pub only: Vec<FieldPath>,
    /// Fields to leave out.
    pub drop: Vec<FieldPath>,
    /// Names with dots. Default: they are kept, and refused in partial documents.
    pub dots: Option<Dots>,
}

/// What becomes of a name with dots, such as `a.b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// It stays the name of one member.
    Keep,
    /// It becomes objects in each other.
    Nest,
}

impl Dots {
    /// The name of the choice.
    pub const fn name(self) -> &'static str {
        match self {
            Dots::Keep => "keep",
            Dots::Nest => "nest",
        }
    }
}

impl Shaping {
    /// Whether documents stay as they are.
    pub fn is_none(&self) -> bool {
        self == &Shaping::default()
    }

    /// All fields that get another name, the time among them.
    pub fn renames(&self) -> impl Iterator<Item = Rename> + '_ {
        let time = self.timestamp.iter().filter(|from| from.as_str() != TIMESTAMP).map(Rename::to_timestamp);
        time.chain(self.rename.iter().cloned())
    }

    /// The name in the source of a field that is named as in the documents that are sent. The name
    /// of a field that gets another one is that of the source already.
    #[must_use]
    pub fn in_source(&self, path: &FieldPath) -> FieldPath {
        if self.renames().any(|rename| rename.from == *path) {
            return path.clone();
        }
        let mut all = self.renames().filter(|rename| rename.to == *path);
        match (all.next(), all.next()) {
            (Some(rename), None) => rename.from,
            _ => path.clone(),
        }
    }

    /// The options as they were given, by their names.
    pub fn options(&self) -> [(&'static str, String); 6] {
        let list = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(",");
        [
            ("timestamp", self.timestamp.as_ref().map(ToString::to_string).unwrap_or_default()),
            ("time_zone", self.time_zone.map(|zone| zone.to_string()).unwrap_or_default()),
            ("rename", list(&mut self.rename.iter().map(ToString::to_string))),
            ("only", list(&mut self.only.iter().map(ToString::to_string))),
            ("drop", list(&mut self.drop.iter().map(ToString::to_string))),
            ("dots", self.dots.map(|dots| dots.name().to_owned()).unwrap_or_default()),
        ]
    }
}

/// A field, and its name in the documents that are sent, as in `customer no=customer_no`. A new
/// name with dots is the name of a member, which servers read as nested objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The field in the source.
    pub from: FieldPath,
    /// Its new name.
    pub to: FieldPath,
}

impl Rename {
    fn to_timestamp(from: &FieldPath) -> Self {
        Rename { from: from.clone(), to: FieldPath::member(TIMESTAMP) }
    }
}

impl FromStr for Rename {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() && from != to => {
                Ok(Rename { from: from.parse()?, to: to.parse()? })
            }
            _ => Err("expected a field and its new name, as in ts=@timestamp".to_owned()),
        }
    }
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_has_two_names() {
        let rename: Rename = "Order No.=order.no".parse().unwrap();
        assert_eq!((rename.from.as_str(), rename.to.as_str()), ("Order No.", "order.no"));
        assert_eq!(rename.to_string(), "Order No.=order.no");
        for text in ["", "a", "a=", "=b", "a=a"] {
            assert!(text.parse::<Rename>().unwrap_err().contains("ts=@timestamp"), "{text}");
        }
    }

    #[test]
    fn a_field_is_found_in_the_source_by_either_name() {
        let shaping = Shaping {
            timestamp: Some("ts".parse().unwrap()),
            rename: ["a=b", "c=d", "e=d"].map(|text| text.parse().unwrap()).to_vec(),
            ..Shaping::default()
        };
        let found = |path: &str| shaping.in_source(&path.parse().unwrap()).to_string();
        assert_eq!([found("@timestamp"), found("ts"), found("b"), found("x")], ["ts", "ts", "a", "x"]);
        assert_eq!(found("d"), "d", "two fields have this name");
        assert!(!shaping.is_none() && Shaping::default().is_none());
        let stays = Shaping { timestamp: Some("@timestamp".parse().unwrap()), ..Shaping::default() };
        assert_eq!((stays.renames().count(), stays.is_none()), (0, false));
    }
}
