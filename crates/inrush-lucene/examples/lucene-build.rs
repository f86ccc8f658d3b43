//! Builds a shard's index from NDJSON: `lucene-build MAPPING LINES FOLDER [KEY=VALUE...]`.
//!
//! The pairs: `settings` for a file with the settings of the index, `generation` of the commit,
//! `lucene` and `opensearch` or `elasticsearch` with the versions of the server, `ids` for the
//! numbers of the lines modulo a number as ids, `routing` for these numbers modulo a number as
//! routing values, `unrouted` for one line of how many that has none, `names` for a file with an
//! array of texts that stand for these numbers, `threads`, `memory` of each in bytes, `refused` for
//! a file with refused lines, `grown` for a file with the new fields of the lines, as a mapping;
//! other pairs are user data of the commit.

#![allow(clippy::print_stderr, reason = "a program for benchmarks")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use inrush_lucene::{
    AddError, Keep, KnownProduct, LiveMapping, MadeIds, Mapping, NewDocument, ServerVersion, Shard, ShardOptions,
};

struct Options {
    generation: u64,
    target: ServerVersion,
    ids: Option<u64>,
    routing: Option<u64>,
    unrouted: u64,
    names: Vec<String>,
    threads: u8,
    memory: usize,
    refused: Option<Mutex<std::fs::File>>,
    grown: Option<PathBuf>,
    settings: serde_json::Map<String, serde_json::Value>,
    user_data: Vec<(String, String)>,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

impl Options {
    /// The id of a number, which is also a routing value.
    fn name(&self, number: u64) -> String {
        if self.names.is_empty() {
            return number.to_string();
        }
        self.names[(number % self.names.len() as u64) as usize].clone()
    }
}

fn options(pairs: &[String]) -> Result<Options> {
    let target = ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
    let mut options = Options {
        generation: 3,
        target,
        ids: None,
        routing: None,
        unrouted: u64::MAX,
        names: Vec::new(),
        threads: 1,
        memory: 1 << 30,
        refused: None,
        grown: None,
        settings: serde_json::Map::new(),
        user_data: Vec::new(),
    };
    for pair in pairs {
        let (key, value) = pair.split_once('=').ok_or("KEY=VALUE")?;
        match key {
            "settings" => options.settings = serde_json::from_slice(&std::fs::read(value)?)?,
            "generation" => options.generation = value.parse()?,
            "threads" => options.threads = value.parse()?,
            "memory" => options.memory = value.parse()?,
            "refused" => options.refused = Some(Mutex::new(std::fs::File::create(value)?)),
            "grown" => options.grown = Some(PathBuf::from(value)),
            "unrouted" => options.unrouted = value.parse()?,
            "routing" => options.routing = Some(value.parse()?),
            "names" => options.names = serde_json::from_slice(&std::fs::read(value)?)?,
            "ids" => options.ids = Some(value.parse()?),
            "lucene" => options.target.lucene = version(value)?,
            "opensearch" => options.target.version = version(value)?,
            "elasticsearch" => {
                options.target =
                    ServerVersion { product: KnownProduct::Elasticsearch, version: version(value)?, ..options.target }
            }
            _ => options.user_data.push((key.to_owned(), value.to_owned())),
        }
    }
    Ok(options)
}

fn version(text: &str) -> Result<[u32; 3]> {
    let mut version = [0; 3];
    for (part, text) in version.iter_mut().zip(text.split('.')) {
        *part = text.parse()?;
    }
    Ok(version)
}

/// Bytes of lines that a thread takes at once.
const BLOCK_BYTES: usize = 1 << 20;

/// The lines that are not read yet, and the number of the next one.
struct Lines {
    reader: BufReader<std::fs::File>,
    number: u64,
}

impl Lines {
    /// Reads whole lines; returns the number of the first.
    fn read(&mut self, block: &mut Vec<u8>) -> std::io::Result<u64> {
        let first = self.number;
        block.resize(BLOCK_BYTES, 0);
        let mut len = 0;
        while len < block.len() {
            match self.reader.read(&mut block[len..])? {
                0 => break,
                more => len += more,
            }
        }
        block.truncate(len);
        self.reader.read_until(b'\n', block)?;
        self.number += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(first)
    }
}

fn work(shard: &Shard, lines: &Mutex<Lines>, options: &Options, mut ids: MadeIds) -> std::io::Result<()> {
    let mut writer = shard.writer();
    let mut block = Vec::new();
    loop {
        let first = lines.lock().map_err(|_| std::io::Error::other("another thread panicked"))?.read(&mut block)?;
        if block.is_empty() {
            return writer.finish();
        }
        for (number, line) in (first..).zip(block.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())) {
            let id = options.ids.map(|modulus| options.name(number % modulus));
            let is_routed = (number + 1) % options.unrouted != 0;
            let routing = options.routing.filter(|_| is_routed).map(|modulus| options.name(number % modulus));
            let added = match (&id, &routing) {
                (Some(id), routing) => {
                    let routing = routing.as_deref().map(Into::into);
                    writer.add(&NewDocument { routing, ..NewDocument::with_id(line, id) })
                }
                (None, _) => writer.add(&NewDocument::without_id(line, ids.make())),
            };
            match (added, &options.refused) {
                (Ok(()), _) => {}
                (Err(AddError::Io(error)), _) => return Err(error),
                (Err(AddError::Refused(error)), Some(file)) => {
                    let mut file = file.lock().map_err(|_| std::io::Error::other("another thread panicked"))?;
                    writeln!(file, "{number}\t{}", error.to_string().replace('\n', " "))?;
                }
                (Err(AddError::Refused(error)), None) => eprintln!("{number}\t{error}"),
            }
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mapping, lines, folder, pairs @ ..] = arguments.as_slice() else {
        return Err("lucene-build MAPPING LINES FOLDER [KEY=VALUE...]".into());
    };
    let options = options(pairs)?;
    let mapping = serde_json::from_slice(&std::fs::read(mapping)?)?;
    let mapping = LiveMapping::new(Mapping::with_settings(&mapping, &options.settings, options.target)?);
    let mut random = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    let shard = Shard::new(
        ShardOptions {
            folder: PathBuf::from(folder),
            primary_term: 1,
            segment_memory: options.memory / 2,
            random,
            keep: Keep::Last,
        },
        &mapping,
    );
    let mut ids_of = [0; 9];
    ids_of.copy_from_slice(&random[16..25]);
    let start = std::time::Instant::now();
    let lines = Mutex::new(Lines { reader: BufReader::new(std::fs::File::open(lines)?), number: 0 });
    std::thread::scope(|scope| {
        let start = |number| {
            let ids = MadeIds::new(ids_of, number);
            scope.spawn(|| work(&shard, &lines, &options, ids))
        };
        let threads: Vec<_> = (0..options.threads).map(start).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked"))))
    })?;
    let docs = shard.commit(options.generation, &options.user_data)?.docs;
    if let (Some(file), Some(grown)) = (&options.grown, mapping.new_fields()) {
        std::fs::write(file, grown.to_string())?;
    }
    eprintln!("{docs} documents in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
