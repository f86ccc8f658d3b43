//! The result as one self-contained HTML page.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::chart::{curves, escape, heat_map, in_flight_name};
use super::table::{Summary, Table};
use crate::units::{count, seconds};

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

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:76rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}\
th,td{border:1px solid #ddd;padding:.25rem .6rem;text-align:right}th{background:#f3f5f7}\
td:first-child,th:first-child{text-align:left}.best{background:#d8f0e4}.worst{background:#fbe3dc}\
figure{margin:1rem 0 2rem;overflow-x:auto}button{margin:.3rem .5rem 0 0}.small{color:#666;font-size:13px}";

/// Saves a figure as SVG, or as a PNG of twice its size.
const SCRIPT: &str = "\
function save(href,name){const a=document.createElement('a');a.href=href;a.download=name;a.click()}\
document.querySelectorAll('figure').forEach(figure=>{\
const svg=figure.querySelector('svg'),name=figure.dataset.name;\
const url=()=>URL.createObjectURL(new Blob([svg.outerHTML],{type:'image/svg+xml'}));\
const button=(words,act)=>{const b=document.createElement('button');b.textContent=words;b.onclick=act;figure.append(b)};\
button('SVG',()=>save(url(),name+'.svg'));\
button('PNG',()=>{const image=new Image();image.onload=()=>{const c=document.createElement('canvas');\
c.width=2*svg.width.baseVal.value;c.height=2*svg.height.baseVal.value;\
c.getContext('2d').drawImage(image,0,0,c.width,c.height);save(c.toDataURL('image/png'),name+'.png')};image.src=url()})});";

/// Renders the page. `rounds`: the number of runs of each cell.
pub(crate) fn page(about: &About, table: &Table, rounds: u32) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>inrush sweep: {0}</title>\n<style>{STYLE}</style>\n<h1>{0}</h1>\n",
        escape(&about.cluster)
    );
    let size = about.source_bytes.map_or(String::new(), |bytes| format!(" ({})", crate::units::bytes(bytes)));
    let _ = writeln!(
        out,
        "<p>{}{size}, into {}. Medians of up to {rounds} rounds, each in another random order; a run that took more than {} s was cut \
         off there (its duration is marked with *). inrush {}.</p>",
        escape(&about.sources.join(", ")),
        escape(&about.target),
        about.cell_seconds,
        escape(&about.version)
    );
    for group in table.groups() {
        out.push_str(&format!("<h2>{}</h2>\n", escape(group)));
        if let Some(verdict) = verdict(table, group) {
            let _ = writeln!(out, "<p><b>{}</b></p>", escape(&verdict));
        }
        durations(&mut out, table, group);
        if let Some(map) = heat_map(table, group) {
            figure(&mut out, &format!("heat-map-{group}"), &map);
        }
    }
    out.push_str("<h2>Throughput over the size of a batch</h2>\n");
    for (in_bytes, name) in [(false, "docs"), (true, "bytes")] {
        if let Some(chart) = curves(table, in_bytes) {
            figure(&mut out, &format!("throughput-{name}"), &chart);
        }
    }
    all_cells(&mut out, table);
    let _ = writeln!(out, "<script>{SCRIPT}</script>");
    out
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

fn figure(out: &mut String, name: &str, svg: &str) {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let _ = write!(out, "<figure data-name=\"{name}\">\n{svg}</figure>\n");
}

/// Duration and documents per second by batch and requests in flight.
fn durations(out: &mut String, table: &Table, group: &str) {
    let (batches, in_flight) = (table.batches(), table.in_flight());
    let extremes = table.best_and_worst(group);
    if !batches.is_empty() {
        out.push_str("<table>\n<tr><th>a request</th>");
        for n in &in_flight {
            let _ = write!(out, "<th>{} in flight</th>", in_flight_name(*n));
        }
        out.push_str("</tr>\n");
        for batch in &batches {
            let _ = write!(out, "<tr><th>{batch}</th>");
            for n in &in_flight {
                let class = match &extremes {
                    Some([best, _]) if best.0.batch == Some(*batch) && best.0.in_flight == *n => " class=\"best\"",
                    Some([_, worst]) if worst.0.batch == Some(*batch) && worst.0.in_flight == *n => " class=\"worst\"",
                    _ => "",
                };
                let words =
                    table.get(group, Some(*batch), *n).map_or_else(|| "no result".to_owned(), duration_and_rate);
                let _ = write!(out, "<td{class}>{words}</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
    if let Some(auto) = table.auto(group) {
        let _ = writeln!(out, "<p>auto: {}</p>", duration_and_rate(auto));
    }
}

fn duration_and_rate(summary: &Summary) -> String {
    let mark = if summary.cut_off > 0 { "*" } else { "" };
    format!("{}{mark}<br>{} docs/s", seconds(summary.seconds), count(summary.median.round() as u64))
}

/// The table with all figures of each cell.
fn all_cells(out: &mut String, table: &Table) {
    out.push_str(
        "<h2>All cells</h2>\n<table>\n<tr><th>cell</th><th>runs</th><th>docs/s, median</th><th>best</th><th>worst</th><th>seconds</th>\
         <th>to searchable</th><th>client CPU s</th><th>server CPU s</th><th>rejected items</th><th>segments</th></tr>\n",
    );
    let several = table.groups().len() > 1;
    for (cell, summary) in table.cells() {
        let name = if several { format!("{}: {}", cell.group, cell.name()) } else { cell.name() };
        let _ = write!(out, "<tr><td>{}</td>", escape(&name));
        let Some(summary) = summary else {
            out.push_str("<td>0</td><td colspan=\"9\">no result</td></tr>\n");
            continue;
        };
        let failed = if summary.failed > 0 { format!(" ({} failed)", summary.failed) } else { String::new() };
        let whole = |value: f64| count(value.round() as u64);
        let known =
            |value: Option<f64>, digits: usize| value.map_or("?".to_owned(), |value| format!("{value:.digits$}"));
        let _ = writeln!(
            out,
            "<td>{}{failed}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}{}</td><td>{:.1}</td><td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            summary.runs,
            whole(summary.median),
            whole(summary.best),
            whole(summary.worst),
            summary.seconds,
            if summary.cut_off > 0 { "*" } else { "" },
            summary.seconds_to_searchable,
            summary.client_cpu_seconds,
            known(summary.server_cpu_seconds, 1),
            count(summary.rejected_items),
            known(summary.segments, 0),
        );
    }
    out.push_str("</table>\n<p class=\"small\">Every run is in runs.csv beside this page.</p>\n");
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Batch, cells};
    use super::super::runs::example;
    use super::*;

    #[test]
    fn one_page_with_tables_and_charts() {
        let about = About {
            version: "0.1.0".to_owned(),
            cluster: "OpenSearch 3.6.0".to_owned(),
            sources: vec!["<lines>.ndjson".to_owned()],
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
        assert_eq!(
            verdict(&table, "the cluster's settings").unwrap(),
            "best: 1000 docs x 16 with 10,000 documents per second; worst: 1 docs x 1 with 500. auto: 9,500, 95 % of the best and 19.0 times the worst"
        );
        let page = page(&about, &table, 3);
        assert!(page.contains("&lt;lines&gt;.ndjson (1.0 MiB)") && !page.contains("<lines>"), "{page}");
        assert!(page.contains("2.0 s*<br>500 docs/s") && page.contains("class=\"worst\""), "{page}");
        assert_eq!(page.matches("<figure").count(), 2, "{page}");
        // The page fetches nothing: its only address is the name of a format.
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "{page}");
    }
}
