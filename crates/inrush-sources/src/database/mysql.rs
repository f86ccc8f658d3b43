//! MySQL and MariaDB. One connection reads one state of the database. With option `split_by`
//! several connections read, and their states may differ by milliseconds: the connections cannot
//! share a snapshot, and a loader must not stop all writers.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::TryStreamExt;
use inrush_formats::Warnings;
use sqlx::mysql::{MySql, MySqlColumn, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlTypeInfo};
use sqlx::{Column as _, ConnectOptions, Connection, Executor, Row, Statement as _, Type, TypeInfo, ValueRef};

use super::columns::{Columns, Document};
use super::ranges::{RANGES_PER_READER, conditions, subquery, whole_numbers};
use super::reading::{Opened, Stopped, answered, explain, safe};
use super::rows::RowBlocks;
use super::since::{Marked, both, is_time};
use super::values::{Kind, is_time as is_existing, push_base64};
use super::{DatabaseOptions, DatabaseRows as Wanted, SinceColumn};
use crate::repeat::Repeats;
use crate::{Since, SinceValue};

/// Settings of a session that reads: times in UTC, and none of the limits of time and rows that a
/// server or user may have. Comments with a version are statements to such servers. A reader waits
/// while the cluster is busy, for any time.
pub(super) const SESSION: &str = "SET SESSION time_zone = '+00:00', net_write_timeout = 31536000, wait_timeout = 31536000, \
     sql_select_limit = 18446744073709551615, sql_big_selects = 1 \
     /*M!100101 , max_statement_time = 0 */ \
     /*M!100300 , idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0 */ \
     /*!50708 , max_execution_time = 0 */";

/// Connects, and finds the columns and ranges.
pub(super) async fn open(options: DatabaseOptions, name: String, warnings: Warnings) -> Result<Opened, String> {
    let connect = connect_options(&options)?;
    let mut first = begin(&connect).await?;
    let select = Select::of(&mut first, &options).await?;
    let columns = Columns::new(of_documents(&select.columns), &name, &warnings);
    let kinds: Arc<[MySqlKind]> = select.columns.iter().map(|(_, kind)| kind.clone()).collect();
    let ranges = match &options.split_by {
        Some(column) => select.ranges(&mut first, column, &options).await?,
        None => vec!["TRUE".to_owned()],
    };
    let since = match &options.since {
        Some(wanted) => Some(select.marked(&mut first, wanted).await?),
        None => None,
    };
    let mut connections = vec![first];
    while connections.len() < options.readers.max(1).min(ranges.len()) {
        connections.push(begin(&connect).await?);
    }
    if connections.len() > 1 {
        let readers = connections.len();
        warnings.add(&name, "several_snapshots", "", 1, || {
            format!("{readers} connections read, and may see different states of the database if rows were written while they began; leave option `split_by` out to read a single state")
        });
    }
    Ok(Opened {
        readers: connections.len(),
        repeats: Repeats::Unordered,
        fingerprints: Vec::new(),
        columns,
        since,
        begin: Box::new(move |network, outgoing, columns, since| {
            let columns = Arc::new(columns);
            let conditions = ranges.iter().map(|range| both(range, since.as_deref()));
            let statements: VecDeque<String> = conditions.map(|condition| select.statement(&condition)).collect();
            let statements = Arc::new(Mutex::new(statements));
            for mut connection in connections {
                let (statements, kinds, outgoing) = (Arc::clone(&statements), Arc::clone(&kinds), outgoing.clone());
                let mut blocks = RowBlocks::new(Arc::clone(&columns), options.document_bytes_max, outgoing.clone());
                network.spawn(async move {
                    let result = loop {
                        let next = statements.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(statement) = next else { break Ok(()) };
                        if let Err(stopped) = read(&mut connection, &statement, &kinds, &mut blocks).await {
                            break Err(stopped);
                        }
                    };
                    // The transaction wrote nothing, so its end does not matter.
                    let _ = connection.close().await;
                    outgoing.close(result).await;
                });
            }
        }),
    })
}

