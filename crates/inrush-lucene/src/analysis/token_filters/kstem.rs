//! `kstem`.
//!
//! Source: R. Krovetz, "Viewing morphology as an inference process" (SIGIR 1993), and Lucene's
//! `KStemmer`, which is partly that of the Center for Intelligent Information Retrieval of the
//! University of Massachusetts; its licence is beside the words (`kstem/LICENSE`). An ending is cut
//! where the rest is a word of the dictionary; the rules go on from what the ones before have left
//! behind the end of the word, too.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::TokenFilter;
use crate::analysis::stream::Stream;

/// Words of this length and longer ones are left as they are.
const TOO_LONG: usize = 50;
/// Room for endings that are tried.
const ROOM: usize = TOO_LONG + 10;

/// What the dictionary has of a word.
#[derive(Clone, Copy)]
struct Entry {
    /// The stem, if it is another word.
    stem: Option<&'static str>,
    is_exception: bool,
}

/// A line is a word; with its stem behind it, or with `!` for an exception to the rules.
static WORDS: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let entry = |line: &'static str| match line.split_once(' ') {
        None => (line, Entry { stem: None, is_exception: false }),
        Some((word, "!")) => (word, Entry { stem: Some(word), is_exception: true }),
        Some((word, stem)) => (word, Entry { stem: Some(stem), is_exception: false }),
    };
    include_str!("kstem/words.txt").lines().map(entry).collect()
});

pub(super) struct KStem;

impl TokenFilter for KStem {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|token, term, out| !token.keyword && stem(term, out));
    }

    /// Of a short word the stem may be a country.
    fn grows(&self) -> usize {
        3
    }
}

/// Writes the stem of a word, if it is another one.
fn stem(term: &str, out: &mut String) -> bool {
    if !(3..TOO_LONG).contains(&term.len()) {
        return false;
    }
    if let Some(entry) = WORDS.get(term) {
        out.extend(entry.stem);
        return entry.stem.is_some();
    }
    if !term.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let mut word = Word::new(term);
    word.cut();
    match word.found {
        Some(Entry { stem: Some(stem), .. }) => out.push_str(stem),
        _ => out.push_str(word.text()),
    }
    true
}

/// A word whose endings are tried. What is behind its end stays there.
struct Word {
    letters: [u8; ROOM],
    len: usize,
    /// The last letter, as the rules count it.
    last: usize,
    /// The last letter before the ending that was found.
    stem: usize,
    found: Option<Entry>,
}

impl Word {
    fn new(term: &str) -> Self {
        let mut letters = [0; ROOM];
        letters[..term.len()].copy_from_slice(term.as_bytes());
        Self { letters, len: term.len(), last: term.len() - 1, stem: 0, found: None }
    }

    fn text(&self) -> &str {
        // All letters are of ASCII.
        std::str::from_utf8(&self.letters[..self.len]).unwrap_or_default()
    }

    /// Applies the rules until one leaves a word of the dictionary.
    fn cut(&mut self) {
        let rules: [fn(&mut Self); 17] = [
            Self::plural,
            Self::past,
            Self::progressive,
            Self::ity,
            Self::ness,
            Self::ion,
            Self::er_and_or,
            Self::ly,
            Self::al,
            Self::ive,
            Self::ize,
            Self::ment,
            Self::ble,
            Self::ism,
            Self::ic,
            Self::ncy,
            Self::nce,
        ];
        for (at, rule) in rules.into_iter().enumerate() {
            if at == 9 {
                // Before `-ive`, what is left is looked up without being the end.
                self.entry();
            }
            rule(self);
            if self.found.is_some() {
                return;
            }
        }
    }

    /// Whether the word as it is now is one of the dictionary.
    fn lookup(&mut self) -> bool {
        self.found = WORDS.get(self.text()).copied();
        self.found.is_some()
    }

    /// The entry of the word as it is now; an exception is not the end.
    fn entry(&mut self) -> Option<Entry> {
        if self.found.is_none() {
            let entry = WORDS.get(self.text()).copied();
            if entry.is_some_and(|entry| !entry.is_exception) {
                self.found = entry;
            }
            return entry;
        }
        self.found
    }

    fn ends(&mut self, ending: &str) -> bool {
        let ending = ending.as_bytes();
        let is_it = ending.len() <= self.last && self.letters[..=self.last].ends_with(ending);
        if is_it {
            self.stem = self.last - ending.len();
        }
        is_it
    }

