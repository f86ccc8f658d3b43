//! The columns of a query of Postgres, and the types of their values from the server's catalogue.
//!
//! `sqlx` finds out types, too, but fails with one that it does not know.

use std::collections::HashMap;

use sqlx::postgres::PgConnection;
use sqlx::{Column as _, Executor, Row};

use super::ranges::subquery;
use super::reading::safe;
use super::values::Kind;

/// `numeric`, and an array of it.
const NUMERICS: [u32; 2] = [1700, 1231];

/// How deep types are looked at that are made of others. The server has no types in a circle.
const DEPTH_MAX: usize = 20;

/// A column of a query.
pub(super) struct PgColumn {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The number of its type.
    pub(super) oid: u32,
}

/// A column as the server describes it.
struct Described {
    name: String,
    oid: u32,
    /// The column of a table that it is: the number of the table, and its own.
    origin: Option<(u32, i16)>,
}

/// The columns of a query, which is planned and not run.
pub(super) async fn columns(connection: &mut PgConnection, select: &str) -> Result<Vec<PgColumn>, sqlx::Error> {
    let described = described(connection, select).await?;
    let oids: Vec<u32> = described.iter().map(|column| column.oid).collect();
    let types = Types::read(connection, &oids).await?;
    let modifiers = modifiers(connection, &described).await?;
    let column = |Described { name, oid, origin }| {
        let modifier = origin.and_then(|origin| modifiers.get(&origin)).copied().unwrap_or(-1);
        PgColumn { name, kind: types.kind(oid, modifier, 0), oid }
    };
    Ok(described.into_iter().map(column).collect())
}

/// A row of nulls has all columns. The condition leaves nothing of the query to run.
async fn described(connection: &mut PgConnection, select: &str) -> Result<Vec<Described>, sqlx::Error> {
    let statement = format!(
        "SELECT described.* FROM (VALUES (1)) AS one_row (one) LEFT JOIN {} AS described ON false",
        subquery(select)
    );
    let row = connection.fetch_one(sqlx::raw_sql(safe(&statement))).await?;
    let described = row.columns().iter().map(|column| Described {
        name: column.name().to_owned(),
        oid: column.type_info().oid().map_or(0, |oid| oid.0),
        origin: column.relation_id().map(|table| table.0).zip(column.relation_attribute_no()),
    });
    Ok(described.collect())
}

/// The modifiers of columns of tables: for `numeric`, its digits.
async fn modifiers(
    connection: &mut PgConnection,
    described: &[Described],
) -> Result<HashMap<(u32, i16), i32>, sqlx::Error> {
    let numbers = described.iter().filter(|column| NUMERICS.contains(&column.oid));
    let wanted: Vec<String> = numbers.filter_map(|column| column.origin).map(|(t, n)| format!("({t},{n})")).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = format!(
        "SELECT attrelid::int8, attnum::int8, atttypmod FROM pg_catalog.pg_attribute WHERE (attrelid, attnum) IN ({})",
        wanted.join(",")
    );
    let rows = connection.fetch_all(sqlx::raw_sql(safe(&statement))).await?;
    let of = |row: &sqlx::postgres::PgRow| -> Result<((u32, i16), i32), sqlx::Error> {
        let (table, number): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(((table as u32, number as i16), row.try_get(2)?))
    };
    rows.iter().map(of).collect()
}

/// A type that is made of others, or has a kind of its own.
#[derive(Default)]
struct PgType {
    /// `b`, `c`, `d`, `e`, `m`, `p`, `r`.
    form: String,
    /// The type of an array's items, if commas separate them.
    item: u32,
    /// The type that a domain restricts, with its modifier.
    base: (u32, i32),
    /// The members of a composite type, with their types and modifiers.
    members: Vec<(String, u32, i32)>,
}

/// Types by their numbers.
struct Types(HashMap<u32, PgType>);

