use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use inrush_core::DocBlock;
use inrush_formats::Chunk;

use super::*;
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
            (None, "{\"a\":3}", Some("no_schema")),
            (None, "\0\0\0\0\x08{\"a\":4}", Some("unknown_schema")),
            (Some("gone"), "", None),
        ]
    );
    let reason = &block.rejects[1].reason;
    for part in ["topic orders", "schema 8", &fake.url, "40403", "Schema not found", "register it"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(fake.asked("/schemas/ids/7"), 1);
}

#[test]
fn a_schema_that_is_missing_is_asked_for_again_after_a_while() {
    let fake = Fake::new([]);
    let schemas = Schemas::open(&fake.registry()).unwrap();
    let key = [SchemaKey::Id(7)];
    let wait = |now: Instant| {
        while !schemas.are_known(&key, now) {
            std::thread::yield_now();
        }
    };
    let framed = Framed { schema: key[0], rest: b"{}", content: None };
    let decode = || schemas.decode("value", "orders", framed, 100, &mut Vec::new());
    wait(Instant::now());
    assert_eq!(decode().unwrap_err().0, "unknown_schema");
    fake.set("/schemas/ids/7", 200, &reply("{}", "JSON", ""));
    wait(Instant::now());
    assert_eq!((decode().unwrap_err().0, fake.asked("/schemas/ids/7")), ("unknown_schema", 1));
    // Blocks that were let through before have their answer still.
    let later = Instant::now() + UNKNOWN_FOR;
    schemas.are_known(&key, later);
    while decode().is_err() {
        std::thread::yield_now();
    }
    assert!(schemas.are_known(&key, later + UNKNOWN_FOR));
    assert_eq!(fake.asked("/schemas/ids/7"), 2);
}

#[test]
fn a_registry_that_is_away_is_waited_for() {
    let fake = Fake::new([("/schemas/ids/7", 503, "busy"), ("/schemas/ids/8", 404, "<html>")]);
    let schemas = Schemas::open(&fake.registry()).unwrap();
    let keys = [SchemaKey::Id(7), SchemaKey::Id(8)];
    while fake.asked("/schemas/ids/7") < 2 {
        assert!(!schemas.are_known(&keys, Instant::now()));
        std::thread::yield_now();
    }
    fake.set("/schemas/ids/7", 200, &reply("{}", "JSON", ""));
    fake.set("/schemas/ids/8", 200, &reply("{}", "JSON", ""));
    while !schemas.are_known(&keys, Instant::now()) {
        std::thread::yield_now();
    }
}

#[test]
fn registries_that_cannot_be_used_are_refused_at_the_start() {
    let fake = Fake::new([("/schemas/types", 401, "")]);
    let error = Schemas::open(&fake.registry()).err().unwrap();
    assert!(error.contains(&fake.url) && error.contains("401; check its credentials"), "{error}");
    let fake = Fake::new([("/schemas/types", 404, "")]);
    let error = Schemas::open(&fake.registry()).err().unwrap();
    assert!(error.contains("no schema registry") && error.contains("/apis/ccompat/v7"), "{error}");
    let fake = Fake::new([("/schemas/types", 200, "{}")]);
    assert!(Schemas::open(&fake.registry()).is_err());
}

#[test]
fn credentials_are_sent() {
    let fake = Fake::new([]);
    let url = fake.url.replace("http://", "http://me:secret@");
    Schemas::open(&SchemaRegistry::new(url)).unwrap();
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
    let expected = [None, Some("bad_avro"), Some("unknown_schema"), Some("unknown_schema"), Some("not_an_object")];
    assert_eq!(kinds, expected);
    assert!(block.rejects[0].reason.starts_with("value of schema 1: "), "{}", block.rejects[0].reason);
    assert!(block.rejects[1].reason.contains("not JSON") && block.rejects[2].reason.contains("THRIFT"));
    assert_eq!(fake.asked("/subjects/city/versions/1"), 1);
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
    assert_eq!(documents[2].3, Some("bad_protobuf"));
}
