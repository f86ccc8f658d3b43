//! The tokenizer `icu_tokenizer`, which the plugin `analysis-icu` brings: words of Unicode Standard
//! Annex 29, cut where the script changes.
//!
//! Source: the documentation of Lucene's `ICUTokenizer` and `DefaultICUTokenizerConfig`, and of
//! ICU's `RuleBasedBreakIterator`, whose rules for words these are. Chinese, Japanese, Thai, Lao,
//! Khmer and Burmese are cut by dictionaries of ICU, so only a server knows their words.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::is_white;

/// The units of UTF-16 that are looked at together: words do not go beyond them.
const BUFFER: usize = 4096;

/// A character by what words are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Other,
    Letter,
    Hebrew,
    Number,
    /// It joins letters and numbers, as `_` does.
    Joiner,
    Hangul,
    Ideograph,
    /// It goes with the character before.
    Mark,
    ZeroWidthJoiner,
    Return,
    LineFeed,
    OtherBreak,
    /// One of the two letters of a flag.
    Flag,
    SingleQuote,
    DoubleQuote,
    /// Between letters or numbers, as `.` is.
    Middle,
    MiddleOfLetters,
    Colon,
    MiddleOfNumbers,
    Space,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Emoji {
    #[default]
    No,
    /// Only where the next character says so.
    Maybe,
    Yes,
}

/// What is known of a character.
#[derive(Clone, Copy, Debug)]
struct Character {
    kind: Kind,
    emoji: Emoji,
    /// Extended_Pictographic.
    is_picture: bool,
    /// Whether its general category is a mark.
    is_mark: bool,
    /// Its script, and others that it is used in: a place in [`Table::scripts`]. `None`: any.
    scripts: Option<u16>,
}

impl Character {
    const PLAIN: Self = Self { kind: Kind::Other, emoji: Emoji::No, is_picture: false, is_mark: false, scripts: None };
}

struct Table {
    /// First and last characters, in ascending order. `None`: only a server knows.
    ranges: Vec<(u32, u32, Option<Character>)>,
    scripts: Vec<Vec<String>>,
    ascii: [Character; 128],
}

// A test reads it.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::read(include_str!("icu_words.txt")).unwrap_or_else(|| unreachable!("the table of words is wrong"))
});

impl Table {
    fn read(source: &str) -> Option<Self> {
        let number = |hex: &str| u32::from_str_radix(hex, 16).ok();
        let mut known = HashMap::new();
        let mut table = Self { ranges: Vec::new(), scripts: Vec::new(), ascii: [Character::PLAIN; 128] };
        for item in source.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split(' ')) {
            let (range, rest) = item.split_at(item.find(['=', '!'])?);
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let character = rest.strip_prefix('=').map(|rest| table.character(rest, &mut known));
            table.ranges.push((number(first)?, number(last)?, character.map_or(Some(None), |c| Some(Some(c?)))?));
        }
        for c in 0..128 {
            table.ascii[usize::from(c)] = table.of(char::from(c))?;
        }
        Some(table)
    }

    fn character(&mut self, source: &str, known: &mut HashMap<String, u16>) -> Option<Character> {
        let (flags, scripts) = source.split_once('.').unwrap_or((source, ""));
        let mut flags = flags.chars();
        let kind = match flags.next()? {
            '-' => Kind::Other,
            'l' => Kind::Letter,
            'h' => Kind::Hebrew,
            'n' => Kind::Number,
            'j' => Kind::Joiner,
            'k' => Kind::Hangul,
            'i' => Kind::Ideograph,
            'x' => Kind::Mark,
            'z' => Kind::ZeroWidthJoiner,
            'r' => Kind::Return,
            'f' => Kind::LineFeed,
            'b' => Kind::OtherBreak,
            'g' => Kind::Flag,
            's' => Kind::SingleQuote,
            'd' => Kind::DoubleQuote,
            'm' => Kind::Middle,
            'o' => Kind::MiddleOfLetters,
            'c' => Kind::Colon,
            't' => Kind::MiddleOfNumbers,
            'w' => Kind::Space,
            _ => return None,
        };
        let mut character = Character { kind, ..Character::PLAIN };
        for flag in flags {
            match flag {
                'P' => character.is_picture = true,
                'M' => character.is_mark = true,
                'E' => character.emoji = Emoji::Yes,
                'R' => character.emoji = Emoji::Maybe,
                _ => return None,
            }
        }
        if !scripts.is_empty() {
            let next = self.scripts.len() as u16;
            let at = *known.entry(scripts.to_owned()).or_insert(next);
            if at == next {
                self.scripts.push(scripts.split('.').map(str::to_owned).collect());
            }
            character.scripts = Some(at);
        }
        Some(character)
    }

    fn of(&self, c: char) -> Option<Character> {
        let c = u32::from(c);
        let at = self.ranges.partition_point(|&(first, ..)| first <= c);
        match at.checked_sub(1).map(|at| self.ranges[at]) {
            Some((_, last, character)) if c <= last => character,
            _ => Some(Character::PLAIN),
        }
    }
}

