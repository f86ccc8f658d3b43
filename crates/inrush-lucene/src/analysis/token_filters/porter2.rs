//! The `snowball` stemmer of English, which is also the `stemmer` `porter2`.
//!
//! Source: the description of "The English (Porter2) stemming algorithm" of the project Snowball,
//! in its version of 2.0.

/// Stems a word.
pub(super) fn stem(word: &mut Vec<u16>) {
    if word.len() < 3 {
        return;
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(exception, _)| is(word, exception)) {
        *word = stem.encode_utf16().collect();
        return;
    }
    let mut word = Word::new(word);
    word.possessive();
    word.plural();
    if !STAYING.iter().any(|staying| is(word.letters, staying)) {
        word.participle();
        word.final_y();
        word.second();
        word.third();
        word.fourth();
        word.final_letter();
    }
    if word.has_marks {
        for letter in word.letters.iter_mut().filter(|letter| **letter == CONSONANT_Y) {
            *letter = u16::from(b'y');
        }
    }
}

fn is(word: &[u16], text: &str) -> bool {
    word.len() == text.len() && word.iter().zip(text.bytes()).all(|(letter, byte)| *letter == u16::from(byte))
}

const EXCEPTIONS: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];
/// Words that stay so after the step of plurals.
const STAYING: [&str; 8] = ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];
/// Beginnings behind which the first region is.
const BEGINNINGS: [&str; 3] = ["gener", "commun", "arsen"];
/// The letter `Y`, which marks a y that is a consonant.
const CONSONANT_Y: u16 = b'Y' as u16;

