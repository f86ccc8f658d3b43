//! Whole numbers and decimals: results are exact, or an error.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int8Array, RecordBatch, UInt64Array};
use inrush_sql::{QueryOptions, Session, SessionOptions, TableSpec};
use tempfile::TempDir;

use super::{SMALL, problem, query, run, table, write_parquet};
use crate::source_support::{drain, write};

async fn texts(sql: &str, tables: Vec<TableSpec>) -> Vec<String> {
    let (outcome, _) = run(sql, tables).await;
    assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
    outcome.texts().into_iter().map(ToOwned::to_owned).collect()
}

/// Why a query ends early.
async fn failure(sql: &str, tables: Vec<TableSpec>) -> String {
    let mut source = query(sql, tables).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    outcome.error.expect(sql).to_string()
}

/// Whole numbers at both ends of their types.
fn integers(folder: &TempDir) -> impl Fn() -> Vec<TableSpec> {
    let csv = "id,big,least,n\n1,9223372036854775807,-9223372036854775808,1\n2,5,-5,2\n3,-9,9,\n";
    let csv = write(folder, "big.csv", csv.as_bytes());
    let parquet = folder.path().join("small.parquet");
    let columns: [(&str, ArrayRef); 2] = [
        ("tiny", Arc::new(Int8Array::from(vec![Some(127), Some(-128), None]))),
        ("large", Arc::new(UInt64Array::from(vec![u64::MAX, 1, 0]))),
    ];
    write_parquet(&parquet, &RecordBatch::try_from_iter(columns).unwrap());
    move || vec![table("input", &[&csv]), table("small", &[&parquet])]
}

