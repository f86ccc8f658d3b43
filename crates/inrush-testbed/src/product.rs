//! Which server the fake imitates, and what that server calls things.

use std::fmt;
use std::str::FromStr;

/// The two families of servers. They share the bulk protocol and differ in the names of some errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s.to_ascii_lowercase().as_str() {
            "opensearch" => Ok(Product::OpenSearch),
            "elasticsearch" => Ok(Product::Elasticsearch),
            other => Err(format!("unknown product {other:?}; expected opensearch or elasticsearch")),
        }
    }
}

/// A product in one version: what the fake answers on `GET /`, and how it words its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavor {
    /// The family.
    pub product: Product,
    /// The version, such as `3.6.0`.
    pub version: String,
}

impl Flavor {
    /// A product in a version.
    pub fn new(product: Product, version: impl Into<String>) -> Self {
        Flavor { product, version: version.into() }
    }

    /// OpenSearch 3.6.0, the default.
    pub fn opensearch_3() -> Self {
        Flavor::new(Product::OpenSearch, "3.6.0")
    }

    /// OpenSearch 2.19.6.
    pub fn opensearch_2() -> Self {
        Flavor::new(Product::OpenSearch, "2.19.6")
    }

    /// Elasticsearch 8.19.21.
    pub fn elasticsearch_8() -> Self {
        Flavor::new(Product::Elasticsearch, "8.19.21")
    }

    /// Elasticsearch 7.17.29.
    pub fn elasticsearch_7() -> Self {
        Flavor::new(Product::Elasticsearch, "7.17.29")
    }

    /// The four servers the conformance suite is held against.
    pub fn all() -> [Flavor; 4] {
        [Flavor::opensearch_3(), Flavor::opensearch_2(), Flavor::elasticsearch_8(), Flavor::elasticsearch_7()]
    }

    /// The first number of the version; 0 where it cannot be read.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// Whether this is Elasticsearch.
    pub fn is_elasticsearch(&self) -> bool {
        self.product == Product::Elasticsearch
    }

    /// Elasticsearch 8 and later, which renamed the mapper's errors.
    pub fn is_elasticsearch_8(&self) -> bool {
        self.is_elasticsearch() && self.major() >= 8
    }

    /// Elasticsearch 7, the last that took some malformed requests.
    pub fn is_elasticsearch_7(&self) -> bool {
        self.is_elasticsearch() && self.major() == 7
    }

    /// Item and request rejections by a full queue or by indexing pressure.
    pub fn rejected_type(&self) -> &'static str {
        match self.product {
            Product::OpenSearch => "rejected_execution_exception",
            Product::Elasticsearch => "es_rejected_execution_exception",
        }
    }

    /// A document that does not fit the mapping, or is no JSON object.
    pub fn mapper_error_type(&self) -> &'static str {
        if self.is_elasticsearch_8() { "document_parsing_exception" } else { "mapper_parsing_exception" }
    }

    /// Items of Elasticsearch 7 still carry `_type`.
    pub fn has_types(&self) -> bool {
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
