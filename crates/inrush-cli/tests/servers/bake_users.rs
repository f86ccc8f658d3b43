//! Bakes by root. All other tests run as an ordinary user.

use std::process::Stdio;

use inrush_testbed::users;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::program;
use crate::server::{self, Server, Version};

const DOCS: u64 = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn by_root() {
    if !users::may_change_for("bake_users::by_root") {
        return;
    }
    let folder = server::folder();
    server::make_shared(&folder.join("shared"));
    let settings = vec![("path.repo".to_owned(), format!("{:?}", folder.join("shared")))];
    let target =
        Server::own_with(Version::OpenSearch3, 2, |spec| (spec.heap_mib, spec.settings) = (600, settings)).await;
    let lines: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(folder.join("documents.ndjson"), lines).unwrap();
    let mapping = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}}}).to_string();
    std::fs::write(folder.join("mapping.json"), mapping).unwrap();
    for engine in ["native", "server"] {
        let mut bake = Command::from(program::inrush_as("root", 0o022));
        bake.args(["bake", "documents.ndjson", "--index", engine, "--engine", engine, "--id", "id", "--json"]);
        bake.args(["--to", &target.url(), "--repository-path", "shared", "--mapping", "mapping.json"]);
        bake.args(["--replicas", "0"]).args(if engine == "server" { &["--builder-heap", "600m"][..] } else { &[] });
        bake.current_dir(&folder).env("XDG_STATE_HOME", folder.join("state")).stdin(Stdio::null());
        let output = bake.output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engine}: {errors}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["bake"]["left"], json!([]), "{engine}: {report}");
        assert_eq!(target.count(engine).await, DOCS, "{engine}");
        assert_eq!(target.send("GET", "/_snapshot", Value::Null).await, json!({}), "{engine}");
        assert_eq!(std::fs::read_dir(folder.join("shared")).unwrap().count(), 0, "{engine}");
    }
    target.stop().await;
    users::delete(&folder).unwrap();
}
