//! Command lines and pipelines of other loaders as commands of this program. Each loader has a
//! file, which names the version that was read.

pub(crate) mod elasticdump;
pub(crate) mod esbulk;
pub(crate) mod espipe;
pub(crate) mod logstash;
pub(crate) mod table;

use std::fmt::Write as _;

use crate::failure::UsageError;
use crate::plain::quoted;
use inrush_core::Code;

/// Columns of a printed command.
const WIDTH: usize = 100;

/// A command, and what it does in another way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Translation {
    /// Arguments of `inrush load`: a source, or a flag with its value.
    arguments: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
    /// Flags and settings without a translation, with the reasons.
    refused: Vec<String>,
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

    /// Says that there is no command, because of a flag or a setting that would be left out.
    fn refuse(&mut self, what: &str, reason: &str) {
        self.refused.push(format!("{what} is not translated: {reason}"));
    }

    /// The translation.
    ///
    /// # Errors
    /// Something was refused.
    fn done(self) -> Result<Translation, UsageError> {
        if self.refused.is_empty() {
            return Ok(self);
        }
        let hint = "a command without it would do something else; change or leave out what can be left out, and \
                    translate again; docs/moving/flags.md has all flags";
        Err(UsageError::new(Code::NotTranslated, self.refused.join("; ")).hint(hint))
    }

    /// Whether a flag is set.
    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.first().is_some_and(|first| first == flag))
    }

    /// A login. Secrets have no flag, and are not printed.
    fn login(&mut self, user_flag: &str, variable: &str, user: Option<&str>) {
        match user {
            Some(user) if self.arguments.contains(&vec![user_flag.to_owned(), user.to_owned()]) => {}
            Some(user) if self.has(user_flag) => {
                self.refuse(&format!("the user {user}"), "a load has one user for all nodes of a cluster");
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

/// The ports that programs ask where an address has none.
pub(crate) fn web_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

/// An address, taken apart.
struct Address {
    /// The scheme, the host and the port.
    server: String,
    /// The path without slashes around it.
    path: String,
    /// The user, decoded.
    user: Option<String>,
}

impl Address {
    /// Takes an address apart, as in `http://user:password@host:9200/index`. None: it has no
    /// scheme of the web, or a query.
    fn read(text: &str, port: fn(&str) -> u16) -> Option<Address> {
        let (scheme, rest) = text.split_once("://")?;
        if !["http", "https"].contains(&scheme) || rest.contains(['?', '#']) {
            return None;
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = authority.rsplit_once('@').map_or((None, authority), |(login, host)| (Some(login), host));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let port = if has_port { String::new() } else { format!(":{}", port(scheme)) };
        let user = login.map(|login| decoded(login.split(':').next().unwrap_or_default()));
        let path = path.trim_matches('/').to_owned();
        Some(Address { server: format!("{scheme}://{host}{port}"), path, user: user.filter(|user| !user.is_empty()) })
    }

    /// The address of a path on the server.
    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.server).trim_end_matches('/').to_owned()
    }

    /// The address without the user.
    fn whole(&self) -> String {
        self.at(&self.path)
    }
}

/// A part of an address whose signs may be percent-encoded.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                out.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                out.push(b'%');
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Translates the body of a search, whose name is `what`.
fn search(what: &str, body: &str, to: &mut Translation) {
    let body: serde_json::Value = match serde_json::from_str(body) {
        Ok(body) => body,
        Err(error) => return to.refuse(what, &format!("it is not JSON: {error}")),
    };
    for (part, value) in body.as_object().into_iter().flatten() {
        match part.as_str() {
            "query" => to.set("--query", &value.to_string()),
            // Whole documents are read, in pages and an order of their own.
            "size" | "sort" | "track_total_hits" | "version" | "stored_fields" | "fields" => {}
            "_source" if *value == true => {}
            part => to.refuse(&format!("{part} of {what}"), "a load reads whole documents, by their query only"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory as _;
    use std::cell::RefCell;

    /// Words of a command line, split at blanks.
    pub(super) fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    thread_local! {
        /// Its many flags are put together once, because each example of the tables is checked.
        static COMMAND: RefCell<clap::Command> = RefCell::new(Cli::command());
    }

    /// The command of a translation, whose flags exist and take these values.
    pub(super) fn checked(translation: &Translation) -> String {
        let arguments = translation.arguments.iter().flatten().map(String::as_str);
        let line = ["inrush", "load"].into_iter().chain(arguments);
        let parsed = COMMAND.with_borrow_mut(|command| command.try_get_matches_from_mut(line));
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
    fn addresses_have_a_port_and_no_login() {
        let read = |text: &str, port: fn(&str) -> u16| {
            let address = Address::read(text, port)?;
            Some(format!("{} {} {}", address.server, address.path, address.user.unwrap_or_default()))
        };
        for (text, expected) in [
            ("https://ada:secret@host:9200/shop/", "https://host:9200 shop ada"),
            ("https://joe%40corp.com:p%3a@host/a/b", "https://host:443 a/b joe@corp.com"),
            ("http://100%:x@host", "http://host:80  100%"),
            ("http://:x@[::1]", "http://[::1]:80  "),
            ("http://[::1]:9200/a", "http://[::1]:9200 a "),
        ] {
            assert_eq!(read(text, web_port).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(read("https://host", |_| 9200).as_deref(), Some("https://host:9200  "));
        for text in ["shop.json", "s3://bucket/a", "http://host/a?b", "host:9200"] {
            assert!(read(text, web_port).is_none(), "{text}");
        }
    }

    #[test]
    fn parts_of_a_search_that_decide_are_refused() {
        let of = |body: &str| {
            let mut to = Translation::default();
            search("the query", body, &mut to);
            to.done().map(|to| to.arguments).map_err(|error| error.to_string())
        };
        assert_eq!(of(r#"{"sort":["_doc"],"size":5,"_source":true,"stored_fields":["*"]}"#), Ok(Vec::new()));
        assert_eq!(of(r#"{"query":{"a":1}}"#), Ok(vec![vec!["--query".to_owned(), r#"{"a":1}"#.to_owned()]]));
        for (body, named) in [
            ("{", "not JSON"),
            ("FROM a", "not JSON"),
            (r#"{"_source":["b"]}"#, "_source of the query"),
            (r#"{"_source":false}"#, "_source of the query"),
            (r#"{"from":10}"#, "from of the query"),
            (r#"{"min_score":1}"#, "min_score"),
            (r#"{"slice":{"id":0,"max":2}}"#, "slice"),
            (r#"{"query":{"a":1},"collapse":{"field":"b"}}"#, "collapse"),
            (r#"{"aggs":{}}"#, "aggs"),
        ] {
            let refused = of(body).unwrap_err();
            assert!(refused.contains(named), "{body}: {refused}");
        }
    }
}
