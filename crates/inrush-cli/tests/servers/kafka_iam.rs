//! A broker that takes the tokens of Amazon MSK, which the credentials of AWS sign.

use std::process::{Output, Stdio};
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::broker::Broker;
use crate::program;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// Runs the binary with a key of AWS and this region, if any.
fn run(arguments: &[&str], key: &str, region: Option<&str>) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program::inrush();
    command.args(arguments).args(["--kafka-sasl", "aws-iam", "--log-level", "debug"]).env_clear();
    command.envs([("HOME", folder.path().to_str().unwrap()), ("AWS_ACCESS_KEY_ID", key)]);
    command.env("AWS_SECRET_ACCESS_KEY", SECRET).envs(region.map(|region| ("AWS_REGION", region)));
    let Output { status, stdout, stderr } = command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // The beginning of each token is that of an address.
    assert!(!text.contains(SECRET) && !text.contains("aHR0cHM6"), "a secret is shown: {text}");
    (status.code(), text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_read_with_credentials_of_aws() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (broker, iam, authority) = tokio::task::spawn_blocking(Broker::with_iam).await.unwrap();
    broker.make_topic("orders", 1).await;
    broker.make_topic("orders-dead", 1).await;
    let url = fake.url();
    let work = move || {
        let producer: BaseProducer = broker.config().create().unwrap();
        for (key, value) in [("a", "{\"n\":1}"), ("b", "no document"), ("c", "{\"n\":3}")] {
            let record = BaseRecord::<str, str>::to("orders").key(key).payload(value);
            producer.send(record).map_err(|(error, _)| error).unwrap();
        }
        producer.flush(Duration::from_secs(60)).unwrap();
        let topic = format!("kafka://{iam}/orders");
        let login = ["--from-ca", &authority, "--group", "g"];
        let load = ["load", &topic, "--index", "orders", "--to", &url, "--until", "latest", "--member", ""];
        let load = [&load[..], &["--dead-letter-topic", "orders-dead", "--json"], &login].concat();
        let (code, text) = run(&load, "AKIDEXAMPLE", Some("eu-west-1"));
        assert!(code == Some(3) && text.contains("\"docs_dead_lettered\":1"), "{code:?} {text}");
        let lag = [&["lag", &topic][..], &login].concat();
        let (code, text) = run(&lag, "AKIDEXAMPLE", Some("eu-west-1"));
        assert_eq!(code, Some(0), "{text}");
        let (code, text) = run(&lag, "OTHER", Some("eu-west-1"));
        assert!(code == Some(2) && text.contains("kafka-cluster:Connect"), "{code:?} {text}");
        let (code, text) = run(&lag, "AKIDEXAMPLE", None);
        assert!(code == Some(2) && text.contains("no AWS region"), "{code:?} {text}");
        assert_eq!(broker.lag("g", "orders", 1), Some(0));
        assert_eq!(broker.lag("nothing was committed", "orders-dead", 1), Some(1));
    };
    tokio::task::spawn_blocking(work).await.unwrap();
    let mut ids: Vec<String> = fake.documents("orders").into_iter().map(|document| document.id).collect();
    ids.sort();
    assert_eq!(ids, ["a", "c"]);
}
