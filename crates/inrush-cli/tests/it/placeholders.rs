//! Texts that stand for "no value" in CSV columns of numbers and dates, as each command tells of
//! them, against the fake cluster.

use serde_json::{Value, json};

use crate::common::{check, fake, folder_with, run};

const DELAYS: &str = "town,delay,at\nRye,5,2026-01-31\nNA,NA,2026-02-01\nEly,7,-\nBath,NA,2026-02-03\n";

/// What is said of the column of numbers, and of that of dates.
const NUMBERS: &str = "delays.csv: column delay: the first rows have whole numbers, but \"NA\" in 2 of 4 rows (50.0 %), so \
                       all are sent as strings; if it means no value, give --null NA";
const DATES: &str = "delays.csv: column at: the first rows have dates, but \"-\" in 1 of 4 rows (25.0 %), so all are sent as \
                     strings; if it means no value, give --null -";

/// The lines of warnings, without those of the cluster or of the plan.
fn warnings(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("warning: ")).filter(|line| line.contains("column ")).collect()
}

#[tokio::test]
async fn each_command_names_the_column_the_text_its_share_and_the_flag() {
    let (folder, _) = folder_with("delays.csv", DELAYS);
    let fake = fake([]).await;
    let to = fake.url();
    let load = ["load", "delays.csv", "--index", "delays", "--to", &to];
    for arguments in [
        &[&load[..], &["--dry-run"]].concat()[..],
        &["mapping", "delays.csv"],
        &["convert", "delays.csv", "delays.ndjson"],
        // The source is read twice.
        &["convert", "delays.csv", "again.csv"],
    ] {
        let (stdout, stderr) = check(&run(folder.path(), arguments).await, 0);
        assert_eq!(warnings(&(stdout + &stderr)), [DATES, NUMBERS], "{arguments:?}");
        let given = [arguments, &["--null", "NA", "--null", "-"]].concat();
        let (stdout, stderr) = check(&run(folder.path(), &given).await, 0);
        assert_eq!(warnings(&(stdout + &stderr)), Vec::<&str>::new(), "{given:?}");
    }
    // By the first document the index has dates, and `-` is none.
    let (report, _) = check(&run(folder.path(), &[&load[..], &["--json"]].concat()).await, 3);
    let report: Value = serde_json::from_str(&report).unwrap();
    let told: Vec<&str> = report["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(told.contains(&NUMBERS) && told.contains(&DATES), "{told:?}");
    let (_, stderr) = check(&run(folder.path(), &["mapping", "delays.csv", "--json"]).await, 0);
    assert_eq!(stderr, "");
}

#[tokio::test]
async fn with_the_flag_they_are_numbers_and_dates() {
    let (folder, _) = folder_with("delays.csv", DELAYS);
    let fake = fake([]).await;
    let to = fake.url();
    let load = ["load", "delays.csv", "--index", "delays", "--to", &to, "--null", "NA", "--null", "-", "--id", "at"];
    // The row without a date has no id.
    let (stdout, _) = check(&run(folder.path(), &load).await, 3);
    assert!(!stdout.contains("stands for"), "{stdout}");
    let mut documents: Vec<Value> = fake.documents("delays").iter().map(|document| document.json()).collect();
    documents.sort_by_key(|document| document["at"].to_string());
    let expected = [
        json!({"town": "Rye", "delay": 5, "at": "2026-01-31"}),
        json!({"at": "2026-02-01"}),
        json!({"town": "Bath", "at": "2026-02-03"}),
    ];
    assert_eq!(documents, expected);
}

#[tokio::test]
async fn one_that_comes_later_is_told_with_its_line() {
    let mut rows: String = (0..10_050).map(|n| format!("{n},x\n")).collect();
    rows.insert_str(0, "n,t\n");
    rows.push_str("\\N,x\nsoon,x\n");
    let (folder, _) = folder_with("late.csv", &rows);
    let (_, stderr) = check(&run(folder.path(), &["convert", "late.csv", "late.ndjson"]).await, 0);
    let [placeholder, misfit] = warnings(&stderr)[..] else { panic!("{stderr}") };
    let beginning = "late.csv: column n: the first rows have whole numbers, line 10052 has \"\\N\" (1 of the ";
    assert!(placeholder.starts_with(beginning), "{placeholder}");
    assert!(
        placeholder.ends_with("which is sent as a string; if it means no value, give --null '\\N'"),
        "{placeholder}"
    );
    assert!(misfit.contains("line 10053 has \"soon\""), "{misfit}");
}

/// The same for a column of prices with a word among them.
#[tokio::test]
async fn a_word_among_numbers_is_told_by_each_command() {
    let prices: String = (0..200).map(|n| format!("{n};1.{n:03},92\n")).collect();
    let text = format!("Artikel;Preis\n{prices}200;auf Anfrage\n");
    let (folder, _) = folder_with("preise.csv", &text);
    let fake = fake([]).await;
    let to = fake.url();
    let load = ["load", "preise.csv", "--index", "preise", "--to", &to];
    let expected = "preise.csv: column Preis: the first rows have numbers with a decimal comma, but line 202 has \"auf \
                    Anfrage\" (1 of 201 rows have another cell, 0.5 %), so all are sent as strings; if it means no value, \
                    give --null 'auf Anfrage'; with --schema Preis:decimal-comma such rows are dead letters, and --schema \
                    Preis:string says that all are text";
    for arguments in [
        &[&load[..], &["--dry-run"]].concat()[..],
        &["mapping", "preise.csv"],
        &["convert", "preise.csv", "preise.ndjson"],
    ] {
        let arguments = [arguments, &["--decimal", ","]].concat();
        let (stdout, stderr) = check(&run(folder.path(), &arguments).await, 0);
        assert_eq!(warnings(&(stdout + &stderr)), [expected], "{arguments:?}");
    }
    let (report, _) = check(&run(folder.path(), &[&load[..], &["--decimal", ",", "--json"]].concat()).await, 0);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["warnings"].as_array().unwrap().iter().any(|warning| warning == expected), "{report}");
    // The index has mapped the column as text now, and another one has not.
    let refused = ["load", "preise.csv", "--index", "other", "--to", &to, "--decimal", ",", "--fail-on-warning"];
    assert_ne!(run(folder.path(), &refused).await.status.code(), Some(0));
    let given = ["convert", "preise.csv", "null.ndjson", "--decimal", ",", "--null", "auf Anfrage"];
    let (_, stderr) = check(&run(folder.path(), &given).await, 0);
    assert_eq!(warnings(&stderr), Vec::<&str>::new());
}
