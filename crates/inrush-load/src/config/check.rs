//! Checks of a configuration that concern several options, or an option and the source.

use inrush_core::Action;
use inrush_core::rate::Rate;

use super::size::exact_size;
use super::{BulkRouting, Durability, Encoding, GraphTime, IdFrom, Limits, LoadConfig, OnConflict, Replies};
use crate::option_error::OptionError;
use inrush_sources::{Repeats, SourceInfo};

/// An error for options that exclude each other, under the name of the first.
fn refuse(option: &'static str, message: impl Into<String>) -> Result<(), OptionError> {
    Err(OptionError::conflict(message).of(option))
}

impl LoadConfig {
    /// Checks options against each other.
    ///
    /// # Errors
    /// Options that exclude each other, and the remedy.
    pub fn check(&self) -> Result<(), OptionError> {
        self.check_limits()?;
        self.check_ids()?;
        self.check_coalesce()?;
        self.check_resuming()?;
        self.check_settings()?;
        self.check_end()?;
        self.check_replies()
    }

    fn check_limits(&self) -> Result<(), OptionError> {
        let limits = &self.limits;
        if limits.batch_bytes == Some(0)
            || limits.batch_docs == Some(0)
            || limits.in_flight == Some(0)
            || limits.workers == 0
            || matches!(limits.max_rate, Some(Rate::Bytes(0) | Rate::Docs(0)))
        {
            return Err(OptionError::conflict(
                "batch bytes, batch documents, requests in flight, the rate and workers must each be at least 1",
            ));
        }
        if limits.gentle.is_some() && limits.in_flight.is_some() {
            return refuse(
                "gentle",
                "option `gentle` tunes the number of requests in flight, and option `in_flight` fixes it; leave one out",
            );
        }
        self.check_memory()?;
        if limits.document_bytes_max > 1 << 30 {
            return refuse("max_document_bytes", "option `max_document_bytes` is at most 1 GiB");
        }
        Ok(())
    }

    /// Checks that batches in flight fit into the memory.
    fn check_memory(&self) -> Result<(), OptionError> {
        let Limits { batch_bytes, in_flight, memory, .. } = self.limits;
        let needed = (batch_bytes.unwrap_or(1) as u64).saturating_mul(u64::from(in_flight.unwrap_or(1)));
        let for_batches = self.sending_limits().memory;
        if needed <= for_batches as u64 {
            return Ok(());
        }
        let given = [
            batch_bytes.map(|bytes| format!("option `batch_bytes={}`", exact_size(bytes as u64))),
            in_flight.map(|n| format!("option `in_flight={n}`")),
        ];
        let given = given.into_iter().flatten().collect::<Vec<_>>().join(" x ");
        let (half, wanted) = match for_batches < memory {
            true => ("half of ", needed.saturating_mul(2)),
            false => ("", needed),
        };
        let why_half = if half.is_empty() { "" } else { "; documents that wait for a flush take the other half" };
        let default = if memory == Limits::default().memory { " (default)" } else { "" };
        let (needed, memory) = (exact_size(needed), exact_size(memory as u64));
        let message =
            format!("{given} needs {needed} of memory, more than {half}option `memory={memory}`{default}{why_half}");
        Err(OptionError::conflict(message)
            .of("memory")
            .hint(format!("give option `memory={}`, or lower the other options", exact_size(wanted))))
    }

    fn check_ids(&self) -> Result<(), OptionError> {
        let action = self.action.bulk_key();
        if let Some(from) = self.id_from {
            let name = from.name();
            if self.id.is_some() {
                return refuse(
                    "id_from",
                    format!("option `id` and option `id_from={name}` each give the documents' ids; leave one out"),
                );
            }
            if !matches!(self.action, Action::Index | Action::Create) {
                return refuse(
                    "id_from",
                    format!(
                        "option `id_from={name}` works with the actions index and create only; action {action} needs ids that the documents hold, so name their field with option `id`"
                    ),
                );
            }
        }
        if self.version.is_some() && matches!(self.action, Action::Update | Action::Upsert | Action::Create) {
            return refuse(
                "version",
                "servers accept an external version only with the actions index and delete; leave option `version` out or change option `action`",
            );
        }
        Ok(())
    }

    fn check_coalesce(&self) -> Result<(), OptionError> {
        if self.coalesce.is_some() && !matches!(self.action, Action::Index | Action::Delete) {
            let action = self.action.bulk_key();
            return refuse(
                "coalesce",
                format!(
                    "option `coalesce` sends only the last of several whole documents or deletes, and action {action} changes or keeps the earlier document; leave option `coalesce` out, or use action index or delete"
                ),
            );
        }
        Ok(())
    }

