//! Addresses of databases.

use std::fmt;

use url::Url;

/// The protocol of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Postgres,
    MySql,
    Sqlite,
}

const SCHEMES: [(&str, Product); 5] = [
    ("postgres", Product::Postgres),
    ("postgresql", Product::Postgres),
    ("mysql", Product::MySql),
    ("mariadb", Product::MySql),
    ("sqlite", Product::Sqlite),
];

/// Address of a database: `postgres://user@host/database`, `mysql://user@host/database`,
/// `sqlite:///path/to/file`. `Debug` and `Display` hide its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseAddress {
    text: String,
    product: Product,
}

impl DatabaseAddress {
    /// The address, if `text` has the scheme of a database.
    pub fn new(text: &str) -> Option<Self> {
        let (scheme, _) = text.split_once("://")?;
        let (_, product) = SCHEMES.iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name))?;
        Some(DatabaseAddress { text: text.to_owned(), product: *product })
    }

    #[cfg(feature = "databases")]
    pub(super) fn product(&self) -> Product {
        self.product
    }

    /// The whole address, including its password.
    #[cfg(feature = "databases")]
    pub(super) fn expose(&self) -> &str {
        &self.text
    }

    /// Whether the parameters of the address are known, and have values that are used.
    ///
    /// # Errors
    /// The first one that is not, and the known ones.
    #[cfg(feature = "databases")]
    pub(super) fn check(&self) -> Result<(), String> {
        let (_, query) = self.text.split_once('?').unwrap_or_default();
        let query = query.split('#').next().unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes()).try_for_each(|(name, value)| self.product.check(&name, &value))
    }

    /// Path of the SQLite file.
    pub(super) fn path(&self) -> &str {
        let path = self.text.split_once("://").map_or(self.text.as_str(), |(_, path)| path);
        path.split('?').next().unwrap_or(path)
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.product == Product::Sqlite {
            return write!(f, "sqlite://{}", self.path());
        }
        match Url::parse(&self.text) {
            Ok(mut url) => {
                url.set_query(None);
                url.set_fragment(None);
                // This fails only for an address without a host, which has no password.
                let _ = url.set_password(None);
                f.write_str(url.as_str())
            }
            // An address that cannot be parsed may contain secrets anywhere.
            Err(_) => write!(f, "{}://…", self.text.split("://").next().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_by_their_scheme_and_hide_the_password() {
        let shown = |text: &str| DatabaseAddress::new(text).unwrap().to_string();
        assert_eq!(shown("postgres://me:pw@h:5433/db?sslmode=require&password=x"), "postgres://me@h:5433/db");
        assert_eq!(shown("mysql://h/db"), "mysql://h/db");
        assert_eq!(shown("postgres://me:pw@[/db"), "postgres://…");
        assert_eq!(shown("sqlite:///a/b.db?mode=ro"), "sqlite:///a/b.db");
        assert_eq!(DatabaseAddress::new("sqlite://b.db").unwrap().path(), "b.db");
        let debug = format!("{:?}", DatabaseAddress::new("postgres://me:pw@h/db").unwrap());
        assert_eq!(debug, "DatabaseAddress(postgres://me@h/db)");
        for other in ["a.csv", "s3://b/k", "http://h/i"] {
            assert!(DatabaseAddress::new(other).is_none());
        }
    }
}
