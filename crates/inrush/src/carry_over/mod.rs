//! Making an index like another one, of another cluster, version or product: what of its mapping and settings the target takes, and
//! what is left out.

mod mapping;
mod settings;

use inrush_sources::index::IndexModel;
pub use mapping::mapping;
use serde_json::Value;
pub use settings::settings;

/// What is taken over, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// The body of `mappings` or `settings`.
    pub value: Value,
    /// What was left out or changed, and why, each in a sentence.
    pub notes: Vec<String>,
}

/// The one model of several indices.
///
/// # Errors
/// They differ in `part`; says which two.
pub fn common<'a, T: PartialEq>(
    models: &'a [IndexModel],
    what: &str,
    part: impl Fn(&'a IndexModel) -> T,
) -> Result<&'a IndexModel, String> {
    let first = models.first().ok_or_else(|| format!("there is no index to take {what} from"))?;
    match models.iter().find(|other| part(other) != part(first)) {
        None => Ok(first),
        Some(other) => Err(format!("{} and {} have different {what}", first.name, other.name)),
    }
}
