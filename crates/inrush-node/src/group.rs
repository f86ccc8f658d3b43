//! The processes of a node: what its launcher started is in one group with it, and the group is ended as a whole.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::error::NodeError;

/// How long a node may take to end before it is killed: it writes what it holds first.
const STOP_MAX: Duration = Duration::from_secs(60);
/// In which `/proc` counts processor time, whatever the kernel's own clock is (proc(5), `USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// How long the system may take to end what was killed.
pub(super) const KILL_MAX: Duration = Duration::from_secs(10);

/// Sends a signal to the node and what its launcher started. One that is gone is fine.
pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

/// Ends the group in order, or kills it where it takes too long, and returns when all of it is gone: Elasticsearch's launcher
/// ends before the server that it started, which still writes to its folders then.
pub(super) async fn end(pid: u32) -> Result<(), NodeError> {
    signal(pid, Signal::TERM);
    if gone(pid, STOP_MAX).await {
        return Ok(());
    }
    kill(pid).await
}

/// Kills the group, and returns when all of it is gone.
pub(super) async fn kill(pid: u32) -> Result<(), NodeError> {
    signal(pid, Signal::KILL);
    if gone(pid, KILL_MAX).await {
        return Ok(());
    }
    let source =
        io::Error::new(io::ErrorKind::TimedOut, "it still runs after SIGKILL; was it started by another user?");
    Err(NodeError::Io { what: format!("cannot end process {pid}"), source })
}

/// Waits until no process of the group runs; whether that was so in time.
pub(super) async fn gone(pid: u32, within: Duration) -> bool {
    let began = Instant::now();
    while is_alive(pid) {
        if began.elapsed() > within {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    true
}

/// Whether a process of the group runs. Those that only wait to be buried do not.
fn is_alive(group: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.any(|pid| Stat::of(pid).is_some_and(|stat| stat.group == group))
}

/// Processor time of all processes of the group that run, s.
pub fn cpu_seconds(group: u32) -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ticks: u64 = pids.filter_map(Stat::of).filter(|stat| stat.group == group).map(|stat| stat.ticks).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// When the process began, in clock ticks since the system did; nothing for one that is gone or only waits to be buried.
pub(super) fn process_start(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// The system's run since it was last started; nothing where it does not say.
pub(super) fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// What `/proc/PID/stat` says of a process (proc(5)).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    group: u32,
    /// Processor time, in clock ticks.
    ticks: u64,
    started: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name before it is in parentheses and may hold anything, parentheses too.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields 5, 14, 15, 20 and 22, where the first one here is field 3.
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // One whose first thread has ended runs while it has others: a server that gives back its
        // memory.
        let buried = match *fields.first()? {
            "X" => true,
            "Z" => number(17)? <= 1,
            _ => false,
        };
        if buried {
            return None;
        }
        let ticks = number(11)? + number(12)?;
        Some(Stat { group: fields.get(2)?.parse().ok()?, ticks, started: number(19)? })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn start(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let text = "7 (a) S (b) S 1 42 42 0 -1 0 0 0 0 0 30 4 0 0 20 0 1 0 999 0 0";
        assert_eq!(Stat::parse(text), Some(Stat { group: 42, ticks: 34, started: 999 }));
        let ended = text.replace("(b) S", "(b) Z");
        assert_eq!(Stat::parse(&ended), None);
        assert!(Stat::parse(&ended.replace("20 0 1 0", "20 0 7 0")).is_some(), "six threads still run");
        assert_eq!(Stat::parse("7 (cut off"), None);
    }

    #[tokio::test]
    async fn a_group_has_ended_when_its_last_process_has() {
        // The first process ends at once, the one that it started does not, as with Elasticsearch's launcher.
        let mut child = start("sleep 600 & exit 0");
        child.wait().unwrap();
        assert!(is_alive(child.id()));
        end(child.id()).await.unwrap();
        assert!(!is_alive(child.id()));
    }

    #[tokio::test]
    async fn what_ignores_a_request_to_end_is_killed() {
        let mut child = start("trap '' TERM; while :; do sleep 600; done");
        kill(child.id()).await.unwrap();
        child.wait().unwrap();
        assert_eq!(process_start(child.id()), None);
    }
}
