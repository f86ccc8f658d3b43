//! Names of options in messages.
//!
//! A message may be read on a terminal, in Python, in a program or beside a job file. So the engine
//! names an option as ``option `memory` ``, or with a value as ``option `action=create` ``.
//! [`render`] writes the option in the style of a front end.

use std::borrow::Cow;

/// The way in which a front end writes options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `--batch-bytes`, `--action create`: the command line.
    Flag,
    /// `batch_bytes`, `action='create'`: the Python package.
    Keyword,
    /// `batch_bytes`, `action = "create"`: a job file.
    Key,
}

/// Text before the name of an option.
const BEFORE: &str = "option `";

/// The message with its options in this style.
pub fn render(text: &str, style: Style) -> Cow<'_, str> {
    if !text.contains(BEFORE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEFORE) {
        let (before, named) = (&rest[..at], &rest[at + BEFORE.len()..]);
        out.push_str(before);
        match named.split_once('`').filter(|(named, _)| is_named(named)) {
            Some((named, after)) => {
                out.push_str(&one(named, style));
                rest = after;
            }
            None => {
                out.push_str(BEFORE);
                rest = named;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether the text is the name of an option, with or without a value.
fn is_named(named: &str) -> bool {
    let name = named.split_once('=').map_or(named, |(name, _)| name);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// The keyword argument of an option in Python, where `from` and `with` are words of the language
/// (PEP 8: `from_`).
pub fn keyword(name: &str) -> &str {
    match name {
        "from" => "from_",
        "with" => "with_",
        name => name,
    }
}

fn one(named: &str, style: Style) -> String {
    let (name, value) = match named.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (named, None),
    };
    let is_number = |value: &str| value.bytes().all(|b| b.is_ascii_digit()) && !value.is_empty();
    match (style, value) {
        (Style::Flag, None) => format!("--{}", name.replace('_', "-")),
        (Style::Flag, Some(value)) => format!("--{} {}", name.replace('_', "-"), quoted(value)),
        (Style::Keyword, None) => keyword(name).to_owned(),
        (Style::Key, None) => name.to_owned(),
        (Style::Keyword, Some(value)) if is_number(value) => format!("{}={value}", keyword(name)),
        (Style::Keyword, Some(value)) => format!("{}='{}'", keyword(name), value.replace('\\', "\\\\")),
        (Style::Key, Some(value)) if is_number(value) => format!("{name} = {value}"),
        (Style::Key, Some(value)) => format!("{name} = \"{value}\""),
    }
}

/// A value, quoted for a shell where necessary.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !"\\*?$&;<>()\"'!#~[]{}".contains(c);
    if value.chars().all(is_plain) || value.contains('\'') { value.to_owned() } else { format!("'{value}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_front_end_writes_options_in_its_own_way() {
        let text = "option `batch_bytes=32MiB` x option `in_flight=4` needs more than option `memory`";
        assert_eq!(render(text, Style::Flag), "--batch-bytes 32MiB x --in-flight 4 needs more than --memory");
        assert_eq!(render(text, Style::Keyword), "batch_bytes='32MiB' x in_flight=4 needs more than memory");
        assert_eq!(render("option `escape=\\`", Style::Flag), "--escape '\\'");
        assert_eq!(render("option `escape=\\`", Style::Keyword), "escape='\\\\'");
        assert_eq!(render("option `from=latest`", Style::Keyword), "from_='latest'");
        assert_eq!(render("option `allow_shrink=any`", Style::Flag), "--allow-shrink any");
        assert_eq!(render(text, Style::Key), "batch_bytes = \"32MiB\" x in_flight = 4 needs more than memory");
    }

    #[test]
    fn other_text_stays() {
        for text in ["", "option", "option `", "option `Big`", "option ``", "the field `id`", "option `a b`"] {
            assert_eq!(render(text, Style::Flag), text);
        }
        assert_eq!(render("option ` and option `id`", Style::Flag), "option ` and --id");
    }
}
