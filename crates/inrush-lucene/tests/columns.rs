//! Values in columns make the same files as the text of their documents, byte for byte.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, StructArray, Time32SecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use inrush_core::block::Origin;
use inrush_core::{Columns, DocBlock, SourceId};
use inrush_formats::buffer::BufferPool;
use inrush_formats::columns::{RowWriter, Rows};
use inrush_formats::csv::CsvOptions;
use inrush_formats::format::{FormatOptions, Timestamps};
use inrush_formats::input::Input;
use inrush_formats::raw::Raw;
use inrush_formats::reading::Reading;
use inrush_formats::{Chunk, Warnings};
use inrush_lucene::{
    AddError, DocumentId, Keep, KnownProduct, LiveMapping, MadeIds, Mapping, NewDocument, ServerVersion, Shard,
    ShardOptions,
};
use serde_json::{Map, Value, json};

const TARGETS: [ServerVersion; 3] = [
    ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] },
    ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 21], lucene: [9, 12, 2] },
    ServerVersion { product: KnownProduct::Elasticsearch, version: [9, 1, 5], lucene: [10, 2, 2] },
];

/// Numbers below a bound that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }

    /// Values, of which some are absent in some columns.
    fn some<T>(&mut self, rows: usize, mut value: impl FnMut(&mut Self) -> T) -> Vec<Option<T>> {
        let absent = self.one_of(&[0, 0, 1, 5]);
        (0..rows).map(|_| (self.roll(10) >= absent).then(|| value(self))).collect()
    }

    fn whole(&mut self) -> i64 {
        let most = self.one_of(&[200, 200, 40_000, 3_000_000_000, i64::MAX]);
        let sign = self.one_of(&[1, 1, 1, -1]);
        (self.roll(1 << 30) as i64).wrapping_mul(0x09e3_779b_97f4_a7c1).unsigned_abs() as i64 % most * sign
    }

    fn double(&mut self) -> f64 {
        match self.roll(20) {
            0 => self.one_of(&[0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1e308, -1e-300, 0.1]),
            1..5 => self.roll(300) as f64 - 100.0,
            5..10 => self.roll(100_000) as f64 / 100.0,
            _ => f64::from_bits((self.roll(1 << 30) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2),
        }
    }

    /// A moment, counted in parts of a second: `per_second` of them.
    fn moment(&mut self, per_second: i64) -> i64 {
        let seconds = match self.roll(30) {
            0 => self.one_of(&[
                -62_135_596_800,
                253_402_300_799,
                -70_000_000_000,
                300_000_000_000,
                i64::MAX / per_second,
            ]),
            1..4 => -(self.roll(1 << 31) as i64),
            _ => self.roll(1 << 31) as i64,
        };
        let rest = if self.roll(3) == 0 { 0 } else { self.roll(1 << 30) as i64 % per_second };
        seconds.saturating_mul(per_second).saturating_add(rest)
    }

    fn text(&mut self) -> String {
        match self.roll(30) {
            0 => String::new(),
            1 => self.whole().to_string(),
            2 => format!("10.{}.0.1", self.roll(256)),
            3 => "2024-02-29T01:02:03.5Z".to_owned(),
            4 => self.one_of(&["true", "false", "{\"a\":1}", "[1]", "null", "43.5,-1.7", "ez0"]).to_owned(),
            5 => "Quotes \" and \\ and\nlines, l’été 東京".to_owned(),
            6 => "long ".repeat(self.roll(30)),
            7 => "x".repeat(self.one_of(&[8190, 8192, 32_766, 32_767])),
            _ => format!("{} word{}", self.one_of(&["One", "two", "drei"]), self.roll(40)),
        }
    }

    fn texts(&mut self, rows: usize) -> Vec<Option<String>> {
        // Of addresses or numbers only, so that such fields take most of them.
        match self.roll(6) {
            0 => self.some(rows, |dice| format!("10.{}.{}.1", dice.roll(256), dice.roll(300))),
            1 => self.some(rows, |dice| dice.whole().to_string()),
            2 | 3 => self.some(rows, |dice| format!("{} word{}", dice.one_of(&["One", "two"]), dice.roll(40))),
            _ => self.some(rows, Self::text),
        }
    }

    fn column(&mut self, rows: usize) -> ArrayRef {
        let zone = self.one_of(&[None, Some("UTC"), Some("+01:30"), Some("-23:00"), Some("Europe/Paris")]);
        match self.roll(24) {
            0 => match self.roll(5) {
                0 => Arc::new(Int8Array::from(self.some(rows, |dice| dice.whole() as i8))),
                1 => Arc::new(UInt8Array::from(self.some(rows, |dice| dice.whole() as u8))),
                2 => Arc::new(UInt16Array::from(self.some(rows, |dice| dice.whole() as u16))),
                3 => Arc::new(UInt32Array::from(self.some(rows, |dice| dice.whole() as u32))),
                _ => Arc::new(Int16Array::from(self.some(rows, |dice| dice.whole() as i16))),
            },
            2 | 20 => Arc::new(StringArray::from(self.texts(rows))),
            1 => Arc::new(Int32Array::from(self.some(rows, |dice| dice.whole() as i32))),
            3 => Arc::new(Int64Array::from(self.some(rows, Self::whole))),
            4 => Arc::new(UInt64Array::from(self.some(rows, |dice| dice.whole() as u64))),
            5 => Arc::new(Float64Array::from(self.some(rows, Self::double))),
            6 => Arc::new(Float32Array::from(self.some(rows, |dice| dice.double() as f32))),
            7 => Arc::new(BooleanArray::from(self.some(rows, |dice| dice.roll(2) == 0))),
            8 => Arc::new(Date32Array::from(self.some(rows, |dice| dice.moment(1) as i32 / 10))),
            9 => Arc::new(Date64Array::from(self.some(rows, |dice| dice.moment(1000)))),
            10 => Arc::new(TimestampSecondArray::from(self.some(rows, |dice| dice.moment(1))).with_timezone_opt(zone)),
            11 => Arc::new(
                TimestampMillisecondArray::from(self.some(rows, |dice| dice.moment(1000))).with_timezone_opt(zone),
            ),
            12 => Arc::new(
                TimestampMicrosecondArray::from(self.some(rows, |dice| dice.moment(1_000_000))).with_timezone_opt(zone),
            ),
            13 => Arc::new(
                TimestampNanosecondArray::from(self.some(rows, |dice| dice.moment(1_000_000_000)))
                    .with_timezone_opt(zone),
            ),
            14 => {
                let mut builder = StringDictionaryBuilder::<Int32Type>::new();
                self.texts(rows).into_iter().for_each(|text| builder.append_option(text));
                Arc::new(builder.finish())
            }
            15 => Arc::new(LargeStringArray::from(self.texts(rows))),
            16 => Arc::new(StringViewArray::from(self.texts(rows))),
            17 => {
                let decimals = self.some(rows, |dice| i128::from(dice.whole()));
                Arc::new(Decimal128Array::from(decimals).with_precision_and_scale(38, 3).unwrap())
            }
            18 => {
                let mut builder = ListBuilder::new(Int32Builder::new());
                for _ in 0..rows {
                    let values = self.roll(4);
                    let values = self.some(values, |dice| dice.whole() as i32);
                    if self.roll(5) == 0 {
                        builder.append_null();
                    } else {
                        builder.append_value(values);
                    }
                }
                Arc::new(builder.finish())
            }
            19 => {
                let a: ArrayRef = Arc::new(Int32Array::from(self.some(rows, |dice| dice.whole() as i32)));
                let b: ArrayRef = Arc::new(StringArray::from(self.texts(rows)));
                let mut lists = ListBuilder::new(StringBuilder::new());
                (0..rows).for_each(|row| lists.append_value([Some("x"), None, Some("y")].into_iter().take(row % 4)));
                let c: ArrayRef = Arc::new(lists.finish());
                let fields = [("a", &a), ("b", &b), ("c", &c)]
                    .map(|(name, array)| Arc::new(Field::new(name, array.data_type().clone(), true)));
                Arc::new(StructArray::new(fields.to_vec().into(), vec![a, b, c], None))
            }
            21 => Arc::new(BinaryArray::from_iter(self.some(rows, Self::text))),
            22 => Arc::new(Time32SecondArray::from(self.some(rows, |dice| dice.roll(86_400) as i32))),
            23 => {
                let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("long word")]));
                let keys = Int32Array::from(self.some(rows, |dice| dice.roll(3) as i32));
                Arc::new(DictionaryArray::new(keys, values))
            }
            _ => unreachable!(),
        }
    }

    /// A field for values of a column, which takes most of them.
    fn field(&mut self, column: &DataType) -> Value {
        if self.roll(30) == 0 {
            return self.any_field();
        }
        match column {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
                match self.roll(8) {
                    0 => json!({"type": "text"}),
                    6 => json!({"type": "text", "index_options": "offsets"}),
                    7 => json!({"type": "text", "analyzer": "keyword", "index_options": "offsets", "fields": {
                        "words": {"type": "text", "index_options": "offsets", "analyzer": "simple"}
                    }}),
                    1 => json!({"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 20}}}),
                    2 => json!({"type": "keyword", "normalizer": "lowercase"}),
                    3 => json!({"type": "text", "analyzer": "keyword"}),
                    4 => json!({"type": "ip", "ignore_malformed": true}),
                    _ => json!({"type": "keyword"}),
                }
            }
            DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => match self.roll(5) {
                0 => json!({"type": "date_nanos"}),
                1 => json!({"type": "date", "format": "strict_date_optional_time_nanos"}),
                2 => json!({"type": "date", "format": "epoch_millis||date_optional_time"}),
                _ => json!({"type": "date"}),
            },
            DataType::Boolean => json!({"type": "boolean"}),
            DataType::Struct(_) => match self.roll(4) {
                0 => json!({"type": "nested", "properties": {"a": {"type": "integer"}}}),
                1 => json!({"enabled": false}),
                _ => json!({"properties": {"a": {"type": "integer"}, "b": {"type": "keyword"}, "c": {"type": "text"}}}),
            },
            _ => {
                let name = self.one_of(&[
                    "long",
                    "long",
                    "integer",
                    "integer",
                    "short",
                    "byte",
                    "double",
                    "float",
                    "half_float",
                    "unsigned_long",
                    "scaled_float",
                    "keyword",
                ]);
                match name {
                    "scaled_float" => json!({"type": name, "scaling_factor": 100}),
                    name => json!({"type": name}),
                }
            }
        }
    }

    fn any_field(&mut self) -> Value {
        match self.roll(17) {
            16 => json!({"type": "text", "index_options": self.one_of(&["docs", "freqs", "offsets"])}),
            8 => {
                json!({"type": self.one_of(&["long", "double", "keyword", "date"]), "index": false, "doc_values": false})
            }
            9 => json!({"type": "text", "index": false}),
            10 => {
                json!({"type": "keyword", "fields": {"off": {"type": "keyword", "index": false, "doc_values": false}}})
            }
            11 => json!({"type": "constant_keyword", "value": "true"}),
            12 => json!({"type": self.one_of(&["flat_object", "flattened"])}),
            13 => json!({"type": "nested", "include_in_parent": true, "properties": {"a": {"type": "integer"}}}),
            14 => json!({"type": "alias", "path": "c0"}),
            15 => json!({"type": "long", "null_value": 7, "coerce": false}),
            0 => json!({"type": "keyword", "store": true}),
            1 => json!({"type": "keyword", "doc_values": false}),
            2 => json!({"type": "text", "norms": false}),
            3 => json!({"type": "long", "ignore_malformed": true}),
            4 => json!({"type": "keyword", "copy_to": "c0"}),
            5 => json!({"type": "binary"}),
            6 => json!({"type": "boolean", "index": false, "doc_values": false}),
            _ => json!({"type": "geo_point"}),
        }
    }
}

