//! The nodes that tests share: each is started for the first test that uses it, and ends with the
//! process of the tests.

use inrush_node::{NodeSpec, OwnedNode};
use tokio::sync::OnceCell;

use super::{Version, delete_at_end, folder, start};

/// Java heap, MiB. Several tests load into a shared node at once, and a node refuses requests above
/// a tenth of its heap.
const HEAP_MIB: u32 = 1024;

static NODES: [OnceCell<OwnedNode>; Version::COUNT] = [const { OnceCell::const_new() }; Version::COUNT];

/// Where the shared node of a version answers; starts it for the first caller.
pub(super) async fn url(version: Version) -> String {
    let begin = async || {
        let folder = folder();
        delete_at_end(&folder);
        let spec =
            NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(version.distribution(), "shared", folder.join("node")) };
        start(spec).await.unwrap()
    };
    NODES[version as usize].get_or_init(begin).await.url()
}
