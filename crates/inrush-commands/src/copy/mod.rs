//! Copies mapping and settings from an index of another cluster, version or product. Parts that the
//! target does not support are replaced or left out, with a note.

mod mapping;
mod settings;

use inrush_sources::index::IndexModel;
pub use mapping::mapping;
use serde_json::Value;
pub use settings::settings;

/// The converted mapping or settings.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Copied {
    /// The body of `mappings` or `settings`.
    pub value: Value,
    /// Notes about parts that were left out or changed, one sentence each with its reason.
    pub notes: Vec<String>,
}

/// The mapping or settings that all of several indices have in common.
///
/// # Errors
/// Two indices differ in `part`. The message names them.
pub fn common<'a, T: PartialEq>(
    models: &'a [IndexModel],
    what: &str,
    part: impl Fn(&'a IndexModel) -> T,
) -> Result<&'a IndexModel, String> {
    let first = models.first().ok_or_else(|| format!("there is no index to copy {what} from"))?;
    match models.iter().find(|other| part(other) != part(first)) {
        None => Ok(first),
        Some(other) => Err(format!("{} and {} have different {what}", first.name, other.name)),
    }
}
