//! The verdicts: what each answer of a server means for a document, in one place. `table.rs` says
//! what each error is about, the two functions here what follows from it.

mod table;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::reply::{BulkReply, ItemAction, ItemError, ItemReply, ItemResult};

pub(crate) use table::{About, about};

/// The end of one HTTP request.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// A readable reply with one entry for each item, or without entries where a summary was
    /// requested.
    Replied(BulkReply),
    /// The server refused the whole request.
    Refused {
        /// The HTTP status, not 2xx.
        status: u16,
        /// The error in the body.
        error: ItemError,
        /// The server's `Retry-After`, if it sent one.
        retry_after: Option<Duration>,
    },
    /// No byte of the body was sent: the request was certainly not applied.
    NotSent {
        /// The reason.
        reason: String,
        /// Another attempt is likely to end alike, such as a look-up without permission. After a
        /// few attempts the run ends with the reason.
        lasting: bool,
    },
    /// At least part of the body was sent, and no usable reply came back: the request may have been
    /// applied.
    Lost {
        /// The reason.
        reason: String,
    },
    /// A complete reply with a success status came back, but it is not a reply to this request. The
    /// request may have been applied.
    Garbled {
        /// What is wrong with the reply.
        reason: String,
    },
}

/// The bucket of the report in which a document ends, apart from dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Settled {
    /// New in the index.
    Created,
    /// Replaced or changed a document.
    Updated,
    /// Removed a document.
    Deleted,
    /// An update without a change.
    Noop,
    /// A delete of an id that does not exist.
    NotFound,
    /// A 409 explained by an earlier attempt of this run, by a repetition of the cluster, or by
    /// equal content.
    AlreadyThere,
    /// Any other 409, counted because `OnConflict::Skip` was chosen.
    Conflicting,
    /// Dropped by an ingest pipeline, or left out as an id without a record.
    Dropped,
    /// In Elasticsearch's failure store.
    Redirected,
    /// Not sent, because a later document with the same id was ([`crate::Coalesce`]).
    Superseded,
    /// Sent, and no answer came.
    Unknown,
}

impl Settled {
    /// The name of the bucket, such as `already_there`.
    pub const fn name(self) -> &'static str {
        match self {
            Settled::Created => "created",
            Settled::Updated => "updated",
            Settled::Deleted => "deleted",
            Settled::Noop => "noop",
            Settled::NotFound => "not_found",
            Settled::AlreadyThere => "already_there",
            Settled::Conflicting => "conflicting",
            Settled::Dropped => "dropped",
            Settled::Redirected => "redirected",
            Settled::Superseded => "superseded",
            Settled::Unknown => "unknown",
        }
    }
}

/// What to do with an item after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The item is settled.
    Settle(Settled),
    /// Send the item again after a wait.
    Retry,
    /// The same. The operation may have been carried out, or may still be, by a node that did not
    /// answer the one that gave this answer.
    RetryUnsure,
    /// Send the item again in a smaller request.
    Smaller,
    /// Send the item again after a wait, in a smaller request. See
    /// [`RequestVerdict::RetrySmaller`].
    RetrySmaller,
    /// Send the item again after a wait, a few times: another request made the mapping of its field
    /// at the same time. Then it is a dead letter.
    Remap,
    /// Find out what wrote the document in the index.
    Compare,
    /// The document will never be accepted: a dead letter.
    DeadLetter,
    /// The index accepts nothing at the moment: pause, and stop if that lasts.
    Pause(Condition),
    /// Nothing more will be accepted: stop.
    Stop,
}

/// A condition of the whole index or cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `index.blocks.write` or another block.
    WriteBlock,
    /// The disk's flood stage made indices read-only.
    FloodStage,
    /// The index does not exist any more.
    IndexMissing,
    /// The index is closed.
    IndexClosed,
    /// The cluster makes no new indices.
    CreateBlock,
}

