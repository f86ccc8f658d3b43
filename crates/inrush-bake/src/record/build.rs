//! The records of the engines.

use std::path::PathBuf;

use inrush_node::{Distribution, KnownProduct};
use inrush_sources::StoreOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What builds an index, with its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Build {
    /// A server, the builder.
    Server(ServerRecord),
    /// This process, or others that it gives orders to.
    Native(Box<NativeRecord>),
}

/// The record of a builder, by which a later run finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// The name of the node.
    pub(crate) name: String,
    pub(crate) product: KnownProduct,
    pub(crate) version: String,
    /// The versions to try, the best one first.
    pub(crate) versions: Vec<String>,
    /// The address, from its first start on.
    pub(crate) url: Option<String>,
    /// Whether the user started it. Then it keeps running.
    pub(crate) is_lent: bool,
}

impl ServerRecord {
    /// Product and version for messages.
    pub(crate) fn title(&self) -> String {
        Distribution { product: self.product, version: self.version.clone() }.title()
    }
}

/// The record of a bake without a builder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NativeRecord {
    pub(crate) product: KnownProduct,
    /// The version of the target's oldest node.
    pub(crate) version: String,
    /// Whether the target has the repository for the index without documents, or may have it.
    pub(crate) registered: bool,
    /// Whether the target has the index without documents, or may have it.
    pub(crate) making: bool,
    /// Whether its snapshot is copied.
    pub(crate) copied: bool,
    /// The slots that the index without documents spreads its documents over, once it is made.
    #[serde(default)]
    pub(crate) slots: Option<u32>,
    /// The mapping of the index in that snapshot.
    pub(crate) mapping: Value,
    /// The fields that documents have added to that mapping, as a mapping.
    pub(crate) new_fields: Option<Value>,
    /// The file for dead letters, once the load may have written to it.
    pub(crate) letters: Option<PathBuf>,
    /// The object that is written to an object store in parts, or may be.
    pub(crate) upload: Option<Upload>,
    /// How this machine reaches the object store. There are no secrets among them.
    pub(crate) options: StoreOptions,
    /// Whether other machines build shards, or may have begun to.
    pub(crate) elsewhere: bool,
}

impl NativeRecord {
    /// One that has not begun. `version` is that of the target's oldest node.
    pub(crate) fn new(product: KnownProduct, version: String, options: StoreOptions) -> NativeRecord {
        NativeRecord {
            product,
            version,
            registered: false,
            making: false,
            slots: None,
            copied: false,
            mapping: Value::Null,
            new_fields: None,
            letters: None,
            upload: None,
            options,
            elsewhere: false,
        }
    }
}

/// An object that is written in parts, and not whole yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) id: String,
}
