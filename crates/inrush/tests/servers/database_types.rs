//! Every type of each database at its extremes: as a document, and as the database's own client
//! shows it. `docs/sources/database-types.md` has the same as a table.

use std::process::Command;
use std::sync::Arc;

use inrush_core::{FieldTypes, RowForm};
use inrush_sources::fetch::{Answer, Fetch};
use inrush_sources::{
    DatabaseAddress, DatabaseOptions, DatabaseRows, FetchFrom, FetchOptions, Source, Warnings, open_fetch,
};
use serde_json::{Value, json};

use crate::database_server::{find, opened, options, read};
use crate::{database_mysql, database_mysql_server, database_postgres};

/// What the client shows.
#[derive(Clone, Copy, PartialEq)]
enum Client {
    /// The same text.
    Same,
    /// Another text for at least one value, for this reason.
    Other(&'static str),
    /// Bytes, which are not compared.
    Bytes,
}
use Client::{Bytes, Other, Same};

/// A type, and what the client shows.
struct Type {
    of: &'static str,
    /// Literals, and the JSON that they become. Empty JSON: the field is left out.
    values: &'static [(&'static str, &'static str)],
    client: Client,
}

const fn of(of: &'static str, values: &'static [(&'static str, &'static str)], client: Client) -> Type {
    Type { of, values, client }
}

const POINT: Client = Other("a whole number gets .0, so that the first value decides for a type with fractions");
const ISO: Client = Other("ISO 8601");
const NO_DAY: Client = Other("days that an index cannot store are left out");
const TRUTH: Client = Other("true and false");
const ZEROS: Client = Other("JSON has no zeros before a number");

const MYSQL: &[Type] = &[
    of("TINYINT", &[("-128", "-128"), ("127", "127"), ("0", "0")], Same),
    of("TINYINT UNSIGNED", &[("255", "255")], Same),
    of("TINYINT(1)", &[("0", "false"), ("1", "true"), ("5", "5"), ("-1", "-1"), ("127", "127")], TRUTH),
    of("TINYINT(1) UNSIGNED", &[("1", "true"), ("255", "255")], TRUTH),
    of("BOOLEAN", &[("TRUE", "true"), ("FALSE", "false")], TRUTH),
    of("SMALLINT", &[("-32768", "-32768"), ("32767", "32767")], Same),
    of("MEDIUMINT", &[("-8388608", "-8388608"), ("8388607", "8388607")], Same),
    of("MEDIUMINT UNSIGNED", &[("16777215", "16777215")], Same),
    of("INT", &[("-2147483648", "-2147483648"), ("2147483647", "2147483647")], Same),
    of("INT UNSIGNED", &[("4294967295", "4294967295")], Same),
    of(
        "BIGINT",
        &[("-9223372036854775808", "-9223372036854775808"), ("9223372036854775807", "9223372036854775807")],
        Same,
    ),
    of("BIGINT UNSIGNED", &[("18446744073709551615", "18446744073709551615")], Same),
    of("INT(5) ZEROFILL", &[("42", "42"), ("0", "0"), ("123456", "123456")], ZEROS),
    of("BIGINT ZEROFILL", &[("7", "7"), ("18446744073709551615", "18446744073709551615")], ZEROS),
    of("DOUBLE ZEROFILL", &[("1.5", "1.5"), ("0", "0.0")], ZEROS),
    of("DECIMAL(6,2) ZEROFILL", &[("1.5", "1.50"), ("0", "0.00")], ZEROS),
    of("FLOAT(7,2) ZEROFILL", &[("1.5", "1.50")], ZEROS),
    of("DECIMAL", &[("5", "5"), ("-9999999999", "-9999999999")], Same),
    of("DECIMAL(10,2)", &[("5", "5.00"), ("-0.01", "-0.01")], Same),
    of(
        "DECIMAL(65,30)",
        &[(
            "99999999999999999999999999999999999.999999999999999999999999999999",
            "99999999999999999999999999999999999.999999999999999999999999999999",
        )],
        Same,
    ),
    of(
        "FLOAT",
        &[
            ("52.5200066", "52.520008"),
            ("-33.8688202", "-33.86882"),
            ("1234567.89", "1234567.9"),
            ("16777217", "16777216.0"),
            ("3.402823466e38", "3.4028235e38"),
            ("1.4e-45", "1.4013e-45"),
            ("0.1", "0.1"),
            ("2", "2.0"),
        ],
        Other("the client shows six digits, JSON has the shortest ones that are the same 32 bits"),
    ),
    of("FLOAT(10,2)", &[("1234567.89", "1234567.88"), ("2", "2.00")], Same),
    of(
        "DOUBLE",
        &[("0.1", "0.1"), ("1.7976931348623157e308", "1.7976931348623157e308"), ("5e-324", "5e-324"), ("3", "3.0")],
        POINT,
    ),
    of("DOUBLE(8,3)", &[("1.5", "1.500"), ("-99999.999", "-99999.999")], Same),
    of("DECIMAL(30,30)", &[("-0.999999999999999999999999999999", "-0.999999999999999999999999999999")], Same),
    of("BIT(1)", &[("b'1'", "1"), ("b'0'", "0")], Bytes),
    of("BIT(64)", &[("18446744073709551615", "18446744073709551615")], Bytes),
    of(
        "DATE",
        &[
            ("'1000-01-01'", "\"1000-01-01\""),
            ("'9999-12-31'", "\"9999-12-31\""),
            ("'0001-01-01'", "\"0001-01-01\""),
            ("'0000-00-00'", ""),
            ("'1999-05-00'", ""),
            ("'2024-00-00'", ""),
            ("'0000-01-12'", ""),
        ],
        NO_DAY,
    ),
    of(
        "TIME(3)",
        &[
            ("'-838:59:59'", "\"-838:59:59.000\""),
            ("'838:59:59'", "\"838:59:59.000\""),
            ("'00:00:00.001'", "\"00:00:00.001\""),
        ],
        Same,
    ),
    of(
        "DATETIME(6)",
        &[
            ("'1000-01-01'", "\"1000-01-01T00:00:00.000000\""),
            ("'9999-12-31 23:59:59.999999'", "\"9999-12-31T23:59:59.999999\""),
            ("'0000-00-00'", ""),
            ("'2024-05-00 10:00:00'", ""),
        ],
        ISO,
    ),
    of(
        "TIMESTAMP NULL",
        &[
            ("'1970-01-01 00:00:01'", "\"1970-01-01T00:00:01Z\""),
            ("'2038-01-19 03:14:07'", "\"2038-01-19T03:14:07Z\""),
            ("'0000-00-00 00:00:00'", ""),
        ],
        ISO,
    ),
    of("TIMESTAMP(6) NULL", &[("'2038-01-19 03:14:07.999999'", "\"2038-01-19T03:14:07.999999Z\"")], ISO),
    of("YEAR", &[("1901", "1901"), ("2155", "2155"), ("'0000'", "0")], ZEROS),
    of("CHAR(5)", &[("'ab'", "\"ab\""), ("''", "\"\"")], Same),
    of("CHAR(5) COLLATE utf8mb4_bin", &[("'ab'", "\"ab\"")], Same),
    of("VARCHAR(20)", &[("'é \\\"q\\\" 東'", "\"é \\\"q\\\" 東\"")], Same),
    of("VARCHAR(20) COLLATE utf8mb4_bin", &[("'k1'", "\"k1\"")], Same),
    of("VARCHAR(20) BINARY", &[("'k2'", "\"k2\"")], Same),
    of("VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin", &[("'é'", "\"é\"")], Same),
    of("VARCHAR(20) CHARACTER SET ucs2", &[("'é'", "\"é\"")], Same),
    of("VARCHAR(20) CHARACTER SET utf16 COLLATE utf16_bin", &[("'é😀'", "\"é😀\"")], Same),
    of("VARCHAR(20) CHARACTER SET sjis", &[("'東'", "\"東\"")], Same),
    of("NCHAR(2)", &[("'é'", "\"é\"")], Same),
    of("TINYTEXT COLLATE utf8mb4_bin", &[("'text'", "\"text\"")], Same),
    of("TEXT", &[("'text'", "\"text\"")], Same),
    of("TEXT COLLATE utf8mb4_bin", &[("'text'", "\"text\"")], Same),
    of("MEDIUMTEXT COLLATE utf8mb4_bin", &[("'text'", "\"text\"")], Same),
    of("LONGTEXT COLLATE utf8mb4_bin", &[("'text'", "\"text\"")], Same),
    of("ENUM('a','b')", &[("'b'", "\"b\""), ("'neither'", "\"\"")], Same),
    of("ENUM('a','b') COLLATE utf8mb4_bin", &[("'b'", "\"b\"")], Same),
    of("SET('a','b')", &[("'a,b'", "\"a,b\""), ("''", "\"\"")], Same),
    of("SET('a','b') COLLATE utf8mb4_bin", &[("'a,b'", "\"a,b\"")], Same),
    of("BINARY(3)", &[("x'00ff'", "\"AP8A\"")], Bytes),
    of("VARBINARY(3)", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("TINYBLOB", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("BLOB", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("MEDIUMBLOB", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("LONGBLOB", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("VARCHAR(9) CHARACTER SET binary", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("POINT", &[("ST_GeomFromText('POINT(1 2)')", "\"AAAAAAEBAAAAAAAAAAAA8D8AAAAAAAAAQA==\"")], Bytes),
    of(
        "GEOMETRY",
        &[(
            "ST_GeomFromText('LINESTRING(0 0,1 1)')",
            "\"AAAAAAECAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADwPwAAAAAAAPA/\"",
        )],
        Bytes,
    ),
];

const MARIADB_ONLY: &[Type] = &[
    of("JSON", &[("'{\"a\": [1]}'", "\"{\\\"a\\\": [1]}\"")], Same),
    of("UUID", &[("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"")], Same),
    of("INET4", &[("'10.0.0.5'", "\"10.0.0.5\"")], Same),
    of("INET6", &[("'2001:db8::ff00:42:8329'", "\"2001:db8::ff00:42:8329\"")], Same),
];

const MYSQL_ONLY: &[Type] = &[
    of(
        "JSON",
        &[
            ("'{\"a\": [1]}'", "{\"a\": [1]}"),
            ("'null'", "null"),
            ("'5'", "5"),
            ("'[18446744073709551615, -9223372036854775808]'", "[18446744073709551615, -9223372036854775808]"),
            (
                "'{\"long\": -1.7976931348623157e308, \"a\": \"\\\\u00e9 \\\\\"q\\\\\" 東\"}'",
                "{\"a\": \"é \\\"q\\\" 東\", \"long\": -1.7976931348623157e308}",
            ),
            ("JSON_ARRAY(CAST(1.50 AS DECIMAL(5,2)), TRUE, NULL)", "[1.50, true, null]"),
            ("JSON_OBJECT('at', CAST('2024-01-31 10:00:00' AS DATETIME))", "{\"at\": \"2024-01-31 10:00:00.000000\"}"),
        ],
        Same,
    ),
    of("JSON", &[("'\"text\"'", "\"text\"")], Other("the client shows the quotes")),
    of("VARCHAR(20) COLLATE utf8mb4_0900_as_cs", &[("'é😀'", "\"é😀\"")], Same),
    of(
        "POINT SRID 4326",
        &[("ST_GeomFromText('POINT(1 2)', 4326)", "\"5hAAAAEBAAAAAAAAAAAAAEAAAAAAAADwPw==\"")],
        Bytes,
    ),
];

const POSTGRES: &[Type] = &[
    of("smallint", &[("-32768", "-32768"), ("32767", "32767")], Same),
    of("integer", &[("-2147483648", "-2147483648"), ("2147483647", "2147483647")], Same),
    of(
        "bigint",
        &[("-9223372036854775808", "-9223372036854775808"), ("9223372036854775807", "9223372036854775807")],
        Same,
    ),
    of(
        "numeric",
        &[
            ("5", "5.0"),
            ("5.5", "5.5"),
            ("1e30", "1000000000000000000000000000000.0"),
            ("'NaN'", ""),
            ("'-Infinity'", ""),
        ],
        POINT,
    ),
    of("numeric(10,2)", &[("5", "5.00"), ("-0.01", "-0.01")], Same),
    of("numeric(10,0)", &[("5", "5"), ("-9999999999", "-9999999999")], Same),
    of("numeric(10)", &[("5", "5")], Same),
    of(
        "real",
        &[
            ("3.4028235e38", "3.4028235e+38"),
            ("1e-45", "1e-45"),
            ("52.520008", "52.520008"),
            ("2", "2.0"),
            ("'NaN'", ""),
            ("'-Infinity'", ""),
        ],
        POINT,
    ),
    of(
        "double precision",
        &[("1.7976931348623157e308", "1.7976931348623157e+308"), ("5e-324", "5e-324"), ("0.1", "0.1"), ("3", "3.0")],
        POINT,
    ),
    of("money", &[("1000.5", "\"$1,000.50\"")], Same),
    of("boolean", &[("true", "true"), ("false", "false")], TRUTH),
    of("char(5)", &[("'ab'", "\"ab   \"")], Same),
    of("varchar(5)", &[("'ab'", "\"ab\"")], Same),
    of("text", &[("'é \"q\" 東'", "\"é \\\"q\\\" 東\""), ("''", "\"\"")], Same),
    of("name", &[("'n'", "\"n\"")], Same),
    of("\"char\"", &[("'q'", "\"q\"")], Same),
    of("bytea", &[("'\\x00ff'", "\"AP8=\"")], Bytes),
    of(
        "date",
        &[
            ("'0001-01-01'", "\"0001-01-01\""),
            ("'9999-12-31'", "\"9999-12-31\""),
            ("'10000-01-01'", ""),
            ("'0001-12-31 BC'", ""),
            ("'infinity'", ""),
            ("'-infinity'", ""),
        ],
        NO_DAY,
    ),
    of("time", &[("'00:00:00.000001'", "\"00:00:00.000001\""), ("'24:00'", "\"24:00:00\"")], Same),
    of("timetz", &[("'10:00+05:30'", "\"10:00:00+05:30\"")], Same),
    of(
        "timestamp",
        &[
            ("'0001-01-01'", "\"0001-01-01T00:00:00\""),
            ("'9999-12-31 23:59:59.999999'", "\"9999-12-31T23:59:59.999999\""),
            ("'294276-12-31'", ""),
        ],
        ISO,
    ),
    of(
        "timestamptz",
        &[
            ("'2024-01-31 10:00:00.123+02'", "\"2024-01-31T08:00:00.123Z\""),
            ("'1884-01-01 00:00:00+00:53:28'", "\"1883-12-31T23:06:32Z\""),
            ("'infinity'", ""),
        ],
        ISO,
    ),
    of("interval", &[("'1 year 2 mons 3 days 04:05:06.789'", "\"P1Y2M3DT4H5M6.789S\""), ("'-1 day'", "\"P-1D\"")], ISO),
    of("inet", &[("'192.168.0.1/24'", "\"192.168.0.1/24\""), ("'::1'", "\"::1\"")], Same),
    of("cidr", &[("'10.0.0.0/8'", "\"10.0.0.0/8\"")], Same),
    of("macaddr", &[("'08:00:2b:01:02:03'", "\"08:00:2b:01:02:03\"")], Same),
    of("macaddr8", &[("'08:00:2b:01:02:03:04:05'", "\"08:00:2b:01:02:03:04:05\"")], Same),
    of("point", &[("'(1,2)'", "\"(1,2)\"")], Same),
    of("line", &[("'{1,2,3}'", "\"{1,2,3}\"")], Same),
    of("lseg", &[("'[(0,0),(1,1)]'", "\"[(0,0),(1,1)]\"")], Same),
    of("box", &[("'(1,1),(0,0)'", "\"(1,1),(0,0)\"")], Same),
    of("path", &[("'((0,0),(1,1))'", "\"((0,0),(1,1))\"")], Same),
    of("polygon", &[("'((0,0),(1,1))'", "\"((0,0),(1,1))\"")], Same),
    of("circle", &[("'<(0,0),1>'", "\"<(0,0),1>\"")], Same),
    of("bit(3)", &[("B'101'", "\"101\"")], Same),
    of("varbit", &[("B'1'", "\"1\"")], Same),
    of("tsvector", &[("'a b'", "\"'a' 'b'\"")], Same),
    of("tsquery", &[("'a & b'", "\"'a' & 'b'\"")], Same),
    of("uuid", &[("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"")], Same),
    of("xml", &[("'<a/>'", "\"<a/>\"")], Same),
    of("json", &[("'{\"a\": 1}'", "{\"a\": 1}"), ("'null'", "null")], Same),
    of("jsonb", &[("'{\"a\":1}'", "{\"a\": 1}")], Same),
    of("jsonpath", &[("'$.a'", "\"$.\\\"a\\\"\"")], Same),
    of("oid", &[("4294967295", "4294967295")], Same),
    of("regclass", &[("'pg_class'", "\"pg_class\"")], Same),
    of("pg_lsn", &[("'FFFFFFFF/FFFFFFFF'", "\"FFFFFFFF/FFFFFFFF\"")], Same),
    of("xid8", &[("'18446744073709551615'", "\"18446744073709551615\"")], Same),
    of("int2vector", &[("'1 2'", "\"1 2\"")], Same),
    of("int4range", &[("'[1,5)'", "\"[1,5)\""), ("'empty'", "\"empty\"")], Same),
    of("tstzrange", &[("'[2024-01-01 00:00+00,)'", "\"[\\\"2024-01-01 00:00:00+00\\\",)\"")], Same),
    of("int4multirange", &[("'{[1,5),[7,9)}'", "\"{[1,5),[7,9)}\""), ("'{}'", "\"{}\"")], Same),
    of("nummultirange", &[("'{[1.5,2]}'", "\"{[1.5,2]}\"")], Same),
    of("int4multirange[]", &[("ARRAY['{[1,5),[7,9)}'::int4multirange]", "[\"{[1,5),[7,9)}\"]")], Other("an array")),
    of(
        "integer[]",
        &[("'{{1,2},{3,NULL}}'", "[[1,2],[3,null]]"), ("'{}'", "[]"), ("'[0:1]={7,8}'", "[7,8]")],
        Other("an array"),
    ),
    of("numeric[]", &[("'{5,5.5,NaN}'", "[5.0,5.5,null]")], Other("an array")),
    of("numeric(10,2)[]", &[("'{5,5.5}'", "[5.00,5.50]")], Other("an array")),
    of("text[]", &[("ARRAY['a,b', NULL, 'NULL', '{\"}']", "[\"a,b\",null,\"NULL\",\"{\\\"}\"]")], Other("an array")),
    of("box[]", &[("'{(1,1),(0,0);(2,2),(1,1)}'", "\"{(1,1),(0,0);(2,2),(1,1)}\"")], Same),
    of("mood", &[("'happy'", "\"happy\"")], Same),
    of("mood[]", &[("'{happy,sad}'", "[\"happy\",\"sad\"]")], Other("an array")),
    of(
        "place",
        &[(
            "ROW('x \"y\"', '{1,NULL}', 5, '{[1,2)}')",
            "{\"name\":\"x \\\"y\\\"\",\"at\":[1,null],\"n\":5.0,\"m\":\"{[1,2)}\"}",
        )],
        Other("an object"),
    ),
    of("price", &[("5", "5.00")], Same),
    of("spans", &[("'{[1,5)}'", "\"{[1,5)}\"")], Same),
];

const SQLITE: &[Type] = &[
    of(
        "INTEGER",
        &[
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"),
            ("'text'", "\"text\""),
        ],
        Same,
    ),
    of("REAL", &[("5", "5.0"), ("0.1", "0.1"), ("9e999", "")], Other("infinity is left out")),
    of("DECIMAL(10,2)", &[("5", "5.0"), ("5.5", "5.5"), ("'6.70'", "6.7")], POINT),
    of("NUMERIC", &[("5", "5.0"), ("5.5", "5.5"), ("'x'", "\"x\"")], POINT),
    of("DECIMAL(10)", &[("5", "5")], Same),
    of("BOOLEAN", &[("1", "1"), ("TRUE", "1")], Same),
    of("DATE", &[("'2024-01-31'", "\"2024-01-31\""), ("20240131", "20240131")], Same),
    of("DATETIME", &[("'2024-01-31 10:00:00'", "\"2024-01-31 10:00:00\"")], Same),
    of("TEXT", &[("'é \"q\" 東'", "\"é \\\"q\\\" 東\""), ("5", "\"5\"")], Same),
    of("BLOB", &[("x'00ff'", "\"AP8=\"")], Bytes),
    of("", &[("5", "5"), ("5.5", "5.5"), ("'x'", "\"x\"")], Same),
];

/// The statements that make the table `every`: a column for each type, and a row for each value.
fn statements(types: &[&Type]) -> String {
    let columns: Vec<String> = types.iter().enumerate().map(|(at, of)| format!("c{at} {}", of.of)).collect();
    let mut statements = format!("CREATE TABLE every (id INT PRIMARY KEY, {});", columns.join(", "));
    for (at, of) in types.iter().enumerate() {
        for (row, (literal, _)) in of.values.iter().enumerate() {
            statements += &format!("INSERT INTO every (id, c{at}) VALUES ({}, {literal});", at * 100 + row);
        }
    }
    statements
}

/// The document of a row.
fn document(at: usize, row: usize, json: &str) -> String {
    let value = if json.is_empty() { String::new() } else { format!(",\"c{at}\":{json}") };
    format!("{{\"id\":{}{value}}}", at * 100 + row)
}

fn documents(types: &[&Type]) -> Vec<String> {
    let of = |(at, of): (usize, &&Type)| -> Vec<String> {
        of.values.iter().enumerate().map(|(row, (_, json))| document(at, row, json)).collect()
    };
    types.iter().enumerate().flat_map(of).collect()
}

fn number(document: &str) -> u64 {
    serde_json::from_str::<Value>(document).unwrap_or_else(|e| panic!("{document}: {e}"))["id"].as_u64().unwrap()
}

fn sorted(mut documents: Vec<String>) -> Vec<String> {
    documents.sort_by_key(|document| number(document));
    documents
}

fn texts(options: &DatabaseOptions) -> Vec<String> {
    let (source, _) = opened(options).unwrap();
    sorted(read(source).texts().into_iter().map(str::to_owned).collect())
}

/// The documents of the whole table, of its ranges, and of look-ups.
fn check_documents(url: &str, types: &[&Type], keys: &str) {
    let expected = documents(types);
    let table = options(url, DatabaseRows::Table("every".to_owned()));
    let found = texts(&table);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{}", types[(number(expected) / 100) as usize].of);
    }
    assert_eq!(found.len(), expected.len());
    if !url.starts_with("sqlite") {
        let split = DatabaseOptions { split_by: Some("id".to_owned()), readers: 3, ..table.clone() };
        assert_eq!(texts(&split), expected, "in ranges");
        let query = DatabaseRows::Query("SELECT * FROM every WHERE id >= 0 -- all".to_owned());
        let split = DatabaseOptions { rows: query, ..split };
        assert_eq!(texts(&split), expected, "a query in ranges");
    }
    let fetched = runtime().block_on(async {
        let looked_up = fetch(url, &format!("SELECT * FROM every WHERE id {keys}")).await;
        let ids: Vec<String> = expected.iter().map(|document| number(document).to_string()).collect();
        looked_up.fetch(&ids).await.unwrap()
    });
    let text = |answer: Answer| match answer {
        Answer::Document(text) => String::from_utf8(text.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    for (found, expected) in fetched.into_iter().map(text).zip(&expected) {
        assert_eq!(&found, expected, "looked up: {}", types[(number(expected) / 100) as usize].of);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn fetch(url: &str, query: &str) -> Arc<dyn Fetch> {
    let address = DatabaseAddress::new(url).unwrap();
    let from = FetchFrom::Database { address, query: query.to_owned(), password: None };
    open_fetch(FetchOptions::new(from), &Warnings::default()).await.map_err(|error| error.text()).unwrap()
}

/// What the client shows of each column, against the documents.
fn check_client(types: &[&Type], client: impl Fn(&str) -> String) {
    for (at, of) in types.iter().enumerate().filter(|(_, of)| of.client != Bytes) {
        let (from, to) = (at * 100, at * 100 + 99);
        let shown = client(&format!("SELECT c{at} FROM every WHERE id BETWEEN {from} AND {to} ORDER BY id"));
        let shown: Vec<&str> = shown.strip_suffix('\n').unwrap_or(&shown).split('\n').collect();
        assert_eq!(shown.len(), of.values.len(), "{}: {shown:?}", of.of);
        let same = |(shown, (_, json)): (&&str, &(&str, &str))| match serde_json::from_str::<Value>(json) {
            Ok(Value::String(text)) => text == *shown,
            _ => json == shown,
        };
        let all = shown.iter().zip(of.values).all(same);
        assert_eq!(all, of.client == Same, "{}: {shown:?} {:?}", of.of, of.values);
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The client of MariaDB, which speaks with MySQL as well. MySQL's own of 5.6.14 showed the same
/// bytes for all values of both servers here.
fn mysql_client(url: &str) -> Command {
    let url = url::Url::parse(url).unwrap();
    let mut command = Command::new(find("mariadb", &["/usr/bin"]).unwrap());
    command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root", "--batch", "--raw"]);
    command.args([
        "--skip-column-names",
        "--default-character-set=utf8mb4",
        &format!("--port={}", url.port().unwrap()),
    ]);
    command.args(["shop", "--execute"]);
    command
}

fn check_mysql(url: &str, more: &[Type]) {
    let types: Vec<&Type> = MYSQL.iter().chain(more).collect();
    output(mysql_client(url).arg(format!("SET sql_mode = '', time_zone = '+00:00'; {}", statements(&types))));
    check_documents(url, &types, "IN ($keys)");
    check_client(&types, |query| output(mysql_client(url).arg(format!("SET time_zone = '+00:00'; {query}"))));
    ids(url);
    joins(url);
    formed(url);
}

/// Columns of a query that are no columns of a table. The last one is an object of JSON.
fn expressions(url: &str, object: &str) {
    let make = "CREATE TABLE terms (n INT, f FLOAT, d DECIMAL(5,2), s TINYINT(1)); \
                INSERT INTO terms VALUES (1, 16777217, 1.5, 1), (3, 0.1, 2.25, 0)";
    output(mysql_client(url).arg(make));
    let query = "SELECT COUNT(*) AS count, SUM(n) AS sum, AVG(n) AS mean, 1/3 AS third, MAX(f) AS most, SUM(f) AS floats, \
                 SUM(d) AS decimals, n > 0 AS more, GROUP_CONCAT(n) AS list, CONCAT(n, 'a') AS text, \
                 STR_TO_DATE('2024-01-31', '%Y-%m-%d') AS day, CAST('2024-01-31 10:00:00' AS DATETIME) AS at, \
                 FROM_UNIXTIME(1) AS unix, SEC_TO_TIME(3661) AS span, UNHEX('00ff') AS bytes, x'00ff' AS hex, \
                 BIT_OR(n) AS bits, POW(2, 0.5) AS root, NULL AS nothing, COALESCE(NULL, f) AS first, ~0 AS all_bits, \
                 JSON_OBJECT('d', d) AS object FROM terms WHERE n = 1 GROUP BY n, f, d";
    let expected = format!(
        concat!(
            r#"{{"count":1,"sum":1,"mean":1.0000,"third":0.3333,"most":16777216.0,"floats":16777216.0,"decimals":1.50,"#,
            r#""more":1,"list":"1","text":"1a","day":"2024-01-31","at":"2024-01-31T10:00:00","unix":"1970-01-01T00:00:01","#,
            r#""span":"01:01:01","bytes":"AP8=","hex":"AP8=","bits":1,"root":1.4142135623730951,"first":16777216.0,"#,
            r#""all_bits":18446744073709551615,"object":{}}}"#
        ),
        object
    );
    let (source, _) = opened(&options(url, DatabaseRows::Query(query.to_owned()))).unwrap();
    assert_eq!(read(source).texts(), [expected]);
}

/// Ids, and keys of look-ups, of types whose text has more than one form.
fn ids(url: &str) {
    let make = "CREATE TABLE ids (z INT(5) ZEROFILL PRIMARY KEY, b VARCHAR(10) COLLATE utf8mb4_bin, u BIGINT UNSIGNED, \
                d DECIMAL(10,2), e ENUM('a','b') COLLATE utf8mb4_bin); \
                INSERT INTO ids VALUES (42, 'k1', 18446744073709551615, 1.5, 'b')";
    output(mysql_client(url).arg(make));
    runtime().block_on(async {
        for (column, id) in
            [("z", "42"), ("z", "00042"), ("b", "k1"), ("u", "18446744073709551615"), ("d", "1.50"), ("e", "b")]
        {
            let looked_up =
                fetch(url, &format!("SELECT {column} AS id, 1 AS n FROM ids WHERE {column} IN ($keys)")).await;
            let answer = looked_up.fetch(&[id.to_owned()]).await.unwrap().remove(0);
            assert!(matches!(answer, Answer::Document(_)), "{column}: {answer:?}");
        }
    });
    let split =
        DatabaseOptions { split_by: Some("z".to_owned()), ..options(url, DatabaseRows::Table("ids".to_owned())) };
    let (source, _) = opened(&split).unwrap();
    assert_eq!(read(source).texts(), [r#"{"z":42,"b":"k1","u":18446744073709551615,"d":1.50,"e":"b"}"#]);
}

/// Columns of one name get numbers: as the query is, in ranges, and beside floats.
fn joins(url: &str) {
    let make = "CREATE TABLE o (id INT, cid INT, name TEXT, f FLOAT); CREATE TABLE c (id INT, name TEXT); \
                INSERT INTO o VALUES (1, 7, 'order', 16777217); INSERT INTO c VALUES (7, 'customer')";
    output(mysql_client(url).arg(make));
    let plain = "SELECT o.id, o.name, c.name FROM o JOIN c ON c.id = o.cid;";
    let with_floats = "SELECT o.*, c.name FROM o JOIN c ON c.id = o.cid";
    for (query, split_by, expected) in [
        (plain, None, r#"{"id":1,"name":"order","name_2":"customer"}"#),
        (plain, Some("id"), r#"{"id":1,"name":"order","name_2":"customer"}"#),
        (with_floats, None, r#"{"id":1,"cid":7,"name":"order","f":16777216.0,"name_2":"customer"}"#),
    ] {
        let rows = DatabaseRows::Query(query.to_owned());
        let wanted = DatabaseOptions { split_by: split_by.map(str::to_owned), ..options(url, rows) };
        let (source, warnings) = opened(&wanted).unwrap();
        assert_eq!(read(source).texts(), [expected], "{query} {split_by:?}");
        assert!(warnings.list().iter().any(|warning| warning.kind == "duplicate_column"));
    }
    let looked_up = "SELECT o.*, c.name FROM o JOIN c ON c.id = o.cid WHERE o.id IN ($keys)";
    let answer =
        runtime().block_on(async { fetch(url, looked_up).await.fetch(&["1".to_owned()]).await.unwrap().remove(0) });
    assert_eq!(
        answer,
        Answer::Document(r#"{"id":1,"cid":7,"name":"order","f":16777216.0,"name_2":"customer"}"#.into())
    );
    for nothing in ["DELETE FROM o", "SET @a = 1", "SELECT 1; SELECT 2"] {
        let refused = opened(&options(url, DatabaseRows::Query(nothing.to_owned())));
        assert!(refused.is_err(), "{nothing}");
    }
}

/// Values as a mapping takes them, and nulls of updates.
fn formed(url: &str) {
    let make = "CREATE TABLE formed (id INT, at DATETIME, ts TIMESTAMP NULL, stars TINYINT(1), p DECIMAL(5,2), f FLOAT, gone TEXT); \
                SET time_zone = '+00:00'; \
                INSERT INTO formed VALUES (1, '2024-03-01 10:00:00', '2024-03-01 10:00:00', 1, 5.5, 0.5, NULL), \
                (2, '2024-03-01', NULL, 5, 5, 1, 'x')";
    output(mysql_client(url).arg(make));
    let form = RowForm { nulls: true, fields: FieldTypes::of_mapping(&mapping()), ..RowForm::default() };
    let (mut source, warnings) = opened(&options(url, DatabaseRows::Table("formed".to_owned()))).unwrap();
    source.form_rows(&form);
    assert_eq!(
        read(source).texts(),
        [
            r#"{"id":1,"at":"2024-03-01 10:00:00","ts":"2024-03-01 10:00:00","stars":1,"p":5.50,"f":0.5,"gone":null}"#,
            r#"{"id":2,"at":"2024-03-01 00:00:00","ts":null,"stars":5,"p":5.00,"f":1.0,"gone":"x"}"#,
        ]
    );
    let counts: Vec<_> = warnings.list().into_iter().map(|w| (w.kind, w.column, w.count)).collect();
    assert_eq!(counts, [("fractions_cut", "f".to_owned(), 1), ("fractions_cut", "p".to_owned(), 1)]);
    let (source, warnings) = opened(&options(url, DatabaseRows::Table("formed".to_owned()))).unwrap();
    assert_eq!(read(source).records.len(), 2);
    let counts: Vec<_> = warnings.list().into_iter().map(|w| (w.kind, w.column, w.count)).collect();
    assert_eq!(counts, [("number_as_boolean", "stars".to_owned(), 1)]);
}

fn mapping() -> Value {
    json!({"properties": {
        "at": {"type": "date", "format": "yyyy-MM-dd HH:mm:ss"},
        "ts": {"type": "date", "format": "yyyy-MM-dd HH:mm:ss||yyyy-MM-dd"},
        "stars": {"type": "integer"},
        "p": {"type": "long"},
        "f": {"type": "integer"},
    }})
}

#[test]
fn mariadb() {
    let Some((_server, url)) = database_mysql::start("mariadb-types") else { return };
    check_mysql(&url, MARIADB_ONLY);
    expressions(&url, r#""{\"d\": 1.50}""#);
    limits(&url, "SET GLOBAL max_statement_time = 0.05; SET GLOBAL sql_select_limit = 3");
}

#[test]
fn mysql() {
    let (server, url) = database_mysql_server::start();
    check_mysql(&url, MYSQL_ONLY);
    expressions(&url, r#"{"d": 1.50}"#);
    database_mysql_server::logins(&url, &server);
    limits(&url, "SET GLOBAL max_execution_time = 50; SET GLOBAL sql_select_limit = 3");
}

/// Limits of the server for sessions do not end or shorten a load.
fn limits(url: &str, limits: &'static str) {
    database_mysql::execute(url, limits);
    let rows = "SELECT a.id, SLEEP(0.02) AS s FROM (SELECT id FROM every LIMIT 10) AS a";
    let (source, _) = opened(&options(url, DatabaseRows::Query(rows.to_owned()))).unwrap();
    assert_eq!(read(source).records.len(), 10);
}

#[test]
fn postgres() {
    let (_server, url) = database_postgres::start("postgres-types");
    let client = |query: &str| {
        let mut command = Command::new(find("psql", &["/usr/local/bin", "/usr/bin"]).unwrap());
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", "SET TIME ZONE 'UTC'", "-c", query, &url]);
        output(&mut command)
    };
    client(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); \
         CREATE TYPE place AS (name text, at int[], n numeric, m int4multirange); \
         CREATE DOMAIN price AS numeric(10,2); CREATE DOMAIN spans AS int4multirange;",
    );
    let types: Vec<&Type> = POSTGRES.iter().collect();
    client(&statements(&types));
    check_documents(&url, &types, "= ANY($keys)");
    check_client(&types, client);
    client(
        "CREATE TABLE formed (id int, at timestamp, ts timestamptz, stars boolean, p numeric, f real, gone place); \
         INSERT INTO formed VALUES (1, '2024-03-01 10:00:00', '2024-03-01 10:00:00+00', true, 5.5, 0.5, ROW('a', NULL, NULL, NULL)), \
         (2, '2024-03-01', NULL, NULL, 5, 'NaN', NULL)",
    );
    let form = RowForm { nulls: true, fields: FieldTypes::of_mapping(&mapping()), ..RowForm::default() };
    let (mut source, warnings) = opened(&options(&url, DatabaseRows::Table("formed".to_owned()))).unwrap();
    source.form_rows(&form);
    source.keep_texts(&["p".to_owned()]);
    let outcome = read(source);
    assert_eq!(
        sorted(outcome.texts().into_iter().map(str::to_owned).collect()),
        [
            r#"{"id":1,"at":"2024-03-01 10:00:00","ts":"2024-03-01 10:00:00+00","stars":true,"p":5.5,"f":0.5,"gone":{"name":"a","at":null,"n":null,"m":null}}"#,
            r#"{"id":2,"at":"2024-03-01 00:00:00","ts":null,"stars":null,"p":5.0,"f":null,"gone":null}"#,
        ]
    );
    let ids: Vec<String> = outcome.records.iter().map(|r| r.meta.as_ref().unwrap().texts[0].1.clone()).collect();
    assert_eq!(ids, ["5.5", "5"]);
    let kinds: Vec<_> = warnings.list().into_iter().map(|w| (w.kind, w.column)).collect();
    let expected = [("fractions_cut", "f"), ("fractions_cut", "p"), ("no_value", "f")];
    assert_eq!(kinds, expected.map(|(kind, column)| (kind, column.to_owned())));
}

#[test]
fn sqlite() {
    let Some(sqlite) = find("sqlite3", &["/usr/bin"]) else {
        println!("skipped: there is no sqlite3 here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let client = |query: &str| output(Command::new(&sqlite).arg(&path).arg(query));
    let types: Vec<&Type> = SQLITE.iter().collect();
    client(&statements(&types));
    let url = format!("sqlite://{}", path.display());
    check_documents(&url, &types, "IN ($keys)");
    check_client(&types, client);
}
