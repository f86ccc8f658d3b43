//! Columnar files, as the engine reads them: every type, pieces, damage.

mod bytes_and_floats;
mod odd;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::{Float16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DurationMillisecondArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    LargeStringArray, PrimitiveArray, RecordBatch, StringArray, StringViewArray, StructArray, Time32SecondArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_avro::compression::CompressionCodec;
use arrow_avro::writer::WriterBuilder;
use arrow_avro::writer::format::AvroOcfFormat;
use arrow_buffer::i256;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields, Schema};
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use crate::source_support::{compress, drain, load, shared, write};

/// Writes a Parquet file with row groups of `group_rows`.
fn write_parquet(path: &Path, batch: &RecordBatch, group_rows: usize, compression: Compression) {
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn numbers(rows: i32) -> RecordBatch {
    let text: StringArray = (0..rows).map(|i| Some(format!("row \"{i}\""))).collect();
    batch(vec![("i", Arc::new(Int32Array::from_iter_values(0..rows))), ("t", Arc::new(text))])
}

fn numbers_expected(rows: i32) -> Vec<String> {
    (0..rows).map(|i| format!(r#"{{"i":{i},"t":"row \"{i}\""}}"#)).collect()
}

fn parquet(dir: &tempfile::TempDir, name: &str, batch: &RecordBatch, group_rows: usize) -> PathBuf {
    let path = dir.path().join(name);
    write_parquet(&path, batch, group_rows, Compression::UNCOMPRESSED);
    path
}

/// The documents of a batch, by way of a Parquet file.
fn documents(batch: &RecordBatch) -> (Vec<String>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, warnings) = load(&parquet(&dir, "a.parquet", batch, 100), FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let texts: Vec<String> = outcome.texts().iter().map(|&text| text.to_owned()).collect();
    for text in &texts {
        serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    (texts, warnings.list().iter().map(ToString::to_string).collect())
}

#[track_caller]
fn check(array: impl Array + 'static, expected: &[&str]) {
    let expected: Vec<String> = expected
        .iter()
        .map(|value| if value.is_empty() { "{}".to_owned() } else { format!("{{\"v\":{value}}}") })
        .collect();
    assert_eq!(documents(&batch(vec![("v", Arc::new(array))])).0, expected);
}

#[test]
fn numbers_are_exact() {
    check(
        Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]),
        &["-9223372036854775808", "", "9223372036854775807"],
    );
    check(UInt64Array::from(vec![u64::MAX]), &["18446744073709551615"]);
    check(Int8Array::from(vec![-128]), &["-128"]);
    check(Float32Array::from(vec![0.1, 5.0, 1e20, -0.0]), &["0.1", "5.0", "1e+20", "-0.0"]);
    check(Float64Array::from(vec![0.1, 1e300, 123_456_789.123_456_78]), &["0.1", "1e+300", "123456789.12345678"]);
    check(PrimitiveArray::<Float16Type>::from_iter_values([half::f16::from_f32(1.5)]), &["1.5"]);
    check(BooleanArray::from(vec![Some(true), None, Some(false)]), &["true", "", "false"]);
    check(Decimal128Array::from(vec![12_345, -5]).with_precision_and_scale(20, 2).unwrap(), &["123.45", "-0.05"]);
    let large = "-98765432109876543210987654321098765432109876543210";
    check(
        Decimal256Array::from(vec![i256::from_string(large).unwrap()]).with_precision_and_scale(60, 10).unwrap(),
        &["-9876543210987654321098765432109876543210.9876543210"],
    );
}

#[test]
fn times_are_iso_8601() {
    check(
        TimestampMillisecondArray::from(vec![1_706_695_200_123]).with_timezone("UTC"),
        &["\"2024-01-31T10:00:00.123Z\""],
    );
    check(TimestampMicrosecondArray::from(vec![1_706_695_200_000_000]), &["\"2024-01-31T10:00:00\""]);
    check(
        TimestampNanosecondArray::from(vec![1]).with_timezone("+02:00"),
        &["\"1970-01-01T02:00:00.000000001+02:00\""],
    );
    check(Date32Array::from(vec![19_753, -1]), &["\"2024-01-31\"", "\"1969-12-31\""]);
    check(Time64NanosecondArray::from(vec![3_600_000_000_001]), &["\"01:00:00.000000001\""]);
    check(Time32SecondArray::from(vec![86_399]), &["\"23:59:59\""]);
    check(DurationMillisecondArray::from(vec![90_500]), &["\"PT90.500S\""]);
}

#[test]
fn text_and_binary() {
    check(StringArray::from(vec!["a\"\n\u{1}é𝄞"]), &["\"a\\\"\\n\\u0001é𝄞\""]);
    check(LargeStringArray::from(vec![Some(""), None]), &["\"\"", ""]);
    check(
        StringViewArray::from(vec!["short", "longer than twelve bytes"]),
        &["\"short\"", "\"longer than twelve bytes\""],
    );
    check(BinaryArray::from(vec![&b"\x00\xFF"[..], b"", b"abc"]), &["\"AP8=\"", "\"\"", "\"YWJj\""]);
    check(BinaryViewArray::from(vec![&b"abcd"[..]]), &["\"abcd\""]);
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.extend([Some("x"), None, Some("y"), Some("x")]);
    check(dictionary.finish(), &["\"x\"", "", "\"y\"", "\"x\""]);
}

#[test]
fn a_uuid_is_written_as_people_do() {
    let bytes: Vec<u8> = (0..16).map(|i| i * 17).collect();
    let array = FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).unwrap();
    let field = Field::new("v", DataType::FixedSizeBinary(16), true)
        .with_metadata(std::collections::HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]));
    let uuid = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(array.clone())]).unwrap();
    assert_eq!(documents(&uuid).0, ["{\"v\":\"00112233-4455-6677-8899-aabbccddeeff\"}"]);
    check(array, &["\"ABEiM0RVZneImaq7zN3u/w==\""]);
}

