//! What a load takes from the environment, and where it keeps its state for users whose environment
//! says nothing, as in cron, in containers and in services.

use super::*;

fn load(folder: &std::path::Path, to: &str) -> Command {
    let mut load = inrush(folder, &["load", "a.ndjson", "--index", "docs", "--to", to]);
    load.env_remove("XDG_STATE_HOME").env_remove("STATE_DIRECTORY");
    load
}

#[tokio::test]
async fn a_load_without_a_home_says_that_it_keeps_no_checkpoint() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let output = load(folder.path(), &fake.url()).env("HOME", "no/path").output().await.unwrap();
    check(&output, 0);
    let text = stderr(&output);
    assert!(text.contains("keeps no checkpoints") && text.contains("--state"), "{text}");
    assert!(!folder.path().join("no").exists());
    let resumed = load(folder.path(), &fake.url()).env("HOME", "no/path").arg("--resume").output().await.unwrap();
    check(&resumed, 2);
    assert!(stderr(&resumed).contains("--state"), "{}", stderr(&resumed));
    // A source without checkpoints lacks nothing.
    let mut piped = inrush(folder.path(), &["load", "-", "--format", "ndjson", "--index", "docs", "--to", &fake.url()]);
    let piped = piped.env_remove("XDG_STATE_HOME").env("HOME", "no/path").output().await.unwrap();
    check(&piped, 0);
    assert!(!stderr(&piped).contains("checkpoints"), "{}", stderr(&piped));
}

#[tokio::test]
async fn a_service_has_its_state_in_its_folder() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let of_service = folder.path().join("service");
    let both = format!("{}:/no/other", of_service.display());
    let output = load(folder.path(), &fake.url()).env("HOME", "no/path").env("STATE_DIRECTORY", both).output();
    let output = output.await.unwrap();
    check(&output, 0);
    assert_eq!(stderr(&output), "");
    assert!(of_service.join("checkpoints").is_dir());
}

/// The home of the password file is a disk that takes nothing, for this process only.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_load_without_variables_uses_the_home_of_the_password_file() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] = if is_root { &[] } else { &["--user", "--map-root-user"] };
    // The file system hides the binary where that is in the home.
    let script = "exec 3<\"$0\"; mount -t tmpfs -o ro none ~ && exec env -i PATH=\"$PATH\" $1 /proc/self/fd/3 load a.ndjson --index docs --to \"$2\"";
    for home in ["", "HOME="] {
        let words = [&["--mount"], user, &["sh", "-c", script, env!("CARGO_BIN_EXE_inrush"), home]].concat();
        let mut command = crate::common::command("unshare", folder.path());
        let output = command.args(words).arg(fake.url()).output().await.unwrap();
        if !stderr(&output).contains("state folder") && !output.status.success() {
            println!("skipped: this system lets no test mount a disk: {}", stderr(&output));
            return;
        }
        check(&output, 0);
        let text = stderr(&output);
        assert!(text.contains("/.local/state/inrush/checkpoints: cannot be created: "), "{text}");
    }
}

#[tokio::test]
async fn the_cluster_may_be_named_by_a_variable() {
    let (fake, other) = (fake([]).await, fake([]).await);
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let words = ["load", "a.ndjson", "--index", "docs", "--quiet"];
    let by_variable = inrush(folder.path(), &words).env("INRUSH_TO", format!(" {}, ", fake.url())).output();
    check(&by_variable.await.unwrap(), 0);
    assert_eq!(fake.documents("docs").len(), 3);
    // The flag wins.
    let to = other.url();
    let by_flag = [&words[..], &["--to", &to]].concat();
    check(&inrush(folder.path(), &by_flag).env("INRUSH_TO", fake.url()).output().await.unwrap(), 0);
    assert_eq!((fake.documents("docs").len(), other.documents("docs").len()), (3, 3));
    let verify = ["verify", "a.ndjson", "--index", "docs", "--id", "id"];
    check(&inrush(folder.path(), &verify).env("INRUSH_TO", "http://no url/").output().await.unwrap(), 2);
    let wrong = inrush(folder.path(), &words).env("INRUSH_TO", "http://u:p@host:9200").output().await.unwrap();
    check(&wrong, 2);
    let text = stderr(&wrong);
    assert!(text.contains("INRUSH_TO") && !text.contains("u:p"), "{text}");
}

#[tokio::test]
async fn a_quiet_load_shows_the_warnings_of_its_report() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "id,name\n1,Ann\nid,name\n2,Bob\n").unwrap();
    let words = ["load", "a.csv", "--index", "docs", "--to", &fake.url(), "--quiet"];
    let output = run(folder.path(), &words).await;
    let (shown, loud) = (stderr(&output), run(folder.path(), &words[..words.len() - 1]).await);
    assert_eq!(stdout(&output), "");
    let warning =
        stdout(&loud).lines().find_map(|line| line.strip_prefix("warning").map(|text| text.trim().to_owned()));
    match warning {
        Some(warning) => assert!(shown.contains(&format!("warning: {warning}")), "{shown} lacks {warning}"),
        None => panic!("no warning in {}", stdout(&loud)),
    }
}
