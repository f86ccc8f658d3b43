//! Columns of fixed width.

use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use super::fields::{Field, close, fields};
use crate::csv::CsvOptions;
use crate::lines::{NoDocument, PushLine};

/// A part of each line: `name:1-10` or, up to the end of the line, `name:11-`. Characters count
/// from 1, and both ends are included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixedColumn {
    /// The name of the field.
    pub name: String,
    /// The first character, from 1.
    pub first: usize,
    /// The last character. `None`: the last one of the line.
    pub last: Option<usize>,
}

impl FromStr for FixedColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a column of fixed width; write it like name:1-10, or name:11- up to the end");
        let (name, range) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (first, last) = range.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let first = number(first)?;
        let last = if last.is_empty() { None } else { Some(number(last)?) };
        if name.is_empty() || last.is_some_and(|last| last < first) {
            return Err(wrong());
        }
        Ok(FixedColumn { name: name.to_owned(), first, last })
    }
}

pub(super) struct FixedWidth {
    columns: Vec<FixedColumn>,
    fields: Vec<Field>,
}

impl FixedWidth {
    pub(super) fn new(columns: &[FixedColumn], options: &CsvOptions, texts: &[String]) -> Result<Self, String> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if let Some((i, name)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return Err(format!("column {name:?} is given twice, the second time as number {}", i + 1));
        }
        Ok(FixedWidth { columns: columns.to_vec(), fields: fields(&names, options, texts)? })
    }
}

impl PushLine for FixedWidth {
    fn overhead(&self) -> usize {
        2 + self.fields.iter().map(|field| field.prefix_len() + 3).sum::<usize>()
    }

    fn push(&self, line: &str, out: &mut Vec<u8>, texts: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument> {
        out.push(b'{');
        let ascii = line.is_ascii();
        for (column, field) in self.columns.iter().zip(&self.fields) {
            let place = |character: usize| {
                if ascii {
                    return character.min(line.len());
                }
                line.char_indices().nth(character).map_or(line.len(), |(at, _)| at)
            };
            let value = &line[place(column.first - 1)..column.last.map_or(line.len(), place)];
            field.push(value.trim_matches([' ', '\t']), out, texts)?;
        }
        close(out);
        Ok(())
    }

    fn fields(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name().to_owned()).collect()
    }

    fn keeps_texts(&self) -> bool {
        self.fields.iter().any(Field::keeps_text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::ColumnType;

    fn parse(columns: &[&str], schema: &[(&str, ColumnType)], line: &str) -> Result<String, String> {
        let columns: Vec<FixedColumn> = columns.iter().map(|c| c.parse().unwrap()).collect();
        let schema = schema.iter().map(|(name, t)| ((*name).to_owned(), *t)).collect();
        let options = CsvOptions { schema, ..CsvOptions::default() };
        let mut out = Vec::new();
        let parser = FixedWidth::new(&columns, &options, &[])?;
        parser.push(line, &mut out, &mut Vec::new()).map_err(|no| no.reason)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn columns_are_cut_by_characters_and_trimmed() {
        let columns = ["a:1-3", "b:4-6", "rest:7-"];
        assert_eq!(parse(&columns, &[], "abc de fg h ").unwrap(), r#"{"a":"abc","b":"de","rest":"fg h"}"#);
        assert_eq!(parse(&columns, &[], "éü \"x").unwrap(), r#"{"a":"éü","b":"\"x"}"#);
        assert_eq!(parse(&columns, &[], "").unwrap(), "{}");
        assert_eq!(parse(&["b:3-4", "a:1-2"], &[], "1234").unwrap(), r#"{"b":"34","a":"12"}"#);
    }

    #[test]
    fn types_are_those_of_the_schema() {
        let schema = [("n", ColumnType::Integer)];
        assert_eq!(parse(&["n:1-5"], &schema, "  007").unwrap(), r#"{"n":7}"#);
        assert!(parse(&["n:1-5"], &schema, "x").unwrap_err().contains("field \"n\" holds \"x\", expected integer"));
        assert!(parse(&["a:1-5"], &schema, "").unwrap_err().contains("which does not exist"));
        assert!(parse(&["a:1-5", "a:6-7"], &[], "").unwrap_err().contains("twice"));
    }

    #[test]
    fn wrong_columns_are_named() {
        for text in ["a", "a:1", "a:0-1", "a:3-2", ":1-2", "a:x-2", "a:1-x"] {
            assert!(text.parse::<FixedColumn>().unwrap_err().contains("like name:1-10"), "{text}");
        }
    }
}