/// The statement that reads all rows.
struct Select {
    /// The table or query, as it is read whole.
    whole: String,
    /// A common table expression, where the query needs one.
    with: String,
    /// What `FROM` names: the table, or the query as one.
    from: String,
    columns: Vec<(String, MySqlKind)>,
}

impl Select {
    async fn of(connection: &mut MySqlConnection, options: &DatabaseOptions) -> Result<Select, String> {
        let whole = match &options.rows {
            Wanted::Table(table) => {
                let quoted: Vec<String> = table.split('.').map(quote).collect();
                format!("SELECT * FROM {}", quoted.join("."))
            }
            Wanted::Query(query) => query.trim_end().trim_end_matches(';').trim_end().to_owned(),
        };
        let columns = columns(connection, &whole).await.map_err(|e| explain(&e))?;
        if columns.is_empty() {
            return Err("the query has no rows to read; expected a SELECT".to_owned());
        }
        let (with, from) = match &options.rows {
            Wanted::Table(_) => (String::new(), whole["SELECT * FROM ".len()..].to_owned()),
            Wanted::Query(query) => as_table(query, &columns),
        };
        let select = Select { whole, with, from, columns };
        let has_condition = options.split_by.is_some() || options.since.is_some();
        let statement = select.statement(if has_condition { "FALSE" } else { "TRUE" });
        if !select.with.is_empty() && statement != select.whole {
            connection.prepare(safe(&statement)).await.map_err(|e| {
                format!(
                    "{}: columns of one name cannot be numbered for this query on this server; name them with AS",
                    explain(&e)
                )
            })?;
        }
        Ok(select)
    }

    /// The statement that reads the rows of a range. A query is a part of another statement only
    /// where a condition or the exact values of floats have to be added.
    fn statement(&self, condition: &str) -> String {
        let exact = exact_floats(&self.columns, !self.with.is_empty());
        if condition == "TRUE" && exact.is_empty() {
            return self.whole.clone();
        }
        let Select { with, from, .. } = self;
        let exact: String = exact.iter().map(|float| format!(", {float}")).collect();
        format!("{with}SELECT {ROWS}.*{exact} FROM {from} AS {ROWS} WHERE {condition}")
    }

    /// Ranges of equal width of a column with whole numbers.
    async fn ranges(
        &self,
        connection: &mut MySqlConnection,
        column: &str,
        options: &DatabaseOptions,
    ) -> Result<Vec<String>, String> {
        let place = self.columns.iter().position(|(name, _)| name.eq_ignore_ascii_case(column));
        let key = match place {
            Some(place) if !self.with.is_empty() => format!("{ROWS}.c{place}"),
            _ => format!("{ROWS}.{}", quote(column)),
        };
        let Select { with, from, .. } = self;
        let query = format!("{with}SELECT CAST(min({key}) AS CHAR), CAST(max({key}) AS CHAR) FROM {from} AS {ROWS}");
        let row = connection.fetch_one(safe(&query)).await.map_err(|e| explain(&e))?;
        let value = |at: usize| row.try_get::<Option<String>, _>(at).map_err(|e| explain(&e));
        let (Some(least), Some(most)) = (value(0)?, value(1)?) else { return Ok(vec!["TRUE".to_owned()]) };
        let (Ok(least), Ok(most)) = (least.parse(), most.parse()) else {
            return Err(format!(
                "rows cannot be split by the column {column}, which has no whole numbers; name another one with option `split_by`"
            ));
        };
        Ok(conditions(&key, &whole_numbers(least, most, options.readers * RANGES_PER_READER), true))
    }
}

