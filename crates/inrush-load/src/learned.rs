//! What earlier loads learned of a cluster and an index, in files of the state folder.
//!
//! Each cluster, target and kind of load has a file, which is replaced as a whole. So loads that
//! end at the same time do no harm to each other, and the last one stays.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inrush_cluster::api::topology::{self, Shape};
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::remembered::{LoadKind, Place, Recall, Remembered, Topology};
use inrush_core::tune::{Learned, Plan, Recollection};

use crate::config::Learning;
use crate::private;
use crate::report::{StartFrom, StartOutcome, StartReport};
use crate::utc::utc;
use inrush_cluster::run_id::seed;

/// The folder in the state folder.
const FOLDER: &str = "learned";
/// The most files. The oldest ones are deleted first. A file has about 1 KiB.
const FILES_MAX: usize = 256;
/// A larger file was not written by a load, bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// The longest wait for the shape of the cluster. A load does without a memory then.
const SHAPE_MAX: Duration = Duration::from_secs(15);

/// What a load begins with, and where it leaves what it learns.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The folder and the place in it. `None` where nothing is kept.
    kept: Option<(PathBuf, Place)>,
    learned: Option<Learned>,
    from: StartFrom,
    /// When the earlier load ended.
    learned_at: Option<SystemTime>,
    /// Why there is no memory, or whose it is.
    detail: String,
    pub(crate) warnings: Vec<String>,
}

impl Memory {
    /// No memory: nothing is read and nothing is kept.
    pub(crate) fn none() -> Self {
        Memory {
            kept: None,
            learned: None,
            from: StartFrom::Defaults,
            learned_at: None,
            detail: String::new(),
            warnings: Vec::new(),
        }
    }

    /// What the caller passes on from another load.
    pub(crate) fn given(learned: Option<Learned>) -> Self {
        let from = if learned.is_some() { StartFrom::Given } else { StartFrom::Defaults };
        Memory { learned, from, ..Memory::none() }
    }

    /// Looks for the memory of `place` below the state folder.
    pub(crate) fn open(state: &Path, place: Place, learning: &Learning) -> Self {
        let folder = state.join(FOLDER);
        let mut memory = Memory::none();
        if matches!(learning, Learning::Anew) {
            memory.detail = "what earlier loads learned is forgotten (option `forget`)".to_owned();
            for name in [place.file_name(), of_parts(&place).file_name()] {
                memory.warnings.extend(forget(&folder.join(name)));
            }
        } else {
            let (found, warnings) = read_all(&folder, &place.file_prefix());
            memory.warnings = warnings;
            memory.recall(&place, found);
        }
        memory.kept = Some((folder, place));
        memory
    }

    fn recall(&mut self, place: &Place, found: Vec<Remembered>) {
        match place.recall(found, unix_seconds(clock::date())) {
            Recall::Nothing => self.detail = "no earlier load into this index left anything".to_owned(),
            Recall::Changed(why) => self.detail = format!("what an earlier load learned does not apply: {why}"),
            Recall::Found(memory) => {
                self.from = StartFrom::EarlierLoad;
                self.learned = Some(memory.learned);
                self.learned_at = Some(UNIX_EPOCH + Duration::from_secs(memory.at_unix_seconds));
                if memory.target() != place.target {
                    self.detail = format!("learned by a load into {}", memory.target());
                }
            }
        }
    }

    /// What the load begins with.
    pub(crate) fn learned(&self) -> Option<&Learned> {
        self.learned.as_ref()
    }

    /// What the parts of this job begin with.
    pub(crate) fn for_parts(&self) -> Option<Learned> {
        let (folder, place) = self.kept.as_ref()?;
        let place = of_parts(place);
        let (found, _) = read_all(folder, &place.file_prefix());
        match place.recall(found, unix_seconds(clock::date())) {
            Recall::Found(memory) => Some(memory.learned),
            Recall::Nothing | Recall::Changed(_) => None,
        }
    }

    /// Keeps what the load learned, if that is worth more than what is kept.
    pub(crate) fn keep(&self, learned: Option<Learned>, recollection: Option<&Recollection>) {
        let Some((folder, place)) = &self.kept else { return };
        if let Some(learned) = learned.and_then(|learned| learned.after(self.learned(), recollection)) {
            keep(folder, place, learned);
        }
    }

    /// Keeps what a part of this job learned.
    pub(crate) fn keep_of_parts(&self, learned: Option<Learned>) {
        if let (Some((folder, place)), Some(learned)) = (&self.kept, learned) {
            keep(folder, &of_parts(place), learned);
        }
    }

