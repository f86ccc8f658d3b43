//! Files as other programs write them: MongoDB, Elasticsearch 1 to 8, pandas, web servers.

use super::*;

#[tokio::test]
async fn documents_of_mongodb_are_loaded_with_their_ids_and_values() {
    let fake = fake([]).await;
    let to = fake.url();
    let text = "{\"_id\":{\"$oid\":\"571e0000000000000000abcd\"},\"n\":{\"$numberLong\":\"9007199254740993\"}}\n\
                {\"_id\":\"plain\",\"at\":{\"$date\":\"2025-01-01T00:00:00Z\"},\"d\":[{\"$numberDecimal\":\"1.50\"}]}\n";
    let (folder, _) = folder_with("orders.json", text);
    let load = ["load", "orders.json", "--index", "orders", "--to", &to];
    let (said, errors) = check(&run(folder.path(), &load).await, 3);
    let told = said + &errors;
    for hint in ["--id '_id.$oid'", "--drop _id", "--extended-json", "MongoDB's extended JSON"] {
        assert!(told.contains(hint), "{hint}: {told}");
    }
    let (explained, _) = check(&run(folder.path(), &["explain", "mapper_parsing_exception"]).await, 0);
    assert!(explained.contains("--id '_id.$oid'") && explained.contains("--drop _id"), "{explained}");
    check(&run(folder.path(), &[&load[..], &["--extended-json", "--recreate", "--yes"]].concat()).await, 0);
    let documents = fake.documents("orders");
    let found = |id: &str| {
        let found = documents.iter().find(|one| one.id == id);
        found.map(|one| String::from_utf8(one.source.to_vec()).unwrap()).unwrap_or_default()
    };
    assert_eq!(found("571e0000000000000000abcd"), r#"{"n":9007199254740993}"#);
    assert_eq!(found("plain"), r#"{"at":"2025-01-01T00:00:00Z","d":[1.50]}"#);
    check(&run(folder.path(), &[&load[..], &["--format", "csv", "--extended-json"]].concat()).await, 2);
    check(&run(folder.path(), &[&load[..], &["--extended-json", "--action", "upsert"]].concat()).await, 0);
    for (option, value) in [("--id", "n"), ("--id-from", "content"), ("--sql", "SELECT * FROM input")] {
        let (_, stderr) =
            check(&run(folder.path(), &[&load[..], &["--extended-json", option, value]].concat()).await, 2);
        assert!(stderr.contains("--extended-json") && (option == "--sql" || stderr.contains(option)), "{stderr}");
    }
}

#[tokio::test]
async fn a_document_of_mongodb_without_an_id_is_a_dead_letter() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.json", "{\"n\":{\"$numberInt\":\"5\"}}\n{\"_id\":\"b\",\"n\":6}\n");
    let load =
        ["load", "a.json", "--extended-json", "--index", "a", "--to", &fake.url(), "--dead-letters", "dead.ndjson"];
    check(&run(folder.path(), &load).await, 3);
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    assert!(letters.lines().count() == 1 && letters.contains("missing_id"), "{letters}");
    assert_eq!(fake.documents("a").iter().map(|one| one.id.clone()).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn fields_of_the_server_are_named_with_what_to_do() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", "{\"_routing\":\"r\",\"n\":1}\n{\"_index\":\"x\",\"n\":2}\n");
    let load = ["load", "a.ndjson", "--index", "a", "--to", &fake.url()];
    let (said, errors) = check(&run(folder.path(), &load).await, 3);
    let told = said + &errors;
    assert!(told.contains("--routing _routing") && told.contains("--drop _index"), "{told}");
    check(&run(folder.path(), &[&load[..], &["--drop", "_routing,_index"]].concat()).await, 0);
}

#[tokio::test]
async fn dynamodb_is_told_from_documents() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.json", "{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"5\"}}}\n");
    let (said, errors) = check(&run(folder.path(), &["load", "a.json", "--index", "a", "--to", &fake.url()]).await, 0);
    assert!((said + &errors).contains("DynamoDB's JSON"));
}

#[tokio::test]
async fn hits_keep_their_routing_however_it_is_written() {
    let fake = fake([]).await;
    let text = "{\"_index\":\"s\",\"_type\":\"c\",\"_id\":\"c2\",\"fields\":{\"_routing\":\"p2\"},\"_source\":{\"n\":2}}\n\
                {\"_id\":\"c5\",\"_parent\":\"p5\",\"_source\":{\"n\":5}}\n\
                {\"_id\":\"c7\",\"fields\":{\"_routing\":[\"p7\"]},\"_source\":{}}\n\
                {\"_id\":\"c8\",\"_routing\":\"p8\",\"routing\":\"other\",\"_source\":{}}\n";
    let (folder, _) = folder_with("dump.json", text);
    let load =
        ["load", "dump.json", "--format", "hits", "--index", "a", "--to", &fake.url(), "--dead-letters", "dead.ndjson"];
    check(&run(folder.path(), &load).await, 3);
    let documents = fake.documents("a");
    let mut routed: Vec<_> = documents.iter().map(|one| (one.id.as_str(), one.routing.as_deref())).collect();
    routed.sort_unstable();
    assert_eq!(routed, [("c2", Some("p2")), ("c5", Some("p5")), ("c7", Some("p7"))]);
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    assert!(letters.lines().count() == 1 && letters.contains("two routing values"), "{letters}");
}

#[tokio::test]
async fn pages_and_pointers_are_no_data() {
    let fake = fake([]).await;
    for (name, text, expected) in [
        ("export.csv", "<!DOCTYPE html>\n<html><title>Log in</title></html>\n", "an HTML page with the title"),
        ("data.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        ("app.log", "\u{FEFF}\n<!-- x -->\n<html>\n", "an HTML page"),
        ("a.ndjson", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "AccessDenied"),
    ] {
        let (folder, _) = folder_with(name, text);
        let (_, errors) = check(&run(folder.path(), &["load", name, "--index", "a", "--to", &fake.url()]).await, 2);
        assert!(errors.contains(expected), "{name}: {errors}");
    }
    assert!(fake.documents("a").is_empty());
}
