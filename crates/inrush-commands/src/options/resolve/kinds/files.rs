//! Files, files of dead letters, and sources of kinds that a program adds or feeds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::query::{self, Tables};
use super::{Can, Kind, Opened, Opening, Use, not_opened};
use crate::options::{LoadOptions, OptionError, OptionErrorKind, QueryOptions, ReadingOptions, VectorsOf};
use inrush_cluster::BoxFuture;
use inrush_load::LoadError;
use inrush_load::config::IdFrom;
use inrush_sources::{
    FileOptions, Format, FormatOptions, Reopen, Source, SourceError, SourceSpec, StoreOptions, Warnings, open,
};

/// Files, of whose words and options the others here have few.
const PLAIN: Kind = Kind {
    many: "files",
    example: "name files, globs in quotes, or - for stdin",
    alone: None,
    options: &[],
    reads: |_, _| false,
    read_as: "which is no file",
    has_ids: false,
    can: |_| Can::Do,
    open: of_files,
};

pub(super) static FILES: Kind = Kind { options: &[ReadingOptions::TABLE, QueryOptions::TABLE], ..PLAIN };

/// Sources of a kind that the program adds. They are opened with the options of files.
pub(super) static OF_PROGRAM: Kind = Kind {
    options: &[ReadingOptions::TABLE],
    can: |what| match what {
        Use::Query => Can::NoFiles("leave the query out"),
        _ => Can::Do,
    },
    ..PLAIN
};

/// Documents that a program hands over. They are in no argument, so nothing opens them.
pub(super) static HANDED_OVER: Kind = Kind {
    // They are about its data frames.
    reads: |reading, name| reading.for_rows().any(|info| info.name == name),
    can: |what| match what {
        Use::Map | Use::Shards => Can::Once("documents of a program come only once"),
        _ => Can::Do,
    },
    ..PLAIN
};

/// The documents of a file of dead letters.
pub(super) static DEAD_LETTERS: Kind = Kind {
    can: |what| match what {
        Use::Map => Can::Once(READ_ONCE),
        _ => Can::Do,
    },
    open: dead_letters,
    ..PLAIN
};

/// Why stdin and dead letters are not read twice.
pub(in super::super) const READ_ONCE: &str = "stdin and dead letters can be read only once";

/// Opens files, or the result of a query over them.
fn of_files(opening: Opening<'_>) -> BoxFuture<'_, Result<Opened, LoadError>> {
    Box::pin(async move {
        let LoadOptions { source, reading, query, target, shape, .. } = opening.load;
        check_some(&source.sources, query, reading)?;
        let mut format = reading.format_options(opening.config.limits.document_bytes_max)?;
        format.csv.time_zone = shape.time_zone;
        if target.id_from == Some(IdFrom::Content) {
            // The id of a document must not depend on the documents before it.
            format.binary = format.binary.fixed();
        }
        if let Some(sql) = query::text(query)? {
            query::check_ids(reading)?;
            query::check_zone(opening.load, &sql)?;
            let tables = Tables { options: query, input: reading.specs(&source.sources)?, format };
            let source = tables.source(&sql, opening.config.id.clone()).await?;
            return Ok(Opened { source, reopen: None, model: None });
        }
        let files = FileOptions { format, stores: reading.stores(&source.sources)? };
        let opened = opening.open(&opening.request().files(files)).await?.into();
        with_vectors(opened, &reading.vectors, opening.config.limits.document_bytes_max)
    })
}

/// Puts the vectors of files into the documents of open sources.
fn with_vectors(opened: Opened, vectors: &[VectorsOf], document_bytes_max: usize) -> Result<Opened, LoadError> {
    if vectors.is_empty() {
        return Ok(opened);
    }
    let vectors: Vec<_> = vectors.iter().map(|of| (of.field.clone(), of.path.clone())).collect();
    let refused = |error: OptionError| LoadError::from(error.of("vectors"));
    let fields = vectors.iter().enumerate();
    if let Some((_, (field, _))) =
        fields.clone().find(|(at, (field, _))| vectors[..*at].iter().any(|of| of.0 == *field))
    {
        let message = format!("option `vectors` names the field {field:?} twice");
        return Err(refused(OptionError::conflict(message).hint("give several files of a field as a glob in quotes")));
    }
    let beside = move |source: Box<dyn Source>| put_beside(source, &vectors, document_bytes_max);
    let not_usable = |error: SourceError| refused(OptionError::unusable(error.to_string()).coded(error.code));
    let source = beside(opened.source).map_err(not_usable)?;
    let reopen = opened.reopen.map(|open| -> Reopen { Arc::new(move || beside(open()?)) });
    Ok(Opened { source, reopen, model: opened.model })
}

#[cfg(feature = "columns")]
fn put_beside(
    source: Box<dyn Source>,
    vectors: &[(String, PathBuf)],
    document_bytes_max: usize,
) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(inrush_sources::Beside::new(source, vectors, document_bytes_max)?))
}

