//! How topics are read.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use inrush_cluster::transport::aws::AwsOptions;
use inrush_core::FieldPath;

use crate::KafkaAddress;
#[cfg(feature = "client")]
use crate::values::Metadata;
use crate::values::{Unwrap, Values, With};

/// How topics are read, and what their records become.
#[derive(Clone)]
#[non_exhaustive]
pub struct KafkaOptions {
    /// Brokers and topics.
    pub address: KafkaAddress,
    /// The consumer group, which holds the offsets that are committed. Default: `inrush`.
    pub group: String,
    /// The name of this member of the group (`group.instance.id`), which keeps its partitions
    /// across a restart. Default: the host's name,
    /// the number of the user and a number, as in `inrush-host-1000-0`.
    pub member: Option<String>,
    /// The first record of a partition that the group has not committed yet. Default:
    /// [`Start::Earliest`].
    pub from: Start,
    /// Where the load ends. Default: it runs until it is stopped.
    pub until: Option<Until>,
    /// Where the load ends ([`KafkaOptions::until`]), all members of the group end together: none
    /// before the group has committed everything up to the ends of all partitions. A member that is
    /// killed is replaced by the others. Records that are written meanwhile are read as well.
    /// Default: false, and a member ends with its own partitions.
    pub ends_together: bool,
    /// The ids of the documents. Default: [`Ids::KeyOrPosition`].
    pub ids: Ids,
    /// The external versions of the documents. Default: none.
    pub versions: Option<VersionFrom>,
    /// The form of record values. Default: [`Values::Json`].
    pub values: Values,
    /// The envelope around documents. Default: [`Unwrap::None`].
    pub unwrap: Unwrap,
    /// The word in Debezium's events for columns that the database did not give: its property
    /// `unavailable.value.placeholder`. Such a column is left out of the document. Default:
    /// `__debezium_unavailable_value`.
    pub unavailable_value: Option<String>,
    /// Documents are merged into those of the index, so that a field that is left out keeps its old
    /// value. A field that is null in Avro or Protobuf is then `null` in the document. Otherwise it
    /// is left out, and an event with a column that the database did not give is a reject. Default:
    /// false.
    pub is_merged: bool,
    /// Metadata of records that become fields of documents. Default: none.
    pub with: Vec<With>,
    /// What becomes of records without a value. Default: [`OnNull::Delete`].
    pub on_null: OnNull,
    /// What happens if the broker has deleted records that were not read yet. Default:
    /// [`OnGap::Stop`].
    pub on_gap: OnGap,
    /// A topic of the same brokers for dead letters. Default: none.
    pub dead_letter_topic: Option<String>,
    /// A file with the token of the mechanism OAUTHBEARER, a JSON Web Token or another one. It is
    /// read again before the token expires; one that does not say when, after 4 minutes. Default:
    /// none.
    pub token_file: Option<PathBuf>,
    /// A login by OAUTHBEARER at brokers of Amazon MSK, whose tokens are signed with credentials of
    /// AWS ([`SaslMechanism::AwsIam`]). The service of the options is not used. Default: none.
    pub aws_iam: Option<AwsOptions>,
    /// Properties of librdkafka, which take precedence over those that this crate sets.
    pub properties: Vec<(String, String)>,
    /// The memory of records that wait, bytes: half for librdkafka, half for those that were taken
    /// from it. Default: 64 MiB.
    pub memory: usize,
    /// Values above this size become rejects. Default: 100 MiB.
    pub document_bytes_max: usize,
    /// How long a partition that is taken away waits until its documents are settled. Afterwards
    /// the next owner reads the rest again. Default: 20 s.
    pub settle_for: Duration,
    /// How often offsets are committed. Default: 1 s.
    pub commit_every: Duration,
}

/// The first record that is read of a partition without a committed offset. As text: `earliest`,
/// `latest`, a time as in `2026-01-31T10:00:00Z` or `2026-01-31`, or `0=1200,1=1180`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The oldest one that the broker has.
    #[default]
    Earliest,
    /// The first one that is written after the partition was assigned.
    Latest,
    /// The first one with this timestamp or a later one, in milliseconds since 1970. A partition
    /// without one begins at its end.
    Time(i64),
    /// The one with this offset. Partitions that are not named begin with the oldest one.
    Offsets(Vec<PartitionOffset>),
}

/// An offset of a partition, as in `orders/0=1200`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic. Not needed if there is only one.
    pub topic: Option<String>,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}

#[cfg(feature = "client")]
impl PartitionOffset {
    /// Whether it is an offset of this partition.
    pub(crate) fn is_of(&self, at: &inrush_sources::TopicPartition) -> bool {
        self.partition == at.partition && self.topic.as_deref().is_none_or(|topic| topic == &*at.topic)
    }
}