impl Select {
    /// The column of option `since`, and its highest value.
    async fn marked(&self, connection: &mut MySqlConnection, wanted: &SinceColumn) -> Result<Marked, String> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let place = wanted.place(&names)?;
        let (name, kind) = &self.columns[place];
        let kind = match kind {
            MySqlKind::Text(kind) => kind,
            _ => return Err(wanted.refused("its values have no exact order")),
        };
        let word = match kind {
            Kind::Integer | Kind::Decimal => "number",
            Kind::DateTime | Kind::Moment => "time",
            Kind::Text => "text",
            _ => return Err(wanted.refused("its values have no exact order")),
        };
        let key = reference(&self.columns, !self.with.is_empty(), place);
        // A time later than now would hide all rows that come before it. Sessions are in UTC.
        let until_now = if is_time(kind) { format!(" WHERE {key} <= now(6)") } else { String::new() };
        let Select { with, from, .. } = self;
        let query = format!("{with}SELECT CAST(max({key}) AS CHAR) FROM {from} AS {ROWS}{until_now}");
        let row = connection.fetch_one(safe(&query)).await.map_err(|e| wanted.refused(&explain(&e)))?;
        let value: Option<String> = row.try_get(0).map_err(|e| explain(&e))?;
        let value = value.filter(|value| !is_time(kind) || is_existing(value.as_bytes()));
        let last = value.map(|value| SinceValue { kind: word.to_owned(), value });
        let since = Since { column: name.clone(), last };
        // Zero times are below all others, and not null.
        let others = is_time(kind).then(|| format!("{key} < CAST('0001-01-01' AS DATETIME)"));
        Ok(Marked { since, key, others, overlap: wanted.overlap(is_time(kind))?, literal })
    }
}

/// A value of a kind, which the server compares as that of the column.
fn literal(value: &SinceValue, overlap: Option<u64>) -> Result<String, String> {
    let SinceValue { kind, value } = value;
    let is_of =
        |allowed: &str| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit() || allowed.contains(b as char));
    match kind.as_str() {
        "number" if is_of("-.") => Ok(value.clone()),
        // A day that does not exist is null, and no row would come after it.
        "time" if is_of("-.: ") && is_existing(value.as_bytes()) => {
            let time = format!("CAST('{value}' AS DATETIME(6))");
            Ok(match overlap {
                // Days are compared with the whole day.
                Some(seconds) if value.len() == "2026-01-31".len() => {
                    format!("COALESCE(DATE({time} - INTERVAL {seconds} SECOND), {time})")
                }
                Some(seconds) => format!("COALESCE({time} - INTERVAL {seconds} SECOND, {time})"),
                None => time,
            })
        }
        // What a backslash means depends on the settings of the session.
        "text" => Ok(format!("_utf8mb4 X'{}'", value.bytes().map(|byte| format!("{byte:02X}")).collect::<String>())),
        _ => Err(format!("the last value of option `since`, {value:?}, is not a {kind}")),
    }
}

/// The name of a query within a statement.
pub(super) const ROWS: &str = "rows_of_query";

/// A query as a table: what stands before the statement, and in its `FROM`. The columns of a
/// derived table need names of their own. A common table expression gives them, on servers that
/// have it.
pub(super) fn as_table(query: &str, columns: &[(String, MySqlKind)]) -> (String, String) {
    let mut names: Vec<String> = columns.iter().map(|(name, _)| name.to_lowercase()).collect();
    names.sort_unstable();
    if names.windows(2).all(|two| two[0] != two[1]) {
        return (String::new(), subquery(query));
    }
    let names: Vec<String> = (0..columns.len()).map(|place| format!("c{place}")).collect();
    (format!("WITH named_rows ({}) AS {} ", names.join(", "), subquery(query)), "named_rows".to_owned())
}

/// The reference to the column at `place` of [`as_table`].
pub(super) fn reference(columns: &[(String, MySqlKind)], numbered: bool, place: usize) -> String {
    if numbered { format!("{ROWS}.c{place}") } else { format!("{ROWS}.{}", quote(&columns[place].0)) }
}

/// The exact value of each `FLOAT`, as a double.
pub(super) fn exact_floats(columns: &[(String, MySqlKind)], numbered: bool) -> Vec<String> {
    let floats = (0..columns.len()).filter(|place| matches!(columns[*place].1, MySqlKind::Float(_)));
    floats.map(|place| format!("{} + 0e0", reference(columns, numbered, place))).collect()
}

pub(super) fn connect_options(options: &DatabaseOptions) -> Result<MySqlConnectOptions, String> {
    let text = options.address.expose();
    // The library knows the protocol only as `mysql`.
    let text = text.strip_prefix("mariadb://").map_or_else(|| text.to_owned(), |rest| format!("mysql://{rest}"));
    let connect = MySqlConnectOptions::from_str(&text).map_err(|e| format!("is not a valid address: {e}"))?;
    let of_environment = std::env::var("MYSQL_PWD").ok().filter(|_| !has_password(&text));
    let password = options.password.as_ref().map(|password| password.expose().to_owned()).or(of_environment);
    let connect = match password {
        Some(password) => connect.password(&password),
        None => connect,
    };
    Ok(connect.disable_statement_logging())
}

