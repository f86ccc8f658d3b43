//! The duration of a request on an otherwise idle cluster.

use super::Unloaded;

/// The unloaded wall time as a line over the body size: a fixed part (network delay, cost of a
/// request) and a part proportional to the bytes. One measurement gives a point; two with different
/// bodies give the slope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    wall: f64,
    body: f64,
    /// The fixed part of `wall`, 0 to 1.
    fixed: f64,
}

/// The body size that growth refers to.
const REFERENCE_BYTES: f64 = 1024.0 * 1024.0;
/// Assumed until two bodies of different size were measured.
const FIXED_PART: f64 = 0.5;

impl Delay {
    /// From the first measurement: `wall` in seconds, `body` in bytes.
    pub(super) fn new(wall: f64, body: f64) -> Self {
        Delay { wall, body, fixed: FIXED_PART }
    }

    /// From an earlier load.
    pub(super) fn known(line: Unloaded) -> Self {
        Delay { wall: line.wall_seconds, body: line.body_bytes, fixed: line.fixed }
    }

    /// For a later load.
    pub(super) fn line(self) -> Unloaded {
        Unloaded { wall_seconds: self.wall, body_bytes: self.body, fixed: self.fixed }
    }

    /// The unloaded wall time of a body of this size, seconds.
    pub(super) fn unloaded(&self, body: f64) -> f64 {
        self.wall * (self.fixed + (1.0 - self.fixed) * body / self.body)
    }

    /// The wall time as a multiple of the unloaded one. 1 means that nothing queues.
    pub(super) fn growth(&self, wall: f64, body: f64) -> f64 {
        wall / self.unloaded(body)
    }

    /// The growth for a body at the geometric mean of this size and [`REFERENCE_BYTES`] that waits
    /// equally long. Loaders that share a cluster wait in the same queues, although their request
    /// sizes differ. This makes their observations more alike.
    pub(super) fn comparable_growth(&self, wall: f64, body: f64) -> f64 {
        1.0 + (wall - self.unloaded(body)) / self.unloaded((REFERENCE_BYTES * body).sqrt())
    }

    /// No measurement can be shorter than the unloaded time.
    pub(super) fn lower(&mut self, wall: f64, body: f64) {
        if wall < self.unloaded(body) {
            self.wall = wall;
            self.body = body;
        }
    }

    /// Whether a body differs enough in size to determine the slope.
    pub(super) fn is_far_from(&self, body: f64) -> bool {
        !(0.7..=1.4).contains(&(body / self.body))
    }

    /// Takes a measurement made with almost nothing else in flight.
    pub(super) fn measured(&mut self, wall: f64, body: f64) {
        if self.is_far_from(body) {
            let slope = (wall - self.wall) / (body - self.body);
            self.fixed = (1.0 - slope * body / wall).clamp(0.0, 1.0);
        }
        self.wall = wall;
        self.body = body;
    }
}
