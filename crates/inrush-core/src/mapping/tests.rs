use serde_json::{Value, json};

use super::*;

fn advise(documents: &[Value]) -> Advice {
    let mut schema = Schema::default();
    for (row, document) in (1..).zip(documents) {
        schema.add(document.to_string().as_bytes(), RowPosition { source: 0, row }).unwrap();
    }
    schema.advise(&[])
}

/// The mapping of a field `f` with these values.
fn of(values: &[Value]) -> (Value, Vec<Note>) {
    let advice = advise(&values.iter().map(|value| json!({ "f": value })).collect::<Vec<_>>());
    (advice.mapping["properties"]["f"].clone(), advice.notes)
}

fn of_strings(values: &[&str]) -> (Value, Vec<Note>) {
    of(&values.iter().map(|value| json!(value)).collect::<Vec<_>>())
}

const KEYWORD: &str = r#"{"type":"keyword","ignore_above":8191}"#;

fn keyword() -> Value {
    serde_json::from_str(KEYWORD).unwrap()
}

#[test]
fn numbers_follow_their_range_and_leave_room_to_grow() {
    for (values, expected) in [
        (vec![json!(1), json!(-5)], "integer"),
        (vec![json!(1 << 30)], "integer"),
        (vec![json!((1 << 30) + 1)], "long"),
        (vec![json!(1), json!(i64::MIN)], "long"),
        (vec![json!(1), json!(1.5)], "double"),
        (vec![json!(1), json!("2")], "integer"),
        (vec![json!(1), json!("5000000000")], "long"),
        (vec![json!(1), json!("2.5")], "double"),
        // Servers accept an empty string as a missing number.
        (vec![json!(1), json!("")], "integer"),
        (vec![json!([1, 2]), json!(3)], "integer"),
        (vec![json!(true), json!(null)], "boolean"),
        (vec![json!(true), json!("false")], "boolean"),
    ] {
        let (property, notes) = of(&values);
        assert_eq!(property, json!({ "type": expected }), "{values:?}");
        assert_eq!(notes, [], "{values:?}");
    }
    let (property, notes) = of(&[json!(u64::MAX)]);
    assert_eq!((property, notes[0].kind), (keyword(), NoteKind::Choice));
    let (property, notes) = of(&[json!(-((1_i64 << 53) + 1)), json!(1.5)]);
    assert_eq!((property, notes[0].kind), (json!({ "type": "double" }), NoteKind::Choice));
    assert!(notes[0].text.contains("9007199254740993"), "{}", notes[0].text);
}

#[test]
fn whole_numbers_beyond_a_long_can_be_unsigned() {
    let big = u64::MAX;
    let mut advice = advise(&[
        json!({"a": big, "o": {"b.c": [1, big]}, "signed": -1, "mixed": big, "text": big, "small": 1}),
        json!({"a": 0, "o": {"b.c": 2}, "signed": big, "mixed": 0.5, "text": "x", "small": 2}),
    ]);
    assert_eq!(advice.unsigned, [vec!["a".to_owned()], vec!["o".to_owned(), "b.c".to_owned()]]);
    let properties = |mapping: &Value| mapping["properties"].clone();
    let before = properties(&advice.mapping);
    assert_eq!(
        (&before["a"], &before["o"]["properties"]["b.c"], &before["signed"]),
        (&keyword(), &keyword(), &keyword())
    );
    map_unsigned(&mut advice.mapping, &advice.unsigned);
    let (after, unsigned) = (properties(&advice.mapping), json!({"type": "unsigned_long"}));
    assert_eq!((&after["a"], &after["o"]["properties"]["b.c"], &after["signed"]), (&unsigned, &unsigned, &keyword()));
}

