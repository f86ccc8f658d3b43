//! Windows of a scripted source, read as the engine reads them.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::{Action, Coalesce, DocBlock, DocMeta, SourceId};
use inrush_sources::{
    Chunk, ColumnType, Feedback, FormatOptions, Partition, Source, SourceError, SourceInfo, SourceSpec, Step,
};

use super::book::ROWS;
use super::{WindowOptions, WindowSource};
use crate::{Session, SessionOptions, TableSpec};

/// What a scripted source does next.
enum Does {
    /// Returns records of a partition.
    Records(u32, &'static [&'static str]),
    /// Has nothing for now.
    Waits,
    /// The group wants a partition back.
    LetsGo,
    Fails,
}

/// A source that numbers its records by partition.
struct Scripted {
    script: VecDeque<Does>,
    next: BTreeMap<u32, u64>,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    settled: Mutex<BTreeMap<Partition, u64>>,
    lost: Mutex<Vec<Partition>>,
    is_waiting: Mutex<bool>,
    /// Steps of the script that are done.
    done: Mutex<usize>,
}

impl Source for Scripted {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["kafka://broker/orders"]);
        info.own_numbers = true;
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        *self.heard.done.lock().unwrap() += 1;
        Ok(match self.script.pop_front() {
            None => Step::End,
            Some(Does::Waits) => Step::Idle,
            Some(Does::LetsGo) => {
                *self.heard.is_waiting.lock().unwrap() = true;
                Step::Idle
            }
            Some(Does::Fails) => return Err(SourceError::new("kafka://broker/orders", "no rights")),
            Some(Does::Records(partition, texts)) => {
                let first = self.next.entry(partition).or_default();
                let block = block(partition, *first, texts);
                *first += block.lines;
                Step::Chunk(Chunk::Docs(block))
            }
        })
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.heard) as Arc<dyn Feedback>)
    }
}

impl Feedback for Heard {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        self.settled.lock().unwrap().extend(up_to);
    }

    fn stop(&self) {}

    fn is_waiting(&self) -> bool {
        *self.is_waiting.lock().unwrap()
    }

    fn lost(&self) -> Vec<Partition> {
        std::mem::take(&mut self.lost.lock().unwrap())
    }
}

/// Records with ten numbers between them. `-` deletes.
fn block(partition: u32, first: u64, texts: &[&str]) -> DocBlock {
    let mut block = DocBlock { lines: 10 * texts.len() as u64, ..DocBlock::default() };
    block.origin = Origin { partition, first_doc: first, own_numbers: true, ..Origin::default() };
    let mut data = Vec::new();
    for (text, number) in texts.iter().zip(0..) {
        let start = data.len() as u32;
        data.extend_from_slice(text.as_bytes());
        block.records.push(Record { start, end: data.len() as u32, byte: start, line: 10 * number });
        block.meta.push(DocMeta::default().with_action((*text == "-").then_some(Action::Delete)));
    }
    block.data = data.into();
    block
}

/// The engine: it reads, and settles when it is told to.
struct Engine {
    source: WindowSource,
    feedback: Arc<dyn Feedback>,
    heard: Arc<Heard>,
    read: BTreeMap<Partition, u64>,
    documents: Vec<String>,
    /// Partition, number, kind and reason.
    letters: Vec<(u32, u64, Code, String)>,
}

fn options(docs: u64) -> WindowOptions {
    WindowOptions::new(Coalesce::new(Duration::from_secs(3600), NonZeroU64::new(docs)))
}

fn session(tables: Vec<TableSpec>) -> Session {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = SessionOptions { threads: 1, ..SessionOptions::default() };
    runtime.block_on(Session::open_beside(tables, options)).unwrap()
}

impl Engine {
    fn new(sql: &str, options: WindowOptions, script: Vec<Does>) -> Engine {
        Engine::over(session(Vec::new()), sql, options, script)
    }

    fn over(session: Session, sql: &str, options: WindowOptions, script: Vec<Does>) -> Engine {
        let heard = Arc::new(Heard::default());
        let scripted = Scripted { script: script.into(), next: BTreeMap::new(), heard: Arc::clone(&heard) };
        let source = session.windows(sql, options).unwrap().over(Box::new(scripted));
        let feedback = source.feedback().unwrap();
        Engine { source, feedback, heard, read: BTreeMap::new(), documents: Vec::new(), letters: Vec::new() }
    }

