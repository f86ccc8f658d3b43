//! The dead-letter reader: every line of any file that is not blank is a document or a reject.
#![no_main]

use std::io::Write;
use std::sync::Arc;

use inrush_sources::{Chunk, Format, FormatOptions, Source, SourceSpec, Warnings, open};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if text.first().is_some_and(|b| !b.is_ascii_graphic() || *b == b'B') {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("it can be written");
    let options = FormatOptions { format: Some(Format::DeadLetters), ..FormatOptions::default() };
    let mut source = open(&[SourceSpec::new(file.path())], options, &Warnings::default()).expect("it can be opened");
    let mut records = 0;
    while let Ok(Some(Chunk::Raw(raw))) = source.next_chunk(64) {
        let decoder = Arc::clone(&raw.decoder);
        let block = decoder.decode(raw);
        assert!(block.meta.is_empty() || block.meta.len() == block.records.len());
        (0..block.records.len()).for_each(|i| assert!(!block.record(i).contains(&b'\n') || block.rejects.iter().any(|r| r.record as usize == i)));
        records += block.records.len();
    }
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    assert_eq!(records, lines);
});
