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
        // A full queue is looked at again after this time. With the default of 1 s a small queue is
        // empty most of the time.
        ("fetch.queue.backoff.ms", "10".to_owned()),
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
    all.extend(authorities(options, |name| std::env::var_os(name).is_some()));
    all.extend(options.properties.iter().cloned());
    all
}

/// Where certificate authorities are. OpenSSL that is part of this binary looks at the place of the
/// machine that compiled it, so librdkafka looks at those of all systems instead.
fn authorities(options: &KafkaOptions, is_set: impl Fn(&str) -> bool) -> Option<(String, String)> {
    let is_tls = |(name, value): &(String, String)| name == "security.protocol" && value.contains("ssl");
    let is_told = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().any(is_set);
    let is_needed = cfg!(feature = "vendored") && !is_told && options.properties.iter().any(is_tls);
    is_needed.then(|| ("ssl.ca.location".to_owned(), "probe".to_owned()))
}

/// The properties of a client that writes dead letters. A record counts as written once all
/// replicas in sync have it, and brokers that are away are waited for.
pub(crate) fn properties_of_writer(options: &KafkaOptions) -> Vec<(String, String)> {
    let own = [
        ("bootstrap.servers", options.address.brokers.join(",")),
        ("client.id", "inrush".to_owned()),
        ("socket.keepalive.enable", "true".to_owned()),
        // The partition of a key is that which clients of Java choose.
        ("partitioner", "murmur2_random".to_owned()),
        // The topic says what is too large.
        ("message.max.bytes", "1000000000".to_owned()),
    ];
    let fixed = [("acks", "all"), ("message.timeout.ms", "0")];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let authorities = authorities(options, |name| std::env::var_os(name).is_some());
    own.chain(authorities).chain(options.properties.iter().cloned()).chain(fixed).collect()
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

    #[test]
    fn authorities_are_looked_for_where_openssl_does_not_know_them() {
        let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://a/t").unwrap());
        assert_eq!(authorities(&options, |_| false), None);
        options.properties = vec![("security.protocol".into(), "sasl_ssl".into())];
        assert_eq!(authorities(&options, |_| false).is_some(), cfg!(feature = "vendored"));
        assert_eq!(authorities(&options, |name| name == "SSL_CERT_FILE"), None);
    }

    #[test]
    fn what_writes_dead_letters_waits_for_all_replicas() {
        let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://a/t").unwrap());
        options.properties = vec![("compression.type".into(), "zstd".into()), ("acks".into(), "0".into())];
        let all = properties_of_writer(&options);
        let value = |name: &str| all.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        let found = ["bootstrap.servers", "compression.type", "acks", "message.timeout.ms", "group.id"].map(value);
        assert_eq!(found, [Some("a:9092"), Some("zstd"), Some("all"), Some("0"), None]);
    }
}
