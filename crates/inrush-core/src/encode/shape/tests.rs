use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn shaping(options: &[(&str, &str)]) -> Shaping {
    let mut shaping = Shaping::default();
    for (name, value) in options {
        match *name {
            "timestamp" => shaping.timestamp = Some(value.parse().unwrap()),
            "time_zone" => shaping.time_zone = Some(value.parse().unwrap()),
            "rename" => shaping.rename.push(value.parse().unwrap()),
            "only" => shaping.only.push(value.parse().unwrap()),
            _ => shaping.drop.push(value.parse().unwrap()),
        }
    }
    shaping
}

fn shaped(document: &str, options: &[(&str, &str)]) -> (Result<String, Refusal>, Vec<String>) {
    let shape = Shape::new(&shaping(options));
    let mut buffer = Vec::new();
    let found = shape.of(document.as_bytes(), &mut buffer).map(|text| String::from_utf8(text.to_vec()).unwrap());
    (found, shape.never_met().into_iter().map(str::to_owned).collect())
}

fn check(document: &str, options: &[(&str, &str)], expected: &str) {
    let (found, never_met) = shaped(document, options);
    assert_eq!(found.as_deref(), Ok(expected), "{document} {options:?}");
    assert!(never_met.is_empty(), "{never_met:?}");
}

fn left(document: &str, paths: &[&str]) -> (Result<String, Refusal>, usize) {
    let options: Vec<_> = paths.iter().map(|path| ("drop", *path)).collect();
    let (found, never_met) = shaped(document, &options);
    (found, never_met.len())
}

#[test]
fn documents_stay_as_they_are_without_options() {
    assert_eq!(shaped(" {\"a\" : 1} ", &[]).0.unwrap(), " {\"a\" : 1} ");
    assert_eq!(shaped("what", &[]).0.unwrap(), "what");
}

