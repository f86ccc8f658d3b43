//! Metadata of records as members of documents.

use inrush_formats::json_string::{push_base64, push_escaped, push_text};
use inrush_formats::time::{TimeUnit, Zone, push_timestamp};

use super::key::Key;
use super::{Kept, Metadata, Problem, With};

impl With {
    /// The member of the document: `"name":value`. `None` if the record does not have it.
    pub(super) fn member(
        &self,
        record: &Kept<'_>,
        key: impl FnOnce() -> Result<Option<Key>, Problem>,
    ) -> Result<Option<Vec<u8>>, Problem> {
        let mut out = Vec::with_capacity(self.field.len() + 32);
        push_text(&mut out, &self.field);
        out.push(b':');
        match &self.metadata {
            Metadata::Key => match key()? {
                Some(key) => key.push(&mut out),
                None => return Ok(None),
            },
            Metadata::Headers => {
                out.push(b'{');
                push_headers(record, &mut out);
                out.push(b'}');
            }
            Metadata::Header(name) => match record.header(name) {
                Some(value) => push_bytes(value, &mut out),
                None => return Ok(None),
            },
            Metadata::Timestamp => match record.timestamp {
                Some(millis) => {
                    out.push(b'"');
                    push_timestamp(&mut out, millis, TimeUnit::Millisecond, Zone::Offset(0));
                    out.push(b'"');
                }
                None => return Ok(None),
            },
            Metadata::Partition => out.extend_from_slice(record.partition.to_string().as_bytes()),
            Metadata::Offset => out.extend_from_slice(record.offset.to_string().as_bytes()),
            Metadata::Topic => push_text(&mut out, record.topic),
        }
        Ok(Some(out))
    }
}

/// Appends the last header of each name as a member.
fn push_headers(record: &Kept<'_>, out: &mut Vec<u8>) {
    let all: Vec<(&str, Option<&[u8]>)> = record.headers().collect();
    let mut comma = false;
    for (at, (name, value)) in all.iter().enumerate() {
        let is_last = !all[at + 1..].iter().any(|(later, _)| later == name);
        let Some(value) = value.filter(|_| is_last) else { continue };
        if std::mem::replace(&mut comma, true) {
            out.push(b',');
        }
        out.push(b'"');
        push_escaped(out, name.as_bytes());
        out.extend_from_slice(b"\":");
        push_bytes(value, out);
    }
}

/// Appends text as a string, and other bytes in base64.
pub(super) fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => push_text(out, text),
        Err(_) => push_base64(out, bytes),
    }
}
