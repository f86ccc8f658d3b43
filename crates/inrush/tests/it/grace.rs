//! The end of a load that is stopped while the cluster, or the source, gives no answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use inrush_fake::{FakeCluster, Fault, Rule};
use inrush_load::config::LoadConfig;
use inrush_load::{ConfiguredLoad, Report, RunningLoad, SettingsRestored, Status, VerifiedState};
use inrush_sources::{Feedback, Partition, Source, SourceError, SourceInfo, Step};
use tempfile::TempDir;

use crate::common::{Large, Lines, config, documents, fake};

const GRACE: Duration = Duration::from_millis(500);

fn impatient(fake: &FakeCluster) -> (LoadConfig, TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.limits.grace = GRACE;
    (config, folder)
}

async fn stop(load: RunningLoad) -> Report {
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.status, report.failure.as_deref()), (Status::Interrupted, None), "{report:?}");
    assert!(report.counts.add_up(), "{report:?}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_an_answer_do_not_hold_up_the_end() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_bulk")]).await;
    let (config, _folder) = impatient(&fake);
    let endless = Lines::new(documents(50_000, 50_000));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(endless)).await.unwrap();
    fake.wait_for_held(1).await;
    let report = stop(load).await;
    assert_eq!((report.counts.docs_indexed, report.counts.docs_unknown > 0), (0, true), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_does_not_hold_up_the_end() {
    let fake = fake([]).await;
    let (config, _folder) = impatient(&fake);
    let source = Large(Lines::new(documents(50_000, 50_000)));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 0).await.unwrap();
    fake.nodes()[0].kill().await;
    let report = stop(load).await;
    assert_eq!(report.settings.restored, SettingsRestored::No, "{report:?}");
    assert!(report.settings.detail.contains("run: inrush recover"), "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::NotProvable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_during_the_count_ends_it() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_refresh")]).await;
    let (config, _folder) = impatient(&fake);
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(50, 50)))).await.unwrap();
    fake.wait_for_held(1).await;
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.counts.docs_created, report.verified.state), (50, VerifiedState::NotProvable), "{report:?}");
}

/// A source that never confirms its settled positions.
struct Deaf(Lines, Arc<Silent>);

/// Waits until the test is over.
struct Silent(Mutex<mpsc::Receiver<()>>);

impl Source for Deaf {
    fn describe(&self) -> SourceInfo {
        self.0.describe()
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        self.0.next(want_bytes)
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.1) as Arc<dyn Feedback>)
    }
}

impl Feedback for Silent {
    fn settled(&self, _: &BTreeMap<Partition, u64>) {
        // The sender is dropped, which is an error.
        self.0.lock().unwrap().recv().unwrap_err();
    }

    fn stop(&self) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_does_not_confirm_does_not_hold_up_the_end() {
    let fake = fake([]).await;
    let (config, _folder) = impatient(&fake);
    let (over, silent) = mpsc::channel();
    let source = Deaf(Lines::new(documents(50_000, 50_000)), Arc::new(Silent(Mutex::new(silent))));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 0).await.unwrap();
    let report = stop(load).await;
    assert!(report.warnings.iter().any(|warning| warning.contains("did not confirm")), "{report:?}");
    assert!(report.counts.docs_created > 0);
    drop(over);
}
