use inrush_core::Code;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::{Source, SourceError, Step};

const NEVER: Duration = Duration::from_secs(3600);

fn options() -> PushOptions {
    PushOptions { linger: NEVER, ..PushOptions::default() }
}

fn document(body: &str) -> Document {
    Document { body: Bytes::copy_from_slice(body.as_bytes()), meta: DocMeta::default() }
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn send(sender: &Sender, body: &str) {
    assert_eq!(poll(pin!(sender.send(document(body)))), Poll::Ready(Ok(())));
}

fn block(source: &mut PushSource, bytes: usize) -> Result<Option<inrush_core::DocBlock>, SourceError> {
    Ok(source.next_chunk(bytes)?.map(crate::Chunk::into_block))
}

fn texts(source: &mut PushSource, bytes: usize) -> Option<Vec<String>> {
    let block = block(source, bytes).unwrap()?;
    assert_eq!(block.lines, block.records.len() as u64);
    Some((0..block.records.len()).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect())
}

#[test]
fn documents_come_out_in_order_and_the_source_ends_with_its_senders() {
    let (sender, mut source) = channel(PushOptions::default());
    let other = sender.clone();
    send(&sender, "{\"a\":\n1}");
    other.blocking_send(&document("{}")).unwrap();
    drop((sender, other));
    assert_eq!(texts(&mut source, 1000), Some(vec!["{\"a\": 1}".into(), "{}".into()]));
    assert_eq!(texts(&mut source, 1000), None);
}

#[test]
fn metas_and_rejects_belong_to_their_documents() {
    let (sender, mut source) = channel(PushOptions { document_bytes_max: 10, ..options() });
    let meta = DocMeta::default().with_id("7".to_owned());
    sender.add(b"{\"a\":\n1}", DocMeta::default()).unwrap();
    let with_id = Document { body: Bytes::from_static(b"{}"), meta: meta.clone() };
    assert_eq!(poll(pin!(sender.send(with_id))), Poll::Ready(Ok(())));
    sender.add(b"{\"a\":\"0123456789\"}", DocMeta::default()).unwrap();
    sender.reject(b"<object>", Code::NotSerializable, "no".into()).unwrap();
    sender.end();
    let block = block(&mut source, 1000).unwrap().unwrap();
    assert_eq!((block.record(0), block.record(3)), (&b"{\"a\": 1}"[..], &b"<object>"[..]));
    assert_eq!(block.meta, [DocMeta::default(), meta, DocMeta::default(), DocMeta::default()]);
    let rejects: Vec<_> = block.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
    assert_eq!(rejects, [(2, Code::TooLarge), (3, Code::NotSerializable)]);
    assert_eq!((block.records[1].byte, block.records[1].line, block.bytes_read), (8, 1, 36));
    assert!(source.next_chunk(1000).unwrap().is_none() && sender.given() == 4);
}

#[test]
fn positions_go_on_from_block_to_block() {
    let (sender, mut source) = channel(options());
    for _ in 0..2 {
        send(&sender, "{}");
        sender.flush();
        assert_eq!(texts(&mut source, 1000), Some(vec!["{}".into()]));
    }
    send(&sender, "{}");
    drop(sender);
    let last = block(&mut source, 1000).unwrap().unwrap();
    assert_eq!((last.origin.first_byte, last.records[0].byte), (4, 0));
}

#[test]
fn a_block_is_handed_on_when_it_is_full_old_or_hurried() {
    let (sender, mut source) = channel(PushOptions { memory: 1000, ..options() });
    assert!(matches!(source.next(4), Ok(Step::Idle)), "it does not wait for ever");
    for _ in 0..3 {
        sender.add(b"{}", DocMeta::default()).unwrap();
    }
    assert_eq!(texts(&mut source, 4).map(|t| t.len()), Some(2), "full");
    sender.flush();
    assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "hurried");
    sender.add(&[b' '; 2000], DocMeta::default()).unwrap();
    assert_eq!(sender.wait_for_room(Duration::ZERO), Ok(false));
    assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "there is no room for more");
    assert_eq!(sender.wait_for_room(Duration::ZERO), Ok(true));

    let (sender, mut source) = channel(PushOptions { linger: Duration::ZERO, ..options() });
    send(&sender, "{}");
    assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "old");
}

#[test]
fn senders_wait_for_room_and_a_waiting_one_hurries_the_block() {
    let (sender, mut source) = channel(PushOptions { memory: 300, ..options() });
    send(&sender, "{}");
    send(&sender, "{}");
    let large = "x".repeat(1000);
    let mut waiting = pin!(sender.send(document(&large)));
    assert_eq!(poll(waiting.as_mut()), Poll::Pending);
    assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(2));
    assert_eq!(poll(waiting.as_mut()), Poll::Ready(Ok(())));
    // A sender that gives up leaves nothing behind.
    {
        let mut given_up = pin!(sender.send(document("{}")));
        assert_eq!(poll(given_up.as_mut()), Poll::Pending);
    }
    assert_eq!(sender.given(), 3);
    // A thread waits in the same way.
    let thread = {
        let sender = sender.clone();
        std::thread::spawn(move || sender.blocking_send(&document("{}")))
    };
    assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1));
    assert_eq!(thread.join().unwrap(), Ok(()));
    assert_eq!(sender.given(), 4);
}

