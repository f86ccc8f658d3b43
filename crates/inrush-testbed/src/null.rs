//! The null server: reads bulk requests as cheaply as it can and only counts, so that a benchmark on one machine
//! measures the client. A thread a connection, blocking sockets, one buffer that stays in the cache.
//!
//! What it counts are separators: half of them are documents unless the request starts with a delete. It does not
//! look at documents, so every item succeeds. Everything but `_bulk` is answered by the fake cluster's own code, which
//! lets a loader's preflight and its verification by `_count` pass.

mod body;
mod replies;

use std::io::{self, IoSlice, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use self::body::{Framing, Head, Input};
use self::replies::{Batch, Replies};
use crate::api::{self, ApiReply, ApiRequest, Surroundings};
use crate::bulk::Defaults;
use crate::error::EsError;
use crate::model::Cluster;
use crate::product::Flavor;

/// What a bulk request is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyKind {
    /// As the request's `filter_path` asks for; a reply item per document without one.
    #[default]
    Items,
    /// `took` and `errors` only, whatever the request asks for.
    Summary,
}

/// A running null server. It runs until [`NullServer::stop`] or the end of the process.
pub struct NullServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What a null server has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullStats {
    /// Documents in bulk requests.
    pub docs: u64,
    /// Bytes of bulk bodies as they came over the wire.
    pub bytes: u64,
    /// Bulk requests.
    pub requests: u64,
    /// CPU time of the whole process so far, in seconds.
    pub cpu_seconds: f64,
    /// When the first bulk request arrived, microseconds since 1970; `None` before it.
    pub first_bulk_unix_us: Option<u64>,
}

struct Shared {
    reply_kind: ReplyKind,
    cluster: Mutex<Cluster>,
    docs: AtomicU64,
    bytes: AtomicU64,
    requests: AtomicU64,
    first_bulk_unix_us: OnceLock<u64>,
    stopping: AtomicBool,
}

impl NullServer {
    /// Listens on a loopback port, 0 for a free one.
    ///
    /// # Errors
    ///
    /// A port that is taken.
    pub fn start(port: u16, reply_kind: ReplyKind) -> io::Result<NullServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            reply_kind,
            cluster: Mutex::new(Cluster::new(Flavor::opensearch_3())),
            docs: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            first_bulk_unix_us: OnceLock::new(),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::Builder::new().name("null-accept".into()).spawn(move || accept(&listener, &accepting))?;
        Ok(NullServer { address, shared })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has counted so far.
    pub fn stats(&self) -> NullStats {
        self.shared.stats()
    }

    /// Stops listening; connections that are open end with their clients.
    pub fn stop(self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts; whether it answers does not matter.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn stats(&self) -> NullStats {
        NullStats {
            docs: self.docs.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            cpu_seconds: process_cpu_seconds(),
            first_bulk_unix_us: self.first_bulk_unix_us.get().copied(),
        }
    }
}

/// CPU time of this process, user and system, in seconds.
pub fn process_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn unix_us() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // Without a thread the connection is dropped, which its client sees.
        let _ = thread::Builder::new().name("null-connection".into()).spawn(move || {
            // An error here is a client that went away.
            let _ = Connection::new(shared, stream).serve();
        });
    }
}

struct Connection {
    shared: Arc<Shared>,
    input: Input,
    replies: Replies,
}

impl Connection {
    fn new(shared: Arc<Shared>, stream: TcpStream) -> Self {
        // Small replies must not wait for the acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let replies = Replies::new(shared.reply_kind);
        Connection { shared, input: Input::new(stream), replies }
    }

    fn serve(mut self) -> io::Result<()> {
        while let Some(head) = self.input.read_head()? {
            if head.expects_continue {
                self.input.stream().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let request = ApiRequest::new(head.method.clone(), &head.target, Bytes::new());
            match request.bulk_defaults() {
                Some(defaults) => self.bulk(&head, &request, defaults)?,
                None => self.other(&head)?,
            }
            if head.close {
                break;
            }
        }
        Ok(())
    }

    fn bulk(&mut self, head: &Head, request: &ApiRequest, defaults: Defaults) -> io::Result<()> {
        self.shared.first_bulk_unix_us.get_or_init(unix_us);
        let counted = self.input.count(head)?;
        self.shared.requests.fetch_add(1, Ordering::Relaxed);
        self.shared.bytes.fetch_add(counted.wire_bytes, Ordering::Relaxed);
        if !counted.ends_with_separator {
            let error = EsError::illegal_argument("The bulk request must be terminated by a newline [\\n]");
            return self.write_json(&error.into());
        }
        let batch = Batch::new(&counted, defaults.index);
        // Deletes, such as those that try what the server takes, bring none.
        let documents = if batch.action == "delete" { 0 } else { batch.documents };
        self.shared.docs.fetch_add(documents as u64, Ordering::Relaxed);
        let written = {
            let mut cluster = self.shared.cluster.lock().unwrap_or_else(PoisonError::into_inner);
            cluster.count_documents(&batch.index, documents)
        };
        if let Err(error) = written {
            return self.write_json(&error.into());
        }
        let parts = self.replies.bulk(&batch, request.param("filter_path"));
        write_all_vectored(self.input.stream(), &parts)
    }

    fn other(&mut self, head: &Head) -> io::Result<()> {
        let body = self.input.collect(head)?;
        if head.target == "/_null/stats" {
            let stats = self.shared.stats();
            let body = json!({
                "docs": stats.docs,
                "bytes": stats.bytes,
                "requests": stats.requests,
                "cpu_seconds": stats.cpu_seconds,
                "first_bulk_unix_us": stats.first_bulk_unix_us,
            });
            return self.write_json(&ApiReply::ok(body));
        }
        let request = ApiRequest::new(head.method.clone(), &head.target, Bytes::from(body));
        let around = Surroundings {
            root_status: 200,
            disk_available_bytes: 1 << 50,
            max_content_length_bytes: usize::MAX,
            ..Surroundings::default()
        };
        let reply = {
            let mut cluster = self.shared.cluster.lock().unwrap_or_else(PoisonError::into_inner);
            api::handle(&mut cluster, &request, &around)
        };
        self.write_json(&reply)
    }

    fn write_json(&mut self, reply: &ApiReply) -> io::Result<()> {
        let body = if reply.body == Value::Null { String::new() } else { reply.body.to_string() };
        let head = replies::head(reply.status, body.len());
        write_all_vectored(self.input.stream(), &[head.as_bytes(), body.as_bytes()])
    }
}

fn write_all_vectored(stream: &mut TcpStream, parts: &[&[u8]]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        let written = stream.write_vectored(left)?;
        if written == 0 && left.iter().any(|slice| !slice.is_empty()) {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
        // Empty slices in front would make a write of nothing look like a closed connection.
        while left.first().is_some_and(|slice| slice.is_empty()) {
            left = &mut left[1..];
        }
    }
    Ok(())
}

impl Head {
    fn has_body(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD || self.framing != Framing::Length(0)
    }
}
