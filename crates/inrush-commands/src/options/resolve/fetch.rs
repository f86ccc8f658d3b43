//! Documents that are looked up.

use inrush_cluster::transport::TlsOptions;
use inrush_load::config::LoadConfig;
use inrush_sources::{DatabaseAddress, FetchFrom, Format, SourceInfo};

use super::{Environment, login};
use crate::options::{FetchOptions, FetchPlan, LoadOptions, OptionError, OptionErrorKind, OptionGroup, OrAuto};

/// The look-ups of a load. It may prompt for a password.
pub(super) fn plan(
    load: &LoadOptions,
    config: &LoadConfig,
    environment: &Environment,
) -> Result<Option<FetchPlan>, OptionError> {
    let FetchOptions { fetch, fetch_url, fetch_id, fetch_missing, .. } = &load.fetch;
    let from = match (fetch, fetch_url) {
        (Some(text), _) => database(text, &load.fetch, environment)?,
        (None, Some(url)) => web(url, &load.fetch, environment)?,
        (None, None) => {
            let Some(info) = load.fetch.given().next() else { return Ok(None) };
            let message = format!("option `{}` is for look-ups, but no place of records is given", info.name);
            return Err(OptionError::conflict(message)
                .of(info.name)
                .hint("name a database with option `fetch`, or a web service with option `fetch_url`"));
        }
    };
    check(load)?;
    let mut options = inrush_sources::FetchOptions::new(from);
    if let Some(id) = fetch_id {
        options.id.clone_from(id);
    }
    options.document_bytes_max = config.limits.document_bytes_max;
    Ok(Some(FetchPlan { options, missing: fetch_missing.unwrap_or_default() }))
}

fn database(text: &str, given: &FetchOptions, environment: &Environment) -> Result<FetchFrom, OptionError> {
    let FetchOptions { fetch_body, fetch_user, fetch_password_file, fetch_password_env, fetch_ca, .. } = given;
    let expected = "expected the address of a database and a query, as in 'postgres://user@host/db SELECT … WHERE id = \
                    ANY($keys)'";
    let (address, query) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let Some(address) = DatabaseAddress::new(address) else {
        let hint = "the addresses of databases begin with postgres://, mysql:// or sqlite://; a web service is named \
                    with option `fetch_url`";
        return Err(OptionError::value("fetch", expected).hint(hint));
    };
    let query = match query.trim().strip_prefix('@') {
        None => query.trim().to_owned(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| OptionError::value("fetch", format!("cannot read {path}: {error}")))?,
    };
    if query.is_empty() {
        return Err(OptionError::value("fetch", format!("there is no query behind {address}; {expected}")));
    }
    for (name, is_given, hint) in [
        ("fetch_body", fetch_body.is_some(), "leave it out"),
        ("fetch_user", fetch_user.is_some(), "name the user in the address, as in postgres://user@host/db"),
        ("fetch_ca", fetch_ca.is_some(), "name the file in the address, as in postgres://host/db?sslrootcert=ca.pem"),
    ] {
        if is_given {
            let message = format!("option `{name}` is for a web service, but option `fetch` names a database");
            return Err(OptionError::conflict(message).of(name).hint(hint));
        }
    }
    let place = (fetch_password_file.as_deref(), fetch_password_env.as_deref());
    let password = login::password_of_fetch(place, environment)?;
    Ok(FetchFrom::Database { address, query, password })
}

fn web(url: &str, given: &FetchOptions, environment: &Environment) -> Result<FetchFrom, OptionError> {
    let FetchOptions { fetch_body, fetch_user, fetch_password_file, fetch_password_env, fetch_ca, .. } = given;
    if DatabaseAddress::new(url).is_some() {
        let message = "option `fetch_url` is for web services, but it names a database";
        return Err(OptionError::conflict(message).of("fetch_url").hint("name it with option `fetch`"));
    }
    let place = (fetch_password_file.as_deref(), fetch_password_env.as_deref());
    let credentials = login::of_fetch(fetch_user.as_deref(), place, environment)?;
    let tls = TlsOptions { ca_file: fetch_ca.clone(), ..TlsOptions::default() };
    Ok(FetchFrom::Web { url: url.to_owned(), body: fetch_body.clone(), credentials, tls })
}

/// Refuses options that are about the documents of the source, which are replaced.
fn check(load: &LoadOptions) -> Result<(), OptionError> {
    let target = &load.target;
    if let Some(info) = load.shape.given().find(|info| info.name != "limit") {
        return Err(about_the_source(info.name, "change the records, as by the columns of the query"));
    }
    let refused = [
        (target.map.is_some(), "map", "give a mapping with option `mapping`"),
        (target.shards == Some(OrAuto::Auto), "shards", "give a number of shards"),
        (target.id_from.is_some(), "id_from", "leave it out, or name the field of the key with option `id`"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, name, hint)) => Err(about_the_source(name, hint)),
    }
}

/// The error for an option that is about the documents of the source, which are replaced.
pub(super) fn about_the_source(name: &'static str, hint: &str) -> OptionError {
    let message = format!("option `{name}` is about the documents of the source, but those of look-ups are sent");
    OptionError::conflict(message).of(name).hint(hint)
}

