//! SVG charts of a table.

use std::fmt::Write;

use super::grid::Batch;
use super::table::{Summary, Table};
use crate::units::count;

/// Colours of curves that people with colour blindness can tell apart (Okabe and Ito 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// The colour of a heat map's lowest and highest value.
const COLD: [f64; 3] = [239.0, 246.0, 252.0];
const HOT: [f64; 3] = [8.0, 69.0, 128.0];

const ROW: usize = 30;
const COLUMN: usize = 96;
const LEFT: usize = 120;
const TOP: usize = 46;

/// Escapes text for HTML and SVG, for elements and attributes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `4`, or `auto` if the tuner chose.
pub(super) fn in_flight_name(in_flight: Option<u32>) -> String {
    in_flight.map_or_else(|| "auto".to_owned(), |n| n.to_string())
}

fn svg(width: usize, height: usize, title: &str, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\"><title>{}</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{inside}</svg>\n",
        escape(title)
    )
}

fn text(out: &mut String, x: usize, y: usize, anchor: &str, colour: &str, words: &str) {
    // Writing to a string cannot fail.
    let _ =
        write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>", escape(words));
}

/// Documents per second of one group, by batch (rows) and requests in flight (columns). Darker is
/// more, on the scale of all groups.
pub(crate) fn heat_map(table: &Table, group: &str) -> Option<String> {
    let batches = table.batches();
    let in_flight = table.in_flight();
    if batches.is_empty() || in_flight.is_empty() || table.top() <= 0.0 {
        return None;
    }
    let mut out = String::new();
    text(&mut out, LEFT + COLUMN * in_flight.len() / 2, 16, "middle", "#333333", "requests in flight");
    for (column, n) in in_flight.iter().enumerate() {
        text(&mut out, LEFT + column * COLUMN + COLUMN / 2, TOP - 10, "middle", "#333333", &in_flight_name(*n));
    }
    for (row, batch) in batches.iter().enumerate() {
        let y = TOP + row * ROW;
        text(&mut out, LEFT - 8, y + 19, "end", "#333333", &batch.to_string());
        for (column, n) in in_flight.iter().enumerate() {
            let summary = table.get(group, Some(*batch), *n);
            square(&mut out, (LEFT + column * COLUMN, y), summary, table.top());
        }
    }
    let height = TOP + batches.len() * ROW + 14;
    Some(svg(LEFT + in_flight.len() * COLUMN + 14, height, &format!("documents per second: {group}"), &out))
}

fn square(out: &mut String, (x, y): (usize, usize), summary: Option<&Summary>, top: f64) {
    let (fill, colour, words) = match summary {
        None => ("#ffffff".to_owned(), "#999999", "no result".to_owned()),
        Some(summary) => {
            let part = summary.median / top;
            let mix = |channel: usize| (COLD[channel] + (HOT[channel] - COLD[channel]) * part).round();
            let fill = format!("rgb({},{},{})", mix(0), mix(1), mix(2));
            (fill, if part > 0.5 { "#ffffff" } else { "#222222" }, count(summary.median.round() as u64))
        }
    };
    let (width, height) = (COLUMN - 2, ROW - 2);
    let _ = write!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" stroke=\"#dddddd\"/>"
    );
    text(out, x + width / 2, y + 19, "middle", colour, &words);
}

