//! Arrays and composite values in the text form of Postgres: `{1,NULL,"a b"}`, `(1,,"a ""b""")`.

use super::{Kind, Noted, push_string, push_value};

/// Appends an array as JSON. `None` where the text is not an array; part of it may be appended
/// then.
pub(super) fn array(text: &[u8], item: &Kind, out: &mut Vec<u8>, noted: &mut Noted) -> Option<()> {
    // `[0:2]={…}` is an array that does not begin at 1.
    let text = match text.first() {
        Some(b'[') => &text[text.iter().position(|byte| *byte == b'=')? + 1..],
        _ => text,
    };
    let rest = items(text, item, out, noted)?;
    rest.is_empty().then_some(())
}

/// Appends the items of the first pair of brackets. Returns the text behind them.
fn items<'a>(text: &'a [u8], item: &Kind, out: &mut Vec<u8>, noted: &mut Noted) -> Option<&'a [u8]> {
    let mut rest = text.strip_prefix(b"{")?;
    out.push(b'[');
    if let Some(rest) = rest.strip_prefix(b"}") {
        out.push(b']');
        return Some(rest);
    }
    loop {
        rest = match rest.first()? {
            b'{' => items(rest, item, out, noted)?,
            b'"' => {
                let (value, rest) = quoted(&rest[1..])?;
                push_or_null(item, &value, out, noted);
                rest
            }
            _ => {
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
                let (value, rest) = rest.split_at(end);
                if value == b"NULL" {
                    out.extend_from_slice(b"null");
                } else {
                    push_or_null(item, value, out, noted);
                }
                rest
            }
        };
        match rest.first()? {
            b',' => out.push(b','),
            b'}' => {
                out.push(b']');
                return Some(&rest[1..]);
            }
            _ => return None,
        }
        rest = &rest[1..];
    }
}

/// A null keeps the place of a value in an array that JSON cannot represent.
fn push_or_null(kind: &Kind, value: &[u8], out: &mut Vec<u8>, noted: &mut Noted) {
    if !push_value(kind, value, out, noted) {
        out.extend_from_slice(b"null");
    }
}

/// Appends a composite value as an object, with its nulls where they are to be noted. `None` where
/// the text is not one.
pub(super) fn composite(text: &[u8], fields: &[(String, Kind)], out: &mut Vec<u8>, noted: &mut Noted) -> Option<()> {
    let mut rest = text.strip_prefix(b"(")?;
    out.push(b'{');
    for (place, (name, kind)) in fields.iter().enumerate() {
        let value;
        (value, rest) = field(rest)?;
        if value.is_some() || noted.nulls {
            let start = out.len();
            // No value ends with a brace that opens an object.
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            push_string(name.as_bytes(), out);
            out.push(b':');
            let fits = value.is_some_and(|value| push_value(kind, &value, out, noted));
            if !fits && noted.nulls {
                out.extend_from_slice(b"null");
            } else if !fits {
                out.truncate(start);
            }
        }
        let expected = if place + 1 == fields.len() { b")" } else { b"," };
        rest = rest.strip_prefix(expected)?;
    }
    out.push(b'}');
    rest.is_empty().then_some(())
}

/// The next field, and the text behind it. An empty field is a null.
fn field(text: &[u8]) -> Option<(Option<Vec<u8>>, &[u8])> {
    if matches!(text.first()?, b',' | b')') {
        return Some((None, text));
    }
    if let Some(rest) = text.strip_prefix(b"\"") {
        let (value, rest) = quoted(rest)?;
        return Some((Some(value), rest));
    }
    let end = text.iter().position(|byte| matches!(byte, b',' | b')'))?;
    let (value, rest) = text.split_at(end);
    Some((Some(value.to_vec()), rest))
}

/// The text before the closing quote, and the text behind it. A backslash escapes the character
/// after it, and two quotes stand for one.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'\\' => {
                value.push(*text.get(at + 1)?);
                at += 2;
            }
            b'"' if text.get(at + 1) == Some(&b'"') => {
                value.push(b'"');
                at += 2;
            }
            b'"' => return Some((value, &text[at + 1..])),
            byte => {
                value.push(*byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &Kind, text: &str, expected: &str) {
        let (mut out, mut noted) = (Vec::new(), Noted::default());
        assert!(push_value(kind, text.as_bytes(), &mut out, &mut noted));
        assert_eq!(String::from_utf8(out.clone()).unwrap(), expected, "{text}");
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    }

    #[test]
    fn arrays_may_be_nested_quoted_and_have_nulls() {
        let of = |kind: Kind| Kind::Array(Box::new(kind));
        check(&of(Kind::Integer), "{1,2,NULL}", "[1,2,null]");
        check(&of(Kind::Integer), "{}", "[]");
        check(&of(Kind::Integer), "[0:1]={7,8}", "[7,8]");
        check(&of(Kind::Float), "{1,NaN}", "[1.0,null]");
        check(&of(Kind::Integer), "{{1,2},{3,4}}", "[[1,2],[3,4]]");
        check(&of(Kind::Text), r#"{a,"b c","NULL","q\"\\,{}",""}"#, r#"["a","b c","NULL","q\"\\,{}",""]"#);
        check(&of(Kind::Json), r#"{"{\"a\": [1]}"}"#, r#"[{"a": [1]}]"#);
        // Text of another form stays a string.
        check(&of(Kind::Integer), "{1,2", "\"{1,2\"");
        check(&of(Kind::Integer), "{1}x", "\"{1}x\"");
    }

    #[test]
    fn composite_values_are_objects() {
        let kind = Kind::Composite(vec![
            ("a".to_owned(), Kind::Integer),
            ("b".to_owned(), Kind::Text),
            ("c".to_owned(), Kind::Array(Box::new(Kind::Integer))),
        ]);
        check(&kind, r#"(1,x,"{1,2}")"#, r#"{"a":1,"b":"x","c":[1,2]}"#);
        check(&kind, r#"(,"a ""b"", \\",)"#, r#"{"b":"a \"b\", \\"}"#);
        check(&kind, "(,,)", "{}");
        check(&kind, "(1)", "\"(1)\"");
        let floats = Kind::Composite(vec![("a".to_owned(), Kind::Float), ("b".to_owned(), Kind::Float)]);
        check(&floats, "(NaN,1)", r#"{"b":1.0}"#);
        check(&floats, "(1,NaN)", r#"{"a":1.0}"#);
    }
}