impl Condition {
    /// The condition and its remedy, for messages.
    pub const fn advice(self) -> &'static str {
        match self {
            Condition::WriteBlock => "the index is blocked for writes; remove the block (index.blocks.write: null)",
            Condition::FloodStage => {
                "the cluster's disk has reached the flood stage and indices are read-only; free disk space"
            }
            Condition::IndexMissing => "the index does not exist any more; was it deleted during the load?",
            Condition::IndexClosed => "the index is closed; open it (POST INDEX/_open)",
            Condition::CreateBlock => {
                "the cluster makes no new indices; remove the block (cluster.blocks.create_index: null), or free disk \
                 space, because the cluster sets it when the disks of all nodes are full"
            }
        }
    }
}

/// What a 409 means that no earlier attempt of this run explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// A dead letter.
    #[default]
    Fail,
    /// Counted in `docs_conflicting`; the exit status stays 0.
    Skip,
    /// The document in the index is read. Equal content counts as `docs_already_there`; other
    /// content is a dead letter.
    Compare,
}

/// What is known about an item in addition to its reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemContext {
    /// An earlier attempt may have been applied.
    pub uncertain: bool,
    /// The item carries an external version.
    pub versioned: bool,
    /// The cluster makes the id of the item.
    pub id_is_made: bool,
}

/// Errors of items that the coordinating node gives after it has lost the node of the primary, or
/// has waited for the primary in vain (`TransportReplicationAction.ReroutePhase`). The lost node
/// may have the operation: where it was frozen and the shard has no other copy, it carries it out
/// later.
pub(crate) const OF_A_LOST_PRIMARY: [&str; 13] = [
    "unavailable_shards_exception",
    "node_closed_exception",
    "node_disconnected_exception",
    "node_not_connected_exception",
    "no_node_available_exception",
    "connect_transport_exception",
    "connect_exception",
    "socket_timeout_exception",
    "send_request_transport_exception",
    "receive_timeout_transport_exception",
    "remote_transport_exception",
    "response_handler_failure_transport_exception",
    "transport_exception",
];

/// Whether the operation may still be carried out after this error. The primary itself says that
/// there are too few copies before it does anything (`ReplicationOperation`).
fn is_of_a_lost_primary(error: &ItemError) -> bool {
    OF_A_LOST_PRIMARY.contains(&error.kind.as_str()) && !error.reason.contains("Not enough active copies")
}

/// The verdict on one item. What is in no row of the table is sent again within the limits of
/// retries, and then named: it may be a state that passes.
pub fn item_verdict(reply: &ItemReply, context: ItemContext) -> Verdict {
    use Verdict::{DeadLetter, Pause, Remap, Retry, RetrySmaller, RetryUnsure, Smaller, Stop};
    let Some(error) = &reply.error else { return success(reply) };
    match (reply.status, about(reply.status, &error.kind, &error.reason)) {
        // Credentials that are refused for one item are refused for the next.
        (401, _) => Stop,
        (413, _) => Smaller,
        (_, About::Index(condition)) => Pause(condition),
        (429, _) if error.permanent && error.kind == "circuit_breaking_exception" => RetrySmaller,
        (429, _) if never_fits(error) => Smaller,
        // Load: full queues, transient circuit breakers, and the inventions of proxies.
        (429, _) => Retry,
        (_, About::Document) => DeadLetter,
        (_, About::Mapping) => Remap,
        (_, About::Existing) => conflict(reply.action, context),
        (_, About::Target | About::User) => Stop,
        (_, About::Shard | About::Node) if is_of_a_lost_primary(error) => RetryUnsure,
        // All of them pass, or the retry budget ends them.
        (_, About::Shard | About::Disk | About::Node | About::Cluster | About::Pipeline) => Retry,
        (_, About::Server | About::Elsewhere | About::Unknown) => Retry,
    }
}

