//! A process that may start no more threads (`ulimit -u`, `ulimit -v`, a container's limit of
//! processes): tokio panics then, and its builder cannot be asked before.

use std::any::Any;
use std::panic::{PanicHookInfo, set_hook, take_hook};

use crate::failure::{self, ExitStatus, Hint};

/// How tokio's panic begins, of the runtime's own threads and of those that may block.
const TOKIO: &str = "OS can't spawn worker thread: ";

/// From now on such a panic ends the process with an error instead of a stack. What is on disk then
/// is what a crash would leave.
pub(crate) fn tell_instead_of_panicking() {
    let before = take_hook();
    set_hook(Box::new(move |panic: &PanicHookInfo<'_>| match cause(panic.payload()) {
        Some(cause) => {
            let error = anyhow::anyhow!("the system lets this process start no more threads: {cause}").context(hint());
            failure::print(&error, &mut std::io::stderr());
            std::process::exit(i32::from(ExitStatus::Failed.code()));
        }
        None => before(panic),
    }));
}

/// What can be done about it.
pub(crate) fn hint() -> Hint {
    Hint(
        "give it more memory and processes (ulimit -v, ulimit -u, the limits of its container), or fewer --workers"
            .to_owned(),
    )
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
