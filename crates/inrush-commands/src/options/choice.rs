//! Options that are one of several words.

use inrush_core::mapping::Mixed;
use inrush_core::{Action, Dots, Encoding, KnownProduct, OnConflict};

use super::info::{Choice, ValueInfo};
use inrush_cluster::transport::aws::Service;
use inrush_kafka::{OnGap, OnNull, SaslMechanism, SchemaIds, Unwrap};
use inrush_load::config::{BulkRouting, Durability, GraphTime, IdFrom, OldWrites, Replies, WaitFor};
use inrush_load::fetch::MissingRecord;
use inrush_sources::{Binary, Format, LogFormat, Timestamps, VectorFormat};

/// The name of a choice, by its value.
pub(super) fn words(choices: &[Choice]) -> String {
    let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    }
}

/// Declares the words for the values of a type. `as` names the argument of a setter if it is of
/// another type, and makes the value of it.
#[macro_export]
macro_rules! option_choices {
    ($type:ty { $( $name:literal $(| $alias:literal)? => $value:expr, $help:literal; )* }) => {
        $crate::setter_values! { $type }
        $crate::option_choices! { $type as Self: Ok => { $( $name $(| $alias)? => $value, $help; )* } }
    };
    ($type:ty as $argument:ty: $from:expr => { $( $name:literal $(| $alias:literal)? => $value:expr, $help:literal; )* }) => {
        impl $crate::options::OptionValue for $type {
            type Argument = $argument;

            fn from_argument(argument: $argument) -> Result<Self, String> {
                $from(argument)
            }

            const VALUE: $crate::options::ValueInfo = $crate::options::ValueInfo::one_of(&[
                $( $crate::options::Choice { name: $name, alias: $crate::option_choices!(@alias $($alias)?), help: $help } ),*
            ]);

            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $( $name $(| $alias)? => Ok($value), )*
                    _ => Err($crate::options::expected(&<Self as $crate::options::OptionValue>::VALUE)),
                }
            }
        }
    };
    (@alias $alias:literal) => { Some($alias) };
    (@alias) => { None };
}

/// The error for a word that is not one of the choices.
#[doc(hidden)]
pub fn expected(value: &ValueInfo) -> String {
    format!("expected {}", words(value.choices))
}

/// A value that the engine chooses unless the user gives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrAuto<T> {
    /// The engine chooses.
    Auto,
    /// This one.
    This(T),
}

impl<T> OrAuto<T> {
    /// The value, if one was given.
    pub fn given(self) -> Option<T> {
        match self {
            OrAuto::Auto => None,
            OrAuto::This(value) => Some(value),
        }
    }
}

/// The origin of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapFrom {
    /// The documents.
    Auto,
}

option_choices! { MapFrom as String: (|text: String| MapFrom::parse(&text)) => {
    "auto" => MapFrom::Auto, "the documents";
} }

option_choices! { Action {
    "index" => Action::Index, "add the document, or replace the one with its id";
    "create" => Action::Create, "add the document; an existing id is a conflict";
    "update" => Action::Update, "merge the document into the one with its id";
    "upsert" => Action::Upsert, "merge the document into the one with its id, or add it";
    "delete" => Action::Delete, "remove the document with this id";
} }

option_choices! { IdFrom {
    "position" => IdFrom::Position, "the name of the source as given, and the number of the document in it";
    "content" => IdFrom::Content, "the bytes of the document; equal documents get different ids; takes about 20 to 40 bytes of memory for each different document";
} }

option_choices! { Durability {
    "request" => Durability::Request, "a document counts when the cluster acknowledges it";
    "async" => Durability::Async, "the cluster acknowledges before it syncs its translog, and a document counts when a later flush has made it durable on all copies; documents that a node loses before are sent again, and half of option `memory` holds documents that wait for a flush";
} }

option_choices! { Dots {
    "keep" => Dots::Keep, "they stay as they are; servers index them as objects, but merge them with none";
    "nest" => Dots::Nest, "they become objects, as in {\"a\":{\"b\":1}}, except in arrays";
} }

option_choices! { Mixed {
    "widen" => Mixed::Widen, "numbers and texts become keywords; of objects and values the more frequent kind is indexed, and the other rejected";
    "keep" => Mixed::Keep, "no document is rejected: a field of objects and values is kept, but not searchable";
    "ignore" => Mixed::Ignore, "as keep; the field is a number, date, address or point if most values are, and other values are not searchable";
} }

option_choices! { KnownProduct {
    "elasticsearch" => KnownProduct::Elasticsearch, "vectors are dense_vector";
    "opensearch" => KnownProduct::OpenSearch, "vectors are knn_vector, and the index needs the setting index.knn";
} }