/// Calls `push` with the place of each word of a text; whether they are known here. `colon`: a
/// colon between letters is a part of the word.
pub(super) fn each(text: &str, colon: bool, push: &mut dyn FnMut(Range<usize>)) -> bool {
    let table = &*TABLE;
    let mut characters = Vec::new();
    let mut at = 0;
    while let Some(len) = piece(&text[at..]) {
        characters.clear();
        for (place, c) in text[at..at + len].char_indices() {
            let known = match table.ascii.get(c as usize) {
                Some(character) => Some(*character),
                None => table.of(c),
            };
            let Some(character) = known else { return false };
            characters.push((at + place, c, character));
        }
        at += len;
        let mut left = &characters[..];
        while !left.is_empty() {
            let (run, rest) = left.split_at(run(table, left));
            let end = rest.first().map_or(at, |next| next.0);
            words(run, end, colon, push);
            left = rest;
        }
    }
    at == text.len()
}

/// The bytes of a text that are looked at together: up to the last white space in the buffer.
/// `None`: none is left, or the buffer ends within a pair of UTF-16.
fn piece(text: &str) -> Option<usize> {
    let (mut units, mut white) = (0, None);
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > BUFFER {
            return None;
        }
        let end = at + c.len_utf8();
        if is_white(c) {
            white = Some(end);
        }
        if units == BUFFER {
            return Some(white.unwrap_or(end));
        }
    }
    (!text.is_empty()).then_some(text.len())
}

/// How many characters at the beginning are of one script.
fn run(table: &Table, characters: &[(usize, char, Character)]) -> usize {
    let scripts = |at: Option<u16>| at.map(|at| &table.scripts[usize::from(at)]);
    let mut current: Option<&String> = None;
    for (at, (_, _, character)) in characters.iter().enumerate() {
        let Some(its) = scripts(character.scripts) else { continue };
        match current {
            None => current = its.first(),
            Some(script) if its.contains(script) || character.is_mark => {}
            Some(_) => return at,
        }
    }
    characters.len()
}

/// What the beginning of a word may go on with.
#[derive(Clone, Copy)]
struct Part {
    /// The last character that is no mark. `None`: there are only marks.
    base: Option<Kind>,
    /// Whether marks are behind it.
    has_marks: bool,
    /// Whether the last mark is a zero width joiner.
    joins: bool,
    /// Whether a flag is complete.
    is_flag: bool,
    /// Whether this is a word, and no space or sign.
    is_word: bool,
}

impl Part {
    fn begin(character: Character) -> Self {
        let kind = character.kind;
        let is_mark = matches!(kind, Kind::Mark | Kind::ZeroWidthJoiner);
        Self {
            base: (!is_mark).then_some(kind),
            has_marks: is_mark,
            joins: kind == Kind::ZeroWidthJoiner,
            is_flag: false,
            is_word: matches!(kind, Kind::Letter | Kind::Hebrew | Kind::Number | Kind::Hangul | Kind::Ideograph),
        }
    }

    /// The part with one more character, where both belong together.
    fn with(self, character: Character) -> Option<Self> {
        use Kind::{Flag, Hangul, Hebrew, Joiner, Letter, LineFeed, Mark, Number, Return, Space, ZeroWidthJoiner};
        let kind = character.kind;
        let next = Self::begin(character);
        match (self.base, kind) {
            (Some(Return | LineFeed | Kind::OtherBreak), Mark | ZeroWidthJoiner) => None,
            (base, Mark | ZeroWidthJoiner) => {
                // Marks behind others are no part of a word by the rules, so the whole is none.
                let keeps = matches!(base, Some(Letter | Hebrew | Number | Kind::Ideograph));
                let joins = kind == ZeroWidthJoiner;
                Some(Self { has_marks: true, joins, is_word: self.is_word && keeps, ..self })
            }
            _ if self.joins && character.is_picture => Some(next),
            (Some(Letter | Hebrew | Number | Joiner), Joiner) => Some(Self { is_word: true, ..next }),
            (Some(Letter | Hebrew | Number | Joiner), Letter | Hebrew | Number) => Some(next),
            (Some(Hangul), Hangul) | (Some(Space), Space) if !self.has_marks => Some(next),
            (Some(Return), LineFeed) => Some(next),
            (Some(Flag), Flag) if !self.is_flag => Some(Self { is_flag: true, ..next }),
            (Some(Hebrew), Kind::SingleQuote) => Some(Self { is_word: true, ..next }),
            _ => None,
        }
    }

