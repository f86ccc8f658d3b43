//! Regular expressions of Java, as far as they mean the same in the crate `regex`.
//!
//! Source: the documentation of `java.util.regex.Pattern` and `Matcher`. Both engines prefer the
//! leftmost match, and of those the first alternative and the longer or shorter repetition as
//! written. Classes are written out here, because those of Java are of ASCII. What differs, or
//! depends on the Java of a node, is refused by its name.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Captures, Regex};

use super::java_edges::{Edge, Look, Set};
use super::java_sets::{self, Case};

/// The deepest groups.
const DEEPEST: usize = 30;
/// The longest text in bytes on which Java repeats groups without a stack that overflows.
pub(super) const LONG: usize = 2000;

/// A regular expression.
#[derive(Debug)]
pub(super) struct JavaPattern {
    /// The alternatives that are no edges, if there are some: they come first.
    regex: Option<Regex>,
    edges: Vec<Edge>,
    groups: usize,
    names: Vec<(String, usize)>,
    /// Groups within a repetition: of which time they are is not known here.
    repeated: Vec<usize>,
    /// Whether `$` is in it, which Java also finds before a break at the end of the text.
    has_end: bool,
    /// Whether it repeats groups without an end.
    has_loops: bool,
    may_be_empty: bool,
}

impl JavaPattern {
    /// Reads one with its flags. `Err` has the construct that is not known here.
    pub(super) fn new(pattern: &str, flags: Option<&str>) -> Result<Self, String> {
        let mut parser = Parser::new(pattern);
        parser.read_flags(flags.unwrap_or_default())?;
        let may_be_empty = if parser.literal {
            pattern.chars().for_each(|c| parser.put_char(c));
            pattern.is_empty()
        } else {
            parser.read_first_flags()?;
            let may_be_empty = parser.alternatives(0)? | parser.edges()?;
            if parser.rest.next().is_some() {
                return Err("a \")\" without its \"(\"".into());
            }
            may_be_empty
        };
        let has_only_edges = parser.out.is_empty() && !parser.edges.is_empty();
        let regex =
            if has_only_edges { None } else { Some(Regex::new(&parser.out).map_err(|_| "more than is built here")?) };
        let Parser { edges, groups, names, repeated, has_end, has_loops, .. } = parser;
        Ok(Self { regex, edges, groups, names, repeated, has_end, has_loops, may_be_empty })
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// The number of a group with a name.
    pub(super) fn group(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// Whether a group is not repeated by another one.
    pub(super) fn tells(&self, group: usize) -> bool {
        group <= self.groups && !self.repeated.contains(&group)
    }

    /// Whether it is not known here what Java finds in a text.
    pub(super) fn doubts(&self, text: &str) -> bool {
        self.has_loops && text.len() > LONG
            || self.has_end && text.ends_with(is_break)
            // Java also looks between the halves of a pair.
            || self.may_be_empty && !text.is_ascii() && text.chars().any(|c| c.len_utf16() == 2)
    }

    /// The first match from a place on.
    fn first<'t>(&self, text: &'t str, from: usize) -> Option<Found<'t>> {
        let groups = self.regex.as_ref().and_then(|regex| regex.captures_at(text, from));
        let until = groups.as_ref().and_then(|groups| groups.get(0)).map_or(text.len() + 1, |found| found.start());
        let mut places = (from..until).filter(|at| text.is_char_boundary(*at));
        let edge = places.find(|at| self.edges.iter().any(|edge| edge.is_at(text, *at)));
        edge.map(Found::Edge).or(groups.map(Found::Groups))
    }

    /// Calls `visit` with each match, until it returns `false`.
    pub(super) fn each<'t>(&self, text: &'t str, mut visit: impl FnMut(&Found<'t>) -> bool) {
        let mut from = 0;
        while let Some(found) = self.first(text, from) {
            let (start, end) = place(&found, 0);
            if !visit(&found) {
                return;
            }
            from = end;
            if start == end {
                let Some(next) = text[end..].chars().next() else { return };
                from += next.len_utf8();
            }
        }
    }
}

/// What a pattern finds.
pub(super) enum Found<'t> {
    Groups(Captures<'t>),
    /// A place without groups.
    Edge(usize),
}

impl<'t> Found<'t> {
    pub(super) fn text(&self, group: usize) -> &'t str {
        match self {
            Self::Groups(groups) => groups.get(group).map_or("", |group| group.as_str()),
            Self::Edge(_) => "",
        }
    }
}

