//! Dead letters: documents that are not indexed, each with its error and its position in the
//! source, in a file that can be loaded again (`inrush load --from-dead-letters FILE`,
//! [`inrush_sources::Format::DeadLetters`]).
//!
//! The file has one JSON object in each line:
//!
//! | field | content |
//! |---|---|
//! | `index` | the index of the load, perhaps with placeholders |
//! | `error` | `status`, `type`, `reason` |
//! | `position` | `source`, `partition`, `doc`, `line`, `byte`; of a topic also `topic`, `offset` |
//! | `action` | the action line; of a record that never became an item, what the source knows |
//! | `sent_with` | of such a record: the action, and the fields of id, routing value and version |
//! | `document` | the document as JSON |
//! | `text` | the document where it is not JSON |
//! | `base64` | the document where it is not UTF-8 |
//! | `doc_as_upsert` | `true` for an upsert |

mod line;
#[cfg(test)]
mod round_trip;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_core::{Action, DeadLetter, FieldPath};
use inrush_formats::dead_letters::SentWith;
use inrush_sources::{DeadLetterSink, Topics};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use self::line::Line;

use crate::config::{DeadLetters, LoadConfig};
use crate::error::LoadError;
use crate::outcomes::FailureSender;
use crate::private::{private_file, prove, prove_new};

/// Writes the dead-letter file, and hands dead letters to the source's sink.
pub(crate) struct DeadLetterWriter {
    /// The file's path. `None` if dead letters only go to the sink.
    path: Option<PathBuf>,
    file: Option<BufWriter<File>>,
    sink: Option<Arc<dyn DeadLetterSink>>,
    /// The sink has got a letter.
    sink_used: bool,
    /// Receiver of dead letters, where the program asked for them.
    failures: Option<FailureSender>,
    sources: Vec<String>,
    topics: Option<Arc<dyn Topics>>,
    /// The index of the load, perhaps with placeholders.
    index: Option<String>,
    /// Options for records that never became items.
    sent_with: SentWith,
    /// A letter could not be written, so a counted one is missing in the file.
    broken: bool,
    /// Letters were written and not synced.
    unsynced: bool,
}

/// The part of the dead-letter file that belongs to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedLetters {
    /// Absolute path.
    #[serde(with = "inrush_sources::path_json")]
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// Options that make items of the load's records.
pub(crate) fn sent_with(config: &LoadConfig) -> SentWith {
    let field = |path: &Option<FieldPath>| path.as_ref().map(ToString::to_string);
    SentWith {
        action: (config.action != Action::default()).then_some(config.action),
        id: field(&config.id),
        routing: field(&config.routing),
        version: field(&config.version),
        ..SentWith::default()
    }
}

/// State of the dead letters at one moment.
#[derive(Debug)]
pub(crate) struct SyncPoint {
    /// Position in the file.
    pub(crate) saved: SavedLetters,
    /// What has to be synced before a checkpoint contains the position.
    pub(crate) unsynced: Unsynced,
}

/// Dead letters that are written, and may be lost.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    file: Option<File>,
    sink: Option<Arc<dyn DeadLetterSink>>,
}

impl Unsynced {
    /// Waits until the dead letters are on disk, and kept by the sink.
    ///
    /// # Errors
    /// That of the file or of the sink, with its name.
    pub(crate) fn sync(self) -> io::Result<()> {
        let named = |what: String, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        if let Some(file) = self.file {
            file.sync_all().map_err(|e| named("cannot sync the dead letters to disk".to_owned(), e))?;
        }
        match self.sink {
            Some(sink) => sink.sync().map_err(|e| named(format!("cannot write dead letters to {}", sink.name()), e)),
            None => Ok(()),
        }
    }
}

/// Where the dead letters of a load are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenLetters {
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The name of the source's sink, if it has got any.
    pub(crate) sink: Option<String>,
    /// Why the sink does not keep all of them, where it refused none.
    pub(crate) not_kept: Option<String>,
}

