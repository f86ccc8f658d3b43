//! Options `copy_mapping` and `copy_settings`: a target that is made like the index that is read.

use crate::carry_over::{self, Carried};
use crate::cluster::product::detect;
use crate::cluster::{ClusterInfo, connect};
use crate::config::LoadConfig;
use crate::options::OptionError;
use crate::source::index::IndexModel;
use crate::transport::HttpOptions;
use inrush_load::LoadError;

/// What the target is to be made like, if it is not there yet.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) info: ClusterInfo,
    pub(super) models: Vec<IndexModel>,
    pub(super) mapping: bool,
    pub(super) settings: bool,
}

impl Model {
    /// Puts mapping and settings into the configuration, as far as the target takes them, and says what it
    /// does not.
    ///
    /// # Errors
    /// The target does not answer, or several indices that are read differ.
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
            let model = carry_over::common(&self.models, "mappings", |model| &model.mappings)
                .map_err(|why| differ("copy_mapping", why))?;
            let Carried { value, notes } = carry_over::mapping(&model.mappings, &self.info, &to);
            tell("copy_mapping", &notes);
            config.create.mapping = Some(value);
        }
        if self.settings {
            let carried = |model: &IndexModel| carry_over::settings(&model.settings, &self.info, &to);
            let model =
                carry_over::common(&self.models, "settings", carried).map_err(|why| differ("copy_settings", why))?;
            let Carried { value, notes } = carried(model);
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