/// Where a group is; nowhere is the empty place before the text.
pub(super) fn place(found: &Found, group: usize) -> (usize, usize) {
    match found {
        Found::Groups(groups) => groups.get(group).map_or((0, 0), |group| (group.start(), group.end())),
        Found::Edge(at) if group == 0 => (*at, *at),
        Found::Edge(_) => (0, 0),
    }
}

/// What ends a line.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Writes the expression for the crate `regex`.
struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    edges: Vec<Edge>,
    literal: bool,
    case: Case,
    dot_is_all: bool,
    multiline: bool,
    groups: usize,
    names: Vec<(String, usize)>,
    repeated: Vec<usize>,
    has_end: bool,
    has_loops: bool,
}

/// A part that may be repeated.
struct Atom {
    may_be_empty: bool,
    /// The groups before it, if it is a group.
    groups_before: Option<usize>,
}

impl Atom {
    const ONE: Self = Self { may_be_empty: false, groups_before: None };
    const NOTHING: Self = Self { may_be_empty: true, groups_before: None };
}

impl<'a> Parser<'a> {
    fn new(pattern: &'a str) -> Self {
        Self {
            rest: pattern.chars().peekable(),
            out: String::new(),
            edges: Vec::new(),
            literal: false,
            case: Case::Told,
            dot_is_all: false,
            multiline: false,
            groups: 0,
            names: Vec::new(),
            repeated: Vec::new(),
            has_end: false,
            has_loops: false,
        }
    }

    /// Flags as the servers write them.
    fn read_flags(&mut self, flags: &str) -> Result<(), String> {
        for flag in flags.split('|').filter(|flag| !flag.is_empty()) {
            match flag.to_uppercase().as_str() {
                "CASE_INSENSITIVE" => self.case = Case::Ignored,
                "MULTILINE" => self.multiline = true,
                "DOTALL" => self.dot_is_all = true,
                "LITERAL" => self.literal = true,
                flag => return Err(format!("the flag {flag:?}")),
            }
        }
        if self.literal && self.case == Case::Ignored {
            Err("the flag \"LITERAL\" with another one".into())
        } else {
            Ok(())
        }
    }

    /// Flags in the expression, at its beginning only.
    fn read_first_flags(&mut self) -> Result<(), String> {
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('(') || ahead.next() != Some('?') {
            return Ok(());
        }
        let flags: String = ahead.by_ref().take_while(|c| *c != ')').collect();
        if flags.is_empty() || !flags.chars().all(|flag| flag.is_ascii_lowercase()) {
            return Ok(());
        }
        for flag in flags.chars() {
            match flag {
                'i' => self.case = Case::Ignored,
                's' => self.dot_is_all = true,
                'm' => self.multiline = true,
                _ => return Err(format!("the flags {flags:?}")),
            }
        }
        self.rest = ahead;
        Ok(())
    }

    /// Reads up to the end of a group; returns whether it may match nothing.
    fn alternatives(&mut self, depth: usize) -> Result<bool, String> {
        if depth > DEEPEST {
            return Err("groups that are too deep".into());
        }
        let is_edge = |parser: &Self| depth == 0 && parser.look().is_some();
        if is_edge(self) {
            return Ok(true);
        }
        let mut may_be_empty = self.sequence(depth)?;
        while self.rest.next_if_eq(&'|').is_some() {
            if is_edge(self) {
                return Ok(true);
            }
            self.out.push('|');
            may_be_empty |= self.sequence(depth)?;
        }
        Ok(may_be_empty)
    }

    /// The opening of a look that comes next: whether it is behind, and whether it is for what is
    /// not there.
    fn look(&self) -> Option<(bool, bool)> {
        let mut ahead = self.rest.clone();
        (ahead.next()? == '(' && ahead.next()? == '?').then_some(())?;
        let mut kind = ahead.next()?;
        let is_behind = kind == '<';
        if is_behind {
            kind = ahead.next()?;
        }
        matches!(kind, '=' | '!').then_some((is_behind, kind == '!'))
    }

    /// Reads alternatives that are looks alone, up to the end; returns whether there are some.
    fn edges(&mut self) -> Result<bool, String> {
        while self.look().is_some() {
            let mut edge = Edge::default();
            while let Some((is_behind, is_not)) = self.look() {
                self.rest.nth(if is_behind { 3 } else { 2 });
                let mut sets = Vec::new();
                while self.rest.next_if_eq(&')').is_none() {
                    sets.push(self.set()?);
                }
                edge.0.push(Look { is_behind, is_not, sets });
            }
            self.edges.push(edge);
            let next = self.rest.next();
            if next.is_some_and(|next| next != '|') || next.is_some() && self.look().is_none() {
                return Err("a look behind or ahead before something else".into());
            }
        }
        Ok(!self.edges.is_empty())
    }

