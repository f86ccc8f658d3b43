//! Reports what a bake would do, without doing it.

use inrush_cluster::BoxFuture;
use inrush_cluster::api::ClusterError;
use inrush_load::LoadError;
use inrush_load::checkpoint::Job;
use inrush_load::dry_run::{DryRun, dry_run as of_load};
use inrush_sources::{Reopen, Repeats, SourceInfo};

use crate::config::{BakeConfig, BakeError, Place};
use crate::prepare::{Prepared, prepare};
use crate::run::{READ_ONCE, parts, way_to_target};

/// Reads the sources and the target. Nothing is written, and no builder is started or asked.
///
/// # Errors
/// Options that contradict each other, and a target that cannot be reached. Problems that would
/// stop a bake are in the result.
pub fn dry_run(config: BakeConfig, open: Reopen) -> BoxFuture<'static, Result<DryRun, BakeError>> {
    Box::pin(async move {
        config.check().map_err(LoadError::usage)?;
        let source = open()?;
        let SourceInfo { bytes_total: bytes, repeats, .. } = source.describe();
        let parts = parts(config, None);
        let job = Job::new(&parts.load, source.as_ref())?;
        let mut found = of_load(parts.load.clone(), source).await?;
        if repeats != Repeats::Always {
            found.problems.push(READ_ONCE.to_owned());
        }
        let target = way_to_target(&parts.load).await?;
        match prepare(&target, &parts, job, bytes).await {
            Ok(Prepared { saved, warnings, .. }) => {
                let new = warnings.into_iter().filter(|warning| !found.warnings.contains(warning));
                let new: Vec<String> = new.collect();
                found.warnings.extend(new);
                let place = match &parts.delivery.place {
                    Place::Path(folder) => folder.display().to_string(),
                    Place::Repository(name) => format!("the repository {name}"),
                };
                let because = saved.server_because.as_ref().map(|why| format!("; a server builds it, because {why}"));
                let because = because.unwrap_or_default();
                found.bake = Some(format!(
                    "built with {}, and handed over through {place}{because}",
                    parts.engines.of(&saved).title(&saved)
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
