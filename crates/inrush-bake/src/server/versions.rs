//! The servers that may build for a target.

use inrush_cluster::api::{ClusterInfo, Version};
use inrush_node::{Distribution, KnownProduct};

use crate::config::{BakeError, BuilderConfig};

/// The product and versions that may build for a target whose oldest node has the version `oldest`.
///
/// # Errors
/// A target that no builder can build for, or a version that the user gave and that is not
/// compatible.
pub(super) fn versions(
    info: &ClusterInfo,
    oldest: Option<Version>,
    config: &BuilderConfig,
) -> Result<(KnownProduct, Vec<String>), BakeError> {
    use inrush_cluster::api::Product as Target;
    if info.serverless {
        return Err(BakeError::Refused(
            "a serverless target restores no snapshots; load into it with `inrush load`".to_owned(),
        ));
    }
    let product = match info.product {
        Target::OpenSearch => KnownProduct::OpenSearch,
        Target::Elasticsearch => KnownProduct::Elasticsearch,
        Target::Unknown => {
            return Err(BakeError::Refused("the target does not say whether it is OpenSearch or Elasticsearch, so nothing can be built for it; load into it with `inrush load`".to_owned()));
        }
    };
    let Some(target) = oldest.or(info.version) else {
        return Err(BakeError::Refused(
            "the target does not report its version, so nothing can be built for it; load into it with `inrush load`"
                .to_owned(),
        ));
    };
    let named = match (&config.home, &config.version) {
        (Some(home), _) => Some(inrush_node::version_in(product, home)?),
        (None, version) => version.clone(),
    };
    match named {
        Some(version) => {
            let parsed = version
                .parse()
                .map_err(|why: String| BakeError::Refused(format!("option `builder_version`: {why}")))?;
            check(product, parsed, target).map_err(BakeError::Refused)?;
            Ok((product, vec![version]))
        }
        None => {
            check(product, target, target).map_err(BakeError::Refused)?;
            Ok((product, candidates(product, target, &Distribution::versions_here(product))))
        }
    }
}

/// The major version of Lucene in a server. It has to be the same on both sides: the files of a
/// newer version cannot be read, and those of an older one are read with restrictions.
fn lucene(product: KnownProduct, version: Version) -> Option<u32> {
    match (product, version.major) {
        (KnownProduct::OpenSearch, 1) | (KnownProduct::Elasticsearch, 7) => Some(8),
        (KnownProduct::OpenSearch, 2) | (KnownProduct::Elasticsearch, 8) => Some(9),
        (KnownProduct::OpenSearch, 3) | (KnownProduct::Elasticsearch, 9) => Some(10),
        _ => None,
    }
}

/// Checks that indices of a builder can be restored on a target.
///
/// # Errors
/// Why not, and which version would be compatible.
pub(super) fn check(product: KnownProduct, builder: Version, target: Version) -> Result<(), String> {
    let Some(lucene_target) = lucene(product, target) else {
        return Err(format!(
            "the target's version {target} is unknown here, so no builder can be chosen for it; load into it with `inrush load`"
        ));
    };
    if builder > target {
        return Err(format!(
            "the builder's version {builder} is newer than the target's oldest node, {target}, which cannot read the files that it writes; name {target} or an older one"
        ));
    }
    match lucene(product, builder) {
        Some(lucene) if lucene == lucene_target => Ok(()),
        found => Err(format!(
            "the builder's version {builder} has Lucene {}, and the target's {target} has Lucene {lucene_target}; name a version {}.x that is not newer than {target}",
            found.map_or_else(|| "of an unknown version".to_owned(), |found| found.to_string()),
            target.major
        )),
    }
}

/// The versions to try, the best one first: the target's own, then the newest compatible ones on
/// this machine (`here`).
fn candidates(product: KnownProduct, target: Version, here: &[String]) -> Vec<String> {
    let mut others: Vec<Version> = here.iter().filter_map(|text| text.parse().ok()).collect();
    others.retain(|version| *version != target && check(product, *version, target).is_ok());
    others.sort();
    others.dedup();
    std::iter::once(target).chain(others.into_iter().rev()).map(|version| version.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_builder_is_not_newer_and_has_the_same_lucene() {
        let fits = |builder: &str, target: &str| {
            check(KnownProduct::OpenSearch, builder.parse().unwrap(), target.parse().unwrap())
        };
        fits("3.6.0", "3.6.0").unwrap();
        fits("3.1.0", "3.6.0").unwrap();
        assert!(fits("3.6.1", "3.6.0").unwrap_err().contains("newer"));
        assert!(fits("2.19.6", "3.6.0").unwrap_err().contains("Lucene 9, and the target's 3.6.0 has Lucene 10"));
        assert!(fits("3.6.0", "4.0.0").unwrap_err().contains("unknown here"));
        let here = ["2.19.6", "3.6.0", "3.2.0", "3.10.0", "3.9.0", "x"].map(str::to_owned);
        let target = "3.9.5".parse().unwrap();
        assert_eq!(candidates(KnownProduct::OpenSearch, target, &here), ["3.9.5", "3.9.0", "3.6.0", "3.2.0"]);
    }
}
