//! The signals that end a run in order.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, timeout_at};

/// A SIGINT within this time of the first signal belongs to it: Ctrl-C reaches the whole process
/// group, and programs that have started this one pass it on.
const TOGETHER: Duration = Duration::from_secs(1);

/// SIGINT, SIGTERM, and SIGHUP, which the system sends when a terminal or its connection closes.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`: the process that ignores SIGHUP wants the run to continue.
    hang_up: Option<Signal>,
}

impl Signals {
    pub(super) fn new() -> Result<Self> {
        let catch = |kind| signal(kind).context("cannot catch signals");
        // SIGXFSZ is caught so that a file that may not grow gives an ordinary error and does not
        // end the process.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
        let hang_up = SignalKind::hangup();
        Ok(Signals {
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
            hang_up: (!is_ignored(hang_up)).then(|| catch(hang_up)).transpose()?,
        })
    }

    /// Waits for a user's Ctrl-C after the first signal, which ends the process at once. SIGTERM
    /// and SIGHUP do not count: a program that ends a process tree may send them any number of
    /// times, and has SIGKILL for this.
    pub(super) async fn again(&mut self) {
        let end = Instant::now() + TOGETHER;
        while timeout_at(end, self.interrupt.recv()).await.is_ok() {}
        self.interrupt.recv().await;
    }

    pub(super) async fn next(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
    }
}

/// Whether the parent process ignores the signal, by `/proc/self/status`. On other systems the
/// answer is yes, which leaves the signal unchanged.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_none_or(|mask| mask & (1 << (kind.as_raw_value() - 1)) != 0)
}

/// The set of signals that are ignored.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_found() {
        assert_eq!(ignored("Name:\tinrush\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(ignored(""), None);
    }
}
