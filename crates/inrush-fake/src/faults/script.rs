//! A script of faults.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::rule::Rule;
use crate::error::ParseError;

/// A script of faults: rules in order, of which the first that applies decides. The default has no
/// rules.
///
/// The same script and the same requests give the same faults.
///
/// ```
/// use inrush_fake::{Fault, Faults, Rule};
///
/// let faults = Faults::new([
///     Rule::new(Fault::ItemRejected).probability(0.3),
///     Rule::new(Fault::ResetAfterApplying).every_nth(100),
/// ])
/// .seed(7);
/// let json = r#"{"seed": 7, "rules": [
///     {"fault": "item_rejected", "probability": 0.3},
///     {"fault": "reset_after_applying", "every_nth": 100}]}"#;
/// assert_eq!(json.parse(), Ok(faults));
/// ```
///
/// The keys of a rule are the methods of [`Rule`]. `Faults` also implements serde's `Deserialize`,
/// so that other formats can be read; in TOML the same script is
///
/// ```toml
/// seed = 7
/// [[rules]]
/// fault = "item_rejected"
/// probability = 0.3
/// [[rules]]
/// fault = "reset_after_applying"
/// every_nth = 100
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    pub(super) seed: u64,
    pub(super) rules: Vec<Rule>,
}

impl Faults {
    /// A script of these rules, with seed 1.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Faults { seed: 1, rules: rules.into_iter().collect() }
    }

    /// Sets the seed, which decides every [`Rule::probability`]. Default 1; 0 in a file without
    /// `seed`.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl From<Rule> for Faults {
    fn from(rule: Rule) -> Self {
        Faults::new([rule])
    }
}

impl<const N: usize> From<[Rule; N]> for Faults {
    fn from(rules: [Rule; N]) -> Self {
        Faults::new(rules)
    }
}

impl FromStr for Faults {
    type Err = ParseError;

    /// Reads a script in JSON.
    fn from_str(json: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(json).map_err(|error| ParseError::new(format!("not a script of faults: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::Fault;
    use super::*;

    #[test]
    fn scripts_are_read_from_toml_and_json() {
        let script: Faults =
            toml::from_str("seed = 7\n[[rules]]\nfault = \"item_rejected\"\nprobability = 0.3\n").expect("toml");
        assert_eq!(script, Faults::new([Rule::new(Fault::ItemRejected).probability(0.3)]).seed(7));
        let json = serde_json::to_string(&script).expect("json");
        assert_eq!(json.parse(), Ok(script));
        assert!(toml::from_str::<Faults>("[[rules]]\nfault = \"item_rejected\"\nprobabilty = 0.3\n").is_err());
        let error = r#"{"rules": [{"fault": "item_denied"}]}"#.parse::<Faults>().expect_err("unknown fault");
        assert!(error.to_string().contains("not a script of faults: unknown variant `item_denied`"), "{error}");
    }
}
