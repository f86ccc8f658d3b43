//! The items of a bulk body, and the reply to them.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use inrush_core::Columns;
use inrush_core::columns::RowSelection;
use inrush_core::routing::Routing;
use inrush_lucene::{AddError, DocumentId, Keep, KnownProduct, MadeId, MadeIds, NewDocument, Refused, ShardWriter};
use serde::Deserialize;
use serde_json::json;

use super::build_plan::{BuildPlan, Stopped};

/// Puts the items of bulk bodies into the shards of one index.
pub(super) struct Items {
    routing: Routing,
    /// The number of the only shard, if others are built elsewhere.
    only: Option<u32>,
    ids: MadeIds,
    /// Whether documents keep those with their ids, and not the other way round.
    creates: bool,
    product: KnownProduct,
    /// The number of shards.
    shards: usize,
    /// The entry of a reply for a new document.
    taken: String,
    index: String,
}

/// What an action line says.
struct Address<'a> {
    create: bool,
    id: Option<Cow<'a, str>>,
    routing: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    index: Option<Meta<'a>>,
    #[serde(borrow)]
    create: Option<Meta<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(borrow)]
    _id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    routing: Option<Cow<'a, str>>,
}

impl Items {
    /// `ids` are for documents without one.
    pub(super) fn new(plan: &BuildPlan, ids: MadeIds) -> Items {
        let BuildPlan { index, routing, only, keep, product, shards, .. } = plan;
        let creates = *keep == Keep::First;
        let action = if creates { "create" } else { "index" };
        Items {
            routing: *routing,
            only: *only,
            ids,
            creates,
            product: *product,
            shards: shards.len(),
            taken: format!("{{\"{action}\":{{\"_index\":{},\"status\":201,\"result\":\"created\"}}}}", json!(index)),
            index: index.clone(),
        }
    }

    /// Adds all items, and returns the reply of a server. `rows` says where their values are, if
    /// not in their text only. Documents with an id of another one are new here: which of them
    /// stays is decided at the end.
    pub(super) fn add(
        &mut self,
        body: &[Bytes],
        rows: &[RowSelection],
        writers: &mut [ShardWriter],
    ) -> Result<Vec<u8>, Stopped> {
        let mut items = body.iter().flat_map(|slice| ItemTexts(slice));
        let (mut count, mut refused) = (0, Vec::new());
        let rest = RowSelection { items: u32::MAX, columns: None };
        for rows in rows.iter().chain([&rest]) {
            let Some((columns, records)) = &rows.columns else {
                for text in items.by_ref().take(rows.items as usize) {
                    let (shard, document) = self.document(text)?;
                    add(&mut writers[shard], &document, count, &mut refused)?;
                    count += 1;
                }
                continue;
            };
            let added = self.add_rows(columns, records.iter().zip(items.by_ref()), count, writers, &mut refused)?;
            if added != records.len() {
                let why = format!("a request has {added} documents for {} rows of columns", records.len());
                return Err(Stopped::Failed(why));
            }
            count += added;
        }
        Ok(self.reply(count, refused))
    }

    /// The reply to a number of items, of which some are refused, in their order.
    fn reply(&self, count: usize, refused: Vec<(usize, Refused)>) -> Vec<u8> {
        let mut reply = format!("{{\"took\":0,\"errors\":{},\"items\":[", !refused.is_empty());
        let mut refused = refused.into_iter().peekable();
        for item in 0..count {
            if item > 0 {
                reply.push(',');
            }
            match refused.next_if(|(at, _)| *at == item) {
                None => reply.push_str(&self.taken),
                Some((_, why)) => {
                    let error = json!({"type": why.kind(self.product), "reason": why.to_string()});
                    let entry = json!({self.action(): {"_index": self.index, "status": 400, "error": error}});
                    // Writing to a string does not fail.
                    let _ = write!(reply, "{entry}");
                }
            }
        }
        reply.push_str("]}");
        reply.into_bytes()
    }

