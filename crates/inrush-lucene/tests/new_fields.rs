//! Fields that documents add to a dynamic mapping.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::thread;

use inrush_lucene::{
    AddError, Keep, KnownProduct, LiveMapping, Mapping, NewDocument, Refused, ServerVersion, Shard, ShardOptions,
};
use serde_json::{Map, Value, json};
use tempfile::{TempDir, tempdir};

const OPENSEARCH: ServerVersion =
    ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
const ELASTICSEARCH: ServerVersion =
    ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 21], lucene: [9, 12, 2] };

fn options(folder: &TempDir, segment_memory: usize) -> ShardOptions {
    let folder = folder.path().to_owned();
    ShardOptions { folder, primary_term: 1, segment_memory, random: [9; 32], keep: Keep::Last }
}

fn live(mapping: &Value, settings: &Value, target: ServerVersion) -> LiveMapping {
    LiveMapping::new(Mapping::with_settings(mapping, settings.as_object().unwrap(), target).unwrap())
}

/// Adds documents one after the other; returns why each is refused, if it is.
fn add(mapping: &LiveMapping, documents: &[&str]) -> Vec<Option<Refused>> {
    let folder = tempdir().unwrap();
    let shard = Shard::new(options(&folder, 1 << 20), mapping);
    let mut writer = shard.writer();
    let mut number = 0;
    let mut one = |document: &&str| {
        number += 1;
        match writer.add(&NewDocument::with_id(document.as_bytes(), &number.to_string())) {
            Ok(()) => None,
            Err(AddError::Refused(refused)) => Some(refused),
            Err(AddError::Io(error)) => panic!("{error}"),
        }
    };
    let refused: Vec<_> = documents.iter().map(&mut one).collect();
    writer.finish().unwrap();
    let taken = refused.iter().filter(|refused| refused.is_none()).count() as u64;
    assert_eq!(shard.commit(1, &[]).unwrap().docs, taken);
    refused
}

fn fields(mapping: &LiveMapping) -> Map<String, Value> {
    mapping.new_fields().unwrap()["properties"].as_object().cloned().unwrap()
}

#[test]
fn the_first_value_makes_the_field() {
    let text = json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}});
    for target in [OPENSEARCH, ELASTICSEARCH] {
        let mapping = live(&json!({"properties": {"known": {"type": "short"}}}), &json!({}), target);
        let refused = add(
            &mapping,
            &[
                r#"{"l":[null,[7]],"f":1e2,"t":"x","b":false,"d":"2024-01-01","o":{"in":{}},"none":[null],"known":1}"#,
                r#"{"l":1.5,"f":3,"t":4,"b":"true","d":"2024","o.in":{"l":1},"o.t":"2024"}"#,
                r#"{"l":"x","later":1}"#,
                r#"{"d":"x"}"#,
                r#"{"_own":1,"a.b":{"c":"1.5"}}"#,
            ],
        );
        let is_taken: Vec<bool> = refused.iter().map(Option::is_none).collect();
        assert_eq!(is_taken, [true, true, false, false, true], "{refused:?}");
        let of = |kind: &str| json!({ "type": kind });
        let expected = json!({
            "l": of("long"), "f": of("float"), "t": text, "b": of("boolean"), "d": of("date"),
            "o": {"type": "object", "properties": {"in": {"type": "object", "properties": {"l": of("long")}}, "t": text}},
            "_own": of("long"), "a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": text}}}}
        });
        assert_eq!(Value::Object(fields(&mapping)), expected);
    }
}

