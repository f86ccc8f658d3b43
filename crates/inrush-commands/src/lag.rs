//! How far a consumer group is behind the ends of its topics.

use inrush_kafka::{KafkaAddress, KafkaOptions};
use inrush_load::LoadError;
pub use inrush_sources::PartitionLag;
use serde::{Deserialize, Serialize};

use crate::options::{Environment, KafkaGroupOptions, OptionError, OptionErrorKind, SourceLoginOptions};

/// How far a consumer group is behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lag {
    /// The consumer group.
    pub group: String,
    /// The sum of [`PartitionLag::records`].
    pub records: u64,
    /// The longest of [`PartitionLag::seconds`]. `None` if no partition has it.
    pub seconds: Option<f64>,
    /// Each partition, in the order of its topic and number.
    pub partitions: Vec<PartitionLag>,
}

/// Asks the brokers of an address such as `kafka://broker/orders`. The group is not joined.
///
/// # Errors
/// An address or options that cannot be used, brokers that do not answer, and a build without
/// Kafka.
pub async fn lag(
    address: &str,
    group: &KafkaGroupOptions,
    login: &SourceLoginOptions,
    environment: &Environment,
) -> Result<Lag, LoadError> {
    let address = KafkaAddress::parse(address)
        .map_err(|error| OptionError::unusable(error.to_string()).coded(inrush_core::Code::BadAddress))?;
    let Some(name) = group.group.clone() else {
        return Err(OptionError::new(OptionErrorKind::Missing, "no consumer group given")
            .of("group")
            .hint(
                "name it with option `group=NAME`; the group of a load is `inrush-INDEX` unless the load names another",
            )
            .into());
    };
    let mut options = KafkaOptions::new(address);
    options.group.clone_from(&name);
    group.connect(&mut options, login, environment)?;
    let partitions = ask(options).await?;
    Ok(Lag {
        records: partitions.iter().map(|partition| partition.records).sum(),
        seconds: partitions.iter().filter_map(|partition| partition.seconds).reduce(f64::max),
        group: name,
        partitions,
    })
}

#[cfg(feature = "kafka")]
async fn ask(options: KafkaOptions) -> Result<Vec<PartitionLag>, LoadError> {
    let asked = tokio::task::spawn_blocking(move || inrush_kafka::lag(&options));
    let found = asked.await.map_err(|_| {
        OptionError::unusable("the task that asks the brokers panicked").coded(inrush_core::Code::Defect)
    })?;
    let found = found.map_err(|error| OptionError::unusable(error.to_string()).coded(error.code))?;
    let partition = |lag: inrush_kafka::PartitionLag| {
        let mut partition = PartitionLag::new(&lag.at, lag.committed, lag.end);
        (partition.records, partition.seconds) = (lag.records, lag.age.map(|age| age.as_secs_f64()));
        partition
    };
    Ok(found.into_iter().map(partition).collect())
}

#[cfg(not(feature = "kafka"))]
async fn ask(_: KafkaOptions) -> Result<Vec<PartitionLag>, LoadError> {
    let message = "this build of inrush has no client for Kafka; build it with the cargo feature kafka";
    Err(OptionError::unusable(message).coded(inrush_core::Code::NotInThisBuild).into())
}