#[test]
fn strings_have_the_type_that_all_of_them_allow() {
    let date = |format: &str| json!({ "type": "date", "format": format });
    for (values, expected) in [
        (vec!["2024-01-31", "2024-01-31T10:00:00Z"], json!({ "type": "date" })),
        (vec!["2024/01/31"], date("yyyy/MM/dd")),
        (vec!["01/02/2024", "31/01/2024"], date("dd/MM/yyyy")),
        (vec!["01/02/2024", "01/31/2024"], date("MM/dd/yyyy")),
        (vec!["10.0.0.1", "::1"], json!({ "type": "ip" })),
        (vec!["48.85,2.35"], json!({ "type": "geo_point" })),
        (vec!["true", "false"], json!({ "type": "boolean" })),
        // A number written as a string is a name.
        (vec!["1", "2"], keyword()),
        (vec!["a/b/c", "id-7"], keyword()),
        (vec![""], keyword()),
    ] {
        let (property, notes) = of_strings(&values);
        assert_eq!(property, expected, "{values:?}");
        assert_eq!(notes, [], "{values:?}");
    }
    let (property, _) = of_strings(&["2024-01-31 10:00:00", "2024-01-31"]);
    assert!(property["format"].as_str().unwrap().contains("yyyy-MM-dd HH:mm:ss"), "{property}");
    assert!(!property["format"].as_str().unwrap().contains(','), "{property}");
    for commas in [
        &["2015-06-01 15:56:39,213"][..],
        &["2015-06-01 15:56:39,213456", "2015-06-01"],
        &["2015-06-01 15:56:39,213", "2015-06-01 15:56:39"],
    ] {
        let (property, _) = of_strings(commas);
        assert!(property["format"].as_str().unwrap().contains("||yyyy-MM-dd HH:mm:ss,SSS||"), "{property}");
    }
}

#[test]
fn categories_are_keywords_and_sentences_text() {
    let (property, _) = of_strings(&["on paper, unique", "on paper, unique", "on paper, unique", "on paper, unique"]);
    assert_eq!(property, keyword());
    let (property, _) = of_strings(&["A Figure Bowing before a Seated Old Man", "Two Drawings of Frightened Figures"]);
    assert_eq!((&property["type"], &property["fields"]["keyword"]["ignore_above"]), (&json!("text"), &json!(256)));
    let (property, _) = of_strings(&["word ".repeat(1000).as_str()]);
    assert_eq!(property, json!({ "type": "text" }));
}

#[test]
fn notes_on_contradictions_contain_rows() {
    let (property, notes) = of(&[json!(1884), json!("about 1884"), json!(1890)]);
    assert_eq!(property, keyword());
    assert_eq!(
        notes,
        [Note {
            field: "f".into(),
            kind: NoteKind::Conflict,
            text: "is a whole number 2 times (first in row 1, last in row 3), a string once (row 2): mapped as keyword, which accepts all of them but sorts and compares them as text; option `mixed=ignore` keeps a numeric type if most values are numbers".into(),
        }]
    );
    let (property, notes) = of(&[json!({"a": 1}), json!({"a": 2}), json!("none")]);
    assert_eq!(property, json!({ "properties": { "a": { "type": "integer" } } }));
    assert!(notes[0].text.contains("a string once (row 3)") && notes[0].text.contains("refuse documents"), "{notes:?}");
    let (property, _) = of(&[json!("none"), json!("none"), json!({"a": 1})]);
    assert_eq!(property, keyword());
    let mut dates = vec!["2024-01-31"; 20];
    dates.push("soon");
    let (property, notes) = of_strings(&dates);
    assert_eq!((property, notes.len()), (keyword(), 1));
    assert!(notes[0].text.contains("20 of 21 documents, but not in row 21"), "{notes:?}");
}

#[test]
fn empty_strings_do_not_spoil_a_date() {
    let (property, notes) = of_strings(&["2024-01-31", ""]);
    assert_eq!(property, json!({ "type": "date", "ignore_malformed": true }));
    assert!(notes[0].text.contains("row 2"), "{notes:?}");
}

#[test]
fn ambiguous_dates_are_noted() {
    let (property, notes) = of_strings(&["01/02/2024", "03/04/2024"]);
    assert_eq!(property["format"], "dd/MM/yyyy");
    assert_eq!(notes.len(), 1, "{notes:?}");
    let (property, _) = of_strings(&["13/01/2024", "01/13/2024"]);
    assert_eq!(property, keyword());
}

#[test]
fn objects_become_properties_and_points_are_recognised() {
    let advice = advise(&[
        json!({ "position": { "lat": 43.3, "lon": -1.7 }, "o": {}, "n": null, "e": [], "w": [{ "x": 1, "y": "a" }] }),
    ]);
    assert_eq!(
        advice.mapping,
        json!({ "properties": {
            "o": { "type": "object" },
            "position": { "type": "geo_point" },
            "w": { "properties": { "x": { "type": "integer" }, "y": keyword() } },
        } })
    );
    let fields: Vec<&str> = advice.notes.iter().map(|note| note.field.as_str()).collect();
    assert_eq!(fields, ["", "e", "n"], "{:?}", advice.notes);
    assert!(advice.notes[0].text.starts_with("arrays of objects (w)"), "{:?}", advice.notes);
    let (property, _) = of(&[json!({ "lat": 43.3, "lon": -1.7 }), json!({ "lat": null, "lon": -1.7 })]);
    assert_eq!(property["properties"]["lat"]["type"], "double");
    let (property, _) = of(&[json!({ "lat": 143.3, "lon": -1.7 })]);
    assert_eq!(property["properties"]["lat"]["type"], "double");
}

