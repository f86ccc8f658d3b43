//! What a load needs on this machine is there before it changes anything in the cluster.

use std::path::Path;
use std::process::Output;

use inrush_fake::FakeCluster;
use inrush_load::LOADS_INDEX;

use super::keeping::{shop, writes};
use super::*;
use crate::common::command;
use crate::full_disk::Disk;

/// The binary, which finds such a disk in the folder `disk`. `None` where there can be none.
async fn run_on(disk: Disk, folder: &Path, arguments: &[&str]) -> Option<Output> {
    std::fs::create_dir_all(folder.join("disk")).unwrap();
    let words = disk.command(&folder.join("disk"), &[&[env!("CARGO_BIN_EXE_inrush")], arguments].concat())?;
    let mut command = command(&words[0], folder);
    Some(command.args(&words[1..]).output().await.unwrap())
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The fake, and what it has: its indices and the documents of `shop-1`.
fn contents(fake: &FakeCluster) -> (Vec<String>, Option<String>, usize) {
    (fake.indices(), fake.index_uuid("shop-1"), fake.documents("shop-1").len())
}

/// Loads that change something in the cluster: an index that is there, one that is not, one behind
/// an alias.
const LOADS: [&str; 3] =
    ["--index shop-1 --recreate --yes --id id", "--index other --id id", "--alias shop --delete-old --id id"];

#[tokio::test]
async fn a_disk_that_takes_nothing_changes_nothing_in_the_cluster() {
    let (fake, folder) = shop(&lines(3)).await;
    let (before, written) = (contents(&fake), writes(&fake).len());
    let files = [
        ("--state disk/state", "the checkpoint", "state folder"),
        ("--state disk/state --once", "the checkpoint", "state folder"),
        ("--dead-letters disk/letters", "dead-letter file disk/letters", "dead-letter file disk/letters"),
        ("--trace disk/trace", "cannot write the trace to disk/trace", "cannot write the trace to disk/trace"),
        ("--report disk/page.html", "cannot write disk/page.html", "cannot write disk/page.html"),
        ("--textfile disk", "disk", "disk"),
    ];
    for (disk, why) in [(Disk::Full, "No space left on device"), (Disk::ReadOnly, "Read-only file system")] {
        for (options, of_full, of_read_only) in files {
            let expected = if disk == Disk::Full { of_full } else { of_read_only };
            for load in LOADS {
                let line = format!("load a.ndjson {load} {options} --to {}", fake.url());
                let Some(output) = run_on(disk, folder.path(), &words(&line)).await else { return };
                let text = stderr(&output);
                check(&output, 2);
                assert!(text.contains(expected) && text.contains(why), "{line}: {text}");
                assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{line}: {text}");
            }
        }
    }
    assert_eq!(contents(&fake), before);
}

#[tokio::test]
async fn a_load_goes_on_without_a_checkpoint_that_nobody_asked_for() {
    let (fake, folder) = shop(&lines(3)).await;
    for (disk, why) in [(Disk::Full, "this load cannot be resumed"), (Disk::ReadOnly, "keeps no checkpoints")] {
        let line = format!("load a.ndjson {} --to {} --json", LOADS[0], fake.url());
        std::fs::create_dir_all(folder.path().join("disk")).unwrap();
        let arguments = [&["env", "XDG_STATE_HOME=disk", env!("CARGO_BIN_EXE_inrush")], &words(&line)[..]].concat();
        let absolute = format!("XDG_STATE_HOME={}", folder.path().join("disk").display());
        let arguments = [&["env", &absolute], &arguments[2..]].concat();
        let Some(words) = disk.command(&folder.path().join("disk"), &arguments) else { return };
        let output = command(&words[0], folder.path()).args(&words[1..]).output().await.unwrap();
        check(&output, 0);
        assert!(stderr(&output).contains(why), "{disk:?}: {}", stderr(&output));
        assert_eq!(fake.documents("shop-1").len(), 3);
    }
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_and_a_file_in_the_place_of_a_folder() {
    let (fake, folder) = shop(&lines(3)).await;
    let (before, written) = (contents(&fake), writes(&fake).len());
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::write(folder.path().join("file"), "text").unwrap();
    for (options, expected) in [
        ("--state file", "state folder file/checkpoints: cannot be created"),
        ("--state file/state", "state folder file/state/checkpoints: cannot be created"),
        ("--state none --dead-letters folder", "it is a folder; name a file in it"),
        ("--dead-letters file/letters", "its folder file does not exist"),
        ("--dead-letters file", "it exists and is not empty"),
        ("--trace folder", "cannot write the trace to folder"),
        ("--report folder", "folder is a folder; name a file in it"),
        ("--report file/page.html", "cannot write file/page.html"),
        ("--textfile file", "file"),
    ] {
        for load in LOADS {
            let line = format!("load a.ndjson {load} {options} --to {}", fake.url());
            let output = run(folder.path(), &words(&line)).await;
            check(&output, 2);
            assert!(stderr(&output).contains(expected), "{line}: {}", stderr(&output));
            assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{line}");
        }
    }
    assert_eq!(contents(&fake), before);
    let left = std::fs::read_dir(folder.path().join("none/checkpoints")).unwrap().count();
    assert_eq!(left, 0, "the room of a checkpoint is given back");
}

#[tokio::test]
async fn no_output_begins_before_all_can_begin() {
    let (fake, folder) = shop(&lines(3)).await;
    let (before, written) = (contents(&fake), writes(&fake).len());
    let job = format!(
        "sources = ['a.ndjson']\nto = '{}'\nid = 'id'\nrecreate = true\nyes = true\n\
         [[output]]\nindex = 'shop-1'\nsql = 'SELECT id, n FROM input'\n\
         [[output]]\nindex = 'second'\nsql = 'SELECT id FROM input'\ndead_letters = 'disk/letters'\n",
        fake.url()
    );
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    let Some(output) = run_on(Disk::Full, folder.path(), &["load", "--job", "job.toml"]).await else { return };
    check(&output, 2);
    assert!(stderr(&output).contains("disk/letters"), "{}", stderr(&output));
    // The first output was found to be possible, by an index of another name.
    let mut changes = writes(&fake).split_off(written);
    changes.retain(|request| !request.contains("inrush-trial"));
    assert_eq!(changes, Vec::<String>::new());
    assert_eq!(contents(&fake), before);
}

#[tokio::test]
async fn an_interrupted_load_keeps_its_checkpoint_where_the_next_one_is_refused() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(5).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(1_000));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--batch-docs", "50"];
    let slow = [&load[..], &["--in-flight", "1"]].concat();
    let mut killed = inrush(folder.path(), &slow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fake.wait_for_held(1).await;
    killed.kill().await.unwrap();
    fake.release_held();
    let refused = run(folder.path(), &[&load[..], &["--recreate", "--yes", "--shards", "5000"]].concat()).await;
    check(&refused, 2);
    assert!(stderr(&refused).contains("5000"), "{}", stderr(&refused));
    let resumed = run(folder.path(), &[&load[..], &["--resume", "--json"]].concat()).await;
    check(&resumed, 0);
    assert!(report(&resumed)["this_run"].is_object(), "{}", stdout(&resumed));
    assert_eq!(fake.documents("docs").len(), 1_000);
}

#[tokio::test]
async fn what_a_load_has_made_is_taken_back_where_it_does_not_begin() {
    for load in [LOADS[1], LOADS[2]] {
        let (fake, folder) = shop(&lines(3)).await;
        let before = fake.indices();
        // Asked when the index is made and the load is a member of its group.
        fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("metadata,routing_table")]));
        let line = format!("load a.ndjson {load} --bulk-routing one-shard --to {}", fake.url());
        let output = run(folder.path(), &words(&line)).await;
        check(&output, 2);
        let mut left = fake.indices();
        left.retain(|name| !before.contains(name));
        let text = stderr(&output);
        assert_eq!(left, Vec::<String>::new(), "{load}: {text}");
        assert!(!text.contains("which this load has created, stays"), "{text}");
        let running = fake.documents(LOADS_INDEX);
        assert!(running.iter().all(|record| record.json()["running"].as_object().is_none_or(|all| all.is_empty())));
    }
}

