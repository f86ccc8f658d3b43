//! The aliases of an index that is deleted to be created again.
//!
//! They are on disk before the index is deleted. So a load that is killed between the two requests
//! loses none: the next load that creates the index puts them on it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use inrush_cluster::api::aliases;
use inrush_cluster::api::{ClusterError, CreateIndex, Created, index};
use inrush_cluster::run_id::seed;
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::config::LoadConfig;
use crate::private;
use crate::told::Told;

/// The folder in the state folder.
const FOLDER: &str = "aliases";

/// The aliases of an index by name, with their properties.
type Aliases = Map<String, Value>;

/// The file of an index.
#[derive(Debug)]
pub(super) struct KeptAliases {
    /// The file. `None` for a load without a state folder.
    path: Option<PathBuf>,
    index: String,
    told: Told,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    index: String,
    /// The UUID of the index that is deleted. While it exists, nothing is lost.
    #[serde(default)]
    uuid: Option<String>,
    aliases: Aliases,
    /// The other indices of each alias when they were written down.
    #[serde(default)]
    shared_with: BTreeMap<String, Vec<String>>,
}

impl KeptAliases {
    /// The file of this index of the load's cluster.
    pub(super) fn of(config: &LoadConfig, index: &str) -> Self {
        let mut nodes: Vec<&str> = config.to.iter().map(|url| url.trim_end_matches('/')).collect();
        nodes.sort_unstable();
        let digest = Sha256::digest(format!("{:?}", (nodes, index)));
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let path = config.state.as_ref().map(|state| state.path.join(FOLDER).join(format!("{name}.json")));
        KeptAliases { path, index: index.to_owned(), told: config.told.clone() }
    }

    /// What an earlier load has left that was stopped. `None` where the file is damaged.
    fn read(&self) -> Option<Kept> {
        let text = std::fs::read(self.path.as_ref()?).ok()?;
        serde_json::from_slice(&text).ok().filter(|kept: &Kept| kept.index == self.index)
    }

    /// Reads the aliases of the index, which is deleted next, and writes them down. The file then
    /// has no others: an index that exists is not the one that an earlier load has deleted.
    ///
    /// # Errors
    /// [`ClusterError`] if the request fails for another reason than the user's rights.
    pub(super) async fn note(&self, transport: &Transport) -> Result<Aliases, ClusterError> {
        let index = match aliases::behind(transport, &self.index).await {
            Ok(mut behind) => behind.remove(&self.index),
            Err(error) if error.cannot_be_asked() => {
                let index = &self.index;
                self.told
                    .warn(format!("the aliases of {index} cannot be read, so those that it has are lost: {error}"));
                None
            }
            Err(error) => return Err(error),
        };
        match &index {
            Some(index) => drop(self.give_up(&index.uuid)),
            None => self.forget(),
        }
        let Some(index) = index.filter(|index| !index.aliases.is_empty()) else { return Ok(Aliases::new()) };
        let mut shared_with = BTreeMap::new();
        for alias in index.aliases.keys() {
            shared_with.insert(alias.clone(), self.others(transport, alias).await);
        }
        let (name, aliases) = (self.index.clone(), index.aliases);
        let kept = Kept { index: name, uuid: Some(index.uuid), aliases, shared_with };
        if let Err(why) = self.write(&kept) {
            self.told.warn(format!(
                "the aliases of {} are not on disk ({why}); if this load is killed before it creates the index again, send {}",
                self.index,
                request(&self.index, &kept.aliases)
            ));
        }
        Ok(kept.aliases)
    }

    /// The other indices of this alias, and the index that has its name. None where they cannot be
    /// read.
    async fn others(&self, transport: &Transport, alias: &str) -> Vec<String> {
        let behind = aliases::behind(transport, alias).await.unwrap_or_else(|error| {
            tracing::debug!("{error}");
            BTreeMap::new()
        });
        behind.into_keys().filter(|index| *index != self.index).collect()
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        let path = self.path.as_ref().ok_or_else(|| io::Error::other("there is no state folder"))?;
        let folder = path.parent().ok_or_else(|| io::Error::other("the state folder has no path"))?;
        std::fs::create_dir_all(folder)?;
        let tmp = folder.join(format!("{}-{:016x}.tmp", std::process::id(), seed()));
        private::replace(path, &tmp, serde_json::to_string(kept)?.as_bytes())
    }

