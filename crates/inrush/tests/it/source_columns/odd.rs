//! Files whose writers were wrong about them, and types that a reader has to be asked for.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_ipc::CompressionType;
use inrush_sources::{Format, FormatOptions};
use parquet::basic::Compression;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{batch, ipc_file, numbers, numbers_expected, write_parquet};
use crate::source_support::{load, write};

/// Writes a Parquet file whose footer says something else.
fn with_footer(path: &Path, change: impl Fn(&ParquetMetaData) -> ParquetMetaData) {
    let data = std::fs::read(path).unwrap();
    let footer = ParquetMetaDataReader::new().parse_and_finish(&std::fs::File::open(path).unwrap()).unwrap();
    let tail = data.len() - 8;
    let len = u32::from_le_bytes(data[tail..tail + 4].try_into().unwrap()) as usize;
    let mut data = data[..tail - len].to_vec();
    // The writer takes the places of what it writes from the beginning of the file.
    let changed = change(&footer);
    let mut end = Vec::new();
    ParquetMetaDataWriter::new(&mut end, &changed).finish().unwrap();
    data.extend(end);
    std::fs::write(path, data).unwrap();
}

fn file_metadata(footer: &ParquetMetaData, rows: i64, created_by: &str) -> FileMetaData {
    let schema = footer.file_metadata().schema_descr_ptr();
    FileMetaData::new(1, rows, Some(created_by.to_owned()), None, schema, None)
}

/// The same groups with other columns.
fn with_columns(
    footer: &ParquetMetaData,
    rows: Option<i64>,
    change: impl Fn(&ColumnChunkMetaData) -> ColumnChunkMetaData,
) -> Vec<RowGroupMetaData> {
    let group = |group: &RowGroupMetaData| {
        let columns = group.columns().iter().map(&change).collect();
        let rows = rows.unwrap_or_else(|| group.num_rows());
        group.clone().into_builder().set_num_rows(rows).set_column_metadata(columns).build().unwrap()
    };
    footer.row_groups().iter().map(group).collect()
}

fn texts(path: &Path) -> Vec<String> {
    let (outcome, _) = load(path, FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.texts().iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn rows_count_that_are_there_and_not_what_the_footer_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    for said in [0, 1] {
        write_parquet(&path, &numbers(6), 4, Compression::SNAPPY);
        with_footer(&path, |footer| {
            let groups = footer.row_groups().to_vec();
            ParquetMetaDataBuilder::new(file_metadata(footer, said, "x")).set_row_groups(groups).build()
        });
        assert_eq!(texts(&path), numbers_expected(6));
    }
    // The groups say none, either.
    write_parquet(&path, &numbers(6), 4, Compression::SNAPPY);
    with_footer(&path, |footer| {
        let groups = with_columns(footer, Some(0), Clone::clone);
        ParquetMetaDataBuilder::new(file_metadata(footer, 0, "x")).set_row_groups(groups).build()
    });
    assert_eq!(texts(&path), numbers_expected(6));
    // And more than there are is no end of the file.
    write_parquet(&path, &numbers(6), 4, Compression::SNAPPY);
    with_footer(&path, |footer| {
        let groups = with_columns(footer, Some(9), Clone::clone);
        ParquetMetaDataBuilder::new(file_metadata(footer, 18, "x")).set_row_groups(groups).build()
    });
    let (outcome, _) = load(&path, FormatOptions::default(), 1 << 20);
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("row group 1 of 2 cannot be read any further"), "{error}");
}

#[test]
fn a_group_without_rows_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    write_parquet(&path, &numbers(4), 4, Compression::SNAPPY);
    with_footer(&path, |footer| {
        let empty = with_columns(footer, Some(0), |column| {
            let builder = column.clone().into_builder().set_num_values(0).set_dictionary_page_offset(None);
            builder.set_data_page_offset(0).set_total_compressed_size(0).build().unwrap()
        });
        let groups = [empty, footer.row_groups().to_vec()].concat();
        ParquetMetaDataBuilder::new(file_metadata(footer, 4, "x")).set_row_groups(groups).build()
    });
    assert_eq!(texts(&path), numbers_expected(4));
}

