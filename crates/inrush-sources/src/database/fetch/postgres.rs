//! Look-ups in Postgres.
//!
//! The keys are one parameter, an array of text. The server casts it once for each question to the
//! type that the query compares with. Values of rows come as their text, as `COPY` writes it, so
//! documents are those of a source.

use inrush_formats::Warnings;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow, PgTypeKind};
use sqlx::{Connection, Either, Executor, Row, Statement as _, ValueRef};

use super::super::catalogue;
use super::super::postgres::{SETTINGS, connect_options, text};
use super::super::ranges::subquery;
use super::super::reading::{explain, safe};
use super::{Database, Found, KEYS, Layout, Template, Wanted, source_options, whole_number};

/// `bpchar`: text that is compared without the blanks at its end.
const BLANK_PADDED: u32 = 1042;

/// `inet` and `cidr`: a cast to text writes `/32`, other than `COPY`.
const ADDRESSES: [u32; 2] = [869, 650];

/// The form of keys in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Integer,
    Uuid,
    BlankPadded,
    /// As it is.
    Text,
}

pub(super) struct Postgres {
    connect: PgConnectOptions,
    statement: String,
    form: Form,
    layout: Layout,
}

/// Connects, and checks the query.
pub(super) async fn open(wanted: &Wanted, warnings: &Warnings) -> Result<Postgres, String> {
    let template = Template::parse(&wanted.query)?;
    let connect = connect_options(&source_options(wanted))?;
    let failed = |error: sqlx::Error| explain(&error);
    let mut connection = begin(&connect).await.map_err(failed)?;
    let columns = catalogue::columns(&mut connection, &template.with("NULL")).await.map_err(failed)?;
    let of_keys = format!("SELECT 1 FROM {} AS looked_up", subquery(&template.with("$1")));
    let described = connection.prepare(safe(&of_keys)).await.map_err(failed)?;
    let element = match described.parameters() {
        Some(Either::Left([parameter])) => match parameter.kind() {
            PgTypeKind::Array(element) => element.oid().map(|oid| oid.0),
            _ => None,
        },
        _ => None,
    };
    let Some(element) = element else {
        return Err(format!(
            "the query of option `fetch` does not compare with an array; expected as in WHERE id = ANY({KEYS})"
        ));
    };
    let name = text(&mut connection, &format!("SELECT format_type({element}, -1)")).await?;
    let types: Vec<u32> = columns.iter().map(|column| column.oid).collect();
    let columns = columns.into_iter().map(|column| (column.name, column.kind)).collect();
    let layout = Layout::new(columns, wanted, warnings)?;
    let statement = statement(&template, &name, &types);
    connection.prepare(safe(&statement)).await.map_err(failed)?;
    // The connection was for the check only.
    let _ = connection.close().await;
    Ok(Postgres { connect, statement, form: form(element), layout })
}

/// Connects. Each statement is a read-only transaction of its own.
async fn begin(connect: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect_with(connect).await?;
    let mut settings: Vec<String> = SETTINGS.iter().map(|setting| setting.replace("SET LOCAL", "SET")).collect();
    settings.push("SET default_transaction_read_only = on".to_owned());
    connection.execute(sqlx::raw_sql(safe(&settings.join("; ")))).await?;
    Ok(connection)
}

/// The statement with text in all columns, whose types are `types`. The keys are cast in a query of
/// their own, which the server runs once and not for each row.
fn statement(template: &Template, element: &str, types: &[u32]) -> String {
    let keys = format!("ARRAY(SELECT one_key::{element} FROM unnest($1::text[]) AS one_key)");
    let names: Vec<String> = (0..types.len()).map(|place| format!("c{place}")).collect();
    let text = |(name, oid): (&String, &u32)| match *oid {
        oid if oid == BLANK_PADDED || ADDRESSES.contains(&oid) => {
            format!("CASE WHEN {name} IS NOT NULL THEN format('%s', {name}) END")
        }
        _ => format!("{name}::text"),
    };
    let texts: Vec<String> = names.iter().zip(types).map(text).collect();
    let query = subquery(&template.with(&keys));
    format!("SELECT {} FROM {query} AS looked_up({})", texts.join(", "), names.join(", "))
}

fn form(element: u32) -> Form {
    match element {
        20 | 21 | 23 | 26 => Form::Integer,
        2950 => Form::Uuid,
        BLANK_PADDED => Form::BlankPadded,
        _ => Form::Text,
    }
}

/// A UUID in the server's form. `None` if it is none.
fn uuid(id: &str) -> Option<String> {
    let bare = id.strip_prefix('{').and_then(|id| id.strip_suffix('}')).unwrap_or(id);
    let mut digits: String = bare.chars().filter(|character| *character != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    digits.make_ascii_lowercase();
    for place in [20, 16, 12, 8] {
        digits.insert(place, '-');
    }
    Some(digits)
}

impl Database for Postgres {
    type Connection = PgConnection;

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        begin(&self.connect).await
    }

    fn key(&self, id: &str) -> Result<String, String> {
        if id.contains('\0') {
            return Err("the key has a character of the code 0, which Postgres cannot store".to_owned());
        }
        match self.form {
            Form::Integer => whole_number(id),
            Form::Uuid => uuid(id).ok_or_else(|| {
                let shown = inrush_formats::beginning(id.as_bytes());
                format!("the key {shown} is no UUID, but the column of the key has UUIDs")
            }),
            Form::BlankPadded => Ok(id.trim_end_matches(' ').to_owned()),
            Form::Text => Ok(id.to_owned()),
        }
    }

    async fn ask(&self, connection: &mut PgConnection, keys: &[String]) -> Result<Vec<Found>, sqlx::Error> {
        let answer: Vec<PgRow> = sqlx::query(safe(&self.statement)).bind(keys).fetch_all(connection).await?;
        let mut rows = self.layout.rows();
        for row in &answer {
            let value = |place: usize| {
                let value = row.try_get_raw(place).ok().filter(|value| !value.is_null())?;
                value.as_bytes().ok()
            };
            let key = value(self.layout.key).map(|key| match self.form {
                Form::BlankPadded => key.trim_ascii_end(),
                Form::Integer | Form::Uuid | Form::Text => key,
            });
            rows.push(key, |document| {
                for place in 0..row.len() {
                    if let Some(text) = value(place) {
                        document.push(place, text);
                    }
                }
            });
        }
        Ok(rows.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_one_form() {
        let expected = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for id in [expected, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}"] {
            assert_eq!(uuid(id).as_deref(), Some(expected));
        }
        for other in ["", "a0eebc99", "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11"] {
            assert_eq!(uuid(other), None);
        }
    }

    #[test]
    fn keys_are_cast_once_and_values_are_text() {
        let template = Template::parse("SELECT id, ip FROM t WHERE id = ANY($keys);").unwrap();
        assert_eq!(
            statement(&template, "bigint", &[20, 869]),
            "SELECT c0::text, CASE WHEN c1 IS NOT NULL THEN format('%s', c1) END FROM (SELECT id, ip FROM t WHERE id = \
             ANY(ARRAY(SELECT one_key::bigint FROM unnest($1::text[]) AS one_key))\n) AS looked_up(c0, c1)"
        );
    }
}
