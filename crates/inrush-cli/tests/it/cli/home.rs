//! Where a load keeps its state for users whose environment says nothing, as in cron, in containers
//! and in services.

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
