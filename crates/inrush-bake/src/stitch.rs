//! Makes one index of many shards from many indices of one shard. The folder of each part's shard,
//! as a server has written it to its repository, takes the place of a shard of an empty index in
//! another repository. No file is changed. Two files in each folder get the names that the other
//! repository knows.
//!
//! The layout of a repository (both servers, `BlobStoreRepository`):
//!
//! - `index-N` has for each index its id and the generation of each of its shards.
//! - The folder of a shard is `indices/ID/SHARD`. OpenSearch may spread these folders below another
//!   one.
//! - In that folder `snap-UUID.dat` lists the files of the snapshot, `index-GENERATION` those of
//!   all snapshots. The other files are those of Lucene.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A shard to be put in its place.
pub(super) struct Shard<'a> {
    /// The repository in which it is the only shard of `index`.
    pub(super) repository: &'a Path,
    /// The number of the shard that it becomes.
    pub(super) number: u32,
}

/// The entry of an index in a repository with one snapshot.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// The folder of the index.
    id: String,
    /// The generations by shard.
    generations: Vec<String>,
    /// The UUID of the snapshot.
    uuid: String,
}

/// Puts the shards in the places of those of `index` in the repository `whole`. `part` is the name
/// of their index. Shards that an interrupted call has put there stay. `aside` is a folder beside
/// the repositories for the replaced shards.
///
/// # Errors
/// A repository of an unknown format, or an error of the operating system.
pub(super) fn stitch(whole: &Path, index: &str, part: &str, shards: &[Shard<'_>], aside: &Path) -> io::Result<()> {
    let into = Entry::read(whole, index)?;
    if into.generations.len() != shards.len() {
        return Err(unknown(format!("{} shards for {index}, which has {}", shards.len(), into.generations.len())));
    }
    fs::create_dir_all(aside)?;
    for shard in shards {
        let from = Entry::read(shard.repository, part)?;
        let [generation] = from.generations.as_slice() else {
            return Err(unknown(format!(
                "{} has {} shards, expected one",
                shard.repository.display(),
                from.generations.len()
            )));
        };
        let number = shard.number as usize;
        let replaced = aside.join(number.to_string());
        // Each step leaves something that shows whether it was done.
        if !replaced.exists() {
            let place = find(whole, &into.id, shard.number)?;
            // The path of the folder is needed again after the folder is gone.
            fs::write(aside.join(format!("{number}.place")), place.as_os_str().as_encoded_bytes())?;
            fs::rename(&place, &replaced)?;
        }
        let place = fs::read_to_string(aside.join(format!("{number}.place")))?;
        let place = Path::new(&place);
        if !place.exists() {
            fs::rename(find(shard.repository, &from.id, 0)?, place)?;
        }
        rename(place, &format!("index-{generation}"), &format!("index-{}", into.generations[number]))?;
        rename(place, &format!("snap-{}.dat", from.uuid), &format!("snap-{}.dat", into.uuid))?;
    }
    Ok(())
}

/// The folders of the shards of `index` in a repository with one snapshot, in their order.
///
/// # Errors
/// A repository of an unknown format, or an error of the operating system.
pub(super) fn shard_folders(repository: &Path, index: &str) -> io::Result<Vec<PathBuf>> {
    let entry = Entry::read(repository, index)?;
    (0..entry.generations.len() as u32).map(|shard| find(repository, &entry.id, shard)).collect()
}

impl Entry {
    fn read(repository: &Path, index: &str) -> io::Result<Entry> {
        let newest = fs::read_dir(repository)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("index-")?.parse::<u64>().ok())
            .max()
            .ok_or_else(|| unknown(format!("{} holds no index-N", repository.display())))?;
        let path = repository.join(format!("index-{newest}"));
        let body: Value = serde_json::from_slice(&fs::read(&path)?)?;
        Entry::of(&body, index)
            .ok_or_else(|| unknown(format!("{} does not describe one snapshot of {index}", path.display())))
    }

    fn of(body: &Value, index: &str) -> Option<Entry> {
        let entry = body.get("indices")?.get(index)?;
        let generations = entry.get("shard_generations")?.as_array()?;
        let generations: Option<Vec<String>> = generations.iter().map(|g| g.as_str().map(str::to_owned)).collect();
        let [snapshot] = body.get("snapshots")?.as_array()?.as_slice() else { return None };
        Some(Entry {
            id: entry.get("id")?.as_str()?.to_owned(),
            generations: generations?,
            uuid: snapshot.get("uuid")?.as_str()?.to_owned(),
        })
    }
}

