//! Rows since the last load: the condition of a statement.
//!
//! Rows with the same value as the last one are read again, because others may have been written
//! with it since. So are rows without a value, which cannot be told apart.

use std::time::Duration;

use super::SinceColumn;
use super::values::Kind;
use crate::{Since, SinceValue};

/// How much earlier than the last value rows of a column of times are read, unless the user says
/// so: transactions that were open at the last load have written rows with earlier times.
const OVERLAP: Duration = Duration::from_secs(60);

/// Writes a value for a statement. The seconds are to be taken from a time.
type Literal = fn(&SinceValue, Option<u64>) -> Result<String, String>;

/// The column in the statements of a database.
pub(super) struct Marked {
    pub(super) since: Since,
    /// The column, quoted.
    pub(super) key: String,
    /// Condition of values that are never the last one, and would not be read again.
    pub(super) others: Option<String>,
    /// What is taken from the last value of a column of times.
    pub(super) overlap: Option<u64>,
    pub(super) literal: Literal,
}

impl SinceColumn {
    /// The place of the column among these.
    pub(super) fn place(&self, names: &[&str]) -> Result<usize, String> {
        let exact = names.iter().position(|name| *name == self.column);
        let found = exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(&self.column)));
        found.ok_or_else(|| {
            format!(
                "there is no column {} for option `since`; the rows have the columns {}",
                self.column,
                names.join(", ")
            )
        })
    }

    /// The seconds to take from the last value, if this is a column of times.
    pub(super) fn overlap(&self, is_time: bool) -> Result<Option<u64>, String> {
        match (is_time, self.overlap) {
            (true, overlap) => Ok(Some(overlap.unwrap_or(OVERLAP).as_secs_f64().ceil() as u64)),
            (false, None) => Ok(None),
            (false, Some(_)) => Err(format!(
                "option `since_overlap` is a time, and the database has no times in the column {}; leave it out",
                self.column
            )),
        }
    }

    /// The error for a column whose values cannot be compared from one load to the next.
    pub(super) fn refused(&self, why: &str) -> String {
        format!(
            "rows cannot be read since the last value of the column {}: {why}; name another one with option `since`, \
             such as a time of the last change or a number that grows",
            self.column
        )
    }
}

/// Whether values are times, by the kind of their column.
pub(super) fn is_time(kind: &Kind) -> bool {
    matches!(kind, Kind::DateTime | Kind::Moment)
}

impl Marked {
    /// The condition of the rows since this value.
    pub(super) fn condition(&self, value: &SinceValue) -> Result<String, String> {
        if let Some(last) = &self.since.last
            && last.kind != value.kind
        {
            return Err(format!(
                "the values of the column {} are of the type {} now, and the last load kept one of the type {}; begin \
                 anew with option `forget`",
                self.since.column, last.kind, value.kind
            ));
        }
        let (key, literal) = (&self.key, (self.literal)(value, self.overlap)?);
        let others = self.others.iter().map(|others| format!(" OR {others}")).collect::<String>();
        Ok(format!("({key} >= {literal} OR {key} IS NULL{others})"))
    }
}

/// The condition of the rows of a range, and since a value where there is one.
pub(super) fn both(range: &str, since: Option<&str>) -> String {
    match since {
        None => range.to_owned(),
        Some(since) if range == "TRUE" => since.to_owned(),
        Some(since) => format!("({range}) AND {since}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(overlap: Option<u64>) -> SinceColumn {
        SinceColumn { column: "Changed".to_owned(), overlap: overlap.map(Duration::from_secs) }
    }

    #[test]
    fn a_column_is_found_by_its_name_or_else_in_other_letters() {
        assert_eq!(column(None).place(&["changed", "Changed"]), Ok(1));
        assert_eq!(column(None).place(&["id", "CHANGED"]), Ok(1));
        let error = column(None).place(&["id", "day"]).unwrap_err();
        assert!(error.contains("no column Changed") && error.contains("the columns id, day"), "{error}");
    }

    #[test]
    fn an_overlap_is_for_times() {
        assert_eq!((column(None).overlap(true), column(None).overlap(false)), (Ok(Some(60)), Ok(None)));
        assert_eq!((column(Some(0)).overlap(true), column(Some(300)).overlap(true)), (Ok(Some(0)), Ok(Some(300))));
        assert!(column(Some(300)).overlap(false).unwrap_err().contains("no times in the column Changed"));
    }

    #[test]
    fn rows_at_the_boundary_and_without_a_value_are_read() {
        let value = |kind: &str| SinceValue { kind: kind.to_owned(), value: "5".to_owned() };
        let since = Since { column: "n".to_owned(), last: Some(value("bigint")) };
        let literal: Literal = |value, _| Ok(value.value.clone());
        let marked = Marked { since, key: "\"n\"".to_owned(), others: None, overlap: None, literal };
        let condition = marked.condition(&value("bigint")).unwrap();
        assert_eq!(condition, "(\"n\" >= 5 OR \"n\" IS NULL)");
        assert!(marked.condition(&value("text")).unwrap_err().contains("of the type bigint now"));
        let marked = Marked { others: Some("\"n\" < 1".to_owned()), ..marked };
        assert_eq!(marked.condition(&value("bigint")).unwrap(), "(\"n\" >= 5 OR \"n\" IS NULL OR \"n\" < 1)");
        assert_eq!(both("TRUE", None), "TRUE");
        assert_eq!(both("TRUE", Some(&condition)), condition);
        assert_eq!(both("id < 3", Some("(n >= 5)")), "(id < 3) AND (n >= 5)");
    }
}
