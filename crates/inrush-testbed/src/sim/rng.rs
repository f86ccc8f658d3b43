//! Random numbers that follow from a seed.

use inrush_core::retry::Jitter;

/// A sequence of random numbers. Each purpose has a sequence of its own, so that pauses, for
/// example, come at the same times with every controller.
#[derive(Clone, Debug)]
pub(super) struct Rng {
    unit: Jitter,
    spare: Option<f64>,
}

impl Rng {
    /// The sequence of a seed for one purpose and the number of one node or loader.
    pub(super) fn new(seed: u64, purpose: &str, number: usize) -> Self {
        // FNV-1a. SplitMix64 mixes the hash afterwards.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in purpose.bytes().chain((number as u64).to_le_bytes()).chain(seed.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng { unit: Jitter::new(hash), spare: None }
    }

    /// A number from 0 to below 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.unit.unit()
    }

    /// A number from `range.0` to `range.1`.
    pub(super) fn between(&mut self, range: (f64, f64)) -> f64 {
        range.0 + (range.1 - range.0) * self.unit()
    }

    /// A normal number with mean 0 and deviation 1 (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit();
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// A lognormal number with mean 1; `sigma` is the deviation of the logarithm.
    pub(super) fn lognormal(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 {
            return 1.0;
        }
        (sigma * self.normal() - sigma * sigma / 2.0).exp()
    }

    /// An exponential number with this mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_as_documented() {
        let mut rng = Rng::new(1, "test", 0);
        let mean = |f: &mut dyn FnMut() -> f64| (0..200_000).map(|_| f()).sum::<f64>() / 200_000.0;
        assert!((mean(&mut || rng.lognormal(0.5)) - 1.0).abs() < 0.01);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || rng.normal()).abs() < 0.01);
    }

    #[test]
    fn purposes_and_numbers_have_sequences_of_their_own() {
        let first = |purpose, number| Rng::new(7, purpose, number).unit();
        assert_eq!(first("a", 0), first("a", 0));
        assert_ne!(first("a", 0), first("a", 1));
        assert_ne!(first("a", 0), first("b", 0));
    }
}
