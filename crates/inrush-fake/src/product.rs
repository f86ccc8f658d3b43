//! The server that a fake imitates: its product, its version and its names for errors.

use std::fmt;
use std::str::FromStr;

use crate::error::ParseError;

/// The family of a server. Both families share the bulk protocol and differ in the names of some
/// errors and in a few endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Product {
    /// OpenSearch.
    OpenSearch,
    /// Elasticsearch.
    Elasticsearch,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Product::OpenSearch => "opensearch",
            Product::Elasticsearch => "elasticsearch",
        })
    }
}

impl FromStr for Product {
    type Err = ParseError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name.to_ascii_lowercase().as_str() {
            "opensearch" => Ok(Product::OpenSearch),
            "elasticsearch" => Ok(Product::Elasticsearch),
            _ => Err(ParseError::new(format!("unknown product {name:?}; expected opensearch or elasticsearch"))),
        }
    }
}

/// A product in one version. The flavor decides the reply to `GET /`, the wording of errors and
/// the endpoints that exist.
///
/// The conformance suite of inrush compares the fake with real servers of the versions in
/// [`Flavor::all`]. Other versions answer as the nearest of them: Elasticsearch 9 and newer as 9.5,
/// 8 as 8.19, 7 as 7.17, every OpenSearch as 3.8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavor {
    product: Product,
    version: String,
}

impl Flavor {
    /// A product in a version such as `3.6.0`.
    pub fn new(product: Product, version: impl Into<String>) -> Self {
        Flavor { product, version: version.into() }
    }

    /// OpenSearch 3.8.0, the newest one.
    pub fn opensearch_3_8() -> Self {
        Flavor::new(Product::OpenSearch, "3.8.0")
    }

    /// OpenSearch 3.6.0, the default.
    pub fn opensearch_3() -> Self {
        Flavor::new(Product::OpenSearch, "3.6.0")
    }

    /// OpenSearch 2.19.6.
    pub fn opensearch_2() -> Self {
        Flavor::new(Product::OpenSearch, "2.19.6")
    }

    /// Elasticsearch 9.5.3, the newest one.
    pub fn elasticsearch_9() -> Self {
        Flavor::new(Product::Elasticsearch, "9.5.3")
    }

    /// Elasticsearch 8.19.21.
    pub fn elasticsearch_8() -> Self {
        Flavor::new(Product::Elasticsearch, "8.19.21")
    }

    /// Elasticsearch 7.17.29.
    pub fn elasticsearch_7() -> Self {
        Flavor::new(Product::Elasticsearch, "7.17.29")
    }

    /// The servers that the fake is compared with.
    pub fn all() -> [Flavor; 6] {
        [
            Flavor::opensearch_3_8(),
            Flavor::opensearch_3(),
            Flavor::opensearch_2(),
            Flavor::elasticsearch_9(),
            Flavor::elasticsearch_8(),
            Flavor::elasticsearch_7(),
        ]
    }

    /// The product.
    pub fn product(&self) -> Product {
        self.product
    }

    /// The version, such as `3.6.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The first number of the version; 0 for a version that does not start with a number.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// True for Elasticsearch.
    pub fn is_elasticsearch(&self) -> bool {
        self.product == Product::Elasticsearch
    }

    /// True for Elasticsearch 8 and newer, which renamed the mapper's errors.
    pub fn is_elasticsearch_8(&self) -> bool {
        self.is_elasticsearch() && self.major() >= 8
    }

    /// True for Elasticsearch 7, the last version that accepted some malformed requests.
    pub fn is_elasticsearch_7(&self) -> bool {
        self.is_elasticsearch() && self.major() == 7
    }

    /// The error type of an item or a request that a full queue or indexing pressure rejected.
    pub fn rejected_type(&self) -> &'static str {
        match self.product {
            Product::OpenSearch => "rejected_execution_exception",
            Product::Elasticsearch => "es_rejected_execution_exception",
        }
    }

    /// The error type of a document that does not fit the mapping or is not a JSON object.
    pub fn mapper_error_type(&self) -> &'static str {
        if self.is_elasticsearch_8() { "document_parsing_exception" } else { "mapper_parsing_exception" }
    }

    /// True for Elasticsearch 9 and newer.
    pub fn is_elasticsearch_9(&self) -> bool {
        self.is_elasticsearch() && self.major() >= 9
    }

    /// `index.version.created` of a new index.
    pub(crate) fn index_version(&self) -> &'static str {
        match self.product {
            Product::OpenSearch => "137277827",
            Product::Elasticsearch if self.is_elasticsearch_9() => "9111000",
            Product::Elasticsearch if self.is_elasticsearch_7() => "7172999",
            Product::Elasticsearch => "8537000",
        }
    }

    /// True where vectors may be base64 of big-endian float32: Elasticsearch 9.3 and newer.
    pub(crate) fn takes_packed_vectors(&self) -> bool {
        self.is_elasticsearch() && self.numbers() >= (9, 3)
    }

    /// True where `_source` comes without vectors unless they are asked for: Elasticsearch 9.2 and
    /// newer.
    pub(crate) fn excludes_source_vectors(&self) -> bool {
        self.is_elasticsearch() && self.numbers() >= (9, 2)
    }

    /// The first two numbers of the version.
    fn numbers(&self) -> (u32, u32) {
        let minor = self.version.split('.').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
        (self.major(), minor)
    }

    /// True where items still carry `_type`: Elasticsearch 7.
    pub(crate) fn has_types(&self) -> bool {
        self.is_elasticsearch_7()
    }
}

impl Default for Flavor {
    fn default() -> Self {
        Flavor::opensearch_3()
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.product, self.version)
    }
}