const SECOND: [(&str, &str); 24] = [
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("entli", "ent"),
    ("izer", "ize"),
    ("ization", "ize"),
    ("ational", "ate"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("alli", "al"),
    ("fulness", "ful"),
    ("ousli", "ous"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("fulli", "ful"),
    ("lessli", "less"),
    ("li", ""),
];
const THIRD: [(&str, &str); 9] = [
    ("tional", "tion"),
    ("ational", "ate"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
    ("ative", ""),
];
const FOURTH: [(&str, &str); 18] = [
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
    ("ion", ""),
];

struct Word<'a> {
    letters: &'a mut Vec<u16>,
    /// Whether a letter was marked as a consonant.
    has_marks: bool,
    /// Where the regions begin: behind the first consonant that follows a vowel, and behind the
    /// next one.
    first: usize,
    second: usize,
}

fn is_vowel(letter: u16) -> bool {
    matches!(u8::try_from(letter), Ok(b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
}

impl<'a> Word<'a> {
    fn new(letters: &'a mut Vec<u16>) -> Self {
        if letters[0] == u16::from(b'\'') {
            letters.remove(0);
        }
        let mut has_marks = false;
        for at in 0..letters.len() {
            if letters[at] == u16::from(b'y') && (at == 0 || is_vowel(letters[at - 1])) {
                letters[at] = CONSONANT_Y;
                has_marks = true;
            }
        }
        let beginning = BEGINNINGS
            .iter()
            .find(|beginning| letters.len() >= beginning.len() && is(&letters[..beginning.len()], beginning));
        let first = beginning.map_or_else(|| behind(letters, 0), |beginning| beginning.len());
        let second = behind(letters, first);
        Self { letters, has_marks, first, second }
    }

    fn ends(&self, ending: &str) -> bool {
        self.letters.len() >= ending.len() && is(&self.letters[self.letters.len() - ending.len()..], ending)
    }

    /// The longest of some endings that the word has, with where it begins.
    fn longest<'e>(&self, endings: &[(&'e str, &'e str)]) -> Option<(usize, &'e str, &'e str)> {
        let found = endings.iter().filter(|(ending, _)| self.ends(ending)).max_by_key(|(ending, _)| ending.len());
        found.map(|(ending, new)| (self.letters.len() - ending.len(), *ending, *new))
    }

    fn replace(&mut self, start: usize, new: &str) {
        self.letters.truncate(start);
        self.letters.extend(new.encode_utf16());
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.letters[..end].iter().any(|letter| is_vowel(*letter))
    }

    /// Whether the word up to `end` ends with a short syllable.
    fn is_short(&self, end: usize) -> bool {
        if end < 2 {
            return false;
        }
        let letter = |back: usize| self.letters[end - back];
        let closed = !is_vowel(letter(1)) && ![b'w', b'x', b'Y'].iter().any(|c| letter(1) == u16::from(*c));
        if end == 2 {
            return !is_vowel(letter(1)) && is_vowel(letter(2));
        }
        closed && is_vowel(letter(2)) && !is_vowel(letter(3))
    }

    fn possessive(&mut self) {
        if let Some((start, ..)) = self.longest(&[("'", ""), ("'s", ""), ("'s'", "")]) {
            self.letters.truncate(start);
        }
    }

    fn plural(&mut self) {
        match self.longest(&[("sses", "ss"), ("ied", "i"), ("ies", "i"), ("us", ""), ("ss", ""), ("s", "")]) {
            Some((start, "sses", new)) => self.replace(start, new),
            Some((start, "ied" | "ies", _)) => self.replace(start, if start > 1 { "i" } else { "ie" }),
            Some((start, "s", _)) if start > 0 && self.has_vowel_before(start - 1) => self.letters.truncate(start),
            _ => {}
        }
    }

    fn participle(&mut self) {
        let endings = [("eed", ""), ("eedly", ""), ("ed", ""), ("edly", ""), ("ing", ""), ("ingly", "")];
        match self.longest(&endings) {
            Some((start, "eed" | "eedly", _)) if start < self.first => {}
            Some((start, "eed" | "eedly", _)) => self.replace(start, "ee"),
            Some((start, ..)) if self.has_vowel_before(start) => {
                self.letters.truncate(start);
                let double = ["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"];
                if ["at", "bl", "iz"].iter().any(|ending| self.ends(ending)) {
                    self.letters.push(u16::from(b'e'));
                } else if double.iter().any(|ending| self.ends(ending)) {
                    self.letters.pop();
                } else if self.letters.len() == self.first && self.is_short(self.letters.len()) {
                    self.letters.push(u16::from(b'e'));
                }
            }
            _ => {}
        }
    }

    fn final_y(&mut self) {
        let last = self.letters.len().wrapping_sub(1);
        if (self.ends("y") || self.ends("Y")) && last > 1 && !is_vowel(self.letters[last - 1]) {
            self.letters[last] = u16::from(b'i');
        }
    }

    fn second(&mut self) {
        let Some((start, ending, new)) = self.longest(&SECOND) else { return };
        let before = start.checked_sub(1).and_then(|at| u8::try_from(self.letters[at]).ok());
        let fits = match ending {
            "ogi" => before == Some(b'l'),
            "li" => before.is_some_and(|before| b"cdeghkmnrt".contains(&before)),
            _ => true,
        };
        if start >= self.first && fits {
            self.replace(start, new);
        }
    }

    fn third(&mut self) {
        match self.longest(&THIRD) {
            Some((start, "ative", _)) if start < self.second => {}
            Some((start, _, new)) if start >= self.first => self.replace(start, new),
            _ => {}
        }
    }

    fn fourth(&mut self) {
        let Some((start, ending, _)) = self.longest(&FOURTH) else { return };
        let before = start.checked_sub(1).map(|at| self.letters[at]);
        let fits = ending != "ion" || before == Some(u16::from(b's')) || before == Some(u16::from(b't'));
        if start >= self.second && fits {
            self.letters.truncate(start);
        }
    }

    fn final_letter(&mut self) {
        let Some(last) = self.letters.len().checked_sub(1) else { return };
        let cut = if self.ends("e") {
            last >= self.second || last >= self.first && !self.is_short(last)
        } else {
            self.ends("ll") && last >= self.second
        };
        if cut {
            self.letters.pop();
        }
    }
}

/// Where a region begins: behind the first consonant that follows a vowel from `start` on.
fn behind(letters: &[u16], start: usize) -> usize {
    let vowel = letters[start..].iter().position(|letter| is_vowel(*letter)).map(|at| start + at);
    let consonant = vowel.and_then(|at| letters[at..].iter().position(|letter| !is_vowel(*letter)).map(|n| at + n));
    consonant.map_or(letters.len(), |at| at + 1)
}
