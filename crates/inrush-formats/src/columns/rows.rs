//! Record batches become blocks of documents.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::columns::{Cells, Column, Texts};
use inrush_core::vectors::{Element, Packing, VectorField};
use inrush_core::{Columns, DocBlock, Reject, RowForm};

use super::fractions::{self, WholeTarget};
use super::typed::column;
use super::value::forms::{self, BinaryForms, Deciding};
use super::value::json::has_json;
use super::value::nested::Object;
use super::value::vectors::{VectorWriting, are_vectors};
use super::value::{Bad, Writing};
use super::whole::{self, WholeField};
use crate::buffer::BufferPool;
use crate::csv::column_names;
use crate::format::{Binary, Timestamps};
use crate::json_string::push_escaped;
use crate::warnings::{FRACTIONS, Warnings, fractions_of};
use crate::{too_large, too_large_head};

/// Writes the rows of batches of one schema as documents. Used by several threads at once.
#[derive(Clone)]
pub struct RowWriter {
    /// The names of the columns in documents.
    names: Vec<String>,
    /// Members that every document gets, each followed by a comma.
    constants: Vec<u8>,
    /// The values of these members, as JSON.
    constant_values: Vec<String>,
    /// The names of all members.
    members: Arc<[String]>,
    /// The largest document, bytes. A larger one becomes a reject.
    document_bytes_max: usize,
    timestamps: Timestamps,
    nulls: bool,
    source: String,
    warnings: Warnings,
    pool: Arc<BufferPool>,
    /// Size of a row besides its text and lists, bytes of JSON.
    row_bytes: usize,
    /// Columns whose values can be wrong: text that has to be JSON, bytes that have to be text,
    /// vectors.
    checked: Vec<usize>,
    binary: Binary,
    forms: BinaryForms,
    /// Columns with bytes, as fields that have the forms of these.
    with_bytes: Vec<(usize, Field)>,
    /// Whether the form of some bytes is not decided.
    undecided: bool,
    /// Fields of floats whose whole numbers are kept as texts.
    whole: Vec<WholeField>,
    /// Columns that are vectors of the index.
    vectors: Vec<(usize, VectorField)>,
    packing: Packing,
    /// Columns that may have fractions, and whose fields are for whole numbers.
    cut: Vec<WholeTarget>,
}