    /// Checks options of a load that looks up its documents.
    ///
    /// # Errors
    /// As [`LoadConfig::check`].
    pub(crate) fn check_fetch(&self) -> Result<(), OptionError> {
        if !matches!(self.action, Action::Index | Action::Delete) {
            let action = self.action.bulk_key();
            return refuse(
                "action",
                format!("documents are looked up for the action index, and action {action} is given; leave it out"),
            );
        }
        if self.encoding == Some(Encoding::Smile) {
            return refuse(
                "encoding",
                "documents that are looked up are sent as JSON; leave option `encoding=smile` out",
            );
        }
        if self.replies == Replies::Summary {
            return refuse(
                "replies",
                "option `replies=summary` does not report replaced documents; leave it out where documents are looked up",
            );
        }
        Ok(())
    }

    fn check_resuming(&self) -> Result<(), OptionError> {
        if self.resume && self.create.recreate {
            return refuse(
                "resume",
                "option `resume` keeps the documents of the index, and option `recreate` deletes them; leave one out",
            );
        }
        if self.resume && self.state.is_none() {
            return refuse("resume", "option `resume` needs the folder of the checkpoint; name it with option `state`");
        }
        if self.once && self.resume {
            return refuse(
                "once",
                "option `once` resumes a load where one was interrupted, and option `resume` always resumes one; leave one out",
            );
        }
        if self.once && self.state.is_none() {
            return refuse("once", "option `once` needs a folder for its checkpoint; name it with option `state`");
        }
        Ok(())
    }

    fn check_settings(&self) -> Result<(), OptionError> {
        if self.guard.leave_settings && self.guard.replicas_off {
            return refuse(
                "replicas_off",
                "option `replicas_off` changes a setting, and option `leave_settings` forbids changes; leave one out",
            );
        }
        if self.guard.replicas_off && self.index.fixed().is_none() {
            return refuse(
                "replicas_off",
                "option `replicas_off` needs one index, and option `index` has placeholders",
            );
        }
        if self.durability == Durability::Async {
            if self.index.fixed().is_none() {
                return refuse(
                    "durability",
                    "option `durability=async` needs one index, and option `index` has placeholders",
                );
            }
            if self.guard.leave_settings {
                return refuse(
                    "durability",
                    "option `durability=async` changes a setting, and option `leave_settings` forbids changes; leave one out",
                );
            }
            if self.replies == Replies::Summary {
                return refuse(
                    "durability",
                    "option `durability=async` needs the index of each document, which option `replies=summary` omits; leave option `replies=summary` out",
                );
            }
        }
        if self.bulk_routing == BulkRouting::OneShard && self.index.fixed().is_none() {
            return refuse(
                "bulk_routing",
                "option `bulk_routing=one-shard` needs one index, and option `index` has placeholders",
            );
        }
        Ok(())
    }

