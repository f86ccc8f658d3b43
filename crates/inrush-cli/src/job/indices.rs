//! `[[indices]]`: what new indices of some names get.

use std::path::Path;

use inrush::config::IndexPattern;
use serde::Deserialize;

use super::values::body;

/// An entry of `[[indices]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexEntry {
    pattern: String,
    mapping: Option<toml::Value>,
    settings: Option<toml::Value>,
    shards: Option<u32>,
    replicas: Option<u32>,
}

pub(super) fn index_patterns(value: toml::Value, folder: Option<&Path>) -> Result<Vec<IndexPattern>, String> {
    let toml::Value::Array(entries) = value else {
        return Err("expected tables, written as [[indices]]".to_owned());
    };
    entries.into_iter().map(|entry| index_pattern(entry, folder)).collect()
}

fn index_pattern(value: toml::Value, folder: Option<&Path>) -> Result<IndexPattern, String> {
    let entry: IndexEntry = value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if entry.shards == Some(0) {
        return Err(format!("pattern {:?}: shards must be at least 1", entry.pattern));
    }
    let name = |problem| format!("pattern {:?}: {problem}", entry.pattern);
    Ok(IndexPattern {
        mapping: body(entry.mapping, "mappings", folder).map_err(name)?,
        settings: body(entry.settings, "settings", folder).map_err(name)?,
        shards: entry.shards,
        replicas: entry.replicas,
        pattern: entry.pattern,
    })
}
