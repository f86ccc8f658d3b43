//! Index settings: one flat map of texts, as the servers keep them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::error::ServerError;
use crate::pattern;
use crate::product::Flavor;

/// Flat settings. Every name has the prefix `index.`; every value is a text or a list of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, Value>);

/// Settings that can only be set on a new index.
const STATIC: [&str; 18] = [
    "index.number_of_shards",
    "index.number_of_routing_shards",
    "index.codec",
    "index.shard.check_on_startup",
    "index.routing_partition_size",
    "index.soft_deletes.enabled",
    "index.store.type",
    "index.sort.",
    "index.replication.type",
    "index.append_only.enabled",
    "index.mapping.source.mode",
    "index.mode",
    "index.routing_path",
    "index.dimensions",
    "index.time_series.",
    "index.disable_sequence_numbers",
    "index.similarity.",
    "index.knn",
];

/// Static settings that no reopened index takes either.
const FINAL: [&str; 2] = ["index.number_of_shards", "index.mode"];

/// Settings, and prefixes of settings, that may change while the index is open.
const DYNAMIC: [&str; 27] = [
    "index.refresh_interval",
    "index.number_of_replicas",
    "index.auto_expand_replicas",
    "index.translog.",
    "index.merge.",
    "index.blocks.",
    "index.mapping.",
    "index.max_",
    "index.default_pipeline",
    "index.final_pipeline",
    "index.search.",
    "index.routing.",
    "index.priority",
    "index.unassigned.",
    "index.write.wait_for_active_shards",
    "index.indexing.",
    "index.gc_deletes",
    "index.requests.",
    "index.query.",
    "index.hidden",
    "index.lifecycle.",
    "index.plugins.",
    "index.analyze.",
    "index.warmer.",
    "index.flush_after_merge",
    "index.shard_check",
    "index.knn.advanced.",
];

/// Settings that the servers fill in themselves and refuse in a request.
const FILLED_IN: [&str; 4] = ["index.uuid", "index.creation_date", "index.provided_name", "index.version."];

impl Settings {
    /// Reads a settings body, nested or flat, with or without the prefix `index.`. A null stays
    /// null.
    pub(crate) fn parse(body: &Value) -> BTreeMap<String, Value> {
        let mut flat = BTreeMap::new();
        let body = body.get("settings").unwrap_or(body);
        flatten("", body, &mut flat);
        flat.into_iter()
            .map(|(name, value)| {
                let name = if name == "index" || name.starts_with("index.") { name } else { format!("index.{name}") };
                (name, value)
            })
            .collect()
    }

