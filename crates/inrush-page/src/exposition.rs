//! The text formats of metrics: OpenMetrics 1.0, and the older text format 0.0.4 of Prometheus,
//! which the textfile collector of node_exporter reads.

use std::fmt::Write;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Text,
}

impl Format {
    /// The `Content-Type` of the format.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// Facts as labels. The older format has a gauge for it.
    Info,
    /// One of several states. The older format has a gauge for it.
    StateSet,
}

/// Metrics at one moment, in families.
#[derive(Debug, Default)]
pub(crate) struct Metrics(pub(crate) Vec<Family>);

/// The samples of one name.
#[derive(Debug)]
pub(crate) struct Family {
    /// The name, with its unit at its end, and without `_total` or `_info`.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<Sample>,
}

/// A value with its labels.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: Value,
}

/// A number, or a histogram.
#[derive(Debug)]
pub(crate) enum Value {
    Number(f64),
    Histogram {
        /// The upper bound of each bucket, and the number of its values.
        buckets: Vec<(f64, u64)>,
        /// The number of values above the last bound.
        more: u64,
        sum: f64,
    },
}

/// Labels with their values.
pub(crate) type Labels<'a> = [(&'a str, &'a str)];

impl Metrics {
    /// Begins a family. Samples that are added later are its own.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, unit: &'static str, help: &'static str) {
        self.0.push(Family { name, kind, unit, help, samples: Vec::new() });
    }

    /// Adds a number.
    pub(crate) fn sample(&mut self, labels: &Labels<'_>, value: impl Into<f64>) {
        self.add(labels, Value::Number(value.into()));
    }

    /// Adds a count. Numbers above 2^53 are rounded, as by every reader.
    pub(crate) fn count(&mut self, labels: &Labels<'_>, count: u64) {
        self.sample(labels, count as f64);
    }

    /// Adds facts as labels.
    pub(crate) fn info(&mut self, labels: &Labels<'_>) {
        self.sample(labels, 1.0);
    }

    /// Adds the states of a set, one of which is `now`.
    pub(crate) fn states(&mut self, labels: &Labels<'_>, states: &[&str], now: &str) {
        let Some(name) = self.0.last().map(|family| family.name) else { return };
        for state in states {
            let labels: Vec<_> = labels.iter().copied().chain([(name, *state)]).collect();
            self.sample(&labels, u8::from(*state == now));
        }
    }

    /// Adds a histogram.
    pub(crate) fn histogram(&mut self, labels: &Labels<'_>, buckets: Vec<(f64, u64)>, more: u64, sum: f64) {
        self.add(labels, Value::Histogram { buckets, more, sum });
    }

    fn add(&mut self, labels: &Labels<'_>, value: Value) {
        let labels = labels.iter().map(|(label, text)| ((*label).to_owned(), (*text).to_owned())).collect();
        if let Some(family) = self.0.last_mut() {
            family.samples.push(Sample { labels, value });
        }
    }

    /// The text in a format.
    pub(crate) fn text(&self, format: Format) -> String {
        let mut out = String::with_capacity(16 << 10);
        for family in &self.0 {
            family.write(&mut out, format);
        }
        if format == Format::OpenMetrics {
            out.push_str("# EOF\n");
        }
        out
    }
}

impl Family {
    fn write(&self, out: &mut String, format: Format) {
        let is_open = format == Format::OpenMetrics;
        let word = match self.kind {
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
            Kind::Info if is_open => "info",
            Kind::StateSet if is_open => "stateset",
            _ => "gauge",
        };
        let sample_name = match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Info => format!("{}_info", self.name),
            _ => self.name.to_owned(),
        };
        let shown = if is_open { self.name } else { &sample_name };
        // Writing to a string does not fail.
        let _ = writeln!(out, "# TYPE {shown} {word}");
        if is_open && !self.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {shown} {}", self.unit);
        }
        let _ = writeln!(out, "# HELP {shown} {}", self.help);
        for sample in &self.samples {
            match &sample.value {
                Value::Number(number) => line(out, &sample_name, &sample.labels, None, *number),
                Value::Histogram { buckets, more, sum } => {
                    write_histogram(out, self.name, &sample.labels, (buckets, *more, *sum));
                }
            }
        }
    }
}

fn write_histogram(
    out: &mut String,
    name: &str,
    labels: &[(String, String)],
    (buckets, more, sum): (&[(f64, u64)], u64, f64),
) {
    let bucket = format!("{name}_bucket");
    let mut below = 0;
    for (bound, number) in buckets {
        below += number;
        line(out, &bucket, labels, Some(&number_text(*bound)), below as f64);
    }
    below += more;
    line(out, &bucket, labels, Some("+Inf"), below as f64);
    line(out, &format!("{name}_count"), labels, None, below as f64);
    line(out, &format!("{name}_sum"), labels, None, sum);
}

/// One sample. `bound` is that of a bucket.
fn line(out: &mut String, name: &str, labels: &[(String, String)], bound: Option<&str>, value: f64) {
    out.push_str(name);
    let labels = labels.iter().map(|(label, text)| (label.as_str(), text.as_str()));
    let mut separator = '{';
    for (label, text) in labels.chain(bound.map(|bound| ("le", bound))) {
        let _ = write!(out, "{separator}{label}=\"");
        escape(out, text);
        out.push('"');
        separator = ',';
    }
    if separator == ',' {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}

/// The value of a label.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

/// OpenMetrics asks for a decimal point in bounds.
fn number_text(bound: f64) -> String {
    if bound.fract() == 0.0 { format!("{bound:.1}") } else { bound.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(format: Format) -> String {
        let mut metrics = Metrics::default();
        metrics.family("a_seconds", Kind::Counter, "seconds", "Time.");
        metrics.sample(&[("load", "x\"\\\n")], 1.5);
        metrics.family("b", Kind::Info, "", "Facts.");
        metrics.info(&[("version", "1")]);
        metrics.family("c", Kind::StateSet, "", "States.");
        metrics.states(&[("load", "x")], &["on", "off"], "off");
        metrics.family("d_seconds", Kind::Histogram, "seconds", "Times.");
        metrics.histogram(&[], vec![(0.5, 2), (1.0, 3)], 1, 4.25);
        metrics.text(format)
    }

    #[test]
    fn both_formats() {
        let expected = "\
# TYPE a_seconds counter
# UNIT a_seconds seconds
# HELP a_seconds Time.
a_seconds_total{load=\"x\\\"\\\\\\n\"} 1.5
# TYPE b info
# HELP b Facts.
b_info{version=\"1\"} 1
# TYPE c stateset
# HELP c States.
c{load=\"x\",c=\"on\"} 0
c{load=\"x\",c=\"off\"} 1
# TYPE d_seconds histogram
# UNIT d_seconds seconds
# HELP d_seconds Times.
d_seconds_bucket{le=\"0.5\"} 2
d_seconds_bucket{le=\"1.0\"} 5
d_seconds_bucket{le=\"+Inf\"} 6
d_seconds_count 6
d_seconds_sum 4.25
# EOF
";
        assert_eq!(all(Format::OpenMetrics), expected);
        let text = all(Format::Text);
        assert!(text.contains("# TYPE a_seconds_total counter\n# HELP a_seconds_total Time.\n"), "{text}");
        assert!(text.contains("# TYPE b_info gauge\n") && text.contains("# TYPE c gauge\n"), "{text}");
        assert!(!text.contains("UNIT") && !text.contains("EOF"), "{text}");
    }
}
