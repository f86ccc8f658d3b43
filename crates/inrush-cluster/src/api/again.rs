//! Which requests of the API are sent again, and for how long: the one place that decides.
//!
//! A request that changes nothing more when it is carried out twice is sent again where a later
//! attempt may succeed. So is one whose second attempt tells by its answer that the first one was
//! carried out: its caller looks up what is there ([`super::rest::Answer::in_doubt`]). Every other
//! request is sent again only where the cluster has surely not carried it out.

use std::fmt;
use std::time::Duration;

use http::Method;
use inrush_core::retry::Repetition;
use serde_json::Value;

use super::error::error_type;
use crate::clock::{self, Instant};
use crate::run_id::seed;
use crate::transport::{HttpError, HttpErrorKind, Response, Transport};

/// Time after which a wait is told, and told again.
const TOLD_AFTER: Duration = Duration::from_secs(1);
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// What a second attempt of a request does that was carried out before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// Nothing more.
    Nothing,
    /// It is refused, and the caller looks up what is there.
    Refused,
    /// It may do something a second time.
    More,
}

impl Second {
    /// The kind of a request, by its method and path.
    pub(super) fn of(method: &Method, path: &str) -> Second {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let last = parts.last().copied().unwrap_or_default();
        let has_condition = || query.contains("if_seq_no=") || query.contains("op_type=create");
        match (method.as_str(), parts.as_slice()) {
            ("GET" | "HEAD", _) => Second::Nothing,
            // The server has moved on once the next page of a scroll was sent.
            ("POST", _) if READS.contains(&last) || parts.contains(&"_simulate_index") => Second::Nothing,
            ("POST" | "PUT", _) if REPEATABLE.contains(&last) => Second::Nothing,
            // Segments are merged once. An older server answers at the end, and is asked once.
            ("POST", [_, "_forcemerge"]) if query.contains("wait_for_completion=false") => Second::Nothing,
            ("PUT", [_, "_doc", _]) if !has_condition() => Second::Nothing,
            ("PUT" | "DELETE", [_, "_doc", _]) if has_condition() => Second::Refused,
            ("PUT", ["_ingest", "pipeline", _] | ["_snapshot" | "_index_template" | "_template", _]) => Second::Nothing,
            ("PUT", ["_cluster", "settings"]) => Second::Nothing,
            ("PUT", [name]) if !name.starts_with('_') => Second::Refused,
            ("DELETE", ["_search", _] | ["_pit" | "_snapshot", ..]) => Second::Refused,
            // A second deletion can hit an index that another client has created meanwhile.
            _ => Second::More,
        }
    }
}

/// The last part of paths that read, with POST.
const READS: [&str; 6] = ["_mget", "_search", "_count", "_has_privileges", "_msearch", "explain"];

/// The last part of paths whose second request changes nothing more than the first one.
const REPEATABLE: [&str; 4] = ["_refresh", "_flush", "_settings", "_mapping"];

/// What the end of an attempt says about a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// A later attempt ends in the same way, or this one succeeded.
    ForGood,
    /// The request reached no server.
    Away,
    /// The server was too busy, and has not carried it out.
    Busy,
    /// Shards of an index do not answer. Callers wait for the index with a limit of their own.
    Shards,
    /// The cluster or the way to it failed for the moment. The request may have been carried out.
    InDoubt,
}

impl Ended {
    /// The end of an attempt. `is_known`: the server has answered as a cluster before.
    pub(super) fn of(result: &Result<Response, HttpError>, is_known: bool) -> Ended {
        let response = match result {
            Ok(response) => response,
            Err(error) => return Ended::of_error(error.kind),
        };
        match response.status {
            200..=299 if is_known && is_page(response) => Ended::InDoubt,
            429 | 500..=504 => {
                let body = serde_json::from_slice(&response.body).unwrap_or_default();
                Ended::of_status(response.status, &body)
            }
            _ => Ended::ForGood,
        }
    }

    fn of_error(kind: HttpErrorKind) -> Ended {
        match kind {
            HttpErrorKind::NotSent => Ended::Away,
            HttpErrorKind::Lost | HttpErrorKind::TimedOut => Ended::InDoubt,
            HttpErrorKind::Local => Ended::ForGood,
        }
    }

    /// The meaning of an error status.
    fn of_status(status: u16, body: &Value) -> Ended {
        match (status, error_type(body).unwrap_or_default()) {
            // A block of an index, such as that of the flood stage.
            (429, "cluster_block_exception") => Ended::ForGood,
            (429, _) => Ended::Busy,
            // The cluster has no elected node, and refuses the request before it begins.
            (503, "cluster_block_exception") => Ended::Busy,
            (503, kind) if OF_SHARDS.contains(&kind) => Ended::Shards,
            (502..=504, _) => Ended::InDoubt,
            (500, kind) if OF_CLUSTER.contains(&kind) => Ended::InDoubt,
            _ => Ended::ForGood,
        }
    }

