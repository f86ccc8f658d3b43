//! A server in memory that breaks connections, and tests of its readers.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use inrush_cluster::clock;
use inrush_core::waits::Waits;
use inrush_formats::InputError;

use super::object::{Fetch, FetchError, Object, Part, WAITS};
use crate::network::Network;

/// A file in memory. Each reply breaks after `breaks_after` bytes, for `breaks` times.
pub(super) struct Fake {
    data: Bytes,
    ranges: bool,
    /// The replies contain a version.
    versions: bool,
    breaks_after: usize,
    breaks: AtomicUsize,
    /// Number of requests after which the file changes.
    changes_after: usize,
    /// The requested ranges.
    pub(super) requests: Mutex<Vec<(u64, Option<u64>)>>,
}

impl Fake {
    pub(super) fn new(data: Vec<u8>) -> Self {
        Fake {
            data: data.into(),
            ranges: true,
            versions: true,
            breaks_after: usize::MAX,
            breaks: AtomicUsize::new(0),
            changes_after: usize::MAX,
            requests: Mutex::default(),
        }
    }

    fn breaking(self, after: usize, times: usize) -> Self {
        Fake { breaks_after: after, breaks: AtomicUsize::new(times), ..self }
    }

    pub(super) fn object(self: &Arc<Self>) -> Arc<Object> {
        Arc::new(Object {
            name: "fake".to_owned(),
            path: "fake".to_owned(),
            size: Some(self.data.len() as u64),
            version: self.versions.then(|| "1".to_owned()),
            ranges: self.ranges && self.versions,
            fetch: Arc::new(Shared(Arc::clone(self))),
            waits: Waits::new(Duration::from_secs(60), Duration::ZERO, Duration::ZERO),
            network: Network::new().unwrap(),
        })
    }
}

struct Shared(Arc<Fake>);

impl Fetch for Shared {
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>> {
        let fake = Arc::clone(&self.0);
        Box::pin(async move {
            let number = {
                let mut requests = fake.requests.lock().unwrap();
                requests.push((from, to));
                requests.len()
            };
            let size = fake.data.len();
            let (from, to) = if fake.ranges { (from as usize, to.map_or(size, |to| to as usize)) } else { (0, size) };
            let wanted = fake.data.slice(from..to.min(size));
            let breaks = wanted.len() > fake.breaks_after
                && fake.breaks.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
            let whole = if breaks { wanted.slice(..fake.breaks_after) } else { wanted };
            let mut pieces: Vec<Result<Bytes, FetchError>> =
                whole.chunks(10_007).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
            if breaks {
                pieces.push(Err(FetchError::again("connection reset")));
            }
            Ok(Part {
                from: from as u64,
                version: fake.versions.then(|| if number > fake.changes_after { "2" } else { "1" }.to_owned()),
                size: Some(size as u64),
                body: futures_util::stream::iter(pieces).boxed(),
            })
        })
    }
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 % 251) as u8).collect()
}

fn read(object: &Arc<Object>) -> (Vec<u8>, std::io::Result<usize>) {
    let mut stream = object.stream();
    let consumed = stream.consumed();
    let mut all = Vec::new();
    let result = stream.read_to_end(&mut all);
    assert_eq!(consumed.load(Ordering::Relaxed), all.len() as u64);
    (all, result)
}

#[test]
fn a_stream_goes_on_where_the_connection_broke() {
    for len in [0, 1, 65_536, 65_537, 300_000, 20_000_000] {
        let fake = Arc::new(Fake::new(data(len)).breaking(50_000, 5));
        let (all, result) = read(&fake.object());
        result.unwrap();
        assert!(all == data(len), "{len}");
        let requests = fake.requests.lock().unwrap();
        // No byte is requested twice.
        assert!(
            requests.windows(2).all(|two| two[1].0 == two[0].0 + 50_000 || two[0].1 == Some(two[1].0)),
            "{requests:?}"
        );
    }
}

#[test]
fn without_parts_the_beginning_is_passed_over() {
    let fake = Arc::new(Fake { ranges: false, ..Fake::new(data(300_000)).breaking(120_001, 2) });
    let (all, result) = read(&fake.object());
    result.unwrap();
    assert!(all == data(300_000));
    assert_eq!(fake.requests.lock().unwrap().len(), 3);
}

#[test]
fn a_file_that_is_changed_while_it_is_read_is_not_mixed() {
    let fake = Arc::new(Fake { changes_after: 2, ..Fake::new(data(300_000)).breaking(100_000, 1) });
    let (all, result) = read(&fake.object());
    // The beginning, and the part of the rest that arrived before the connection broke.
    assert!(all == data(300_000)[..165_536]);
    assert!(result.unwrap_err().to_string().contains("changed while it was read"));
}

#[test]
fn versions_that_nothing_tells_apart_are_not_mixed() {
    let whole = Arc::new(Fake { versions: false, ..Fake::new(data(300_000)) });
    let (all, result) = read(&whole.object());
    result.unwrap();
    assert!(all == data(300_000));
    assert_eq!(*whole.requests.lock().unwrap(), [(0, None)]);

    let broken = Arc::new(Fake { versions: false, ..Fake::new(data(300_000)).breaking(100_000, 1) });
    let (all, result) = read(&broken.object());
    assert!(all == data(300_000)[..100_000]);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("broke at byte 100000") && error.contains("ETag"), "{error}");
}

#[test]
fn only_the_head_is_asked_for_until_more_is_wanted() {
    let fake = Arc::new(Fake::new(data(1_000_000)));
    let object = fake.object();
    let mut stream = object.stream();
    stream.read_exact(&mut [0; 65_536]).unwrap();
    assert_eq!(*fake.requests.lock().unwrap(), [(0, Some(65_536))]);
    stream.read_exact(&mut [0; 1]).unwrap();
    assert_eq!(fake.requests.lock().unwrap()[1], (65_536, Some(1_000_000)));
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_through_minutes_without_its_server() {
    let fake = Arc::new(Fake::new(data(100)).breaking(0, 20));
    let object = Object { waits: WAITS, ..Object::clone(&fake.object()) };
    let begun = clock::now();
    assert_eq!(object.read(0..100).await.unwrap(), data(100));
    let elapsed = begun.elapsed().as_secs();
    assert!((180..240).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_given_up_after_five_minutes_without_a_byte() {
    let fake = Arc::new(Fake::new(data(100)).breaking(0, usize::MAX));
    let object = Object { waits: WAITS, ..Object::clone(&fake.object()) };
    let begun = clock::now();
    let error = object.read(0..100).await.unwrap_err().to_string();
    assert!(error.ends_with("; gave up after 27 retries in 300 s"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 300);
}

#[test]
fn an_end_to_patience_is_told() {
    let fake = Arc::new(Fake::new(data(100)).breaking(0, usize::MAX));
    let mut object = Object::clone(&fake.object());
    object.waits = Waits::new(Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (all, result) = read(&Arc::new(object));
    assert!(all.is_empty());
    let error = result.unwrap_err();
    assert!(InputError::of(&error).is_some());
    assert!(error.to_string().contains("connection reset"), "{error}");
}