option_choices! { OrAuto<Encoding> as Encoding: (|encoding| Ok(OrAuto::This(encoding))) => {
    "auto" => OrAuto::Auto, "start with json, compare both during the load, and use smile if it is clearly faster";
    "json" => OrAuto::This(Encoding::Json), "NDJSON";
    "smile" => OrAuto::This(Encoding::Smile), "binary JSON; the cluster stores it as it is, and transcodes it for each read of a document; a cluster that does not accept it gets JSON";
} }

option_choices! { BulkRouting {
    "auto" => BulkRouting::Auto, "group documents with ids by shard if option `to` names several nodes with primary shards; stores nothing else with the documents";
    "spread" => BulkRouting::Spread, "each request goes to all shards";
    "one-shard" => BulkRouting::OneShard, "group documents with ids or routing values by shard; other documents get a routing value for the whole request, which is stored with them";
} }

option_choices! { Replies {
    "items" => Replies::Items, "one reply entry per document";
    "summary" => Replies::Summary, "only whether there were errors, which is cheaper";
} }

option_choices! { OnConflict {
    "fail" => OnConflict::Fail, "it is a dead letter";
    "skip" => OnConflict::Skip, "it is counted, and not an error";
    "compare" => OnConflict::Compare, "it is not an error if the index has the same content, else a dead letter; refused for an index that does not return documents as they were sent";
} }

option_choices! { WaitFor {
    "searchable" => WaitFor::Searchable, "refreshed: searches find all documents";
    "green" => WaitFor::Green, "also all copies of its shards are in use";
    "replicated" => WaitFor::Replicated, "also all copies have all documents";
} }

option_choices! { OldWrites {
    "report" => OldWrites::Report, "they are counted, and the first ids reported";
    "block" => OldWrites::Block, "they are refused until the swap (index.blocks.write, which is always put back, after a crash by `inrush recover`)";
    "catch-up" => OldWrites::CatchUp, "the written documents are copied to the new index at the end, by id: correct only if both indices hold the same documents under the same ids; deletions are not seen";
} }

option_choices! { GraphTime {
    "load" => GraphTime::Load, "with each segment that the servers write, and again with each merge";
    "end" => GraphTime::End, "once, after the last document; what was changed for that is put back, after a crash by `inrush recover`";
    "auto" => GraphTime::Auto, "at the end for an index that the load creates from 64 MiB or more, if the cluster allows it; otherwise while loading";
} }

option_choices! { OnNull {
    "delete" => OnNull::Delete, "the document whose id is the key is deleted; a record without a key is a dead letter";
    "skip" => OnNull::Skip, "nothing";
    "dead-letter" => OnNull::DeadLetter, "they are dead letters";
} }

option_choices! { OnGap {
    "stop" => OnGap::Stop, "the load fails";
    "earliest" => OnGap::Earliest, "it continues with the oldest record that the broker has";
    "latest" => OnGap::Latest, "it continues with the next new record";
} }

option_choices! { MissingRecord {
    "delete" => MissingRecord::Delete, "the document is deleted: its record was deleted after the change";
    "dead-letter" => MissingRecord::DeadLetter, "the change is a dead letter";
    "skip" => MissingRecord::Skip, "nothing; the change counts as dropped";
} }

option_choices! { Unwrap {
    "none" => Unwrap::None, "the value is the document";
    "debezium" => Unwrap::Debezium, "change events of Debezium: the document is `after`, and a deletion deletes the document";
    "debezium-flat" => Unwrap::DebeziumFlat, "rows of Debezium's ExtractNewRecordState, with or without the schema envelope of Kafka Connect: one with `__deleted` deletes the document";
    "connect" => Unwrap::Connect, "the schema envelope of Kafka Connect around values and keys";
} }

option_choices! { SchemaIds {
    "four-bytes" => SchemaIds::FourBytes, "Confluent's format, and Apicurio's since version 3";
    "eight-bytes" => SchemaIds::EightBytes, "Apicurio's format before version 3";
} }

option_choices! { SaslMechanism {
    "plain" => SaslMechanism::Plain, "the password is sent as it is";
    "scram-sha-256" => SaslMechanism::ScramSha256, "the password is not sent";
    "scram-sha-512" => SaslMechanism::ScramSha512, "the password is not sent";
    "oauthbearer" => SaslMechanism::OauthBearer, "the token of option `from_bearer_file`";
    "aws-iam" => SaslMechanism::AwsIam, "Amazon MSK: a token that is signed with credentials of AWS, by TLS (option `kafka_tls` is not needed)";
} }

option_choices! { Service {
    "es" => Service::Es, "Amazon OpenSearch Service";
    "aoss" => Service::Aoss, "Amazon OpenSearch Serverless";
} }

