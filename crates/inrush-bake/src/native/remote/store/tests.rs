//! The object store against one in memory, whose requests fail once.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_sources::Blob;
use serde_json::json;

use super::super::upload::{PART_BYTES, Watcher};
use super::*;

/// A store in memory. Each request fails once before it succeeds.
#[derive(Default)]
struct Fake {
    objects: Mutex<BTreeMap<String, Bytes>>,
    uploads: Mutex<BTreeMap<String, BTreeMap<usize, Bytes>>>,
    failed: Mutex<BTreeMap<String, u32>>,
    /// Whether no credentials are good enough.
    is_denied: Mutex<bool>,
    /// The time until which no request succeeds.
    away_until: Mutex<Option<Instant>>,
}

impl Fake {
    fn once<'a, T: Send + 'a>(
        &'a self,
        what: String,
        work: impl FnOnce() -> T + Send + 'a,
    ) -> BoxFuture<'a, Result<T, BlobError>> {
        let times = {
            let mut failed = self.failed.lock().unwrap();
            let times = failed.entry(what).or_default();
            *times += 1;
            *times
        };
        let is_denied = *self.is_denied.lock().unwrap();
        let is_away = self.away_until.lock().unwrap().is_some_and(|until| clock::now() < until);
        let message = if is_denied { "is not for you" } else { "is away" }.to_owned();
        let error = BlobError { message, passes: !is_denied, is_denied };
        Box::pin(async move { if is_denied || is_away || times == 1 { Err(error) } else { Ok(work()) } })
    }
}

/// A client of the store.
struct Client(Arc<Fake>);

impl Blobs for Client {
    fn list<'a>(&'a self, below: &'a str) -> BoxFuture<'a, Result<Vec<Blob>, BlobError>> {
        let objects = self.0.objects.lock().unwrap().clone();
        let found = objects.into_iter().filter(|(name, _)| name.starts_with(below));
        let found = found.map(|(name, contents)| Blob { name, size: contents.len() as u64 }).collect();
        self.0.once(format!("list {below}"), || found)
    }

    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Bytes, BlobError>> {
        self.0.once(format!("read {name}"), || self.0.objects.lock().unwrap()[name].clone())
    }

    fn write<'a>(&'a self, name: &'a str, contents: Bytes) -> BoxFuture<'a, Result<(), BlobError>> {
        self.0.once(format!("write {name}"), || drop(self.0.objects.lock().unwrap().insert(name.to_owned(), contents)))
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        self.0.once(format!("delete {name}"), || drop(self.0.objects.lock().unwrap().remove(name)))
    }

    fn begin<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, BlobError>> {
        self.0.once(format!("begin {name}"), || {
            let mut uploads = self.0.uploads.lock().unwrap();
            let id = format!("upload {}", uploads.len());
            uploads.insert(id.clone(), BTreeMap::new());
            id
        })
    }

    fn put_part<'a>(
        &'a self,
        _: &'a str,
        upload: &'a str,
        number: usize,
        part: Bytes,
    ) -> BoxFuture<'a, Result<String, BlobError>> {
        self.0.once(format!("put {number}"), move || {
            self.0.uploads.lock().unwrap().get_mut(upload).unwrap().insert(number, part);
            number.to_string()
        })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        parts: Vec<String>,
    ) -> BoxFuture<'a, Result<(), BlobError>> {
        self.0.once(format!("complete {name}"), move || {
            let written = self.0.uploads.lock().unwrap().remove(upload).unwrap();
            let whole: Vec<u8> = parts.iter().flat_map(|part| written[&part.parse().unwrap()].to_vec()).collect();
            self.0.objects.lock().unwrap().insert(name.to_owned(), whole.into());
        })
    }

    fn abort<'a>(&'a self, _: &'a str, upload: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        self.0.once(format!("abort {upload}"), || drop(self.0.uploads.lock().unwrap().remove(upload)))
    }
}

fn remote(fake: &Arc<Fake>, retry_for: Duration) -> Remote {
    let blobs = Box::new(Client(Arc::clone(fake)));
    Remote { blobs, retry_for, pause: Duration::ZERO, warned: Mutex::default() }
}

fn repository(kind: &str, settings: Value) -> Repository {
    Repository { kind: kind.to_owned(), settings: settings.as_object().cloned().unwrap(), crypto_metadata: None }
}

#[test]
fn places_are_those_of_the_repository() {
    let found = Address::of(&repository("s3", json!({"bucket": "b", "base_path": "/a/of search/"}))).unwrap();
    assert_eq!(found, Address { store: Store::S3, bucket: "b".to_owned(), folder: "a/of search".to_owned() });
    let found = Address::of(&repository("azure", json!({"container": "c"}))).unwrap();
    assert_eq!((found.store, found.bucket.as_str(), found.folder.as_str()), (Store::Azure, "c", ""));
    assert!(Address::of(&repository("hdfs", json!({}))).unwrap_err().contains("type hdfs"));
    assert!(Address::of(&repository("gcs", json!({}))).unwrap_err().contains("does not say its bucket"));
}

