//! The link between one loader and the cluster. Each direction carries one body after the other.

use std::collections::VecDeque;

use super::agenda::{Nanos, RequestId};
use super::keys::LinkConfig;

/// One direction. Connections that share a link take equally long whether they alternate or follow
/// each other; bodies that follow each other are simpler.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    waiting: VecDeque<(RequestId, f64)>,
    bytes_per_second: f64,
}

impl Pipe {
    /// Adds a body. Returns its duration if the pipe was empty; the caller reports the end with
    /// [`Pipe::finished`].
    pub(super) fn push(&mut self, request: RequestId, bytes: f64) -> Option<Nanos> {
        self.waiting.push_back((request, bytes));
        (self.waiting.len() == 1).then(|| self.duration(bytes))
    }

    /// Removes the first body. Returns its request, and the duration of the next one.
    pub(super) fn finished(&mut self) -> (Option<RequestId>, Option<Nanos>) {
        let done = self.waiting.pop_front().map(|(request, _)| request);
        let next = self.waiting.front().map(|&(_, bytes)| self.duration(bytes));
        (done, next)
    }

    fn duration(&self, bytes: f64) -> Nanos {
        (bytes / self.bytes_per_second * 1e9) as Nanos
    }
}

/// Both directions of a link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) up: Pipe,
    pub(super) down: Pipe,
    pub(super) one_way: Nanos,
    window_bytes: Option<f64>,
    cpu_bytes_per_second: f64,
}

impl Link {
    /// A link. `cpu_mb_per_second` limits the uplink by the loader's processor.
    pub(super) fn new(config: &LinkConfig, cpu_mb_per_second: Option<f64>) -> Self {
        let mut link = Link {
            up: Pipe::default(),
            down: Pipe::default(),
            one_way: 0,
            window_bytes: config.window_kib.map(|kib| kib * 1024.0),
            cpu_bytes_per_second: cpu_mb_per_second.map_or(f64::INFINITY, |mb| mb * 1e6),
        };
        link.set_mbit(config.mbit);
        link.set_delay_ms(config.delay_ms);
        link
    }

    /// Sets the bandwidth, from the next body on.
    pub(super) fn set_mbit(&mut self, mbit: f64) {
        let bytes_per_second = mbit * 125_000.0;
        self.up.bytes_per_second = bytes_per_second.min(self.cpu_bytes_per_second);
        self.down.bytes_per_second = bytes_per_second;
    }

    pub(super) fn set_delay_ms(&mut self, delay_ms: f64) {
        self.one_way = (delay_ms / 2.0 * 1e6) as Nanos;
    }

    /// The shortest duration of a body on one connection, which its window limits.
    pub(super) fn connection_time(&self, bytes: f64) -> Nanos {
        self.window_bytes.map_or(0, |window| (bytes / window * 2.0 * self.one_way as f64) as Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_follow_each_other() {
        let config = LinkConfig { mbit: 8.0, delay_ms: 100.0, window_kib: Some(100.0) };
        let mut link = Link::new(&config, None);
        assert_eq!(link.up.push(1, 1e6), Some(1_000_000_000));
        assert_eq!(link.up.push(2, 2e6), None);
        assert_eq!(link.up.finished(), (Some(1), Some(2_000_000_000)));
        assert_eq!(link.up.finished(), (Some(2), None));
        assert_eq!(link.one_way, 50_000_000);
        assert_eq!(link.connection_time(1024.0 * 1000.0), 1_000_000_000);
    }

    #[test]
    fn the_processor_bounds_what_is_sent() {
        let mut link = Link::new(&LinkConfig { mbit: 80.0, ..LinkConfig::default() }, Some(1.0));
        assert_eq!(link.up.push(1, 1e6), Some(1_000_000_000));
        assert_eq!(link.down.push(1, 1e6), Some(100_000_000));
    }
}
