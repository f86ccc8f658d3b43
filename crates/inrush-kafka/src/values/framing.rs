//! The id of a schema in front of a value, or in a header.
//!
//! In front: "Wire format" in Confluent's "Formats, Serializers, and Deserializers".
//! In a header: `io.confluent.kafka.serializers.schema.id.SchemaId`.

use std::fmt;

use super::SchemaIds;

/// The header with the schema of the value.
pub(crate) const VALUE_HEADER: &str = "__value_schema_id";
/// The header with the schema of the key.
pub(crate) const KEY_HEADER: &str = "__key_schema_id";

/// How a record names a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SchemaKey {
    Id(u64),
    Guid([u8; 16]),
}

impl fmt::Display for SchemaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaKey::Id(id) => write!(f, "{id}"),
            SchemaKey::Guid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if [4, 6, 8, 10].contains(&at) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

/// A value or key, and the schema that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framed<'a> {
    pub(crate) schema: SchemaKey,
    /// What follows the id: message indexes of Protobuf, and the content where it is not elsewhere.
    pub(crate) rest: &'a [u8],
    /// The content, where the id is in a header.
    pub(crate) content: Option<&'a [u8]>,
}

/// Finds the schema of `bytes`, a value or key: in its header, else in front of it. `None` if it
/// names no schema.
pub(crate) fn framed<'a>(header: Option<&'a [u8]>, bytes: &'a [u8], ids: SchemaIds) -> Option<Framed<'a>> {
    if let Some((schema, rest)) = header.and_then(|header| prefix(header, SchemaIds::FourBytes)) {
        return Some(Framed { schema, rest, content: Some(bytes) });
    }
    let (schema, rest) = prefix(bytes, ids)?;
    Some(Framed { schema, rest, content: None })
}

fn prefix(bytes: &[u8], ids: SchemaIds) -> Option<(SchemaKey, &[u8])> {
    match (bytes.split_first()?, ids) {
        ((0, rest), SchemaIds::FourBytes) => {
            let (id, rest) = rest.split_first_chunk()?;
            Some((SchemaKey::Id(u32::from_be_bytes(*id).into()), rest))
        }
        ((0, rest), SchemaIds::EightBytes) => {
            let (id, rest) = rest.split_first_chunk()?;
            Some((SchemaKey::Id(u64::from_be_bytes(*id)), rest))
        }
        ((1, rest), _) => {
            let (guid, rest) = rest.split_first_chunk()?;
            Some((SchemaKey::Guid(*guid), rest))
        }
        _ => None,
    }
}

/// Whether bytes that are text or JSON otherwise begin with the id of a schema.
pub(super) fn begins_with_id(bytes: &[u8]) -> bool {
    matches!(bytes, [0, _, _, _, _, _, ..])
}

/// JSON behind the id of its schema, of 4 or 8 bytes. Others are returned unchanged.
pub(super) fn json_content(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0, _, _, _, _, b'{', ..] => &bytes[5..],
        [0, _, _, _, _, _, _, _, _, b'{', ..] => &bytes[9..],
        [0, _, _, _, _, rest @ ..] => rest,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_named_in_front_or_in_a_header() {
        let four = framed(None, b"\0\0\0\x01\x02rest", SchemaIds::FourBytes).unwrap();
        assert_eq!((four.schema, four.rest, four.content), (SchemaKey::Id(258), &b"rest"[..], None));
        let eight = framed(None, b"\0\0\0\0\0\0\0\x01\x02rest", SchemaIds::EightBytes).unwrap();
        assert_eq!((eight.schema, eight.rest), (SchemaKey::Id(258), &b"rest"[..]));
        let header = b"\x01\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2\x00";
        let guid = framed(Some(header), b"\0\0\0\0\x01", SchemaIds::FourBytes).unwrap();
        assert_eq!(guid.schema.to_string(), "89791762-2336-4186-9674-299b90a802e2");
        assert_eq!((guid.rest, guid.content), (&b"\0"[..], Some(&b"\0\0\0\0\x01"[..])));
        for bytes in [&b""[..], b"\0", b"\0\0\0\0", b"{\"a\":1}", b"\x02\0\0\0\0\0"] {
            assert_eq!(framed(None, bytes, SchemaIds::FourBytes), None);
        }
    }

    #[test]
    fn json_follows_ids_of_both_lengths() {
        assert_eq!(json_content(b"\0\0\0\0\x07{}"), b"{}");
        assert_eq!(json_content(b"\0\0\0\0\0\0\0\0\x07{}"), b"{}");
        assert_eq!(json_content(b"\0\0\0\0\x07\"a\""), b"\"a\"");
        assert_eq!(json_content(b"{}"), b"{}");
        assert_eq!(json_content(b""), b"");
    }
}
