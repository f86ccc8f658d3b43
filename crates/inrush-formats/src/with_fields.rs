//! Adds the fields that folder names stand for to the documents of a text file
//! ([`super::partitions`]).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use inrush_core::DocBlock;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};

use super::cut_file::ReadFile;
use super::json_string::push_escaped;
use super::{Chunk, Decode, RawChunk, SourceError};

/// A file whose documents get members that they do not have.
pub(crate) struct WithFields {
    file: Box<dyn ReadFile>,
    fields: Arc<Fields>,
}

/// The names, and the text for each: `"name":value`.
struct Fields(Vec<(String, Vec<u8>)>);

impl WithFields {
    /// `fields` are names and JSON values.
    pub(crate) fn new(file: Box<dyn ReadFile>, fields: &[(String, String)]) -> Self {
        let member = |(name, value): &(String, String)| {
            let mut text = vec![b'"'];
            push_escaped(&mut text, name.as_bytes());
            text.extend_from_slice(b"\":");
            text.extend_from_slice(value.as_bytes());
            (name.clone(), text)
        };
        WithFields { file, fields: Arc::new(Fields(fields.iter().map(member).collect())) }
    }
}

impl ReadFile for WithFields {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let fields = Arc::clone(&self.fields);
        Ok(self.file.next_chunk(bytes)?.map(|chunk| match chunk {
            Chunk::Raw(raw) => {
                let inner = Arc::clone(&raw.decoder);
                Chunk::Raw(RawChunk { decoder: Arc::new(Decoder { inner, fields }), ..raw })
            }
            other => Chunk::Deferred(Box::new(move || fields.add(other.into_block()))),
        }))
    }
}

struct Decoder {
    inner: Arc<dyn Decode>,
    fields: Arc<Fields>,
}

impl Decode for Decoder {
    fn columns(&self) -> Vec<String> {
        self.inner.columns().into_iter().chain(self.fields.0.iter().map(|(name, _)| name.clone())).collect()
    }

    fn decode(&self, chunk: RawChunk) -> DocBlock {
        self.fields.add(self.inner.decode(chunk))
    }
}

impl Fields {
    /// Adds the members after those of each document, unless the document has them. A document that
    /// is not a JSON object stays unchanged.
    fn add(&self, mut block: DocBlock) -> DocBlock {
        let longest: usize = self.0.iter().map(|(_, member)| member.len() + 1).sum();
        let mut out = Vec::with_capacity(block.data.len() + block.records.len() * longest);
        let mut rejects = block.rejects.iter().peekable();
        for (at, record) in block.records.iter_mut().enumerate() {
            let document = &block.data[record.start as usize..record.end as usize];
            let start = out.len();
            let rejected = rejects.next_if(|reject| reject.record as usize == at).is_some();
            if rejected || add_members(document, &self.0, &mut out).is_none() {
                out.extend_from_slice(document);
            }
            (record.start, record.end) = (start as u32, out.len() as u32);
        }
        block.data = Bytes::from(out);
        block
    }
}

/// Appends `document` with these members after its own, unless it has a member of that name. A
/// member is its name and its text: `"name":value`, or no text if it has no value. Returns how many
/// members were added. `None`: the document is no object, and nothing is appended.
pub fn add_members<N: AsRef<str>, M: AsRef<[u8]>>(
    document: &[u8],
    members: &[(N, M)],
    out: &mut Vec<u8>,
) -> Option<usize> {
    let mut json = serde_json::Deserializer::from_slice(document);
    let mut there = vec![false; members.len()];
    let names = Names { members, there: &mut there };
    let own = match names.deserialize(&mut json) {
        Ok(own) if json.end().is_ok() => own,
        _ => return None,
    };
    // It is an object, so it ends with a brace, followed by white space at most.
    let end = memchr::memrchr(b'}', document)?;
    out.extend_from_slice(&document[..end]);
    let mut comma = own > 0;
    for ((_, member), _) in members.iter().zip(&there).filter(|(_, there)| !**there) {
        let member = member.as_ref();
        if comma && !member.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(member);
        comma |= !member.is_empty();
    }
    out.push(b'}');
    Some(there.iter().filter(|there| !**there).count())
}

/// Marks the fields that an object has, and counts its members.
struct Names<'a, N, M> {
    members: &'a [(N, M)],
    there: &'a mut [bool],
}

impl<'de, N: AsRef<str>, M> DeserializeSeed<'de> for Names<'_, N, M> {
    type Value = usize;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, N: AsRef<str>, M> Visitor<'de> for Names<'_, N, M> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let mut own = 0;
        while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            map.next_value::<IgnoredAny>()?;
            own += 1;
            for ((member, _), there) in self.members.iter().zip(self.there.iter_mut()) {
                *there |= *member.as_ref() == *name;
            }
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::Code;
    use inrush_core::Reject;
    use inrush_core::block::Record;

    use super::*;

    #[test]
    fn fields_come_last_and_a_documents_own_win() {
        struct Nothing;
        impl ReadFile for Nothing {
            fn next_chunk(&mut self, _: usize) -> Result<Option<Chunk>, SourceError> {
                Ok(None)
            }
        }
        let fields = [("year".to_owned(), "2024".to_owned()), ("a\"b".to_owned(), "\"x\"".to_owned())];
        let fields = WithFields::new(Box::new(Nothing), &fields).fields;
        let documents = [r#"{"n":1.50 } "#, "{}", r#"{"year":1,"s":"}"}"#, "[1]", r#"{"n":"#, "not json"];
        let mut data = Vec::new();
        let mut records = Vec::new();
        for (line, document) in (0..).zip(documents) {
            let start = data.len() as u32;
            data.extend_from_slice(document.as_bytes());
            records.push(Record { start, end: data.len() as u32, byte: 0, line });
        }
        let rejects = vec![Reject { record: 5, kind: Code::BadValue, reason: String::new() }];
        let block = fields.add(DocBlock { data: data.into(), records, rejects, ..DocBlock::default() });
        let found: Vec<_> = (0..6).map(|at| String::from_utf8(block.record(at).to_vec()).unwrap()).collect();
        let expected = [
            r#"{"n":1.50 ,"year":2024,"a\"b":"x"}"#,
            r#"{"year":2024,"a\"b":"x"}"#,
            r#"{"year":1,"s":"}","a\"b":"x"}"#,
            "[1]",
            r#"{"n":"#,
            "not json",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_member_without_a_value_has_no_comma() {
        let members = [("v", ""), ("w", "\"w\":2"), ("x", "")];
        for (document, expected) in [("{\"a\":1}", "{\"a\":1,\"w\":2}"), ("{}", "{\"w\":2}")] {
            let mut out = Vec::new();
            assert_eq!(add_members(document.as_bytes(), &members, &mut out), Some(3));
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
