//! The nodes that tests share: each is started for the first test that uses it, and ends with the process of the
//! tests.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use inrush::node::{NodeSpec, OwnedNode};
use tokio::sync::OnceCell;

use super::{Version, folder, start};

/// Java heap, MiB. Several tests load into a shared node at once, and a node refuses requests above a tenth of its heap.
const HEAP_MIB: u32 = 1024;

static NODES: [OnceCell<Shared>; Version::COUNT] = [const { OnceCell::const_new() }; Version::COUNT];

struct Shared {
    node: OwnedNode,
    _guardian: Child,
}

/// Where the shared node of a version answers; starts it for the first caller.
pub(super) async fn url(version: Version) -> String {
    let begin = async || {
        let folder = folder();
        let spec =
            NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(version.distribution(), "shared", folder.join("node")) };
        let node = start(spec).await.unwrap();
        let _guardian = guard(node.pid(), &folder);
        Shared { node, _guardian }
    };
    NODES[version as usize].get_or_init(begin).await.node.url()
}

/// Waits for the end of its stdin, then ends a process group in order, within a minute, and deletes a folder.
const GUARDIAN: &str = r#"
read -r _
kill -s TERM -- "-$1"
left=600
while [ "$left" -gt 0 ] && kill -s 0 -- "-$1"; do
  left=$((left - 1))
  sleep 0.1
done
kill -s KILL -- "-$1"
rm -rf -- "$2"
"#;

/// A process that ends a node when this one is gone. Nothing is dropped at the end of a process of tests, and nothing
/// runs there where it is killed or interrupted; but the system closes its pipes, and the guardian's stdin ends.
fn guard(group: u32, folder: &Path) -> Child {
    let mut guardian = Command::new("sh");
    guardian.args(["-c", GUARDIAN, "guardian", &group.to_string()]).arg(folder);
    // Its own group: Ctrl-C ends the tests, and not the guardian.
    guardian.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    guardian.spawn().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guardian_ends_the_group_when_its_stdin_ends() {
        let folder = tempfile::tempdir().unwrap().keep();
        let mut node = Command::new("sh");
        node.args(["-c", "sleep 600 & sleep 600"]).process_group(0);
        let mut node = node.spawn().unwrap();
        let mut guardian = guard(node.id(), &folder);
        assert_eq!(node.try_wait().unwrap(), None);
        drop(guardian.stdin.take());
        assert!(!node.wait().unwrap().success());
        guardian.wait().unwrap();
        assert!(!folder.exists());
    }
}
