//! The environment variables whose names begin with `INRUSH_`. One that is not known is named: it
//! may be misspelt, and the load would go on without it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

const PREFIX: &str = "INRUSH_";

/// Variables that commands read.
const KNOWN: [&str; 13] = [
    "INRUSH_TO",
    "INRUSH_PASSWORD",
    "INRUSH_API_KEY",
    "INRUSH_BEARER",
    "INRUSH_FROM_PASSWORD",
    "INRUSH_FROM_API_KEY",
    "INRUSH_FROM_BEARER",
    "INRUSH_FETCH_PASSWORD",
    "INRUSH_FETCH_BEARER",
    "INRUSH_REGISTRY_PASSWORD",
    "INRUSH_REGISTRY_BEARER",
    "INRUSH_NODE_ROOT",
    "INRUSH_OPENSEARCH_MIRROR",
];

/// Variables of the tests, scripts and benchmarks of this repository.
const OF_THE_REPOSITORY: [&str; 39] = [
    "INRUSH_ALL_FAULTS",
    "INRUSH_BUILDER",
    "INRUSH_CHROMIUM",
    "INRUSH_COMMIT",
    "INRUSH_DIST",
    "INRUSH_JACKSON",
    "INRUSH_KAFKA_MEMORY",
    "INRUSH_KAFKA_RECORDS",
    "INRUSH_KAFKA_ROUNDS",
    "INRUSH_KILLS",
    "INRUSH_KILL_CSV",
    "INRUSH_KILL_DOCS",
    "INRUSH_KILL_DURABILITY",
    "INRUSH_LOADS",
    "INRUSH_LOADS_CSV",
    "INRUSH_LUCENE",
    "INRUSH_LUCENE_CRATE",
    "INRUSH_LUCENE_MEMORY",
    "INRUSH_MAINTAINER",
    "INRUSH_MYSQL",
    "INRUSH_NODE_KILLS",
    "INRUSH_NODE_MODULES",
    "INRUSH_ORDERS",
    "INRUSH_PYTHON_PROFILE",
    "INRUSH_REPOSITORY",
    "INRUSH_RUN",
    "INRUSH_SECONDS",
    "INRUSH_SEED",
    "INRUSH_SERVERS",
    "INRUSH_SEEDS",
    "INRUSH_SEGMENTS_FILE",
    "INRUSH_SHARED_DATA",
    "INRUSH_SITE",
    "INRUSH_SITE_PAGES",
    "INRUSH_TESTBED",
    "INRUSH_TESTBED_OWNER",
    "INRUSH_TEST_MOUNTS",
    "INRUSH_TEST_OWN_PROCESS",
    "INRUSH_WRITE_PAGES",
];

/// A warning about each variable of this process that is not known. A variable that the command
/// line or its job file names is one of the user's, as with option `password_env`.
pub(crate) fn warnings(arguments: &[OsString]) -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name);
    let unknown = unknown(names);
    if unknown.is_empty() {
        return Vec::new();
    }
    let mut texts: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    texts.extend(job_file(arguments));
    let is_named = |name: &String| texts.iter().any(|text| text.contains(name));
    let unknown = unknown.into_iter().filter(|name| !is_named(name));
    unknown
        .map(|name| {
            format!("the environment variable {name} is not known and has no effect; known are {}", KNOWN.join(", "))
        })
        .collect()
}

fn unknown(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let of_inrush = names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(PREFIX));
    let is_known = |name: &str| KNOWN.contains(&name) || OF_THE_REPOSITORY.contains(&name);
    let mut unknown: Vec<String> = of_inrush.filter(|name| !is_known(name)).collect();
    unknown.sort_unstable();
    unknown
}

/// The text of the job file.
fn job_file(arguments: &[OsString]) -> Option<String> {
    let after = arguments.iter().zip(arguments.iter().skip(1)).find(|(flag, _)| *flag == "--job").map(|(_, path)| path);
    let joined = || arguments.iter().find_map(|argument| argument.to_str()?.strip_prefix("--job="));
    let path = after.map(OsString::as_os_str).or_else(|| joined().map(OsStr::new))?;
    std::fs::read_to_string(Path::new(path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_unknown() {
        let names = ["INRUSH_PASWORD", "INRUSH_TO", "PATH", "INRUSH_SEED", "INRUSH"].map(OsString::from);
        assert_eq!(unknown(names.into_iter()), ["INRUSH_PASWORD"]);
    }

    #[test]
    fn the_table_has_the_variables_of_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["crates", "scripts", "python", "bench/odd_files", "Makefile"] {
            collect(&root.join(folder), &mut found);
        }
        // Names of tests that set a variable which a flag names.
        let invented =
            ["INRUSH_FROM_", "INRUSH_TEST_UNSET", "INRUSH_TEST_OPTIONS", "INRUSH_PASWORD", "INRUSH_OWN", "INRUSH_"];
        let known = |name: &String| {
            let name = name.as_str();
            KNOWN.contains(&name) || OF_THE_REPOSITORY.contains(&name) || invented.contains(&name)
        };
        found.retain(|name| !known(name));
        assert!(found.is_empty(), "not in the table: {found:?}");
    }

    fn collect(path: &Path, found: &mut Vec<String>) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name == "target" || name == "node_modules" || name.starts_with('.') && name != ".." {
                return;
            }
            for entry in std::fs::read_dir(path).unwrap() {
                collect(&entry.unwrap().path(), found);
            }
            return;
        }
        let is_source = [".rs", ".py", ".sh"].iter().any(|end| name.ends_with(end)) || name == "Makefile";
        let Some(text) = is_source.then(|| std::fs::read_to_string(path).ok()).flatten() else { return };
        for part in text.split(PREFIX).skip(1) {
            let rest: String =
                part.chars().take_while(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_').collect();
            found.push(format!("{PREFIX}{rest}"));
        }
    }
}
