//! The division of documents into parts that are built apart, such as the shards of an index.

use inrush_core::routing::Routing;
use inrush_core::{DocBlock, FieldPath, encode};

/// The assignment of documents to parts.
#[derive(Clone, Debug)]
pub struct Parting {
    /// Shards, one for each part.
    pub routing: Routing,
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

    fn parting() -> Parting {
        Parting { routing: routing(), id: Some("id".parse().unwrap()), routed_by: None }
    }

    #[test]
    fn the_part_of_a_document_is_its_shard() {
        let documents: Vec<String> = (0..300).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}")).collect();
        let all = block(&documents.iter().map(String::as_str).collect::<Vec<_>>());
        let expected: Vec<u32> = (0..300).map(|n| routing().shard(&format!("i{n}"), None)).collect();
        assert_eq!(parting().parts(&all), expected);
    }

    #[test]
    fn what_cannot_be_told_is_the_first_parts() {
        let mut all = block(&["{\"x\":1}", "{\"id\":\"a\"}", "not a row", "{\"id\":{}}"]);
        all.rejects = vec![Reject { record: 2, kind: Code::BadValue, reason: String::new() }];
        all.meta = vec![DocMeta::default(); 4];
        assert_eq!(parting().parts(&all), [0, routing().shard("a", None), 0, 0]);
    }

    #[test]
    fn routing_wins_over_the_id_and_text_stands_for_both() {
        let all = block(&["{\"id\":\"a\",\"r\":\"k\"}"]);
        let part = |parting: Parting| parting.parts(&all)[0];
        let routing = routing();
        assert_eq!(part(Parting { routed_by: Some("r".parse().unwrap()), ..parting() }), routing.shard("k", None));
        assert_eq!(part(Parting { id: None, ..parting() }), routing.shard("{\"id\":\"a\",\"r\":\"k\"}", None));
    }
}
