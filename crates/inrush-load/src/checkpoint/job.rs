//! The identity of a load in a checkpoint, and the options that must not change between its runs.

use std::collections::BTreeMap;
use std::fmt::Debug;

use inrush_cluster::transport::NodeUrl;
use inrush_core::Action;
use inrush_sources::{Fingerprint, Source, SourceError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{IdFrom, LoadConfig};

/// Name of the option that describes how the sources are read.
const READING: &str = "how the sources are read";

/// Nodes of the cluster, sorted, without credentials.
pub(crate) fn cluster_names(config: &LoadConfig) -> Vec<String> {
    // The transport has checked the addresses. An address that cannot be parsed is kept as text.
    let name = |url: &String| NodeUrl::parse(url).map_or_else(|_| url.clone(), |(url, _)| url.to_string());
    let mut names: Vec<String> = config.to.iter().map(name).collect();
    names.sort();
    names
}

/// The name of a file for what identifies it.
pub(crate) fn digest(identity: &impl Debug) -> String {
    let digest = Sha256::digest(format!("{identity:?}"));
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// The identity of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Nodes of the cluster, sorted, without credentials.
    cluster: Vec<String>,
    index: String,
    action: Action,
    /// Origin of the ids.
    id: String,
    pub(crate) sources: Vec<Fingerprint>,
    /// Further options that must not change, by name.
    options: BTreeMap<String, String>,
}

impl Job {
    /// The load that `config` describes. It reads the beginnings of the sources.
    pub fn new(config: &LoadConfig, source: &dyn Source) -> Result<Self, SourceError> {
        let info = source.describe();
        let path = |path: &Option<inrush_core::FieldPath>| path.as_ref().map(ToString::to_string).unwrap_or_default();
        let id = match (&config.id, config.id_from) {
            (Some(field), _) => format!("field {field}"),
            (None, Some(from)) => format!("from {}", from.name()),
            (None, None) => "made by the cluster".to_owned(),
        };
        let mut options = BTreeMap::from([
            ("routing".to_owned(), path(&config.routing)),
            ("version".to_owned(), path(&config.version)),
            ("pipeline".to_owned(), config.pipeline.clone().unwrap_or_default()),
            (READING.to_owned(), info.reading),
        ]);
        options.extend(config.shaping.options().map(|(name, value)| (name.to_owned(), value)));
        if config.id_from == Some(IdFrom::Position) {
            // The ids contain the names as they were given.
            options.insert("sources, as they are given".to_owned(), info.names.join("\n"));
        }
        Ok(Job {
            cluster: cluster_names(config),
            index: match &config.finish.swap {
                // The index option, and not the name of the new index, which contains the time.
                Some(swap) => format!("{} for the alias {}", config.index.as_str(), swap.alias),
                None => config.index.as_str().to_owned(),
            },
            action: config.action,
            id,
            sources: source.fingerprints()?,
            options,
        })
    }

    /// Name of the checkpoint. It is the same for every start of the same load.
    pub fn key(&self) -> String {
        let paths: Vec<_> = self.sources.iter().map(|source| &source.path).collect();
        let identity = (&self.cluster, &self.index, self.action, &self.id, paths);
        // A path that is not UTF-8 has no JSON form. Its debug form is enough, because no code
        // parses it.
        digest(&identity)
    }

    /// Differences that prevent a resume, as text.
    pub fn differences(&self, now: &Job) -> Vec<String> {
        let mut differences: Vec<String> =
            self.sources.iter().zip(&now.sources).filter_map(|(before, now)| before.difference(now)).collect();
        if self.sources.len() != now.sources.len() {
            differences.push(format!("there were {} sources, and now {}", self.sources.len(), now.sources.len()));
        }
        for (name, before) in &self.options {
            if now.options.get(name) != Some(before) {
                differences.push(format!("option changed: {name}"));
            }
        }
        differences
    }

    /// A short description for a list of resumable loads.
    pub fn title(&self) -> String {
        let first = self.sources.first().map(|source| source.path.display().to_string()).unwrap_or_default();
        let more = match self.sources.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let Job { index, action, id, cluster, .. } = self;
        format!(
            "{first}{more} into {index} at {}, action {}, ids {id}",
            cluster.join(","),
            format!("{action:?}").to_lowercase()
        )
    }
}
