//! The index that dead letters are of.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use inrush_core::IndexTemplate;
use serde::Deserialize;

use crate::options::OptionError;

/// The member of a letter that names its index.
#[derive(Deserialize)]
struct Letter {
    index: Option<String>,
}

/// The index that all letters of a file name. `None` where they name none, as those of earlier
/// releases.
///
/// # Errors
/// The file cannot be read, or its letters are of several indices.
pub(super) fn index(path: &Path) -> Result<Option<IndexTemplate>, OptionError> {
    let cannot =
        |why: String| OptionError::unusable(format!("cannot read {}: {why}", path.display())).of("from_dead_letters");
    let mut lines = BufReader::new(File::open(path).map_err(|error| cannot(error.to_string()))?);
    let (mut names, mut line) = (BTreeSet::new(), Vec::new());
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(|error| cannot(error.to_string()))? == 0 {
            break;
        }
        // The load says what is wrong with another line.
        if let Ok(Letter { index: Some(index) }) = serde_json::from_slice(&line) {
            names.insert(index);
        }
        if names.len() > 1 {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let message =
                format!("the dead letters of {} are of several indices: {}", path.display(), names.join(", "));
            return Err(OptionError::unusable(message)
                .of("from_dead_letters")
                .hint("load those of each index from a file of their own, or all into one with option `index=NAME`"));
        }
    }
    let Some(name) = names.pop_first() else { return Ok(None) };
    name.parse().map(Some).map_err(|problem: String| cannot(format!("its index {name} cannot be used: {problem}")))
}
