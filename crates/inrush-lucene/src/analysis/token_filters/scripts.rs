//! Filters that make one character of several that are written alike.
//!
//! Source: the documentation of Lucene's `DecimalDigitFilter`, `CJKWidthFilter`,
//! `GermanNormalizationFilter` (after Snowball's German2), `ScandinavianFoldingFilter`,
//! `ScandinavianNormalizationFilter`, `ArabicNormalizer`, `PersianNormalizer` and
//! `SoraniNormalizer`.

use super::TokenFilter;
use crate::analysis::classes_of_java::{digit, is_format};
use crate::analysis::stream::Stream;

/// Digits of all scripts become those of ASCII.
pub(super) struct DecimalDigit;

impl TokenFilter for DecimalDigit {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|_, term, out| {
            out.extend(term.chars().map(|c| if c.is_ascii() { c } else { digit(c).unwrap_or(c) }));
            !term.is_ascii()
        });
    }
}

/// Wide letters become narrow ones, and narrow Katakana wide ones.
pub(super) struct CjkWidth;

/// The wide Katakana of U+FF65 to U+FF9F.
const KATAKANA: [char; 59] = [
    '・', 'ヲ', 'ァ', 'ィ', 'ゥ', 'ェ', 'ォ', 'ャ', 'ュ', 'ョ', 'ッ', 'ー', 'ア', 'イ', 'ウ', 'エ', 'オ', 'カ', 'キ',
    'ク', 'ケ', 'コ', 'サ', 'シ', 'ス', 'セ', 'ソ', 'タ', 'チ', 'ツ', 'テ', 'ト', 'ナ', 'ニ', 'ヌ', 'ネ', 'ノ', 'ハ',
    'ヒ', 'フ', 'ヘ', 'ホ', 'マ', 'ミ', 'ム', 'メ', 'モ', 'ヤ', 'ユ', 'ヨ', 'ラ', 'リ', 'ル', 'レ', 'ロ', 'ワ', 'ン',
    '\u{3099}', '\u{309a}',
];

/// Katakana with a mark behind it.
fn marked(c: char, mark: char) -> Option<char> {
    let further = match (c, mark) {
        ('ウ', '\u{ff9e}') => 78,
        ('カ'..='ヂ', '\u{ff9e}') if u32::from(c) % 2 == 1 => 1,
        ('ツ' | 'テ' | 'ト', '\u{ff9e}') => 1,
        ('ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ', '\u{ff9e}') => 1,
        ('ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ', '\u{ff9f}') => 2,
        ('ワ'..='ヲ', '\u{ff9e}') => 8,
        ('ヽ', '\u{ff9e}') => 1,
        _ => return None,
    };
    char::from_u32(u32::from(c) + further)
}

impl TokenFilter for CjkWidth {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|_, term, out| {
            for c in term.chars() {
                match c {
                    '\u{ff01}'..='\u{ff5e}' => out.extend(char::from_u32(u32::from(c) - 0xfee0)),
                    '\u{ff65}'..='\u{ff9f}' => {
                        let with_mark = out.chars().next_back().and_then(|before| marked(before, c));
                        if let Some(marked) = with_mark {
                            out.pop();
                            out.push(marked);
                        } else {
                            out.push(KATAKANA[(u32::from(c) - 0xff65) as usize]);
                        }
                    }
                    c => out.push(c),
                }
            }
            !term.is_ascii()
        });
    }
}

/// German umlauts become vowels, also where they are written with an e.
pub(super) struct German;

impl TokenFilter for German {
    fn apply(&self, stream: &mut Stream) {
        /// What an `e` or `u` would be.
        #[derive(PartialEq)]
        enum Behind {
            Others,
            /// A vowel before which `u` is one of its own.
            Vowel,
            /// A vowel that may become an umlaut.
            Umlaut,
        }
        stream.map(|_, term, out| {
            let mut behind = Behind::Others;
            for c in term.chars() {
                behind = match c {
                    'e' if behind == Behind::Umlaut => {
                        behind = Behind::Vowel;
                        continue;
                    }
                    'a' | 'o' => Behind::Umlaut,
                    'u' if behind == Behind::Others => Behind::Umlaut,
                    'u' | 'e' | 'i' | 'q' | 'y' | 'ä' | 'ö' | 'ü' => Behind::Vowel,
                    _ => Behind::Others,
                };
                match c {
                    'ä' => out.push('a'),
                    'ö' => out.push('o'),
                    'ü' => out.push('u'),
                    'ß' => out.push_str("ss"),
                    c => out.push(c),
                }
            }
            true
        });
    }
}

