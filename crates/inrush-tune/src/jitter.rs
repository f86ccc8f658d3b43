//! Jitter of waits, from a seed.

/// Pseudo-random numbers from a seed (SplitMix64, Steele et al. 2014).
#[derive(Clone, Copy, Debug)]
pub struct Jitter(u64);

impl Jitter {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Jitter(seed)
    }

    /// The next number, at least 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}
