//! Characters in regular expressions of Java: escapes and classes, written for the crate `regex`.
//!
//! Source: the documentation of `java.util.regex.Pattern`. Classes with a letter and those of POSIX
//! are of ASCII; general categories are those of Unicode 16.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// Whether small letters and capitals are the same, in ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Told,
    Ignored,
}

/// What is behind a backslash.
pub(super) enum Escape {
    Char(char),
    /// A class in brackets.
    Set(String),
}

/// The classes with one letter, without brackets.
const LETTERS: [(char, &str); 5] = [
    ('d', "0-9"),
    ('w', "0-9A-Z_a-z"),
    ('s', r"\t\n\x0B\f\r\x20"),
    ('h', r"\t\x20\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}"),
    ('v', r"\n\x0B\f\r\x{85}\x{2028}\x{2029}"),
];

/// The classes of POSIX and a block, without brackets.
const NAMED: [(&str, &str); 15] = [
    ("Lower", "a-z"),
    ("Upper", "A-Z"),
    ("ASCII", r"\x00-\x7F"),
    ("Alpha", "A-Za-z"),
    ("Digit", "0-9"),
    ("Alnum", "0-9A-Za-z"),
    ("Punct", r"!-/:-@\[-`\{-~"),
    ("Graph", "!-~"),
    ("Print", r"\x20-~"),
    ("Blank", r"\x20\t"),
    ("Cntrl", r"\x00-\x1F\x7F"),
    ("XDigit", "0-9A-Fa-f"),
    ("Space", r"\t\n\x0B\f\r\x20"),
    ("InCombiningDiacriticalMarks", r"\x{300}-\x{36f}"),
    ("InCOMBINING_DIACRITICAL_MARKS", r"\x{300}-\x{36f}"),
];

/// General categories without those that have unassigned characters or halves of pairs.
const CATEGORIES: [&str; 34] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "Cc", "Cf", "Co",
];

/// Writes a range as a part of a class.
pub(super) fn put_range(out: &mut String, (first, last): (char, char), case: Case) {
    let mut put = |first: char, last: char| {
        // Writing to a text cannot fail.
        let _ = write!(out, r"\x{{{:x}}}-\x{{{:x}}}", u32::from(first), u32::from(last));
    };
    put(first, last);
    if case == Case::Ignored {
        for letter in ('a'..='z').chain('A'..='Z').filter(|letter| (first..=last).contains(letter)) {
            let other = (u8::try_from(letter).unwrap_or_default() ^ 0x20) as char;
            put(other, other);
        }
    }
}

/// Reads what is behind a backslash and the character `c`.
pub(super) fn escape(c: char, rest: &mut Peekable<Chars>, case: Case) -> Result<Escape, String> {
    let hex = |rest: &mut Peekable<Chars>, digits: usize| {
        let text: String = rest.by_ref().take(digits).collect();
        let is_hex = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let found = is_hex.then(|| u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)).flatten();
        found.map(Escape::Char).ok_or_else(|| format!("\"\\{c}{text}\""))
    };
    Ok(match c {
        't' => Escape::Char('\t'),
        'n' => Escape::Char('\n'),
        'r' => Escape::Char('\r'),
        'f' => Escape::Char('\u{c}'),
        'a' => Escape::Char('\u{7}'),
        'e' => Escape::Char('\u{1b}'),
        'x' if rest.peek() == Some(&'{') => return Err("\"\\x{\"".into()),
        'x' => hex(rest, 2)?,
        'u' => hex(rest, 4)?,
        'p' | 'P' => Escape::Set(property(c == 'P', rest, case)?),
        c if c.is_ascii_alphanumeric() => {
            let small = c.to_ascii_lowercase();
            let set = LETTERS.iter().find(|(letter, _)| *letter == small).ok_or_else(|| format!("\"\\{c}\""))?;
            Escape::Set(format!("[{}{}]", if c == small { "" } else { "^" }, set.1))
        }
        c => Escape::Char(c),
    })
}

/// Reads the name behind `\p` or `\P`.
fn property(is_other: bool, rest: &mut Peekable<Chars>, case: Case) -> Result<String, String> {
    let name: String = match rest.next().ok_or("\"\\p\" at the end")? {
        '{' => rest.by_ref().take_while(|c| *c != '}').collect(),
        c => c.to_string(),
    };
    let not = if is_other { "^" } else { "" };
    let letter = if is_other { 'P' } else { 'p' };
    let category = name.strip_prefix("Is").unwrap_or(&name);
    // Without case they are all letters with case in some versions of Java.
    if case == Case::Ignored && matches!(category, "Lower" | "Upper" | "Lu" | "Ll" | "Lt") {
        return Err(format!("\"\\{letter}{{{name}}}\" without case"));
    }
    if let Some((_, set)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Ok(format!("[{not}{set}]"));
    }
    if CATEGORIES.contains(&category) {
        return Ok(format!(r"[{not}\p{{{category}}}]"));
    }
    Err(format!("\"\\{letter}{{{name}}}\""))
}

/// Reads a class behind its `[`.
pub(super) fn class(rest: &mut Peekable<Chars>, case: Case) -> Result<String, String> {
    let mut out = String::from("[");
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut is_first = true;
    loop {
        let first = match rest.next().ok_or("a class without an end")? {
            ']' if is_first => return Err("\"]\" at the beginning of a class".into()),
            ']' => break,
            '[' => return Err("a class in a class".into()),
            '&' if rest.peek() == Some(&'&') => {
                // With a class in brackets, and nothing else, it means the same everywhere.
                let is_one = !is_first && !out.starts_with("[^") && rest.nth(1) == Some('[');
                let other = if is_one { class(rest, case)? } else { String::new() };
                if !is_one || rest.next() != Some(']') {
                    return Err("\"&&\" in a class".into());
                }
                out.push_str("&&");
                out.push_str(&other);
                break;
            }
            '\\' => match escape_in_class(rest, case)? {
                Escape::Char(c) => c,
                Escape::Set(set) => {
                    out.push_str(&set);
                    is_first = false;
                    continue;
                }
            },
            c => c,
        };
        is_first = false;
        let mut last = first;
        let mut ahead = rest.clone();
        if ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']' | '[') | None) {
            rest.next();
            last = match rest.next().ok_or("a class without an end")? {
                '\\' => match escape_in_class(rest, case)? {
                    Escape::Char(c) => c,
                    Escape::Set(_) => return Err("a range to a class".into()),
                },
                c => c,
            };
            if last < first {
                return Err(format!("the range \"{first}-{last}\""));
            }
        }
        put_range(&mut out, (first, last), case);
    }
    out.push(']');
    Ok(out)
}

fn escape_in_class(rest: &mut Peekable<Chars>, case: Case) -> Result<Escape, String> {
    match rest.next().ok_or("a class without an end")? {
        'Q' => Err("\"\\Q\" in a class".into()),
        c => escape(c, rest, case),
    }
}
