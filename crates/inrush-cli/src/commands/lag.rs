//! `inrush lag`.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use inrush_commands::lag::{Lag, lag};
use inrush_commands::options::Environment;

use super::load;
use crate::args::LagArgs;
use crate::logging::{self, Stderr};

/// Asks the brokers, prints the numbers, and returns the exit status.
pub(crate) async fn run(args: LagArgs) -> Result<u8> {
    logging::start(&args.log, false, &Stderr::new());
    let environment = load::with_prompt(Environment::of_process());
    let lag = lag(&args.address, &args.group.0, &args.login.0, &environment).await.map_err(load::usage)?;
    let text = match args.json {
        true => serde_json::to_string(&lag).context("cannot write the numbers as JSON")? + "\n",
        false => text(&lag),
    };
    super::print(&text)?;
    Ok(0)
}

fn text(lag: &Lag) -> String {
    let names: Vec<String> =
        lag.partitions.iter().map(|partition| format!("{}/{}", partition.topic, partition.partition)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default().max("partition".len());
    let seconds = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}"));
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ =
        writeln!(out, "{:width$} {:>14} {:>14} {:>12} {:>10}", "partition", "committed", "end", "records", "seconds");
    for (name, partition) in names.iter().zip(&lag.partitions) {
        let committed = partition.committed.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
        let (end, records, seconds) = (partition.end, partition.records, seconds(partition.seconds));
        let _ = writeln!(out, "{name:width$} {committed:>14} {end:>14} {records:>12} {seconds:>10}");
    }
    let _ = writeln!(out, "{:width$} {:>14} {:>14} {:>12} {:>10}", "all", "", "", lag.records, seconds(lag.seconds));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_numbers_of_a_partition() {
        let lag: Lag = serde_json::from_value(serde_json::json!({
            "group": "g", "records": 20, "seconds": 3.25,
            "partitions": [
                {"topic": "orders", "partition": 0, "committed": 100, "end": 120, "records": 20, "seconds": 3.25},
                {"topic": "orders", "partition": 1, "committed": null, "end": 0, "records": 0, "seconds": null},
            ],
        }))
        .unwrap();
        let text = text(&lag);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["orders/0", "100", "120", "20", "3.2"]);
        assert_eq!(rows[2], ["orders/1", "-", "0", "0", "-"]);
        assert_eq!(rows[3], ["all", "20", "3.2"]);
    }
}
