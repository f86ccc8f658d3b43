//! Access logs of web servers.

use inrush_core::Code;
use std::sync::Arc;

use super::access_client::{self, Client, Wrong};
use super::fields::close;
use super::log_format::LogFormat;
use crate::json_string::push_escaped;
use crate::lines::{NoDocument, PushLine};

/// The fields of all formats.
const FIELDS: [&str; 9] =
    ["clientip", "ident", "auth", "timestamp", "verb", "request", "httpversion", "response", "bytes"];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `host ident user [day/month/year:hour:minute:second zone] "request" status bytes`, and what the
/// format has around it.
pub(super) struct AccessLog {
    pub(super) format: LogFormat,
}

impl PushLine for AccessLog {
    fn overhead(&self) -> usize {
        160
    }

    fn push(&self, line: &str, out: &mut Vec<u8>, _: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument> {
        let refuse = |(expected, rest): Wrong<'_>| self.no_match(line, rest, expected);
        let of_client = match self.format {
            LogFormat::VhostCombined => access_client::with_vhost(line),
            LogFormat::Auto => access_client::any(line),
            LogFormat::Common | LogFormat::Combined | LogFormat::Main => access_client::plain(line),
        };
        let (client, rest) = of_client.map_err(refuse)?;
        out.push(b'{');
        push_client(out, &client);
        let rest = push_entry(out, rest).map_err(refuse)?;
        let rest = match self.format {
            LogFormat::Common => rest,
            LogFormat::Combined | LogFormat::VhostCombined => push_quoted(out, rest, &COMBINED).map_err(refuse)?,
            LogFormat::Main => push_quoted(out, rest, &MAIN).map_err(refuse)?,
            LogFormat::Auto => push_any(out, rest, client.forwarded.is_none()).map_err(refuse)?,
        };
        if !rest.trim_ascii().is_empty() {
            return Err(self.no_match(line, rest, "the end of the line"));
        }
        close(out);
        Ok(())
    }

    fn fields(&self) -> Vec<String> {
        let (before, after): (&[&str], &[&str]) = match self.format {
            LogFormat::Common => (&[], &[]),
            LogFormat::Combined => (&[], &COMBINED),
            LogFormat::VhostCombined => (&["vhost", "port"], &COMBINED),
            LogFormat::Main => (&[], &MAIN),
            LogFormat::Auto => (&["vhost", "port"], &["referrer", "agent", FORWARDED, "rest"]),
        };
        before.iter().chain(&FIELDS).chain(after).map(|name| (*name).to_owned()).collect()
    }
}

/// The fields in quotes behind the bytes.
const COMBINED: [&str; 2] = ["referrer", "agent"];
const MAIN: [&str; 3] = ["referrer", "agent", FORWARDED];
const FORWARDED: &str = "x_forwarded_for";

impl AccessLog {
    fn no_match(&self, line: &str, rest: &str, expected: &str) -> NoDocument {
        let at = line.len() - rest.len() + 1;
        let other = match self.format {
            LogFormat::Auto => "",
            _ => "option `parse=auto`, which takes several formats and keeps the rest of a line, or ",
        };
        let reason = format!(
            "the line is not an entry of an access log: expected {expected} at byte {at}; for a log of another form \
             give {other}option `parse_regex`"
        );
        NoDocument { kind: Code::NoMatch, reason }
    }
}

fn push_client(out: &mut Vec<u8>, client: &Client<'_>) {
    if let Some(vhost) = client.vhost {
        let (name, port) = access_client::name_and_port(vhost);
        push_text(out, "vhost", name);
        if let Some(port) = port {
            push_number(out, "port", port);
        }
    }
    push_text(out, "clientip", client.address);
    push_text(out, "ident", client.ident);
    push_text(out, "auth", client.auth);
    push_text(out, FORWARDED, client.forwarded.unwrap_or_default());
}

/// `[time] "request" status bytes`. Returns what follows.
fn push_entry<'a>(out: &mut Vec<u8>, rest: &'a str) -> Result<&'a str, Wrong<'a>> {
    let bracket = rest.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let (time, after) = bracket.ok_or(("a time in brackets", rest))?;
    push_time(out, time).ok_or(("a time like 17/May/2015:10:05:03 +0000", rest))?;
    let (request, mut rest) = quoted(after).ok_or(("a request in quotes", after))?;
    push_request(out, &request);
    for name in ["response", "bytes"] {
        let space = rest.strip_prefix(' ').ok_or(("a space", rest))?;
        let (number, after) = space.split_at(space.find(' ').unwrap_or(space.len()));
        if is_number(number) {
            push_number(out, name, number);
        } else if number != "-" {
            return Err(("a whole number or -", space));
        }
        rest = after;
    }
    Ok(rest)
}

