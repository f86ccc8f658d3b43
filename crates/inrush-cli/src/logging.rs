//! stderr, shared by the log and the progress. Each write is one whole message, without characters
//! that control a terminal.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::args::{LogArgs, LogLevel};
use crate::in_place::{self, BREAK_LINES, InPlace};
use crate::plain;

/// stderr. Messages are written above the rows that are drawn. A clone writes to the same place.
#[derive(Clone)]
pub(crate) struct Stderr {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    out: Box<dyn Write + Send>,
    drawn: InPlace,
}

impl Stderr {
    /// The stderr of the process.
    pub(crate) fn new() -> Self {
        Stderr::to(Box::new(std::io::stderr()))
    }

    fn to(out: Box<dyn Write + Send>) -> Self {
        Stderr { inner: Arc::new(Mutex::new(Inner { out, drawn: InPlace::default() })) }
    }

    /// Writes lines, unless the user wants none.
    pub(crate) fn say(&self, quiet: bool) -> impl Fn(&str) + Sync {
        move |line| {
            if !quiet {
                // If stderr is closed, there is no other place to report it.
                let _ = writeln!(self.clone(), "{line}");
            }
        }
    }

    /// Draws rows in the place of those before. They may have colours, and nothing else that
    /// controls a terminal.
    pub(crate) fn draw(&self, rows: Vec<String>) {
        self.change(|drawn, columns| drawn.draw(rows, columns, Instant::now()));
    }

    /// Removes the rows.
    pub(crate) fn clear(&self) {
        self.change(|drawn, columns| drawn.clear(columns, Instant::now()));
    }

    /// Leaves the rows as they are. What follows is written below them.
    pub(crate) fn leave(&self) {
        self.lock().drawn.leave();
    }

    /// Ends the process. Rows that are being drawn are finished before.
    pub(crate) fn exit(&self, status: i32) -> ! {
        let mut inner = self.lock();
        if inner.drawn.has_rows() {
            // If stderr is closed, there is no terminal.
            let _ = inner.out.write_all(BREAK_LINES.as_bytes()).and_then(|()| inner.out.flush());
        }
        std::process::exit(status)
    }

    fn change(&self, change: impl FnOnce(&mut InPlace, usize) -> String) {
        let mut inner = self.lock();
        let text = change(&mut inner.drawn, in_place::size().0);
        // If stderr is closed, there is no other place to report it.
        let _ = inner.out.write_all(text.as_bytes()).and_then(|()| inner.out.flush());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic during a write leaves no half-done change that matters.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let text = plain::message(&String::from_utf8_lossy(bytes));
        let mut inner = self.lock();
        let text = inner.drawn.message(&text, in_place::size().0, Instant::now());
        inner.out.write_all(text.as_bytes())
    }

    /// Writes one message, not the pieces of the format.
    fn write_fmt(&mut self, message: std::fmt::Arguments<'_>) -> std::io::Result<()> {
        self.write_all(message.to_string().as_bytes())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.lock().out.flush()
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Stderr;

    fn make_writer(&'a self) -> Stderr {
        self.clone()
    }
}

/// Starts to log to stderr. Call it once.
pub(crate) fn start(log: &LogArgs, quiet: bool, stderr: &Stderr) {
    let filter = EnvFilter::new(filter(log, quiet));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr.clone());
    let result = if log.log_json {
        subscriber.json().try_init()
    } else {
        // Without colours, which look like those of a document's text.
        subscriber.with_ansi(false).with_target(false).compact().try_init()
    };
    // Fails only if a log is already set up, which no other code of this process does.
    debug_assert!(result.is_ok(), "the log is set up once");
}

/// The filter of log levels. Other libraries can log headers and bodies, so they log only warnings.
fn filter(log: &LogArgs, quiet: bool) -> String {
    let level = match (log.verbose, log.log_level, quiet) {
        (0, None, true) | (0, Some(LogLevel::Error), _) => return "error".to_owned(),
        (0, None | Some(LogLevel::Warn), _) => "warn",
        (1, _, _) | (0, Some(LogLevel::Info), _) => "info",
        (2, _, _) | (0, Some(LogLevel::Debug), _) => "debug",
        (3.., _, _) | (0, Some(LogLevel::Trace), _) => "trace",
    };
    format!("warn,inrush={level},inrush_core={level}")
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A stderr in memory, and a function that returns its text.
    pub(crate) fn capture() -> (Stderr, impl Fn() -> String) {
        let written = Arc::new(Mutex::new(Vec::new()));
        let stderr = Stderr::to(Box::new(Shared(written.clone())));
        (stderr, move || String::from_utf8(written.lock().unwrap().clone()).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{LogOptions, Options};

    #[test]
    fn libraries_are_never_asked_for_more_than_warnings() {
        let log = |verbose, log_level| Options(LogOptions { verbose, log_level, log_json: false });
        assert_eq!(filter(&log(0, None), false), "warn,inrush=warn,inrush_core=warn");
        assert_eq!(filter(&log(3, None), false), "warn,inrush=trace,inrush_core=trace");
        assert_eq!(filter(&log(0, Some(LogLevel::Debug)), false), "warn,inrush=debug,inrush_core=debug");
        assert_eq!(filter(&log(0, None), true), "error");
        assert_eq!(filter(&log(1, None), true), "warn,inrush=info,inrush_core=info");
    }

    #[test]
    fn messages_are_above_the_rows_that_are_drawn() {
        let (stderr, text) = testing::capture();
        stderr.draw(vec!["row".to_owned()]);
        writeln!(stderr.clone(), "above").unwrap();
        stderr.clear();
        writeln!(stderr.clone(), "after").unwrap();
        let row = "\x1b[?7l\x1b[Krow\n\x1b[J\x1b[?7h";
        assert_eq!(text(), format!("{row}\x1b[1F\x1b[Jabove\n{row}\x1b[1F\x1b[Jafter\n"));
    }

    #[test]
    fn a_message_cannot_drive_the_terminal_or_forge_another_one() {
        let (stderr, text) = testing::capture();
        writeln!(stderr.clone(), "warning: a\u{1b}[2J\nerror: forged").unwrap();
        assert_eq!(text(), "warning: a\\u001b[2J\n    error: forged\n");
    }
}