#[test]
fn nested_values_keep_their_shape_without_null_fields() {
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), None]);
    list.append_value([]);
    list.append_null();
    check(list.finish(), &["[1,null]", "[]", ""]);

    let mut fixed = FixedSizeListBuilder::new(Int64Builder::new(), 2);
    for i in 0..3 {
        fixed.values().append_value(i);
        fixed.values().append_value(-i);
        fixed.append(true);
    }
    check(fixed.finish().slice(1, 2), &["[1,-1]", "[2,-2]"]);

    let fields: Fields = vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)].into();
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, None]));
    let structs = StructArray::new(fields, vec![a, b], Some(vec![true, true, false].into()));
    check(structs, &[r#"{"a":1,"b":"x"}"#, "{}", ""]);

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k\"");
    map.values().append_value(7);
    map.keys().append_value("gone");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    check(map.finish(), &[r#"{"k\"":7}"#, ""]);

    let mut numbered = MapBuilder::new(None, Int32Builder::new(), Int32Builder::new());
    numbered.keys().append_value(5);
    numbered.values().append_value(6);
    numbered.append(true).unwrap();
    check(numbered.finish(), &[r#"{"5":6}"#]);
}

#[test]
fn numbers_that_json_does_not_have_are_left_out_and_counted() {
    let floats = Float64Array::from(vec![Some(f64::NAN), Some(f64::INFINITY), None, Some(1.5)]);
    let mut list = ListBuilder::new(arrow_array::builder::Float32Builder::new());
    for _ in 0..4 {
        list.append_value([Some(f32::NEG_INFINITY), Some(2.0)]);
    }
    let (texts, warnings) = documents(&batch(vec![("a", Arc::new(floats)), ("b", Arc::new(list.finish()))]));
    assert_eq!(texts[0], "{\"b\":[null,2.0]}");
    assert_eq!(texts[3], "{\"a\":1.5,\"b\":[null,2.0]}");
    assert!(warnings[0].contains("column a: NaN or infinity") && warnings[0].contains("(2 times)"), "{warnings:?}");
    assert!(warnings[1].contains("column b") && warnings[1].contains("(4 times)"), "{warnings:?}");
}

#[test]
fn columns_of_the_same_name_get_numbers() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("a", DataType::Int32, true)]);
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let twice = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(&column), column]).unwrap();
    let (texts, warnings) = documents(&twice);
    assert_eq!(texts, ["{\"a\":1,\"a_2\":1}"]);
    assert!(warnings[0].contains("more than once"), "{warnings:?}");
}

