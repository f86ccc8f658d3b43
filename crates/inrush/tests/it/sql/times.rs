//! Dates and times of queries: zones, forms, and cells that are none.

use super::*;

const LOG: &str = "\
id,at,day,local
1,2025-11-28T13:55:36+01:00,2025-11-28,2025-07-01 12:00:00
2,2025-11-28T13:55:36Z,28.11.2025,2025-12-01 12:00:00
3,28/Nov/2025:13:55:36 +0100,never,2025-12-01 12:00:00
4,\"2025-11-28 13:55:36,123\",,
5,1764334536,29/02/2025,
";

async fn of_log(columns: &str) -> Vec<Value> {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "log.csv", LOG.as_bytes());
    documents(&format!("SELECT id, {columns} FROM input ORDER BY id"), vec![table("input", &[&log])]).await
}

fn values(documents: &[Value], name: &str) -> Vec<Value> {
    documents.iter().map(|document| document[name].clone()).collect()
}

#[tokio::test]
async fn times_of_text_are_in_utc_and_say_so() {
    let found = of_log(
        "to_timestamp(at) AS at, to_timestamp_seconds(at) AS seconds, to_timestamp_millis(at) AS millis, \
         date_trunc('hour', to_timestamp(at)) AS hour, to_timestamp(at) + INTERVAL '1' DAY AS later, \
         coalesce(to_timestamp(at), TIMESTAMP '1970-01-01T00:00:00') AS some, to_date(to_timestamp(at)) AS day, \
         CAST(to_timestamp(at) AS TEXT) AS text",
    )
    .await;
    let first = &found[0];
    assert_eq!(first["at"], "2025-11-28T12:55:36Z", "{first}");
    assert_eq!(first["seconds"], "2025-11-28T12:55:36Z");
    assert_eq!(first["millis"], "2025-11-28T12:55:36Z");
    assert_eq!(first["hour"], "2025-11-28T12:00:00Z");
    assert_eq!(first["later"], "2025-11-29T12:55:36Z");
    assert_eq!(first["some"], "2025-11-28T12:55:36Z");
    assert_eq!(first["day"], "2025-11-28");
    assert_eq!(first["text"], "2025-11-28T12:55:36Z");
    let forms = ["12:55:36Z", "13:55:36Z", "12:55:36Z", "13:55:36.123Z", "12:55:36Z"];
    let forms = forms.map(|time| json!(format!("2025-11-28T{time}")));
    assert_eq!(values(&found, "at"), forms, "the forms of `--timestamp` are read, too");
}

#[tokio::test]
async fn a_text_without_a_zone_is_in_the_zone_that_the_query_names() {
    let found = of_log(
        "to_timestamp(local) AS utc, to_timestamp(local) AT TIME ZONE 'Europe/Paris' AS paris, \
         CAST(local AS TIMESTAMP) AT TIME ZONE 'Europe/Paris' AS cast, \
         to_timestamp(local, '%Y-%m-%d %H:%M:%S') AT TIME ZONE '+05:30' AS india, \
         try_cast(local AS TIMESTAMP) AS tried, \
         to_char(to_timestamp(at) AT TIME ZONE 'Europe/Paris', '%H:%M') AS clock, \
         to_timestamp(at) AT TIME ZONE 'Europe/Paris' AS at",
    )
    .await;
    let instant = |name: &str, row: usize| found[row][name].as_str().unwrap().to_owned();
    assert_eq!(instant("utc", 0), "2025-07-01T12:00:00Z");
    assert_eq!(instant("tried", 0), "2025-07-01T12:00:00Z");
    for name in ["paris", "cast"] {
        assert_eq!(
            (instant(name, 0), instant(name, 1)),
            ("2025-07-01T10:00:00Z".into(), "2025-12-01T11:00:00Z".into())
        );
    }
    assert_eq!(instant("india", 0), "2025-07-01T12:00:00+05:30");
    // A text with a zone keeps its instant.
    assert_eq!(instant("at", 0), "2025-11-28T12:55:36Z");
    assert_eq!(instant("clock", 0), "13:55");
}

