//! The division of a table between readers.

/// Ranges for each reader, so that one large range does not keep the other readers waiting.
pub(super) const RANGES_PER_READER: usize = 4;

/// The bounds between at most `ranges` ranges of whole numbers from `least` to `most`, ascending.
pub(super) fn whole_numbers(least: i128, most: i128, ranges: usize) -> Vec<String> {
    let ranges = ranges as i128;
    let mut bounds: Vec<i128> = (1..ranges).map(|n| least + (most - least + 1) * n / ranges).collect();
    bounds.retain(|bound| *bound > least && *bound <= most);
    bounds.dedup();
    bounds.iter().map(i128::to_string).collect()
}

/// The conditions of the ranges of `column` between `bounds`. Every row is in exactly one range.
/// `column` is quoted, and `bounds` are literals. With `nulls`, the column may be null, and one
/// more range has these rows.
pub(super) fn conditions(column: &str, bounds: &[String], nulls: bool) -> Vec<String> {
    let Some((first, last)) = bounds.first().zip(bounds.last()) else { return vec!["TRUE".to_owned()] };
    let between = bounds.windows(2).map(|two| format!("{column} >= {} AND {column} < {}", two[0], two[1]));
    std::iter::once(format!("{column} < {first}"))
        .chain(between)
        .chain(std::iter::once(format!("{column} >= {last}")))
        .chain(nulls.then(|| format!("{column} IS NULL")))
        .collect()
}

/// A text literal of standard SQL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A query as a part of another one: without its semicolon, and with a line end, because it may end
/// with a comment.
pub(super) fn subquery(query: &str) -> String {
    let end = query.match_indices(';').map(|(at, _)| at).find(|at| ends_query(&query[at + 1..]));
    format!("({}\n)", query[..end.unwrap_or(query.len())].trim_end())
}

/// Whether nothing but comments of one line is behind a `;`. Where quotes or the end of a comment
/// follow, the `;` may be inside.
fn ends_query(rest: &str) -> bool {
    let is_inside = rest.contains(['\'', '"', '`', ']', '$']) || rest.contains("*/");
    let is_nothing = |line: &str| {
        let line = line.trim_start_matches(|c: char| c == ';' || c.is_whitespace());
        line.is_empty() || line.starts_with("--")
    };
    !is_inside && rest.lines().all(is_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_range() {
        assert_eq!(whole_numbers(1, 100, 4), ["26", "51", "76"]);
        assert_eq!(whole_numbers(0, 1, 4), ["1"]);
        assert_eq!(whole_numbers(5, 5, 4), Vec::<String>::new());
        assert_eq!(whole_numbers(i64::MIN.into(), i64::MAX.into(), 2), ["0"]);
        assert_eq!(
            conditions("id", &["3".to_owned(), "5".to_owned()], true),
            ["id < 3", "id >= 3 AND id < 5", "id >= 5", "id IS NULL"]
        );
        assert_eq!(conditions("id", &["3".to_owned()], false), ["id < 3", "id >= 3"]);
        assert_eq!(conditions("id", &[], true), ["TRUE"]);
    }

    #[test]
    fn comments_may_follow_the_end_of_a_query() {
        for ended in ["SELECT 1; -- all", "SELECT 1 ;;\n-- a; b\n\n--c\n; ", "SELECT 1;\r\n"] {
            assert_eq!(subquery(ended), "(SELECT 1\n)", "{ended}");
        }
        for other in ["SELECT ';-- x'", "SELECT 1 /* ;\n-- */", "SELECT 1 -- a; b\nFROM t", "SELECT \";\"\n-- x"] {
            assert_eq!(subquery(other), format!("({other}\n)"));
        }
    }

    #[test]
    fn queries_may_end_as_people_write_them() {
        assert_eq!(subquery("SELECT 1 ; \n"), "(SELECT 1\n)");
        assert_eq!(subquery("SELECT 1 -- all"), "(SELECT 1 -- all\n)");
        assert_eq!(literal("it's"), "'it''s'");
    }
}
