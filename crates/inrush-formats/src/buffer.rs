//! A pool of reusable buffers. A new buffer of a few megabytes costs a page fault for every 4 KiB,
//! which is more than reading a file into it. A reused one costs no page faults and is still in the
//! cache.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// The most bytes that one pool keeps. Beyond it buffers are freed.
const KEPT_BYTES_MAX: usize = 24 << 20;

/// A pool of buffers. A buffer returns to the pool when the last [`Bytes`] made from it is dropped.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl BufferPool {
    /// An empty pool.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A buffer with the length and contents that it was returned with, or an empty one.
    pub fn take(&self) -> Vec<u8> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        match free.buffers.pop() {
            Some(buffer) => {
                free.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::new(),
        }
    }

    /// Returns a buffer to the pool.
    pub fn put(&self, buffer: Vec<u8>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.capacity() > 0 && free.bytes + buffer.capacity() <= KEPT_BYTES_MAX {
            free.bytes += buffer.capacity();
            free.buffers.push(buffer);
        }
    }

    /// The first `len` bytes of a buffer, shared. If they fill only a small part of the buffer,
    /// they are copied, so that many small files do not hold many large buffers.
    pub fn share(self: &Arc<Self>, buffer: Vec<u8>, len: usize) -> Bytes {
        if len < buffer.capacity() / 4 {
            let bytes = Bytes::copy_from_slice(&buffer[..len]);
            self.put(buffer);
            return bytes;
        }
        Bytes::from_owner(Lent { buffer, len, pool: Arc::clone(self) })
    }
}

struct Lent {
    buffer: Vec<u8>,
    len: usize,
    pool: Arc<BufferPool>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_the_last_view_of_it_is_dropped() {
        let pool = BufferPool::new();
        let bytes = pool.share(vec![7; 1000], 900);
        let view = bytes.slice(10..20);
        drop(bytes);
        assert!(pool.take().is_empty());
        assert_eq!(view, [7; 10][..]);
        drop(view);
        assert_eq!(pool.take().len(), 1000);
    }

    #[test]
    fn what_fills_little_of_its_buffer_is_copied() {
        let pool = BufferPool::new();
        let bytes = pool.share(vec![7; 1000], 10);
        assert_eq!(bytes.len(), 10);
        assert_eq!(pool.take().len(), 1000);
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_limit() {
        let pool = BufferPool::new();
        pool.put(vec![0; KEPT_BYTES_MAX + 1]);
        assert!(pool.take().is_empty());
    }
}
