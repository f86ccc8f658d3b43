//! The beginning of a file: lines that are skipped, the dialect, and the header.

use memchr::memchr2;

use super::dialect::{Dialect, Layout, is_rule};
use super::infer::{FirstRow, column_names, first_row};
use super::options::{Context, CsvOptions, Header, has_blanks_around};
use super::row::line_end;
use super::value::{ColumnType, narrowest};
use crate::cut::Boundary;
use crate::input::Input;
use crate::warnings::{BLANKS_IN_NAMES, EMPTY_ROWS};

/// Text that was removed from the beginning of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped {
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

/// Removes the first lines of the input. Quotes have no meaning in them.
pub(super) fn skip_lines(input: &mut Input, lines: u32) -> Skipped {
    let mut skipped = Skipped::default();
    for _ in 0..lines {
        let len = first_line(input);
        if len == 0 {
            break;
        }
        input.skip(len);
        skipped.bytes += len as u64;
        skipped.lines += 1;
    }
    skipped
}

/// The length of the first line, with its end.
fn first_line(input: &mut Input) -> usize {
    let mut bytes = 4096;
    loop {
        let head = input.peek(bytes, |head| head.contains(&b'\n'));
        let len = head.len();
        let end = memchr2(b'\n', b'\r', head).and_then(|end| {
            // A `\n` may follow.
            let is_open = head[end] == b'\r' && end + 1 == len;
            if is_open { None } else { line_end(head, end) }
        });
        match end {
            Some(end) => return end,
            None if input.peeked_all() => return len,
            None => bytes = len.max(bytes) * 2,
        }
    }
}

/// What the first row says, or the options in its place.
#[derive(Default)]
pub(super) struct Top<'a> {
    /// The names of the columns.
    pub(super) names: Vec<String>,
    /// Whether the file has each of them in its first row.
    pub(super) named: Vec<bool>,
    /// The cells of a header, and its text where the file has it.
    pub(super) cells: Vec<Vec<u8>>,
    pub(super) header: Option<&'a [u8]>,
    /// Where the rows of data begin.
    pub(super) rows_start: usize,
}

/// The columns of a file with these first rows.
pub(super) fn top<'a>(sample: &'a [u8], dialect: Dialect, context: &Context<'_>) -> Result<Top<'a>, String> {
    let layout = Layout::new(dialect);
    if let Header::Names(names) = &context.options.header {
        let cells = names.iter().map(|name| name.clone().into_bytes()).collect();
        return Ok(Top { names: names.clone(), cells, ..Top::default() });
    }
    let Some((first, empty)) = first_row(sample, &layout) else { return Ok(Top::default()) };
    if context.options.header == Header::Numbered {
        return Ok(Top { names: (1..=first.cells.len()).map(|i| format!("c{i}")).collect(), ..Top::default() });
    }
    if empty > 0 {
        context.warnings.add(context.source, EMPTY_ROWS, "", empty, || {
            "a row above the names of the columns has only empty cells, as spreadsheets write it, and was left out"
                .to_owned()
        });
    }
    let FirstRow { cells, start, end, next, unclosed } = first;
    let names = header_names(cells.clone(), unclosed, context)?;
    let below = first_row(&sample[next..], &layout);
    // A column without a name is an edge of a table in Markdown.
    let has_edges = |row: &FirstRow| row.cells.iter().zip(&cells).all(|(a, b)| a.is_empty() == b.is_empty());
    let rule = below
        .map(|(row, _)| row)
        .filter(|row| row.cells.len() == names.len() && has_edges(row) && is_rule(row.cells.iter().map(Vec::as_slice)));
    if rule.is_some() {
        context.warnings.add(context.source, "rule_below_header", "", 1, || {
            "the line below the header has only dashes, as sqlcmd writes it, and was left out".to_owned()
        });
    }
    let rows_start = next + rule.map_or(0, |row| row.next);
    // A file whose header is missing may repeat its first row.
    let is_header = cells.iter().all(|cell| cell.is_empty() || narrowest(cell) == ColumnType::String);
    let named = cells.iter().map(|cell| !cell.trim_ascii().is_empty()).collect();
    match is_header {
        true => Ok(Top { names, named, cells, header: Some(&sample[start..end]), rows_start }),
        false => Ok(Top { names, named, rows_start, ..Top::default() }),
    }
}

