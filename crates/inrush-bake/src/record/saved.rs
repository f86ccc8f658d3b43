//! The record of a bake. Each action is recorded before it is done, so after any end of a run the
//! next one knows what exists and what has to be undone.

use std::io;
use std::path::Path;

use inrush_cluster::api::snapshots::Identity;
use inrush_load::Report;
use inrush_load::checkpoint::Job;
use inrush_load::cutover::Noted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::build::{Build, NativeRecord, ServerRecord};
use super::place::Shared;
use super::plan::Plan;
use super::throttle::Throttle;
use crate::config::Engine;
use crate::report::BakeStep;

/// The version of the file's format.
pub(super) const FORMAT: u32 = 1;
/// The place in the repository for the index that the target restores, if no builder writes it.
pub(crate) const WHOLE: &str = "whole";
/// The name of the snapshot of the index.
pub(crate) const SNAPSHOT: &str = "index";

/// The record of a bake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(super) format: u32,
    pub(crate) job: Job,
    /// A part of all names that this bake gives.
    pub(crate) id: String,
    pub(crate) index: String,
    /// The data stream to which the index will be attached.
    pub(crate) data_stream: Option<String>,
    /// The swap, if the index takes the place of another one.
    pub(crate) swap: Option<Noted>,
    /// How the index is created, and what changes on the target.
    pub(crate) plan: Plan,
    pub(crate) shared: Shared,
    /// What builds the index, with its own record.
    pub(crate) build: Build,
    /// Why a builder is needed, where the options left the choice.
    pub(crate) server_because: Option<String>,
    /// The index, once it is created where it is built.
    pub(crate) made: Option<Identity>,
    /// The report of the load and the number of documents in the index, once the load has ended.
    pub(crate) loaded: Option<(Box<Report>, u64)>,
    /// Whether everything for the target is in the repository.
    pub(crate) is_built: bool,
    pub(crate) steps: Vec<BakeStep>,
    /// Whether the target has the repository, or may have it.
    pub(crate) registered: bool,
    /// The former throttle, if the target's throttle is changed, or may be.
    pub(crate) throttle: Option<Throttle>,
    /// Whether the target has the index, whole or in part, or may have it.
    pub(crate) restoring: bool,
    /// Whether a request to publish the index got no reply, so that its outcome is unknown. Nothing
    /// is undone before it is known.
    pub(crate) in_doubt: bool,
    /// Whether the target has the whole index. Then nothing is undone any more.
    pub(crate) published: bool,
}

/// What the target gets: an index in a repository.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) index: String,
    /// The name of its repository on both sides.
    pub(crate) repository: String,
    pub(crate) shared: Shared,
    /// The index where it was built. A restored one has its creation time.
    pub(crate) made: Option<Identity>,
    /// How many documents it must hold.
    pub(crate) docs: u64,
    /// Whether it takes no documents in the snapshot.
    pub(crate) is_blocked: bool,
    /// The fields that documents have added to the mapping of the snapshot, as a mapping.
    pub(crate) new_fields: Option<Value>,
}

impl Saved {
    /// The record of a bake that has not begun.
    pub(crate) fn new(job: Job, id: String, index: String, plan: Plan, shared: Shared, build: Build) -> Saved {
        Saved {
            format: FORMAT,
            job,
            id,
            index,
            data_stream: None,
            swap: None,
            plan,
            shared,
            build,
            server_because: None,
            made: None,
            loaded: None,
            is_built: false,
            steps: Vec::new(),
            registered: false,
            throttle: None,
            restoring: false,
            in_doubt: false,
            published: false,
        }
    }

    /// The index that the target gets.
    pub(crate) fn built(&self) -> Built {
        let repository = self.repository();
        let (repository, shared) = match self.build {
            Build::Server(_) => (repository, self.shared.clone()),
            Build::Native(_) => (format!("{repository}-whole"), self.shared.within(WHOLE)),
        };
        Built {
            index: self.index.clone(),
            repository,
            shared,
            made: self.made.clone(),
            docs: self.loaded.as_ref().map_or(0, |(_, docs)| *docs),
            is_blocked: self.native().is_some(),
            new_fields: self.native().and_then(|native| native.new_fields.clone()),
        }
    }

    /// The record of a bake without a builder.
    pub(crate) fn native(&self) -> Option<&NativeRecord> {
        match &self.build {
            Build::Native(native) => Some(native),
            Build::Server(_) => None,
        }
    }

    /// The record of the builder.
    pub(crate) fn server(&self) -> Option<&ServerRecord> {
        match &self.build {
            Build::Server(server) => Some(server),
            Build::Native(_) => None,
        }
    }

    /// What builds the index.
    pub(crate) fn engine(&self) -> Engine {
        match self.build {
            Build::Server(_) => Engine::Server,
            Build::Native(_) => Engine::Native,
        }
    }

    /// The name of the repository in which a builder writes the index.
    pub(crate) fn repository(&self) -> String {
        format!("inrush-bake-{}", self.id)
    }

    /// Deletes the dead letters of a load whose documents are read again from the beginning.
    pub(crate) fn forget_letters(&self) {
        if let Some(path) = self.native().and_then(|native| native.letters.as_ref()) {
            forget_letters(path);
        }
    }
}

/// Deletes the dead letters of a load whose documents are read again.
pub(crate) fn forget_letters(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("{} stays, with documents that are read again: {error}", path.display());
    }
}
