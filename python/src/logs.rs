//! The engine's log messages, kept until Python fetches them for `logging`, so that no thread of
//! the engine waits for the interpreter.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use inrush_front::embed::as_keywords;
use inrush_front::plain;
use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The most messages that are kept. Older ones are dropped.
const KEPT_MAX: usize = 10_000;

/// A level of Python's `logging`, the logger's name, and the message.
type Message = (u8, String, String);

static MESSAGES: Mutex<VecDeque<Message>> = Mutex::new(VecDeque::new());
/// The lowest level that Python's loggers accept, by Python's numbers.
static LEAST: AtomicU8 = AtomicU8::new(30);
static START: Once = Once::new();

/// Starts to keep messages of at least this level, by Python's numbers.
pub(crate) fn start(least: u8) {
    LEAST.store(least, Ordering::Relaxed);
    // Fails if the process has another log already, such as that of the command line, which then
    // gets the messages.
    START.call_once(|| drop(tracing_subscriber::registry().with(Keep).try_init()));
}

/// Tells a line on stderr.
pub(crate) fn say(line: &str) {
    // If stderr is closed, there is no other place to report it.
    let _ = std::io::stderr().write_all(plain::message(&format!("{line}\n")).as_bytes());
}

/// Takes the messages so far.
#[pyfunction]
pub(crate) fn take_messages() -> Vec<Message> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
}

struct Keep;

/// Whether a message is kept. Other libraries can log headers and bodies, so only their warnings
/// are.
fn wanted(metadata: &Metadata<'_>) -> bool {
    let level = level(metadata.level());
    level >= LEAST.load(Ordering::Relaxed) && (level >= 30 || metadata.target().starts_with("inrush"))
}

fn level(level: &Level) -> u8 {
    match *level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// The logger of an event: that of the crate `inrush_load` is `inrush.load`, below `inrush`.
fn logger(target: &str) -> String {
    let dotted = target.replace("::", ".");
    match dotted.strip_prefix("inrush_") {
        Some(of_crate) => format!("inrush.{of_crate}"),
        None => dotted,
    }
}

impl<S: Subscriber> Layer<S> for Keep {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        // The accepted level changes.
        tracing::subscriber::Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        wanted(metadata)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let message = (level(metadata.level()), logger(metadata.target()), as_keywords(&text.0).into_owned());
        let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == KEPT_MAX {
            messages.pop_front();
        }
        messages.push_back(message);
    }
}

/// The message, then the fields.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => {
                let rest = std::mem::take(&mut self.0);
                let space = if rest.is_empty() { "" } else { " " };
                write!(self.0, "{value:?}{space}{rest}")
            }
            name => write!(self.0, "{space}{name}={value:?}"),
        };
    }
}
