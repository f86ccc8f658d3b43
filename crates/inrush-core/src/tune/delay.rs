//! How long a request takes on a cluster that has nothing else to do for us.

/// The unloaded wall time as a line over the body's bytes: a fixed part (the link's delay, the cost of a request) and a part in
/// proportion to the bytes. One measurement gives a point of the line; two with different bodies give its slope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    wall: f64,
    body: f64,
    /// The fixed part of `wall`, 0 to 1.
    fixed: f64,
}

/// The body that growth is expressed for.
const REFERENCE_BYTES: f64 = 1024.0 * 1024.0;
/// Assumed until two bodies of different size were measured.
const FIXED_PART: f64 = 0.5;

impl Delay {
    /// From the first measurement, `wall` in seconds, `body` in bytes.
    pub(super) fn new(wall: f64, body: f64) -> Self {
        Delay { wall, body, fixed: FIXED_PART }
    }

    /// The unloaded wall time of such a body, seconds.
    pub(super) fn unloaded(&self, body: f64) -> f64 {
        self.wall * (self.fixed + (1.0 - self.fixed) * body / self.body)
    }

    /// How many times longer than unloaded: 1 means that nothing queues.
    pub(super) fn growth(&self, wall: f64, body: f64) -> f64 {
        wall / self.unloaded(body)
    }

    /// The same for a body on half the way, in logarithms, to [`REFERENCE_BYTES`] that waits as long. Loaders that share a cluster
    /// wait in the same queues, whatever the size of their requests; this brings what they see closer together.
    pub(super) fn comparable_growth(&self, wall: f64, body: f64) -> f64 {
        1.0 + (wall - self.unloaded(body)) / self.unloaded((REFERENCE_BYTES * body).sqrt())
    }

    /// No measurement, loaded or not, can be shorter than the unloaded time.
    pub(super) fn lower(&mut self, wall: f64, body: f64) {
        if wall < self.unloaded(body) {
            self.wall = wall;
            self.body = body;
        }
    }

    /// Whether such a body is of another size than what was measured, so that it tells more about the line.
    pub(super) fn is_far_from(&self, body: f64) -> bool {
        !(0.7..=1.4).contains(&(body / self.body))
    }

    /// Takes a measurement made with next to nothing under way.
    pub(super) fn measured(&mut self, wall: f64, body: f64) {
        if self.is_far_from(body) {
            let slope = (wall - self.wall) / (body - self.body);
            self.fixed = (1.0 - slope * body / wall).clamp(0.0, 1.0);
        }
        self.wall = wall;
        self.body = body;
    }
}
