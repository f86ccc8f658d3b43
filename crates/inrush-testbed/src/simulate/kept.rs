//! The figures of the best fixed settings, kept in a file. A run of the grid takes fifty times as
//! long as that of one controller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use inrush_testbed::sim::{Reference, Scenario};

/// Kept figures by scenario and seed.
pub(crate) struct Kept {
    path: Option<PathBuf>,
    references: BTreeMap<String, Reference>,
}

impl Kept {
    /// Reads the file if it exists. Without a path, nothing is kept.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let references = match path {
            Some(path) if path.exists() => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| format!("{} is no yardstick file", path.display()))?
            }
            _ => BTreeMap::new(),
        };
        Ok(Kept { path: path.map(Path::to_path_buf), references })
    }

    pub(crate) fn get(&self, scenario: &Scenario, seed: u64) -> Option<&Reference> {
        self.references.get(&key(scenario, seed))
    }

    pub(crate) fn put(&mut self, scenario: &Scenario, seed: u64, reference: &Reference) {
        self.references.insert(key(scenario, seed), reference.clone());
    }

    /// Writes the file.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        match &self.path {
            Some(path) => std::fs::write(path, serde_json::to_string(&self.references)?)
                .with_context(|| format!("cannot write {}", path.display())),
            None => Ok(()),
        }
    }
}

/// The key of a scenario and a seed. A changed scenario has another key.
fn key(scenario: &Scenario, seed: u64) -> String {
    // FNV-1a is the same in every build; the hash of the standard library is not.
    let text = format!("{scenario:?}");
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{} {seed} {hash:016x}", scenario.name)
}