/// Refuses a source without ids.
pub(super) fn check_ids(load: &LoadOptions, source: &SourceInfo) -> Result<(), OptionError> {
    // Dead letters and action lines have ids of their own.
    let has_own_ids = load.source.from_dead_letters.is_some() || load.reading.format == Some(Format::Bulk);
    if load.fetch.given().next().is_none() || load.target.id.is_some() || source.has_ids || has_own_ids {
        return Ok(());
    }
    let message = "documents are looked up by their ids, but those of the source have none";
    Err(OptionError::new(OptionErrorKind::Missing, message)
        .of("id")
        .hint("name the field that holds the key with option `id=FIELD`"))
}

impl FetchOptions {
    /// Refuses look-ups.
    pub(crate) fn refuse(&self, what: &str) -> Result<(), OptionError> {
        let Some(info) = self.given().next() else { return Ok(()) };
        let message = format!("option `{}` is for look-ups, which {what} does not make", info.name);
        Err(OptionError::conflict(message).of(info.name).hint("leave it out"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::kinds::Found;
    use super::*;
    use crate::options::Style;
    use inrush_cluster::transport::Credentials;
    use inrush_load::fetch::MissingRecord;

    const QUERY: &str = "postgres://me@h/db\n  SELECT id, n FROM t WHERE id = ANY($keys)";

    fn planned(given: &[(&str, Value)]) -> Result<Option<FetchPlan>, OptionError> {
        let mut load = LoadOptions::default();
        load.give("index", "i").unwrap();
        given.iter().for_each(|(name, value)| load.give(name, value.clone()).unwrap());
        load.check_conflicts()?;
        let environment = Environment::new(|_| None);
        let config = super::super::config::config(&load, &Found::of_program(), &environment)?;
        plan(&load, &config, &environment)
    }

    #[track_caller]
    fn refused(given: &[(&str, Value)], expected: &str) {
        let error = planned(given).unwrap_err();
        let text = format!("{error}; {}", error.hint_in(Style::Key).unwrap_or_default());
        assert!(text.contains(expected) && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_database_has_an_address_and_a_query() {
        assert!(planned(&[]).unwrap().is_none());
        let folder = tempfile::tempdir().unwrap();
        let (secret, file) = (folder.path().join("secret"), folder.path().join("query.sql"));
        std::fs::write(&secret, "hunter2\n").unwrap();
        std::fs::write(&file, "SELECT 1 WHERE 1 IN ($keys)").unwrap();
        let given = [
            ("fetch", json!(QUERY)),
            ("fetch_id", json!("k")),
            ("fetch_missing", json!("skip")),
            ("fetch_password_file", json!(secret)),
        ];
        let FetchPlan { options, missing } = planned(&given).unwrap().unwrap();
        assert_eq!((options.id.as_str(), missing), ("k", MissingRecord::Skip));
        assert!(!format!("{options:?}").contains("hunter2"));
        let FetchFrom::Database { address, query, password } = options.from else { panic!("it is a database") };
        assert_eq!(address.to_string(), "postgres://me@h/db");
        assert_eq!(query, "SELECT id, n FROM t WHERE id = ANY($keys)");
        assert_eq!(password.unwrap().expose(), "hunter2");
        let given = [("fetch", json!(format!("sqlite:///a.db @{}", file.display())))];
        let FetchPlan { options, missing } = planned(&given).unwrap().unwrap();
        let FetchFrom::Database { query, .. } = options.from else { panic!("it is a database") };
        assert_eq!((query.as_str(), missing), ("SELECT 1 WHERE 1 IN ($keys)", MissingRecord::Delete));
    }

    #[test]
    fn a_web_service_has_an_address_and_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "hunter2\n").unwrap();
        let url = ("fetch_url", json!("https://h/?ids={keys}"));
        let given = [url.clone(), ("fetch_user", json!("me")), ("fetch_password_file", json!(secret))];
        let options = planned(&given).unwrap().unwrap().options;
        let FetchFrom::Web { credentials, body, .. } = options.from else { panic!("it is a web service") };
        assert!(matches!(credentials, Credentials::Basic { .. }) && body.is_none());
        let options = planned(&[url, ("fetch_ca", json!("/ca.pem"))]).unwrap().unwrap().options;
        let FetchFrom::Web { credentials, tls, .. } = options.from else { panic!("it is a web service") };
        assert!(matches!(credentials, Credentials::None) && tls.ca_file.is_some());
    }

    #[test]
    fn what_look_ups_do_not_use_is_refused() {
        let url = || ("fetch_url", json!("https://h/?ids={keys}"));
        let query = || ("fetch", json!(QUERY));
        refused(&[query(), url()], "exclude each other");
        refused(&[("fetch_missing", json!("skip"))], "no place of records is given");
        refused(&[("fetch", json!("https://h/?ids={keys}"))], "a web service is named with");
        refused(&[("fetch", json!("postgres://me:hunter2@h/db"))], "there is no query behind postgres://me@h/db");
        refused(&[("fetch", json!("postgres://h/db @/nowhere/at/all"))], "cannot read /nowhere/at/all");
        refused(&[("fetch_url", json!("postgres://h/db"))], "it names a database");
        refused(&[query(), ("fetch_user", json!("me"))], "name the user in the address");
        refused(&[query(), ("fetch_ca", json!("/ca.pem"))], "sslrootcert");
        refused(&[query(), ("fetch_body", json!("{keys}"))], "is for a web service");
        for (name, value) in
            [("drop", json!("x")), ("map", json!("auto")), ("shards", json!("auto")), ("id_from", json!("position"))]
        {
            refused(&[url(), (name, value)], "is about the documents of the source");
        }
    }
}
