//! The faults.

use serde::{Deserialize, Serialize};

/// A fault. In a file its name is in snake case, such as `item_rejected`.
///
/// The names say how much of the request takes effect. An *item* fault refuses one document and
/// applies the others. A *request* fault refuses the whole request and applies none of it. Faults
/// of a *reply* apply the whole request and spoil its reply.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Item 429: a full queue or indexing pressure, in the product's name.
    ItemRejected,
    /// Item 503 `unavailable_shards_exception`.
    ItemUnavailable,
    /// Item 429 `cluster_block_exception`: the disk's flood stage.
    ItemFloodStage,
    /// Item 403 `cluster_block_exception`: a write block.
    ItemWriteBlock,
    /// Item 404 `index_not_found_exception`.
    ItemIndexGone,
    /// Item 400 of the mapper.
    ItemBadRequest,
    /// Item 409 `version_conflict_engine_exception`.
    ItemConflict,
    /// Item with the error of [`Rule::error`](crate::Rule::error).
    ItemRefused,
    /// Item that succeeds, and whose document is stored without its vectors, as users of
    /// Elasticsearch reported. `_source` lacks them as well.
    ItemVectorsLost,
    /// Request with the error of [`Rule::error`](crate::Rule::error).
    RequestRefused,
    /// Request 429: a full queue or indexing pressure.
    RequestRejected,
    /// Request 429: the body alone exceeds the indexing pressure of a node, so it never fits.
    RequestBeyondPressure,
    /// Request 413: a body above the limit.
    RequestTooLarge,
    /// Request 400.
    RequestBadRequest,
    /// Request 401.
    RequestUnauthorized,
    /// Request 403.
    RequestForbidden,
    /// Request 502 with an HTML body, as a proxy answers.
    BadGateway,
    /// Request 503: no master.
    Unavailable,
    /// Request 504 with an HTML body, as a proxy answers.
    GatewayTimeout,
    /// Reply 504 with an HTML body: the proxy gave up, the server applied the request.
    GatewayTimeoutAfterApplying,
    /// Request 429 `circuit_breaking_exception` with durability PERMANENT.
    BreakerPermanent,
    /// Request 429 `circuit_breaking_exception` with durability TRANSIENT.
    BreakerTransient,
    /// Resets the connection after the head of the request.
    ResetBeforeBody,
    /// Resets the connection after the body of the request and applies nothing.
    ResetBeforeApplying,
    /// Applies the request and resets the connection.
    ResetAfterApplying,
    /// Reply of which the second half never arrives.
    ReplyTruncated,
    /// Reply in HTML.
    ReplyNotJson,
    /// Reply with one item less than the request.
    ReplyItemMissing,
    /// Reply with one item more than the request.
    ReplyItemExtra,
    /// Reply after [`Rule::delay_ms`](crate::Rule::delay_ms).
    Slow,
    /// Holds the request back before it is applied, until
    /// [`FakeCluster::release_held`](crate::FakeCluster::release_held). `_tasks` lists it.
    HoldBeforeApplying,
    /// Applies the request and holds the reply back, until
    /// [`FakeCluster::release_held`](crate::FakeCluster::release_held). `_tasks` lists it.
    HoldAfterApplying,
    /// Applies the request and never answers. `_tasks` does not list it.
    NoReply,
    /// Applies the request, and then again, as the coordinating node does where a primary fails
    /// before it has answered: the new primary has the documents from the old one. The reply is
    /// that of the second time, so a `create` meets its own document. The primary terms rise in
    /// between.
    PrimaryChanges,
    /// Reply in broken SMILE to a request in SMILE, as users of a managed service reported. Other
    /// requests are answered as usual.
    SmileReplyGarbled,
}

impl Fault {
    /// True for a fault of one item, false for a fault of a request or its reply.
    pub fn is_item(self) -> bool {
        matches!(
            self,
            Fault::ItemRejected
                | Fault::ItemUnavailable
                | Fault::ItemFloodStage
                | Fault::ItemWriteBlock
                | Fault::ItemIndexGone
                | Fault::ItemBadRequest
                | Fault::ItemConflict
                | Fault::ItemRefused
                | Fault::ItemVectorsLost
        )
    }
}
