//! Search hits as documents: the reply of a search, or the lines that elasticdump writes.

use inrush_core::Code;
use inrush_core::{DocBlock, DocMeta, Reject};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a hit that describe the document. Its `_index` is ignored: the load has its own
/// target.
#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(rename = "_id")]
    id: Option<String>,
    #[serde(rename = "_routing", alias = "routing")]
    routing: Option<String>,
    #[serde(rename = "_source", borrow)]
    source: Option<&'a RawValue>,
}

/// Replaces each record by its `_source`, with its id and routing value as metadata. A record that
/// is not a hit becomes a reject.
pub fn take_sources(block: &mut DocBlock) {
    block.meta = vec![DocMeta::default(); block.records.len()];
    let mut rejects = Vec::new();
    for at in block.accepted().collect::<Vec<_>>() {
        match read(block.record(at as usize)) {
            Ok((meta, within)) => {
                block.meta[at as usize] = meta;
                let record = &mut block.records[at as usize];
                (record.start, record.end) = (record.start + within.start as u32, record.start + within.end as u32);
            }
            Err(reason) => rejects.push(Reject { record: at, kind: Code::BadHit, reason }),
        }
    }
    block.add_rejects(rejects);
}

fn read(text: &[u8]) -> Result<(DocMeta, std::ops::Range<usize>), String> {
    let hit: Hit<'_> =
        serde_json::from_slice(text).map_err(|error| format!("the record is not a search hit: {error}"))?;
    let source = hit.source.filter(|source| source.get().starts_with('{'));
    let (Some(id), Some(source)) = (hit.id, source) else {
        return Err(
            "the record is not a search hit: expected an object with `_id`, and with `_source`, which is an object"
                .to_owned(),
        );
    };
    // `source` borrows from the text.
    let start = source.get().as_ptr() as usize - text.as_ptr() as usize;
    let meta = DocMeta::default().with_id(id).with_routing(hit.routing);
    Ok((meta, start..start + source.get().len()))
}
