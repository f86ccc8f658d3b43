//! `inrush recover`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use inrush_commands::options::{Environment, nodes};
use inrush_load::{RecoverOptions, Recovered, RecoveredState, recover};
use serde_json::json;

use super::load;
use crate::args::RecoverArgs;
use crate::failure::ExitStatus;
use crate::logging::{self, Stderr};
use crate::plain::inline;

/// The exit status if some settings could not be restored, which is also that of a load.
const NOT_PUT_BACK: u8 = 4;

/// Restores the settings, prints the result, and returns the exit status.
pub(crate) async fn run(args: RecoverArgs) -> Result<u8> {
    let RecoverArgs { indices, to, force, state, login, output } = args;
    let stderr = Stderr::new();
    logging::start(&output.log, output.quiet, &stderr);
    let environment = load::with_prompt(Environment::of_process());
    let urls = nodes(&to, &environment).map_err(load::refused)?;
    let transport = super::reach(&urls, &login.0, &environment).await?;
    let default = RecoverOptions::default();
    let watch = if force { Duration::ZERO } else { default.watch };
    let watching = |names: &[&str]| {
        if !output.quiet {
            // If stderr is closed, there is no other place to report it.
            let _ = writeln!(
                stderr.clone(),
                "checking for up to {} s whether a load into {} still runs; --force skips the check and treats it as ended",
                watch.as_secs(),
                names.join(", ")
            );
        }
    };
    let what = RecoverOptions { indices, watch, state };
    let recovered = tokio::select! {
        recovered = recover(transport, &what, watching) => recovered?,
        _ = tokio::signal::ctrl_c() => return Ok(ExitStatus::Interrupted.code()),
    };
    let text = if output.json { format!("{}\n", json!({ "indices": recovered })) } else { text(&recovered) };
    if output.json || !output.quiet {
        super::print(&text)?;
    }
    let failed = recovered.iter().any(|one| one.state == RecoveredState::NotRestored);
    Ok(if failed { NOT_PUT_BACK } else { 0 })
}

fn text(recovered: &[Recovered]) -> String {
    if recovered.is_empty() {
        return "nothing is left to be put back\n".to_owned();
    }
    let mut text = String::new();
    for one in recovered {
        let state = match one.state {
            RecoveredState::Restored => "put back",
            RecoveredState::InUse => "in use, not changed",
            RecoveredState::NotRestored => "NOT put back",
        };
        text.push_str(&format!("{}: {state}: {}\n", one.index, inline(&one.detail)));
        for (name, change) in &one.changed {
            let from = change.from.as_deref().unwrap_or("not set");
            text.push_str(&format!("  {name}: {} for the load, {from} before it\n", change.to));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use inrush_load::SettingChange;

    use super::*;

    #[test]
    fn each_index_is_told_with_what_was_changed() {
        assert_eq!(text(&[]), "nothing is left to be put back\n");
        let change = SettingChange { from: None, to: "60s".into() };
        let one = Recovered {
            index: "docs".into(),
            uuid: "u".into(),
            state: RecoveredState::Restored,
            changed: [("index.refresh_interval".to_owned(), change)].into(),
            detail: "the index has its original settings".into(),
        };
        assert_eq!(
            text(&[one]),
            "docs: put back: the index has its original settings\n  index.refresh_interval: 60s for the load, not set before it\n"
        );
    }
}
