//! A walk through a document's text that does not build the document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::field::Field;
use super::{DEPTH_MAX, FIELDS_MAX, RowPosition};

/// What may still be stored.
#[derive(Debug, Default)]
pub(super) struct Budget {
    fields: usize,
    pub(super) fields_left_out: u64,
    pub(super) too_deep: u64,
}

/// Adds one value to a field.
pub(super) struct FieldSeed<'a> {
    pub(super) field: &'a mut Field,
    pub(super) budget: &'a mut Budget,
    pub(super) position: RowPosition,
    /// Enclosing objects; 0 for the document itself.
    pub(super) depth: usize,
    pub(super) in_array: bool,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.depth == 0 { deserializer.deserialize_map(self) } else { deserializer.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.depth == 0 { "a JSON object" } else { "a value" })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.field.nulls.at(self.position);
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.field.booleans.at(self.position);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.field.integer(value.into(), self.position);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.field.integer(value.into(), self.position);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.field.decimal(value, self.position);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.field.strings.add(value, self.position);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let FieldSeed { field, budget, position, depth, .. } = self;
        field.arrays.at(position);
        field.lists.begin();
        let (mut len, numbers) = (0, field.numbers());
        while elements.next_element_seed(FieldSeed { field, budget, position, depth, in_array: true })?.is_some() {
            len += 1;
        }
        field.lists.end(len, field.numbers() - numbers);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let FieldSeed { field, budget, position, depth, in_array } = self;
        field.objects.at(position);
        if in_array {
            field.objects_in_arrays.at(position);
        }
        while let Some(name) = entries.next_key::<String>()? {
            if depth >= DEPTH_MAX {
                budget.too_deep += 1;
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            if !field.children.contains_key(&name) {
                if budget.fields >= FIELDS_MAX {
                    budget.fields_left_out += 1;
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
                budget.fields += 1;
            }
            let child = field.children.entry(name).or_default();
            entries.next_value_seed(FieldSeed { field: child, budget, position, depth: depth + 1, in_array: false })?;
        }
        Ok(())
    }
}
