//! The light stemmers of German, Spanish, Italian and French, and the minimal ones of German and
//! French.
//!
//! Source: J. Savoy's stemmers of the University of Neuchâtel, as the documentation of Lucene's
//! `GermanLightStemmer`, `GermanMinimalStemmer`, `SpanishLightStemmer`, `ItalianLightStemmer`,
//! `FrenchLightStemmer` and `FrenchMinimalStemmer` describes them.

use super::TokenFilter;
use super::stemmers::stem;
use crate::analysis::is_letter;
use crate::analysis::stream::Stream;

/// Which words are stemmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Light {
    German,
    MinimalGerman,
    Spanish,
    Italian,
    French,
    MinimalFrench,
}

impl TokenFilter for Light {
    fn apply(&self, stream: &mut Stream) {
        stem(stream, |letters| {
            let mut word = Word(letters);
            match self {
                Self::German => word.german(),
                Self::MinimalGerman => word.minimal_german(),
                Self::Spanish => word.spanish(),
                Self::Italian => word.italian(),
                Self::French => {
                    word.french();
                    word.french_norm();
                }
                Self::MinimalFrench => word.minimal_french(),
            }
        });
    }
}

/// Endings of French with what becomes of them, in words longer than the number of letters.
/// The longer ones come first.
const AGENTS: [(usize, &str, &str); 6] = [
    (11, "ficatrice", "fier"),
    (10, "ficateur", "fier"),
    (9, "catrice", "quer"),
    (8, "cateur", "quer"),
    (8, "atrice", "er"),
    (7, "ateur", "er"),
];
const OTHERS: [(usize, &str, &str); 10] = [
    (5, "ième", ""),
    (7, "teuse", "ter"),
    (6, "teur", "ter"),
    (5, "euse", "eu"),
    (8, "ère", "er"),
    (7, "ive", "if"),
    (4, "folle", "fou"),
    (4, "molle", "mou"),
    (9, "nnelle", "n"),
    (9, "nnel", "n"),
];

struct Word<'a>(&'a mut Vec<u16>);