    fn action(&self) -> &'static str {
        if self.creates { "create" } else { "index" }
    }

    /// Adds items whose values are in columns, from the item `first` on. Returns how many.
    fn add_rows<'a>(
        &mut self,
        columns: &Columns,
        items: impl Iterator<Item = (&'a u32, ItemText<'a>)>,
        first: usize,
        writers: &mut [ShardWriter],
        refused: &mut Vec<(usize, Refused)>,
    ) -> Result<usize, Stopped> {
        // The documents of each shard, and their places among the items.
        let mut rows: Vec<Vec<(u32, NewDocument)>> = writers.iter().map(|_| Vec::new()).collect();
        let mut places: Vec<Vec<usize>> = writers.iter().map(|_| Vec::new()).collect();
        let mut count = 0;
        for (record, text) in items {
            let (shard, document) = self.document(text)?;
            rows[shard].push((*record, document));
            places[shard].push(first + count);
            count += 1;
        }
        // What is read from text comes behind the rest: no two items of a request have one id. It
        // comes in the order of the items, as it may add fields to the mapping.
        let mut left = Vec::new();
        for (shard, writer) in writers.iter_mut().enumerate() {
            let of_shard = writer.add_rows(columns, &rows[shard])?;
            left.extend(of_shard.into_iter().map(|at| (places[shard][at], shard, at)));
        }
        left.sort_unstable();
        for (item, shard, at) in left {
            add(&mut writers[shard], &rows[shard][at].1, item, refused)?;
        }
        Ok(count)
    }

    /// The place of the shard of an item among the writers, and the item.
    fn document<'a>(&mut self, (line, source): ItemText<'a>) -> Result<(usize, NewDocument<'a>), Stopped> {
        let Address { create, id, routing } = Address::of(line).map_err(Stopped::Unsupported)?;
        if create != self.creates {
            return Err(Stopped::Unsupported("a document with another action than that of the bake".to_owned()));
        }
        let (shard, id) = match id {
            Some(id) => (self.shard(|of| of.shard(&id, routing.as_deref()))?, DocumentId::Given(id)),
            // The shard depends on the routing value alone.
            None if routing.is_some() => {
                let id = self.ids.make().text();
                (self.shard(|of| of.shard(&id, routing.as_deref()))?, DocumentId::Given(id.into()))
            }
            None => {
                let id = self.make_id();
                (self.shard(|of| of.shard(&id.text(), None))?, DocumentId::Made(id))
            }
        };
        Ok((shard, NewDocument { source, id, routing }))
    }

    /// An id of any shard, or of the only one.
    fn make_id(&mut self) -> MadeId {
        loop {
            let id = self.ids.make();
            if self.only.is_none_or(|only| self.routing.shard(&id.text(), None) == only) {
                return id;
            }
        }
    }

    /// The place among the writers of the shard of a document, which `find` finds out.
    fn shard(&self, find: impl Fn(Routing) -> u32) -> Result<usize, Stopped> {
        match self.only {
            None if self.shards == 1 => Ok(0),
            None => Ok(find(self.routing) as usize),
            Some(only) if find(self.routing) == only => Ok(0),
            Some(only) => Err(Stopped::Failed(format!(
                "a document of shard {} has come to shard {only}: its id or routing value was another one when the rows were divided; give option `engine=server`",
                find(self.routing)
            ))),
        }
    }
}

/// Adds the document of an item, or notes why it is refused.
fn add(
    writer: &mut ShardWriter,
    document: &NewDocument,
    item: usize,
    refused: &mut Vec<(usize, Refused)>,
) -> Result<(), Stopped> {
    match writer.add(document) {
        Ok(()) => Ok(()),
        Err(AddError::Io(error)) => Err(error.into()),
        Err(AddError::Refused(unsupported @ Refused::Unsupported(_))) => {
            Err(Stopped::Unsupported(unsupported.to_string()))
        }
        Err(AddError::Refused(why)) => {
            refused.push((item, why));
            Ok(())
        }
    }
}

/// The action line and the document of an item.
type ItemText<'a> = (&'a [u8], &'a [u8]);

/// The items of a part of a body.
struct ItemTexts<'a>(&'a [u8]);

impl<'a> Iterator for ItemTexts<'a> {
    type Item = ItemText<'a>;

    #[inline]
    fn next(&mut self) -> Option<ItemText<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let (line, document);
        (line, self.0) = cut(self.0);
        (document, self.0) = cut(self.0);
        Some((line, document))
    }
}

