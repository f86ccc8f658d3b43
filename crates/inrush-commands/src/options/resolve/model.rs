//! A target with the mapping and settings of the source index: by option `copy_mapping` and option
//! `copy_settings`, or by default.

use crate::copy::{self, Copied};
use crate::options::OptionError;
use inrush_cluster::api::like::says_anything;
use inrush_cluster::api::product::detect;
use inrush_cluster::api::{ClusterInfo, TargetKind, aliases, index, templates};
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_load::loader::connect;
use inrush_sources::index::IndexModel;
use serde_json::{Map, Value};

/// The model for the target, if the target does not exist yet.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) info: ClusterInfo,
    pub(super) models: Vec<IndexModel>,
    pub(super) mapping: bool,
    pub(super) settings: bool,
    /// Mapping and settings are copied where the target is a new index and nothing else gives them.
    pub(super) by_default: bool,
}

impl Model {
    /// Adds mapping and settings to the configuration, as far as the target supports them, and
    /// notes the parts that it does not get.
    ///
    /// # Errors
    /// The target does not answer, or several source indices differ.
    pub async fn copy(self, config: &mut LoadConfig) -> Result<(), LoadError> {
        let first = config.create.notes.len();
        if self.by_default {
            match self.copy_where_possible(config).await {
                // A user who may not look may load all the same.
                Err(LoadError::Cluster(error)) if error.cannot_be_asked() => {
                    config.create.notes.push(format!("the mapping and settings of the source are not copied: {error}"));
                }
                done => done?,
            }
        } else {
            let transport = connect(config).await?;
            let to = detect(&transport).await?;
            self.copy_as_asked(&to, config)?;
        }
        for note in &config.create.notes[first..] {
            tracing::warn!("{note}");
        }
        Ok(())
    }

    fn copy_as_asked(&self, to: &ClusterInfo, config: &mut LoadConfig) -> Result<(), LoadError> {
        let differ = |name: &'static str, why: String| {
            OptionError::conflict(format!("option `{name}`: {why}"))
                .of(name)
                .hint("load one index at a time, or give a file of your own")
        };
        if self.mapping {
            let model = copy::common(&self.models, "mappings", |model| &model.mappings)
                .map_err(|why| differ("copy_mapping", why))?;
            let Copied { value, notes } = copy::mapping(&model.mappings, &self.info, to);
            config.create.notes.extend(notes.iter().map(|note| format!("option `copy_mapping`: {note}")));
            config.create.mapping = Some(value);
            config.create.mapping_of = Some(of(model));
        }
        if self.settings {
            let carried = |model: &IndexModel| copy::settings(&model.settings, &self.info, to);
            let model = copy::common(&self.models, "settings", carried).map_err(|why| differ("copy_settings", why))?;
            let Copied { value, notes } = carried(model);
            config.create.notes.extend(notes.iter().map(|note| format!("option `copy_settings`: {note}")));
            config.create.settings = Some(value);
            config.create.settings_of = Some(of(model));
        }
        let not_copied = [("mapping", self.mapping), ("settings", self.settings)];
        let mut left: Vec<String> =
            not_copied.into_iter().filter(|(_, copied)| !copied).map(|(what, _)| what.to_owned()).collect();
        left.extend(self.aliases());
        self.note_left(&left, config);
        Ok(())
    }

    async fn copy_where_possible(&self, config: &mut LoadConfig) -> Result<(), LoadError> {
        let transport = &connect(config).await?;
        let to = &detect(transport).await?;
        let Some(mut name) = config.index.fixed().map(str::to_owned) else {
            self.note_left(&["mapping".to_owned(), "settings".to_owned()], config);
            return Ok(());
        };
        if !is_new(transport, &name, config).await? {
            return Ok(());
        }
        if config.finish.swap.as_ref().is_some_and(|swap| swap.alias == name) {
            // The load adds the time.
            name.push_str("-0");
        }
        // A user who may not read templates may create indices all the same.
        let given = templates::given(transport, &name).await.unwrap_or_default();
        let mut left = Vec::new();
        if config.create.mapping.is_none() && !says_anything(&given.mappings) {
            match copy::common(&self.models, "mappings", |model| &model.mappings) {
                Ok(model) => {
                    let Copied { value, notes } = copy::mapping(&model.mappings, &self.info, to);
                    config.create.notes.extend(notes.iter().map(|note| format!("copying the mapping: {note}")));
                    config.create.mapping = Some(value);
                    config.create.mapping_of = Some(of(model));
                }
                Err(why) => left.push(format!("mapping ({why})")),
            }
        }
        let carried = |model: &IndexModel| copy::settings(&model.settings, &self.info, to);
        if config.create.settings.is_none() && !to.serverless {
            match copy::common(&self.models, "settings", carried) {
                Ok(model) => {
                    let Copied { value, notes } = carried(model);
                    config.create.notes.extend(notes.iter().map(|note| format!("copying the settings: {note}")));
                    config.create.settings = Some(without(value, &templates::flat(&given.settings)));
                    config.create.settings_of = Some(of(model));
                }
                Err(why) => left.push(format!("settings ({why})")),
            }
        } else if config.create.settings.is_none() {
            left.push("settings".to_owned());
        }
        left.extend(self.aliases());
        self.note_left(&left, config);
        Ok(())
    }

    fn note_left(&self, left: &[String], config: &mut LoadConfig) {
        if let (false, Some(first)) = (left.is_empty(), self.models.first()) {
            let more = if self.models.len() > 1 { " and others" } else { "" };
            config.create.notes.push(format!("not copied of {}{more}: {}", first.name, left.join("; ")));
        }
    }

    /// The aliases of the source indices, as text.
    fn aliases(&self) -> Option<String> {
        let mut names: Vec<&str> = self.models.iter().flat_map(|model| &model.aliases).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then(|| format!("aliases {}", names.join(", ")))
    }
}

fn of(model: &IndexModel) -> String {
    format!("of {} (source)", model.name)
}

/// Whether the load makes a new index that takes nothing of the one behind an alias.
async fn is_new(transport: &Transport, name: &str, config: &LoadConfig) -> Result<bool, LoadError> {
    if let Some(swap) = &config.finish.swap {
        return match aliases::behind(transport, &swap.alias).await {
            Ok(behind) => Ok(behind.is_empty()),
            Err(error) if error.cannot_be_asked() => Ok(false),
            Err(error) => Err(error.into()),
        };
    }
    let found = index::resolve(transport, name).await?;
    Ok(match found.kind {
        TargetKind::Missing { .. } => !found.is_data_stream(),
        TargetKind::Index(_) => config.create.recreate,
        TargetKind::Alias { .. } | TargetKind::DataStream { .. } | TargetKind::Hidden => false,
    })
}

/// The settings that no template has.
fn without(settings: Value, template: &Map<String, Value>) -> Value {
    match settings {
        Value::Object(settings) => {
            Value::Object(settings.into_iter().filter(|(name, _)| !template.contains_key(name)).collect())
        }
        other => other,
    }
}
