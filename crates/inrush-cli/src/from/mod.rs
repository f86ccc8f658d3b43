//! Command lines and pipelines of other loaders as commands of this program. Each loader has a
//! file, which names the version that was read.

pub(crate) mod elasticdump;
pub(crate) mod esbulk;
pub(crate) mod espipe;
pub(crate) mod logstash;

use std::fmt::Write as _;

use crate::failure::UsageError;
use inrush_core::Code;

/// Columns of a printed command.
const WIDTH: usize = 100;

/// A command, and what it does in another way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Translation {
    /// Arguments of `inrush load`: a source, or a flag with its value.
    arguments: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
}

impl Translation {
    fn source(&mut self, source: &str) {
        self.arguments.push(vec![source.to_owned()]);
    }

    fn flag(&mut self, flag: &str) {
        self.arguments.push(vec![flag.to_owned()]);
    }

    fn set(&mut self, flag: &str, value: &str) {
        self.arguments.push(vec![flag.to_owned(), value.to_owned()]);
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// A setting without a counterpart, which is not needed.
    fn tuned(&mut self, what: &str) {
        self.note(format!(
            "{what}: sizes and numbers of requests are found while loading; --batch-docs and --in-flight fix them"
        ));
    }

    fn untranslated(&mut self, what: &str) {
        self.note(format!("{what} is not translated"));
    }

    /// Whether a flag is set.
    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.first().is_some_and(|first| first == flag))
    }

    /// A login. Secrets have no flag, and are not printed. The first user counts.
    fn login(&mut self, user_flag: &str, variable: &str, user: Option<&str>) {
        match user {
            Some(user) if self.has(user_flag) => {
                if !self.arguments.contains(&vec![user_flag.to_owned(), user.to_owned()]) {
                    self.note(format!("{user_flag}: all servers get one login; that of {user} is not translated"));
                }
            }
            Some(user) => {
                self.set(user_flag, user);
                self.note(format!("put the password into the variable {variable}"));
            }
            None => self.note(format!("put the key into the variable {variable}")),
        }
    }

    /// The command for a shell, in lines of at most `WIDTH` columns where that can be.
    pub(crate) fn command(&self) -> String {
        let (mut command, mut column) = ("inrush load".to_owned(), "inrush load".len());
        for argument in &self.arguments {
            let words = argument.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            // The backslash of a continued line needs two columns.
            if column + words.len() + 3 > WIDTH {
                command.push_str(" \\\n ");
                column = 1;
            }
            // Writing to a string does not fail.
            let _ = write!(command, " {words}");
            column += words.len() + 1;
        }
        command.push('\n');
        command
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Arguments of another loader, read one by one.
struct Arguments<'a> {
    rest: std::slice::Iter<'a, String>,
    /// Flags that have no value.
    switches: &'a [&'a str],
}

/// One of them.
enum Argument {
    /// A flag without its hyphens, and its value.
    Flag(String, Option<String>),
    Word(String),
}

impl<'a> Arguments<'a> {
    fn new(arguments: &'a [String], switches: &'a [&'a str]) -> Self {
        Arguments { rest: arguments.iter(), switches }
    }

    /// The next argument.
    ///
    /// # Errors
    /// A flag at the end has no value.
    fn next(&mut self) -> Result<Option<Argument>, UsageError> {
        let Some(argument) = self.rest.next() else { return Ok(None) };
        let bare = argument.trim_start_matches('-');
        if bare.len() == argument.len() || bare.is_empty() {
            return Ok(Some(Argument::Word(argument.clone())));
        }
        if let Some((flag, value)) = bare.split_once('=') {
            return Ok(Some(Argument::Flag(flag.to_owned(), Some(value.to_owned()))));
        }
        if self.switches.contains(&bare) {
            return Ok(Some(Argument::Flag(bare.to_owned(), None)));
        }
        let value = self.rest.next().ok_or_else(|| {
            UsageError::new(Code::NotTranslated, format!("{argument} has no value"))
                .hint("give the arguments as they follow the name of the loader")
        })?;
        Ok(Some(Argument::Flag(bare.to_owned(), Some(value.clone()))))
    }
}

/// An address of an index, taken apart.
struct IndexUrl {
    /// The address without user, password and index.
    nodes: String,
    /// The address without user and password.
    whole: String,
    index: String,
    user: Option<String>,
}

/// Takes the address of an index apart, as in `http://user:password@host:9200/index`.
fn index_url(text: &str) -> Option<IndexUrl> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, host) = authority.rsplit_once('@').map_or((None, authority), |(login, host)| (Some(login), host));
    let path = path.trim_matches('/');
    let (prefix, index) = path.rsplit_once('/').unwrap_or(("", path));
    let user = login.map(|login| login.split(':').next().unwrap_or_default().to_owned());
    let below = |path: &str| format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned();
    Some(IndexUrl { nodes: below(prefix), whole: below(path), index: index.to_owned(), user })
}

/// Translates the body of a search, whose name is `what`.
///
/// # Errors
/// It is not JSON.
fn search(what: &str, body: &str, to: &mut Translation) -> serde_json::Result<()> {
    let body: serde_json::Value = serde_json::from_str(body)?;
    match body.get("query") {
        Some(query) => to.set("--query", &query.to_string()),
        None => to.untranslated(&format!("{what} without a query")),
    }
    for (part, value) in body.as_object().into_iter().flatten() {
        // Whole documents are read, in pages and an order of their own.
        let is_needed = match part.as_str() {
            "query" | "size" | "sort" => false,
            "_source" => value != true,
            _ => true,
        };
        if is_needed {
            to.untranslated(&format!("{part} of {what}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser as _;

    /// Words of a command line, split at blanks.
    pub(super) fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// The command of a translation, whose flags exist.
    pub(super) fn checked(translation: &Translation) -> String {
        let arguments = translation.arguments.iter().flatten().map(String::as_str);
        let parsed = Cli::try_parse_from(["inrush", "load"].into_iter().chain(arguments));
        assert!(parsed.is_ok(), "{}{}", translation.command(), parsed.unwrap_err());
        translation.command()
    }

    #[test]
    fn words_are_quoted_and_lines_are_broken() {
        let mut translation = Translation::default();
        translation.source("logs/*.ndjson");
        translation.set("--query", r#"{"term":{"name":"O'Neill"}}"#);
        translation.set("--index", "logs");
        translation.set("--to", "https://a-long-name.example:9200,https://another-long-name.example:9200");
        let expected = r#"inrush load 'logs/*.ndjson' --query '{"term":{"name":"O'\''Neill"}}' --index logs \
  --to https://a-long-name.example:9200,https://another-long-name.example:9200
"#;
        assert_eq!(checked(&translation), expected);
    }

    #[test]
    fn passwords_of_addresses_are_left_out() {
        let url = index_url("https://ada:secret@host:9200/shop").unwrap();
        assert_eq!(
            (url.nodes.as_str(), url.index.as_str(), url.user.as_deref()),
            ("https://host:9200", "shop", Some("ada"))
        );
        assert!(index_url("shop.json").is_none());
    }
}
