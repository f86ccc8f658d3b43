//! The cluster repeats operations itself where a primary fails. What a load then says is true: no
//! document is a dead letter that is in, and no client is named that is not known.

use serde_json::json;

use super::*;

/// A primary changes in every third request.
fn changes() -> Rule {
    Rule::new(Fault::PrimaryChanges).every_nth(3)
}

/// Loads the file `a.ndjson` of the folder with these arguments. Returns the report and the status.
async fn loaded(folder: &std::path::Path, fake: &FakeCluster, more: &[&str]) -> (Value, Option<i32>) {
    let to = fake.url();
    let fixed = ["load", "a.ndjson", "--to", &to, "--json", "--batch-docs", "50", "--in-flight", "1"];
    let output = run(folder, &[&fixed[..], more].concat()).await;
    assert!(!stderr(&output).contains("another client"), "{}", stderr(&output));
    (report(&output), output.status.code())
}

fn count(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap()
}

/// Everything is in, each document once, and no client is named.
#[track_caller]
fn is_right((report, status): &(Value, Option<i32>)) {
    assert_eq!((*status, count(report, "docs_dead_lettered")), (Some(0), 0), "{report}");
    let verified = &report["verified"];
    assert_eq!(verified["state"], "yes", "{report}");
    assert!(!verified["detail"].as_str().unwrap().contains("client"), "{report}");
}

#[tokio::test]
async fn a_create_without_an_id_that_met_its_own_copy_is_created() {
    for (index, more) in [
        ("docs", &[][..]),
        ("alias", &[]),
        ("stream", &[]),
        ("docs", &["--on-conflict", "compare"]),
        ("docs", &["--on-conflict", "skip"]),
        ("docs-{n}", &[]),
    ] {
        let fake = fake([changes()]).await;
        fake.call("PUT", "/behind", json!({"aliases": {"alias": {"is_write_index": true}}})).unwrap();
        let template = json!({"index_patterns": ["stream"], "data_stream": {}});
        fake.call("PUT", "/_index_template/streams", template).unwrap();
        let text: String = (0..600).map(|n| format!("{{\"@timestamp\":{n},\"n\":{}}}\n", n % 2)).collect();
        let (folder, _) = folder_with("a.ndjson", &text);
        let (report, status) =
            loaded(folder.path(), &fake, &[&["--action", "create", "--index", index], more].concat()).await;
        assert_eq!((status, count(&report, "docs_created")), (Some(0), 600), "{index}: {report}");
        assert_eq!(count(&report, "docs_dead_lettered") + count(&report, "docs_conflicting"), 0, "{report}");
        assert!(!report["verified"].to_string().contains("client"), "{index}: {report}");
        if index != "stream" {
            assert_eq!(report["verified"]["state"], "yes", "{index}: {report}");
        }
        let names = fake.indices().into_iter().filter(|name| !name.starts_with("inrush"));
        assert_eq!(names.map(|name| fake.documents(&name).len()).sum::<usize>(), 600, "{index}");
    }
}

#[tokio::test]
async fn new_documents_that_are_answered_as_updates_are_explained() {
    for more in [&["--index", "docs"][..], &["--index", "docs", "--id", "id"], &["--index", "docs-{id}", "--id", "n"]] {
        let fake = fake([changes()]).await;
        let text: String = (0..600).map(|n| format!("{{\"id\":\"i{}\",\"n\":{n}}}\n", n % 300 / 150)).collect();
        let text = if more.contains(&"docs-{id}") { text } else { lines(600) };
        let (folder, _) = folder_with("a.ndjson", &text);
        let report = loaded(folder.path(), &fake, more).await;
        is_right(&report);
        assert_eq!(count(&report.0, "docs_created") + count(&report.0, "docs_updated"), 600);
        assert!(count(&report.0, "docs_updated") > 0, "{report:?}");
    }
}

