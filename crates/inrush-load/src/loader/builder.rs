//! The options that most programs set.

use inrush_cluster::transport::{Credentials, TlsOptions};
use inrush_core::{Action, FieldPath, IndexTemplate};

use super::Loader;
use crate::config::LoadConfig;
use crate::error::LoadError;

/// Sets the options of a [`Loader`] that most programs need; the others are fields of [`LoadConfig`].
#[derive(Clone, Debug, Default)]
pub struct LoaderBuilder {
    to: Vec<String>,
    index: Option<String>,
    id: Option<String>,
    action: Action,
    credentials: Option<Credentials>,
    tls: TlsOptions,
    configure: Option<fn(&mut LoadConfig)>,
}

impl LoaderBuilder {
    /// A node of the cluster, such as `http://localhost:9200`; several calls name several nodes.
    #[must_use]
    pub fn to(mut self, url: impl Into<String>) -> Self {
        self.to.push(url.into());
        self
    }

    /// Index, alias or data stream; may hold `{field}` placeholders.
    #[must_use]
    pub fn index(mut self, index: impl Into<String>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// The field that holds the id, as in `id` or `artist.id`. Default: the server makes up ids.
    #[must_use]
    pub fn id(mut self, field: impl Into<String>) -> Self {
        self.id = Some(field.into());
        self
    }

    /// What happens with each document. Default `index`.
    #[must_use]
    pub fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }

    /// How to prove who we are. Default: not at all.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Certificates. Default: the system's roots.
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = tls;
        self
    }

    /// Sets any other option of the configuration, after the ones above.
    #[must_use]
    pub fn configure(mut self, configure: fn(&mut LoadConfig)) -> Self {
        self.configure = Some(configure);
        self
    }

    /// The loader.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that are missing or do not fit together.
    pub fn build(self) -> Result<Loader, LoadError> {
        let index = self.index.ok_or_else(|| LoadError::Usage("no index given".to_owned()))?;
        let mut config = LoadConfig::new(self.to, index.parse::<IndexTemplate>().map_err(LoadError::Usage)?);
        config.id = self.id.map(|id| id.parse::<FieldPath>()).transpose().map_err(LoadError::Usage)?;
        config.action = self.action;
        config.credentials = self.credentials.unwrap_or(Credentials::None);
        config.tls = self.tls;
        if let Some(configure) = self.configure {
            configure(&mut config);
        }
        Loader::new(config)
    }
}
