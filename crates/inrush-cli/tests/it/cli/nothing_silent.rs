//! What a program that reads the JSON of a load learns: refusals, failures, warnings; and what is
//! not told with words that fit something else.

use inrush_fake::{Fault, Faults, Rule};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use super::{check, fake, folder_with, inrush, lines, report, run, stderr, stdout};

#[tokio::test]
async fn a_refusal_and_a_failure_are_json_where_that_is_asked_for() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let to = fake.url();
    let job = format!("sources = ['none.ndjson']\nindex = 'a'\nto = '{to}'\njson = true\n");
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    for (arguments, status, code, part) in [
        (&["load", "a.ndjson", "--json", "--to", &to][..], 2, "missing_option", "no index given"),
        (&["load", "a.ndjson", "--json", "--such"], 2, "unknown_option", "--such"),
        (&["load", "--job", "job.toml"], 2, "no_such_file", "none.ndjson"),
        (&["load", "a.ndjson", "--index", "a", "--to", "http://127.0.0.1:1", "--json"], 1, "unreachable", "127.0.0.1"),
    ] {
        let output = run(folder.path(), arguments).await;
        check(&output, status);
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(
            (told["exit_status"].as_i64(), &told["failure_code"]),
            (Some(status.into()), &json!(code)),
            "{told}"
        );
        assert_eq!(told["status"], if status == 2 { "refused" } else { "failed" }, "{told}");
        assert!(told["failure"].as_str().unwrap().contains(part), "{told}");
        assert!(stderr(&output).contains(&format!("error[{code}]")), "{}", stderr(&output));
    }
    let output = run(folder.path(), &["load", "a.ndjson", "--to", &to]).await;
    check(&output, 2);
    assert_eq!(stdout(&output), "");
}

#[tokio::test]
async fn warnings_have_codes_and_can_be_failures() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.csv", "id,name\n1,a\n2,b\n");
    std::fs::write(folder.path().join("bad.csv"), "id,name,name\n1,a,b\n2,b,c\n").unwrap();
    let client = Client::new(&fake.url()).unwrap();
    client.json("PUT", "/shop-1", json!({"aliases": {"shop": {}}})).await.unwrap();
    let to = fake.url();
    let load = |file: &'static str| ["load", file, "--alias", "shop", "--id", "id", "--to"];
    let warned = async |file: &'static str, more: &[&str]| {
        run(folder.path(), &[&load(file)[..], &[&to, "--json"], more].concat()).await
    };
    let output = warned("bad.csv", &["--fail-on-warning"]).await;
    check(&output, 4);
    let told = report(&output);
    let detail = &told["warning_details"][0];
    let (code, column) = (&detail["code"], &detail["column"]);
    assert_eq!((code, column, &detail["count"]), (&json!("duplicate_column"), &json!("name"), &json!(1)), "{told}");
    assert_eq!((&detail["source"], &detail["text"]), (&json!("bad.csv"), &told["warnings"][0]), "{told}");
    assert!(told["finish"]["failure"].as_str().unwrap().contains("--fail-on-warning: there is a warning"), "{told}");
    assert_eq!((&told["swap"]["swapped"], fake.aliases("shop-1")["shop"].is_null()), (&json!(false), false));
    check(&warned("bad.csv", &[]).await, 0);
    check(&warned("a.csv", &["--fail-on-warning"]).await, 0);
}

#[tokio::test]
async fn a_delete_that_finds_nothing_is_not_all_documents_in() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    std::fs::write(folder.path().join("gone.csv"), "id\nx\ny\n").unwrap();
    std::fs::write(folder.path().join("some.csv"), "id\ni1\ny\n").unwrap();
    std::fs::write(folder.path().join("many.csv"), "id\n\" i2 \"\n1\n2\n3\n4\n5\n6\n").unwrap();
    let to = fake.url();
    check(&run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to]).await, 0);
    let delete = |file: &'static str| ["load", file, "--index", "docs", "--id", "id", "--action", "delete", "--to"];
    let output = run(folder.path(), &[&delete("gone.csv")[..], &[&to]].concat()).await;
    check(&output, 0);
    let text = stdout(&output);
    assert!(text.starts_with("result          no document was deleted: 2 ids not found\n"), "{text}");
    assert!(text.contains("no document was found to delete"), "{text}");
    assert!(text.contains("\nids not found   \"x\", \"y\"\n"), "{text}");
    let text = stdout(&run(folder.path(), &[&delete("many.csv")[..], &[&to]].concat()).await);
    assert!(text.contains("\" i2 \", \"1\", \"2\", \"3\", \"4\" and 2 more\n"), "{text}");
    let output = run(folder.path(), &[&delete("some.csv")[..], &[&to]].concat()).await;
    assert!(stdout(&output).contains("1 document deleted, 1 id not found"), "{}", stdout(&output));
    let told = report(&run(folder.path(), &[&delete("some.csv")[..], &[&to, "--json"]].concat()).await);
    assert_eq!(told["not_found_ids"], json!(["i1", "y"]));
    check(&run(folder.path(), &[&delete("gone.csv")[..], &[&to, "--fail-on-warning"]].concat()).await, 4);
}

