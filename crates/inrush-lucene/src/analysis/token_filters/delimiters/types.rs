//! The types of characters that delimit words.
//!
//! Source: the documentation of Lucene's `WordDelimiterIterator` and of the servers' `type_table`.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use crate::analysis::parameters::Parameters;

const LOWER: u8 = 1;
pub(super) const UPPER: u8 = 2;
pub(super) const ALPHA: u8 = LOWER | UPPER;
pub(super) const DIGIT: u8 = 4;
pub(super) const DELIMITER: u8 = 8;

/// The type of each unit of UTF-16, by its general category.
static BY_CATEGORY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut types = vec![DELIMITER; 0x10000];
    for (category, kind) in
        [(r"\p{Lu}", UPPER), (r"\p{Ll}", LOWER), (r"[\p{Lt}\p{Lm}\p{Lo}\p{M}]", ALPHA), (r"\p{N}", DIGIT)]
    {
        // These categories are in the tables of the crate.
        let parsed = regex_syntax::parse(category).map(regex_syntax::hir::Hir::into_kind);
        if let Ok(HirKind::Class(Class::Unicode(class))) = parsed {
            for range in class.ranges() {
                let last = u32::from(range.end()).min(0xffff);
                (u32::from(range.start())..=last).for_each(|c| types[c as usize] = kind);
            }
        }
    }
    // Halves of pairs are not parted.
    types[0xd800..0xe000].fill(ALPHA | DIGIT);
    types
});

/// The types of units.
pub(super) struct Types(Vec<(u16, u8)>, bool);

impl Types {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let Some(rules) = p.list("type_table")? else { return Ok(Self(Vec::new(), true)) };
        let mut own = Vec::new();
        for rule in rules {
            own.push(parsed(rule).ok_or_else(|| p.refuse("type_table"))?);
        }
        if own.is_empty() {
            return Err(p.refuse("type_table"));
        }
        Ok(Self(own, false))
    }

    pub(super) fn of(&self, unit: u16) -> u8 {
        if self.1 && unit < 256 {
            return of_latin(unit);
        }
        // The last rule of a character counts.
        let own = self.0.iter().rev().find(|(known, _)| *known == unit);
        own.map_or_else(|| BY_CATEGORY[usize::from(unit)], |(_, kind)| *kind)
    }
}

/// The types that Lucene has in a table of its own.
fn of_latin(unit: u16) -> u8 {
    match char::from_u32(u32::from(unit)).unwrap_or_default() {
        c if c.is_lowercase() => LOWER,
        c if c.is_uppercase() => UPPER,
        c if c.is_ascii_digit() => DIGIT,
        _ => DELIMITER,
    }
}

/// A rule such as `# => DIGIT`. `None` if it is one that only a server reads.
fn parsed(rule: &str) -> Option<(u16, u8)> {
    let (character, kind) = rule.rsplit_once("=>")?;
    let trim = |text: &str| text.trim_matches(|c| c <= ' ').to_owned();
    let kind = match trim(kind).as_str() {
        "LOWER" => LOWER,
        "UPPER" => UPPER,
        "ALPHA" => ALPHA,
        "DIGIT" => DIGIT,
        "ALPHANUM" => ALPHA | DIGIT,
        "SUBWORD_DELIM" => DELIMITER,
        _ => return None,
    };
    let character = trim(character);
    let mut chars = character.chars();
    let one = match (chars.next()?, chars.next()) {
        ('\\', Some('u')) => {
            let digits = &character[2..];
            let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            return is_hex
                .then(|| u16::from_str_radix(digits, 16).ok())
                .flatten()
                .filter(is_whole)
                .map(|unit| (unit, kind));
        }
        ('\\', Some(escaped)) => match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            c => c,
        },
        ('\\', None) => return None,
        (c, None) => c,
        _ => return None,
    };
    if chars.next().is_some() {
        return None;
    }
    u16::try_from(u32::from(one)).ok().map(|unit| (unit, kind))
}

/// Whether a unit is a character.
fn is_whole(unit: &u16) -> bool {
    !(0xd800..0xe000).contains(unit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::Parameters;
    use super::{ALPHA, DELIMITER, DIGIT, LOWER, Types, UPPER};

    #[test]
    fn types_are_those_of_java() {
        let types = Types::new(&mut Parameters::of("filter", "own", None)).unwrap();
        let of = |c: char| types.of(c as u16);
        assert_eq!([of('a'), of('É'), of('ª'), of('²'), of('_')], [LOWER, UPPER, LOWER, DELIMITER, DELIMITER]);
        assert_eq!([of('ǅ'), of('東'), of('\u{301}'), of('½'), of('Ⅳ')], [ALPHA, ALPHA, ALPHA, DELIMITER, DIGIT]);
        assert_eq!(types.of(0xd835), ALPHA | DIGIT);
        let definition = json!({"type_table": ["# => ALPHA", "\\u002B=>DIGIT", "# => DIGIT"]});
        let types = Types::new(&mut Parameters::of("filter", "own", definition.as_object())).unwrap();
        let of = |c: char| types.of(c as u16);
        assert_eq!([of('#'), of('+'), of('-'), of('²'), of('ª')], [DIGIT, DIGIT, DELIMITER, DIGIT, ALPHA]);
        for rule in ["ab => ALPHA", "a -> ALPHA", "a => X", "\\ud800 => ALPHA", "𝒳 => ALPHA"] {
            let definition = json!({"type_table": [rule]});
            assert!(Types::new(&mut Parameters::of("filter", "own", definition.as_object())).is_err(), "{rule}");
        }
    }
}
