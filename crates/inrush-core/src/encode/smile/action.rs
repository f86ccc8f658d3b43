//! Action lines of a bulk body.

use super::output::Output;
use super::token;
use crate::operation::Action;

/// What a bulk item's action line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionLine<'a> {
    /// What the item does.
    pub action: Action,
    /// The index, where the request's path does not name it.
    pub index: Option<&'a str>,
    /// The document's id; the server makes one up if there is none.
    pub id: Option<&'a str>,
    /// The value that decides the shard.
    pub routing: Option<&'a str>,
    /// An external version.
    pub version: Option<u64>,
}

impl ActionLine<'_> {
    /// Appends the line as a SMILE document, without the separator after it. The same for every document of a job that gives none of the fields.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut line = Output::default();
        line.extend(&token::HEADER);
        line.push(token::SHARED_NAMES);
        line.push(token::START_OBJECT);
        name(&mut line, self.action.bulk_key());
        line.push(token::START_OBJECT);
        for (key, value) in [("_index", self.index), ("_id", self.id), ("routing", self.routing)] {
            if let Some(value) = value {
                name(&mut line, key);
                line.string(value);
            }
        }
        if let Some(version) = self.version {
            name(&mut line, "version");
            // Versions are at most 2^63 - 1 on servers; a larger one is refused by them in either format.
            line.integer(i64::try_from(version).unwrap_or(i64::MAX));
            name(&mut line, "version_type");
            line.string("external");
        }
        line.push(token::END_OBJECT);
        line.push(token::END_OBJECT);
        out.extend_from_slice(line.written());
    }
}

/// Names of action lines are short, ASCII and never repeated.
fn name(line: &mut Output, name: &str) {
    line.push(token::NAME_ASCII + name.len() as u8);
    line.extend(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::{SmileDecoder, SmileEncoder, SmileOptions};
    use super::*;

    fn check(line: ActionLine<'_>, json: &str) {
        let mut bytes = Vec::new();
        line.write(&mut bytes);
        let mut expected = Vec::new();
        SmileEncoder::new(SmileOptions::default()).encode(json.as_bytes(), &mut expected).unwrap();
        assert_eq!(bytes, expected, "{json}");
        let mut back = Vec::new();
        SmileDecoder::default().decode(&bytes, &mut back).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), json);
    }

    #[test]
    fn lines_are_those_of_the_json_encoder() {
        check(ActionLine::default(), r#"{"index":{}}"#);
        check(
            ActionLine { action: Action::Delete, id: Some("1"), ..ActionLine::default() },
            r#"{"delete":{"_id":"1"}}"#,
        );
        check(
            ActionLine { action: Action::Upsert, id: Some("é"), ..ActionLine::default() },
            r#"{"update":{"_id":"é"}}"#,
        );
        let long = "x".repeat(512);
        check(
            ActionLine {
                action: Action::Create,
                index: Some("logs"),
                id: Some(&long),
                routing: Some(""),
                version: Some(1 << 40),
            },
            &format!(
                r#"{{"create":{{"_index":"logs","_id":"{long}","routing":"","version":1099511627776,"version_type":"external"}}}}"#
            ),
        );
    }
}
