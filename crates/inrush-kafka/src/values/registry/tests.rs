use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use inrush_cluster::clock::{self, Instant};
use inrush_core::Code;
use inrush_core::DocBlock;
use inrush_formats::Chunk;

use super::*;
use crate::KafkaOptions;
use crate::client::TopicPartition;
use crate::shared::{Block, Next, Shared};
use crate::values::tests::{block, found, options};
use crate::values::{Needs, SchemaRegistry, Shape, Values};

/// A registry that answers with what it is given, and counts its requests.
struct Fake {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<BTreeMap<String, (u16, String)>>>,
}

impl Fake {
    fn new<const N: usize>(replies: [(&str, u16, &str); N]) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = Fake { url, asked: Arc::default(), replies: Arc::default() };
        fake.set("/schemas/types", 200, r#"["JSON","PROTOBUF","AVRO"]"#);
        for (path, status, body) in replies {
            fake.set(path, status, body);
        }
        let (asked, replies) = (Arc::clone(&fake.asked), Arc::clone(&fake.replies));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (asked, replies) = (Arc::clone(&asked), Arc::clone(&replies));
                std::thread::spawn(move || serve(&stream.unwrap(), &asked, &replies));
            }
        });
        fake
    }

    fn set(&self, path: &str, status: u16, body: &str) {
        lock(&self.replies).insert(path.to_owned(), (status, body.to_owned()));
    }

    fn asked(&self, path: &str) -> usize {
        lock(&self.asked).iter().filter(|line| line.split(' ').nth(1) == Some(path)).count()
    }

    fn registry(&self) -> SchemaRegistry {
        SchemaRegistry::new(&self.url)
    }
}

