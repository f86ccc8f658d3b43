//! Segments that were written without graphs of their vectors, and those that no merge has given
//! one.

use std::collections::BTreeMap;

use inrush_cluster::api::{merge, stats};
use inrush_cluster::transport::Transport;

use crate::told::Told;

/// The segments of an index before its graphs are built, with their documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithoutGraphs {
    index: String,
    /// Empty where they could not be listed.
    segments: BTreeMap<String, u64>,
    /// An earlier run of the load may have merged some of them, which have graphs then.
    may_be_merged: bool,
}

impl WithoutGraphs {
    /// The segments of `index`, with all documents of the load. `may_be_merged`: some of them may
    /// have graphs by a merge of an earlier run.
    pub(crate) async fn of(transport: &Transport, index: &str, may_be_merged: bool) -> WithoutGraphs {
        let listed = match stats::refresh(transport, index).await {
            Ok(_) => merge::documents_of_segments(transport, index).await,
            Err(error) => Err(error),
        };
        let segments = listed.unwrap_or_else(|error| {
            tracing::warn!("it is not known which segments of {index} get no graph: {error}");
            BTreeMap::new()
        });
        WithoutGraphs { index: index.to_owned(), segments, may_be_merged }
    }

    /// What a merge has left as it was, as text. A merge to one segment leaves a shard that has
    /// one.
    pub(super) async fn left(&self, transport: &Transport, told: &Told) -> String {
        if self.segments.is_empty() {
            return String::new();
        }
        let text = match merge::documents_of_segments(transport, &self.index).await {
            Ok(now) => match left(&self.segments, &now) {
                (0, _) => return "; segments without graphs of vectors were merged".to_owned(),
                (segments, documents) if self.may_be_merged => {
                    return format!(
                        "; {segments} segments with {documents} documents were single ones of their shards, and stay: those that an earlier run has merged have graphs"
                    );
                }
                (segments, documents) => format!(
                    "{segments} segments with {documents} documents were single ones of their shards, so they were not merged and have no graph: searches compare all of their vectors until a later merge"
                ),
            },
            Err(error) => format!("it is not known whether all segments have graphs: {error}"),
        };
        told.warn(format!("{}: {text}", self.index));
        format!("; {text}")
    }
}

/// How many segments of before are there still, and their documents.
fn left(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> (u64, u64) {
    let still = before.keys().filter_map(|segment| now.get(segment)).filter(|documents| **documents > 0);
    still.fold((0, 0), |(segments, sum), documents| (segments + 1, sum + documents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_were_merged_are_gone() {
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let before = of(&[("a/0/n/_0", 5), ("a/0/n/_1", 7), ("a/1/n/_0", 9)]);
        assert_eq!(left(&before, &of(&[("a/0/n/_2", 12), ("a/1/n/_0", 9)])), (1, 9));
        assert_eq!(left(&before, &of(&[("a/0/n/_2", 12), ("a/1/n/_1", 9)])), (0, 0));
        // All of its documents were deleted meanwhile.
        assert_eq!(left(&before, &of(&[("a/1/n/_0", 0)])), (0, 0));
    }
}
