//! The name of a member in its group.
//!
//! A member with a name keeps its partitions while it restarts (static membership, KIP-345): a
//! successor that has another name would wait until the session of the one before has ended. The
//! name has to be its own: the broker shuts out the one of two that came first.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;

use crate::KafkaOptions;

/// Members of one group on one machine.
const MOST: u32 = 1000;

/// A name, which no other process of this machine uses meanwhile.
pub(crate) struct Member {
    name: Option<String>,
    lock: Option<File>,
}

impl Member {
    /// The name that the options give, or the first free one of `inrush-HOST-USER-0`,
    /// `inrush-HOST-USER-1` and so on, where USER is the user's number. A locked file in the folder
    /// for temporary files marks a name as used; a process that is killed frees it.
    pub(crate) fn of(options: &KafkaOptions) -> io::Result<Self> {
        if let Some(name) = &options.member {
            let name = Some(name.clone()).filter(|name| !name.is_empty());
            return Ok(Member { name, lock: None });
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let group: String = options.group.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let user = rustix::process::getuid().as_raw();
        for number in 0..MOST {
            let path: PathBuf = std::env::temp_dir().join(format!("inrush-{user}-{group}-{number}.lock"));
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Member { name: Some(format!("inrush-{host}-{user}-{number}")), lock: Some(file) });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{MOST} members of group {} run on this machine", options.group)))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl Drop for Member {
    /// Unlocks the file and not only closes it: a process that is started meanwhile has a copy of
    /// the open file until its program begins, and the copy keeps the lock (flock(2)).
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            // Where this fails, the lock ends with the last copy of the file.
            let _ = lock.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KafkaAddress;

    #[test]
    fn members_on_one_machine_have_different_names() {
        let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://a/t").unwrap());
        options.group = format!("names {}", std::process::id());
        let first = Member::of(&options).unwrap();
        let second = Member::of(&options).unwrap();
        let name = first.name().unwrap().to_owned();
        assert!(name.ends_with("-0") && second.name().unwrap().ends_with("-1"));
        drop(first);
        assert_eq!(Member::of(&options).unwrap().name(), Some(name.as_str()));
        options.member = Some(String::new());
        assert_eq!(Member::of(&options).unwrap().name(), None);
    }
}
