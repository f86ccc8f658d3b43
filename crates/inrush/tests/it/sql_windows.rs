//! Windows of a query in a load, against the fake cluster: the source loses a partition while rows
//! of its window wait.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inrush_core::Coalesce;
use inrush_fake::{Fault, Rule};
use inrush_load::{Loader, Status};
use inrush_sources::{
    Chunk, DocBlock, Feedback, Origin, Partition, Record, Source, SourceError, SourceId, SourceInfo, Step,
};
use inrush_sql::{Session, SessionOptions, WindowOptions};
use tokio::sync::watch;

use crate::common::{self, numbers};

const SQL: &str = "SELECT id, sum(n) AS n FROM input GROUP BY id ORDER BY id";

/// Two partitions with two records each, and no end.
struct Topic {
    blocks: VecDeque<DocBlock>,
    group: Arc<Group>,
}

/// The group of the topic's consumers.
struct Group {
    settled: watch::Sender<BTreeMap<Partition, u64>>,
    /// The partition that is lost, until the load knows of it.
    lost: watch::Sender<Option<Partition>>,
    is_stopped: AtomicBool,
}

fn block(partition: u32, texts: [&str; 2]) -> DocBlock {
    let origin = Origin { partition, first_doc: 500, own_numbers: true, ..Origin::default() };
    let mut block = DocBlock { origin, lines: 2, ..DocBlock::default() };
    let mut data = String::new();
    for (text, line) in texts.iter().zip(0..) {
        let start = data.len() as u32;
        data.push_str(text);
        block.records.push(Record { start, end: data.len() as u32, byte: start, line });
    }
    block.data = data.into();
    block
}

impl Source for Topic {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["topic"]);
        info.own_numbers = true;
        info.is_endless = true;
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        Ok(match self.blocks.pop_front() {
            Some(block) => Step::Chunk(Chunk::Docs(block)),
            None if self.group.is_stopped.load(Ordering::Relaxed) => Step::End,
            None => Step::Idle,
        })
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.group) as Arc<dyn Feedback>)
    }
}

impl Feedback for Group {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        self.settled.send_modify(|settled| settled.extend(up_to));
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn lost(&self) -> Vec<Partition> {
        self.lost.send_replace(None).into_iter().collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_lost_partition_are_given_back_and_made_again_without_it() {
    let fake = common::fake([Rule::new(Fault::HoldBeforeApplying).path("_bulk").first(1)]).await;
    let (mut config, _folder) = common::config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    (config.limits.batch_docs, config.limits.in_flight) = (Some(1), Some(1));
    let group = Arc::new(Group {
        settled: watch::Sender::default(),
        lost: watch::Sender::default(),
        is_stopped: AtomicBool::new(false),
    });
    let blocks = [
        block(0, [r#"{"id":"a","n":1}"#, r#"{"id":"b","n":1}"#]),
        block(1, [r#"{"id":"a","n":2}"#, r#"{"id":"c","n":2}"#]),
    ];
    let topic = Topic { blocks: blocks.into(), group: Arc::clone(&group) };
    let session = Session::open_beside(Vec::new(), SessionOptions::default()).await.unwrap();
    let window = Coalesce::new(Duration::from_secs(3600), NonZeroU64::new(4));
    let source = session.windows(SQL, WindowOptions::new(window)).unwrap().over(Box::new(topic));
    let load = Loader::new(config).unwrap().start(Box::new(source)).await.unwrap();
    // The first row is on its way, and the others wait.
    fake.wait_for_held(1).await;
    let (lost, kept) = ((SourceId(0), 0), (SourceId(0), 1));
    group.lost.send_replace(Some(lost));
    group.lost.subscribe().wait_for(Option::is_none).await.unwrap();
    fake.release_held();
    let mut settled = group.settled.subscribe();
    settled.wait_for(|settled| settled.get(&kept) == Some(&502)).await.unwrap();
    load.stop_handle().end_source();
    let report = load.finish().await;
    assert!(report.status == Status::Complete && report.counts.add_up(), "{report:?}");
    assert_eq!((report.counts.docs_indexed, report.counts.docs_given_back), (3, 2), "{report:?}");
    assert_eq!(numbers(&fake, "docs"), BTreeMap::from([("a".to_owned(), 2), ("c".to_owned(), 2)]));
    assert!(!group.settled.borrow().contains_key(&lost), "{:?}", group.settled.borrow());
}
