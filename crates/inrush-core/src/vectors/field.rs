//! Fields of a mapping that hold vectors.

use std::fmt;

use serde_json::Value;

use super::BadVector;

/// How far the squared length of a vector may be from 1 before a server is sure to refuse it.
/// Elasticsearch 9.5 takes 1.0006 and refuses 1.0011. What is between is left to the server.
const UNIT_MAX: f32 = 2e-3;

/// How deep fields of objects are looked at.
const DEPTH_MAX: usize = 50;

/// What a vector is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// float32, also where the server keeps fewer bits.
    Float,
    /// Bytes with a sign.
    Byte,
    /// Bits, eight in a byte with a sign.
    Bit,
}

/// What vectors are compared by, as far as it refuses some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// The angle. A vector of zeros has none, nor has one whose squared length is 0 as float32.
    Cosine,
    /// The angle, as OpenSearch says it. Only a vector of zeros has none.
    CosineSimil,
    /// The product of vectors of length 1.
    DotProduct,
    /// Another one, or an unknown one.
    Other,
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Similarity::Cosine => "cosine",
            Similarity::CosineSimil => "cosinesimil",
            Similarity::DotProduct => "dot_product",
            Similarity::Other => "of the field",
        })
    }
}

/// A field that holds a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorField {
    /// What it is made of.
    pub element: Element,
    /// Numbers in an array of it, if the mapping says so.
    pub length: Option<usize>,
    /// What it is compared by.
    pub similarity: Similarity,
    /// Whether it may be packed where the server takes that: an indexed `dense_vector`. The server
    /// gives a packed vector that is not indexed back as text.
    pub may_be_packed: bool,
}

impl VectorField {
    /// The field of this definition in a mapping. `None`: it holds no vector.
    pub fn of(definition: &Value) -> Option<Self> {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        let number = |name: &str| definition.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        match text("/type")? {
            "dense_vector" => {
                let element = match text("/element_type") {
                    Some("byte") => Element::Byte,
                    Some("bit") => Element::Bit,
                    _ => Element::Float,
                };
                let is_indexed = definition.get("index").is_none_or(|index| index != &Value::Bool(false));
                let similarity = match text("/similarity").filter(|_| is_indexed) {
                    Some("cosine") => Similarity::Cosine,
                    Some("dot_product") if element == Element::Float => Similarity::DotProduct,
                    _ => Similarity::Other,
                };
                let dims = number("dims");
                let length = if element == Element::Bit { dims.map(|bits| bits / 8) } else { dims };
                Some(VectorField { element, length, similarity, may_be_packed: is_indexed })
            }
            "knn_vector" => {
                let space = text("/method/space_type").or_else(|| text("/space_type"));
                let (element, length) = match text("/data_type") {
                    Some("byte") => (Element::Byte, number("dimension")),
                    Some("binary") => (Element::Bit, number("dimension").map(|bits| bits / 8)),
                    _ => (Element::Float, number("dimension")),
                };
                let similarity = if space == Some("cosinesimil") { Similarity::CosineSimil } else { Similarity::Other };
                Some(VectorField { element, length, similarity, may_be_packed: false })
            }
            _ => None,
        }
    }

    /// Checks a vector of floats as servers do.
    ///
    /// # Errors
    /// Why a server refuses it. A vector that some refuse and others take is none of these.
    pub fn check(&self, values: &[f32]) -> Result<(), BadVector> {
        self.check_length(values.len())?;
        // Sums of finite numbers alone are finite or infinite. One pass finds both.
        let squared = match self.similarity {
            // One after the other: the sum itself decides, so its rounding counts.
            Similarity::DotProduct => values.iter().map(|value| value * value).sum(),
            _ => sum_of_squares(values),
        };
        if !squared.is_finite()
            && let Some(at) = values.iter().position(|value| !value.is_finite())
        {
            return Err(BadVector::NotFinite(at));
        }
        match self.similarity {
            Similarity::Cosine | Similarity::CosineSimil if self.has_no_direction(values, squared) => {
                Err(BadVector::Zero(self.similarity))
            }
            Similarity::DotProduct if (squared - 1.0).abs() > UNIT_MAX => Err(BadVector::NotUnit(squared)),
            Similarity::Cosine | Similarity::CosineSimil | Similarity::DotProduct | Similarity::Other => Ok(()),
        }
    }

    /// Whether a server that compares by angles refuses the vector with this squared length.
    fn has_no_direction(&self, values: &[f32], squared: f32) -> bool {
        match self.similarity {
            Similarity::CosineSimil => values.iter().all(|value| *value == 0.0),
            _ => squared == 0.0,
        }
    }

    /// Checks the number of elements.
    ///
    /// # Errors
    /// It is another one than that of the mapping.
    pub fn check_length(&self, found: usize) -> Result<(), BadVector> {
        match self.length.filter(|expected| *expected != found) {
            Some(expected) => Err(BadVector::Length { found, expected }),
            None => Ok(()),
        }
    }
}

/// Eight sums, which a processor adds to at once.
fn sum_of_squares(values: &[f32]) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value * value;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>()
}

