//! The language of Logstash's pipelines, as its reference describes it (version 9; the language is
//! that of version 7): sections with plugins, whose settings are `name => value`. Conditions are
//! not read.

use crate::failure::UsageError;
use inrush_core::Code;

/// A plugin of a section.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plugin {
    /// `input`, `filter` or `output`.
    pub(super) section: String,
    pub(super) name: String,
    pub(super) settings: Vec<(String, Setting)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Setting {
    /// A string, a number or a bare word.
    Text(String),
    List(Vec<Setting>),
    Hash(Vec<(String, Setting)>),
    /// A codec with settings of its own.
    Codec(Plugin),
}

impl Setting {
    /// The text of the value, or of each element of a list.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Setting::Text(text) => vec![text],
            Setting::Codec(codec) => vec![&codec.name],
            Setting::List(items) => items.iter().flat_map(Setting::texts).collect(),
            Setting::Hash(pairs) => pairs.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// Names and values of a hash, or of a list in which they follow each other.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        match self {
            Setting::Hash(pairs) => pairs
                .iter()
                .map(|(name, value)| (name.as_str(), value.texts().first().copied().unwrap_or_default()))
                .collect(),
            other => other.texts().chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        }
    }
}

impl Plugin {
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.texts().first().copied()
    }

    /// All texts of a setting. None where it is not set.
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        self.get(name).map(Setting::texts).unwrap_or_default()
    }
}

/// Reads a pipeline.
///
/// # Errors
/// The text is no pipeline, or has conditions.
pub(super) fn parse(text: &str) -> Result<Vec<Plugin>, UsageError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let mut plugins = Vec::new();
    while parser.at < tokens.len() {
        let section = parser.word()?;
        if !["input", "filter", "output"].contains(&section.as_str()) {
            let what = format!("the pipeline has the section {section}; expected input, filter or output");
            return Err(UsageError::new(Code::NotTranslated, what));
        }
        parser.sign('{')?;
        while !parser.takes('}') {
            let name = parser.word()?;
            if ["if", "else"].contains(&name.as_str()) {
                let error =
                    UsageError::new(Code::NotTranslated, "the pipeline has conditions (if), which are not translated");
                return Err(error.hint("translate the pipeline of each case, or compute with --sql"));
            }
            plugins.push(Plugin { section: section.clone(), name, settings: parser.settings()? });
        }
    }
    Ok(plugins)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Sign(char),
    Arrow,
    /// A bare word or a number.
    Word(String),
    Quoted(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, UsageError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '#' => rest = after.find('\n').map_or("", |end| &after[end..]),
            _ if c.is_whitespace() => rest = after,
            '{' | '}' | '[' | ']' | ',' => {
                tokens.push(Token::Sign(c));
                rest = after;
            }
            '"' | '\'' => {
                let end = end_of(after, c).ok_or_else(|| {
                    UsageError::new(Code::NotTranslated, format!("a {c} of the pipeline is not closed"))
                })?;
                tokens.push(Token::Quoted(after[..end].to_owned()));
                rest = &after[end + 1..];
            }
            _ if rest.starts_with("=>") => {
                tokens.push(Token::Arrow);
                rest = &rest[2..];
            }
            _ => {
                let stops = |c: char| c.is_whitespace() || "{}[],\"'=".contains(c);
                // An operator of a condition is a word of its own.
                let end = rest.find(stops).unwrap_or(rest.len()).max(c.len_utf8());
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
    }
    Ok(tokens)
}