#[test]
fn every_compression_and_any_chunk_give_the_same_documents_with_their_rows() {
    let dir = tempfile::tempdir().unwrap();
    let rows = numbers(5000);
    for (name, compression) in [
        ("none", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(Default::default())),
        ("brotli", Compression::BROTLI(Default::default())),
        ("lz4", Compression::LZ4),
        ("lz4_raw", Compression::LZ4_RAW),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
    ] {
        // Told by its contents, under a name that promises nothing.
        let path = dir.path().join(name);
        write_parquet(&path, &rows, 1700, compression);
        for bytes in [1, 1000, 1 << 20] {
            let (outcome, _) = load(&path, FormatOptions::default(), bytes);
            assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
            assert_eq!(outcome.texts(), numbers_expected(5000), "{name}");
            assert_eq!(outcome.bytes_read, path.metadata().unwrap().len(), "{name}");
            assert!(outcome.largest <= bytes.max(200) * 2, "{name}: {} for {bytes}", outcome.largest);
            for (i, record) in outcome.records.iter().enumerate() {
                assert_eq!((record.at.doc, record.at.line, record.at.byte), (i as u64, i as u64 + 1, 0));
            }
        }
    }
}

#[test]
fn a_row_that_is_too_large_is_a_reject_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let text = StringArray::from(vec!["a".to_owned(), "b".repeat(5000), "c".to_owned()]);
    let path = parquet(&dir, "a.parquet", &batch(vec![("t", Arc::new(text))]), 100);
    let options = FormatOptions { document_bytes_max: 100, ..FormatOptions::default() };
    let (outcome, _) = load(&path, options, 1 << 20);
    assert_eq!(outcome.records.iter().map(|r| r.kind()).collect::<Vec<_>>(), ["", "too_large", ""]);
    assert_eq!(outcome.records[1].data.len(), 1024);
    assert_eq!(outcome.records[2].text(), "{\"t\":\"c\"}");
}

#[test]
fn records_are_not_looked_for_where_rows_are_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet(&dir, "a", &numbers(3), 100);
    let options = FormatOptions { records: "a.b".parse().ok(), ..FormatOptions::default() };
    let error = load(&path, options, 100).0.error.unwrap();
    assert!(error.message.contains("option `records` is for JSON, and the format is parquet"), "{error}");
}

#[test]
fn a_file_without_rows_or_columns_is_read_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet(&dir, "a.parquet", &numbers(0), 100);
    let (outcome, _) = load(&path, FormatOptions::default(), 100);
    assert!(outcome.error.is_none() && outcome.records.is_empty());
    assert_eq!(outcome.bytes_read, path.metadata().unwrap().len());
}

#[test]
fn a_damaged_row_group_is_named_after_what_is_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let rows = numbers(3000);
    let path = parquet(&dir, "a.parquet", &rows, 1000);
    let mut data = std::fs::read(&path).unwrap();
    // Wherever the damage is, the groups before it are whole.
    let middle = data.len() / 2;
    data[middle - 2000..middle + 2000].fill(0xFF);
    let damaged = write(&dir, "damaged.parquet", &data);
    let (outcome, _) = load(&damaged, FormatOptions::default(), 1 << 20);
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("damaged.parquet: row group 2 of 3 cannot be read any further"), "{error}");
    assert!(outcome.records.len() >= 1000 && outcome.records.len() < 2000);
    let read: Vec<_> = outcome.records.iter().map(|r| r.text()).collect();
    assert_eq!(read, numbers_expected(3000)[..read.len()]);
}

#[test]
fn what_cannot_be_parquet_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet(&dir, "a.parquet", &numbers(100), 100);
    let data = std::fs::read(&path).unwrap();
    for (name, data, expected) in [
        ("cut.parquet", data[..data.len() / 2].to_vec(), "is the file complete"),
        ("empty.parquet", Vec::new(), "is the file complete"),
        ("packed.parquet", compress("gzip", &data), "must be an uncompressed file and not a pipe"),
    ] {
        let (outcome, _) = load(&write(&dir, name, &data), FormatOptions::default(), 100);
        let error = outcome.error.unwrap().to_string();
        assert!(error.contains(name) && error.contains(expected), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics_and_leaves_whole_rows(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.parquet");
        write_parquet(&path, &numbers(200), 50, Compression::SNAPPY);
        let mut data = std::fs::read(&path).unwrap();
        let at = at.index(data.len());
        data[at] ^= byte | 1;
        if cut {
            data.truncate(at);
        }
        std::fs::write(&path, &data).unwrap();
        let (outcome, _) = load(&path, FormatOptions::default(), 1000);
        prop_assert!(!cut || outcome.error.is_some());
        for record in &outcome.records {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&record.data).is_ok());
        }
    }
}

