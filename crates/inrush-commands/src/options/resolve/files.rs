//! Files that options name: inputs, and outputs that must not overwrite them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::options::{Body, LoadOptions, OptionError, QueryOptions, ReadingOptions};
use inrush_sources::{SourceSpec, shown_path};

/// The files that a command reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs(Vec<PathBuf>);

impl Inputs {
    /// The files that a load reads.
    pub fn of_load(options: &LoadOptions) -> Self {
        let LoadOptions { source, reading, query, target, end, .. } = options;
        let bodies = [&target.mapping, &target.settings];
        let bodies = bodies.into_iter().flatten().filter_map(|body| match body {
            Body::File(path) => Some(path),
            Body::Inline(_) => None,
        });
        Inputs::of_sources(&source.sources, reading, query).and(&source.from_dead_letters).and(bodies).and(&end.warm)
    }

    /// Sources as given, the vectors beside them, and the files of a query's tables.
    pub fn of_sources(sources: &[OsString], reading: &ReadingOptions, query: &QueryOptions) -> Self {
        let tables = query.table.iter().map(|table| &table.path);
        let vectors = reading.vectors.iter().map(|vectors| &vectors.path);
        Inputs::default().and(sources).and(vectors).and(tables).and(&query.sql_file)
    }

    /// Adds further files.
    #[must_use]
    pub fn and(mut self, paths: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Self {
        self.0.extend(paths.into_iter().map(|path| PathBuf::from(path.into())));
        self
    }

    /// Refuses an output that is also an input, under any name, or another output. Each output has
    /// the words for its option.
    ///
    /// # Errors
    /// Two options name the same file. The message names both.
    pub fn check<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'static str, Option<&'a PathBuf>)>,
    ) -> Result<(), OptionError> {
        let outputs: Vec<_> = outputs.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
        for (at, (name, path)) in outputs.iter().enumerate() {
            if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| other == path) {
                let message = format!("{other} and {name} both name {}", shown_path(path));
                return Err(OptionError::conflict(message).hint("name a file for each"));
            }
        }
        let there: Vec<_> =
            outputs.iter().filter_map(|(name, path)| Some((name, path, identity(&path.metadata().ok()?)?))).collect();
        // Only an output that exists already can be an input.
        let read: HashSet<_> = if there.is_empty() { HashSet::new() } else { self.identities().collect() };
        match there.into_iter().find(|(_, _, identity)| read.contains(identity)) {
            Some((name, path, _)) => {
                let message = format!("{name} would overwrite {}, which is an input", shown_path(path));
                Err(OptionError::conflict(message).hint("name another file"))
            }
            None => Ok(()),
        }
    }

    fn identities(&self) -> impl Iterator<Item = (u64, u64)> {
        let files = self.0.iter().flat_map(|path| {
            let stdin = (path.as_os_str() == "-").then(|| Path::new("/dev/stdin").to_owned());
            stdin.map_or_else(|| SourceSpec::new(path).files(), |stdin| vec![stdin])
        });
        // A missing file is reported when it is opened.
        files.filter_map(|path| identity(&path.metadata().ok()?))
    }
}

/// The identity of a regular file. A pipe or device loses nothing if it is written to.
fn identity(meta: &Metadata) -> Option<(u64, u64)> {
    meta.is_file().then(|| (meta.dev(), meta.ino()))
}

/// The body of `key` (`mappings` or `settings`).
pub(super) fn body(body: &Body, key: &str) -> Result<Value, OptionError> {
    match body {
        Body::File(path) => read_body(path, key),
        Body::Inline(value) => inner(value.clone(), key).map_err(OptionError::unusable),
    }
}

/// Reads the body of `key` (`mappings` or `settings`) from a file, which holds the body itself, or
/// the body under that key.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn read_body(path: &Path, key: &str) -> Result<Value, OptionError> {
    let text = read(path)?;
    parse(&text, key).map_err(|problem| OptionError::unusable(format!("{}: {problem}", path.display())))
}

