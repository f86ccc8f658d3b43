//! The columns of documents with objects and arrays in them, and their types in Parquet.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, Fields};
use inrush_formats::numbers::Holder;

use super::csv::COLUMNS_MAX;
use super::value::{Cell, DEPTH_MAX, Kind, Value, fields, too_deep, twice};

/// What the values of a field are.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// The type of values that are neither objects nor arrays.
    pub(super) scalar: Kind,
    is_object: bool,
    /// Fields of the objects.
    fields: Vec<(String, Shape)>,
    places: HashMap<String, usize>,
    /// Values of the arrays.
    items: Option<Box<Shape>>,
    /// The last object that had the field.
    last: u64,
}

/// The columns of all documents.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) root: Shape,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    objects: u64,
    columns: usize,
}

/// The names of a field and of the objects that it is in.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    inside: Option<&'a Path<'a>>,
    name: &'a str,
}

impl<'a> Path<'a> {
    pub(super) fn new(inside: Option<&'a Path<'a>>, name: &'a str) -> Self {
        Path { inside, name }
    }

    fn depth(self) -> usize {
        1 + self.inside.map_or(0, |inside| inside.depth())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(inside) = self.inside {
            write!(f, "{inside}.")?;
        }
        f.write_str(self.name)
    }
}

impl Shapes {
    /// Adds the fields of a document.
    pub(super) fn add(&mut self, document: &[u8]) -> Result<(), String> {
        self.root.add_fields(fields(document)?, None, &mut self.seen)
    }
}

impl Shape {
    fn add_fields(
        &mut self,
        fields: Vec<(String, Cell<'_>)>,
        inside: Option<&Path<'_>>,
        seen: &mut Seen,
    ) -> Result<(), String> {
        self.is_object = true;
        seen.objects += 1;
        let now = seen.objects;
        for (name, value) in fields {
            let next = self.fields.len();
            let place = *self.places.entry(name).or_insert_with_key(|name| {
                self.fields.push((name.clone(), Shape::default()));
                seen.columns += 1;
                next
            });
            if seen.columns > COLUMNS_MAX {
                return Err(format!("there are more than {COLUMNS_MAX} different fields"));
            }
            let (name, field) = &mut self.fields[place];
            let path = Path::new(inside, name);
            if std::mem::replace(&mut field.last, now) == now {
                return Err(twice(&path.to_string()));
            }
            field.add(value, &path, seen)?;
        }
        Ok(())
    }

    fn add(&mut self, value: Cell<'_>, path: &Path<'_>, seen: &mut Seen) -> Result<(), String> {
        match value.read()? {
            Value::Scalar(kind) => self.scalar = self.scalar.and(kind),
            Value::Object(_) | Value::Array(_) if path.depth() > DEPTH_MAX => return Err(too_deep(&path.to_string())),
            Value::Object(fields) => self.add_fields(fields, Some(path), seen)?,
            Value::Array(values) => {
                let items = self.items.get_or_insert_default();
                for value in values {
                    items.add(value, &Path::new(Some(path), "[]"), seen)?;
                }
            }
        }
        Ok(())
    }

    /// The fields of the objects, with their places.
    pub(super) fn fields(&self) -> (&[(String, Shape)], &HashMap<String, usize>) {
        (&self.fields, &self.places)
    }

    /// The values of the arrays.
    pub(super) fn items(&self) -> Option<&Shape> {
        self.items.as_deref()
    }

    /// The type of the column. `None`: the values are empty objects, for which Parquet has no type.
    ///
    /// # Errors
    /// The values are of several types.
    pub(super) fn data_type(&self, path: &Path<'_>) -> Result<Option<DataType>, String> {
        let is_scalar = self.scalar != Kind::Null;
        let forms = usize::from(is_scalar) + usize::from(self.is_object) + usize::from(self.items.is_some());
        if forms > 1 || self.scalar == Kind::Mixed {
            return Err(format!(
                "field `{path}` has values of several types, but a Parquet column has only one; convert to NDJSON or CSV"
            ));
        }
        if self.is_object {
            let fields = self.types(Some(path))?;
            return Ok((!fields.is_empty()).then_some(DataType::Struct(fields)));
        }
        if let Some(items) = &self.items {
            let of = items.data_type(&Path::new(Some(path), "[]"))?;
            return Ok(of.map(|of| DataType::List(Arc::new(Field::new("element", of, true)))));
        }
        Ok(Some(scalar(self.scalar)))
    }

    /// The types of the fields of the objects, without those of empty objects.
    pub(super) fn types(&self, inside: Option<&Path<'_>>) -> Result<Fields, String> {
        let mut all = Vec::new();
        for (name, field) in &self.fields {
            if let Some(of) = field.data_type(&Path::new(inside, name))? {
                all.push(Field::new(name, of, true));
            }
        }
        Ok(all.into())
    }
}

/// The type of a column of such values.
fn scalar(kind: Kind) -> DataType {
    match kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Number(numbers) => match numbers.holder() {
            Holder::Integer => DataType::Int64,
            Holder::Decimal(precision, scale) if precision <= DECIMAL128_MAX_PRECISION => {
                DataType::Decimal128(precision, scale as i8)
            }
            Holder::Decimal(precision, scale) => DataType::Decimal256(precision, scale as i8),
            // A value that is not a number is refused.
            Holder::Double | Holder::Rounded | Holder::Nothing => DataType::Float64,
        },
        Kind::String | Kind::Null | Kind::Mixed => DataType::Utf8,
    }
}