    /// Reads one character of a look.
    fn set(&mut self) -> Result<Set, String> {
        let before = std::mem::take(&mut self.out);
        let c = self.rest.next().ok_or("a group without an end")?;
        // A quoted text may be of several.
        let is_quoted = c == '\\' && self.rest.peek() == Some(&'Q');
        let is_one = !is_quoted && !matches!(c, '(' | '|') && !self.atom(c, 0)?.may_be_empty;
        let is_repeated = matches!(self.rest.peek(), Some('*' | '+' | '?' | '{'));
        let set = std::mem::replace(&mut self.out, before);
        let set = Some(set).filter(|_| is_one && !is_repeated);
        set.and_then(|set| Set::new(&set)).ok_or_else(|| "a look behind or ahead at more than some characters".into())
    }

    fn sequence(&mut self, depth: usize) -> Result<bool, String> {
        let mut may_be_empty = true;
        while let Some(&c) = self.rest.peek() {
            if c == '|' || c == ')' {
                break;
            }
            self.rest.next();
            let atom = self.atom(c, depth)?;
            may_be_empty &= self.repeated(&atom)?;
        }
        Ok(may_be_empty)
    }

    fn atom(&mut self, c: char, depth: usize) -> Result<Atom, String> {
        match c {
            '(' => return self.group(depth),
            '[' => {
                let class = java_sets::class(&mut self.rest, self.case)?;
                self.out.push_str(&class);
            }
            '.' if self.dot_is_all => self.out.push_str("(?s:.)"),
            '.' => self.out.push_str(r"[^\n\r\x{85}\x{2028}\x{2029}]"),
            '^' | '$' if self.multiline => return Err(format!("\"{c}\" with the flag \"MULTILINE\"")),
            '^' => {
                self.out.push_str(r"\A");
                return Ok(Atom::NOTHING);
            }
            '$' => {
                self.has_end = true;
                self.out.push_str(r"\z");
                return Ok(Atom::NOTHING);
            }
            '\\' => return self.escape(),
            '*' | '+' | '?' | '{' => return Err(format!("\"{c}\" with nothing before it that it repeats")),
            c => self.put_char(c),
        }
        Ok(Atom::ONE)
    }

    fn put_char(&mut self, c: char) {
        self.out.push('[');
        java_sets::put_range(&mut self.out, (c, c), self.case);
        self.out.push(']');
    }

    fn escape(&mut self) -> Result<Atom, String> {
        let c = self.rest.next().ok_or("\"\\\" at the end")?;
        match c {
            'A' | 'z' => {
                self.out.extend(['\\', c]);
                return Ok(Atom::NOTHING);
            }
            'Q' => {
                let mut quoted = Vec::new();
                loop {
                    match self.rest.next().ok_or("\"\\Q\" without \"\\E\"")? {
                        '\\' if self.rest.next_if_eq(&'E').is_some() => break,
                        c => quoted.push(c),
                    }
                }
                // A repetition is of the last character.
                quoted.iter().for_each(|c| self.put_char(*c));
                return Ok(if quoted.is_empty() { Atom::NOTHING } else { Atom::ONE });
            }
            c => match java_sets::escape(c, &mut self.rest, self.case)? {
                java_sets::Escape::Char(c) => self.put_char(c),
                java_sets::Escape::Set(set) => self.out.push_str(&set),
            },
        }
        Ok(Atom::ONE)
    }

