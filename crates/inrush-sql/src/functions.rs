//! Functions for documents, in addition to those of SQL.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use inrush_formats::columns::json::json_type;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

/// All functions.
pub(super) fn functions() -> Vec<ScalarUDF> {
    let text = || Signature::exact(vec![DataType::Utf8], Volatility::Immutable);
    let coordinates = Signature::exact(vec![DataType::Float64, DataType::Float64], Volatility::Immutable);
    let any = Signature::user_defined(Volatility::Immutable);
    [
        Function { name: "geo_point", signature: coordinates, returns: point_type, call: geo_point },
        Function { name: "parse_json", signature: text(), returns: json_type, call: parse_json },
        Function { name: "try_parse_json", signature: text(), returns: json_type, call: try_parse_json },
        Function { name: "slug", signature: text(), returns: || DataType::Utf8, call: slug },
        Function { name: "short_hash", signature: any, returns: || DataType::Utf8, call: short_hash },
    ]
    .into_iter()
    .map(ScalarUDF::new_from_impl)
    .collect()
}

/// A function from arrays to an array.
#[derive(Debug)]
struct Function {
    name: &'static str,
    signature: Signature,
    returns: fn() -> DataType,
    call: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok((self.returns)())
    }

    /// For functions of any number of arguments, which are taken as text.
    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        if arguments.is_empty() {
            return plan_err!("{} needs at least one argument", self.name);
        }
        Ok(vec![DataType::Utf8; arguments.len()])
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let arrays =
            arguments.args.into_iter().map(|argument| argument.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let result = (self.call)(&arrays)?;
        if result.len() != rows {
            return exec_err!("{} made {} values of {rows} rows", self.name, result.len());
        }
        Ok(ColumnarValue::Array(result))
    }
}

fn point_fields() -> Fields {
    ["lat", "lon"].into_iter().map(|name| Arc::new(Field::new(name, DataType::Float64, true))).collect()
}

fn point_type() -> DataType {
    DataType::Struct(point_fields())
}

/// `geo_point(lat, lon)`: an object that both servers accept as a point. Null if one of the two is
/// null, not a number, or outside the globe.
fn geo_point(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let (lat, lon) = (arguments[0].as_primitive::<Float64Type>(), arguments[1].as_primitive::<Float64Type>());
    let inside = |array: &Float64Array, row, most: f64| array.is_valid(row) && array.value(row).abs() <= most;
    let valid: Vec<bool> = (0..lat.len()).map(|row| inside(lat, row, 90.0) && inside(lon, row, 180.0)).collect();
    let columns = vec![Arc::clone(&arguments[0]), Arc::clone(&arguments[1])];
    Ok(Arc::new(StructArray::try_new(point_fields(), columns, Some(NullBuffer::from(valid)))?))
}

/// Text as [`json_type`], with nulls where there is no text.
fn json(texts: StringArray) -> Result<ArrayRef> {
    let DataType::Struct(fields) = json_type() else { return exec_err!("JSON is a struct") };
    let nulls = texts.nulls().cloned();
    Ok(Arc::new(StructArray::try_new(fields, vec![Arc::new(texts)], nulls)?))
}

/// `parse_json(text)`: the text becomes part of the document unchanged. Whether it is JSON is
/// checked when the document is written. If it is not, the document is refused.
fn parse_json(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    json(arguments[0].as_string::<i32>().clone())
}

/// `try_parse_json(text)`: the same, but null if the text is not JSON.
fn try_parse_json(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let is_json = |text: &&str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    json(arguments[0].as_string::<i32>().iter().map(|text| text.filter(is_json)).collect())
}

/// `slug(text)`: lower-case ASCII letters and digits with dashes between: `Bourg-en-Bresse (Ain)`
/// is `bourg-en-bresse-ain`.
fn slug(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let slugs: StringArray = arguments[0].as_string::<i32>().iter().map(|text| text.map(slug::slugify)).collect();
    Ok(Arc::new(slugs))
}

/// `short_hash(value, …)`: 16 hexadecimal digits, the first 64 bits of the SHA-256 of all values as
/// text, each preceded by its length. The same values have the same hash in every version of this
/// program.
fn short_hash(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let columns: Vec<&StringArray> = arguments.iter().map(|column| column.as_string::<i32>()).collect();
    let rows = columns.first().map_or(0, |column| column.len());
    let mut hashes = StringBuilder::with_capacity(rows, rows * 16);
    for row in 0..rows {
        let mut sha = Sha256::new();
        for column in &columns {
            // No text has the length that stands for null.
            let text = column.is_valid(row).then(|| column.value(row));
            sha.update(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            sha.update(text.unwrap_or_default());
        }
        let hash: String = sha.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        hashes.append_value(hash);
    }
    Ok(Arc::new(hashes.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn text(array: &ArrayRef, row: usize) -> Option<&str> {
        let array = array.as_string::<i32>();
        array.is_valid(row).then(|| array.value(row))
    }

    #[test]
    fn points_are_on_the_globe_or_null() {
        let lat: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(43.4), None, Some(90.1), Some(f64::NAN), Some(-90.0)]));
        let lon: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(-1.8), Some(1.0), Some(0.0), Some(0.0), Some(180.0)]));
        let points = geo_point(&[lat, lon]).unwrap();
        assert_eq!((0..5).map(|row| points.is_valid(row)).collect::<Vec<_>>(), [true, false, false, false, true]);
    }

    #[test]
    fn slugs_have_letters_digits_and_dashes() {
        let slugs =
            slug(&[texts(&[Some("Été à Bourg-en-Bresse (Ain) – 1er lot"), Some("Łódź & Straße"), None])]).unwrap();
        assert_eq!(text(&slugs, 0), Some("ete-a-bourg-en-bresse-ain-1er-lot"));
        assert_eq!(text(&slugs, 1), Some("lodz-strasse"));
        assert_eq!(text(&slugs, 2), None);
    }

    #[test]
    fn hashes_are_stable_and_tell_what_is_joined_from_what_is_not() {
        let hash = |values: &[Option<&str>]| {
            let columns: Vec<ArrayRef> = values.iter().map(|value| texts(&[*value])).collect();
            text(&short_hash(&columns).unwrap(), 0).unwrap().to_owned()
        };
        assert_eq!(hash(&[Some("a"), Some("bc")]), "9a8acca1b6c6c0be");
        assert_ne!(hash(&[Some("a"), Some("bc")]), hash(&[Some("ab"), Some("c")]));
        assert_ne!(hash(&[None]), hash(&[Some("")]));
    }

    #[test]
    fn what_is_no_json_is_null_only_where_that_is_asked_for() {
        let column = [texts(&[Some("{\"a\":1}"), Some("{"), None])];
        let valid = |array: ArrayRef| (0..3).map(|row| array.is_valid(row)).collect::<Vec<_>>();
        assert_eq!(valid(parse_json(&column).unwrap()), [true, true, false]);
        assert_eq!(valid(try_parse_json(&column).unwrap()), [true, false, false]);
    }
}