impl DeadLetterWriter {
    /// Leaves no file before the first dead letter. It writes to the path at once, and takes that
    /// back, so that a load with an unusable path or a full disk does not begin.
    pub(crate) fn new(
        config: &DeadLetters,
        run_id: &str,
        sources: Vec<String>,
        failures: Option<FailureSender>,
    ) -> Result<Self, LoadError> {
        let name = format!("inrush-dead-letters-{run_id}.ndjson");
        let path = match config {
            DeadLetters::DefaultFile => PathBuf::from(name),
            DeadLetters::Folder(folder) => folder.join(name),
            DeadLetters::File(path) => path.clone(),
        };
        match check(&path) {
            Ok(()) => Ok(DeadLetterWriter { path: Some(path), ..Self::without_file(sources, failures) }),
            Err(reason) => Err(LoadError::DeadLetters { path, reason }),
        }
    }

    /// One that hands dead letters to the source's sink only.
    pub(crate) fn without_file(sources: Vec<String>, failures: Option<FailureSender>) -> Self {
        DeadLetterWriter {
            path: None,
            file: None,
            sink: None,
            sink_used: false,
            failures,
            sources,
            topics: None,
            index: None,
            sent_with: SentWith::default(),
            broken: false,
            unsynced: false,
        }
    }

    /// Continues the file of an interrupted run, unless the user names another one. It truncates
    /// letters that were written after the last checkpoint, because their documents are sent again.
    pub(crate) fn resume(
        config: &DeadLetters,
        run_id: &str,
        sources: Vec<String>,
        failures: Option<FailureSender>,
        saved: &SavedLetters,
    ) -> Result<Self, LoadError> {
        let path = saved.path.clone();
        let other = match config {
            DeadLetters::File(named) => std::path::absolute(named).is_ok_and(|named| named != path),
            DeadLetters::DefaultFile | DeadLetters::Folder(_) => false,
        };
        if other {
            return Self::new(config, run_id, sources, failures);
        }
        let refuse = |reason: String| LoadError::DeadLetters { path: path.clone(), reason };
        let file = match File::options().append(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && saved.bytes == 0 => {
                check(&path).map_err(refuse)?;
                None
            }
            Err(e) => {
                return Err(refuse(format!(
                    "it contains the dead letters of the interrupted load, and cannot be opened ({e}); restore the file, or name another one with option `dead_letters`"
                )));
            }
            Ok(file) => Some(file),
        };
        if let Some(file) = &file {
            let meta = file.metadata().map_err(|e| refuse(e.to_string()))?;
            if meta.is_file() && meta.len() < saved.bytes {
                return Err(refuse(format!(
                    "the interrupted load had written {} bytes of dead letters, and the file has only {}; restore the file, or name another one with option `dead_letters`",
                    saved.bytes,
                    meta.len()
                )));
            }
            if meta.is_file() {
                file.set_len(saved.bytes).map_err(|e| refuse(e.to_string()))?;
            }
        }
        let file = file.filter(|_| saved.bytes > 0).map(BufWriter::new);
        Ok(DeadLetterWriter { path: Some(path), file, ..Self::without_file(sources, failures) })
    }

    /// Sets the place of the source for dead letters.
    pub(crate) fn sink(mut self, sink: Option<Arc<dyn DeadLetterSink>>) -> Self {
        self.sink = sink;
        self
    }

    /// Sets the topics of the source.
    pub(crate) fn topics(mut self, topics: Option<Arc<dyn Topics>>) -> Self {
        self.topics = topics;
        self
    }

    /// Sets the index of the load, which each letter names.
    pub(crate) fn index(mut self, index: &str) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    /// Sets the options for records that never become items.
    pub(crate) fn sent_with(mut self, sent_with: SentWith) -> Self {
        self.sent_with = sent_with;
        self
    }

