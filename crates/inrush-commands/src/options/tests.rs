use std::time::Duration;

use inrush_core::Encoding;
use serde_json::json;

use super::*;

#[test]
fn every_option_has_one_name_and_a_help_text() {
    let infos = LoadOptions::infos();
    for (at, info) in infos.iter().enumerate() {
        assert!(!info.help().is_empty(), "{}", info.name);
        assert!(infos[..at].iter().all(|other| other.name != info.name), "{} is defined twice", info.name);
        let has_value = matches!(info.kind, OptionKind::One | OptionKind::List);
        assert_eq!(has_value, !info.value_name.is_empty(), "{}", info.name);
        for other in info.conflicts {
            assert!(LoadOptions::info(other).is_some(), "{} excludes {other}, which is none", info.name);
        }
    }
    for name in CHOICES.into_iter().flatten() {
        assert!(LoadOptions::info(name).is_some(), "{name}");
    }
}

/// All outputs of a job file read the same sources, so one of them has no options of its own for
/// them.
#[test]
fn options_of_kinds_are_for_all_outputs() {
    let of_query = QueryOptions::infos();
    for info in LoadOptions::infos_of_kinds() {
        let is_of_query = of_query.iter().any(|other| other.name == info.name);
        assert!(is_of_query || info.outputs == Outputs::All, "{}", info.name);
    }
}

#[test]
fn options_are_text_and_values() {
    let mut options = LoadOptions::default();
    options.give("batch_bytes", json!(1024)).unwrap();
    options.give("drop", "a,b").unwrap();
    options.give("to", json!(["http://a,http://b", "http://c"])).unwrap();
    options.give("columns", json!("x")).unwrap();
    options.give("recreate", json!(true)).unwrap();
    assert_eq!(options.sizes.batch_bytes.map(ByteSize::bytes), Some(1024));
    assert_eq!(options.shape.drop.len(), 2);
    assert_eq!(options.target.to, ["http://a", "http://b", "http://c"]);
    let given: Vec<&str> = options.given().map(|info| info.name).collect();
    assert_eq!(given, ["columns", "drop", "to", "recreate", "batch_bytes"]);
    options.give("batch_bytes", json!(null)).unwrap();
    assert_eq!(options.sizes.batch_bytes, None);
    for (name, value, expected) in [
        ("batch_bytes", json!("lots"), "option `batch_bytes`: invalid value 'lots': expected a whole number"),
        ("no_verify", json!("yes"), "expected true or false, found a string"),
        ("batch_docs", json!(1.5), "found a number with a decimal point"),
        ("db_readers", json!(65), "from 1 to 64"),
        ("sources", json!({}), "expected a string or a whole number, found a table, or a list of them"),
        ("format", json!("klingon"), "expected ndjson, csv"),
        ("batch_byte", json!(1), "no option is called `batch_byte`"),
    ] {
        let error = options.give(name, value).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn what_is_given_above_decides() {
    let of = |options: &[(&str, serde_json::Value)]| {
        let mut all = LoadOptions::default();
        options.iter().for_each(|(name, value)| all.give(name, value.clone()).unwrap());
        all
    };
    let file =
        of(&[("index", json!("a")), ("user", json!("u")), ("password_file", json!("p")), ("drop", json!("x,y"))]);
    let all = of(&[("index", json!("b")), ("api_key_file", json!("k"))]).over(&file);
    assert_eq!(all.target.index.as_ref().map(IndexTemplate::as_str), Some("b"));
    assert_eq!((all.login.user, all.login.password_file), (None, None), "another way to log in replaces the whole");
    assert_eq!(all.shape.drop.len(), 2);
    let mapping = of(&[("mapping", json!({"dynamic": false})), ("mixed", json!("keep"))]);
    let all = of(&[("map", json!("auto"))]).over(&mapping);
    assert_eq!((all.target.mapping, all.target.mixed), (None, Some(Mixed::Keep)));
}

/// A default that is named in the help is the one that holds.
#[test]
fn defaults_are_those_of_the_engine() {
    let config = |options: LoadOptions| options.config(&Environment::empty()).unwrap();
    let mut base = LoadOptions::default();
    base.give("index", "i").unwrap();
    let mut explicit = base.clone();
    let mut named = 0;
    for info in LoadOptions::infos() {
        let Some(default) = info.default else { continue };
        // Words that are no value are for people.
        let is_value = (info.check)(default).is_ok()
            && !["id", "id_from", "field", "routing", "version", "pipeline"].contains(&info.name)
            && info.value.path.is_none()
            && info.value.python != "str"
            || !info.value.choices.is_empty();
        if is_value && explicit.clone().give(info.name, default).is_ok() {
            explicit.give(info.name, default).unwrap();
            named += 1;
        }
    }
    explicit.target.mixed = None;
    explicit.end.allow_shrink = None;
    explicit.end.old_writes = None;
    assert!(named >= 15, "{named}");
    let (base, mut explicit) = (config(base), config(explicit));
    // Nothing is tolerated by both. A limit that is given also holds for graphs of vectors.
    explicit.tolerate = None;
    explicit.finish.graph_timeout = None;
    assert_eq!(format!("{base:?}"), format!("{explicit:?}"));
}

use inrush_core::IndexTemplate;
use inrush_core::mapping::Mixed;

#[test]
fn setters_take_values_and_their_texts() {
    let options = |builder: LoaderBuilder| builder.into_parts().unwrap().0;
    let values = LoaderBuilder::default()
        .in_flight(8)
        .batch_bytes(4 << 20)
        .shards(3)
        .request_timeout(Duration::from_secs(90))
        .encoding(Encoding::Json)
        .state(Path::new("s").to_owned())
        .mapping(json!({"dynamic": false}))
        .query(json!({"match_all": {}}))
        .separator(";".to_owned());
    let mut texts = LoadOptions::default();
    for (name, value) in [
        ("in_flight", json!("8")),
        ("batch_bytes", json!("4MiB")),
        ("shards", json!("3")),
        ("request_timeout", json!("90s")),
        ("encoding", json!("json")),
        ("state", json!("s")),
        ("mapping", json!({"dynamic": false})),
        ("query", json!({"match_all": {}})),
        ("separator", json!(";")),
    ] {
        texts.give(name, value).unwrap();
    }
    assert_eq!(options(values), texts);
}

#[test]
fn a_setter_refuses_what_its_text_would_be_refused_for() {
    let refused = |builder: LoaderBuilder| {
        let error = builder.into_parts().map(|_| ()).unwrap_err();
        (error.option().unwrap(), error.to_string())
    };
    let builder = LoaderBuilder::default;
    assert_eq!(refused(builder().in_flight(0)).0, "in_flight");
    assert!(refused(builder().request_timeout(Duration::ZERO)).1.contains("longer than 0"));
    assert!(refused(builder().mapping(json!(1))).1.contains("a table or the name of a file"));
    assert!(refused(builder().batch_bytes(0)).1.contains("at least 1 byte"));
    // The first problem counts.
    assert_eq!(refused(builder().separator("xx").in_flight(0)).0, "separator");
}