impl Word<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    /// A letter counted from the end; the last one is 1.
    fn letter(&self, back: usize) -> char {
        let unit = self.0.len().checked_sub(back).map_or(0, |at| self.0[at]);
        char::from_u32(u32::from(unit)).unwrap_or('\0')
    }

    fn set(&mut self, back: usize, letter: char) {
        if let Some(at) = self.0.len().checked_sub(back) {
            self.0[at] = letter as u16;
        }
    }

    fn cut(&mut self, count: usize) {
        self.0.truncate(self.0.len().saturating_sub(count));
    }

    fn ends(&self, ending: &str) -> bool {
        ending.chars().rev().zip(1..).all(|(letter, back)| self.letter(back) == letter)
    }

    /// Replaces letters by those at the same place of another text.
    fn fold(&mut self, from: &str, to: &str) {
        for unit in self.0.iter_mut() {
            let found = from.chars().zip(to.chars()).find(|(from, _)| *unit == *from as u16);
            if let Some((_, to)) = found {
                *unit = to as u16;
            }
        }
    }

    fn german(&mut self) {
        self.fold("äàáâöòóôïìíîüùúû", "aaaaooooiiiiuuuu");
        let may_have_ending = |letter| "bdfghklmnt".contains(letter);
        if self.len() > 5 && self.ends("ern") {
            self.cut(3);
        } else if self.len() > 4 && self.letter(2) == 'e' && "mnrs".contains(self.letter(1)) {
            self.cut(2);
        } else if self.len() > 3 && (self.ends("e") || self.ends("s") && may_have_ending(self.letter(2))) {
            self.cut(1);
        }
        if self.len() > 5 && self.ends("est") {
            self.cut(3);
        } else if self.len() > 4
            && (self.ends("er") || self.ends("en") || self.ends("st") && may_have_ending(self.letter(3)))
        {
            self.cut(2);
        }
    }

    fn minimal_german(&mut self) {
        if self.len() < 5 {
            return;
        }
        self.fold("äöü", "aou");
        if self.len() > 6 && self.ends("nen") {
            self.cut(3);
        } else if self.len() > 5 && ["en", "se", "es", "er"].iter().any(|ending| self.ends(ending)) {
            self.cut(2);
        } else if "nesr".contains(self.letter(1)) {
            self.cut(1);
        }
    }

    fn spanish(&mut self) {
        if self.len() < 5 {
            return;
        }
        self.fold("àáâäòóôöèéêëùúûüìíîï", "aaaaooooeeeeuuuuiiii");
        if "oae".contains(self.letter(1)) {
            self.cut(1);
        } else if self.ends("eses") {
            self.cut(2);
        } else if self.ends("ces") {
            self.set(3, 'z');
            self.cut(2);
        } else if self.ends("os") || self.ends("as") || self.ends("es") {
            self.cut(2);
        }
    }

    fn italian(&mut self) {
        if self.len() < 6 {
            return;
        }
        self.fold("àáâäòóôöèéêëùúûüìíîï", "aaaaooooeeeeuuuuiiii");
        let before = self.letter(2);
        match self.letter(1) {
            'e' | 'i' => self.cut(if before == 'i' || before == 'h' { 2 } else { 1 }),
            'a' | 'o' => self.cut(if before == 'i' { 2 } else { 1 }),
            _ => {}
        }
    }

    fn minimal_french(&mut self) {
        if self.len() < 6 {
            return;
        }
        if self.ends("x") {
            if self.ends("aux") {
                self.set(2, 'l');
            }
            return self.cut(1);
        }
        for ending in ["s", "r", "e", "é"] {
            if self.ends(ending) {
                self.cut(1);
            }
        }
        self.single();
    }

    /// Cuts the second of two letters at the end that are the same.
    fn single(&mut self) {
        if self.letter(1) == self.letter(2) && is_letter(self.letter(1)) {
            self.cut(1);
        }
    }

    /// Takes an ending of words that are longer than `more`, and puts another one in its place.
    fn replaces(&mut self, more: usize, ending: &str, new: &str) -> bool {
        let fits = self.len() > more && self.ends(ending);
        if fits {
            self.cut(ending.chars().count());
            self.0.extend(new.encode_utf16());
        }
        fits
    }

    fn french(&mut self) {
        if self.len() > 5 && self.ends("x") {
            if self.ends("aux") && self.letter(4) != 'e' {
                self.set(2, 'l');
            }
            self.cut(1);
        }
        let _ = self.replaces(3, "x", "");
        let _ = self.replaces(3, "s", "");
        if self.replaces(9, "issement", "ir") || self.replaces(8, "issant", "ir") {
            return;
        }
        if self.replaces(6, "ement", "e") {
            let _ = self.replaces(3, "ive", "if");
            return;
        }
        if AGENTS.iter().any(|(more, ending, new)| self.replaces(*more, ending, new)) {
            return;
        }
        let _ = self.replaces(6, "trice", "teur");
        if OTHERS.iter().any(|(more, ending, new)| self.replaces(*more, ending, new)) {
            return;
        }
        let _ = self.replaces(4, "ète", "et");
        let _ = self.replaces(8, "ique", "");
        if self.replaces(8, "esse", "e") || self.replaces(7, "inage", "in") {
            return;
        }
        if self.replaces(9, "isation", "") {
            if self.len() > 5 && self.ends("ual") {
                self.set(2, 'e');
            }
            return;
        }
        let _ = self.replaces(9, "isateur", "") || self.replaces(8, "ation", "") || self.replaces(8, "ition", "");
    }

    fn french_norm(&mut self) {
        if self.len() > 4 {
            self.fold("àáâôèéêùûîç", "aaaoeeeuuic");
            self.0.dedup_by(|letter, before| {
                letter == before && char::from_u32(u32::from(*letter)).is_some_and(is_letter)
            });
        }
        let _ = self.replaces(4, "ie", "");
        if self.len() > 4 {
            for ending in ["r", "e", "e"] {
                if self.ends(ending) {
                    self.cut(1);
                }
            }
            self.single();
        }
    }
}
