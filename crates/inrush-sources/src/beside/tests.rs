use std::path::Path;

use serde_json::{Value, json};

use super::*;

/// A file of vectors of one number each: 0, 1, 2, …
fn numbers(path: &Path, rows: u32) {
    let header = [rows.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let values = (0..rows).flat_map(|row| (row as f32).to_le_bytes());
    std::fs::write(path, header.into_iter().chain(values).collect::<Vec<u8>>()).unwrap();
}

fn files(folder: &Path, files: &[(&str, String)]) -> Box<dyn Source> {
    let specs = files.iter().map(|(name, text)| {
        std::fs::write(folder.join(name), text).unwrap();
        SourceSpec::Path(folder.join(name))
    });
    Box::new(open(&specs.collect::<Vec<_>>(), FormatOptions::default(), &Warnings::default()).unwrap())
}

fn beside(inner: Box<dyn Source>, vectors: &[(&str, &Path)]) -> Result<Beside, SourceError> {
    let vectors: Vec<_> = vectors.iter().map(|(field, path)| ((*field).to_owned(), path.to_path_buf())).collect();
    Beside::new(inner, &vectors, 1 << 20)
}

/// The documents, with the line of each, and why the source ended.
fn read(source: &mut Beside, bytes: usize) -> (Vec<(u64, Value)>, usize, Option<SourceError>) {
    let (mut found, mut rejects, mut lines) = (Vec::new(), 0, [1_u64; 3]);
    loop {
        let block = match source.next_chunk(bytes) {
            Ok(Some(chunk)) => chunk.into_block(),
            Ok(None) => return (found, rejects, None),
            Err(error) => return (found, rejects, Some(error)),
        };
        let first = lines[block.origin.source.0 as usize];
        lines[block.origin.source.0 as usize] += block.lines;
        rejects += block.rejects.len();
        for at in block.accepted() {
            let line = first + u64::from(block.records[at as usize].line);
            found.push((line, serde_json::from_slice(block.record(at as usize)).unwrap()));
        }
    }
}

fn ndjson(rows: std::ops::Range<u32>) -> String {
    rows.map(|row| format!("{{\"n\":{row}}}\n")).collect()
}

#[test]
fn row_i_goes_into_document_i_of_all_files_whatever_the_size_of_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.fbin");
    numbers(&path, 1000);
    let csv: String = (300..700).map(|row| format!("{row}\n\n")).collect();
    for bytes in [1, 50, 3000, 1 << 20] {
        let documents = [("a.ndjson", ndjson(0..300)), ("b.csv", format!("n\n{csv}")), ("c.ndjson", ndjson(700..1000))];
        let inner = files(folder.path(), &documents);
        let mut source = beside(inner, &[("v", &path), ("w", &path)]).unwrap();
        let (found, rejects, error) = read(&mut source, bytes);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((found.len(), rejects), (1000, 0));
        for (row, (line, document)) in found.iter().enumerate() {
            let vector = json!([row as f32]);
            assert_eq!(*document, json!({"n": row, "v": vector, "w": vector}), "{bytes}");
            let expected = match row {
                0..300 => row + 1,
                300..700 => 2 + 2 * (row - 300),
                _ => row - 699,
            };
            assert_eq!(*line, expected as u64, "{row} {bytes}");
        }
    }
}

#[test]
fn records_that_cannot_be_read_have_a_row_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.fbin");
    numbers(&path, 4);
    for bytes in [1, 1000] {
        let inner = files(folder.path(), &[("a.csv", "n,m\n0,0\n1\n2,2\n3,3,3\n".to_owned())]);
        let (found, rejects, error) = read(&mut beside(inner, &[("v", &path)]).unwrap(), bytes);
        assert!(error.is_none(), "{error:?}");
        let vectors: Vec<_> = found.iter().map(|(_, document)| document["v"][0].as_f64().unwrap()).collect();
        assert_eq!((vectors, rejects), (vec![0.0, 2.0], 2), "{bytes}");
    }
}