/// The bytes up to the next line end, and those behind it.
#[inline]
fn cut(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

impl<'a> Address<'a> {
    /// Reads an action line.
    ///
    /// # Errors
    /// What of it is not supported.
    #[inline]
    fn of(line: &'a [u8]) -> Result<Address<'a>, String> {
        if line == b"{\"index\":{}}" {
            return Ok(Address { create: false, id: None, routing: None });
        }
        let plain = line.strip_prefix(b"{\"index\":{\"_id\":\"").and_then(|rest| rest.strip_suffix(b"\"}}"));
        if let Some(id) = plain.filter(|id| memchr::memchr2(b'"', b'\\', id).is_none())
            && let Ok(id) = std::str::from_utf8(id)
        {
            return Ok(Address { create: false, id: Some(Cow::Borrowed(id)), routing: None });
        }
        Address::parse(line)
    }

    fn parse(line: &'a [u8]) -> Result<Address<'a>, String> {
        let unsupported = || format!("the action line {}", String::from_utf8_lossy(&line[..line.len().min(300)]));
        match serde_json::from_slice(line).map_err(|_| unsupported())? {
            Line { index: Some(Meta { _id: id, routing }), create: None } => Ok(Address { create: false, id, routing }),
            Line { index: None, create: Some(Meta { _id: id, routing }) } => Ok(Address { create: true, id, routing }),
            Line { .. } => Err(unsupported()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use inrush_core::columns::{Cells, Column, Texts};
    use inrush_lucene::{Committed, LiveMapping, Mapping, ServerVersion, Shard, ShardOptions};

    use super::*;

    /// What `ask` does with the items of an index, or of its shard `only`. Returns what is in the
    /// shards then.
    fn with_items(
        product: KnownProduct,
        routing: Routing,
        only: Option<u32>,
        ask: impl FnOnce(&mut Items, &mut [ShardWriter]),
    ) -> Vec<Committed> {
        let target = ServerVersion { product, version: [3, 6, 0], lucene: [10, 4, 0] };
        let mapping = Mapping::parse(&json!({"properties": {"n": {"type": "long"}}}), target).unwrap();
        let mapping = Arc::new(LiveMapping::new(mapping));
        let (keep, random) = (Keep::Last, [7; 32]);
        let count = if only.is_some() { 1 } else { routing.shards() };
        let folders: Vec<_> = (0..count).map(|_| tempfile::tempdir().unwrap()).collect();
        let shard = |folder: &tempfile::TempDir| {
            let folder = folder.path().to_owned();
            Shard::new(ShardOptions { folder, primary_term: 1, segment_memory: 1 << 20, random, keep }, &mapping)
        };
        let shards: Vec<Shard> = folders.iter().map(shard).collect();
        let plan = BuildPlan {
            index: "x".to_owned(),
            product,
            mapping: Arc::clone(&mapping),
            routing,
            shards: Vec::new(),
            only,
            keep,
            memory: 1 << 20,
            threads: 1,
        };
        let mut writers: Vec<ShardWriter> = shards.iter().map(Shard::writer).collect();
        ask(&mut Items::new(&plan, MadeIds::new([7; 9], 0)), &mut writers);
        writers.into_iter().for_each(|writer| writer.finish().unwrap());
        shards.into_iter().map(|shard| shard.commit(3, &[]).unwrap()).collect()
    }

    fn reply(items: &mut Items, body: &str, writers: &mut [ShardWriter]) -> serde_json::Value {
        let reply = items.add(&[Bytes::from(body.to_owned())], &[], writers).unwrap();
        serde_json::from_slice(&reply).unwrap()
    }

    #[test]
    fn what_decides_otherwise_is_not_taken() {
        with_items(KnownProduct::Elasticsearch, Routing::new(1, None, 1).unwrap(), None, |items, writers| {
            let body = "{\"index\":{}}\n{\"n\":1}\n{\"index\":{}}\n{\"n\":\"x\"}\n";
            let reply = reply(items, body, writers);
            assert_eq!((&reply["errors"], &reply["items"][0]["index"]["status"]), (&json!(true), &json!(201)));
            assert_eq!(reply["items"][1]["index"]["error"]["type"], "document_parsing_exception");
            let other = Bytes::from_static(b"{\"create\":{\"_id\":\"a\"}}\n{\"n\":2}\n");
            let Err(Stopped::Unsupported(why)) = items.add(&[other], &[], writers) else { panic!("it was taken") };
            assert!(why.contains("another action"), "{why}");
        });
    }

    #[test]
    fn one_shard_takes_its_own_documents() {
        let (routing, only) = (Routing::new(5, None, 1).unwrap(), 3);
        let (ours, others): (Vec<u32>, Vec<u32>) = (0..50).partition(|n| routing.shard(&n.to_string(), None) == only);
        let line = |n: &u32| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n}}}\n");
        with_items(KnownProduct::OpenSearch, routing, Some(only), |items, writers| {
            let made: Vec<String> = (0..20).map(|_| items.make_id().text()).collect();
            assert!(made.iter().all(|id| routing.shard(id, None) == only), "{made:?}");
            let body: String = ours.iter().map(line).chain(["{\"index\":{}}\n{\"n\":1}\n".to_owned()]).collect();
            let reply = reply(items, &body, writers);
            assert_eq!((&reply["errors"], reply["items"].as_array().unwrap().len()), (&json!(false), ours.len() + 1));
            let Err(Stopped::Failed(why)) = items.add(&[Bytes::from(line(&others[0]))], &[], writers) else {
                panic!("it was taken")
            };
            assert!(why.contains("has come to shard 3"), "{why}");
        });
    }

    #[test]
    fn rows_of_columns_are_taken_from_them_and_answered_in_the_order_of_items() {
        let routing = Routing::new(2, None, 1).unwrap();
        // The number of a document says its shard.
        let id = |number: u32| {
            let mut ids = (0..).map(|more| format!("{number}-{more}"));
            ids.find(|id| routing.shard(id, None) == number % 2).unwrap()
        };
        let item = |(number, n)| Bytes::from(format!("{{\"index\":{{\"_id\":\"{}\"}}}}\n{{\"n\":{n}}}\n", id(number)));
        let bad = "\"x\"";
        let body =
            [(1, "1"), (2, bad), (3, "11"), (5, bad), (4, bad), (7, "15"), (6, "2"), (3, "11"), (3, "11"), (9, "3")];
        let body = body.map(item);
        let statuses = [201, 400, 201, 400, 400, 201, 201, 201, 201, 201];
        let mut values = Texts::default();
        ["0", "11", "0", bad, "0", "15"].iter().for_each(|text| values.push(text));
        let values = Column { cells: Cells::Json(values), present: None };
        let columns = Columns { names: ["n".to_owned()].into(), columns: vec![values], text_only: vec![5] };
        let columns = Arc::new(columns);
        let of = |records: &[u32]| RowSelection {
            items: records.len() as u32,
            columns: Some((Arc::clone(&columns), records.to_vec())),
        };
        let in_text = |items| RowSelection { items, columns: None };
        for (rows, from_columns) in [
            (vec![in_text(2), of(&[1, 3, 3, 5]), in_text(1), of(&[1, 1])], 3),
            (vec![in_text(2), of(&[1, 3, 3, 5])], 1),
            (vec![in_text(0), in_text(6), of(&[]), in_text(1), of(&[1]), of(&[1]), in_text(1)], 2),
            (vec![], 0),
        ] {
            let committed = with_items(KnownProduct::OpenSearch, routing, None, |items, writers| {
                let reply = items.add(&body, &rows, writers).unwrap();
                let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
                let status = |item: &serde_json::Value| item["index"]["status"].as_u64().unwrap();
                let found: Vec<u64> = reply["items"].as_array().unwrap().iter().map(status).collect();
                assert_eq!((&reply["errors"], &found[..]), (&json!(true), &statuses[..]));
                let Err(Stopped::Failed(why)) = items.add(&[], &[of(&[1])], writers) else { panic!("it was taken") };
                assert!(why.contains("0 documents for 1 rows"), "{why}");
            });
            let sum = |of: fn(&Committed) -> u64| committed.iter().map(of).sum::<u64>();
            assert!(committed.iter().all(|shard| shard.docs > 0), "{committed:?}");
            assert_eq!((sum(|of| of.docs), sum(|of| of.duplicates), sum(|of| of.from_columns)), (5, 2, from_columns));
        }
    }

    #[test]
    fn the_first_item_makes_the_type_of_a_new_field_also_in_another_shard() {
        let routing = Routing::new(2, None, 1).unwrap();
        let id = |shard| (0..).map(|n: u32| n.to_string()).find(|id| routing.shard(id, None) == shard).unwrap();
        // As a date, the second value would refuse the first one.
        let values = [(id(1), "hello"), (id(0), "2024-01-01")];
        let mut texts = Texts::default();
        values.iter().for_each(|(_, value)| texts.push(value));
        let columns = vec![Column { cells: Cells::Text(texts), present: None }];
        let columns = Arc::new(Columns { names: ["x".to_owned()].into(), columns, text_only: Vec::new() });
        let line =
            |(id, value): &(String, &str)| format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{{\"x\":\"{value}\"}}\n");
        let body = Bytes::from(values.iter().map(line).collect::<String>());
        let rows = [RowSelection { items: 2, columns: Some((columns, vec![0, 1])) }];
        with_items(KnownProduct::OpenSearch, routing, None, |items, writers| {
            let reply = items.add(&[body], &rows, writers).unwrap();
            let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
            assert_eq!(reply["errors"], false, "{reply}");
        });
    }

    fn address(line: &str) -> Result<(bool, Option<String>), String> {
        Address::of(line.as_bytes()).map(|address| (address.create, address.id.map(Cow::into_owned)))
    }

    #[test]
    fn action_lines_are_read() {
        assert_eq!(address("{\"index\":{}}"), Ok((false, None)));
        assert_eq!(address("{\"create\":{}}"), Ok((true, None)));
        assert_eq!(address("{\"index\":{\"_id\":\"a b\"}}"), Ok((false, Some("a b".to_owned()))));
        assert_eq!(address("{\"create\":{\"_id\":\"a\\\"b\"}}"), Ok((true, Some("a\"b".to_owned()))));
        let line = "{\"index\":{\"_id\":\"a\",\"routing\":\"r\"}}";
        assert_eq!(Address::of(line.as_bytes()).unwrap().routing.as_deref(), Some("r"));
        for line in [
            "{\"delete\":{\"_id\":\"a\"}}",
            "{\"index\":{\"_id\":\"a\",\"version\":3,\"version_type\":\"external\"}}",
            "",
        ] {
            assert!(address(line).unwrap_err().contains("the action line"), "{line}");
        }
    }
}
