//! The runs of a sweep as its page draws them (`inrush-page/assets/js/sweep.js`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::grid::{Batch, Cell};
use super::table::{Summary, Table};
use crate::units::count;

/// The description of a sweep. Results of sweeps with different descriptions are not combined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The version of inrush.
    pub(crate) version: String,
    /// Product and version.
    pub(crate) cluster: String,
    pub(crate) sources: Vec<String>,
    /// Bytes of the sources, if known.
    pub(crate) source_bytes: Option<u64>,
    /// Shards, replicas, mapping and other options that are the same for all runs.
    pub(crate) target: String,
    pub(crate) cell_seconds: u64,
}

/// The run that is made now, on the live page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Now {
    pub(crate) warming_up: bool,
    pub(crate) group: String,
    pub(crate) cell: String,
    pub(crate) round: u32,
    /// Runs that are done.
    pub(crate) done: usize,
    pub(crate) all: usize,
    /// Not known before the first run has ended.
    pub(crate) seconds_left: Option<f64>,
}

/// The runs so far. `rounds`: the number of runs of each cell.
pub(crate) fn described(about: &About, table: &Table, rounds: u32, now: Option<&Now>) -> Value {
    let groups = table.groups().into_iter().map(|group| json!({ "name": group, "verdict": verdict(table, group) }));
    let cells = table.cells().map(|(cell, summary)| described_cell(cell, summary));
    json!({
        "about": about,
        "rounds": rounds,
        "groups": groups.collect::<Vec<_>>(),
        "cells": cells.collect::<Vec<_>>(),
        "now": now,
    })
}

fn described_cell(cell: &Cell, summary: Option<&Summary>) -> Value {
    let batch = cell.batch.map(|batch| match batch {
        Batch::Docs(docs) => json!({ "docs": docs, "label": batch.to_string() }),
        Batch::Bytes(bytes) => json!({ "bytes": bytes, "label": batch.to_string() }),
    });
    json!({
        "group": cell.group,
        "name": cell.name(),
        "batch": batch,
        "in_flight": cell.in_flight,
        "result": summary,
    })
}

/// Compares the best and the worst fixed cell of a group with `auto`.
pub(crate) fn verdict(table: &Table, group: &str) -> Option<String> {
    let [(best, best_of), (worst, worst_of)] = table.best_and_worst(group)?;
    let rate = |summary: &Summary| count(summary.median.round() as u64);
    let fixed = format!(
        "best: {} with {} documents per second; worst: {} with {}",
        best.name(),
        rate(best_of),
        worst.name(),
        rate(worst_of)
    );
    Some(match table.auto(group) {
        Some(auto) => format!(
            "{fixed}. auto: {}, {:.0} % of the best and {:.1} times the worst",
            rate(auto),
            100.0 * auto.median / best_of.median,
            auto.median / worst_of.median
        ),
        None => format!("{fixed}, {:.1} times less", best_of.median / worst_of.median),
    })
}

#[cfg(test)]
mod tests {
    use super::super::grid::cells;
    use super::super::runs::example;
    use super::*;

    #[test]
    fn a_sweep_is_described_by_its_cells_and_verdicts() {
        let about = About {
            version: "0.1.0".to_owned(),
            cluster: "OpenSearch 3.6.0".to_owned(),
            sources: vec!["lines.ndjson".to_owned()],
            source_bytes: Some(1 << 20),
            target: "1 shard, 0 replicas".to_owned(),
            cell_seconds: 60,
        };
        let cells = cells(&["the cluster's settings".to_owned()], &[Batch::Docs(1), Batch::Docs(1000)], &[1, 16], true);
        let mut slow = example("the cluster's settings", "1 docs x 1", 1, 500.0);
        slow.status = "interrupted".to_owned();
        let runs = [
            slow,
            example("the cluster's settings", "1000 docs x 16", 1, 10_000.0),
            example("the cluster's settings", "auto", 1, 9_500.0),
        ];
        let table = Table::new(&cells, &runs);
        let verdict = "best: 1000 docs x 16 with 10,000 documents per second; worst: 1 docs x 1 with 500. auto: 9,500, 95 % of the best and 19.0 times the worst";
        let sweep = described(&about, &table, 3, None);
        assert_eq!(sweep["groups"], json!([{ "name": "the cluster's settings", "verdict": verdict }]));
        let of = |name: &str| sweep["cells"].as_array().unwrap().iter().find(|cell| cell["name"] == name).unwrap();
        assert_eq!(of("auto")["batch"], Value::Null);
        assert_eq!((&of("1 docs x 1")["result"]["cut_off"], &of("1 docs x 16")["result"]), (&json!(1), &Value::Null));
        assert_eq!(of("1000 docs x 16")["batch"], json!({ "docs": 1000, "label": "1000 docs" }));
        assert_eq!((&sweep["rounds"], &sweep["now"]), (&json!(3), &Value::Null));
    }
}
