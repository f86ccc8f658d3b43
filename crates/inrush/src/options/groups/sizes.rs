//! How much is sent at once, and how long things may take.

use std::path::PathBuf;
use std::time::Duration;

use inrush_core::rate::Rate;
use inrush_core::{Compression, Encoding};

use crate::config::{BulkRouting, Replies};
use crate::options::LoaderBuilder;
use crate::options::{ByteSize, Count, OrAuto, PositiveDuration, Whole};

options! {
    /// How much is sent at once, and how long things may take.
    pub struct SizeOptions in LoaderBuilder.sizes, "Sizes and limits" {
        /// Bytes of the body of one request, as JSON and before compression; a larger document travels alone
        batch_bytes: Option<ByteSize> = "SIZE", default("tuned, 64KiB to 64MiB");
        /// Documents in one request
        batch_docs: Option<Count> = "N", default("as many as option `batch_bytes` allows");
        /// Requests in flight at once, those that wait to be tried again included
        in_flight: Option<Count> = "N", default("tuned, 1 to 256");
        /// Hold back for the sake of searches: requests take at most 1.3 times as long as one alone does, on
        /// average, and fewer are in flight as soon as documents are rejected
        gentle: bool;
        /// The most that is sent a second, repetitions included: bytes before compression such as 20MiB, or
        /// documents such as 5000docs
        max_rate: Option<Rate> = "RATE", default("no limit");
        /// File for what the tuner saw and decided, one JSON object a line; overwritten
        trace: Option<PathBuf> = "FILE";
        /// How long documents wait for a request to fill while the source is slow
        linger: Option<Duration> = "DURATION", default("1s");
        /// Bytes of documents in flight; option `batch_bytes` x option `in_flight` must fit. At most half as
        /// many are read meanwhile
        memory: Option<ByteSize> = "SIZE", default("64MiB");
        /// Threads that read and encode
        workers: Option<Count> = "N", default("one a core, at most 8");
        /// The largest document; a larger one is a dead letter
        max_document_bytes: Option<ByteSize> = "SIZE", default("100MiB"), server("http.max_content_length");
        /// How long one request may take
        request_timeout: Option<PositiveDuration> = "DURATION", default("120s");
        /// How long a batch is tried again while the cluster is overloaded
        retry_for: Option<Duration> = "DURATION", default("10m");
        /// How often in a row a batch is tried again without getting any of its documents in
        retries: Option<Whole<0, { u32::MAX }>> = "N", default("20");
        /// How long to wait for a condition of the index to pass: a write block, a primary shard that is
        /// missing (red), a disk above its high watermark or the flood stage. Then the load stops, and
        /// option `resume` continues it
        pause_for: Option<Duration> = "DURATION", default("10m");
        /// The form in which documents are sent
        encoding: Option<OrAuto<Encoding>> = "FORM", default("auto");
        /// How bodies are compressed: none; gzip or gzip:LEVEL, with 1 (the default, fastest) to 12; or auto:
        /// begin without, compare during the load, and compress where that brings more
        compression: Option<OrAuto<Compression>> = "HOW", default("auto"), server("Content-Encoding");
        /// The shards that a request goes to
        bulk_routing: Option<BulkRouting> = "HOW", default("auto");
        /// What is asked of the cluster for each request
        replies: Option<Replies> = "DETAIL", default("items"), server("filter_path");
    }
}
