//! The binary is killed (SIGKILL) at random moments of a load, and goes on with `--resume`: with
//! ids the index holds exactly what a load without a crash puts there, without ids nothing is
//! missing and what is there twice is counted. The settings of the index, which every load changes,
//! are as before.
//!
//! `INRUSH_KILLS` sets how often, `INRUSH_KILL_DURABILITY=async` what the killed loads run with,
//! `INRUSH_SEED` repeats the moments as far as they can be repeated.
// Each executable uses a part of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::program;

/// What an index holds: a hash of each document's content, by id.
pub type Contents = BTreeMap<String, u64>;

pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A sequence of numbers that a seed repeats.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = number("INRUSH_SEED", clock);
        println!("INRUSH_SEED={seed}");
        Random(seed)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// How documents get their ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ids {
    Field,
    Position,
    Content,
    None,
}

#[derive(Clone)]
pub struct Load<'a> {
    pub folder: &'a Path,
    pub data: &'a Path,
    pub url: &'a str,
    pub index: String,
    pub ids: Ids,
    pub docs: u64,
    pub durability: &'a str,
    /// Documents a second, for a load that lasts.
    pub rate: Option<u64>,
}

impl Load<'_> {
    /// Makes its index, with settings that the load changes. Returns them.
    pub async fn make_index(&self) -> Value {
        let settings = json!({
            "number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": "7s",
            // Without a flush, documents stay in memory, so a node that is killed really loses
            // them.
            "translog.sync_interval": "60s",
        });
        let client = Client::new(self.url).unwrap();
        let made = client.json("PUT", &format!("/{}", self.index), json!({"settings": settings})).await.unwrap();
        assert_eq!(made.status, 200, "{}", made.json());
        self.settings().await
    }

    pub async fn settings(&self) -> Value {
        let client = Client::new(self.url).unwrap();
        let path = format!("/{}/_settings?flat_settings=true", self.index);
        client.json("GET", &path, Value::Null).await.unwrap().json()
    }

    /// Whether the settings are as they were; else `inrush recover` has to put them back.
    pub async fn settings_are(&self, before: &Value) -> bool {
        if self.settings().await == *before {
            return true;
        }
        let mut recover = Command::from(program::inrush());
        recover.env("XDG_STATE_HOME", self.folder.join("state")).args(["recover", "--to", self.url]);
        let output = recover.stdin(Stdio::null()).output().await.unwrap();
        assert_eq!(self.settings().await, *before, "{}: {}", self.index, String::from_utf8_lossy(&output.stderr));
        false
    }

    pub fn command(&self, resume: bool) -> Command {
        let mut command = Command::from(program::inrush());
        command.current_dir(self.folder).env("XDG_STATE_HOME", self.folder.join("state"));
        command.args(["load", &self.data.display().to_string(), "--index", &self.index, "--to", self.url, "--json"]);
        // Enough requests for many moments between them.
        let batch = if self.docs < 50_000 { "32KiB" } else { "256KiB" };
        command.args(["--batch-bytes", batch, "--in-flight", "3", "--replicas-off", "--yes"]);
        command.args(["--durability", self.durability]);
        if let Some(rate) = self.rate {
            command.args(["--max-rate", &format!("{rate}docs")]);
        }
        match self.ids {
            Ids::Field => command.args(["--id", "id"]),
            Ids::Position => command.args(["--id-from", "position"]),
            Ids::Content => command.args(["--id-from", "content"]),
            Ids::None => &mut command,
        };
        if resume {
            command.arg("--resume");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub fn has_checkpoint(&self) -> bool {
        let files = std::fs::read_dir(self.folder.join("state/inrush/checkpoints")).into_iter().flatten();
        files.filter_map(Result::ok).any(|file| file.path().extension().is_some_and(|e| e == "json"))
    }

    /// Runs to the end, without being killed.
    pub async fn finish(&self, resume: bool) -> Value {
        let output = self.command(resume).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}{}", self.index, String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&text).unwrap()
    }

    /// Kills it after `delay`. False where it came to its end before.
    pub async fn kill_after(&self, resume: bool, delay: Duration) -> bool {
        let mut child = self.command(resume).spawn().unwrap();
        match tokio::time::timeout(delay, child.wait()).await {
            Ok(status) => {
                assert!(status.unwrap().success(), "{}", self.index);
                false
            }
            Err(_) => {
                child.start_kill().unwrap();
                child.wait().await.unwrap();
                true
            }
        }
    }
}

