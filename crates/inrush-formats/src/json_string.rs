//! Writes text and bytes as JSON strings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Whether any of eight bytes is a control character, a quote or a backslash.
fn needs_escape(word: u64) -> bool {
    // Bytes below 0x20 borrow from their high bit. Those above 0x7F are excluded by `!word`. A
    // borrow can run into the next byte and make it look special: that costs a closer look, never a
    // wrong answer.
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    let zero = |w: u64| w.wrapping_sub(ONES) & !w;
    (below_space | zero(quote) | zero(backslash)) & HIGHS != 0
}

/// The number of bytes at the beginning of `text` that need no escape.
fn plain_len(text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<8>();
    let plain = words.iter().take_while(|word| !needs_escape(u64::from_le_bytes(**word))).count() * 8;
    plain + text[plain..].iter().take_while(|&&b| b >= 0x20 && b != b'"' && b != b'\\').count()
}

/// Appends `text`, escaped as RFC 8259 requires, without the quotes around it. The text should be
/// UTF-8. Other bytes are copied.
#[inline]
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let plain = plain_len(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        push_escaped_slow(out, &text[plain..]);
    }
}

#[cold]
fn push_escaped_slow(out: &mut Vec<u8>, mut rest: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 0xF));
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', HEX[high], HEX[low]]);
            }
            _ => out.push(byte),
        }
        let plain = plain_len(after);
        out.extend_from_slice(&after[..plain]);
        rest = &after[plain..];
    }
}

/// Appends `text` as a JSON string.
#[inline]
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends `bytes` as a JSON string in base64.
pub fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    STANDARD.encode_slice(bytes, &mut out[start..]).expect("four characters for each three bytes are enough");
    out.push(b'"');
}

/// Appends the 16 bytes of a UUID as a JSON string: `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
pub fn push_uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for (i, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&i) {
            out.push(b'-');
        }
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let mut out = vec![b'"'];
        push_escaped(&mut out, text.as_bytes());
        out.push(b'"');
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn every_character_survives_at_every_place() {
        for c in (0..0x180).filter_map(char::from_u32).chain(['\u{2028}', '𝄞']) {
            for before in 0..17 {
                check(&format!("{}{c}{}", "x".repeat(before), "é\"".repeat(before)));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>()) {
            check(&text);
        }
    }
}
