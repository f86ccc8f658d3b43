//! A request body of several slices that are never joined in memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// The slices of a body, one frame each. The exact length is known beforehand, so the request
/// carries `Content-Length`. Amazon's services and many proxies insist on it.
pub(crate) struct SlicedBody {
    slices: std::vec::IntoIter<Bytes>,
    bytes_left: u64,
    started: Arc<AtomicBool>,
}

impl SlicedBody {
    /// `started` becomes true when the first slice is handed to the connection. Until then the
    /// server has seen no byte of the body.
    pub(crate) fn new(slices: &[Bytes], started: Arc<AtomicBool>) -> Self {
        let slices: Vec<Bytes> = slices.iter().filter(|slice| !slice.is_empty()).cloned().collect();
        let bytes_left = slices.iter().map(|slice| slice.len() as u64).sum();
        SlicedBody { slices: slices.into_iter(), bytes_left, started }
    }
}

impl http_body::Body for SlicedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(slice) = self.slices.next() else {
            return Poll::Ready(None);
        };
        self.started.store(true, Ordering::Release);
        self.bytes_left -= slice.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes_left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes_left)
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body;

    use super::*;

    #[test]
    fn hands_out_each_slice_once_and_knows_what_is_left() {
        let started = Arc::new(AtomicBool::new(false));
        let slices = [Bytes::from_static(b"one\n"), Bytes::new(), Bytes::from_static(b"three\n")];
        let mut body = SlicedBody::new(&slices, started.clone());
        assert_eq!(body.size_hint().exact(), Some(10));
        assert!(!started.load(Ordering::Acquire));

        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut seen = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            assert!(started.load(Ordering::Acquire));
            seen.push(frame.into_data().unwrap());
        }
        assert_eq!(seen, [&b"one\n"[..], &b"three\n"[..]]);
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}
