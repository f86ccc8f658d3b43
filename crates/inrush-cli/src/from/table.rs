//! What becomes of each flag of another loader, and of each setting of Logstash: the form of the
//! tables, the readers of command lines, and the page of all tables.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::slice::Iter;

use super::{Translation, elasticdump, esbulk, espipe, logstash};
use crate::failure::UsageError;
use crate::reference::wrapped;
use inrush_core::Code;

/// What becomes of the size and the number of requests.
pub(crate) const TUNED: &str =
    "sizes and numbers of requests are found while loading; `--batch-docs` and `--in-flight` fix them";

/// What becomes of a flag or a setting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It is this flag of a load.
    Flag(&'static str),
    /// It is translated together with others, into what the text says.
    Translated(&'static str),
    /// It is refused, because of what it does.
    Refused(&'static str),
    /// The documents are the same without it. The text says what can be done by hand.
    Noted(&'static str),
    /// The documents are the same without it.
    Without,
}

/// Flags or settings that become the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Names without hyphens, separated by blanks.
    pub(crate) names: &'static str,
    /// Whether it is on or off.
    pub(crate) is_switch: bool,
    /// The value with which it does nothing.
    pub(crate) default: &'static str,
    /// Whether it can be given more than once.
    pub(crate) repeats: bool,
    pub(crate) fate: Fate,
}

/// A row of what has a value.
pub(crate) const fn value(names: &'static str, fate: Fate) -> Row {
    Row { names, is_switch: false, default: "", repeats: false, fate }
}

/// A row of what is on or off.
pub(crate) const fn switch(names: &'static str, fate: Fate) -> Row {
    Row { names, is_switch: true, default: "false", repeats: false, fate }
}

impl Row {
    /// The same with another value with which it does nothing.
    pub(crate) const fn unless(self, default: &'static str) -> Row {
        Row { default, ..self }
    }

    pub(crate) const fn repeated(self) -> Row {
        Row { repeats: true, ..self }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.split(' ').any(|known| known == name)
    }
}

impl Translation {
    /// Does what the row says of a value, unless the caller translates it. `shown` is what messages
    /// call it.
    pub(crate) fn apply(&mut self, shown: &str, row: &Row, value: &str) {
        match row.fate {
            _ if value == row.default => {}
            Fate::Flag(flag) if row.is_switch => self.flag(flag),
            Fate::Flag(flag) => self.set(flag, value),
            Fate::Refused(reason) => self.refuse(shown, &plain(reason)),
            Fate::Noted(note) => self.note(format!("{shown}: {}", plain(note))),
            Fate::Translated(_) | Fate::Without => {}
        }
    }
}

/// A text of the page for a terminal.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// How a program reads its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// The package `flag` of Go: `-x` or `--x`, `-x=false`; nothing is a flag after the first word.
    Go,
    /// Node's minimist: each flag takes the next word, unless that is a flag.
    Minimist,
    /// Rust's clap: `--x`, `-x`, `-xy`; a switch takes no value.
    Clap,
}

/// A loader with a command line.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) syntax: Syntax,
    pub(crate) rows: &'static [Row],
}

/// A flag of a command line.
pub(crate) struct Given {
    name: String,
    row: &'static Row,
    /// `true` or `false`, if it is a switch.
    value: String,
}

/// A command line that was read.
pub(crate) struct Line {
    tool: &'static Tool,
    given: Vec<Given>,
    pub(crate) words: Vec<String>,
}

impl Line {
    /// The value of a flag, unless it is the default.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let given = self.given.iter().find(|given| given.name == name);
        given.filter(|given| given.value != given.row.default).map(|given| given.value.as_str())
    }

    /// The values of a flag that can be given more than once.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.given.iter().filter(|given| given.name == name).map(|given| given.value.as_str()).collect()
    }

    /// Does what the table says of all flags, without those that the caller translates.
    pub(crate) fn apply(&self, to: &mut Translation) {
        for given in &self.given {
            to.apply(&self.tool.shown(&given.name), given.row, &given.value);
        }
    }
}

type Rest<'a> = Peekable<Iter<'a, String>>;

impl Tool {
    fn shown(&self, name: &str) -> String {
        let hyphens = if self.syntax == Syntax::Go || name.chars().count() == 1 { "-" } else { "--" };
        format!("{hyphens}{name}")
    }

