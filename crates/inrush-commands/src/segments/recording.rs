//! A recording: a text file with a header line, and a line of JSON for each moment. A line has only
//! the shard copies that changed, so a recording of hours is small.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use inrush_cluster::api::segments::ShardSegments;
use serde::{Deserialize, Serialize};

use super::SegmentsMoment;

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format of the file: `segments`.
    inrush: Kind,
    /// The version of the format.
    version: u32,
    /// Product and version of the cluster.
    pub cluster: String,
    /// The address that was read, without credentials.
    pub target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Segments,
}

/// The version of the format that is written, and the newest one that is read.
const VERSION: u32 = 1;

impl Header {
    /// The header of a recording that begins now.
    pub fn new(cluster: impl Into<String>, target: impl Into<String>) -> Self {
        Header { inrush: Kind::Segments, version: VERSION, cluster: cluster.into(), target: target.into() }
    }
}

/// A recording that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("line {line}: {cause}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// The reason.
        cause: io::Error,
    },
    /// The first line is not that of a recording.
    #[error(
        "the file is no recording of segments, which begins with {{\"inrush\":\"segments\"}} ({0}); \
         name a file that `inrush segments` recorded"
    )]
    Header(serde_json::Error),
    /// The file is of a newer version.
    #[error("the recording has version {found}, and this version of inrush reads up to {VERSION}; use a newer inrush")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// A line is not a moment.
    #[error("line {line} is no moment of a recording ({cause}); the file was changed, cut it before this line")]
    Moment {
        /// The line, from 1.
        line: u64,
        /// The reason.
        cause: serde_json::Error,
    },
}

/// A line: a moment that has only the copies that changed, and the copies that are gone.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    moment: SegmentsMoment,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<Place>,
}

/// A copy of a shard: index, shard, node.
type Place = (String, u32, String);

fn place(shard: &ShardSegments) -> Place {
    (shard.index.clone(), shard.shard, shard.node.clone())
}

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
    last: BTreeMap<Place, ShardSegments>,
}

impl<W: Write> Recorder<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        line(&mut out, header)?;
        Ok(Recorder { out, last: BTreeMap::new() })
    }

    /// The file.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a moment. It is in the file when this returns, so that a recording may end at any
    /// time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, moment: &SegmentsMoment) -> io::Result<()> {
        let now: BTreeMap<Place, ShardSegments> =
            moment.shards.iter().map(|shard| (place(shard), shard.clone())).collect();
        let gone = self.last.keys().filter(|place| !now.contains_key(*place)).cloned().collect();
        let changed = moment.shards.iter().filter(|shard| self.last.get(&place(shard)) != Some(*shard));
        let moment = SegmentsMoment { shards: changed.cloned().collect(), ..moment.clone() };
        line(&mut self.out, &Line { moment, gone })?;
        self.last = now;
        Ok(())
    }
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Plays a recording: an iterator over its moments. A last line that was cut off, as by a full disk
/// or a power failure, ends it.
#[derive(Debug)]
pub struct Recording<R> {
    input: R,
    header: Header,
    line: u64,
    shards: BTreeMap<Place, ShardSegments>,
}

impl<R: BufRead> Recording<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording.
    pub fn open(mut input: R) -> Result<Self, RecordingError> {
        let mut text = String::new();
        input.read_line(&mut text).map_err(|cause| RecordingError::Io { line: 1, cause })?;
        let header: Header = serde_json::from_str(&text).map_err(RecordingError::Header)?;
        if header.version > VERSION {
            return Err(RecordingError::Version { found: header.version });
        }
        Ok(Recording { input, header, line: 1, shards: BTreeMap::new() })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self) -> Result<Option<SegmentsMoment>, RecordingError> {
        self.line += 1;
        let mut text = String::new();
        self.input.read_line(&mut text).map_err(|cause| RecordingError::Io { line: self.line, cause })?;
        if text.is_empty() {
            return Ok(None);
        }
        let Line { mut moment, gone } = match serde_json::from_str(&text) {
            Ok(line) => line,
            Err(_) if !text.ends_with('\n') => return Ok(None),
            Err(cause) => return Err(RecordingError::Moment { line: self.line, cause }),
        };
        for place in &gone {
            self.shards.remove(place);
        }
        self.shards.extend(moment.shards.drain(..).map(|shard| (place(&shard), shard)));
        moment.shards = self.shards.values().cloned().collect();
        moment
            .shards
            .sort_by(|a, b| (&a.index, a.shard, !a.primary, &a.node).cmp(&(&b.index, b.shard, !b.primary, &b.node)));
        Ok(Some(moment))
    }
}

impl<R: BufRead> Iterator for Recording<R> {
    type Item = Result<SegmentsMoment, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
