//! Text for people, from which documents, files and servers cannot control the terminal.
//!
//! Everything that a front end prints passes through this module. Options that a message of the
//! engine names become flags here. Escapes are those of JSON, so printed JSON keeps its value.

use std::borrow::Cow;
use std::fmt::Write as _;

use inrush_commands::options::{Style, render};

/// Escapes each character that a terminal takes as a command, or that changes the order in which
/// other characters are shown. Tabs and line ends stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    plain_in(text, Style::Flag)
}

/// The same with options in the style of another front end.
pub fn plain_in(text: &str, style: Style) -> Cow<'_, str> {
    shown(text, style, |c| is_command(c) && !matches!(c, '\n' | '\t'))
}

/// The same for text on one line: line ends and tabs are escaped, too.
pub fn inline(text: &str) -> Cow<'_, str> {
    inline_in(text, Style::Flag)
}

/// The same with options in the style of another front end.
pub fn inline_in(text: &str, style: Style) -> Cow<'_, str> {
    shown(text, style, is_command)
}

/// The same for a message of one or more lines. Lines after the first are indented, so that none of
/// them looks like another message.
pub fn message(text: &str) -> String {
    let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
    plain(text).replace('\n', "\n    ") + end
}

/// A text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Names options in the style of the front end, and escapes the rest.
fn shown(text: &str, style: Style, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    match render(text, style) {
        Cow::Borrowed(text) => escape(text, escaped),
        Cow::Owned(text) => Cow::Owned(escape(&text, escaped).into_owned()),
    }
}

fn is_command(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if escaped(c) => out.push_str("\\n"),
            '\t' if escaped(c) => out.push_str("\\t"),
            '\r' if escaped(c) => out.push_str("\\r"),
            c if escaped(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_escaped_as_in_json() {
        let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{9b}31m\u{7f}\u{202e}abc\u{2066}\u{2028}";
        let shown = plain(hostile);
        assert_eq!(shown, r"\u001b]0;owned\u0007\u001b[2J\r\u009b31m\u007f\u202eabc\u2066\u2028");
        let json = format!("\"{shown}\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
        for kept in ["", "a\tb\nc", "Grüße, 日本語, שלום", "\u{200f}\u{a0}"] {
            assert!(matches!(plain(kept), Cow::Borrowed(same) if same == kept));
        }
    }

    #[test]
    fn a_forged_line_is_none() {
        assert_eq!(inline("a\nresult  all documents were indexed\t"), r"a\nresult  all documents were indexed\t");
        assert_eq!(message("a\nresult  fine\n"), "a\n    result  fine\n");
    }
}