/// Vowels of Scandinavian languages: one form of each, or, folded, `a` and `o`.
pub(super) struct Scandinavian {
    pub(super) folds: bool,
}

impl TokenFilter for Scandinavian {
    fn apply(&self, stream: &mut Stream) {
        let pick = |folded, normal| if self.folds { folded } else { normal };
        stream.map(|_, term, out| {
            let mut rest = term.chars();
            while let Some(c) = rest.next() {
                let second = rest.clone().next().map(|c| c.to_ascii_lowercase());
                let (new, both) = match (c, second) {
                    ('ä' | 'æ', _) => (pick('a', 'æ'), false),
                    ('Ä' | 'Æ', _) => (pick('A', 'Æ'), false),
                    ('ö' | 'ø', _) => (pick('o', 'ø'), false),
                    ('Ö' | 'Ø', _) => (pick('O', 'Ø'), false),
                    ('å', _) => (pick('a', 'å'), false),
                    ('Å', _) => (pick('A', 'Å'), false),
                    ('a', Some('a' | 'o')) => (pick('a', 'å'), true),
                    ('A', Some('a' | 'o')) => (pick('A', 'Å'), true),
                    ('a', Some('e')) => (pick('a', 'æ'), true),
                    ('A', Some('e')) => (pick('A', 'Æ'), true),
                    ('o', Some('e' | 'o')) => (pick('o', 'ø'), true),
                    ('O', Some('e' | 'o')) => (pick('O', 'Ø'), true),
                    (c, _) => (c, false),
                };
                out.push(new);
                if both {
                    rest.next();
                }
            }
            true
        });
    }
}

/// What Arabic has between its letters, and how long a line is.
fn is_arabic_mark(c: char) -> bool {
    matches!(c, '\u{640}' | '\u{64b}'..='\u{652}')
}

pub(super) struct Arabic;

impl TokenFilter for Arabic {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|_, term, out| {
            out.extend(term.chars().filter(|c| !is_arabic_mark(*c)).map(|c| match c {
                '\u{622}' | '\u{623}' | '\u{625}' => '\u{627}',
                '\u{649}' => '\u{64a}',
                '\u{629}' => '\u{647}',
                c => c,
            }));
            !term.is_ascii()
        });
    }
}

pub(super) struct Persian;

impl TokenFilter for Persian {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|_, term, out| {
            out.extend(term.chars().filter(|c| *c != '\u{654}').map(|c| match c {
                '\u{6cc}' | '\u{6d2}' => '\u{64a}',
                '\u{6a9}' => '\u{643}',
                '\u{6c0}' | '\u{6c1}' => '\u{647}',
                c => c,
            }));
            !term.is_ascii()
        });
    }
}

pub(super) struct Sorani;

impl TokenFilter for Sorani {
    fn apply(&self, stream: &mut Stream) {
        const AE: char = '\u{6d5}';
        stream.map(|_, term, out| {
            for (at, c) in term.char_indices() {
                match c {
                    '\u{64a}' | '\u{649}' => out.push('\u{6cc}'),
                    '\u{643}' => out.push('\u{6a9}'),
                    '\u{200c}' if out.ends_with('\u{647}') => {
                        out.pop();
                        out.push(AE);
                    }
                    '\u{647}' if at + c.len_utf8() == term.len() => out.push(AE),
                    '\u{629}' => out.push(AE),
                    '\u{6be}' => out.push('\u{647}'),
                    '\u{631}' if out.is_empty() => out.push('\u{695}'),
                    '\u{692}' => out.push('\u{695}'),
                    c if is_arabic_mark(c) || is_format(c) && c.len_utf16() == 1 => {}
                    c => out.push(c),
                }
            }
            !term.is_ascii()
        });
    }
}