    /// As [`Word::ends`] for the longer endings of `-ion`, which are at the end of the letters.
    fn ends_long(&mut self, ending: &str) -> bool {
        let is_it = ending.len() <= self.last && self.letters[..self.len].ends_with(ending.as_bytes());
        self.stem = if is_it { self.len - ending.len() - 1 } else { self.last };
        is_it
    }

    fn push(&mut self, letter: u8) {
        self.letters[self.len] = letter;
        self.len += 1;
    }

    fn append(&mut self, letters: &str) {
        letters.bytes().for_each(|letter| self.push(letter));
    }

    /// Ends the word behind a number of letters, and the rules count to its last one.
    fn end_at(&mut self, len: usize) {
        self.len = len;
        self.last = len.wrapping_sub(1);
    }

    fn is_consonant(&self, at: usize) -> bool {
        match self.letters[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    fn has_double(&self, at: usize) -> bool {
        // Less than nothing is a number that is too large.
        (1..ROOM).contains(&at) && self.letters[at] == self.letters[at - 1] && self.is_consonant(at)
    }

    fn stem_has_vowel(&self) -> bool {
        (0..=self.stem).any(|at| !self.is_consonant(at))
    }

    /// Whether the stem ends with two letters.
    fn stem_ends(&self, two: &[u8; 2]) -> bool {
        self.stem > 0 && self.letters[self.stem - 1..=self.stem] == *two
    }

    fn plural(&mut self) {
        if self.letters[self.last] != b's' {
            return;
        }
        if self.ends("ies") {
            self.len = self.stem + 3;
            self.last -= 1;
            if self.lookup() {
                return;
            }
            self.len = self.stem + 1;
            self.push(b'y');
            self.last = self.stem + 1;
            self.lookup();
        } else if self.ends("es") {
            self.len = self.stem + 2;
            self.last -= 1;
            let tries_e = self.stem > 0 && !self.stem_ends(b"ss");
            if tries_e && self.lookup() {
                return;
            }
            self.len = self.stem + 1;
            self.last -= 1;
            if self.lookup() {
                return;
            }
            self.push(b'e');
            self.last += 1;
            if !tries_e {
                self.lookup();
            }
        } else if self.len > 3 && self.letters[self.last - 1] != b's' && !self.ends("ous") {
            self.len = self.last;
            self.last -= 1;
            self.lookup();
        }
    }

    fn past(&mut self) {
        if self.len <= 4 {
            return;
        }
        if self.ends("ied") {
            self.len = self.stem + 3;
            self.last -= 1;
            if self.lookup() {
                return;
            }
            self.len = self.stem + 1;
            self.push(b'y');
            self.last = self.stem + 1;
            self.lookup();
            return;
        }
        if !(self.ends("ed") && self.stem_has_vowel()) {
            return;
        }
        let stem = self.stem;
        self.end_at(stem + 2);
        if self.entry().is_some_and(|entry| !entry.is_exception) {
            return;
        }
        self.end_at(stem + 1);
        if self.lookup() {
            return;
        }
        if self.has_double(self.last) {
            self.keep_double_or_cut();
            return;
        }
        if self.letters[..2] == *b"un" {
            self.append("ed");
            self.last += 2;
            return;
        }
        self.len = stem + 1;
        self.push(b'e');
        self.last = stem + 1;
    }

    /// Tries the word with one of its two last letters, which are the same.
    fn keep_double_or_cut(&mut self) {
        self.len = self.last;
        self.last -= 1;
        if self.lookup() {
            return;
        }
        self.push(self.letters[self.last]);
        self.last += 1;
        self.lookup();
    }

    fn progressive(&mut self) {
        if self.len <= 5 || !(self.ends("ing") && self.stem_has_vowel()) {
            return;
        }
        let stem = self.stem;
        self.letters[stem + 1] = b'e';
        self.end_at(stem + 2);
        if self.entry().is_some_and(|entry| !entry.is_exception) {
            return;
        }
        self.end_at(stem + 1);
        if self.lookup() {
            return;
        }
        if self.has_double(self.last) {
            self.keep_double_or_cut();
            return;
        }
        if stem > 0 && self.is_consonant(stem) && self.is_consonant(stem - 1) {
            self.end_at(stem + 1);
            return;
        }
        self.len = stem + 1;
        self.push(b'e');
        self.last = stem + 1;
    }

    /// Tries the stem, then with an `e`.
    fn stem_or_e(&mut self) -> bool {
        let stem = self.stem;
        self.end_at(stem + 1);
        if self.lookup() {
            return true;
        }
        self.push(b'e');
        self.last = stem + 1;
        self.lookup()
    }

    fn ity(&mut self) {
        let last = self.last;
        if !self.ends("ity") || self.stem_or_e() {
            return;
        }
        let stem = self.stem;
        self.letters[stem + 1] = b'i';
        self.append("ty");
        self.last = last;
        if self.stem_ends(b"il") {
            self.len = stem - 1;
            self.append("le");
            self.last = stem;
            self.lookup();
        } else if self.stem_ends(b"iv") {
            self.len = stem + 1;
            self.push(b'e');
            self.last = stem + 1;
            self.lookup();
        } else if self.stem_ends(b"al") {
            self.end_at(stem + 1);
            self.lookup();
        } else if !self.lookup() {
            self.end_at(stem + 1);
        }
    }

    fn nce(&mut self) {
        let last = self.last;
        if !self.ends("nce") {
            return;
        }
        let (stem, vowel) = (self.stem, self.letters[self.stem]);
        if !matches!(vowel, b'e' | b'a') {
            return;
        }
        self.len = stem;
        self.push(b'e');
        self.last = stem;
        if self.lookup() {
            return;
        }
        self.end_at(stem);
        if self.lookup() {
            return;
        }
        self.push(vowel);
        self.append("nce");
        self.last = last;
    }

    fn ness(&mut self) {
        if self.ends("ness") {
            self.end_at(self.stem + 1);
            if self.letters[self.stem] == b'i' {
                self.letters[self.stem] = b'y';
            }
            self.lookup();
        }
    }

    fn ism(&mut self) {
        if self.ends("ism") {
            self.end_at(self.stem + 1);
            self.lookup();
        }
    }

    fn ment(&mut self) {
        let last = self.last;
        if self.ends("ment") {
            self.end_at(self.stem + 1);
            if !self.lookup() {
                self.append("ment");
                self.last = last;
            }
        }
    }

    fn ize(&mut self) {
        let last = self.last;
        if !self.ends("ize") {
            return;
        }
        let stem = self.stem;
        self.end_at(stem + 1);
        if self.lookup() {
            return;
        }
        self.push(b'i');
        if self.has_double(stem) {
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.push(self.letters[stem - 1]);
        }
        self.len = stem + 1;
        self.push(b'e');
        self.last = stem + 1;
        if self.lookup() {
            return;
        }
        self.len = stem + 1;
        self.append("ize");
        self.last = last;
    }

    fn ncy(&mut self) {
        if !self.ends("ncy") || !matches!(self.letters[self.stem], b'e' | b'a') {
            return;
        }
        let stem = self.stem;
        self.letters[stem + 2] = b't';
        self.end_at(stem + 3);
        if self.lookup() {
            return;
        }
        self.letters[stem + 2] = b'c';
        self.push(b'e');
        self.last = stem + 3;
        self.lookup();
    }

    fn ble(&mut self) {
        let last = self.last;
        if !self.ends("ble") {
            return;
        }
        let (stem, vowel) = (self.stem, self.letters[self.stem]);
        if !matches!(vowel, b'a' | b'i') {
            return;
        }
        self.end_at(stem);
        if self.lookup() {
            return;
        }
        if self.has_double(self.last) {
            self.end_at(self.last);
            if self.lookup() {
                return;
            }
            self.last += 1;
            self.push(self.letters[self.last - 1]);
        }
        self.len = stem;
        self.push(b'e');
        self.last = stem;
        if self.lookup() {
            return;
        }
        self.len = stem;
        self.append("ate");
        self.last = stem + 2;
        if self.lookup() {
            return;
        }
        self.len = stem;
        self.push(vowel);
        self.append("ble");
        self.last = last;
    }

    fn ic(&mut self) {
        if !self.ends("ic") {
            return;
        }
        let stem = self.stem;
        self.len = stem + 3;
        self.append("al");
        self.last = stem + 4;
        if self.lookup() {
            return;
        }
        self.letters[stem + 1] = b'y';
        self.end_at(stem + 2);
        if self.lookup() {
            return;
        }
        self.letters[stem + 1] = b'e';
        if self.lookup() {
            return;
        }
        self.end_at(stem + 1);
        if self.lookup() {
            return;
        }
        self.append("ic");
        self.last = stem + 2;
    }

    fn ion(&mut self) {
        let last = self.last;
        if !self.ends("ion") {
            return;
        }
        if self.ends_long("ization") {
            self.len = self.stem + 3;
            self.push(b'e');
            self.last = self.stem + 3;
            self.lookup();
            return;
        }
        if self.ends_long("ition") {
            if self.with_e(1) {
                return;
            }
            self.restore("ition", last);
        } else if self.ends_long("ation") {
            if self.with_e(3) || self.with_e(1) {
                return;
            }
            self.end_at(self.stem + 1);
            if self.lookup() {
                return;
            }
            self.restore("ation", last);
        }
        if self.ends_long("ication") {
            self.len = self.stem + 1;
            self.push(b'y');
            self.last = self.stem + 1;
            if self.lookup() {
                return;
            }
            self.restore("ication", last);
        }
        self.stem = self.last - 3;
        if self.with_e(1) {
            return;
        }
        self.end_at(self.stem + 1);
        if self.lookup() {
            return;
        }
        self.restore("ion", last);
    }

    /// Tries the word with an `e` behind some letters that follow the stem.
    fn with_e(&mut self, behind: usize) -> bool {
        self.len = self.stem + behind;
        self.push(b'e');
        self.last = self.stem + behind;
        self.lookup()
    }

    fn restore(&mut self, ending: &str, last: usize) {
        self.len = self.stem + 1;
        self.append(ending);
        self.last = last;
    }

    fn er_and_or(&mut self) {
        let last = self.last;
        if self.letters[last] != b'r' {
            return;
        }
        if self.ends("izer") {
            self.end_at(self.stem + 4);
            self.lookup();
            return;
        }
        if !(self.ends("er") || self.ends("or")) {
            return;
        }
        let stem = self.stem;
        let vowel = self.letters[stem + 1];
        if self.has_double(stem) {
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.push(self.letters[stem - 1]);
        }
        if self.letters[stem] == b'i' {
            self.letters[stem] = b'y';
            self.end_at(stem + 1);
            if self.lookup() {
                return;
            }
            self.letters[stem] = b'i';
            self.push(b'e');
        }
        if self.letters[stem] == b'e' {
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.push(b'e');
        }
        self.end_at(stem + 2);
        if self.lookup() || self.stem_or_e() {
            return;
        }
        self.len = stem + 1;
        self.push(vowel);
        self.push(b'r');
        self.last = last;
    }

    fn ly(&mut self) {
        let last = self.last;
        if !self.ends("ly") {
            return;
        }
        let stem = self.stem;
        self.letters[stem + 2] = b'e';
        if self.lookup() {
            return;
        }
        self.letters[stem + 2] = b'y';
        self.end_at(stem + 1);
        if self.lookup() || self.stem_ends(b"al") {
            return;
        }
        self.append("ly");
        self.last = last;
        if self.stem_ends(b"ab") {
            self.letters[stem + 2] = b'e';
            self.last = stem + 2;
            return;
        }
        if self.letters[stem] == b'i' {
            self.len = stem;
            self.push(b'y');
            self.last = stem;
            if self.lookup() {
                return;
            }
            self.len = stem;
            self.append("ily");
            self.last = last;
        }
        self.end_at(stem + 1);
    }

    fn al(&mut self) {
        let last = self.last;
        if self.len < 4 || !self.ends("al") {
            return;
        }
        let stem = self.stem;
        self.end_at(stem + 1);
        if self.lookup() {
            return;
        }
        if self.has_double(stem) {
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.push(self.letters[stem - 1]);
        }
        if self.with_e(1) {
            return;
        }
        self.len = stem + 1;
        self.append("um");
        self.last = stem + 2;
        if self.lookup() {
            return;
        }
        self.restore("al", last);
        if self.stem_ends(b"ic") {
            self.end_at(stem - 1);
            if self.lookup() {
                return;
            }
            self.len = stem - 1;
            self.push(b'y');
            self.last = stem - 1;
            if self.lookup() {
                return;
            }
            self.len = stem - 1;
            self.append("ic");
            self.last = stem;
            self.lookup();
        } else if self.letters[stem] == b'i' {
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.append("ial");
            self.last = last;
            self.lookup();
        }
    }

    fn ive(&mut self) {
        let last = self.last;
        if !self.ends("ive") || self.stem_or_e() {
            return;
        }
        let stem = self.stem;
        self.len = stem + 1;
        self.append("ive");
        if self.stem_ends(b"at") {
            self.letters[stem - 1] = b'e';
            self.end_at(stem);
            if self.lookup() {
                return;
            }
            self.len = stem - 1;
            if self.lookup() {
                return;
            }
            self.append("ative");
            self.last = last;
        }
        self.letters[stem + 2] = b'o';
        self.letters[stem + 3] = b'n';
        if self.lookup() {
            return;
        }
        self.letters[stem + 2] = b'v';
        self.letters[stem + 3] = b'e';
        self.last = last;
    }
}
