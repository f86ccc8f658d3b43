//! The head of a request.

use std::io;

use http::Method;

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After this number of bytes.
    Length(u64),
    /// After a chunk of length 0.
    Chunked,
}

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
}

/// The head of a request, in the part that the null server needs.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) framing: Framing,
    pub(super) expects_continue: bool,
    pub(super) close: bool,
    pub(super) coding: Coding,
    /// The last byte of each line: a newline, or 0xff in SMILE.
    pub(super) separator: u8,
}

impl Head {
    /// The head that `httparse` has read.
    ///
    /// # Errors
    ///
    /// An invalid method or content length.
    pub(super) fn from_parsed(request: &httparse::Request<'_, '_>) -> io::Result<Head> {
        let method = Method::from_bytes(request.method.unwrap_or_default().as_bytes()).map_err(io::Error::other)?;
        let mut head = Head {
            method,
            target: request.path.unwrap_or("/").to_owned(),
            framing: Framing::Length(0),
            expects_continue: false,
            close: request.version == Some(0),
            coding: Coding::Identity,
            separator: b'\n',
        };
        for header in request.headers.iter() {
            let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                head.framing = Framing::Length(value.parse().map_err(io::Error::other)?);
            } else if is("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
                head.framing = Framing::Chunked;
            } else if is("content-encoding") {
                head.coding = match value {
                    "gzip" => Coding::Gzip,
                    "deflate" => Coding::Deflate,
                    _ => Coding::Identity,
                };
            } else if is("content-type") && value.contains("smile") {
                head.separator = 0xff;
            } else if is("expect") {
                head.expects_continue = value.eq_ignore_ascii_case("100-continue");
            } else if is("connection") {
                head.close = value.eq_ignore_ascii_case("close");
            }
        }
        Ok(head)
    }

    /// True if a body may follow.
    pub(super) fn has_body(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD || self.framing != Framing::Length(0)
    }
}