/// Whether the operation alone exceeds what a node allows, by the numbers of the server's message.
/// No wait makes room for it. The servers say (`IndexingPressure`, since 7.9 and 1.0):
///
/// - `rejected execution of coordinating operation [coordinating_and_primary_bytes=0, …,
///   coordinating_operation_bytes=N, max_coordinating_and_primary_bytes=MAX]`; Elasticsearch 8 and
///   9 call the last number `max_coordinating_bytes`, and others do so for primaries and replicas;
/// - Elasticsearch 9: `an operation of size [N] bytes, which exceeds the maximum allowed limit of
///   [MAX] bytes`;
/// - OpenSearch with shard indexing pressure: `[shard_detail=…, shard_operation_bytes=N, …] OR
///   [node_…, node_operation_bytes=N, node_max_coordinating_and_primary_bytes=MAX]`. What a shard
///   is granted grows and shrinks with its traffic, so only the node's numbers count.
fn never_fits(error: &ItemError) -> bool {
    let reason = error.reason.rsplit_once("] OR [").map_or(error.reason.as_str(), |(_, node)| node);
    let number = |before: &str| {
        let rest = &reason[reason.find(before)? + before.len()..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<u64>().ok()
    };
    let most = ["max_coordinating_and_primary_bytes=", "max_coordinating_bytes=", "max_primary_bytes="];
    let most = most.into_iter().chain(["max_replica_bytes=", "the maximum allowed limit of ["]).find_map(number);
    let operation = [OPERATION_BYTES, "an operation of size ["].into_iter().find_map(number);
    operation.zip(most).is_some_and(|(operation, most)| operation > most)
}

/// Before the bytes of all documents that a request has for a node or shard.
const OPERATION_BYTES: &str = "_operation_bytes=";

/// Whether a refusal as too large is about all documents together, so that fewer of them may pass.
/// Else one document is the cause, and the others of its shard got its error.
pub(crate) fn is_of_all_documents(reason: &str) -> bool {
    reason.contains(OPERATION_BYTES)
}

fn success(reply: &ItemReply) -> Verdict {
    use Settled::{Created, Deleted, Dropped, Noop, NotFound, Redirected, Updated};
    let settled = match (reply.status, reply.result) {
        _ if reply.failure_store_used => Redirected,
        (200..=299, Some(ItemResult::Created)) => Created,
        (200..=299, Some(ItemResult::Updated)) => Updated,
        (200..=299, Some(ItemResult::Deleted)) => Deleted,
        // An update without a change answers `noop`. So does a document that a pipeline's `drop`
        // removed.
        (200..=299, Some(ItemResult::Noop)) => match reply.action {
            ItemAction::Update => Noop,
            ItemAction::Index | ItemAction::Create | ItemAction::Delete => Dropped,
        },
        (200..=299 | 404, Some(ItemResult::NotFound)) => NotFound,
        // A gateway removed `result`. 201 is always a new document.
        (201, None) => Created,
        (200..=299, None | Some(ItemResult::Other)) => match reply.action {
            ItemAction::Delete => Deleted,
            ItemAction::Index | ItemAction::Create | ItemAction::Update => Updated,
        },
        // A failure status without an error must not count as success, and says nothing about the
        // document.
        _ => return Verdict::Retry,
    };
    Verdict::Settle(settled)
}

fn conflict(action: ItemAction, context: ItemContext) -> Verdict {
    match action {
        // Two writers met on the primary. The next attempt reads the newer version, as
        // `retry_on_conflict` does.
        ItemAction::Update => Verdict::Retry,
        // The cluster made an id for this attempt alone, so the id says what wrote the document.
        ItemAction::Create | ItemAction::Index if context.id_is_made => Verdict::Compare,
        ItemAction::Index | ItemAction::Delete if !context.versioned => Verdict::Retry,
        // With an external version, 409 means that the same or a newer version exists.
        ItemAction::Delete if context.uncertain => Verdict::Settle(Settled::NotFound),
        ItemAction::Index if context.uncertain => Verdict::Settle(Settled::AlreadyThere),
        // On `create`, the id exists. An earlier attempt may have written it, or the cluster itself
        // has repeated the operation on another primary.
        ItemAction::Create | ItemAction::Index | ItemAction::Delete => Verdict::Compare,
    }
}

/// What to do with a request that was refused as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestVerdict {
    /// Send it again after a wait.
    Retry {
        /// Parts of it may have been applied.
        uncertain: bool,
    },
    /// The request is too large: halve it, and keep later requests below its size.
    Smaller {
        /// Parts of it may have been applied.
        uncertain: bool,
    },
    /// Send it again after a wait, in halves. The cause is a circuit breaker of durability
    /// PERMANENT.
    ///
    /// A smaller request may pass. Or memory held by others leaves no room: the parent breaker says
    /// PERMANENT where fielddata and segments outweigh requests (`HierarchyCircuitBreakerService`).
    /// Then no size passes until that memory is free.
    RetrySmaller {
        /// Parts of it may have been applied.
        uncertain: bool,
    },
    /// One document spoils the request: halve it until the document is found.
    Bisect {
        /// Parts of it may have been applied.
        uncertain: bool,
        /// The cause may be a state that passes: wait before each attempt, and retry the document
        /// that is left.
        waits: bool,
    },
    /// The index accepts nothing at the moment.
    Pause(Condition),
    /// Nothing more will be accepted.
    Stop,
}

