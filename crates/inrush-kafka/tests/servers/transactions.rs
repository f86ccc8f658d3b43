//! Records of transactions, whose markers take offsets.

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::broker::shared;
use crate::reader::{LONGEST, Reader, ids};

#[test]
fn aborted_records_are_not_read_and_markers_are_committed() {
    let topic = shared().topic(1);
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &topic.brokers)
        .set("transactional.id", &topic.name)
        .create()
        .unwrap();
    producer.init_transactions(LONGEST).unwrap();
    let send = |key: &str, is_committed: bool| {
        producer.begin_transaction().unwrap();
        for number in 0..10 {
            let key = format!("{key}-{number}");
            producer.send(BaseRecord::to(&topic.name).key(&key).payload("{}")).map_err(|(error, _)| error).unwrap();
        }
        match is_committed {
            true => producer.commit_transaction(LONGEST).unwrap(),
            false => {
                producer.flush(LONGEST).unwrap();
                producer.abort_transaction(LONGEST).unwrap();
            }
        }
    };
    send("a", true);
    send("b", false);
    send("c", true);
    send("d", false);
    let read = Reader::open(topic.bounded("transactions")).finish().unwrap();
    let kept = ["a", "c"].iter().flat_map(|key| (0..10).map(move |number| format!("{key}-{number}")));
    assert_eq!(ids(&read), kept.collect());
    assert_eq!(read.last().unwrap().offset, 31, "markers take offsets");
    // Nothing is left to be read, so the markers at the end are committed, too.
    assert!(Reader::open(topic.bounded("transactions")).finish().unwrap().is_empty());
    // Nor do the markers count as records that wait.
    let mut reader = Reader::open(topic.options("lag-of-transactions"));
    reader.wait_for(20);
    while reader.feedback.lag().is_none_or(|lag| lag.partitions.is_empty() || lag.records > 0) {
        std::thread::yield_now();
    }
    reader.stop();
}
