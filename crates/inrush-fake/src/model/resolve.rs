//! The index of a write: the request names an index, an alias, a data stream, or a name that is
//! still free.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::create::check_index_name;
use super::op::{Action, Op, VersionType};
use crate::error::ServerError;
use crate::pattern;

/// The index that takes a write.
pub(super) struct Target {
    pub(super) index: String,
    /// The data stream of the index, if it backs one.
    pub(super) data_stream: Option<String>,
}

impl Cluster {
    /// Number of distinct shards that operations with an id or a routing value go to.
    pub(crate) fn shards_of(&self, ops: &[Op]) -> usize {
        let shard = |op: &Op| {
            let key = op.id.as_ref().or(op.routing.as_ref())?;
            let index = self.resolve_existing(op)?;
            Some((self.indices.get(&index)?.placement.shard(key, op.routing.as_deref()), index))
        };
        ops.iter().filter_map(shard).collect::<BTreeSet<_>>().len()
    }

    /// Counts documents without keeping them, for the null server; creates a missing index.
    ///
    /// # Errors
    ///
    /// 400 for a name that cannot be written to.
    pub(crate) fn count_documents(&mut self, name: &str, count: usize) -> Result<(), ServerError> {
        let index = match self.write_index(name)? {
            Some(target) => target.index,
            None => {
                self.create_index(name, &json!({}))?;
                name.to_owned()
            }
        };
        if let Some(index) = self.indices.get_mut(&index) {
            index.live_count += count;
        }
        Ok(())
    }

    /// The index that takes a write, if it exists already.
    pub(crate) fn resolve_existing(&self, op: &Op) -> Option<String> {
        self.write_index(&op.index).ok().flatten().map(|target| target.index)
    }

    /// The index that takes writes to a name; `None` if the name is free.
    pub(super) fn write_index(&self, name: &str) -> Result<Option<Target>, ServerError> {
        if self.indices.contains_key(name) {
            return Ok(Some(Target { index: name.to_owned(), data_stream: self.stream_of(name).cloned() }));
        }
        if let Some(stream) = self.data_streams.get(name) {
            return Ok(stream
                .indices
                .last()
                .map(|index| Target { index: index.clone(), data_stream: Some(name.to_owned()) }));
        }
        let carriers: Vec<(&String, Option<bool>)> = self
            .indices
            .iter()
            .filter_map(|(index, state)| {
                let options = state.aliases.get(name)?;
                Some((index, options.get("is_write_index").and_then(Value::as_bool)))
            })
            .collect();
        let chosen = match carriers.as_slice() {
            [] => return Ok(None),
            [(index, flag)] if *flag != Some(false) => Some(*index),
            many => many.iter().find(|(_, flag)| *flag == Some(true)).map(|(index, _)| *index),
        };
        match chosen {
            Some(index) => Ok(Some(Target { index: index.clone(), data_stream: None })),
            None => Err(ServerError::illegal_argument(format!(
                "no write index is defined for alias [{name}]. The write index may be explicitly disabled using is_write_index=false or the alias points to multiple indices without one being designated as a write index"
            ))),
        }
    }

    /// The index that takes a write. Creates a missing index or data stream where that is allowed.
    pub(super) fn resolve(&mut self, op: &Op) -> Result<Target, ServerError> {
        let name = op.index.as_str();
        if op.require_alias && !self.has_alias(name) {
            let reason = format!(
                "no such index [{name}] and [require_alias] request flag is [true] and [{name}] is not an alias"
            );
            return Err(ServerError::new(404, "index_not_found_exception", reason)
                .with("index_uuid", "_na_")
                .with("index", name));
        }
        if self.denied_indices.iter().any(|denied| pattern::matches(denied, name)) {
            return Err(ServerError::new(
                403,
                "security_exception",
                format!("action [indices:data/write/bulk[s]] is unauthorized for user [test] on indices [{name}]"),
            ));
        }
        if let Some(target) = self.write_index(name)? {
            let stream_needs_create =
                target.data_stream.is_some() && op.action != Action::Create && !name.starts_with(".ds-");
            return if stream_needs_create { Err(create_only()) } else { Ok(target) };
        }
        check_index_name(name)?;
        let resource_type = if self.flavor.is_elasticsearch() { "index_or_alias" } else { "index_expression" };
        if op.action == Action::Delete && op.version_type == VersionType::Internal {
            return Err(ServerError::index_not_found(name, resource_type));
        }
        if !self.auto_create_index {
            let mut error = ServerError::index_not_found(name, resource_type);
            // OpenSearch does not name the setting.
            if self.flavor.is_elasticsearch() {
                error.reason = format!("no such index [{name}] and [action.auto_create_index] is [false]");
            }
            return Err(error);
        }
        if self.template_for(name).is_some_and(|(_, template)| template.get("data_stream").is_some()) {
            if op.action != Action::Create {
                return Err(create_only());
            }
            self.create_data_stream(name)?;
        } else {
            self.create_index(name, &json!({}))?;
        }
        self.write_index(name)?.ok_or_else(|| ServerError::index_not_found(name, resource_type))
    }
}

fn create_only() -> ServerError {
    ServerError::illegal_argument("only write ops with an op_type of create are allowed in data streams")
}
