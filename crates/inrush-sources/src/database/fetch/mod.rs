//! Look-ups of records in a database.
//!
//! Each question sees the newest state. Values of rows become JSON as those of a source do. A pool
//! keeps connections open ([`Lookups`]); the kinds of databases differ in the statement, in the
//! binding of keys and in the form of rows.

mod mysql;
mod postgres;
mod sqlite;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use inrush_cluster::transport::Secret;
use inrush_formats::Warnings;
use sqlx::Connection;

use super::address::Product;
use super::columns::{Columns, Document};
use super::reading::{answered, explain};
use super::values::{Kind, Noted};
use super::{DatabaseAddress, DatabaseOptions, DatabaseRows};
use crate::fetch::answer::{Found, REFUSED_FIELD};
use crate::fetch::batches::{Ask, Batches, Failed, KEYS_MAX};
use crate::fetch::{Fetch, FetchError};

/// The place of the keys in a query.
const KEYS: &str = "$keys";

/// A database, and how it is asked.
pub(crate) struct Wanted {
    pub(crate) address: DatabaseAddress,
    pub(crate) query: String,
    pub(crate) password: Option<Secret>,
    pub(crate) id: String,
    pub(crate) document_bytes_max: usize,
}

/// Connects, and checks the query.
pub(crate) async fn open(wanted: Wanted, warnings: &Warnings) -> Result<Arc<dyn Fetch>, FetchError> {
    let (name, document_bytes_max) = (wanted.address.to_string(), wanted.document_bytes_max);
    let failed = |problem: String| FetchError::new(format!("{name}: {problem}"));
    wanted.address.check().map_err(failed)?;
    // The query that the database checks is not run.
    Ok(match wanted.address.product() {
        Product::Postgres => {
            let opened = answered(postgres::open(&wanted, warnings)).await.map_err(failed)?;
            lookups(opened, name, document_bytes_max)
        }
        Product::MySql => {
            let opened = answered(mysql::open(&wanted, warnings)).await.map_err(failed)?;
            lookups(opened, name, document_bytes_max)
        }
        Product::Sqlite => {
            let opened = answered(sqlite::open(&wanted, warnings)).await.map_err(failed)?;
            lookups(opened, name, document_bytes_max)
        }
    })
}

fn lookups<D: Database>(database: D, name: String, document_bytes_max: usize) -> Arc<dyn Fetch> {
    let lookups = Lookups { database, name, idle: Mutex::default() };
    Arc::new(Batches::new(lookups, document_bytes_max))
}

/// A kind of database with a checked statement.
trait Database: Send + Sync + 'static {
    type Connection: Connection;

    fn connect(&self) -> impl Future<Output = Result<Self::Connection, sqlx::Error>> + Send;

    /// The key in the form that records have it in, or why no record can have it.
    fn key(&self, id: &str) -> Result<String, String>;

    /// The records of these keys.
    fn ask(
        &self,
        connection: &mut Self::Connection,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<Found>, sqlx::Error>> + Send;
}

/// Asks a database over connections that stay open.
struct Lookups<D: Database> {
    database: D,
    name: String,
    idle: Mutex<Vec<D::Connection>>,
}

impl<D: Database> Lookups<D> {
    fn idle(&self) -> MutexGuard<'_, Vec<D::Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks over an idle connection. If that is broken, as after a restart of the database, a new
    /// one is made.
    async fn records(&self, keys: &[String]) -> Result<Vec<Found>, sqlx::Error> {
        let idle = self.idle().pop();
        if let Some(mut connection) = idle {
            match self.database.ask(&mut connection, keys).await {
                Err(error) if is_broken(&error) => self.idle().clear(),
                answer => {
                    self.idle().push(connection);
                    return answer;
                }
            }
        }
        let mut connection = self.database.connect().await?;
        let answer = self.database.ask(&mut connection, keys).await;
        if !answer.as_ref().is_err_and(is_broken) {
            self.idle().push(connection);
        }
        answer
    }
}

impl<D: Database> Ask for Lookups<D> {
    fn key(&self, id: &str) -> Result<String, String> {
        self.database.key(id)
    }

