//! Indices of a cluster as a kind of source.

use inrush_cluster::api::{ClusterInfo, ConnectError};
use inrush_formats::Warnings;

use super::{IndexAddress, IndexModel, IndexOptions, IndexSource};
use crate::SourceUrl;
use crate::registry::{OpenError, Opened, Opening, Request, SourceKind};

/// The source indices, with mappings and settings, and their cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexModels {
    /// Product and version of the cluster.
    pub info: ClusterInfo,
    /// Mapping and settings of each index.
    pub models: Vec<IndexModel>,
    /// Number of documents to read.
    pub docs: u64,
}

/// Indices, recognised by a web address that is not a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexKind;

fn argument(request: &Request) -> Option<&str> {
    let is_format_given = request.files.is_format_given();
    let arguments = request.arguments.iter().filter_map(|argument| argument.to_str());
    arguments.into_iter().find(|argument| IndexAddress::is_meant(argument, is_format_given))
}

impl SourceKind for IndexKind {
    fn name(&self) -> &'static str {
        "index"
    }

    fn find(&self, request: &Request) -> Option<String> {
        SourceUrl::new(argument(request)?, &request.files.stores).map(|url| url.to_string())
    }

    fn open<'a>(&'a self, request: &'a Request) -> Opening<'a> {
        Box::pin(async move {
            let nothing = || OpenError::arguments("no index is given", "name one, such as https://host:9200/index");
            let address = IndexAddress::parse(argument(request).ok_or_else(nothing)?).map_err(ConnectError::from)?;
            let shown = format!("{}/{}", address.node, address.expression);
            let hint = "load one source after another, or give several indices of one cluster in one URL: https://host:9200/a,b,logs-*";
            request.only_one(&shown, "an index", hint)?;
            let options = request.options::<IndexOptions>().cloned();
            let options = options.unwrap_or_else(|| IndexOptions::new(address));
            let source = IndexSource::open(options, &Warnings::default()).await?;
            let models = IndexModels { info: source.info().clone(), models: source.models(), docs: source.docs() };
            Ok(Opened { models: Some(models), ..Opened::new(source) })
        })
    }
}