    /// What has to come behind the next character, so that both are part of the word.
    fn middle(self, kind: Kind, colon: bool) -> Option<Kind> {
        use Kind::{DoubleQuote, Hebrew, Letter, Middle, MiddleOfLetters, MiddleOfNumbers, Number, SingleQuote};
        match (self.base?, kind) {
            (Letter | Hebrew, Middle | MiddleOfLetters | SingleQuote) => Some(Letter),
            (Letter | Hebrew, Kind::Colon) if colon => Some(Letter),
            (Hebrew, DoubleQuote) => Some(Hebrew),
            (Number, Middle | MiddleOfNumbers | SingleQuote) => Some(Number),
            _ => None,
        }
    }
}

/// Calls `push` with the words of a run of one script, which ends at `end`.
fn words(run: &[(usize, char, Character)], end: usize, colon: bool, push: &mut dyn FnMut(Range<usize>)) {
    let mut first = 0;
    while let Some((start, _, character)) = run.get(first) {
        let (len, is_word) = longest(&run[first..], colon);
        let is_emoji = match character.emoji {
            Emoji::No => false,
            Emoji::Yes => true,
            Emoji::Maybe => len > 1 && matches!(run[first + 1].1, '\u{fe0f}' | '\u{20e3}'),
        };
        first += len;
        if is_word || is_emoji {
            push(*start..run.get(first).map_or(end, |next| next.0));
        }
    }
}

/// How many characters at the beginning belong together, and whether they are a word.
fn longest(run: &[(usize, char, Character)], colon: bool) -> (usize, bool) {
    let mut part = Some(Part::begin(run[0].2));
    let mut found = (1, Part::begin(run[0].2).is_word);
    // What has to come, behind a character in the middle of a word.
    let mut wanted: Option<Kind> = None;
    for (at, (_, _, character)) in run.iter().enumerate().skip(1) {
        let kind = character.kind;
        let goes_on = part.and_then(|part| part.with(*character));
        let is_mark = matches!(kind, Kind::Mark | Kind::ZeroWidthJoiner);
        let fits = match wanted {
            Some(Kind::Letter) => matches!(kind, Kind::Letter | Kind::Hebrew),
            Some(wanted) => kind == wanted,
            None => false,
        };
        let next_wanted = if is_mark { wanted } else { part.and_then(|part| part.middle(kind, colon)) };
        part = goes_on.or_else(|| fits.then(|| Part::begin(*character)));
        wanted = next_wanted;
        match part {
            Some(part) => found = (at + 1, part.is_word),
            None if wanted.is_none() => break,
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, colon: bool) -> Option<Vec<&str>> {
        let mut found = Vec::new();
        each(text, colon, &mut |place| found.push(&text[place])).then_some(found)
    }

    #[test]
    fn words_of_scripts_without_a_dictionary() {
        assert_eq!(
            words("Don't 3.14 1,000;5 a:b _ __a_1__ x. ΣΊΣ l’été", true).unwrap(),
            ["Don't", "3.14", "1,000;5", "a:b", "__a_1__", "x", "ΣΊΣ", "l’été"]
        );
        assert_eq!(words("a:b 1:2 a-b & c", false).unwrap(), ["a", "b", "1", "2", "a", "b", "c"]);
        assert_eq!(
            words("aбa 한국어 한국1 हिन्दी العربية", true).unwrap(),
            ["a", "б", "a", "한국어", "한국", "1", "हिन्दी", "العربية"]
        );
        assert_eq!(words("א\"ב א' ב\" 'א", true).unwrap(), ["א\"ב", "א'", "ב", "א"]);
        assert_eq!(
            words("👩\u{200d}👩\u{200d}👧 🇫🇷🇪🇸 © 1\u{fe0f}\u{20e3} #\u{fe0f}", true).unwrap(),
            ["👩\u{200d}👩\u{200d}👧", "🇫🇷", "🇪🇸", "1\u{fe0f}\u{20e3}", "#\u{fe0f}"]
        );
    }

    #[test]
    fn marks_take_words_away() {
        assert_eq!(words("e\u{301}a 가\u{301} a_\u{301} a_\u{301}b", true).unwrap(), ["e\u{301}a", "a_\u{301}b"]);
    }

    #[test]
    fn texts_that_a_dictionary_cuts_are_not_known() {
        for text in ["東京", "a カ", "ภาษา", "\u{1e6d0} and", "ー"] {
            assert_eq!(words(text, true), None, "{text}");
        }
    }

    #[test]
    fn long_texts_are_read_in_pieces() {
        let long = "a".repeat(5000);
        assert_eq!(words(&long, true).unwrap().iter().map(|word| word.len()).collect::<Vec<_>>(), [4096, 904]);
        let text = format!("{} {}", "b".repeat(4000), "a".repeat(4000));
        assert_eq!(words(&text, true).unwrap().iter().map(|word| word.len()).collect::<Vec<_>>(), [4000, 4000]);
        let cut = format!("{}😀", "a".repeat(4095));
        assert_eq!((words(&cut, true), words("", true)), (None, Some(vec![])));
        assert_eq!(words(&"é ".repeat(2048), true).unwrap().len(), 2048);
    }
}
