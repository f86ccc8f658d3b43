//! A load whose documents come from the program.

use super::kinds::{Found, Use};
use super::{Environment, confirmations, local, watch_config};
use crate::options::{ForAll, LoadOptions, LoadPlan, OptionError, SourceOptions};
use inrush_load::LoadError;
use inrush_sources::Source;
use inrush_sources::push::{PushOptions, Sender, channel};

/// The most bytes of documents that wait for the encoder. A load with less memory uses a quarter of
/// it.
const WAITING_BYTES_MAX: usize = 16 << 20;

impl LoadOptions {
    /// A plan for documents of the program, and the feed that accepts them. `name` is the source's
    /// name in reports. `bytes` is the approximate total size, if known: settings of the index are
    /// changed for large loads only.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`]. Options about sources are refused.
    pub async fn resolve_fed(
        self,
        name: &str,
        bytes: Option<u64>,
        environment: &Environment,
    ) -> Result<(Sender, LoadPlan), LoadError> {
        self.check_conflicts()?;
        self.check_fed()?;
        let config = self.config(environment)?;
        let limits = &config.limits;
        let (sender, source) = channel(PushOptions {
            memory: (limits.memory / 4).clamp(1, WAITING_BYTES_MAX),
            linger: limits.linger.min(PushOptions::default().linger),
            document_bytes_max: limits.document_bytes_max,
            name: name.to_owned(),
            timestamps: self.reading.timestamps.unwrap_or_default(),
            binary: self.reading.binary.unwrap_or_default(),
        });
        let source: Box<dyn Source> = Box::new(source.with_bytes_total(bytes));
        let local = local(&config, &self.target.to).await?;
        let confirmations = confirmations(&self, &config, local.as_ref());
        let (notes, watch) = (Vec::new(), watch_config(&self.watch, environment)?);
        let plan =
            LoadPlan { config, source, reopen: None, fetch: None, local, model: None, confirmations, notes, watch };
        Ok((sender, plan))
    }

    /// Refuses options about sources: documents of a program come from no file, database or index.
    pub(crate) fn check_fed(&self) -> Result<(), OptionError> {
        let ForAll {
            source: SourceOptions { sources, from_dead_letters },
            shape,
            fetch,
            // These are about the cluster, the requests and the end, so they apply to every source.
            target: _,
            login: _,
            sizes: _,
            errors: _,
            end: _,
            resume: _,
            watch: _,
        } = self.for_all();
        if !sources.is_empty() || from_dead_letters.is_some() {
            let name = if sources.is_empty() { "from_dead_letters" } else { "sources" };
            let message = format!("option `{name}` is a source of its own, but the program also gives documents");
            return Err(OptionError::conflict(message).of(name).hint("load one after the other"));
        }
        if shape.limit.is_some() {
            let message = "option `limit` is about sources, but the program gives the documents";
            return Err(OptionError::conflict(message).of("limit").hint("give fewer documents"));
        }
        fetch.refuse("a load of documents of a program")?;
        Found::of_program().check(self, Use::Load)
    }
}