    /// Reads a command line as the program does.
    ///
    /// # Errors
    /// A flag is not known, has no value, or is given twice.
    pub(crate) fn read(&'static self, arguments: &[String]) -> Result<Line, UsageError> {
        let mut line = Line { tool: self, given: Vec::new(), words: Vec::new() };
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            let bare = argument.trim_start_matches('-');
            match argument.len() - bare.len() {
                2 if bare.is_empty() => line.words.extend(rest.by_ref().cloned()),
                hyphens if hyphens == 0 || bare.is_empty() => {
                    line.words.push(argument.clone());
                    if self.syntax == Syntax::Go {
                        line.words.extend(rest.by_ref().cloned());
                    }
                }
                1 if self.syntax == Syntax::Clap => self.short(bare, &mut rest, &mut line)?,
                1 if self.syntax == Syntax::Go => self.flag(bare, &mut rest, &mut line)?,
                2 => self.flag(bare, &mut rest, &mut line)?,
                _ => return Err(self.unknown(argument)),
            }
        }
        Ok(line)
    }

    /// Letters behind one hyphen. The value of the last one may follow it.
    fn short(&'static self, letters: &str, rest: &mut Rest, line: &mut Line) -> Result<(), UsageError> {
        for (at, letter) in letters.char_indices() {
            let (name, after) = (letter.to_string(), &letters[at + letter.len_utf8()..]);
            let row = self.row(&name)?;
            if !row.is_switch && !after.is_empty() {
                return self.add(&name, row, after.strip_prefix('=').unwrap_or(after).to_owned(), line);
            }
            let value = self.value(&name, row, None, rest)?;
            self.add(&name, row, value, line)?;
        }
        Ok(())
    }

    /// A flag without its hyphens.
    fn flag(&'static self, bare: &str, rest: &mut Rest, line: &mut Line) -> Result<(), UsageError> {
        let (name, inline) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        if self.syntax == Syntax::Minimist
            && let Some(name) = name.strip_prefix("no-").filter(|_| inline.is_none())
        {
            // elasticdump takes its default in place of false.
            let row = self.row(name)?;
            return self.add(name, row, row.default.to_owned(), line);
        }
        let row = self.row(name)?;
        let value = self.value(name, row, inline, rest)?;
        self.add(name, row, value, line)
    }

    fn row(&'static self, name: &str) -> Result<&'static Row, UsageError> {
        self.rows.iter().find(|row| row.has(name)).ok_or_else(|| self.unknown(&self.shown(name)))
    }

    fn unknown(&self, argument: &str) -> UsageError {
        let what = format!("{argument} is not a flag of {} {}", self.name, self.version);
        UsageError::new(Code::NotTranslated, what).hint(
            "it may decide which documents are loaded, so there is no command; docs/moving/flags.md has all flags",
        )
    }

    fn value(&self, name: &str, row: &Row, inline: Option<&str>, rest: &mut Rest) -> Result<String, UsageError> {
        let shown = self.shown(name);
        let refused = |what: String| Err(UsageError::new(Code::NotTranslated, format!("{shown} {what}")));
        // A word that begins with a hyphen is the next flag, except in Go.
        let takes_next = |next: &String| {
            let hyphens = next.len() - next.trim_start_matches('-').len();
            self.syntax == Syntax::Go || hyphens == 0 || hyphens == next.len()
        };
        let given = match inline {
            Some(_) if row.is_switch && self.syntax == Syntax::Clap => return refused("takes no value".to_owned()),
            Some(value) => Some(value.to_owned()),
            None if row.is_switch && self.syntax != Syntax::Minimist => None,
            None => rest.next_if(|next| takes_next(next)).cloned(),
        };
        match given {
            Some(value) if !row.is_switch => Ok(value),
            Some(value) => match (self.syntax, value.as_str()) {
                (_, "true") | (Syntax::Go, "1" | "t" | "T" | "TRUE" | "True") => Ok("true".to_owned()),
                (_, "false") | (Syntax::Go, "0" | "f" | "F" | "FALSE" | "False") => Ok("false".to_owned()),
                (_, other) => refused(format!("{other}: expected true or false")),
            },
            None if row.is_switch => Ok("true".to_owned()),
            None => refused("has no value; give the arguments as they follow the name of the loader".to_owned()),
        }
    }

    fn add(&self, name: &str, row: &'static Row, value: String, line: &mut Line) -> Result<(), UsageError> {
        if !row.repeats && line.given.iter().any(|given| given.name == name) {
            let what = format!("{} is given twice; leave one out", self.shown(name));
            return Err(UsageError::new(Code::NotTranslated, what));
        }
        line.given.push(Given { name: name.to_owned(), row, value });
        Ok(())
    }
}