    /// Position of the end of the file, with all letters in it.
    pub(crate) fn sync_point(&mut self) -> io::Result<SyncPoint> {
        self.flush()?;
        if self.broken {
            return Err(io::Error::other("an earlier dead letter could not be written"));
        }
        let path = self.path.as_deref().map(std::path::absolute).transpose()?.unwrap_or_default();
        let sink = self.sink.clone();
        let Some(file) = self.file.as_ref().map(BufWriter::get_ref) else {
            return Ok(SyncPoint { saved: SavedLetters { path, bytes: 0 }, unsynced: Unsynced { file: None, sink } });
        };
        let meta = file.metadata()?;
        // Pipes and devices have no end and need no sync.
        let bytes = if meta.is_file() { meta.len() } else { 0 };
        let file = if meta.is_file() && self.unsynced { Some(file.try_clone()?) } else { None };
        self.unsynced = false;
        Ok(SyncPoint { saved: SavedLetters { path, bytes }, unsynced: Unsynced { file, sink } })
    }

    /// Writes a dead letter.
    pub(crate) fn write(&mut self, letter: &DeadLetter) -> io::Result<()> {
        self.unsynced = true;
        let written = self.append(letter);
        self.broken |= written.is_err();
        written
    }

    fn append(&mut self, letter: &DeadLetter) -> io::Result<()> {
        let source = self.sources.get(letter.position.source.0 as usize).map_or("?", String::as_str);
        let topic = self.topics.as_ref().and_then(|topics| topics.find(letter.position.partition));
        if let Some(failures) = &self.failures {
            failures.send(source, topic.as_ref(), letter);
        }
        if let Some(sink) = &self.sink {
            sink.write(letter);
            self.sink_used = true;
        }
        let Some(path) = &self.path else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(private_file(path)?)),
        };
        serde_json::to_writer(
            &mut *file,
            &Line::new(self.index.as_deref(), source, topic.as_ref(), letter, &self.sent_with),
        )?;
        file.write_all(b"\n")
    }

    /// Flushes written letters to the file.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        self.broken |= flushed.is_err();
        flushed
    }

    /// The memory of dead letters that the sink does not keep yet, bytes.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.sink.as_ref().map_or(0, |sink| sink.waiting_bytes())
    }

    /// Ends the file and the sink. Returns where the load wrote dead letters.
    pub(crate) fn finish(mut self) -> io::Result<WrittenLetters> {
        let sink = self.sink.take();
        let file = self.finish_file();
        // The sink ends also where the file has an error.
        let closed = sink.as_ref().map_or(Ok(()), |sink| sink.close());
        let sink = sink.filter(|_| self.sink_used).map(|sink| sink.name().to_owned());
        let file = file?;
        let not_kept = match closed {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Some(error.to_string()),
            closed => closed.map(|()| None)?,
        };
        Ok(WrittenLetters { file, sink, not_kept })
    }

    fn finish_file(&mut self) -> io::Result<Option<PathBuf>> {
        self.flush()?;
        let Some(file) = self.file.take() else { return Ok(None) };
        let file = file.get_ref();
        // Pipes and devices cannot be synced.
        if file.metadata()?.is_file() {
            file.sync_all()?;
        }
        Ok(self.path.take())
    }

    /// The file, or the sink, for messages.
    pub(crate) fn place(&self) -> String {
        match (&self.path, &self.sink) {
            (None, Some(sink)) => sink.name().to_owned(),
            (path, _) => path.as_deref().unwrap_or(Path::new("")).display().to_string(),
        }
    }
}