#[tokio::test]
async fn a_zone_around_more_than_a_reader_of_text_is_refused() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "log.csv", LOG.as_bytes());
    for (time, reader) in [
        ("coalesce(to_timestamp(local), now())", "to_timestamp"),
        ("(CASE WHEN id > 1 THEN try_to_timestamp(local) END)", "try_to_timestamp"),
        ("date_trunc('hour', to_timestamp(local))", "to_timestamp"),
        ("coalesce(CAST(local AS TIMESTAMP), now())", "CAST"),
    ] {
        let sql = format!("SELECT {time} AT TIME ZONE 'Europe/Paris' AS at FROM input");
        let told = problem(&sql, vec![table("input", &[&log])]).await;
        let hint = format!("write it at the time itself: {reader}(…) AT TIME ZONE 'Europe/Paris'");
        assert!(told.contains("is around more than") && told.contains(&hint), "{time}: {told}");
    }
    // Each reader has its zone, or the expression says that it means UTC, or no text is part of it.
    let found = of_log(
        "date_trunc('hour', to_timestamp(local) AT TIME ZONE 'Europe/Paris') AS inside, \
         date_trunc('hour', to_timestamp(local)) AT TIME ZONE 'UTC' AS utc, \
         (CASE WHEN to_timestamp(local) < now() THEN from_unixtime(1764334536) END) \
         AT TIME ZONE 'Europe/Paris' AS number",
    )
    .await;
    assert_eq!(found[0]["inside"], "2025-07-01T10:00:00Z");
    assert_eq!(found[0]["utc"], "2025-07-01T12:00:00Z");
    assert_eq!(found[0]["number"], "2025-11-28T12:55:36Z");
}

#[tokio::test]
async fn times_without_a_text_are_as_before() {
    let found = of_log(
        "TIMESTAMP '2025-01-01 00:00:00' AS constant, TIMESTAMP '2025-01-01 00:00:00+01:00' AS zoned, \
         from_unixtime(1764334536) AS unix, to_timestamp(1764334536) AS number, \
         CAST('2025-01-01T00:00:00+01:00' AS TIMESTAMP) AS cast",
    )
    .await;
    assert_eq!(found[0]["constant"], "2025-01-01T00:00:00");
    assert_eq!(found[0]["zoned"], "2024-12-31T23:00:00Z");
    assert_eq!(found[0]["unix"], "2025-11-28T12:55:36Z");
    assert_eq!(found[0]["number"], "2025-11-28T12:55:36Z");
    assert_eq!(found[0]["cast"], "2024-12-31T23:00:00Z");
}

#[tokio::test]
async fn times_of_columns_keep_what_they_say_of_their_zone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("times.parquet");
    let times = || TimestampMillisecondArray::from(vec![1_764_334_536_000]);
    let columns: [(&str, ArrayRef); 2] = [("bare", Arc::new(times())), ("utc", Arc::new(times().with_timezone("UTC")))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let sql = "SELECT bare, utc, to_timestamp(bare) AS a, to_timestamp(utc) AS b, \
               bare = to_timestamp('2025-11-28T13:55:36+01:00') AS same, \
               bare AT TIME ZONE 'Europe/Paris' AS paris FROM input";
    let found = documents(sql, vec![table("input", &[&path])]).await;
    let (bare, utc) = ("2025-11-28T12:55:36", "2025-11-28T12:55:36Z");
    let paris = "2025-11-28T11:55:36Z";
    assert_eq!(found, [json!({"bare": bare, "utc": utc, "a": bare, "b": utc, "same": true, "paris": paris})]);
}

