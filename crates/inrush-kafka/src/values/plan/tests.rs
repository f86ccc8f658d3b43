use serde_json::{Map, Value, json};

use super::*;
use crate::values::logical::tests::{CASES, Case};

/// The schema of Kafka Connect of a payload.
fn connect(case: &Case) -> Value {
    let mut schema = json!({"type": case.kind, "name": case.name, "version": 1, "optional": false});
    if !case.parameters.is_empty() {
        schema["parameters"] = case.parameters();
    }
    if let Ok(Value::Object(fields)) = serde_json::from_str(case.plain) {
        let field = |(name, value): (String, Value)| {
            let kind = if value.is_string() { "string" } else { "int32" };
            json!({"field": name, "type": kind, "optional": true})
        };
        schema["fields"] = fields.into_iter().map(field).collect();
    }
    schema
}

fn with(mut schema: Value, more: Value) -> Value {
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    schema.as_object_mut().unwrap().extend(more);
    schema
}

fn pushed(plan: &Plan, json: &str) -> String {
    let mut out = Vec::new();
    plan.push(plan.root(), json.as_bytes(), Purpose::Document, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn logical_types_are_found_wherever_a_schema_can_stand() {
    for case in CASES {
        let Case { plain, expected, .. } = case;
        let own = connect(case);
        let fields = json!([
            with(own.clone(), json!({"field": "a"})),
            with(own.clone(), json!({"field": "b", "optional": true})),
            {"field": "list", "type": "array", "items": own},
            {"field": "map", "type": "map", "keys": {"type": "string"}, "values": own},
            {"field": "pairs", "type": "map", "keys": {"type": "int16"}, "values": own},
            {"field": "deep", "type": "struct", "fields": [
                {"field": "lists", "type": "array", "items": {"type": "array", "items": own}},
            ]},
            {"field": "n", "type": "int32"},
        ]);
        let schema = json!({"type": "struct", "name": "orders.Value", "fields": fields}).to_string();
        let document = |value: &str| {
            format!(
                "{{\"a\":{value},\"b\":null,\"list\":[{value},null],\"map\":{{\"k\":{value}}},\
                 \"pairs\":[[1,{value}],[2,null]],\"deep\":{{\"lists\":[[{value}],[]]}},\"n\":20089,\"more\":1}}"
            )
        };
        let plan = Plan::of_connect(schema.as_bytes());
        assert_eq!(pushed(&plan, &document(plain)), document(expected), "{} of {plain}", case.name);
    }
}

#[test]
fn values_that_do_not_fit_their_schema_stay() {
    let case = &CASES[0];
    let schema = json!({"type": "struct", "fields": [
        {"field": "s", "type": "struct", "fields": [with(connect(case), json!({"field": "a"}))]},
        {"field": "l", "type": "array", "items": connect(case)},
        {"field": "m", "type": "map", "values": connect(case)},
    ]});
    let plan = Plan::of_connect(schema.to_string().as_bytes());
    for json in ["7", "null", "[]", r#"{"s":[1],"l":{"a":1},"m":7}"#, r#"{"s":null,"l":null,"m":[7]}"#] {
        assert_eq!(pushed(&plan, json), json);
    }
    for schema in ["", "null", "7", "{}", r#"{"type":"struct"}"#, r#"{"type":"struct","fields":[7,{"field":1}]}"#] {
        let plan = Plan::of_connect(schema.as_bytes());
        assert!(plan.is_plain(plan.root()), "{schema}");
    }
}

#[test]
fn schemas_are_planned_once() {
    let plans = Plans::default();
    let first = plans.of_connect(b"{\"type\":\"int32\"}");
    assert!(Arc::ptr_eq(&first, &plans.of_connect(b"{\"type\":\"int32\"}")));
    for number in 0..2 * KNOWN_MAX {
        plans.of_connect(number.to_string().as_bytes());
    }
    assert!(plans.0.lock().unwrap().len() <= KNOWN_MAX);
}

/// The schema as Confluent's converter of JSON Schema writes it.
fn json_schema(case: &Case) -> Value {
    let kind = match case.kind {
        "int32" | "int64" => "integer",
        "struct" => "object",
        _ => "string",
    };
    let mut schema = json!({"type": kind, "title": case.name, "connect.version": 1});
    if kind != "object" {
        schema["connect.type"] = json!(case.kind);
    }
    if !case.parameters.is_empty() {
        schema["connect.parameters"] = case.parameters();
    }
    schema
}

#[test]
fn logical_types_of_json_schema_are_found() {
    for case in CASES {
        let Case { plain, expected, .. } = case;
        let own = json_schema(case);
        let optional = json!({"oneOf": [{"type": "null"}, own], "connect.index": 1});
        let schema = json!({"type": "object", "title": "orders.Envelope", "properties": {
            "after": {"oneOf": [{"type": "null"}, {"type": "object", "title": "orders.Value", "properties": {
                "a": own,
                "b": optional,
                "list": {"type": "array", "items": optional},
                "map": {"type": "object", "connect.type": "map", "additionalProperties": own},
                "pairs": {"type": "array", "connect.type": "map", "items": {"type": "object", "properties": {
                    "key": {"type": "integer"}, "value": own,
                }}},
                "ref": {"$ref": "#/definitions/Own"},
                "next": {"$ref": "#/properties/after"},
                "other": {"$ref": "other.json"},
                "part": {"$ref": "other.json#/definitions/Part"},
            }}]},
        }, "definitions": {"Own": {"$ref": "#/definitions/Same"}, "Same": own}});
        let other = json!({"properties": {"x": {"$ref": "#/definitions/Part"}}, "definitions": {"Part": own}});
        let plan = Plan::of_json_schema(&schema.to_string(), &[("other.json".to_owned(), other.to_string())]);
        let document = |value: &str| {
            let next = format!("{{\"a\":{value},\"next\":null}}");
            format!(
                "{{\"after\":{{\"a\":{value},\"b\":{value},\"list\":[{value},null],\"map\":{{\"k\":{value}}},\
                 \"pairs\":[{{\"key\":1,\"value\":{value}}}],\"ref\":{value},\"next\":{next},\
                 \"other\":{{\"x\":{value}}},\"part\":{value}}}}}"
            )
        };
        assert_eq!(pushed(&plan, &document(plain)), document(expected), "{} of {plain}", case.name);
    }
}

#[test]
fn schemas_that_contain_themselves_end() {
    for schema in
        [r##"{"$ref":"#"}"##, r##"{"properties":{"a":{"$ref":"#"}}}"##, r##"{"items":{"$ref":"#"}}"##, "7", "{"]
    {
        let plan = Plan::of_json_schema(schema, &[]);
        assert_eq!(pushed(&plan, r#"{"a":{"a":[7]}}"#), r#"{"a":{"a":[7]}}"#);
    }
    let of_itself = r##"{"properties":{"d":{"title":"io.debezium.time.Date"},"next":{"$ref":"#"}}}"##;
    let plan = Plan::of_json_schema(of_itself, &[]);
    let deep = |date: &str| format!("{}{{\"d\":{date}}}{}", "{\"next\":".repeat(100), "}".repeat(100));
    assert_eq!(pushed(&plan, &deep("20089")), deep("\"2025-01-01\""));
    let deeper = format!("{}7{}", "{\"next\":".repeat(100_000), "}".repeat(100_000));
    assert_eq!(pushed(&plan, &deeper), deeper);
}