    /// Reads one step. Whether the source goes on.
    fn step(&mut self) -> Result<bool, SourceError> {
        let chunk = match self.source.next(1 << 20)? {
            Step::Chunk(chunk) => chunk,
            Step::Idle => return Ok(true),
            Step::End => return Ok(false),
        };
        let block = chunk.into_block();
        let partition = (block.origin.source, block.origin.partition);
        let next = self.read.entry(partition).or_insert(block.origin.first_doc);
        assert_eq!(*next, block.origin.first_doc, "{partition:?} has a gap");
        *next += block.lines;
        for reject in &block.rejects {
            let number = block.origin.first_doc + u64::from(block.records[reject.record as usize].line);
            self.letters.push((block.origin.partition, number, reject.kind, reject.reason.clone()));
        }
        let text = |at: u32| String::from_utf8(block.record(at as usize).to_vec()).unwrap();
        self.documents.extend(block.accepted().map(text));
        Ok(true)
    }

    /// Reads to the end.
    fn run(&mut self) -> Result<(), SourceError> {
        while self.step()? {}
        Ok(())
    }

    /// Reads until there are as many documents.
    fn read(&mut self, documents: usize) {
        while self.documents.len() < documents {
            assert!(self.step().unwrap(), "{:?}", self.documents);
        }
    }

    /// Settles everything that was read. Returns what the source has heard in all.
    fn settle(&mut self) -> BTreeMap<u32, u64> {
        self.feedback.settled(&self.read);
        let settled = self.heard.settled.lock().unwrap();
        settled
            .iter()
            .map(|((source, partition), number)| {
                assert_eq!(*source, SourceId(0));
                (*partition, *number)
            })
            .collect()
    }

    fn lose(&self, partition: u32) -> Vec<Partition> {
        self.heard.lost.lock().unwrap().push((SourceId(0), partition));
        self.feedback.lost()
    }
}

const SUMS: &str = "SELECT id, sum(n) AS n, count(*) AS c FROM input GROUP BY id ORDER BY id";

