//! Columns of bytes that hold text, and ids in columns of floats.

use std::path::PathBuf;

use arrow_array::types::Int8Type;
use arrow_array::{DictionaryArray, FixedSizeListArray, LargeBinaryArray, MapArray, RunArray};
use arrow_buffer::OffsetBuffer;
use inrush_core::{DocMeta, FieldTypes, RowForm};
use inrush_sources::Binary;
use serde_json::json;

use super::*;
use crate::source_support::Outcome;

fn arrow(dir: &tempfile::TempDir, name: &str, batches: &[RecordBatch]) -> PathBuf {
    let path = dir.path().join(name);
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    path
}

fn read(paths: &[PathBuf], binary: Binary, texts: &[&str]) -> (Outcome, Vec<String>) {
    let warnings = Warnings::default();
    let specs: Vec<SourceSpec> = paths.iter().map(SourceSpec::new).collect();
    let mut source = open(&specs, FormatOptions { binary, ..FormatOptions::default() }, &warnings).unwrap();
    source.keep_texts(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let outcome = drain(&mut source, 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    (outcome, warnings.list().iter().map(ToString::to_string).collect())
}

fn binary(values: &[Option<&[u8]>]) -> ArrayRef {
    Arc::new(BinaryArray::from(values.to_vec()))
}

/// Each kind of column with the bytes of `Ann`, and with those that are no text.
fn every_kind(bytes: &[u8]) -> Vec<(&'static str, ArrayRef)> {
    let item = || Arc::new(Field::new("item", DataType::Binary, true));
    let one = || binary(&[Some(bytes)]);
    let offsets = || OffsetBuffer::<i32>::from_lengths([1]);
    let list = arrow_array::ListArray::new(item(), offsets(), one(), None);
    let fixed_list = FixedSizeListArray::new(item(), 1, one(), None);
    let members: Fields = vec![Field::new("name", DataType::Binary, true)].into();
    let entries: Fields =
        vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Binary, true)].into();
    let key: ArrayRef = Arc::new(StringArray::from(vec!["k"]));
    let map = MapArray::new(
        Arc::new(Field::new("entries", DataType::Struct(entries.clone()), false)),
        offsets(),
        StructArray::new(entries, vec![key, one()], None),
        None,
        false,
    );
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1]), &*one()).unwrap();
    vec![
        ("binary", one()),
        ("large", Arc::new(LargeBinaryArray::from(vec![bytes]))),
        ("view", Arc::new(BinaryViewArray::from(vec![bytes]))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_iter([bytes.to_vec()].into_iter()).unwrap())),
        ("list", Arc::new(list)),
        ("fixed_list", Arc::new(fixed_list)),
        ("struct", Arc::new(StructArray::new(members, vec![one()], None))),
        ("map", Arc::new(map)),
        ("dictionary", Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0]), one()))),
        ("runs", Arc::new(runs)),
    ]
}

fn document(value: &str) -> String {
    format!(
        r#"{{"binary":{value},"large":{value},"view":{value},"fixed":{value},"list":[{value}],"fixed_list":[{value}],"struct":{{"name":{value}}},"map":{{"k":{value}}},"dictionary":{value},"runs":{value}}}"#
    )
}

#[test]
fn text_in_bytes_is_text_in_every_kind_of_column() {
    let dir = tempfile::tempdir().unwrap();
    for (bytes, auto, base64) in [(&b"Ann"[..], "\"Ann\"", "\"QW5u\""), (b"\0\xFF\x01", "\"AP8B\"", "\"AP8B\"")] {
        let file = arrow(&dir, "a.arrow", &[batch(every_kind(bytes))]);
        let (outcome, warnings) = read(std::slice::from_ref(&file), Binary::Auto, &[]);
        assert_eq!(outcome.texts(), [document(auto)]);
        assert_eq!(warnings.len(), if bytes == b"Ann" { 10 } else { 0 }, "{warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("option `binary=base64`")), "{warnings:?}");
        let (outcome, warnings) = read(std::slice::from_ref(&file), Binary::Base64, &[]);
        assert_eq!((outcome.texts(), warnings), (vec![document(base64).as_str()], vec![]));
    }
    let (outcome, warnings) =
        read(&[arrow(&dir, "b.arrow", &[batch(every_kind("é日".as_bytes()))])], Binary::Text, &[]);
    assert_eq!((outcome.texts(), warnings), (vec![document("\"é日\"").as_str()], vec![]));
}

#[test]
fn parquet_and_avro_have_text_in_bytes_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let columns = || every_kind(b"Ann").into_iter().filter(|(name, _)| ["binary", "list", "struct"].contains(name));
    let rows = batch(columns().collect());
    let expected = r#"{"binary":"Ann","list":["Ann"],"struct":{"name":"Ann"}}"#;
    let files = [parquet(&dir, "a.parquet", &rows, 10), write(&dir, "a.avro", &avro_file(&rows, None))];
    for file in files {
        assert_eq!(read(&[file], Binary::Auto, &[]).0.texts(), [expected]);
    }
}