#[tokio::test]
async fn folders_go_to_the_store_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, copy) = (folder.path().join("whole"), folder.path().join("copy"));
    fs::create_dir_all(whole.join("indices/a/0")).unwrap();
    let large: Vec<u8> = (0..2 * PART_BYTES + 5).map(|n| (n % 251) as u8).collect();
    fs::write(whole.join("index-1"), "list").unwrap();
    fs::write(whole.join("indices/a/0/__0"), &large).unwrap();
    fs::write(whole.join("indices/a/0/__1"), "small").unwrap();
    let fake = Arc::new(Fake::default());
    let remote = remote(&fake, Duration::from_secs(60));
    let (recorded, shown) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let record = |upload: Option<Upload>| {
        recorded.lock().unwrap().push(upload.map(|upload| upload.name));
        Ok(())
    };
    let show = |written, all| shown.lock().unwrap().push((written, all));
    let watcher = Watcher { record: &record, show: &show };
    let bytes = remote.upload(&whole, "whole", &watcher).await.unwrap();
    assert_eq!(bytes, large.len() as u64 + 9);
    assert_eq!(*recorded.lock().unwrap(), [Some("whole/indices/a/0/__0".to_owned()), None]);
    assert_eq!(shown.lock().unwrap().last(), Some(&(bytes, bytes)));
    assert!(fake.uploads.lock().unwrap().is_empty(), "no part is left");
    remote.download("whole", &copy, |_| true).await.unwrap();
    assert_eq!(fs::read(copy.join("indices/a/0/__0")).unwrap(), large);
    assert_eq!(fs::read_to_string(copy.join("index-1")).unwrap(), "list");
    // What is there is not written again; lists are.
    fs::write(whole.join("index-1"), "LIST").unwrap();
    recorded.lock().unwrap().clear();
    remote.upload(&whole, "whole", &watcher).await.unwrap();
    assert_eq!(*recorded.lock().unwrap(), []);
    assert_eq!(&fake.objects.lock().unwrap()["whole/index-1"][..], b"LIST");
}

#[tokio::test]
async fn without_credentials_no_request_is_repeated() {
    let fake = Arc::new(Fake::default());
    *fake.is_denied.lock().unwrap() = true;
    let error = remote(&fake, Duration::from_secs(60)).delete("x").await.unwrap_err().to_string();
    assert!(error.contains("is not for you; give this machine credentials"), "{error}");
    assert_eq!(fake.failed.lock().unwrap()["delete x"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_asked_again_until_the_time_is_over() {
    let minutes = |count: u64| Duration::from_secs(count * 60);
    for (away, is_patient) in [(minutes(9), true), (minutes(11), false)] {
        let fake = Arc::new(Fake::default());
        let remote = Remote { pause: PAUSE, ..remote(&fake, minutes(10)) };
        let begun = clock::now();
        *fake.away_until.lock().unwrap() = Some(begun + away);
        let ended = remote.delete("x").await;
        assert_eq!(ended.is_ok(), is_patient, "{ended:?}");
        assert_eq!(begun.elapsed().as_secs(), away.min(minutes(10)).as_secs());
        let tries = u64::from(fake.failed.lock().unwrap()["delete x"]);
        assert_eq!(tries, 1 + begun.elapsed().as_secs(), "one a second");
    }
}

#[test]
fn a_silent_store_is_a_warning_now_and_then() {
    let remote = remote(&Arc::default(), Duration::from_secs(600));
    let begun = clock::now();
    let due = |begun: Instant, second: u64| {
        let ago = Duration::from_secs(second);
        remote.is_warning_due(ago, begun + ago)
    };
    assert!(!due(begun, 0) && !due(begun, 4) && due(begun, 5) && !due(begun, 6) && !due(begun, 64));
    assert!(due(begun, 65));
    // Another request that waits as long.
    assert!(!due(begun, 66) && due(begun, 125));
}

#[tokio::test]
async fn nothing_is_left() {
    let fake = Arc::new(Fake::default());
    let remote = remote(&fake, Duration::from_secs(60));
    fake.objects.lock().unwrap().insert("empty/index-0".to_owned(), Bytes::new());
    for id in ["u", "v", "w"] {
        fake.uploads.lock().unwrap().insert(id.to_owned(), BTreeMap::new());
    }
    let begun = |id: &str| Upload { name: "whole/x".to_owned(), id: id.to_owned() };
    // Those of other machines are noted in the store.
    remote.note("0-1", Some(&begun("v"))).await.unwrap();
    remote.note("1-2", Some(&begun("w"))).await.unwrap();
    remote.note("2-3", Some(&begun("gone"))).await.unwrap();
    remote.note("2-3", None).await.unwrap();
    for name in ["whole/indices/a/0/__0", "whole/indices/a/0/index-x"] {
        fake.objects.lock().unwrap().insert(name.to_owned(), Bytes::from_static(b"x"));
    }
    // Of a shard's folder only the lists are read, however large the files of others are.
    let folder = tempfile::tempdir().unwrap();
    remote.download("whole/indices/a/0", &folder.path().join("lists"), |name| !is_data(name)).await.unwrap();
    let lists = fs::read_dir(folder.path().join("lists")).unwrap();
    assert_eq!(lists.map(|list| list.unwrap().file_name()).collect::<Vec<_>>(), ["index-x"]);
    let begun = begun("u");
    remote.delete_all_shared(Some(&begun)).await.unwrap();
    assert!(fake.objects.lock().unwrap().is_empty() && fake.uploads.lock().unwrap().is_empty());
    // What does not help is not repeated for ever.
    let short = self::remote(&Arc::default(), Duration::ZERO);
    assert!(short.delete_all(None).await.unwrap_err().to_string().contains("is away"));
}
