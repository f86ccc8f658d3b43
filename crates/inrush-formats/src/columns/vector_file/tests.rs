use std::io::Write as _;

use flate2::write::GzEncoder;
use inrush_core::DocBlock;
use serde_json::{Value, json};

use crate::format::{Format, FormatOptions};
use crate::input::Input;
use crate::raw::Raw;
use crate::reading::Reading;
use crate::warnings::Warnings;
use crate::{SourceError, VectorFormat};
use inrush_core::SourceId;

/// A file of NumPy.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), data].concat()
}

/// A file whose header has the numbers of rows and of their numbers.
fn counted(rows: u32, dims: u32, data: &[u8]) -> Vec<u8> {
    [&rows.to_le_bytes(), &dims.to_le_bytes(), data].concat()
}

/// Rows, each behind the number of its numbers.
fn behind_lengths(dims: u32, data: &[u8], row_bytes: usize) -> Vec<u8> {
    data.chunks(row_bytes).flat_map(|row| [&dims.to_le_bytes(), row].concat()).collect()
}

/// The documents of a file, and why it ends early. `bytes`: those of a chunk.
fn read(name: &str, contents: &[u8], options: FormatOptions, bytes: usize) -> (Vec<Value>, Option<SourceError>) {
    let input = Input::new(std::io::Cursor::new(contents.to_vec()));
    let raw = Raw { input, read: std::sync::Arc::default(), seekable: None };
    let mut reading = Reading::new(options, Warnings::default());
    let mut file = match reading.open(SourceId(0), name, raw, &[]) {
        Ok(file) => file,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut documents = Vec::new();
    loop {
        match file.next_chunk(bytes) {
            Ok(Some(chunk)) => documents.extend(parsed(&chunk.into_block())),
            Ok(None) => return (documents, None),
            Err(error) => return (documents, Some(error)),
        }
    }
}

fn parsed(block: &DocBlock) -> Vec<Value> {
    assert!(block.rejects.is_empty());
    (0..block.records.len()).map(|at| serde_json::from_slice(block.record(at)).unwrap()).collect()
}

/// A list as it is read, because numbers of a test would be rounded in another way.
fn row(numbers: &str) -> Value {
    numbers.parse().unwrap()
}

#[track_caller]
fn check(name: &str, contents: &[u8], rows: &[Value]) {
    let expected: Vec<Value> = rows.iter().map(|row| json!({ "vector": row })).collect();
    for bytes in [1, 1 << 20] {
        let (documents, error) = read(name, contents, FormatOptions::default(), bytes);
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(documents, expected, "{name}");
    }
}

#[track_caller]
fn refused(name: &str, contents: &[u8], documents: usize, expected: &str) {
    let (found, error) = read(name, contents, FormatOptions::default(), 1);
    let error = error.unwrap_or_else(|| panic!("{name} has {} documents", found.len())).to_string();
    assert_eq!(found.len(), documents, "{error}");
    assert!(error.starts_with(&format!("{name}: ")) && error.contains(expected), "{error}");
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

const SINGLE: [f32; 6] = [-0.0, 0.5, 1e-45, 0.1, -1.25, 3.0];

#[test]
fn each_format_and_type_of_number() {
    let single = floats(&SINGLE);
    let rows = [row("[-0.0,0.5,1e-45]"), row("[0.1,-1.25,3.0]")];
    check("a.npy", &npy("<f4", "(2, 3)", &single), &rows);
    check("a.fbin", &counted(2, 3, &single), &rows);
    check("a.fvecs", &behind_lengths(3, &single, 12), &rows);
    let big: Vec<u8> = SINGLE.iter().flat_map(|value| value.to_be_bytes()).collect();
    check("a.npy", &npy(">f4", "(2, 3)", &big), &rows);
    let double: Vec<u8> = [0.1_f64, 1e300, -2.0, 5e-324].iter().flat_map(|value| value.to_le_bytes()).collect();
    check("a.npy", &npy("<f8", "(2, 2)", &double), &[row("[0.1,1e300]"), row("[-2.0,5e-324]")]);
    // The half floats 1, -2, 0.5 and the smallest one.
    let half: Vec<u8> = [0x3C00_u16, 0xC000, 0x3800, 1].iter().flat_map(|value| value.to_le_bytes()).collect();
    let (documents, _) = read("a.npy", &npy("<f2", "(2, 2)", &half), FormatOptions::default(), 1 << 20);
    assert_eq!(documents[0], json!({"vector": [1.0, -2.0]}));
    let smallest = documents[1]["vector"][1].as_f64().unwrap();
    assert_eq!(smallest as f32, 2_f32.powi(-24));
    let bytes = [0, 127, 128, 255];
    let unsigned = [json!([0, 127]), json!([128, 255])];
    let signed = [json!([0, 127]), json!([-128, -1])];
    check("a.npy", &npy("|u1", "(2, 2)", &bytes), &unsigned);
    check("a.npy", &npy("|i1", "(2, 2)", &bytes), &signed);
    check("a.u8bin", &counted(2, 2, &bytes), &unsigned);
    check("a.i8bin", &counted(2, 2, &bytes), &signed);
    check("a.bvecs", &behind_lengths(2, &bytes, 2), &unsigned);
    let whole: Vec<u8> = [7_i32, -1, i32::MIN, i32::MAX].iter().flat_map(|value| value.to_le_bytes()).collect();
    check("a.ivecs", &behind_lengths(2, &whole, 8), &[json!([7, -1]), json!([i32::MIN, i32::MAX])]);
}

#[test]
fn files_of_more_than_a_batch_have_all_their_rows_in_order() {
    let rows = 9_000;
    let values: Vec<f32> = (0..rows * 64).map(|at| at as f32).collect();
    let data = floats(&values);
    for (name, contents) in [
        ("a.npy", npy("<f4", &format!("({rows}, 64)"), &data)),
        ("a.fvecs", behind_lengths(64, &data, 256)),
        ("a.fbin", counted(rows as u32, 64, &data)),
    ] {
        let (documents, error) = read(name, &contents, FormatOptions::default(), 100_000);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(documents.len(), rows);
        for (row, document) in documents.iter().enumerate() {
            assert_eq!(document["vector"][63], json!((row * 64 + 63) as f32), "{name}");
        }
    }
}

#[test]
fn files_without_rows_have_no_documents() {
    check("a.npy", &npy("<f4", "(0, 3)", &[]), &[]);
    check("a.npy", &npy("<f4", "(0, 0)", &[]), &[]);
    check("a.fvecs", &[], &[]);
    check("a.fbin", &counted(0, 3, &[]), &[]);
    check("a.u8bin", &counted(0, 0, &[]), &[]);
}

#[test]
fn a_file_that_is_cut_off_gives_its_whole_rows_and_says_where_it_ends() {
    let data = floats(&SINGLE);
    for missing in [1, 4, 11] {
        let short = &data[..data.len() - missing];
        refused(
            "a.npy",
            &npy("<f4", "(2, 3)", short),
            1,
            "after the first 1 cannot be read: the file is cut off in row 2 of 2",
        );
        refused("a.fbin", &counted(2, 3, short), 1, "the file is cut off in row 2 of 2");
        let lengths = behind_lengths(3, &data, 12);
        refused("a.fvecs", &lengths[..lengths.len() - missing], 1, "the file is cut off in row 2");
    }
    refused("a.npy", &npy("<f4", "(2, 3)", &data[..12]), 1, "cut off in row 2 of 2");
    refused("a.npy", &npy("<f4", "(2, 3)", &[]), 0, "cut off in row 1 of 2");
    refused("a.npy", b"", 0, "is cut off in its header; is the file complete, and npy?");
    refused("a.fbin", b"\x01\0", 0, "is cut off in its header; is the file complete, and fbin?");
    refused("a.fvecs", b"\x01\0", 0, "is cut off in its first row");
}

#[test]
fn a_file_that_is_something_else_is_refused() {
    let data = floats(&SINGLE);
    refused("a.npy", &npy("<f4", "(1, 3)", &data), 1, "the header says 1 rows, and more bytes follow");
    refused("a.fbin", &counted(1, 3, &data), 1, "the header says 1 rows, and more bytes follow");
    refused("a.npy", b"hello", 0, "cut off in its header");
    refused("a.npy", b"hello, this is text", 0, "magic number of NumPy");
    refused("a.fvecs", b"hello, this is text", 0, "1 to 65536 are expected");
    let mut other = behind_lengths(3, &data, 12);
    other[16] = 2;
    refused("a.fvecs", &other, 1, "a row of 2 numbers follows, and the first row has 3");
}

#[test]
fn a_number_in_front_may_look_like_any_format() {
    // A brace, and the beginnings of SMILE and of old Arrow streams.
    for (rows, dims) in [(u32::from(b'{'), 1), (u32::from_le_bytes(*b":)\n\0"), 1), (16, 8)] {
        let contents = counted(rows, dims, &vec![0; (rows * dims) as usize]);
        let (documents, error) = read("a.u8bin", &contents, FormatOptions::default(), 1 << 20);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(documents.len(), rows as usize);
    }
}

#[test]
fn contents_or_the_option_tell_the_format_where_the_name_does_not() {
    let data = floats(&SINGLE);
    let (documents, _) = read("x", &npy("<f4", "(2, 3)", &data), FormatOptions::default(), 1);
    assert_eq!(documents.len(), 2);
    let format = Some(Format::Vectors(VectorFormat::Fvecs));
    let options = FormatOptions { format, vector_field: "v".to_owned(), ..FormatOptions::default() };
    let (documents, _) = read("x.bin", &behind_lengths(3, &data, 12), options, 1);
    assert_eq!(documents[1], json!({"v": [0.1, -1.25, 3.0]}));
}

#[test]
fn compressed_files_are_read() {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&counted(2, 3, &floats(&SINGLE))).unwrap();
    check("a.fbin.gz", &packed.finish().unwrap(), &[row("[-0.0,0.5,1e-45]"), row("[0.1,-1.25,3.0]")]);
}

#[test]
fn what_json_cannot_express_is_null() {
    let contents = npy("<f4", "(1, 3)", &floats(&[f32::NAN, 1.0, f32::NEG_INFINITY]));
    check("a.npy", &contents, &[json!([null, 1.0, null])]);
}
