//! Queries over files, as documents.

mod exact;
mod times;
mod wrong;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray};
use inrush_sources::{CsvOptions, FormatOptions, Header, Repeats, Source, SourceSpec};
use inrush_sql::{QueryOptions, Session, SessionOptions, SqlError, SqlSource, TableSpec};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::source_support::{CODECS, Outcome, compress, drain, write};

fn table(name: &str, paths: &[&Path]) -> TableSpec {
    let sources = paths.iter().map(SourceSpec::new).collect();
    TableSpec { name: name.to_owned(), sources, format: FormatOptions::default() }
}

const SMALL: SessionOptions = SessionOptions { memory: 64 << 20, keep_text: false, threads: 2 };

async fn query(sql: &str, tables: Vec<TableSpec>) -> Result<SqlSource, SqlError> {
    Session::open(tables, SMALL).await?.query(sql, QueryOptions::default()).await
}

async fn run(sql: &str, tables: Vec<TableSpec>) -> (Outcome, SqlSource) {
    let mut source = query(sql, tables).await.unwrap();
    tokio::task::spawn_blocking(move || (drain(&mut source, 1000), source)).await.unwrap()
}

/// The documents, which are all there are.
async fn documents(sql: &str, tables: Vec<TableSpec>) -> Vec<Value> {
    let (outcome, _) = run(sql, tables).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let rejected: Vec<_> = outcome.records.iter().filter_map(|record| record.reject.clone()).collect();
    assert!(rejected.is_empty(), "{rejected:?}");
    outcome.texts().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

async fn problem(sql: &str, tables: Vec<TableSpec>) -> String {
    query(sql, tables).await.map(drop).unwrap_err().to_string()
}

const SALES: &str = "\
sale,date,price,commune,postalCode,lot,empty,latitude,longitude
s1,2019-01-04,125000,Hendaye,64700,29,,43.358784,-1.772511
s1,2019-01-04,125000,Hendaye,64700,7B,,43.358784,-1.772511
s2,2019-02-05,90000.50,Bourg-en-Bresse,01000,,,,
";

#[tokio::test]
async fn rows_become_nested_documents() {
    let folder = TempDir::new().unwrap();
    let sales = write(&folder, "sales.csv", SALES.as_bytes());
    let sql = "SELECT sale AS id, first_value(price) AS price, first_value(postalCode) AS postalCode,
          slug(first_value(commune)) AS slug, geo_point(first_value(latitude), first_value(longitude)) AS location,
          array_agg(named_struct('number', lot, 'note', empty) ORDER BY lot) FILTER (WHERE lot IS NOT NULL) AS lots,
          CAST(min(date) AS DATE) AS day
        FROM input GROUP BY sale ORDER BY id";
    assert_eq!(
        documents(sql, vec![table("input", &[&sales])]).await,
        [
            json!({
                "id": "s1", "price": 125000.0, "postalCode": "64700", "slug": "hendaye", "day": "2019-01-04",
                "location": { "lat": 43.358784, "lon": -1.772511 }, "lots": [{ "number": "29" }, { "number": "7B" }],
            }),
            json!({ "id": "s2", "price": 90000.5, "postalCode": "01000", "slug": "bourg-en-bresse", "day": "2019-02-05" }),
        ]
    );
}

#[tokio::test]
async fn a_column_of_numbers_is_one_whatever_they_look_like() {
    let folder = TempDir::new().unwrap();
    let csv = format!("votes,money,late\n{}2866.0,1234567890123456.78,7\n", "1,0.01,\n".repeat(20_000));
    let votes = write(&folder, "votes.csv", csv.as_bytes());
    let sql = "SELECT sum(votes) AS votes, sum(money) AS money, sum(late) AS late FROM votes";
    let (outcome, _) = run(sql, vec![table("votes", &[&votes])]).await;
    assert_eq!(outcome.texts(), [r#"{"votes":22866.0,"money":1234567890123656.78,"late":7}"#]);
    let json = write(&folder, "n.ndjson", b"{\"n\":9007199254740993}\n{\"n\":0.5}\n{\"n\":-1e-3}\n");
    let (outcome, _) = run("SELECT n FROM n", vec![table("n", &[&json])]).await;
    assert_eq!(outcome.texts(), [r#"{"n":9007199254740993.000}"#, r#"{"n":0.500}"#, r#"{"n":-0.001}"#]);
    let json = write(&folder, "m.ndjson", b"{\"m\":1e300}\n{\"m\":0.12345678901234567}\n");
    let (outcome, source) = run("SELECT m FROM m", vec![table("m", &[&json])]).await;
    assert_eq!(outcome.texts(), [r#"{"m":1e+300}"#, r#"{"m":0.12345678901234566}"#]);
    let told = source.describe().warnings.unwrap().list();
    assert_eq!((told[0].kind, told[0].column.as_str()), ("digits_rounded", "m"));
    let json = write(&folder, "o.ndjson", b"{\"m\":1e400}\n{\"m\":1}\n");
    let (outcome, _) = run("SELECT m FROM o", vec![table("o", &[&json])]).await;
    assert_eq!(outcome.texts(), [r#"{"m":1e400}"#, r#"{"m":1}"#]);
}

#[tokio::test]
async fn a_column_with_one_code_that_is_no_number_is_text_throughout() {
    let folder = TempDir::new().unwrap();
    let rows: String =
        (0..20_000).map(|n| format!("{}\n", if n == 19_999 { "2A".to_owned() } else { n.to_string() })).collect();
    let csv = write(&folder, "codes.csv", format!("code\n{rows}").as_bytes());
    let sql = "SELECT count(*) AS n, min(code) AS least, max(code) AS most FROM input";
    assert_eq!(
        documents(sql, vec![table("input", &[&csv])]).await,
        [json!({ "n": 20_000, "least": "0", "most": "9999" })]
    );
}

#[tokio::test]
async fn a_column_that_is_text_because_of_a_few_cells_is_told_where_a_query_passes_it_on() {
    let folder = TempDir::new().unwrap();
    let rows: String = (0..200).map(|n| format!("{n},{n}.5,{n:05}\n")).collect();
    let csv = write(&folder, "a.csv", format!("id,price,code\n{rows}200,n/a,7\n").as_bytes());
    let told = async |sql: &str| {
        let (_, source) = run(sql, vec![table("input", &[&csv])]).await;
        let list = source.describe().warnings.unwrap().list();
        list.into_iter().map(|told| (told.kind, told.column, told.message)).collect::<Vec<_>>()
    };
    for (sql, field) in [
        ("SELECT * FROM input", "price"),
        ("SELECT id, price AS p FROM input ORDER BY id LIMIT 5", "p"),
        ("SELECT a.price FROM (SELECT * FROM input) AS a JOIN input AS b USING (id)", "price"),
    ] {
        let found = told(sql).await;
        assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, "few_texts", field), "{sql}: {found:?}");
        let message = &found[0].2;
        assert!(message.contains("price is text: \"n/a\" in "), "{message}");
        assert!(message.contains("line 202 (1 of 201 values are no numbers), so all are sent as strings"), "{message}");
    }
    for sql in ["SELECT id, code FROM input", "SELECT try_cast(price AS DOUBLE) AS price FROM input"] {
        assert_eq!(told(sql).await, [], "{sql}");
    }
}

fn write_parquet(path: &Path, batch: &RecordBatch) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn batch(numbers: &[i32]) -> RecordBatch {
    let names = StringArray::from_iter_values(numbers.iter().map(|n| format!("n{n}")));
    let times = TimestampMillisecondArray::from_iter_values(numbers.iter().map(|n| i64::from(*n) * 1000));
    let columns: [(&str, ArrayRef); 3] =
        [("n", Arc::new(Int32Array::from(numbers.to_vec()))), ("name", Arc::new(names)), ("stamp", Arc::new(times))];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[tokio::test]
async fn every_format_is_a_table() {
    let folder = TempDir::new().unwrap();
    let parquet = folder.path().join("p.parquet");
    write_parquet(&parquet, &batch(&[1, 2]));
    let arrow = folder.path().join("a.arrow");
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(File::create(&arrow).unwrap(), &batch(&[1]).schema()).unwrap();
    writer.write(&batch(&[3])).unwrap();
    writer.finish().unwrap();
    let mut tables = vec![
        table("parquet", &[&parquet]),
        table("arrow", &[&arrow]),
        table("ndjson", &[&write(&folder, "a.ndjson", b"{\"n\":4,\"name\":\"n4\"}\n")]),
        table("list", &[&write(&folder, "b.json", b"[{\"n\":5,\"name\":\"n5\"}]")]),
    ];
    let mut formats = vec!["parquet".to_owned(), "arrow".into(), "ndjson".into(), "list".into()];
    for (codec, n) in CODECS.iter().zip(6..) {
        let csv =
            write(&folder, &format!("{codec}.csv.packed"), &compress(codec, format!("n,name\n{n},n{n}\n").as_bytes()));
        let mut csv = table(codec, &[&csv]);
        csv.format.format = Some(inrush_sources::Format::Csv);
        tables.push(csv);
        formats.push((*codec).to_owned());
    }
    let all: Vec<String> = formats.iter().map(|name| format!("SELECT n, name FROM {name}")).collect();
    let sql = format!("SELECT * FROM ({}) ORDER BY n", all.join(" UNION ALL "));
    let expected: Vec<Value> = (1..10).map(|n| json!({ "n": n, "name": format!("n{n}") })).collect();
    assert_eq!(documents(&sql, tables).await, expected);
}

#[tokio::test]
async fn folders_are_columns_and_a_file_without_a_column_has_nulls() {
    let folder = TempDir::new().unwrap();
    write_parquet(&folder.path().join("t/year=2023/c=FR/a.parquet"), &batch(&[1]));
    write_parquet(&folder.path().join("t/year=2024/c=D%2FE/a.parquet"), &batch(&[2, 3]).project(&[0, 2]).unwrap());
    let tables = || vec![table("input", &[&folder.path().join("t")])];
    assert_eq!(
        documents("SELECT year + 1 AS following, c, name, max(stamp) AS stamp FROM input GROUP BY year, c, name ORDER BY following", tables()).await,
        [
            json!({ "following": 2024, "c": "FR", "name": "n1", "stamp": "1970-01-01T00:00:01" }),
            json!({ "following": 2025, "c": "D/E", "stamp": "1970-01-01T00:00:03" }),
        ]
    );
    assert_eq!(documents("SELECT count(*) AS n FROM input", tables()).await, [json!({ "n": 3 })]);
    let other = RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["x"])) as ArrayRef)]).unwrap();
    write_parquet(&folder.path().join("t/z.parquet"), &other);
    let problem = problem("SELECT 1", tables()).await;
    assert!(problem.contains("column n is Utf8 here and Int32 in") && problem.contains("z.parquet"), "{problem}");
}

#[tokio::test]
async fn tables_are_joined_and_windows_counted() {
    let folder = TempDir::new().unwrap();
    let works = write(&folder, "works.ndjson", b"{\"id\":1,\"artistIds\":[7,8]}\n{\"id\":2,\"artistIds\":[7]}\n");
    let artists = write(&folder, "artists.csv", b"id,fullName\n7,Blake\n8,Robert\n");
    let sql = "WITH made AS (SELECT id AS work, unnest(artistIds) AS artist FROM input)
        SELECT a.id AS artistId, a.fullName, array_agg(work ORDER BY work) AS works,
          row_number() OVER (ORDER BY count(*) DESC) AS rank
        FROM artists a JOIN made m ON m.artist = a.id GROUP BY a.id, a.fullName ORDER BY a.id";
    assert_eq!(
        documents(sql, vec![table("input", &[&works]), table("artists", &[&artists])]).await,
        [
            json!({ "artistId": 7, "fullName": "Blake", "works": [1, 2], "rank": 1 }),
            json!({ "artistId": 8, "fullName": "Robert", "works": [1], "rank": 2 }),
        ]
    );
}

#[tokio::test]
async fn json_in_text_becomes_part_of_the_document() {
    let folder = TempDir::new().unwrap();
    let csv = write(&folder, "a.csv", b"id,extra\n1,\"{\"\"a\"\":[1,2.50]}\"\n2,what\n3,\n");
    let tables = || vec![table("input", &[&csv])];
    let (outcome, _) =
        run("SELECT id, named_struct('x', parse_json(extra)) AS o FROM input ORDER BY id", tables()).await;
    let texts = outcome.texts();
    assert_eq!((texts[0], texts[2]), (r#"{"id":1,"o":{"x":{"a":[1,2.50]}}}"#, r#"{"id":3,"o":{}}"#));
    let (kind, why) = outcome.records[1].reject.clone().unwrap();
    assert_eq!((kind, texts[1]), ("bad_json", r#"{"id":2,"o":{"x":"what"}}"#));
    assert!(why.contains("field \"o\"") && why.contains("try_parse_json"), "{why}");
    assert_eq!(
        documents("SELECT array_agg(try_parse_json(extra) ORDER BY id) AS extras FROM input", tables()).await,
        [json!({ "extras": [{ "a": [1, 2.5] }, null, null] })]
    );
}

#[tokio::test]
async fn values_that_have_nothing_in_common_are_passed_on() {
    let folder = TempDir::new().unwrap();
    let lines = [r#"{"id":1,"v":{"a":1}}"#, r#"{"id":2,"v":"x"}"#, r#"{"id":3,"v":[1.10]}"#];
    let ndjson = write(&folder, "a.ndjson", lines.join("\n").as_bytes());
    let (outcome, _) = run("SELECT * FROM input ORDER BY id", vec![table("input", &[&ndjson])]).await;
    assert_eq!(outcome.texts(), lines);
    let sql = "SELECT id, v['$json'] AS text FROM input WHERE id = 3";
    assert_eq!(documents(sql, vec![table("input", &[&ndjson])]).await, [json!({ "id": 3, "text": "[1.10]" })]);
}

#[tokio::test]
async fn rows_that_cannot_be_read_are_told_once_with_file_and_line() {
    let folder = TempDir::new().unwrap();
    let good: String = (0..30_000).map(|n| format!("{n},x\n")).collect();
    let csv = write(&folder, "a.csv", format!("n,t\n{good}ragged\n5,y\n").as_bytes());
    let ndjson = write(&folder, "b.ndjson", b"{\"n\":1}\n{\"n\":\n");
    let sql =
        "SELECT count(*) AS c FROM input a LEFT JOIN more b ON a.n = b.n LEFT JOIN input z ON z.n = a.n AND z.t = 'no'";
    let (outcome, source) = run(sql, vec![table("input", &[&csv]), table("more", &[&ndjson])]).await;
    let result = outcome.records.iter().find(|record| record.reject.is_none()).unwrap();
    assert_eq!(result.text(), r#"{"c":30001}"#);
    assert_eq!(source.describe().names[result.at.source.0 as usize], "query");
    let mut rejected: Vec<_> = outcome
        .records
        .iter()
        .filter(|record| record.reject.is_some())
        .map(|record| {
            (source.describe().names[record.at.source.0 as usize].clone(), record.at.line, record.text().to_owned())
        })
        .collect();
    rejected.sort();
    let name = |path: &Path| path.display().to_string();
    assert_eq!(rejected, [(name(&csv), 30_002, "ragged".to_owned()), (name(&ndjson), 2, "{\"n\":".to_owned())]);
}

#[tokio::test]
async fn a_file_that_is_cut_off_is_named() {
    let folder = TempDir::new().unwrap();
    let rows: String = (0..50_000).map(|n| format!("{n},x\n")).collect();
    let whole = compress("gzip", format!("n,t\n{rows}").as_bytes());
    let csv = write(&folder, "a.csv.gz", &whole);
    let mut source = query("SELECT n FROM input", vec![table("input", &[&csv])]).await.unwrap();
    std::fs::write(&csv, &whole[..whole.len() / 2]).unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("a.csv.gz: the gzip stream is cut off"), "{error}");
}

#[tokio::test]
async fn what_is_no_query_is_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let csv = write(&folder, "sales.csv", SALES.as_bytes());
    for (sql, expected) in [
        ("SELECT town FROM input", "there is no column town"),
        ("SELECT * FROM outputs", "there is no table outputs"),
        ("SELEC 1", "did you mean SELECT"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("CREATE TABLE x AS SELECT 1", "CREATE is not a query"),
        ("COPY input TO 'x.csv'", "COPY is not a query"),
        ("SET datafusion.execution.batch_size = 1", "SET is not a query"),
        ("EXPLAIN SELECT * FROM input", "option `explain`"),
        ("SELECT geo_point(latitude) FROM input", "geo_point takes 2 arguments, not 1"),
        ("SELECT short_hash() FROM input", "short_hash takes arguments"),
    ] {
        let problem = problem(sql, vec![table("input", &[&csv])]).await;
        assert!(problem.contains(expected), "{sql}: {problem}");
    }
    let missing = problem("SELECT 1", vec![table("input", &[&csv]), table("b", &[Path::new("none.csv")])]).await;
    assert!(missing.contains("table b: none.csv"), "{missing}");
    assert!(problem("SELECT 1", vec![table("a", &[&csv]), table("a", &[&csv])]).await.contains("two tables"));
}

#[tokio::test]
async fn the_order_of_a_result_decides_whether_a_load_can_go_on() {
    let folder = TempDir::new().unwrap();
    let csv = write(&folder, "sales.csv", SALES.as_bytes());
    let session = Session::open(vec![table("input", &[&csv])], SMALL).await.unwrap();
    let id: inrush_core::FieldPath = "id".parse().unwrap();
    for (sql, expected) in [
        ("SELECT sale AS id, max(price) FROM input GROUP BY sale ORDER BY id", Repeats::Always),
        ("SELECT commune, sale AS id FROM input ORDER BY commune, sale", Repeats::Always),
        ("SELECT sale AS id FROM input ORDER BY id LIMIT 2", Repeats::Always),
        ("SELECT sale AS id, commune FROM input ORDER BY commune", Repeats::Once),
        ("SELECT id FROM (SELECT sale AS id FROM input LIMIT 2) ORDER BY id", Repeats::Once),
        ("SELECT row_number() OVER () AS id FROM input ORDER BY id", Repeats::Once),
        ("SELECT sale AS id FROM input WHERE random() > 0.5 ORDER BY id", Repeats::Once),
        ("SELECT sale AS id FROM input", Repeats::Unordered),
        ("SELECT * FROM (SELECT sale AS id FROM input ORDER BY id) UNION ALL SELECT 'x' AS id", Repeats::Unordered),
    ] {
        let options = QueryOptions { id: Some(id.clone()), ..QueryOptions::default() };
        assert_eq!(session.query(sql, options).await.unwrap().describe().repeats, expected, "{sql}");
    }
    let without_id = session.query("SELECT sale AS id FROM input ORDER BY id", QueryOptions::default()).await.unwrap();
    assert_eq!(without_id.describe().repeats, Repeats::Once);
    assert_eq!(without_id.fingerprints().unwrap().len(), 1);
}

#[tokio::test]
async fn what_does_not_fit_into_memory_goes_to_disk() {
    let folder = TempDir::new().unwrap();
    let rows: String = (0..200_000).map(|n: u64| format!("k{:06},{}\n", n * 7919 % 200_000, "x".repeat(50))).collect();
    let csv = write(&folder, "a.csv", format!("k,pad\n{rows}").as_bytes());
    let with_memory =
        async |memory| Session::open(vec![table("input", &[&csv])], SessionOptions { memory, ..SMALL }).await.unwrap();
    let session = with_memory(64 << 20).await;
    let sql = "SELECT k, count(*) AS n, array_agg(named_struct('pad', pad) ORDER BY pad) AS pads FROM input GROUP BY k ORDER BY k";
    let mut source = session.query(sql, QueryOptions::default()).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 100_000)).await.unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.len(), 200_000);
    let keys: Vec<&str> = outcome.texts().iter().map(|text| &text[5..12]).collect();
    assert!(keys.is_sorted(), "{:?}", &keys[..3]);

    // A join keeps one side in memory as a whole.
    let sql = "SELECT a.k FROM input a JOIN input b ON a.pad = b.pad AND a.k = b.k";
    let mut source = with_memory(2 << 20).await.query(sql, QueryOptions::default()).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 100_000)).await.unwrap();
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("option `sql_memory`"), "{error}");
}

#[tokio::test]
async fn bytes_of_a_result_are_base64_whatever_they_hold() {
    let folder = TempDir::new().unwrap();
    let parquet = folder.path().join("b.parquet");
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"Ann"[..], b"\xFF"]));
    write_parquet(&parquet, &RecordBatch::try_from_iter([("b", bytes)]).unwrap());
    let found = documents("SELECT b FROM input", vec![table("input", &[&parquet])]).await;
    assert_eq!(found, [json!({"b": "QW5u"}), json!({"b": "/w=="})]);
}

