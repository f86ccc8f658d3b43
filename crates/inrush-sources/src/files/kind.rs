//! Files, stdin and files on servers as a kind of source.

use std::sync::Arc;

use inrush_formats::Warnings;

use super::{SourceSpec, open};
use crate::registry::{Opened, Opening, Reopen, Request, SourceKind};
use crate::{FormatOptions, Source, SourceError, StoreOptions};

/// Options of files.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// Format of the files. Default: detected by name and content.
    pub format: FormatOptions,
    /// Options of object stores. Default: only those of the environment.
    pub stores: Arc<StoreOptions>,
}

impl FileOptions {
    /// Whether the user gave the format. A web address without a file extension is a file then.
    pub(crate) fn is_format_given(&self) -> bool {
        self.format.format.is_some() || self.format.parse.is_some()
    }
}

/// Files. This kind takes all arguments that no other kind recognises.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilesKind;

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
