//! Metadata of records as fields of documents.

use std::fmt;
use std::str::FromStr;

/// Metadata of a record, and the field of the document that it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct With {
    /// The metadata.
    pub metadata: Metadata,
    /// The name of the field. A document that has the field already keeps its own value.
    pub field: String,
}

/// Metadata of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Metadata {
    /// The key: a string, or the value that its schema or its envelope describes.
    Key,
    /// All headers: an object. Of several with one name it has the last.
    Headers,
    /// The last header with this name: a string, in base64 where it is not UTF-8.
    Header(String),
    /// The time of the record, `2024-01-31T10:00:00.123Z`.
    Timestamp,
    /// The number of the partition.
    Partition,
    /// The offset.
    Offset,
    /// The name of the topic.
    Topic,
}

impl FromStr for With {
    type Err = String;

    /// `key`, `headers`, `headers.NAME`, `timestamp`, `partition`, `offset` or `topic`. The field
    /// has the same name, or another one that follows: `key=customer`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, field) = text.split_once('=').unwrap_or((text, text));
        let metadata = match name {
            "key" => Metadata::Key,
            "headers" => Metadata::Headers,
            "timestamp" => Metadata::Timestamp,
            "partition" => Metadata::Partition,
            "offset" => Metadata::Offset,
            "topic" => Metadata::Topic,
            _ => match name.strip_prefix("headers.") {
                Some(header) if !header.is_empty() => Metadata::Header(header.to_owned()),
                _ => {
                    return Err(format!(
                        "a record has no `{name}`; expected key, headers, headers.NAME, timestamp, partition, offset or \
                         topic"
                    ));
                }
            },
        };
        match field {
            "" => Err(format!("the name of a field is missing in `{text}`; write it as in {name}=FIELD")),
            _ => Ok(With { metadata, field: field.to_owned() }),
        }
    }
}

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.metadata {
            Metadata::Key => f.write_str("key"),
            Metadata::Headers => f.write_str("headers"),
            Metadata::Header(name) => write!(f, "headers.{name}"),
            Metadata::Timestamp => f.write_str("timestamp"),
            Metadata::Partition => f.write_str("partition"),
            Metadata::Offset => f.write_str("offset"),
            Metadata::Topic => f.write_str("topic"),
        }?;
        write!(f, "={}", self.field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_named_and_renamed() {
        for (text, shown) in [
            ("key", "key=key"),
            ("headers.trace_id", "headers.trace_id=headers.trace_id"),
            ("headers.a=trace.id", "headers.a=trace.id"),
            ("timestamp=@timestamp", "timestamp=@timestamp"),
            ("topic", "topic=topic"),
            ("partition=p", "partition=p"),
            ("offset", "offset=offset"),
            ("headers=h", "headers=h"),
        ] {
            let with: With = text.parse().unwrap();
            assert_eq!(with.to_string(), shown);
            assert_eq!(shown.parse::<With>().unwrap(), with);
        }
        for (text, problem) in [("", "no ``"), ("kye", "no `kye`"), ("headers.", "no `headers.`"), ("key=", "missing")]
        {
            let error = text.parse::<With>().unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
