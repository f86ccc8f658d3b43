//! The link to a far server: a bandwidth that all connections share, and a delay.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

/// Bytes of one read. They take 1.3 ms at 100 Mbit/s.
const CHUNK_BYTES: u32 = 16 << 10;

/// Bytes in flight on a connection without a bandwidth.
const WINDOW_BYTES: u64 = 16 << 20;

/// Both directions of the link.
#[derive(Debug)]
pub(super) struct Link {
    up: Arc<Direction>,
    down: Arc<Direction>,
}

impl Link {
    /// A link with a delay for each round trip, half of it in each direction, and a bandwidth of
    /// each direction.
    pub(super) fn new(delay: Duration, bits_per_second: Option<u64>) -> Self {
        let direction = || Arc::new(Direction::new(delay / 2, bits_per_second));
        Link { up: direction(), down: direction() }
    }

    /// The far end of a connection: reads and writes pass over the link.
    pub(super) fn far_end(&self, stream: TcpStream) -> DuplexStream {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (up, down) = (Arc::clone(&self.up), Arc::clone(&self.down));
        tokio::spawn(async move {
            let (from_client, to_client) = stream.into_split();
            let (from_server, to_server) = tokio::io::split(near);
            // Each direction ends with its reader and then closes its writer.
            tokio::join!(pump(&up, from_client, to_server), pump(&down, from_server, to_client));
        });
        far
    }
}

/// One direction: bytes follow each other, and arrive a delay after they were sent.
#[derive(Debug)]
struct Direction {
    delay: Duration,
    bits_per_second: Option<u64>,
    /// The time at which all bytes so far are sent.
    free_at: Mutex<Option<Instant>>,
}

impl Direction {
    fn new(delay: Duration, bits_per_second: Option<u64>) -> Self {
        Direction { delay, bits_per_second, free_at: Mutex::new(None) }
    }

    /// The arrival of `bytes` bytes that the sender hands over at `now`.
    fn arrival(&self, now: Instant, bytes: u64) -> Instant {
        let Some(rate) = self.bits_per_second else { return now + self.delay };
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let start = free_at.map_or(now, |at| at.max(now));
        let sent = start + Duration::from_secs_f64(bytes as f64 * 8.0 / rate.max(1) as f64);
        *free_at = Some(sent);
        sent + self.delay
    }

    /// The limit of bytes in flight on one connection: twice the bandwidth-delay product, as a
    /// well-set TCP window.
    fn window_bytes(&self) -> u32 {
        let line = |rate: u64| (rate as f64 / 8.0 * self.delay.as_secs_f64() * 2.0) as u64;
        let bytes = self.bits_per_second.map_or(WINDOW_BYTES, line);
        u32::try_from(bytes).unwrap_or(u32::MAX).clamp(CHUNK_BYTES * 16, 1 << 28)
    }
}

/// Passes bytes on as they arrive, until the reader ends or the writer fails.
async fn pump(direction: &Direction, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let (queue, mut arriving) = mpsc::unbounded_channel::<(Instant, Bytes, OwnedSemaphorePermit)>();
    let window = Arc::new(Semaphore::new(direction.window_bytes() as usize));
    let read = async move {
        while let Ok(permit) = Arc::clone(&window).acquire_many_owned(CHUNK_BYTES).await {
            let mut chunk = BytesMut::with_capacity(CHUNK_BYTES as usize);
            // An error is an end, too: the other side sees the connection close.
            let Ok(read @ 1..) = from.read_buf(&mut chunk).await else { return };
            let at = direction.arrival(Instant::now(), read as u64);
            if queue.send((at, chunk.freeze(), permit)).is_err() {
                return;
            }
        }
    };
    let write = async {
        while let Some((at, bytes, _permit)) = arriving.recv().await {
            tokio::time::sleep_until(at).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    };
    // The queue ends with the reader, so the writer decides on the end.
    tokio::select! {
        () = write => {}
        () = async { read.await; std::future::pending().await } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_queue_for_the_line_and_then_travel() {
        let now = Instant::now();
        let line = Direction::new(Duration::from_millis(50), Some(8_000));
        assert_eq!(line.arrival(now, 1000), now + Duration::from_millis(1050));
        assert_eq!(line.arrival(now, 500), now + Duration::from_millis(1550), "after the first");
        let later = now + Duration::from_secs(60);
        assert_eq!(
            line.arrival(later, 1000),
            later + Duration::from_millis(1050),
            "an idle line does not save bandwidth"
        );
        let endless = Direction::new(Duration::from_millis(50), None);
        assert_eq!(endless.arrival(now, 1 << 40), now + Duration::from_millis(50));
    }
}
