//! What slows a cluster or an index down for loading, found by reading only.
//!
//! A few questions are put, each of which may be refused; rules about nodes, shards and settings judge the answers. Thresholds are
//! those of the servers' own documentation where there are some, and named beside the rule.

mod ask;
mod nodes;
mod settings;
mod shards;

use inrush_cluster::api::{ClusterError, product};
use inrush_cluster::transport::Transport;
use serde::Serialize;
use serde_json::Value;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The figures leave no other reading.
    Sure,
    /// Usually so; the evidence says what would make it wrong.
    Likely,
    /// Worth a look.
    Maybe,
}

/// One thing that slows loading down or endangers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A short machine-readable name, stable over versions.
    pub id: &'static str,
    /// What is wrong, in one sentence.
    pub what: String,
    /// The figures it rests on.
    pub evidence: String,
    /// Why it matters for loading.
    pub why: &'static str,
    /// A request or command that mends it, or what to do.
    pub mend: String,
    /// How sure it is.
    pub confidence: Confidence,
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Product and version.
    pub cluster: String,
    /// The index, alias, data stream or pattern; absent where the whole cluster was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The surest first.
    pub findings: Vec<Finding>,
    /// Questions that were not answered, and why.
    pub not_checked: Vec<String>,
}

/// Looks at a cluster, or at one index of it (a name, alias, data stream or pattern). Sends nothing but GET requests.
///
/// # Errors
/// [`ClusterError`] where nobody answers, the credentials are refused, or the index is not there. Single questions that are refused are
/// in [`Diagnosis::not_checked`].
pub async fn examine(transport: &Transport, index: Option<&str>) -> Result<Diagnosis, ClusterError> {
    let info = product::detect(transport).await?;
    let answers = ask::ask(transport, index).await?;
    let mut findings = Vec::new();
    nodes::judge(&answers, &mut findings);
    shards::judge(&answers, &mut findings);
    settings::judge(&answers, &mut findings);
    findings.sort_by_key(|finding| finding.confidence);
    Ok(Diagnosis {
        cluster: info.to_string(),
        index: index.map(str::to_owned),
        findings,
        not_checked: answers.not_checked,
    })
}

/// One thing found on several indices or nodes: told once, with the first few of them as evidence.
#[derive(Default)]
struct Group(Vec<String>);

/// How many of a group are named.
const NAMED: usize = 5;

impl Group {
    fn add(&mut self, evidence: String) {
        self.0.push(evidence);
    }

    /// The finding, unless nothing was added.
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

/// A finding whose evidence is filled in by [`Group::tell`].
fn finding(
    id: &'static str,
    confidence: Confidence,
    what: &str,
    why: &'static str,
    mend: impl Into<String>,
) -> Finding {
    Finding { id, what: what.to_owned(), evidence: String::new(), why, mend: mend.into(), confidence }
}

/// A number that the servers write as a number or, in `_cat` and settings, as text.
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
fn size(bytes: f64) -> String {
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
