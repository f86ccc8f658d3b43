//! The nodes that tests share: each is started for the first test that uses it, and ends with the
//! process of the tests.

use inrush_node::{NodeSpec, OwnedNode};
use tokio::sync::OnceCell;

use super::guardian::Guardian;
use super::{Version, folder, start};

/// Java heap, MiB. Several tests load into a shared node at once, and a node refuses requests above
/// a tenth of its heap.
const HEAP_MIB: u32 = 1024;

static NODES: [OnceCell<(OwnedNode, Guardian)>; Version::COUNT] = [const { OnceCell::const_new() }; Version::COUNT];

/// Where the shared node of a version answers; starts it for the first caller.
pub(super) async fn url(version: Version) -> String {
    let begin = async || {
        let folder = folder();
        let spec =
            NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(version.distribution(), "shared", folder.join("node")) };
        let node = start(spec).await.unwrap();
        let mut guardian = Guardian::new(Some(&folder));
        guardian.watch(node.pid());
        (node, guardian)
    };
    NODES[version as usize].get_or_init(begin).await.0.url()
}