impl RowWriter {
    /// A writer for the columns of `schema`. `constants` are members that every document gets,
    /// unless the schema has a column of that name.
    pub fn new(
        schema: &Schema,
        constants: &[(String, String)],
        document_bytes_max: usize,
        source: &str,
        warnings: &Warnings,
        pool: Arc<BufferPool>,
    ) -> Self {
        let header: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let (names, duplicates) = column_names(&header);
        for name in duplicates {
            warnings.add(source, "duplicate_column", &name, 1, || {
                format!("column {name:?} appears more than once; a number was added to the later ones")
            });
        }
        let mut members = Vec::new();
        let (mut all, mut constant_values) = (names.clone(), Vec::new());
        for (name, value) in constants.iter().filter(|(name, _)| !names.contains(name)) {
            members.push(b'"');
            push_escaped(&mut members, name.as_bytes());
            members.extend_from_slice(b"\":");
            members.extend_from_slice(value.as_bytes());
            members.push(b',');
            all.push(name.clone());
            constant_values.push(value.clone());
        }
        let row_bytes = 2
            + members.len()
            + names
                .iter()
                .zip(schema.fields())
                .map(|(name, field)| name.len() + 4 + width(field.data_type()))
                .sum::<usize>();
        let with_bytes: Vec<(usize, Field)> = schema
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| forms::is_undecided(field))
            .map(|(at, field)| (at, field.as_ref().clone()))
            .collect();
        let has_bytes = |at: &usize| with_bytes.iter().any(|(column, _)| column == at);
        let checked =
            (0..schema.fields().len()).filter(|at| has_json(schema.field(*at).data_type()) || has_bytes(at)).collect();
        let (source, warnings) = (source.to_owned(), warnings.clone());
        let timestamps = Timestamps::default();
        RowWriter {
            names,
            constants: members,
            constant_values,
            members: all.into(),
            document_bytes_max,
            timestamps,
            nulls: false,
            source,
            warnings,
            pool,
            row_bytes,
            checked,
            binary: Binary::default(),
            forms: BinaryForms::default(),
            undecided: !with_bytes.is_empty(),
            with_bytes,
            whole: Vec::new(),
            vectors: Vec::new(),
            packing: Packing::default(),
            cut: Vec::new(),
        }
    }

    /// Writes the lists of floats that are vectors of the index as the form of rows says, and warns
    /// of fractions in fields for whole numbers.
    pub fn with_fields(mut self, form: &RowForm, schema: &Schema) -> Self {
        self.set_fields(form, schema);
        self
    }

    /// The same for a writer that is in use.
    pub fn set_fields(&mut self, form: &RowForm, schema: &Schema) {
        self.cut = fractions::targets(&form.fields, &self.names, schema);
        let earlier = std::mem::take(&mut self.vectors);
        self.checked.retain(|at| earlier.iter().all(|(vector, _)| vector != at));
        for (at, (name, field)) in self.names.iter().zip(schema.fields()).enumerate() {
            let vector = form.fields.vector(name).filter(|vector| vector.element == Element::Float);
            if let Some(vector) = vector.filter(|_| are_vectors(field.data_type())) {
                self.vectors.push((at, vector));
                self.checked.push(at);
            }
        }
        self.packing = form.packing.clone();
    }

    /// Sets how bytes are written. `forms` are those of the columns that were read before.
    pub fn with_binary(mut self, binary: Binary, forms: &BinaryForms) -> Self {
        self.binary = binary;
        self.forms = forms.clone();
        self.decide(None);
        self
    }

    /// Keeps the whole numbers of these fields of `schema` as texts, where they are floats.
    pub fn with_texts(mut self, texts: &[String], schema: &Schema) -> Self {
        self.set_texts(texts, schema);
        self
    }

    /// The same for a writer that is in use.
    pub fn set_texts(&mut self, texts: &[String], schema: &Schema) {
        self.whole = whole::fields(texts, &self.names, schema);
    }

    /// Decides how bytes are written, where the values of the next batch say it. Earlier batches
    /// had no such values.
    pub fn see(writer: &mut Arc<Self>, batch: &RecordBatch) {
        if writer.undecided && batch.num_rows() > 0 {
            Arc::make_mut(writer).decide(Some(batch));
        }
    }

    fn decide(&mut self, batch: Option<&RecordBatch>) {
        let deciding = Deciding { binary: self.binary, forms: &self.forms };
        for (at, field) in &mut self.with_bytes {
            let array = batch.map(|batch| &**batch.column(*at));
            *field = deciding.decide(field, array, |path| {
                self.warnings.add(&self.source, "binary_as_text", path, 1, || {
                    "the first binary values are text, so all of the column are written as text; \
                     option `binary=text` says that this is meant, option `binary=base64` writes base64"
                        .to_owned()
                });
            });
        }
        self.undecided = self.with_bytes.iter().any(|(_, field)| forms::is_undecided(field));
    }

    /// Sets how timestamps are written.
    pub fn with_timestamps(mut self, timestamps: Timestamps) -> Self {
        self.timestamps = timestamps;
        self
    }

    /// Sets whether a value that is missing is a `null`. Default: it is absent.
    pub fn with_nulls(mut self, nulls: bool) -> Self {
        self.set_nulls(nulls);
        self
    }

    /// The same for a writer that is in use.
    pub fn set_nulls(&mut self, nulls: bool) {
        self.nulls = nulls;
    }

    /// Estimated size of the documents of `batch`, bytes. Never much less than the real size.
    pub fn estimate(&self, batch: &RecordBatch) -> usize {
        let contents: usize = batch.columns().iter().map(|column| content_bytes(column)).sum();
        batch.num_rows() * self.row_bytes + contents
    }

    /// Makes a document of each row. Document and line of `origin` are filled in later
    /// ([`Origin`]). A row has no byte range in the source, so those fields are 0.
    pub fn block(&self, batch: &RecordBatch, origin: Origin, bytes_read: u64) -> DocBlock {
        let rows = batch.num_rows();
        let packs = self.packing.is_on();
        let vector = |at| {
            let vector = self.vectors.iter().find(|(column, _)| *column == at);
            vector.map(|(_, field)| VectorWriting { field: *field, packs: packs && field.is_packable() })
        };
        let writing: Vec<Writing> = (0..batch.num_columns())
            .map(|at| {
                let (timestamps, nulls) = (self.timestamps, self.nulls);
                Writing { timestamps, nulls, vector: vector(at), ..Writing::default() }
            })
            .collect();
        let fields = self.fields(batch);
        let object = Object::of_columns(&self.names, batch.columns(), &fields, writing.iter());
        let mut out = self.pool.take();
        out.clear();
        out.reserve(self.estimate(batch));
        let mut records = Vec::with_capacity(rows);
        let mut rejects = Vec::new();
        for row in 0..rows {
            let start = out.len();
            object.push(row, &self.constants, &mut out);
            if let Some((at, bad)) = self.checked.iter().find_map(|at| Some((*at, writing[*at].bad.take()?))) {
                let (kind, reason) = refused(&self.names[at], bad);
                rejects.push(Reject { record: row as u32, kind, reason });
            }
            let len = out.len() - start;
            if len > self.document_bytes_max {
                let record = row as u32;
                rejects.retain(|reject| reject.record != record);
                rejects.push(too_large(record, len as u64, self.document_bytes_max));
                let kept = too_large_head(&out[start..]).len();
                out.truncate(start + kept);
            }
            records.push(Record { start: start as u32, end: out.len() as u32, byte: 0, line: row as u32 });
        }
        drop(object);
        self.warn(&writing);
        for path in self.cut.iter().filter_map(|target| target.first_in(batch)) {
            self.warnings.add(&self.source, FRACTIONS, path, 1, || fractions_of(path));
        }
        let len = out.len();
        let data: Bytes = self.pool.share(out, len);
        let meta = if self.whole.is_empty() { Vec::new() } else { whole::metas(&self.whole, batch) };
        DocBlock { origin, lines: rows as u64, data, records, rejects, meta, bytes_read }
    }

    /// The fields of a batch, with the forms of their bytes.
    fn fields(&self, batch: &RecordBatch) -> Fields {
        let fields = batch.schema_ref().fields();
        if self.with_bytes.is_empty() {
            return fields.clone();
        }
        let mut fields = fields.to_vec();
        for (at, field) in &self.with_bytes {
            fields[*at] = Arc::new(field.clone());
        }
        fields.into()
    }

    /// The values of the rows, which [`RowWriter::block`] makes documents of.
    pub(super) fn columns(&self, batch: &RecordBatch) -> Option<Columns> {
        let mut text_only = Vec::new();
        let fields = self.fields(batch);
        let of_batch = batch.columns().iter().zip(&fields);
        let of_batch = of_batch.map(|(array, field)| column(array, field, self.timestamps, &mut text_only));
        let mut columns = of_batch.collect::<Option<Vec<Column>>>()?;
        columns.extend(self.constant_values.iter().map(|value| {
            let mut texts = Texts::with_capacity(batch.num_rows(), batch.num_rows() * value.len());
            (0..batch.num_rows()).for_each(|_| texts.push(value));
            Column { cells: Cells::Json(texts), present: None }
        }));
        text_only.sort_unstable();
        text_only.dedup();
        Some(Columns { names: Arc::clone(&self.members), columns, text_only })
    }

    fn warn(&self, writing: &[Writing]) {
        for (name, count) in self.names.iter().zip(writing).map(|(name, writing)| (name, writing.not_finite.get())) {
            if count == 0 {
                continue;
            }
            self.warnings.add(&self.source, "not_finite", name, count, || {
                "NaN or infinity, which JSON cannot express: it counts as null, and the field is left out".to_owned()
            });
        }
    }
}