    /// Whether a request that ended so may succeed later, and may be sent again.
    fn repeats(self, second: Second) -> bool {
        match self {
            Ended::ForGood => false,
            Ended::Away | Ended::Busy => true,
            Ended::Shards | Ended::InDoubt => second != Second::More,
        }
    }

    /// Whether the request may have been carried out, although its answer does not say so.
    pub(super) fn may_be_done(self) -> bool {
        matches!(self, Ended::Shards | Ended::InDoubt)
    }
}

/// Errors about shards, which say nothing about the cluster.
const OF_SHARDS: [&str; 3] =
    ["search_phase_execution_exception", "no_shard_available_action_exception", "unavailable_shards_exception"];

/// Errors with status 500 about nodes, and about the state that they agree on.
const OF_CLUSTER: [&str; 10] = [
    "connect_transport_exception",
    "coordination_state_rejected_exception",
    "failed_to_commit_cluster_state_exception",
    "node_closed_exception",
    "node_disconnected_exception",
    "node_not_connected_exception",
    "not_cluster_manager_exception",
    "not_master_exception",
    "receive_timeout_transport_exception",
    "send_request_transport_exception",
];

/// Whether the reason of an error with status 500 names one of these.
pub(super) fn names_an_error_of_the_cluster(reason: &str) -> bool {
    OF_CLUSTER.iter().any(|kind| reason.contains(kind))
}

/// Whether the reply is a page for people: a proxy answers in the server's name.
pub(super) fn is_page(response: &Response) -> bool {
    response.content_type.as_deref().is_some_and(|of| of.starts_with("text/html"))
}

impl Transport {
    /// The repetitions of one request, or of several that belong together. `what` names them for
    /// the log.
    pub fn again(&self, what: impl Into<String>) -> Again<'_> {
        let repetition = |policy| Repetition::new(policy, seed());
        Again {
            transport: self,
            what: what.into(),
            brief: repetition(self.retries()),
            patient: self.patience().map(repetition),
            begun: clock::now(),
            attempts: 0,
            told: None,
        }
    }
}

/// The repetitions of one request, or of several that belong together. A transport with patience
/// uses it once the cluster has answered anything; an address that has never answered is given up
/// soon.
pub struct Again<'a> {
    transport: &'a Transport,
    what: String,
    brief: Repetition,
    patient: Option<Repetition>,
    begun: Instant,
    attempts: u32,
    told: Option<Instant>,
}

impl Again<'_> {
    /// Pauses before the next attempt. False: there is none. `why`: how the last one ended.
    pub async fn pause(&mut self, why: impl fmt::Display) -> bool {
        self.pause_after(Ended::InDoubt, None, why).await
    }

    /// The same for a request that ended so. `second`: its kind.
    pub(super) async fn after(&mut self, result: &Result<Response, HttpError>, ended: Ended, second: Second) -> bool {
        if !ended.repeats(second) {
            return false;
        }
        let retry_after = result.as_ref().ok().and_then(|response| response.retry_after);
        self.pause_after(ended, retry_after, Why(result)).await
    }

    async fn pause_after(&mut self, ended: Ended, retry_after: Option<Duration>, why: impl fmt::Display) -> bool {
        self.attempts += 1;
        let elapsed = self.begun.elapsed();
        let waits = self.transport.has_answered() && ended != Ended::Shards;
        let patient = self.patient.as_mut().filter(|_| waits);
        let is_patient = patient.is_some();
        let pause = match patient {
            // An attempt that reached no server does not count, as for a bulk request.
            Some(patient) => patient.pause(elapsed, ended != Ended::Away, retry_after),
            None => self.brief.pause(elapsed, true, retry_after),
        };
        let Some(pause) = pause else {
            if is_patient {
                let (what, attempts, seconds) = (&self.what, self.attempts, elapsed.as_secs_f64());
                tracing::warn!(
                    "{what}: {why}; given up after {attempts} attempts in {seconds:.1} s (options `retries` and `retry_for`)"
                );
            }
            return false;
        };
        if is_patient {
            self.tell(elapsed, why);
        }
        clock::sleep(pause).await;
        true
    }

    /// Says what is waited for: the first second of a wait is not worth a line.
    fn tell(&mut self, elapsed: Duration, why: impl fmt::Display) {
        let is_due = match self.told {
            None => elapsed >= TOLD_AFTER,
            Some(told) => told.elapsed() >= TOLD_EVERY,
        };
        if is_due {
            let limit = self.transport.patience().unwrap_or_default().retry_for;
            self.told = Some(clock::now());
            tracing::warn!(
                "{}: {why}; the cluster is asked again for up to {} s (option `retry_for`)",
                self.what,
                limit.saturating_sub(elapsed).as_secs()
            );
        }
    }
}