#[test]
fn a_column_of_bytes_has_one_form() {
    let dir = tempfile::tempdir().unwrap();
    let rows = |values: &[Option<&[u8]>]| batch(vec![("v", binary(values))]);
    let (text, bytes, nothing) = (rows(&[Some(b"Ann"), Some(b"")]), rows(&[Some(b"\xFF")]), rows(&[None, Some(b"")]));
    let kinds =
        |outcome: &Outcome| outcome.records.iter().map(|one| (one.text().to_owned(), one.kind())).collect::<Vec<_>>();
    let is = |text: &str, kind: &'static str| (text.to_owned(), kind);
    // What is no text after text is refused, in the same file and in the next one.
    let one = arrow(&dir, "1.arrow", &[nothing.clone(), text.clone(), bytes.clone(), text.clone()]);
    let two = arrow(&dir, "2.arrow", &[bytes.clone(), text.clone()]);
    let (outcome, warnings) = read(&[one.clone(), two.clone()], Binary::Auto, &[]);
    let refused = is(r#"{"v":"/w=="}"#, "invalid_utf8");
    let (ann, empty) = (is(r#"{"v":"Ann"}"#, ""), is(r#"{"v":""}"#, ""));
    assert_eq!(
        kinds(&outcome),
        [&is("{}", ""), &empty, &ann, &empty, &refused, &ann, &empty, &refused, &ann, &empty].map(Clone::clone)
    );
    let reason = outcome.records.iter().find_map(|one| one.reject.clone()).unwrap().1;
    assert!(reason.contains("field \"v\"") && reason.contains("option `binary=base64`"), "{reason}");
    assert_eq!(warnings.iter().filter(|warning| warning.contains("column v")).count(), 1, "{warnings:?}");
    // Text after what is no text is base64.
    let (outcome, warnings) = read(&[two.clone(), one], Binary::Auto, &[]);
    let base64 = is(r#"{"v":"QW5u"}"#, "");
    assert_eq!(kinds(&outcome)[..3], [is(r#"{"v":"/w=="}"#, ""), base64.clone(), empty.clone()]);
    assert!(outcome.records.iter().all(|one| one.reject.is_none()) && warnings.is_empty(), "{warnings:?}");
    let (outcome, _) = read(&[two], Binary::Text, &[]);
    assert_eq!(kinds(&outcome), [refused, ann, empty]);
}

#[test]
fn fields_of_type_binary_and_of_ids_are_base64() {
    let dir = tempfile::tempdir().unwrap();
    let members = Fields::from(vec![Field::new("b", DataType::Binary, true)]);
    let nested: ArrayRef = Arc::new(StructArray::new(members, vec![binary(&[Some(b"Ann")])], None));
    let rows = batch(vec![("id", binary(&[Some(b"Ann")])), ("s", nested), ("t", binary(&[Some(b"Ann")]))]);
    let file = arrow(&dir, "a.arrow", &[rows]);
    let read = |binary: Binary| {
        let options = FormatOptions { binary, ..FormatOptions::default() };
        let mut source = open(&[SourceSpec::new(&file)], options, &Warnings::default()).unwrap();
        let mapping = json!({"properties": {"s": {"properties": {"b": {"type": "binary"}}}}});
        source.form_rows(&RowForm { fields: FieldTypes::of_mapping(&mapping), ..RowForm::default() });
        source.keep_texts(&["id".to_owned()]);
        drain(&mut source, 1 << 20)
    };
    assert_eq!(read(Binary::Auto).texts(), [r#"{"id":"QW5u","s":{"b":"QW5u"},"t":"Ann"}"#]);
    assert_eq!(read(Binary::Text).texts(), [r#"{"id":"Ann","s":{"b":"Ann"},"t":"Ann"}"#]);
}

#[test]
fn fractions_for_a_field_of_whole_numbers_are_told_in_each_format() {
    let dir = tempfile::tempdir().unwrap();
    for (last, expected) in [(12.5, 1), (12.0, 0)] {
        let of = |last| batch(vec![("n", Arc::new(Float64Array::from(vec![1.0, last])))]);
        // The first batch has none.
        let (first, rows) = (of(2.0), of(last));
        let avro = dir.path().join("a.avro");
        std::fs::write(&avro, avro_file(&rows, None)).unwrap();
        for file in [arrow(&dir, "a.arrow", &[first, rows.clone()]), parquet(&dir, "a.parquet", &rows, 1), avro] {
            let warnings = Warnings::default();
            let mut source = open(&[SourceSpec::new(&file)], FormatOptions::default(), &warnings).unwrap();
            let mapping = json!({"properties": {"n": {"type": "integer"}}});
            source.form_rows(&RowForm { fields: FieldTypes::of_mapping(&mapping), ..RowForm::default() });
            drain(&mut source, 1);
            let told: Vec<_> = warnings.list().into_iter().map(|told| (told.kind, told.column, told.count)).collect();
            assert_eq!(told, vec![("fractions_cut", "n".to_owned(), 1); expected], "{}", file.display());
        }
    }
}

#[test]
fn members_of_a_struct_have_forms_of_their_own() {
    let members =
        Fields::from(vec![Field::new("name", DataType::Binary, true), Field::new("hash", DataType::Binary, true)]);
    let rows = StructArray::new(members, vec![binary(&[Some(b"Ann")]), binary(&[Some(b"\x80")])], None);
    let (found, warnings) = documents(&batch(vec![("s", Arc::new(rows))]));
    assert_eq!(found, [r#"{"s":{"name":"Ann","hash":"gA=="}}"#]);
    assert!(warnings.len() == 1 && warnings[0].contains("column s.name"), "{warnings:?}");
}

#[test]
fn control_characters_are_no_text() {
    for bytes in [&b"a\0"[..], b"\x01\x02", b"\x1B[0m"] {
        let (found, _) = documents(&batch(vec![("v", binary(&[Some(bytes)]))]));
        assert!(!found[0].contains('\\'), "{found:?}");
    }
    assert_eq!(documents(&batch(vec![("v", binary(&[Some(b"a\tb\r\n")]))])).0, [r#"{"v":"a\tb\r\n"}"#]);
}

/// The texts that are kept of the field `id`, one for each row.
fn kept(outcome: &Outcome) -> Vec<Option<String>> {
    let text = |meta: DocMeta| meta.texts.into_iter().next().map(|(_, text)| text);
    outcome.records.iter().map(|one| one.meta.clone().and_then(text)).collect()
}

#[test]
fn whole_numbers_in_floats_are_ids_without_a_point() {
    let dir = tempfile::tempdir().unwrap();
    let doubles = [
        Some(1.0),
        None,
        Some(-7.0),
        Some(2.5),
        Some(-0.0),
        Some(0.0),
        Some(9_007_199_254_740_992.0),
        Some(1e16),
        Some(f64::NAN),
    ];
    let expected = [Some("1"), None, Some("-7"), None, None, Some("0"), Some("9007199254740992"), None, None];
    let expected = expected.map(|text| text.map(str::to_owned));
    let arrays: [(ArrayRef, &[Option<String>]); 3] = [
        (Arc::new(Float64Array::from(doubles.to_vec())), &expected),
        (
            Arc::new(Float32Array::from(vec![3.0, 16_777_216.0, 16_777_218.0])),
            &["3", "16777216"].map(|text| Some(text.to_owned())).into_iter().chain([None]).collect::<Vec<_>>(),
        ),
        (
            Arc::new(PrimitiveArray::<Float16Type>::from_iter_values([4.0, 4096.0].map(half::f16::from_f32))),
            &[Some("4".to_owned()), None],
        ),
    ];
    for (array, expected) in arrays {
        let members = Fields::from(vec![Field::new("id", array.data_type().clone(), true)]);
        let nested = StructArray::new(members, vec![Arc::clone(&array)], None);
        let rows = batch(vec![("id", Arc::clone(&array)), ("user", Arc::new(nested)), ("a.id", array)]);
        for file in [parquet(&dir, "a.parquet", &rows, 4), arrow(&dir, "a.arrow", &[rows])] {
            for path in ["id", "user.id", "a.id"] {
                let (outcome, _) = read(std::slice::from_ref(&file), Binary::Auto, &[path]);
                assert_eq!(kept(&outcome), expected, "{path} of {}", file.display());
            }
            let (outcome, _) = read(std::slice::from_ref(&file), Binary::Auto, &["other"]);
            assert!(outcome.records.iter().all(|one| one.meta.is_none()));
        }
    }
}