#[tokio::test]
async fn a_variable_that_is_not_known_is_named() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--quiet"];
    let with = async |name: &str, more: &[&str]| {
        let mut command = inrush(folder.path(), &[&load[..], more].concat());
        command.env(name, "x").output().await.unwrap()
    };
    let output = with("INRUSH_PASWORD", &[]).await;
    check(&output, 0);
    assert!(stderr(&output).starts_with("warning: the environment variable INRUSH_PASWORD is not known"));
    assert!(!stderr(&with("INRUSH_SEED", &[]).await).contains("INRUSH_SEED"));
    // One that a flag names is the user's own.
    let named = with("INRUSH_OWN", &["--user", "u", "--password-env", "INRUSH_OWN"]).await;
    assert!(!stderr(&named).contains("is not known"), "{}", stderr(&named));
}

#[tokio::test]
async fn an_id_in_other_letters_is_refused_before_the_first_row() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.csv", "id,name\n1,a\n2,b\n");
    let to = fake.url();
    let output = run(folder.path(), &["load", "a.csv", "--index", "docs", "--id", "ID", "--to", &to]).await;
    check(&output, 2);
    assert!(stderr(&output).contains("did you mean --id id?"), "{}", stderr(&output));
    std::fs::write(folder.path().join("b.csv"), "order_no , name\n1, a\n").unwrap();
    for (arguments, hint) in [
        (&["load", "a.csv", "--index", "docs", "--routing", "Name"][..], "did you mean --routing name?"),
        (&["load", "a.csv", "--index", "docs-{Name}"], "did you mean {name}?"),
        (&["load", "b.csv", "--index", "docs", "--id", "OrderNo"], "they have \"order_no \", with blanks in its name"),
    ] {
        let output = run(folder.path(), &[arguments, &["--to", &to]].concat()).await;
        check(&output, 2);
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
    assert!(fake.indices().is_empty());
    let output = run(folder.path(), &["load", &format!("{to}/a,{to}/b"), "--index", "docs", "--to", &to]).await;
    check(&output, 2);
    assert!(stderr(&output).contains("several indices of one cluster are one address"), "{}", stderr(&output));
    let output = run(folder.path(), &["explain", "429"]).await;
    check(&output, 0);
}

/// An inferred mapping is that of a new index, and its findings are warnings of that load.
#[tokio::test]
async fn findings_of_an_inferred_mapping_are_warnings_of_the_report() {
    let fake = fake([]).await;
    let prices: String = (1..200).map(|n| format!("{{\"id\":{n},\"p\":{n}.5}}\n")).collect();
    let (folder, _) = folder_with("a.ndjson", &format!("{prices}{{\"id\":200,\"p\":\"on request\"}}\n"));
    std::fs::write(folder.path().join("b.ndjson"), "{\"o\":{\"x\":1}}\n{\"o\":5}\n").unwrap();
    std::fs::write(folder.path().join("m.json"), "{}").unwrap();
    let to = fake.url();
    let load = ["load", "a.ndjson", "--id", "id", "--to", &to, "--json", "--quiet", "--fail-on-warning", "--index"];
    let run_it = async |more: &[&str]| run(folder.path(), &[&load[..], more].concat()).await;
    let output = run_it(&["t", "--map", "auto"]).await;
    check(&output, 4);
    let told = report(&output);
    let details = told["warning_details"].as_array().unwrap();
    assert_eq!((details.len(), &details[0]["code"], &details[0]["column"]), (1, &json!("mixed_types"), &json!("p")));
    assert!(details[0]["text"].as_str().unwrap().starts_with("--map auto: p is a decimal number 199 times"), "{told}");
    let mixed = ["load", "b.ndjson", "--to", &to, "--json", "--quiet", "--index", "mixed"];
    let output = run(folder.path(), &[&mixed[..], &["--map", "auto", "--mixed", "keep"]].concat()).await;
    check(&output, 0);
    assert_eq!(report(&output)["warning_details"][0]["column"], "o", "{}", stdout(&output));
    // The next nights.
    let again = run_it(&["t", "--map", "auto"]).await;
    check(&again, 0);
    assert_eq!((report(&again)["warnings"].as_array().unwrap().len(), stderr(&again)), (0, String::new()));
    let again = run_it(&["t", "--mapping", "m.json", "--shards", "2", "--log-level", "warn"]).await;
    check(&again, 0);
    assert_eq!(report(&again)["warnings"], json!([]));
    assert!(stderr(&again).contains("so --mapping, --shards have no effect"), "{}", stderr(&again));
}

/// A load that reads the same again. What each such load meets is in the log only.
#[tokio::test]
async fn what_the_log_warns_of_stands_in_the_report() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.csv", "id,name,name\n1,a,b\n2,b,c\n");
    let to = fake.url();
    let load = ["load", "a.csv", "--id", "id", "--to", &to, "--json", "--index", "t", "--shards", "1"];
    fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["2"])]));
    check(&run(folder.path(), &[&load[..], &["--strict"]].concat()).await, 1);
    fake.set_faults(Faults::default());
    let output = run(folder.path(), &[&load[..], &["--fail-on-warning"]].concat()).await;
    check(&output, 4);
    let told = report(&output);
    let (warnings, log) = (told["warnings"].to_string(), stderr(&output));
    let of_the_log = ["did not end complete; this run starts from the beginning", "so --shards has no effect"];
    for text in of_the_log {
        assert!(log.contains(text) && !warnings.contains(text), "{text}: {log}{told}");
    }
    assert!(told["finish"]["failure"].as_str().unwrap().contains("there is a warning"), "{told}");
    let is_of_both = |line: &&str| line.contains("WARN") && !of_the_log.iter().any(|text| line.contains(text));
    for line in log.lines().filter(is_of_both) {
        let text = line.split_once("WARN ").unwrap().1.trim();
        assert!(warnings.contains(&text[..40.min(text.len())]), "{line}: {warnings}");
    }
}
