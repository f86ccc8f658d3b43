//! Topics as a kind of source.

use inrush_sources::{OpenError, Opened, Opening, Request, SourceKind};

use crate::{Ids, KafkaAddress, KafkaOptions, OnNull};

/// Topics, by an address that begins with `kafka://`.
///
/// ```
/// use inrush_kafka::KafkaKind;
/// use inrush_sources::{Request, SourceKind};
///
/// let request = Request::new(["kafka://broker/orders"]);
/// assert_eq!(KafkaKind.find(&request).as_deref(), Some("kafka://broker:9092/orders"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct KafkaKind;

fn argument(request: &Request) -> Option<&str> {
    request.arguments.iter().filter_map(|argument| argument.to_str()).find(|argument| KafkaAddress::is_meant(argument))
}

impl SourceKind for KafkaKind {
    fn name(&self) -> &'static str {
        "topic"
    }

    fn find(&self, request: &Request) -> Option<String> {
        let argument = argument(request)?;
        Some(KafkaAddress::parse(argument).map_or_else(|_| "kafka://".to_owned(), |address| address.to_string()))
    }

    fn open<'a>(&'a self, request: &'a Request) -> Opening<'a> {
        Box::pin(async move {
            let expected = "name topics as in kafka://broker:9092/topic";
            let nothing = || OpenError::arguments("no topic is given", expected);
            let address = KafkaAddress::parse(argument(request).ok_or_else(nothing)?)
                .map_err(|error| OpenError::arguments(error.to_string(), expected))?;
            let hint = "several topics of one cluster go into one address: kafka://broker/a,b,logs-*";
            request.only_one(&address.to_string(), "an address of topics", hint)?;
            let options = request.options::<KafkaOptions>().cloned();
            let options = options.unwrap_or_else(|| KafkaOptions::new(address));
            if options.on_null == OnNull::Delete && matches!(options.ids, Ids::Position | Ids::None) {
                return Err(OpenError::arguments(
                    "records without a value delete the document with their key as id, but ids are not keys",
                    "set option `on_null` to leave such records out, or to make them dead letters",
                ));
            }
            if let Some(topic) = options.dead_letter_topic.as_ref().filter(|topic| options.address.has(topic)) {
                return Err(OpenError::arguments(
                    format!("topic {topic} is read, and is to get the dead letters"),
                    "name another topic with option `dead_letter_topic`",
                ));
            }
            if options.unwrap.is_of_debezium() && options.ids == Ids::Position {
                return Err(OpenError::arguments(
                    "events of Debezium delete the document with their key as id, but ids are positions",
                    "use keys as ids, or a field of the document",
                ));
            }
            open(options)
        })
    }
}

#[cfg(feature = "client")]
fn open(options: KafkaOptions) -> Result<Opened, OpenError> {
    Ok(Opened::new(crate::KafkaSource::open(options)?))
}

#[cfg(not(feature = "client"))]
fn open(options: KafkaOptions) -> Result<Opened, OpenError> {
    let message = "this build of inrush has no client for Kafka; build it with the cargo feature kafka";
    Err(inrush_sources::SourceError::new(options.address.to_string(), message)
        .coded(inrush_core::Code::NotInThisBuild)
        .into())
}
