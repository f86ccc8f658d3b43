//! A strict reader of OpenMetrics 1.0, for tests.

use std::collections::{BTreeMap, BTreeSet};

/// The value of each series, by its name and labels as they are written.
pub type Series = BTreeMap<String, f64>;

/// Reads a text, and panics at its first mistake.
pub fn read(text: &str) -> Series {
    let body = text.strip_suffix("# EOF\n").expect("the text ends with # EOF");
    let (mut families, mut series) = (BTreeSet::new(), Series::new());
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        assert!(!line.is_empty(), "an empty line");
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (what, name, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            match what {
                "TYPE" => {
                    assert!(families.insert(name.to_owned()), "{name} is there twice");
                    (family, kind) = (name.to_owned(), value.to_owned());
                    let known = ["counter", "gauge", "histogram", "info", "stateset"];
                    assert!(known.contains(&value) && is_name(name), "{line}");
                }
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{value}")), "{line}"),
                "HELP" => assert_eq!(name, family, "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (head, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let (name, labels) = head.split_once('{').map_or((head, ""), |(name, labels)| (name, labels));
        let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{line} is not of {family}"));
        let expected: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        assert!(expected.contains(&suffix), "{line} in a {kind}");
        assert!(kind != "counter" || value >= 0.0, "{line}");
        check_labels(labels.trim_end_matches('}'), line);
        assert!(series.insert(head.to_owned(), value).is_none(), "{head} is there twice");
    }
    series
}

fn is_name(name: &str) -> bool {
    name.starts_with("inrush_") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Labels as `a="b",c="d"`, in which quotes are escaped.
fn check_labels(mut rest: &str, line: &str) {
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(names.insert(name) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
        let mut escaped = false;
        let end = after.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let after = &after[end.unwrap_or_else(|| panic!("{line}")) + 1..];
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// The series that may not fall: counters and parts of histograms.
pub fn counters(series: &Series) -> impl Iterator<Item = (&String, f64)> {
    let is_counter = |name: &str| {
        let name = name.split('{').next().unwrap_or_default();
        ["_total", "_bucket", "_count", "_sum"].iter().any(|end| name.ends_with(end))
    };
    series.iter().filter(move |(name, _)| is_counter(name)).map(|(name, value)| (name, *value))
}
