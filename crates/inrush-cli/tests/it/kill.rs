//! Loads into the fake cluster are killed at random moments; `INRUSH_KILLS` sets how often (10).

use inrush_fake::{Fault, Rule};

use crate::common::fake;
use crate::killing::{Contents, Ids, chaos, documents, hash, number};

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_moments() {
    let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.02)]).await;
    let folder = tempfile::tempdir().unwrap();
    let docs = 20_000;
    let data = documents(folder.path(), docs);
    let contents =
        async |index: &str| fake.documents(index).iter().map(|d| (d.id.clone(), hash(&d.json()))).collect::<Contents>();
    let all_ids = [Ids::Field, Ids::None, Ids::Content, Ids::Position];
    chaos(&data, &fake.url(), docs, number("INRUSH_KILLS", 10), &all_ids, contents).await;
}