    fn fit(&self, keys: &[String]) -> usize {
        keys.len().min(KEYS_MAX)
    }

    async fn ask(&self, keys: &[String]) -> Result<Vec<Found>, Failed> {
        self.records(keys).await.map_err(|error| {
            let text = format!("{}: {}", self.name, explain(&error));
            match is_of_values(&error) {
                true => Failed::Keys(text),
                false if is_lasting(&error) => Failed::Away(FetchError::new(text).lasting()),
                false => Failed::Away(FetchError::new(text)),
            }
        })
    }
}

/// Whether the connection cannot be used again.
fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        // Class 57: the server ends the connection. Class 08: a proxy lost it.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
        }
        _ => true,
    }
}

/// Whether the database refuses the statement itself. Class 42 of SQL's states has these errors:
/// syntax, names, and permissions.
fn is_lasting(error: &sqlx::Error) -> bool {
    has_class(error, "42")
}

/// Whether the database refuses a value: a key, or one of a record. Class 22 of SQL's states has
/// these errors.
fn is_of_values(error: &sqlx::Error) -> bool {
    has_class(error, "22")
}

/// Whether SQL's state of the error begins with these two characters.
fn has_class(error: &sqlx::Error, class: &str) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code.starts_with(class))
}

/// The options of a source with the same connection.
fn source_options(wanted: &Wanted) -> DatabaseOptions {
    let rows = DatabaseRows::Query(wanted.query.clone());
    let mut options = DatabaseOptions::new(wanted.address.clone(), rows);
    options.password.clone_from(&wanted.password);
    options
}

/// A query around its keys.
#[derive(Debug, PartialEq, Eq)]
struct Template(Vec<String>);

impl Template {
    fn parse(query: &str) -> Result<Self, String> {
        let mut parts = vec![String::new()];
        for (place, part) in query.split(KEYS).enumerate() {
            let is_longer_name = part.starts_with(|first: char| first.is_alphanumeric() || first == '_');
            match parts.last_mut() {
                Some(last) if place == 0 => last.push_str(part),
                Some(last) if is_longer_name => last.extend([KEYS, part]),
                _ => parts.push(part.to_owned()),
            }
        }
        if parts.len() == 1 {
            return Err(format!(
                "the query of option `fetch` has no {KEYS}; expected as in SELECT … WHERE id = ANY({KEYS}) (Postgres) \
                 or WHERE id IN ({KEYS}) (MySQL, SQLite)"
            ));
        }
        Ok(Template(parts))
    }

    /// The query with `text` in place of the keys.
    fn with(&self, text: &str) -> String {
        self.0.join(text)
    }

    /// How often the query has the keys.
    fn places(&self) -> usize {
        self.0.len() - 1
    }

    /// The query with this number of question marks in place of the keys.
    fn with_marks(&self, count: usize) -> String {
        self.with(&vec!["?"; count].join(","))
    }
}

/// The number of parameters for this number of keys: a power of two, so that few statements are
/// prepared.
fn parameters(keys: usize) -> usize {
    keys.next_power_of_two()
}

/// The keys as parameters: as often as the query has them, each time with the last one repeated.
fn repeated<'a>(keys: &'a [String], template: &Template) -> impl Iterator<Item = &'a str> {
    let last = keys.last().into_iter().flat_map(std::iter::repeat);
    let whole = keys.iter().chain(last).take(parameters(keys.len())).map(String::as_str);
    std::iter::repeat_n(whole, template.places()).flatten()
}

/// The columns of the answer, and the place of the key among them.
struct Layout {
    columns: Columns,
    key: usize,
    /// The key is left out of documents.
    without_key: bool,
}

