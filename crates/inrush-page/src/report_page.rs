//! The report as a page: one self-contained file that people pass on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::self_contained::{RUNS, data_of, self_contained};

/// A run of a report page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The name of the run among others.
    pub name: String,
    /// The report, as on stdout with option `json`.
    pub report: Value,
    /// The history that the live page shows: a [`LoadSnapshot`](crate::snapshot::LoadSnapshot).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Value>,
    /// How the run was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The findings of `inrush doctor` about the index at the end, as with option `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doctor: Option<Value>,
}

/// How a run was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Made {
    /// The command that repeats the run, without secrets.
    pub command: String,
    /// The folder in which it ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The version of inrush.
    pub inrush: String,
    /// The system of the client and its processors.
    pub system: String,
    /// Seconds since 1970 at which the run ended.
    pub ended: u64,
}

/// The data of a page.
#[derive(Serialize, Deserialize)]
struct Runs {
    runs: Vec<Run>,
}

/// One page of one run, or of several side by side. It loads nothing, and sends nothing.
pub fn report_page(runs: Vec<Run>) -> String {
    // The data has no key that is no text, so it can be written.
    self_contained(RUNS, &serde_json::to_string(&Runs { runs }).unwrap_or_default())
}

/// The runs of a file: a page, or the JSON that a load printed. `name` names them.
///
/// # Errors
///
/// The file is neither; the text says what was expected.
pub fn read_reports(name: &str, text: &str) -> Result<Vec<Run>, String> {
    let expected = "expected a report that option `json` printed, or a page that option `report` wrote";
    if let Some(data) = data_of(RUNS, text) {
        let Runs { mut runs } = serde_json::from_str(data).map_err(|error| format!("{name}: {error}; {expected}"))?;
        if let [run] = runs.as_mut_slice() {
            name.clone_into(&mut run.name);
        }
        return Ok(runs);
    }
    // With option `report_every` lines of progress precede the report.
    let last = text.lines().rev().find(|line| line.starts_with('{') && line.contains("\"status\"")).unwrap_or(text);
    let report: Value = serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(last))
        .map_err(|error| format!("{name}: {error}; {expected}"))?;
    if let Some(outputs) = report["outputs"].as_array() {
        let run = |output: &Value| run_of(output["output"].as_str().unwrap_or(name), output["report"].clone());
        return Ok(outputs.iter().filter_map(run).collect());
    }
    let run = run_of(name, report).ok_or_else(|| format!("{name}: it has no key `status`; {expected}"))?;
    Ok(vec![run])
}

fn run_of(name: &str, report: Value) -> Option<Run> {
    let complete = ["status", "plan", "verified", "settings"].iter().all(|key| report.get(key).is_some());
    complete.then(|| Run { name: name.to_owned(), report, load: None, made: None, doctor: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(name: &str) -> Run {
        let report = json!({
            "status": "complete", "plan": {}, "verified": {}, "settings": {},
            "warnings": ["</script><script>alert(1)</script>"],
        });
        let made = Made { command: "inrush load a".to_owned(), ..Made::default() };
        Run { name: name.to_owned(), report, load: None, made: Some(made), doctor: None }
    }

    #[test]
    fn a_page_is_read_again_and_documents_cannot_end_its_data() {
        let page = report_page(vec![run("a"), run("b")]);
        // The data and the script of the page.
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        let runs = read_reports("page.html", &page).unwrap();
        assert_eq!(runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(runs[0].report, run("a").report);
        assert_eq!(runs[0].made, run("a").made);
    }

    #[test]
    fn a_page_of_one_run_gets_the_name_of_its_file() {
        assert_eq!(read_reports("slow.html", &report_page(vec![run("a")])).unwrap()[0].name, "slow.html");
    }

    #[test]
    fn what_a_load_prints_is_read() {
        let report = run("a").report.to_string();
        assert_eq!(read_reports("a.json", &report).unwrap().len(), 1);
        let lines = format!("{{\"phase\":\"loading\"}}\n{report}\n");
        assert_eq!(read_reports("a.json", &lines).unwrap()[0].report, run("a").report);
        let outputs = json!({"exit_status": 0, "outputs": [{"output": "x", "report": run("a").report}]}).to_string();
        assert_eq!(read_reports("a.json", &outputs).unwrap()[0].name, "x");
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", "no", "{\"a\":1}", "[]"] {
            let error = read_reports("f", text).unwrap_err();
            assert!(
                error.starts_with("f: ") && error.contains("expected a report that option `json` printed"),
                "{error}"
            );
        }
    }
}