fn serve(stream: &TcpStream, asked: &Mutex<Vec<String>>, replies: &Mutex<BTreeMap<String, (u16, String)>>) {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(request)) = lines.next() {
        let headers: Vec<String> = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let authorization = headers.iter().find(|line| line.to_lowercase().starts_with("authorization:"));
        lock(asked).push(format!("{request} {}", authorization.cloned().unwrap_or_default()));
        let unknown = || (404, r#"{"error_code":40403,"message":"Schema not found"}"#.to_owned());
        let (status, body) = lock(replies).get(&path).cloned().unwrap_or_else(unknown);
        let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut stream = stream;
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn reply(schema: &str, kind: &str, references: &str) -> String {
    let schema = serde_json::to_string(schema).unwrap();
    format!(r#"{{"schema":{schema},"schemaType":"{kind}","references":[{references}]}}"#)
}

const GUID: &[u8] = b"\x01\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2";

#[test]
fn json_is_read_by_its_schema_in_front_or_in_a_header() {
    let fake = Fake::new([
        ("/schemas/ids/7", 200, &reply("{}", "JSON", "")),
        ("/schemas/guids/89791762-2336-4186-9674-299b90a802e2", 200, &reply("{}", "JSON", "")),
    ]);
    let block = block(
        &options(Values::Registry(fake.registry())),
        &[
            (Some(b"k"), Some(b"\0\0\0\0\x07{\"a\":1}"), &[]),
            (Some(b"\0\0\0\0\x07{\"id\":3}"), Some(b"{\"a\":2}"), &[("__value_schema_id", Some(GUID))]),
            (Some(b"k"), Some(b"{\"a\":3}"), &[]),
            (Some(b"k"), Some(b"\0\0\0\0\x08{\"a\":4}"), &[]),
            (Some(b"\0\0\0\0\x07\"gone\""), None, &[]),
        ],
    );
    let found: Vec<_> = found(&block).into_iter().map(|(id, _, text, kind)| (id, text, kind)).collect();
    assert_eq!(
        found,
        [
            (Some("k"), "{\"a\":1}", None),
            (Some("3"), "{\"a\":2}", None),
            (Some("k"), "{\"a\":3}", Some(Code::NoSchema)),
            (Some("k"), "\0\0\0\0\x08{\"a\":4}", Some(Code::UnknownSchema)),
            (Some("gone"), "", None),
        ]
    );
    let reason = &block.rejects[1].reason;
    for part in ["topic orders", "schema 8", &fake.url, "does not give", "40403", "Schema not found", "register it"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(fake.asked("/schemas/ids/7"), 1);
}

#[test]
fn logical_types_of_json_schema_are_found_in_values_and_keys() {
    let schema = r#"{"type":"object","properties":{"day":{"oneOf":[{"type":"null"},
        {"type":"integer","title":"io.debezium.time.Date","connect.type":"int32"}]}}}"#;
    let fake = Fake::new([("/schemas/ids/7", 200, &reply(schema, "JSON", ""))]);
    let record = b"\0\0\0\0\x07{\"day\":20089}";
    let block = block(&options(Values::Registry(fake.registry())), &[(Some(record), Some(record), &[])]);
    assert_eq!(found(&block), [(Some("2025-01-01"), None, r#"{"day":"2025-01-01"}"#, None)]);
}

/// Whether all of these are known.
fn are_known(schemas: &Schemas, keys: &[SchemaKey], now: Instant) -> bool {
    let mut left = keys.to_vec();
    schemas.ask(&mut left, now);
    left.is_empty()
}

#[test]
fn a_schema_that_is_missing_is_asked_for_again_after_a_while() {
    let fake = Fake::new([]);
    let schemas = Schemas::open(&fake.registry(), false).unwrap();
    let key = [SchemaKey::Id(7)];
    let wait = |now: Instant| {
        while !are_known(&schemas, &key, now) {
            std::thread::yield_now();
        }
    };
    let framed = Framed { schema: key[0], rest: b"{}", content: None };
    let decode = || schemas.decode("value", "orders", framed, 100, Purpose::Document, &mut Vec::new()).map(drop);
    wait(clock::now());
    assert_eq!(decode().unwrap_err().0, Code::UnknownSchema);
    fake.set("/schemas/ids/7", 200, &reply("{}", "JSON", ""));
    wait(clock::now());
    assert_eq!((decode().unwrap_err().0, fake.asked("/schemas/ids/7")), (Code::UnknownSchema, 1));
    // Blocks that were let through before have their answer still.
    let later = clock::now() + UNKNOWN_FOR;
    are_known(&schemas, &key, later);
    while decode().is_err() {
        std::thread::yield_now();
    }
    assert!(are_known(&schemas, &key, later + UNKNOWN_FOR));
    assert_eq!(fake.asked("/schemas/ids/7"), 2);
}

#[test]
fn a_registry_that_is_away_is_waited_for() {
    for (status, body) in [(503, "busy"), (429, ""), (408, ""), (401, "")] {
        let fake = Fake::new([("/schemas/ids/7", status, body), ("/schemas/ids/8", 200, &reply("{}", "JSON", ""))]);
        let schemas = Schemas::open(&fake.registry(), false).unwrap();
        while fake.asked("/schemas/ids/7") < 2 {
            assert!(!are_known(&schemas, &[SchemaKey::Id(7)], clock::now()));
            std::thread::yield_now();
        }
        // Others are asked for meanwhile.
        while !are_known(&schemas, &[SchemaKey::Id(8)], clock::now()) {
            std::thread::yield_now();
        }
        assert!(!are_known(&schemas, &[SchemaKey::Id(7)], clock::now()));
        fake.set("/schemas/ids/7", 200, &reply("{}", "JSON", ""));
        while !are_known(&schemas, &[SchemaKey::Id(7)], clock::now()) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_proxy_that_answers_for_the_registry_is_waited_for() {
    for status in [200, 403, 404] {
        let fake = Fake::new([("/schemas/ids/7", status, "<html>")]);
        let schemas = Schemas::open(&fake.registry(), false).unwrap();
        fake.set("/schemas/types", status, "<html>");
        while fake.asked("/schemas/ids/7") < 2 {
            assert!(!are_known(&schemas, &[SchemaKey::Id(7)], clock::now()));
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_schema_that_the_registry_refuses_makes_rejects() {
    let garbage: &[u8] = b"\x01{\"garbage\":\"more\"}";
    let fake = Fake::new([
        ("/schemas/guids/7b226761-7262-6167-6522-3a226d6f7265", 404, "<html>"),
        ("/schemas/ids/1", 400, r#"{"message":"no id"}"#),
        ("/schemas/ids/2", 422, r#"{"error_code":42201,"message":"invalid"}"#),
        ("/schemas/ids/3", 403, r#"{"error_code":40301,"message":"denied"}"#),
        ("/schemas/ids/4", 200, "<html>"),
        ("/schemas/ids/5", 200, &reply("{}", "JSON", "")),
        ("/schemas/ids/6", 200, &reply("{}", "THRIFT", "")),
    ]);
    let sent = |value| (Some(&b"k"[..]), Some(value), &[][..]);
    let block = block(
        &options(Values::Registry(fake.registry())),
        &[
            sent(garbage),
            sent(b"\0\0\0\0\x01{}"),
            sent(b"\0\0\0\0\x02{}"),
            sent(b"\0\0\0\0\x03{}"),
            sent(b"\0\0\0\0\x04{}"),
            sent(b"\0\0\0\0\x05{}"),
            sent(b"\0\0\0\0\x06{}"),
        ],
    );
    let kinds: Vec<_> = found(&block).into_iter().map(|document| document.3).collect();
    let unknown = Some(Code::UnknownSchema);
    assert_eq!(kinds, [unknown, unknown, unknown, unknown, unknown, None, unknown]);
    let expected = [
        ["does not give", "404", "<html>"],
        ["does not give", "400", "no id"],
        ["does not give", "422", "invalid"],
        ["does not give", "403", "denied"],
        ["has and which cannot be used", "/schemas/ids/4", "no schema"],
        ["has and which cannot be used", "THRIFT", "correct the schema"],
    ];
    for (reject, parts) in block.rejects.iter().zip(expected) {
        assert!(parts.iter().all(|part| reject.reason.contains(part)), "{}", reject.reason);
    }
}

#[test]
fn answers_that_a_schema_is_missing_are_kept_for_a_while() {
    let now = clock::now();
    let entry = |answer, is_asked, valid_until| Entry { answer: Some(answer), is_asked, valid_until };
    let missing = || Err("does not give".to_owned());
    let mut known = HashMap::from([
        (SchemaKey::Id(1), entry(Ok(Arc::new(Schema::Json(Plan::of_json_schema("{}", &[])))), false, None)),
        (SchemaKey::Id(2), entry(missing(), false, Some(now + PAUSES.first_wait))),
        (SchemaKey::Id(3), entry(missing(), true, Some(now))),
        (SchemaKey::Id(4), entry(missing(), false, Some(now))),
    ]);
    sweep(&mut known, now);
    assert!(known.len() == 3 && !known.contains_key(&SchemaKey::Id(4)));
}

#[test]
fn null_of_json_is_no_object_with_a_registry_as_without() {
    let fake = Fake::new([("/schemas/ids/7", 200, &reply("{}", "JSON", ""))]);
    let (key, value): (&[u8], &[u8]) = (b"k", b"\0\0\0\0\x07null");
    let block = block(&options(Values::Registry(fake.registry())), &[(Some(key), Some(value), &[])]);
    assert_eq!(found(&block)[0].3, Some(Code::NotAnObject));
}

#[test]
fn registries_that_cannot_be_used_are_refused_at_the_start() {
    let fake = Fake::new([("/schemas/types", 401, "")]);
    let error = Schemas::open(&fake.registry(), false).err().unwrap();
    assert!(error.contains(&fake.url) && error.contains("401; check its credentials"), "{error}");
    let fake = Fake::new([("/schemas/types", 404, "")]);
    let error = Schemas::open(&fake.registry(), false).err().unwrap();
    assert!(error.contains("no schema registry") && error.contains("/apis/ccompat/v7"), "{error}");
    let fake = Fake::new([("/schemas/types", 200, "{}")]);
    assert!(Schemas::open(&fake.registry(), false).is_err());
}

#[test]
fn credentials_are_sent() {
    let fake = Fake::new([]);
    let url = fake.url.replace("http://", "http://me:secret@");
    Schemas::open(&SchemaRegistry::new(url), false).unwrap();
    assert!(lock(&fake.asked)[0].ends_with("Basic bWU6c2VjcmV0"));
}

#[cfg(feature = "avro")]
#[test]
fn avro_is_read_by_its_schema_and_those_it_refers_to() {
    let customer = r#"{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"city","type":"City"}]}"#;
    let city = r#"{"type":"enum","name":"City","namespace":"shop","symbols":["Ulm","Bern"]}"#;
    let order = r#"{"type":"record","name":"Order","namespace":"shop","fields":[
        {"name":"by","type":"Customer"},{"name":"to","type":"City"}]}"#;
    let to_customer = r#"{"name":"shop.Customer","subject":"a/b customer","version":2}"#;
    let to_city = r#"{"name":"shop.City","subject":"city","version":1}"#;
    let fake = Fake::new([
        ("/schemas/ids/1", 200, &reply(order, "AVRO", &format!("{to_customer},{to_city}"))),
        ("/subjects/a%2Fb%20customer/versions/2", 200, &reply(customer, "AVRO", to_city)),
        ("/subjects/city/versions/1", 200, &reply(city, "AVRO", "")),
        ("/schemas/ids/2", 200, r#"{"schema":"\"string\""}"#),
        ("/schemas/ids/3", 200, &reply("{", "AVRO", "")),
        ("/schemas/ids/4", 200, &reply("{}", "THRIFT", "")),
    ]);
    let block = block(
        &options(Values::Registry(fake.registry())),
        &[
            (Some(b"\0\0\0\0\x02\x02k"), Some(b"\0\0\0\0\x01\0\x02"), &[]),
            (Some(b"k"), Some(b"\0\0\0\0\x01\0"), &[]),
            (Some(b"k"), Some(b"\0\0\0\0\x03\0"), &[]),
            (Some(b"k"), Some(b"\0\0\0\0\x04\0"), &[]),
            (Some(b"k"), Some(b"\0\0\0\0\x02\x02k"), &[]),
        ],
    );
    let documents = found(&block);
    assert_eq!(documents[0], (Some("k"), None, r#"{"by":{"city":"Ulm"},"to":"Bern"}"#, None));
    let kinds: Vec<_> = documents.iter().map(|document| document.3).collect();
    let expected =
        [None, Some(Code::BadAvro), Some(Code::UnknownSchema), Some(Code::UnknownSchema), Some(Code::NotAnObject)];
    assert_eq!(kinds, expected);
    assert!(block.rejects[0].reason.starts_with("value of schema 1: "), "{}", block.rejects[0].reason);
    assert!(block.rejects[1].reason.contains("not JSON") && block.rejects[2].reason.contains("THRIFT"));
    assert_eq!(fake.asked("/subjects/city/versions/1"), 1);
}

#[cfg(feature = "avro")]
#[test]
fn fields_that_are_null_are_written_in_values_and_not_in_keys() {
    let schema =
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","int"]}]}"#;
    let fake = Fake::new([("/schemas/ids/1", 200, &reply(schema, "AVRO", ""))]);
    let record = b"\0\0\0\0\x01\x0e\0";
    for (is_merged, expected) in [(false, r#"{"a":7}"#), (true, r#"{"a":7,"b":null}"#)] {
        let options = KafkaOptions { is_merged, ..options(Values::Registry(fake.registry())) };
        assert_eq!(found(&block(&options, &[(Some(record), Some(record), &[])])), [(Some("7"), None, expected, None)]);
    }
}

#[test]
fn a_load_that_is_stopped_does_not_wait_for_a_registry() {
    let fake = Fake::new([("/schemas/ids/7", 503, "")]);
    let shape = Arc::new(Shape::of(&options(Values::Registry(fake.registry()))).unwrap().unwrap());
    let shared = Shared::new();
    let at = |partition| TopicPartition::new("orders", partition);
    let push = |partition, schemas| {
        shared.change(|state| {
            let number = state.assignment.add(at(partition), 0, Some(0), None);
            state.assignment.give(&at(partition), 10);
            let needs = Needs::new(Some(&shape), schemas);
            state.push(Block { number, first: 0, bytes: 1, needs, chunk: Chunk::Docs(DocBlock::default()) });
            number
        })
    };
    let waits = push(0, vec![SchemaKey::Id(7)]);
    let follows = push(1, Vec::new());
    assert!(matches!(shared.next(Duration::ZERO), Ok(Next::Nothing)));
    shared.change(|state| state.is_stopped = true);
    assert!(matches!(shared.next(Duration::ZERO), Ok(Next::Chunk(_))));
    shared.end(None);
    assert!(matches!(shared.next(Duration::ZERO), Ok(Next::End)));
    let state = shared.state();
    assert!(state.is_given_up(waits) && !state.is_given_up(follows));
    assert!(state.assignment.is_settled(&[at(0)]) && !state.assignment.is_settled(&[at(1)]));
    assert_eq!(state.queued_bytes, 0);
}

#[cfg(feature = "protobuf")]
#[test]
fn protobuf_is_read_by_its_schema_and_its_imports() {
    let order = "syntax = \"proto3\"; import \"parts/city.proto\"; message Key { int64 id = 1; } message Order { City to = 1; }";
    let city = "syntax = \"proto3\"; message City { string city_name = 1; }";
    let import = r#"{"name":"parts/city.proto","subject":"city","version":1}"#;
    let fake = Fake::new([
        ("/schemas/ids/1", 200, &reply(order, "PROTOBUF", import)),
        ("/subjects/city/versions/1", 200, &reply(city, "PROTOBUF", "")),
        ("/schemas/guids/89791762-2336-4186-9674-299b90a802e2", 200, &reply(city, "PROTOBUF", "")),
    ]);
    let header = [GUID, b"\0"].concat();
    let block = block(
        &options(Values::Registry(fake.registry())),
        &[
            (Some(b"\0\0\0\0\x01\0\x08\x07"), Some(b"\0\0\0\0\x01\x02\x02\x0a\x05\x0a\x03Ulm"), &[]),
            (Some(b"k"), Some(b"\x0a\x03Ulm"), &[("__value_schema_id", Some(&header))]),
            (Some(b"k"), Some(b"\0\0\0\0\x01\x02\x04"), &[]),
        ],
    );
    let documents = found(&block);
    assert_eq!(documents[0], (Some("7"), None, r#"{"to":{"city_name":"Ulm"}}"#, None));
    assert_eq!(documents[1], (Some("k"), None, r#"{"city_name":"Ulm"}"#, None));
    assert_eq!(documents[2].3, Some(Code::BadProtobuf));
}