#[test]
fn a_dictionary_at_place_0_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let rows = numbers(4);
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    with_footer(&path, |footer| {
        let groups = with_columns(footer, None, |column| {
            column.clone().into_builder().set_dictionary_page_offset(Some(0)).build().unwrap()
        });
        ParquetMetaDataBuilder::new(file_metadata(footer, 4, "x")).set_row_groups(groups).build()
    });
    assert_eq!(texts(&path), numbers_expected(4));
}

#[test]
fn columns_of_old_parquet_mr_are_longer_than_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let text: StringArray = (0..100).map(|i| Some(["FRANCE", "PERU"][i % 2])).collect();
    let rows = batch(vec![("n", Arc::new(text) as ArrayRef), ("i", Arc::new(Int64Array::from_iter_values(0..100)))]);
    write_parquet(&path, &rows, 40, Compression::UNCOMPRESSED);
    let expected = texts(&path);
    with_footer(&path, |footer| {
        let groups = with_columns(footer, None, |column| {
            // About the header of the dictionary's page.
            let len = column.compressed_size() - 14;
            column.clone().into_builder().set_total_compressed_size(len).build().unwrap()
        });
        ParquetMetaDataBuilder::new(file_metadata(footer, 100, "parquet-mr version 1.2.8"))
            .set_row_groups(groups)
            .build()
    });
    assert_eq!(texts(&path), expected);
}

/// Days since 1970 and nanoseconds of the day.
fn int96(days: i64, nanos: u64) -> Int96 {
    let julian = u32::try_from(days + 2_440_588).unwrap();
    Int96::from(vec![nanos as u32, (nanos >> 32) as u32, julian])
}

/// One row group of these times.
fn write_int96(path: &Path, values: &[Int96], key: Option<&str>) {
    write_int96_groups(path, &[values], key);
}