/// Reads a file as text.
pub(super) fn read(path: &Path) -> Result<String, OptionError> {
    std::fs::read_to_string(path).map_err(|error| {
        OptionError::unusable(format!("cannot read {}: {error}", path.display()))
            .coded(inrush_core::Code::of_io(&error))
    })
}

fn parse(text: &str, key: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("not valid JSON: {error}"))?;
    inner(value, key)
}

/// The body of `key`, with or without that key.
fn inner(value: Value, key: &str) -> Result<Value, String> {
    let Value::Object(mut object) = value else {
        return Err(format!("expected a JSON object, the body of {key}"));
    };
    // No mapping and no setting has the name `mappings` or `settings`, so this is the body of a
    // create request.
    match object.remove(key) {
        None => Ok(object.into()),
        Some(inner @ Value::Object(_)) if object.is_empty() => Ok(inner),
        Some(Value::Object(_)) => {
            let others: Vec<_> = object.keys().map(|other| format!("`{other}`")).collect();
            Err(format!("holds {} besides `{key}`; put the body of `{key}` into a file of its own", others.join(", ")))
        }
        Some(_) => Err(format!("expected a JSON object under `{key}`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::VectorsOf;

    #[test]
    fn a_body_stands_alone_or_under_its_key() {
        assert_eq!(parse(r#"{"properties":{}}"#, "mappings"), Ok(json!({"properties": {}})));
        assert_eq!(parse(r#"{"mappings":{"dynamic":false}}"#, "mappings"), Ok(json!({"dynamic": false})));
        assert_eq!(parse("\u{feff}{}", "settings"), Ok(json!({})));
        for (text, problem) in [
            (r#"{"mappings":{},"settings":{}}"#, "holds `settings` besides `mappings`"),
            (r#"{"mappings":1}"#, "object under `mappings`"),
            ("[]", "expected a JSON object"),
            ("{", "not valid JSON"),
        ] {
            let error = parse(text, "mappings").unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn an_output_that_is_read_is_refused_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a.ndjson", "b.ndjson", "other"] {
            std::fs::write(path(name), "{}\n").unwrap();
        }
        std::os::unix::fs::symlink(path("a.ndjson"), path("link")).unwrap();
        std::fs::hard_link(path("b.ndjson"), path("hard")).unwrap();
        let of_reading = |source: &str, reading: &ReadingOptions| {
            Inputs::of_sources(&[path(source).into()], reading, &QueryOptions::default())
        };
        let inputs = |source: &str| of_reading(source, &ReadingOptions::default());
        let problem = |source: &str, out: &str| {
            inputs(source).check([("--out", Some(&path(out)))]).err().map(|error| error.to_string())
        };
        for (source, out) in [("a.ndjson", "a.ndjson"), ("a.ndjson", "link"), ("*.ndjson", "hard"), ("", "b.ndjson")] {
            let problem = problem(source, out).unwrap();
            assert!(problem.contains("--out would overwrite") && problem.contains(out), "{problem}");
        }
        for (source, out) in [("a.ndjson", "other"), ("a.ndjson", "new"), ("none", "other")] {
            assert_eq!(problem(source, out), None, "{source} {out}");
        }
        let twice = [("--trace", Some(&path("new"))), ("--dead-letters", Some(&path("new")))];
        assert!(inputs("a.ndjson").check(twice).unwrap_err().to_string().contains("both name"));
        assert!(inputs("a.ndjson").and(Some(path("other"))).check([("--out", Some(&path("other")))]).is_err());
        let vectors = vec![VectorsOf { field: "v".to_owned(), path: path("o*r") }];
        let with_vectors = of_reading("a.ndjson", &ReadingOptions { vectors, ..ReadingOptions::default() });
        let problem = with_vectors.check([("--out", Some(&path("other")))]).unwrap_err().to_string();
        assert!(problem.contains("--out would overwrite"), "{problem}");
    }
}