#[tokio::test]
async fn a_create_with_an_id_that_met_its_own_copy_is_there() {
    for choice in ["fail", "skip", "compare"] {
        let fake = fake([changes()]).await;
        let (folder, _) = folder_with("a.ndjson", &lines(600));
        let arguments = ["--action", "create", "--index", "docs", "--id", "id", "--on-conflict", choice];
        let report = loaded(folder.path(), &fake, &arguments).await;
        is_right(&report);
        let there = count(&report.0, "docs_already_there");
        assert_eq!((count(&report.0, "docs_created") + there, there > 0), (600, true), "{report:?}");
        assert_eq!(count(&report.0, "uncertain_creates"), there);
        assert_eq!(fake.documents("docs").len(), 600);

        // The same file again: the documents were there before, also where the cluster repeats.
        let (again, status) = loaded(folder.path(), &fake, &arguments).await;
        let bucket = match choice {
            "fail" => "docs_dead_lettered",
            "skip" => "docs_conflicting",
            _ => "docs_already_there",
        };
        assert_eq!((count(&again, bucket), count(&again, "uncertain_creates")), (600, 0), "{again}");
        assert_eq!(status, Some(if choice == "fail" { 3 } else { 0 }));
    }
}

#[tokio::test]
async fn a_document_of_another_client_is_a_conflict_also_where_primaries_change() {
    let fake = fake([changes()]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(600));
    // Other content, and the same.
    for n in [7, 130, 131] {
        let document = json!({"id": format!("i{n}"), "n": if n == 130 { 0 } else { n }});
        fake.call("PUT", &format!("/docs/_doc/i{n}"), document).unwrap();
    }
    let arguments = ["--action", "create", "--index", "docs", "--id", "id"];
    let (report, status) = loaded(folder.path(), &fake, &arguments).await;
    assert_eq!((status, count(&report, "docs_dead_lettered")), (Some(3), 3), "{report}");
    assert_eq!(fake.documents("docs").len(), 600);
}

#[tokio::test]
async fn all_kinds_of_operations_come_to_their_end() {
    for more in [&[][..], &["--on-conflict", "compare"]] {
        let fake = fake([changes()]).await;
        let mut text = String::new();
        for n in 0..600 {
            let id = n % 100;
            text += &match n / 100 {
                0 => format!("{{\"create\":{{\"_id\":\"{id}\"}}}}\n{{\"n\":{n}}}\n"),
                1 => format!("{{\"update\":{{\"_id\":\"{id}\"}}}}\n{{\"doc\":{{\"m\":{n}}}}}\n"),
                2 => format!("{{\"delete\":{{\"_id\":\"{id}\"}}}}\n"),
                3 => format!("{{\"update\":{{\"_id\":\"{id}\"}}}}\n{{\"doc\":{{\"n\":{n}}},\"doc_as_upsert\":true}}\n"),
                4 => format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{{\"n\":{n}}}\n"),
                _ => format!("{{\"create\":{{\"_id\":\"x{id}\"}}}}\n{{\"n\":{n}}}\n"),
            };
        }
        let (folder, _) = folder_with("a.ndjson", &text);
        let report = loaded(folder.path(), &fake, &[&["--index", "docs", "--format", "bulk"], more].concat()).await;
        is_right(&report);
        assert_eq!(fake.documents("docs").len(), 200);
        assert!(count(&report.0, "docs_not_found") > 0 && count(&report.0, "docs_noop") > 0, "{report:?}");
    }
}

#[tokio::test]
async fn an_operation_with_a_version_that_met_itself_is_there() {
    let fake = fake([changes()]).await;
    let mut text = String::new();
    for n in 0..600 {
        let (id, version) = (n % 300, 5 + n / 300);
        let action = if n < 300 || n % 2 == 0 { "index" } else { "delete" };
        text += &format!("{{\"{action}\":{{\"_id\":\"{id}\",\"version\":{version},\"version_type\":\"external\"}}}}\n");
        if action == "index" {
            text += &format!("{{\"n\":{n}}}\n");
        }
    }
    let (folder, _) = folder_with("a.ndjson", &text);
    let arguments = ["--index", "docs", "--format", "bulk"];
    let report = loaded(folder.path(), &fake, &arguments).await;
    is_right(&report);
    assert_eq!(fake.documents("docs").len(), 150);
    assert!(count(&report.0, "uncertain_deletes") > 0, "{report:?}");
    // Again: each version is there already. A deleted document does not tell when it was deleted.
    let (again, status) = loaded(folder.path(), &fake, &arguments).await;
    let (letters, deleted) = (count(&again, "docs_dead_lettered"), count(&again, "docs_not_found"));
    assert_eq!((status, letters + deleted, letters >= 450), (Some(3), 600, true), "{again}");
}

#[tokio::test]
async fn dead_letters_of_documents_that_are_in_are_not_stored_again() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(20));
    let (_, status) = loaded(folder.path(), &fake, &["--action", "create", "--index", "docs"]).await;
    assert_eq!(status, Some(0));
    // What an earlier release wrote of documents that the cluster had repeated.
    let letters: String = fake
        .documents("docs")
        .iter()
        .enumerate()
        .map(|(line, document)| {
            let reason = format!("[{}]: version conflict, document already exists (current version [1])", document.id);
            let error = json!({"status": 409, "type": "version_conflict_engine_exception", "reason": reason});
            let position = json!({"source": "a.ndjson", "partition": 0, "doc": line, "line": line + 1, "byte": 0});
            format!(
                "{}\n",
                json!({"error": error, "position": position, "action": {"create": {}}, "document": document.json()})
            )
        })
        .collect();
    std::fs::write(folder.path().join("letters.ndjson"), letters).unwrap();
    let to = fake.url();
    let arguments = ["load", "--from-dead-letters", "letters.ndjson", "--to", &to, "--json", "--index"];
    let output = run(folder.path(), &[&arguments[..], &["docs"]].concat()).await;
    check(&output, 0);
    let told = report(&output);
    assert_eq!((fake.documents("docs").len(), count(&told, "docs_already_there")), (20, 20), "{told}");
    assert_eq!(told["verified"]["state"], "yes", "{told}");
    // Another index has none of them.
    let output = run(folder.path(), &[&arguments[..], &["other"]].concat()).await;
    check(&output, 0);
    assert_eq!((fake.documents("other").len(), count(&report(&output), "docs_created")), (20, 20));
}

