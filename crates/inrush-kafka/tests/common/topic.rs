//! A topic that the tests write.

use std::time::Duration;

use inrush_kafka::{KafkaAddress, KafkaOptions, Until};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::reader::LONGEST;

pub(crate) struct Topic {
    pub(crate) brokers: String,
    pub(crate) name: String,
    producer: BaseProducer,
}

impl Topic {
    pub(crate) fn new(brokers: &str, name: &str) -> Self {
        let producer = ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
        Topic { brokers: brokers.to_owned(), name: name.to_owned(), producer }
    }

    /// Appends records, each with a key and perhaps a value, to a partition.
    pub(crate) fn produce<'a>(&self, partition: i32, records: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) {
        for (key, value) in records {
            let record = BaseRecord::<str, str>::to(&self.name).partition(partition).key(key);
            let record = match value {
                Some(value) => record.payload(value),
                None => record,
            };
            self.producer.send(record).map_err(|(error, _)| error).unwrap();
        }
        self.producer.flush(LONGEST).unwrap();
    }

    /// Appends a record with this timestamp, in milliseconds since 1970.
    pub(crate) fn produce_at(&self, partition: i32, key: &str, value: Option<&str>, time: i64) {
        let record = BaseRecord::<str, str>::to(&self.name).partition(partition).key(key).timestamp(time);
        let record = match value {
            Some(value) => record.payload(value),
            None => record,
        };
        self.producer.send(record).map_err(|(error, _)| error).unwrap();
        self.producer.flush(LONGEST).unwrap();
    }

    /// Appends records with the numbers `from..to` to each partition, with keys such as `2-17`.
    pub(crate) fn count(&self, partitions: i32, from: u32, to: u32) {
        for partition in 0..partitions {
            let keys: Vec<String> = (from..to).map(|number| format!("{partition}-{number}")).collect();
            self.produce(partition, keys.iter().map(|key| (key.as_str(), Some("{\"a\":1}"))));
        }
    }

    /// Without end.
    pub(crate) fn options(&self, group: &str) -> KafkaOptions {
        let address = format!("kafka://{}/{}", self.brokers, self.name);
        let mut options = KafkaOptions::new(KafkaAddress::parse(&address).unwrap());
        options.group = group.to_owned();
        options.member = Some(String::new());
        options.commit_every = Duration::from_millis(20);
        options
    }

    /// To the end that the topic has now.
    pub(crate) fn bounded(&self, group: &str) -> KafkaOptions {
        let mut options = self.options(group);
        options.until = Some(Until::Latest);
        options
    }
}