/// The page of all tables, `docs/moving/flags.md`.
pub(crate) fn page() -> String {
    let mut page = "\
# Flags of other loaders

What `inrush from` makes of each flag of elasticdump, esbulk and espipe, and of each setting of the
plugins of Logstash that it reads. The lists are those of the versions in the titles.

- **a flag of `inrush load`**, or what it is translated into.
- **refused**: it decides which documents are loaded, what is in them, their ids, or the cluster,
  and has no counterpart. There is no command then.
- **a note**: the documents are the same; the note says what differs, or what to do by hand.
- **no effect**: the documents are the same.

With its default a flag does nothing. One that is not on this page is refused.

This page is made by `inrush reference from`; a test holds it equal.
"
    .to_owned();
    for tool in [&elasticdump::TOOL, &esbulk::TOOL, &espipe::TOOL] {
        let _ = writeln!(page, "\n## {} {}\n", tool.name, tool.version);
        table("flag", |name| tool.shown(name), tool.rows, &mut page);
    }
    for plugin in logstash::TABLES {
        let _ = writeln!(page, "\n## {}\n", plugin.title());
        table("setting", str::to_owned, plugin.rows, &mut page);
    }
    page
}

fn table(kind: &str, shown: impl Fn(&str) -> String, rows: &[Row], page: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "| {kind} | default | becomes |\n|---|---|---|");
    let (mut lines, mut without) = (Vec::<(Vec<String>, String, String)>::new(), Vec::new());
    for row in rows {
        let names = row.names.split(' ').map(|name| format!("`{}`", shown(name)));
        let default = match row.default {
            "" => " ".to_owned(),
            default => format!(" `{}` ", default.replace('\n', "\\n")),
        };
        let becomes = match row.fate {
            Fate::Flag(flag) => format!("`{flag}`"),
            Fate::Translated(what) => what.to_owned(),
            Fate::Refused(reason) => format!("refused: {reason}"),
            Fate::Noted(note) => format!("a note: {note}"),
            Fate::Without => {
                without.extend(names);
                continue;
            }
        };
        match lines.last_mut() {
            Some((above, of, same)) if *of == default && *same == becomes => above.extend(names),
            _ => lines.push((names.collect(), default, becomes)),
        }
    }
    for (names, default, becomes) in lines {
        let _ = writeln!(page, "| {} |{default}| {becomes} |", names.join(", "));
    }
    if !without.is_empty() {
        let _ = writeln!(page, "\n{}", wrapped(&format!("No effect: {}.", without.join(", ")), 0));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::tests::{checked, words};
    use super::*;

    /// What a translation came to: its command and its notes, or why it was refused.
    pub(crate) fn outcome(translated: Result<Translation, UsageError>) -> String {
        match translated {
            Ok(translation) => format!("{}{}", checked(&translation), translation.notes.join("\n")),
            Err(error) => format!("refused: {error}"),
        }
    }

    /// An example of each name of a row that says what becomes of it.
    pub(crate) fn check(
        rows: &[Row],
        shown: impl Fn(&str) -> String,
        outcome: impl Fn(Option<(&str, &str)>) -> String,
        examples: &[(&str, &str)],
    ) {
        let without = outcome(None);
        for (row, name) in rows.iter().flat_map(|row| row.names.split(' ').map(move |name| (row, name))) {
            let other = match (row.is_switch, row.default) {
                (true, "true") => "false",
                (true, _) => "true",
                (false, "x") => "y",
                (false, _) => "x",
            };
            let shown = shown(name);
            if matches!(row.fate, Fate::Translated(_)) {
                assert!(examples.iter().any(|(known, _)| *known == name), "no example of {shown}");
                continue;
            }
            let with = outcome(Some((name, other)));
            match row.fate {
                Fate::Flag(flag) => {
                    let expected = if row.is_switch { flag.to_owned() } else { format!("{flag} {other}") };
                    assert!(!without.contains(&expected) && with.contains(&expected), "{shown}: {with}");
                }
                Fate::Refused(reason) => {
                    assert!(
                        with.starts_with("refused: ") && with.contains(&shown) && with.contains(&plain(reason)),
                        "{with}"
                    );
                }
                Fate::Noted(note) => {
                    assert!(
                        !with.starts_with("refused") && with.contains(&format!("{shown}: {}", plain(note))),
                        "{with}"
                    );
                }
                Fate::Without => assert_eq!(with, without, "{shown}"),
                Fate::Translated(_) => {}
            }
            if !row.default.is_empty() {
                assert_eq!(outcome(Some((name, row.default))), without, "{shown} with its default");
            }
        }
        for (name, _) in examples {
            assert!(rows.iter().any(|row| row.has(name)), "{name} is in no row");
        }
    }

    /// Checks the rows of a tool. Each example has a name, a command line, and a part of what
    /// becomes of it.
    #[track_caller]
    pub(crate) fn each_flag(
        tool: &'static Tool,
        translate: fn(&[String]) -> Result<Translation, UsageError>,
        base: &str,
        examples: &[(&str, &str, &str)],
    ) {
        let run = |flag: Option<(&str, &str)>| {
            let mut line = words(base);
            if let Some((name, value)) = flag {
                let is_switch = tool.rows.iter().any(|row| row.has(name) && row.is_switch);
                let shown = tool.shown(name);
                let flag = match tool.syntax {
                    Syntax::Clap if is_switch && value == "true" => vec![shown],
                    Syntax::Clap if is_switch => Vec::new(),
                    Syntax::Clap => vec![shown, value.to_owned()],
                    _ => vec![format!("{shown}={value}")],
                };
                line = [flag, line].concat();
            }
            outcome(translate(&line))
        };
        let names: Vec<(&str, &str)> = examples.iter().map(|(name, _, expected)| (*name, *expected)).collect();
        check(tool.rows, |name| tool.shown(name), run, &names);
        for (name, line, expected) in examples {
            let outcome = outcome(translate(&words(line)));
            assert!(line.contains(&tool.shown(name)), "{line} has no {name}");
            assert!(outcome.contains(expected), "{line}: {outcome}");
        }
    }

    const fn of(syntax: Syntax) -> Tool {
        const ROWS: &[Row] = &[
            switch("a", Fate::Refused("it decides")),
            switch("b", Fate::Without),
            value("word w", Fate::Flag("--id")),
            value("many", Fate::Without).repeated(),
        ];
        Tool { name: "tool", version: "1", syntax, rows: ROWS }
    }

    static GO: Tool = of(Syntax::Go);
    static MINIMIST: Tool = of(Syntax::Minimist);
    static CLAP: Tool = of(Syntax::Clap);

    /// Flags with their values, and words.
    fn read(tool: &'static Tool, line: &str) -> String {
        match tool.read(&words(line)) {
            Err(error) => format!("error: {error}"),
            Ok(line) => {
                let flags = line.given.iter().map(|given| format!("{}={}", given.name, given.value));
                flags.chain(line.words.iter().cloned()).collect::<Vec<_>>().join(" ")
            }
        }
    }

    #[test]
    fn switches_have_values_in_the_way_of_each_program() {
        for off in ["false", "0", "f", "F", "FALSE", "False"] {
            assert_eq!(read(&GO, &format!("-a={off} x")), "a=false x");
        }
        for on in ["true", "1", "t", "T", "TRUE", "True"] {
            assert_eq!(read(&GO, &format!("--a={on} x")), "a=true x");
        }
        assert_eq!(read(&GO, "-a false -b"), "a=true false -b");
        assert!(read(&GO, "-a=no").contains("expected true or false"));
        assert_eq!(read(&MINIMIST, "--a false --b=true"), "a=false b=true");
        assert_eq!(read(&MINIMIST, "--a --b"), "a=true b=true");
        assert_eq!(read(&MINIMIST, "--no-a --b true"), "a=false b=true");
        for line in ["--a x", "--a=yes", "--b=0"] {
            assert!(read(&MINIMIST, line).contains("expected true or false"), "{line}");
        }
        assert_eq!(read(&CLAP, "-ab x --b"), "error: --b is given twice; leave one out".replace("--b", "-b"));
        assert_eq!(read(&CLAP, "-ab x"), "a=true b=true x");
        assert!(read(&CLAP, "--a=true").contains("takes no value"));
    }

    #[test]
    fn values_follow_in_the_way_of_each_program() {
        assert_eq!(read(&GO, "-word -a -b"), "word=-a b=true");
        assert_eq!(read(&GO, "-many 1 --many=2 - -b"), "many=1 many=2 - -b");
        assert_eq!(read(&MINIMIST, "--word=1 --many - --b"), "word=1 many=- b=true");
        assert_eq!(read(&CLAP, "x -w1 -aw=2"), "error: -w is given twice; leave one out");
        assert_eq!(read(&CLAP, "x -aw1 y -- --b"), "a=true w=1 x y --b");
        for (tool, line) in [(&GO, "-word"), (&MINIMIST, "--word --a"), (&CLAP, "--word -a"), (&CLAP, "-w")] {
            assert!(read(tool, line).contains("has no value"), "{line}");
        }
    }

    #[test]
    fn flags_that_are_not_known_are_refused_and_take_no_word() {
        for (tool, line) in [
            (&GO, "-c x"),
            (&GO, "---a"),
            (&MINIMIST, "--c x"),
            (&MINIMIST, "-a"),
            (&MINIMIST, "--no-c"),
            (&CLAP, "--c=1"),
            (&CLAP, "-ac"),
        ] {
            let error = read(tool, line);
            assert!(error.contains("is not a flag of tool 1"), "{line}: {error}");
        }
    }

    #[test]
    fn what_is_refused_is_named_at_once() {
        let line = GO.read(&words("-a -word x")).unwrap();
        let mut to = Translation::default();
        line.apply(&mut to);
        to.refuse("y", "it does as well");
        let error = to.done().unwrap_err().to_string();
        assert!(error.contains("-a is not translated: it decides; y is not translated: it does as well"), "{error}");
    }
}
