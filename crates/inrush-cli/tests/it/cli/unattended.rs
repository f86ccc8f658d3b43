//! What a job runner does: it gives the same command again and again.

use super::*;

fn load<'a>(to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", "a.ndjson", "--index", "docs", "--to", to, "--json", "--once"], more].concat()
}

#[tokio::test]
async fn the_same_command_begins_goes_on_and_is_done() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(30).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(5_000));
    let to = fake.url();
    // Without ids, so that a document that is sent twice is there twice.
    let command = load(&to, &["--batch-docs", "50", "--in-flight", "1"]);
    let mut killed = inrush(folder.path(), &command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fake.wait_for_held(1).await;

    // The second one of two at once.
    let busy = run(folder.path(), &command).await;
    check(&busy, 75);
    assert!(stderr(&busy).contains("is running") && stderr(&busy).contains("after its end"), "{}", stderr(&busy));
    let silent = run(folder.path(), &[&command[..], &["--quiet"]].concat()).await;
    check(&silent, 75);
    assert_eq!(stderr(&silent), "", "cron sends a mail for each word");

    killed.kill().await.unwrap();
    fake.release_held();
    let rest = run(folder.path(), &command).await;
    check(&rest, 0);
    let rest = report(&rest);
    assert!(rest["this_run"].is_object(), "it goes on: {rest}");
    let possible = rest["possible_duplicates"].as_u64().unwrap();
    assert!((5_000..=5_000 + possible).contains(&(fake.documents("docs").len() as u64)), "{rest}");

    let (there, requests) = (fake.documents("docs").len(), fake.bulk_requests().len());
    let done = run(folder.path(), &command).await;
    check(&done, 0);
    let done = report(&done);
    assert_eq!((&done["run_id"], done["docs_read"].as_u64()), (&rest["run_id"], Some(5_000)));
    assert!(done["ended_before"].as_str().is_some_and(|at| at.ends_with('Z')), "{done}");
    let told = run(folder.path(), &load(&to, &[])[..6]).await;
    check(&told, 0);
    assert_eq!(
        (fake.documents("docs").len(), fake.bulk_requests().len()),
        (there + 5_000, requests + 1),
        "without --once"
    );
    let people = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--once"];
    let told = run(folder.path(), &people).await;
    assert!(stdout(&told).contains("nothing was read or sent now"), "{}", stdout(&told));

    // What changed is loaded.
    std::fs::write(folder.path().join("a.ndjson"), lines(7)).unwrap();
    let new = run(folder.path(), &command).await;
    check(&new, 0);
    assert!(stderr(&new).contains("so it is loaded again"), "{}", stderr(&new));
    assert_eq!(report(&new)["docs_read"], 7);
}

#[tokio::test]
async fn a_nightly_swap_is_done_once_for_the_same_data() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let command = ["load", "a.ndjson", "--alias", "shop", "--delete-old", "--to", &to, "--json", "--once"];
    let first = report(&run(folder.path(), &command).await);
    let again = report(&run(folder.path(), &command).await);
    assert_eq!((&again["swap"]["index"], again["ended_before"].is_string()), (&first["swap"]["index"], true));
    std::fs::write(folder.path().join("a.ndjson"), lines(12)).unwrap();
    let next = run(folder.path(), &command).await;
    check(&next, 0);
    let next = report(&next);
    assert_ne!(next["swap"]["index"], first["swap"]["index"]);
    assert_eq!(fake.documents("shop").len(), 12);
}

#[tokio::test]
async fn what_is_said_to_go_on_with_is_taken() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let command = ["load", "a.ndjson", "--alias", "shop", "--to", &to, "--once"];
    check(&run(folder.path(), &command).await, 0);
    std::fs::write(folder.path().join("a.ndjson"), lines(2)).unwrap();
    let shrunk = run(folder.path(), &command).await;
    check(&shrunk, 4);
    let text = stdout(&shrunk);
    assert!(
        text.contains("run the same command with --allow-shrink any to move the alias") && !text.contains("--resume"),
        "{text}"
    );
    let requests = fake.bulk_requests().len();
    check(&run(folder.path(), &[&command[..], &["--allow-shrink", "any"]].concat()).await, 0);
    assert_eq!((fake.documents("shop").len(), fake.bulk_requests().len()), (2, requests));
}

