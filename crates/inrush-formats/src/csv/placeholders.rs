//! Texts that stand for "no value" among numbers and dates: `NA`, `-`, `\N`.

use super::value::ColumnType;

/// What programs and people write where they have no value, in any case.
const WORDS: [&str; 8] = ["NA", "N/A", "null", "NaN", "-", "\\N", "None", "?"];

/// The longest of them.
const LEN_MAX: usize = 4;

/// The most different texts of a column. A column with more has words.
const TEXTS_MAX: usize = 3;

/// A cell that is such a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placeholder {
    text: [u8; LEN_MAX],
    len: usize,
}

impl Placeholder {
    pub(super) fn of(cell: &[u8]) -> Option<Self> {
        if cell.len() > LEN_MAX || !WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(cell)) {
            return None;
        }
        let mut text = [0; LEN_MAX];
        text[..cell.len()].copy_from_slice(cell);
        Some(Placeholder { text, len: cell.len() })
    }

    fn text(&self) -> &str {
        // The words are ASCII.
        std::str::from_utf8(&self.text[..self.len]).unwrap_or_default()
    }
}

/// The placeholders of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placeholders {
    texts: [Option<Placeholder>; TEXTS_MAX],
    /// Cells that are one of them.
    cells: u32,
    /// Whether there are further texts.
    too_many: bool,
}

impl Placeholders {
    pub(super) fn add(&mut self, found: Placeholder) {
        self.cells += 1;
        match self.texts.iter_mut().find(|text| text.is_none_or(|text| text == found)) {
            Some(text) => *text = Some(found),
            None => self.too_many = true,
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.cells == 0
    }

    /// Whether there are one or a few.
    pub(super) fn are_few(&self) -> bool {
        !self.are_none() && !self.too_many
    }

    /// The warning about a column whose other cells are `rest`, for the first `rows` rows.
    pub(super) fn message(&self, rest: ColumnType, rows: u32) -> String {
        let texts = || self.texts.iter().flatten().map(Placeholder::text);
        let named: Vec<String> = texts().map(|text| format!("\"{text}\"")).collect();
        let options: Vec<String> = texts().map(|text| format!("option `null={text}`")).collect();
        format!(
            "the first rows have {}, but {} in {} of {rows} rows ({}), so all are sent as strings; if {} no value, give {}",
            rest.cells(),
            named.join(" or "),
            self.cells,
            share(u64::from(self.cells), u64::from(rows)),
            if named.len() == 1 { "it means" } else { "they mean" },
            options.join(" and ")
        )
    }
}

/// A share in percent.
pub(super) fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    if percent < 0.1 { "below 0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_words_for_no_value_in_any_case() {
        for word in ["NA", "n/a", "NULL", "null", "nan", "NaN", "-", "\\N", "None", "?"] {
            assert_eq!(Placeholder::of(word.as_bytes()).as_ref().map(Placeholder::text), Some(word));
        }
        for word in ["", "--", "N", "nil", "nulls", "0", "none ", "n.a."] {
            assert_eq!(Placeholder::of(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn a_warning_names_the_texts_their_share_and_the_option() {
        let of = |cells: &[&str]| {
            let mut found = Placeholders::default();
            cells.iter().filter_map(|cell| Placeholder::of(cell.as_bytes())).for_each(|cell| found.add(cell));
            found
        };
        let one = of(&["NA", "NA"]);
        assert!(one.are_few() && !of(&[]).are_few() && !of(&["NA", "-", "?", "null"]).are_few());
        assert_eq!(
            one.message(ColumnType::Integer, 80),
            "the first rows have whole numbers, but \"NA\" in 2 of 80 rows (2.5 %), so all are sent as strings; if it \
             means no value, give option `null=NA`"
        );
        assert_eq!(
            of(&["\\N", "?", "\\N"]).message(ColumnType::Date, 9000),
            "the first rows have dates, but \"\\N\" or \"?\" in 3 of 9000 rows (below 0.1 %), so all are sent as \
             strings; if they mean no value, give option `null=\\N` and option `null=?`"
        );
    }
}