#[test]
fn invalid_documents_are_errors_and_not_counted() {
    let mut schema = Schema::default();
    for bad in ["1", "[]", "{", "{} x", "{\"a\":01}", ""] {
        assert!(schema.add(bad.as_bytes(), RowPosition::default()).is_err(), "{bad}");
    }
    assert_eq!(schema.docs(), 0);
}

#[test]
fn memory_is_bounded_by_fields_and_depth() {
    let mut schema = Schema::default();
    for row in 0..=FIELDS_MAX as u64 {
        schema.add(format!("{{\"f{row}\":1}}").as_bytes(), RowPosition { source: 0, row }).unwrap();
    }
    let deep = "{\"a\":".repeat(30) + "1" + &"}".repeat(30);
    schema.add(deep.as_bytes(), RowPosition::default()).unwrap();
    let advice = schema.advise(&[]);
    assert_eq!(advice.mapping["properties"].as_object().unwrap().len(), FIELDS_MAX);
    assert!(advice.notes.iter().any(|note| note.field.is_empty() && note.text.contains("10000 different fields")));
    let mut schema = Schema::default();
    schema.add(deep.as_bytes(), RowPosition::default()).unwrap();
    assert!(schema.advise(&[]).notes.iter().any(|note| note.text.contains("20 levels")));
}

#[test]
fn several_sources_are_named() {
    let mut schema = Schema::default();
    schema.add(b"{\"f\":1}", RowPosition { source: 0, row: 1 }).unwrap();
    schema.add(b"{\"f\":\"x\"}", RowPosition { source: 1, row: 9 }).unwrap();
    let notes = schema.advise(&["a.ndjson".into(), "b.ndjson".into()]).notes;
    assert!(notes[0].text.contains("a.ndjson row 1") && notes[0].text.contains("b.ndjson row 9"), "{notes:?}");
}

#[test]
fn a_million_levels_are_an_error_or_left_alone() {
    let mut schema = Schema::default();
    let position = RowPosition { source: 0, row: 1 };
    let deep = |open: &str, close: &str| format!("{{\"v\":{}1{}}}", open.repeat(1_000_000), close.repeat(1_000_000));
    for document in [deep("[", "]"), deep("{\"v\":", "}"), deep("[{\"v\":", "}]")] {
        // Arrays count as levels only while they are parsed.
        let _ = schema.add(document.as_bytes(), position);
    }
    assert!(schema.add(b"{\"a\":1}", position).is_ok());
}

#[test]
fn fields_of_several_kinds_can_be_kept_or_ignored() {
    let documents =
        [json!({"o": {"a": 1}, "n": 1, "d": "2024-01-31"}), json!({"o": "none", "n": 2, "d": "2024-01-31"})];
    let mut rows: Vec<Value> = (0..20).map(|at| documents[at % 2].clone()).collect();
    rows.push(json!({"o": 1, "n": "about 3", "d": "soon"}));
    let mut schema = Schema::default();
    for (row, document) in (1..).zip(&rows) {
        schema.add(document.to_string().as_bytes(), RowPosition { source: 0, row }).unwrap();
    }
    let of = |mixed| schema.advise_mixed(&[], mixed).mapping["properties"].clone();
    let kept = json!({ "type": "object", "enabled": false });
    let (keep, ignore) = (of(Mixed::Keep), of(Mixed::Ignore));
    assert_eq!((&keep["o"], &keep["n"], &keep["d"]["type"]), (&kept, &keyword(), &json!("keyword")));
    assert_eq!(ignore["o"], kept);
    assert_eq!(ignore["n"], json!({ "type": "integer", "ignore_malformed": true }));
    assert_eq!(ignore["d"], json!({ "type": "date", "ignore_malformed": true }));
    let notes = schema.advise_mixed(&[], Mixed::Widen).notes;
    assert!(notes.iter().any(|note| note.field == "o" && note.text.contains("option `mixed=keep`")), "{notes:?}");
}

