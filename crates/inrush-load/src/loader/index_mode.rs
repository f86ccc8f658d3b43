//! Options that an index of some mode refuses with each document, and what it makes of ids
//! (`index.mode` of Elasticsearch).

use inrush_cluster::api::index_mode::IndexMode;
use inrush_core::Action;
use inrush_sources::SourceInfo;

use crate::config::{BulkRouting, LoadConfig};
use crate::error::LoadError;

/// Refuses options that the mode of the target does not allow, before anything is made. Returns
/// what a user has to know of its ids, if there is something.
///
/// # Errors
/// The options do not fit the mode.
pub(crate) fn check(config: &LoadConfig, info: &SourceInfo, mode: &IndexMode) -> Result<Option<String>, LoadError> {
    let index = config.index.as_str();
    let refuse = |option: &str, what: &str, instead: &str| {
        let title = mode.title();
        Err(LoadError::usage(format!("option `{option}` is given, but the index {index} {title}, {what}; {instead}")))
    };
    if !mode.routes_by_fields() {
        return Ok(None);
    }
    let what = "and refuses routing values";
    if config.routing.is_some() {
        return refuse("routing", what, "leave it out");
    }
    if config.bulk_routing == BulkRouting::OneShard {
        return refuse("bulk_routing=one-shard", what, "use option `bulk_routing=spread`");
    }
    match config.action {
        Action::Update | Action::Upsert => {
            return refuse("action=update or upsert", "and refuses each update", "give index or create instead");
        }
        // The ids of documents that are to be deleted are those that the index has made.
        Action::Delete => return Ok(None),
        Action::Index | Action::Create => {}
    }
    let what = if mode.makes_ids() { "and refuses other ids" } else { "and makes its own ids in the place of others" };
    if config.id.is_some() {
        return refuse("id", what, "leave it out");
    }
    if config.id_from.is_some() {
        return refuse("id_from", what, "leave it out");
    }
    if config.version.is_some() || info.has_versions {
        let option = if config.version.is_some() { "version" } else { "keep_versions" };
        return refuse(option, "and versions need ids of the load", "leave it out");
    }
    Ok(note(config, info, mode))
}

/// What becomes of documents with the same dimensions and time, and of the ids of the source.
fn note(config: &LoadConfig, info: &SourceInfo, mode: &IndexMode) -> Option<String> {
    let title = format!("the index {} {}", config.index.as_str(), mode.title());
    let not_sent = "the ids and routing values of the source are not sent";
    if !mode.makes_ids() {
        return info.has_ids.then(|| format!("{title}: {not_sent}, because it makes ids of its own"));
    }
    let same = match config.action {
        Action::Create => {
            "of documents that have the same ones it stores the first that arrives, and the others are conflicts"
        }
        _ => "documents that have the same ones replace each other, in any order",
    };
    let mut note = format!("{title}: {same}");
    if let Some(times) = mode.times() {
        note.push_str(&format!("; it takes documents {times}"));
    }
    if info.has_ids {
        note.push_str(&format!("; {not_sent}"));
    }
    Some(note)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mode(settings: Value) -> IndexMode {
        IndexMode::of(|name| settings.pointer(&format!("/{}", name.replace('.', "/"))))
    }

    fn config() -> LoadConfig {
        LoadConfig::new(vec!["http://localhost:9200".to_owned()], "ts".parse().unwrap())
    }

    fn refused(config: &LoadConfig, mode: &IndexMode) -> String {
        match check(config, &SourceInfo::new(["lines"]), mode) {
            Err(error) => error.to_string(),
            Ok(note) => note.unwrap_or_default(),
        }
    }

    #[test]
    fn options_that_a_time_series_does_not_take_are_refused() {
        let series =
            mode(json!({"mode": "time_series", "routing_path": ["d"], "time_series": {"end_time": "2025-01-01"}}));
        let of = |change: &dyn Fn(&mut LoadConfig)| {
            let mut config = config();
            change(&mut config);
            refused(&config, &series)
        };
        let field = || Some("f".parse().unwrap());
        assert!(of(&|config| config.id = field()).starts_with("option `id` is given, but the index ts makes"));
        assert!(of(&|config| config.version = field()).starts_with("option `version`"));
        assert!(of(&|config| config.routing = field()).starts_with("option `routing`"));
        assert!(of(&|config| config.bulk_routing = BulkRouting::OneShard).contains("bulk_routing=spread"));
        for action in [Action::Update, Action::Upsert] {
            assert!(of(&|config| config.action = action).contains("refuses each update"));
        }
        assert_eq!(of(&|config| (config.action, config.id) = (Action::Delete, field())), "");
        let known = of(&|_| {});
        assert!(known.contains("replace each other") && known.contains("until before 2025-01-01"), "{known}");
        assert!(of(&|config| config.action = Action::Create).contains("are conflicts"));
    }

    #[test]
    fn other_modes_take_all_options_but_where_fields_choose_the_shard() {
        let mut with_all = config();
        (with_all.id, with_all.routing) = (Some("f".parse().unwrap()), Some("f".parse().unwrap()));
        for name in ["logsdb", "columnar", "lookup", "standard", "vectordb_document"] {
            assert_eq!(refused(&with_all, &mode(json!({ "mode": name }))), "", "{name}");
        }
        let routed = mode(json!({"mode": "logsdb", "routing_path": ["host"]}));
        assert!(refused(&with_all, &routed).contains("chooses shards by the fields host"));
        with_all.routing = None;
        let of_id = refused(&with_all, &routed);
        assert!(of_id.starts_with("option `id` is given") && of_id.contains("makes its own ids"), "{of_id}");
        with_all.action = Action::Upsert;
        assert!(refused(&with_all, &routed).contains("refuses each update"));
        // To delete are the ids that the index has made.
        with_all.action = Action::Delete;
        assert_eq!(refused(&with_all, &routed), "");
        let mut without_ids = config();
        assert_eq!(refused(&without_ids, &routed), "");
        without_ids.id_from = Some(crate::config::IdFrom::Content);
        assert!(refused(&without_ids, &routed).starts_with("option `id_from`"));
        let mut copy = SourceInfo::new(["index"]);
        copy.has_ids = true;
        let known = check(&config(), &copy, &routed).unwrap().unwrap();
        assert!(known.contains("ids and routing values of the source are not sent"), "{known}");
    }
}
