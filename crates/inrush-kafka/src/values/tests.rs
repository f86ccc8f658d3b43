use std::sync::Arc;

use inrush_core::Code;
use inrush_core::{Action, DocBlock};

use super::*;
use crate::client::{Header, Record, TopicPartition};
use crate::gather::{Gathered, Maker};
use crate::{Ids, KafkaAddress, KafkaOptions, OnNull};

type Headers<'a> = &'a [(&'a str, Option<&'a [u8]>)];

/// Key, value and headers of a record.
type Sent<'a> = (Option<&'a [u8]>, Option<&'a [u8]>, Headers<'a>);

/// Id, action, text and the kind of a reject.
type Found<'a> = (Option<&'a str>, Option<Action>, &'a str, Option<Code>);

pub(super) fn options(values: Values) -> KafkaOptions {
    let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://a/orders").unwrap());
    options.values = values;
    options
}

fn unwrapped(unwrap: Unwrap) -> KafkaOptions {
    KafkaOptions { unwrap, ..options(Values::Json) }
}

fn with(with: &[&str]) -> KafkaOptions {
    KafkaOptions { with: with.iter().map(|with| with.parse().unwrap()).collect(), ..options(Values::Json) }
}

/// The block of records of partition 3 from offset 100 on.
pub(super) fn block(options: &KafkaOptions, records: &[Sent<'_>]) -> DocBlock {
    let shape = Arc::new(Shape::of(options).unwrap().unwrap());
    let maker = Maker {
        versions: None,
        at: TopicPartition::new("orders", 3),
        position: "orders-3-".into(),
        shape: Some(Arc::clone(&shape)),
        hints: Arc::default(),
        ids: options.ids,
        on_null: options.on_null,
        document_bytes_max: options.document_bytes_max,
    };
    let mut gathered = Gathered::new(100);
    for (offset, (key, value, headers)) in (100..).zip(records) {
        let timestamp = Some(1_700_000_000_123);
        let headers: Vec<Header<'_>> = headers.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        let (key, value, headers) = (*key, *value, &headers[..]);
        let record = Record { topic: "orders", partition: 3, offset, key, value, timestamp, headers };
        gathered.push(offset, key, value, options.document_bytes_max);
        gathered.push_more(&record, &shape);
    }
    let needs = Needs::new(Some(&shape), gathered.schemas());
    while !needs.are_known() {
        std::thread::yield_now();
    }
    gathered.chunk(7, Arc::new(maker)).into_block()
}

/// The documents of a block.
pub(super) fn found(block: &DocBlock) -> Vec<Found<'_>> {
    let kind = |at: usize| block.rejects.iter().find(|reject| reject.record as usize == at).map(|reject| reject.kind);
    let document = |at: usize| {
        let meta = block.meta.get(at);
        let text = std::str::from_utf8(block.record(at)).unwrap_or("not UTF-8");
        (meta.and_then(|meta| meta.id.as_deref()), meta.and_then(|meta| meta.action), text, kind(at))
    };
    (0..block.records.len()).map(document).collect()
}

fn json<'a>(key: Option<&'a str>, value: Option<&'a str>) -> Sent<'a> {
    (key.map(str::as_bytes), value.map(str::as_bytes), &[])
}

#[test]
fn documents_are_left_alone_unless_options_say_otherwise() {
    assert!(Shape::of(&options(Values::Json)).unwrap().is_none());
    let both = KafkaOptions { unwrap: Unwrap::Connect, ..options(Values::Text { field: "a".into() }) };
    assert!(Shape::of(&both).err().unwrap().contains("`unwrap`"));
}

