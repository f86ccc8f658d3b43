//! Finds out when requests without an answer are over.
//!
//! A request that was given up may still lie in a node that hangs, or in a proxy; and a part of it
//! in any other node, which the first one sent it to. It is over when each node that the cluster
//! had lists its tasks without it, several times in a row: a node that wakes up first has to read
//! what lies in its sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::{members, tasks};
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::Transport;
use inrush_core::flow::Over;
use tokio::sync::{OnceCell, mpsc};

use crate::event::Event;

/// Interval between looks at the tasks of the cluster.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks in a row without a sign of the request.
const LOOKS: u32 = 3;
/// How long a request may still run where the cluster does not say so.
const UNSEEN: Duration = Duration::from_secs(60);
/// What each `X-Opaque-Id` of this program begins with.
pub(crate) const OPAQUE_PREFIX: &str = "inrush-";

/// What one look has shown.
#[derive(Clone, Debug, Default)]
struct Look {
    /// The `X-Opaque-Id` of each request that a node works on.
    running: BTreeSet<String>,
    /// Every node of the cluster answered.
    complete: bool,
    /// Nodes that listed their tasks, or whose process has ended.
    accounted: BTreeSet<String>,
}

#[derive(Debug)]
struct Watched {
    /// The `X-Opaque-Id`.
    id: String,
    since: Instant,
    /// Looks in a row without a sign of it.
    clean: u32,
    /// Until when its retry waits, if it does.
    gone_at: Option<Instant>,
    /// Later operations wait for its end.
    is_open: bool,
}

impl Watched {
    /// Whether the look shows that the request does not run any more. `known`: the nodes that the
    /// cluster had.
    fn is_absent(&self, look: &Look, known: &BTreeSet<String>) -> bool {
        look.complete && known.is_subset(&look.accounted) && !look.running.contains(&self.id)
    }
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    /// Tell when the request has gone, for its retry.
    Gone,
    /// Tell when it is over, for later operations.
    Over,
}

#[derive(Debug)]
struct Ask {
    request: u64,
    id: String,
    wish: Wish,
}

/// Watches requests until they are over. It asks the cluster only while there are some.
#[derive(Debug)]
pub(crate) struct Watcher {
    asks: mpsc::UnboundedSender<Ask>,
}

/// Limits of the watcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest wait of a retry.
    pub(crate) gone: Duration,
    /// The longest wait of later operations.
    pub(crate) over: Duration,
}

impl Watcher {
    /// `has_order`: operations on one id have an order. The nodes of the cluster are asked for at
    /// once then: one that hangs later may have left when it is looked for.
    pub(crate) fn start(
        transport: Arc<Transport>,
        has_order: bool,
        limits: Limits,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let (asks, asked) = mpsc::unbounded_channel();
        let watching = Watching { transport, limits, events, nodes: OnceCell::new(), watched: BTreeMap::new() };
        tokio::spawn(watching.run(asked, has_order));
        Watcher { asks }
    }

    /// Answers with [`Event::Gone`] when a retry of the request may be sent.
    pub(crate) fn tell_gone(&self, request: u64, id: String) {
        self.ask(Ask { request, id, wish: Wish::Gone });
    }

    /// Answers with [`Event::Over`] when later operations on the request's ids may be sent.
    pub(crate) fn tell_over(&self, request: u64, id: String) {
        self.ask(Ask { request, id, wish: Wish::Over });
    }

    fn ask(&self, ask: Ask) {
        // The task ends with the load only.
        let _ = self.asks.send(ask);
    }
}

/// The task of a [`Watcher`].
struct Watching {
    transport: Arc<Transport>,
    limits: Limits,
    events: mpsc::UnboundedSender<Event>,
    /// The addresses of the nodes at the beginning, by id.
    nodes: OnceCell<BTreeMap<String, String>>,
    watched: BTreeMap<u64, Watched>,
}

impl Watching {
    async fn run(mut self, mut asked: mpsc::UnboundedReceiver<Ask>, has_order: bool) {
        if has_order {
            // Where that fails they are asked for again when a request is open.
            let _ = self.nodes().await;
        }
        loop {
            if self.watched.is_empty() {
                let Some(ask) = asked.recv().await else { return };
                self.begin(ask);
            }
            while let Ok(ask) = asked.try_recv() {
                self.begin(ask);
            }
            if asked.is_closed() {
                return;
            }
            let began = clock::now();
            let look = self.look().await;
            self.judge(look);
            clock::sleep(LOOK_EVERY.saturating_sub(began.elapsed())).await;
        }
    }

