//! The items of a bulk body, and the reply to them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use bytes::Bytes;
use inrush_core::routing::Routing;
use inrush_lucene::{AddError, Keep, MadeId, MadeIds, Product, Refused, ShardWriter};
use serde::Deserialize;
use serde_json::json;

use super::writers::{BuildPlan, Stopped};

/// Puts the items of bulk bodies into the shards of one index.
pub(super) struct Items {
    routing: Routing,
    /// The number of the only shard, if others are built elsewhere.
    only: Option<u32>,
    ids: MadeIds,
    /// Whether documents keep those with their ids, and not the other way round.
    creates: bool,
    product: Product,
    /// The entries of a reply for a new document, by action.
    indexed: String,
    created: String,
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
        let BuildPlan { index, routing, only, keep, product, .. } = plan;
        let entry = |action: &str| {
            format!("{{\"{action}\":{{\"_index\":{},\"status\":201,\"result\":\"created\"}}}}", json!(index))
        };
        Items {
            routing: *routing,
            only: *only,
            ids,
            creates: *keep == Keep::First,
            product: *product,
            indexed: entry("index"),
            created: entry("create"),
            index: index.clone(),
        }
    }

    /// Adds all items, and returns the reply of a server. Documents with an id of another one are
    /// new here: which of them stays is decided at the end.
    pub(super) fn add(&mut self, body: &[Bytes], writers: &mut [ShardWriter]) -> Result<Vec<u8>, Stopped> {
        let (mut entries, mut errors) = (String::new(), false);
        for slice in body {
            let mut rest = &slice[..];
            while !rest.is_empty() {
                let (line, document);
                (line, rest) = cut(rest);
                (document, rest) = cut(rest);
                let address = Address::of(line).map_err(Stopped::Unsupported)?;
                if address.create != self.creates {
                    let why = "a document with another action than that of the bake".to_owned();
                    return Err(Stopped::Unsupported(why));
                }
                if !entries.is_empty() {
                    entries.push(',');
                }
                match self.add_one(&address, document, writers) {
                    Ok(()) => entries.push_str(if address.create { &self.created } else { &self.indexed }),
                    Err(AddError::Io(error)) => return Err(Stopped::Failed(error.to_string())),
                    Err(AddError::Refused(refused @ Refused::Unsupported(_))) => {
                        return Err(Stopped::Unsupported(refused.to_string()));
                    }
                    Err(AddError::Refused(refused)) => {
                        errors = true;
                        let action = if address.create { "create" } else { "index" };
                        let error = json!({"type": refused.kind(self.product), "reason": refused.to_string()});
                        let entry = json!({action: {"_index": self.index, "status": 400, "error": error}});
                        // Writing to a string does not fail.
                        let _ = write!(entries, "{entry}");
                    }
                }
            }
        }
        Ok(format!("{{\"took\":0,\"errors\":{errors},\"items\":[{entries}]}}").into_bytes())
    }

    fn add_one(&mut self, address: &Address, document: &[u8], writers: &mut [ShardWriter]) -> Result<(), AddError> {
        match &address.id {
            Some(id) => self.add_given(id, address.routing.as_deref(), document, writers),
            None if address.routing.is_some() => {
                let id = self.ids.make().text();
                self.add_given(&id, address.routing.as_deref(), document, writers)
            }
            None => {
                let id = self.make_id();
                let writer = self.place(writers, || self.routing.shard(&id.text(), None))?;
                writer.add_made(document, &id)
            }
        }
    }

    fn add_given(
        &mut self,
        id: &str,
        routing: Option<&str>,
        document: &[u8],
        writers: &mut [ShardWriter],
    ) -> Result<(), AddError> {
        let writer = self.place(writers, || self.routing.shard(id, routing))?;
        match routing {
            Some(routing) => writer.add_routed(document, id, routing),
            None => writer.add(document, id),
        }
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

    /// The writer of the shard of a document, which `shard` finds out.
    fn place<'a, 's, 'm>(
        &self,
        writers: &'a mut [ShardWriter<'s, 'm>],
        shard: impl Fn() -> u32,
    ) -> Result<&'a mut ShardWriter<'s, 'm>, AddError> {
        let at = match self.only {
            None if writers.len() == 1 => 0,
            None => shard() as usize,
            Some(only) if shard() == only => 0,
            Some(only) => {
                let why = format!(
                    "a document of shard {} has come to shard {only}: its id or routing value was another one when the rows were divided; give option `engine=server`",
                    shard()
                );
                return Err(AddError::Io(io::Error::other(why)));
            }
        };
        Ok(&mut writers[at])
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

    use inrush_lucene::{LiveMapping, Mapping, Shard, ShardOptions, Target};

    use super::*;

    /// What `ask` does with the items of an index, or of its shard `only`.
    fn with_items<T>(
        product: Product,
        routing: Routing,
        only: Option<u32>,
        ask: impl FnOnce(&mut Items, &mut [ShardWriter]) -> T,
    ) -> T {
        let target = Target { product, version: [3, 6, 0], lucene: [10, 4, 0] };
        let mapping = Mapping::parse(&json!({"properties": {"n": {"type": "long"}}}), target).unwrap();
        let mapping = Arc::new(LiveMapping::new(mapping));
        let folder = tempfile::tempdir().unwrap();
        let (keep, random) = (Keep::Last, [7; 32]);
        let options =
            ShardOptions { folder: folder.path().to_owned(), primary_term: 1, segment_memory: 1 << 20, random, keep };
        let shard = Shard::new(options, &mapping);
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
        ask(&mut Items::new(&plan, MadeIds::new([7; 9], 0)), &mut [shard.writer()])
    }

    fn reply(items: &mut Items, body: &str, writers: &mut [ShardWriter]) -> serde_json::Value {
        let reply = items.add(&[Bytes::from(body.to_owned())], writers).unwrap();
        serde_json::from_slice(&reply).unwrap()
    }

    #[test]
    fn what_decides_otherwise_is_not_taken() {
        with_items(Product::Elasticsearch, Routing::new(1, None, 1).unwrap(), None, |items, writers| {
            let body = "{\"index\":{}}\n{\"n\":1}\n{\"index\":{}}\n{\"n\":\"x\"}\n";
            let reply = reply(items, body, writers);
            assert_eq!((&reply["errors"], &reply["items"][0]["index"]["status"]), (&json!(true), &json!(201)));
            assert_eq!(reply["items"][1]["index"]["error"]["type"], "document_parsing_exception");
            let other = Bytes::from_static(b"{\"create\":{\"_id\":\"a\"}}\n{\"n\":2}\n");
            let Err(Stopped::Unsupported(why)) = items.add(&[other], writers) else { panic!("it was taken") };
            assert!(why.contains("another action"), "{why}");
        });
    }

    #[test]
    fn one_shard_takes_its_own_documents() {
        let (routing, only) = (Routing::new(5, None, 1).unwrap(), 3);
        let (ours, others): (Vec<u32>, Vec<u32>) = (0..50).partition(|n| routing.shard(&n.to_string(), None) == only);
        let line = |n: &u32| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n}}}\n");
        with_items(Product::OpenSearch, routing, Some(only), |items, writers| {
            let made: Vec<String> = (0..20).map(|_| items.make_id().text()).collect();
            assert!(made.iter().all(|id| routing.shard(id, None) == only), "{made:?}");
            let body: String = ours.iter().map(line).chain(["{\"index\":{}}\n{\"n\":1}\n".to_owned()]).collect();
            let reply = reply(items, &body, writers);
            assert_eq!((&reply["errors"], reply["items"].as_array().unwrap().len()), (&json!(false), ours.len() + 1));
            let Err(Stopped::Failed(why)) = items.add(&[Bytes::from(line(&others[0]))], writers) else {
                panic!("it was taken")
            };
            assert!(why.contains("has come to shard 3"), "{why}");
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
