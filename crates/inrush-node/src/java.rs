//! Finds a Java that can run a server.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error::NodeError;

/// A Java on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Java {
    pub(super) home: PathBuf,
    pub(super) major: u32,
}

/// The Javas of this machine, in this order: the one in a distribution, `JAVA_HOME`, the one in
/// `PATH`, and those in `/usr/lib/jvm`. If the user named one, it is the only one.
pub(super) fn find(named: Option<&Path>, distribution: Option<&Path>) -> Vec<Java> {
    if let Some(named) = named {
        return homes([named.to_owned()]);
    }
    let mut candidates: Vec<PathBuf> = distribution.map(|home| home.join("jdk")).into_iter().collect();
    candidates.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    candidates.extend(in_path());
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/usr/lib/jvm")
        .map(|entries| entries.filter_map(Result::ok).map(|e| e.path()).collect())
        .unwrap_or_default();
    installed.sort();
    candidates.extend(installed);
    homes(candidates)
}

/// The folder and the major version of each Java of this machine, those that a node prefers first.
pub fn javas() -> Vec<(PathBuf, u32)> {
    find(None, None).into_iter().map(|java| (java.home, java.major)).collect()
}

fn homes(candidates: impl IntoIterator<Item = PathBuf>) -> Vec<Java> {
    let mut seen = BTreeSet::new();
    candidates
        .into_iter()
        .filter_map(|home| home.canonicalize().ok())
        .filter(|home| seen.insert(home.clone()))
        .filter_map(|home| major(&home).map(|major| Java { home, major }))
        .collect()
}

/// The first one of a suitable version.
pub(super) fn choose(all: &[Java], what: &str, versions: &RangeInclusive<u32>) -> Result<Java, NodeError> {
    if let Some(java) = all.iter().find(|java| versions.contains(&java.major)) {
        return Ok(java.clone());
    }
    let looked: Vec<String> = all.iter().map(|java| format!("{} in {}", java.major, java.home.display())).collect();
    let looked = if looked.is_empty() {
        "the named one, or else JAVA_HOME, PATH and /usr/lib/jvm; none is a Java".to_owned()
    } else {
        looked.join(", ")
    };
    let needed = match *versions.end() {
        u32::MAX => format!("{} or newer", versions.start()),
        end => format!("{} to {end}", versions.start()),
    };
    // The long-term version that most systems package. A full JDK, because OpenSearch needs its
    // vector module.
    let example = if versions.contains(&17) { 17 } else { 21 };
    Err(NodeError::NoJava { what: what.to_owned(), needed, looked, example })
}

fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let java = std::env::split_paths(&path).map(|folder| folder.join("java")).find(|java| java.is_file())?;
    // The path is HOME/bin/java, behind any number of links.
    Some(java.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

/// The version in the file `release`, which every JDK and JRE has since version 9.
fn major(home: &Path) -> Option<u32> {
    if !home.join("bin/java").is_file() {
        return None;
    }
    parse_release(&std::fs::read_to_string(home.join("release")).ok()?)
}

fn parse_release(text: &str) -> Option<u32> {
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim().trim_matches('"');
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    match numbers.next()?.parse().ok()? {
        // 1.8 is Java 8.
        1 => numbers.next()?.parse().ok(),
        major => Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_release_file() {
        assert_eq!(parse_release("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n"), Some(17));
        assert_eq!(parse_release("JAVA_VERSION=\"25\""), Some(25));
        assert_eq!(parse_release("JAVA_VERSION=\"1.8.0_402\""), Some(8));
        assert_eq!(parse_release("JAVA_VERSION=\"26-ea\""), Some(26));
        assert_eq!(parse_release("nothing"), None);
    }

    #[test]
    fn a_home_that_was_named_is_the_only_one_and_a_distributions_own_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let java = folder.path().join("jdk");
        std::fs::create_dir_all(java.join("bin")).unwrap();
        std::fs::write(java.join("bin/java"), "").unwrap();
        std::fs::write(java.join("release"), "JAVA_VERSION=\"99\"").unwrap();
        let only = [Java { home: java.canonicalize().unwrap(), major: 99 }];
        assert_eq!(find(Some(&java), None), only);
        assert_eq!(find(None, Some(folder.path()))[0], only[0]);
        assert_eq!(find(Some(folder.path()), None), []);
    }

    /// Made-up Javas of these versions, in this order.
    fn made_up(folder: &Path, majors: &[u32]) -> Vec<Java> {
        let made = majors.iter().map(|major| {
            let home = folder.join(format!("jdk-{major}"));
            std::fs::create_dir_all(home.join("bin")).unwrap();
            std::fs::write(home.join("bin/java"), "").unwrap();
            std::fs::write(home.join("release"), format!("JAVA_VERSION=\"{major}.0.1\"")).unwrap();
            home
        });
        homes(made)
    }

    #[test]
    fn the_version_of_the_server_chooses() {
        use crate::Distribution;
        let folder = tempfile::tempdir().unwrap();
        let takes = |server: Distribution, majors: &[u32]| {
            let chosen = choose(&made_up(folder.path(), majors), &server.title(), &server.java());
            chosen.map(|java| java.major).map_err(|error| error.to_string())
        };
        // The machine's default comes first.
        let all = [17, 25, 21, 11];
        for version in ["9.0.0", "9.5.3", "9.6.0-SNAPSHOT", "10.0.0"] {
            assert_eq!(takes(Distribution::elasticsearch(version), &all), Ok(25), "{version}");
        }
        for version in ["8.19.21", "8.18.0", "8.11.0", "7.17.29", "7.10.2"] {
            assert_eq!(takes(Distribution::elasticsearch(version), &all), Ok(17), "{version}");
        }
        assert_eq!(takes(Distribution::elasticsearch("8.19.21"), &[26, 25, 21]), Ok(25));
        assert_eq!(takes(Distribution::elasticsearch("8.17.9"), &[25, 24, 21]), Ok(21));
        assert_eq!(takes(Distribution::elasticsearch("9.5.3"), &[11, 21]), Ok(21));
        for version in ["3.0.0", "3.6.0", "4.0.0"] {
            assert_eq!(takes(Distribution::opensearch(version), &all), Ok(25), "{version}");
        }
        assert_eq!(takes(Distribution::opensearch("2.19.6"), &[25, 24, 21]), Ok(21));
        assert_eq!(takes(Distribution::opensearch("1.3.20"), &[8, 11]), Ok(11));
        let error = takes(Distribution::elasticsearch("9.5.3"), &[17]).unwrap_err();
        assert!(error.contains("21 or newer") && error.contains("17 in "), "{error}");
    }

    #[test]
    fn the_first_that_fits_is_taken_and_an_error_names_all() {
        let java = |major| Java { home: format!("/j{major}").into(), major };
        let all = [java(17), java(25)];
        assert_eq!(choose(&all, "x", &(21..=u32::MAX)).unwrap().major, 25);
        assert_eq!(choose(&all, "x", &(11..=23)).unwrap().major, 17);
        let error = choose(&all, "OpenSearch 3", &(26..=30)).unwrap_err().to_string();
        assert!(error.contains("26 to 30") && error.contains("17 in /j17"), "{error}");
        let error = choose(&[], "Elasticsearch 8", &(17..=25)).unwrap_err().to_string();
        assert!(error.contains("none is a Java") && error.contains("openjdk-17-jdk-headless"), "{error}");
    }
}
