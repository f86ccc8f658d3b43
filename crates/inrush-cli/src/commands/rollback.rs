//! `inrush rollback`.

use anyhow::{Context, Result};
use inrush_commands::options::{Environment, nodes};
use inrush_load::cutover::{AliasHistory, EarlierIndex, RolledBack, alias_history, rollback};
use serde::Serialize;

use super::load;
use crate::args::RollbackArgs;
use crate::logging::{self, Stderr};
use crate::units::counted;

/// Moves the alias, or lists what it could go back to, and returns the exit status.
pub(crate) async fn run(args: RollbackArgs) -> Result<u8> {
    let RollbackArgs { alias, index, list, to, login, output } = args;
    logging::start(&output.log, output.quiet, &Stderr::new());
    let environment = load::with_prompt(Environment::of_process());
    let urls = nodes(&to, &environment).map_err(load::refused)?;
    let transport = super::reach(&urls, &login.0, &environment).await?;
    let (json, text) = match list {
        true => {
            let history = alias_history(&transport, &alias).await.map_err(load::usage)?;
            (json(&history)?, of_history(&history))
        }
        false => {
            let done = rollback(&transport, &alias, index.as_deref()).await.map_err(load::usage)?;
            (json(&done)?, moved(&done))
        }
    };
    match (output.json, output.quiet) {
        (true, _) => super::print(&json)?,
        (false, false) => super::print(&text)?,
        (false, true) => {}
    }
    Ok(0)
}

fn json(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string(value).context("cannot write the result as JSON")?;
    text.push('\n');
    Ok(text)
}

fn moved(done: &RolledBack) -> String {
    let RolledBack { alias, from, to, docs, .. } = done;
    format!(
        "the alias {alias} was moved from {from} to {to}, which has {}; {from} is kept\n",
        counted(*docs, "document")
    )
}

fn of_history(history: &AliasHistory) -> String {
    let AliasHistory { alias, now, earlier, unfinished, .. } = history;
    let mut text = match now {
        Some(now) => format!("{alias} stands for {now}\n"),
        None => format!("there is no alias {alias}\n"),
    };
    for index in earlier {
        text.push_str(&format!("could go back to {}\n", one(index)));
    }
    for index in unfinished {
        text.push_str(&format!("failed, or still loading: {}\n", one(index)));
    }
    if earlier.is_empty() {
        text.push_str("there is no index that it could go back to\n");
    }
    text
}

fn one(index: &EarlierIndex) -> String {
    let docs = index.docs.map_or_else(|| "not counted".to_owned(), |docs| counted(docs, "document"));
    let since = match (&index.complete, &index.made) {
        (Some(at), _) => format!(", complete since {at}"),
        (None, Some(at)) => format!(", made {at}"),
        (None, None) => String::new(),
    };
    let others = if index.aliases.is_empty() { String::new() } else { format!(", also {}", index.aliases.join(", ")) };
    format!("{}: {docs}{since}{others}", index.index)
}