#[test]
fn green_taxi_trips() {
    let Some(path) = shared("parquet/green_tripdata_2024-01.parquet") else { return };
    let (outcome, warnings) = load(&path, FormatOptions::default(), 512 << 10);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.len(), 56_551);
    assert!(outcome.records.iter().all(|record| record.reject.is_none()));
    let first: serde_json::Value = serde_json::from_slice(&outcome.records[0].data).unwrap();
    assert_eq!(first["lpep_pickup_datetime"], "2024-01-01T00:46:55");
    assert_eq!(first["VendorID"], 2);
    assert!(warnings.list().is_empty(), "{:?}", warnings.list());
}

#[test]
fn files_of_other_formats_may_be_given_together() {
    let dir = tempfile::tempdir().unwrap();
    let specs = [
        SourceSpec::new(parquet(&dir, "a.parquet", &numbers(2), 100)),
        SourceSpec::new(write(&dir, "b.ndjson", b"{}\n")),
    ];
    let mut source = open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
    let total = source.describe().bytes_total.unwrap();
    let outcome = drain(&mut source, 1 << 20);
    assert_eq!(outcome.records.len(), 3);
    assert_eq!(outcome.bytes_read, total);
}

fn ipc_file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    for start in (0..batch.num_rows()).step_by(1000) {
        writer.write(&batch.slice(start, 1000.min(batch.num_rows() - start))).unwrap();
    }
    writer.into_inner().unwrap()
}

fn ipc_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn arrow_files_and_streams_are_told_by_their_contents() {
    let dir = tempfile::tempdir().unwrap();
    let rows = numbers(2500);
    for (name, data) in [
        ("file", ipc_file(&rows, None)),
        ("lz4", ipc_file(&rows, Some(CompressionType::LZ4_FRAME))),
        ("zstd", ipc_file(&rows, Some(CompressionType::ZSTD))),
        ("stream", ipc_stream(&rows)),
        ("packed", compress("gzip", &ipc_stream(&rows))),
        ("packed file", compress("zstd", &ipc_file(&rows, None))),
    ] {
        let path = write(&dir, name, &data);
        for bytes in [1000, 1 << 20] {
            let (outcome, _) = load(&path, FormatOptions::default(), bytes);
            assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
            assert_eq!(outcome.texts(), numbers_expected(2500), "{name}");
            assert_eq!(outcome.bytes_read, data.len() as u64, "{name}");
            assert_eq!(outcome.records[2000].at.line, 2001);
        }
    }
}

#[test]
fn dictionaries_of_arrow_are_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.extend([Some("x"), None, Some("y")]);
    let path = write(&dir, "a.arrow", &ipc_file(&batch(vec![("d", Arc::new(dictionary.finish()))]), None));
    assert_eq!(load(&path, FormatOptions::default(), 100).0.texts(), ["{\"d\":\"x\"}", "{}", "{\"d\":\"y\"}"]);
}

#[test]
fn an_arrow_file_that_is_cut_off_delivers_its_whole_batches() {
    let dir = tempfile::tempdir().unwrap();
    let data = ipc_file(&numbers(3000), None);
    for (cut, rows) in [(data.len() - 1, 3000), (data.len() * 4 / 5, 2000), (data.len() / 2, 1000), (20, 0)] {
        let (outcome, _) = load(&write(&dir, "cut.arrow", &data[..cut]), FormatOptions::default(), 1 << 20);
        let error = outcome.error.as_ref().unwrap().to_string();
        assert!(error.contains("cut.arrow: "), "{error}");
        assert!(outcome.texts() == numbers_expected(3000)[..rows], "{} rows: {error}", outcome.records.len());
    }
}

