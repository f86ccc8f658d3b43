//! Files, stdin and files on servers as a kind of source.

use std::sync::Arc;

use inrush_formats::Warnings;

use super::{SourceSpec, open};
use crate::registry::{Opened, Opening, Reopen, Request, SourceKind};
use crate::{FormatOptions, Source, SourceError, StoreOptions};

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// How they are written. Default: recognised from name and content.
    pub format: FormatOptions,
    /// Settings of object stores. Default: none besides the environment's.
    pub stores: Arc<StoreOptions>,
}

impl FileOptions {
    /// Whether the format is said, so that a web address without a file's ending is a file, too.
    pub(crate) fn is_format_told(&self) -> bool {
        self.format.format.is_some() || self.format.parse.is_some()
    }
}

/// Everything that is nothing else.
pub(crate) struct FilesKind;

impl SourceKind for FilesKind {
    fn name(&self) -> &'static str {
        "files"
    }

    fn find(&self, request: &Request) -> Option<String> {
        let first = request.arguments.first()?;
        Some(SourceSpec::with_options(first, &request.files.stores).to_string())
    }

    fn open<'a>(&'a self, request: &'a Request) -> Opening<'a> {
        Box::pin(async move {
            let (specs, format) = (specs(request), request.files.format.clone());
            let reopen: Reopen = Arc::new(move || -> Result<Box<dyn Source>, SourceError> {
                Ok(Box::new(open(&specs, format.clone(), &Warnings::default())?))
            });
            Ok(Opened { source: reopen()?, reopen: Some(reopen), models: None })
        })
    }
}

fn specs(request: &Request) -> Vec<SourceSpec> {
    let stores = &request.files.stores;
    request.arguments.iter().map(|argument| SourceSpec::with_options(argument, stores)).collect()
}
