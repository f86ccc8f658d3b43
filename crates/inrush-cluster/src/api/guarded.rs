//! The settings that an index has without the changes of a running or dead load. The settings guard
//! notes them in the cluster (see the crate `inrush-guard`).

use inrush_core::settings_guard::{Changes, Lease, Part};
use serde_json::Value;

use super::lookup::{Contents, Lookup, Wanted};
use crate::transport::Transport;

/// The index with one document for each guarded index. Its id is the UUID of the guarded index.
pub const GUARD_INDEX: &str = "inrush-guard";

/// Puts the original values into the `settings` of indices, which are given with their UUIDs. It
/// changes nothing where no load has changed them, or where the user may not read it.
pub async fn original(transport: &Transport, indices: &mut [(&str, &mut Value)]) {
    let parts = [Part::Settings, Part::Graphs];
    let ids = indices.iter().flat_map(|(uuid, _)| parts.map(|part| part.lease_id(uuid)));
    let wanted: Vec<Wanted> = ids.map(|id| Wanted { id, routing: None }).collect();
    let names: Vec<&str> = indices.iter().filter_map(|(_, s)| s["index"]["provided_name"].as_str()).collect();
    let found = match Lookup::Get(GUARD_INDEX.to_owned()).find(transport, &wanted, Contents::Source).await {
        Ok(found) => found,
        // The usual case: no load was ever guarded here.
        Err(error) if error.to_string().contains("index_not_found") => return,
        Err(error) => {
            tracing::warn!(
                "it is not known whether a load has changed the settings of {} meanwhile, so they are taken as they are: {error}",
                names.join(", ")
            );
            return;
        }
    };
    for ((_, settings), found) in indices.iter_mut().zip(found.chunks(parts.len())) {
        for source in found.iter().filter_map(|found| found.first()?.source.as_deref()) {
            if let Ok(lease) = serde_json::from_str::<Lease>(source.get()) {
                put_back(settings, &lease.changes);
            }
        }
    }
}

/// A setting that another client has changed since keeps its value.
fn put_back(settings: &mut Value, changes: &Changes) {
    for (name, change) in changes {
        let mut path: Vec<&str> = name.split('.').collect();
        let Some(last) = path.pop() else { continue };
        let parent = path.into_iter().try_fold(&mut *settings, |inner, key| inner.get_mut(key));
        let Some(parent) = parent.and_then(Value::as_object_mut) else { continue };
        if parent.get(last).and_then(Value::as_str) != Some(&change.applied) {
            continue;
        }
        match &change.original {
            Some(original) => drop(parent.insert(last.to_owned(), Value::String(original.clone()))),
            None => drop(parent.remove(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_core::settings_guard::Change;
    use serde_json::json;

    #[test]
    fn changes_of_a_load_are_taken_back_and_those_of_others_stay() {
        let mut settings = json!({"index": {
            "refresh_interval": "-1", "number_of_replicas": "0", "number_of_shards": "3",
            "translog": {"durability": "async", "flush_threshold_size": "1gb"},
        }});
        let change = |original: Option<&str>, applied: &str| Change {
            original: original.map(str::to_owned),
            applied: applied.to_owned(),
        };
        let changes = Changes::from([
            ("index.refresh_interval".to_owned(), change(None, "-1")),
            ("index.number_of_replicas".to_owned(), change(Some("2"), "0")),
            ("index.translog.durability".to_owned(), change(Some("request"), "async")),
            // Another client has set it since.
            ("index.translog.flush_threshold_size".to_owned(), change(None, "2gb")),
            ("index.merge.scheduler.auto_throttle".to_owned(), change(None, "false")),
        ]);
        put_back(&mut settings, &changes);
        let expected = json!({"index": {
            "number_of_replicas": "2", "number_of_shards": "3",
            "translog": {"durability": "request", "flush_threshold_size": "1gb"},
        }});
        assert_eq!(settings, expected);
    }
}
