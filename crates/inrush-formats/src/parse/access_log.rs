//! Access logs of web servers.

use inrush_core::Code;
use std::sync::Arc;

use super::fields::close;
use crate::json_string::push_escaped;
use crate::lines::{NoDocument, PushLine};

/// The fields of both formats.
const FIELDS: [&str; 9] =
    ["clientip", "ident", "auth", "timestamp", "verb", "request", "httpversion", "response", "bytes"];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `host ident user [day/month/year:hour:minute:second zone] "request" status bytes`, and in the
/// combined format also `"referrer" "agent"`.
pub(super) struct AccessLog {
    pub(super) combined: bool,
}

impl PushLine for AccessLog {
    fn overhead(&self) -> usize {
        160
    }

    fn push(&self, line: &str, out: &mut Vec<u8>, _: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument> {
        let mut rest = line;
        out.push(b'{');
        for name in ["clientip", "ident", "auth"] {
            // A user name may contain spaces. A bracket follows it.
            let end = if name == "auth" { rest.find(" [") } else { rest.find(' ') };
            let end = end.filter(|end| *end > 0).ok_or_else(|| no_match(line, rest, name))?;
            push_text(out, name, &rest[..end]);
            rest = &rest[end + 1..];
        }
        let (time, after) = rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
            .ok_or_else(|| no_match(line, rest, "a time in brackets"))?;
        push_time(out, time).ok_or_else(|| no_match(line, rest, "a time like 17/May/2015:10:05:03 +0000"))?;
        let (request, after) = quoted(after).ok_or_else(|| no_match(line, after, "a request in quotes"))?;
        push_request(out, &request);
        rest = after;
        for name in ["response", "bytes"] {
            rest = rest.strip_prefix(' ').ok_or_else(|| no_match(line, rest, "a space"))?;
            let (number, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            let digits = !number.is_empty() && number.len() <= 18 && number.bytes().all(|b| b.is_ascii_digit());
            if digits {
                // Statuses like 000 are not JSON.
                let number = number.trim_start_matches('0');
                push_name(out, name);
                out.extend_from_slice(if number.is_empty() { b"0" } else { number.as_bytes() });
                out.push(b',');
            } else if number != "-" {
                return Err(no_match(line, rest, "a whole number or -"));
            }
            rest = after;
        }
        if self.combined {
            for name in ["referrer", "agent"] {
                let space = rest.strip_prefix(' ').ok_or_else(|| no_match(line, rest, name))?;
                // A line that was cut off within its last value keeps the part that is there.
                let cut = || space.strip_prefix('"').filter(|_| name == "agent").map(|agent| (agent.into(), ""));
                let (value, after) =
                    quoted(space).or_else(cut).ok_or_else(|| no_match(line, space, "a value in quotes"))?;
                push_text(out, name, &value);
                rest = after;
            }
        }
        if !rest.trim_ascii().is_empty() {
            return Err(no_match(line, rest, "the end of the line"));
        }
        close(out);
        Ok(())
    }

    fn fields(&self) -> Vec<String> {
        let combined = if self.combined { &["referrer", "agent"][..] } else { &[] };
        FIELDS.iter().chain(combined).map(|name| (*name).to_owned()).collect()
    }
}

fn no_match(line: &str, rest: &str, expected: &str) -> NoDocument {
    let at = line.len() - rest.len() + 1;
    NoDocument {
        kind: Code::NoMatch,
        reason: format!("the line is not an entry of an access log: expected {expected} at byte {at}"),
    }
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends a string and a comma, or nothing if the value is `-` or empty.
fn push_text(out: &mut Vec<u8>, name: &str, value: &str) {
    if value.is_empty() || value == "-" {
        return;
    }
    push_name(out, name);
    out.push(b'"');
    push_escaped(out, value.as_bytes());
    out.extend_from_slice(b"\",");
}

/// The contents of quotes, and the rest of the text. A backslash escapes a quote or backslash.
fn quoted(text: &str) -> Option<(std::borrow::Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let mut at = 0;
    let mut escaped = false;
    loop {
        at += text[at..].find(['"', '\\'])?;
        if text.as_bytes()[at] == b'"' {
            break;
        }
        escaped = true;
        // A backslash escapes one character, which is ASCII if the escape has a meaning.
        at += 1 + text[at + 1..].chars().next()?.len_utf8();
    }
    let (value, after) = (&text[..at], &text[at + 1..]);
    let value = if escaped { value.replace("\\\"", "\"").replace("\\\\", "\\").into() } else { value.into() };
    Some((value, after))
}

/// `verb request HTTP/version`. Any other form is a raw request.
fn push_request(out: &mut Vec<u8>, line: &str) {
    let parts = line.split_once(' ').map(|(verb, rest)| {
        let (request, version) = rest.rsplit_once(" HTTP/").map_or((rest, None), |(r, version)| (r, Some(version)));
        (verb, request, version)
    });
    match parts {
        Some((verb, request, version)) if verb.bytes().all(|b| b.is_ascii_alphabetic()) && !verb.is_empty() => {
            push_text(out, "verb", verb);
            push_text(out, "request", request);
            push_text(out, "httpversion", version.unwrap_or_default());
        }
        _ => push_text(out, "rawrequest", line),
    }
}

/// `17/May/2015:10:05:03 +0000` as ISO 8601 with its zone.
fn push_time(out: &mut Vec<u8>, time: &str) -> Option<()> {
    let bytes: &[u8; 26] = time.as_bytes().try_into().ok()?;
    let shape = b"dd/aaa/dddd:dd:dd:dd +dddd";
    let fits = bytes.iter().zip(shape).all(|(byte, kind)| match kind {
        b'd' => byte.is_ascii_digit(),
        b'a' => byte.is_ascii_alphabetic(),
        b'+' => matches!(byte, b'+' | b'-'),
        separator => byte == separator,
    });
    if !fits {
        return None;
    }
    let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(&time[3..6]))? + 1;
    let (date, clock, zone) = (&time[..2], &time[12..20], &time[21..]);
    push_name(out, "timestamp");
    let zone = if zone == "+0000" { "Z".to_owned() } else { format!("{}:{}", &zone[..3], &zone[3..]) };
    out.extend_from_slice(format!("\"{}-{month:02}-{date}T{clock}{zone}\",", &time[7..11]).as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, combined: bool) -> Result<String, String> {
        let mut out = Vec::new();
        AccessLog { combined }.push(line, &mut out, &mut Vec::new()).map_err(|no| no.reason)?;
        let text = String::from_utf8(out).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        Ok(text)
    }

    #[test]
    fn a_line_has_typed_fields() {
        let line = r#"83.149.9.216 - a user [17/May/2015:10:05:03 +0000] "GET /a?b=\"c HTTP/1.1" 200 203023 "-" "Mozilla \\ é""#;
        assert_eq!(
            parse(line, true).unwrap(),
            r#"{"clientip":"83.149.9.216","auth":"a user","timestamp":"2015-05-17T10:05:03Z","verb":"GET","request":"/a?b=\"c","httpversion":"1.1","response":200,"bytes":203023,"agent":"Mozilla \\ é"}"#
        );
        let line = r#"::1 - - [01/Feb/2024:23:59:59 -0330] "-" 408 -"#;
        assert_eq!(
            parse(line, false).unwrap(),
            r#"{"clientip":"::1","timestamp":"2024-02-01T23:59:59-03:30","response":408}"#
        );
        let odd = parse(r#"h - - [01/Feb/2024:23:59:59 +0100] "\x16\x03" 400 0 "" """#, true).unwrap();
        assert!(odd.contains(r#""rawrequest":"\\x16\\x03","response":400,"bytes":0"#), "{odd}");
        let cut =
            parse(r#"h - - [01/Feb/2024:23:59:59 +0100] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0 (comp"#, true).unwrap();
        assert!(cut.ends_with(r#""agent":"Mozilla/5.0 (comp"}"#), "{cut}");
    }

    #[test]
    fn other_lines_say_where_they_differ() {
        for (line, expected) in [
            ("", "expected clientip at byte 1"),
            ("a b c d", "expected auth at byte 5"),
            ("a - - [x] \"GET / HTTP/1.1\" 200 1", "expected a time like"),
            ("a - - [01/Feb/2024:23:59:59 +0000] GET", "expected a request in quotes at byte 36"),
            ("a - - [01/Feb/2024:23:59:59 +0000] \"GET /", "expected a request in quotes"),
            ("a - - [01/Feb/2024:23:59:59 +0000] \"GET /\" x 1", "expected a whole number or - at byte 44"),
            ("a - - [01/Foo/2024:23:59:59 +0000] \"GET /\" 200 1", "expected a time like"),
            ("a - - [01/Feb/2024:23:59:59 +0000] \"GET /\" 200 1 x", "expected the end of the line at byte 49"),
            ("a - - [01/Feb/2024:23:59:59 +0000] \"\\", "expected a request in quotes"),
        ] {
            let error = parse(line, false).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        let common = "a - - [01/Feb/2024:23:59:59 +0000] \"GET /\" 200 1";
        assert!(parse(common, true).unwrap_err().contains("expected referrer"));
    }
}