#[tokio::test]
async fn what_cannot_be_done_once_is_refused_with_the_reason() {
    let (folder, _) = folder_with("a.ndjson", &lines(1));
    let job =
        "sources = ['a.ndjson']\nonce = true\nto = 'http://127.0.0.1:1'\n[[output]]\nindex = 'x'\nsql = 'SELECT 1'\n";
    std::fs::write(folder.path().join("outputs.toml"), job).unwrap();
    for (arguments, expected) in [
        (&["load", "-", "--index", "d", "--to", "http://127.0.0.1:1", "--once"][..], "read again"),
        (&["load", "a.ndjson", "--index", "d", "--to", "http://127.0.0.1:1", "--once", "--resume"], "--resume"),
        (&["load", "--job", "outputs.toml"], "--once does not work with several outputs"),
        (
            &["bake", "a.ndjson", "--index", "d", "--to", "http://127.0.0.1:1", "--once", "--repository", "r"],
            "--once is for `inrush load`",
        ),
    ] {
        let output = run(folder.path(), arguments).await;
        check(&output, 2);
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[tokio::test]
async fn a_forgotten_address_starts_nothing() {
    let (folder, _) = folder_with("a.ndjson", &lines(1));
    let run = async |arguments: &[&str]| {
        let mut command = inrush(folder.path(), arguments);
        command.env("INRUSH_NODE_ROOT", folder.path().join("nodes")).output().await.unwrap()
    };
    for arguments in [
        &["load", "a.ndjson", "--index", "docs"][..],
        &["verify", "a.ndjson", "--index", "docs", "--id", "id"],
        &["sweep", "a.ndjson", "--batch-docs", "1"],
    ] {
        let output = run(arguments).await;
        check(&output, 2);
        let text = stderr(&output);
        assert!(text.contains("--to is not given") && text.contains("--to local"), "{arguments:?}: {text}");
    }
    assert!(!folder.path().join("nodes").exists());
}

/// A thread that cannot be made is an error and no panic, whichever one it is. (What lacks the
/// memory to begin at all is ended by the system.)
#[cfg(target_os = "linux")]
#[tokio::test]
async fn too_few_threads_are_an_error_and_no_panic() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(1));
    let load = format!("load a.ndjson --index docs --id id --to {}", fake.url());
    let mut commands = vec![load.clone()];
    if cfg!(feature = "sql") {
        commands.push(format!("{load} --sql 'SELECT id FROM input'"));
        commands.push("mapping a.ndjson --sql 'SELECT id FROM input'".to_owned());
    }
    for command in commands {
        let (mut gib, mut told) = (0, 0);
        loop {
            gib += 1;
            // Each stack is 1 GiB, so one more of them is within each limit than within the last
            // one.
            let line =
                format!("ulimit -v {}; exec {} {command}", (gib << 20) - (1 << 19), env!("CARGO_BIN_EXE_inrush"));
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(folder.path()).env("RUST_MIN_STACK", "1073741824");
            let output = shell.env("XDG_STATE_HOME", folder.path().join("state")).output().await.unwrap();
            if output.status.success() {
                break;
            }
            check(&output, 1);
            let text = format!("{}{}", stdout(&output), stderr(&output));
            assert!(!text.contains("panicked"), "{gib} GiB: {text}");
            if stderr(&output)
                .starts_with("error[no_threads]: the system does not let this process start another thread: ")
            {
                assert!(text.contains("hint: ") && text.contains("ulimit -v"), "{text}");
                told += 1;
            }
        }
        assert!(told > 0, "{command}: {gib} GiB were enough at once");
    }
}

#[tokio::test]
async fn an_index_may_have_changed_and_is_not_copied_once() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let (to, source) = (fake.url(), format!("{}/docs", fake.url()));
    check(&run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", &to]).await, 0);
    let output = run(folder.path(), &["load", &source, "--index", "copy", "--to", &to, "--once"]).await;
    check(&output, 2);
    assert!(stderr(&output).contains("cannot detect changes of a source index"), "{}", stderr(&output));
    assert!(fake.index_uuid("copy").is_none());
}
