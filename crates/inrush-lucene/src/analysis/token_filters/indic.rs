//! Normalizations and stemmers of languages of India, and the stemmer of Arabic.
//!
//! Source: the documentation of Lucene's `IndicNormalizer`, `HindiNormalizer`, `HindiStemmer` (A.
//! Ramanathan and D. Rao, "A Lightweight Stemmer for Hindi"), `BengaliNormalizer`, `BengaliStemmer`
//! and `ArabicStemmer` (L. Larkey, L. Ballesteros and M. Connell, "Light Stemming for Arabic").

use super::TokenFilter;
use super::stemmers::{change, stem};
use crate::analysis::stream::Stream;

pub(super) enum Indic {
    Normalization,
    HindiNormalization,
    BengaliNormalization,
    HindiStems,
    BengaliStems,
    ArabicStems,
}

impl TokenFilter for Indic {
    fn apply(&self, stream: &mut Stream) {
        match self {
            Self::Normalization => change(stream, |_| true, compose),
            Self::HindiNormalization => stem(stream, normalize_hindi),
            Self::BengaliNormalization => stem(stream, normalize_bengali),
            Self::HindiStems => stem(stream, |word| cut_ending(word, &HINDI)),
            Self::BengaliStems => stem(stream, |word| cut_ending(word, &BENGALI)),
            Self::ArabicStems => stem(stream, stem_arabic),
        }
    }
}

/// Cuts the first ending of a list, if more than one letter is before it.
fn cut_ending(word: &mut Vec<u16>, endings: &[(usize, &str)]) {
    let ends = |ending: &str| word.ends_with(&ending.encode_utf16().collect::<Vec<_>>());
    let found = endings.iter().find(|(len, all)| word.len() > len + 1 && all.split(' ').any(ends));
    if let Some((len, _)) = found {
        word.truncate(word.len() - len);
    }
}

/// How many letters of an ending are cut, and the endings.
#[rustfmt::skip]
const HINDI: [(usize, &str); 5] = [
    (5, "ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां"),
    (4, "ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियाँ ियों \
        ियां"),
    (3, "ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं"),
    (2, "कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें"),
    (1, "ो े ू ु ी ि ा"),
];

/// The same of Bengali.
#[rustfmt::skip]
const BENGALI: [(usize, &str); 8] = [
    (8, "িয়াছিলাম িতেছিলাম িতেছিলেন ইতেছিলেন িয়াছিলেন ইয়াছিলেন"),
    (7, "িতেছিলি িতেছিলে িয়াছিলা িয়াছিলে িতেছিলা িয়াছিলি য়েদেরকে"),
    (6, "িতেছিস িতেছেন িয়াছিস িয়াছেন েছিলাম েছিলেন েদেরকে"),
    (5, "িতেছি িতেছা িতেছে ছিলাম ছিলেন িয়াছি িয়াছা িয়াছে েছিলে েছিলা য়েদের দেরকে"),
    (4, "িলাম িলেন িতাম িতেন িবেন ছিলি ছিলে ছিলা তেছে িতেছ খানা খানি গুলো গুলি য়েরা েদের"),
    (3, "লাম িলি ইলি িলে ইলে লেন িলা ইলা তাম িতি ইতি িতে ইতে তেন িতা িবা ইবা িবি ইবি বেন িবে \
        ইবে ছেন য়োন য়ের েরা দের"),
    (2, "িস েন লি লে লা তি তে তা বি বে বা ছি ছা ছে ুন ুক টা টি নি ের রা কে"),
    (1, "ি ী া ো ে ব ত"),
];

/// Letters of Hindi and those that they become.
#[rustfmt::skip]
const ALIKE: [(u16, u16); 34] = [
    (0x0901, 0x0902), (0x0929, 0x0928), (0x0931, 0x0930), (0x0934, 0x0933), (0x0958, 0x0915),
    (0x0959, 0x0916), (0x095a, 0x0917), (0x095b, 0x091c), (0x095c, 0x0921), (0x095d, 0x0922),
    (0x095e, 0x092b), (0x095f, 0x092f), (0x0945, 0x0947), (0x0946, 0x0947), (0x0949, 0x094b),
    (0x094a, 0x094b), (0x090d, 0x090f), (0x090e, 0x090f), (0x0911, 0x0913), (0x0912, 0x0913),
    (0x0972, 0x0905), (0x0906, 0x0905), (0x0908, 0x0907), (0x090a, 0x0909), (0x0960, 0x090b),
    (0x0961, 0x090c), (0x0910, 0x090f), (0x0914, 0x0913), (0x0940, 0x093f), (0x0942, 0x0941),
    (0x0944, 0x0943), (0x0963, 0x0962), (0x0948, 0x0947), (0x094c, 0x094b),
];