struct Built {
    files: BTreeMap<String, Vec<u8>>,
    /// Why documents are refused, by their places.
    refused: BTreeMap<usize, String>,
    new_fields: Option<Value>,
    from_columns: u64,
    /// The places of the documents in the order in which they came.
    order: Vec<usize>,
}

/// Builds an index of a block: from its columns, or from its text in an order.
fn build(way: Result<&Columns, &[usize]>, block: &DocBlock, mapping: &Mapping, seed: u64) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let mapping = LiveMapping::new(mapping.clone());
    let options = ShardOptions {
        folder: folder.path().to_owned(),
        primary_term: 1,
        segment_memory: 8 << 20,
        random: [9; 32],
        keep: Keep::Last,
    };
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    let (mut refused, mut ids, mut dice) = (BTreeMap::new(), MadeIds::new([9; 9], 0), Dice(seed));
    let document = |record: u32| {
        let made = ids.make();
        let id = match dice.roll(8) {
            0 => DocumentId::Given(format!("id {record}").into()),
            1 => DocumentId::Given("x".repeat([1, 512, 513][dice.roll(3)]).into()),
            _ => DocumentId::Made(made),
        };
        let routing = (dice.roll(8) == 0).then(|| format!("r{}", dice.roll(3)).into());
        (record, NewDocument { source: block.record(record as usize), id, routing })
    };
    let rows: Vec<(u32, NewDocument)> = block.accepted().map(document).collect();
    let left = match way {
        Ok(columns) => writer.add_rows(columns, &rows).unwrap(),
        Err(order) => order.to_vec(),
    };
    for at in &left {
        match writer.add(&rows[*at].1) {
            Ok(()) => {}
            Err(AddError::Refused(why)) => drop(refused.insert(*at, why.to_string())),
            Err(AddError::Io(error)) => panic!("{error}"),
        }
    }
    writer.finish().unwrap();
    let from_columns = shard.commit(1, &[]).unwrap().from_columns;
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    let files = std::fs::read_dir(folder.path()).unwrap().map(file).collect();
    let from_columns_first = (0..rows.len()).filter(|at| way.is_ok() && !left.contains(at));
    let order = from_columns_first.chain(left.iter().copied()).collect();
    Built { files, refused, new_fields: mapping.new_fields(), from_columns, order }
}

