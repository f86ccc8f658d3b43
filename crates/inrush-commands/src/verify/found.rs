//! The finding for one record, in the form in which it is sorted by id.

use super::read::Place;

/// What the index holds under the id of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same document. If contents are not compared, any document.
    Same,
    /// No document.
    Missing,
    /// A different document.
    Different,
}

/// One record and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) place: Place,
    /// The record's number in the file of missing documents, if it is kept there.
    pub(super) kept: Option<u64>,
    /// Names of the fields that differ.
    pub(super) fields: String,
}

const HEAD: usize = 22;

impl Finding {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.fields.len());
        bytes.push(self.verdict as u8);
        bytes.extend_from_slice(&self.place.source.to_le_bytes());
        bytes.extend_from_slice(&self.place.line.to_le_bytes());
        bytes.push(u8::from(self.kept.is_some()));
        bytes.extend_from_slice(&self.kept.unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(self.fields.as_bytes());
        bytes
    }

    /// `None` for bytes that [`Finding::to_bytes`] did not make.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, fields) = bytes.split_at_checked(HEAD)?;
        let verdict = match head[0] {
            0 => Verdict::Same,
            1 => Verdict::Missing,
            2 => Verdict::Different,
            _ => return None,
        };
        let number = |at: usize| head[at..at + 8].try_into().ok().map(u64::from_le_bytes);
        Some(Finding {
            verdict,
            place: Place { source: head[1..5].try_into().ok().map(u32::from_le_bytes)?, line: number(5)? },
            kept: (head[13] == 1).then(|| number(14)).flatten(),
            fields: String::from_utf8(fields.to_vec()).ok()?,
        })
    }
}

/// The separator of id and routing: a byte that UTF-8 does not use.
const BETWEEN: u8 = 0xff;

/// The sort key of a document: its id, and its routing value if there is one.
pub(super) fn key_of(id: &str, routing: Option<&str>) -> Vec<u8> {
    let mut key = id.as_bytes().to_vec();
    if let Some(routing) = routing {
        key.push(BETWEEN);
        key.extend_from_slice(routing.as_bytes());
    }
    key
}

/// The id and routing value of a key.
pub(super) fn id_of(key: &[u8]) -> (String, Option<String>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match key.iter().position(|byte| *byte == BETWEEN) {
        None => (text(key), None),
        Some(at) => (text(&key[..at]), Some(text(&key[at + 1..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_and_keys_come_back_as_they_were() {
        for (verdict, kept) in
            [(Verdict::Same, None), (Verdict::Missing, Some(0)), (Verdict::Different, Some(u64::MAX))]
        {
            let place = Place { source: 3, line: 1 << 40 };
            let finding = Finding { verdict, place, kept, fields: "é, b".into() };
            assert_eq!(Finding::from_bytes(&finding.to_bytes()), Some(finding));
        }
        assert_eq!(Finding::from_bytes(b"short"), None);
        assert_eq!(id_of(&key_of("é", None)), ("é".into(), None));
        assert_eq!(id_of(&key_of("a", Some(""))), ("a".into(), Some(String::new())));
        assert_ne!(key_of("a", Some("b")), key_of("ab", None));
    }
}