#[tokio::test]
async fn whole_numbers_that_fit_are_computed_as_ever() {
    let folder = TempDir::new().unwrap();
    let tables = integers(&folder);
    for (sql, expected) in [
        (
            "SELECT n + 1 AS a, n - 3 AS s, n * -2 AS m, -n AS o, n * n + 2 * n AS p FROM input ORDER BY id LIMIT 1 + 1",
            r#"{"a":2,"s":-2,"m":-2,"o":-1,"p":3} {"a":3,"s":-1,"m":-4,"o":-2,"p":8}"#,
        ),
        // The sum fits, though a part of it does not.
        (
            "SELECT sum(n) AS n, sum(big) AS s FROM (SELECT n, big FROM input UNION ALL SELECT 0, -9 FROM input)",
            r#"{"n":3,"s":9223372036854775776}"#,
        ),
        ("SELECT n, sum(big) AS s FROM input WHERE id > 1 GROUP BY n ORDER BY n", r#"{"n":2,"s":5} {"s":-9}"#),
        (
            "SELECT sum(big) FILTER (WHERE id > 1) AS s, sum(DISTINCT n) AS d, sum(n) FILTER (WHERE id > 9) AS o FROM input",
            r#"{"s":-4,"d":3}"#,
        ),
        (
            "SELECT id, sum(n) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM input ORDER BY id",
            r#"{"id":1,"s":1} {"id":2,"s":3} {"id":3,"s":2}"#,
        ),
        (
            "SELECT id, sum(id + 1) AS s FROM input GROUP BY id HAVING sum(id + 1) > 2 ORDER BY id",
            r#"{"id":2,"s":3} {"id":3,"s":4}"#,
        ),
        (
            "SELECT id + 1 AS k, count(*) * 2 AS c FROM input GROUP BY id + 1 ORDER BY id + 1",
            r#"{"k":2,"c":2} {"k":3,"c":2} {"k":4,"c":2}"#,
        ),
        (
            "SELECT id FROM input i WHERE n + 1 = (SELECT max(id) FROM input WHERE id = i.id + 1)",
            r#"{"id":1} {"id":2}"#,
        ),
        (
            "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t",
            r#"{"n":1} {"n":2} {"n":3}"#,
        ),
        (
            "SELECT sum(tiny) AS s, sum(large) FILTER (WHERE large < 9) AS l, min(large - 1) FILTER (WHERE large > 0) AS m FROM small WHERE large > 0",
            r#"{"s":-1,"l":1,"m":0}"#,
        ),
        (
            "SELECT DATE '2024-03-01' - DATE '2024-02-01' AS d, DATE '2024-03-01' + 1 AS e FROM input LIMIT 1",
            r#"{"d":29,"e":"2024-03-02"}"#,
        ),
    ] {
        assert_eq!(texts(sql, tables()).await.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn the_types_and_names_of_results_stay_the_same() {
    let folder = TempDir::new().unwrap();
    let tables = integers(&folder);
    let session = Session::open(tables(), SMALL).await.unwrap();
    let sql = "SELECT sum(big), n + 1, -n, sum(DISTINCT n), sum(sum(n)) OVER () FROM input GROUP BY n";
    let text = session.explain(sql).await.unwrap();
    let result = text.split_once("result\n").unwrap().1.split_once("plan\n").unwrap().0;
    let expected =
        "  sum(input.big): Int64\n  input.n + Int64(1): Int64\n  (- input.n): Int64\n  sum(DISTINCT input.n): Int64\n";
    assert!(result.starts_with(expected), "{result}");
    let sql = "SELECT sum(tiny) AS a, sum(large) AS b, tiny + tiny AS c FROM small GROUP BY tiny";
    let text = session.explain(sql).await.unwrap();
    assert!(text.contains("  a: Int64\n  b: UInt64\n  c: Int8\n"), "{text}");
    let found = texts("SELECT n + 1, sum(n + 1), -n FROM input WHERE n = 1 GROUP BY n", tables()).await;
    assert_eq!(found, [r#"{"input.n + Int64(1)":2,"sum(input.n + Int64(1))":2,"(- input.n)":-1}"#]);
}

#[tokio::test]
async fn whole_numbers_without_room_are_an_error() {
    let folder = TempDir::new().unwrap();
    let tables = integers(&folder);
    let here = format!("{}/", folder.path().display());
    for (sql, at, says, hint) in [
        (
            "SELECT big * 2 AS x FROM input",
            "big * 2",
            "9223372036854775807 * 2 does not fit BIGINT: column big in big.csv, line 2",
            "CAST(… AS DECIMAL(38, 0)) of one side has more digits",
        ),
        (
            "SELECT id FROM input WHERE 1 + big > id",
            "1 + big",
            "1 + 9223372036854775807 does not fit",
            "big.csv, line 2",
        ),
        (
            "SELECT big - least AS x FROM input",
            "big - least",
            "9223372036854775807 - -9223372036854775808 does not fit BIGINT: column big in big.csv, line 2",
            "",
        ),
        (
            "SELECT -least AS x FROM input",
            "least",
            "0 - -9223372036854775808 does not fit BIGINT: column least in big.csv, line 2",
            "",
        ),
        ("SELECT sum(big * 2) AS x FROM input", "big * 2", "9223372036854775807 * 2 does not fit", "line 2"),
        ("SELECT (SELECT max(big + 1) FROM input) AS x FROM input", "big + 1", "+ 1 does not fit BIGINT", "line 2"),
        (
            "SELECT abs(least) AS x FROM input",
            "abs(",
            "abs(-9223372036854775808) does not fit its type: column least in big.csv, line 2",
            "abs(CAST(… AS DECIMAL(38, 0)))",
        ),
        (
            "SELECT tiny + tiny AS x FROM small",
            "tiny + tiny",
            "127 + 127 does not fit TINYINT: column tiny in small.parquet, row 1",
            "",
        ),
        (
            "SELECT min(large) - max(large) AS x FROM small",
            "min(large) -",
            "0 - 18446744073709551615 does not fit BIGINT UNSIGNED",
            "",
        ),
        (
            "SELECT sum(big) AS s, sum(n) AS n FROM (SELECT big, n FROM input UNION ALL SELECT 9, n FROM input)",
            "sum(big)",
            "sum(big) is 9223372036854775830, which does not fit BIGINT",
            "sum(CAST(big AS DECIMAL(38, 0))) has more digits, sum(CAST(big AS DOUBLE)) rounds",
        ),
        (
            "SELECT n % 1 AS k, sum(DISTINCT i.big) AS s FROM (SELECT big + 9 - 9 AS big, 1 AS n FROM input WHERE id > 1 \
             UNION ALL SELECT 9223372036854775800, 1 UNION ALL SELECT 9, 1 UNION ALL SELECT 10, 1) i GROUP BY n % 1",
            "sum(DISTINCT",
            "sum(i.big) is 9223372036854775815, which does not fit BIGINT",
            "DECIMAL(38, 0)",
        ),
        (
            "SELECT sum(large) AS s FROM small",
            "sum(large)",
            "sum(large) is 18446744073709551616, which does not fit BIGINT UNSIGNED",
            "DECIMAL(38, 0)",
        ),
        (
            "SELECT sum(least) OVER (ORDER BY id DESC ROWS 1 PRECEDING) AS s FROM input",
            "sum(least)",
            "sum(least) is -9223372036854775813, which does not fit BIGINT",
            "DECIMAL(38, 0)",
        ),
    ] {
        let message = failure(sql, tables()).await.replace(&here, "");
        let place = format!("query: line 1, column {}: ", sql.find(at).unwrap() + 1);
        assert!(message.contains(says) && message.contains(hint) && message.starts_with(&place), "{sql}: {message}");
    }
    // What no row is needed for is found before any is read.
    let problem = problem("SELECT 9223372036854775807 + 1 AS x FROM input", tables()).await;
    assert!(problem.starts_with("line 1, column 8: 9223372036854775807 + 1 does not fit BIGINT\n"), "{problem}");
    let wide = "SELECT sum(CAST(big AS DECIMAL(38, 0))) AS s, CAST(big AS DECIMAL(38, 0)) * 2 AS t FROM input \
                WHERE id = 1 GROUP BY big";
    assert_eq!(texts(wide, tables()).await, [r#"{"s":9223372036854775807,"t":18446744073709551614}"#]);
}

fn decimals(folder: &TempDir) -> impl Fn() -> Vec<TableSpec> {
    let rows = "a,0.10,1234567890123456.78\nb,-0.10,1234567890123456.79\na,99999999999999999.99,0.01\nb,0.10,\n";
    let csv = write(folder, "money.csv", format!("who,money,other\n{rows}").as_bytes());
    move || vec![table("input", &[&csv])]
}

#[tokio::test]
async fn decimals_of_text_stay_exact() {
    let folder = TempDir::new().unwrap();
    let tables = decimals(&folder);
    for (sql, expected) in [
        ("SELECT money FROM input", r#"{"money":0.10} {"money":-0.10} {"money":99999999999999999.99} {"money":0.10}"#),
        (
            "SELECT sum(money) AS s, sum(other) AS o, avg(other) AS a FROM input",
            r#"{"s":100000000000000000.09,"o":2469135780246913.58,"a":823045260082304.526666}"#,
        ),
        (
            "SELECT who, sum(money) AS s FROM input GROUP BY who ORDER BY who",
            r#"{"who":"a","s":100000000000000000.09} {"who":"b","s":0.00}"#,
        ),
        (
            "SELECT min(money) AS a, max(other) AS b, median(other) AS m, count(DISTINCT money) AS n FROM input",
            r#"{"a":-0.10,"b":1234567890123456.79,"m":1234567890123456.78,"n":3}"#,
        ),
        (
            "SELECT money, count(*) AS n FROM input GROUP BY money ORDER BY money DESC",
            r#"{"money":99999999999999999.99,"n":1} {"money":0.10,"n":2} {"money":-0.10,"n":1}"#,
        ),
        (
            "SELECT other FROM input ORDER BY other DESC NULLS LAST",
            r#"{"other":1234567890123456.79} {"other":1234567890123456.78} {"other":0.01} {}"#,
        ),
        (
            "SELECT a.other FROM input a JOIN input b ON a.money = b.money + 0.2 WHERE b.money < 0.0 ORDER BY a.other",
            r#"{"other":1234567890123456.78} {}"#,
        ),
        (
            "SELECT named_struct('m', money) AS m, CAST(money AS TEXT) AS t FROM input WHERE other = 0.01",
            r#"{"m":{"m":99999999999999999.99},"t":"99999999999999999.99"}"#,
        ),
        ("SELECT array_agg(money ORDER BY money) AS m FROM input", r#"{"m":[-0.10,0.10,0.10,99999999999999999.99]}"#),
        (
            "SELECT money + other AS a, money - other AS b, money / 2 AS c, -money AS d, abs(money) AS e \
             FROM input WHERE other = 0.01",
            r#"{"a":100000000000000000.00,"b":99999999999999999.98,"c":49999999999999999.995000,"d":-99999999999999999.99,"e":99999999999999999.99}"#,
        ),
    ] {
        assert_eq!(texts(sql, tables()).await.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn numbers_in_a_query_keep_their_digits() {
    let folder = TempDir::new().unwrap();
    let tables = decimals(&folder);
    let (less, more) = (r#"{"other":1234567890123456.78}"#, r#"{"other":1234567890123456.79}"#);
    for (condition, expected) in [
        ("other > 1234567890123456.78", more),
        ("other = 1234567890123456.79", more),
        ("other IN (1234567890123456.79, 5)", more),
        ("other BETWEEN 1234567890123456.78 AND 1234567890123456.785", less),
        ("other = '1234567890123456.79'", more),
        ("money = 99999999999999999.99", r#"{"other":0.01}"#),
        ("other < 0.02 OR 0.005 > other", r#"{"other":0.01}"#),
        ("other = -(-0.01)", r#"{"other":0.01}"#),
    ] {
        let sql = format!("SELECT other FROM input WHERE {condition}");
        assert_eq!(texts(&sql, tables()).await.join(" "), expected, "{sql}");
    }
    for (columns, expected) in [
        ("money + 1.5 AS a, money * -0.5 AS b", r#"{"a":100000000000000001.49,"b":-49999999999999999.995}"#),
        ("money * (1 + 0.2) AS a", r#"{"a":119999999999999999.988}"#),
        ("sum(money * 0.2) AS s", r#"{"s":19999999999999999.998}"#),
        (
            "12345678901234567890123 AS n, 18446744073709551615 AS u",
            r#"{"n":12345678901234567890123,"u":18446744073709551615}"#,
        ),
        ("1.23456789012345678e5 AS e, 1e300 * 1.5 AS f", r#"{"e":123456.789012345678,"f":1.5e+300}"#),
        // Beside a double, and where only doubles can be, they are doubles as ever.
        (
            "3.14159265358979323846 AS p, pi() * 3.14159265358979323846 AS x",
            r#"{"p":3.14159265358979323846,"x":9.869604401089358}"#,
        ),
        ("geo_point(43.123456789012345678, 1) AS g", r#"{"g":{"lat":43.12345678901235,"lon":1.0}}"#),
        ("CAST(1e300 AS DOUBLE) > 3.14159265358979323846 AS l", r#"{"l":true}"#),
        ("0.1 + 0.2 AS f, 1.5 AS o", r#"{"f":0.30000000000000004,"o":1.5}"#),
        ("money * 0.5", r#"{"input.money * Float64(0.5)":49999999999999999.995}"#),
    ] {
        let sql = format!("SELECT {columns} FROM input WHERE other = 0.01");
        assert_eq!(texts(&sql, tables()).await.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn sums_of_decimals_without_room_are_an_error() {
    let folder = TempDir::new().unwrap();
    let parquet = folder.path().join("d.parquet");
    let most = 99_999_999_999_999_999_999_999_999_999_999_999_999_i128;
    let numbers = Decimal128Array::from(vec![most, most, most]).with_precision_and_scale(38, 2).unwrap();
    write_parquet(&parquet, &RecordBatch::try_from_iter([("d", Arc::new(numbers) as ArrayRef)]).unwrap());
    let tables = || vec![table("input", &[Path::new(&parquet)])];
    for (sql, says) in [
        (
            "SELECT sum(d) AS s FROM input",
            "sum(d) is 2999999999999999999999999999999999999.97, which does not fit DECIMAL(38, 2); \
             sum(CAST(d AS DECIMAL(66, 2))) has more digits, sum(CAST(d AS DOUBLE)) rounds",
        ),
        ("SELECT avg(d) AS a FROM input", "an average has more digits than its type; avg(CAST(… AS DOUBLE)) rounds"),
        ("SELECT d * 9 AS s FROM input", "a result of * has more digits than its type; CAST(… AS DOUBLE)"),
        ("SELECT d + d AS s FROM input", "a result of + has more digits than its type"),
    ] {
        let failure = failure(sql, tables()).await;
        assert!(failure.starts_with(&format!("query: line 1, column 8: {says}")), "{sql}: {failure}");
    }
    let wide = "SELECT sum(CAST(d AS DECIMAL(66, 2))) AS s FROM input";
    assert_eq!(texts(wide, tables()).await, [r#"{"s":2999999999999999999999999999999999999.97}"#]);
    let too_wide = problem("SELECT sum(CAST(d AS DECIMAL(70, 2))) AS s FROM input", tables()).await;
    assert!(too_wide.contains("sum takes numbers of at most 66 digits, not DECIMAL of 70"), "{too_wide}");
}

#[tokio::test]
async fn sums_survive_the_way_over_the_disk() {
    let folder = TempDir::new().unwrap();
    let rows = |add: u64| -> String {
        (0..50_000_u64).map(|n| format!("k{n:0>60},{}\n", 9_007_199_254 * (n % 512) + add)).collect()
    };
    let csv = write(&folder, "a.csv", format!("k,n\n{}{}", rows(0), rows(1)).as_bytes());
    let options = SessionOptions { memory: 4 << 20, ..SMALL };
    let session = Session::open(vec![table("input", &[&csv])], options).await.unwrap();
    let sql = "SELECT sum(s) AS s, count(*) AS n, min(s % 2) AS odd FROM (SELECT k, sum(n) AS s FROM input GROUP BY k)";
    let mut source = session.query(sql, QueryOptions::default()).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let total: u64 = (0..50_000_u64).map(|n| 2 * 9_007_199_254 * (n % 512) + 1).fold(0, u64::wrapping_add);
    assert_eq!(outcome.texts(), [format!(r#"{{"s":{total},"n":50000,"odd":1}}"#)]);
}