#[tokio::test]
async fn a_source_whose_beginning_cannot_be_read_changes_nothing_in_the_cluster() {
    let (fake, folder) = shop(&lines(3)).await;
    let (before, written) = (contents(&fake), writes(&fake).len());
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("header.csv", b"id,n\xe4me\n1,2\n");
    file("quote.csv", b"id,\"name\n1,2\n");
    file("a.ndjson.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03not deflated");
    file("a.ndjson.zst", b"\x28\xb5\x2f\xfdnot a frame");
    file("a.parquet", b"PAR1 without a footer");
    file("a.arrow", b"ARROW1\0\0 without a schema");
    file("a.avro", b"Obj\x01 without a schema");
    file("a.xlsx", b"PK\x03\x04 no workbook");
    file("a.json", b"[{\"id\": 1 \"n\": 2}]");
    for source in [
        "header.csv",
        "a.ndjson header.csv",
        "a.csv --schema none:string",
        "a.ndjson.gz",
        "a.ndjson.zst",
        "a.parquet",
        "a.arrow",
        "a.avro",
        "a.xlsx",
        "none.ndjson",
        "header.csv --charset utf-16le --separator ,,",
    ] {
        file("a.csv", b"id,n\n1,2\n");
        for load in LOADS {
            let line = format!("load {source} {load} --to {}", fake.url());
            let output = run(folder.path(), &words(&line)).await;
            let text = stderr(&output);
            check(&output, 2);
            assert!(!text.contains("--resume"), "{line}: {text}");
            assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{line}: {text}");
        }
    }
    for sql in
        ["SELECT id FROM 'header.csv'", "SELECT none FROM 'a.csv'", "SELECT CAST(id AS INT) / 0 AS id FROM 'a.csv'"]
    {
        let to = fake.url();
        let output = run(folder.path(), &["load", "--sql", sql, "--index", "other", "--to", &to]).await;
        assert_ne!(output.status.code(), Some(0), "{sql}: {}", stderr(&output));
        assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{sql}: {}", stderr(&output));
    }
    assert_eq!(contents(&fake), before);
}

#[tokio::test]
async fn an_error_that_another_option_cures_asks_for_no_resume() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    // More files than are opened before the load begins.
    for n in 0..40 {
        std::fs::write(folder.path().join(format!("{n:02}.csv")), format!("id,n\n{n},2\n")).unwrap();
    }
    std::fs::write(folder.path().join("39.csv"), b"id,n\xe4me\n39,2\n").unwrap();
    let output = run(folder.path(), &["load", "*.csv", "--index", "docs", "--to", &fake.url()]).await;
    check(&output, 1);
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert!(text.contains("--charset") && text.contains("load again from the beginning"), "{text}");
    assert!(!text.contains("--resume"), "{text}");
}
