//! The flags of `inrush load`, by topic. Defaults are named in the help and set in [`crate::options`], so that a
//! flag that was not given can be told from one that was.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use inrush::config::{BulkRouting, Compression, Durability, IdFrom, MaxErrors, OnConflict, Rate, Tolerance};
use inrush::{Action, FieldPath, IndexTemplate};

use super::{AuthArgs, FinishArgs, FormatArgs, FromArgs, OutputArgs, SqlArgs};
use crate::units::{parse_bytes_positive, parse_duration, parse_duration_positive, parse_max_errors, parse_tolerance};

/// Load documents into an index, and account for each of them.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Sizes are whole numbers with a unit: 64MiB, 2MB, 1g (1g = 1GiB) or plain bytes. Durations: 500ms, 1s, 10m, 2h.

While it runs, p or space on its terminal, or SIGUSR1, pauses it, and lets it go on.

Exit status:
  0    all documents are in (or left out as configured, or missing as --tolerate allows), and the
       count agrees where it can be proven (the report says whether)
  1    the run failed
  2    refused before it began: a flag, the job file or what they name cannot be used; nothing was done
  3    the run ended, and some documents are not in (dead letters, conflicts, redirected, unknown)
  4    the documents are in, but a check failed
  75   the same load is running already; try again later
  130  interrupted; the same command with --resume goes on")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) index: IndexArgs,
    #[command(flatten)]
    pub(crate) auth: AuthArgs,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    #[command(flatten)]
    pub(crate) errors: ErrorArgs,
    #[command(flatten)]
    pub(crate) finish: FinishArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is read, and how.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct SourceArgs {
    /// Files, folders, globs in quotes ('logs/*.ndjson.zst'), or - for stdin; gzip, zstd, bzip2 and xz are recognised by
    /// their content. Also files on web servers (https://host/a.csv.gz), files, folders and globs of object stores
    /// (s3://bucket/logs/*.parquet, gs://, az://, abfss://), a database (postgres://user@host/db), or an index of another
    /// cluster, or several: https://host:9200/index, 'https://host:9200/logs-*'
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    pub(crate) sources: Vec<OsString>,
    /// Read flags from a TOML file: every long flag is a key (batch_bytes = "4MiB"), and `sources` is a list; paths in
    /// it are relative to the file; flags given here win
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) job: Option<PathBuf>,
    /// Load the documents of a dead-letter file again, instead of a SOURCE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_dead_letters: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: FormatArgs,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) sql: SqlArgs,
    /// SQL: print the columns of the tables and how the query is going to be run, and end
    #[arg(long, help_heading = "SQL")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) from: FromArgs,
}

/// What is read of a database.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct DatabaseArgs {
    /// Databases (postgres://user@host/db, mysql://user@host/db, sqlite:///path): the table or view to read, as in orders or
    /// public.orders
    #[arg(long, value_name = "NAME", conflicts_with = "db_query")]
    pub(crate) db_table: Option<String>,
    /// Databases: the query whose rows become documents, as in 'SELECT … FROM …'; @FILE reads it from a file
    #[arg(long, value_name = "SQL")]
    pub(crate) db_query: Option<String>,
    /// Databases: the column whose ranges are read side by side; it should have an index. Default: tables of Postgres are read in ranges
    /// of their pages, everything else by one connection
    #[arg(long, value_name = "COLUMN")]
    pub(crate) split_by: Option<String>,
    /// Databases: connections that read side by side. Default 4
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) db_readers: Option<u32>,
    /// Databases: file that holds the password. Default: PGPASSWORD, ~/.pgpass or MYSQL_PWD
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) source_password_file: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let DatabaseArgs { db_table, db_query, split_by, db_readers, source_password_file } = self;
        let flags = [
            ("--db-table", db_table.is_some()),
            ("--db-query", db_query.is_some()),
            ("--split-by", split_by.is_some()),
            ("--db-readers", db_readers.is_some()),
            ("--source-password-file", source_password_file.is_some()),
        ];
        flags.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }
}