/// Values in quotes. Returns what follows.
fn push_quoted<'a>(out: &mut Vec<u8>, mut rest: &'a str, names: &[&'static str]) -> Result<&'a str, Wrong<'a>> {
    for name in names {
        let space = rest.strip_prefix(' ').ok_or((*name, rest))?;
        // A line that was cut off within its last value keeps the part that is there.
        let is_last = names.last() == Some(name);
        let cut = || space.strip_prefix('"').filter(|_| is_last).map(|last| (last.into(), ""));
        let (value, after) = quoted(space).or_else(cut).ok_or(("a value in quotes", space))?;
        push_text(out, name, &value);
        rest = after;
    }
    Ok(rest)
}

/// Referrer and agent where they are there, then addresses of `X-Forwarded-For`, then the rest.
fn push_any<'a>(out: &mut Vec<u8>, mut rest: &'a str, may_forward: bool) -> Result<&'a str, Wrong<'a>> {
    let is_quoted = |rest: &str| rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with('"'));
    if is_quoted(rest) {
        rest = push_quoted(out, rest, &COMBINED)?;
    }
    if let Some((value, after)) = rest.strip_prefix(' ').and_then(quoted) {
        let is_chain = || value.split(',').map(str::trim_ascii).all(access_client::is_address);
        if may_forward && (value == "-" || is_chain()) {
            push_text(out, FORWARDED, &value);
            rest = after;
        }
    }
    push_text(out, "rest", rest.trim_ascii());
    Ok("")
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Appends digits as a number, and a comma. Statuses like 000 are not JSON.
fn push_number(out: &mut Vec<u8>, name: &str, digits: &str) {
    push_name(out, name);
    let digits = digits.trim_start_matches('0');
    out.extend_from_slice(if digits.is_empty() { b"0" } else { digits.as_bytes() });
    out.push(b',');
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
        parse_as(line, if combined { LogFormat::Combined } else { LogFormat::Common })
    }

    fn parse_as(line: &str, format: LogFormat) -> Result<String, String> {
        let mut out = Vec::new();
        AccessLog { format }.push(line, &mut out, &mut Vec::new()).map_err(|no| no.reason)?;
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

    /// The members of the document that are about the client and the end of the line.
    fn ends(line: &str, format: LogFormat) -> String {
        let text = parse_as(line, format).unwrap_or_else(|error| panic!("{line}: {error}"));
        let start = text.find(r#""timestamp""#).unwrap();
        let end = text.find(r#""bytes":12"#).unwrap() + r#""bytes":12"#.len();
        format!("{}{}", &text[1..start], text[end..].trim_start_matches(','))
    }

    const ENTRY: &str = r#"[10/Oct/2024:13:55:36 +0200] "GET /b HTTP/1.1" 200 12"#;

    #[test]
    fn an_address_is_no_ident_and_a_server_no_client() {
        for head in [
            "www.x.org:80 10.0.0.5 - -",
            "www.x.org 10.0.0.5 - -",
            "www.x.org 10.0.0.5 - joe",
            "www.x.org:80 client.example.com - -",
            "www.x.org client.example.com - joe smith",
            "www.x.org:80 client.example.com unix joe",
            "[2001:db8::1]:443 2001:db8::5 - -",
            "10.0.0.1:80 10.0.0.5 - -",
            "10.0.0.4, 10.9.9.9 - -",
            "10.0.0.4,10.9.9.9 - -",
            "10.0.0.4, 10.9.9.9, 10.9.9.8 - joe",
            "2001:db8::4, 10.9.9.9 - -",
            "10.0.0.4 10.9.9.9 - -",
            "10.0.0.4 2001:db8::9 - joe",
            "- 10.0.0.4 - -",
            "10.0.0.4 - - -",
        ] {
            let line = format!("{head} {ENTRY} \"-\" \"ua\"");
            for format in [LogFormat::Common, LogFormat::Combined, LogFormat::Main] {
                let error = parse_as(&line, format).unwrap_err();
                assert!(error.contains("parse_regex") && error.contains("parse=auto"), "{head}: {error}");
            }
        }
        for (head, expected) in [
            ("10.0.0.5 - -", r#""clientip":"10.0.0.5","#),
            ("10.0.0.5 - joe smith", r#""clientip":"10.0.0.5","auth":"joe smith","#),
            ("10.0.0.5 unix joe of x", r#""clientip":"10.0.0.5","ident":"unix","auth":"joe of x","#),
            ("2001:db8::5 - joe", r#""clientip":"2001:db8::5","auth":"joe","#),
            ("host.example.com - -", r#""clientip":"host.example.com","#),
            ("- - -", ""),
            ("10.0.0.5:53124 - -", r#""clientip":"10.0.0.5:53124","#),
            ("unix: - -", r#""clientip":"unix:","#),
            ("::1 - joe -", r#""clientip":"::1","auth":"joe -","#),
        ] {
            let line = format!("{head} {ENTRY} \"-\" \"ua\"");
            assert_eq!(ends(&line, LogFormat::Combined), format!("{expected}\"agent\":\"ua\"}}"), "{head}");
            assert_eq!(ends(&line, LogFormat::Auto), format!("{expected}\"agent\":\"ua\"}}"), "{head}");
            assert_eq!(ends(&format!("{head} {ENTRY}"), LogFormat::Common), format!("{expected}}}"));
        }
    }

    #[test]
    fn servers_and_lists_of_addresses_have_fields_of_their_own() {
        let combined = |head: &str, format| ends(&format!("{head} {ENTRY} \"-\" \"ua\""), format);
        for (head, expected) in [
            ("www.x.org:80 10.0.0.5 - -", r#""vhost":"www.x.org","port":80,"clientip":"10.0.0.5","#),
            (
                "www.x.org:80 h.example.com - joe smith",
                r#""vhost":"www.x.org","port":80,"clientip":"h.example.com","auth":"joe smith","#,
            ),
            ("[2001:db8::1]:443 2001:db8::5 - -", r#""vhost":"[2001:db8::1]","port":443,"clientip":"2001:db8::5","#),
            ("www.x.org 10.0.0.5 - -", r#""vhost":"www.x.org","clientip":"10.0.0.5","#),
            ("- 10.0.0.5 - joe", r#""clientip":"10.0.0.5","auth":"joe","#),
        ] {
            let expected = format!("{expected}\"agent\":\"ua\"}}");
            assert_eq!(combined(head, LogFormat::VhostCombined), expected, "{head}");
            assert_eq!(combined(head, LogFormat::Auto), expected, "{head}");
        }
        for (head, expected) in [
            ("10.0.0.4, 10.9.9.9 - -", r#""clientip":"10.0.0.4","x_forwarded_for":"10.0.0.4, 10.9.9.9","#),
            (
                "10.0.0.4,2001:db8::9 - joe smith",
                r#""clientip":"10.0.0.4","auth":"joe smith","x_forwarded_for":"10.0.0.4,2001:db8::9","#,
            ),
            (
                "www.x.org 10.0.0.4, unknown, ::1 - -",
                r#""vhost":"www.x.org","clientip":"10.0.0.4","x_forwarded_for":"10.0.0.4, unknown, ::1","#,
            ),
        ] {
            assert_eq!(combined(head, LogFormat::Auto), format!("{expected}\"agent\":\"ua\"}}"), "{head}");
        }
        for (head, expected) in [("10.0.0.4 10.9.9.9 - -", "ident or -"), ("10.0.0.4, x - -", "a list of addresses")] {
            let error = parse_as(&format!("{head} {ENTRY}"), LogFormat::Auto).unwrap_err();
            assert!(error.contains(expected) && error.ends_with("give option `parse_regex`"), "{head}: {error}");
        }
        assert!(parse_as(&format!("10.0.0.5 - - {ENTRY} \"-\" \"ua\""), LogFormat::VhostCombined).is_err());
    }

    #[test]
    fn what_a_log_has_behind_the_agent_is_kept_or_named() {
        let entry = format!("10.0.0.5 - - {ENTRY}");
        let line = format!(r#"{entry} "-" "ua" "10.1.1.1, 10.2.2.2""#);
        let main = r#""clientip":"10.0.0.5","agent":"ua","x_forwarded_for":"10.1.1.1, 10.2.2.2"}"#;
        assert_eq!(ends(&line, LogFormat::Main), main);
        assert_eq!(ends(&line, LogFormat::Auto), main);
        assert!(parse_as(&line, LogFormat::Combined).unwrap_err().contains("parse=auto"));
        let none = format!(r#"{entry} "http://x/" "ua" "-""#);
        let expected = r#""clientip":"10.0.0.5","referrer":"http://x/","agent":"ua"}"#;
        assert_eq!(ends(&none, LogFormat::Main), expected);
        assert_eq!(ends(&none, LogFormat::Auto), expected);
        for (more, kept) in [
            (" 1234", "1234"),
            (r#" "-" "ua" 0.005 0.004"#, "0.005 0.004"),
            (r#" "-" "ua" "-" rt=0.005 uct="0.000""#, r#"rt=0.005 uct=\"0.000\""#),
            (r#" "-" "ua" "gzip""#, r#"\"gzip\""#),
            (r#" "-" "ua" 1234 www.x.org"#, "1234 www.x.org"),
        ] {
            let line = format!("{entry}{more}");
            let found = ends(&line, LogFormat::Auto);
            assert!(found.ends_with(&format!("\"rest\":\"{kept}\"}}")), "{more}: {found}");
            // The addresses are a header of the client, which may be any text.
            for format in [LogFormat::Common, LogFormat::Combined] {
                let error = parse_as(&line, format).unwrap_err();
                assert!(error.contains("parse_regex"), "{more}: {error}");
            }
        }
    }
}