    fn check_graph(&self) -> Result<(), OptionError> {
        if self.guard.leave_settings {
            return refuse(
                "graph",
                "option `graph=end` changes the index for the time of the load, and option `leave_settings` forbids changes; leave one out",
            );
        }
        if self.index.fixed().is_none() {
            return refuse("graph", "option `graph=end` needs one index, and option `index` has placeholders");
        }
        if self.finish.force_merge.is_some_and(|segments| segments > 1) {
            return refuse(
                "force_merge",
                "option `graph=end` merges each shard to 1 segment: others that stay as they are would have no graph; leave option `force_merge` out",
            );
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), OptionError> {
        if let Some(swap) = &self.finish.swap {
            swap.check()?;
            if self.index.fixed().is_none() {
                return refuse("alias", "option `alias` needs one index, and option `index` has placeholders");
            }
            if self.create.recreate {
                return refuse(
                    "alias",
                    "option `alias` loads into a new index, so option `recreate` has nothing to delete; leave option `recreate` out",
                );
            }
        }
        if self.finish.graph == GraphTime::End {
            self.check_graph()?;
        }
        if self.finish.force_merge == Some(0) {
            return refuse("force_merge", "option `force_merge` needs at least 1 segment");
        }
        Ok(())
    }

    fn check_replies(&self) -> Result<(), OptionError> {
        if self.replies != Replies::Summary {
            return Ok(());
        }
        if !matches!(self.action, Action::Index | Action::Create)
            || self.pipeline.is_some()
            || self.index.fixed().is_none()
        {
            return refuse(
                "replies",
                "option `replies=summary` needs action index or create, one index, and no pipeline",
            );
        }
        if self.action == Action::Index && self.id.is_some() {
            return refuse(
                "replies",
                "with option `id` a document can replace another one, which option `replies=summary` does not report; use action create, or replies items",
            );
        }
        Ok(())
    }

    /// Checks options against the source.
    ///
    /// # Errors
    /// As [`LoadConfig::check`].
    pub fn check_source(&self, source: &SourceInfo) -> Result<(), OptionError> {
        if self.action.needs_id() && self.id.is_none() && !source.has_ids {
            let action = self.action.bulk_key();
            return refuse(
                "id",
                format!("action {action} needs the ids of the documents; name their field with option `id`"),
            );
        }
        if self.id_from == Some(IdFrom::Position) && source.repeats == Repeats::Unordered {
            return refuse(
                "id_from",
                "option `id_from=position` needs a source with a fixed order, and this source has none; give option `id_from=content`",
            );
        }
        if self.id_from == Some(IdFrom::Position) && source.names.iter().any(|name| is_stream(name)) {
            self.told.warn(
                "option `id_from=position` derives ids from the name of the source, and all streams have the same name, so another stream would replace the documents of this one; give option `id_from=content`, or load files",
            );
        }
        if let (Some(from), true) = (self.id_from, source.own_numbers) {
            return refuse(
                "id_from",
                format!(
                    "option `id_from={}` needs a source that is read from its beginning each time; leave it out to keep the ids of the index, or name a field with option `id`",
                    from.name()
                ),
            );
        }
        if source.has_ids && self.replies == Replies::Summary && self.action == Action::Index {
            return refuse(
                "replies",
                "documents with ids can replace others, which option `replies=summary` does not report; use action create, or replies items",
            );
        }
        if source.has_operations && self.replies == Replies::Summary {
            return refuse(
                "replies",
                "documents of this source may name an action and an index of their own, which option `replies=summary` does not report; leave it out",
            );
        }
        if self.coalesce.is_some() && self.id.is_none() && self.id_from.is_none() && !source.has_ids {
            self.told.warn(
                "option `coalesce` has no effect on documents without an id, and the documents of this source may have none; name the field of the id with option `id`",
            );
        }
        if self.version.is_some() && self.id.is_none() && !source.has_ids {
            return refuse("version", "an external version needs an id; name its field with option `id`");
        }
        self.check_since(source)?;
        self.check_graph_after(source)?;
        if source.has_versions && self.action != Action::Index {
            return refuse(
                "action",
                "the documents of this source have external versions, which servers accept only with the action index; leave option `action` out, or load without versions",
            );
        }
        if source.has_versions && self.version.is_some() {
            return refuse(
                "version",
                "the documents of this source have external versions already; leave option `version` out",
            );
        }
        Ok(())
    }

    /// Checks that the load has an end, where graphs of vectors wait for it.
    fn check_graph_after(&self, source: &SourceInfo) -> Result<(), OptionError> {
        if self.finish.graph != GraphTime::End || !source.is_endless {
            return Ok(());
        }
        let title = source.title();
        let message = format!("option `graph=end` builds graphs after the last document, and {title} never ends");
        Err(OptionError::conflict(message).of("graph").hint("give option `until=latest`, or leave option `graph` out"))
    }

    /// Checks options of a load that reads rows since the last value of a column.
    fn check_since(&self, source: &SourceInfo) -> Result<(), OptionError> {
        if source.since.is_none() {
            return Ok(());
        }
        if self.id.is_none() && !source.has_ids {
            return refuse(
                "id",
                "option `since` reads rows with the last value again, because others may have got it since, so \
                 documents need ids that stay; name their field with option `id`",
            );
        }
        if self.create.recreate || self.finish.swap.is_some() {
            let option = if self.create.recreate { "recreate" } else { "alias" };
            return refuse(
                option,
                format!(
                    "option `{option}` makes a new index, which would have only the rows since the last load; leave \
                     option `since` out, or load into the index that has the others"
                ),
            );
        }
        if self.resume || self.once {
            let option = if self.resume { "resume" } else { "once" };
            return refuse(
                option,
                format!(
                    "a load with option `since` that was cut off reads its rows again when it is started again, so \
                     leave option `{option}` out"
                ),
            );
        }
        if self.action == Action::Create && self.on_conflict != OnConflict::Skip {
            return refuse(
                "action",
                "option `since` reads rows again that are in the index, which the action create refuses; use the \
                 action index, or give option `on_conflict=skip`",
            );
        }
        if self.version.is_some() && self.on_conflict == OnConflict::Fail {
            return refuse(
                "version",
                "option `since` reads rows again that are in the index, and the same external version is a conflict; \
                 give option `on_conflict=skip`",
            );
        }
        Ok(())
    }
}

/// Whether the name stands for a stream: stdin, a member of an archive on it, or the file that a
/// shell puts in its place. A stream may have other content each time.
fn is_stream(name: &str) -> bool {
    name == "-"
        || name.starts_with("-/")
        || name == "/dev/stdin"
        || name.starts_with("/dev/fd/")
        || name.starts_with("/proc/self/fd/")
}