/// Where documents go, and as what.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct IndexArgs {
    /// Index, alias or data stream; {field} stands for a field's value, as in 'logs-{tenant}'. Needed, but
    /// with --alias; with --from-dead-letters the one of the first load
    #[arg(long, value_name = "NAME")]
    pub(crate) index: Option<IndexTemplate>,
    /// Nodes of the cluster, repeated or separated by commas; a URL without a port means 9200.
    /// `local` is the local OpenSearch node, which is started if it does not run. Default: the
    /// local node where it runs; else a terminal is asked whether to start it, and without one the
    /// load is refused
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    /// What happens with each document: index, create, update, upsert or delete. Default: index; create for a data
    /// stream
    #[arg(long)]
    pub(crate) action: Option<Action>,
    /// The field that holds the id, as in id or artist.id. Default: the cluster makes ids up
    #[arg(long, value_name = "FIELD")]
    pub(crate) id: Option<FieldPath>,
    /// Make ids where documents have none: position, of the source's name as given and the document's number in it; or content, of the
    /// document's bytes (equal ones stay as many as they are; about 20 to 40 bytes of memory for each different document). So
    /// that a load that is repeated or resumed has no document twice. Default: the cluster makes ids up
    #[arg(long, value_name = "WHAT", value_parser = parse_id_from)]
    pub(crate) id_from: Option<IdFrom>,
    /// The field that holds the routing value. Default: none
    #[arg(long, value_name = "FIELD")]
    pub(crate) routing: Option<FieldPath>,
    /// The field that holds the external version, a whole number; a document older than the one in the index is a
    /// conflict. Default: none
    #[arg(long = "version", value_name = "FIELD")]
    pub(crate) version_field: Option<FieldPath>,
    /// The ingest pipeline. Default: the index's own
    #[arg(long, value_name = "NAME")]
    pub(crate) pipeline: Option<String>,
    /// Fields to leave out of the documents, repeated or separated by commas
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) drop: Vec<FieldPath>,
    /// JSON file with the mapping of an index that does not exist yet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) mapping: Option<PathBuf>,
    /// Make the mapping of an index that does not exist yet from the first 100,000 documents, as `inrush mapping` does;
    /// later ones that do not fit are dead letters. Default: the cluster's dynamic mapping
    #[arg(long, value_name = "auto", value_enum, conflicts_with = "mapping")]
    pub(crate) map: Option<MapFrom>,
    /// With --map auto, what becomes of a field that is an object here and a value there, or a
    /// number here and a text there: `widen` (the default), `keep` or `ignore`, as for `inrush
    /// mapping`
    #[arg(long, value_name = "HOW", value_enum)]
    pub(crate) mixed: Option<MixedArg>,
    /// JSON file with the settings of an index that does not exist yet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// Primary shards of an index that does not exist yet; `auto`: so many that each will hold 10 to 30 GB, as far as the sources tell
    /// how large the index will be (of stdin nothing is known, and it gets the default). Default: the cluster's
    #[arg(long, value_name = "N|auto", value_parser = parse_shards)]
    pub(crate) shards: Option<Shards>,
    /// Replicas of an index that does not exist yet. Default: the cluster's
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<u32>,
    /// Delete the index first, with all its documents; asks, unless --yes is given. It is kept
    /// where the sources cannot be read or are empty, or where the cluster would not make it anew
    #[arg(long)]
    pub(crate) recreate: bool,
    /// Leave the settings of the index as they are. By default a large load (256 MiB of sources or more) into an empty
    /// index has no replicas, and a very large one (1 GiB) refreshes, flushes and merges less; all
    /// of it is put back. Nothing but documents is written to the cluster then, so loads into one
    /// index at the same time do not know each other
    #[arg(long)]
    pub(crate) leave_settings: bool,
    /// `request`: a document is in when the cluster acknowledges it. `async`: the cluster acknowledges before it syncs its
    /// translog, and a document is in when a later flush has made it durable on all copies; what a node loses before is sent
    /// again. Half of --memory is for documents that wait for a flush. [default: request]
    #[arg(long, value_name = "WHEN", value_parser = parse_durability)]
    pub(crate) durability: Option<Durability>,
    /// No replicas during the load, whatever its size; an index with documents has to be green, and asks, unless --yes
    /// is given
    #[arg(long)]
    pub(crate) replicas_off: bool,
    /// Load although a policy (ILM, ISM) is about to make the index read-only, shrink or delete it, within a day. By default
    /// that is refused, and what comes later is a warning
    #[arg(long)]
    pub(crate) under_policy: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// How much is sent at once, and how long things may take.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sizes and limits")]
