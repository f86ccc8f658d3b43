//! Which requests become traces, by `OTEL_TRACES_SAMPLER`. Pure.

/// Which traces are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sampler {
    /// All.
    All,
    /// Those whose id is below this share of all ids.
    Share(f64),
}

impl Sampler {
    /// The sampler of these variables. `None`: no trace is kept. A request has no parent, so the
    /// samplers `parentbased_…` are those of their roots.
    pub(crate) fn new(name: &str, argument: Option<&str>) -> Result<Option<Self>, String> {
        match name.strip_prefix("parentbased_").unwrap_or(name) {
            "always_on" => Ok(Some(Sampler::All)),
            "always_off" => Ok(None),
            "traceidratio" => match argument.unwrap_or("1").parse::<f64>() {
                Ok(0.0) => Ok(None),
                Ok(1.0) => Ok(Some(Sampler::All)),
                Ok(share) if (0.0..=1.0).contains(&share) => Ok(Some(Sampler::Share(share))),
                _ => Err(format!(
                    "OTEL_TRACES_SAMPLER_ARG is {}; expected a share from 0 to 1, such as 0.01",
                    argument.unwrap_or_default()
                )),
            },
            _ => Err(format!(
                "OTEL_TRACES_SAMPLER is {name}; expected always_on, always_off, traceidratio, or one of them with \
                 parentbased_ before it"
            )),
        }
    }

    /// Whether the trace with this id is kept. The lower half of an id decides, so that other
    /// programs with the same share keep the same traces.
    pub(crate) fn keeps(self, trace: &[u8; 16]) -> bool {
        match self {
            Sampler::All => true,
            Sampler::Share(share) => {
                let low = u64::from_be_bytes(std::array::from_fn(|at| trace[8 + at]));
                ((low >> 1) as f64) < share * (1_u64 << 63) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_have_the_names_of_opentelemetry() {
        assert_eq!(Sampler::new("always_on", None), Ok(Some(Sampler::All)));
        assert_eq!(Sampler::new("parentbased_always_off", None), Ok(None));
        assert_eq!(Sampler::new("traceidratio", Some("0.5")), Ok(Some(Sampler::Share(0.5))));
        assert_eq!(Sampler::new("traceidratio", None), Ok(Some(Sampler::All)));
        assert_eq!(Sampler::new("traceidratio", Some("0")), Ok(None));
        for (name, argument) in [("jaeger_remote", None), ("traceidratio", Some("2")), ("traceidratio", Some("NaN"))] {
            assert!(Sampler::new(name, argument).is_err(), "{name}");
        }
    }

    #[test]
    fn a_share_of_all_ids_is_kept() {
        let of = |low: u64| {
            let mut trace = [0; 16];
            trace[8..].copy_from_slice(&low.to_be_bytes());
            trace
        };
        let kept = (0..1_000_u64).filter(|n| Sampler::Share(0.25).keeps(&of(n * (u64::MAX / 1_000)))).count();
        assert_eq!(kept, 250);
        assert!(Sampler::All.keeps(&of(u64::MAX)) && !Sampler::Share(0.001).keeps(&of(u64::MAX / 2)));
    }
}
