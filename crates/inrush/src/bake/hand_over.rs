//! What is done on the target: restoring the index, counting it, and giving it its names.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::build::SNAPSHOT;
use super::config::BakeError;
use super::run::Bake;
use super::throttle;
use crate::cluster::{ClusterError, aliases, index, snapshots, stats};
use crate::finish::{Finishing, is_passing};
use crate::report::{Verified, VerifiedState};

/// How often the index is restored where the target has lost it in between.
const RESTORES_MAX: u32 = 3;
/// How long shards may wait for a copy of themselves after the target has started again, before the restore counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
/// No limit of the repository's own; the target's throttle is another one.
const UNLIMITED: &str = "1000gb";

impl Bake {
    /// Restores the index, and again where the target started anew in the middle of it.
    pub(super) async fn restore(&mut self) -> Result<String, BakeError> {
        let (_, docs) = self.saved.loaded.clone().ok_or_else(|| refuse("the index was not loaded"))?;
        self.prepare_restore().await?;
        let name = self.saved.index.clone();
        for _ in 0..RESTORES_MAX {
            self.begin_restore().await?;
            if let Some(lost) = self.wait_for_primaries().await? {
                tracing::warn!("{lost}; it is restored again");
            } else {
                let counted = self.on_target(|| stats::count_now(&self.target, &name)).await?;
                if counted == docs {
                    return Ok(format!("{name} with {docs} documents"));
                }
                tracing::warn!("{name} was restored with {counted} instead of {docs} documents; it is restored again");
            }
            // Begun by us, and by nobody else: that was looked at before.
            self.on_target(|| index::delete(&self.target, &name)).await?;
        }
        Err(refuse(&format!("{name} was not whole after {RESTORES_MAX} restores; see the log of the target")))
    }

    /// Registers the repository, where an earlier run has taken it away again, and lifts throttles if that is asked for.
    async fn prepare_restore(&mut self) -> Result<(), BakeError> {
        let mut repository = self.saved.shared.read_only();
        if self.config.unthrottle {
            repository.settings.insert("max_restore_bytes_per_sec".to_owned(), json!(UNLIMITED));
        }
        self.saved.registered = true;
        self.write()?;
        let name = self.saved.repository();
        // One that is being restored from cannot be changed; then a run that was cut off has begun that.
        if snapshots::identity(&self.target, &self.saved.index).await?.is_none() {
            self.on_target(|| snapshots::register(&self.target, &name, &repository)).await?;
        }
        if self.config.unthrottle && self.saved.throttle.is_none() {
            let now = self.on_target(|| throttle::look(&self.target)).await?;
            self.saved.throttle = Some(now.clone());
            self.write()?;
            self.on_target(|| throttle::lift(&self.target, &now)).await?;
        }
        Ok(())
    }

    /// Begins to restore, unless that was done before.
    async fn begin_restore(&mut self) -> Result<(), BakeError> {
        let (repository, name) = (self.saved.repository(), self.saved.index.clone());
        let made = self.saved.made.clone().ok_or_else(|| refuse("the index was not made"))?;
        loop {
            let found = self.on_target(|| snapshots::identity(&self.target, &name)).await?;
            match found {
                // A restored index has the time of its making on the builder.
                Some(found) if self.saved.restoring && found.created == made.created => return Ok(()),
                Some(_) => {
                    return Err(refuse(&format!(
                        "somebody has made an index {name} on the target meanwhile; it is left alone"
                    )));
                }
                None => {}
            }
            self.saved.restoring = true;
            self.write()?;
            let plan = &self.saved.plan;
            let begun =
                snapshots::restore(&self.target, &repository, SNAPSHOT, &name, &plan.restored, &plan.ignored).await;
            match begun {
                Ok(()) => return Ok(()),
                // Whether it was begun is told by the index.
                Err(error) if is_passing(&error) => tracing::warn!("{error}"),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(POLL_MAX).await;
        }
    }

    /// Waits until all primary shards are in use. Their health says nothing: it is yellow before the first file is there. `Some`: the restore is lost,
    /// and why.
    async fn wait_for_primaries(&self) -> Result<Option<String>, BakeError> {
        let (until, mut pause) = (Instant::now() + self.config.load.finish.wait_timeout, POLL_MIN);
        let mut waits_since: Option<Instant> = None;
        let name = &self.saved.index;
        loop {
            let state = match snapshots::primaries(&self.target, name).await {
                Ok(found) if found.total > 0 && found.started == found.total => return Ok(None),
                Ok(found) => {
                    if let Some(why) = found.failed {
                        return Err(refuse(&format!("the target cannot restore {name}: {why}")));
                    }
                    let since = waits_since.get_or_insert_with(Instant::now);
                    if !found.waits_for_itself {
                        waits_since = None;
                    } else if since.elapsed() > LOST_AFTER {
                        return Ok(Some(format!(
                            "the target was started anew while {name} was restored, and has lost it"
                        )));
                    }
                    format!("{} of {} primary shards of {name} are restored", found.started, found.total)
                }
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) if error.status() == Some(404) => {
                    return Ok(Some(format!("{name} is gone from the target")));
                }
                Err(error) => return Err(error.into()),
            };
            if Instant::now() >= until {
                return Err(refuse(&format!("{state} (--wait-timeout)")));
            }
            self.show(&format!("restore: {state}"));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(POLL_MAX);
        }
    }

    /// Waits for the copies of the shards and counts again, as everybody sees it.
    pub(super) async fn verify(&self, finishing: &Finishing) -> Result<(String, Verified), BakeError> {
        let (report, docs) = self.saved.loaded.as_ref().ok_or_else(|| refuse("the index was not loaded"))?;
        let name = &self.saved.index;
        let green = finishing.green(name).await.map_err(|why| refuse(&why))?;
        let counted = self.on_target(|| stats::count_now(&self.target, name)).await?;
        if counted != *docs {
            return Err(refuse(&format!(
                "{name} holds {counted} documents on the target and {docs} on the builder; is something else writing to it?"
            )));
        }
        let verified = match report.verified.state {
            VerifiedState::Yes => Verified {
                state: VerifiedState::Yes,
                detail: format!("{}, and as many on the target", report.verified.detail),
            },
            VerifiedState::No | VerifiedState::NotProvable | VerifiedState::Off => report.verified.clone(),
        };
        Ok((format!("{green}, {counted} documents"), verified))
    }

    /// Gives the index the aliases that the target's templates give a new one.
    pub(super) async fn give_aliases(&self) -> Result<usize, BakeError> {
        let named = &self.saved.plan.aliases;
        if named.is_empty() {
            return Ok(0);
        }
        let add = |(alias, carried): (&String, &Value)| {
            let mut add = carried.as_object().cloned().unwrap_or_default();
            add.insert("index".to_owned(), json!(self.saved.index));
            add.insert("alias".to_owned(), json!(alias));
            json!({ "add": add })
        };
        let actions = json!({"actions": named.iter().map(add).collect::<Vec<_>>()});
        self.on_target(|| aliases::update(&self.target, &actions)).await?;
        Ok(named.len())
    }

    /// Asks the target, and again while it cannot answer. Only for what may be done twice.
    pub(super) async fn on_target<T, F>(&self, work: impl Fn() -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        let until = Instant::now() + self.config.load.limits.retry_for;
        loop {
            match work().await {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && Instant::now() < until => {
                    self.show(&format!("the target does not answer: {error}"));
                    tokio::time::sleep(POLL_MAX).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn refuse(why: &str) -> BakeError {
    BakeError::Refused(why.to_owned())
}
