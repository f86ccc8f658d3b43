//! The two products.

use serde::{Deserialize, Serialize};

/// The product of a server that is known: indices are built for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownProduct {
    /// OpenSearch.
    #[default]
    OpenSearch,
    /// Elasticsearch.
    Elasticsearch,
}
