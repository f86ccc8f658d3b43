//! The message for a process that may not start more threads (`ulimit -u`, `ulimit -v`, a
//! container's process limit). Tokio panics then, and its builder cannot check it in advance.

use std::any::Any;
use std::panic::{PanicHookInfo, set_hook, take_hook};

use inrush_front::errors::no_thread;

use crate::failure::{self, ExitStatus};

/// The beginning of tokio's panic messages, for worker threads and for blocking threads.
const TOKIO: &str = "OS can't spawn worker thread: ";

/// From now on such a panic ends the process with an error message instead of a stack trace. The
/// files on disk are then in the same state as after a crash.
pub(crate) fn tell_instead_of_panicking() {
    let before = take_hook();
    set_hook(Box::new(move |panic: &PanicHookInfo<'_>| match cause(panic.payload()) {
        Some(cause) => {
            failure::print(&no_thread(cause), &mut std::io::stderr());
            std::process::exit(i32::from(ExitStatus::Failed.code()));
        }
        None => before(panic),
    }));
}

fn cause(payload: &(dyn Any + Send)) -> Option<String> {
    let text =
        payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied())?;
    text.strip_prefix(TOKIO).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_panics_for_want_of_threads_are_told() {
        let text = "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)".to_owned();
        assert_eq!(cause(&text).as_deref(), Some("Resource temporarily unavailable (os error 11)"));
        assert_eq!(cause(&"index out of bounds"), None);
    }
}