/// Compares both ways. Returns how many documents there were, and how many came from columns.
fn assert_alike((block, columns): (&DocBlock, &Columns), mapping: &Value, seed: u64) -> (u64, u64) {
    let (mut docs, mut from_columns) = (0, 0);
    for target in TARGETS {
        let Ok(parsed) = Mapping::parse(mapping, target) else { continue };
        let of_columns = build(Ok(columns), block, &parsed, seed);
        let of_text = build(Err(&of_columns.order), block, &parsed, seed);
        let what = format!("seed {seed}, {target:?}, {mapping}");
        assert_eq!(of_columns.refused, of_text.refused, "{what}");
        assert_eq!(of_columns.new_fields, of_text.new_fields, "{what}");
        assert!(of_columns.files.keys().eq(of_text.files.keys()), "{what}");
        for (file, bytes) in &of_text.files {
            assert!(of_columns.files[file] == *bytes, "{file}: {what}");
        }
        assert_eq!(of_text.from_columns, 0);
        docs += block.records.len() as u64;
        from_columns += of_columns.from_columns;
    }
    (docs, from_columns)
}

fn mapping(dice: &mut Dice, columns: &[(String, DataType)]) -> Value {
    let mut properties = Map::new();
    for (name, column) in columns {
        if dice.roll(20) > 0 && !name.contains('.') {
            let field = match dice.roll(30) {
                0 => json!({"type": "join", "relations": {"a": "b"}}),
                _ => dice.field(column),
            };
            properties.insert(name.clone(), field);
        }
    }
    json!({"dynamic": dice.one_of(&["true", "false", "strict", "runtime"]), "properties": properties})
}