/// Kills loads until it was done `kills` times, and compares what each leaves with `reference`.
pub async fn chaos<F: AsyncFn(&str) -> Contents>(
    data: &Path,
    url: &str,
    docs: u64,
    kills: u64,
    all_ids: &[Ids],
    contents: F,
) {
    let mut random = Random::new();
    let durability = std::env::var("INRUSH_KILL_DURABILITY").unwrap_or_else(|_| "request".to_owned());
    let mut references: Vec<(Contents, Duration)> = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    for ids in all_ids {
        let index = format!("reference-{}", format!("{ids:?}").to_lowercase());
        // Without ids a fault would leave a document twice, and only the contents are compared.
        let ids = if *ids == Ids::None { Ids::Content } else { *ids };
        let load = Load { folder: folder.path(), data, url, index, ids, docs, durability: &durability, rate: None };
        load.make_index().await;
        let begun = Instant::now();
        let report = load.finish(false).await;
        assert_eq!(report["docs_read"], docs, "{report}");
        references.push((contents(&load.index).await, begun.elapsed()));
    }
    let (mut done, mut resumed, mut twice_in_all, mut loads, mut recovered) = (0, 0, 0, 0, 0);
    for round in 0.. {
        if done >= kills {
            break;
        }
        let kind = round as usize % all_ids.len();
        let took = references[kind].1;
        let folder = tempfile::tempdir().unwrap();
        let (index, ids) = (format!("killed-{round}"), all_ids[kind]);
        let load = Load { folder: folder.path(), data, url, index, ids, docs, durability: &durability, rate: None };
        let settings = load.make_index().await;
        for _ in 0..=random.below(3) {
            let resume = load.has_checkpoint();
            let delay = took.mul_f64(random.below(1000) as f64 / 1000.0);
            if done >= kills {
                break;
            }
            if !load.kill_after(resume, delay).await {
                // The machine was busier when the reference was loaded.
                references[kind].1 = took.mul_f64(0.8);
                break;
            }
            done += 1;
            resumed += u64::from(load.has_checkpoint());
            // Killed between its last document, which ends the checkpoint, and its exit: there is
            // nothing to go on with, and without ids a further load would rightly add all documents
            // once more.
            if !load.has_checkpoint() && !contents(&load.index).await.is_empty() {
                break;
            }
        }
        let report = match load.has_checkpoint() {
            true => load.finish(true).await,
            // It was killed before its first checkpoint, or came to its end.
            false if contents(&load.index).await.is_empty() => load.finish(false).await,
            false => Value::Null,
        };
        loads += 1;
        recovered += u64::from(!load.settings_are(&settings).await);
        let reference = &references[kind].0;
        let there = contents(&load.index).await;
        if report.is_null() {
            // What it said has gone with its pipe; what it did has to be right all the same.
            assert!(load.ids == Ids::None || there == *reference, "{} after its end", load.index);
        } else {
            assert_eq!((&report["docs_read"], &report["status"]), (&docs.into(), &"complete".into()), "{report}");
            assert_eq!(report["verified"]["state"], "yes", "{report}");
        }
        if load.ids == Ids::None {
            let count = |contents: &Contents| {
                let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
                contents.values().for_each(|hash| *counts.entry(*hash).or_default() += 1);
                counts
            };
            let (expected, found) = (count(reference), count(&there));
            for (hash, count) in &expected {
                assert!(found.get(hash).is_some_and(|found| found >= count), "{}: a document is missing", load.index);
            }
            assert_eq!(found.keys().collect::<BTreeSet<_>>(), expected.keys().collect());
            let twice = there.len() as u64 - docs;
            let possible = report["possible_duplicates"].as_u64().unwrap_or(u64::MAX);
            assert!(twice <= possible, "{}: {twice} twice, {possible} possible", load.index);
            twice_in_all += twice;
        } else {
            let differ = reference.iter().filter(|(id, hash)| there.get(*id) != Some(hash)).count();
            assert!(
                there == *reference,
                "{}: {} there, {differ} of {} differ",
                load.index,
                there.len(),
                reference.len()
            );
        }
        Client::new(url).unwrap().json("DELETE", &format!("/{}", load.index), Value::Null).await.unwrap();
    }
    println!(
        "killed {done} times, {resumed} of them with a checkpoint, durability {durability}: with ids all equal, without ids \
         {twice_in_all} twice in all; settings as before after each of {loads} loads, {recovered} of them by inrush recover"
    );
}

pub fn hash(document: &Value) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    document.to_string().hash(&mut hasher);
    hasher.finish()
}

pub fn documents(folder: &Path, docs: u64) -> PathBuf {
    let path = folder.join("documents.ndjson");
    let text: String = (0..docs)
        .map(|n| format!("{{\"id\":\"i{n}\",\"n\":{},\"text\":\"some words to fill it\"}}\n", n / 2))
        .collect();
    std::fs::write(&path, text).unwrap();
    path
}
