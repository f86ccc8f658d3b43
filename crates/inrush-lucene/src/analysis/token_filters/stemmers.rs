//! `stemmer` and `snowball`, by their languages, and the small stemmers of English.
//!
//! Source: the documentation of the servers' token filters `stemmer` and `snowball`, and of
//! Lucene's `EnglishPossessiveFilter` and `EnglishMinimalStemmer` (D. Harman's "S stemmer").

use super::TokenFilter;
use super::indic::Indic;
use super::kstem::KStem;
use super::light::Light;
use super::norwegian::{Norwegian, Written};
use super::porter::Porter;
use super::porter2;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::{Stream, Token};

/// Stems all terms that are not marked as keywords, in units of UTF-16.
pub(super) fn stem(stream: &mut Stream, stem: impl Fn(&mut Vec<u16>)) {
    change(stream, |token| !token.keyword, stem);
}

/// Changes some terms, in units of UTF-16.
pub(super) fn change(stream: &mut Stream, is_changed: impl Fn(&Token) -> bool, change: impl Fn(&mut Vec<u16>)) {
    let mut word: Vec<u16> = Vec::new();
    stream.map(|token, term, out| {
        if !is_changed(token) {
            return false;
        }
        word.clear();
        word.extend(term.encode_utf16());
        change(&mut word);
        out.extend(char::decode_utf16(word.iter().copied()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        true
    });
}

/// The parameter `language`, which may be written as `name`.
fn language<'a>(p: &mut Parameters<'a>, default: &'a str) -> Result<&'a str, String> {
    let (language, name) = (p.text("language")?, p.text("name")?);
    Ok(language.or(name).unwrap_or(default))
}

pub(super) fn stemmer(p: &mut Parameters) -> Result<Box<dyn TokenFilter>, String> {
    Ok(match language(p, "porter")?.to_ascii_lowercase().as_str() {
        "english" | "porter" => Box::new(Porter),
        "light_english" | "lightenglish" | "kstem" => Box::new(KStem),
        "porter2" => Box::new(Porter2),
        "minimal_english" | "minimalenglish" => Box::new(MinimalEnglish),
        "possessive_english" | "possessiveenglish" => Box::new(PossessiveEnglish),
        "arabic" => Box::new(Indic::ArabicStems),
        "bengali" => Box::new(Indic::BengaliStems),
        "hindi" => Box::new(Indic::HindiStems),
        "light_german" | "lightgerman" => Box::new(Light::German),
        "minimal_german" | "minimalgerman" => Box::new(Light::MinimalGerman),
        "light_spanish" | "lightspanish" => Box::new(Light::Spanish),
        "light_italian" | "lightitalian" => Box::new(Light::Italian),
        "light_french" | "lightfrench" => Box::new(Light::French),
        "norwegian" => Box::new(Norwegian::Snowball),
        "light_norwegian" | "lightnorwegian" => Box::new(Norwegian::Light(Written::Bokmaal)),
        "light_nynorsk" | "lightnynorsk" => Box::new(Norwegian::Light(Written::Nynorsk)),
        "minimal_norwegian" | "minimalnorwegian" => Box::new(Norwegian::Minimal(Written::Bokmaal)),
        "minimal_nynorsk" | "minimalnynorsk" => Box::new(Norwegian::Minimal(Written::Nynorsk)),
        "minimal_french" | "minimalfrench" => Box::new(Light::MinimalFrench),
        _ => return Err(p.refuse("language")),
    })
}

pub(super) fn snowball(p: &mut Parameters) -> Result<Box<dyn TokenFilter>, String> {
    match language(p, "English")? {
        "English" | "english" => Ok(Box::new(Porter2)),
        "Norwegian" | "norwegian" => Ok(Box::new(Norwegian::Snowball)),
        _ => Err(p.refuse("language")),
    }
}

struct Porter2;

impl TokenFilter for Porter2 {
    fn apply(&self, stream: &mut Stream) {
        stem(stream, porter2::stem);
    }
}

/// Cuts the ending `'s`.
pub(in crate::analysis) struct PossessiveEnglish;

impl TokenFilter for PossessiveEnglish {
    fn apply(&self, stream: &mut Stream) {
        stream.shorten(|_, term| {
            let rest = term.strip_suffix(['s', 'S']).and_then(|term| term.strip_suffix(['\'', '’', '＇']));
            0..rest.unwrap_or(term).len()
        });
    }
}

/// Makes singulars of plurals.
struct MinimalEnglish;

impl TokenFilter for MinimalEnglish {
    fn apply(&self, stream: &mut Stream) {
        stem(stream, |word| {
            let letter = |back: usize| word.len().checked_sub(back).and_then(|at| u8::try_from(word[at]).ok());
            if word.len() < 3 || letter(1) != Some(b's') {
                return;
            }
            match (letter(4), letter(3), letter(2)) {
                (_, _, Some(b'u' | b's')) => {}
                (fourth, Some(b'i'), Some(b'e')) if word.len() > 3 && !matches!(fourth, Some(b'a' | b'e')) => {
                    word.truncate(word.len() - 3);
                    word.push(u16::from(b'y'));
                }
                (_, Some(b'i' | b'a' | b'o' | b'e'), Some(b'e')) => {}
                _ => {
                    word.pop();
                }
            }
        });
    }
}