#[test]
fn fields_are_left_out_at_any_depth() {
    let document = r#" {"id":1,"a":{"b":2,"c":[3, 4]},"x":5,"x.y":6,"z\"":1.50} "#;
    let (found, never_met) = left(document, &["id", "a.b", "x.y"]);
    assert_eq!((found.unwrap().as_str(), never_met), (r#"{"a":{"c":[3, 4]},"x":5,"z\"":1.50}"#, 0));
    assert!(left("[1]", &["a"]).0.is_err());
    let (found, never_met) = left(r#"{"Order No.":1,".a":2,"b":{"No.":3,"c":4}}"#, &["Order No.", ".a", "b.No."]);
    assert_eq!((found.unwrap().as_str(), never_met), (r#"{"b":{"c":4}}"#, 0));
}

#[test]
fn fields_of_objects_in_arrays_are_left_out() {
    let (found, never_met) = left(
        r#"{"users":[{"name":"a","password":"p1"},7,[{"password":"p2"},[]],{"password":{"x":1}, "n":2}],"none":[]}"#,
        &["users.password", "users.nickname", "none.x"],
    );
    assert_eq!(found.unwrap(), r#"{"users":[{"name":"a"},7,[{},[]],{"n":2}],"none":[]}"#);
    assert_eq!(never_met, 2);
    let found = left(r#"{"a.b":{"c":1,"d":[{"e":2}]},"ab":3,"a":{"b.c":4,"b":{"c":5}}}"#, &["a.b.c", "a.b.d.e"]).0;
    assert_eq!(found.unwrap(), r#"{"a.b":{"d":[{}]},"ab":3,"a":{"b":{}}}"#);
}

#[test]
fn text_after_the_object_is_an_error() {
    for document in [r#"{"a":1} {"a":2}"#, r#"{"a":1}{"#, "{} // x", r#"{"a":1}}"#, r#"{"x":1} null"#] {
        let (code, reason) = left(document, &["x"]).0.unwrap_err();
        assert!(code == Code::InvalidJson && reason.contains("after the object"), "{document}");
    }
}

#[test]
fn a_field_gets_another_name_where_it_is() {
    check(r#"{"a":1,"b":[1, 2]}"#, &[("rename", "a=x y")], r#"{"x y":1,"b":[1, 2]}"#);
    check(r#"{"a":1,"a.b":2}"#, &[("rename", "a=a.name")], r#"{"a.name":1,"a.b":2}"#);
    check(r#"{"a":1,"b":2}"#, &[("rename", "a=b"), ("rename", "b=a")], r#"{"b":1,"a":2}"#);
    check(r#"{"u":{"n":{"x":1}}}"#, &[("rename", "u.n=u.name")], r#"{"u":{"name":{"x":1}}}"#);
    check(r#"{"u.n":1}"#, &[("rename", "u.n=u.name")], r#"{"u.name":1}"#);
    check(r#"{"u":[{"n":1},{"n":2}]}"#, &[("rename", "u.n=u.a.b")], r#"{"u":[{"a.b":1},{"a.b":2}]}"#);
    check(r#"{"u":[{"n":1,"k":2}]}"#, &[("rename", "u=v"), ("drop", "u.n")], r#"{"v":[{"k":2}]}"#);
}

#[test]
fn a_field_moves_out_of_its_object_and_into_another() {
    check(r#"{"u":{"n":1,"m":2},"z":3}"#, &[("rename", "u.n=n")], r#"{"u":{"m":2},"z":3,"n":1}"#);
    check(r#"{"u":{"n":{"x":1,"y":2}}}"#, &[("rename", "u.n=o.p"), ("drop", "u.n.x")], r#"{"u":{},"o.p":{"y":2}}"#);
    for (document, option) in [
        (r#"{"u":[{"n":1},{"n":2}]}"#, ("rename", "u.n=n")),
        (r#"{"u":{"n":[[{"n":1}]]}}"#, ("rename", "u.n.n=u.m")),
        (r#"{"u":[{"n":1764334536}]}"#, ("timestamp", "u.n")),
    ] {
        let (code, reason) = shaped(document, &[option]).0.unwrap_err();
        assert!(
            code == Code::BadField && reason.contains("is in objects of an array; expected one value"),
            "two values cannot become one: {reason}"
        );
    }
    check(r#"{"u":[{"m":1}],"n":2}"#, &[("rename", "n=o.n")], r#"{"u":[{"m":1}],"o.n":2}"#);
}

#[test]
fn two_fields_cannot_have_one_name_in_a_document() {
    for (document, options) in [
        (r#"{"a":1,"b":2}"#, [("rename", "a=b"), ("drop", "c")]),
        (r#"{"b":1,"a":2}"#, [("rename", "a=b"), ("drop", "c")]),
        (r#"{"u":{"a":1,"b":2}}"#, [("rename", "u.a=u.b"), ("drop", "c")]),
        (r#"{"u":{"a":1},"b":2}"#, [("rename", "u.a=b"), ("drop", "c")]),
        (r#"{"a":1,"c":2}"#, [("rename", "a=b"), ("rename", "c=b")]),
        (r#"{"a":1764334536,"@timestamp":2}"#, [("timestamp", "a"), ("drop", "c")]),
        // Servers read a name with dots as that of a field in an object.
        (r#"{"a":1,"u":{"n":"Ada"}}"#, [("rename", "a=u.n"), ("drop", "c")]),
        (r#"{"u":{"n":"Ada"},"a":1}"#, [("rename", "a=u.n"), ("drop", "c")]),
        (r#"{"a":1,"u":[{"m":2},{"n":"Ada"}]}"#, [("rename", "a=u.n"), ("drop", "c")]),
        (r#"{"a":1,"u":{"m":"Ada"}}"#, [("rename", "a=u.n"), ("rename", "u.m=u.n")]),
        (r#"{"u":{"a":1},"u.b":2}"#, [("rename", "u.a=u.b"), ("drop", "c")]),
        (r#"{"v":{"a":1},"o":{"p":2}}"#, [("rename", "v.a=o.p"), ("drop", "c")]),
        (r#"{"u":[{"a":1,"b":{"c":2}}]}"#, [("rename", "u.a=u.b.c"), ("drop", "c")]),
    ] {
        let (code, reason) = shaped(document, &options).0.unwrap_err();
        assert!(
            code == Code::BadField && reason.contains("already; leave that one out with option `drop="),
            "{reason}"
        );
    }
    check(r#"{"a":1,"b":2}"#, &[("rename", "a=b"), ("drop", "b")], r#"{"b":1}"#);
    check(r#"{"a":1,"b":2}"#, &[("rename", "a=c"), ("rename", "b=a")], r#"{"c":1,"a":2}"#);
    check(r#"{"a":1,"u":{"n":2}}"#, &[("rename", "a=u.n"), ("drop", "u.n")], r#"{"u.n":1,"u":{}}"#);
    check(r#"{"a":1,"u":{"n":2}}"#, &[("rename", "a=u.n"), ("rename", "u.n=u.m")], r#"{"u.n":1,"u":{"m":2}}"#);
    check(r#"{"a":1,"u":{"m":2}}"#, &[("rename", "a=u.n")], r#"{"u.n":1,"u":{"m":2}}"#);
}

#[test]
fn only_named_fields_stay() {
    let document = r#"{"a":1,"b":{"c":2,"d":3},"e":[{"f":4,"g":5},6],"h":7}"#;
    check(document, &[("only", "a"), ("only", "b.c")], r#"{"a":1,"b":{"c":2}}"#);
    check(document, &[("only", "b"), ("drop", "b.d")], r#"{"b":{"c":2}}"#);
    check(document, &[("only", "e.g")], r#"{"e":[{"g":5}]}"#);
    let (found, never_met) = shaped(document, &[("only", "a.x"), ("only", "h"), ("only", "b.z")]);
    assert_eq!((found.unwrap().as_str(), never_met.join(" ").as_str()), (r#"{"h":7}"#, "only=a.x only=b.z"));
    // A field is kept by its old name, by its new one, and if it is only renamed.
    for only in ["h", "x", "a"] {
        check(document, &[("rename", "h=x"), ("only", only), ("only", "a")], r#"{"a":1,"x":7}"#);
    }
    check(document, &[("rename", "b.c=c"), ("only", "a")], r#"{"a":1,"c":2}"#);
}

#[test]
fn a_document_that_was_changed_already_stays_as_it_is() {
    let options = [("timestamp", "ts"), ("rename", "a=b"), ("only", "c"), ("drop", "d")];
    let once = shaped(r#"{"ts":1764334536,"a":1,"c":2,"d":3,"e":4}"#, &options).0.unwrap();
    assert_eq!(once, r#"{"@timestamp":"2025-11-28T12:55:36Z","b":1,"c":2}"#);
    let (twice, never_met) = shaped(&once, &options);
    assert_eq!((twice.unwrap(), never_met), (once, vec!["drop=d".to_owned()]));
}

#[test]
fn the_time_is_one_that_servers_read() {
    let time = [("timestamp", "ts")];
    for (value, expected) in [
        ("\"28/Nov/2025:13:55:36 +0100\"", "\"2025-11-28T13:55:36+01:00\""),
        ("1764334536", "\"2025-11-28T12:55:36Z\""),
        ("1764334536.5", "\"2025-11-28T12:55:36.500Z\""),
        ("\"2025-11-28 13:55:36,123\"", "\"2025-11-28T13:55:36.123\""),
        ("\"2025\\u002d11-28\"", "\"2025-11-28\""),
        ("null", "null"),
        ("[1]", "[1]"),
    ] {
        check(&format!("{{\"ts\":{value},\"n\":1}}"), &time, &format!("{{\"@timestamp\":{expected},\"n\":1}}"));
    }
    check(
        r#"{"event":{"at":1764334536000,"n":1}}"#,
        &[("timestamp", "event.at")],
        r#"{"event":{"n":1},"@timestamp":"2025-11-28T12:55:36Z"}"#,
    );
    check(r#"{"@timestamp":1764334536}"#, &[("timestamp", "@timestamp")], r#"{"@timestamp":"2025-11-28T12:55:36Z"}"#);
    for value in ["\"soon\"", "\"3/4/2026\"", "5", "-1", "1e3"] {
        let (code, reason) = shaped(&format!("{{\"ts\":{value}}}"), &time).0.unwrap_err();
        assert!(code == Code::BadDate && reason.starts_with("field `ts` (the time) is \""), "{reason}");
    }
}

/// The same change of a parsed document, for names without dots.
fn by_hand(document: &Map<String, Value>, rename: (&str, &str), only: &[&str], drop: &str) -> Option<Value> {
    let mut out = Map::new();
    for (key, value) in document {
        let is_kept = only.is_empty() || only.contains(&key.as_str()) || [rename.0, rename.1].contains(&key.as_str());
        if key == drop || !is_kept {
            continue;
        }
        let name = if key == rename.0 { rename.1 } else { key };
        if out.insert(name.to_owned(), value.clone()).is_some() {
            return None;
        }
    }
    Some(out.into())
}

proptest! {
    #[test]
    fn any_document_is_changed_as_its_values_are(
        keys in proptest::collection::btree_set("[a-e]", 0..5),
        from in "[a-e]", to in "[a-e]", drop in "[a-e]",
        only in proptest::collection::vec("[a-e]", 0..3),
        text in "\\PC{0,8}",
    ) {
        prop_assume!(from != to);
        let document: Map<String, Value> = keys.iter().map(|key| (key.clone(), json!({"t": text, "n": [1, null]}))).collect();
        let rename = format!("{from}={to}");
        let mut options = vec![("rename", rename.as_str()), ("drop", drop.as_str())];
        options.extend(only.iter().map(|name| ("only", name.as_str())));
        let found = shaped(&Value::from(document.clone()).to_string(), &options).0.ok();
        let found: Option<Value> = found.map(|text| serde_json::from_str(&text).unwrap());
        let only: Vec<&str> = only.iter().map(String::as_str).collect();
        prop_assert_eq!(found, by_hand(&document, (&from, &to), &only, &drop));
    }
}

#[test]
fn a_time_without_a_zone_gets_the_offset_of_the_zone_that_is_given() {
    for (zone, text, expected) in [
        ("Europe/Paris", "\"2025-07-01 12:00:00\"", "2025-07-01T12:00:00+02:00"),
        ("Europe/Paris", "\"2025-12-01T12:00:00,5\"", "2025-12-01T12:00:00.500+01:00"),
        ("+05:30", "\"28.11.2025 13:55\"", "2025-11-28T13:55:00+05:30"),
        ("UTC", "\"28.11.2025 13:55\"", "2025-11-28T13:55:00Z"),
        ("Europe/Paris", "\"2025-07-01\"", "2025-07-01T00:00:00+02:00"),
        // They say their zone.
        ("Europe/Paris", "\"2025-07-01T12:00:00Z\"", "2025-07-01T12:00:00Z"),
        ("Europe/Paris", "\"28/Nov/2025:13:55:36 -0500\"", "2025-11-28T13:55:36-05:00"),
        ("Europe/Paris", "1764334536", "2025-11-28T12:55:36Z"),
    ] {
        let options = [("timestamp", "t"), ("time_zone", zone)];
        check(&format!("{{\"t\":{text}}}"), &options, &format!("{{\"@timestamp\":\"{expected}\"}}"));
    }
    let options = [("timestamp", "t"), ("time_zone", "Europe/Paris")];
    let (code, reason) = shaped(r#"{"t":"2025-03-30 02:30:00"}"#, &options).0.unwrap_err();
    assert_eq!(code, Code::BadDate);
    assert!(reason.contains("which Europe/Paris does not have") && reason.contains("option `time_zone`"), "{reason}");
}
