//! Numbers that follow from a counter and a seed.

/// The finaliser of SplitMix64: consecutive counters give unrelated numbers.
pub(crate) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of rule `number` in a script with the seed `seed`.
pub fn rule_seed(seed: u64, number: u64) -> u64 {
    mix(seed ^ mix(number + 1))
}

/// The n-th draw of a rule, from 0 to below 1.
pub fn draw(rule_seed: u64, nth: u64) -> f64 {
    // The upper 53 bits make a double in [0, 1).
    (mix(rule_seed.wrapping_add(nth)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_from_seed_and_number() {
        let draws =
            |seed: u64, number: u64| -> Vec<f64> { (1..=1000).map(|nth| draw(rule_seed(seed, number), nth)).collect() };
        assert_eq!(draws(7, 0), draws(7, 0));
        assert!(draws(7, 0) != draws(8, 0) && draws(7, 0) != draws(7, 1));
        assert!(draws(7, 0).iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws(7, 0).iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }
}