    /// The value of a setting that was set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The texts of a list; one text is a list of one.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(_) | None => Vec::new(),
        }
    }

    /// True if a switch, such as a block, is set to true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// A number, or the server's default.
    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        self.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Sets a value without any check, as the server does for settings that it fills in.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), Value::String(value.into()));
    }

    /// Removes a value without any check.
    pub(crate) fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Adds the settings of a new index.
    ///
    /// # Errors
    ///
    /// 400 for an unknown setting or a value that does not fit it.
    pub(crate) fn create(&mut self, flavor: &Flavor, given: BTreeMap<String, Value>) -> Result<(), ServerError> {
        for (name, value) in given {
            check_name(flavor, &name)?;
            if name == "index.number_of_shards"
                && value.as_str().and_then(|n| n.parse::<u32>().ok()).is_none_or(|n| n == 0)
            {
                return Err(ServerError::illegal_argument(format!(
                    "Failed to parse value [{}] for setting [{name}] must be >= 1",
                    value.as_str().unwrap_or_default()
                )));
            }
            check_value(&name, &value)?;
            if !value.is_null() {
                self.0.insert(name, value);
            }
        }
        Ok(())
    }

    /// `PUT _settings`: a null removes the setting.
    ///
    /// # Errors
    ///
    /// 400 for an unknown setting, and for a static one while the index is open; no setting changes
    /// then.
    pub(crate) fn update(
        &mut self,
        flavor: &Flavor,
        given: BTreeMap<String, Value>,
        index: &str,
        open: bool,
    ) -> Result<(), ServerError> {
        for (name, value) in &given {
            check_name(flavor, name)?;
            check_value(name, value)?;
            if open && is_static(name) {
                return Err(not_dynamic(flavor, name, index));
            }
        }
        for (name, value) in given {
            if value.is_null() {
                self.0.remove(&name);
            } else {
                self.0.insert(name, value);
            }
        }
        Ok(())
    }

    /// Sets the number of replicas to that of `index.auto_expand_replicas`, where that is set.
    pub(crate) fn expand_replicas(&mut self, data_nodes: usize) {
        let Some((from, to)) = self.get("index.auto_expand_replicas").and_then(|range| range.split_once('-')) else {
            return;
        };
        let others = data_nodes.saturating_sub(1);
        let most = if to == "all" { others } else { to.parse().unwrap_or(others) };
        let replicas = others.min(most).max(from.parse().unwrap_or(0));
        self.set("index.number_of_replicas", replicas.to_string());
    }

    /// The settings as `GET _settings` shows them: nested, or flat with `flat_settings=true`.
    /// `names` are patterns of the settings to show.
    pub(crate) fn show(&self, flat: bool, names: Option<&[&str]>) -> Value {
        let shown = self
            .0
            .iter()
            .filter(|(name, _)| names.is_none_or(|names| names.iter().any(|pattern| pattern::matches(pattern, name))));
        if flat {
            Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect())
        } else {
            nest(shown)
        }
    }

    /// The settings that `include_defaults=true` adds: those that loaders look at.
    pub(crate) fn show_defaults(&self, flavor: &Flavor, flat: bool) -> Value {
        let flush = if flavor.is_elasticsearch_8() { "10gb" } else { "512mb" };
        let of_modes = [
            ("index.mapping.source.mode", if self.rebuilds_source() { "SYNTHETIC" } else { "STORED" }),
            ("index.disable_sequence_numbers", if self.hides_seq_nos() { "true" } else { "false" }),
        ];
        let of_modes = of_modes.into_iter().filter(|_| flavor.is_elasticsearch_9());
        let of_vectors = ("index.mapping.exclude_source_vectors", "true");
        let of_vectors = flavor.excludes_source_vectors().then_some(of_vectors);
        let defaults = [
            ("index.refresh_interval", "1s"),
            ("index.number_of_replicas", "1"),
            ("index.auto_expand_replicas", "false"),
            ("index.translog.durability", "REQUEST"),
            ("index.translog.sync_interval", "5s"),
            ("index.translog.flush_threshold_size", flush),
            ("index.merge.scheduler.auto_throttle", "true"),
            ("index.mapping.total_fields.limit", "1000"),
            ("index.blocks.write", "false"),
            ("index.codec", "default"),
        ];
        let unset: BTreeMap<String, Value> = defaults
            .into_iter()
            .chain(of_modes)
            .chain(of_vectors)
            .filter(|(name, _)| !self.0.contains_key(*name))
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        if flat { unset.into_iter().collect() } else { nest(unset.iter()) }
    }
}

/// The error of a setting that cannot change while the index is open.
fn not_dynamic(flavor: &Flavor, name: &str, index: &str) -> ServerError {
    let (settings, advice) = if flavor.is_elasticsearch_9() {
        let advice = if FINAL.contains(&name) {
            format!(". The setting(s) [[{name}]] cannot be modified on an index once it is created")
        } else {
            ". You can either resubmit the update with `?reopen=true`, or create a new index".to_owned()
        };
        ("setting(s)", advice)
    } else if flavor.is_elasticsearch_8() {
        let advice = " unless the `reopen` query parameter is set to true. Alternatively, close the indices, apply the settings changes, and reopen the indices";
        ("settings", advice.to_owned())
    } else {
        ("settings", String::new())
    };
    ServerError::illegal_argument(format!(
        "Can't update non dynamic {settings} [[{name}]] for open indices [[{index}]]{advice}"
    ))
}

/// Flattens nested settings below `prefix` into `flat`.
pub(crate) fn flatten(prefix: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&path, value, flat);
            }
        }
        other => {
            flat.insert(prefix.to_owned(), as_text(other));
        }
    }
}

/// A value as text, as the servers keep all values.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(_) => value.clone(),
        Value::Array(items) => Value::Array(items.iter().map(as_text).collect()),
        other => Value::String(other.to_string()),
    }
}

