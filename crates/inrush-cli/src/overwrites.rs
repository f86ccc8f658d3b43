//! No file that a command reads is written to by it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inrush::source::{SourceSpec, shown_path};

use crate::args::{LoadArgs, SqlArgs};
use crate::failure::UsageError;

/// The files that a command reads.
#[derive(Default)]
pub(crate) struct Inputs(Vec<PathBuf>);

impl Inputs {
    /// Sources as they are given, and what the tables of a query are made of.
    pub(crate) fn new(sources: &[OsString], sql: &SqlArgs) -> Self {
        Inputs::default().and(sources).and(sql.table.iter().map(|(_, path)| path)).and(&sql.sql_file)
    }

    /// What a load reads.
    pub(crate) fn of_load(args: &LoadArgs) -> Self {
        let LoadArgs { source, index, finish, .. } = args;
        Inputs::new(&source.sources, &source.sql)
            .and(&source.from_dead_letters)
            .and(&source.job)
            .and(&index.mapping)
            .and(&index.settings)
            .and(&finish.warm)
    }

    /// These as well.
    pub(crate) fn and(mut self, paths: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Self {
        self.0.extend(paths.into_iter().map(|path| PathBuf::from(path.into())));
        self
    }

    /// Refuses an output that is one of the inputs, under whatever name, and one that is another
    /// output.
    pub(crate) fn check<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'static str, Option<&'a PathBuf>)>,
    ) -> Result<(), UsageError> {
        let outputs: Vec<_> = outputs.into_iter().filter_map(|(flag, path)| Some((flag, path?))).collect();
        for (at, (flag, path)) in outputs.iter().enumerate() {
            if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| other == path) {
                let message = format!("{other} and {flag} both name {}", shown_path(path));
                return Err(UsageError::new(message).hint("name a file for each"));
            }
        }
        let there: Vec<_> =
            outputs.iter().filter_map(|(flag, path)| Some((flag, path, identity(&path.metadata().ok()?)?))).collect();
        // Without an output that is there already nothing has to be looked at.
        let read: HashSet<_> = if there.is_empty() { HashSet::new() } else { self.identities().collect() };
        match there.into_iter().find(|(_, _, identity)| read.contains(identity)) {
            Some((flag, path, _)) => {
                let message = format!("{flag} would write over {}, which is read", shown_path(path));
                Err(UsageError::new(message).hint("name another file"))
            }
            None => Ok(()),
        }
    }

    fn identities(&self) -> impl Iterator<Item = (u64, u64)> {
        let files = self.0.iter().flat_map(|path| {
            let stdin = (path.as_os_str() == "-").then(|| Path::new("/dev/stdin").to_owned());
            stdin.map_or_else(|| SourceSpec::new(path).files(), |stdin| vec![stdin])
        });
        // What is not there is for its opening to report.
        files.filter_map(|path| identity(&path.metadata().ok()?))
    }
}

/// What tells a regular file from others; writing to a pipe or device takes nothing away.
fn identity(meta: &Metadata) -> Option<(u64, u64)> {
    meta.is_file().then(|| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_is_read_is_refused_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a.ndjson", "b.ndjson", "other"] {
            std::fs::write(path(name), "{}\n").unwrap();
        }
        std::os::unix::fs::symlink(path("a.ndjson"), path("link")).unwrap();
        std::fs::hard_link(path("b.ndjson"), path("hard")).unwrap();
        let inputs = |source: &str| Inputs::new(&[path(source).into()], &SqlArgs::default());
        let problem = |source: &str, out: &str| {
            inputs(source).check([("--out", Some(&path(out)))]).err().map(|error| error.to_string())
        };
        for (source, out) in [("a.ndjson", "a.ndjson"), ("a.ndjson", "link"), ("*.ndjson", "hard"), ("", "b.ndjson")] {
            let problem = problem(source, out).unwrap();
            assert!(problem.contains("--out would write over") && problem.contains(out), "{problem}");
        }
        for (source, out) in [("a.ndjson", "other"), ("a.ndjson", "new"), ("none", "other")] {
            assert_eq!(problem(source, out), None, "{source} {out}");
        }
        let twice = [("--trace", Some(&path("new"))), ("--dead-letters", Some(&path("new")))];
        assert!(inputs("a.ndjson").check(twice).unwrap_err().to_string().contains("both name"));
        assert!(inputs("a.ndjson").and(Some(path("other"))).check([("--out", Some(&path("other")))]).is_err());
    }
}
