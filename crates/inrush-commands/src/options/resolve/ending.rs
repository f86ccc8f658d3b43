//! The steps after the last document, from their options.

use std::path::Path;

use serde_json::Value;

use super::files;
use crate::options::{EndOptions, LoadOptions, OptionError};
use inrush_load::config::{FinishConfig, OldWrites, SwapConfig};

pub(super) fn finish(options: &LoadOptions) -> Result<FinishConfig, OptionError> {
    let EndOptions {
        alias: _,
        delete_old: _,
        keep: _,
        allow_shrink: _,
        old_writes: _,
        warm: _,
        force_merge,
        graph,
        wait_for,
        wait_timeout,
    } = &options.end;
    let defaults = FinishConfig::default();
    Ok(FinishConfig {
        wait_for: *wait_for,
        wait_timeout: wait_timeout.map_or(defaults.wait_timeout, |time| time.get()),
        graph_timeout: wait_timeout.map(|time| time.get()),
        force_merge: force_merge.map(|segments| segments.get()),
        graph: graph.unwrap_or_default(),
        swap: swap(options)?,
    })
}

fn swap(options: &LoadOptions) -> Result<Option<SwapConfig>, OptionError> {
    let EndOptions { alias, delete_old, keep, allow_shrink, old_writes, warm, .. } = &options.end;
    let Some(alias) = alias else {
        let for_alias = [
            ("delete_old", *delete_old),
            ("keep", keep.is_some()),
            ("allow_shrink", allow_shrink.is_some()),
            ("old_writes", old_writes.is_some()),
            ("warm", warm.is_some()),
        ];
        return match for_alias.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(OptionError::conflict(format!("option `{name}` needs option `alias`"))
                .of(name)
                .hint("name the alias that the load moves to a new index")),
            None => Ok(None),
        };
    };
    let target = &options.target;
    if target.index.as_ref().is_some_and(|index| index.as_str() == alias) {
        let message = format!(
            "option `index` and option `alias` are both {alias}, but an index cannot have the name of its alias"
        );
        return Err(OptionError::conflict(message)
            .of("alias")
            .hint("leave option `index` out; the new index then has a name from the alias and the time"));
    }
    let old_writes = old_writes.unwrap_or_default();
    if old_writes == OldWrites::CatchUp && target.id.is_none() && target.id_from.is_none() {
        let message =
            "option `old_writes=catch-up` copies documents by id, but the cluster generates the ids of this load";
        return Err(OptionError::conflict(message)
            .of("old_writes")
            .hint("name the field that holds them with option `id=FIELD`"));
    }
    let warm = warm.as_deref().map(queries).transpose()?.unwrap_or_default();
    let mut swap = SwapConfig { delete_old: *delete_old, old_writes, warm, ..SwapConfig::new(alias) };
    // The dead letters are the rest of an index that an earlier load has made.
    swap.finishes = options.source.from_dead_letters.is_some();
    swap.keep = keep.map(|keep| keep.get());
    swap.shrink_max = allow_shrink.map_or(swap.shrink_max, |shrink| shrink.percent());
    Ok(Some(swap))
}

/// The searches of a file, one per line. Empty lines are left out.
fn queries(path: &Path) -> Result<Vec<Value>, OptionError> {
    let text = files::read(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let query = |(at, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(query @ Value::Object(_)) => Ok(query),
        other => {
            let problem = other.map_or_else(|error| error.to_string(), |_| "no JSON object".to_owned());
            Err(OptionError::unusable(format!("{} line {}: {problem}", path.display(), at + 1))
                .of("warm")
                .hint("each line must be the body of one search, as in {\"query\":{\"match_all\":{}}}"))
        }
    };
    let queries: Vec<Value> = lines.map(query).collect::<Result<_, _>>()?;
    if queries.is_empty() {
        return Err(OptionError::unusable(format!("{} has no search", path.display())).of("warm"));
    }
    Ok(queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warm.ndjson");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            queries(&path)
        };
        assert_eq!(read("{\"size\":0}\n\n{\"query\":{\"match_all\":{}}}\n").unwrap().len(), 2);
        assert!(read("{\"size\":0}\n[]").unwrap_err().to_string().contains("line 2: no JSON object"));
        assert!(read("\n").unwrap_err().to_string().contains("no search"));
    }
}