    /// The beginning of the load in its report.
    pub(crate) fn report(&self, start: Plan, recollection: Option<&Recollection>) -> StartReport {
        let (outcome, why) = match (self.from, recollection) {
            (StartFrom::Defaults, _) => (None, None),
            (_, Some(Recollection::Held)) => (Some(StartOutcome::Held), None),
            (_, Some(Recollection::Contradicted(why))) => (Some(StartOutcome::Contradicted), Some(why.as_str())),
            (_, Some(Recollection::Unchecked) | None) => (Some(StartOutcome::Unchecked), None),
        };
        let details = [Some(self.detail.as_str()).filter(|detail| !detail.is_empty()), why];
        StartReport {
            from: self.from,
            batch_bytes: start.batch_bytes,
            in_flight: start.in_flight,
            learned_at: self.learned_at.map(utc),
            outcome,
            detail: details.into_iter().flatten().collect::<Vec<_>>().join("; "),
        }
    }
}

/// The place of a load on this cluster. `None` where the cluster does not say which one it is.
pub(crate) async fn place(
    transport: &Transport,
    version: String,
    index: Option<&str>,
    target: String,
    kind: LoadKind,
) -> Option<Place> {
    let shape = clock::timeout(SHAPE_MAX, topology::shape(transport, index)).await.ok()?;
    let Shape { cluster_uuid, distance, data_nodes, write_threads, shards, replicas } = shape;
    let distance_seconds = distance.map(|distance| distance.as_secs_f64());
    let topology = Topology { version, data_nodes, write_threads, shards, replicas, distance_seconds };
    Some(Place { cluster: cluster_uuid?, target, kind, topology })
}

fn of_parts(place: &Place) -> Place {
    let mut place = place.clone();
    place.kind.one_of_several = true;
    place
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Deletes a file. Returns a warning where it stays.
fn forget(path: &Path) -> Option<String> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Some(format!(
            "what an earlier load learned cannot be deleted: {}: {e}; this load does not use it",
            path.display()
        )),
        _ => None,
    }
}

/// All memories whose file names begin with `prefix`, and warnings about files that are ignored.
fn read_all(folder: &Path, prefix: &str) -> (Vec<Remembered>, Vec<String>) {
    let (mut found, mut warnings) = (Vec::new(), Vec::new());
    for path in files(folder) {
        let is_ours = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix));
        if !is_ours || path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path) {
            Ok(memory) => found.push(memory),
            Err(why) => warnings.push(format!(
                "what an earlier load learned is not used, because {} cannot be read: {why}; delete the file, or let a later load replace it",
                path.display()
            )),
        }
    }
    (found, warnings)
}

fn read(path: &Path) -> Result<Remembered, String> {
    let bytes = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("it has {bytes} bytes, and such a file has at most {FILE_BYTES_MAX}"));
    }
    let text = std::fs::read(path).map_err(|e| e.to_string())?;
    Remembered::parse(&text).map_err(|e| e.to_string())
}

fn keep(folder: &Path, place: &Place, learned: Learned) {
    let memory = Remembered::new(place.clone(), unix_seconds(clock::date()), learned);
    let path = folder.join(place.file_name());
    // Another load may have ended since this one began.
    let old = read(&path).ok();
    if !memory.is_worth_more_than(old.as_ref()) {
        return;
    }
    if let Err(e) = replace(folder, &path, memory.to_text().as_bytes()) {
        // The load is complete without it.
        tracing::warn!(
            "cannot keep what this load learned in {}: {e}; the next load begins without it",
            path.display()
        );
    }
}

/// Replaces a file as a whole, and deletes the oldest files where there are too many.
fn replace(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    // Another load of this user may write at the same time.
    let tmp = folder.join(format!("{}-{:016x}.tmp", std::process::id(), seed()));
    private::replace(path, &tmp, text)?;
    prune(folder);
    Ok(())
}

/// Deletes the oldest files above [`FILES_MAX`], those of killed loads included.
fn prune(folder: &Path) {
    let changed = |path: PathBuf| Some((path.metadata().ok()?.modified().ok()?, path));
    let mut all: Vec<(SystemTime, PathBuf)> = files(folder).into_iter().filter_map(changed).collect();
    all.sort();
    let more = all.len().saturating_sub(FILES_MAX);
    for (_, path) in all.into_iter().take(more) {
        // Another load may have deleted it.
        let _ = std::fs::remove_file(path);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    // There is no folder before the first load has ended.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests;
