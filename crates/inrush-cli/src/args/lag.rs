//! The flags of `inrush lag`.

use clap::Args;

use inrush_commands::options::{KafkaGroupOptions, SourceLoginOptions};

use super::{LogArgs, Options};

/// Reports how far a consumer group is behind the ends of its topics, by partition, in records and
/// in seconds. It does not join the group.
///
/// Exit status: 0 if the brokers answered, 2 otherwise.
#[derive(Debug, Args)]
pub(crate) struct LagArgs {
    /// Brokers and topics, as in kafka://broker:9092/orders
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// Print the numbers as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) group: Options<KafkaGroupOptions>,
    #[command(flatten)]
    pub(crate) login: Options<SourceLoginOptions>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
