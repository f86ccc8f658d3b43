//! The turns of tests: tests run at the same time as far as memory and processors allow, for any
//! value of `--test-threads`.
//!
//! A test asks once for all that it needs and gets all of it at once, so tests never wait for each
//! other in a circle.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::Version;

/// Tests at once. They keep two processors busy: while one waits, others work.
const TESTS_MAX: usize = 3;
/// Nodes of tests' own at once, beside the shared ones. Together they take about 12 GB.
const NODES_MAX: usize = 4;

/// The needs of a test.
#[derive(Clone, Default)]
pub struct Needs {
    nodes: usize,
    shared: Vec<Version>,
    quiet: bool,
    alone: bool,
}

impl Needs {
    /// Nodes of its own that run at once.
    pub fn nodes(nodes: usize) -> Needs {
        Needs { nodes, ..Needs::default() }
    }

    pub(super) fn shared(versions: &[Version]) -> Needs {
        Needs { shared: versions.to_vec(), ..Needs::default() }
    }

    pub(super) fn quiet(version: Version) -> Needs {
        Needs { quiet: true, ..Needs::shared(&[version]) }
    }

    pub(super) fn alone(version: Version) -> Needs {
        Needs { alone: true, ..Needs::shared(&[version]) }
    }
}

/// The needs of the tests that run, added up.
#[derive(Debug, PartialEq)]
struct Taken {
    tests: usize,
    alone: bool,
    nodes: usize,
    /// Users of each shared node.
    users: [usize; Version::COUNT],
    /// Whether the only user of a shared node wants no other.
    quiet: [bool; Version::COUNT],
}

static TAKEN: Mutex<Taken> = Mutex::new(Taken::NOTHING);
static GIVEN_BACK: Notify = Notify::const_new();

impl Taken {
    const NOTHING: Taken =
        Taken { tests: 0, alone: false, nodes: 0, users: [0; Version::COUNT], quiet: [false; Version::COUNT] };

    fn has_room(&self, needs: &Needs) -> bool {
        if self.tests == 0 {
            return true;
        }
        let is_taken = |version: &Version| {
            let at = *version as usize;
            self.quiet[at] || (needs.quiet && self.users[at] > 0)
        };
        self.tests < TESTS_MAX
            && !self.alone
            && !needs.alone
            && self.nodes + needs.nodes <= NODES_MAX
            && !needs.shared.iter().any(is_taken)
    }

    fn add(&mut self, needs: &Needs) {
        self.tests += 1;
        self.nodes += needs.nodes;
        self.alone = needs.alone;
        for version in &needs.shared {
            self.users[*version as usize] += 1;
            self.quiet[*version as usize] = needs.quiet;
        }
    }

    fn give_back(&mut self, needs: &Needs) {
        self.tests -= 1;
        self.nodes -= needs.nodes;
        self.alone = false;
        for version in &needs.shared {
            self.users[*version as usize] -= 1;
            self.quiet[*version as usize] = false;
        }
    }
}

/// The right to run, until it is dropped. It then prints the seconds of the test, without those of
/// waiting for it.
pub struct Turn {
    needs: Needs,
    test: String,
    began: Instant,
}

impl Turn {
    /// Waits until there is room for a test with these needs. One that needs more than there ever
    /// is runs alone.
    pub async fn take(needs: Needs) -> Arc<Turn> {
        loop {
            // Before the look, so that nothing given back after it is missed.
            let mut given_back = std::pin::pin!(GIVEN_BACK.notified());
            given_back.as_mut().enable();
            {
                let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
                if taken.has_room(&needs) {
                    taken.add(&needs);
                    return Arc::new(Turn::of(needs));
                }
            }
            given_back.await;
        }
    }
}

impl Turn {
    fn of(needs: Needs) -> Turn {
        // Each test has a thread of its name.
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        Turn { needs, test, began: Instant::now() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        println!("{}: {} s", self.test, self.began.elapsed().as_secs());
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).give_back(&self.needs);
        GIVEN_BACK.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_when_all_that_it_needs_is_free() {
        let (three, two) = (Version::OpenSearch3, Version::OpenSearch2);
        let mut taken = Taken::NOTHING;
        assert!(taken.has_room(&Needs::nodes(NODES_MAX + 1)), "nothing else runs");
        let pair = Needs::shared(&[three, two]);
        taken.add(&pair);
        assert!(taken.has_room(&Needs::shared(&[three])) && taken.has_room(&Needs::nodes(NODES_MAX)));
        assert!(!taken.has_room(&Needs::quiet(two)) && !taken.has_room(&Needs::alone(three)));
        assert!(!taken.has_room(&Needs::nodes(NODES_MAX + 1)));
        let quiet = Needs::quiet(Version::Elasticsearch8);
        assert!(taken.has_room(&quiet));
        taken.add(&quiet);
        assert!(!taken.has_room(&Needs::shared(&[three, Version::Elasticsearch8])));
        taken.add(&Needs::nodes(1));
        assert!(!taken.has_room(&Needs::shared(&[three])), "there are {TESTS_MAX}");
        for needs in [&Needs::nodes(1), &quiet, &pair] {
            taken.give_back(needs);
        }
        assert_eq!(taken, Taken::NOTHING);
        taken.add(&Needs::alone(three));
        assert!(!taken.has_room(&Needs::nodes(0)));
    }
}
