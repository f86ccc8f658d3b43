//! The hot paths of a load, which run once per document, in one thread: `hot_paths make CASE DOCS
//! FILE` writes DOCS documents, always the same. `hot_paths read CASE FILE` reads and encodes them
//! as a load does and prints their number. `scripts/instructions.sh` counts the instructions with
//! callgrind, whose result does not depend on the load of the machine.
#![allow(clippy::print_stdout, reason = "a measurement")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use inrush_cluster::transport::gzip::{Gzip, GzipLevel};
use inrush_core::encode::{Encoder, SmileItemEncoder};
use inrush_core::reply::BulkReply;
use inrush_core::{Action, Operations};
use inrush_smile::{Decimals, SmileOptions};
use inrush_sources::{Format, FormatOptions, Source, SourceSpec, Warnings, open};

type Error = Box<dyn std::error::Error>;

/// Bytes of a chunk, as the reading threads of a load take them.
const CHUNK_BYTES: usize = 256 << 10;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["make", case, docs, file] => make(case, docs.parse()?, Path::new(file)),
        ["read", case, file] => {
            println!("{}", take(case, Path::new(file))?);
            Ok(())
        }
        _ => Err("usage: hot_paths make CASE DOCS FILE, or hot_paths read CASE FILE".into()),
    }
}

fn make(case: &str, docs: usize, file: &Path) -> Result<(), Error> {
    match case {
        "csv" => std::fs::write(file, csv(docs))?,
        "parquet" => parquet(docs, file)?,
        "reply" => std::fs::write(file, reply(docs))?,
        _ => std::fs::write(file, ndjson(docs))?,
    }
    Ok(())
}

fn take(case: &str, file: &Path) -> Result<u64, Error> {
    let mut operations = Operations::new(Action::Index, "a".parse()?, None);
    let mut smile_encoder = None;
    match case {
        "reply" => return Ok(black_box(BulkReply::parse(&std::fs::read(file)?)?).items()),
        "gzip" => {
            let body = Bytes::from(std::fs::read(file)?);
            return Ok(Gzip::new(GzipLevel::default()).compress(std::slice::from_ref(&body)).len() as u64);
        }
        "ndjson" | "csv" | "parquet" => {}
        "ndjson-id" => operations.id = Some("id".parse()?),
        "ndjson-smile" => {
            smile_encoder = Some(SmileItemEncoder::new(SmileOptions::default().with_decimals(Decimals::ByValue)));
        }
        _ => return Err(format!("no such case: {case}").into()),
    }
    let format = match case {
        "csv" => Format::Csv,
        "parquet" => Format::Parquet,
        _ => Format::Ndjson,
    };
    let options = FormatOptions { format: Some(format), ..FormatOptions::default() };
    let mut source = open(&[SourceSpec::new(file)], options, &Warnings::default())?;
    read(&mut source, &Encoder::new(operations), smile_encoder.as_mut())
}

fn read(
    source: &mut impl Source,
    encoder: &Encoder,
    mut smile_encoder: Option<&mut SmileItemEncoder>,
) -> Result<u64, Error> {
    let mut docs = 0;
    while let Some(chunk) = source.next_chunk(CHUNK_BYTES)? {
        let mut items = encoder.encode(chunk.into_block());
        if let Some(smile_encoder) = smile_encoder.as_deref_mut() {
            smile_encoder.encode(&mut items, Vec::new(), Bytes::from);
        }
        docs += black_box(items).records.len() as u64;
    }
    Ok(docs)
}

/// The parts of a log line: a number that is not repeated soon, and what is.
fn parts(n: usize) -> (usize, &'static str, f64) {
    let mixed = n.wrapping_mul(2_654_435_761) % 1_000_003;
    (mixed, ["/index.html", "/images/logo.png", "/search?q=bulk", "/été \\\"x\\\""][n % 4], mixed as f64 / 64.0)
}

fn ndjson(docs: usize) -> String {
    let mut text = String::new();
    for n in 0..docs {
        let (mixed, path, score) = parts(n);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            r#"{{"id":"{n:08}","time":"2024-01-31T10:{:02}:00Z","path":"{path}","size":{mixed},"score":{score}}}"#,
            n % 60
        );
    }
    text
}

fn csv(docs: usize) -> String {
    let mut text = "id,time,path,size,score,note\n".to_owned();
    for n in 0..docs {
        let (mixed, path, score) = parts(n);
        let path = path.replace("\\\"", "\"\"");
        let _ = writeln!(text, r#"{n:08},2024-01-31T10:{:02}:00Z,"{path}",{mixed},{score},"#, n % 60);
    }
    text
}

fn parquet(docs: usize, path: &Path) -> Result<(), Error> {
    let times = (0..docs).map(|n| format!("2024-01-31T10:{:02}:00Z", n % 60));
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values((0..docs).map(|n| n as i64))) as _),
        ("time", Arc::new(StringArray::from_iter_values(times)) as _),
        ("path", Arc::new(StringArray::from_iter_values((0..docs).map(|n| parts(n).1))) as _),
        ("score", Arc::new(Float64Array::from_iter_values((0..docs).map(|n| parts(n).2))) as _),
    ])?;
    let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// A server's reply to this number of documents, one in a hundred of which was rejected.
fn reply(docs: usize) -> String {
    let mut text = r#"{"took":30,"errors":true,"items":["#.to_owned();
    for n in 0..docs {
        let comma = if n == 0 { "" } else { "," };
        let _ = if n % 100 == 99 {
            write!(
                text,
                r#"{comma}{{"index":{{"_index":"a","_id":"{n:020}","status":429,"error":{{"type":"es_rejected_execution_exception","reason":"rejected"}}}}}}"#
            )
        } else {
            write!(
                text,
                r#"{comma}{{"index":{{"_index":"a","_id":"{n:020}","_version":1,"result":"created","_shards":{{"total":1,"successful":1,"failed":0}},"_seq_no":{n},"_primary_term":1,"status":201}}}}"#
            )
        };
    }
    text.push_str("]}");
    text
}
