//! What follows the last document, from its flags.

use std::path::Path;

use inrush::config::{FinishConfig, OldWrites, SwapConfig, WaitFor};
use serde_json::Value;

use crate::args::{FinishArgs, LoadArgs, OldWritesArg, WaitForArg};
use crate::failure::UsageError;

pub(super) fn finish(args: &LoadArgs) -> Result<FinishConfig, UsageError> {
    let FinishArgs { force_merge, wait_for, wait_timeout, .. } = &args.finish;
    let defaults = FinishConfig::default();
    Ok(FinishConfig {
        wait_for: wait_for.map(|state| match state {
            WaitForArg::Searchable => WaitFor::Searchable,
            WaitForArg::Green => WaitFor::Green,
            WaitForArg::Replicated => WaitFor::Replicated,
        }),
        wait_timeout: wait_timeout.unwrap_or(defaults.wait_timeout),
        force_merge: *force_merge,
        swap: swap(args)?,
    })
}

fn swap(args: &LoadArgs) -> Result<Option<SwapConfig>, UsageError> {
    let finish = &args.finish;
    let Some(alias) = &finish.alias else {
        let for_alias = [
            ("--delete-old", finish.delete_old),
            ("--allow-shrink", finish.allow_shrink.is_some()),
            ("--old-writes", finish.old_writes.is_some()),
            ("--warm", finish.warm.is_some()),
        ];
        return match for_alias.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(UsageError::new(format!("{flag} means nothing without --alias"))
                .hint("name the alias that is to be moved to a new index")),
            None => Ok(None),
        };
    };
    if args.source.from_dead_letters.is_some() {
        return Err(UsageError::new(
            "--alias would put an index with nothing but dead letters in the place of another",
        )
        .hint("load them into the index that lacks them, by its name"));
    }
    if args.index.index.as_ref().is_some_and(|index| index.as_str() == alias) {
        return Err(UsageError::new(format!(
            "--index and --alias are both {alias}, and no index has the name of its alias"
        ))
        .hint("leave --index out, and the new index is named after the alias and the time"));
    }
    let old_writes = match finish.old_writes {
        Some(OldWritesArg::Report) | None => OldWrites::Report,
        Some(OldWritesArg::Block) => OldWrites::Block,
        Some(OldWritesArg::CatchUp) if args.index.id.is_none() && args.index.id_from.is_none() => {
            let message = "--old-writes catch-up copies documents by id, and the cluster makes up the ids of this load";
            return Err(UsageError::new(message).hint("name the field that holds them with --id FIELD"));
        }
        Some(OldWritesArg::CatchUp) => OldWrites::CatchUp,
    };
    let warm = finish.warm.as_deref().map(queries).transpose()?.unwrap_or_default();
    let mut swap = SwapConfig { delete_old: finish.delete_old, old_writes, warm, ..SwapConfig::new(alias) };
    swap.shrink_max = finish.allow_shrink.unwrap_or(swap.shrink_max);
    Ok(Some(swap))
}

/// Searches, one a line; empty lines are left out.
fn queries(path: &Path) -> Result<Vec<Value>, UsageError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| UsageError::new(format!("cannot read {}: {error}", path.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let query = |(at, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(query @ Value::Object(_)) => Ok(query),
        other => {
            let problem = other.map_or_else(|error| error.to_string(), |_| "no JSON object".to_owned());
            Err(UsageError::new(format!("{} line {}: {problem}", path.display(), at + 1))
                .hint("a line is the body of one search, as in {\"query\":{\"match_all\":{}}}"))
        }
    };
    let queries: Vec<Value> = lines.map(query).collect::<Result<_, _>>()?;
    if queries.is_empty() {
        return Err(UsageError::new(format!("{} holds no search", path.display())));
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