#[tokio::test]
async fn progress_is_that_of_the_tables() {
    let folder = TempDir::new().unwrap();
    let parquet = folder.path().join("p.parquet");
    write_parquet(&parquet, &batch(&(0..1000).collect::<Vec<_>>()));
    let bytes = parquet.metadata().unwrap().len();
    let mut source = query("SELECT sum(n) AS s FROM input", vec![table("input", &[&parquet])]).await.unwrap();
    let rows = source.describe().rows.unwrap();
    assert_eq!((source.describe().bytes_total, rows.total), (Some(bytes), Some(1000)));
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    assert_eq!((outcome.bytes_read, rows.read.load(Ordering::Relaxed)), (bytes, 1000));
    // A table that is read twice counts twice.
    let twice =
        query("SELECT a.n FROM input a JOIN input b ON a.n = b.n", vec![table("input", &[&parquet])]).await.unwrap();
    assert_eq!(twice.describe().bytes_total, Some(2 * bytes));
}

#[tokio::test]
async fn a_plan_names_columns_and_files() {
    let folder = TempDir::new().unwrap();
    let csv = write(&folder, "sales.csv", SALES.as_bytes());
    let session = Session::open(vec![table("input", &[&csv])], SMALL).await.unwrap();
    let text = session.explain("SELECT commune, sum(price) AS total FROM input GROUP BY commune").await.unwrap();
    for expected in [
        "table input\n  sale: Utf8\n",
        "  postalCode: Utf8\n",
        "result\n  commune: Utf8\n  total: Float64\n",
        "Read: table=input, files=1, columns=[price, commune]",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_pipe_is_read_once_and_its_table_as_often_as_it_is_wanted() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, "1;x\n2;y\n"));
    let csv = CsvOptions {
        separator: Some(b';'),
        header: Header::Names(vec!["n".into(), "t".into()]),
        ..CsvOptions::default()
    };
    let mut input = table("input", &[&pipe]);
    input.format = FormatOptions { format: Some(inrush_sources::Format::Csv), csv, ..FormatOptions::default() };
    let mut source = query("SELECT a.n, b.t FROM input a JOIN input b ON a.n + 1 = b.n", vec![input]).await.unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(
        (source.describe().names, source.describe().repeats),
        (vec![pipe.display().to_string(), "query".to_owned()], Repeats::Unordered)
    );
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    assert_eq!(outcome.texts(), [r#"{"n":1,"t":"y"}"#]);
}

#[tokio::test]
async fn text_that_several_queries_read_is_read_once() {
    let folder = TempDir::new().unwrap();
    let lines = [r#"{"id":1,"v":{"a":1}}"#, r#"{"id":2,"v":"x"}"#, "what", r#"{"id":3,"t":"01"}"#];
    let ndjson = write(&folder, "a.ndjson", lines.join("\n").as_bytes());
    let options = SessionOptions { keep_text: true, ..SMALL };
    let session = Session::open(vec![table("input", &[&ndjson])], options).await.unwrap();
    std::fs::remove_file(&ndjson).unwrap();
    let mut results = Vec::new();
    for sql in ["SELECT * FROM input ORDER BY id", "SELECT id FROM input ORDER BY id DESC"] {
        let mut source = session.query(sql, QueryOptions::default()).await.unwrap();
        let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        results.push(outcome);
    }
    let (bad, good): (Vec<_>, Vec<_>) = results[0].records.iter().partition(|record| record.reject.is_some());
    assert_eq!(good.iter().map(|record| record.text()).collect::<Vec<_>>(), [lines[0], lines[1], lines[3]]);
    assert_eq!(bad.iter().map(|record| (record.text(), record.at.line)).collect::<Vec<_>>(), [("what", 3)]);
    assert_eq!(results[1].texts(), [r#"{"id":3}"#, r#"{"id":2}"#, r#"{"id":1}"#]);
}
