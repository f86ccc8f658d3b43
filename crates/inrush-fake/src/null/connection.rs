//! One connection: its requests are read and answered one after the other.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::body::Input;
use super::head::Head;
use super::replies::{self, Batch, Replies};
use super::state::Shared;
use crate::api::{self, ApiReply, ApiRequest, Environment};
use crate::bulk::Defaults;
use crate::error::ServerError;

/// One connection.
pub(super) struct Connection {
    shared: Arc<Shared>,
    input: Input,
    replies: Replies,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>, stream: TcpStream) -> Self {
        // Small replies must not wait for the acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let replies = Replies::new(shared.reply_kind);
        Connection { shared, input: Input::new(stream), replies }
    }

    /// Answers requests until the client disconnects.
    ///
    /// # Errors
    ///
    /// A malformed request, or a client that disconnects within a request.
    pub(super) fn serve(mut self) -> io::Result<()> {
        while let Some(head) = self.input.read_head()? {
            if self.shared.away().is_some() {
                break;
            }
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
        self.shared.note_bulk();
        let counted = self.input.count(head)?;
        self.shared.requests.fetch_add(1, Ordering::Relaxed);
        self.shared.bytes.fetch_add(counted.wire_bytes, Ordering::Relaxed);
        if !counted.ends_with_separator {
            let error = ServerError::illegal_argument("The bulk request must be terminated by a newline [\\n]");
            return self.write_json(&error.into());
        }
        let batch = Batch::new(&counted, defaults.index);
        // Deletes, such as those of a preflight, are no documents.
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
            return self.write_json(&ApiReply::ok(json!(self.shared.stats())));
        }
        let request = ApiRequest::new(head.method.clone(), &head.target, Bytes::from(body));
        if request.path == "/_null/away" {
            return self.go_away(&request);
        }
        let environment = Environment {
            root_status: 200,
            disk_available_bytes: 1 << 50,
            max_content_length_bytes: usize::MAX,
            ..Environment::default()
        };
        let reply = {
            let mut cluster = self.shared.cluster.lock().unwrap_or_else(PoisonError::into_inner);
            api::handle(&mut cluster, &request, &environment)
        };
        self.write_json(&reply)
    }

    /// The connection to the server's own port wakes the thread that accepts.
    fn go_away(&mut self, request: &ApiRequest) -> io::Result<()> {
        let seconds = request.param("seconds").and_then(|text| text.parse().ok()).filter(|n| *n <= 86_400);
        let Some(seconds) = seconds else {
            let error = ServerError::illegal_argument("seconds has to be a whole number up to 86400");
            return self.write_json(&error.into());
        };
        self.shared.set_away(Some(Duration::from_secs(seconds)));
        self.write_json(&ApiReply::ok(json!({ "seconds": seconds })))?;
        TcpStream::connect(self.input.stream().local_addr()?).map(drop)
    }

    fn write_json(&mut self, reply: &ApiReply) -> io::Result<()> {
        let body = if reply.body.is_null() { String::new() } else { reply.body.to_string() };
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
        // A write of empty slices alone would look like a closed connection.
        while left.first().is_some_and(|slice| slice.is_empty()) {
            left = &mut left[1..];
        }
    }
    Ok(())
}
