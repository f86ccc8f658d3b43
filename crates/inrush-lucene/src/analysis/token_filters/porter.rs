//! `porter_stem`, which is also the `stemmer` of English.
//!
//! Source: M. F. Porter, "An algorithm for suffix stripping", 1980, with the departures that its
//! author describes for his own programs, which are those of Lucene's `PorterStemFilter`: words of
//! two letters stay, `bli` becomes `ble`, and `logi` becomes `log`.

use super::TokenFilter;
use super::stemmers::stem;
use crate::analysis::stream::Stream;

pub(super) struct Porter;

impl TokenFilter for Porter {
    fn apply(&self, stream: &mut Stream) {
        stem(stream, |word| {
            if word.len() > 2 {
                let mut word = Word { letters: word, stem: 0 };
                word.plurals_and_participles();
                word.final_y();
                word.replace_measured(&SECOND);
                word.replace_measured(&THIRD);
                word.residues();
                word.final_e();
            }
        });
    }
}

/// Endings with what they become, by the letter before the last one or by the last one; the first
/// that fits is the only one that is looked at.
const SECOND: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];
const THIRD: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];
const RESIDUES: [&str; 18] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize",
];

struct Word<'a> {
    letters: &'a mut Vec<u16>,
    /// The length of what is before the last ending that was found.
    stem: usize,
}

impl Word<'_> {
    fn is(&self, at: usize, letter: u8) -> bool {
        self.letters[at] == u16::from(letter)
    }

    fn is_consonant(&self, at: usize) -> bool {
        match u8::try_from(self.letters[at]) {
            Ok(b'a' | b'e' | b'i' | b'o' | b'u') => false,
            Ok(b'y') => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    /// How often consonants follow vowels in the stem.
    fn measure(&self) -> usize {
        // A letter that was cut behind the stem was a vowel, which counts nothing.
        let kinds = (0..self.stem.min(self.letters.len())).map(|at| self.is_consonant(at));
        let mut count = 0;
        let mut before = true;
        for is_consonant in kinds {
            count += usize::from(is_consonant && !before);
            before = is_consonant;
        }
        count
    }

    fn has_vowel(&self) -> bool {
        (0..self.stem).any(|at| !self.is_consonant(at))
    }

    /// Whether the word up to `end` ends with twice the same consonant.
    fn is_double(&self, end: usize) -> bool {
        end > 1 && self.letters[end - 1] == self.letters[end - 2] && self.is_consonant(end - 1)
    }

    /// Whether the word up to `end` ends with a consonant, a vowel and a consonant other than w, x
    /// and y.
    fn is_short(&self, end: usize) -> bool {
        end > 2
            && self.is_consonant(end - 1)
            && !self.is_consonant(end - 2)
            && self.is_consonant(end - 3)
            && ![b'w', b'x', b'y'].iter().any(|letter| self.is(end - 1, *letter))
    }

    fn ends(&mut self, ending: &str) -> bool {
        let found = self.letters.len().checked_sub(ending.len()).filter(|start| {
            self.letters[*start..].iter().zip(ending.bytes()).all(|(letter, byte)| *letter == u16::from(byte))
        });
        self.stem = found.unwrap_or(self.stem);
        found.is_some()
    }

    fn set_ending(&mut self, ending: &str) {
        self.letters.truncate(self.stem);
        self.letters.extend(ending.bytes().map(u16::from));
    }

    fn plurals_and_participles(&mut self) {
        if self.is(self.letters.len() - 1, b's') {
            if self.ends("sses") || self.ends("ies") {
                self.letters.truncate(self.letters.len() - 2);
            } else if !self.is(self.letters.len() - 2, b's') {
                self.letters.pop();
            }
        }
        if self.ends("eed") {
            if self.measure() > 0 {
                self.letters.pop();
            }
        } else if (self.ends("ed") || self.ends("ing")) && self.has_vowel() {
            self.letters.truncate(self.stem);
            if self.ends("at") || self.ends("bl") || self.ends("iz") {
                self.letters.push(u16::from(b'e'));
            } else if self.is_double(self.letters.len()) {
                let last = self.letters.len() - 1;
                if ![b'l', b's', b'z'].iter().any(|letter| self.is(last, *letter)) {
                    self.letters.pop();
                }
            } else if self.measure() == 1 && self.is_short(self.letters.len()) {
                self.letters.push(u16::from(b'e'));
            }
        }
    }

    fn final_y(&mut self) {
        if self.ends("y") && self.has_vowel() {
            self.set_ending("i");
        }
    }

    /// Replaces the first ending that fits, if a consonant follows a vowel before it.
    fn replace_measured(&mut self, endings: &[(&str, &str)]) {
        for (ending, new) in endings {
            if self.ends(ending) {
                if self.measure() > 0 {
                    self.set_ending(new);
                }
                return;
            }
        }
    }

    fn residues(&mut self) {
        let found = if self.ends("ion") {
            // A stem before it ends with s or t; else the ending is not `ion`.
            self.stem > 0 && (self.is(self.stem - 1, b's') || self.is(self.stem - 1, b't'))
        } else {
            RESIDUES.iter().any(|ending| self.ends(ending))
        };
        if found && self.measure() > 1 {
            self.letters.truncate(self.stem);
        }
    }

    fn final_e(&mut self) {
        self.stem = self.letters.len();
        if self.ends_with(b'e') {
            let measure = self.measure();
            if measure > 1 || measure == 1 && !self.is_short(self.letters.len() - 1) {
                self.letters.pop();
            }
        }
        if self.ends_with(b'l') && self.is_double(self.letters.len()) && self.measure() > 1 {
            self.letters.pop();
        }
    }

    fn ends_with(&self, letter: u8) -> bool {
        self.letters.last() == Some(&u16::from(letter))
    }
}
