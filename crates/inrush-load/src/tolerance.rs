//! Number of documents that may be missing from a complete load.

use std::fmt;

use inrush_core::report::Counts;
use serde::{Deserialize, Serialize};

/// A number or share of documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// At most this number.
    Count(u64),
    /// At most this percentage of the documents that were read.
    Percent(f64),
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Count(count) => write!(f, "{count}"),
            Tolerance::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// The result of a tolerance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToleranceReport {
    /// The limit as it was given: a number of documents, or a percentage of those that were read.
    pub limit: String,
    /// Documents that are not indexed: dead letters, and documents in a failure store.
    pub docs: u64,
    /// Documents without an answer. The tolerance does not cover them, because the cluster may or
    /// may not hold them.
    pub docs_unknown: u64,
    /// Whether the load is complete although documents are missing.
    pub holds: bool,
}

impl Tolerance {
    /// Compares the tolerance with the counts of a load.
    pub fn judge(self, counts: &Counts) -> ToleranceReport {
        let docs = counts.docs_dead_lettered + counts.docs_redirected;
        let enough = match self {
            Tolerance::Count(most) => docs <= most,
            Tolerance::Percent(most) => docs as f64 * 100.0 <= most * counts.docs_read as f64,
        };
        let docs_unknown = counts.docs_unknown;
        ToleranceReport { limit: self.to_string(), docs, docs_unknown, holds: enough && docs_unknown == 0 }
    }
}

impl ToleranceReport {
    /// Compares the same limit with the sum of several loads.
    pub(crate) fn judge_again(&self, counts: &Counts) -> ToleranceReport {
        // The text was written by the `Display` of `Tolerance`.
        let limit = match self.limit.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Tolerance::Percent),
            None => self.limit.parse().ok().map(Tolerance::Count),
        };
        limit.unwrap_or(Tolerance::Count(0)).judge(counts)
    }

    /// Why the load is not complete, to follow the number of missing documents.
    pub fn problem(&self) -> String {
        match (self.holds, self.docs_unknown) {
            (true, _) => String::new(),
            (false, 0) => format!(", more than the {} that option `tolerate` allows", self.limit),
            (false, unknown) => {
                format!(", {unknown} of them without an answer, and option `tolerate` does not cover those")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(docs_read: u64, docs_dead_lettered: u64, docs_unknown: u64) -> Counts {
        Counts::build(|c| {
            (c.docs_read, c.docs_dead_lettered, c.docs_unknown) = (docs_read, docs_dead_lettered, docs_unknown)
        })
    }

    #[test]
    fn numbers_and_shares_are_tolerated_up_to_themselves() {
        for (tolerance, read, dead, holds) in [
            (Tolerance::Count(15), 20_000, 15, true),
            (Tolerance::Count(14), 20_000, 15, false),
            (Tolerance::Percent(0.1), 20_000, 20, true),
            (Tolerance::Percent(0.1), 20_000, 21, false),
            (Tolerance::Percent(0.0), 10, 0, true),
            (Tolerance::Count(0), 0, 0, true),
        ] {
            assert_eq!(tolerance.judge(&counts(read, dead, 0)).holds, holds, "{tolerance} {dead} of {read}");
        }
        assert_eq!(Tolerance::Percent(0.5).to_string(), "0.5%");
    }

    #[test]
    fn documents_without_an_answer_are_never_tolerated() {
        let report = Tolerance::Percent(100.0).judge(&counts(100, 1, 1));
        assert!(!report.holds && report.problem().contains("1 of them without an answer"), "{report:?}");
        let report = Tolerance::Count(1).judge(&Counts::build(|c| (c.docs_read, c.docs_redirected) = (100, 2)));
        assert_eq!(report.problem(), ", more than the 1 that option `tolerate` allows");
    }
}
