//! The operations of a seed, carried out one after the other by the fake, leave what they say.

use std::collections::BTreeMap;

use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_testbed::client::Client;
use inrush_testbed::judgement::{Found, Judgement, Told};
use inrush_testbed::operations::{Form, Operations, Refusal, Shape};
use serde_json::Value;

#[tokio::test]
async fn operations_in_order_leave_what_is_expected() {
    for (seed, flavor) in (1..).zip([Flavor::opensearch_3(), Flavor::elasticsearch_8()]) {
        for form in [Form::Bulk, Form::Lines] {
            let cluster = FakeCluster::start(FakeConfig::default().flavor(flavor.clone())).await.unwrap();
            let client = Client::new(&cluster.url()).unwrap();
            let made = Operations::drawn(seed, Shape { form, operations: 5000, refused: true });
            let mut letters = BTreeMap::new();
            for some in made.items.chunks(500) {
                let not_taken = |line| made.expected.refused.get(&line) == Some(&Refusal::NotTaken);
                letters.extend(
                    some.iter().map(|item| item.line).filter(|line| not_taken(*line)).map(|line| (line, String::new())),
                );
                let sent: Vec<_> = some.iter().filter(|item| !not_taken(item.line)).collect();
                let action = if form == Form::Bulk { "" } else { "{\"create\":{}}\n" };
                let body: String = sent.iter().map(|item| format!("{action}{}", item.text)).collect();
                let reply = client.send("POST", "/docs/_bulk", &[], body).await.unwrap().json();
                let items = reply["items"].as_array().unwrap();
                assert_eq!(items.len(), sent.len(), "{reply}");
                for (item, sent) in items.iter().zip(sent) {
                    let result = item.as_object().unwrap().values().next().unwrap();
                    if result["error"] != Value::Null {
                        letters.insert(sent.line, result["error"].to_string());
                    }
                }
            }
            let documents = cluster.documents("docs");
            let found = documents
                .into_iter()
                .map(|document| Found { source: document.json(), id: document.id, routing: document.routing })
                .collect();
            let told = Told { found, letters, ..Told::default() };
            let judgement = Judgement::of(&made.expected, &told);
            assert!(judgement.is_clean() && judgement.copies == 0, "{flavor}: {judgement:?}");
            cluster.shutdown().await;
        }
    }
}
