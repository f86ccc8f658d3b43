//! The address of topics: brokers and names.

use std::fmt;

const SCHEME: &str = "kafka://";

/// The port of a broker that is named without one.
const PORT: u16 = 9092;

/// Topics of a Kafka cluster, as in `kafka://broker1,broker2:9093/orders,payments`.
///
/// A name with `*` is a pattern: `orders-*` reads each topic whose name begins with `orders-`,
/// and those that are created later.
///
/// ```
/// use inrush_kafka::KafkaAddress;
///
/// let address = KafkaAddress::parse("kafka://one,two:9093/orders,audit-*")?;
/// assert_eq!(address.brokers, ["one:9092", "two:9093"]);
/// assert_eq!(address.topics, ["orders", "audit-*"]);
/// assert_eq!(address.to_string(), "kafka://one:9092,two:9093/orders,audit-*");
/// # Ok::<(), inrush_kafka::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KafkaAddress {
    /// Brokers to begin with, each as `host:port`. The others are learned from them.
    pub brokers: Vec<String>,
    /// Names of topics and patterns.
    pub topics: Vec<String>,
}

/// An address that names no topics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} names no topics: {problem}; expected kafka://BROKER[:PORT][,BROKER…]/TOPIC[,TOPIC…]")]
pub struct AddressError {
    address: String,
    problem: String,
}

impl KafkaAddress {
    /// Whether the argument is meant as an address of topics.
    pub fn is_meant(argument: &str) -> bool {
        argument.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
    }

    /// Parses `kafka://BROKER[:PORT][,BROKER…]/TOPIC[,TOPIC…]`. The port defaults to 9092.
    ///
    /// # Errors
    /// There is no broker or no topic, a port is not a number, or a name has characters that
    /// Kafka does not allow in topics. Credentials are refused: they would be seen in the list of
    /// processes.
    pub fn parse(text: &str) -> Result<KafkaAddress, AddressError> {
        if !Self::is_meant(text) {
            return Err(AddressError { address: text.to_owned(), problem: "it does not begin with kafka://".into() });
        }
        let rest = &text[SCHEME.len()..];
        let (brokers, topics) = rest.split_once('/').unwrap_or((rest, ""));
        if brokers.contains('@') {
            let address = format!("{SCHEME}…@{}", brokers.rsplit('@').next().unwrap_or_default());
            let problem = "it holds credentials, which other users of this machine would see".into();
            return Err(AddressError { address, problem });
        }
        let wrong = |problem: String| AddressError { address: text.to_owned(), problem };
        let brokers: Vec<String> = brokers.split(',').map(broker).collect::<Result<_, _>>().map_err(wrong)?;
        let topics: Vec<String> = topics.split(',').map(topic).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(KafkaAddress { brokers, topics })
    }

    /// Whether a topic is one of these, or is meant by a pattern. A pattern does not mean Kafka's
    /// own topics, such as `__consumer_offsets`, unless it begins with `__`.
    pub(crate) fn has(&self, topic: &str) -> bool {
        self.topics.iter().any(|named| match named.split_once('*') {
            None => named == topic,
            Some(_) if topic.starts_with("__") && !named.starts_with("__") => false,
            Some((begin, rest)) => {
                let mut parts = rest.split('*');
                // `split` has at least one part.
                let end = parts.next_back().unwrap_or_default();
                let Some(inner) = topic.strip_prefix(begin).and_then(|inner| inner.strip_suffix(end)) else {
                    return false;
                };
                let found = parts.try_fold(inner, |left, part| left.find(part).map(|at| &left[at + part.len()..]));
                found.is_some()
            }
        })
    }

    /// The topics as librdkafka subscribes to them: a pattern is a regular expression that begins
    /// with `^` (`rd_kafka_subscribe`).
    #[cfg(feature = "client")]
    pub(crate) fn subscription(&self) -> Vec<String> {
        let regex = |topic: &String| match topic.contains('*') {
            true => format!("^{}$", topic.replace('.', "\\.").replace('*', ".*")),
            false => topic.clone(),
        };
        self.topics.iter().map(regex).collect()
    }
}

impl fmt::Display for KafkaAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.brokers.join(","), self.topics.join(","))
    }
}

/// A broker with its port. Addresses of IPv6 stand in brackets.
fn broker(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("a broker is missing".into());
    }
    let after_host = text.rfind(']').map_or(0, |end| end + 1);
    match text[after_host..].rsplit_once(':') {
        None => Ok(format!("{text}:{PORT}")),
        Some((_, port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(text.to_owned()),
        Some((_, port)) => Err(format!("the port `{port}` is not a number from 1 to 65535")),
    }
}

/// A name or a pattern. Names have the characters that Kafka allows
/// (`org.apache.kafka.common.internals.Topic`).
fn topic(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*');
    match text {
        "" => Err("a topic is missing".into()),
        "." | ".." => Err(format!("`{text}` is not a name of a topic")),
        _ if text.len() > 249 => Err(format!("the name of a topic has {} characters, and 249 are allowed", text.len())),
        _ => match text.chars().find(|c| !is_allowed(*c)) {
            None => Ok(text.to_owned()),
            Some(c) => Err(format!(
                "the topic `{text}` has the character `{c}`, and names have letters, digits, `.`, `_` and `-`"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_get_ports_and_topics_are_names_or_patterns() {
        let address = KafkaAddress::parse("KAFKA://a,[::1],[::2]:7/orders,logs.eu-*").unwrap();
        assert_eq!(address.brokers, ["a:9092", "[::1]:9092", "[::2]:7"]);
        assert_eq!(address.subscription(), ["orders", "^logs\\.eu-.*$"]);
    }

    #[test]
    fn addresses_without_topics_are_refused() {
        for (text, problem) in [
            ("kafka://", "a broker is missing"),
            ("kafka://a", "a topic is missing"),
            ("kafka://a/", "a topic is missing"),
            ("kafka://a,/t", "a broker is missing"),
            ("kafka://a:0/t", "port `0`"),
            ("kafka://a:b/t", "port `b`"),
            ("kafka://a/t,,u", "a topic is missing"),
            ("kafka://a/t u", "character ` `"),
            ("kafka://a/t/u", "character `/`"),
            ("kafka://a/..", "not a name"),
            ("http://a/t", "does not begin with kafka://"),
        ] {
            let error = KafkaAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("expected kafka://BROKER"), "{error}");
        }
        let error = KafkaAddress::parse("kafka://me:hunter2@a/t").unwrap_err().to_string();
        assert!(error.contains("credentials") && !error.contains("hunter2"), "{error}");
    }

    #[cfg(feature = "client")]
    #[test]
    fn a_pattern_has_the_topics_that_match_it() {
        let address = KafkaAddress::parse("kafka://a/orders,logs-*,*-x-*-y").unwrap();
        for topic in ["orders", "logs-", "logs-2026", "a-x-b-y", "-x--y"] {
            assert!(address.has(topic), "{topic}");
        }
        for topic in ["orders-2", "log-2026", "a-x-y", "my-logs-1", "__a-x-b-y"] {
            assert!(!address.has(topic), "{topic}");
        }
    }
}