    /// Deletes the file: its aliases are on an index, or are given up.
    pub(super) fn forget(&self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Forgets what an earlier load has left, because the index exists with this UUID. Returns a
    /// warning where it is another one than the load was to delete.
    pub(super) fn give_up(&self, uuid: &str) -> Option<String> {
        let kept = self.read();
        self.forget();
        let kept = kept.filter(|kept| kept.uuid.as_ref().is_some_and(|deleted| deleted != uuid))?;
        let warning = format!(
            "an earlier load deleted the index {0}, and another client has created it again since, perhaps without its aliases; put them back with {1}",
            self.index,
            request(&self.index, &kept.aliases)
        );
        tracing::warn!("{warning}");
        Some(warning)
    }

    /// The aliases that an earlier load has left, and a warning about those that another index has
    /// got since.
    async fn left(&self, transport: &Transport) -> (Aliases, Vec<String>) {
        let Some(mut kept) = self.read() else { return (Aliases::new(), Vec::new()) };
        let mut moved = Vec::new();
        for alias in kept.aliases.keys() {
            let known = kept.shared_with.get(alias);
            let is_new = |other: &String| known.is_none_or(|known| !known.contains(other));
            let others = self.others(transport, alias).await;
            if let Some(other) = others.into_iter().find(is_new) {
                moved.push((alias.clone(), other));
            }
        }
        let warning = |(alias, other): &(String, String)| {
            let index = &self.index;
            format!("the alias {alias} is not put back on {index}, which a load has deleted: {other} has got it since")
        };
        let warnings = moved.iter().map(warning).inspect(|warning| tracing::warn!("{warning}")).collect();
        for (alias, _) in &moved {
            kept.aliases.remove(alias);
        }
        (kept.aliases, warnings)
    }

    /// Creates the index with the aliases of the one that was deleted, or with those that an
    /// earlier load has left.
    ///
    /// # Errors
    /// As [`index::create`].
    pub(super) async fn create(
        &self,
        transport: &Transport,
        how: &CreateIndex,
        deleted: &Aliases,
    ) -> Result<Made, ClusterError> {
        let (kept, mut warnings) = match deleted.is_empty() {
            true => self.left(transport).await,
            false => (deleted.clone(), Vec::new()),
        };
        let made = self.create_with(transport, how, &kept).await?;
        self.forget();
        warnings.extend(made.warnings);
        Ok(Made { warnings, ..made })
    }

    /// Creates the index with these aliases, or where the cluster refuses them, with those that
    /// have no filter, or with none: the documents need the index.
    async fn create_with(
        &self,
        transport: &Transport,
        how: &CreateIndex,
        kept: &Aliases,
    ) -> Result<Made, ClusterError> {
        let plain = aliases::without_filter(kept);
        let without_filter = (plain.len() < kept.len()).then_some(plain);
        let mut refused = None;
        for aliases in [Some(kept.clone()), without_filter].into_iter().flatten().filter(|some| !some.is_empty()) {
            let with_aliases = CreateIndex { aliases: aliases.clone(), ..how.clone() };
            match index::create(transport, &self.index, &with_aliases).await {
                Ok(created) => return self.made(transport, created, (kept, &aliases), refused).await,
                Err(error) if matches!(error.status(), Some(400 | 403)) => refused = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let created = index::create(transport, &self.index, how).await?;
        self.made(transport, created, (kept, &Aliases::new()), refused).await
    }

    /// The index that was created with the aliases `given` of all that are `kept`. `refused` says
    /// why the cluster refused others.
    async fn made(
        &self,
        transport: &Transport,
        created: Created,
        (kept, given): (&Aliases, &Aliases),
        refused: Option<String>,
    ) -> Result<Made, ClusterError> {
        if kept.is_empty() {
            return Ok(Made { created, has_aliases: false, warnings: Vec::new() });
        }
        let has = match created {
            Created::New => given.clone(),
            Created::Existing => {
                let mut behind = aliases::behind(transport, &self.index).await?;
                behind.remove(&self.index).map(|index| index.aliases).unwrap_or_default()
            }
        };
        if created == Created::New && !has.is_empty() {
            tracing::info!("the index {} has the aliases of the one before it: {}", self.index, names(&has));
        }
        let lost = kept.iter().filter(|(alias, _)| !has.contains_key(*alias));
        let lost: Aliases = lost.map(|(alias, properties)| (alias.clone(), properties.clone())).collect();
        let why = match refused {
            Some(refused) => format!("the cluster refused them: {refused}"),
            None => "another client has created it meanwhile".to_owned(),
        };
        let warning = || {
            let (index, names, request) = (&self.index, names(&lost), request(&self.index, &lost));
            let warning =
                format!("the index {index} has lost its aliases {names}, because {why}; put them back with {request}");
            tracing::warn!("{warning}");
            warning
        };
        let warnings = (!lost.is_empty()).then(warning).into_iter().collect();
        Ok(Made { created, has_aliases: lost.len() < kept.len(), warnings })
    }
}

/// An index that was created.
pub(super) struct Made {
    pub(super) created: Created,
    /// It has aliases of the index before it.
    pub(super) has_aliases: bool,
    /// Why it lacks aliases, and how it gets them.
    pub(super) warnings: Vec<String>,
}

/// The names of aliases, as text.
pub(super) fn names(aliases: &Aliases) -> String {
    aliases.keys().map(String::as_str).collect::<Vec<&str>>().join(", ")
}

/// The request that puts aliases on an index, as text.
pub(super) fn request(index: &str, aliases: &Aliases) -> String {
    let add = |(alias, properties): (&String, &Value)| {
        let mut add = properties.as_object().cloned().unwrap_or_default();
        add.insert("index".to_owned(), json!(index));
        add.insert("alias".to_owned(), json!(alias));
        json!({ "add": add })
    };
    let actions: Vec<Value> = aliases.iter().map(add).collect();
    format!("POST /_aliases {}", json!({ "actions": actions }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StateFolder;

    fn config(folder: &std::path::Path, to: &[&str]) -> LoadConfig {
        let to = to.iter().map(|url| (*url).to_owned()).collect();
        let mut config = LoadConfig::new(to, "a".parse().unwrap());
        config.state = Some(StateFolder::new(folder));
        config
    }

    fn kept(aliases: Value) -> Kept {
        let aliases = aliases.as_object().cloned().unwrap();
        Kept { index: "a".to_owned(), uuid: Some("u1".to_owned()), aliases, shared_with: BTreeMap::new() }
    }

    #[test]
    fn aliases_of_a_deleted_index_are_found_by_the_next_load() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), &["http://b:9200/", "http://a:9200"]);
        let kept = kept(json!({"live": {"filter": {"term": {"n": 1}}, "is_write_index": true}}));
        KeptAliases::of(&config, "a").write(&kept).unwrap();
        let again = self::config(folder.path(), &["http://a:9200", "http://b:9200"]);
        let read = KeptAliases::of(&again, "a").read().unwrap();
        assert_eq!((read.aliases, read.uuid), (kept.aliases, kept.uuid));
        assert!(KeptAliases::of(&again, "b").read().is_none());
        let elsewhere = self::config(folder.path(), &["http://c:9200"]);
        assert!(KeptAliases::of(&elsewhere, "a").read().is_none());
        KeptAliases::of(&again, "a").forget();
        assert!(KeptAliases::of(&config, "a").read().is_none());
    }

    #[test]
    fn an_index_that_exists_ends_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeptAliases::of(&config(folder.path(), &["http://a:9200"]), "a");
        file.write(&kept(json!({"live": {}}))).unwrap();
        assert_eq!(file.give_up("u1"), None, "it was not deleted");
        assert!(file.read().is_none());
        file.write(&kept(json!({"live": {}}))).unwrap();
        assert!(file.give_up("u2").unwrap().contains("POST /_aliases"));
        assert!(file.read().is_none());
    }

    #[test]
    fn the_request_has_all_properties() {
        let aliases = json!({"live": {"search_routing": "x", "is_hidden": true}, "old": {}});
        let text = request("a", aliases.as_object().unwrap());
        let body: Value = serde_json::from_str(text.strip_prefix("POST /_aliases ").unwrap()).unwrap();
        assert_eq!(
            body["actions"],
            json!([
                {"add": {"alias": "live", "index": "a", "is_hidden": true, "search_routing": "x"}},
                {"add": {"alias": "old", "index": "a"}},
            ])
        );
    }
}