option_choices! { Timestamps {
    "iso" => Timestamps::Iso, "text, as in 2024-01-31T10:00:00.123Z";
    "epoch-millis" => Timestamps::EpochMillis, "milliseconds since 1970, a number: less work for the cluster; needs a mapping with a date field; values that are not whole milliseconds are written as iso";
} }

option_choices! { Binary as String: (|text: String| Binary::parse(&text)) => {
    "auto" => Binary::Auto, "text in files where the first values of a column are text, with a warning, else base64; a column has one form; base64 for ids, fields of type binary, SQL and data frames";
    "text" => Binary::Text, "text; a row with a value that is not UTF-8 is a dead letter";
    "base64" => Binary::Base64, "base64, as fields of type binary take it";
} }

option_choices! { LogFormat {
    "combined" => LogFormat::Combined, "the format `combined` of Apache and nginx";
    "common" => LogFormat::Common, "the same format without referrer and agent";
    "vhost_combined" => LogFormat::VhostCombined, "Apache's format of this name: the server's name and port in front of `combined`";
    "main" => LogFormat::Main, "nginx's own format: `combined`, and the addresses of X-Forwarded-For behind it";
    "auto" => LogFormat::Auto, "each line shows which of these formats it has; what follows is the field `rest`";
} }

option_choices! { Format {
    "ndjson" => Format::Ndjson, "one JSON object per line";
    "csv" => Format::Csv, "cells separated by commas, or by option `separator`";
    "tsv" => Format::Tsv, "cells separated by tabs";
    "text" => Format::Text, "each line is a document with one field, option `field`";
    "json" | "json-array" => Format::Json, "JSON values, one after another, over any number of lines: each value is a document, and each element of an array";
    "hits" => Format::Hits, "search hits as JSON values: of the reply to a search (with option `records=hits.hits`), or as elasticdump writes them; the document is `_source`, its id `_id`";
    "parquet" => Format::Parquet, "Parquet";
    "arrow" => Format::Arrow, "Arrow IPC, stream or file, also Feather V2";
    "avro" => Format::Avro, "Avro";
    "excel" => Format::Excel, "a sheet of a workbook: .xlsx, .xlsm, .xlsb, .xls or .ods";
    "smile" => Format::Smile, "SMILE documents, each followed by 0xFF, as `inrush convert` writes them";
    "npy" => Format::Vectors(VectorFormat::Npy), "an array of NumPy with two dimensions: each row is a document with one field, option `field`, as it is with the next six";
    "fvecs" => Format::Vectors(VectorFormat::Fvecs), "vectors of float32, each behind the number of its numbers";
    "bvecs" => Format::Vectors(VectorFormat::Bvecs), "the same with bytes from 0 to 255";
    "ivecs" => Format::Vectors(VectorFormat::Ivecs), "the same with int32";
    "fbin" => Format::Vectors(VectorFormat::Fbin), "vectors of float32 behind the number of vectors and that of their numbers";
    "u8bin" => Format::Vectors(VectorFormat::U8bin), "the same with bytes from 0 to 255";
    "i8bin" => Format::Vectors(VectorFormat::I8bin), "the same with bytes from -128 to 127";
    "bulk" => Format::Bulk, "bodies of bulk requests: action lines and documents; values of an action line take precedence over the options";
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;

    #[test]
    fn every_word_is_read_and_others_name_them_all() {
        fn check<T: OptionValue>() {
            for choice in T::VALUE.choices {
                assert!(T::parse(choice.name).is_ok(), "{}", choice.name);
                assert!(choice.alias.is_none_or(|alias| T::parse(alias).is_ok()));
            }
            let error = T::parse("no such word").unwrap_err();
            assert!(T::VALUE.choices.iter().all(|choice| error.contains(choice.name)), "{error}");
        }
        check::<Action>();
        check::<Format>();
        check::<OrAuto<Encoding>>();
        check::<OldWrites>();
        check::<GraphTime>();
        check::<MapFrom>();
        assert_eq!(OnConflict::parse("ignore").unwrap_err(), "expected fail, skip or compare");
    }

    #[test]
    fn words_are_the_names_of_the_engine() {
        assert!(
            [Format::Json, Format::Hits, Format::Bulk].iter().all(|format| Format::parse(format.name()) == Ok(*format))
        );
        let vectors = VectorFormat::ALL.map(Format::Vectors);
        assert!(vectors.iter().all(|format| Format::parse(format.name()) == Ok(*format)));
        assert!([IdFrom::Position, IdFrom::Content].iter().all(|from| IdFrom::parse(from.name()) == Ok(*from)));
        assert_eq!(BulkRouting::parse(BulkRouting::OneShard.name()), Ok(BulkRouting::OneShard));
        assert_eq!(Durability::parse(Durability::Async.name()), Ok(Durability::Async));
    }
}