#[test]
fn text_is_one_field() {
    let block = block(
        &options(Values::Text { field: "mess\"age".into() }),
        &[
            json(Some("k"), Some("a \"b\"\n")),
            (None, Some(b"\xFF\xFE"), &[]),
            json(Some("k"), None),
            json(None, Some("")),
        ],
    );
    assert_eq!(
        found(&block),
        [
            (Some("k"), None, r#"{"mess\"age":"a \"b\"\n"}"#, None),
            (Some("orders-3-101"), None, "not UTF-8", Some(Code::BadValue)),
            (Some("k"), Some(Action::Delete), "", None),
            (Some("orders-3-103"), None, r#"{"mess\"age":""}"#, None),
        ]
    );
    assert_eq!((block.lines, block.origin.first_doc, block.bytes_read), (4, 100, 10));
}

#[test]
fn events_of_debezium_index_and_delete() {
    let key = r#"{"schema":{"type":"struct"},"payload":{"id":1}}"#;
    let records = [
        json(Some(key), Some(r#"{"op":"c","after":{"id":1,"n":1.50}}"#)),
        json(Some(r#"{"id":2,"part":"a|b"}"#), Some("{\"op\":\"r\",\n\"after\":{\"id\":2,\n\"x\":[ 1 ]}}")),
        json(Some(key), Some(r#"{"schema":{},"payload":{"op":"d","before":{"id":1},"after":null}}"#)),
        json(Some(key), None),
        json(Some(key), None),
        json(Some(key), Some(r#"{"op":"t"}"#)),
        json(Some(key), Some(r#"{"op":"m"}"#)),
        json(None, Some(r#"{"op":"c","after":{"id":3}}"#)),
        json(None, Some(r#"{"op":"d","before":{"id":3}}"#)),
        json(Some("plain"), Some(r#"{"op":"u","after":7}"#)),
        json(Some("plain"), Some("not json")),
        json(Some("\"quoted\""), Some(r#"{"op":"u","after":{}}"#)),
        json(Some("null"), Some(r#"{"op":"u","after":{}}"#)),
    ];
    let block = block(&unwrapped(Unwrap::Debezium), &records);
    assert_eq!(
        found(&block),
        [
            (Some("1"), None, r#"{"id":1,"n":1.50}"#, None),
            (Some(r"2|a\|b"), None, "{\"id\":2, \"x\":[ 1 ]}", None),
            (Some("1"), Some(Action::Delete), "", None),
            // The first record without a value follows the deletion, the second one does not.
            (Some("1"), Some(Action::Delete), "", None),
            (Some("1"), None, r#"{"op":"t"}"#, Some(Code::Truncate)),
            (Some("orders-3-107"), None, r#"{"id":3}"#, None),
            (None, None, r#"{"op":"d","before":{"id":3}}"#, Some(Code::MissingId)),
            (Some("plain"), None, r#"{"op":"u","after":7}"#, Some(Code::NotAnObject)),
            (Some("plain"), None, "not json", Some(Code::NoEnvelope)),
            (Some("quoted"), None, "{}", None),
            (Some("orders-3-112"), None, "{}", None),
        ]
    );
    let lines: Vec<u32> = block.records.iter().map(|record| record.line).collect();
    assert_eq!(lines, [0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn without_ids_of_keys_a_deletion_has_the_document_for_its_id() {
    let options = KafkaOptions { ids: Ids::None, on_null: OnNull::Skip, ..unwrapped(Unwrap::Debezium) };
    let records = [
        json(None, Some(r#"{"op":"d","before":{"id":3}}"#)),
        json(None, None),
        json(None, Some("{\"op\":\"c\",\"after\":{}}")),
    ];
    let block = block(&options, &records);
    assert_eq!(found(&block), [(None, Some(Action::Delete), r#"{"id":3}"#, None), (None, None, "{}", None)]);
}

#[test]
fn the_tombstone_behind_a_deletion_is_passed_over_before_on_null_is_asked() {
    let deletion = r#"{"op":"d","before":{"id":1}}"#;
    let records = [
        json(Some("1"), Some(deletion)),
        json(Some("1"), None),
        json(Some("1"), None),
        json(Some("1"), Some(deletion)),
        json(Some("2"), None),
        json(Some("1"), Some(deletion)),
        json(Some("1"), Some("not json")),
        json(Some("1"), None),
        json(Some("null"), Some(deletion)),
        json(Some("null"), None),
    ];
    for ids in [Ids::KeyOrPosition, Ids::None] {
        for on_null in [OnNull::Skip, OnNull::DeadLetter, OnNull::Delete] {
            // Deletions by records without a value have keys as ids.
            if ids == Ids::None && on_null == OnNull::Delete {
                continue;
            }
            let block = block(&KafkaOptions { ids, on_null, ..unwrapped(Unwrap::Debezium) }, &records);
            let lines: Vec<u32> = block.records.iter().map(|record| record.line).collect();
            match on_null {
                OnNull::Skip => assert_eq!(lines, [0, 3, 5, 6, 8], "{ids:?}"),
                _ => assert_eq!(lines, [0, 2, 3, 4, 5, 6, 7, 8], "{ids:?} {on_null:?}"),
            }
            let nulls = block.rejects.iter().filter(|reject| reject.kind == Code::NullValue).count();
            assert_eq!(nulls, if on_null == OnNull::DeadLetter { 3 } else { 0 });
        }
    }
}

#[test]
fn null_of_json_is_no_object_with_metadata_as_without() {
    let value: Sent<'_> = (Some(b"k"), Some(b"null"), &[]);
    assert_eq!(found(&block(&with(&["offset"]), &[value])), [(Some("k"), None, "null", Some(Code::NotAnObject))]);
}

#[test]
fn the_envelope_of_connect_is_taken_off_values_and_keys() {
    let records = [
        json(Some(r#"{"schema":{"type":"string"},"payload":"k"}"#), Some(r#"{"schema":{},"payload":{"a":1}}"#)),
        json(Some("plain"), Some(r#"{"schema":null,"payload":null}"#)),
        json(Some("plain"), Some(r#"{"a":1}"#)),
    ];
    let block = block(&unwrapped(Unwrap::Connect), &records);
    assert_eq!(
        found(&block),
        [
            (Some("k"), None, r#"{"a":1}"#, None),
            (Some("plain"), Some(Action::Delete), "", None),
            (Some("plain"), None, r#"{"a":1}"#, Some(Code::NoEnvelope)),
        ]
    );
}

#[test]
fn logical_types_are_found_in_values_and_in_keys() {
    let date = r#""type":"int32","name":"io.debezium.time.Date""#;
    let fields = format!(r#"[{{"field":"day",{date}}},{{"field":"n","type":"int32"}}]"#);
    let key_schema = format!(r#"{{"type":"struct","fields":{fields}}}"#);
    let key = format!(r#"{{"schema":{key_schema},"payload":{{"day":20089,"n":7}}}}"#);
    let bare = format!(r#"{{"schema":{{{date}}},"payload":20089}}"#);
    let row = format!(r#"{{"schema":{key_schema},"payload":{{"day":20089,"n":7}}}}"#);
    let event = |op: &str| {
        format!(
            concat!(
                r#"{{"schema":{{"type":"struct","fields":[{{"field":"before","type":"struct","fields":{0}}},"#,
                r#"{{"field":"after","type":"struct","fields":{0}}}]}},"payload":{{"op":"{1}","before":{{"day":1,"n":7}},"#,
                r#""after":{{"day":20089,"n":7}}}}}}"#
            ),
            fields, op
        )
    };
    let (created, deleted) = (event("c"), event("d"));
    let document = r#"{"day":"2025-01-01","n":7}"#;
    for (unwrap, value) in [(Unwrap::Connect, &row), (Unwrap::DebeziumFlat, &row), (Unwrap::Debezium, &created)] {
        let block = block(&unwrapped(unwrap), &[json(Some(&key), Some(value)), json(Some(&bare), Some(value))]);
        let expected = [(Some("2025-01-01|7"), None, document, None), (Some("2025-01-01"), None, document, None)];
        assert_eq!(found(&block), expected, "{unwrap:?}");
    }
    let deletes = [json(Some(&key), Some(&deleted))];
    let block = block(&unwrapped(Unwrap::Debezium), &deletes);
    assert_eq!(found(&block), [(Some("2025-01-01|7"), Some(Action::Delete), "", None)]);
    let of_fields = KafkaOptions { ids: Ids::None, on_null: OnNull::Skip, ..unwrapped(Unwrap::Debezium) };
    let block = super::tests::block(&of_fields, &deletes);
    assert_eq!(found(&block), [(None, Some(Action::Delete), r#"{"day":"1970-01-02","n":7}"#, None)]);
}

#[test]
fn a_decimal_without_a_scale_has_its_fraction_in_documents_and_none_in_ids() {
    let schema = concat!(
        r#"{"type":"struct","fields":[{"field":"n","type":"struct","name":"io.debezium.data.VariableScaleDecimal","#,
        r#""fields":[{"field":"scale","type":"int32"},{"field":"value","type":"bytes"}]}]}"#
    );
    let row = format!(r#"{{"schema":{schema},"payload":{{"n":{{"scale":0,"value":"BQ=="}}}}}}"#);
    for unwrap in [Unwrap::Connect, Unwrap::DebeziumFlat] {
        let block = block(&unwrapped(unwrap), &[json(Some(&row), Some(&row))]);
        assert_eq!(found(&block), [(Some("5"), None, r#"{"n":5.0}"#, None)], "{unwrap:?}");
    }
}

#[test]
fn flattened_rows_delete_what_they_say_was_deleted() {
    let records = [
        json(Some(r#"{"id":1}"#), Some(r#"{"id":1,"__deleted":"false"}"#)),
        json(Some(r#"{"id":1}"#), Some(r#"{"id":1,"__deleted":"true"}"#)),
        // The tombstone of the mode `rewrite-with-tombstone`.
        json(Some(r#"{"id":1}"#), None),
        json(Some(r#"{"id":2}"#), None),
        json(None, Some(r#"{"id":3,"__deleted":"true"}"#)),
    ];
    let block = block(&unwrapped(Unwrap::DebeziumFlat), &records);
    assert_eq!(
        found(&block),
        [
            (Some("1"), None, r#"{"id":1,"__deleted":"false"}"#, None),
            (Some("1"), Some(Action::Delete), "", None),
            (Some("2"), Some(Action::Delete), "", None),
            (None, None, r#"{"id":3,"__deleted":"true"}"#, Some(Code::MissingId)),
        ]
    );
}

#[test]
fn columns_that_the_database_did_not_give_are_left_out_or_refused() {
    let row = r#"{"id":1,"n":2,"bio":"__debezium_unavailable_value"}"#;
    let event = format!(r#"{{"op":"u","after":{row}}}"#);
    for (unwrap, value) in [(Unwrap::Debezium, &event[..]), (Unwrap::DebeziumFlat, row)] {
        let options = KafkaOptions { is_merged: true, ..unwrapped(unwrap) };
        let records = [json(Some(r#"{"id":1}"#), Some(value))];
        assert_eq!(found(&block(&options, &records)), [(Some("1"), None, r#"{"id":1,"n":2}"#, None)]);
        let replaces = block(&unwrapped(unwrap), &records);
        assert_eq!(found(&replaces), [(Some("1"), None, value, Some(Code::UnavailableValue))]);
        let other = KafkaOptions { unavailable_value: Some("n/a".to_owned()), ..options };
        assert_eq!(found(&block(&other, &records)), [(Some("1"), None, row, None)]);
    }
    let wrong = KafkaOptions { unavailable_value: Some("hex:x".to_owned()), ..unwrapped(Unwrap::Debezium) };
    assert!(Shape::of(&wrong).err().unwrap().contains("`unavailable_value`"));
}

#[test]
fn documents_of_mongodb_have_the_id_of_the_key() {
    let key = r#"{"id":"{\"$oid\" : \"571e\"}"}"#;
    let value = r#"{"op":"c","after":"{\"_id\" : {\"$oid\" : \"571e\"},\"n\" : {\"$numberLong\" : \"5\"}}"}"#;
    let records = [json(Some(key), Some(value)), json(Some(key), Some(r#"{"op":"d","before":null}"#))];
    let blocks = block(&unwrapped(Unwrap::Debezium), &records);
    let expected = [(Some("571e"), None, r#"{"n":5}"#, None), (Some("571e"), Some(Action::Delete), "", None)];
    assert_eq!(found(&blocks), expected);
    let of_fields = KafkaOptions { ids: Ids::None, on_null: OnNull::Skip, ..unwrapped(Unwrap::Debezium) };
    assert_eq!(found(&block(&of_fields, &records[..1]))[0].2, r#"{"_id":{"$oid":"571e"},"n":5}"#);
}

#[test]
fn values_of_a_registry_name_the_option_where_none_is_given() {
    let sent = [(Some(&b"k"[..]), Some(&b"\0\0\0\0\x07\x02a"[..]), &[][..]), json(Some("k"), Some("{}"))];
    for options in [unwrapped(Unwrap::Connect), unwrapped(Unwrap::Debezium), with(&["key"]), options(Values::Bulk)] {
        let block = block(&options, &sent[..1]);
        assert_eq!(found(&block)[0].3, Some(Code::NoSchema));
        assert!(block.rejects[0].reason.contains("`schema_registry`"), "{}", block.rejects[0].reason);
    }
}

#[test]
fn metadata_are_fields_unless_the_document_has_them() {
    let headers: Headers<'_> =
        &[("trace_id", Some(b"old")), ("trace_id", Some(b"t\"1")), ("raw", Some(b"\xFF")), ("none", None)];
    let options = with(&[
        "key",
        "headers.trace_id",
        "headers.absent",
        "headers.raw=raw",
        "timestamp=@timestamp",
        "partition",
        "offset",
        "topic=from",
    ]);
    let block = block(
        &options,
        &[
            (Some(b"k"), Some(br#"{"a":1,"offset":"mine"} "#), headers),
            (None, Some(b"{}"), &[]),
            (None, Some(b"[1]"), &[]),
            (None, Some(b"{\"a\":"), &[]),
        ],
    );
    let expected = concat!(
        r#"{"a":1,"offset":"mine","key":"k","headers.trace_id":"t\"1","raw":"/w==","#,
        r#""@timestamp":"2023-11-14T22:13:20.123Z","partition":3,"from":"orders"}"#
    );
    assert_eq!(found(&block)[0], (Some("k"), None, expected, None));
    let expected = r#"{"@timestamp":"2023-11-14T22:13:20.123Z","partition":3,"offset":101,"from":"orders"}"#;
    assert_eq!(found(&block)[1].2, expected);
    assert_eq!((found(&block)[2].3, found(&block)[3].3), (Some(Code::NotAnObject), Some(Code::InvalidJson)));
}

#[test]
fn all_headers_are_an_object() {
    let headers: Headers<'_> = &[("a", Some(b"1")), ("b", Some(b"")), ("a", Some(b"2")), ("c", None)];
    let block = block(&with(&["headers=meta", "key=k"]), &[(Some(b"\xFF"), Some(b"{}"), headers)]);
    assert_eq!(found(&block), [(None, None, "{}", Some(Code::BadId))]);
    let options = KafkaOptions { ids: Ids::Position, ..with(&["headers=meta", "key=k"]) };
    let block = super::tests::block(&options, &[(Some(b"\xFF"), Some(b"{}"), headers)]);
    assert_eq!(found(&block)[0].2, r#"{"meta":{"b":"","a":"2"},"k":"/w=="}"#);
}

#[test]
fn items_of_bulk_bodies_say_what_they_do() {
    let records = [
        json(Some("k"), Some("{\"index\":{\"_id\":\"a\",\"routing\":\"r\"}}\n{\"n\":1}\n")),
        json(Some("k"), Some("{\"create\":{}}\n{\"n\":2}")),
        json(None, Some("{\"index\":{}}\n{\"n\":3}")),
        json(Some("k"), Some("{\"update\":{}}\n{\"doc\":{\"n\":4},\"doc_as_upsert\":true}")),
        json(Some("k"), Some("{\"delete\":{}}")),
        json(Some("k"), None),
        json(None, Some("{\"update\":{}}\n{\"doc\":{}}")),
        json(Some("k"), Some("{\"index\":{\"_id\":\"b\"}}\n[5]")),
        json(Some("k"), Some("{\"n\":6}")),
    ];
    let both = block(&options(Values::Bulk), &records);
    assert_eq!(
        found(&both),
        [
            (Some("a"), Some(Action::Index), "{\"n\":1}", None),
            (Some("k"), Some(Action::Create), "{\"n\":2}", None),
            (Some("orders-3-102"), Some(Action::Index), "{\"n\":3}", None),
            (Some("k"), Some(Action::Upsert), "{\"n\":4}", None),
            (Some("k"), Some(Action::Delete), "", None),
            (Some("k"), Some(Action::Delete), "", None),
            (None, None, "{\"update\":{}}\n{\"doc\":{}}", Some(Code::MissingId)),
            (Some("b"), Some(Action::Index), "{\"index\":{\"_id\":\"b\"}}\n[5]", Some(Code::NotAnObject)),
            (None, None, "{\"n\":6}", Some(Code::BadBulkItem)),
        ]
    );
    assert_eq!(both.meta[0].routing.as_deref(), Some("r"));
    // The id is a field of the document where the action line has none.
    let fields = KafkaOptions { ids: Ids::None, on_null: OnNull::Skip, ..options(Values::Bulk) };
    let ids: Vec<_> = found(&block(&fields, &records[..5])).iter().map(|found| found.0.map(str::to_owned)).collect();
    assert_eq!(ids, [Some("a".to_owned()), None, None, None, None]);
    let with = KafkaOptions { with: vec!["offset".parse().unwrap()], ..options(Values::Bulk) };
    assert_eq!(found(&block(&with, &records))[0].2, r#"{"n":1,"offset":100}"#);
    assert!(Shape::of(&KafkaOptions { unwrap: Unwrap::Connect, ..options(Values::Bulk) }).is_err());
}

#[test]
fn values_that_are_too_large_are_rejects() {
    let options = KafkaOptions { document_bytes_max: 20, ..options(Values::Text { field: "text".into() }) };
    let block = block(
        &options,
        &[
            json(Some("a"), Some("fits")),
            json(Some("b"), Some("with its field too large")),
            json(Some("c"), Some("0123456789012")),
        ],
    );
    let kinds: Vec<_> = found(&block).iter().map(|document| document.3).collect();
    assert_eq!(kinds, [None, Some(Code::TooLarge), Some(Code::TooLarge)]);
}