fn normalize_hindi(word: &mut Vec<u16>) {
    const N: u16 = 0x928;
    const VIRAMA: u16 = 0x94d;
    let before = std::mem::take(word);
    let mut letters = before.iter().copied().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            N if letters.next_if_eq(&VIRAMA).is_some() => word.push(0x902),
            // Marks below and joiners.
            0x93c | VIRAMA | 0x200c | 0x200d => {}
            _ => word.push(ALIKE.iter().find(|(from, _)| *from == letter).map_or(letter, |(_, to)| *to)),
        }
    }
}

fn normalize_bengali(word: &mut Vec<u16>) {
    const HASANTA: u16 = 0x9cd;
    let mut at = 0;
    while at < word.len() {
        // What is before is already changed.
        let joins = at >= 1 && word[at - 1] == HASANTA;
        match word[at] {
            0x981 => {
                word.remove(at);
                continue;
            }
            0x9c0 => word[at] = 0x9bf,
            0x9c2 => word[at] = 0x9c1,
            0x995 if word[at + 1..].starts_with(&[HASANTA, 0x9bf]) => {
                let first = usize::from(at > 0);
                word[at + first] = 0x996;
                word.drain(at + first + 1..at + 3);
            }
            0x999 => word[at] = 0x982,
            0x9af if joins && at == 2 => {
                word[at - 1] = 0x9c7;
                let vowel = usize::from(word.get(at + 1) == Some(&0x9be));
                word.drain(at..=at + vowel);
                continue;
            }
            0x9af if joins => {
                word.drain(at - 1..=at);
                at -= 1;
                continue;
            }
            0x9ac if joins && (at == 2 || at >= 5 && word[at - 3] == HASANTA) => {
                word.drain(at - 1..=at);
                at -= 1;
                continue;
            }
            0x9ac if joins && at >= 2 => {
                word[at - 1] = word[at - 2];
                word.remove(at);
                continue;
            }
            0x983 if at + 1 < word.len() => word[at] = word[at + 1],
            0x983 if word.len() <= 3 => word[at] = 0x9b9,
            0x983 => {
                word.remove(at);
            }
            0x9b6 | 0x9b7 => word[at] = 0x9b8,
            0x9a3 => word[at] = 0x9a8,
            0x9dc | 0x9dd => word[at] = 0x9b0,
            0x9ce => word[at] = 0x9a4,
            _ => {}
        }
        at += 1;
    }
}

fn stem_arabic(word: &mut Vec<u16>) {
    const PREFIXES: [&str; 7] = [
        "\u{627}\u{644}",
        "\u{648}\u{627}\u{644}",
        "\u{628}\u{627}\u{644}",
        "\u{643}\u{627}\u{644}",
        "\u{641}\u{627}\u{644}",
        "\u{644}\u{644}",
        "\u{648}",
    ];
    const SUFFIXES: [&str; 10] = [
        "\u{647}\u{627}",
        "\u{627}\u{646}",
        "\u{627}\u{62a}",
        "\u{648}\u{646}",
        "\u{64a}\u{646}",
        "\u{64a}\u{647}",
        "\u{64a}\u{629}",
        "\u{647}",
        "\u{629}",
        "\u{64a}",
    ];
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    for prefix in PREFIXES.map(units) {
        let least = if prefix.len() == 1 { 4 } else { prefix.len() + 2 };
        if word.len() >= least && word.starts_with(&prefix) {
            word.drain(..prefix.len());
            break;
        }
    }
    for suffix in SUFFIXES.map(units) {
        if word.len() >= suffix.len() + 2 && word.ends_with(&suffix) {
            word.truncate(word.len() - suffix.len());
        }
    }
}

