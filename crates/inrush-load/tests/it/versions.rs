//! Documents with versions of different types from one source.

use inrush_core::block::{DocMeta, Origin, Record};
use inrush_core::{Action, DocBlock, OnConflict, VersionType};
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report, Status};
use inrush_sources::{Chunk, Source, SourceError, SourceInfo, Step};

use VersionType::{External, ExternalGte};

/// Documents with these versions and the id `a`.
struct Versions(Option<Vec<DocMeta>>);

impl Source for Versions {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["versions"]);
        info.has_ids = true;
        info
    }

    fn next(&mut self, _want_bytes: usize) -> Result<Step, SourceError> {
        let Some(meta) = self.0.take() else { return Ok(Step::End) };
        let record = |(line, meta): (u32, &DocMeta)| {
            let start = line * 7;
            let end = if meta.action == Some(Action::Delete) { start } else { start + 7 };
            Record { start, end, byte: start, line }
        };
        let data: String = (0..meta.len()).map(|n| format!("{{\"n\":{n}}}")).collect();
        Ok(Step::Chunk(Chunk::Docs(DocBlock {
            origin: Origin::default(),
            lines: meta.len() as u64,
            bytes_read: data.len() as u64,
            data: data.into(),
            records: (0..).zip(&meta).map(record).collect(),
            rejects: Vec::new(),
            meta,
        })))
    }
}

fn version(version: u64, version_type: VersionType) -> DocMeta {
    DocMeta::default().with_id("a".to_owned()).with_version(version).with_version_type(version_type)
}

async fn load(fake: &FakeCluster, meta: Vec<DocMeta>, on_conflict: OnConflict) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.on_conflict = on_conflict;
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    ConfiguredLoad::new(config).unwrap().start(Box::new(Versions(Some(meta)))).await.unwrap().finish().await
}

#[tokio::test]
async fn each_version_is_compared_by_its_own_type() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let versions = vec![
        version(5, ExternalGte),
        version(5, ExternalGte),
        version(5, External),
        version(4, ExternalGte),
        version(4, External).with_action(Action::Delete),
    ];
    let report = load(&fake, versions, OnConflict::Skip).await;
    let counts = &report.counts;
    assert_eq!((report.status, counts.docs_created, counts.docs_updated), (Status::Complete, 1, 1), "{report:?}");
    assert_eq!((counts.docs_conflicting, counts.rejected_items), (3, 0), "a conflict is not sent again");
    let documents: Vec<_> = fake.documents("docs").into_iter().map(|document| document.source).collect();
    assert_eq!(documents, ["{\"n\":1}"]);
}

#[tokio::test]
async fn an_older_version_is_a_dead_letter_by_default() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let report = load(&fake, vec![version(5, External), version(4, ExternalGte)], OnConflict::Fail).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (1, 1), "{report:?}");
    assert_eq!((report.counts.rejected_items, report.errors[0].status), (0, 409), "{report:?}");
}