    fn group(&mut self, depth: usize) -> Result<Atom, String> {
        let case = self.case;
        let groups_before = Some(self.groups);
        let mut opening = "(";
        if self.rest.next_if_eq(&'?').is_some() {
            let kind = self.rest.next().ok_or("a group without an end")?;
            match kind {
                ':' => opening = "(?:",
                '<' if self.rest.peek().is_some_and(char::is_ascii_alphabetic) => {
                    let name: String = self.rest.by_ref().take_while(|c| *c != '>').collect();
                    if !name.chars().all(|c| c.is_ascii_alphanumeric())
                        || self.names.iter().any(|(known, _)| *known == name)
                    {
                        return Err(format!("the name of a group {name:?}"));
                    }
                    self.names.push((name, self.groups + 1));
                }
                '<' => return Err("a look behind, \"(?<=\" or \"(?<!\"".into()),
                '=' | '!' => return Err(format!("a look ahead, \"(?{kind}\"")),
                '>' => return Err("a group that never gives back, \"(?>\"".into()),
                // For the rest of the group that this one is in.
                'i' if self.rest.next_if_eq(&')').is_some() => {
                    self.case = Case::Ignored;
                    return Ok(Atom::NOTHING);
                }
                _ => return Err(format!("\"(?{kind}\" behind the beginning")),
            }
        }
        self.out.push_str(opening);
        self.groups += usize::from(opening == "(");
        let may_be_empty = self.alternatives(depth + 1)?;
        if self.rest.next() != Some(')') {
            return Err("a group without an end".into());
        }
        self.case = case;
        self.out.push(')');
        Ok(Atom { may_be_empty, groups_before })
    }

    /// Reads how often a part comes; returns whether it may match nothing then.
    fn repeated(&mut self, atom: &Atom) -> Result<bool, String> {
        let Some(&c) = self.rest.peek() else { return Ok(atom.may_be_empty) };
        let (least, most) = match c {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            '{' => {
                self.rest.next();
                let inner: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
                let (least, most) = counts(&inner).ok_or_else(|| format!("the repetition {{{inner}}}"))?;
                self.out.push_str(&format!("{{{inner}}}"));
                (least, most)
            }
            _ => return Ok(atom.may_be_empty),
        };
        if c != '{' {
            self.rest.next();
            self.out.push(c);
        }
        if atom.may_be_empty {
            return Err("a repetition of what may be empty".into());
        }
        match self.rest.peek() {
            Some('+') => return Err(format!("a repetition that never gives back, \"{c}+\"")),
            Some('?') => {
                self.rest.next();
                self.out.push('?');
            }
            _ => {}
        }
        if matches!(self.rest.peek(), Some('*' | '+' | '?' | '{')) {
            return Err("a repetition of a repetition".into());
        }
        if let Some(before) = atom.groups_before
            && most != Some(1)
        {
            self.repeated.extend(before + 1..=self.groups);
            self.has_loops |= most.is_none_or(|most| most > LONG);
        }
        Ok(least == 0)
    }
}