fn write_int96_groups(path: &Path, groups: &[&[Int96]], key: Option<&str>) {
    let schema = parse_message_type(
        "message m { required int96 t; required group l (LIST) { repeated group list { required int96 element; } } }",
    );
    let keys = key.map(|key| vec![KeyValue::new(key.to_owned(), "3.5.0".to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(keys).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema.unwrap()), Arc::new(properties)).unwrap();
    for values in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels = vec![1; values.len()];
        column.typed::<Int96Type>().write_batch(values, Some(&levels), Some(&vec![0; values.len()])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn timestamps_of_96_bits_reach_beyond_what_nanoseconds_can() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let hour = 3_600_000_000_000;
    let times = |path: &Path| {
        let (outcome, warnings) = load(path, FormatOptions::default(), 1 << 20);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let documents =
            outcome.texts().into_iter().map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        let times: Vec<String> = documents.map(|document| document["t"].as_str().unwrap().to_owned()).collect();
        (times, warnings.list().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    // Within reach: all nine digits.
    write_int96(&path, &[int96(0, 1), int96(19_753, 10 * hour)], None);
    let (found, warnings) = times(&path);
    assert_eq!(found, ["1970-01-01T00:00:00.000000001", "2024-01-31T10:00:00"]);
    assert!(warnings.is_empty(), "{warnings:?}");
    // 9999-12-31 and the year 1.
    write_int96(&path, &[int96(2_932_896, 3 * hour), int96(-719_162, 0), int96(19_753, 10 * hour + 123_000)], None);
    let (found, warnings) = times(&path);
    assert_eq!(found, ["9999-12-31T03:00:00", "0001-01-01T00:00:00", "2024-01-31T10:00:00.000123"]);
    assert!(warnings[0].contains("are read by the microsecond"), "{warnings:?}");
    // Spark has no nanoseconds that could be lost.
    write_int96(&path, &[int96(2_932_896, 0)], Some("org.apache.spark.version"));
    assert_eq!(times(&path), (vec!["9999-12-31T00:00:00".to_owned()], Vec::new()));
    // Beyond microseconds.
    write_int96(&path, &[int96(200_000_000, hour)], None);
    assert_eq!(times(&path).0, ["+549551-05-28T01:00:00"]);
}

#[test]
fn timestamps_of_96_bits_that_cannot_all_be_looked_at_are_no_other_dates() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    write_int96_groups(&path, &[&[int96(2_932_896, 0)], &[int96(0, 1)]], None);
    // The second group's first page says nothing that could be read.
    let footer = ParquetMetaDataReader::new().parse_and_finish(&std::fs::File::open(&path).unwrap()).unwrap();
    let (start, len) = footer.row_group(1).column(0).byte_range();
    let mut data = std::fs::read(&path).unwrap();
    data[start as usize..(start + len) as usize].fill(0xff);
    std::fs::write(&path, data).unwrap();
    let (outcome, _) = load(&path, FormatOptions::default(), 1 << 20);
    assert!(outcome.records.is_empty(), "{:?}", outcome.texts());
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("its 96-bit timestamps") && error.contains("row group 2 of 2"), "{error}");
}

/// A stream of Arrow that is one message with this body.
fn schema_message(endianness: arrow_ipc::Endianness) -> Vec<u8> {
    let mut buffer = flatbuffers::FlatBufferBuilder::new();
    let fields = buffer.create_vector::<flatbuffers::WIPOffset<arrow_ipc::Field<'_>>>(&[]);
    let mut schema = arrow_ipc::SchemaBuilder::new(&mut buffer);
    schema.add_endianness(endianness);
    schema.add_fields(fields);
    let schema = schema.finish();
    let mut message = arrow_ipc::MessageBuilder::new(&mut buffer);
    message.add_version(arrow_ipc::MetadataVersion::V5);
    message.add_header_type(arrow_ipc::MessageHeader::Schema);
    message.add_header(schema.as_union_value());
    let message = message.finish();
    buffer.finish(message, None);
    let message = buffer.finished_data();
    [&[0xFF; 4], &(message.len() as u32).to_le_bytes()[..], message].concat()
}

#[test]
fn big_endian_arrow_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = FormatOptions { format: Some(Format::Arrow), ..FormatOptions::default() };
    let path = write(&dir, "big.arrows", &schema_message(arrow_ipc::Endianness::Big));
    let error = load(&path, options.clone(), 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("its numbers are big-endian, which is not supported"), "{error}");
    let path = write(&dir, "little.arrows", &schema_message(arrow_ipc::Endianness::Little));
    assert!(load(&path, options, 1 << 20).0.error.is_none());
}

#[test]
fn lengths_that_cannot_be_are_refused_before_memory_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let options = FormatOptions { format: Some(Format::Arrow), ..FormatOptions::default() };
    let text = write(&dir, "a.arrow", b"# A text that is no Arrow stream\n");
    let error = load(&text, options.clone(), 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("a message has 541138979 bytes, and the file ends after"), "{error}");
    // A compressed buffer that says 2^46 bytes.
    let numbers = Int64Array::from_iter_values((0..5000).map(|i| i % 7));
    let mut data = ipc_file(&batch(vec![("n", Arc::new(numbers))]), Some(CompressionType::ZSTD));
    let said = 8000_i64.to_le_bytes();
    let at = data.windows(8).position(|bytes| bytes == said).unwrap();
    data[at..at + 8].copy_from_slice(&(1_i64 << 46).to_le_bytes());
    let error = load(&write(&dir, "b.arrow", &data), options, 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("says that it unpacks to 70368744177664"), "{error}");
}

