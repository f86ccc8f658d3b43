//! Option `map`: infers a mapping from the first documents of the sources.

use super::panicked;
use super::sources::{Rows, index_address, open_rows};
use crate::mapping::{Inference, Mixed, NoteKind, infer};
use crate::options::{LoadOptions, OptionError};
use inrush_core::{Code, StopReason};
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_sources::Registry;

/// The number of records that are read, which takes about a second.
const ROWS: u64 = 100_000;

/// The most notes in the log.
const NOTES_MAX: usize = 5;

/// Infers the mapping before an index is created.
pub(super) async fn of_load(
    options: &LoadOptions,
    config: &mut LoadConfig,
    registry: &Registry,
) -> Result<(), LoadError> {
    if options.target.map.is_none() {
        return Ok(());
    }
    let source = &options.source;
    if source.from_dead_letters.is_some() || source.sources.iter().any(|source| source == "-") {
        let message = "option `map=auto` reads the sources twice, but stdin and dead letters can be read only once";
        return Err(OptionError::conflict(message)
            .of("map")
            .hint("write a mapping with `inrush mapping`, and give it with option `mapping`")
            .into());
    }
    let found = options.infer_with(config.limits.document_bytes_max, Some(ROWS), registry).await?;
    let found = match found {
        Ok(found) => found,
        Err(problem) => return Err(OptionError::unusable(format!("option `map=auto`: {problem}")).of("map").into()),
    };
    for note in found.advice.notes.iter().filter(|note| note.kind == NoteKind::Conflict).take(NOTES_MAX) {
        let field = if note.field.is_empty() { String::new() } else { format!("{} ", note.field) };
        tracing::warn!("option `map=auto`: {field}{}", note.text);
    }
    config.create.mapping = Some(found.advice.mapping);
    Ok(())
}

impl LoadOptions {
    /// Infers a mapping from the first `rows` documents of the sources, or from all. The inner
    /// error says why there are no documents.
    ///
    /// # Errors
    /// The sources cannot be opened or read.
    pub async fn infer(
        &self,
        document_bytes_max: usize,
        rows: Option<u64>,
    ) -> Result<Result<Inference, StopReason>, LoadError> {
        self.infer_with(document_bytes_max, rows, &Registry::default()).await
    }

    async fn infer_with(
        &self,
        document_bytes_max: usize,
        rows: Option<u64>,
        registry: &Registry,
    ) -> Result<Result<Inference, StopReason>, LoadError> {
        self.check_conflicts()?;
        if index_address(&self.source.sources, &self.reading)?.is_some() {
            return Err(OptionError::conflict("an index has a mapping already")
                .hint("`inrush load` copies it with option `copy_mapping`, and GET INDEX/_mapping shows it")
                .into());
        }
        let mut read = Rows::of(self, document_bytes_max, registry);
        read.id = None;
        // Dates are detected in text. The inferred mapping accepts milliseconds, too.
        read.reading.timestamps = None;
        let (mut source, _) = open_rows(&read).await?;
        let info = source.describe();
        if info.is_endless {
            let message = format!("{} never ends, so no mapping can be made of its documents", info.title());
            return Err(OptionError::conflict(message).of("map").hint("give a mapping with option `mapping`").into());
        }
        let mixed: Mixed = self.target.mixed.unwrap_or_default();
        let reading = tokio::task::spawn_blocking(move || infer(source.as_mut(), rows, mixed));
        let found = reading.await.map_err(|_| panicked())??;
        Ok(match (&found.first_rejected, found.advice.docs) {
            (Some(first), 0) => {
                let records = if found.docs_rejected == 1 { "record" } else { "records" };
                let rejected = found.docs_rejected;
                let message = format!("there are no documents: {rejected} {records} rejected, the first at {first}");
                Err(StopReason::new(Code::BadSource, message))
            }
            (None, 0) => Err(StopReason::new(Code::EmptySource, "there are no documents to read")),
            _ => Ok(found),
        })
    }
}