#[test]
fn counts_that_differ_are_an_error_with_what_is_known_of_both() {
    let folder = tempfile::tempdir().unwrap();
    for (rows, documents) in [(10, 9), (9, 10), (0, 1), (1, 0), (5000, 1), (1, 5000)] {
        let path = folder.path().join("v.fbin");
        numbers(&path, rows);
        for bytes in [1, 1 << 20] {
            let inner = files(folder.path(), &[("a.ndjson", ndjson(0..documents))]);
            let mut source = beside(inner, &[("v", &path)]).unwrap();
            let (found, _, error) = read(&mut source, bytes);
            assert_eq!(found.len(), rows.min(documents) as usize);
            let error = error.unwrap().to_string();
            // Nothing more is read of the side that has more.
            let least = rows.min(documents);
            let [vectors, documents] = [rows, documents].map(|all| match all > least {
                true => format!("more than {least}"),
                false => all.to_string(),
            });
            let told = format!("the vectors of field \"v\" are {vectors}, and the documents of ");
            assert!(error.contains("v.fbin") && error.contains(&told), "{error}");
            assert!(error.contains(&format!("a.ndjson are {documents}, ")), "{error}");
            assert!(matches!(source.next(bytes), Ok(Step::End)));
        }
    }
}

/// Documents that never end, one in each chunk.
struct Endless;

impl Source for Endless {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["endless"]);
        info.repeats = Repeats::Once;
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        let record = inrush_core::block::Record { start: 0, end: 2, byte: 0, line: 0 };
        let block = DocBlock { data: "{}".into(), records: vec![record], lines: 1, ..DocBlock::default() };
        Ok(Step::Chunk(Chunk::Docs(block)))
    }
}

#[test]
fn documents_that_never_end_end_behind_the_last_vector() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.fbin");
    numbers(&path, 3);
    let mut source = beside(Box::new(Endless), &[("v", &path)]).unwrap();
    let (found, _, error) = read(&mut source, 1000);
    assert_eq!(found.len(), 3);
    let error = error.unwrap().to_string();
    assert!(error.contains("are 3, and the documents of endless are more than 3"), "{error}");
}

#[test]
fn the_first_field_whose_count_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (right, wrong) = (folder.path().join("v.fbin"), folder.path().join("w.fbin"));
    numbers(&right, 3);
    numbers(&wrong, 2);
    let inner = files(folder.path(), &[("a.ndjson", ndjson(0..3))]);
    let (_, _, error) = read(&mut beside(inner, &[("v", &right), ("w", &wrong)]).unwrap(), 1000);
    assert!(error.unwrap().to_string().contains("the vectors of field \"w\" are 2, and the documents of"));
}

#[test]
fn files_of_vectors_are_parts_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.fbin");
    numbers(&path, 3);
    let of = |field: &str| beside(files(folder.path(), &[("a.ndjson", ndjson(0..3))]), &[(field, &path)]).unwrap();
    let source = of("v");
    let info = source.describe();
    let names: Vec<_> = info.names.iter().map(|name| name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["a.ndjson", "v.fbin"]);
    assert_eq!((info.bytes_total, info.repeats), (Some(3 * 8 + 20), Repeats::Always));
    assert_eq!(source.fingerprints().unwrap().len(), 2);
    source.check_all().unwrap();
    assert_ne!(info.reading, of("w").describe().reading);
}

#[test]
fn what_cannot_be_put_beside_documents_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.fbin");
    numbers(&path, 3);
    let documents = || files(folder.path(), &[("a.ndjson", ndjson(0..3))]);
    let missing = beside(documents(), &[("v", &folder.path().join("none.npy"))]).err().unwrap();
    assert!(missing.to_string().contains("none.npy"), "{missing}");
    let other = folder.path().join("a.ndjson");
    let (_, _, error) = read(&mut beside(documents(), &[("v", &other)]).unwrap(), 1000);
    let error = error.unwrap();
    assert_eq!(error.code, Code::UnknownFormat);
    assert!(error.to_string().contains("is no file of vectors; option `vectors` takes .npy"), "{error}");
    let (_, fed) = crate::push::channel(crate::push::PushOptions::default());
    let bulk = files(folder.path(), &[("a.bulk", "{\"index\":{}}\n{}\n".to_owned())]);
    for (inner, expected) in
        [(Box::new(fed) as Box<dyn Source>, "come in no fixed order"), (bulk, "lines may delete documents")]
    {
        let error = beside(inner, &[("v", &path)]).err().unwrap();
        assert_eq!(error.code, Code::OptionsConflict);
        assert!(error.to_string().contains(expected), "{error}");
    }
}
