//! `inrush report`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use inrush_commands::options::Inputs;
use inrush_core::Code;
use inrush_page::{Run, read_reports, report_page};

use super::load;
use crate::args::ReportArgs;
use crate::failure::UsageError;
use crate::logging::{self, Stderr};
use crate::plain::inline;
use crate::report_file;

/// Reads the reports, writes the page, and returns the exit status.
pub(crate) async fn run(args: ReportArgs) -> Result<u8> {
    logging::start(&args.log, false, &Stderr::new());
    Inputs::default().and(&args.runs).check([("--out", Some(&args.out))]).map_err(load::refused)?;
    let mut runs = Vec::new();
    for path in &args.runs {
        runs.extend(runs_of(path)?);
    }
    name_apart(&mut runs);
    report_file::write(&args.out, &report_page(runs))?;
    super::print(&format!("{}\n", inline(&args.out.to_string_lossy())))?;
    Ok(0)
}

fn runs_of(path: &Path) -> Result<Vec<Run>> {
    let name = path.display().to_string();
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read stdin")?;
        text
    } else {
        std::fs::read_to_string(path)
            .map_err(|error| UsageError::new(Code::of_io(&error), format!("cannot read the report {name}: {error}")))?
    };
    Ok(read_reports(&name, &text).map_err(|problem| UsageError::new(Code::BadReportFile, problem))?)
}

/// Gives runs with the same name a number.
fn name_apart(runs: &mut [Run]) {
    for at in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(at);
        let same = |name: &str| before.iter().any(|run| run.name == name);
        let first = rest[0].name.clone();
        let mut number = 2;
        while same(&rest[0].name) {
            rest[0].name = format!("{first} ({number})");
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_names_of_their_own() {
        let run =
            || Run { name: "a".to_owned(), report: serde_json::Value::Null, load: None, made: None, doctor: None };
        let mut runs = [run(), run(), run()];
        name_apart(&mut runs);
        assert_eq!(runs.map(|run| run.name), ["a", "a (2)", "a (3)"]);
    }
}
