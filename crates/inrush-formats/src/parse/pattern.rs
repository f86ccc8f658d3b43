//! Named groups of a regular expression.

use inrush_core::Code;
use std::sync::Arc;

use regex::Regex;

use super::fields::{Field, close, fields};
use crate::csv::CsvOptions;
use crate::lines::{NoDocument, PushLine};

pub(super) struct Pattern {
    regex: Regex,
    /// The number of each group, and its field.
    fields: Vec<(usize, Field)>,
}

impl Pattern {
    pub(super) fn new(pattern: &str, options: &CsvOptions, texts: &[String]) -> Result<Self, String> {
        let regex = Regex::new(pattern).map_err(|error| match error.to_string() {
            text if text.contains("invalid capture group character") => format!(
                "{text}\nthe name of a group has letters, digits and _; option `rename=NAME=OTHER` makes another name \
                 of it, and option `timestamp=NAME` @timestamp"
            ),
            text => text,
        })?;
        let (groups, names): (Vec<usize>, Vec<&str>) =
            regex.capture_names().enumerate().filter_map(|(i, name)| Some((i, name?))).unzip();
        if names.is_empty() {
            return Err("the regular expression has no named group; write each field like (?<name>…)".to_owned());
        }
        let fields = groups.into_iter().zip(fields(&names, options, texts)?).collect();
        Ok(Pattern { regex, fields })
    }
}

impl PushLine for Pattern {
    fn overhead(&self) -> usize {
        2 + self.fields.iter().map(|(_, field)| field.prefix_len() + 3).sum::<usize>()
    }

    fn push(&self, line: &str, out: &mut Vec<u8>, texts: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument> {
        let Some(found) = self.regex.captures(line) else {
            return Err(NoDocument {
                kind: Code::NoMatch,
                reason: "the line does not match the regular expression".to_owned(),
            });
        };
        out.push(b'{');
        for (group, field) in &self.fields {
            if let Some(value) = found.get(*group) {
                field.push(value.as_str(), out, texts)?;
            }
        }
        close(out);
        Ok(())
    }

    fn fields(&self) -> Vec<String> {
        self.fields.iter().map(|(_, field)| field.name().to_owned()).collect()
    }

    fn keeps_texts(&self) -> bool {
        self.fields.iter().any(|(_, field)| field.keeps_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::ColumnType;

    fn parse(pattern: &str, schema: &[(&str, ColumnType)], line: &str) -> Result<String, String> {
        let schema = schema.iter().map(|(name, t)| ((*name).to_owned(), *t)).collect();
        let options = CsvOptions { schema, ..CsvOptions::default() };
        let mut out = Vec::new();
        Pattern::new(pattern, &options, &[])?.push(line, &mut out, &mut Vec::new()).map_err(|no| no.reason)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn named_groups_are_fields() {
        let pattern = r"^(?<level>\w+) (?:took (?<ms>\d+) ms )?(?<text>.*)$";
        let schema = [("ms", ColumnType::Integer)];
        assert_eq!(
            parse(pattern, &schema, "WARN took 12 ms a\"b").unwrap(),
            r#"{"level":"WARN","ms":12,"text":"a\"b"}"#
        );
        assert_eq!(parse(pattern, &schema, "INFO x").unwrap(), r#"{"level":"INFO","text":"x"}"#);
        assert!(parse(pattern, &schema, "").unwrap_err().contains("does not match"));
    }

    #[test]
    fn what_cannot_be_is_said_before_a_line_is_read() {
        assert!(parse("(", &[], "").unwrap_err().contains("unclosed group"));
        assert!(parse("(?<@timestamp>.)", &[], "").unwrap_err().contains("option `timestamp=NAME` @timestamp"));
        assert!(parse("(x)", &[], "").unwrap_err().contains("(?<name>"));
        assert!(parse("(?<a>x)", &[("b", ColumnType::Integer)], "").unwrap_err().contains("fields are a"));
    }
}
