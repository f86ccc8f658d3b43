//! The options of record values.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use inrush_cluster::transport::{Credentials, TlsOptions};

/// The form of record values.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Values {
    /// A JSON document.
    #[default]
    Json,
    /// Text in UTF-8, which becomes the only field of the document.
    Text {
        /// The name of the field.
        field: String,
    },
    /// An item of a bulk body: an action line and, unless it is a delete, the line of the document.
    /// What the action line says takes precedence over the key and the options of the load.
    Bulk,
    /// Avro, Protobuf or JSON Schema, as the schema of each record in the registry says. Keys that
    /// name a schema are read in the same way.
    Registry(SchemaRegistry),
    /// Avro of one schema, without an id in front.
    Avro {
        /// The schema in JSON: a file `.avsc`.
        schema_file: PathBuf,
    },
    /// A message of Protobuf, without an id in front.
    Protobuf {
        /// A file `.proto`, whose imports are found beside it, or a descriptor set as `protoc
        /// --include_imports --descriptor_set_out` writes it.
        schema_file: PathBuf,
        /// The message's full name. It can be left out where the file has one message.
        message: Option<String>,
    },
}

impl Values {
    /// Whether the values become JSON objects of more fields than one.
    #[cfg(feature = "client")]
    pub(crate) fn are_documents(&self) -> bool {
        !matches!(self, Values::Text { .. } | Values::Bulk)
    }
}

/// A registry of schemas with the API of Confluent's.
#[derive(Clone)]
#[non_exhaustive]
pub struct SchemaRegistry {
    /// The address, with a path where the API has one: `http://host:8081`, or
    /// `http://host:8080/apis/ccompat/v7` of Apicurio. Without a port: 80 or 443.
    pub url: String,
    /// Default: none. A user and a password in the address are an alternative.
    pub credentials: Credentials,
    /// Trusted authorities and the client certificate.
    pub tls: TlsOptions,
    /// The length of ids in front of values. Default: [`SchemaIds::FourBytes`].
    pub ids: SchemaIds,
}

impl SchemaRegistry {
    /// A registry at this address, without credentials.
    pub fn new(url: impl Into<String>) -> Self {
        SchemaRegistry {
            url: url.into(),
            credentials: Credentials::None,
            tls: TlsOptions::default(),
            ids: SchemaIds::default(),
        }
    }
}

impl fmt::Debug for SchemaRegistry {
    /// Without a user and a password in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.rsplit_once('@').map_or(&self.url[..], |(_, host)| host);
        f.debug_struct("SchemaRegistry")
            .field("host", &host)
            .field("credentials", &self.credentials)
            .field("ids", &self.ids)
            .finish_non_exhaustive()
    }
}

/// The length of a schema's id in front of a value, after a byte that is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaIds {
    /// 4 bytes: Confluent's wire format, and Apicurio's since version 3.
    #[default]
    FourBytes,
    /// 8 bytes: Apicurio's format before version 3.
    EightBytes,
}

/// The envelope around a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwrap {
    /// None: the value is the document.
    #[default]
    None,
    /// The change events of Debezium, with or without the schema envelope of Kafka Connect. The
    /// document is `after`. An event of a deletion (`"op":"d"`) deletes the document with the id of
    /// the key. An event of a truncated table (`t`) is a reject. A message of the database (`m`) is
    /// left out.
    Debezium,
    /// Rows of Debezium whose envelope was taken off before, by `ExtractNewRecordState`, with or
    /// without the schema envelope of Kafka Connect. A row with `"__deleted":"true"` deletes the
    /// document with the id of the key.
    DebeziumFlat,
    /// The schema envelope of Kafka Connect, `{"schema":…,"payload":…}`, around values and keys.
    Connect,
}

impl Unwrap {
    /// Whether values are Debezium's, whose events delete documents.
    pub fn is_of_debezium(self) -> bool {
        matches!(self, Unwrap::Debezium | Unwrap::DebeziumFlat)
    }
}

impl FromStr for Unwrap {
    type Err = String;

    /// `debezium`, `debezium-flat`, `connect` or `none`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Unwrap::None),
            "debezium" => Ok(Unwrap::Debezium),
            "debezium-flat" => Ok(Unwrap::DebeziumFlat),
            "connect" => Ok(Unwrap::Connect),
            other => Err(format!("`{other}` is no envelope; expected debezium, debezium-flat, connect or none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_words() {
        assert_eq!(
            ["none", "debezium", "debezium-flat", "connect"].map(str::parse),
            [Unwrap::None, Unwrap::Debezium, Unwrap::DebeziumFlat, Unwrap::Connect].map(Ok)
        );
        assert!("Debezium".parse::<Unwrap>().unwrap_err().contains("expected debezium, debezium-flat, connect"));
    }

    #[test]
    fn secrets_of_a_registry_are_not_shown() {
        let registry = Values::Registry(SchemaRegistry::new("https://me:hunter@2@host:8081/path"));
        let shown = format!("{registry:?}");
        assert!(shown.contains("host:8081/path") && !shown.contains("hunter"), "{shown}");
    }
}