/// The kind and the reason of the reject of a row for a value of this column.
fn refused(column: &str, bad: Bad) -> (Code, String) {
    match bad {
        Bad::Json(why) => {
            let reason = format!(
                "field {column:?} must be JSON, but its text is not: {why}; correct it, or use try_parse_json, which makes it null"
            );
            (Code::BadJson, reason)
        }
        Bad::Bytes { at } => {
            let reason = format!(
                "field {column:?} is written as text, and byte {at} of its value is not UTF-8; option `binary=base64` writes all binary values as base64"
            );
            (Code::InvalidUtf8, reason)
        }
        Bad::Vector(bad) => (Code::BadVector, format!("field {column:?} {bad}")),
    }
}

/// Bytes of the values without a fixed length: text, binary, and all values of lists. Text that has
/// to be escaped is longer.
fn content_bytes(array: &dyn Array) -> usize {
    let rows = array.len();
    match array.data_type() {
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => span(array.as_string::<i64>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()) * 4 / 3,
        DataType::LargeBinary => span(array.as_binary::<i64>().value_offsets()) * 4 / 3,
        DataType::FixedSizeBinary(size) => rows * (*size).max(0) as usize * 4 / 3,
        // The low 32 bits of a view are the length.
        DataType::Utf8View => array.as_string_view().views().iter().map(|view| *view as u32 as usize).sum(),
        DataType::BinaryView => {
            array.as_binary_view().views().iter().map(|view| *view as u32 as usize).sum::<usize>() * 4 / 3
        }
        // The longest values could be the most frequent ones, but rarely are.
        DataType::Dictionary(..) => average(array.as_any_dictionary().values()) * rows,
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let (from, len) = (offsets[0] as usize, span(offsets));
            nested_bytes(&list.values().slice(from, len))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            let (from, len) = (offsets[0] as usize, span(offsets));
            nested_bytes(&list.values().slice(from, len))
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let offsets = map.value_offsets();
            let (from, len) = (offsets[0] as usize, span(offsets));
            nested_bytes(&map.keys().slice(from, len)) + nested_bytes(&map.values().slice(from, len))
        }
        DataType::FixedSizeList(..) => nested_bytes(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| nested_bytes(column)).sum(),
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            average(list.values()) * list.value_sizes().iter().map(|size| *size as usize).sum::<usize>()
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            average(list.values()) * list.value_sizes().iter().map(|size| *size as usize).sum::<usize>()
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            fields.iter().map(|(id, _)| average(union.child(id))).max().unwrap_or(0) * rows
        }
        DataType::RunEndEncoded(ends, _) => {
            rows * match ends.data_type() {
                DataType::Int16 => average(array.as_run::<Int16Type>().values()),
                DataType::Int32 => average(array.as_run::<Int32Type>().values()),
                _ => average(array.as_run::<Int64Type>().values()),
            }
        }
        // Numbers, dates and similar types are part of the cost of a row.
        _ => 0,
    }
}

