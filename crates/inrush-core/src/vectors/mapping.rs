//! The mapping of vectors that documents were seen to have, by product and version.

use std::fmt;

use serde_json::{Value, json};

use crate::product::KnownProduct;

/// How far the squared length of a vector of length 1 is from 1. Elasticsearch takes up to 0.001.
const UNIT_MAX: f64 = 1e-4;

/// A field that is a vector in all documents that were looked at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenVector {
    /// The names on its path.
    pub names: Vec<String>,
    /// Numbers in each list.
    pub dims: usize,
    /// The least and the most squared length.
    pub squares: (f64, f64),
}

/// A server that is to get a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorServer {
    /// The product.
    pub product: KnownProduct,
    /// Major and minor version. `None` stands for the newest.
    pub version: Option<(u32, u32)>,
}

impl fmt::Display for VectorServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.product {
            KnownProduct::OpenSearch => "OpenSearch",
            KnownProduct::Elasticsearch => "Elasticsearch",
        })?;
        self.version.map_or(Ok(()), |(major, minor)| write!(f, " {major}.{minor}"))
    }
}

/// What vectors are compared by, of the names that Elasticsearch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Product,
    Angle,
    Distance,
}

impl SeenVector {
    /// A vector of these names.
    pub fn new(names: Vec<String>, dims: usize, squares: (f64, f64)) -> Self {
        SeenVector { names, dims, squares }
    }

    /// The path of the field.
    pub fn path(&self) -> String {
        self.names.join(".")
    }

    /// What the lengths that were seen let the vectors be compared by.
    fn by(&self) -> By {
        let (least, most) = self.squares;
        match () {
            () if least >= 1.0 - UNIT_MAX && most <= 1.0 + UNIT_MAX => By::Product,
            // As float32 the square of such a vector is 0, and it has no direction.
            () if least < f64::from(f32::MIN_POSITIVE) => By::Distance,
            () => By::Angle,
        }
    }

    /// The lengths that were seen, for a note.
    pub fn lengths(&self) -> &'static str {
        match self.by() {
            By::Product => "all of length 1",
            By::Angle => "of several lengths",
            By::Distance => "some of them zero",
        }
    }

    /// The definition of the field.
    ///
    /// # Errors
    /// Why the server has none for it.
    pub fn definition(&self, server: VectorServer) -> Result<Value, String> {
        let version = server.version.unwrap_or((u32::MAX, 0));
        match server.product {
            KnownProduct::Elasticsearch => self.dense_vector(server, version),
            KnownProduct::OpenSearch => self.knn_vector(server, version),
        }
    }

    fn dense_vector(&self, server: VectorServer, version: (u32, u32)) -> Result<Value, String> {
        let dims_max = match version {
            (..=6, _) | (7, ..=5) => return Err(format!("{server} has no vectors of this kind")),
            (7, _) | (8, 8..=10) => 2048,
            (8, ..=7) => 1024,
            _ => 4096,
        };
        if self.dims > dims_max {
            return Err(format!("{server} takes {dims_max} dimensions at most"));
        }
        let similarity = match self.by() {
            By::Product => "dot_product",
            By::Angle => "cosine",
            By::Distance => "l2_norm",
        };
        Ok(match version {
            (7, _) => json!({"type": "dense_vector", "dims": self.dims}),
            (8, ..=10) => json!({"type": "dense_vector", "dims": self.dims, "index": true, "similarity": similarity}),
            _ => json!({"type": "dense_vector", "dims": self.dims, "similarity": similarity}),
        })
    }

    /// The engine is named: faiss, the default, ends a node that lacks its libraries.
    fn knn_vector(&self, server: VectorServer, version: (u32, u32)) -> Result<Value, String> {
        if version < (2, 2) {
            return Err(format!("{server} has no vectors of the engine `lucene`"));
        }
        let space = match self.by() {
            By::Product if version >= (2, 13) => "innerproduct",
            By::Product | By::Angle => "cosinesimil",
            By::Distance => "l2",
        };
        let method = json!({"name": "hnsw", "engine": "lucene", "space_type": space});
        Ok(json!({"type": "knn_vector", "dimension": self.dims, "method": method}))
    }
}

/// Gives the fields of `mapping` that are vectors the types of the server. Returns for each field
/// that keeps its type its path, and why.
pub fn upgrade(mapping: &mut Value, vectors: &[SeenVector], server: VectorServer) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for vector in vectors {
        let definition = vector.definition(server);
        match (place(mapping, &vector.names), definition) {
            (Some(place), Ok(definition)) => *place = definition,
            (Some(_), Err(why)) => kept.push((vector.path(), why)),
            (None, _) => {}
        }
    }
    kept
}

