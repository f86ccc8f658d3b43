//! The check that the new index holds enough documents to replace the old one.

use inrush_cluster::api::stats;
use inrush_cluster::transport::Transport;

use super::swapping::Swapping;
use crate::told::Told;

/// Counts the documents of both indices and compares the counts.
///
/// # Errors
/// The new index is empty, or holds too few documents. The message has both counts and the remedy.
pub(super) async fn check(transport: &Transport, swapping: &Swapping, told: &Told) -> Result<(), Refused> {
    let new = &swapping.noted.index;
    let docs = match stats::count_now(transport, new).await {
        Ok(docs) => docs,
        Err(error) if error.status() == Some(403) => {
            told.warn(format!("the number of documents in {new} was not checked: {error}"));
            return Ok(());
        }
        Err(error) => return Err(Refused { why: error.to_string(), option: None }),
    };
    let before = match &swapping.noted.old {
        None => None,
        Some(old) => match stats::count(transport, &old.name).await {
            Ok(before) => Some((old.name.as_str(), before)),
            Err(error) => {
                told.warn(format!("the number of documents in {new} was not compared with {}: {error}", old.name));
                None
            }
        },
    };
    compare(new, docs, before, swapping.options.shrink_max, swapping.allow_empty)
}

/// Checks that a load of dead letters has given the new index all that the load before has left
/// out: by the letters that it read, or by the documents of the index.
///
/// # Errors
/// Some are still missing, in words.
pub(super) async fn check_rest(transport: &Transport, swapping: &Swapping, docs_read: u64) -> Result<(), String> {
    let Some(missing) = swapping.missing else { return Ok(()) };
    let new = &swapping.noted.index;
    let docs = stats::count_now(transport, new).await.map_err(|error| error.to_string())?;
    match missing.letters.saturating_sub(docs_read.max(docs.saturating_sub(missing.docs))) {
        0 => Ok(()),
        left => Err(format!(
            "the load that made {new} has left {} documents out, and {left} of them are not in yet; load the rest of its dead letters in the same way",
            missing.letters
        )),
    }
}

/// Why the alias is not moved.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) why: String,
    /// Option that allows the swap.
    pub(super) option: Option<&'static str>,
}

fn compare(
    new: &str,
    docs: u64,
    before: Option<(&str, u64)>,
    shrink_max: f64,
    allow_empty: bool,
) -> Result<(), Refused> {
    let old = before.map(|(old, before)| format!(", and {old}, which it would replace, holds {before}"));
    let holds = format!("{new} holds {docs} documents{}", old.unwrap_or_default());
    if docs == 0 && !allow_empty {
        let why = format!("{holds}; give option `allow_empty` to allow that");
        return Err(Refused { why, option: Some("option `allow_empty`") });
    }
    let before = before.map_or(0, |(_, before)| before);
    let lost = before.saturating_sub(docs);
    if docs > 0 && lost as f64 * 100.0 > shrink_max * before as f64 {
        let lost = lost as f64 * 100.0 / before as f64;
        let why = format!(
            "{holds}: {lost:.1}% fewer, and option `allow_shrink` allows {shrink_max}% fewer; give option `allow_shrink=any` to allow that"
        );
        return Err(Refused { why, option: Some("option `allow_shrink=any`") });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_much_smaller_index_is_refused() {
        let check = |docs, before: Option<u64>, shrink, empty| {
            compare("n", docs, before.map(|before| ("o", before)), shrink, empty).map_err(|refused| refused.why)
        };
        assert_eq!(check(50, Some(100), 50.0, false), Ok(()));
        assert_eq!(
            check(49, Some(100), 50.0, false),
            Err("n holds 49 documents, and o, which it would replace, holds 100: 51.0% fewer, and option `allow_shrink` allows 50% fewer; give option `allow_shrink=any` to allow that".to_owned())
        );
        assert_eq!(check(49, Some(100), 100.0, false), Ok(()));
        assert!(check(99, Some(100), 0.0, false).is_err());
        assert_eq!(check(200, Some(100), 0.0, false), Ok(()));
        for before in [None, Some(0), Some(7)] {
            assert!(check(0, before, 100.0, false).unwrap_err().contains("option `allow_empty`"), "{before:?}");
            assert_eq!(check(0, before, 50.0, true), Ok(()), "an empty one that is meant is no shrinking");
        }
        assert_eq!(check(1, None, 50.0, false), Ok(()));
    }
}