/// The folder of a shard: `indices/ID/SHARD`, with or without a folder before it and one between.
fn find(repository: &Path, id: &str, shard: u32) -> io::Result<PathBuf> {
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if !path.is_dir() {
                continue;
            }
            let names: Vec<&str> =
                path.strip_prefix(repository).into_iter().flatten().filter_map(|name| name.to_str()).collect();
            let is_it = names.contains(&id) && names.last() == Some(&shard.to_string().as_str());
            if is_it && names.contains(&"indices") {
                return Ok(path);
            }
            folders.push(path);
        }
    }
    Err(unknown(format!("{} has no folder for shard {shard} of {id}", repository.display())))
}

/// Renames a file in a folder, unless that was done before.
fn rename(folder: &Path, from: &str, to: &str) -> io::Result<()> {
    match fs::rename(folder.join(from), folder.join(to)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && folder.join(to).exists() => Ok(()),
        other => other,
    }
}

fn unknown(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the repository has an unknown format: {what}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A repository as a server writes it. `prefix` as OpenSearch spreads shards.
    fn repository(at: &Path, index: &str, id: &str, uuid: &str, generations: &[&str], prefix: &str) {
        let body = json!({"snapshots": [{"name": "index", "uuid": uuid}], "indices": {index: {"id": id, "snapshots": [uuid], "shard_generations": generations}}});
        fs::create_dir_all(at).unwrap();
        fs::write(at.join("index-0"), "{}").unwrap();
        fs::write(at.join("index-1"), body.to_string()).unwrap();
        for (shard, generation) in generations.iter().enumerate() {
            let folder = at.join(format!("{prefix}{shard}/indices")).join(id).join(shard.to_string());
            fs::create_dir_all(&folder).unwrap();
            for name in [format!("index-{generation}"), format!("snap-{uuid}.dat"), "__data".to_owned()] {
                fs::write(folder.join(&name), format!("{uuid} {name}")).unwrap();
            }
        }
    }

    fn made(folder: &Path) -> (PathBuf, Vec<PathBuf>) {
        let whole = folder.join("whole");
        repository(&whole, "trips", "W", "w", &["g0", "g1"], "x");
        let parts: Vec<PathBuf> = (0..2).map(|n| folder.join(format!("part-{n}"))).collect();
        for (n, part) in parts.iter().enumerate() {
            repository(part, "part", "P", &format!("p{n}"), &[&format!("h{n}")], "");
        }
        (whole, parts)
    }

    fn run(folder: &Path, whole: &Path, parts: &[PathBuf]) -> io::Result<()> {
        let shards: Vec<Shard<'_>> =
            parts.iter().enumerate().map(|(n, part)| Shard { repository: part, number: n as u32 }).collect();
        stitch(whole, "trips", "part", &shards, &folder.join("aside"))
    }

    fn check(whole: &Path) {
        for n in 0..2 {
            let folder = whole.join(format!("x{n}/indices/W/{n}"));
            let mut names: Vec<_> =
                fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            assert_eq!(names, ["__data".to_owned(), format!("index-g{n}"), "snap-w.dat".to_owned()]);
            assert_eq!(fs::read_to_string(folder.join("snap-w.dat")).unwrap(), format!("p{n} snap-p{n}.dat"));
            assert_eq!(fs::read_to_string(folder.join(format!("index-g{n}"))).unwrap(), format!("p{n} index-h{n}"));
        }
    }

    #[test]
    fn each_shard_takes_its_place_under_the_names_that_are_known_there() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, parts) = made(folder.path());
        run(folder.path(), &whole, &parts).unwrap();
        check(&whole);
        // Steps that are done are not repeated.
        run(folder.path(), &whole, &parts).unwrap();
        check(&whole);
    }

    #[test]
    fn what_was_cut_off_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, parts) = made(folder.path());
        let aside = folder.path().join("aside");
        // After the first rename of the first shard, and after the second one of the other.
        fs::create_dir_all(&aside).unwrap();
        for n in 0..2 {
            let place = whole.join(format!("x{n}/indices/W/{n}"));
            fs::write(aside.join(format!("{n}.place")), place.to_str().unwrap()).unwrap();
            fs::rename(&place, aside.join(n.to_string())).unwrap();
        }
        fs::rename(parts[1].join("0/indices/P/0"), whole.join("x1/indices/W/1")).unwrap();
        run(folder.path(), &whole, &parts).unwrap();
        check(&whole);
    }

    #[test]
    fn another_form_is_refused_before_anything_is_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, parts) = made(folder.path());
        assert!(run(folder.path(), &whole, &parts[..1]).unwrap_err().to_string().contains("1 shards for trips"));
        fs::write(whole.join("index-2"), "{\"indices\":{}}").unwrap();
        assert!(run(folder.path(), &whole, &parts).unwrap_err().to_string().contains("does not describe"));
        assert!(whole.join("x0/indices/W/0/snap-w.dat").exists());
    }
}
