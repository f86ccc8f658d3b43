//! The report as a page: `--report`, and `inrush report`.

use std::path::Path;

use inrush_fake::{Fault, Rule};
use inrush_page::{Run, read_reports};
use serde_json::Value;

use crate::common::{check, fake, folder_with, lines, run};

/// The runs of a page.
fn runs_of(path: &Path) -> Vec<Run> {
    read_reports("page", &std::fs::read_to_string(path).unwrap()).unwrap()
}

fn sum(points: &Value, key: &str) -> u64 {
    points.as_array().unwrap().iter().filter_map(|point| point[key].as_u64()).sum()
}

#[tokio::test]
async fn a_load_writes_its_report_with_its_history() {
    let cluster = fake([Rule::new(Fault::ItemBadRequest).ids(["i3", "i5"])]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let folder = folder.path();
    let to = cluster.url();
    let load = ["load", "a.ndjson", "--id", "id", "--index", "docs", "--to", &to, "--report", "a.html", "--json"];
    let (stdout, _) = check(&run(folder, &load).await, 3);
    let printed: Value = serde_json::from_str(&stdout).unwrap();

    let [page] = &runs_of(&folder.join("a.html"))[..] else { panic!("one run") };
    assert_eq!(page.report, printed);
    let history = page.load.as_ref().unwrap();
    assert_eq!(history["start"]["name"], "docs");
    assert_eq!(history["start"]["run_id"], printed["run_id"]);
    assert!(history["start"]["cluster"].as_str().unwrap().starts_with("OpenSearch"), "{history}");
    // The page has the report once, and the history adds up to it.
    assert_eq!(history.get("report"), None);
    assert_eq!(sum(&history["points"], "docs"), 10);
    assert_eq!(sum(&history["points"], "dead_lettered"), 2);
    assert_eq!(history["errors"][0]["count"], 2);
    // The doctor has examined the index at the end.
    assert_eq!(page.doctor.as_ref().unwrap()["index"], "docs");
    let made = page.made.as_ref().unwrap();
    assert_eq!(made.command, format!("inrush {}", load.join(" ")));
    assert_eq!(folder.read_dir().unwrap().filter(is_page).count(), 1);
}

fn is_page(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().file_name().to_string_lossy().contains(".html")
}

#[cfg(feature = "sql")]
#[tokio::test]
async fn several_outputs_are_runs_side_by_side() {
    let cluster = fake([]).await;
    let (folder, _) = folder_with("outside", "");
    let folder = folder.path();
    let job = "sources = [\"a.ndjson\"]\nreport = \"all.html\"\n\
               [[output]]\nindex = \"one\"\nsql = \"SELECT id, n FROM input\"\n\
               [[output]]\nindex = \"two\"\nsql = \"SELECT n FROM input WHERE n < 4\"\n";
    std::fs::create_dir(folder.join("jobs")).unwrap();
    std::fs::write(folder.join("jobs/a.ndjson"), lines(10)).unwrap();
    std::fs::write(folder.join("jobs/job.toml"), job).unwrap();
    check(&run(folder, &["load", "--job", "jobs/job.toml", "--to", &cluster.url()]).await, 0);
    // The path is relative to the job file.
    let runs = runs_of(&folder.join("jobs/all.html"));
    let seen: Vec<_> =
        runs.iter().map(|run| (run.name.as_str(), sum(&run.load.as_ref().unwrap()["points"], "docs"))).collect();
    assert_eq!(seen, [("one", 10), ("two", 4)]);
}

#[tokio::test]
async fn reports_are_put_side_by_side() {
    let cluster = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let folder = folder.path();
    let to = cluster.url();
    let load = ["load", "a.ndjson", "--id", "id", "--index", "docs", "--to", &to, "--report", "a.html", "--json"];
    let (stdout, _) = check(&run(folder, &load).await, 0);
    std::fs::write(folder.join("b.json"), stdout).unwrap();

    let (printed, _) = check(&run(folder, &["report", "a.html", "b.json", "b.json", "--out", "all.html"]).await, 0);
    assert_eq!(printed, "all.html\n");
    let runs = runs_of(&folder.join("all.html"));
    assert_eq!(runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["a.html", "b.json", "b.json (2)"]);
    assert_eq!(runs.iter().map(|run| run.load.is_some()).collect::<Vec<_>>(), [true, false, false]);
    // A page of several runs is read again, too.
    check(&run(folder, &["report", "all.html", "a.html"]).await, 0);
    assert_eq!(runs_of(&folder.join("inrush-report.html")).len(), 4);
}

#[tokio::test]
async fn files_that_cannot_be_used_are_refused_first() {
    let cluster = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let folder = folder.path();
    let to = cluster.url();
    for (page, why) in [("no/a.html", "cannot write no/a.html"), ("a.ndjson", "a.ndjson")] {
        let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--report", page];
        let (_, stderr) = check(&run(folder, &load).await, 2);
        assert!(stderr.contains("--report") && stderr.contains(why), "{stderr}");
    }
    assert_eq!(cluster.index_uuid("docs"), None);
    for (run_of, why) in [("a.ndjson", "expected a report"), ("none.json", "cannot read the report none.json")] {
        let (_, stderr) = check(&run(folder, &["report", run_of]).await, 2);
        assert!(stderr.contains(why), "{stderr}");
    }
}
