//! The processes of a node. The launcher and the processes that it starts form one process group,
//! which is ended as a whole.

use std::fs;
use std::io;
use std::time::Duration;

use inrush_cluster::clock;
use rustix::process::{Pid, Signal, kill_process_group};

use super::error::NodeError;

/// How long a node may take to end before it is killed. It writes its data to disk first.
const STOP_MAX: Duration = Duration::from_secs(60);
/// How long the system may take to end processes that were killed.
pub(super) const KILL_MAX: Duration = Duration::from_secs(10);

/// Sends a signal to the node and the processes that its launcher started. A process that has ended
/// is no error.
pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

/// Ends the group in order, or kills it if it takes too long. Returns when all its processes have
/// ended: Elasticsearch's launcher ends before the server that it started, and that server still
/// writes to its folders.
pub(super) async fn end(pid: u32) -> Result<(), NodeError> {
    signal(pid, Signal::TERM);
    if gone(pid, STOP_MAX).await {
        return Ok(());
    }
    kill(pid).await
}

/// Kills the group. Returns when all its processes have ended.
pub(super) async fn kill(pid: u32) -> Result<(), NodeError> {
    signal(pid, Signal::KILL);
    if gone(pid, KILL_MAX).await {
        return Ok(());
    }
    let source =
        io::Error::new(io::ErrorKind::TimedOut, "it still runs after SIGKILL; was it started by another user?");
    Err(NodeError::Io { what: format!("cannot end process {pid}"), source })
}

/// Waits until no process of the group runs. Returns whether that happened in time.
pub(super) async fn gone(pid: u32, within: Duration) -> bool {
    let began = clock::now();
    while is_alive(pid) {
        if began.elapsed() > within {
            return false;
        }
        clock::sleep(Duration::from_millis(50)).await;
    }
    true
}

/// Whether a process of the group runs. Zombies do not count.
fn is_alive(group: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.any(|pid| Stat::of(pid).is_some_and(|stat| stat.group == group))
}

/// The start of the process, in clock ticks since the system started. `None` if it has ended or is
/// a zombie.
pub(super) fn process_start(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// The id of the system's present boot. `None` if the system does not report it.
pub(super) fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// The fields of `/proc/PID/stat` (proc(5)).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    group: u32,
    started: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name before it is in parentheses and may contain any character, also parentheses.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields 5, 20 and 22. The first one here is field 3.
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // A process whose first thread has ended still runs while it has others: a server that
        // returns its memory.
        let buried = match *fields.first()? {
            "X" => true,
            "Z" => number(17)? <= 1,
            _ => false,
        };
        if buried {
            return None;
        }
        Some(Stat { group: fields.get(2)?.parse().ok()?, started: number(19)? })
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
    fn a_process_of_any_name_is_read() {
        let text = "7 (a) S (b) S 1 42 42 0 -1 0 0 0 0 0 30 4 0 0 20 0 1 0 999 0 0";
        assert_eq!(Stat::parse(text), Some(Stat { group: 42, started: 999 }));
        let ended = text.replace("(b) S", "(b) Z");
        assert_eq!(Stat::parse(&ended), None);
        assert!(Stat::parse(&ended.replace("20 0 1 0", "20 0 7 0")).is_some(), "six threads still run");
        assert_eq!(Stat::parse("7 (cut off"), None);
    }

    #[tokio::test]
    async fn a_group_has_ended_when_its_last_process_has() {
        // The first process ends at once. The one that it started does not, like the server of
        // Elasticsearch's launcher.
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