#[test]
fn texts_become_what_the_mapping_says() {
    let kinds = |mapping: Value, target| {
        let mapping = live(&mapping, &json!({}), target);
        let document =
            r#"{"n":"7","f":" 1d","d":"2024-02-01","s":"2024/02/01","odd":"02.01.2024","big":"99999999999999999999"}"#;
        assert_eq!(add(&mapping, &[document]), [None]);
        let fields = fields(&mapping);
        ["n", "f", "d", "s", "odd", "big"].map(|name| fields[name]["type"].as_str().unwrap().to_owned())
    };
    for target in [OPENSEARCH, ELASTICSEARCH] {
        assert_eq!(kinds(json!({}), target), ["text", "text", "date", "date", "text", "text"]);
        let numeric = json!({"numeric_detection": true, "date_detection": false});
        assert_eq!(kinds(numeric, target), ["long", "float", "text", "text", "text", "float"]);
        let formats = json!({"dynamic_date_formats": ["MM.dd.yyyy||strict_date"]});
        assert_eq!(kinds(formats, target), ["text", "text", "date", "text", "date", "text"]);
    }
}

#[test]
fn dates_are_written_as_the_servers_do() {
    let format = "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis";
    for (target, date) in [
        (OPENSEARCH, json!({"type": "date", "format": format, "print_format": "yyyy/MM/dd HH:mm:ss"})),
        (ELASTICSEARCH, json!({"type": "date", "format": format, "locale": ""})),
    ] {
        let mapping = live(&json!({}), &json!({}), target);
        assert_eq!(add(&mapping, &[r#"{"d":"2024/01/01"}"#, r#"{"d":"2024/01/01 10:00:00"}"#]), [None, None]);
        assert_eq!(fields(&mapping)["d"], date);
        // The server says the same of the field to a later bake.
        let again = json!({"dynamic": "strict", "properties": fields(&mapping)});
        assert!(Mapping::parse(&again, target).is_ok());
    }
}

#[test]
fn a_date_that_is_none_is_a_text_in_elasticsearch() {
    for (target, is_taken) in [(OPENSEARCH, false), (ELASTICSEARCH, true)] {
        let mapping = live(&json!({}), &json!({}), target);
        let refused = add(&mapping, &[r#"{"d":"2024/02/30"}"#, r#"{"t":"2024-02-30"}"#]);
        assert_eq!([refused[0].is_none(), refused[1].is_none()], [is_taken, true], "{refused:?}");
        let fields = fields(&mapping);
        assert_eq!((fields.contains_key("d"), &fields["t"]["type"]), (is_taken, &json!("text")));
    }
}

#[test]
fn templates_make_fields() {
    let template = |kind: &str, mapping: Value| json!({kind: {"match_mapping_type": kind, "mapping": mapping}});
    let of = |templates: Value| live(&json!({ "dynamic_templates": templates }), &json!({}), OPENSEARCH);
    let short = json!({"type": "short"});
    let mapping = of(json!([template("string", json!({"type": "keyword"})), template("long", short.clone())]));
    let documents = [r#"{"k":["a","1"],"o":{"n":1},"d":"2024-01-01"}"#, r#"{"o.n":40000}"#, r#"{"m":["a",1]}"#];
    let refused = add(&mapping, &documents);
    assert!(refused[0].is_none() && matches!(refused[1], Some(Refused::Value { .. })), "{refused:?}");
    assert!(matches!(refused[2], Some(Refused::Changed { .. })), "{refused:?}");
    let fields = fields(&mapping);
    assert_eq!((&fields["k"]["type"], &fields["d"]["type"]), (&json!("keyword"), &json!("date")));
    assert_eq!(fields["o"]["properties"]["n"], short);
    for mapping in [json!({"type": "keyword", "copy_to": "all"}), json!({"type": "wildcard"})] {
        let refused = add(&of(json!([template("string", mapping)])), &[r#"{"k":"a"}"#]).remove(0);
        assert!(matches!(refused, Some(Refused::Unsupported(_))), "{refused:?}");
    }
}

#[test]
fn a_date_by_a_template_has_the_format_of_its_value() {
    let templates = json!([
        {"own": {"match": "own", "mapping": {"type": "date_nanos", "format": "yyyy-MM-dd"}}},
        {"fields": {"match": "fields", "mapping": {"type": "keyword", "fields": {"d": {"type": "date"}}}}},
        {"plain": {"match": "d*", "mapping": {"doc_values": false}}}
    ]);
    let format = "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis";
    for (target, name, value) in [(OPENSEARCH, "print_format", "yyyy/MM/dd HH:mm:ss"), (ELASTICSEARCH, "locale", "")] {
        let mapping = live(&json!({"dynamic_templates": templates}), &json!({}), target);
        let document = r#"{"own":"2024-01-01","d1":"2024-01-01","d2":"2024/01/01","d3":1.5}"#;
        let others = [r#"{"own":"2024/01/01"}"#, r#"{"fields":"2024-01-01"}"#];
        let refused = add(&mapping, &[others[0], others[1], document]);
        let is_unsupported = |refused: &Option<Refused>| matches!(refused, Some(Refused::Unsupported(_)));
        assert!(refused[..2].iter().all(is_unsupported) && refused[2].is_none(), "{refused:?}");
        let expected = json!({
            "own": {"type": "date_nanos", "format": "yyyy-MM-dd"}, "d1": {"type": "date", "doc_values": false},
            "d2": {"type": "date", "doc_values": false, "format": format, name: value},
            "d3": {"type": "float", "doc_values": false}
        });
        assert_eq!(Value::Object(fields(&mapping)), expected);
    }
}

#[test]
fn a_refused_document_adds_nothing() {
    let mapping = live(&json!({"properties": {"n": {"type": "long"}}}), &json!({}), OPENSEARCH);
    let changed = |from: &str, to: &str| {
        Some(Refused::Changed { field: "a".to_owned(), from: from.to_owned(), to: to.to_owned() })
    };
    let refused = add(
        &mapping,
        &[
            r#"{"a":1,"n":"x"}"#,
            r#"{"a":[1,1.5]}"#,
            r#"{"a":["2024-01-01","2024/01/01"]}"#,
            r#"{"a":[{"b":1},"x"]}"#,
            r#"{"a":1e40}"#,
            r#"{"a":{" ":1}}"#,
        ],
    );
    assert_eq!(refused[1..4], [changed("long", "float"), changed("date", "date"), changed("object", "text")]);
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
    assert_eq!(mapping.new_fields(), None);
}

#[test]
fn what_lucene_refuses_adds_its_fields() {
    let long = format!(r#"{{"k":"{}","a":1}}"#, "x".repeat(40_000));
    for (target, grown) in [(OPENSEARCH, true), (ELASTICSEARCH, false)] {
        let mapping = live(&json!({"properties": {"k": {"type": "keyword"}}}), &json!({}), target);
        assert_eq!(add(&mapping, &[&long]), [Some(Refused::ImmenseTerm("k".to_owned()))]);
        assert_eq!(mapping.new_fields().is_some(), grown);
    }
}

#[test]
fn new_fields_have_limits() {
    let mapping = json!({"properties": {"k": {"type": "text", "fields": {"a": {"type": "keyword"}}}, "o": {}}});
    let mapping = live(&mapping, &json!({"index.mapping.total_fields.limit": "6"}), ELASTICSEARCH);
    let deep = |levels: usize, end: &str| format!("{}{end}{}", r#"{"o":"#.repeat(levels), "}".repeat(levels));
    let documents = [r#"{"x":"a","y":1}"#, r#"{"z":1}"#, r#"{"x":"b"}"#];
    assert_eq!(add(&mapping, &documents), [None, Some(Refused::Fields(6)), None]);
    for (ignore, is_unsupported) in [("false", false), ("true", true)] {
        let settings = json!({"index.mapping.total_fields.limit": 1,
            "index.mapping.total_fields.ignore_dynamic_beyond_limit": ignore});
        let refused = add(&live(&json!({}), &settings, ELASTICSEARCH), &[r#"{"x":"a"}"#]).remove(0);
        assert_eq!(matches!(refused, Some(Refused::Unsupported(_))), is_unsupported, "{refused:?}");
    }
    for target in [OPENSEARCH, ELASTICSEARCH] {
        let of = |levels, end| {
            let mapping = live(&json!({}), &json!({}), target);
            add(&mapping, &[&deep(levels, end)]).remove(0)
        };
        assert_eq!([of(20, "1"), of(19, "{}")], [None, None]);
        assert!(matches!(of(20, "{}"), Some(Refused::Depth(_))));
    }
}

#[test]
fn what_a_server_would_do_otherwise_is_unsupported() {
    let unsupported = |mapping: Value, document: &str, target| {
        let mapping = live(&mapping, &json!({}), target);
        let refused = add(&mapping, &[r#"{"none":null}"#, document]).remove(1);
        matches!(refused, Some(Refused::Unsupported(_)))
    };
    let vector = json!({ "v": vec![1.5; 128] }).to_string();
    assert!(unsupported(json!({}), &vector, ELASTICSEARCH) && !unsupported(json!({}), &vector, OPENSEARCH));
    let objects = json!({ "items": vec![json!({ "price": 1.5 }); 200] }).to_string();
    assert!(!unsupported(json!({}), &objects, ELASTICSEARCH));
    let templates = json!({"dynamic_templates": [{"a": {"match": "a*", "mapping": {"type": "keyword"}}}]});
    assert!(!unsupported(templates.clone(), r#"{"a":1}"#, OPENSEARCH));
    assert!(unsupported(templates, r#"{"a":{"b":1}}"#, OPENSEARCH));
    assert!(unsupported(json!({}), r#"{"_tier":1}"#, OPENSEARCH));
    let fixed = LiveMapping::fixed(Mapping::parse(&json!({}), OPENSEARCH).unwrap());
    let refused = add(&fixed, &[r#"{"o":{"x":1}}"#]).remove(0).unwrap();
    assert!(refused.to_string().contains("\"o\", which is not in the mapping (name it there)"), "{refused}");
}

#[test]
fn searches_compute_the_new_fields() {
    let mapping = json!({"dynamic": "runtime", "properties": {
        "known": {"type": "short"}, "real": {"dynamic": true, "properties": {}}, "n": {"type": "nested"}}});
    let live_mapping = live(&mapping, &json!({}), ELASTICSEARCH);
    let deep = format!("{}1{}", r#"{"deep":"#.repeat(25), "}".repeat(25));
    let documents = [
        r#"{"l":7,"f":1e2,"t":"x","b":false,"d":"2024-01-01","day":"2024/01/01","none":[null,{}],"known":1}"#,
        r#"{"l":"any","t":{"in":1},"o.in":[[true]],"o":{"other":[1,"last"]},"n":[{"x":1},{"x":"x"}]}"#,
        r#"{"o":"also a value","real":{"x":1},"o.in":{"in":5}}"#,
        r#"{"known":"x","later":1}"#,
        r#"{"real":{"x":"x"}}"#,
        &deep,
    ];
    let refused = add(&live_mapping, &documents);
    let is_taken: Vec<bool> = refused.iter().map(Option::is_none).collect();
    assert_eq!(is_taken, [true, true, true, false, false, true], "{refused:?}");
    let of = |kind: &str| json!({ "type": kind });
    let day = json!({"type": "date", "format": "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"});
    let mut runtime = json!({
        "l": of("long"), "f": of("double"), "t": of("keyword"), "b": of("boolean"), "d": of("date"), "day": day,
        "t.in": of("long"), "o.in": of("boolean"), "o.other": of("keyword"), "n.x": of("keyword"), "o": of("keyword"),
        "o.in.in": of("long")
    });
    runtime[["deep"; 25].join(".")] = of("long");
    let grown = live_mapping.new_fields().unwrap();
    assert_eq!(grown["runtime"], runtime);
    assert_eq!(grown["properties"], json!({"real": {"properties": {"x": of("long")}}}));
    // A bake that goes on is told all of it by the server, and adds nothing.
    let mut again = mapping;
    again["runtime"] = runtime;
    again["properties"]["real"]["properties"]["x"] = of("long");
    let again = live(&again, &json!({}), ELASTICSEARCH);
    assert_eq!(add(&again, &documents[..3]), [None, None, None]);
    assert_eq!(again.new_fields(), None);
    assert!(Mapping::parse(&json!({"dynamic": "runtime"}), OPENSEARCH).is_err());
}

/// The stack is that of a thread of a bake.
#[test]
fn documents_of_999_levels() {
    let deep = format!("{}1{}", r#"{"deep":"#.repeat(999), "}".repeat(999));
    let both = move || {
        ["true", "runtime"].map(|dynamic| {
            let mapping = live(&json!({ "dynamic": dynamic }), &json!({}), ELASTICSEARCH);
            add(&mapping, &[&deep]).remove(0)
        })
    };
    let thread = thread::Builder::new().stack_size(8 << 20).spawn(both).unwrap();
    let [indexed, runtime] = thread.join().unwrap();
    assert!(matches!(indexed, Some(Refused::Depth(_))), "{indexed:?}");
    assert_eq!(runtime, None);
}

#[test]
fn an_object_takes_the_name_of_a_field_that_searches_compute() {
    let runtime = json!({"u": {"type": "long"}, "o.x": {"type": "long"}});
    let of = |dynamic: Value| {
        let mapping = live(&json!({"dynamic": dynamic, "runtime": runtime}), &json!({}), ELASTICSEARCH);
        let documents =
            [r#"{"u":["any",1]}"#, r#"{"u.v":1}"#, r#"{"u":{"w":1}}"#, r#"{"u":"any"}"#, r#"{"o":{"x":"any"}}"#];
        let refused = add(&mapping, &documents);
        (refused.iter().map(Option::is_none).collect::<Vec<_>>(), mapping.new_fields())
    };
    assert_eq!(of(json!("strict")), (vec![true, false, false, true, false], None));
    assert_eq!(of(json!(false)), (vec![true; 5], None));
    let (is_taken, grown) = of(json!(true));
    assert_eq!(is_taken, [true, true, true, false, true]);
    let long = json!({"type": "long"});
    let objects = json!({"u": {"type": "object", "properties": {"v": long, "w": long}}, "o": {"type": "object"}});
    assert_eq!(grown, Some(json!({ "properties": objects })));
    let (is_taken, grown) = of(json!("runtime"));
    assert_eq!((is_taken, grown), (vec![true; 5], Some(json!({"runtime": {"u.v": long, "u.w": long}}))));
    // Servers refuse this one, and keep the object.
    let mapping = live(&json!({ "runtime": runtime }), &json!({}), ELASTICSEARCH);
    let refused = add(&mapping, &[r#"{"u":[5,{}]}"#]).remove(0);
    assert!(matches!(refused, Some(Refused::Unsupported(_))), "{refused:?}");
}

#[test]
fn templates_may_say_that_searches_compute_a_field() {
    let templates = json!([
        {"texts": {"match_mapping_type": "string", "runtime": {}}},
        {"numbers": {"match_mapping_type": "long", "mapping": {"type": "integer"}}},
    ]);
    let of =
        |dynamic: Value| live(&json!({"dynamic": dynamic, "dynamic_templates": templates}), &json!({}), ELASTICSEARCH);
    let mapping = of(json!(true));
    assert_eq!(add(&mapping, &[r#"{"o":{"t":"x"},"n":1}"#, r#"{"o.t":5}"#]), [None, None]);
    let properties = json!({"o": {"type": "object"}, "n": {"type": "integer"}});
    let grown = json!({"runtime": {"o.t": {"type": "keyword"}}, "properties": properties});
    assert_eq!(mapping.new_fields(), Some(grown));
    let mapping = of(json!("runtime"));
    // Servers refuse the second one and do not name the field, and keep the fields of the others.
    let documents = [
        r#"{"t":"x","n":1}"#,
        r#"{"o":{"n":1}}"#,
        r#"{"both":["x",1]}"#,
        r#"{"m":[1,{"below":"x"}]}"#,
        r#"{"m":[1,{}]}"#,
    ];
    let refused = add(&mapping, &documents);
    assert_eq!(refused[0], None);
    assert!(refused[1..].iter().all(|refused| matches!(refused, Some(Refused::Unsupported(_)))), "{refused:?}");
}

#[test]
fn all_shards_and_threads_have_one_type() {
    let nested = json!({"type": "nested", "include_in_root": true, "dynamic": true});
    let mapping = live(&json!({"properties": {"n": nested, "known": {"type": "long"}}}), &json!({}), OPENSEARCH);
    let folders = [tempdir().unwrap(), tempdir().unwrap()];
    // Small segments, so that some begin after fields have come.
    let shards = folders.each_ref().map(|folder| Shard::new(options(folder, 1 << 16), &mapping));
    let write = |number: usize| {
        let mut writer = shards[number % 2].writer();
        let mut taken = 0_u64;
        for document in 0..3000 {
            let value = if number < 2 { "1" } else { "\"x\"" };
            let line = format!(r#"{{"f{0}":{value},"own{number}":"a b","n":{{"f{0}":true}}}}"#, document % 100);
            match writer.add(&NewDocument::with_id(line.as_bytes(), &format!("{number} {document}"))) {
                Ok(()) => taken += 1,
                Err(AddError::Refused(refused)) => assert!(matches!(refused, Refused::Value { .. }), "{refused}"),
                Err(AddError::Io(error)) => panic!("{error}"),
            }
        }
        writer.finish().unwrap();
        taken
    };
    let taken: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || write(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let docs: u64 = shards.map(|shard| shard.commit(1, &[]).unwrap().docs).iter().sum();
    // A text takes numbers, a number takes no texts.
    assert!(docs == taken && (6000..=12_000).contains(&docs), "{docs} {taken}");
    let fields = fields(&mapping);
    assert_eq!(fields.len(), 100 + 4 + 1);
    let nested = fields["n"].as_object().unwrap();
    assert_eq!((&nested["type"], &nested["include_in_root"], nested.len()), (&json!("nested"), &json!(true), 3));
    assert_eq!(nested["properties"].as_object().unwrap().len(), 100);
}

#[test]
fn a_copy_adds_the_field_that_it_goes_to() {
    let properties = json!({"k": {"type": "keyword", "copy_to": ["all", "k2"]}, "n": {"type": "long", "copy_to": "all"},
        "k2": {"type": "keyword"}, "o": {"properties": {"b": {"type": "boolean", "copy_to": "all"}}}});
    let documents = [r#"{"n":null}"#, r#"{"k":["a b",7],"n":5}"#, r#"{"n":null,"o.b":true}"#, r#"{"n":[1,2]}"#];
    let taken = |dynamic: &str| {
        let mapping = live(&json!({"dynamic": dynamic, "properties": properties}), &json!({}), OPENSEARCH);
        let refused = add(&mapping, &documents);
        let taken: Vec<bool> = refused.iter().map(Option::is_none).collect();
        (taken, mapping.new_fields().map(|new| new["properties"].clone()))
    };
    // Of null no field can be made, but of the next document one; a number in a text is a text.
    let text = json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}});
    let mapping = live(&json!({"properties": properties}), &json!({}), OPENSEARCH);
    let refused = add(&mapping, &[r#"{"n":null}"#, r#"{"k":"a b"}"#, r#"{"n":null,"k":"c"}"#]);
    assert!(matches!(refused[..], [Some(Refused::Value { .. }), None, None]), "{refused:?}");
    assert_eq!(Value::Object(fields(&mapping)), json!({ "all": text }));
    // Two types in one document.
    assert_eq!(taken("true").0, [false, false, false, true]);
    assert_eq!(taken("false"), (vec![true; 4], None));
    assert_eq!(taken("strict").0, [false; 4]);
    for copy_to in ["o.new", "o", "", "other.new"] {
        let fields = json!({"properties": {"k": {"type": "keyword", "copy_to": copy_to}, "o": {"type": "object"}}});
        assert!(Mapping::parse(&fields, OPENSEARCH).is_err(), "{copy_to}");
    }
    let fields = json!({"properties": {"k": {"type": "keyword", "copy_to": "all"}}});
    assert!(Mapping::parse(&fields, ELASTICSEARCH).is_err());
}
