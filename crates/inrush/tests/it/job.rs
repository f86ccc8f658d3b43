//! A job of several loads: a load without documents of its own manages the index and adds up the
//! reports of the others.

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_load::{ConfiguredLoad, Report, SettingsRestored, Status, VerifiedState};
use inrush_sources::push::{PushOptions, channel};

use crate::common::{self, config, documents, load};

/// A job with a part that loads 300 documents, and what the job says of it.
async fn job(absorb: impl FnOnce(&mut Report)) -> Report {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (config, _folder) = config(fake.urls(), "docs");
    let (sender, source) = channel(PushOptions::default());
    let source = Box::new(source.with_bytes_total(Some(2 << 30)));
    let job = ConfiguredLoad::new(config.clone()).unwrap().start(source).await.unwrap();

    let (mut part, _part_folder) = common::config(fake.urls(), "docs");
    (part.guard.leave_settings, part.verify, part.id) = (true, false, Some("id".parse().unwrap()));
    let mut report = load(&part, documents(300, 300)).await;
    absorb(&mut report);
    job.others().absorb(&report.counts, &report.indices, &report.errors);
    sender.end();
    let report = job.finish().await;
    assert_eq!(fake.setting("docs", "refresh_interval"), None, "it is put back");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_that_of_all_parts_and_is_verified() {
    let report = job(|_| {}).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 300), "{report:?}");
    assert_eq!((report.indices["docs"].created, report.verified.state), (300, VerifiedState::Yes));
    assert_eq!(report.settings.restored, SettingsRestored::Yes);
    assert!(report.settings.changed.contains_key("index.refresh_interval"), "{:?}", report.settings);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_part_claims_is_checked() {
    let report = job(|part| {
        part.counts.docs_read += 1;
        part.counts.docs_created += 1;
        part.counts.docs_indexed += 1;
        part.indices.get_mut("docs").unwrap().created += 1;
    })
    .await;
    assert_eq!((report.status, report.verified.state), (Status::CheckFailed, VerifiedState::No), "{report:?}");
}