pub(crate) struct SizeArgs {
    /// Bytes of one request's body, as JSON and before compression; a larger document travels alone. Default: tuned, 64KiB to 64MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) batch_bytes: Option<u64>,
    /// Documents in one request. Default: as many as --batch-bytes allows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_docs: Option<u32>,
    /// Requests under way at once, those that wait to be tried again included. Default: tuned, 1 to 256
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) in_flight: Option<u32>,
    /// Hold back for the sake of searches: requests take at most 1.3 times as long as one alone does, on average, and fewer are
    /// under way as soon as documents are rejected
    #[arg(long)]
    pub(crate) gentle: bool,
    /// The most that is sent a second, repetitions included: bytes before compression such as 20MiB, or documents
    /// such as 5000docs. Default: no limit
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) max_rate: Option<Rate>,
    /// File for what the tuner saw and decided, one JSON object a line; overwritten
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// How long documents wait for a request to fill while the source is slow. Default 1s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) linger: Option<Duration>,
    /// Bytes of documents under way; --batch-bytes x --in-flight must fit. At most half as many are read meanwhile. Default 64MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) memory: Option<u64>,
    /// Threads that read and encode. Default: one a core, at most 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Option<u32>,
    /// The largest document; a larger one is a dead letter. Default 100MiB, the servers' http.max_content_length
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) max_document_bytes: Option<u64>,
    /// How long one request may take. Default 120s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_positive)]
    pub(crate) request_timeout: Option<Duration>,
    /// How long a batch is tried again while the cluster is overloaded. Default 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) retry_for: Option<Duration>,
    /// How often in a row a batch is tried again without getting any of its documents in. Default 20
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long to wait for a condition of the index to pass: a write block, a primary shard that is missing (red), a disk
    /// above its high watermark or the flood stage. Then the load stops, and --resume goes on. Default 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) pause_for: Option<Duration>,
    /// In which form documents are sent: json; smile, which is binary JSON; or auto: begin with json, compare during the load, and take smile where
    /// it is clearly faster, because the cluster keeps documents as they come, those of the comparison too, and transcodes SMILE whenever it is read.
    /// A cluster that does not take SMILE gets JSON. Default auto
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) encoding: Option<EncodingArg>,
    /// How bodies are compressed: none; gzip or gzip:LEVEL, with 1 (the default, fastest) to 12; or auto: begin without, compare
    /// during the load, and compress where that brings more. Default auto
    #[arg(long, value_name = "HOW", value_parser = parse_compression)]
    pub(crate) compression: Option<CompressionArg>,
    /// To which shards a request goes: spread, to all; one-shard, documents with ids or routing values are grouped by the shard they lead to, those
    /// without get a routing value for the whole request, which stays stored with them; auto groups documents with ids where --to names
    /// several nodes with primary shards, and never stores anything. Default auto
    #[arg(long, value_name = "HOW", value_parser = parse_bulk_routing)]
    pub(crate) bulk_routing: Option<BulkRouting>,
    /// What is asked of the cluster for each request: items, one reply entry a document; or summary, only whether there
    /// were errors, which costs less. Default items
    #[arg(long, value_enum)]
    pub(crate) replies: Option<ReplyDetail>,
}

/// What becomes of documents that cannot be indexed, and what is checked at the end.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Errors and checks")]
pub(crate) struct ErrorArgs {
    /// What a version conflict (409) means that is not from an attempt of ours: fail, a dead letter; skip, counted and
    /// fine; compare, fine if the index has the same content. Default fail
    #[arg(long, value_name = "WHAT", value_parser = parse_on_conflict)]
    pub(crate) on_conflict: Option<OnConflict>,
    /// File for documents that cannot be indexed, one JSON object a line with error, position and document. Default:
    /// inrush-dead-letters-RUN.ndjson in the working directory, made when the first one comes
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) dead_letters: Option<PathBuf>,
    /// Stop at the first document that cannot be indexed, as --max-errors 0
    #[arg(long, conflicts_with = "max_errors")]
    pub(crate) strict: bool,
    /// Stop when more than N documents, or more than N% of them, are dead letters; a percentage is judged from the
    /// 10,000th document on and at the end. Default 100%
    #[arg(long, value_name = "N|N%", value_parser = parse_max_errors)]
    pub(crate) max_errors: Option<MaxErrors>,
    /// Count a load as complete although up to N documents, or N% of those that were read, are not
    /// in: for the exit status and for the swap of --alias. Dead letters and documents in a failure
    /// store count, and those without an answer are never tolerated. The report says how many there
    /// are and why. Default 0
    #[arg(long, value_name = "N|N%", value_parser = parse_tolerance)]
    pub(crate) tolerate: Option<Tolerance>,
    /// Go on with a source that has no document: --recreate deletes the index for it, and --alias
    /// is moved to a new index without documents. By default both are refused, and any other load
    /// warns
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Load nothing: show the first documents as they would be sent, the index that would be made, and what would fail of
    /// the first 10,000. Nothing is written to the cluster. Exit status 4 if something would fail
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not refresh, count and compare at the end
    #[arg(long)]
    pub(crate) no_verify: bool,
}

