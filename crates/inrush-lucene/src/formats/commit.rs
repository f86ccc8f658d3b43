//! The description of a segment, and the commit that names the segments.
//!
//! Sources: the documentation of `org.apache.lucene.codecs.lucene99.Lucene99SegmentInfoFormat` and
//! `org.apache.lucene.index.SegmentInfos`.

use std::io;
use std::path::Path;

use super::field_infos::LuceneVersion;
use super::live_docs::{Deleted, GENERATION};
use super::output::{FileOutput, ID_BYTES, Put};

const CODEC: &str = "Lucene912";
const COMMIT: &str = "segments";
const COMMIT_VERSION: u32 = 10;

/// What a segment says of itself.
pub(crate) struct SegmentInfo {
    pub(crate) docs: u32,
    /// Whether documents are nested objects of the one behind them.
    pub(crate) has_nested: bool,
    /// The names of its other files.
    pub(crate) files: Vec<String>,
    /// The fields of the index sort, each in the form of the file.
    pub(crate) sort: Vec<Vec<u8>>,
}

/// Writes `.si`.
pub(crate) fn write_segment_info(
    folder: &Path,
    segment: &str,
    id: &[u8; ID_BYTES],
    info: SegmentInfo,
    version: LuceneVersion,
) -> io::Result<()> {
    let SegmentInfo { docs, has_nested, mut files, sort } = info;
    let name = format!("{segment}.si");
    files.push(name.clone());
    let mut out = FileOutput::create(folder, name)?;
    out.put_index_header("Lucene90SegmentInfo", 0, id, "");
    for part in version {
        out.put_u32(part);
    }
    // The least version is the same.
    out.put_u8(1);
    for part in version {
        out.put_u32(part);
    }
    out.put_u32(docs);
    // No compound file; whether some documents belong together.
    out.put_u8(u8::MAX);
    out.put_u8(if has_nested { 1 } else { u8::MAX });
    out.put_string_map(&[("source".to_owned(), "inrush".to_owned())]);
    out.put_string_set(&files);
    out.put_string_map(&[("Lucene90StoredFieldsFormat.mode".to_owned(), "BEST_SPEED".to_owned())]);
    out.put_vint(sort.len() as u32);
    sort.iter().for_each(|by| out.put(by));
    out.put_footer();
    out.finish()?;
    Ok(())
}

/// A segment that is written.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    /// Its name, such as `_0`.
    pub(crate) name: String,
    /// Its id, which each of its files has, too.
    pub(crate) id: [u8; ID_BYTES],
    /// The number of documents, nested objects included.
    pub(crate) docs: u32,
    /// The deleted documents.
    pub(crate) deleted: Deleted,
    /// How many documents lost to another one of the segment with the same id.
    pub(crate) duplicates: u32,
}

/// Writes the commit `segments_N` of the generation `generation`, by which a reader finds the
/// segments.
///
/// `user_data` is what the server wants to know of a shard. Returns the file's name.
///
/// # Errors
///
/// If the file cannot be written, or is there.
pub(crate) fn write_commit(
    folder: &Path,
    generation: u64,
    id: &[u8; ID_BYTES],
    segments: &[Segment],
    user_data: &[(String, String)],
    version: LuceneVersion,
) -> io::Result<String> {
    let generation = base36(generation);
    let mut out = FileOutput::create(folder, format!("segments_{generation}"))?;
    out.put_index_header(COMMIT, COMMIT_VERSION, id, &generation);
    for part in version {
        out.put_vint(part);
    }
    out.put_vint(version[0]);
    // How often the index was changed, and the next segment's name.
    out.put(&(segments.len() as u64 + 2).to_be_bytes());
    out.put_vlong(segments.len() as u64);
    out.put(&(segments.len() as u32).to_be_bytes());
    if !segments.is_empty() {
        for part in version {
            out.put_vint(part);
        }
    }
    for segment in segments {
        out.put_string(&segment.name);
        out.put(&segment.id);
        out.put_string(CODEC);
        // Deletions, and no updates.
        let deletions = if segment.deleted.count() == 0 { -1 } else { GENERATION as i64 };
        out.put(&deletions.to_be_bytes());
        out.put(&segment.deleted.count().to_be_bytes());
        out.put(&(-1_i64).to_be_bytes());
        out.put(&(-1_i64).to_be_bytes());
        out.put(&0_u32.to_be_bytes());
        // The state of the segment has an id; with no update it is the segment's.
        out.put_u8(1);
        out.put(&segment.id);
        out.put_string_set(&[]);
        out.put(&0_u32.to_be_bytes());
    }
    out.put_string_map(user_data);
    out.put_footer();
    out.finish()
}

/// Lucene writes the generations of commits and the names of segments in base 36.
pub(crate) fn base36(mut value: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((value % 36) as u32, 36).unwrap_or('0'));
        value /= 36;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// What an empty commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) generation: u64,
    /// The version that wrote it.
    pub(crate) lucene: LuceneVersion,
    pub(crate) user_data: Vec<(String, String)>,
}

/// Reads a commit without segments. `None` if it is none.
pub(crate) fn read_commit(bytes: &[u8]) -> Option<Commit> {
    let mut header = Vec::new();
    header.put_header(COMMIT, COMMIT_VERSION);
    let mut input = Input(bytes.strip_prefix(header.as_slice())?);
    input.take(ID_BYTES)?;
    let suffix_len = usize::from(input.take(1)?[0]);
    let generation = std::str::from_utf8(input.take(suffix_len)?).ok()?;
    let generation = u64::from_str_radix(generation, 36).ok()?;
    let mut lucene = [0; 3];
    for part in &mut lucene {
        *part = u32::try_from(input.vint()?).ok()?;
    }
    // The major version that created the index.
    input.vint()?;
    input.take(8)?;
    input.vint()?;
    if input.take(4)? != [0; 4] {
        return None;
    }
    let mut user_data = Vec::new();
    for _ in 0..input.vint()? {
        user_data.push((input.string()?, input.string()?));
    }
    Some(Commit { generation, lucene, user_data })
}

/// Bytes that are read from their beginning.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn vint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn string(&mut self) -> Option<String> {
        let len = usize::try_from(self.vint()?).ok()?;
        String::from_utf8(self.take(len)?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{read_commit, write_commit};

    #[test]
    fn an_empty_commit_is_read_as_it_is_written() {
        let folder = std::env::temp_dir().join(format!("inrush-lucene-commit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let data = vec![("history_uuid".to_owned(), "x".to_owned())];
        let file = write_commit(&folder, 40, &[7; 16], &[], &data, [10, 4, 0]).unwrap();
        let commit = read_commit(&std::fs::read(folder.join(&file)).unwrap()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((file.as_str(), commit.generation, commit.lucene), ("segments_14", 40, [10, 4, 0]));
        assert_eq!(commit.user_data, data);
        assert_eq!(read_commit(b""), None);
    }
}