/// The mechanism by which a client logs in at a broker (`sasl.mechanism`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaslMechanism {
    /// The password as it is. Use it with TLS only.
    #[default]
    Plain,
    /// A challenge and SHA-256 (RFC 7677).
    ScramSha256,
    /// A challenge and SHA-512.
    ScramSha512,
    /// A token ([`KafkaOptions::token_file`]).
    OauthBearer,
    /// A token for Amazon MSK that is signed with credentials of AWS ([`KafkaOptions::aws_iam`]).
    AwsIam,
}

impl SaslMechanism {
    /// The name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            SaslMechanism::Plain => "PLAIN",
            SaslMechanism::ScramSha256 => "SCRAM-SHA-256",
            SaslMechanism::ScramSha512 => "SCRAM-SHA-512",
            SaslMechanism::OauthBearer | SaslMechanism::AwsIam => "OAUTHBEARER",
        }
    }
}

/// Where a load ends. As text: `latest`, or a time as in `2026-01-31T10:00:00Z` or `2026-01-31`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end that a partition has when it is assigned.
    Latest,
    /// The first record with this timestamp or a later one, in milliseconds since 1970. It is not
    /// read. A partition without one ends as with [`Until::Latest`].
    Time(i64),
}

/// The ids of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The record's key. `topic-partition-offset` where it has none.
    #[default]
    KeyOrPosition,
    /// The record's key. A record without one is a reject.
    Key,
    /// `topic-partition-offset`.
    Position,
    /// None from the record: a field of the document or the server gives it.
    None,
}

/// The external version of a document (`version_type` is `external_gte`): the cluster keeps the
/// document with the highest version, in any order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionFrom {
    /// The record's offset. Offsets of two partitions, and those of a topic that was created again,
    /// do not compare.
    Offset,
    /// The record's timestamp, milliseconds since 1970. A record without one is a reject.
    Timestamp,
    /// A field of the document, a whole number. A record without a value has none, so its deletion
    /// is not compared.
    Field(FieldPath),
}

impl FromStr for VersionFrom {
    type Err = String;

    /// `offset`, `timestamp`, or the name of a field.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "offset" => Ok(VersionFrom::Offset),
            "timestamp" => Ok(VersionFrom::Timestamp),
            field => field.parse().map(VersionFrom::Field),
        }
    }
}

impl fmt::Display for VersionFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionFrom::Offset => f.write_str("offset"),
            VersionFrom::Timestamp => f.write_str("timestamp"),
            VersionFrom::Field(path) => path.fmt(f),
        }
    }
}

/// What becomes of records without a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNull {
    /// The document with the record's key as id is deleted. A record without a key is a reject.
    #[default]
    Delete,
    /// Nothing.
    Skip,
    /// They are rejects.
    DeadLetter,
}

/// What happens at an offset that the broker does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// The load fails.
    #[default]
    Stop,
    /// It goes on with the oldest record that the broker has.
    Earliest,
    /// It goes on with the next record that is written.
    Latest,
}

impl KafkaOptions {
    /// The defaults for these topics.
    pub fn new(address: KafkaAddress) -> Self {
        KafkaOptions {
            address,
            group: "inrush".to_owned(),
            member: None,
            from: Start::default(),
            until: None,
            ends_together: false,
            ids: Ids::default(),
            versions: None,
            values: Values::default(),
            unwrap: Unwrap::default(),
            unavailable_value: None,
            is_merged: false,
            with: Vec::new(),
            on_null: OnNull::default(),
            on_gap: OnGap::default(),
            dead_letter_topic: None,
            token_file: None,
            aws_iam: None,
            properties: Vec::new(),
            memory: 64 << 20,
            document_bytes_max: 100 << 20,
            settle_for: Duration::from_secs(20),
            commit_every: Duration::from_secs(1),
        }
    }

    /// Whether headers of records are read.
    #[cfg(feature = "client")]
    pub(crate) fn uses_headers(&self) -> bool {
        let is_header = |with: &With| matches!(with.metadata, Metadata::Headers | Metadata::Header(_));
        matches!(self.values, Values::Registry(_)) || self.with.iter().any(is_header)
    }
}

impl fmt::Debug for KafkaOptions {
    /// Without the values of properties, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let properties: Vec<&str> = self.properties.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("KafkaOptions")
            .field("address", &self.address)
            .field("group", &self.group)
            .field("from", &self.from)
            .field("until", &self.until)
            .field("properties", &properties)
            .finish_non_exhaustive()
    }
}
