//! The trace of a run: what the tuner saw and decided, as one JSON object a line. This module
//! formats and parses lines; the engine reads and writes the file.
//!
//! ```text
//! {"trace":2,"version":"0.1.0","controller":"auto","bounds":{…},"plan":{…}}
//! {"sample":{…}}
//! {"break":{"now":…}}
//! {"decision":{…}}
//! ```

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::Time;
use crate::tune::{Bounds, Decision, Learned, Plan, Sample};

/// The format version that is written, and the newest that is read.
pub const FORMAT: u32 = 2;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The format version: [`FORMAT`].
    pub trace: u32,
    /// The version of the program that wrote the trace.
    pub version: String,
    /// The name of the tuner.
    pub controller: String,
    /// The bounds of the tuner.
    pub bounds: Bounds,
    /// The plan at the start.
    pub plan: Plan,
    /// What the tuner began with, where an earlier load had learned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// A line after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// An attempt ended.
    Sample {
        /// When the tuner received the sample.
        now: Time,
        /// The sample.
        #[serde(flatten)]
        sample: Sample,
        /// Whether the tuner received the sample. It does not receive samples while body formats
        /// are compared, nor samples without work of the cluster.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        heard: bool,
    },
    /// A gap: nothing was sent for a while, or the tuner received no samples. Measurements across
    /// this moment are void.
    Break {
        /// When the gap ended.
        now: Time,
    },
    /// The plan changed.
    Decision(Decision),
}

/// A line that does not fit the format.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The first line is missing or not a header.
    #[error("the first line is not a trace header")]
    NoHeader(#[source] serde_json::Error),
    /// The trace was written by a newer program.
    #[error("the trace has format {found}, but this program reads formats up to {FORMAT}")]
    Newer {
        /// The format version of the trace.
        found: u32,
    },
    /// The line is not an [`Entry`].
    #[error("line {line} is not a sample, decision or break")]
    NoEntry {
        /// The line number, from 1.
        line: usize,
        /// The error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
}

impl Header {
    /// The header of a new trace.
    pub fn new(controller: &str, bounds: Bounds, plan: Plan) -> Self {
        Header {
            trace: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            controller: controller.to_owned(),
            bounds,
            plan,
            learned: None,
        }
    }

    /// The header of a load that begins with what an earlier one learned.
    #[must_use]
    pub fn with_learned(self, learned: Option<Learned>) -> Self {
        Header { learned, ..self }
    }

    /// The header as a line, with the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// Parses the first line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let header: Header = serde_json::from_str(text).map_err(TraceError::NoHeader)?;
        if header.trace > FORMAT {
            return Err(TraceError::Newer { found: header.trace });
        }
        Ok(header)
    }
}

impl Entry {
    /// The entry as a line, with the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// Parses a line; `number` is the line number, from 1.
    pub fn parse(text: &str, number: usize) -> Result<Self, TraceError> {
        serde_json::from_str(text).map_err(|source| TraceError::NoEntry { line: number, source })
    }
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_true(value: &bool) -> bool {
    *value
}

fn line(value: &impl Serialize) -> String {
    // Numbers and strings always become JSON.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tune::SampleOutcome;

    const PLAN: Plan = Plan { batch_bytes: 65536, batch_docs: 1000, in_flight: 2 };

    fn entries() -> Vec<Entry> {
        let at = |ms| Time::from_start(Duration::from_millis(ms));
        let sample = |took, outcome, heard| Entry::Sample {
            heard,
            now: at(1250),
            sample: Sample {
                sent: at(1000),
                wall: Duration::from_micros(249_750),
                took,
                bytes: 65536,
                docs: 100,
                accepted: 90,
                rejected: 10,
                outcome,
                in_flight: 2,
                source_limited: false,
                remainder: false,
                node: 3,
            },
        };
        vec![
            sample(Some(Duration::from_millis(200)), SampleOutcome::Answered, true),
            Entry::Break { now: at(1250) },
            Entry::Decision(Decision {
                at: at(1250),
                from: PLAN,
                to: Plan { in_flight: 4, ..PLAN },
                why: "nothing queues: \"faster\"\nby half".to_owned(),
            }),
            sample(None, SampleOutcome::Lost, false),
        ]
    }

    #[test]
    fn lines_survive_a_round_trip() {
        let bounds = Bounds { batch_bytes: (1, 2), batch_docs: 3, in_flight: (4, 5), memory: 6 };
        let header = Header::new("auto", bounds, PLAN);
        assert_eq!(Header::parse(&header.to_line()).unwrap(), header);
        assert_eq!(header.bounds, bounds);
        for (number, entry) in entries().into_iter().enumerate() {
            let line = entry.to_line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Entry::parse(&line, number + 2).unwrap(), entry);
        }
    }

    #[test]
    fn unreadable_lines_are_errors() {
        let newer = Header {
            trace: FORMAT + 1,
            ..Header::new("auto", Bounds { batch_bytes: (1, 2), batch_docs: 3, in_flight: (4, 5), memory: 6 }, PLAN)
        };
        assert!(matches!(Header::parse(&newer.to_line()), Err(TraceError::Newer { found }) if found == FORMAT + 1));
        assert!(matches!(Header::parse("{}"), Err(TraceError::NoHeader(_))));
        assert_eq!(Entry::parse("{\"sampl", 7).unwrap_err().to_string(), "line 7 is not a sample, decision or break");
    }
}
