//! Option `map`: infers a mapping from the first documents of the sources.

use super::kinds::{self, Found, READ_ONCE, Use};
use super::{Environment, config, panicked};
use crate::mapping::{Inference, Mixed, Note, NoteKind, infer_shaped};
use crate::options::{LoadOptions, OptionError};
use inrush_core::encode::Shape;
use inrush_core::{Code, StopReason};
use inrush_load::config::LoadConfig;
use inrush_load::{LoadError, WarningDetail};

/// The number of records that are read, which takes about a second.
const ROWS: u64 = 100_000;

/// The most notes in the report.
const NOTES_MAX: usize = 5;

/// Infers the mapping before an index is created.
pub(super) async fn of_load(
    options: &LoadOptions,
    config: &mut LoadConfig,
    (found, environment): (&Found<'_>, &Environment),
) -> Result<(), LoadError> {
    if options.target.map.is_none() {
        return Ok(());
    }
    if options.source.sources.iter().any(|source| source == "-") {
        return Err(OptionError::conflict(format!("option `map=auto` reads the sources twice, but {READ_ONCE}"))
            .of("map")
            .hint("write a mapping with `inrush mapping`, and give it with option `mapping`")
            .into());
    }
    let found = options.infer_with(found, config, Some(ROWS), environment).await?;
    let found = match found {
        Ok(found) => found,
        Err(problem) => return Err(OptionError::unusable(format!("option `map=auto`: {problem}")).of("map").into()),
    };
    if let Some(clash) = found.advice.clashes.first() {
        return Err(OptionError::unusable(format!("option `map=auto`: {clash}")).of("map").into());
    }
    // The report has these as warnings of the sources.
    for warning in found.warnings.iter().take(NOTES_MAX) {
        tracing::warn!("option `map=auto`: {warning}");
    }
    config.create.inferred = Some(inferred(&found.advice.notes));
    config.create.mapping = Some(found.advice.mapping);
    config.create.vectors = found.advice.vectors;
    config.create.unsigned = found.advice.unsigned;
    Ok(())
}

/// What a person should know of an inferred mapping, the first of it.
fn inferred(notes: &[Note]) -> Vec<WarningDetail> {
    let mut notes = notes.iter().filter(|note| note.kind != NoteKind::Choice);
    let warnings: Vec<WarningDetail> = notes.by_ref().take(NOTES_MAX).map(warning).collect();
    let more = match notes.count() {
        0 => None,
        more => Some(WarningDetail::of_load(format!(
            "option `map=auto`: {more} more findings about fields; `inrush mapping` shows all of them"
        ))),
    };
    warnings.into_iter().chain(more).collect()
}

fn warning(note: &Note) -> WarningDetail {
    let field = Some(note.field.clone()).filter(|field| !field.is_empty());
    let name = field.as_ref().map(|field| format!("{field} ")).unwrap_or_default();
    let mut warning = WarningDetail::of_load(format!("option `map=auto`: {name}{}", note.text));
    warning.column = field;
    warning.code = if note.kind == NoteKind::Conflict { "mixed_types" } else { "other_reading" }.to_owned();
    warning
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
        let environment = Environment::empty();
        self.check_conflicts()?;
        let found = kinds::find(self, &environment.kinds)?;
        found.check(self, Use::Infer)?;
        let mut config = config::of_sources()?;
        config.limits.document_bytes_max = document_bytes_max;
        self.infer_with(&found, &config, rows, &environment).await
    }

    async fn infer_with(
        &self,
        found: &Found<'_>,
        config: &LoadConfig,
        rows: Option<u64>,
        environment: &Environment,
    ) -> Result<Result<Inference, StopReason>, LoadError> {
        let mut again = self.clone();
        // Dates are detected in text. The inferred mapping accepts milliseconds, too.
        again.reading.timestamps = None;
        let mut source = found.open_again(&again, config, environment).await?;
        let info = source.describe();
        if info.is_endless {
            let message = format!("{} never ends, so no mapping can be made of its documents", info.title());
            return Err(OptionError::conflict(message).of("map").hint("give a mapping with option `mapping`").into());
        }
        let mixed: Mixed = self.target.mixed.unwrap_or_default();
        let shape = Shape::new(&self.shape.shaping());
        let reading = tokio::task::spawn_blocking(move || infer_shaped(source.as_mut(), rows, mixed, shape));
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
