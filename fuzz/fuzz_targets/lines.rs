//! The line cutter: any bytes in chunks of any size give the lines of a naive split.
#![no_main]

use std::io::Write;

use inrush_sources::{Format, FormatOptions, Source, SourceSpec, Warnings, open};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u8, &[u8])| {
    let (chunk, text) = data;
    // Compressed text, byte order marks and other character sets are left to other targets.
    if text.first().is_some_and(|b| !b.is_ascii_graphic() || matches!(b, b'B' | b'[')) || text.starts_with(b"{\n") {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("it can be written");
    let options = FormatOptions { format: Some(Format::Ndjson), ..FormatOptions::default() };
    let mut source = open(&[SourceSpec::new(file.path())], options, &Warnings::default()).expect("it can be opened");
    let mut lines: Vec<Vec<u8>> = Vec::new();
    while let Ok(Some(chunk)) = source.next_chunk(usize::from(chunk) + 1) {
        let block = chunk.into_block();
        lines.extend((0..block.records.len()).map(|i| block.record(i).to_vec()));
    }
    let naive: Vec<Vec<u8>> = text
        .split(|&b| b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    assert_eq!(lines, naive);
});