/// Nests flat settings. Where a name is both a value and a prefix, the servers keep its point:
/// `{"knn": "true", "knn.advanced": {…}}`.
pub(crate) fn nest<'a>(settings: impl Iterator<Item = (&'a String, &'a Value)>) -> Value {
    let mut root = Map::new();
    for (name, value) in settings {
        let mut target = &mut root;
        let mut key = String::new();
        let mut parts = name.split('.').peekable();
        while let Some(part) = parts.next() {
            key.push_str(part);
            if parts.peek().is_none() {
                target.insert(key, value.clone());
                break;
            }
            if target.get(&key).is_some_and(|there| !there.is_object()) {
                key.push('.');
                continue;
            }
            let next = target.entry(std::mem::take(&mut key)).or_insert_with(|| json!({}));
            match next {
                Value::Object(next) => target = next,
                _ => break,
            }
        }
    }
    Value::Object(root)
}

fn is_static(name: &str) -> bool {
    STATIC.iter().any(|known| name == *known || (known.ends_with('.') && name.starts_with(known)))
}

fn check_name(flavor: &Flavor, name: &str) -> Result<(), ServerError> {
    let known = is_static(name)
        || name.starts_with("index.analysis.")
        || DYNAMIC.iter().any(|known| name == *known || (known.ends_with(['.', '_']) && name.starts_with(known)));
    if known {
        return Ok(());
    }
    let kind = if flavor.is_elasticsearch() { "illegal_argument_exception" } else { "settings_exception" };
    if FILLED_IN.iter().any(|filled| name.starts_with(filled)) {
        return Err(ServerError::new(400, kind, format!("private index setting [{name}] can not be set explicitly")));
    }
    Err(ServerError::new(
        400,
        kind,
        format!(
            "unknown setting [{name}] please check that any required plugins are installed, or check the breaking changes documentation for removed settings"
        ),
    ))
}

/// The servers' limit of shards in one index.
const SHARDS_MAX: u32 = 1024;

fn check_value(name: &str, value: &Value) -> Result<(), ServerError> {
    let Some(text) = value.as_str() else {
        return Ok(());
    };
    let fits = match name {
        "index.number_of_replicas" => text.parse::<u32>().is_ok(),
        "index.number_of_shards" => text.parse::<u32>().is_ok_and(|shards| shards <= SHARDS_MAX),
        "index.refresh_interval" | "index.translog.sync_interval" => is_duration(text),
        "index.translog.durability" => {
            matches!(text.to_ascii_lowercase().as_str(), "request" | "async")
        }
        _ => true,
    };
    if fits {
        Ok(())
    } else {
        Err(ServerError::illegal_argument(format!("failed to parse value [{text}] for setting [{name}]")))
    }
}

fn is_duration(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    match unit {
        "" => matches!(digits, "-1" | "0"),
        "nanos" | "micros" | "ms" | "s" | "m" | "h" | "d" => digits.parse::<f64>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_texts_and_a_null_removes_one() {
        let flavor = Flavor::opensearch_3();
        let mut settings = Settings::default();
        let given = json!({"settings": {"number_of_shards": 2, "index": {"refresh_interval": "5s"}, "index.translog.durability": "async"}});
        settings.create(&flavor, Settings::parse(&given)).expect("create");
        assert_eq!(
            settings.show(false, None),
            json!({"index": {"number_of_shards": "2", "refresh_interval": "5s", "translog": {"durability": "async"}}})
        );
        let null = Settings::parse(&json!({"index": {"refresh_interval": null}}));
        settings.update(&flavor, null, "i/u", true).expect("update");
        assert_eq!(settings.get("index.refresh_interval"), None);
        let error = settings
            .update(&flavor, Settings::parse(&json!({"number_of_shards": 3})), "i/u", true)
            .expect_err("static");
        assert!(error.reason.starts_with("Can't update non dynamic settings"), "{error:?}");
        let error = settings.update(&flavor, Settings::parse(&json!({"foo": 3})), "i/u", true).expect_err("unknown");
        assert!(error.reason.starts_with("unknown setting [index.foo]"), "{error:?}");
    }
}
