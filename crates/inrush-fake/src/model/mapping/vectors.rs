//! Fields that hold vectors: what each product takes, and what it gives back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::definition::Field;
use super::values::Cause;
use crate::error::ServerError;
use crate::product::Flavor;

/// The options of a field with a vector that decide on a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    /// Numbers in the array.
    length: Option<usize>,
    /// float32, not bytes.
    is_float: bool,
    /// It takes no vector of zeros.
    is_cosine: bool,
}

impl Vector {
    /// The vector of a definition, if it is one.
    pub(super) fn of(definition: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| definition.get(name).and_then(Value::as_str);
        let kind = text("type").filter(|kind| matches!(*kind, "dense_vector" | "knn_vector"))?;
        let number = definition.get("dims").or_else(|| definition.get("dimension")).and_then(Value::as_u64);
        let element = text("element_type").or_else(|| text("data_type")).unwrap_or("float");
        let is_float = !matches!(element, "byte" | "bit" | "binary");
        let length = number.and_then(|n| usize::try_from(n).ok());
        let length = if matches!(element, "bit" | "binary") { length.map(|bits| bits / 8) } else { length };
        let space = definition.get("method").and_then(|method| method.get("space_type")).and_then(Value::as_str);
        let is_cosine = match kind {
            "dense_vector" => text("similarity").unwrap_or("cosine") == "cosine" && element == "float",
            _ => space.or_else(|| text("space_type")) == Some("cosinesimil"),
        };
        Some(Vector { length, is_float, is_cosine })
    }

    /// Checks a value that is not null.
    ///
    /// # Errors
    ///
    /// The cause of the server's error.
    pub(super) fn check(self, flavor: &Flavor, value: &Value) -> Result<(), Cause> {
        let refuse = |reason: String| Err(("parsing_exception".to_owned(), reason));
        let numbers = match value {
            Value::Array(items) => items.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
            Value::String(text) if flavor.takes_packed_vectors() => self.unpacked(text, false),
            other => return refuse(format!("Unsupported type for provided value [{other}]")),
        };
        let Some(numbers) = numbers else {
            return refuse("Failed to parse object: expecting token of type [VALUE_NUMBER]".to_owned());
        };
        if let Some(length) = self.length.filter(|length| *length != numbers.len()) {
            let found = numbers.len();
            return refuse(format!(
                "has a different number of dimensions [{found}] than defined in the mapping [{length}]"
            ));
        }
        if self.is_cosine && numbers.iter().all(|number| (*number as f32) * (*number as f32) == 0.0) {
            return refuse("The [cosine] similarity does not support vectors with zero magnitude".to_owned());
        }
        Ok(())
    }

    /// The numbers of a packed vector.
    fn unpacked(self, text: &str, little_endian: bool) -> Option<Vec<f64>> {
        let bytes = STANDARD.decode(text).ok()?;
        if !self.is_float {
            return Some(bytes.into_iter().map(|byte| f64::from(byte.cast_signed())).collect());
        }
        let float = |four: &[u8]| {
            let four = four.try_into().ok()?;
            let value = if little_endian { f32::from_le_bytes(four) } else { f32::from_be_bytes(four) };
            value.is_finite().then_some(f64::from(value))
        };
        (bytes.len() % 4 == 0).then(|| bytes.chunks(4).map(float).collect())?
    }
}

/// The type of the `index_options` of a definition.
pub(super) fn index_type(definition: &Map<String, Value>) -> Option<String> {
    Some(definition.get("index_options")?.get("type")?.as_str()?.to_owned())
}

/// Checks a change of the type of `index_options`. A field without a graph may get one, and not the
/// other way round.
pub(super) fn check_update(path: &str, from: Option<&str>, to: Option<&str>) -> Result<(), ServerError> {
    let is_flat = |kind: Option<&str>| kind.is_some_and(|kind| kind.ends_with("flat"));
    if is_flat(from) || !is_flat(to) {
        return Ok(());
    }
    let (from, to) = (from.unwrap_or("hnsw"), to.unwrap_or_default());
    Err(ServerError::illegal_argument(format!(
        "Mapper for [{path}] conflicts with existing mapper:\n\tCannot update parameter [index_options] from [{{type={from}}}] to [{{type={to}}}]"
    )))
}

/// Adds the defaults of `index_options` with a graph to `properties`, as the server shows them.
pub(super) fn complete(properties: &mut Value) {
    for definition in properties.as_object_mut().into_iter().flat_map(|properties| properties.values_mut()) {
        if let Some(inner) = definition.get_mut("properties") {
            complete(inner);
        }
        let Some(options) = definition.get_mut("index_options").and_then(Value::as_object_mut) else { continue };
        if options.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("hnsw")) {
            options.entry("m").or_insert(json!(16));
            options.entry("ef_construction").or_insert(json!(100));
        }
    }
}

/// The `_source` that Elasticsearch 9.2 and newer give back: without vectors, or, where they are
/// asked for, with their numbers.
pub(super) fn shown<'f>(
    fields: impl Iterator<Item = (&'f String, &'f Field)>,
    mut source: Value,
    with_vectors: bool,
    little_endian: bool,
) -> Value {
    for (path, field) in fields.filter(|(_, field)| field.vector.is_some()) {
        let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
        let above: String = above.split('.').filter(|name| !name.is_empty()).map(|name| format!("/{name}")).collect();
        let Some(above) = source.pointer_mut(&above).and_then(Value::as_object_mut) else { continue };
        if !with_vectors {
            above.remove(name);
            continue;
        }
        let text = above.get(name).and_then(Value::as_str);
        let numbers = text.and_then(|text| field.vector?.unpacked(text, little_endian));
        if let Some(numbers) = numbers {
            above.insert(name.to_owned(), json!(numbers));
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(definition: Value) -> Vector {
        Vector::of(definition.as_object().expect("object")).expect("vector")
    }

    #[test]
    fn base64_is_for_elasticsearch_9_3_and_newer() {
        let field = vector(json!({"type": "dense_vector", "dims": 2, "similarity": "cosine"}));
        // The bytes of [1.0, -2.0], big-endian.
        let packed = json!("P4AAAMAAAAA=");
        for (flavor, takes) in [
            (Flavor::elasticsearch_9(), true),
            (Flavor::new(crate::Product::Elasticsearch, "9.3.0"), true),
            (Flavor::new(crate::Product::Elasticsearch, "9.2.9"), false),
            (Flavor::elasticsearch_8(), false),
            (Flavor::opensearch_3_8(), false),
        ] {
            assert_eq!(field.check(&flavor, &packed).is_ok(), takes, "{flavor}");
            assert!(field.check(&flavor, &json!([1, -2.5])).is_ok());
            for bad in [json!([1]), json!([1, null]), json!([0, -0.0]), json!("P4AA"), json!(1), json!([[1, 2]])] {
                assert!(field.check(&flavor, &bad).is_err(), "{flavor} {bad}");
            }
        }
        let bytes = vector(json!({"type": "dense_vector", "dims": 2, "element_type": "byte"}));
        assert_eq!(bytes.unpacked("gH8=", false), Some(vec![-128.0, 127.0]));
    }
}