/// The definitions of all fields of a mapping that hold vectors, each once.
pub fn definitions(mapping: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut left = vec![(mapping, 0)];
    while let Some((above, depth)) = left.pop() {
        let properties = above.get("properties").and_then(Value::as_object);
        for field in properties.into_iter().flat_map(|properties| properties.values()) {
            if VectorField::of(field).is_some() && !found.contains(&field) {
                found.push(field);
            } else if depth < DEPTH_MAX {
                left.push((field, depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(definition: Value) -> VectorField {
        VectorField::of(&definition).unwrap()
    }

    #[test]
    fn both_products_say_length_element_and_similarity() {
        let of = |definition| {
            let VectorField { element, length, similarity, may_be_packed } = field(definition);
            (element, length, similarity, may_be_packed)
        };
        let dense = |more: Value| {
            let mut all = json!({"type": "dense_vector", "dims": 64});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            of(all)
        };
        use Element::{Bit, Byte, Float};
        use Similarity::{Cosine, CosineSimil, DotProduct, Other};
        assert_eq!(of(json!({"type": "dense_vector"})), (Float, None, Other, true));
        assert_eq!(dense(json!({"similarity": "cosine"})), (Float, Some(64), Cosine, true));
        assert_eq!(dense(json!({"similarity": "cosine", "index": false})), (Float, Some(64), Other, false));
        assert_eq!(dense(json!({"similarity": "dot_product"})), (Float, Some(64), DotProduct, true));
        assert_eq!(dense(json!({"similarity": "max_inner_product"})), (Float, Some(64), Other, true));
        assert_eq!(dense(json!({"element_type": "byte", "similarity": "dot_product"})), (Byte, Some(64), Other, true));
        assert_eq!(dense(json!({"element_type": "bit"})), (Bit, Some(8), Other, true));
        assert_eq!(dense(json!({"element_type": "bfloat16"})), (Float, Some(64), Other, true));
        let knn = |more: Value| {
            let mut all = json!({"type": "knn_vector", "dimension": 64});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            of(all)
        };
        assert_eq!(knn(json!({"method": {"space_type": "cosinesimil"}})), (Float, Some(64), CosineSimil, false));
        assert_eq!(knn(json!({"space_type": "cosinesimil"})), (Float, Some(64), CosineSimil, false));
        assert_eq!(knn(json!({"space_type": "innerproduct"})), (Float, Some(64), Other, false));
        assert_eq!(knn(json!({"data_type": "binary"})), (Bit, Some(8), Other, false));
        assert_eq!(knn(json!({"data_type": "byte"})), (Byte, Some(64), Other, false));
        assert_eq!(VectorField::of(&json!({"type": "float"})), None);
        assert_eq!(VectorField::of(&json!({"properties": {}})), None);
    }

    #[test]
    fn each_definition_of_a_vector_is_found_once() {
        let (v, w) = (json!({"type": "dense_vector", "dims": 8}), json!({"type": "dense_vector", "dims": 9}));
        let inner = json!({"type": "nested", "properties": {"a": v, "b": w, "n": {"type": "long"}}});
        let mapping = json!({"properties": {"v": v, "o": inner, "k": {"type": "keyword"}}});
        let mut found = definitions(&mapping);
        found.sort_by_key(|definition| definition["dims"].as_u64());
        assert_eq!(found, [&v, &w]);
        assert!(definitions(&json!({})).is_empty());
    }

    #[test]
    fn what_servers_refuse_is_bad() {
        let of = |similarity: &str| field(json!({"type": "dense_vector", "dims": 2, "similarity": similarity}));
        for similarity in ["cosine", "dot_product", "l2_norm", "max_inner_product"] {
            let field = of(similarity);
            assert_eq!(field.check(&[1.0]), Err(BadVector::Length { found: 1, expected: 2 }));
            assert_eq!(field.check(&[]), Err(BadVector::Length { found: 0, expected: 2 }));
            assert_eq!(field.check(&[0.0, f32::NAN]), Err(BadVector::NotFinite(1)));
            assert_eq!(field.check(&[f32::NEG_INFINITY, 0.0]), Err(BadVector::NotFinite(0)));
            assert_eq!(field.check(&[1.0, -0.0]), Ok(()));
        }
        assert_eq!(of("cosine").check(&[0.0, -0.0]), Err(BadVector::Zero(Similarity::Cosine)));
        // The square of a subnormal number is 0.
        assert_eq!(of("cosine").check(&[1e-45, 0.0]), Err(BadVector::Zero(Similarity::Cosine)));
        assert!(of("cosine").check(&[1e-30, 0.0]).is_err());
        let knn = field(json!({"type": "knn_vector", "dimension": 2, "space_type": "cosinesimil"}));
        assert_eq!([knn.check(&[1e-30, 0.0]), knn.check(&[0.0, 1e-45])], [Ok(()), Ok(())]);
        assert_eq!(knn.check(&[0.0, -0.0]), Err(BadVector::Zero(Similarity::CosineSimil)));
        assert_eq!(of("l2_norm").check(&[0.0, 0.0]), Ok(()));
        assert_eq!(of("l2_norm").check(&[f32::MAX, f32::MAX]), Ok(()));
        assert!(matches!(of("dot_product").check(&[0.0, 0.0]), Err(BadVector::NotUnit(_))));
        assert!(matches!(of("dot_product").check(&[1.0, 0.1]), Err(BadVector::NotUnit(_))));
        // Near 1 the server decides.
        assert_eq!(of("dot_product").check(&[1.000_5, 0.0]), Ok(()));
        assert_eq!(of("max_inner_product").check(&[7.0, 0.0]), Ok(()));
        let unknown = field(json!({"type": "dense_vector"}));
        assert_eq!(unknown.check(&[0.0]), Ok(()));
    }
}