impl Types {
    /// Reads these types, and those that they are made of.
    async fn read(connection: &mut PgConnection, oids: &[u32]) -> Result<Types, sqlx::Error> {
        let wanted: Vec<String> = oids.iter().map(u32::to_string).collect();
        let statement = format!(
            "WITH RECURSIVE wanted (oid) AS ( \
               SELECT unnest('{{{}}}'::oid[]) \
               UNION \
               SELECT below.oid FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.oid \
               CROSS JOIN LATERAL ( \
                 SELECT t.typelem AS oid WHERE t.typcategory = 'A' \
                 UNION ALL SELECT t.typbasetype WHERE t.typtype = 'd' \
                 UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a \
                   WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped \
               ) AS below \
             ) \
             SELECT t.oid::int8, t.typtype::text, \
               CASE WHEN t.typcategory = 'A' AND t.typdelim = ',' THEN t.typelem::int8 ELSE 0 END, \
               t.typbasetype::int8, t.typtypmod, a.attname::text, a.atttypid::int8, a.atttypmod \
             FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.oid \
             LEFT JOIN pg_catalog.pg_attribute a \
               ON t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped \
             ORDER BY t.oid, a.attnum",
            wanted.join(",")
        );
        let mut types: HashMap<u32, PgType> = HashMap::new();
        for row in connection.fetch_all(sqlx::raw_sql(safe(&statement))).await? {
            let oid = |place: usize| row.try_get::<i64, _>(place).map(|oid| oid as u32);
            let found = types.entry(oid(0)?).or_default();
            (found.form, found.item, found.base) = (row.try_get(1)?, oid(2)?, (oid(3)?, row.try_get(4)?));
            if let Some(name) = row.try_get::<Option<String>, _>(5)? {
                found.members.push((name, oid(6)?, row.try_get(7)?));
            }
        }
        Ok(Types(types))
    }

    /// Kind of a type's values. A type that is not known is text.
    fn kind(&self, oid: u32, modifier: i32, depth: usize) -> Kind {
        let Some(found) = self.0.get(&oid).filter(|_| depth < DEPTH_MAX) else { return Kind::Text };
        let of = |oid: u32, modifier: i32| self.kind(oid, modifier, depth + 1);
        match found.form.as_str() {
            "d" => match found.base {
                (base, -1) => of(base, modifier),
                (base, own) => of(base, own),
            },
            "c" => {
                Kind::Composite(found.members.iter().map(|(name, oid, own)| (name.clone(), of(*oid, *own))).collect())
            }
            "b" if found.item != 0 => Kind::Array(Box::new(of(found.item, modifier))),
            "b" => base(oid, modifier),
            _ => Kind::Text,
        }
    }
}

/// Kind of a type that is not made of others.
fn base(oid: u32, modifier: i32) -> Kind {
    match oid {
        16 => Kind::Bool,
        17 => Kind::Hex,
        // bigint, smallint, integer, oid.
        20 | 21 | 23 | 26 => Kind::Integer,
        700 | 701 => Kind::Float,
        // A numeric without a scale has values with digits behind the point, and without.
        1700 if modifier == -1 => Kind::Float,
        1700 => Kind::Decimal,
        // json, jsonb.
        114 | 3802 => Kind::Json,
        // date, timestamp.
        1082 | 1114 => Kind::DateTime,
        1184 => Kind::Moment,
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(of: Vec<(u32, PgType)>) -> Types {
        Types(of.into_iter().collect())
    }

    fn plain(form: &str) -> PgType {
        PgType { form: form.to_owned(), base: (0, -1), ..PgType::default() }
    }

    #[test]
    fn types_are_made_of_others_and_unknown_ones_are_text() {
        let types = types(vec![
            (23, plain("b")),
            (1700, plain("b")),
            (1231, PgType { item: 1700, ..plain("b") }),
            (4451, plain("m")),
            (6150, PgType { item: 4451, ..plain("b") }),
            (9001, PgType { base: (1700, 655_366), ..plain("d") }),
            (9002, PgType { base: (9001, -1), ..plain("d") }),
            (9003, PgType { members: vec![("n".into(), 23, -1), ("m".into(), 4451, -1)], ..plain("c") }),
            (9004, PgType { item: 9004, ..plain("b") }),
        ]);
        let kind = |oid, modifier| types.kind(oid, modifier, 0);
        let array = |kind: Kind| Kind::Array(Box::new(kind));
        assert_eq!((kind(1700, -1), kind(1700, 655_366)), (Kind::Float, Kind::Decimal));
        assert_eq!((kind(1231, -1), kind(1231, 655_366)), (array(Kind::Float), array(Kind::Decimal)));
        assert_eq!((kind(4451, -1), kind(6150, -1), kind(7, -1)), (Kind::Text, array(Kind::Text), Kind::Text));
        assert_eq!((kind(9001, -1), kind(9002, -1)), (Kind::Decimal, Kind::Decimal));
        let members = vec![("n".to_owned(), Kind::Integer), ("m".to_owned(), Kind::Text)];
        assert_eq!(kind(9003, -1), Kind::Composite(members));
        // It does not exist, and ends.
        kind(9004, -1);
    }
}
