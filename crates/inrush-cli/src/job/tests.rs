use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use inrush::config::Tolerance;

use super::values::resolve;
use super::*;

fn job(text: &str, command_line: &[&str]) -> Result<Job, UsageError> {
    let command_line: Vec<OsString> = command_line.iter().map(OsString::from).collect();
    parse(text, Path::new("jobs/j.toml"), false, &command_line)
}

fn problem(text: &str) -> String {
    let error = anyhow::Error::new(job(text, &[]).unwrap_err());
    let mut out = Vec::new();
    crate::failure::print(&error, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn keys_are_flags_with_underscores_or_dashes() {
    let args = job(
        r#"
        sources = ["a.csv", "b/*.csv", "-", "/abs.csv"]
        index = "trips"
        to = ["https://a:9200", "https://b:9200"]
        batch-bytes = "4MiB"
        batch_docs = 100
        linger = "5s"
        no_verify = true
        quiet = false
        drop = "x"
        null = ["NA", "-99"]
        version = "v"
        dead_letters = "dead.ndjson"
        verbose = 2
        "#,
        &[],
    )
    .unwrap()
    .args;
    assert_eq!(args.source.sources, ["jobs/a.csv", "jobs/b/*.csv", "-", "/abs.csv"]);
    assert_eq!(args.source.reading.null, ["NA", "-99"]);
    assert_eq!(args.index.index.unwrap().as_str(), "trips");
    assert_eq!(args.index.to, ["https://a:9200", "https://b:9200"]);
    assert_eq!(args.sizes.batch_bytes, Some(4 << 20));
    assert_eq!(args.sizes.batch_docs, Some(100));
    assert_eq!(args.sizes.linger, Some(Duration::from_secs(5)));
    assert!(args.errors.no_verify);
    assert!(!args.output.quiet);
    assert_eq!(args.index.drop, ["x".parse().unwrap()]);
    assert_eq!(args.index.version_field, Some("v".parse().unwrap()));
    assert_eq!(args.errors.dead_letters, Some(PathBuf::from("jobs/dead.ndjson")));
    assert_eq!(args.output.log.verbose, 2);
}

#[test]
fn a_mapping_may_be_a_table() {
    let text = "index = 'a'\n[mapping.properties.n]\ntype = 'long'\n[settings.settings]\nnumber_of_shards = 2";
    let job = self::job(text, &[]).unwrap();
    assert_eq!(job.mapping, Some(serde_json::json!({"properties": {"n": {"type": "long"}}})));
    assert_eq!(job.settings, Some(serde_json::json!({"number_of_shards": 2})));
    let job = self::job(text, &["--mapping", "m.json", "--settings", "s.json"]).unwrap();
    assert_eq!((job.mapping, job.settings), (None, None));
    assert_eq!(self::job(text, &["--map", "auto"]).unwrap().mapping, None);
    assert!(problem(&format!("map = 'auto'\n{text}")).contains("one origin"));
}

#[test]
fn the_command_line_wins() {
    let text = r#"
        sources = ["a.ndjson"]
        index = "a"
        drop = ["x", "y"]
        user = "u"
        password_file = "p"
    "#;
    let args = job(text, &["--index", "b", "--drop", "z", "--api-key-file", "k", "other.ndjson"]).unwrap().args;
    assert_eq!(args.source.sources, ["other.ndjson"]);
    assert_eq!(args.index.index.unwrap().as_str(), "b");
    assert_eq!(args.index.drop, ["z".parse().unwrap()]);
    assert_eq!(args.auth.api_key_file, Some(PathBuf::from("k")));
    assert_eq!((args.auth.user, args.auth.password_file), (None, None), "another way to log in replaces the whole");

    let args = job(text, &["--from-dead-letters", "d.ndjson"]).unwrap().args;
    assert!(args.source.sources.is_empty());
    assert_eq!(args.index.drop.len(), 2);
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    assert_eq!(
        problem("batch_byte = 1"),
        "error: jobs/j.toml: unknown key `batch_byte`\nhint: did you mean `batch_bytes`?\n"
    );
    assert!(problem("source = 'x'").contains("did you mean `sources`?"));
    assert!(problem("index_patterns = 1").contains("hint:"));
    assert!(problem("job = 'other.toml'").contains("unknown key `job`"));
    assert!(problem("zzz = 1").contains("keys are the long flags"));
}

#[test]
fn secrets_are_referenced_not_written() {
    for key in ["password", "api_key", "bearer", "api-key"] {
        let text = problem(&format!("{key} = 'hunter2'"));
        assert!(text.contains("_file`") && !text.contains("hunter2"), "{text}");
    }
    let args = job("user = 'u'\npassword_env = 'MY_PASSWORD'", &[]).unwrap().args;
    assert_eq!(args.auth.password_env.as_deref(), Some("MY_PASSWORD"));
}

#[test]
fn wrong_values_name_their_key() {
    for (text, expected) in [
        ("batch_bytes = 'lots'", "jobs/j.toml: batch_bytes: invalid value 'lots'"),
        ("no_verify = 'yes'", "jobs/j.toml: no_verify: expected true or false, found a string"),
        ("batch_docs = 1.5", "jobs/j.toml: batch_docs: expected a string or a whole number"),
        ("sources = {}", "jobs/j.toml: sources: expected a string or a whole number, found a table, or a list of them"),
        ("index = 'Trips'", "jobs/j.toml: index: "),
        ("a = ", "jobs/j.toml: TOML parse error at line 1"),
        ("indices = 1", "jobs/j.toml: indices: expected tables"),
        ("[[indices]]\npattern = 'a'\nshard = 1", "unknown field `shard`"),
        ("[[indices]]\nshards = 1", "missing field `pattern`"),
        ("[[indices]]\npattern = 'a'\nshards = 0", "at least 1"),
        ("[[indices]]\npattern = 'a'\nsettings = 1", "settings: expected a table or the name of a file"),
        ("[[indices]]\npattern = 'a'\nmapping = 'none.json'", "none.json"),
    ] {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn indices_by_pattern_are_only_in_the_file() {
    let patterns = job(
        "[[indices]]\npattern = 'logs-big*'\nshards = 6\nsettings = { refresh_interval = '30s' }\n[[indices]]\npattern = '*'",
        &[],
    )
    .unwrap()
    .patterns;
    assert_eq!(patterns.len(), 2);
    assert_eq!((patterns[0].pattern.as_str(), patterns[0].shards), ("logs-big*", Some(6)));
    assert_eq!(patterns[0].settings, Some(serde_json::json!({"refresh_interval": "30s"})));
    assert_eq!(patterns[1].pattern, "*");
}

#[test]
fn a_job_can_be_a_bake() {
    let job = job("mode = 'bake'\nsources = 'a.csv'\nrepository_path = 'shared'\nbuilder_heap = '4g'", &[]).unwrap();
    let bake = job.bake.unwrap();
    assert_eq!(bake.repository_path, Some(PathBuf::from("jobs/shared")));
    assert_eq!(bake.builder_heap, Some(4 << 30));
    assert_eq!(job.args.source.sources, ["jobs/a.csv"]);
    assert!(problem("unthrottle = true").contains("add mode = \"bake\""));
    assert!(problem("mode = 'brew'").contains("mode: expected"));
    assert!(super::parse("mode = 'load'", Path::new("j.toml"), true, &[]).is_err());
}

#[test]
fn a_folder_with_brackets_is_no_pattern() {
    assert_eq!(resolve("*.csv".into(), true, Some(Path::new("[a]"))), "[[]a[]]/*.csv");
    assert_eq!(resolve("x.csv".into(), true, Some(Path::new("[a]"))), "[a]/x.csv");
    assert_eq!(resolve("https://h/*".into(), true, Some(Path::new("a"))), "https://h/*");
}

#[test]
fn outputs_have_what_holds_for_all_and_their_own() {
    let text = r#"
        sources = ["a.csv"]
        batch_bytes = "4MiB"
        id = "id"
        sql_memory = "1GiB"
        table = ["b=b.csv"]
        [[output]]
        index = "one"
        sql = "SELECT 1"
        [[output]]
        index = "two"
        sql_file = "two.sql"
        id_from = "content"
        batch_bytes = "1MiB"
    "#;
    let job = job(text, &["--memory", "8MiB"]).unwrap();
    let [one, two] = &job.outputs[..] else { panic!("two outputs") };
    let (one, two) = (&one.args, &two.args);
    assert_eq!((one.index.index.as_ref().unwrap().as_str(), one.sizes.batch_bytes), ("one", Some(4 << 20)));
    assert_eq!((two.index.index.as_ref().unwrap().as_str(), two.sizes.batch_bytes), ("two", Some(1 << 20)));
    assert_eq!((one.sizes.memory, two.sizes.memory), (Some(8 << 20), Some(8 << 20)));
    assert_eq!(
        (one.source.sql.sql.as_deref(), &two.source.sql.sql_file),
        (Some("SELECT 1"), &Some("jobs/two.sql".into()))
    );
    assert!(one.index.id.is_some() && two.index.id.is_none() && two.index.id_from.is_some());
    assert_eq!(job.args.source.sql.table, [("b".to_owned(), PathBuf::from("jobs/b.csv"))]);
    for (output, expected) in [
        ("to = \"http://a\"", "to: holds for all outputs"),
        ("sources = [\"x\"]", "sources: holds for all outputs"),
        ("separator = \";\"", "separator: holds for all outputs"),
        ("indx = \"x\"", "unknown key `indx`"),
    ] {
        let problem = problem(&format!("[[output]]\n{output}\n"));
        assert!(problem.contains(expected), "{problem}");
    }
    assert!(problem("output = 1").contains("written as [[output]]"));
}

/// Every flag that says how the odd is read and tolerated, as a key.
#[test]
fn flags_about_odd_data_are_keys() {
    use crate::args::{Format, MixedArg};
    type Holds = fn(&LoadArgs) -> bool;
    let keys: [(&str, Holds); 11] = [
        ("format = 'json'", |args| args.source.reading.format == Some(Format::Json)),
        ("format = 'hits'", |args| args.source.reading.format == Some(Format::Hits)),
        ("records = '/data/rows'", |args| args.source.reading.records == "/data/rows".parse().ok()),
        ("escape = '\\'", |args| args.source.reading.escape == Some(b'\\')),
        ("workbook_bytes = '1GiB'", |args| args.source.reading.workbook_bytes == Some(1 << 30)),
        ("to = 'local'", |args| args.index.to == ["local"]),
        ("map = 'auto'\nmixed = 'ignore'", |args| args.index.mixed == Some(MixedArg::Ignore)),
        ("once = true", |args| args.resume.once),
        ("tolerate = '0.1%'", |args| args.errors.tolerate == Some(Tolerance::Percent(0.1))),
        ("tolerate = 3\nallow_empty = true", |args| {
            args.errors.allow_empty && args.errors.tolerate == Some(Tolerance::Count(3))
        }),
        ("alias = 'shop'\nallow_shrink = 'any'", |args| args.finish.allow_shrink == Some(100.0)),
    ];
    for (text, holds) in keys {
        // Of a program, of `inrush load`, of `inrush bake`.
        let program = of_options(text.parse().unwrap()).unwrap();
        let load = job(text, &[]).unwrap();
        let bake = job(&format!("mode = 'bake'\n{text}"), &[]).unwrap();
        let dashes = job(&text.replace('_', "-"), &[]).unwrap();
        for job in [program, load, bake, dashes] {
            assert!(holds(&job.args), "{text}");
        }
        // What is not about the sources, the cluster and resuming may differ between outputs.
        let output = job(&format!("[[output]]\nsql = 'SELECT 1'\n{text}"), &[]);
        match output {
            Ok(job) => assert!(holds(&job.outputs[0].args), "{text}"),
            Err(error) => assert!(error.to_string().contains("holds for all outputs"), "{text}: {error}"),
        }
    }
    let mixed = "map = 'auto'\nmixed = 'keep'";
    assert_eq!(job(mixed, &["--mixed", "ignore"]).unwrap().args.index.mixed, Some(MixedArg::Ignore));
    assert_eq!(job("map = 'auto'", &["--mixed", "ignore"]).unwrap().args.index.mixed, Some(MixedArg::Ignore));
    assert_eq!(job(mixed, &["--mapping", "m.json"]).unwrap().args.index.mixed, None, "another origin");
}

/// A flag that wants another one is refused as a key, although the file has the other one, too.
#[test]
fn no_flag_needs_another_one_to_be_read() {
    let command = load_command();
    for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
        let flag = format!("--{}", arg.get_long().unwrap());
        let values =
            ["1", "1s", "1%", "a", "index", "fail", "none", "position", "request", "spread", "common", "a=b", "a:1-2"];
        let possible = arg.get_possible_values();
        let values = possible.iter().map(|value| value.get_name()).chain(values);
        let given = |value: &str| match arg.get_action() {
            ArgAction::SetTrue | ArgAction::Count => vec!["inrush load".to_owned(), flag.clone()],
            _ => vec!["inrush load".to_owned(), format!("{flag}={value}")],
        };
        let mut tried = values.map(|value| command.clone().try_get_matches_from(given(value)));
        assert!(tried.any(|tried| tried.is_ok()), "{flag}");
    }
}

#[test]
fn what_is_said_for_each_output_is_not_said_for_all() {
    let error = job("[[output]]\nindex = \"a\"", &["--index", "b"]).unwrap_err();
    assert!(error.to_string().contains("--index is said for each [[output]]"), "{error}");
}

#[test]
fn the_examples_of_the_documents_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("logs.json"), "{}").unwrap();
    let pages = [include_str!("../../../../docs/job.md"), include_str!("../../../../docs/sql.md")];
    let examples = pages.iter().flat_map(|page| page.split("```toml\n").skip(1)).map(|rest| rest.split("```").next());
    let mut taken = 0;
    for text in examples.flatten() {
        if let Err(error) = parse(text, &folder.path().join("job.toml"), false, &[]) {
            panic!("{text}\n{error}");
        }
        taken += 1;
    }
    assert_eq!(taken, 3);
}