#[tokio::test]
async fn a_cell_that_is_no_date_is_null_where_the_query_tries() {
    let found = of_log(
        "try_to_date(day) AS plain, try_to_date(day, '%d/%m/%Y', '%d.%m.%Y') AS formed, \
         try_to_timestamp(day) AS time, try_to_timestamp_millis(day, '%d.%m.%Y') AS millis, \
         try_to_time(day) AS clock",
    )
    .await;
    let day = json!("2025-11-28");
    assert_eq!(values(&found, "plain"), [day.clone(), day.clone(), Value::Null, Value::Null, Value::Null]);
    assert_eq!(values(&found, "formed"), [Value::Null, day, Value::Null, Value::Null, Value::Null]);
    let midnight = json!("2025-11-28T00:00:00Z");
    assert_eq!(values(&found, "time"), [midnight.clone(), midnight.clone(), Value::Null, Value::Null, Value::Null]);
    assert_eq!(values(&found, "millis"), [Value::Null, midnight, Value::Null, Value::Null, Value::Null]);
    assert_eq!(values(&found, "clock"), vec![Value::Null; 5]);
    // Conditions and groups, too.
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "log.csv", LOG.as_bytes());
    let sql = "SELECT try_to_date(day) AS day, count(*) AS n FROM input WHERE try_to_date(day) IS NOT NULL GROUP BY 1";
    let found = documents(sql, vec![table("input", &[&log])]).await;
    assert_eq!(found, [json!({"day": "2025-11-28", "n": 2})]);
}

#[tokio::test]
async fn a_date_that_has_no_nanoseconds_is_in_milliseconds_and_never_null() {
    let folder = TempDir::new().unwrap();
    let years = write(&folder, "years.csv", b"id,at\n1,9999-12-31\n2,1600-01-01\n3,never\n");
    let tables = || vec![table("input", &[&years])];
    let sql = "SELECT try_to_timestamp_millis(at) AS at, try_to_timestamp_millis(at, '%Y-%m-%d') AS formed, \
               try_to_date(at) AS day FROM input ORDER BY id";
    let found = documents(sql, tables()).await;
    let times = [json!("9999-12-31T00:00:00Z"), json!("1600-01-01T00:00:00Z"), Value::Null];
    assert_eq!(values(&found, "at"), times);
    assert_eq!(values(&found, "formed"), times);
    assert_eq!(values(&found, "day"), [json!("9999-12-31"), json!("1600-01-01"), Value::Null]);
    for call in ["try_to_timestamp(at)", "to_timestamp(at)", "try_to_timestamp(at, '%Y-%m-%d')"] {
        let (outcome, _) = run(&format!("SELECT {call} AS at FROM input"), tables()).await;
        let error = format!("{:?}", outcome.error.expect("a date is not null"));
        assert!(error.contains("9999-12-31") && error.contains("out of the range"), "{call}: {error}");
        assert!(error.contains("years.csv, line 2") || call.starts_with("try_"), "{call}: {error}");
        assert!(error.contains("try_to_timestamp_millis"), "{call}: {error}");
    }
}

#[tokio::test]
async fn numbers_since_1970_have_the_unit_of_their_size() {
    let folder = TempDir::new().unwrap();
    let csv = b"n,f,day\n1764334536000,1764334536000.5,1764334536000\n1764334536,0.5,20000\n";
    let numbers = write(&folder, "numbers.csv", csv);
    let sql = "SELECT try_to_timestamp(n) AS tried, to_timestamp(n) AS at, try_to_timestamp(f) AS float, \
               try_to_date(day) AS day FROM input ORDER BY n DESC";
    let found = documents(sql, vec![table("input", &[&numbers])]).await;
    let second = json!("2025-11-28T12:55:36Z");
    assert_eq!(values(&found, "tried"), [second.clone(), second.clone()]);
    assert_eq!(values(&found, "at"), [second.clone(), second]);
    assert_eq!(values(&found, "float"), [json!("2025-11-28T12:55:36.000500Z"), json!("1970-01-01T00:00:00.500Z")]);
    assert_eq!(values(&found, "day"), [json!("2025-11-28"), json!("2024-10-04")]);
}

#[tokio::test]
async fn an_hour_that_comes_twice_is_the_first_one() {
    let folder = TempDir::new().unwrap();
    let hours = write(&folder, "hours.csv", b"id,at\n1,2025-10-26 02:30\n2,2025-10-26 02:30:00\n3,2025-03-30 02:30\n");
    let sql = "SELECT try_to_timestamp(at) AT TIME ZONE 'Europe/Paris' AS at, \
               try_to_timestamp(at, '%Y-%m-%d %H:%M', '%Y-%m-%d %H:%M:%S') AT TIME ZONE 'Europe/Paris' AS formed, \
               to_timestamp('2025-10-26 02:30') AT TIME ZONE 'Europe/Paris' AS constant FROM input ORDER BY id";
    let found = documents(sql, vec![table("input", &[&hours])]).await;
    let first = json!("2025-10-26T00:30:00Z");
    // Clocks are put forward, and leave out the third one.
    assert_eq!(values(&found, "at"), [first.clone(), first.clone(), Value::Null]);
    assert_eq!(values(&found, "formed"), [first.clone(), first.clone(), Value::Null]);
    assert_eq!(values(&found, "constant"), [first.clone(), first.clone(), first]);
}

