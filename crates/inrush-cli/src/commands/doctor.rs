//! `inrush doctor`.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use inrush_commands::doctor::{Confidence, Diagnosis, examine};
use inrush_commands::options::{Environment, urls};
use inrush_core::Code;

use super::load;
use crate::args::DoctorArgs;
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::plain::inline;

/// Examines the cluster, prints the findings, and returns the exit status.
pub(crate) async fn run(args: DoctorArgs) -> Result<u8> {
    logging::start(&args.log, false, &Stderr::new());
    let Some(target) = &args.target else {
        return super::print(&super::doctor_self::text().await?).map(|()| 0);
    };
    let (url, index) = split(target)?;
    let nodes = urls(&[url]).map_err(load::refused)?;
    let environment = load::with_prompt(Environment::of_process());
    let transport = super::reach(&nodes, &args.login.0, &environment).await?;
    let diagnosis = examine(&transport, index.as_deref()).await?;
    let text = match args.json {
        true => serde_json::to_string(&diagnosis).context("cannot write the findings as JSON")? + "\n",
        false => text(&diagnosis),
    };
    super::print(&text)?;
    Ok(if diagnosis.findings.is_empty() { 0 } else { ExitStatus::CheckFailed.code() })
}

/// Splits into the address, and the index that its path names.
pub(super) fn split(target: &str) -> Result<(String, Option<String>), UsageError> {
    let Some((scheme, rest)) = target.split_once("://") else {
        let message = format!("{target} has no scheme");
        return Err(
            UsageError::new(Code::BadAddress, message).hint(format!("write http://{target} or https://{target}"))
        );
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    // Behind a gateway, the index is the last part of the path.
    let path = path.trim_end_matches('/');
    let (prefix, index) = path.rsplit_once('/').map_or(("", path), |(prefix, index)| (prefix, index));
    let slash = if prefix.is_empty() { "" } else { "/" };
    Ok((format!("{scheme}://{host}{slash}{prefix}"), (!index.is_empty()).then(|| index.to_owned())))
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    let of = diagnosis.index.as_ref().map(|index| format!(", {index}")).unwrap_or_default();
    let count = diagnosis.findings.len();
    let plural = if count == 1 { "" } else { "s" };
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}{of}: {count} finding{plural}", inline(&diagnosis.cluster));
    for finding in &diagnosis.findings {
        let confidence = match finding.confidence {
            Confidence::Sure => "sure",
            Confidence::Likely => "likely",
            Confidence::Maybe => "maybe",
        };
        let _ = writeln!(out, "\n{} ({}, {confidence})", inline(&finding.what), finding.id);
        let _ = writeln!(out, "  evidence  {}", inline(&finding.evidence));
        let _ = writeln!(out, "  why       {}", inline(finding.why));
        let _ = writeln!(out, "  fix       {}", inline(&finding.fix));
    }
    if !diagnosis.not_checked.is_empty() {
        let _ = writeln!(out, "\nnot checked:");
        for what in &diagnosis.not_checked {
            let _ = writeln!(out, "  {}", inline(what));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_last_part_of_the_path() {
        let check = |target: &str, url: &str, index: Option<&str>| {
            assert_eq!(split(target).ok(), Some((url.to_owned(), index.map(str::to_owned))), "{target}");
        };
        check("http://h:9200", "http://h:9200", None);
        check("http://h:9200/", "http://h:9200", None);
        check("https://h/logs-*", "https://h", Some("logs-*"));
        check("https://h/gateway/es/logs", "https://h/gateway/es", Some("logs"));
        assert!(split("h:9200").is_err());
    }
}