/// One point of a curve: a batch, and the result with the best number of requests in flight for it.
struct Point {
    batch: f64,
    median: f64,
    best: f64,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const MARGIN: [f64; 4] = [20.0, 20.0, 50.0, 80.0];

/// Documents per second over the size of a batch, in documents or in bytes: one curve per group,
/// each point with the best number of requests in flight. Solid: the median of the runs, dashed:
/// the best run, dotted: `auto`.
pub(crate) fn curves(table: &Table, in_bytes: bool) -> Option<String> {
    let batches: Vec<Batch> =
        table.batches().into_iter().filter(|batch| matches!(batch, Batch::Bytes(_)) == in_bytes).collect();
    let groups: Vec<(&str, Vec<Point>)> =
        table.groups().into_iter().map(|group| (group, points(table, group, &batches))).collect();
    let all = || groups.iter().flat_map(|(_, points)| points);
    let autos = || table.groups().into_iter().filter_map(|group| table.auto(group));
    let (first, last) = (size(batches.first()?), size(batches.last()?));
    let top = all().map(|point| point.best).chain(autos().map(|auto| auto.best)).fold(0.0, f64::max);
    if top <= 0.0 || first >= last {
        return None;
    }
    let step = nice_step(top / 5.0);
    let top = (top / step).ceil() * step;
    let x = |batch: f64| MARGIN[3] + (batch / first).ln() / (last / first).ln() * (WIDTH - MARGIN[3] - MARGIN[1]);
    let y = |rate: f64| HEIGHT - MARGIN[2] - rate / top * (HEIGHT - MARGIN[0] - MARGIN[2]);
    let mut out = String::new();
    let mut rate = 0.0;
    while rate <= top * 1.001 {
        let line = y(rate);
        let _ = write!(out, "<path d=\"M{} {line:.1}H{}\" stroke=\"#dddddd\"/>", MARGIN[3], WIDTH - MARGIN[1]);
        text(&mut out, MARGIN[3] as usize - 8, line as usize + 4, "end", "#333333", &count(rate.round() as u64));
        rate += step;
    }
    // Labels that would overlap are left out.
    let mut free = f64::NEG_INFINITY;
    for batch in &batches {
        let at = x(size(batch));
        if at >= free {
            text(&mut out, at as usize, (HEIGHT - MARGIN[2]) as usize + 18, "middle", "#333333", &label(batch));
            free = at + 48.0;
        }
    }
    let axis = if in_bytes { "bytes of a request" } else { "documents of a request" };
    text(&mut out, (WIDTH / 2.0) as usize, HEIGHT as usize - 12, "middle", "#333333", axis);
    for (number, (group, points)) in groups.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        curve(&mut out, points.iter().map(|point| (x(point.batch), y(point.median))), colour, "");
        curve(&mut out, points.iter().map(|point| (x(point.batch), y(point.best))), colour, "6 4");
        for point in points {
            let (x, y) = (x(point.batch), y(point.median));
            let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some(auto) = table.auto(group) {
            let ends = [(MARGIN[3], y(auto.median)), (WIDTH - MARGIN[1], y(auto.median))];
            curve(&mut out, ends.into_iter(), colour, "2 3");
        }
        text(&mut out, (WIDTH - MARGIN[1]) as usize, (HEIGHT as usize) + 16 * (number + 1), "end", colour, group);
    }
    let legend = "solid: median, dashed: best, dotted: auto";
    text(&mut out, MARGIN[3] as usize, HEIGHT as usize + 16, "start", "#333333", legend);
    let title = format!("documents per second over {axis}");
    Some(svg(WIDTH as usize, HEIGHT as usize + 16 * groups.len() + 12, &title, &out))
}

fn points(table: &Table, group: &str, batches: &[Batch]) -> Vec<Point> {
    let best_of = |batch: &Batch| {
        let all = table.in_flight().into_iter().filter_map(|n| table.get(group, Some(*batch), n));
        all.max_by(|a, b| a.median.total_cmp(&b.median))
    };
    let point = |batch: &Batch| {
        best_of(batch).map(|summary| Point { batch: size(batch), median: summary.median, best: summary.best })
    };
    batches.iter().filter_map(point).collect()
}

fn size(batch: &Batch) -> f64 {
    match batch {
        Batch::Docs(docs) => f64::from(*docs),
        Batch::Bytes(bytes) => *bytes as f64,
    }
}

fn label(batch: &Batch) -> String {
    match batch {
        Batch::Docs(docs) => count(u64::from(*docs)),
        Batch::Bytes(_) => batch.to_string(),
    }
}

fn curve(out: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str, dashes: &str) {
    let path: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    if path.len() > 1 {
        let path = path.join("L");
        let _ = write!(
            out,
            "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
        );
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::super::grid::cells;
    use super::super::runs::example;
    use super::*;

    fn table() -> Table {
        let groups = ["json".to_owned(), "a < b".to_owned()];
        let cells = cells(&groups, &[Batch::Docs(10), Batch::Docs(1000)], &[1, 4], true);
        let runs = [
            example("json", "10 docs x 1", 1, 20_000.0),
            example("json", "1000 docs x 4", 1, 145_000.0),
            example("a < b", "10 docs x 4", 1, 70_000.0),
            example("json", "auto", 1, 140_000.0),
        ];
        Table::new(&cells, &runs)
    }

    #[test]
    fn a_heat_map_names_every_cell() {
        let map = heat_map(&table(), "json").unwrap();
        for words in ["10 docs", "1000 docs", "20,000", "145,000", "no result", "rgb(8,69,128)"] {
            assert!(map.contains(words), "{words}: {map}");
        }
        assert!(heat_map(&Table::new(&[], &[]), "json").is_none());
    }

    #[test]
    fn curves_by_group_and_escaped() {
        let chart = curves(&table(), false).unwrap();
        assert!(chart.contains("a &lt; b") && !chart.contains("a < b"), "{chart}");
        // Two points of the first group: a median and a best curve, and auto's line; the other has
        // one point.
        assert_eq!(chart.matches("<path d=\"M").count() - chart.matches("stroke=\"#dddddd\"").count(), 3, "{chart}");
        assert_eq!(chart.matches("<circle").count(), 3);
        assert!(curves(&table(), true).is_none());
    }

    #[test]
    fn steps_of_an_axis() {
        assert_eq!([nice_step(1.0), nice_step(29_000.0), nice_step(6.0)], [1.0, 50_000.0, 10.0]);
    }
}