#[cfg(not(feature = "columns"))]
fn put_beside(
    source: Box<dyn Source>,
    _vectors: &[(String, PathBuf)],
    _document_bytes_max: usize,
) -> Result<Box<dyn Source>, SourceError> {
    let message = "this build cannot read vectors; build it with the cargo feature arrow";
    Err(SourceError::new(source.describe().title(), message).coded(inrush_core::Code::NotInThisBuild))
}

fn dead_letters(opening: Opening<'_>) -> BoxFuture<'_, Result<Opened, LoadError>> {
    let document_bytes_max = opening.config.limits.document_bytes_max;
    let format = FormatOptions { format: Some(Format::DeadLetters), document_bytes_max, ..FormatOptions::default() };
    let specs: Vec<_> = opening.load.source.from_dead_letters.iter().cloned().map(SourceSpec::Path).collect();
    let reopen: Reopen = Arc::new(move || -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(open(&specs, format.clone(), &Warnings::default())?))
    });
    Box::pin(async move {
        let source = reopen().map_err(|error| not_opened(error.into()))?;
        Ok(Opened { source, reopen: Some(reopen), model: None })
    })
}

/// Checks that there is a source, and that options about formats apply to one of the sources.
pub(in super::super) fn check_some(
    sources: &[OsString],
    query: &QueryOptions,
    reading: &ReadingOptions,
) -> Result<(), OptionError> {
    if !sources.is_empty() {
        return Ok(());
    }
    if query.table.is_empty() {
        return Err(OptionError::new(OptionErrorKind::Missing, "nothing to load")
            .of("sources")
            .hint("name files, globs in quotes, or - for stdin"));
    }
    match reading.for_files().find(|info| info.name != "workbook_bytes") {
        None => Ok(()),
        Some(info) => {
            let message =
                format!("option `{}` is for a SOURCE, but there are only tables of option `table`", info.name);
            Err(OptionError::conflict(message)
                .of(info.name)
                .hint("give its file as the SOURCE, which is the table `input`"))
        }
    }
}

impl ReadingOptions {
    /// The files and their places.
    ///
    /// # Errors
    /// Options for object stores that cannot be used.
    pub fn specs(&self, sources: &[OsString]) -> Result<Vec<SourceSpec>, OptionError> {
        let options = self.stores(sources)?;
        Ok(sources.iter().map(|source| SourceSpec::with_options(source, &options)).collect())
    }

    /// Settings of object stores, for these sources.
    pub(super) fn stores(&self, sources: &[OsString]) -> Result<Arc<StoreOptions>, OptionError> {
        let options = StoreOptions::parse(&self.store_option);
        let options = Arc::new(options.map_err(|problem| OptionError::value("store_option", problem))?);
        let is_url = |source: &OsString| matches!(SourceSpec::with_options(source, &options), SourceSpec::Url(_));
        if !self.store_option.is_empty() && !sources.iter().any(is_url) {
            return Err(OptionError::conflict("option `store_option` is for object stores, but no source is in one")
                .of("store_option")
                .hint("leave it out, or name the source with its address, as in s3://bucket/logs/*.parquet"));
        }
        Ok(options)
    }
}
