//! Liveness of the holders of a lease, judged by the observations of one guard.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::lease::{Lease, Phase, Version};
use crate::time::Time;

/// The interval between the heartbeats of a holder.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// A holder is dead if one observer sees no heartbeat for this time: three intervals.
pub const DEAD_AFTER: Duration = Duration::from_secs(60);

/// Whether a holder is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    /// Not observed for long enough. It will be known at this time at the latest.
    UnknownUntil(Time),
    Dead,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The counter of a holder, or the version of a lease that is being restored.
    mark: u64,
    since: Time,
    changed: bool,
}

/// The observations of one guard, with its own monotonic clock. Clocks of different machines are
/// never compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Observer {
    seen: BTreeMap<String, Seen>,
    known_alive: BTreeSet<String>,
    known_dead: BTreeSet<String>,
    dead_after: Duration,
    has_looked: bool,
}

impl Observer {
    pub(super) fn new(dead_after: Duration) -> Self {
        Observer { dead_after, ..Observer::default() }
    }

    /// Records what the caller knows for certain, for example from the system that ran the holder.
    pub(super) fn know(&mut self, holder: &str, alive: bool) {
        let (into, from) = match alive {
            true => (&mut self.known_alive, &mut self.known_dead),
            false => (&mut self.known_dead, &mut self.known_alive),
        };
        from.remove(holder);
        into.insert(holder.to_owned());
    }

    /// Observes a lease that was just read.
    pub(super) fn look(&mut self, now: Time, lease: &Lease, version: Version) {
        for (id, holder) in &lease.holders {
            self.mark(now, id, holder.beat);
        }
        // A restore takes a few requests and has no heartbeat. Its progress shows in the document's
        // version.
        if let Phase::Restoring { by } = &lease.phase {
            self.mark(now, &format!("restoring {by}"), version.seq_no);
        }
        self.has_looked = true;
    }

    fn mark(&mut self, now: Time, id: &str, mark: u64) {
        match self.seen.get_mut(id) {
            Some(seen) if seen.mark == mark => {}
            Some(seen) => *seen = Seen { mark, since: now, changed: true },
            None => {
                // A holder that appears during the observation is alive.
                self.seen.insert(id.to_owned(), Seen { mark, since: now, changed: self.has_looked });
            }
        }
    }

    pub(super) fn holder(&self, now: Time, id: &str) -> Liveness {
        self.life(now, id, id)
    }

    pub(super) fn restorer(&self, now: Time, id: &str) -> Liveness {
        match self.life(now, id, &format!("restoring {id}")) {
            // Progress of a restore does not promise further progress.
            Liveness::Alive if !self.known_alive.contains(id) => {
                let since = self.seen.get(&format!("restoring {id}")).map_or(now, |seen| seen.since);
                Liveness::UnknownUntil(since + self.dead_after)
            }
            life => life,
        }
    }

    fn life(&self, now: Time, id: &str, key: &str) -> Liveness {
        if self.known_dead.contains(id) {
            return Liveness::Dead;
        }
        if self.known_alive.contains(id) {
            return Liveness::Alive;
        }
        match self.seen.get(key) {
            Some(seen) if seen.changed && seen.since == now => Liveness::Alive,
            Some(seen) if now.since(seen.since) >= self.dead_after => Liveness::Dead,
            Some(seen) if seen.changed => Liveness::Alive,
            Some(seen) => Liveness::UnknownUntil(seen.since + self.dead_after),
            None => Liveness::UnknownUntil(now + self.dead_after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings_guard::lease::Holder;

    fn lease(beat: u64) -> Lease {
        let holders = BTreeMap::from([("a".to_owned(), Holder { beat })]);
        Lease { index: "x".into(), phase: Phase::Held, changes: BTreeMap::new(), holders }
    }

    fn at(seconds: u64) -> Time {
        Time::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn only_a_rising_counter_shows_life() {
        let version = Version { seq_no: 1, primary_term: 1 };
        let mut observer = Observer::new(DEAD_AFTER);
        observer.look(at(5), &lease(7), version);
        assert_eq!(observer.holder(at(64), "a"), Liveness::UnknownUntil(at(65)));
        assert_eq!(observer.holder(at(65), "a"), Liveness::Dead);
        observer.look(at(66), &lease(8), version);
        assert_eq!(observer.holder(at(100), "a"), Liveness::Alive);
        observer.look(at(100), &lease(8), version);
        assert_eq!(observer.holder(at(126), "a"), Liveness::Dead);
        observer.know("a", true);
        assert_eq!(observer.holder(at(1000), "a"), Liveness::Alive);
        observer.know("a", false);
        assert_eq!(observer.holder(at(66), "a"), Liveness::Dead);
        assert_eq!(Observer::new(Duration::ZERO).holder(at(0), "b"), Liveness::UnknownUntil(at(0)));
    }

    #[test]
    fn with_no_time_allowed_every_holder_seen_is_dead() {
        let mut observer = Observer::new(Duration::ZERO);
        observer.look(at(0), &lease(1), Version { seq_no: 1, primary_term: 1 });
        assert_eq!(observer.holder(at(0), "a"), Liveness::Dead);
    }
}