/// `INRUSH_SEED` is the first one, and `INRUSH_SEEDS` their number, for longer runs.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let given = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = given("INRUSH_SEED").unwrap_or(0);
    first..first + given("INRUSH_SEEDS").unwrap_or(count)
}

#[test]
fn arrow_columns_make_the_files_of_their_text() {
    let mut sum = (0, 0);
    for seed in seeds(120) {
        let mut dice = Dice(seed);
        let rows = dice.one_of(&[1, 60, 400]);
        let arrays: Vec<ArrayRef> = (0..1 + dice.roll(8)).map(|_| dice.column(rows)).collect();
        let name = |at: usize| if at == 7 { "c0.x".to_owned() } else { format!("c{at}") };
        let fields = arrays.iter().enumerate();
        let fields: Vec<Field> =
            fields.map(|(at, array)| Field::new(name(at), array.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
        let timestamps = dice.one_of(&[Timestamps::Iso, Timestamps::Iso, Timestamps::EpochMillis]);
        let constants = [("year".to_owned(), "2024".to_owned()), ("part".to_owned(), "\"a\\\"b\"".to_owned())];
        let constants = &constants[..dice.roll(3)];
        let writer = RowWriter::new(&schema, constants, 1 << 20, "x", &Warnings::default(), BufferPool::new());
        let writer = Arc::new(writer.with_timestamps(timestamps));
        // Pieces of a batch begin anywhere.
        let from = dice.roll(rows);
        for batch in [batch.clone(), batch.slice(from, rows - from)] {
            let rows = Rows { batch, writer: Arc::clone(&writer), origin: Origin::default(), bytes_read: 0 };
            let (block, Some(values)) = Chunk::Rows(rows).into_block_with_columns() else { continue };
            let mut columns: Vec<(String, DataType)> =
                schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect();
            columns.extend(constants.iter().map(|(name, _)| (name.clone(), DataType::Utf8)));
            let (docs, from_columns) = assert_alike((&block, &values), &mapping(&mut dice, &columns), seed);
            sum = (sum.0 + docs, sum.1 + from_columns);
        }
    }
    assert!(sum.1 * 5 > sum.0, "{sum:?}");
}

#[test]
fn csv_columns_make_the_files_of_their_text() {
    let mut sum = (0, 0);
    for seed in seeds(80) {
        let mut dice = Dice(seed);
        let (rows, count) = (dice.one_of(&[3, 50, 400]), 1 + dice.roll(8));
        let kinds: Vec<usize> = (0..count).map(|_| dice.roll(6)).collect();
        let mut csv = (0..count).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",") + "\n";
        for _ in 0..rows {
            let mut cells = Vec::new();
            for kind in &kinds {
                let kind = if dice.roll(30) == 0 { dice.roll(6) } else { *kind };
                cells.push(match kind {
                    _ if dice.roll(8) == 0 => String::new(),
                    0 => dice.whole().to_string(),
                    1 if dice.roll(60) == 0 => format!("0.{}", "1".repeat(dice.one_of(&[998, 999, 1100]))),
                    1 => dice.one_of(&["1.5", ".5", "5.", "-0.0", "1e3", "12.50", "7"]).to_owned(),
                    2 => dice.one_of(&["true", "FALSE"]).to_owned(),
                    3 => dice.one_of(&["2024-02-29", "2024-02-29 10:11:12", "1969-12-31T23:59:59.5Z"]).to_owned(),
                    _ => format!("\"{}\"", dice.text().replace('"', "\"\"")),
                });
            }
            // Some rows have a cell too many.
            if dice.roll(40) == 0 {
                cells.push("more".to_owned());
            }
            csv += &(cells.join(",") + "\n");
        }
        let sampled = dice.one_of(&[5, 10_000]);
        let csv_options = CsvOptions { infer_rows: sampled, each_cell: dice.roll(4) == 0, ..CsvOptions::default() };
        let options = FormatOptions { csv: csv_options, ..FormatOptions::default() };
        let mut reading = Reading::new(options, Warnings::default());
        let input = Input::new(std::io::Cursor::new(csv.into_bytes()));
        let raw = Raw { input, read: Arc::new(AtomicU64::new(0)), seekable: None };
        let mut file = reading.open(SourceId(0), "x.csv", raw, &[]).unwrap();
        while let Some(chunk) = file.next_chunk(64 << 10).unwrap() {
            let (block, Some(values)) = chunk.into_block_with_columns() else { continue };
            let of_kind = [DataType::Int64, DataType::Float64, DataType::Boolean, DataType::Date32];
            let of_kind = |kind: &usize| of_kind.get(*kind).cloned().unwrap_or(DataType::Utf8);
            let columns: Vec<(String, DataType)> =
                kinds.iter().enumerate().map(|(at, kind)| (format!("c{at}"), of_kind(kind))).collect();
            let (docs, from_columns) = assert_alike((&block, &values), &mapping(&mut dice, &columns), seed);
            sum = (sum.0 + docs, sum.1 + from_columns);
        }
    }
    assert!(sum.1 * 5 > sum.0, "{sum:?}");
}