#[tokio::test]
async fn what_another_client_wrote_is_told_by_the_operations_of_the_shards() {
    for deletes in [false, true] {
        let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(4).first(1)]).await;
        let (folder, _) = folder_with("a.ndjson", &lines(600));
        let to = fake.url();
        let arguments = ["load", "a.ndjson", "--to", &to, "--json", "--batch-docs", "50", "--in-flight", "1"];
        let command = [&arguments[..], &["--index", "docs", "--id", "id"]].concat();
        let load = inrush(folder.path(), &command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        fake.wait_for_held(1).await;
        for n in 0..3 {
            match deletes {
                true => fake.call("DELETE", &format!("/docs/_doc/i{n}"), Value::Null).unwrap(),
                false => fake.call("PUT", &format!("/docs/_doc/theirs{n}"), json!({"n": 1})).unwrap(),
            };
        }
        fake.release_held();
        let output = load.wait_with_output().await.unwrap();
        check(&output, 4);
        let told = report(&output);
        let (fewer, detail) = (if deletes { "fewer" } else { "more" }, told["verified"]["detail"].as_str().unwrap());
        assert!(detail.contains(&format!("3 {fewer} than")), "{detail}");
        assert!(detail.contains("3 operations more than this load sent, of another client"), "{detail}");
    }
}

#[tokio::test]
async fn without_the_right_to_see_the_shards_nothing_is_claimed() {
    let forbidden = Rule::new(Fault::RequestForbidden).path("/_cluster/state");
    let fake = fake([forbidden, Rule::new(Fault::PrimaryChanges).after(3).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(600));
    let (told, status) = loaded(folder.path(), &fake, &["--index", "docs", "--id", "id"]).await;
    assert_eq!((status, &told["verified"]["state"]), (Some(0), &json!("not provable")), "{told}");
    let detail = told["verified"]["detail"].as_str().unwrap();
    assert!(detail.contains("50 more than") && detail.contains("the shards could not be read"), "{detail}");
}

#[tokio::test]
async fn a_node_that_restarts_while_documents_are_looked_up_is_waited_for() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(20));
    let (_, status) = loaded(folder.path(), &fake, &["--index", "docs", "--id", "id"]).await;
    assert_eq!(status, Some(0));
    fake.set_faults(Rule::new(Fault::Unavailable).path("/_mget").first(8));
    let to = fake.url();
    let output = run(folder.path(), &["verify", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to]).await;
    check(&output, 0);
    assert_eq!(fake.faults_applied(), 8);
}
