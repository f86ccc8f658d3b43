//! Folders that are tables of Delta Lake, Hudi, Iceberg or Paimon. Their files alone do not say
//! which rows the table has: a row that was deleted or replaced stays in its file until the table
//! is cleaned.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use inrush_core::Code;

use crate::SourceError;

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lake {
    Delta,
    Hudi,
    Iceberg,
    Paimon,
}

impl Lake {
    const ALL: [Lake; 4] = [Lake::Delta, Lake::Hudi, Lake::Iceberg, Lake::Paimon];

    /// The folder, inside of that of the table, which says what the table has.
    pub(crate) fn log(self) -> &'static str {
        match self {
            Lake::Delta => "_delta_log",
            Lake::Hudi => ".hoodie",
            Lake::Iceberg => "metadata",
            Lake::Paimon => "schema",
        }
    }

    /// Whether a name in the folder [`Lake::log`] shows that it is the one of a table. Other
    /// folders have ordinary names, too.
    pub(crate) fn has(self, name: &str) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            Lake::Delta | Lake::Hudi => true,
            // `v3.metadata.json` and `00001-<UUID>.gz.metadata.json`.
            Lake::Iceberg => {
                let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".metadata.json");
                let version = |stem: &str| stem.strip_prefix('v').unwrap_or(stem).as_bytes().first().copied();
                name == "version-hint.text" || stem.and_then(version).is_some_and(|first| first.is_ascii_digit())
            }
            Lake::Paimon => name.strip_prefix("schema-").is_some_and(digits),
        }
    }

    /// The name, and the one that Spark reads it by.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Lake::Delta => ("Delta Lake", "delta"),
            Lake::Hudi => ("Hudi", "hudi"),
            Lake::Iceberg => ("Iceberg", "iceberg"),
            Lake::Paimon => ("Paimon", "paimon"),
        }
    }

    /// Why the files of `folder` are not read, and what to do.
    pub(crate) fn refusal(self, folder: &str) -> String {
        let ((name, format), log) = (self.names(), self.log());
        format!(
            "{folder} is a table of {name} (it has {log}), and its files also hold rows that were deleted or replaced; \
             read the table by its engine, as in Spark's read.format(\"{format}\"), and load that data frame, or load \
             the files that the engine writes of it to another folder"
        )
    }

    /// The table whose log a path below its folder is in: the number of parts before the log.
    pub(crate) fn of_parts(parts: &[&str]) -> Option<(usize, Lake)> {
        (0..parts.len().saturating_sub(1)).find_map(|at| {
            let lake = Lake::ALL.into_iter().find(|lake| lake.log() == parts[at])?;
            lake.has(parts[at + 1]).then_some((at, lake))
        })
    }

    /// Every format of tables.
    #[cfg(feature = "cloud")]
    pub(crate) fn all() -> impl Iterator<Item = Lake> {
        Lake::ALL.into_iter()
    }
}

/// Whether a file could be one of a table, by its name.
pub(crate) fn may_hold_rows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".parquet", ".orc", ".avro"].iter().any(|ending| name.ends_with(ending))
}

/// Refuses files of tables. `argument` is the path that the user gave, and `files` are those that
/// it stands for.
pub(crate) fn check(argument: &Path, files: &[PathBuf]) -> Result<(), SourceError> {
    let refused = |lake: Lake, folder: &Path| {
        let message = lake.refusal(&folder.display().to_string());
        Err(SourceError::new(argument.display().to_string(), message).coded(Code::UnknownFormat))
    };
    let mut known: HashMap<PathBuf, Option<Lake>> = HashMap::new();
    // Another program's folder may be named like a log.
    if !files.iter().any(|file| may_hold_rows(&file.to_string_lossy())) {
        return Ok(());
    }
    if argument.is_dir()
        && let Some(lake) = of_folder(argument, &mut known)
    {
        return refused(lake, argument);
    }
    let mut seen: Option<&Path> = None;
    for file in files {
        // Files of a folder follow each other.
        if seen == file.parent() || !may_hold_rows(&file.to_string_lossy()) {
            continue;
        }
        seen = file.parent();
        let Some(parent) = seen else { continue };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        // The path may lead through links, and begin in the middle of a table.
        let Ok(parent) = parent.canonicalize() else { continue };
        let mut below = None;
        for folder in parent.ancestors() {
            // The log itself has files, which a person may want to read.
            let is_log = |lake: &Lake| below == Some(std::ffi::OsStr::new(lake.log()));
            if let Some(lake) = of_folder(folder, &mut known).filter(|lake| !is_log(lake)) {
                return refused(lake, folder);
            }
            below = folder.file_name();
        }
    }
    Ok(())
}

/// Refuses members of a table in an archive. Of each member, `members` has the path, and whether it
/// is read.
pub(crate) fn check_members<'a>(
    archive: &str,
    members: impl Iterator<Item = (&'a str, bool)> + Clone,
) -> Result<(), SourceError> {
    let split = |path: &'a str| path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>();
    let mut tables: HashMap<Vec<&str>, Lake> = HashMap::new();
    for (path, _) in members.clone() {
        let parts = split(path);
        if let Some((len, lake)) = Lake::of_parts(&parts) {
            tables.insert(parts[..len].to_vec(), lake);
        }
    }
    for (path, _) in members.filter(|(path, is_read)| *is_read && may_hold_rows(path)) {
        let parts = split(path);
        for len in 0..parts.len() {
            let Some(lake) = tables.get(&parts[..len]) else { continue };
            let folder = [&[archive][..], &parts[..len]].concat().join("/");
            return Err(SourceError::new(archive, lake.refusal(&folder)).coded(Code::UnknownFormat));
        }
    }
    Ok(())
}

fn of_folder(folder: &Path, known: &mut HashMap<PathBuf, Option<Lake>>) -> Option<Lake> {
    if let Some(found) = known.get(folder) {
        return *found;
    }
    let has_log = |lake: &Lake| {
        let entries = folder.join(lake.log()).read_dir().into_iter().flatten().flatten();
        entries.take(NAMES_MAX).any(|entry| entry.file_name().to_str().is_some_and(|name| lake.has(name)))
    };
    let found = Lake::ALL.into_iter().find(has_log);
    known.insert(folder.to_owned(), found);
    found
}

/// The most names of a folder that are looked at.
const NAMES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_tables_are_told_from_other_folders() {
        for (path, expected) in [
            ("t/_delta_log/00000000000000000000.json", Some((1, Lake::Delta))),
            ("_delta_log/_last_checkpoint", Some((0, Lake::Delta))),
            ("a/b/.hoodie/hoodie.properties", Some((2, Lake::Hudi))),
            ("t/metadata/version-hint.text", Some((1, Lake::Iceberg))),
            ("t/metadata/v12.metadata.json", Some((1, Lake::Iceberg))),
            ("t/metadata/00003-4b1a.metadata.json", Some((1, Lake::Iceberg))),
            ("t/metadata/00003-4b1a.gz.metadata.json", Some((1, Lake::Iceberg))),
            ("t/metadata/v2.metadata.json.gz", Some((1, Lake::Iceberg))),
            ("t/schema/schema-0", Some((1, Lake::Paimon))),
            ("t/metadata/readme.metadata.json", None),
            ("t/metadata/photos.json", None),
            ("t/schema/schema-old.json", None),
            ("t/_delta_log", None),
            ("t/part-0.parquet", None),
        ] {
            assert_eq!(Lake::of_parts(&path.split('/').collect::<Vec<_>>()), expected, "{path}");
        }
    }
}
