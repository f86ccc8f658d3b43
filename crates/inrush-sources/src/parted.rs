//! A part of a source: the documents for one of several builders. Each builder reads the whole
//! source, so each has its own numbers and checkpoints.

use inrush_core::routing::Routing;
use inrush_core::{DocBlock, FieldPath, encode};

use super::{Chunk, Fingerprint, Source, SourceError, SourceInfo, Step};

/// The assignment of documents to parts.
#[derive(Clone, Debug)]
pub struct Parting {
    /// Shards, one for each part.
    pub routing: Routing,
    /// The part that is kept.
    pub part: u32,
    /// Field with the id.
    pub id: Option<FieldPath>,
    /// Field with the routing value, which takes precedence over the id.
    pub routed_by: Option<FieldPath>,
}

impl Parting {
    /// The part of a document: the shard of its routing value, else of its id, else of its whole
    /// text where no field is named. A document whose value cannot be read belongs to the first
    /// part, whose load reports the error.
    fn of(&self, block: &DocBlock, at: usize) -> u32 {
        let meta = block.meta.get(at);
        let document = block.record(at);
        let known = meta.and_then(|meta| meta.routing.as_deref().or(meta.id.as_deref()));
        if let Some(known) = known {
            return self.routing.shard(known, None);
        }
        match self.routed_by.as_ref().or(self.id.as_ref()) {
            Some(path) => {
                let own = meta.and_then(|meta| meta.text_at(path)).map(Into::into);
                own.or_else(|| encode::text_at(document, path)).map_or(0, |text| self.routing.shard(&text, None))
            }
            None => self.routing.shard(&String::from_utf8_lossy(document), None),
        }
    }

    /// The part of each document.
    pub fn parts(&self, block: &DocBlock) -> Vec<u32> {
        let rejected: Vec<u32> = block.rejects.iter().map(|reject| reject.record).collect();
        let part = |at: usize| match rejected.binary_search(&(at as u32)) {
            Ok(_) => 0,
            Err(_) => self.of(block, at),
        };
        (0..block.records.len()).map(part).collect()
    }

    /// Removes the documents of other parts.
    fn cut(&self, mut block: DocBlock) -> DocBlock {
        let ours: Vec<bool> = self.parts(&block).into_iter().map(|part| part == self.part).collect();
        // New position of each document that is kept.
        let mut places = Vec::with_capacity(ours.len());
        let mut count = 0;
        for is_ours in &ours {
            places.push(count);
            count += u32::from(*is_ours);
        }
        let keep = |at: usize| ours[at];
        retain(&mut block.records, keep);
        retain(&mut block.meta, keep);
        block.rejects.retain(|reject| ours[reject.record as usize]);
        for reject in &mut block.rejects {
            reject.record = places[reject.record as usize];
        }
        block
    }
}

fn retain<T>(all: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        keep(at - 1)
    });
}

/// The documents of one part.
pub struct Parted {
    inner: Box<dyn Source>,
    parting: Parting,
}

impl Parted {
    /// Keeps the documents of this part only.
    pub fn new(inner: Box<dyn Source>, parting: Parting) -> Self {
        Parted { inner, parting }
    }
}

impl Source for Parted {
    fn describe(&self) -> SourceInfo {
        let mut info = self.inner.describe();
        let (part, routing) = (self.parting.part, &self.parting.routing);
        // Checkpoints record this text, so it stays as it was first written.
        info.reading = format!(
            "{} part {part} of Routing {{ shards: {}, routing_shards: {}, partition_size: {} }}",
            info.reading,
            routing.shards(),
            routing.routing_shards(),
            routing.partition_size()
        );
        // The warnings are about the whole source.
        info.warnings = info.warnings.filter(|_| self.parting.part == 0);
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        let chunk = match self.inner.next(want_bytes)? {
            Step::Chunk(chunk) => chunk,
            step @ (Step::Idle | Step::End) => return Ok(step),
        };
        let parting = self.parting.clone();
        Ok(Step::Chunk(Chunk::Deferred(Box::new(move || parting.cut(chunk.into_block())))))
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.inner.keep_texts(fields);
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.inner.fingerprints()
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::block::Record;
    use inrush_core::{Code, DocMeta, Reject};

    use super::*;

    fn block(documents: &[&str]) -> DocBlock {
        let mut block = DocBlock { data: documents.concat().into(), ..DocBlock::default() };
        let mut start = 0;
        for (line, document) in documents.iter().enumerate() {
            let end = start + document.len() as u32;
            block.records.push(Record { start, end, byte: start, line: line as u32 });
            start = end;
        }
        block
    }

    fn routing() -> Routing {
        Routing::new(3, None, 1).unwrap()
    }

    fn parting(part: u32) -> Parting {
        Parting { routing: routing(), part, id: Some("id".parse().unwrap()), routed_by: None }
    }

    #[test]
    fn every_document_is_in_exactly_one_part_which_is_its_shard() {
        let documents: Vec<String> = (0..300).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}")).collect();
        let all = block(&documents.iter().map(String::as_str).collect::<Vec<_>>());
        let mut found = 0;
        for part in 0..3 {
            let ours = parting(part).cut(all.clone());
            for at in 0..ours.records.len() {
                let document: serde_json::Value = serde_json::from_slice(ours.record(at)).unwrap();
                assert_eq!(routing().shard(document["id"].as_str().unwrap(), None), part);
                assert_eq!(u64::from(ours.records[at].line), document["n"].as_u64().unwrap());
            }
            found += ours.records.len();
        }
        assert_eq!(found, 300);
    }

    #[test]
    fn the_text_of_a_checkpoint_stays() {
        // Tests run in the folder of their crate.
        let file = crate::SourceSpec::new("Cargo.toml");
        let whole = crate::open(&[file], crate::FormatOptions::default(), &crate::Warnings::default()).unwrap();
        assert_eq!(
            Parted::new(Box::new(whole), parting(1)).describe().reading,
            "{} part 1 of Routing { shards: 3, routing_shards: 768, partition_size: 1 }"
        );
    }

    #[test]
    fn what_cannot_be_told_is_the_first_parts() {
        let mut all = block(&["{\"x\":1}", "{\"id\":\"a\"}", "not a row", "{\"id\":{}}"]);
        all.rejects = vec![Reject { record: 2, kind: Code::BadValue, reason: String::new() }];
        all.meta = vec![DocMeta::default(); 4];
        let a = routing().shard("a", None);
        for part in 0..3 {
            let ours = parting(part).cut(all.clone());
            let expected = if part == 0 { 3 } else { 0 } + usize::from(part == a);
            assert_eq!((ours.records.len(), ours.meta.len()), (expected, expected));
            let places: Vec<u32> = ours.rejects.iter().map(|reject| reject.record).collect();
            assert_eq!(places, if part == 0 { vec![1 + u32::from(a == 0)] } else { vec![] });
        }
    }

    #[test]
    fn routing_wins_over_the_id_and_text_stands_for_both() {
        let all = block(&["{\"id\":\"a\",\"r\":\"k\"}"]);
        let part = |parting: Parting| {
            (0..3).find(|part| !Parting { part: *part, ..parting.clone() }.cut(all.clone()).records.is_empty()).unwrap()
        };
        let routing = routing();
        assert_eq!(part(Parting { routed_by: Some("r".parse().unwrap()), ..parting(0) }), routing.shard("k", None));
        assert_eq!(part(Parting { id: None, ..parting(0) }), routing.shard("{\"id\":\"a\",\"r\":\"k\"}", None));
    }
}