fn has_password(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| url.password().is_some())
}

/// Connects, and begins a read-only transaction that sees one state of the database.
async fn begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, String> {
    answered(connect_and_begin(connect)).await
}

async fn connect_and_begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, String> {
    let mut connection = connect.connect().await.map_err(|e| explain(&e))?;
    let statements = [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        SESSION,
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ];
    for statement in statements {
        connection.execute(sqlx::raw_sql(statement)).await.map_err(|e| explain(&e))?;
    }
    Ok(connection)
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

async fn read(
    connection: &mut MySqlConnection,
    statement: &str,
    kinds: &[MySqlKind],
    blocks: &mut RowBlocks,
) -> Result<(), Stopped> {
    // The statement is not prepared, so the server writes values as text with all digits.
    let mut rows = sqlx::raw_sql(safe(statement)).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        if blocks.push(|document| push(&row, kinds, document)) {
            blocks.flush().await?;
        }
    }
    Ok(blocks.flush().await?)
}

/// Form of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MySqlKind {
    /// Text of this kind.
    Text(Kind),
    /// `FLOAT`: the server writes six digits of it. The column at this place has its exact value.
    Float(usize),
    /// `BIT(n)`: the bytes of a number.
    Bits,
    Bytes,
}

/// Names and forms of a statement's columns. The exact values of floats stand behind them.
pub(super) async fn columns(
    connection: &mut MySqlConnection,
    statement: &str,
) -> Result<Vec<(String, MySqlKind)>, sqlx::Error> {
    let described = connection.prepare(safe(statement)).await.map_err(with_hint)?;
    let mut exact = described.columns().len();
    let column = |column: &MySqlColumn| {
        let mut kind = kind(column.type_info());
        if let MySqlKind::Float(place) = &mut kind {
            *place = exact;
            exact += 1;
        }
        (column.name().to_owned(), kind)
    };
    Ok(described.columns().iter().map(column).collect())
}

/// The library fails with a type that it does not know, and does not name the column.
fn with_hint(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Protocol(text) if text.contains("unknown column type") => sqlx::Error::Protocol(format!(
            "{text}: a column has a type that cannot be read; select its text in a query, as in CAST(column AS CHAR)"
        )),
        error => error,
    }
}

/// The columns as documents have them.
pub(super) fn of_documents(columns: &[(String, MySqlKind)]) -> Vec<(String, Kind)> {
    let kind = |kind: &MySqlKind| match kind {
        MySqlKind::Text(kind) => kind.clone(),
        MySqlKind::Float(_) => Kind::Float,
        MySqlKind::Bits => Kind::Integer,
        MySqlKind::Bytes => Kind::Text,
    };
    columns.iter().map(|(name, of)| (name.clone(), kind(of))).collect()
}

/// Text is what has a character set. The flag `BINARY`, by which the library names types, says that
/// text is sorted by its bytes.
fn kind(info: &MySqlTypeInfo) -> MySqlKind {
    MySqlKind::Text(match info.name().trim_end_matches(" UNSIGNED") {
        "BOOLEAN" => Kind::Flag,
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" | "YEAR" => Kind::Integer,
        "FLOAT" => return MySqlKind::Float(0),
        "DOUBLE" => Kind::Float,
        "DECIMAL" => Kind::Decimal,
        "JSON" => Kind::Json,
        "DATE" | "DATETIME" => Kind::DateTime,
        "TIMESTAMP" => Kind::Moment,
        "BIT" => return MySqlKind::Bits,
        "GEOMETRY" => return MySqlKind::Bytes,
        "TIME" | "NULL" => Kind::Text,
        _ if <str as Type<MySql>>::compatible(info) => Kind::Text,
        _ => return MySqlKind::Bytes,
    })
}

