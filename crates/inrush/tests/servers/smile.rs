//! SMILE on real servers: the same documents as JSON and as SMILE are the same to a search.

use inrush_core::Action;
use inrush_smile::{Decimals, EncodeError, SEPARATOR, SmileEncoder, SmileOptions};
use inrush_testbed::client::{Client, Reply};
use serde_json::{Value, json};

use crate::server::{Server, Version, on_servers};

const SMILE: [(&str, &str); 2] = [("content-type", "application/smile"), ("accept", "application/json")];

/// Fields of every kind that could take a number's text for its value.
fn mapping() -> Value {
    json!({"mappings": {"properties": {
        "keyword": {"type": "keyword"}, "text": {"type": "text", "fielddata": true}, "long": {"type": "long"}, "double": {"type": "double"},
        "float": {"type": "float"}, "date": {"type": "date", "format": "epoch_second||strict_date_optional_time"},
        "ip": {"type": "ip"}, "flag": {"type": "boolean"}, "point": {"type": "geo_point"}, "not_indexed": {"type": "object", "enabled": false},
    }}})
}

/// Documents that both encodings say.
fn documents() -> Vec<String> {
    let mut documents = Vec::new();
    for number in [
        "0",
        "-1",
        "16",
        "2147483648",
        "-9223372036854775808",
        "1.5",
        "0.001",
        "-0.0",
        "9999999.75",
        "48.858370099999995",
        "1.0E10",
        "2.5E-7",
        "1.50",
        "12345678.5",
        "0.0005",
        "-50.00",
        "3.14159265358979323846",
    ] {
        for field in ["keyword", "text", "double", "float", "dynamic"] {
            documents.push(format!("{{\"{field}\":{number}}}"));
        }
    }
    documents.extend(
        [
            r#"{"long":42,"flag":true,"date":"2024-02-29T12:00:00Z","ip":"::1","point":{"lat":48.85,"lon":-2.35}}"#,
            r#"{"date":1700000000,"point":[2.35,48.85],"keyword":null,"dynamic_text":"été 😀 \u0000 \" \\ \n"}"#,
            r#"{"not_indexed":{"":[],"big":123456789012345678901234567890,"a":[[1],[{}],null,[true,false,""]]}}"#,
            r#"{"keyword":["a","a","b",1],"dynamic_array":[1,2,3],"dots.with.dots":1,"nested":{"nested":{"nested":"x"}}}"#,
            r#"{"date":1700000000.5,"dynamic_decimal":12345678.5,"dynamic_decimals":[43.3587840,1.5],"point":{"lat":48.850,"lon":-2.350}}"#,
            r#"{"flag":"","keyword":""}"#,
        ]
        .map(str::to_owned),
    );
    let wide: Vec<String> = (0..1200).map(|n| format!("\"k{n}\":\"v{}\"", n % 300)).collect();
    documents.push(format!("{{\"not_indexed\":{{{}}},\"dynamic_text\":\"{}\"}}", wide.join(","), "long ".repeat(2000)));
    documents
}

/// The action line of a bulk item.
#[derive(Default)]
struct ActionLine<'a> {
    action: Action,
    index: Option<&'a str>,
    id: Option<&'a str>,
    routing: Option<&'a str>,
    version: Option<u64>,
}

impl ActionLine<'_> {
    /// Appends the line as SMILE, with its separator.
    fn write(&self, encoder: &mut SmileEncoder, body: &mut Vec<u8>) {
        let mut fields =
            json!({"_index": self.index, "_id": self.id, "routing": self.routing, "version": self.version});
        let fields = fields.as_object_mut().unwrap();
        fields.retain(|_, value| !value.is_null());
        if self.version.is_some() {
            fields.insert("version_type".into(), "external".into());
        }
        let line = json!({self.action.bulk_key(): fields}).to_string();
        encoder.encode(line.as_bytes(), body).unwrap();
        body.push(SEPARATOR);
    }
}

