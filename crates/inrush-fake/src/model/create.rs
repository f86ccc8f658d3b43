//! Creation of indices and data streams.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::cluster::{Cluster, DataStream};
use super::index::Index;
use super::mapping::Mapping;
use super::settings::Settings;
use crate::clock::{date_now, millis_now};
use crate::error::ServerError;

impl Cluster {
    /// Creates an index from the body of `PUT /{index}`: `settings`, `mappings` and `aliases`. A
    /// matching template supplies the keys that the body lacks.
    ///
    /// # Errors
    ///
    /// 400 for an invalid or existing name, an unknown setting, or a malformed mapping.
    pub(crate) fn create_index(&mut self, name: &str, body: &Value) -> Result<(), ServerError> {
        check_index_name(name)?;
        self.check_name_is_free(name)?;
        let template = self.template_for(name);
        if let Some((template_name, template)) = &template
            && template.get("data_stream").is_some()
            && !name.starts_with(".ds-")
        {
            return Err(ServerError::illegal_argument(format!(
                "cannot create index with name [{name}], because it matches with template [{template_name}] that creates data streams only, use create data stream api instead"
            )));
        }
        let template = match template {
            Some((_, template)) => template.get("template").cloned().unwrap_or_default(),
            None if name.starts_with(".ds-") => Value::Null,
            None => self.legacy_for(name),
        };
        let uuid = self.new_uuid();
        let settings = self.settings_of_new_index(name, &uuid, &template, body)?;
        let mut mapping = Mapping::new(template.get("mappings").unwrap_or(&json!({})))?;
        mapping.put(body.get("mappings").unwrap_or(&json!({})))?;
        let mut aliases: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for source in [template.get("aliases"), body.get("aliases")] {
            for (alias, options) in source.and_then(Value::as_object).into_iter().flatten() {
                aliases.insert(alias.clone(), options.as_object().cloned().unwrap_or_default());
            }
        }
        self.indices.insert(name.to_owned(), Index::new(uuid, settings, mapping, aliases));
        Ok(())
    }

    fn check_name_is_free(&self, name: &str) -> Result<(), ServerError> {
        if let Some(index) = self.indices.get(name) {
            let reason = format!("index [{name}/{}] already exists", index.uuid);
            return Err(ServerError::new(400, "resource_already_exists_exception", reason)
                .with("index_uuid", index.uuid.clone())
                .with("index", name));
        }
        let other = match (self.data_streams.contains_key(name), self.has_alias(name)) {
            (true, _) => "data stream",
            (false, true) => "alias",
            (false, false) => return Ok(()),
        };
        let reason = format!("Invalid index name [{name}], already exists as {other}");
        Err(ServerError::new(400, "invalid_index_name_exception", reason).with("index", name))
    }

    fn settings_of_new_index(
        &self,
        name: &str,
        uuid: &str,
        template: &Value,
        body: &Value,
    ) -> Result<Settings, ServerError> {
        let mut given = Settings::parse(template.get("settings").unwrap_or(&json!({})));
        given.extend(Settings::parse(body.get("settings").unwrap_or(&json!({}))));
        let mut settings = Settings::default();
        settings.set("index.number_of_shards", "1");
        settings.set("index.number_of_replicas", "1");
        if self.flavor.is_elasticsearch() {
            settings.set("index.routing.allocation.include._tier_preference", "data_content");
        } else {
            settings.set("index.replication.type", "DOCUMENT");
        }
        settings.create(&self.flavor, given)?;
        settings.expand_replicas(self.nodes);
        settings.set("index.uuid", uuid);
        settings.set("index.creation_date", millis_now().to_string());
        settings.set("index.provided_name", name);
        settings.set("index.version.created", self.flavor.index_version());
        Ok(settings)
    }

    /// Creates a data stream with its first backing index.
    ///
    /// # Errors
    ///
    /// 400 for an existing data stream, or without a matching template that has `data_stream`.
    pub(crate) fn create_data_stream(&mut self, name: &str) -> Result<(), ServerError> {
        if self.data_streams.contains_key(name) {
            return Err(ServerError::new(
                400,
                "resource_already_exists_exception",
                format!("data_stream [{name}] already exists"),
            ));
        }
        let Some((template, body)) = self.template_for(name).filter(|(_, body)| body.get("data_stream").is_some())
        else {
            return Err(ServerError::illegal_argument(format!(
                "no matching index template found for data stream [{name}]"
            )));
        };
        let backing = self.create_backing_index(name, 1, &body)?;
        self.data_streams.insert(name.to_owned(), DataStream { indices: vec![backing], template });
        Ok(())
    }

    /// Creates the next backing index of a data stream, which takes the writes from then on.
    /// Returns the names of the old and the new one.
    ///
    /// # Errors
    ///
    /// 400 for a missing data stream.
    pub(crate) fn roll_over(&mut self, name: &str) -> Result<(String, String), ServerError> {
        let missing = || ServerError::illegal_argument(format!("rollover target [{name}] does not exist"));
        let stream = self.data_streams.get(name).ok_or_else(missing)?;
        let (template, generation) = (stream.template.clone(), stream.indices.len() + 1);
        let old = stream.indices.last().cloned().ok_or_else(missing)?;
        let body = self.templates.get(&template).cloned().unwrap_or_default();
        let new = self.create_backing_index(name, generation, &body)?;
        if let Some(stream) = self.data_streams.get_mut(name) {
            stream.indices.push(new.clone());
        }
        Ok((old, new))
    }

    fn create_backing_index(&mut self, name: &str, generation: usize, body: &Value) -> Result<String, ServerError> {
        let backing = if self.flavor.is_elasticsearch() {
            format!(".ds-{name}-{}-{generation:06}", date_now())
        } else {
            format!(".ds-{name}-{generation:06}")
        };
        let template_body = body.get("template").cloned().unwrap_or_default();
        self.create_index(&backing, &template_body)?;
        if let Some(index) = self.indices.get_mut(&backing) {
            index.mapping.put(&json!({
                "_data_stream_timestamp": {"enabled": true},
                "properties": {"@timestamp": {"type": "date"}}
            }))?;
            index.settings.set("index.hidden", "true");
        }
        Ok(backing)
    }
}

/// Refuses a name that no index can have.
pub(super) fn check_index_name(name: &str) -> Result<(), ServerError> {
    let complaint = if name.is_empty() {
        "must not be empty"
    } else if name.chars().any(char::is_uppercase) {
        "must be lowercase"
    } else if name.starts_with(['_', '-', '+']) {
        "must not start with '_', '-', or '+'"
    } else if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#']) {
        "must not contain the following characters [ , \", *, \\, <, |, ,, >, /, ?]"
    } else if name.len() > 255 {
        "index name is too long"
    } else if name.contains(':') {
        "must not contain ':'"
    } else {
        return Ok(());
    };
    Err(ServerError::new(400, "invalid_index_name_exception", format!("Invalid index name [{name}], {complaint}"))
        .with("index_uuid", "_na_")
        .with("index", name))
}