/// Where a quoted text ends. A backslash before the quote stays in the text, as in Logstash without
/// `config.support_escapes`.
fn end_of(text: &str, quote: char) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find(quote)?;
        if !text[..end].ends_with('\\') {
            return Some(end);
        }
        from = end + quote.len_utf8();
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<&Token> {
        self.at += 1;
        self.tokens.get(self.at - 1)
    }

    /// Passes over this sign, if it is the next token.
    fn takes(&mut self, sign: char) -> bool {
        let there = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(there);
        there
    }

    fn sign(&mut self, sign: char) -> Result<(), UsageError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&sign.to_string())) }
    }

    fn unexpected(&self, expected: &str) -> UsageError {
        let found = match self.tokens.get(self.at) {
            None => "its end".to_owned(),
            Some(Token::Sign(sign)) => sign.to_string(),
            Some(Token::Arrow) => "=>".to_owned(),
            Some(Token::Word(word) | Token::Quoted(word)) => word.clone(),
        };
        UsageError::new(Code::NotTranslated, format!("the pipeline has {found} where {expected} was expected"))
    }

    fn word(&mut self) -> Result<String, UsageError> {
        match self.next() {
            Some(Token::Word(word) | Token::Quoted(word)) => Ok(word.clone()),
            _ => {
                self.at -= 1;
                Err(self.unexpected("a name"))
            }
        }
    }

    /// `{ name => value … }`.
    fn settings(&mut self) -> Result<Vec<(String, Setting)>, UsageError> {
        self.sign('{')?;
        let mut settings = Vec::new();
        while !self.takes('}') {
            let name = self.word()?;
            if self.tokens.get(self.at) != Some(&Token::Arrow) {
                return Err(self.unexpected("=>"));
            }
            self.at += 1;
            settings.push((name, self.value()?));
            self.takes(',');
        }
        Ok(settings)
    }

    fn value(&mut self) -> Result<Setting, UsageError> {
        if self.takes('[') {
            let mut items = Vec::new();
            while !self.takes(']') {
                items.push(self.value()?);
                self.takes(',');
            }
            return Ok(Setting::List(items));
        }
        if self.tokens.get(self.at) == Some(&Token::Sign('{')) {
            return Ok(Setting::Hash(self.settings()?));
        }
        let word = self.word()?;
        if self.tokens.get(self.at) == Some(&Token::Sign('{')) {
            return Ok(Setting::Codec(Plugin { section: "codec".to_owned(), name: word, settings: self.settings()? }));
        }
        Ok(Setting::Text(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_plugins_and_values() {
        let text = "# a comment\ninput { file { path => [\"/a/*.csv\", '/b'] codec => plain { charset => \"x\" } } }\n\
                    filter { mutate { convert => { \"price\" => \"float\" n => 'integer' } } }\noutput { stdout {} }";
        let plugins = parse(text).unwrap();
        let names: Vec<(&str, &str)> =
            plugins.iter().map(|plugin| (plugin.section.as_str(), plugin.name.as_str())).collect();
        assert_eq!(names, [("input", "file"), ("filter", "mutate"), ("output", "stdout")]);
        assert_eq!(plugins[0].get("path").unwrap().texts(), ["/a/*.csv", "/b"]);
        assert_eq!(plugins[0].text("codec"), Some("plain"));
        let Some(Setting::Codec(codec)) = plugins[0].get("codec") else { panic!("{plugins:?}") };
        assert_eq!(codec.text("charset"), Some("x"));
        let Some(Setting::Hash(types)) = plugins[1].get("convert") else { panic!("{plugins:?}") };
        assert_eq!(types[1], ("n".to_owned(), Setting::Text("integer".to_owned())));
    }

    #[test]
    fn a_quote_behind_a_backslash_ends_no_text() {
        for (text, expected) in [(r#""a \"b\" c""#, r#"a \"b\" c"#), (r"'it\'s'", r"it\'s"), (r#""a'b\c""#, r"a'b\c")] {
            let plugins = parse(&format!("input {{ jdbc {{ statement => {text} x => 1 }} }}")).unwrap();
            assert_eq!(plugins[0].text("statement"), Some(expected), "{text}");
            assert_eq!(plugins[0].text("x"), Some("1"), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_place() {
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        assert!(refused("output { if [a] == 1 { stdout {} } }").contains("conditions"));
        assert!(refused("input { file { path \"a\" } }").contains("=>"));
        assert!(refused("input { file { path => \"a }").contains("not closed"));
        assert!(refused("input { file { path => ").contains("its end"));
        assert!(refused("inputs { file { } }").contains("section inputs"));
    }
}