/// The dialect of the file, and the bytes before its first row: those of a line that names the
/// separator.
pub(super) fn dialect(input: &mut Input, context: &Context<'_>) -> (Dialect, usize) {
    let CsvOptions { separator, quote, escape, comment, trim, .. } = *context.options;
    let of = |separator| Dialect { separator, quote, escape, comment, trim };
    let head = input.peek(4096, |head| head.contains(&b'\n'));
    if let Some((named, len)) = named_separator(head, context.options) {
        return (of(separator.unwrap_or(named)), len);
    }
    if let Some(separator) = separator {
        return (of(separator), 0);
    }
    let is_row = |line: &&[u8]| comment.is_none() || line.first().copied() != comment;
    let line = head.trim_ascii_start().split(|&b| b == b'\n').find(is_row).unwrap_or_default();
    let others: Vec<u8> = [b';', b'\t', b'|']
        .into_iter()
        .filter(|&b| line.contains(&b) && context.options.check_separator(b).is_ok())
        .collect();
    if let (false, &[separator]) = (line.contains(&context.separator), &others[..]) {
        context.warnings.add(context.source, "separator_guessed", "", 1, || {
            let separator = char::from(separator);
            format!(
                "the first line has no {:?}, so {separator:?} is used as the separator; set it with \
                     option `separator`",
                char::from(context.separator)
            )
        });
        return (of(separator), 0);
    }
    (of(context.separator), 0)
}

/// The separator that a first line `sep=;` names, as Excel writes and reads it, and the length of
/// that line. A letter, or a byte with another meaning, makes the line the name of a column.
fn named_separator(head: &[u8], options: &CsvOptions) -> Option<(u8, usize)> {
    let end = head.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let line = &head[..end];
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let &[ref name @ .., separator] = line else { return None };
    let next = end + 1 + usize::from(head[end..].starts_with(b"\r\n"));
    let separates = separator.is_ascii_punctuation() || separator == b'\t';
    let names = name.eq_ignore_ascii_case(b"sep=") && separates && options.check_separator(separator).is_ok();
    names.then_some((separator, next))
}

/// The first complete rows of the input, which stay in it. The first row begins at byte
/// `rows_start`. As much as types are guessed from, and at least one row.
pub(super) fn sample<'a>(
    input: &'a mut Input,
    context: &Context<'_>,
    boundary: Boundary,
    rows_start: usize,
) -> Result<&'a [u8], String> {
    // Two rows, so that a slow source has shown one below its header.
    let enough = |head: &[u8]| {
        let rows = head.get(rows_start..).unwrap_or_default();
        boundary.last_end(rows).is_some_and(|end| boundary.last_end(&rows[..end - 1]).is_some())
    };
    let mut bytes = context.options.infer_bytes.max(1);
    loop {
        let head = input.peek(bytes, enough);
        let (len, end) = (head.len(), boundary.last_end(head));
        if input.peeked_all() {
            return Ok(input.peeked());
        }
        if let Some(end) = end {
            return Ok(&input.peeked()[..end]);
        }
        if len > context.record_bytes_max {
            return Err(format!(
                "the first row does not end within {len} bytes; is this delimited text, and its quote {}?",
                context.options.quote.map_or("none".to_owned(), |quote| char::from(quote).to_string())
            ));
        }
        bytes = len.max(bytes) * 2;
    }
}

fn header_names(cells: Vec<Vec<u8>>, unclosed: bool, context: &Context<'_>) -> Result<Vec<String>, String> {
    if unclosed {
        return Err("a quote in the header is not closed; close it, or give option `quote=none`".to_owned());
    }
    let header = cells.into_iter().map(String::from_utf8).collect::<Result<Vec<_>, _>>().map_err(|_| {
        "the header is not UTF-8; give the file's encoding with option `charset`, such as windows-1252".to_owned()
    })?;
    let mut padded = header.iter().filter(|name| has_blanks_around(name.as_bytes()));
    if let Some(first) = padded.next() {
        context.warnings.add(context.source, BLANKS_IN_NAMES, "", 1 + padded.count() as u64, || {
            format!(
                "the name of a column has blanks around it, {first:?}, and so has that of its field; option `trim` \
                 leaves out blanks around names and cells"
            )
        });
    }
    let (names, duplicates) = column_names(&header);
    for name in duplicates {
        context.warnings.add(context.source, "duplicate_column", &name, 1, || {
            format!("column {name:?} appears more than once; a number was added to the later ones")
        });
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn lines_are_skipped_with_their_ends_and_counted() {
        for (text, lines, rest, expected) in [
            ("a\nb\nc", 1, "b\nc", (2, 1)),
            ("a \"x\r\n\r\nb", 2, "b", (8, 2)),
            ("a\rb\r", 2, "", (4, 2)),
            ("a\nb", 5, "", (3, 2)),
            ("a\n", 0, "a\n", (0, 0)),
        ] {
            let mut input = Input::new(Cursor::new(text.as_bytes().to_vec()));
            let Skipped { bytes, lines } = skip_lines(&mut input, lines);
            assert_eq!((bytes, lines), expected, "{text:?}");
            assert_eq!(input.peek(99, |_| true), rest.as_bytes(), "{text:?}");
        }
        let long = format!("{}\nid\n", "x".repeat(20_000));
        let mut input = Input::new(Cursor::new(long.into_bytes()));
        assert_eq!(skip_lines(&mut input, 1), Skipped { bytes: 20_001, lines: 1 });
        assert_eq!(input.peek(3, |_| true), b"id\n");
    }
}
