//! Objects in a store in memory, whose requests fail once.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

/// A store in memory. Each request fails once before it succeeds.
#[derive(Default)]
pub(in super::super) struct Fake {
    pub(in super::super) objects: Mutex<BTreeMap<String, Bytes>>,
    pub(in super::super) uploads: Mutex<BTreeMap<String, BTreeMap<usize, Bytes>>>,
    begun: Mutex<u32>,
    failed: Mutex<BTreeMap<String, u32>>,
}

impl Fake {
    fn once<'a, T: Send + 'a>(
        &'a self,
        what: String,
        work: impl FnOnce() -> T + Send + 'a,
    ) -> BoxFuture<'a, Result<T, BlobError>> {
        let is_first = self.failed.lock().unwrap().insert(what, 1).is_none();
        let error = BlobError { message: "is away".to_owned(), passes: true, is_denied: false };
        Box::pin(async move { if is_first { Err(error) } else { Ok(work()) } })
    }
}

impl Blobs for Fake {
    fn list<'a>(&'a self, below: &'a str) -> BoxFuture<'a, Result<Vec<Blob>, BlobError>> {
        let objects = self.objects.lock().unwrap().clone();
        let found = objects.into_iter().filter(|(name, _)| name.starts_with(below));
        let found = found.map(|(name, contents)| Blob { name, size: contents.len() as u64 }).collect();
        self.once("list".to_owned(), || found)
    }

    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Bytes, BlobError>> {
        self.once(format!("read {name}"), || self.objects.lock().unwrap()[name].clone())
    }

    fn write<'a>(&'a self, name: &'a str, contents: Bytes) -> BoxFuture<'a, Result<(), BlobError>> {
        self.once(format!("write {name}"), || drop(self.objects.lock().unwrap().insert(name.to_owned(), contents)))
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        self.once(format!("delete {name}"), || drop(self.objects.lock().unwrap().remove(name)))
    }

    fn begin<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, BlobError>> {
        self.once(format!("begin {name}"), || {
            let mut begun = self.begun.lock().unwrap();
            *begun += 1;
            let id = format!("upload {begun}");
            self.uploads.lock().unwrap().insert(id.clone(), BTreeMap::new());
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
        self.once(format!("put {number}"), move || {
            self.uploads.lock().unwrap().get_mut(upload).unwrap().insert(number, part);
            number.to_string()
        })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        parts: Vec<String>,
    ) -> BoxFuture<'a, Result<(), BlobError>> {
        self.once(format!("complete {name}"), move || {
            let written = self.uploads.lock().unwrap().remove(upload).unwrap();
            let whole: Vec<u8> = parts.iter().flat_map(|part| written[&part.parse().unwrap()].to_vec()).collect();
            self.objects.lock().unwrap().insert(name.to_owned(), whole.into());
        })
    }

    fn abort<'a>(&'a self, _: &'a str, upload: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        self.once(format!("abort {upload}"), || drop(self.uploads.lock().unwrap().remove(upload)))
    }
}

/// A bucket whose pieces have ten bytes, and the runtime of its requests.
pub(in super::super) fn bucket(fake: &Arc<Fake>) -> (tokio::runtime::Runtime, Bucket) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let (blobs, runtime_of_bucket): (Arc<dyn Blobs>, _) = (Arc::clone(fake) as _, runtime.handle().clone());
    let title = "s3://b/out".to_owned();
    let (pause, answered) = (Duration::ZERO, Arc::default());
    let bucket = Bucket { blobs, runtime: runtime_of_bucket, title, piece_bytes: 10, pause, answered };
    (runtime, bucket)
}

#[test]
fn an_object_appears_as_a_whole() {
    let fake = Arc::new(Fake::default());
    let (_runtime, bucket) = bucket(&fake);
    let text: Vec<u8> = (b'a'..=b'z').cycle().take(123).collect();
    for len in [0, 1, 10, 11, 123] {
        let mut object = bucket.writer("a/b");
        object.write_all(&text[..len]).unwrap();
        assert_eq!(fake.objects.lock().unwrap().len(), 0);
        object.finish().unwrap();
        assert_eq!(fake.objects.lock().unwrap().remove("a/b").unwrap(), text[..len]);
    }
    let mut object = bucket.writer("a/b");
    object.write_all(&text).unwrap();
    assert_eq!(fake.uploads.lock().unwrap().len(), 1);
    object.abort().unwrap();
    assert_eq!((fake.uploads.lock().unwrap().len(), fake.objects.lock().unwrap().len()), (0, 0));
}

#[test]
fn a_part_is_begun_before_its_first_byte() {
    let fake = Arc::new(Fake::default());
    let (_runtime, bucket) = bucket(&fake);
    let mut part = bucket.part_writer("part", 100 << 30).unwrap();
    assert_eq!(part.upload().unwrap().name, "part");
    // So it never has too many pieces.
    assert!(part.bucket.piece_bytes >= (100 << 30) / PIECES_MAX);
    part.write_all(b"x").unwrap();
    part.finish().unwrap();
    assert_eq!(fake.objects.lock().unwrap()["part"], "x");
}
