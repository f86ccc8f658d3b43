//! The errors of faults, in the servers' words.

use super::fault::Fault;
use super::rule::Rule;
use crate::error::ServerError;
use crate::model::Op;
use crate::product::Flavor;

/// The error of an item fault; `None` for any other fault.
pub(crate) fn item_error(flavor: &Flavor, rule: &Rule, op: &Op) -> Option<ServerError> {
    let index = op.index.as_str();
    match rule.fault() {
        Fault::ItemRefused => Some(rule.refusal()),
        Fault::ItemRejected => Some(rejected(flavor)),
        Fault::ItemUnavailable => Some(ServerError::new(
            503,
            "unavailable_shards_exception",
            format!("[{index}][0] primary shard is not active Timeout: [1m], request: [BulkShardRequest [[{index}][0]] containing [1] requests]"),
        )),
        Fault::ItemFloodStage => Some(ServerError::blocked(
            429,
            index,
            "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block",
        )),
        Fault::ItemWriteBlock => Some(ServerError::blocked(403, index, "FORBIDDEN/8/index write (api)")),
        Fault::ItemIndexGone => Some(ServerError::index_not_found(index, "index_or_alias")),
        Fault::ItemBadRequest => Some(
            ServerError::new(
                400,
                flavor.mapper_error_type(),
                format!(
                    "failed to parse field [fault] of type [long] in document with id '{}'. Preview of field's value: 'x'",
                    op.id.as_deref().unwrap_or_default()
                ),
            )
            .caused_by("illegal_argument_exception", "For input string: \"x\""),
        ),
        Fault::ItemConflict => {
            let id = op.id.as_deref().unwrap_or_default();
            Some(ServerError::new(
                409,
                "version_conflict_engine_exception",
                format!("[{id}]: version conflict, document already exists (current version [1])"),
            ))
        }
        _ => None,
    }
}

/// The error of a fault that refuses a request in JSON; `None` for any other fault.
pub(crate) fn request_error(flavor: &Flavor, rule: &Rule) -> Option<ServerError> {
    match rule.fault() {
        Fault::RequestRefused => Some(rule.refusal()),
        Fault::RequestRejected => Some(rejected(flavor)),
        Fault::RequestBeyondPressure => Some(pressure(flavor, 0, LIMIT_BYTES + 1)),
        Fault::RequestBadRequest => Some(ServerError::illegal_argument("refused by the fault script")),
        Fault::RequestUnauthorized => Some(unauthorized()),
        Fault::RequestForbidden => Some(ServerError::new(
            403,
            "security_exception",
            "no permissions for [indices:data/write/bulk] and User [name=test, backend_roles=[], requestedTenant=null]",
        )),
        Fault::Unavailable => {
            Some(ServerError::new(503, "cluster_block_exception", "blocked by: [SERVICE_UNAVAILABLE/2/no master];"))
        }
        Fault::BreakerPermanent => Some(breaker("PERMANENT")),
        Fault::BreakerTransient => Some(breaker("TRANSIENT")),
        _ => None,
    }
}

/// The 401 of a request with wrong credentials.
pub(crate) fn unauthorized() -> ServerError {
    ServerError::new(401, "security_exception", "missing authentication credentials for REST request [/]")
}

fn breaker(durability: &str) -> ServerError {
    ServerError::new(
        429,
        "circuit_breaking_exception",
        "[parent] Data too large, data for [<http_request>] would be [1020000000/972.7mb], which is larger than the limit of [1020054732/972.7mb]",
    )
    .with("bytes_wanted", 1_020_100_000)
    .with("bytes_limit", 1_020_054_732)
    .with("durability", durability)
}

/// The 429 of a full queue or of indexing pressure, for an item or a request.
pub(crate) fn rejected(flavor: &Flavor) -> ServerError {
    pressure(flavor, LIMIT_BYTES, 5 << 20)
}

/// The limit of indexing pressure of a node with a heap of 1 GiB.
const LIMIT_BYTES: u64 = (1 << 30) / 10;

/// The 429 of indexing pressure with other operations of `others` bytes.
fn pressure(flavor: &Flavor, others: u64, operation: u64) -> ServerError {
    let max = if flavor.is_elasticsearch_8() { "max_coordinating_bytes" } else { "max_coordinating_and_primary_bytes" };
    ServerError::new(
        429,
        flavor.rejected_type(),
        format!(
            "rejected execution of coordinating operation [coordinating_and_primary_bytes={others}, replica_bytes=0, \
             all_bytes={others}, coordinating_operation_bytes={operation}, {max}={LIMIT_BYTES}]"
        ),
    )
}