#[test]
fn folders_of_a_partitioned_table_are_fields() {
    let dir = tempfile::tempdir().unwrap();
    for (folder, rows) in [("year=2024/c=FR", 1), ("year=2023/c=007", 2)] {
        let folder = dir.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        write_parquet(&folder.join("part-0.parquet"), &numbers(rows), 100, Compression::SNAPPY);
        std::fs::write(folder.join(".part-0.parquet.crc"), "x").unwrap();
    }
    std::fs::write(dir.path().join("_SUCCESS"), "").unwrap();
    let expected = [
        r#"{"i":0,"t":"row \"0\"","year":2023,"c":"007"}"#,
        r#"{"i":1,"t":"row \"1\"","year":2023,"c":"007"}"#,
        r#"{"i":0,"t":"row \"0\"","year":2024,"c":"FR"}"#,
    ];
    for path in [dir.path().to_owned(), dir.path().join("**/*.parquet")] {
        let (outcome, _) = load(&path, FormatOptions::default(), 1 << 20);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.texts(), expected);
        assert_eq!(
            outcome.records.iter().map(|r| (r.at.source.0, r.at.doc)).collect::<Vec<_>>(),
            [(0, 0), (0, 1), (1, 0)]
        );
    }
    let options = FormatOptions { hive_partitions: false, ..FormatOptions::default() };
    assert_eq!(load(dir.path(), options, 1 << 20).0.texts()[2], r#"{"i":0,"t":"row \"0\""}"#);
}

/// An Avro file with blocks of 1000 rows.
fn avro_file(batch: &RecordBatch, codec: Option<CompressionCodec>) -> Vec<u8> {
    let builder = WriterBuilder::new(batch.schema().as_ref().clone()).with_compression(codec);
    let mut writer = builder.build::<_, AvroOcfFormat>(Vec::new()).unwrap();
    for start in (0..batch.num_rows()).step_by(1000) {
        writer.write(&batch.slice(start, 1000.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner()
}

#[test]
fn avro_files_of_every_codec() {
    let dir = tempfile::tempdir().unwrap();
    let rows = numbers(2500);
    for codec in [
        None,
        Some(CompressionCodec::Deflate),
        Some(CompressionCodec::Snappy),
        Some(CompressionCodec::ZStandard),
        Some(CompressionCodec::Bzip2),
        Some(CompressionCodec::Xz),
    ] {
        let data = avro_file(&rows, codec);
        // Told by its contents, also inside of another compression.
        for data in [compress("gzip", &data), data] {
            let path = write(&dir, "a", &data);
            for bytes in [1000, 1 << 20] {
                let (outcome, _) = load(&path, FormatOptions::default(), bytes);
                assert!(outcome.error.is_none(), "{codec:?}: {:?}", outcome.error);
                assert_eq!(outcome.texts(), numbers_expected(2500), "{codec:?}");
                assert_eq!(outcome.bytes_read, data.len() as u64, "{codec:?}");
            }
        }
    }
}

#[test]
fn an_avro_file_that_is_cut_off_or_damaged_stops_after_what_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let data = avro_file(&numbers(3000), None);
    for cut in [data.len() - 1, data.len() - 17, data.len() * 4 / 5, data.len() / 2, 20] {
        let (outcome, _) = load(&write(&dir, "cut.avro", &data[..cut]), FormatOptions::default(), 1 << 20);
        let error = outcome.error.as_ref().unwrap().to_string();
        assert!(error.contains("cut.avro: "), "{error}");
        let rows = outcome.records.len();
        // Whole blocks, but for the last batch of an unfinished one.
        assert!(rows >= (cut * 3 / data.len()).min(2) * 1000, "{rows} rows of {cut} bytes: {error}");
        assert_eq!(outcome.texts(), numbers_expected(3000)[..rows]);
    }
}

#[test]
fn streams_of_arrow_before_0_15_are_known_without_an_ending() {
    let dir = tempfile::tempdir().unwrap();
    let batch = numbers(100);
    let old = IpcWriteOptions::try_new(8, true, arrow_ipc::MetadataVersion::V4).unwrap();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), old).unwrap();
    writer.write(&batch).unwrap();
    let path = write(&dir, "old", &writer.into_inner().unwrap());
    let (outcome, _) = load(&path, FormatOptions::default(), 1000);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.texts(), numbers_expected(100));
}

#[test]
fn a_parquet_file_that_is_changed_while_it_is_read_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet(&dir, "a.parquet", &numbers(20_000), 1000);
    let mut source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    assert!(source.next_chunk(1000).unwrap().is_some());
    // The same rows once more: nothing but the time tells it.
    let again = std::fs::read(&path).unwrap();
    std::fs::write(&path, again).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let error = drain(&mut source, 100_000).error.unwrap();
    assert!(error.message.contains("changed while it was read"), "{error}");
}