/// Size of a value besides its [`content_bytes`].
fn width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Null => 0,
        DataType::Boolean | DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => 6,
        DataType::Int32 | DataType::UInt32 | DataType::Date32 | DataType::Date64 => 12,
        DataType::Int64 | DataType::UInt64 | DataType::Float16 | DataType::Float32 | DataType::Float64 => 20,
        DataType::Decimal256(..) => 80,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => 40,
        DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_) => 32,
        DataType::Duration(_) | DataType::Interval(_) => 40,
        // Quotes or brackets.
        _ => 2,
    }
}

/// Average size of one of many values.
fn average(values: &dyn Array) -> usize {
    nested_bytes(values) / values.len().max(1)
}

/// Size of all values of an array, for values that are not counted with their row.
fn nested_bytes(array: &dyn Array) -> usize {
    array.len() * (1 + width(array.data_type())) + content_bytes(array)
}

/// The distance between the first and the last offset.
fn span<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    match offsets {
        [first, .., last] => last.as_usize() - first.as_usize(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int32Builder, LargeListBuilder, ListViewBuilder};
    use arrow_array::types::Int8Type;
    use arrow_array::{
        ArrayRef, Date64Array, DictionaryArray, Int8Array, Int32Array, IntervalDayTimeArray, IntervalMonthDayNanoArray,
        IntervalYearMonthArray, NullArray, RunArray, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
        UnionArray,
    };
    use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano};
    use arrow_schema::UnionFields;

    use super::*;

    fn writer(schema: &Schema, constants: &[(String, String)]) -> RowWriter {
        RowWriter::new(schema, constants, 1 << 20, "a", &Warnings::default(), BufferPool::new())
    }

    fn documents(batch: &RecordBatch, constants: &[(&str, &str)]) -> Vec<String> {
        let constants: Vec<_> = constants.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let block = writer(batch.schema_ref(), &constants).block(batch, Origin::default(), 7);
        assert_eq!((block.lines, block.bytes_read), (batch.num_rows() as u64, 7));
        (0..block.records.len()).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect()
    }

    fn check(array: impl Array + 'static, expected: &[&str]) {
        let batch = RecordBatch::try_from_iter([("v", Arc::new(array) as ArrayRef)]).unwrap();
        let expected: Vec<String> =
            expected.iter().map(|v| if v.is_empty() { "{}".to_owned() } else { format!("{{\"v\":{v}}}") }).collect();
        assert_eq!(documents(&batch, &[]), expected);
        // A slice of it gives the same.
        let last = batch.num_rows() - 1;
        assert_eq!(documents(&batch.slice(last, 1), &[]), expected[last..]);
        assert!(writer(batch.schema_ref(), &[]).estimate(&batch) >= expected.iter().map(String::len).sum());
    }

    #[test]
    fn types_that_files_rarely_have() {
        check(NullArray::new(2), &["", ""]);
        check(Date64Array::from(vec![86_400_000, -1]), &["\"1970-01-02\"", "\"1969-12-31\""]);
        check(IntervalYearMonthArray::from(vec![14]), &["\"P14M\""]);
        check(IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, 500)]), &["\"P1DT0.500S\""]);
        check(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 0, 3)]), &["\"P1MT0.000000003S\""]);
        let mut large = LargeListBuilder::new(Int32Builder::new());
        large.append_value([Some(1)]);
        large.append_null();
        large.append_value([Some(2), None]);
        check(large.finish(), &["[1]", "", "[2,null]"]);
        let mut view = ListViewBuilder::new(Int32Builder::new());
        view.append_value([Some(1)]);
        view.append_value([Some(2), None]);
        check(view.finish(), &["[1]", "[2,null]"]);
        let runs = RunArray::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec![Some("x"), None])).unwrap();
        check(runs, &["\"x\"", "\"x\"", ""]);
    }

    #[test]
    fn timestamps_are_numbers_where_that_is_wanted_and_says_the_same() {
        let micros = TimestampMicrosecondArray::from(vec![Some(1_500_000), None, Some(-1_000), Some(1)]);
        let seconds = TimestampSecondArray::from(vec![Some(-1), Some(0), None, Some(i64::MAX / 1_000 + 1)])
            .with_timezone("+02:00");
        let columns: [(&str, ArrayRef); 2] = [("m", Arc::new(micros)), ("s", Arc::new(seconds))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let writer = writer(batch.schema_ref(), &[]).with_timestamps(Timestamps::EpochMillis);
        let block = writer.block(&batch, Origin::default(), 0);
        let documents: Vec<_> = (0..4).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect();
        assert_eq!(documents[0], r#"{"m":1500,"s":-1000}"#);
        assert_eq!(documents[1], r#"{"s":0}"#);
        assert_eq!(documents[2], r#"{"m":-1}"#);
        // The value is not a whole millisecond, or has too many of them.
        assert!(documents[3].starts_with(r#"{"m":"1970-01-01T00:00:00.000001","s":"+2"#), "{}", documents[3]);
    }

    #[test]
    fn dictionaries_may_have_nulls_in_keys_and_values() {
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
        let keys = Int8Array::from(vec![Some(0), None, Some(1), Some(0)]);
        check(DictionaryArray::<Int8Type>::new(keys, values), &["\"x\"", "", "", "\"x\""]);
        let empty: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        check(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![None, None]), empty), &["", ""]);
    }

    #[test]
    fn an_update_names_its_nulls_and_those_of_structs() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![f64::NAN, 2.0]));
        let members = vec![
            (Arc::new(Field::new("a", DataType::Int32, true)), Arc::clone(&numbers)),
            (Arc::new(Field::new("f", DataType::Float64, true)), Arc::clone(&floats)),
        ];
        let structs: ArrayRef = Arc::new(arrow_array::StructArray::from(members));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("s", structs)]).unwrap();
        let block = writer(batch.schema_ref(), &[]).with_nulls(true).block(&batch, Origin::default(), 0);
        let documents: Vec<_> = (0..2).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect();
        assert_eq!(documents, [r#"{"n":1,"s":{"a":1,"f":null}}"#, r#"{"n":null,"s":{"a":null,"f":2.0}}"#]);
    }

    #[test]
    fn unions_are_the_value_that_is_there() {
        let fields: UnionFields = [
            (0, Arc::new(Field::new("i", DataType::Int32, true))),
            (5, Arc::new(Field::new("s", DataType::Utf8, true))),
        ]
        .into_iter()
        .collect();
        let children = || -> Vec<ArrayRef> {
            vec![Arc::new(Int32Array::from(vec![Some(1), None])), Arc::new(StringArray::from(vec!["a", "b"]))]
        };
        let dense =
            UnionArray::try_new(fields.clone(), vec![5, 0, 0].into(), Some(vec![1, 0, 1].into()), children()).unwrap();
        check(dense, &["\"b\"", "1", ""]);
        let sparse = UnionArray::try_new(fields, vec![0, 5].into(), None, children()).unwrap();
        check(sparse, &["1", "\"b\""]);
    }

    #[test]
    fn constants_come_last_and_columns_win() {
        let batch =
            RecordBatch::try_from_iter([("v", Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef)]).unwrap();
        assert_eq!(
            documents(&batch, &[("year", "2024"), ("v", "7"), ("k\"", "\"x\"")]),
            [r#"{"v":1,"year":2024,"k\"":"x"}"#, r#"{"year":2024,"k\"":"x"}"#]
        );
    }

    #[test]
    fn columns_are_those_of_the_batch_and_then_the_constants() {
        let micros = TimestampMicrosecondArray::from(vec![Some(1), Some(0), Some(1)]);
        let seconds = TimestampSecondArray::from(vec![Some(i64::MAX), None, Some(0)]);
        let arrays: [(&str, ArrayRef); 2] = [("m", Arc::new(micros)), ("s", Arc::new(seconds))];
        let batch = RecordBatch::try_from_iter(arrays).unwrap();
        let constants = [("year", "2024"), ("s", "7"), ("k\"", "\"x\"")];
        let constants = constants.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let writer = writer(batch.schema_ref(), &constants).with_timestamps(Timestamps::EpochMillis);
        let Columns { names, columns, text_only } = writer.columns(&batch).unwrap();
        assert_eq!(&names[..], ["m", "s", "year", "k\""]);
        // The rows with a value that is no whole millisecond, or has too many, each once.
        assert_eq!(text_only, [0, 2]);
        assert_eq!(columns[1].present, Some(vec![true, false, true]));
        for (column, expected) in columns[2..].iter().zip(["2024", "\"x\""]) {
            let Cells::Json(texts) = &column.cells else { panic!("{column:?}") };
            assert_eq!((0..texts.len()).map(|row| texts.get(row)).collect::<Vec<_>>(), [expected; 3]);
            assert_eq!(column.present, None);
        }
    }
}