/// How an attempt ended, as text.
struct Why<'a>(&'a Result<Response, HttpError>);

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Err(error) => error.fmt(f),
            Ok(response) => {
                let body = serde_json::from_slice(&response.body).unwrap_or_default();
                write!(f, "status {}", response.status)?;
                error_type(&body).map_or(Ok(()), |kind| write!(f, " {kind}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::retry::RetryPolicy;
    use serde_json::json;
    use std::sync::Arc;

    use super::*;
    use crate::BoxFuture;
    use crate::transport::{LocalServer, Request};

    /// A cluster that is away until a time.
    struct Away(Instant);

    impl LocalServer for Away {
        fn answer<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Response> {
            let status = if clock::now() < self.0 { 503 } else { 200 };
            Box::pin(async move { Response::json(status, "{}") })
        }
    }

    fn away_for(seconds: u64) -> Transport {
        let until = clock::now() + Duration::from_secs(seconds);
        Transport::to_local("http://localhost", Arc::new(Away(until))).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_patient_request_is_sent_again_until_the_cluster_is_back_or_its_time_is_over() {
        let limits = RetryPolicy { retries: 1000, ..RetryPolicy::default() };
        for (seconds, status, longest) in [(500, 200, 530), (700, 503, 601)] {
            let (begun, transport) = (clock::now(), away_for(seconds).patient(limits));
            assert_eq!(transport.ask(Method::GET, "/", None).await.unwrap().status(), status);
            let elapsed = begun.elapsed().as_secs();
            assert!((seconds.min(599)..=longest).contains(&elapsed), "{elapsed}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_brief_request_is_sent_three_times() {
        let (begun, transport) = (clock::now(), away_for(3600));
        assert_eq!(transport.ask(Method::GET, "/", None).await.unwrap().status(), 503);
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_millis(300) && elapsed <= Duration::from_millis(700), "{elapsed:?}");
    }

    #[test]
    fn the_kind_of_a_request_follows_from_its_path() {
        use Second::{More, Nothing, Refused};
        for (method, path, expected) in [
            ("GET", "/", Nothing),
            ("GET", "/docs/_doc/1", Nothing),
            ("POST", "/docs/_search?size=1", Nothing),
            ("POST", "/_search/scroll", More),
            ("POST", "/docs/_search/point_in_time?keep_alive=1m", More),
            ("POST", "/_mget", Nothing),
            ("POST", "/docs/_flush?wait_if_ongoing=true", Nothing),
            ("POST", "/_index_template/_simulate_index/docs", Nothing),
            ("POST", "/_security/user/_has_privileges", Nothing),
            ("POST", "/_cluster/allocation/explain", Nothing),
            ("POST", "/_aliases", More),
            ("POST", "/docs/_forcemerge?max_num_segments=1", More),
            ("POST", "/docs/_forcemerge?max_num_segments=1&wait_for_completion=false", Nothing),
            ("POST", "/_snapshot/r/s/_restore", More),
            ("POST", "/docs/_doc", More),
            ("PUT", "/docs/_settings", Nothing),
            ("PUT", "/docs/_mapping", Nothing),
            ("PUT", "/_ingest/pipeline/p", Nothing),
            ("PUT", "/_snapshot/r", Nothing),
            ("PUT", "/_snapshot/r/s", More),
            ("PUT", "/_cluster/settings", Nothing),
            ("PUT", "/docs", Refused),
            ("PUT", "/docs?wait_for_active_shards=0", Refused),
            ("PUT", "/docs/_doc/1", Nothing),
            ("PUT", "/docs/_doc/1?op_type=create&timeout=10s", Refused),
            ("PUT", "/docs/_doc/1?if_seq_no=1&if_primary_term=1", Refused),
            ("DELETE", "/docs/_doc/1?if_seq_no=1&if_primary_term=1", Refused),
            ("DELETE", "/docs/_doc/1", More),
            ("DELETE", "/docs", More),
            ("DELETE", "/_snapshot/r/s", Refused),
            ("DELETE", "/_search/scroll", Refused),
        ] {
            assert_eq!(Second::of(&method.parse().unwrap(), path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_passes_is_repeated_and_what_does_not_is_not() {
        let of = |status, kind: &str| Ended::of_status(status, &json!({"error": {"type": kind, "reason": "r"}}));
        for (status, kind, expected) in [
            (503, "cluster_manager_not_discovered_exception", Ended::InDoubt),
            (503, "master_not_discovered_exception", Ended::InDoubt),
            (503, "process_cluster_event_timeout_exception", Ended::InDoubt),
            (503, "cluster_block_exception", Ended::Busy),
            (503, "search_phase_execution_exception", Ended::Shards),
            (500, "failed_to_commit_cluster_state_exception", Ended::InDoubt),
            (500, "null_pointer_exception", Ended::ForGood),
            (429, "circuit_breaking_exception", Ended::Busy),
            (429, "cluster_block_exception", Ended::ForGood),
            (501, "", Ended::ForGood),
        ] {
            assert_eq!(of(status, kind), expected, "{status} {kind}");
        }
        assert_eq!(Ended::of_status(504, &Value::Null), Ended::InDoubt, "a page of a proxy");
        assert!(Ended::InDoubt.repeats(Second::Refused) && !Ended::InDoubt.repeats(Second::More));
        assert!(Ended::Away.repeats(Second::More) && Ended::Busy.repeats(Second::More));
    }
}
