//! The properties of librdkafka for a consumer.
//!
//! Names and meanings: librdkafka's `CONFIGURATION.md`.

use crate::{KafkaOptions, OnGap};

/// All properties. Those of the user come last and take precedence.
pub(crate) fn properties(options: &KafkaOptions, member: Option<&str>) -> Vec<(String, String)> {
    let waiting_kib = (options.memory / 2 / 1024).max(1024);
    let reset = match options.on_gap {
        OnGap::Stop => "error",
        OnGap::Earliest => "earliest",
        OnGap::Latest => "latest",
    };
    let own = [
        ("bootstrap.servers", options.address.brokers.join(",")),
        ("client.id", "inrush".to_owned()),
        ("group.id", options.group.clone()),
        ("partition.assignment.strategy", "cooperative-sticky".to_owned()),
        ("enable.auto.commit", "false".to_owned()),
        ("enable.auto.offset.store", "false".to_owned()),
        ("auto.offset.reset", reset.to_owned()),
        ("isolation.level", "read_committed".to_owned()),
        // A partition whose documents wait for the cluster may be kept for that long.
        ("max.poll.interval.ms", "300000".to_owned()),
        // The queue of all partitions, and how much one answer of a broker may add to it.
        ("queued.max.messages.kbytes", waiting_kib.to_string()),
        ("fetch.max.bytes", (options.memory / 4).max(1 << 20).to_string()),
        ("socket.keepalive.enable", "true".to_owned()),
        // New topics of a pattern, and new partitions.
        ("topic.metadata.refresh.interval.ms", "60000".to_owned()),
    ];
    let mut all: Vec<(String, String)> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    all.extend(member.map(|member| ("group.instance.id".to_owned(), member.to_owned())));
    if !options.address.topics.iter().any(|topic| topic.starts_with("__")) {
        // A pattern does not mean Kafka's own topics.
        all.push(("topic.blacklist".to_owned(), "^__".to_owned()));
    }
    let is_new_protocol = |(name, value): &(String, String)| name == "group.protocol" && value == "consumer";
    if options.properties.iter().any(is_new_protocol) {
        // The broker assigns the partitions in that protocol (KIP-848).
        all.retain(|(name, _)| name != "partition.assignment.strategy");
    }
    all.extend(options.properties.iter().cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KafkaAddress;

    fn value(options: &KafkaOptions, name: &str) -> Option<String> {
        let all = properties(options, Some("inrush-a-0"));
        all.into_iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    #[test]
    fn properties_of_the_user_take_precedence() {
        let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://a,b/t").unwrap());
        assert_eq!(value(&options, "bootstrap.servers").unwrap(), "a:9092,b:9092");
        assert_eq!(value(&options, "group.instance.id").unwrap(), "inrush-a-0");
        assert_eq!(value(&options, "queued.max.messages.kbytes").unwrap(), "32768");
        options.properties = vec![("isolation.level".into(), "read_uncommitted".into())];
        options.properties.push(("group.protocol".into(), "consumer".into()));
        assert_eq!(value(&options, "isolation.level").unwrap(), "read_uncommitted");
        assert_eq!(value(&options, "partition.assignment.strategy"), None);
    }
}
