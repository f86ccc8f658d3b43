//! The flags of `inrush bake`: those of a load, and its own.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::LoadArgs;
use crate::units::parse_bytes_positive;

/// Build an index beside its cluster and hand it over finished: the cluster copies files instead of indexing.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
The documents are loaded into a server of the target's version that is started on this machine for it. What it has built
goes as a snapshot through a repository that both reach, and is restored on the target under its final name. On any
failure the target is as it was, and --resume goes on. See docs/bake.md.

Exit statuses are those of `inrush load`.")]
pub(crate) struct BakeArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) flags: BakeFlags,
}

/// What a bake has besides the flags of a load.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Bake")]
pub(crate) struct BakeFlags {
    /// Folder of a file system that this machine and all nodes of the target have at the same path, below the nodes'
    /// path.repo. A folder of its own is made there, and deleted at the end
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "repository")]
    pub(crate) repository_path: Option<PathBuf>,
    /// Instead of a folder: a repository of the target, of whose place and type one is made for this bake. What is in it is not
    /// touched. Other types than fs need the server's plugin on the builder, too (--builder-home)
    #[arg(long, value_name = "NAME")]
    pub(crate) repository: Option<String>,
    /// A data stream of the target that the index becomes a part of at the end, behind the one that is written to; --index is its name by itself, one
    /// that no template makes data streams of. Elasticsearch 7.16 and newer
    #[arg(long, value_name = "NAME")]
    pub(crate) data_stream: Option<String>,
    /// Lift the target's throttles for the restore (indices.recovery.max_bytes_per_sec); written down first, and put back.
    /// Default: they stay
    #[arg(long)]
    pub(crate) unthrottle: bool,
    /// Take away what was built when the bake fails or is interrupted, too. Default: it stays, and --resume goes on with it
    #[arg(long, conflicts_with = "resume")]
    pub(crate) no_resume: bool,
    /// Bake nothing, and say what the index would cost by a load and by a bake: a sample is loaded into a builder twice, written to the
    /// repository and restored on the builder. The target is only looked at
    #[arg(long)]
    pub(crate) estimate: bool,
    /// With --estimate: so much of the source is the sample. Default 32MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) sample: Option<u64>,
    /// How many servers build at once on this machine, each with a heap of its own. Default 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) builders: Option<u32>,
    /// What several builders build: cluster, they are one cluster that holds the index; alias, an index each, NAME-1 and on, behind
    /// the alias NAME; stitched, a shard each of one index (needs --id). Default cluster
    #[arg(long, value_name = "LAYOUT", value_enum)]
    pub(crate) layout: Option<LayoutArg>,
    /// Instead of starting one: a server to build with that runs already and that nobody else uses, on this machine or another, without
    /// security; its path.repo holds the folder of the repository. Repeated or separated by commas for several builders. It is left running, without what was built
    #[arg(long = "builder", value_name = "URL", value_delimiter = ',')]
    pub(crate) builder_urls: Vec<String>,
    /// Version of the builder: not newer than the oldest node of the target, with the same major version of Lucene. Default: the
    /// target's, else the newest one on this machine that fits
    #[arg(long, value_name = "VERSION")]
    pub(crate) builder_version: Option<String>,
    /// An unpacked server to build with, with the plugins that the mapping and the repository need, and their secrets in its keystore; its settings file
    /// is not read. Default: one that is fetched, without plugins
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) builder_home: Option<PathBuf>,
    /// A setting of the builder, as in opensearch.yml or elasticsearch.yml: what a plugin needs, such as s3.client.default.region=eu-west-1. No secrets
    /// here, they belong into its keystore. Repeatable
    #[arg(long = "builder-setting", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) builder_settings: Vec<(String, String)>,
    /// Java heap of the builder, in whole MiB. Default 2g
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) builder_heap: Option<u64>,
    /// Folder for the builder's data. Default: where local nodes are kept
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) builder_data: Option<PathBuf>,
    /// Java to run the builder with, a folder with bin/java. Default: JAVA_HOME, PATH, /usr/lib/jvm
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) java_home: Option<PathBuf>,
}

/// What several builders build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// One cluster with the index
    Cluster,
    /// An index each behind one alias
    Alias,
    /// A shard each of one index
    Stitched,
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name and a value, as in s3.client.default.region=eu-west-1".to_owned()),
    }
}
