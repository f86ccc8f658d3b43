//! Bodies of replies: whole, or cut off in the middle.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};

/// The body of a reply.
pub(super) type ReplyBody = BoxBody<Bytes, io::Error>;

/// A body that arrives as a whole.
pub(super) fn whole(bytes: Bytes) -> ReplyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// A body that fails after its bytes were sent: the connection closes in the middle of the reply.
pub(super) fn truncated(bytes: Bytes) -> ReplyBody {
    Truncated { bytes: Some(bytes), flushed: false }.boxed()
}

struct Truncated {
    bytes: Option<Bytes>,
    flushed: bool,
}

impl Body for Truncated {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if !self.flushed {
            // hyper flushes its buffer while the body is pending.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("reply truncated by a fault"))))
    }
}