    /// `None` if the user may not ask.
    async fn nodes(&self) -> Result<Option<&BTreeMap<String, String>>, String> {
        match self.nodes.get_or_try_init(|| members::addresses(&self.transport)).await {
            Ok(nodes) => Ok(Some(nodes)),
            Err(error) if error.cannot_be_asked() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn begin(&mut self, ask: Ask) {
        let now = clock::now();
        let watched = self.watched.entry(ask.request).or_insert_with(|| Watched {
            id: ask.id,
            since: now,
            clean: 0,
            gone_at: None,
            is_open: false,
        });
        match ask.wish {
            Wish::Gone => watched.gone_at = Some(now + self.limits.gone),
            Wish::Over => watched.is_open = true,
        }
    }

    /// `None` if the cluster does not tell.
    async fn look(&self) -> Result<Option<Look>, String> {
        let found = match tasks::bulk_tasks(&self.transport).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut accounted = found.nodes;
        if self.watched.values().any(|watched| watched.is_open) {
            let Some(nodes) = self.nodes().await? else { return Ok(None) };
            for (id, address) in nodes {
                if !accounted.contains(id) && members::has_ended(address).await {
                    accounted.insert(id.clone());
                }
            }
        }
        Ok(Some(Look { running: found.running, complete: found.complete, accounted }))
    }

    /// Tells what the look shows.
    fn judge(&mut self, look: Result<Option<Look>, String>) {
        let now = clock::now();
        let known: BTreeSet<String> = self.nodes.get().into_iter().flatten().map(|(id, _)| id.clone()).collect();
        let mut ended = Vec::new();
        for (request, watched) in &mut self.watched {
            let runs = matches!(&look, Ok(Some(look)) if look.running.contains(&watched.id));
            if watched.gone_at.is_some_and(|at| !runs || at <= now) {
                watched.gone_at = None;
                let _ = self.events.send(Event::Gone { request: *request });
            }
            if !watched.is_open {
                ended.extend(watched.gone_at.is_none().then_some(*request));
                continue;
            }
            watched.clean = match &look {
                Ok(Some(look)) if watched.is_absent(look, &known) => watched.clean + 1,
                _ => 0,
            };
            let waited = now.duration_since(watched.since);
            let longest = if matches!(look, Ok(None)) { UNSEEN.min(self.limits.over) } else { self.limits.over };
            let over = if watched.clean >= LOOKS {
                Over::Ended
            } else if waited >= longest {
                Over::Unknown(why(&look, waited))
            } else {
                continue;
            };
            watched.is_open = false;
            let _ = self.events.send(Event::Over { request: *request, over });
            ended.extend(watched.gone_at.is_none().then_some(*request));
        }
        for request in ended {
            self.watched.remove(&request);
        }
    }
}

fn why(look: &Result<Option<Look>, String>, waited: Duration) -> String {
    let seconds = waited.as_secs();
    match look {
        Ok(None) => "this user may not ask for the tasks and nodes of the cluster (cluster:monitor/task, cluster:monitor/nodes/info), \
                     so nothing is known of a request that got no answer"
            .to_owned(),
        Ok(Some(_)) => format!("a request that got no answer may still lie in a node, {seconds} s later"),
        Err(error) => format!("the cluster did not list its tasks for {seconds} s: {error}"),
    }
}

/// Waits until no node works on a bulk request that another run of this program sent before.
///
/// # Errors
/// That is not known after `longest`, or the cluster does not tell; with the reason.
pub(crate) async fn earlier_requests_are_over(
    transport: &Transport,
    own: &str,
    longest: Duration,
) -> Result<(), String> {
    let mut wait = Wait::new(longest).every(LOOK_EVERY);
    // Until every node has answered once, each request may be an earlier one.
    let mut earlier: Option<BTreeSet<String>> = None;
    loop {
        let look = tasks::bulk_tasks(transport).await;
        if let Ok(Some(found)) = &look {
            let others = found.running.iter().filter(|id| id.starts_with(OPAQUE_PREFIX) && !id.starts_with(own));
            let others: BTreeSet<String> = others.cloned().collect();
            let running = earlier.as_ref().unwrap_or(&others).intersection(&others).count();
            if found.complete {
                if running == 0 {
                    return Ok(());
                }
                earlier.get_or_insert(others);
            }
        }
        let why = match look {
            Ok(None) => {
                return Err("this user may not ask for the tasks of the cluster (cluster:monitor/task)".to_owned());
            }
            Ok(Some(found)) if found.complete => "they still run".to_owned(),
            Ok(Some(_)) => "a node does not list its tasks".to_owned(),
            Err(error) => error.to_string(),
        };
        if wait.pause(&why).await.is_err() {
            return Err(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_request_is_absent_if_all_nodes_say_so() {
        let known = set(&["x", "y"]);
        let look = |running: &[&str], complete, accounted: &[&str]| Look {
            running: set(running),
            complete,
            accounted: set(accounted),
        };
        let watched = Watched { id: "inrush-a-7".into(), since: clock::now(), clean: 0, gone_at: None, is_open: true };
        for (look, is_absent) in [
            (look(&["inrush-a-8"], true, &["x", "y"]), true),
            (look(&["inrush-a-7"], true, &["x", "y"]), false),
            (look(&[], false, &["x", "y"]), false),
            // A node has left, and may hang with a part of the request.
            (look(&[], true, &["x"]), false),
            (look(&[], true, &["x", "y", "z"]), true),
        ] {
            assert_eq!(watched.is_absent(&look, &known), is_absent, "{look:?}");
        }
    }
}
