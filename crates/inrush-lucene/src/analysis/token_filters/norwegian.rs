//! The stemmers of Norwegian.
//!
//! Source: the description of the stemmer of Norwegian at the site of Snowball, and the
//! documentation of Lucene's `NorwegianLightStemmer` and `NorwegianMinimalStemmer`, which name
//! their endings. Those of Lucene 9.12 and 10.5 are the same.

use super::TokenFilter;
use super::stemmers::stem;
use crate::analysis::stream::Stream;

/// Which words are stemmed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norwegian {
    Snowball,
    Light(Written),
    Minimal(Written),
}

/// The two ways to write Norwegian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Bokmaal,
    Nynorsk,
}

impl TokenFilter for Norwegian {
    fn apply(&self, stream: &mut Stream) {
        stem(stream, |word| match self {
            Self::Snowball => snowball(word),
            Self::Light(written) => light(word, *written),
            Self::Minimal(written) => minimal(word, *written),
        });
    }
}

/// Endings of nouns, verbs and adjectives that are cut.
const INFLECTIONS: [&str; 26] = [
    "a", "e", "ede", "ande", "ende", "ane", "ene", "hetene", "en", "heten", "ar", "er", "heter", "as", "es", "edes",
    "endes", "enes", "hetenes", "ens", "hetens", "ers", "ets", "et", "het", "ast",
];
const FURTHER: [&str; 11] = ["leg", "eleg", "ig", "eig", "lig", "elig", "els", "lov", "elov", "slov", "hetslov"];

fn snowball(word: &mut Vec<u16>) {
    let first = region(word);
    let longest = |word: &[u16], endings: &[&'static str]| {
        let fits = endings.iter().filter(|ending| word.len() >= first + ending.len() && ends(word, ending));
        fits.max_by_key(|ending| ending.len()).copied()
    };
    match longest(word, &[INFLECTIONS.as_slice(), &["s", "erte", "ert"]].concat()) {
        Some("s") if !may_end_with_s(&word[..word.len() - 1]) => {}
        Some("erte") => word.truncate(word.len() - 2),
        Some("ert") => word.truncate(word.len() - 1),
        Some(ending) => word.truncate(word.len() - ending.len()),
        None => {}
    }
    if longest(word, &["dt", "vt"]).is_some() {
        word.pop();
    }
    if let Some(ending) = longest(word, &FURTHER) {
        word.truncate(word.len() - ending.len());
    }
}

/// Where the endings may begin: behind the first letter that is no vowel and follows one, but not
/// before the fourth letter.
fn region(word: &[u16]) -> usize {
    let vowel = word.iter().position(|letter| is_vowel(*letter));
    let other = vowel.and_then(|at| Some(at + word[at..].iter().position(|letter| !is_vowel(*letter))?));
    other.filter(|_| word.len() >= 3).map_or(word.len(), |at| (at + 1).max(3))
}

fn is_vowel(letter: u16) -> bool {
    matches!(char::from_u32(letter.into()), Some('a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'å' | 'æ' | 'ø'))
}

/// Whether an ending `s` may be cut behind these letters.
fn may_end_with_s(rest: &[u16]) -> bool {
    match *rest {
        [.., before, k] if k == u16::from(b'k') => !is_vowel(before),
        [.., last] => u8::try_from(last).is_ok_and(|last| b"bcdfghjlmnoprtvyz".contains(&last)),
        [] => false,
    }
}

/// Endings of words longer than a number of letters.
type Rule = (usize, Endings, Endings, Endings);
type Endings = &'static [&'static str];

/// Endings of both ways to write, of Bokmål, and of Nynorsk. The first that fits is cut.
const LIGHT: [Rule; 9] = [
    (7, &[], &["heter", "heten"], &["heita"]),
    (8, &[], &[], &["heiter", "leiken", "leikar"]),
    (5, &["dom"], &["het"], &[]),
    (6, &[], &[], &["heit", "semd", "leik"]),
    (7, &["elser", "elsen"], &[], &[]),
    (6, &["else"], &["ende", "este", "eren"], &["ande", "aste", "aren"]),
    (5, &["ene"], &["ere", "est"], &["are", "ast", "ane"]),
    (4, &["er", "en", "et", "te"], &["st"], &["ar"]),
    (3, &["a", "e", "n"], &[], &[]),
];
const MINIMAL: [Rule; 3] =
    [(5, &["ene"], &[], &["ane"]), (4, &["er", "en", "et"], &[], &["ar"]), (3, &["a", "e"], &[], &[])];

fn light(word: &mut Vec<u16>, written: Written) {
    cut(word, written, &LIGHT);
}

fn minimal(word: &mut Vec<u16>, written: Written) {
    cut(word, written, &MINIMAL);
}

fn cut(word: &mut Vec<u16>, written: Written, rules: &[Rule]) {
    if word.len() > 4 && ends(word, "s") {
        word.pop();
    }
    for (more, both, bokmaal, nynorsk) in rules {
        let own = if written == Written::Bokmaal { bokmaal } else { nynorsk };
        let found = both.iter().chain(*own).find(|ending| ends(word, ending));
        if let Some(ending) = found
            && word.len() > *more
        {
            return word.truncate(word.len() - ending.len());
        }
    }
}

/// Whether a word ends with letters of ASCII.
fn ends(word: &[u16], ending: &str) -> bool {
    let at = word.len().checked_sub(ending.len());
    at.is_some_and(|at| word[at..].iter().copied().eq(ending.bytes().map(u16::from)))
}

#[cfg(test)]
mod tests {
    use super::{Norwegian, Written};
    use crate::analysis::stream::Stream;
    use crate::analysis::token_filters::TokenFilter;

    fn stems(filter: Norwegian, words: &str) -> String {
        let stem = |word: &str| {
            let mut stream = Stream::default();
            stream.start(word);
            stream.cut(|text, push| push(0..text.len()));
            filter.apply(&mut stream);
            stream.terms().map(|(_, term)| term.to_owned()).collect::<String>()
        };
        words.split(' ').map(stem).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn snowball() {
        assert_eq!(stems(Norwegian::Snowball, "havnedistriktene havnedistriktet opning opninga"), {
            "havnedistrikt havnedistrikt opning opning"
        });
        assert_eq!(stems(Norwegian::Snowball, "hjertet kjørte vert godt lovt hus buks verks år ærlighetens"), {
            "hjert kjørt vert godt lovt hus buks verk år ærl"
        });
    }

    #[test]
    fn light_and_minimal() {
        let words = "bilens hemmeligheter verksemd kristendom føleren gutane finaste kaker trygg";
        let light = |written| stems(Norwegian::Light(written), words);
        assert_eq!(light(Written::Bokmaal), "bil hemmelig verksemd kristen føl gutan finas kak trygg");
        assert_eq!(light(Written::Nynorsk), "bil hemmelighet verk kristen føler gut fin kak trygg");
        let minimal = |written| stems(Norwegian::Minimal(written), words);
        assert_eq!(minimal(Written::Bokmaal), "bil hemmelighet verksemd kristendom føler gutan finast kak trygg");
        assert_eq!(minimal(Written::Nynorsk), "bil hemmelighet verksemd kristendom føler gut finast kak trygg");
    }
}