pub(super) fn push<'a>(row: &MySqlRow, kinds: impl IntoIterator<Item = &'a MySqlKind>, document: &mut Document<'_>) {
    for (place, kind) in kinds.into_iter().enumerate() {
        if row.try_get_raw(place).map_or(true, |value| value.is_null()) {
            document.push_null(place);
            continue;
        }
        let Ok(bytes) = row.try_get_unchecked::<&[u8], _>(place) else { continue };
        match kind {
            MySqlKind::Text(_) => document.push(place, bytes),
            MySqlKind::Float(exact) => {
                let exact = row.try_get_unchecked::<&[u8], _>(*exact).unwrap_or(bytes);
                match other_float(bytes, exact) {
                    None => document.push(place, bytes),
                    Some(float) => document.push_number(place, float),
                }
            }
            MySqlKind::Bits => {
                let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                document.push_number(place, number);
            }
            MySqlKind::Bytes => document.push_with(place, |out, _| {
                push_base64(bytes, out);
                true
            }),
        }
    }
}

/// The float of an exact value, unless the server's short text of it is the same float.
fn other_float(short: &[u8], exact: &[u8]) -> Option<f32> {
    let exact: f64 = std::str::from_utf8(exact).ok()?.parse().ok()?;
    let short: Result<f32, _> = std::str::from_utf8(short).ok()?.parse();
    let float = exact as f32;
    (float.is_finite() && short != Ok(float)).then_some(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_values_are_literals_of_their_kind() {
        let of = |kind: &str, value: &str, overlap| {
            literal(&SinceValue { kind: kind.to_owned(), value: value.to_owned() }, overlap)
        };
        assert_eq!(of("number", "-12.50", None).unwrap(), "-12.50");
        assert_eq!(of("text", "a'\\", None).unwrap(), "_utf8mb4 X'61275C'");
        let time = "CAST('2026-01-31 10:00:00.000001' AS DATETIME(6))";
        assert_eq!(of("time", "2026-01-31 10:00:00.000001", None).unwrap(), time);
        let earlier = of("time", "2026-01-31 10:00:00.000001", Some(60)).unwrap();
        assert_eq!(earlier, format!("COALESCE({time} - INTERVAL 60 SECOND, {time})"));
        let day = "CAST('2026-01-31' AS DATETIME(6))";
        let earlier = of("time", "2026-01-31", Some(60)).unwrap();
        assert_eq!(earlier, format!("COALESCE(DATE({day} - INTERVAL 60 SECOND), {day})"));
        for (kind, value) in
            [("number", "1; DROP"), ("number", ""), ("time", "0000-00-00 00:00:00"), ("time", "x"), ("x", "1")]
        {
            assert!(of(kind, value, None).unwrap_err().contains("option `since`"), "{kind} {value}");
        }
    }

    #[test]
    fn floats_have_the_shortest_digits_that_are_the_same_float() {
        for (short, exact, expected) in [
            ("52.52", "52.520008087158203", Some(52.520_008_f32)),
            ("1234570", "1234567.875", Some(1_234_567.9)),
            ("16777200", "16777216", Some(16_777_216.0)),
            ("1234567.88", "1234567.875", None),
            ("0.1", "0.10000000149011612", None),
            ("2", "2", None),
            ("3.40282e38", "3.4028234663852886e38", Some(f32::MAX)),
            ("1.4013e-45", "1.401298464324817e-45", None),
        ] {
            assert_eq!(other_float(short.as_bytes(), exact.as_bytes()), expected, "{short}");
        }
    }

    #[test]
    fn a_query_with_repeated_names_gets_numbers() {
        let of = |names: &[&str]| {
            let text = |name: &&str| ((*name).to_owned(), MySqlKind::Text(Kind::Text));
            as_table("SELECT * FROM o, c;", &names.iter().map(text).collect::<Vec<_>>())
        };
        assert_eq!(of(&["a", "b"]), (String::new(), "(SELECT * FROM o, c\n)".to_owned()));
        let (with, from) = of(&["a", "A"]);
        assert_eq!(with, "WITH named_rows (c0, c1) AS (SELECT * FROM o, c\n) ");
        assert_eq!(from, "named_rows");
    }
}
