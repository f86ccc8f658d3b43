//! The address of an index as a source: `https://host:9200/index`.

use std::sync::Arc;

use inrush_cluster::transport::{NodeUrl, SetupError};

use crate::SourceUrl;

/// A node of the source's cluster, and the name of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexAddress {
    /// The node.
    pub node: NodeUrl,
    /// An index, an alias, a data stream, a pattern such as `logs-*`, or several of them, separated
    /// by commas.
    pub expression: String,
}

impl IndexAddress {
    /// Whether an argument names an index: the URL of a web server that is not a file
    /// ([`SourceUrl::is_file`]).
    pub fn is_meant(argument: &str, format_is_given: bool) -> bool {
        let of_server = argument.starts_with("https://") || argument.starts_with("http://");
        of_server && SourceUrl::new(argument, &Arc::default()).is_some_and(|url| !url.is_file(format_is_given))
    }

    /// Parses a URL. The text before the last part of its path is the node's address, for a node
    /// behind a proxy.
    ///
    /// # Errors
    /// [`SetupError::Url`] for an address that is invalid, names no index, or contains a password,
    /// because every user of the machine can read arguments.
    pub fn parse(argument: &str) -> Result<Self, SetupError> {
        let trimmed = argument.trim_end_matches('/');
        let scheme = trimmed.find("://").map_or(0, |at| at + 3);
        let (address, expression) = match trimmed[scheme..].rsplit_once('/') {
            Some((host, expression)) => (&trimmed[..scheme + host.len()], expression),
            None => (trimmed, ""),
        };
        let (node, credentials) = NodeUrl::parse(address)?;
        let wrong = |reason: &str| SetupError::Url { url: format!("{node}/{expression}"), reason: reason.to_owned() };
        if credentials.is_some() {
            return Err(wrong(
                "it contains a user name or password; give the user with option `from_user`, and the password with option `from_password_file` or INRUSH_FROM_PASSWORD",
            ));
        }
        if address[scheme..].contains("://") {
            return Err(wrong(
                "it holds several addresses; several indices of one cluster are one address such as https://host:9200/a,b, and those of several clusters are loaded one after the other",
            ));
        }
        if expression.is_empty() {
            return Err(wrong("it names no index; expected an address such as https://host:9200/index"));
        }
        if expression.contains(['?', '#']) || expression.starts_with('_') {
            return Err(wrong(
                "expected an index after the host, such as https://host:9200/index; give a query with option `query`",
            ));
        }
        Ok(IndexAddress { node, expression: expression.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_files_are_no_indices() {
        for (argument, expected) in [
            ("https://old:9200/dvf", true),
            ("http://localhost:9200/logs-*", true),
            ("http://localhost:9200/logs-2026.01.31", true),
            ("http://localhost:9200", true),
            ("https://example.org/data/trips.csv", false),
            ("https://example.org/trips.ndjson.ZST", false),
            ("logs/a", false),
            ("s3://bucket/a", false),
        ] {
            assert_eq!(IndexAddress::is_meant(argument, false), expected, "{argument}");
            assert!(!IndexAddress::is_meant(argument, true), "{argument}");
        }
    }

    #[test]
    fn the_last_part_is_the_index() {
        let parsed = |text: &str| IndexAddress::parse(text).map(|a| (a.node.to_string(), a.expression));
        let of = |node: &str, index: &str| (node.to_owned(), index.to_owned());
        assert_eq!(parsed("http://h:9200/a,b*").unwrap(), of("http://h:9200", "a,b*"));
        assert_eq!(parsed("http://h/a/").unwrap(), of("http://h:9200", "a"));
        assert_eq!(parsed("https://h:1/es/a").unwrap(), of("https://h:1/es", "a"));
        for (text, problem) in [
            ("http://h:9200", "names no index"),
            ("http://h:9200/", "names no index"),
            ("http://u:hunter2@h:9200/a", "option `from_user`"),
            ("http://h:9200/a?q=1", "option `query`"),
            ("http://h:9200/_all", "expected an index"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("hunter2"), "{error}");
        }
    }
}
