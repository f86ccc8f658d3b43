//! Finds settings and states that slow loading into a cluster or an index, by reading only.
//!
//! A few requests are sent, each of which the cluster may refuse. Rules about nodes, shards and
//! settings judge the answers. Thresholds are those of the servers' documentation if there are any,
//! with the source beside the rule.

mod ask;
mod modes;
mod nodes;
mod settings;
mod shards;
mod vectors;

use inrush_cluster::BoxFuture;
use inrush_cluster::api::{ClusterError, product};
use inrush_cluster::transport::Transport;
use serde::Serialize;
use serde_json::Value;

/// The confidence in a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The figures prove it.
    Sure,
    /// It is usually the case. The evidence names possible exceptions.
    Likely,
    /// It should be checked.
    Maybe,
}

/// A setting or state that slows loading down or endangers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// A short name for programs, stable over versions.
    pub id: &'static str,
    /// The problem, in one sentence.
    pub what: String,
    /// The figures that show it.
    pub evidence: String,
    /// The effect on loading.
    pub why: &'static str,
    /// A request or command that fixes it, or advice.
    pub fix: String,
    /// The confidence.
    pub confidence: Confidence,
}

/// The cluster or index that was examined, and the findings.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Product and version.
    pub cluster: String,
    /// The index, alias, data stream or pattern. Absent if the whole cluster was examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The findings, those with the highest confidence first.
    pub findings: Vec<Finding>,
    /// The requests that failed, with their reasons.
    pub not_checked: Vec<String>,
}

/// Examines a cluster, or one index of it (a name, alias, data stream or pattern). Sends only GET
/// requests.
///
/// # Errors
/// [`ClusterError`] if no node answers, the cluster refuses the credentials, or the index does not
/// exist. Other requests that the cluster refuses are listed in [`Diagnosis::not_checked`].
pub fn examine<'a>(transport: &'a Transport, index: Option<&'a str>) -> BoxFuture<'a, Result<Diagnosis, ClusterError>> {
    Box::pin(async move {
        let info = product::detect(transport).await?;
        let answers = ask::ask(transport, index, vectors::fractions).await?;
        let mut findings = Vec::new();
        nodes::judge(&answers, &mut findings);
        shards::judge(&answers, &mut findings);
        settings::judge(&answers, &mut findings);
        modes::judge(&answers, &mut findings);
        vectors::judge(&answers, &info, &mut findings);
        findings.sort_by_key(|finding| finding.confidence);
        Ok(Diagnosis {
            cluster: info.to_string(),
            index: index.map(str::to_owned),
            findings,
            not_checked: answers.not_checked,
        })
    })
}

/// One problem of several indices or nodes, reported once, with the first few of them as evidence.
#[derive(Default)]
struct Group(Vec<String>);

/// The most indices or nodes in the evidence.
const NAMED: usize = 5;

impl Group {
    fn add(&mut self, evidence: String) {
        self.0.push(evidence);
    }

    /// Adds the finding, unless the group is empty.
    fn tell(self, findings: &mut Vec<Finding>, finding: Finding) {
        if self.0.is_empty() {
            return;
        }
        let more = self.0.len().saturating_sub(NAMED);
        let mut evidence = self.0.into_iter().take(NAMED).collect::<Vec<_>>().join("; ");
        if more > 0 {
            evidence.push_str(&format!("; and {more} more"));
        }
        findings.push(Finding { evidence, ..finding });
    }
}

/// A finding whose evidence [`Group::tell`] adds.
fn finding(id: &'static str, confidence: Confidence, what: &str, why: &'static str, fix: impl Into<String>) -> Finding {
    Finding { id, what: what.to_owned(), evidence: String::new(), why, fix: fix.into(), confidence }
}

/// A number, which servers write as a number or, in `_cat` and settings, as text.
fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim_end_matches('%').parse().ok(),
        _ => None,
    }
}

/// A number at a JSON pointer.
fn at(value: &Value, pointer: &str) -> Option<f64> {
    number(value.pointer(pointer))
}

/// The entries of an object, or none.
fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A size with one decimal: `1.5 GiB`.
pub(crate) fn size(bytes: f64) -> String {
    let mut value = bytes;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}
/// Whether a node has shards. One that does not tell its roles counts as such.
fn holds_data(node: &Value) -> bool {
    match node["roles"].as_array() {
        Some(roles) => roles.iter().filter_map(Value::as_str).any(|role| role == "data" || role.starts_with("data_")),
        None => true,
    }
}
