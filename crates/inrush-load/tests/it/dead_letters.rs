//! Dead letters that a source keeps itself.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use inrush_core::block::{DocMeta, Origin, Record};
use inrush_core::{DeadLetter, DocBlock, Reject};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report, RunningLoad, Status};
use inrush_sources::{Chunk, DeadLetterSink, Feedback, Partition, Source, SourceError, SourceInfo, Step};

/// Four documents, of which one is none. It keeps dead letters.
struct Four {
    block: Option<DocBlock>,
    sink: Arc<Sink>,
}

#[derive(Debug, Default)]
struct Sink {
    state: Mutex<State>,
    keeps: Keeps,
    /// Told at the end.
    closed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Keeps {
    #[default]
    All,
    /// Letters cannot be kept.
    Nothing,
    /// They may be kept later.
    Later,
}

#[derive(Debug, Default)]
struct State {
    taken: Vec<DeadLetter>,
    kept: usize,
    closed: bool,
    /// What was settled, and how many letters were kept then.
    settled: Vec<(u64, usize)>,
}

impl DeadLetterSink for Sink {
    fn name(&self) -> &str {
        "the sink"
    }

    fn write(&self, letter: &DeadLetter) {
        self.state.lock().unwrap().taken.push(letter.clone());
    }

    fn waiting_bytes(&self) -> u64 {
        0
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        match self.keeps {
            _ if state.taken.is_empty() => {}
            Keeps::All => state.kept = state.taken.len(),
            Keeps::Nothing => return Err(io::Error::other("it is full")),
            Keeps::Later => {
                let waited = self.closed.wait_while(state, |state| !state.closed).unwrap();
                drop(waited);
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it is away"));
            }
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.closed = true;
        self.closed.notify_all();
        match self.keeps {
            _ if state.kept == state.taken.len() => Ok(()),
            Keeps::Later => Err(io::Error::new(io::ErrorKind::TimedOut, "it is away")),
            Keeps::All | Keeps::Nothing => Err(io::Error::other("it is full")),
        }
    }
}

impl Feedback for Sink {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        let mut state = self.state.lock().unwrap();
        let kept = state.kept;
        state.settled.extend(up_to.values().map(|settled| (*settled, kept)));
    }

    fn stop(&self) {}
}

impl Source for Four {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["four"]);
        info.has_ids = true;
        info.dead_letters = Some(Arc::clone(&self.sink) as Arc<dyn DeadLetterSink>);
        info
    }

    fn next(&mut self, _want_bytes: usize) -> Result<Step, SourceError> {
        Ok(Step::or_end(self.block.take().map(Chunk::Docs)))
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.sink) as Arc<dyn Feedback>)
    }
}

fn four(keeps: Keeps) -> Four {
    let data = b"{\"n\":0}{\"n\":1}{\"n\":2}{\"n\":3}".to_vec();
    let record = |at: u32| Record { start: at * 7, end: at * 7 + 7, byte: at * 7, line: at };
    let block = DocBlock {
        origin: Origin::default(),
        lines: 4,
        bytes_read: data.len() as u64,
        data: data.into(),
        records: (0..4).map(record).collect(),
        rejects: vec![Reject { record: 2, kind: inrush_core::Code::BadValue, reason: "no".to_owned() }],
        meta: (0..4).map(|at| DocMeta::default().with_id(format!("id-{at}"))).collect(),
    };
    Four { block: Some(block), sink: Arc::new(Sink { keeps, ..Sink::default() }) }
}

/// Loads them into a cluster that refuses the second one.
async fn load(source: Four, change: impl FnOnce(&mut LoadConfig)) -> Report {
    let (load, _fake) = start(source, change).await;
    load.finish().await
}

async fn start(source: Four, change: impl FnOnce(&mut LoadConfig)) -> (RunningLoad, FakeCluster) {
    let rule = Rule::new(Fault::ItemBadRequest).ids(["id-1"]);
    let fake = FakeCluster::start(FakeConfig::default().faults(Faults::new([rule]))).await.unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    change(&mut config);
    (ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap(), fake)
}

#[tokio::test]
async fn documents_are_settled_once_their_letters_are_kept() {
    let source = four(Keeps::All);
    let sink = Arc::clone(&source.sink);
    let folder = tempfile::tempdir().unwrap();
    // No file is written there, and a folder that is missing is no error.
    let missing = folder.path().join("missing");
    let report = load(source, |config| config.dead_letters = DeadLetters::Folder(missing)).await;
    assert_eq!((report.status, report.dead_letter_topic.as_deref()), (Status::Incomplete, Some("the sink")));
    assert_eq!((report.dead_letters, report.counts.docs_dead_lettered), (None, 2));
    let state = sink.state.lock().unwrap();
    let mut ids: Vec<String> = state
        .taken
        .iter()
        .map(|letter| match (&letter.meta, &letter.action) {
            (Some(meta), None) => meta.id.clone().unwrap(),
            (None, Some(line)) => String::from_utf8(line.to_vec()).unwrap(),
            both => panic!("{both:?}"),
        })
        .collect();
    ids.sort();
    assert_eq!(ids, ["id-2", "{\"index\":{\"_id\":\"id-1\"}}"]);
    assert!(state.closed && state.settled.last() == Some(&(4, 2)), "{state:?}");
}

#[tokio::test]
async fn a_named_file_is_written_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.ndjson");
    let report = load(four(Keeps::All), |config| config.dead_letters = DeadLetters::File(path.clone())).await;
    assert_eq!((report.dead_letter_topic.as_deref(), report.dead_letters.as_ref()), (Some("the sink"), Some(&path)));
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(r#""action":{"index":{"_id":"id-2"}},"text":"{\"n\":2}""#) && text.lines().count() == 2);
}

#[tokio::test]
async fn letters_that_cannot_be_kept_end_the_load() {
    let source = four(Keeps::Nothing);
    let sink = Arc::clone(&source.sink);
    let report = load(source, |_| ()).await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    let failure = report.failure.unwrap();
    assert!(failure.contains("cannot write dead letters to the sink: it is full"), "{failure}");
    assert_eq!(report.failure_code, Some(inrush_core::Code::DeadLettersFailed));
    let state = sink.state.lock().unwrap();
    assert!(state.settled.is_empty() && state.closed, "{state:?}");
}

#[tokio::test]
async fn a_load_that_is_stopped_does_not_wait_for_letters_that_are_not_kept() {
    let source = four(Keeps::Later);
    let sink = Arc::clone(&source.sink);
    let (load, _fake) = start(source, |config| config.limits.grace = Duration::from_secs(1)).await;
    load.progress().wait_for(|progress| progress.docs_settled == 4).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.status, report.failure.as_deref()), (Status::Interrupted, None), "{report:?}");
    assert_eq!((report.dead_letter_topic.as_deref(), report.counts.docs_dead_lettered), (Some("the sink"), 2));
    let sentence = "the load ended before the sink had all dead letters: it is away; the source was not told";
    assert!(report.warnings.iter().any(|warning| warning.starts_with(sentence)), "{:?}", report.warnings);
    let state = sink.state.lock().unwrap();
    assert!(state.settled.is_empty() && state.closed, "{state:?}");
}
