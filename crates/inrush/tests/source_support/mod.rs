//! Reads a source as the engine does, on one thread.
// Each executable uses a part of it.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};

use inrush_core::{DocMeta, Position};
use inrush_sources::{Chunk, FormatOptions, Source, SourceError, SourceSpec, Warnings, open};

/// One record with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub at: Position,
    pub data: Vec<u8>,
    pub reject: Option<(&'static str, String)>,
    pub meta: Option<DocMeta>,
}

impl Loaded {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.data).unwrap()
    }

    pub fn kind(&self) -> &'static str {
        self.reject.as_ref().map_or("", |(kind, _)| kind)
    }
}

/// Everything that came of a source.
pub struct Outcome {
    pub records: Vec<Loaded>,
    pub bytes_read: u64,
    /// The largest chunk or block, bytes.
    pub largest: usize,
    pub error: Option<SourceError>,
}

impl Outcome {
    pub fn texts(&self) -> Vec<&str> {
        self.records.iter().map(Loaded::text).collect()
    }
}

/// Reads all of it, in chunks of `bytes`.
pub fn drain(source: &mut dyn Source, bytes: usize) -> Outcome {
    let mut outcome = Outcome { records: Vec::new(), bytes_read: 0, largest: 0, error: None };
    // Source, documents before, lines before.
    let mut place = (0, 0, 1);
    loop {
        let block = match source.next_chunk(bytes) {
            Ok(None) => return outcome,
            Err(error) => {
                outcome.error = Some(error);
                assert!(matches!(source.next_chunk(bytes), Ok(None)), "a source is read after an error");
                return outcome;
            }
            Ok(Some(Chunk::Raw(chunk))) => {
                outcome.largest = outcome.largest.max(chunk.data.len());
                let origin = chunk.origin;
                let block = Chunk::Raw(chunk).into_block();
                assert_eq!(block.origin, origin);
                block
            }
            Ok(Some(chunk)) => chunk.into_block(),
        };
        outcome.largest = outcome.largest.max(block.data.len());
        if block.origin.source.0 != place.0 {
            place = (block.origin.source.0, 0, 1);
        }
        let mut origin = block.origin;
        (origin.first_doc, origin.first_line) = (place.1, place.2);
        place.1 += block.records.len() as u64;
        place.2 += block.lines;
        outcome.bytes_read += block.bytes_read;
        assert!(block.meta.is_empty() || block.meta.len() == block.records.len());
        let mut rejects = block.rejects.iter().peekable();
        for (i, record) in block.records.iter().enumerate() {
            let reject = rejects.next_if(|reject| reject.record as usize == i);
            outcome.records.push(Loaded {
                at: origin.position(i, *record),
                data: block.record(i).to_vec(),
                reject: reject.map(|reject| (reject.kind.name(), reject.reason.clone())),
                meta: block.meta.get(i).cloned(),
            });
        }
        assert!(rejects.next().is_none(), "rejects are out of order or name no record");
    }
}

/// Opens one path or pattern.
pub fn load(path: &Path, options: FormatOptions, bytes: usize) -> (Outcome, Warnings) {
    let warnings = Warnings::default();
    let mut source = open(&[SourceSpec::new(path)], options, &warnings).unwrap();
    (drain(&mut source, bytes), warnings)
}

/// Writes a file into a folder that is removed with `dir`.
pub fn write(dir: &tempfile::TempDir, name: &str, data: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::File::create(&path).unwrap().write_all(data).unwrap();
    path
}

/// A file of the data that is shared beside the repository, or a message that it is not there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os("INRUSH_SHARED_DATA").map_or_else(|| PathBuf::from("../../../shared/data"), PathBuf::from);
    let path = folder.join(path);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

pub const CODECS: [&str; 4] = ["gzip", "zstd", "bzip2", "xz"];

pub fn compress(codec: &str, data: &[u8]) -> Vec<u8> {
    match codec {
        "gzip" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "zstd" => zstd::encode_all(data, 1).unwrap(),
        "bzip2" => {
            let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "xz" => {
            let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        other => panic!("no codec {other}"),
    }
}
