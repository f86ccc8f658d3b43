//! Documents from the rows of `COPY … TO STDOUT`: a line for each row, tabs between values, `\N`
//! for a null.

use std::sync::Arc;

use inrush_core::block::Record;
use inrush_core::{DocBlock, DocMeta, Reject};
use inrush_formats::buffer::BufferPool;
use inrush_formats::lines::invalid_utf8;

use super::columns::{Columns, Texts};
use super::values::Noted;
use crate::{Decode, RawChunk, too_large, too_large_head};

/// Decodes chunks of whole lines, in several threads at once.
pub(super) struct CopyDecode {
    pub(super) columns: Columns,
    pub(super) document_bytes_max: usize,
    pub(super) pool: Arc<BufferPool>,
}

impl Decode for CopyDecode {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let data = &chunk.data[..];
        let mut out = self.pool.take();
        out.clear();
        out.reserve(data.len() * 2);
        let mut records = Vec::new();
        let mut rejects: Vec<Reject> = Vec::new();
        let mut noted = self.columns.noted();
        let keeps_texts = self.columns.keeps_texts();
        let mut meta = Vec::new();
        let valid = std::str::from_utf8(data).is_ok();
        let mut value = Vec::new();
        let mut at = 0;
        for (line, row) in data.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let text = row.strip_suffix(b"\n").unwrap_or(row);
            let (number, start) = (records.len() as u32, out.len());
            let reject = if valid { None } else { invalid_utf8(number, text) };
            let texts = match reject {
                Some(reject) => {
                    out.extend_from_slice(text);
                    rejects.push(reject);
                    Texts::new()
                }
                None => self.push(text, &mut out, &mut value, &mut noted),
            };
            if keeps_texts {
                meta.push(DocMeta::default().with_texts(texts));
            }
            let len = out.len() - start;
            if len > self.document_bytes_max {
                rejects.retain(|reject| reject.record != number);
                rejects.push(too_large(number, len as u64, self.document_bytes_max));
                let kept = too_large_head(&out[start..]).len();
                out.truncate(start + kept);
            }
            records.push(Record { start: start as u32, end: out.len() as u32, byte: at as u32, line: line as u32 });
            at += row.len();
        }
        self.columns.warn(&noted);
        let len = out.len();
        DocBlock {
            origin: chunk.origin,
            lines: records.len() as u64,
            data: self.pool.share(out, len),
            records,
            rejects,
            meta,
            bytes_read: chunk.bytes_read,
        }
    }
}

impl CopyDecode {
    fn push(&self, row: &[u8], out: &mut Vec<u8>, value: &mut Vec<u8>, noted: &mut [Noted]) -> Texts {
        let mut document = self.columns.document(out, noted);
        // A table may have no columns, so its rows are empty.
        for (place, field) in row.split(|byte| *byte == b'\t').enumerate() {
            match field {
                b"\\N" => document.push_null(place),
                field if field.contains(&b'\\') => {
                    unescape(field, value);
                    document.push(place, value);
                }
                field => document.push(place, field),
            }
        }
        document.end()
    }
}

/// Decodes the escapes of tabs, line ends and backslashes.
fn unescape(field: &[u8], value: &mut Vec<u8>) {
    value.clear();
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'b') => value.push(8),
            Some(b'f') => value.push(12),
            Some(b'n') => value.push(b'\n'),
            Some(b'r') => value.push(b'\r'),
            Some(b't') => value.push(b'\t'),
            Some(b'v') => value.push(11),
            Some(&other) => value.push(other),
            None => value.push(b'\\'),
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::Code;
    use inrush_core::block::Origin;

    use super::super::values::Kind;
    use super::*;
    use crate::Warnings;

    fn decode(text: &[u8], document_bytes_max: usize) -> (DocBlock, Warnings) {
        let warnings = Warnings::default();
        let columns =
            vec![("id".to_owned(), Kind::Integer), ("text".to_owned(), Kind::Text), ("f".to_owned(), Kind::Float)];
        let columns = Columns::new(columns, "db", &warnings);
        let decode = Arc::new(CopyDecode { columns, document_bytes_max, pool: BufferPool::new() });
        let origin = Origin::default();
        let data = bytes::Bytes::copy_from_slice(text);
        let block = decode.decode(RawChunk { origin, data, bytes_read: 7, decoder: decode.clone() });
        (block, warnings)
    }

    fn texts(block: &DocBlock) -> Vec<&str> {
        (0..block.records.len()).map(|i| std::str::from_utf8(block.record(i)).unwrap()).collect()
    }

    #[test]
    fn rows_become_documents_without_their_nulls() {
        let (block, warnings) = decode(b"1\ta\\tb\\\\n\\n\t1.5\n2\t\\N\tNaN\n\\N\t\t\\N\n", 1000);
        assert_eq!(texts(&block), [r#"{"id":1,"text":"a\tb\\n\n","f":1.5}"#, r#"{"id":2}"#, r#"{"text":""}"#]);
        assert_eq!((block.lines, block.bytes_read, block.records[1].byte, block.records[2].line), (3, 7, 16, 2));
        let warning = &warnings.list()[0];
        assert_eq!((warning.kind, warning.column.as_str(), warning.count), ("no_value", "f", 1));
    }

    #[test]
    fn rows_that_cannot_be_sent_are_rejects() {
        let (block, _) = decode(b"1\ta\t1\n2\t\xFF\t1\n3\tlonger than that\t1\n", 30);
        let kinds: Vec<_> = block.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
        assert_eq!(kinds, [(1, Code::InvalidUtf8), (2, Code::TooLarge)]);
        assert_eq!(block.record(0), br#"{"id":1,"text":"a","f":1.0}"#);
    }
}