#[test]
fn an_error_follows_the_documents_before_it() {
    let (sender, mut source) = channel(options());
    send(&sender, "{}");
    sender.fail("the generator raised ValueError");
    sender.end();
    assert_eq!(texts(&mut source, 1000), Some(vec!["{}".into()]));
    let Err(error) = source.next_chunk(1000) else { panic!("it failed") };
    assert_eq!(error.to_string(), "push: the generator raised ValueError");
    assert_eq!(error.code, Code::SourceFailed);
    assert!(matches!(source.next(1000), Ok(Step::End)));
}

#[test]
fn senders_notice_that_the_load_has_ended() {
    let (sender, source) = channel(PushOptions { memory: 1, ..options() });
    send(&sender, "{}");
    let mut waiting = pin!(sender.send(document("{}")));
    assert_eq!(poll(waiting.as_mut()), Poll::Pending);
    drop(source);
    assert_eq!(poll(waiting.as_mut()), Poll::Ready(Err(Closed)));
    assert_eq!(sender.add(b"{}", DocMeta::default()), Err(Closed));
    assert_eq!(sender.blocking_send(&document("{}")), Err(Closed));
    assert_eq!(sender.wait_for_room(NEVER), Err(Closed));
}

#[cfg(feature = "columns")]
#[test]
fn rows_are_cut_and_keep_their_place_among_documents() {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    let (sender, mut source) = channel(options());
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
    sender.add(b"{\"first\":1}", DocMeta::default()).unwrap();
    sender.add_rows(RecordBatch::try_from_iter([("n", numbers)]).unwrap()).unwrap();
    let words: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    sender.add_rows(RecordBatch::try_from_iter([("w", words)]).unwrap()).unwrap();
    sender.end();
    let mut all = Vec::new();
    let mut blocks = 0;
    while let Some(texts) = texts(&mut source, 80) {
        all.extend(texts);
        blocks += 1;
    }
    let expected = ["{\"first\":1}", "{\"n\":0}", "{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"w\":\"x\"}"];
    assert_eq!(all, expected);
    assert!(blocks > 3, "{blocks}");
}

#[cfg(feature = "columns")]
#[test]
fn rows_have_their_columns_if_they_are_asked_for() {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use inrush_core::columns::Cells;

    let (sender, mut source) = channel(options());
    sender.add(b"{\"first\":1}", DocMeta::default()).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
    sender.add_rows(RecordBatch::try_from_iter([("n", numbers)]).unwrap()).unwrap();
    sender.end();
    let (first, columns) = source.next_chunk(80).unwrap().unwrap().into_block_with_columns();
    assert_eq!((first.record(0), columns), (&b"{\"first\":1}"[..], None));
    let (mut numbers, mut bytes_read, mut blocks) = (Vec::new(), 0, 0);
    while let Some(chunk) = source.next_chunk(80).unwrap() {
        let (block, columns) = chunk.into_block_with_columns();
        let columns = columns.unwrap();
        // Rows that were cut off have no values of others.
        let Cells::Whole(values) = &columns.columns[0].cells else { panic!("{columns:?}") };
        assert_eq!((columns.names[0].as_str(), values.len()), ("n", block.records.len()));
        numbers.extend(values);
        (bytes_read, blocks) = (bytes_read + block.bytes_read, blocks + 1);
    }
    assert_eq!((numbers, bytes_read, blocks > 1), (vec![0, 1, 2, 3, 4], 40, true));
}

#[cfg(feature = "columns")]
#[test]
fn ids_of_floats_are_those_of_files_and_bytes_are_base64() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, Float64Array, RecordBatch};
    let rows = |id: Vec<Option<f64>>, bytes: &[u8]| {
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![bytes; id.len()]));
        let id: ArrayRef = Arc::new(Float64Array::from(id));
        RecordBatch::try_from_iter_with_nullable([("id", id, true), ("b", bytes, true)]).unwrap()
    };
    let (sender, mut source) = channel(options());
    // Rows that wait before the load says which fields it needs.
    sender.add_rows(rows(vec![Some(1.0), None], b"Ann")).unwrap();
    source.keep_texts(&["id".to_owned()]);
    sender.add_rows(rows(vec![Some(2.0), Some(2.5)], b"\xFF")).unwrap();
    sender.end();
    let mut found = Vec::new();
    while let Some(block) = block(&mut source, 1000).unwrap() {
        let ids = block.meta.iter().map(|meta| meta.texts.first().map(|(_, text)| text.clone()));
        assert!(block.rejects.is_empty(), "{:?}", block.rejects);
        found.push((ids.collect::<Vec<_>>(), String::from_utf8(block.record(0).to_vec()).unwrap()));
    }
    let id = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (vec![id("1"), None], r#"{"id":1.0,"b":"QW5u"}"#.to_owned()),
            (vec![id("2"), None], r#"{"id":2.0,"b":"/w=="}"#.to_owned()),
        ]
    );
    let (sender, mut source) = channel(PushOptions { binary: Binary::Text, ..options() });
    sender.add_rows(rows(vec![None], b"Ann")).unwrap();
    sender.end();
    assert_eq!(texts(&mut source, 1000), Some(vec![r#"{"b":"Ann"}"#.to_owned()]));
}
