//! Flags about odd data work wherever such flags do, and are refused where they mean nothing.

use super::*;

/// A file, the flags that read it, the same as keys of a job file, and how many documents it has.
type Odd = (&'static str, &'static str, &'static [&'static str], &'static str, u64);

const ODD: [Odd; 4] = [
    (
        "pages.json",
        "{\"data\":{\"rows\":[{\"id\":1},\n {\"id\":2}]}}{\"data\":{\"rows\":[{\"id\":3}]}}",
        &["--format", "json", "--records", "data.rows"],
        "format = 'json'\nrecords = 'data.rows'\n",
        3,
    ),
    ("pretty.json", "{\n  \"id\": 1\n}\n{\"id\":2} {\"id\":3}", &["--format", "json"], "format = 'json'\n", 3),
    (
        "reply.json",
        "{\"hits\":{\"hits\":[{\"_id\":\"x\",\"_source\":{\"id\":1}}]}}",
        &["--format", "hits", "--records", "/hits/hits"],
        "format = 'hits'\nrecords = '/hits/hits'\n",
        1,
    ),
    ("escaped.csv", "id,t\n1,\"x\\\"y\"\n2,\\N\n", &["--escape", "\\"], "escape = '\\'\n", 2),
];

#[tokio::test]
async fn odd_files_are_read_by_every_command() {
    let fake = fake([]).await;
    let to = fake.url();
    for (name, text, flags, keys, docs) in ODD {
        let (folder, _) = folder_with(name, text);
        let run = async |arguments: &[&str], flags: &[&str]| {
            let output = run(folder.path(), &[arguments, flags].concat()).await;
            check(&output, 0);
            output
        };
        run(&["convert", name, "out.ndjson"], flags).await;
        let converted = std::fs::read_to_string(folder.path().join("out.ndjson")).unwrap();
        assert_eq!(converted.lines().count() as u64, docs, "convert {name}: {converted}");
        let found: Value = serde_json::from_str(&stdout(&run(&["mapping", name, "--json"], flags).await)).unwrap();
        assert_eq!(found["docs"], docs, "mapping {name}: {found}");
        let index = name.split('.').next().unwrap();
        let loaded = report(&run(&["load", name, "--json", "--id", "id", "--to", &to, "--index", index], flags).await);
        assert_eq!(loaded["docs_indexed"], docs, "load {name}: {loaded}");
        run(&["verify", name, "--id", "id", "--to", &to, "--index", index], flags).await;
        let dry = ["load", name, "--dry-run", "--json", "--id", "id", "--to", &to, "--index", "dry"];
        let looked: Value = serde_json::from_str(&stdout(&run(&dry, flags).await)).unwrap();
        assert_eq!(looked["docs_looked_at"], docs, "dry run of {name}: {looked}");
        let job = format!("sources = ['{name}']\nindex = '{index}-job'\nid = 'id'\nto = '{to}'\n{keys}");
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        let loaded = report(&run(&["load", "--job", "job.toml", "--json"], &[]).await);
        assert_eq!(loaded["docs_indexed"], docs, "job of {name}: {loaded}");
    }
}

#[tokio::test]
async fn a_tolerance_holds_from_a_job_file_as_from_the_command_line() {
    let fake = fake([]).await;
    let to = fake.url();
    let (folder, _) = folder_with("a.ndjson", "{\"id\":1,\"o\":1}\n{\"id\":2,\"o\":{\"x\":1}}\n{\"n\":1}\n");
    std::fs::write(folder.path().join("empty.ndjson"), "").unwrap();
    for (number, (keys, flags, code)) in [
        ("", "", 3),
        ("tolerate = 1", "--tolerate 1", 0),
        ("tolerate = '34%'", "--tolerate 34%", 0),
        ("tolerate = '33%'", "--tolerate 33%", 3),
    ]
    .into_iter()
    .enumerate()
    {
        let (index, index_of_job) = (format!("t-{number}"), format!("j-{number}"));
        let common = "sources = ['a.ndjson']\nid = 'id'\nmap = 'auto'\nmixed = 'keep'";
        let job = format!("{common}\nindex = '{index_of_job}'\nto = '{to}'\n{keys}\n");
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        check(&run(folder.path(), &["load", "--job", "job.toml"]).await, code);
        let told: Vec<&str> = flags.split_whitespace().collect();
        let load =
            ["load", "a.ndjson", "--id", "id", "--map", "auto", "--mixed", "keep", "--to", &to, "--index", &index];
        check(&run(folder.path(), &[&load[..], &told].concat()).await, code);
        assert_eq!((fake.documents(&index).len(), fake.documents(&index_of_job).len()), (2, 2), "{flags}");
    }
    let swap = |keys: &str| format!("sources = ['empty.ndjson']\nalias = 'shop'\nto = '{to}'\n{keys}\n");
    let old =
        ["load", "a.ndjson", "--id", "id", "--tolerate", "2", "--to", &to, "--index", "shop-1", "--alias", "shop"];
    check(&run(folder.path(), &old).await, 0);
    for (keys, code) in [("", 4), ("allow_shrink = 'any'", 4), ("allow_shrink = 'any'\nallow_empty = true", 0)] {
        std::fs::write(folder.path().join("job.toml"), swap(&format!("{keys}\nindex = 'shop-{}'", keys.len())))
            .unwrap();
        check(&run(folder.path(), &["load", "--job", "job.toml"]).await, code);
    }
}

#[tokio::test]
async fn what_means_nothing_is_refused_and_not_left_out() {
    let (folder, _) = folder_with("a.csv", "a,b\n1,2\n");
    std::fs::write(folder.path().join("a.smile"), b":)\n\x00\xFA\xFB").unwrap();
    std::fs::create_dir(folder.path().join("shared")).unwrap();
    for (arguments, expected) in [
        ("convert a.csv o.ndjson --records a.b", "--records is for JSON, and the format is csv"),
        ("convert a.smile o.ndjson --records a.b", "--records is for JSON, and the format is smile"),
        ("convert a.csv o.ndjson --format ndjson --escape e", "--escape is for CSV"),
        ("convert a.csv o.ndjson --format csv --workbook-bytes 1GiB", "--workbook-bytes is for workbooks"),
        ("mapping sqlite:///a.db --db-table t --records a.b", "--records does not apply to the database sqlite"),
        (
            "verify sqlite:///a.db --db-table t --index t --format json",
            "--format does not apply to the database sqlite",
        ),
        ("load --table t=a.csv --sql SELECT --index t --escape e", "--escape is for a SOURCE"),
        ("mapping http://127.0.0.1:1/index --records a.b", "--records does not apply to the index"),
        ("load a.csv --index t --mixed keep", "add --map auto"),
        ("load a.csv --index t --allow-shrink any", "--allow-shrink needs --alias"),
        ("bake a.csv --index t --repository-path shared --to local", "the local node does not run"),
        ("bake a.csv --index t --repository-path shared", "the local node does not run"),
        ("bake a.csv --index t --repository-path shared --mixed keep --to http://127.0.0.1:1", "add --map auto"),
        ("bake a.csv --index t --repository-path shared --once --to http://127.0.0.1:1", "--once is for `inrush load`"),
        ("recover --to local", "the local node does not run"),
    ] {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = run(folder.path(), &arguments).await;
        let text = stderr(&output);
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
        assert!(!folder.path().join("o.ndjson").exists(), "{arguments:?}");
    }
}