#[tokio::test]
async fn the_day_of_a_time_with_a_zone_is_that_of_utc() {
    let folder = TempDir::new().unwrap();
    let csv = b"id,at\n1,2025-11-28T23:30:00-05:00\n2,28/Nov/2025:23:30:00 -0500\n3,2025-11-28 23:30\n";
    let days = write(&folder, "days.csv", csv);
    let sql = "SELECT to_date(at) AS day, try_to_date(at) AS tried, \
               try_to_date(at, '%d/%b/%Y:%H:%M:%S %z') AS formed FROM input ORDER BY id";
    let found = documents(sql, vec![table("input", &[&days])]).await;
    let (own, next) = (json!("2025-11-28"), json!("2025-11-29"));
    for name in ["day", "tried"] {
        assert_eq!(values(&found, name), [next.clone(), next.clone(), own.clone()], "{name}");
    }
    assert_eq!(values(&found, "formed"), [Value::Null, next, Value::Null]);
}

#[tokio::test]
async fn what_no_value_can_be_read_with_is_an_error_also_where_the_query_tries() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "log.csv", LOG.as_bytes());
    let tables = || vec![table("input", &[&log])];
    for (sql, expected) in [
        ("SELECT try_to_date(day, '%Q') FROM input", "cannot read dates by '%Q'"),
        ("SELECT try_to_date(true) FROM input", "Boolean"),
        ("SELECT try_to_timestamp(at) AT TIME ZONE 'Europe/Pari' FROM input", "Europe/Pari"),
    ] {
        let (planned, text) = match query(sql, tables()).await {
            Err(error) => (true, error.to_string()),
            Ok(_) => {
                let (outcome, _) = run(sql, tables()).await;
                (false, format!("{:?}", outcome.error))
            }
        };
        assert!(text.contains(expected), "{sql}: {text}");
        assert!(planned, "{sql} is refused before anything is read: {text}");
    }
}

#[tokio::test]
async fn a_cell_that_is_no_time_is_named_with_its_line() {
    let folder = TempDir::new().unwrap();
    let cells = ["13:55:36,123", "never", "0001-01-01T00:00:00Z", "99999999999999999999"];
    for (row, cell) in cells.iter().enumerate() {
        let mut csv = "id,at\n1,2025-11-28T13:55:36Z\n".to_owned();
        csv.push_str(&"2,2025-11-28T13:55:36Z\n".repeat(row * 300));
        csv.push_str(&format!("3,\"{cell}\"\n"));
        let path = write(&folder, &format!("log{row}.csv"), csv.as_bytes());
        let (outcome, _) = run("SELECT to_timestamp(at) AS at FROM input", vec![table("input", &[&path])]).await;
        let error = format!("{:?}", outcome.error.expect("such a cell ends the query"));
        let line = format!("log{row}.csv, line {}", 3 + row * 300);
        assert!(error.contains(cell) && error.contains(&line), "{cell}: {error}");
        assert!(error.contains("try_to_timestamp"), "{cell}: {error}");
    }
}

#[tokio::test]
async fn functions_of_other_databases_lead_to_those_that_try() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "log.csv", LOG.as_bytes());
    for (name, instead) in [
        ("try_strptime", "try_to_timestamp("),
        ("try_parse_date", "try_to_date("),
        ("safe_cast", "try_cast("),
        ("try_to_number", "try_cast("),
        ("try_to_dat", "try_to_date"),
    ] {
        let error = query(&format!("SELECT {name}(day) FROM input"), vec![table("input", &[&log])]).await;
        let error = format!("{:?}", error.map(drop).unwrap_err());
        assert!(error.contains(instead), "{name}: {error}");
    }
}
