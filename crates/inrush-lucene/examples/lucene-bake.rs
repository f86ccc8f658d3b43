//! Builds an index into the snapshot of an empty shard: `lucene-bake MAPPING LINES SHARD_FOLDER
//! SCRATCH_FOLDER PRODUCT VERSION [settings=FILE] [grown=FILE] [ids=number] [routing=7]
//! [unrouted=5]`. The first file has the settings of the index by their full names. The second one
//! gets the new fields of the lines, as a mapping. With `ids`, the numbers of the lines are ids;
//! with `routing`, these modulo a number are routing values, which one line of `unrouted` has not.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use inrush_lucene::{
    AddError, Keep, KnownProduct, LiveMapping, MadeIds, Mapping, NewDocument, ServerVersion, Shard, ShardOptions,
    ShardSnapshot,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mapping, lines, shard, scratch, product, version, more @ ..] = arguments.as_slice() else {
        return Err("six arguments".into());
    };
    let numbered = more.iter().any(|pair| pair == "ids=number");
    let count = |name: &str| more.iter().find_map(|pair| pair.strip_prefix(name)).map(str::parse::<usize>).transpose();
    let (routing, unrouted) = (count("routing=")?, count("unrouted=")?);
    let settings = match more.iter().find_map(|pair| pair.strip_prefix("settings=")) {
        Some(file) => serde_json::from_slice(&std::fs::read(file)?)?,
        None => serde_json::Map::new(),
    };
    let parse = |text: &str| -> Result<[u32; 3], Box<dyn std::error::Error>> {
        let parts: Vec<u32> = text.split('.').map(str::parse).collect::<Result<_, _>>()?;
        Ok(parts.try_into().map_err(|_| "three numbers")?)
    };
    let snapshot = ShardSnapshot::open(Path::new(shard))?;
    let product = if product == "opensearch" { KnownProduct::OpenSearch } else { KnownProduct::Elasticsearch };
    let target = ServerVersion { product, version: parse(version)?, lucene: snapshot.lucene() };
    let mapping = Mapping::with_settings(&serde_json::from_slice(&std::fs::read(mapping)?)?, &settings, target)?;
    let mapping = LiveMapping::new(mapping);
    let mut random = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    let folder = Path::new(scratch);
    std::fs::create_dir_all(folder)?;
    let shard = Shard::new(
        ShardOptions {
            folder: folder.to_owned(),
            primary_term: 1,
            segment_memory: 128 << 20,
            random,
            keep: Keep::Last,
        },
        &mapping,
    );
    let mut writer = shard.writer();
    let mut ids = MadeIds::new(random[16..25].try_into()?, 0);
    for (number, line) in BufReader::new(std::fs::File::open(lines)?).lines().enumerate() {
        let line = line?;
        let is_routed = unrouted.is_none_or(|unrouted| (number + 1) % unrouted != 0);
        let routing = routing.filter(|_| is_routed).map(|modulus| (number % modulus).to_string().into());
        let id = number.to_string();
        let document = match numbered {
            true => NewDocument::with_id(line.as_bytes(), &id),
            false => NewDocument::without_id(line.as_bytes(), ids.make()),
        };
        let added = writer.add(&NewDocument { routing, ..document });
        match added {
            // A server refuses these, too.
            Ok(()) | Err(AddError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    writer.finish()?;
    shard.commit(snapshot.generation(), snapshot.user_data())?;
    let mut names = [0; 16];
    names.copy_from_slice(&random[..16]);
    snapshot.fill(folder, names)?;
    let grown = more.iter().find_map(|pair| pair.strip_prefix("grown="));
    if let (Some(file), Some(mapping)) = (grown, mapping.new_fields()) {
        std::fs::write(file, mapping.to_string())?;
    }
    Ok(())
}
