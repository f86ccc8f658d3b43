//! Options of sizes, limits and times.

use std::path::PathBuf;
use std::time::Duration;

use inrush_core::rate::Rate;
use inrush_core::{Coalesce, Compression, Encoding};

use crate::options::LoaderBuilder;
use crate::options::{ByteSize, Count, EarlierLoad, OrAuto, Outputs, PositiveDuration, Whole};
use inrush_load::config::{BulkRouting, Replies};

options! {
    /// Sizes, limits and times.
    pub struct SizeOptions in LoaderBuilder.sizes, "Sizes and limits" {
        /// Bytes of the body of one request, as JSON and before compression; a larger document is
        /// sent alone
        batch_bytes: Option<ByteSize> = "SIZE", default("tuned, 64KiB to 64MiB");
        /// Documents in one request
        batch_docs: Option<Count> = "N", default("as many as option `batch_bytes` allows");
        /// Requests in flight at once, including those that wait for a retry
        in_flight: Option<Count> = "N", default("tuned, 1 to 256");
        /// Leave capacity for searches: on average a request takes at most 1.3 times as long as a
        /// single one, and fewer requests are in flight as soon as documents are rejected
        gentle: bool;
        /// The largest rate, including retries: bytes per second before compression, such as 20MiB,
        /// or documents per second, such as 5000docs
        max_rate: Option<Rate> = "RATE", default("no limit");
        /// Begin without what earlier loads learned of this cluster and index (the size and number
        /// of requests, the encoding and the compression), and replace it; with option `since`,
        /// also without the last value: all rows are read. See docs/learned.md
        forget: bool, conflicts(&["learned"]);
        /// What an earlier load learned, as the JSON object plan.learned of its report, or none.
        /// Nothing that loads learned is read from option `state` then, and none of it is left
        /// there. Jobs of Spark and Ray pass it to their parts
        learned: Option<EarlierLoad> = "JSON", default("as option `state` has it");
        /// File for the measurements and decisions of the tuner, one JSON object per line;
        /// overwritten
        trace: Option<PathBuf> = "FILE", outputs(Outputs::Own);
        /// The longest time that documents wait for a full request, if the source is slow
        linger: Option<Duration> = "DURATION", default("1s");
        /// Send only the last of several documents or deletes with one id within this time or this
        /// number of documents, as in 5s, 10000docs or 5s,10000docs. With 0s only documents are
        /// replaced that wait because the cluster is busy. Works with the actions index and delete
        coalesce: Option<Coalesce> = "WINDOW", default("every document is sent");
        /// Bytes of documents in flight; option `batch_bytes` x option `in_flight` must fit. At
        /// most half as much is read ahead
        memory: Option<ByteSize> = "SIZE", default("64MiB");
        /// Threads that read and encode
        workers: Option<Count> = "N", default("one per core, at most 8");
        /// The largest document; a larger one is a dead letter
        max_document_bytes: Option<ByteSize> = "SIZE", default("100MiB"), server("http.max_content_length");
        /// The longest time of one request
        request_timeout: Option<PositiveDuration> = "DURATION", default("120s");
        /// The longest time for retries of a batch while the cluster is overloaded or cannot be
        /// reached. A load of topics without option `until` waits for a day
        retry_for: Option<Duration> = "DURATION", default("10m");
        /// The most retries in a row without any of the batch's documents getting in. Attempts that
        /// reach no server do not count
        retries: Option<Whole<0, { u32::MAX }>> = "N", default("20");
        /// The longest wait for a condition of the index to end: a write block, a missing primary
        /// shard (red), a disk above its high watermark or the flood stage. After it the load
        /// stops, and option `resume` continues it. A load of topics without option `until` waits
        /// for a day
        pause_for: Option<Duration> = "DURATION", default("10m");
        /// The longest time from Ctrl-C, SIGTERM or a stop by a program to the end of the load.
        /// Most of it is for requests in flight, at most 5 s for what follows them: the last commit
        /// or checkpoint, the restore of settings and the count
        grace: Option<Duration> = "DURATION", default("25s");
        /// The encoding in which documents are sent
        encoding: Option<OrAuto<Encoding>> = "FORM", default("auto");
        /// The compression of bodies: none; gzip or gzip:LEVEL, with 1 (the default, fastest) to
        /// 12; or auto, which starts without, compares during the load, and compresses if that is
        /// faster
        compression: Option<OrAuto<Compression>> = "HOW", default("auto"), server("Content-Encoding");
        /// The shards that a request goes to
        bulk_routing: Option<BulkRouting> = "HOW", default("auto");
        /// The detail of the replies that the cluster sends
        replies: Option<Replies> = "DETAIL", default("items"), server("filter_path");
    }
}