/// Three letters that are one, or two where the third is 0, by their places in the blocks of the
/// scripts; which letter they are; and a bit for each script, from Devanagari to Malayalam.
#[rustfmt::skip]
const COMPOSED: [(u16, u16, u16, u16, u16); 72] = [
    (0x05, 0x3e, 0x45, 0x11, 0x9), (0x05, 0x3e, 0x46, 0x12, 0x1), (0x05, 0x3e, 0x47, 0x13, 0x9),
    (0x05, 0x3e, 0x48, 0x14, 0x9), (0x05, 0x3e, 0, 0x06, 0x1f), (0x05, 0x45, 0, 0x72, 0x1), (0x05, 0x45, 0, 0x0d, 0x8),
    (0x05, 0x46, 0, 0x04, 0x1), (0x05, 0x47, 0, 0x0f, 0x8), (0x05, 0x48, 0, 0x10, 0xc),
    (0x05, 0x49, 0, 0x11, 0x9), (0x05, 0x4a, 0, 0x12, 0x1), (0x05, 0x4b, 0, 0x13, 0x9),
    (0x05, 0x4c, 0, 0x14, 0xd), (0x06, 0x45, 0, 0x11, 0x9), (0x06, 0x46, 0, 0x12, 0x1),
    (0x06, 0x47, 0, 0x13, 0x9), (0x06, 0x48, 0, 0x14, 0x9), (0x07, 0x57, 0, 0x08, 0x100),
    (0x09, 0x41, 0, 0x0a, 0x1), (0x09, 0x57, 0, 0x0a, 0x120), (0x0e, 0x46, 0, 0x10, 0x100),
    (0x0f, 0x45, 0, 0x0d, 0x1), (0x0f, 0x46, 0, 0x0e, 0x1), (0x0f, 0x47, 0, 0x10, 0x1),
    (0x0f, 0x57, 0, 0x10, 0x10), (0x12, 0x3e, 0, 0x13, 0x100), (0x12, 0x4c, 0, 0x14, 0xc0),
    (0x12, 0x55, 0, 0x13, 0x40), (0x12, 0x57, 0, 0x14, 0x120), (0x13, 0x57, 0, 0x14, 0x10),
    (0x15, 0x3c, 0, 0x58, 0x1), (0x16, 0x3c, 0, 0x59, 0x5), (0x17, 0x3c, 0, 0x5a, 0x5),
    (0x1c, 0x3c, 0, 0x5b, 0x5), (0x21, 0x3c, 0, 0x5c, 0x13), (0x22, 0x3c, 0, 0x5d, 0x13),
    (0x23, 0x4d, 0xff, 0x7a, 0x100), (0x24, 0x4d, 0xff, 0x4e, 0x2), (0x28, 0x3c, 0, 0x29, 0x1),
    (0x28, 0x4d, 0xff, 0x7b, 0x100), (0x2b, 0x3c, 0, 0x5e, 0x5), (0x2f, 0x3c, 0, 0x5f, 0x3),
    (0x2c, 0x41, 0x41, 0x0b, 0x40), (0x30, 0x3c, 0, 0x31, 0x1), (0x30, 0x4d, 0xff, 0x7c, 0x100),
    (0x32, 0x4d, 0xff, 0x7d, 0x100), (0x33, 0x3c, 0, 0x34, 0x1), (0x33, 0x4d, 0xff, 0x7e, 0x100),
    (0x35, 0x41, 0, 0x2e, 0x40), (0x3e, 0x45, 0, 0x49, 0x9), (0x3e, 0x46, 0, 0x4a, 0x1),
    (0x3e, 0x47, 0, 0x4b, 0x9), (0x3e, 0x48, 0, 0x4c, 0x9), (0x3f, 0x55, 0, 0x40, 0x80),
    (0x41, 0x41, 0, 0x42, 0x4), (0x46, 0x3e, 0, 0x4a, 0x120), (0x46, 0x42, 0x55, 0x4b, 0x80),
    (0x46, 0x42, 0, 0x4a, 0x80), (0x46, 0x46, 0, 0x48, 0x100), (0x46, 0x55, 0, 0x47, 0xc0),
    (0x46, 0x56, 0, 0x48, 0xc0), (0x46, 0x57, 0, 0x4c, 0x120), (0x47, 0x3e, 0, 0x4b, 0x132),
    (0x47, 0x57, 0, 0x4c, 0x12), (0x4a, 0x55, 0, 0x4b, 0x80), (0x72, 0x3f, 0, 0x07, 0x4),
    (0x72, 0x40, 0, 0x08, 0x4), (0x72, 0x47, 0, 0x0f, 0x4), (0x73, 0x41, 0, 0x09, 0x4),
    (0x73, 0x42, 0, 0x0a, 0x4), (0x73, 0x4b, 0, 0x13, 0x4),
];

fn compose(word: &mut Vec<u16>) {
    const JOINER: u16 = 0xff;
    let block = |letter: u16| (letter & !0x7f, letter & 0x7f);
    for at in 0.. {
        let Some(&first) = word.get(at) else { break };
        let (base, first) = block(first);
        if !(0x900..0xd80).contains(&base) {
            continue;
        }
        let script = 1 << ((base - 0x900) / 0x80);
        let second = word.get(at + 1).map(|letter| block(*letter)).filter(|(of, _)| *of == base);
        let Some((_, second)) = second else { continue };
        let third = match word.get(at + 2) {
            Some(0x200d) => Some(JOINER),
            letter => letter.map(|letter| block(*letter)).filter(|(of, _)| *of == base).map(|(_, place)| place),
        };
        let found = COMPOSED.iter().find(|row| {
            row.4 & script != 0 && (row.0, row.1) == (first, second) && (row.2 == 0 || Some(row.2) == third)
        });
        if let Some((_, _, third, composed, _)) = found {
            word[at] = base + composed;
            word.drain(at + 1..at + if *third == 0 { 2 } else { 3 });
        }
    }
}
