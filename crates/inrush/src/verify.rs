//! Compares an index with its source: each document, or a sample of them.
//!
//! ```no_run
//! use inrush::cluster::{Cluster, Credentials, HttpOptions};
//! use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
//! use inrush::verify::{VerifyOutcome, VerifyOptions, verify};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let (to, http) = (["http://localhost:9200"], HttpOptions::default());
//! let cluster = Cluster::connect(&to, Credentials::None, &http).await?;
//! let files = [SourceSpec::new("logs/*.ndjson.zst")];
//! let source = open(&files, FormatOptions::default(), &Warnings::default())?;
//! let options = VerifyOptions { id: Some("id".parse()?), ..VerifyOptions::new("logs".parse()?) };
//! let report = verify(&cluster, Box::new(source), &options, |_| {}).await?;
//! assert_eq!(report.result, VerifyOutcome::Equal);
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

#[doc(inline)]
pub use inrush_commands::verify::{
    Example, Examples, VerifyError, VerifyOptions, VerifyOutcome, VerifyProgress, VerifyReport,
};
#[doc(inline)]
pub use inrush_core::zone::Zone;
#[doc(inline)]
pub use inrush_core::{Dots, Rename, Shaping};

use crate::cluster::Cluster;
use crate::source::Source;

/// Compares `source` with an index. Nothing is written to the index. It is refreshed, so that its
/// documents can be counted. `show` is called with the progress.
///
/// # Errors
/// [`VerifyError`] if the source or the index could not be read to the end. There is no result
/// then.
pub async fn verify(
    cluster: &Cluster,
    source: Box<dyn Source>,
    options: &VerifyOptions,
    show: impl Fn(VerifyProgress),
) -> Result<VerifyReport, VerifyError> {
    inrush_commands::verify::verify(Arc::clone(cluster.transport()), source, options, show).await
}