impl RequestVerdict {
    /// Whether the cluster may carry out the request, or parts of it, after the refusal.
    pub(crate) const fn may_be_carried_out(self) -> bool {
        match self {
            RequestVerdict::Retry { uncertain }
            | RequestVerdict::Smaller { uncertain }
            | RequestVerdict::RetrySmaller { uncertain }
            | RequestVerdict::Bisect { uncertain, .. } => uncertain,
            RequestVerdict::Pause(_) | RequestVerdict::Stop => false,
        }
    }
}

/// The verdict on a request that was refused as a whole. `incremental_bulk`: the server processes a
/// body while it arrives (Elasticsearch 8.16 and newer), so parts may be applied before a refusal.
pub fn request_verdict(status: u16, error: &ItemError, incremental_bulk: bool) -> RequestVerdict {
    use RequestVerdict::{Bisect, Pause, Retry, RetrySmaller, Smaller, Stop};
    // OpenSearch sends the documents of one shard after the other, and its shard indexing pressure
    // refuses the request at the first shard without room (`TransportBulkAction`).
    let in_part = incremental_bulk || error.reason.contains("shard_detail=[");
    match (status, about(status, &error.kind, &error.reason)) {
        (401, _) => Stop,
        // The length is announced, so both servers refuse before they read the body
        // (`HttpTransportSettings.max_content_length`).
        (413, _) => Smaller { uncertain: false },
        (_, About::Index(condition)) => Pause(condition),
        (429, _) if never_fits(error) => Smaller { uncertain: in_part },
        (429, _) if error.permanent && error.kind == "circuit_breaking_exception" => {
            RetrySmaller { uncertain: incremental_bulk }
        }
        (_, About::Target | About::User) => Stop,
        (_, About::Document | About::Mapping) => Bisect { uncertain: incremental_bulk, waits: false },
        // Indexing pressure or a gateway's limit. Nothing was applied where the body is parsed as a
        // whole.
        (408 | 429 | 503, _) => Retry { uncertain: in_part || status == 408 },
        // The gateway stopped waiting, or the server failed midway. The request may still be
        // processed.
        (500..=599, _) => Retry { uncertain: true },
        // A gateway that has no server at this path for the moment.
        (404, About::Unknown) => Retry { uncertain: false },
        // No permission, not a bulk endpoint, another address. Waiting heals none of them.
        (0..=399 | 403 | 405 | 406 | 415, About::Unknown) => Stop,
        // The inventions of gateways. One document may be what they do not like.
        (_, About::Unknown) => Bisect { uncertain: status != 400 || incremental_bulk, waits: true },
        (_, About::Shard | About::Disk | About::Node | About::Cluster) => Retry { uncertain: true },
        (_, About::Pipeline | About::Existing | About::Server | About::Elsewhere) => Retry { uncertain: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(action: ItemAction, status: u16, result: Option<ItemResult>, error: Option<(&str, &str)>) -> ItemReply {
        ItemReply {
            action,
            status,
            index: None,
            result,
            error: error.map(|(kind, reason)| ItemError { kind: kind.into(), reason: reason.into(), permanent: false }),
            failure_store_used: false,
        }
    }

    fn check(reply: &ItemReply, expected: Verdict) {
        assert_eq!(item_verdict(reply, ItemContext::default()), expected, "{reply:?}");
    }

    #[test]
    fn successes_end_in_their_buckets() {
        use ItemAction::*;
        let ok = |action, status, result| item(action, status, Some(result), None);
        check(&ok(Index, 201, ItemResult::Created), Verdict::Settle(Settled::Created));
        check(&ok(Index, 200, ItemResult::Updated), Verdict::Settle(Settled::Updated));
        check(&ok(Index, 200, ItemResult::Noop), Verdict::Settle(Settled::Dropped));
        check(&ok(Update, 200, ItemResult::Noop), Verdict::Settle(Settled::Noop));
        check(&ok(Delete, 200, ItemResult::Deleted), Verdict::Settle(Settled::Deleted));
        check(&ok(Delete, 404, ItemResult::NotFound), Verdict::Settle(Settled::NotFound));
        check(&item(Index, 500, None, None), Verdict::Retry);
        let mut redirected = ok(Create, 201, ItemResult::Created);
        redirected.failure_store_used = true;
        check(&redirected, Verdict::Settle(Settled::Redirected));
    }

    #[test]
    fn load_is_retried_and_conditions_pause() {
        use ItemAction::Index;
        for kind in
            ["es_rejected_execution_exception", "rejected_execution_exception", "circuit_breaking_exception", "x"]
        {
            check(&item(Index, 429, None, Some((kind, ""))), Verdict::Retry);
        }
        for kind in OF_A_LOST_PRIMARY {
            check(&item(Index, 503, None, Some((kind, ""))), Verdict::RetryUnsure);
        }
        let few = "[i][0] Not enough active copies to meet shard count of [ALL] (have 1, needed 2). Timeout: [1m]";
        check(&item(Index, 503, None, Some(("unavailable_shards_exception", few))), Verdict::Retry);
        let flood = "index [x] blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];";
        check(&item(Index, 429, None, Some(("cluster_block_exception", flood))), Verdict::Pause(Condition::FloodStage));
        check(&item(Index, 403, None, Some(("cluster_block_exception", flood))), Verdict::Pause(Condition::FloodStage));
        check(
            &item(Index, 403, None, Some(("cluster_block_exception", "FORBIDDEN/8/index write (api)"))),
            Verdict::Pause(Condition::WriteBlock),
        );
        check(
            &item(Index, 404, None, Some(("index_not_found_exception", ""))),
            Verdict::Pause(Condition::IndexMissing),
        );
        check(&item(Index, 400, None, Some(("index_closed_exception", ""))), Verdict::Pause(Condition::IndexClosed));
        for block in ["[FORBIDDEN/4/index closed];", "[FORBIDDEN/4/index preparing to close. Reopen the index to …];"]
        {
            let reason = format!("index [x] blocked by: {block}");
            let closing = item(Index, 403, None, Some(("cluster_block_exception", &reason)));
            check(&closing, Verdict::Pause(Condition::IndexClosed));
        }
        let no_alias = "no such index [x] and [require_alias] request flag is [true] and [x] is not an alias";
        check(&item(Index, 404, None, Some(("index_not_found_exception", no_alias))), Verdict::Stop);
        check(&item(Index, 403, None, Some(("security_exception", ""))), Verdict::Stop);
        let full = "this cluster currently has [1000]/[1000] maximum normal shards open";
        check(&item(Index, 400, None, Some(("validation_exception", full))), Verdict::Stop);
        check(
            &item(Index, 400, None, Some(("illegal_argument_exception", "pipeline with id [p] does not exist"))),
            Verdict::Stop,
        );
    }

    #[test]
    fn a_state_of_the_cluster_is_no_fault_of_the_document() {
        for (status, kind, reason) in [
            (404, "shard_not_found_exception", "no such shard"),
            (404, "index_shard_closed_exception", ""),
            (404, "primary_shard_closed_exception", "Primary closed"),
            (404, "resource_not_found_exception", ""),
            (400, "task_cancelled_exception", "task cancelled [by user request]"),
            (400, "resource_already_exists_exception", "index [x/abc] already exists"),
            (
                400,
                "general_script_exception",
                "failed to compile; [script] Too many dynamic script compilations within",
            ),
            (400, "illegal_argument_exception", "no write index is defined for alias [x]. The write index may be"),
            (400, "slice_missing_exception", ""),
            (409, "snapshot_in_use_deletion_exception", ""),
            (421, "node_weighed_away_exception", ""),
            (424, "node_decommissioned_exception", ""),
            (500, "i_o_exception", "No space left on device"),
            // In no table.
            (400, "weather_exception", ""),
            (403, "", "blocked by the gateway"),
            (404, "", "404 page not found"),
            (409, "", ""),
            (423, "locked_exception", ""),
            (451, "", ""),
        ] {
            for action in [ItemAction::Index, ItemAction::Create, ItemAction::Update] {
                check(&item(action, status, None, Some((kind, reason))), Verdict::Retry);
            }
        }
        let create = "index [x] blocked by: [FORBIDDEN/10/cluster create-index blocked (api)];";
        check(
            &item(ItemAction::Index, 403, None, Some(("index_create_block_exception", create))),
            Verdict::Pause(Condition::CreateBlock),
        );
        for kind in ["validation_exception", "illegal_argument_exception"] {
            let reason = "this action would add [2] total shards, but this cluster currently has [3141]/[3000] maximum shards open;";
            check(&item(ItemAction::Index, 400, None, Some((kind, reason))), Verdict::Stop);
        }
        check(&item(ItemAction::Update, 400, None, Some(("update_not_supported_exception", ""))), Verdict::Stop);
    }

    #[test]
    fn documents_that_will_never_be_taken_are_dead_letters() {
        use ItemAction::*;
        for kind in [
            "mapper_parsing_exception",
            "document_parsing_exception",
            "strict_dynamic_mapping_exception",
            "illegal_argument_exception",
        ] {
            check(&item(Index, 400, None, Some((kind, "no"))), Verdict::DeadLetter);
        }
        check(&item(Update, 404, None, Some(("document_missing_exception", ""))), Verdict::DeadLetter);
    }

    #[test]
    fn a_type_that_another_request_gave_a_field_is_met_by_the_next_attempt() {
        let reason = "mapper [txt] cannot be changed from type [text] to [date]";
        let kind = "illegal_argument_exception";
        for reason in [
            reason,
            "mapper [a] of different type, current_type [long], merged_type [text]",
            "can't merge a non object mapping [a] with an object mapping",
            "can't merge a non-object mapping [a.b] with an object mapping",
        ] {
            check(&item(ItemAction::Index, 400, None, Some((kind, reason))), Verdict::Remap);
        }
        let error = ItemError { kind: kind.to_owned(), reason: reason.to_owned(), permanent: false };
        let whole = request_verdict(400, &error, false);
        assert_eq!(whole, RequestVerdict::Bisect { uncertain: false, waits: false });
    }

    #[test]
    fn a_conflict_depends_on_action_attempt_and_id() {
        use ItemAction::*;
        let error = Some(("version_conflict_engine_exception", ""));
        let verdict = |action, uncertain, versioned, id_is_made| {
            item_verdict(&item(action, 409, None, error), ItemContext { uncertain, versioned, id_is_made })
        };
        assert_eq!(verdict(Create, false, false, false), Verdict::Compare);
        assert_eq!(verdict(Create, true, false, false), Verdict::Compare);
        for uncertain in [false, true] {
            // An id that the cluster made is of this attempt, also where an earlier one may have
            // been applied.
            assert_eq!(verdict(Create, uncertain, false, true), Verdict::Compare);
            assert_eq!(verdict(Index, uncertain, false, true), Verdict::Compare);
            assert_eq!(verdict(Update, uncertain, false, false), Verdict::Retry);
            assert_eq!(verdict(Index, uncertain, false, false), Verdict::Retry);
            assert_eq!(verdict(Delete, uncertain, false, false), Verdict::Retry);
        }
        assert_eq!(verdict(Index, false, true, false), Verdict::Compare);
        assert_eq!(verdict(Index, true, true, false), Verdict::Settle(Settled::AlreadyThere));
        assert_eq!(verdict(Delete, false, true, false), Verdict::Compare);
        assert_eq!(verdict(Delete, true, true, false), Verdict::Settle(Settled::NotFound));
    }

    #[test]
    fn an_operation_above_the_limit_of_a_node_never_fits() {
        let rejected = |operation: u64, most: &str| ItemError {
            kind: "rejected_execution_exception".into(),
            reason: format!(
                "rejected execution of coordinating operation [coordinating_and_primary_bytes=7, replica_bytes=0, \
                 all_bytes=7, coordinating_operation_bytes={operation}, {most}]"
            ),
            permanent: false,
        };
        for most in ["max_coordinating_and_primary_bytes=100", "max_coordinating_bytes=100"] {
            let (fits, never) = (rejected(100, most), rejected(101, most));
            assert_eq!(request_verdict(429, &fits, false), RequestVerdict::Retry { uncertain: false });
            assert_eq!(request_verdict(429, &never, true), RequestVerdict::Smaller { uncertain: true });
        }
        let reason =
            "Request contains an operation of size [20] bytes, which exceeds the maximum allowed limit of [19] bytes";
        check(&item(ItemAction::Index, 429, None, Some(("es_rejected_execution_exception", reason))), Verdict::Smaller);
        let garbled = "coordinating_operation_bytes=99999999999999999999999, max_coordinating_bytes=";
        check(&item(ItemAction::Index, 429, None, Some(("x", garbled))), Verdict::Retry);
    }

    #[test]
    fn what_a_shard_is_granted_is_no_limit_of_the_node() {
        let rejected = |operation: u64, most: u64| ItemError {
            kind: "rejected_execution_exception".into(),
            reason: format!(
                "rejected execution of coordinating operation [shard_detail=[production-solutions][1][C], \
                 shard_coordinating_and_primary_bytes=52588995, shard_operation_bytes={operation}, \
                 shard_max_coordinating_and_primary_bytes=107374] OR \
                 [node_coordinating_and_primary_bytes=117820280, node_replica_bytes=53748156, \
                 node_all_bytes=171568436, node_operation_bytes={operation}, \
                 node_max_coordinating_and_primary_bytes={most}]"
            ),
            permanent: false,
        };
        // Documents of other shards may be in.
        let fits = rejected(5_000_000, 107_374_182);
        assert_eq!(request_verdict(429, &fits, false), RequestVerdict::Retry { uncertain: true });
        let never = rejected(56_393_720, 50_000_000);
        assert_eq!(request_verdict(429, &never, false), RequestVerdict::Smaller { uncertain: true });
    }

    #[test]
    fn refused_requests() {
        let error = |kind: &str| ItemError { kind: kind.into(), ..ItemError::default() };
        let permanent = ItemError { permanent: true, ..error("circuit_breaking_exception") };
        let verdict = |status, e: &ItemError| request_verdict(status, e, false);
        assert_eq!(verdict(429, &error("")), RequestVerdict::Retry { uncertain: false });
        assert_eq!(request_verdict(429, &error(""), true), RequestVerdict::Retry { uncertain: true });
        assert_eq!(verdict(429, &permanent), RequestVerdict::RetrySmaller { uncertain: false });
        assert_eq!(verdict(413, &error("")), RequestVerdict::Smaller { uncertain: false });
        assert_eq!(
            verdict(400, &error("action_request_validation_exception")),
            RequestVerdict::Bisect { uncertain: false, waits: false }
        );
        assert_eq!(verdict(400, &error("")), RequestVerdict::Bisect { uncertain: false, waits: true });
        assert_eq!(verdict(418, &error("")), RequestVerdict::Bisect { uncertain: true, waits: true });
        assert_eq!(verdict(404, &error("")), RequestVerdict::Retry { uncertain: false });
        for (status, kind) in [
            (400, "task_cancelled_exception"),
            (404, "shard_not_found_exception"),
            (424, "node_decommissioned_exception"),
        ] {
            assert_eq!(verdict(status, &error(kind)), RequestVerdict::Retry { uncertain: true });
        }
        for status in [500, 502, 504] {
            assert_eq!(verdict(status, &error("")), RequestVerdict::Retry { uncertain: true });
        }
        for status in [301, 401, 403, 405, 406, 415] {
            assert_eq!(verdict(status, &error("")), RequestVerdict::Stop);
        }
        assert_eq!(verdict(403, &error("cluster_block_exception")), RequestVerdict::Pause(Condition::WriteBlock));
    }
}
