//! A kind of source: it finds its arguments among those of a load, and opens them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use inrush_cluster::api::ConnectError;

use super::files::FileOptions;
use super::index::IndexModels;
use super::{Source, SourceError};

/// A kind of source, such as files or databases.
pub trait SourceKind: Send + Sync {
    /// The name of the kind, one or two words: `database`.
    fn name(&self) -> &'static str;

    /// The argument that belongs to this kind, without secrets. `None` where there is none.
    fn find(&self, request: &Request) -> Option<String>;

    /// Opens the sources. Called only where [`SourceKind::find`] returned an argument.
    fn open<'a>(&'a self, request: &'a Request) -> Opening<'a>;
}

/// The future of opening a source.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Opened, OpenError>> + Send + 'a>>;

/// Opens the same sources again, from their beginnings.
pub type Reopen = Arc<dyn Fn() -> Result<Box<dyn Source>, SourceError> + Send + Sync>;

/// The arguments that name sources, and the options of each kind.
///
/// ```
/// use inrush_sources::index::{IndexAddress, IndexKind, IndexOptions};
/// use inrush_sources::{Request, SourceKind};
///
/// let url = "https://old:9200/logs";
/// let address = IndexAddress::parse(url)?;
/// let options = IndexOptions { keep_versions: true, ..IndexOptions::new(address) };
/// let request = Request::new([url]).with(options);
/// assert_eq!(IndexKind.find(&request).as_deref(), Some("https://old:9200/logs"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Request {
    /// Paths, URLs or `-`, as the user gives them.
    pub arguments: Vec<OsString>,
    /// Options of files.
    #[doc(hidden)]
    pub files: FileOptions,
    others: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Request {
    /// Sources of any kind, with default options.
    pub fn new(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Request {
            arguments: arguments.into_iter().map(Into::into).collect(),
            files: FileOptions::default(),
            others: HashMap::new(),
        }
    }

    /// Sets the options of files.
    #[must_use]
    #[doc(hidden)]
    pub fn files(self, files: FileOptions) -> Self {
        Request { files, ..self }
    }

    /// Adds the options of a kind, such as [`DatabaseOptions`](super::DatabaseOptions). A second
    /// value of the same type replaces the first.
    #[must_use]
    pub fn with<O: Any + Send + Sync>(mut self, options: O) -> Self {
        self.others.insert(TypeId::of::<O>(), Box::new(options));
        self
    }

    /// The options of this type, which belong to one kind.
    pub fn options<O: Any>(&self) -> Option<&O> {
        self.others.get(&TypeId::of::<O>())?.downcast_ref()
    }

    /// Refuses further arguments beside `argument`. `what` names its kind, as in `a database`.
    ///
    /// # Errors
    /// [`OpenError::Arguments`], with `hint`.
    pub fn only_one(&self, argument: &str, what: &str, hint: &str) -> Result<(), OpenError> {
        match self.arguments.len() {
            0 | 1 => Ok(()),
            _ => Err(OpenError::arguments(
                format!("{argument} is {what}, and cannot be loaded together with other sources"),
                hint,
            )),
        }
    }
}

impl fmt::Debug for Request {
    /// Without the arguments, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("arguments", &self.arguments.len()).finish_non_exhaustive()
    }
}

/// An open source that was not read yet.
#[non_exhaustive]
pub struct Opened {
    /// The source.
    pub source: Box<dyn Source>,
    /// Opens the source again. `None` where it can be read only once, or cannot be opened in the
    /// same state again.
    pub reopen: Option<Reopen>,
    /// Mappings and settings of the source indices, where the source reads indices.
    #[doc(hidden)]
    pub models: Option<IndexModels>,
}

impl Opened {
    /// A source that cannot be opened again.
    pub fn new(source: impl Source + 'static) -> Self {
        Opened { source: Box::new(source), reopen: None, models: None }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("source", &self.source.describe()).finish_non_exhaustive()
    }
}

/// An error of opening a source. Nothing was read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Missing arguments, or arguments that exclude each other.
    #[error("{message}")]
    Arguments {
        /// The problem.
        message: String,
        /// The remedy.
        hint: String,
    },
    /// Unreadable files, or an unreadable database.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cluster cannot be reached or read.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
}

impl OpenError {
    /// An error of arguments, with its remedy.
    pub fn arguments(message: impl Into<String>, hint: impl Into<String>) -> Self {
        OpenError::Arguments { message: message.into(), hint: hint.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::database::{DatabaseAddress, DatabaseKind, DatabaseOptions, DatabaseRows};
    use super::super::index::IndexKind;
    use super::super::{Chunk, FilesKind};
    use super::*;

    async fn refused(kind: &dyn SourceKind, arguments: &[&str]) -> (String, String) {
        match kind.open(&Request::new(arguments.iter().copied())).await {
            Err(OpenError::Arguments { message, hint }) => (message, hint),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn arguments_that_do_not_go_together_are_refused() {
        let (message, _) = refused(&DatabaseKind, &["a.csv", "mysql://h/db"]).await;
        assert!(
            message.contains("mysql://h/db is a database, and cannot be loaded together with other sources"),
            "{message}"
        );
        let (message, hint) = refused(&IndexKind, &["http://h:9200/a", "http://h:9200/b"]).await;
        assert!(message.contains("http://h:9200/a is an index") && hint.contains("a,b"), "{message}: {hint}");
        let (message, hint) = refused(&DatabaseKind, &["postgres://me:pw@h/db"]).await;
        assert!(message.contains("postgres://me@h/db") && hint.contains("table"), "{message}: {hint}");
    }

    #[tokio::test]
    async fn files_are_opened_and_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        std::fs::write(&path, "{}\n{}\n").unwrap();
        let opened = FilesKind.open(&Request::new([&path])).await.unwrap();
        let again = opened.reopen.unwrap();
        for mut source in [opened.source, again().unwrap()] {
            let block = source.next_chunk(1000).unwrap().map(Chunk::into_block).unwrap();
            assert_eq!(block.records.len(), 2);
        }
        let missing = Request::new([folder.path().join("b.ndjson")]);
        assert!(matches!(FilesKind.open(&missing).await, Err(OpenError::Source(_))));
    }

    #[cfg(feature = "databases")]
    #[tokio::test(flavor = "multi_thread")]
    async fn a_kind_takes_its_options_from_the_request() {
        let folder = tempfile::tempdir().unwrap();
        let argument = format!("sqlite://{}", folder.path().join("missing.db").display());
        let address = DatabaseAddress::new(&argument).unwrap();
        let options = DatabaseOptions::new(address, DatabaseRows::Table("t".to_owned()));
        let request = Request::new([&argument]).with(options);
        let error = DatabaseKind.open(&request).await.unwrap_err().to_string();
        assert!(error.starts_with(&argument), "{error}");
    }

    #[cfg(not(feature = "databases"))]
    #[tokio::test]
    async fn a_build_without_databases_says_so() {
        let address = DatabaseAddress::new("postgres://h/db").unwrap();
        let options = DatabaseOptions::new(address, DatabaseRows::Table("t".to_owned()));
        let request = Request::new(["postgres://h/db"]).with(options);
        let error = DatabaseKind.open(&request).await.unwrap_err().to_string();
        assert!(error.contains("has no databases"), "{error}");
    }
}
