//! Documents that are looked up by their ids.
//!
//! A stream of changes may have the ids of records only. Their documents are looked up for each
//! request, before it is sent. That is after coalescing, so an id is looked up once a window, and
//! again before a retry, so the newest document is sent. At most as many look-ups run at once as
//! requests are in flight, and fewer where their documents are large (`budget.rs`).

mod budget;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use inrush_core::Code;
use inrush_core::body_format::Body;
use inrush_core::outcome::Attempt;
use inrush_core::reply::{BulkReply, ItemAction, ItemError, ItemReply, ItemResult, ItemRun};
use inrush_core::{Encoding, Request};
use inrush_sources::fetch::{Answer, Fetch, FetchError};
use serde::Deserialize;

use self::budget::{Budget, Room};

/// Documents of one request, where no option limits them. Their size is not known before they are
/// looked up, so a number bounds them.
pub(crate) const DOCS_MAX: u32 = 1_000;

/// What becomes of an id without a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRecord {
    /// The document is deleted from the index: the record was deleted after the change.
    #[default]
    Delete,
    /// A dead letter of type `no_record`.
    DeadLetter,
    /// Nothing. The change counts as a dropped document.
    Skip,
}

/// Looks up the documents of requests.
#[derive(Clone)]
pub(crate) struct Fetcher {
    fetch: Arc<dyn Fetch>,
    missing: MissingRecord,
    budget: Arc<Budget>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("missing", &self.missing).finish_non_exhaustive()
    }
}

/// A request with looked-up documents.
#[derive(Debug)]
pub(crate) struct Filled {
    /// The items that are sent.
    pub(crate) request: Request,
    /// Items that are not sent, in order.
    left_out: Vec<LeftOut>,
    items: u32,
    /// Held until the request is answered.
    _room: Room,
}

/// An item that is not sent.
#[derive(Debug)]
struct LeftOut {
    /// Its place in the whole request.
    place: u32,
    id: String,
    /// Its entry in the reply.
    entry: ItemReply,
}

/// An item of a body: the action line, and the document that came with it.
struct Item<'a> {
    line: &'a [u8],
    document: &'a [u8],
}

/// The part of an action line that names the id.
#[derive(Deserialize)]
struct Address<'a> {
    #[serde(rename = "_id", borrow)]
    id: Option<Cow<'a, str>>,
}

impl Fetcher {
    /// `memory`: bytes of documents that may be looked up and not sent yet.
    pub(crate) fn new(fetch: Arc<dyn Fetch>, missing: MissingRecord, memory: usize) -> Self {
        Fetcher { fetch, missing, budget: Arc::new(Budget::new(memory as u64)) }
    }

    /// Looks up the documents of `index` items. Other items stay as they are. The body is
    /// uncompressed JSON.
    pub(crate) async fn fill(&self, request: &Request) -> Result<Filled, FetchError> {
        if request.body.format.encoding != Encoding::Json {
            return Err(FetchError::new("documents are looked up for JSON bodies only").lasting());
        }
        let body = request.body.slices.concat();
        let items = items(&body);
        let wanted: Vec<Option<String>> = items.iter().map(|item| id_to_fetch(item.line)).collect();
        let ids: Vec<String> = wanted.iter().flatten().cloned().collect();
        let mut room = self.budget.room(ids.len()).await;
        let answers = match ids.is_empty() {
            true => Vec::new(),
            false => self.fetch.fetch(&ids).await?,
        };
        if answers.len() != ids.len() {
            let (asked, came) = (ids.len(), answers.len());
            return Err(FetchError::new(format!("{asked} ids were looked up, and {came} answers came")).lasting());
        }
        let (mut answers, mut left_out) = (answers.into_iter(), Vec::new());
        let mut out = Vec::with_capacity(body.len());
        for (at, (item, id)) in items.iter().zip(wanted).enumerate() {
            let Some(id) = id else {
                push(&mut out, item.line, item.document);
                continue;
            };
            // There is an answer for each id.
            let entry = match (answers.next().unwrap_or(Answer::NoRecord), self.missing) {
                (Answer::Document(document), _) => {
                    push(&mut out, item.line, &document);
                    continue;
                }
                (Answer::NoRecord, MissingRecord::Delete) => {
                    let address = item.line.strip_prefix(INDEX).unwrap_or_default();
                    push(&mut out, &[DELETE, address].concat(), b"");
                    continue;
                }
                (Answer::NoRecord, MissingRecord::DeadLetter) => refused(Code::NoRecord, NO_RECORD.to_owned()),
                (Answer::NoRecord, MissingRecord::Skip) => skipped(),
                (Answer::Refused { kind, reason }, _) => refused(kind, reason),
            };
            left_out.push(LeftOut { place: at as u32, id, entry });
        }
        self.budget.came(&mut room, ids.len(), out.len());
        let body = Arc::new(Body::new(vec![out.into()], request.body.format));
        let sent = items.len() as u32 - left_out.len() as u32;
        let request = Request { body, items: sent, ..request.clone() };
        Ok(Filled { request, left_out, items: items.len() as u32, _room: room })
    }
}

