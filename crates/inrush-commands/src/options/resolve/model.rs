//! Options `copy_mapping` and `copy_settings`: a target with the mapping and settings of the source
//! index.

use crate::copy::{self, Copied};
use crate::options::OptionError;
use inrush_cluster::api::product::detect;
use inrush_cluster::api::{ClusterInfo, connect};
use inrush_cluster::transport::HttpOptions;
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_sources::index::IndexModel;

/// The model for the target, if the target does not exist yet.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) info: ClusterInfo,
    pub(super) models: Vec<IndexModel>,
    pub(super) mapping: bool,
    pub(super) settings: bool,
}

impl Model {
    /// Adds mapping and settings to the configuration, as far as the target supports them, and logs
    /// the parts that it does not support.
    ///
    /// # Errors
    /// The target does not answer, or several source indices differ.
    pub async fn copy(self, config: &mut LoadConfig) -> Result<(), LoadError> {
        let http = HttpOptions {
            request_timeout: config.limits.request_timeout,
            tls: config.tls.clone(),
            ..HttpOptions::default()
        };
        let transport = connect(&config.to, config.credentials.clone(), &http).await?;
        let to = detect(&transport).await?;
        let differ = |name: &'static str, why: String| {
            OptionError::conflict(format!("option `{name}`: {why}"))
                .of(name)
                .hint("load one index at a time, or give a file of your own")
        };
        if self.mapping {
            let model = copy::common(&self.models, "mappings", |model| &model.mappings)
                .map_err(|why| differ("copy_mapping", why))?;
            let Copied { value, notes } = copy::mapping(&model.mappings, &self.info, &to);
            tell("copy_mapping", &notes);
            config.create.mapping = Some(value);
        }
        if self.settings {
            let carried = |model: &IndexModel| copy::settings(&model.settings, &self.info, &to);
            let model = copy::common(&self.models, "settings", carried).map_err(|why| differ("copy_settings", why))?;
            let Copied { value, notes } = carried(model);
            tell("copy_settings", &notes);
            config.create.settings = Some(value);
        }
        Ok(())
    }
}

fn tell(name: &str, notes: &[String]) {
    for note in notes {
        tracing::warn!("option `{name}`: {note}");
    }
}
