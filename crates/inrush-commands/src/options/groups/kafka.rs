//! Topics of Kafka as the source.

use std::path::PathBuf;

use inrush_kafka::{OnGap, OnNull, SaslMechanism, SchemaIds, Start, Until, Unwrap, VersionFrom, With};

use crate::options::{LoaderBuilder, Outputs, Pair};

options! {
    /// The part of Kafka's topics that is read.
    pub struct KafkaSourceOptions in LoaderBuilder.kafka, "Source: topics of Kafka", outputs(Outputs::All) {
        /// The name of this instance in its group (group.instance.id), which no other one may use.
        /// An instance that restarts under the same name keeps its partitions
        member: Option<String> = "NAME", default("inrush-, the host's name, the user's number, and a number");
        /// The first record of a partition whose offset the group has not committed: earliest,
        /// latest, a time as in 2026-01-31T10:00:00Z, or an offset for each partition as in
        /// 0=1200,1=1180 or orders/0=1200
        from: Option<Start> = "WHERE", default("earliest");
        /// Where the load ends: `latest` is the end that each partition has when it is assigned,
        /// and a time as in 2026-01-31T10:00:00Z is the first record with it or a later one
        until: Option<Until> = "WHERE", default("the load runs until it is stopped");
        /// What becomes of records without a value
        on_null: Option<OnNull> = "WHAT", default("delete if the ids are keys, else dead-letter");
        /// The external version of each document: offset, timestamp, or a field with a whole
        /// number. The cluster keeps the document with the highest version, in any order of
        /// arrival, and option `on_conflict` is skip by default
        version_from: Option<VersionFrom> = "offset|timestamp|FIELD", default("none"), conflicts(&["version"]),
            server("version, version_type: external_gte");
        /// What happens if the broker has deleted records that were not read yet
        on_offset_gap: Option<OnGap> = "WHAT", default("stop");
        /// A topic of the same brokers for dead letters: each record as it was, with headers that
        /// say why, as Kafka Connect writes them. A file is written only if option `dead_letters`
        /// names it
        dead_letter_topic: Option<String> = "NAME", default("dead letters go to a file");
    }
}

options! {
    /// The consumer group, and the connection to the brokers. The user, the password and the
    /// certificates are those of [`SourceLoginOptions`](super::SourceLoginOptions).
    pub struct KafkaGroupOptions in LoaderBuilder.kafka_group, "Source: topics of Kafka", outputs(Outputs::All) {
        /// The consumer group. It holds the offsets of the records that are loaded: a load with the
        /// same group continues after them
        group: Option<String> = "NAME", default("inrush- and the name of the index");
        /// Encrypt connections to the brokers; option `from_ca`, option `from_cert` and option
        /// `from_insecure` do so, too
        kafka_tls: bool;
        /// The mechanism of the login at the brokers. `aws-iam` uses credentials of AWS, the others
        /// option `from_user` and its password, or option `from_bearer_file`
        kafka_sasl: Option<SaslMechanism> = "MECHANISM", default("plain, or oauthbearer with a token");
        /// A property of librdkafka, as in fetch.max.bytes=1048576 or client.rack=a; repeatable.
        /// Secrets are not allowed: see option `from_user`
        kafka_option: Vec<Pair> = "NAME=VALUE";
    }
}

options! {
    /// What the values of records are, and what becomes of them.
    pub struct KafkaValueOptions in LoaderBuilder.kafka_values, "Source: topics of Kafka", outputs(Outputs::All) {
        /// Metadata of the record as fields of the document: key, headers, headers.NAME, timestamp,
        /// partition, offset, topic; with another name of the field as in key=customer. Repeated or
        /// separated by commas. A field that the document has stays
        with: Vec<With> = "WHAT[=FIELD],…", delimited();
        /// The envelope around the document
        unwrap: Option<Unwrap> = "ENVELOPE", default("none");
        /// The word in Debezium's events for a column that the database did not give
        /// (unavailable.value.placeholder), as it is configured there. The column is left out with
        /// option `action=upsert` and option `action=update`; otherwise the event is a dead letter
        unavailable_value: Option<String> = "WORD", default("__debezium_unavailable_value");
        /// Address of a schema registry with the API of Confluent's, as in http://host:8081. Values
        /// and keys begin with the id of their schema: Avro, Protobuf or JSON
        schema_registry: Option<String> = "URL", conflicts(&["schema_file"]);
        /// User of the schema registry; the password comes from option `registry_password_file`,
        /// the environment or a prompt. A bearer token comes from INRUSH_REGISTRY_BEARER
        registry_user: Option<String> = "NAME";
        /// File that holds the password for the schema registry
        registry_password_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the password for the schema registry
        registry_password_env: Option<String> = "VARIABLE", default("INRUSH_REGISTRY_PASSWORD");
        /// PEM file with certificate authorities to trust for the schema registry
        registry_ca: Option<PathBuf> = "FILE";
        /// The length of a schema's id in front of a value
        schema_ids: Option<SchemaIds> = "LENGTH", default("four-bytes");
        /// The schema of all values, without a registry: an Avro schema (.avsc, .json), or a
        /// Protobuf file (.proto, or a descriptor set)
        schema_file: Option<PathBuf> = "FILE";
        /// With option `schema_file` of Protobuf: the message, as in shop.Order
        schema_message: Option<String> = "NAME", default("the only message of the file");
    }
}