/// Going on with a load that was cut off.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Resuming")]
pub(crate) struct ResumeArgs {
    /// Go on where the same load was cut off, by a crash, a signal or a failure; what changed since is refused. Without
    /// ids the documents of the last moments may be there twice, and are counted
    #[arg(long)]
    pub(crate) resume: bool,
    /// Load these sources once, however often the same command is started, as by a job runner:
    /// begin, go on where it was cut off, or repeat the report and the exit status of the run that
    /// came to its end. A source that changed since its end is loaded anew. What was done is kept
    /// in the cluster, in the index inrush-loads, and in --state. Exit status 75: the same load is
    /// running; start it again later. See docs/unattended.md
    #[arg(long, conflicts_with = "resume")]
    pub(crate) once: bool,
    /// Folder for checkpoints, and for records of settings that are changed, besides those in the cluster. Default: inrush in
    /// XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
}

/// How many primary shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shards {
    /// From the size of the sources.
    Auto,
    Count(u32),
}

/// What becomes of a field whose values are of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MixedArg {
    /// Numbers and texts become keywords; of objects and values the more frequent kind is taken,
    /// the other refused
    Widen,
    /// No document is refused: what is object here and value there is kept, and not searchable
    Keep,
    /// As keep; a number, date, address or point stays one where most values are, and the others
    /// are not searchable
    Ignore,
}

/// Where a mapping comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFrom {
    /// The documents
    Auto,
}

/// In which form documents are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EncodingArg {
    /// What proves best
    Auto,
    /// NDJSON
    Json,
    /// Binary JSON
    Smile,
}

/// How much of a reply is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplyDetail {
    /// One entry a document
    Items,
    /// Only whether there were errors
    Summary,
}

/// `auto`, or what every request is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompressionArg(pub(crate) Option<Compression>);

pub(super) fn parse_compression(text: &str) -> Result<CompressionArg, String> {
    match text {
        "auto" => Ok(CompressionArg(None)),
        given => given.parse().map(|given| CompressionArg(Some(given))),
    }
}

fn parse_rate(text: &str) -> Result<Rate, String> {
    let text = text.trim().trim_end_matches("/s").trim_end();
    let docs = text.strip_suffix("docs").or_else(|| text.strip_suffix("doc"));
    let rate = match docs {
        Some(number) => number.trim().replace(['_', ','], "").parse().map(Rate::Docs).map_err(|_| ()),
        None => parse_bytes_positive(text).map(Rate::Bytes).map_err(|_| ()),
    };
    match rate {
        Ok(Rate::Docs(0)) | Err(()) => Err("expected bytes such as 20MiB or documents such as 5000docs".to_owned()),
        Ok(rate) => Ok(rate),
    }
}

fn parse_bulk_routing(text: &str) -> Result<BulkRouting, String> {
    [BulkRouting::Auto, BulkRouting::Spread, BulkRouting::OneShard]
        .into_iter()
        .find(|routing| routing.name() == text)
        .ok_or_else(|| "expected auto, spread or one-shard".to_owned())
}

fn parse_shards(text: &str) -> Result<Shards, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Shards::Auto),
        (_, Ok(count @ 1..)) => Ok(Shards::Count(count)),
        _ => Err("expected a whole number from 1 on, or auto".to_owned()),
    }
}

fn parse_durability(text: &str) -> Result<Durability, String> {
    [Durability::Request, Durability::Async]
        .into_iter()
        .find(|durability| durability.name() == text)
        .ok_or_else(|| "expected request or async".to_owned())
}

pub(super) fn parse_id_from(text: &str) -> Result<IdFrom, String> {
    [IdFrom::Position, IdFrom::Content]
        .into_iter()
        .find(|from| from.name() == text)
        .ok_or_else(|| "expected position or content".to_owned())
}

fn parse_on_conflict(text: &str) -> Result<OnConflict, String> {
    match text {
        "fail" => Ok(OnConflict::Fail),
        "skip" => Ok(OnConflict::Skip),
        "compare" => Ok(OnConflict::Compare),
        _ => Err("expected fail, skip or compare".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bytes_or_documents() {
        assert_eq!(parse_rate("20MiB"), Ok(Rate::Bytes(20 << 20)));
        assert_eq!(parse_rate("20MiB/s"), Ok(Rate::Bytes(20 << 20)));
        assert_eq!(parse_rate("5000docs"), Ok(Rate::Docs(5000)));
        assert_eq!(parse_rate("1 docs/s"), Ok(Rate::Docs(1)));
        for bad in ["0", "0docs", "docs", "fast", "-1docs", ""] {
            assert!(parse_rate(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn conflicts_have_three_meanings() {
        assert_eq!(parse_on_conflict("compare"), Ok(OnConflict::Compare));
        assert!(parse_on_conflict("ignore").is_err());
    }
}
