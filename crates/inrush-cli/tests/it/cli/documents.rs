//! Documents that are unlike each other, or unlike what the command says of them.

use super::*;

#[tokio::test]
async fn a_column_that_widens_below_its_sample_is_mapped_by_all_of_its_cells() {
    let (folder, _) = folder_with("a.csv", &format!("votes\n{}2866.0\n2866.5\n", "1\n".repeat(20_000)));
    let output = run(folder.path(), &["mapping", "a.csv", "--json"]).await;
    check(&output, 0);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["mapping"]["properties"]["votes"], serde_json::json!({"type": "double"}), "{json}");
    assert_eq!(json["notes"], serde_json::json!([]));
}

#[tokio::test]
async fn fields_of_two_kinds_go_in_as_the_flag_says() {
    let fake = fake([]).await;
    let to = fake.url();
    let text = "{\"o\":{\"a\":1},\"n\":1}\n{\"o\":{\"a\":2},\"n\":\"about 3\"}\n{\"o\":\"x\",\"n\":2}\n";
    let (folder, _) = folder_with("mixed.ndjson", text);
    for (mixed, docs) in [("keep", 3), ("ignore", 3)] {
        let index = format!("mixed-{mixed}");
        let load =
            ["load", "mixed.ndjson", "--index", &index, "--to", &to, "--map", "auto", "--mixed", mixed, "--json"];
        let output = run(folder.path(), &load).await;
        check(&output, 0);
        assert_eq!((report(&output)["docs_created"].as_u64(), fake.documents(&index).len()), (Some(docs), 3));
    }
}

#[tokio::test]
async fn a_dry_run_of_as_many_documents_as_it_reads_knows_that_these_are_all() {
    let fake = fake([]).await;
    let to = fake.url();
    for (count, all) in [(10_000, "all documents"), (10_001, "there are more")] {
        let (folder, _) = folder_with("a.ndjson", &lines(count));
        let output = run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--dry-run", "--to", &to]).await;
        check(&output, 0);
        let text = stdout(&output);
        assert!(text.contains(&format!("10,000 documents examined ({all})")), "{text}");
    }
}

#[tokio::test]
async fn a_field_to_drop_that_no_document_has_is_told() {
    let fake = fake([]).await;
    let to = fake.url();
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to];
    let commands = [
        [&load[..], &["--dry-run"]].concat(),
        load.to_vec(),
        [&load[..], &["--json"]].concat(),
        vec!["verify", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to],
    ];
    for command in commands {
        for (field, told) in [("pasword", true), ("n", false)] {
            let output = run(folder.path(), &[&command[..], &["--drop", field]].concat()).await;
            let text = stdout(&output) + &stderr(&output);
            assert_eq!(text.contains("no document had such a field"), told, "{command:?} --drop {field}: {text}");
            assert_eq!(text.contains("--drop pasword: "), told, "{command:?} --drop {field}: {text}");
        }
    }
}

#[tokio::test]
async fn a_bulk_body_makes_no_index_of_a_bad_name() {
    let fake = fake([]).await;
    let body = "{\"index\":{\"_index\":\"docs\",\"_type\":\"_doc\"}}\n{\"n\":1}\n{\"index\":{\"_index\":\"../x\"}}\n{\"n\":2}\n";
    let (folder, _) = folder_with("a.bulk", body);
    let load = ["load", "a.bulk", "--index", "other", "--dead-letters", "dead.ndjson", "--to", &fake.url()];
    check(&run(folder.path(), &load).await, 3);
    assert_eq!(fake.documents("docs").len(), 1);
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    assert!(letters.lines().count() == 1 && letters.contains("bad_index_name"), "{letters}");
    let asked = fake.requests().into_iter().find(|request| request.path.contains("..") || request.path.contains("%2E"));
    assert!(asked.is_none(), "{asked:?}");
}