#[test]
fn each_window_is_a_table() {
    let script = vec![
        Does::Records(0, &[r#"{"id":"a","n":1}"#, r#"{"id":"b","n":2}"#]),
        Does::Waits,
        Does::Records(1, &[r#"{"id":"a","n":3}"#]),
        Does::Records(0, &[r#"{"id":"a","n":4}"#]),
    ];
    let mut engine = Engine::new(SUMS, options(3), script);
    engine.run().unwrap();
    let expected = [r#"{"id":"a","n":4,"c":2}"#, r#"{"id":"b","n":2,"c":1}"#, r#"{"id":"a","n":4,"c":1}"#];
    assert_eq!(engine.documents, expected);
    assert_eq!(engine.settle(), BTreeMap::from([(0, 30), (1, 10)]));
}

#[test]
fn positions_are_settled_with_the_rows_of_their_window() {
    let script = vec![
        Does::Records(0, &[r#"{"id":"a","n":1}"#]),
        Does::Records(1, &[r#"{"id":"b","n":1}"#]),
        Does::Records(0, &[r#"{"id":"c","n":1}"#]),
    ];
    let mut engine = Engine::new("SELECT id FROM input", options(2), script);
    engine.read(2);
    assert_eq!(engine.settle(), BTreeMap::new(), "the end of the window was not read");
    engine.run().unwrap();
    assert_eq!(engine.documents.len(), 3);
    assert_eq!(engine.settle(), BTreeMap::from([(0, 20), (1, 10)]));
}

#[test]
fn a_window_without_rows_is_settled_as_well() {
    let script = vec![Does::Records(0, &["{\"n\":1}", "-"]), Does::Records(0, &["-"])];
    let mut options = options(1);
    options.skip_deletions = true;
    let mut engine = Engine::new("SELECT n FROM input WHERE n > 1", options, script);
    engine.run().unwrap();
    assert_eq!((engine.documents.len(), engine.letters.len()), (0, 0));
    assert_eq!(engine.settle(), BTreeMap::from([(0, 30)]));
}

#[test]
fn records_that_are_no_rows_are_dead_letters_with_their_positions() {
    let script = vec![
        Does::Records(3, &[r#"{"id":"a","n":1}"#, "{\"id\":", r#"{"id":"b","n":2}"#]),
        Does::Records(3, &["7", "-", r#"{"id":"c","n":"many"}"#, r#"{"id":"d","n":4}"#]),
    ];
    let mut engine = Engine::new("SELECT id, n * 2 AS n FROM input ORDER BY id", options(2), script);
    engine.run().unwrap();
    assert_eq!(engine.documents, [r#"{"id":"a","n":2}"#, r#"{"id":"b","n":4}"#, r#"{"id":"d","n":8}"#]);
    let letters: Vec<_> = engine.letters.iter().map(|(partition, at, kind, _)| (*partition, *at, *kind)).collect();
    let expected =
        [(3, 10, Code::InvalidJson), (3, 30, Code::NotAnObject), (3, 40, Code::Deletion), (3, 50, Code::BadValue)];
    assert_eq!(letters, expected);
    assert_eq!(engine.settle(), BTreeMap::from([(3, 70)]));
}

#[test]
fn a_record_with_which_the_query_fails_is_a_dead_letter() {
    let script = vec![
        Does::Records(0, &[r#"{"id":"a","d":"2024-01-31"}"#, r#"{"id":"b","d":"soon"}"#]),
        Does::Records(0, &[r#"{"id":"c","d":"2024-02-01"}"#, r#"{"id":"d","d":"2024-02-30"}"#]),
        Does::Records(0, &[r#"{"id":"e","d":"2024-03-01"}"#]),
    ];
    let sql = "SELECT id, to_date(d) AS d, count(*) OVER () AS c FROM input ORDER BY id";
    let mut engine = Engine::new(sql, options(4), script);
    engine.run().unwrap();
    let letters: Vec<_> = engine.letters.iter().map(|(_, at, kind, _)| (*at, *kind)).collect();
    assert_eq!(letters, [(10, Code::QueryFailed), (30, Code::QueryFailed)]);
    assert!(engine.letters[0].3.contains("to_date has a text that is not a date"), "{:?}", engine.letters);
    let expected = [
        r#"{"id":"a","d":"2024-01-31","c":2}"#,
        r#"{"id":"c","d":"2024-02-01","c":2}"#,
        r#"{"id":"e","d":"2024-03-01","c":1}"#,
    ];
    assert_eq!(engine.documents, expected);
    assert_eq!(engine.settle(), BTreeMap::from([(0, 50)]));
}

#[test]
fn a_query_that_fails_with_all_records_at_once_ends_the_load() {
    let script = vec![Does::Records(0, &[r#"{"n":9223372036854775807}"#, r#"{"n":1}"#])];
    let mut engine = Engine::new("SELECT sum(n) AS id FROM input", options(2), script);
    let error = engine.run().unwrap_err().to_string();
    assert!(error.contains("does not fit BIGINT"), "{error}");
    assert!(matches!(engine.source.next(1), Ok(Step::End)));
    assert_eq!(engine.settle(), BTreeMap::new());
}

#[test]
fn columns_keep_their_types_and_new_ones_come() {
    let script = vec![
        Does::Records(0, &[r#"{"id":1,"n":1}"#]),
        Does::Records(0, &[r#"{"id":2,"n":2.5,"new":"x"}"#]),
        Does::Records(0, &[r#"{"id":"3","n":"4","new":5}"#]),
    ];
    let mut engine = Engine::new("SELECT * FROM input", options(1), script);
    engine.run().unwrap();
    let expected = [r#"{"id":1,"n":1}"#, r#"{"id":2,"n":2.5,"new":"x"}"#, r#"{"id":3,"n":4.0,"new":"5"}"#];
    assert_eq!(engine.documents, expected);
}

#[test]
fn an_odd_value_takes_no_field_from_its_neighbours() {
    let script = vec![
        Does::Records(0, &[r#"{"o":{"x":1},"l":[{"y":1}]}"#]),
        Does::Records(0, &[r#"{"o":{"x":2,"new":3},"l":[{"z":2}]}"#, r#"{"o":7,"l":[{}]}"#, r#"{"o":{},"l":8}"#]),
    ];
    let mut engine = Engine::new("SELECT * FROM input", options(1), script);
    engine.run().unwrap();
    let expected = [r#"{"o":{"x":1},"l":[{"y":1}]}"#, r#"{"o":{"x":2,"new":3},"l":[{"z":2}]}"#];
    assert_eq!(engine.documents, expected);
    let letters: Vec<_> = engine.letters.iter().map(|(_, at, kind, _)| (*at, *kind)).collect();
    assert_eq!(letters, [(20, Code::BadValue), (30, Code::BadValue)]);
}

#[test]
fn a_column_that_no_record_has_yet_is_declared() {
    let records = || vec![Does::Records(0, &[r#"{"id":1}"#])];
    let sql = "SELECT id, coalesce(price, 0) * 2 AS price FROM input";
    let error = Engine::new(sql, options(1), records()).run().unwrap_err().to_string();
    assert!(error.contains("price") && error.contains("option `schema` declares others"), "{error}");
    let mut declared = options(1);
    declared.columns = vec![("price".to_owned(), ColumnType::Float)];
    let mut engine = Engine::new(sql, declared, records());
    engine.run().unwrap();
    assert_eq!(engine.documents, [r#"{"id":1,"price":0.0}"#]);
}

#[test]
fn windows_are_joined_with_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("towns.csv");
    std::fs::write(&path, "town,country\nHendaye,FR\nragged\nLodz,PL\n").unwrap();
    let format = FormatOptions::default();
    let towns = TableSpec { name: "towns".to_owned(), sources: vec![SourceSpec::new(&path)], format };
    let session = session(vec![towns]);
    // It was read once.
    std::fs::remove_file(&path).unwrap();
    let script =
        vec![Does::Records(0, &[r#"{"id":1,"town":"Lodz"}"#]), Does::Records(0, &[r#"{"id":2,"town":"Hendaye"}"#])];
    let sql = "SELECT id, country FROM input JOIN towns USING (town)";
    let mut engine = Engine::over(session, sql, options(1), script);
    engine.run().unwrap();
    assert_eq!(engine.documents, [r#"{"id":1,"country":"PL"}"#, r#"{"id":2,"country":"FR"}"#]);
    let letters: Vec<_> = engine.letters.iter().map(|(partition, _, kind, _)| (*partition, *kind)).collect();
    assert_eq!(letters, [(ROWS, Code::RaggedRow)]);
    assert_eq!(engine.source.describe().names.len(), 3);
}

#[test]
fn rows_of_a_lost_partition_are_made_again_without_it() {
    let script = vec![
        Does::Records(0, &[r#"{"id":"a","n":1}"#]),
        Does::Records(1, &[r#"{"id":"a","n":2}"#]),
        Does::Records(1, &[r#"{"id":"b","n":4}"#, r#"{"id":"b","n":4}"#]),
        Does::Waits,
        Does::Records(0, &[r#"{"id":"lost","n":1}"#]),
        Does::Waits,
    ];
    let mut engine = Engine::new(SUMS, options(2), script);
    engine.read(2);
    assert_eq!(engine.documents, [r#"{"id":"a","n":3,"c":2}"#, r#"{"id":"b","n":8,"c":2}"#]);
    // A record of it is in the window that is read.
    while *engine.heard.done.lock().unwrap() < 6 {
        engine.step().unwrap();
    }
    let rows = (SourceId(1), ROWS);
    assert_eq!(engine.lose(0), [(SourceId(0), 0), rows]);
    assert_eq!((engine.feedback.ended(), engine.feedback.ended()), (vec![rows], vec![]));
    engine.documents.clear();
    engine.run().unwrap();
    assert_eq!(engine.documents, [r#"{"id":"a","n":2,"c":1}"#, r#"{"id":"b","n":8,"c":2}"#]);
    assert_eq!(engine.settle(), BTreeMap::from([(1, 30)]));
}

#[test]
fn a_window_ends_where_a_partition_is_wanted_back_and_where_memory_does() {
    let script =
        || vec![Does::Records(0, &[r#"{"id":"a","n":1}"#]), Does::LetsGo, Does::Records(0, &[r#"{"id":"b","n":1}"#])];
    let mut engine = Engine::new("SELECT id FROM input", options(1000), script());
    engine.read(1);
    let mut small = options(1000);
    small.memory = 20;
    let mut engine = Engine::new("SELECT id, count(*) OVER () AS c FROM input", small, script());
    engine.read(1);
    for _ in 0..10 {
        assert!(engine.step().unwrap());
    }
    assert_eq!(engine.documents, [r#"{"id":"a","c":1}"#], "nothing is read until it is settled");
    engine.settle();
    while engine.step().unwrap() {
        engine.settle();
    }
    assert_eq!(engine.documents.len(), 2);
}

#[test]
fn what_was_read_before_an_error_comes_first() {
    let script = vec![Does::Records(0, &[r#"{"id":"a","n":1}"#]), Does::Fails];
    let mut engine = Engine::new("SELECT id FROM input", options(1000), script);
    let error = engine.run().unwrap_err().to_string();
    assert!(error.contains("no rights"), "{error}");
    assert_eq!(engine.documents, [r#"{"id":"a"}"#]);
    assert_eq!(engine.settle(), BTreeMap::from([(0, 10)]));
}

#[test]
fn queries_that_cannot_be_are_refused_before_the_first_record() {
    for (sql, expected) in [
        ("SELEC 1", "SELECT"),
        ("SELECT 1 AS id", "does not read the table input"),
        ("SELECT * FROM input JOIN towns USING (id)", "there is no table towns"),
        ("DELETE FROM input", "SELECT"),
    ] {
        let error = session(Vec::new()).windows(sql, options(1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
}
