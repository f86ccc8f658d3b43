//! Reports what a bake would do, without doing it.

use inrush_cluster::BoxFuture;
use inrush_cluster::api::{ClusterError, connect};
use inrush_load::LoadError;
use inrush_load::checkpoint::Job;
use inrush_load::dry_run::{DryRun, dry_run as of_load};
use inrush_load::loader::http_options;
use inrush_sources::{Reopen, Repeats, SourceInfo};

use crate::config::{BakeConfig, BakeError, Place};
use crate::prepare::{Prepared, prepare};
use crate::run::{READ_ONCE, engines};

/// Reads the sources and the target. Nothing is written, and no builder is started or asked.
///
/// # Errors
/// Options that contradict each other, and a target that cannot be reached. Problems that would
/// stop a bake are in the result.
pub fn dry_run(mut config: BakeConfig, open: Reopen) -> BoxFuture<'static, Result<DryRun, BakeError>> {
    Box::pin(async move {
        config.check().map_err(LoadError::usage)?;
        let source = open()?;
        let SourceInfo { bytes_total: bytes, repeats, .. } = source.describe();
        let job = Job::new(&config.load, source.as_ref())?;
        let mut found = of_load(config.load.clone(), source).await?;
        if repeats != Repeats::Always {
            found.problems.push(READ_ONCE.to_owned());
        }
        let load = &config.load;
        let target = connect(&load.to, load.credentials.clone(), &http_options(load)).await?;
        let engines = engines(None);
        match prepare(&target, &mut config, &engines, job, bytes).await {
            Ok(Prepared { saved, warnings, .. }) => {
                let new = warnings.into_iter().filter(|warning| !found.warnings.contains(warning));
                let new: Vec<String> = new.collect();
                found.warnings.extend(new);
                let place = match &config.place {
                    Place::Path(folder) => folder.display().to_string(),
                    Place::Repository(name) => format!("the repository {name}"),
                };
                let because = saved.server_because.as_ref().map(|why| format!("; a server builds it, because {why}"));
                let because = because.unwrap_or_default();
                found.bake = Some(format!(
                    "built with {}, and handed over through {place}{because}",
                    engines.of(&saved).title(&saved)
                ));
            }
            Err(error) => {
                if let BakeError::Load(LoadError::Cluster(ClusterError::Http(_) | ClusterError::LogIn { .. })) = &error
                {
                    return Err(error);
                }
                let problem = error.to_string();
                // A load would meet some of these problems as well.
                if !found.problems.contains(&problem) {
                    found.problems.push(problem);
                }
            }
        }
        Ok(found)
    })
}
