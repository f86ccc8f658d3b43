//! The client, with librdkafka's own cluster.

use inrush_cluster::clock;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::*;
use crate::{KafkaAddress, KafkaOptions};

const LONGEST: Duration = Duration::from_secs(60);

/// Polls until the group assigns partitions.
fn assigned(client: &mut Librdkafka) -> Vec<TopicPartition> {
    let until = clock::now() + LONGEST;
    while clock::now() < until {
        if let Polled::Assigned(partitions) = client.poll(Duration::from_millis(50), &mut |_| true).unwrap() {
            return partitions;
        }
    }
    panic!("the group assigns nothing");
}

/// Reads until there are `count` records, or for `LONGEST`. Returns their offsets.
fn read(client: &mut Librdkafka, count: usize) -> Vec<i64> {
    let (until, mut offsets) = (clock::now() + LONGEST, Vec::new());
    while offsets.len() < count && clock::now() < until {
        let take = &mut |record: Record<'_>| {
            offsets.push(record.offset);
            offsets.len() < count
        };
        client.poll(Duration::from_millis(50), take).unwrap();
    }
    offsets
}

#[test]
fn a_partition_that_leaves_while_it_is_paused_is_read_when_it_comes_back() {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let brokers = mock.bootstrap_servers();
    let mut config = rdkafka::ClientConfig::new();
    let producer: BaseProducer = config.set("bootstrap.servers", &brokers).create().unwrap();
    for _ in 0..10 {
        let record = BaseRecord::<str, str>::to("orders").partition(0).payload("{}");
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LONGEST).unwrap();
    let options = KafkaOptions::new(KafkaAddress::parse(&format!("kafka://{brokers}/orders")).unwrap());
    let mut client = Librdkafka::join(&options, None).unwrap();
    let partitions = assigned(&mut client);
    let starting_at = |offset| partitions.iter().map(|at| (at.clone(), offset)).collect::<Offsets>();
    client.assign(&starting_at(0)).unwrap();
    assert_eq!(read(&mut client, 5), [0, 1, 2, 3, 4]);
    client.pause(&partitions).unwrap();
    client.unassign(&partitions).unwrap();
    client.assign(&starting_at(5)).unwrap();
    assert_eq!(read(&mut client, 5), [5, 6, 7, 8, 9]);
}