/// Checks that dead letters can be written to a file: writes to it, and leaves it as it was.
fn check(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(found) if found.is_dir() => Err("it is a folder; name a file in it".to_owned()),
        Ok(found) if found.is_file() && found.len() > 0 => {
            Err("it exists and is not empty; load its documents with option `from_dead_letters`, or name another file"
                .to_owned())
        }
        Ok(found) => {
            let written = match found.is_file() {
                true => File::options().write(true).open(path).and_then(|mut file| prove(&mut file)),
                // A pipe waits for its reader.
                false => access(path, Access::WRITE_OK).map_err(io::Error::from),
            };
            written.map_err(|e| format!("it cannot be written to ({e}); name another file"))
        }
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !folder.is_dir() {
                return Err(format!("its folder {} does not exist; create it, or name another file", folder.display()));
            }
            prove_new(path).map_err(|e| {
                let other = "name a file elsewhere with option `dead_letters`";
                format!("its folder {} cannot be written to ({e}); {other}", folder.display())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::{DocMeta, MetaFields, Position, SourceId, VersionType};
    use inrush_sources::TopicPartition;

    use super::*;

    fn check(action: Option<&str>, document: &[u8], expected: &str) {
        let letter = DeadLetter::new(Position::new(SourceId(0), 0, 5, 7, 60), "k", "r", document.to_vec().into())
            .with_status(400)
            .with_action(action.map(|a| a.to_owned().into()));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let mut writer =
            DeadLetterWriter::new(&DeadLetters::File(path.clone()), "x", vec!["a.ndjson".into()], None).unwrap();
        writer.write(&letter).unwrap();
        assert_eq!(writer.finish().unwrap().file, Some(path.clone()));
        let start = r#"{"error":{"status":400,"type":"k","reason":"r"},"position":{"source":"a.ndjson","partition":0,"doc":5,"line":7,"byte":60},"#;
        assert_eq!(std::fs::read_to_string(path).unwrap(), format!("{start}{expected}}}\n"));
    }

    /// What is written behind the position of a record that never became an item.
    fn unsent(meta: DocMeta, text: &str, sent_with: SentWith) -> String {
        let letter = DeadLetter::new(Position::default(), "k", "r", text.to_owned().into()).with_meta(meta);
        let line = serde_json::to_string(&Line::new(None, "a", None, &letter, &sent_with)).unwrap();
        line.split_once("},").and_then(|(_, rest)| rest.split_once("},")).unwrap().1.to_owned()
    }

    #[test]
    fn a_record_that_was_never_sent_keeps_its_id() {
        let none = SentWith::default;
        let id = || DocMeta::default().with_id("7".to_owned());
        assert_eq!(unsent(id(), "{bad", none()), r#""action":{"index":{"_id":"7"}},"text":"{bad"}"#);
        assert_eq!(unsent(id(), "", none()), r#""action":{"index":{"_id":"7"}},"text":""}"#);
        assert_eq!(unsent(id().with_action(Action::Delete), "", none()), r#""action":{"delete":{"_id":"7"}}}"#);
        let with = SentWith { action: Some(Action::Upsert), routing: Some("shop".to_owned()), ..none() };
        assert_eq!(
            unsent(id().with_routing("r".to_owned()).with_version(3), "{}", with),
            r#""action":{"update":{"_id":"7","routing":"r","version":3,"version_type":"external"}},"sent_with":{"action":"upsert","routing":"shop"},"doc_as_upsert":true,"text":"{}"}"#
        );
        let fields = MetaFields { version: Some("v".parse().unwrap()), ..MetaFields::default() };
        let meta = id().with_fields(Arc::new(fields)).with_version_type(VersionType::ExternalGte);
        assert_eq!(
            unsent(meta.clone(), "{}", none()),
            r#""action":{"index":{"_id":"7"}},"sent_with":{"version":"v","version_type":"external_gte"},"text":"{}"}"#
        );
        let fields = MetaFields { id: Some("order".parse().unwrap()), ..MetaFields::default() };
        let of_letter = DocMeta::default().with_fields(Arc::new(fields));
        assert_eq!(unsent(of_letter, "{bad", none()), r#""sent_with":{"id":"order"},"text":"{bad"}"#);
        let shaped = DocMeta::default().with_is_shaped(true);
        assert_eq!(unsent(shaped, r#"{"b":1}"#, none()), r#""document":{"b":1}}"#, "it is not changed again");
        let of_job = SentWith { version: Some("w".to_owned()), ..none() };
        assert_eq!(
            unsent(meta, "{}", of_job),
            r#""action":{"index":{"_id":"7"}},"sent_with":{"version":"w"},"text":"{}"}"#
        );
    }

    #[test]
    fn every_document_is_kept_as_it_was() {
        let index = Some(r#"{"index":{"_id":"1"}}"#);
        check(index, br#"{"a":1.50}"#, r#""action":{"index":{"_id":"1"}},"document":{"a":1.50}"#);
        check(index, b"{\"a\":", r#""action":{"index":{"_id":"1"}},"text":"{\"a\":""#);
        check(index, b"\xff\xfe", r#""action":{"index":{"_id":"1"}},"base64":"//4=""#);
        check(None, b"1;2;3", r#""text":"1;2;3""#);
        check(Some(r#"{"delete":{"_id":"1"}}"#), b"", r#""action":{"delete":{"_id":"1"}}"#);
        let update = Some(r#"{"update":{"_id":"1"}}"#);
        check(update, br#"{"doc":{"a":1}}"#, r#""action":{"update":{"_id":"1"}},"document":{"a":1}"#);
        check(
            update,
            br#"{"doc":{"a":1},"doc_as_upsert":true}"#,
            r#""action":{"update":{"_id":"1"}},"doc_as_upsert":true,"document":{"a":1}"#,
        );
    }

    fn refusal(path: &Path) -> Option<String> {
        let writer = DeadLetterWriter::new(&DeadLetters::File(path.to_owned()), "x", vec![], None);
        writer.err().map(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_anything_is_sent() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(refusal(file.path()), None);
        std::fs::write(file.path(), "x").unwrap();
        assert!(refusal(file.path()).unwrap().contains("not empty"));
        let folder = tempfile::tempdir().unwrap();
        assert!(refusal(folder.path()).unwrap().contains("it is a folder"));
        assert!(refusal(&folder.path().join("none/d")).unwrap().contains("does not exist"));
        // Even root cannot create a file here.
        assert!(refusal(Path::new("/proc/sys/d")).unwrap().contains("cannot be written to"));
    }

    #[derive(Debug)]
    struct Orders;

    impl Topics for Orders {
        fn find(&self, number: u32) -> Option<TopicPartition> {
            (number == 7).then(|| TopicPartition::new("orders", 3))
        }
    }

    #[test]
    fn a_letter_of_a_topic_has_its_partition_and_offset() {
        let (dir, names) = (tempfile::tempdir().unwrap(), vec!["kafka://a:9092/orders".to_owned()]);
        let path = dir.path().join("d");
        let (sender, mut failures) = crate::outcomes::failures(1 << 20);
        let writer = DeadLetterWriter::new(&DeadLetters::File(path.clone()), "x", names, Some(sender)).unwrap();
        let mut writer = writer.topics(Some(Arc::new(Orders)));
        writer.write(&DeadLetter::new(Position::new(SourceId(0), 7, 1200, 1, 0), "k", "r", "x".into())).unwrap();
        writer.finish().unwrap();
        let expected = r#""position":{"source":"kafka://a:9092/orders","topic":"orders","partition":3,"offset":1200,"#;
        let written = std::fs::read_to_string(path).unwrap();
        assert!(written.contains(expected), "{written}");
        assert_eq!(failures.try_recv().unwrap().topic, Some(TopicPartition::new("orders", 3)));
    }

    #[test]
    fn a_device_takes_dead_letters_too() {
        let letter = DeadLetter::new(Position::default(), "k", "r", "x".into()).with_status(400);
        let device = PathBuf::from("/dev/null");
        let mut writer =
            DeadLetterWriter::new(&DeadLetters::File(device.clone()), "x", vec!["a".into()], None).unwrap();
        writer.write(&letter).unwrap();
        assert_eq!(writer.finish().unwrap().file, Some(device));
    }
}