fn smile_body(encoder: &mut SmileEncoder, items: &[(ActionLine<'_>, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (line, document) in items {
        line.write(encoder, &mut body);
        let document = match line.action {
            Action::Delete => continue,
            Action::Update => format!(r#"{{"doc":{document}}}"#),
            Action::Upsert => format!(r#"{{"doc":{document},"doc_as_upsert":true}}"#),
            _ => (*document).to_owned(),
        };
        encoder.encode(document.as_bytes(), &mut body).unwrap();
        body.push(SEPARATOR);
    }
    body
}

async fn bulk(client: &Client, index: &str, smile: Vec<u8>) -> Value {
    let reply = client.send("POST", &format!("/{index}/_bulk?refresh=true"), &SMILE, smile).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.json());
    reply.json()
}

/// The status of each item of a bulk reply.
fn statuses(reply: &Value) -> Vec<u64> {
    let items = reply["items"].as_array().unwrap();
    items.iter().map(|item| item.as_object().unwrap().values().next().unwrap()["status"].as_u64().unwrap()).collect()
}

fn ok(reply: Reply) -> Value {
    assert!(reply.status < 300, "{}", reply.json());
    reply.json()
}

/// Every document of an index, with its source and the values that are indexed, by id.
async fn hits(client: &Client, index: &str) -> Vec<Value> {
    let search = json!({"size": 1000, "sort": ["number"], "docvalue_fields": ["keyword", "text", "long", "double", "float", "date", "ip", "flag",
        "dynamic", "dynamic_array", "dynamic_decimal", "dynamic_decimals", "dots.with.dots"], "stored_fields": ["_source", "_routing"], "version": true});
    let found = ok(client.json("POST", &format!("/{index}/_search"), search).await.unwrap());
    let hits = found["hits"]["hits"].as_array().unwrap().clone();
    hits.into_iter().map(|mut hit| hit.as_object_mut().unwrap().remove("_index").map(|_| hit).unwrap()).collect()
}

async fn check(version: Version) {
    let server = Server::shared(version).await;
    let client = &server.client;

    for shared_values in [false, true] {
        same_documents(client, shared_values).await;
    }
    actions(client).await;
    refused(client).await;
    text_of_decimals(client).await;

    println!("{}: documents, actions and refusals are those of JSON", server.title);
    server.stop().await;
}

/// Documents sent as SMILE cannot be distinguished from documents sent as JSON: source, indexed
/// values, inferred mapping.
async fn same_documents(client: &Client, shared_values: bool) {
    let mut encoder = SmileEncoder::new(SmileOptions::default().with_shared_values(shared_values));
    let documents = documents();
    let (mut json, mut smile) = (Vec::new(), Vec::new());
    for (n, document) in documents.iter().enumerate() {
        let (id, document) = (format!("id-{n}"), format!("{{\"number\":{n},{}", &document[1..]));
        json.extend_from_slice(format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{document}\n").as_bytes());
        let line = ActionLine { id: Some(&id), ..ActionLine::default() };
        smile.extend(smile_body(&mut encoder, &[(line, &document)]));
    }
    for index in ["smile-json", "smile-smile"] {
        client.json("DELETE", &format!("/{index}"), Value::Null).await.unwrap();
        ok(client.json("PUT", &format!("/{index}"), mapping()).await.unwrap());
    }
    let by_json = ok(client.bulk("/smile-json/_bulk?refresh=true", json).await.unwrap());
    let by_smile = bulk(client, "smile-smile", smile).await;
    let errors = |reply: &Value| {
        let items = reply["items"].as_array().unwrap().iter();
        items.map(|item| &item["index"]["error"]).filter(|error| !error.is_null()).cloned().collect::<Vec<_>>()
    };
    assert_eq!(errors(&by_json), Vec::<Value>::new());
    assert_eq!(errors(&by_smile), Vec::<Value>::new());
    assert_eq!(statuses(&by_smile), vec![201; documents.len()]);
    let (as_json, as_smile) = (hits(client, "smile-json").await, hits(client, "smile-smile").await);
    assert_eq!(as_smile.len(), documents.len());
    for (as_json, as_smile) in as_json.iter().zip(&as_smile) {
        assert_eq!(as_json, as_smile);
    }
    let mapping = async |index: &str| {
        ok(client.json("GET", &format!("/{index}/_mapping"), Value::Null).await.unwrap())[index].clone()
    };
    assert_eq!(mapping("smile-json").await, mapping("smile-smile").await);
}

async fn actions(client: &Client) {
    let mut encoder = SmileEncoder::new(SmileOptions::default());
    ok(client.json("PUT", "/smile-actions", json!({"settings": {"number_of_shards": 3}})).await.unwrap());
    let line = |action, id| ActionLine { action, id, ..ActionLine::default() };
    let first = smile_body(
        &mut encoder,
        &[
            (line(Action::Index, Some("1")), r#"{"a":1}"#),
            (line(Action::Create, Some("1")), r#"{"a":2}"#),
            (line(Action::Update, Some("1")), r#"{"b":2.5}"#),
            (line(Action::Update, Some("none")), r#"{"b":2}"#),
            (line(Action::Upsert, Some("2")), r#"{"doc":"it"}"#),
            (line(Action::Upsert, Some("2")), r#"{"doc":"it"}"#),
            (line(Action::Index, None), r#"{"a":3}"#),
            (ActionLine { routing: Some("é"), version: Some(1 << 40), ..line(Action::Index, Some("3")) }, "{}"),
            (line(Action::Delete, Some("4")), ""),
            (ActionLine { index: Some("smile-other"), ..line(Action::Create, Some("5")) }, r#"{"c":[]}"#),
        ],
    );
    let reply = bulk(client, "smile-actions", first).await;
    assert_eq!(statuses(&reply), [201, 409, 200, 404, 201, 200, 201, 201, 404, 201], "{reply}");
    let get = async |path: &str| client.json("GET", path, Value::Null).await.unwrap().json();
    assert_eq!(get("/smile-actions/_doc/1").await["_source"], json!({"a": 1, "b": 2.5}));
    assert_eq!(get("/smile-actions/_doc/2").await["_source"], json!({"doc": "it"}));
    let third = get("/smile-actions/_doc/3?routing=%C3%A9").await;
    assert_eq!((&third["_routing"], &third["_version"]), (&json!("é"), &json!(1_u64 << 40)));
    assert_eq!(get("/smile-other/_doc/5").await["_source"], json!({"c": []}));
}

/// A document that cannot be indexed is an error of its item alone. So is one with a name twice,
/// which the encoder does not write.
async fn refused(client: &Client) {
    let mut encoder = SmileEncoder::new(SmileOptions::default());
    ok(client.json("PUT", "/smile-refused", mapping()).await.unwrap());
    let line = || ActionLine { action: Action::Index, ..ActionLine::default() };
    let mut body = smile_body(&mut encoder, &[(line(), r#"{"long":"word"}"#), (line(), r#"{"long":1}"#)]);
    line().write(&mut encoder, &mut body);
    // {"a":1,"a":1}
    body.extend_from_slice(b":)\n\x01\xFA\x80a\xC2\x40\xC2\xFB\xFF");
    body.extend(smile_body(&mut encoder, &[(line(), "[1]"), (line(), r#"{"long":2}"#)]));
    let reply = bulk(client, "smile-refused", body).await;
    assert_eq!(statuses(&reply), [400, 201, 400, 400, 201], "{reply}");
    assert_eq!(encoder.encode(br#"{"a":1,"a":1}"#, &mut Vec::new()), Err(EncodeError::DuplicateName { at: 8 }));
}

/// Why [`Decimals::ByText`] is the default: a keyword gets another term, and a date is refused,
/// where a server has only the double.
async fn text_of_decimals(client: &Client) {
    ok(client.json("PUT", "/smile-decimals", mapping()).await.unwrap());
    let mut by_value = SmileEncoder::new(SmileOptions::default().with_decimals(Decimals::ByValue));
    let documents = [
        r#"{"number":1,"keyword":12345678.5}"#,
        r#"{"number":2,"keyword":1.50}"#,
        r#"{"number":3,"date":1700000000.5}"#,
    ];
    let mut json = String::new();
    for document in documents {
        json.push_str(&format!("{{\"index\":{{}}}}\n{document}\n"));
    }
    let by_json = ok(client.bulk("/smile-decimals/_bulk?refresh=true", json).await.unwrap());
    let terms = |hits: Vec<Value>| hits.into_iter().map(|hit| hit["fields"]["keyword"][0].clone()).collect::<Vec<_>>();
    assert_eq!(terms(hits(client, "smile-decimals").await)[..2], [json!("12345678.5"), json!("1.50")]);
    ok(client.json("DELETE", "/smile-decimals", Value::Null).await.unwrap());
    ok(client.json("PUT", "/smile-decimals", mapping()).await.unwrap());
    let items: Vec<_> = documents.iter().map(|document| (ActionLine::default(), *document)).collect();
    let reply = bulk(client, "smile-decimals", smile_body(&mut by_value, &items)).await;
    assert_eq!(terms(hits(client, "smile-decimals").await)[..2], [json!("1.23456785E7"), json!("1.5")]);
    println!("a date of 1700000000.5: {} by JSON, {} by SMILE", statuses(&by_json)[2], statuses(&reply)[2]);
}

on_servers!(check: opensearch_2_19 = OpenSearch2, elasticsearch_7_17 = Elasticsearch7, elasticsearch_9_5 = Elasticsearch9,
    opensearch_3_8 = OpenSearch38);
