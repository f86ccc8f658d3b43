//! Two users of one state folder. They are two only where the tests run as root.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::keeping::{shop, writes};
use super::*;
use crate::common::command;

const ADA: &str = "61001";
const BOB: &str = "61002";

/// The binary as another user with this umask. The user need not reach the binary's folder.
fn as_user(user: &str, umask: &str, folder: &Path, arguments: &[&str]) -> Command {
    let script = "exec 3<\"$0\"; umask \"$1\"; user=$2; shift 2; exec setpriv --reuid \"$user\" --regid 61000 --clear-groups /proc/self/fd/3 \"$@\"";
    let mut command = command("sh", folder);
    command.args(["-c", script, env!("CARGO_BIN_EXE_inrush"), umask, user]).args(arguments);
    command
}

#[tokio::test]
async fn nobody_takes_the_checkpoint_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be two users");
        return;
    }
    // A lock that the other user may open, may read, and may not even read.
    for umask in ["000", "022", "077"] {
        let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(5).first(1)]).await;
        let (folder, data) = folder_with("a.ndjson", &lines(1_000));
        for path in [folder.path(), &data] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let shared = folder.path().join("shared");
        std::fs::create_dir_all(shared.join("checkpoints")).unwrap();
        for path in [&shared, &shared.join("checkpoints")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o2777)).unwrap();
        }
        let to = fake.url();
        let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--state", "shared", "--batch-docs", "50"];
        let slow = [&load[..], &["--in-flight", "1"]].concat();
        let mut first = as_user(ADA, umask, folder.path(), &slow);
        let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        fake.wait_for_held(1).await;
        let beside = as_user(BOB, umask, folder.path(), &load).output().await.unwrap();
        if umask == "077" {
            check(&beside, 2);
        } else {
            check(&beside, 75);
        }
        first.kill().await.unwrap();
        fake.release_held();
        let before = fake.bulk_requests().len();
        for option in ["--resume", "--once", "--json"] {
            let refused = as_user(BOB, umask, folder.path(), &[&load[..], &[option]].concat()).output().await.unwrap();
            check(&refused, 2);
            let text = stderr(&refused);
            assert!(text.contains(&format!("user {ADA}")), "{umask} {option}: {text}");
            assert!(!text.contains("leave --resume out") && !text.contains("without --resume"), "{option}: {text}");
        }
        assert_eq!(fake.bulk_requests().len(), before);
        let resumed = as_user(ADA, umask, folder.path(), &[&load[..], &["--resume", "--json"]].concat());
        let resumed = { resumed }.output().await.unwrap();
        check(&resumed, 0);
        assert!(report(&resumed)["this_run"].is_object(), "{}", stdout(&resumed));
        // Nothing is left of that load, so the next one is anybody's.
        let next = as_user(BOB, umask, folder.path(), &load).output().await.unwrap();
        check(&next, 0);
    }
}

#[tokio::test]
async fn the_folder_of_another_user_changes_nothing_in_the_cluster() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be two users");
        return;
    }
    let (fake, folder) = shop(&lines(3)).await;
    let written = writes(&fake).len();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    for (path, mode) in [(folder.path(), 0o777), (&folder.path().join("a.ndjson"), 0o644), (&closed, 0o755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let to = fake.url();
    for option in [
        ["--state", "closed"],
        ["--dead-letters", "closed/letters"],
        ["--trace", "closed/trace"],
        ["--report", "closed/page.html"],
        ["--textfile", "closed"],
    ] {
        for index in [&["--index", "shop-1", "--recreate", "--yes"][..], &["--alias", "shop", "--delete-old"]] {
            let load = ["load", "a.ndjson", "--id", "id", "--to", &to];
            let output = as_user(ADA, "022", folder.path(), &[&load[..], &option, index].concat()).output().await;
            let output = output.unwrap();
            check(&output, 2);
            assert!(stderr(&output).contains("Permission denied"), "{option:?}: {}", stderr(&output));
            assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{option:?}");
        }
    }
    assert_eq!(fake.documents("shop-1").len(), 10);
}
