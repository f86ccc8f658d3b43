//! Checks of the combination of options.

use inrush_core::{Action, Shaping};

use crate::options::{LoadOptions, OptionError, OptionErrorKind, ReadingOptions};
use inrush_load::config::LoadConfig;
use inrush_sources::Format;

/// All checks of a configuration that need no source.
/// `has_ids`: whether the documents of the source have ids.
pub(super) fn of_options(options: &LoadOptions, has_ids: bool, config: &LoadConfig) -> Result<(), OptionError> {
    let target = &options.target;
    if target.recreate && config.index.fixed().is_none() {
        return Err(OptionError::conflict("option `recreate` needs one index, but option `index` has placeholders")
            .of("recreate")
            .hint("delete the indices yourself"));
    }
    of_ids(options, has_ids, config)?;
    of_extended_json(options)?;
    of_renames(&config.shaping)?;
    if target.mixed.is_some() && target.map.is_none() {
        let message = "option `mixed` needs option `map=auto`";
        return Err(OptionError::conflict(message)
            .of("mixed")
            .hint("add option `map=auto`, or leave option `mixed` out"));
    }
    config.check()
}

/// Refuses options that dead letters do not need: they have their ids and actions.
fn of_ids(options: &LoadOptions, has_ids: bool, config: &LoadConfig) -> Result<(), OptionError> {
    let action = match config.action {
        Action::Update => "update",
        Action::Upsert => "upsert",
        Action::Delete => "delete",
        Action::Index | Action::Create => return Ok(()),
    };
    if options.source.from_dead_letters.is_some() {
        let message = format!("option `action={action}` does not work with option `from_dead_letters`");
        return Err(OptionError::conflict(message)
            .of("action")
            .hint("leave it out: each dead letter has its own action and id"));
    }
    // Hits of a search and documents of MongoDB have ids.
    let ReadingOptions { format, extended_json, .. } = &options.reading;
    let has_ids = has_ids || *extended_json || *format == Some(Format::Hits);
    if options.target.id.is_none() && !has_ids {
        let message = format!("option `action={action}` needs the ids of the documents");
        return Err(OptionError::new(OptionErrorKind::Missing, message)
            .of("id")
            .hint("name the field that holds them with option `id=FIELD`"));
    }
    Ok(())
}

/// Refuses other ids for documents of MongoDB, whose `_id` is their id.
fn of_extended_json(options: &LoadOptions) -> Result<(), OptionError> {
    let target = &options.target;
    let given = [(target.id.is_some(), "id"), (target.id_from.is_some(), "id_from")];
    match given.into_iter().find(|(is_given, _)| *is_given && options.reading.extended_json) {
        None => Ok(()),
        Some((_, name)) => {
            let message =
                format!("option `{name}` does not work with option `extended_json`, whose documents have the id `_id`");
            Err(OptionError::conflict(message).of(name).hint(format!(
                "leave option `{name}` out, or leave option `extended_json` out and drop the field with option `drop=_id`"
            )))
        }
    }
}

/// Refuses two names for one field.
fn of_renames(shaping: &Shaping) -> Result<(), OptionError> {
    let time = shaping.timestamp.iter().map(|field| (field, format!("option `timestamp={field}`")));
    let named = shaping.rename.iter().map(|rename| (&rename.from, format!("option `rename={rename}`")));
    let all: Vec<_> = time.chain(named).collect();
    for (at, (field, option)) in all.iter().enumerate() {
        if let Some((_, earlier)) = all[..at].iter().find(|(other, _)| other == field) {
            let message = format!("{earlier} and {option} give the field {field} two names, but it has one");
            return Err(OptionError::conflict(message).of("rename").hint("leave one of the two out"));
        }
    }
    Ok(())
}