#[test]
fn compression_before_the_standard_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut buffer = flatbuffers::FlatBufferBuilder::new();
    let (key, value) = (buffer.create_string("ARROW:experimental_compression"), buffer.create_string("lz4"));
    let mut entry = arrow_ipc::KeyValueBuilder::new(&mut buffer);
    entry.add_key(key);
    entry.add_value(value);
    let entry = entry.finish();
    let entries = buffer.create_vector(&[entry]);
    let batch = arrow_ipc::RecordBatchBuilder::new(&mut buffer).finish();
    let mut message = arrow_ipc::MessageBuilder::new(&mut buffer);
    message.add_header_type(arrow_ipc::MessageHeader::RecordBatch);
    message.add_header(batch.as_union_value());
    message.add_custom_metadata(entries);
    let message = message.finish();
    buffer.finish(message, None);
    let message = buffer.finished_data();
    let schema = schema_message(arrow_ipc::Endianness::Little);
    let data = [&schema[..], &[0xFF; 4], &(message.len() as u32).to_le_bytes(), message].concat();
    let options = FormatOptions { format: Some(Format::Arrow), ..FormatOptions::default() };
    let error = load(&write(&dir, "old.arrows", &data), options, 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("compressed as Arrow 0.17 did"), "{error}");
}

/// A long of Avro.
fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while rest > 127 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// An Avro file with one block.
fn avro(schema: &str, rows: i64, data: &[u8]) -> Vec<u8> {
    let text = |text: &str| [long(text.len() as i64), text.as_bytes().to_vec()].concat();
    let sync = [7; 16];
    let header = [b"Obj\x01".to_vec(), long(2), text("avro.schema"), text(schema), text("avro.codec"), text("null")];
    let block = [long(0), sync.to_vec(), long(rows), long(data.len() as i64), data.to_vec(), sync.to_vec()];
    [header.concat(), block.concat()].concat()
}

#[test]
fn schemas_of_avro_without_rows_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let list = r#"{"type":"record","name":"Node","fields":[{"name":"v","type":"long"},{"name":"next","type":["null","Node"]}]}"#;
    let empty = r#"{"type":"record","name":"r","fields":[{"name":"v","type":"null"}]}"#;
    for (schema, expected) in [
        (empty, "its rows have no values"),
        ("\"long\"", "its schema is of type long and has no fields; a record is expected at the top"),
        (r#"{"type":"map","values":"long"}"#, "its schema is of type map and has no fields"),
        (list, "record Node contains itself, in field next"),
    ] {
        let (outcome, _) = load(&write(&dir, "a.avro", &avro(schema, 1, &long(5))), FormatOptions::default(), 1 << 20);
        let error = outcome.error.unwrap().to_string();
        assert!(error.contains(expected) && !error.contains('{'), "{error}");
    }
}

#[test]
fn types_of_avro_are_found_by_names_with_dots() {
    let dir = tempfile::tempdir().unwrap();
    let schema = r#"{"type":"record","name":"a.b.R","fields":[{"name":"x","type":{"type":"enum","name":"e","symbols":["A","B"]}},{"name":"y","type":"a.b.e"}]}"#;
    let data = [long(1), long(0), long(0), long(1)].concat();
    assert_eq!(
        texts(&write(&dir, "a.avro", &avro(schema, 2, &data))),
        [r#"{"x":"B","y":"A"}"#, r#"{"x":"A","y":"B"}"#]
    );
}

#[test]
fn uuids_of_avro_are_text_however_they_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..16).map(|i| i * 17).collect();
    let uuid = r#"{"type":"fixed","size":16,"name":"U","logicalType":"uuid"}"#;
    let schema = format!(
        r#"{{"type":"record","name":"r","fields":[{{"name":"u","type":{uuid}}},{{"name":"o","type":["null","U"]}},{{"name":"l","type":{{"type":"array","items":"U"}}}},
        {{"name":"f","type":{{"type":"fixed","size":16,"name":"F"}}}}]}}"#
    );
    let row = [bytes.clone(), long(1), bytes.clone(), long(1), bytes.clone(), long(0), bytes].concat();
    let text = "\"00112233-4455-6677-8899-aabbccddeeff\"";
    assert_eq!(
        texts(&write(&dir, "a.avro", &avro(&schema, 1, &row))),
        [format!(r#"{{"u":{text},"o":{text},"l":[{text}],"f":"ABEiM0RVZneImaq7zN3u/w=="}}"#)]
    );
}