#[test]
fn a_value_that_another_name_makes_an_object_is_named_with_its_cure() {
    let clashes = |document: Value| advise(&[document]).clashes;
    let found = clashes(json!({"a": "x", "a.b": 1}));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a is a value, and a.b makes it an object"), "{found:?}");
    assert!(found[0].contains("option `rename=a.b=a_b`"), "{found:?}");
    assert!(clashes(json!({"o": {"a": 1, "a.b.c": 2}}))[0].starts_with("o.a is a value, and o.a.b.c makes"));
    assert!(clashes(json!({"a": {"b": 1}, "a.b.c": 2}))[0].starts_with("a.b is a value, and a.b.c makes"));
    assert!(clashes(json!({"a.b": [true], "a.b.c": 2}))[0].starts_with("a.b is a value"));
    for fine in
        [json!({"a": {"c": 1}, "a.b": 2}), json!({"a": null, "a.b": 2}), json!({"ab": 1, "a.b": 2}), json!({"a.": 1})]
    {
        assert_eq!(clashes(fine), Vec::<String>::new());
    }
    let both = advise(&[json!({"a": 1}), json!({"a.b": 1})]);
    assert_eq!((both.clashes.len(), both.notes[0].kind, both.notes[0].field.as_str()), (1, NoteKind::Conflict, "a"));
}

#[test]
fn german_dates_and_decimal_commas_have_the_option_that_reads_them() {
    let (property, notes) = of_strings(&["31.12.2025", "01.01.2026 13:55"]);
    assert_eq!(property["format"], "dd.MM.yyyy||dd.MM.yyyy HH:mm||dd.MM.yyyy HH:mm:ss");
    assert!(notes[0].kind == NoteKind::Reading && notes[0].text.contains("option `schema=f:timestamp`"), "{notes:?}");
    let (property, notes) = of_strings(&["1,5", "-1.234,56", "7"]);
    assert_eq!(property, keyword());
    let text = &notes[0].text;
    assert!(notes.len() == 1 && text.contains("option `decimal=,`") && text.contains("`schema=f:decimal-comma`"));
    let (_, notes) = of_strings(&["1,234", "7", "2,50"]);
    assert!(notes.len() == 1 && notes[0].text.contains("option `decimal=,`"), "{notes:?}");
    for others in [&["1,5", "x"][..], &["7", "8"], &["31.12.2025", "1,5"], &["1,234", "2,500", "7"]] {
        let (property, notes) = of_strings(others);
        assert_eq!((property, notes), (keyword(), Vec::new()), "{others:?}");
    }
}

#[test]
fn a_list_of_equal_length_in_every_document_is_a_vector() {
    let vectors = |documents: &[Value]| {
        let vectors = advise(documents).vectors;
        vectors.into_iter().map(|vector| (vector.path(), vector.dims, vector.squares)).collect::<Vec<_>>()
    };
    let list = |len: usize, value: f64| vec![value; len];
    let found = vectors(&[json!({"v": list(64, 0.125)}), json!({"v": list(64, 0.25)})]);
    assert_eq!(found, [("v".to_owned(), 64, (1.0, 4.0))]);
    assert_eq!(vectors(&[json!({"o": {"v": list(32, 0.5)}})]), [("o.v".to_owned(), 32, (8.0, 8.0))]);
    assert_eq!(vectors(&[json!({"v": list(4096, 0.0)})]), [("v".to_owned(), 4096, (0.0, 0.0))]);
    // One element is a whole number.
    let mut with_whole = json!({"v": list(32, 0.5)});
    with_whole["v"][3] = json!(1);
    assert_eq!(vectors(&[with_whole]).len(), 1);
    let mut other = vec![json!(0.5); 32];
    let with = |value: Value| {
        other[7] = value;
        json!({"v": other.clone()})
    };
    let odd: Vec<Value> = [json!(null), json!("0.5"), json!(true), json!({"a": 1}), json!([0.5])].map(with).into();
    for last in odd.into_iter().chain([
        json!({"v": list(33, 0.5)}),
        json!({"v": []}),
        json!({"v": null}),
        json!({"v": 0.5}),
        json!({"w": 1}),
        json!({"v": [list(32, 0.5)]}),
        json!({"v": list(16, 0.5).iter().map(|value| json!([value, value])).collect::<Vec<_>>()}),
    ]) {
        assert_eq!(vectors(&[json!({"v": list(32, 0.5)}), last.clone()]), [], "{last}");
    }
    for none in [
        json!({"v": list(31, 0.5)}),
        json!({"v": list(4097, 0.5)}),
        json!({"v": vec![7; 64]}),
        json!({"o": [{"v": list(32, 0.5)}]}),
        json!({}),
    ] {
        assert_eq!(vectors(std::slice::from_ref(&none)), [], "{none}");
    }
    // The mapping stays one that every server takes.
    let advice = advise(&[json!({"v": list(64, 0.5)})]);
    assert_eq!(advice.mapping, json!({"properties": {"v": {"type": "double"}}}));
}