const INDEX: &[u8] = b"{\"index\":";
const DELETE: &[u8] = b"{\"delete\":";
const NO_RECORD: &str = "the look-up found no record with this id; delete its document, or add the record";

/// The items of a body in NDJSON.
fn items(body: &[u8]) -> Vec<Item<'_>> {
    let mut lines = body.split(|byte| *byte == b'\n');
    let mut items = Vec::new();
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        let document = if line.starts_with(DELETE) { &b""[..] } else { lines.next().unwrap_or_default() };
        items.push(Item { line, document });
    }
    items
}

/// The id of an `index` item. `None` for other actions, and where the server makes the id.
fn id_to_fetch(line: &[u8]) -> Option<String> {
    let address = line.strip_prefix(INDEX)?.strip_suffix(b"}")?;
    serde_json::from_slice::<Address<'_>>(address).ok()?.id.map(Cow::into_owned)
}

/// Appends an item. Line ends of JSON stand between values only, so each becomes a space.
fn push(out: &mut Vec<u8>, line: &[u8], document: &[u8]) {
    out.extend_from_slice(line);
    out.push(b'\n');
    if !line.starts_with(DELETE) {
        out.extend(document.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        out.push(b'\n');
    }
}

impl Filled {
    /// The result of the whole request, from the one of the items that were sent.
    pub(crate) fn attempt(self, sent: Attempt) -> Attempt {
        match sent {
            Attempt::Replied(reply) if !self.left_out.is_empty() => Attempt::Replied(self.reply(reply)),
            other => other,
        }
    }

    /// Whether no item is left to be sent.
    pub(crate) fn nothing_to_send(&self) -> bool {
        self.request.items == 0
    }

    fn reply(self, reply: BulkReply) -> BulkReply {
        let with_ids = !reply.ids.is_empty();
        let (mut ids, mut runs) = (reply.ids.into_iter().zip(reply.marks), reply.runs.into_iter());
        let mut run = runs.next();
        let mut left_out = self.left_out.into_iter().peekable();
        let mut whole = BulkReply { took_ms: reply.took_ms, errors: true, ..BulkReply::default() };
        for at in 0..self.items {
            let (item, (id, mark)) = match left_out.next_if(|left_out| left_out.place == at) {
                Some(LeftOut { id, entry, .. }) => (entry, (Some(id.into_boxed_str()), None)),
                None => {
                    while run.as_ref().is_some_and(|run| run.count == 0) {
                        run = runs.next();
                    }
                    // The reply has an entry for each item that was sent.
                    let Some(run) = &mut run else { break };
                    run.count -= 1;
                    (run.item.clone(), ids.next().unwrap_or_default())
                }
            };
            if with_ids {
                whole.ids.push(id);
                whole.marks.push(mark);
            }
            match whole.runs.last_mut() {
                Some(last) if last.item == item => last.count += 1,
                _ => whole.runs.push(ItemRun { count: 1, item }),
            }
        }
        whole
    }
}

/// The entry of an item that becomes a dead letter.
fn refused(kind: Code, reason: String) -> ItemReply {
    // Status 404 with a type of its own, so that it is about this item only.
    let error = ItemError { kind: kind.name().to_owned(), reason, ..ItemError::default() };
    ItemReply { status: 404, result: None, error: Some(error), ..skipped() }
}

/// The entry of an item that is dropped.
fn skipped() -> ItemReply {
    ItemReply {
        action: ItemAction::Index,
        status: 200,
        index: None,
        result: Some(ItemResult::Noop),
        error: None,
        failure_store_used: false,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inrush_core::BodyFormat;
    use inrush_sources::fetch::Fetched;

    use super::*;

    /// Records by id: those of even numbers exist.
    struct Even;

    impl Fetch for Even {
        fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a> {
            let record = |id: &String| {
                let even = id.parse::<u32>().is_ok_and(|number| number.is_multiple_of(2));
                let document = || Answer::Document(Bytes::from(format!("{{\n  \"id\": {id}\r\n}}")));
                if even { document() } else { Answer::NoRecord }
            };
            let records = ids.iter().map(record).collect();
            Box::pin(async { Ok(records) })
        }
    }

    /// A look-up that refuses each id.
    struct Refusing;

    impl Fetch for Refusing {
        fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a> {
            let answer = |id: &String| Answer::Refused { kind: Code::BadKey, reason: format!("{id} is bad") };
            let answers = ids.iter().map(answer).collect();
            Box::pin(async { Ok(answers) })
        }
    }

    fn no_record() -> ItemReply {
        refused(Code::NoRecord, NO_RECORD.to_owned())
    }

    /// A look-up that answers with this.
    struct Fixed(Result<usize, &'static str>);

    impl Fetch for Fixed {
        fn fetch<'a>(&'a self, _: &'a [String]) -> Fetched<'a> {
            let answer = self.0.map(|count| vec![Answer::NoRecord; count]).map_err(FetchError::new);
            Box::pin(async { answer })
        }
    }

    fn fetcher(fetch: impl Fetch + 'static, missing: MissingRecord) -> Fetcher {
        Fetcher::new(Arc::new(fetch), missing, 1 << 20)
    }

    fn request(body: &'static str, items: u32) -> Request {
        let slices = vec![Bytes::from_static(body.as_bytes())];
        Request {
            id: 1,
            body: Arc::new(Body::new(slices, BodyFormat::PLAIN)),
            items,
            routing: None,
            shard: None,
            item_replies: true,
            item_ids: false,
        }
    }

    const BODY: &str = "{\"index\":{\"_id\":\"1\"}}\n{\"k\":1}\n{\"delete\":{\"_id\":\"2\"}}\n{\"index\":{\"_id\":\"4\",\"routing\":\"r\"}}\n{}\n\
         {\"index\":{\"_id\":\"3\",\"routing\":\"r\"}}\n{}\n{\"create\":{\"_id\":\"6\"}}\n{\"own\":1}\n";

    fn text(filled: &Filled) -> String {
        String::from_utf8(filled.request.body.slices.concat()).unwrap()
    }

    #[tokio::test]
    async fn an_id_without_a_record_is_deleted() {
        let filled = fetcher(Even, MissingRecord::Delete).fill(&request(BODY, 5)).await.unwrap();
        assert_eq!(
            text(&filled),
            "{\"delete\":{\"_id\":\"1\"}}\n{\"delete\":{\"_id\":\"2\"}}\n{\"index\":{\"_id\":\"4\",\"routing\":\"r\"}}\n{   \"id\": 4  }\n\
             {\"delete\":{\"_id\":\"3\",\"routing\":\"r\"}}\n{\"create\":{\"_id\":\"6\"}}\n{\"own\":1}\n"
        );
        assert_eq!(filled.request.items, 5);
    }

    #[tokio::test]
    async fn an_id_without_a_record_is_a_dead_letter_at_its_place() {
        let filled = fetcher(Even, MissingRecord::DeadLetter).fill(&request(BODY, 5)).await.unwrap();
        assert_eq!((filled.request.items, filled.nothing_to_send()), (3, false));
        let done = |action, result| ItemReply { action, status: 200, result: Some(result), error: None, ..no_record() };
        let (deleted, created) =
            (done(ItemAction::Delete, ItemResult::Deleted), done(ItemAction::Index, ItemResult::Created));
        let runs = vec![ItemRun { count: 1, item: deleted.clone() }, ItemRun { count: 2, item: created.clone() }];
        let ids = ["2", "4", "6"].map(|id| Some(id.into())).to_vec();
        let reply = BulkReply { took_ms: Some(3), errors: false, runs, ids, marks: vec![None; 3] };
        let Attempt::Replied(whole) = filled.attempt(Attempt::Replied(reply)) else { panic!("it is a reply") };
        let entries: Vec<&ItemReply> =
            whole.runs.iter().flat_map(|run| std::iter::repeat_n(&run.item, run.count as usize)).collect();
        assert_eq!(entries, [&no_record(), &deleted, &created, &no_record(), &created]);
        let ids: Vec<_> = whole.ids.iter().map(|id| id.as_deref().unwrap()).collect();
        assert_eq!((ids, whole.errors, whole.took_ms), (vec!["1", "2", "4", "3", "6"], true, Some(3)));
    }

    #[tokio::test]
    async fn a_request_without_any_record_is_answered_without_being_sent() {
        let body = "{\"index\":{\"_id\":\"1\"}}\n{}\n";
        let filled = fetcher(Even, MissingRecord::DeadLetter).fill(&request(body, 1)).await.unwrap();
        assert!(filled.nothing_to_send());
        let Attempt::Replied(whole) = filled.attempt(Attempt::Replied(BulkReply::default())) else { panic!("a reply") };
        assert_eq!(whole.items(), 1);
    }

    #[tokio::test]
    async fn an_id_without_a_record_is_skipped_and_one_that_is_refused_is_a_dead_letter_in_any_case() {
        let body = "{\"index\":{\"_id\":\"1\"}}\n{}\n";
        let looked_up: [(Arc<dyn Fetch>, ItemReply); 2] =
            [(Arc::new(Even), skipped()), (Arc::new(Refusing), refused(Code::BadKey, "1 is bad".to_owned()))];
        for (fetch, expected) in looked_up {
            let filled = fetcher(fetch, MissingRecord::Skip).fill(&request(body, 1)).await.unwrap();
            let reply = filled.attempt(Attempt::Replied(BulkReply::default()));
            let Attempt::Replied(whole) = reply else { panic!("a reply") };
            assert_eq!(whole.runs, [ItemRun { count: 1, item: expected }]);
        }
    }

    #[tokio::test]
    async fn a_look_up_that_fails_or_answers_too_little_is_an_error() {
        for (answer, problem) in [(Err("no route to the database"), "no route"), (Ok(2), "3 ids were looked up, and 2")]
        {
            let fetcher = fetcher(Fixed(answer), MissingRecord::Delete);
            let error = fetcher.fill(&request(BODY, 5)).await.unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