impl Layout {
    fn new(columns: Vec<(String, Kind)>, wanted: &Wanted, warnings: &Warnings) -> Result<Layout, String> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let exact = names.iter().position(|name| *name == wanted.id);
        let Some(key) = exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(&wanted.id))) else {
            return Err(format!(
                "the query of option `fetch` has no column {}, by which rows are matched with keys, only {}; select it, \
                 or name another one with option `fetch_id`",
                wanted.id,
                names.join(", ")
            ));
        };
        let without_key = names[key] == REFUSED_FIELD;
        let columns = Columns::new(columns, &wanted.address.to_string(), warnings);
        Ok(Layout { columns, key, without_key })
    }

    fn rows(&self) -> Rows<'_> {
        Rows { layout: self, noted: self.columns.noted(), found: Vec::new() }
    }
}

/// The rows of an answer as documents.
struct Rows<'a> {
    layout: &'a Layout,
    noted: Vec<Noted>,
    found: Vec<Found>,
}

impl Rows<'_> {
    fn push(&mut self, key: Option<&[u8]>, write: impl FnOnce(&mut Document<'_>)) {
        let key = key.and_then(|key| String::from_utf8(key.to_vec()).ok());
        let mut out = Vec::new();
        let mut document = self.layout.columns.document(&mut out, &mut self.noted);
        if self.layout.without_key {
            document.leave_out(self.layout.key);
        }
        write(&mut document);
        document.end();
        self.found.push(Found { key, document: Bytes::from(out) });
    }

    fn end(self) -> Vec<Found> {
        self.layout.columns.warn(&self.noted);
        self.found
    }
}

/// A whole number as its shortest digits.
fn whole_number(id: &str) -> Result<String, String> {
    match id.parse::<i128>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => {
            let shown = inrush_formats::beginning(id.as_bytes());
            Err(format!("the key {shown} is no whole number, but the column of the key has whole numbers"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_places_in_a_query() {
        let query = "SELECT * FROM t WHERE id IN ($keys) AND x <> $keys_1 OR y IN ($keys)";
        let template = Template::parse(query).unwrap();
        assert_eq!(template.with_marks(2), "SELECT * FROM t WHERE id IN (?,?) AND x <> $keys_1 OR y IN (?,?)");
        let keys = ["a", "b", "c"].map(str::to_owned);
        let bound: Vec<&str> = repeated(&keys, &template).collect();
        assert_eq!((bound, parameters(3)), (vec!["a", "b", "c", "c", "a", "b", "c", "c"], 4));
        assert_eq!(Template::parse("$keys").unwrap().with("x"), "x");
        assert!(Template::parse("SELECT $keysx").unwrap_err().contains("has no $keys"));
    }

    #[test]
    fn whole_numbers_have_one_form() {
        assert_eq!(whole_number("-007"), Ok("-7".to_owned()));
        assert_eq!(whole_number("18446744073709551615"), Ok("18446744073709551615".to_owned()));
        for other in ["", "1.0", "{\"id\":1}", "1e3"] {
            assert!(whole_number(other).unwrap_err().contains("no whole number"));
        }
    }

    #[test]
    fn the_column_of_the_key_is_known_by_its_name() {
        let layout = |id: &str| {
            let address = DatabaseAddress::new("sqlite://a").unwrap();
            let wanted =
                Wanted { address, query: String::new(), password: None, id: id.to_owned(), document_bytes_max: 1 };
            let columns = ["ID", "id", "_id", "Name"].map(|name| (name.to_owned(), Kind::Text));
            Layout::new(columns.to_vec(), &wanted, &Warnings::default())
        };
        let place = |id: &str| layout(id).map(|layout| (layout.key, layout.without_key));
        assert_eq!((place("id"), place("name"), place("_id")), (Ok((1, false)), Ok((3, false)), Ok((2, true))));
        assert!(place("key").unwrap_err().contains("has no column key"));
        let layout = layout("_id").unwrap();
        let mut rows = layout.rows();
        rows.push(Some(b"7"), |document| (0..4).for_each(|place| document.push(place, b"x")));
        rows.push(Some(b"\xFF"), |_| {});
        let found = rows.end();
        assert_eq!((found[0].key.as_deref(), found[1].key.as_deref()), (Some("7"), None));
        assert_eq!(&found[0].document[..], br#"{"ID":"x","id":"x","Name":"x"}"#);
    }
}
