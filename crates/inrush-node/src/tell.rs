//! What a user is told while a server is fetched.

use std::fmt;
use std::sync::Arc;

type TakeLine = dyn Fn(&str) + Send + Sync;

/// Takes lines of text. Default: they are not told.
#[derive(Clone, Default)]
pub struct Tell(Option<Arc<TakeLine>>);

impl Tell {
    /// Tells lines to `take`, from a thread of its own.
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Tell(Some(Arc::new(take)))
    }

    pub(crate) fn line(&self, line: &str) {
        if let Some(take) = &self.0 {
            take(line);
        }
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tell").field(&self.0.is_some()).finish()
    }
}

/// A download, which is told at each tenth of its size.
pub(crate) struct Download<'a> {
    tell: &'a Tell,
    name: &'a str,
    total: Option<u64>,
    done: u64,
    /// Bytes at which the next line is due.
    next: u64,
}

/// Bytes between two lines where the size is not known.
const UNKNOWN_STEP: u64 = 64 << 20;

impl<'a> Download<'a> {
    pub(crate) fn begin(tell: &'a Tell, name: &'a str, total: Option<u64>) -> Self {
        let total = total.filter(|total| *total > 0);
        match total {
            Some(total) => tell.line(&format!("downloading {name}: {}", mib(total))),
            None => tell.line(&format!("downloading {name}")),
        }
        let mut download = Download { tell, name, total, done: 0, next: 0 };
        download.next = download.step();
        download
    }

    fn step(&self) -> u64 {
        self.total.map_or(UNKNOWN_STEP, |total| total.div_ceil(10))
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if self.done < self.next {
            return;
        }
        while self.next <= self.done {
            self.next += self.step();
        }
        let (name, done) = (self.name, mib(self.done));
        self.tell.line(&match self.total {
            Some(total) => format!("downloading {name}: {done} of {}", mib(total)),
            None => format!("downloading {name}: {done} so far"),
        });
    }
}

/// At least one, so that no download looks empty.
fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn told(total: Option<u64>, parts: &[usize]) -> Vec<String> {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Tell::new({
            let lines = Arc::clone(&lines);
            move |line| lines.lock().unwrap().push(line.to_owned())
        });
        let mut download = Download::begin(&tell, "a.tar.gz", total);
        parts.iter().for_each(|part| download.add(*part));
        lines.lock().unwrap().clone()
    }

    #[test]
    fn a_download_tells_its_size_and_each_tenth() {
        const MIB: usize = 1 << 20;
        let lines = told(Some(100 << 20), &[MIB; 100]);
        assert_eq!(lines.len(), 11, "{lines:?}");
        assert_eq!(lines[0], "downloading a.tar.gz: 100 MiB");
        assert_eq!(lines[1], "downloading a.tar.gz: 10 MiB of 100 MiB");
        assert_eq!(lines[10], "downloading a.tar.gz: 100 MiB of 100 MiB");
        assert_eq!(told(Some(100 << 20), &[95 * MIB, 5 * MIB]).len(), 3);
        assert_eq!(
            told(None, &[MIB; 130]),
            ["downloading a.tar.gz", "downloading a.tar.gz: 64 MiB so far", "downloading a.tar.gz: 128 MiB so far",]
        );
        assert_eq!(told(Some(0), &[0, 1]), ["downloading a.tar.gz"]);
        Download::begin(&Tell::default(), "a", None).add(MIB * 100);
    }
}
