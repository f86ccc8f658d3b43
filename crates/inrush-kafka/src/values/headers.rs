//! Headers of records in one buffer.

/// The length of a value that is null.
const NULL: u32 = u32::MAX;

/// Appends a header. Headers have fewer than 4 GiB, as the records that they belong to.
pub(crate) fn push(name: &str, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut part = |len: u32, bytes: &[u8]| {
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(bytes);
    };
    part(name.len() as u32, name.as_bytes());
    part(value.map_or(NULL, |value| value.len() as u32), value.unwrap_or_default());
}

/// The headers that were appended.
pub(crate) fn read(mut rest: &[u8]) -> impl Iterator<Item = (&str, Option<&[u8]>)> {
    std::iter::from_fn(move || {
        let name = std::str::from_utf8(part(&mut rest)?.unwrap_or_default()).ok()?;
        Some((name, part(&mut rest)?))
    })
}

/// `None` at the end.
fn part<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (len, after) = rest.split_first_chunk()?;
    let len = u32::from_le_bytes(*len);
    if len == NULL {
        *rest = after;
        return Some(None);
    }
    let (part, after) = after.split_at_checked(len as usize)?;
    *rest = after;
    Some(Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        let headers = [("a", Some(&b"1"[..])), ("", None), ("b", Some(b"")), ("a", Some(b"\xFF"))];
        let mut out = Vec::new();
        for (name, value) in headers {
            push(name, value, &mut out);
        }
        assert_eq!(read(&out).collect::<Vec<_>>(), headers);
        assert_eq!(read(&out[..out.len() - 1]).count(), 3);
    }
}