/// The definition of the field of these names.
fn place<'m>(mapping: &'m mut Value, names: &[String]) -> Option<&'m mut Value> {
    names.iter().try_fold(mapping, |above, name| above.get_mut("properties")?.get_mut(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elasticsearch(major: u32, minor: u32) -> VectorServer {
        VectorServer { product: KnownProduct::Elasticsearch, version: Some((major, minor)) }
    }

    fn opensearch(major: u32, minor: u32) -> VectorServer {
        VectorServer { product: KnownProduct::OpenSearch, version: Some((major, minor)) }
    }

    fn vector(dims: usize, least: f64, most: f64) -> SeenVector {
        SeenVector::new(vec!["v".to_owned()], dims, (least, most))
    }

    #[test]
    fn the_similarity_is_that_of_the_lengths() {
        let of = |least, most| {
            let vector = vector(64, least, most);
            let (dense, knn) = (vector.definition(elasticsearch(9, 5)), vector.definition(opensearch(3, 6)));
            let text = |value: Result<Value, String>, pointer: &str| {
                value.unwrap().pointer(pointer).and_then(Value::as_str).unwrap().to_owned()
            };
            (text(dense, "/similarity"), text(knn, "/method/space_type"))
        };
        let pair = |dense: &str, knn: &str| (dense.to_owned(), knn.to_owned());
        assert_eq!(of(0.999_99, 1.000_01), pair("dot_product", "innerproduct"));
        assert_eq!(of(0.9, 1.0), pair("cosine", "cosinesimil"));
        assert_eq!(of(1.0, 1.01), pair("cosine", "cosinesimil"));
        assert_eq!(of(0.0, 1.0), pair("l2_norm", "l2"));
        assert_eq!(of(1e-44, 1.0), pair("l2_norm", "l2"));
    }

    #[test]
    fn definitions_are_those_that_each_version_takes() {
        let unit = |dims, server| vector(dims, 1.0, 1.0).definition(server);
        let dense = json!({"type": "dense_vector", "dims": 2048, "similarity": "dot_product"});
        assert_eq!(unit(2048, elasticsearch(8, 11)), Ok(dense));
        let told = json!({"type": "dense_vector", "dims": 2048, "index": true, "similarity": "dot_product"});
        assert_eq!(unit(2048, elasticsearch(8, 10)), Ok(told));
        assert!(unit(2048, elasticsearch(8, 7)).unwrap_err().contains("1024 dimensions"));
        assert_eq!(unit(64, elasticsearch(7, 17)), Ok(json!({"type": "dense_vector", "dims": 64})));
        assert!(unit(64, elasticsearch(7, 2)).is_err() && unit(64, opensearch(1, 3)).is_err());
        let space = |server| unit(64, server).unwrap()["method"]["space_type"].clone();
        assert_eq!((space(opensearch(2, 12)), space(opensearch(2, 13))), (json!("cosinesimil"), json!("innerproduct")));
        let newest = VectorServer { product: KnownProduct::Elasticsearch, version: None };
        assert_eq!(unit(4096, newest).unwrap()["dims"], 4096);
    }

    #[test]
    fn a_mapping_gets_the_types_of_the_server_in_their_places() {
        let numbers =
            || json!({"properties": {"v": {"type": "double"}, "o": {"properties": {"w.x": {"type": "double"}}}}});
        let inner = SeenVector::new(vec!["o".into(), "w.x".into()], 64, (1.0, 1.0));
        let gone = SeenVector::new(vec!["o".into(), "gone".into()], 64, (1.0, 1.0));
        let mut mapping = numbers();
        let vectors = [vector(4096, 1.0, 2.0), inner, gone];
        assert_eq!(upgrade(&mut mapping, &vectors, opensearch(3, 6)), []);
        assert_eq!(mapping["properties"]["v"]["type"], "knn_vector");
        assert_eq!(mapping["properties"]["o"]["properties"]["w.x"]["dimension"], 64);
        let mut mapping = numbers();
        let kept = upgrade(&mut mapping, &vectors, elasticsearch(8, 8));
        assert_eq!(kept, [("v".to_owned(), "Elasticsearch 8.8 takes 2048 dimensions at most".to_owned())]);
        assert_eq!(mapping["properties"]["v"]["type"], "double");
        assert_eq!(mapping["properties"]["o"]["properties"]["w.x"]["similarity"], "dot_product");
    }
}
