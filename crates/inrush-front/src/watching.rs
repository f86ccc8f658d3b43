//! What shows the loads of this process while they run: the live page and metrics.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use inrush_bake::{Baker, RunningBake};
use inrush_commands::options::{LoadPlan, Loader, OptionError, refused_watch};
use inrush_load::{Phase, Progress, RunningLoad};
use inrush_page::{Recorder, SegmentsView, Shown, SweepView, Watch, WatchConfig};
use tokio::sync::watch;

use crate::Say;

/// What shows the loads, if anything does.
#[derive(Debug)]
pub struct Watching {
    watch: Option<Watch>,
    /// The loads that have begun, in their order.
    shown: Mutex<Vec<Shown>>,
}

impl Watching {
    /// Begins to listen, and says the address of the page. `keep`: the history of the loads is kept
    /// also if neither page nor metrics show it.
    ///
    /// # Errors
    /// An address or a folder cannot be used.
    pub async fn start(config: WatchConfig, keep: bool, say: Say<'_>) -> Result<Self, OptionError> {
        if config.is_off() && !keep {
            return Ok(Watching { watch: None, shown: Mutex::default() });
        }
        let watch = Watch::start(config).await.map_err(|error| refused_watch(&error))?;
        tell(&watch, say);
        Ok(Watching { watch: Some(watch), shown: Mutex::default() })
    }

    /// The loader of a plan and its source, with the observer of the page. The name is that of the
    /// index.
    pub fn observe(&self, loader: Loader, name: &str) -> (Loader, Option<Shown>) {
        match self.show(name) {
            Some((recorder, shown)) => (loader.observe(recorder), Some(shown)),
            None => (loader, None),
        }
    }

    fn show(&self, name: &str) -> Option<(Recorder, Shown)> {
        Some(self.watch.as_ref()?.show(name))
    }

    /// Begins a bake, and shows it with its load. `name` is its index.
    pub fn bake(&self, name: &str, baker: Baker) -> (RunningBake, Option<Shown>) {
        match self.show(name) {
            None => (baker.start(), None),
            Some((_, shown)) => (inrush_commands::bake::start_shown(baker, &shown), Some(shown)),
        }
    }

    /// Shows a job that loads nothing itself, by the reports of its parts, until the progress is
    /// done.
    pub fn job(&self, name: &str) -> Option<(Shown, watch::Sender<Progress>)> {
        let (_, shown) = self.show(name)?;
        let mut now = Progress::default();
        now.phase = Phase::Loading;
        let (progress, followed) = watch::channel(now);
        shown.follow(followed);
        Some((shown, progress))
    }

    /// Shows a comparison with this index.
    pub fn compare(&self, index: &str) -> Option<Shown> {
        self.show(index).map(|(_, shown)| shown)
    }

    /// Shows a run of a sweep in place of the one before.
    pub fn run(&self, name: &str) -> Option<(Recorder, Shown)> {
        Some(self.watch.as_ref()?.show_only(name))
    }

    /// Where the page shows the runs of a sweep.
    pub fn sweep(&self) -> Option<SweepView> {
        self.watch.as_ref()?.sweep()
    }

    /// The address at which the page listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.watch.as_ref()?.address()
    }

    /// Reports the load to the page of the job that it is a part of, if it is one.
    ///
    /// # Errors
    /// The address of the page cannot be used.
    pub fn report(&mut self, shown: Option<&Shown>) -> Result<(), OptionError> {
        match (&mut self.watch, shown) {
            (Some(watch), Some(shown)) => watch.report(shown).map_err(|error| refused_watch(&error)),
            _ => Ok(()),
        }
    }

    /// Where the page shows the segments of the index.
    pub fn segments(&self) -> Option<SegmentsView> {
        self.watch.as_ref()?.segments()
    }

    /// The load has begun.
    pub fn begun(&self, shown: Option<Shown>, load: &RunningLoad) {
        if let Some(shown) = shown {
            shown.control(load.pause_handle(), load.stop_handle());
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(shown);
        }
    }

    /// The loads as viewers see them, in the order of their beginnings.
    pub fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends the last events to the viewers, and ends.
    pub async fn end(self) {
        if let Some(watch) = self.watch {
            watch.end().await;
        }
    }
}

/// Says the address of the page.
pub fn tell(watch: &Watch, say: Say<'_>) {
    let Some(url) = watch.url() else { return };
    let token = if watch.needs_token() { "; open it once with ?token=TOKEN at its end" } else { "" };
    say(&format!("live page: {url}{token}"));
}

/// The configuration of a plan, and the name of its load.
pub fn of_plan(plan: &mut LoadPlan) -> (WatchConfig, String) {
    (std::mem::take(&mut plan.watch), plan.config.index.as_str().to_owned())
}