/// Refuses a zone without times that have it.
pub(super) fn of_time_zone(options: &LoadOptions) -> Result<(), OptionError> {
    let shape = &options.shape;
    let of_schema = options.reading.schema.iter().any(|column| column.column_type.is_timestamp());
    if shape.time_zone.is_none() || shape.timestamp.is_some() || of_schema {
        return Ok(());
    }
    let message =
        "option `time_zone` is about times that option `timestamp` or option `schema` names, but they name none";
    Err(OptionError::conflict(message)
        .of("time_zone")
        .hint("add option `timestamp=FIELD`, or option `schema=COLUMN:timestamp`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::find;
    use super::*;

    /// What the checks say of the action `update` with this source, and one more option.
    fn of_update(source: &str, more: Option<(&str, &str)>) -> Result<(), String> {
        let mut options = LoadOptions::default();
        options.source.sources = vec![source.into()];
        if let Some((name, value)) = more {
            options.give(name, json!(value)).unwrap();
        }
        let mut config = LoadConfig::new(vec![], "a".parse().unwrap());
        config.action = Action::Update;
        let found = find(&options, &[]).unwrap();
        of_ids(&options, found.kind.has_ids, &config).map_err(|error| error.to_string())
    }

    #[test]
    fn updates_have_ids_of_a_field_of_hits_of_an_index_or_of_records() {
        for (source, more) in [
            ("a.csv", Some(("id", "b"))),
            ("dump.json", Some(("format", "hits"))),
            ("-", Some(("format", "hits"))),
            ("http://host:9200/a", None),
            ("kafka://host/a", None),
        ] {
            assert_eq!(of_update(source, more), Ok(()), "{source}");
        }
        let mut mongo = LoadOptions::default();
        mongo.reading.extended_json = true;
        let mut config = LoadConfig::new(vec![], "a".parse().unwrap());
        config.action = Action::Update;
        assert!(of_ids(&mongo, false, &config).is_ok());
        for source in ["a.ndjson", "dump.json", "-", "postgres://host/a"] {
            assert!(of_update(source, None).unwrap_err().contains("needs the ids of the documents"), "{source}");
        }
    }

    #[test]
    fn a_field_has_one_new_name() {
        let check = |timestamp: Option<&str>, renames: &[&str]| {
            let rename = renames.iter().map(|text| text.parse().unwrap()).collect();
            let timestamp = timestamp.map(|field| field.parse().unwrap());
            of_renames(&Shaping { timestamp, rename, ..Shaping::default() }).map_err(|error| error.to_string())
        };
        assert_eq!(check(Some("ts"), &["a=b", "c=b", "b=ts"]), Ok(()));
        let told = check(Some("ts"), &["a=b", "ts=x"]).unwrap_err();
        assert!(told.contains("option `timestamp=ts` and option `rename=ts=x` give the field ts two names"), "{told}");
        let told = check(None, &["a=b", "a=c"]).unwrap_err();
        assert!(told.contains("option `rename=a=b` and option `rename=a=c`"), "{told}");
    }

    #[test]
    fn a_zone_is_that_of_times_which_are_named() {
        let check = |given: &[(&str, &str)]| {
            let mut options = LoadOptions::default();
            options.give("time_zone", json!("Europe/Paris")).unwrap();
            for (name, value) in given {
                let values: Vec<&str> = value.split(',').collect();
                options.give(name, if *name == "timestamp" { json!(value) } else { json!(values) }).unwrap();
            }
            of_time_zone(&options).map_err(|error| error.option().map(str::to_owned))
        };
        for given in [("timestamp", "a"), ("schema", "a:timestamp"), ("schema", "n:integer,a:timestamp-dmy")] {
            assert_eq!(check(&[given]), Ok(()), "{given:?}");
        }
        for given in [&[][..], &[("schema", "a:date")], &[("rename", "a=b")]] {
            assert_eq!(check(given), Err(Some("time_zone".to_owned())), "{given:?}");
        }
        assert_eq!(of_time_zone(&LoadOptions::default()).map_err(|error| error.to_string()), Ok(()));
    }

    #[test]
    fn documents_of_mongodb_have_no_other_ids() {
        for (name, value) in [("id", "sku"), ("id_from", "content"), ("id_from", "position")] {
            let mut options = LoadOptions::default();
            options.give(name, json!(value)).unwrap();
            assert!(of_extended_json(&options).is_ok(), "{name}");
            options.reading.extended_json = true;
            let error = of_extended_json(&options).unwrap_err();
            assert_eq!(error.option(), Some(name));
            assert!(error.to_string().contains("option `extended_json`"), "{error}");
        }
    }
}