/// The numbers in braces: `2`, `2,` or `2,3`.
fn counts(text: &str) -> Option<(usize, Option<usize>)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<usize>().ok())?;
    match text.split_once(',') {
        None => number(text).map(|count| (count, Some(count))),
        Some((least, "")) => number(least).map(|least| (least, None)),
        Some((least, most)) => {
            let (least, most) = (number(least)?, number(most)?);
            (least <= most).then_some((least, Some(most)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JavaPattern, place};

    fn all(pattern: &str, flags: &str, text: &str) -> Vec<String> {
        let pattern = JavaPattern::new(pattern, Some(flags)).unwrap();
        assert!(!pattern.doubts(text));
        let mut found = Vec::new();
        pattern.each(text, |one| {
            let (start, end) = place(one, 0);
            found.push(text[start..end].to_owned());
            true
        });
        found
    }

    #[test]
    fn classes_are_those_of_java() {
        assert_eq!(all(r"\w+", "", "aé_1 ß"), ["a", "_1"]);
        assert_eq!(all(r"[^\p{L}\d]+", "", "aé-1\u{a0}ß+"), ["-", "\u{a0}", "+"]);
        assert_eq!(all(r"[\w-.]+", "", "a-b.c d"), ["a-b.c", "d"]);
        assert_eq!(all(r"(?i)k[a-c]", "", "KA kB \u{212a}a"), ["KA", "kB"]);
        assert_eq!(all("a((?i)b|c)d|e", "", "aBd ACd aCd abD E"), ["aBd", "aCd"]);
        assert_eq!(all(r"[\p{L}&&[^\p{Lu}]]+", "", "aBcé1"), ["a", "cé"]);
        assert_eq!(all("é", "CASE_INSENSITIVE", "éÉ"), ["é"]);
        assert_eq!(all(r".+", "", "a\nb\u{2028}c"), ["a", "b", "c"]);
        assert_eq!(all(r"[&a-\x63]", "", "a&d-"), ["a", "&"]);
        assert_eq!(all(r"\h", "", "\t\n\x0b \u{a0}\u{85}\u{3000}"), ["\t", " ", "\u{a0}", "\u{3000}"]);
        assert_eq!(all(r"\s", "", "\t\n\x0b \u{a0}\u{85}"), ["\t", "\n", "\x0b", " "]);
        assert_eq!(all(r"\v", "", "\t\n\x0b\x0c\r \u{85}\u{2028}"), ["\n", "\x0b", "\x0c", "\r", "\u{85}", "\u{2028}"]);
        assert_eq!(all(r"\Qa.\E+", "", "a.. ab"), ["a.."]);
        assert_eq!(all(r"\p{InCombiningDiacriticalMarks}+", "", "e\u{301}"), ["\u{301}"]);
    }

    #[test]
    fn matches_follow_each_other_as_in_java() {
        assert_eq!(all("a*", "", "aab"), ["aa", "", ""]);
        assert_eq!(all("(?:ab|a)(c|bcd)?", "", "abcd"), ["abc"]);
        assert_eq!(all("^a|b$", "", "abab"), ["a", "b"]);
        assert_eq!(all("a{2,3}?", "", "aaaaa"), ["aa", "aa"]);
    }

    #[test]
    fn edges_are_places() {
        let cut = |pattern: &str, text: &str| {
            let mut cut = String::from(text);
            let mut places = Vec::new();
            JavaPattern::new(pattern, None).unwrap().each(text, |found| {
                places.push(place(found, 0));
                true
            });
            for (start, end) in places.into_iter().rev() {
                cut.replace_range(start..end, "|");
            }
            cut
        };
        let camels = r"([^\p{L}\d]+)|(?<=\D)(?=\d)|(?<=\d)(?=\D)|(?<=[\p{L}&&[^\p{Lu}]])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}[\p{L}&&[^\p{Lu}]])";
        assert_eq!(cut(camels, "MooseX::FTPClass2_beta éÉa"), "Moose|X|FTP|Class|2|beta|é|Éa");
        assert_eq!(cut("(?=[A-Z])", "aBC"), "a|B|C");
        assert_eq!(cut("(?<!a)(?!b)|(?<=bc)", "abc"), "|ab|c|");
        assert!(JavaPattern::new("(?=a)", None).unwrap().doubts("𝒳"));
    }

    #[test]
    fn what_differs_is_refused() {
        for (pattern, construct) in [
            (r"a(?<=a)b", "a look behind, \"(?<=\" or \"(?<!\""),
            ("a(?!b)", "a look ahead, \"(?!\""),
            ("(?!b)a", "a look behind or ahead before something else"),
            ("(?!b)|a", "a look behind or ahead before something else"),
            ("(?=b+)", "a look behind or ahead at more than some characters"),
            ("(?=^)", "a look behind or ahead at more than some characters"),
            ("(?=a|b)", "a look behind or ahead at more than some characters"),
            ("(a|(?=b))", "a look ahead, \"(?=\""),
            ("(?=a)*", "a look behind or ahead before something else"),
            ("[^a&&[b]]", "\"&&\" in a class"),
            ("[a&&[b]c]", "\"&&\" in a class"),
            ("a++", "a repetition that never gives back, \"++\""),
            ("(a*)*", "a repetition of what may be empty"),
            (r"\bx", "\"\\b\""),
            (r"(a)\1", "\"\\1\""),
            ("[a&&b]", "\"&&\" in a class"),
            ("[a[b]]", "a class in a class"),
            ("(?m)^a", "\"^\" with the flag \"MULTILINE\""),
            ("a)", "a \")\" without its \"(\""),
            (r"\p{IsLatin}", "\"\\p{IsLatin}\""),
            (r"(?i)\p{Lu}", "\"\\p{Lu}\" without case"),
            ("*", "\"*\" with nothing before it that it repeats"),
        ] {
            assert_eq!(JavaPattern::new(pattern, None).unwrap_err(), construct, "{pattern}");
        }
        assert!(JavaPattern::new("a", Some("COMMENTS")).is_err());
    }

    #[test]
    fn texts_that_only_java_reads() {
        assert!(JavaPattern::new("a$", None).unwrap().doubts("a\n"));
        assert!(JavaPattern::new("a*", None).unwrap().doubts("𝒳"));
        assert!(JavaPattern::new("(?:a|b)*c", None).unwrap().doubts(&"a".repeat(3000)));
        assert!(!JavaPattern::new("[ab]*c", None).unwrap().doubts(&"a".repeat(3000)));
        assert!(!JavaPattern::new("(?:(a)|b)+(c)", None).unwrap().tells(1));
    }
}
