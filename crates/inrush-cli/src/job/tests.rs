use std::time::Duration;

use clap::{Args, Command, FromArgMatches};
use inrush_commands::options::{Body, ByteSize, OrAuto};
use inrush_load::config::{IdFrom, Tolerance};
use inrush_sources::Format;
use serde_json::json;

use super::*;

/// A job file together with a command line.
fn job(text: &str, command_line: &[&str]) -> Result<Job, UsageError> {
    let command = LoadArgs::augment_args(Command::new("load"));
    let matches = command.get_matches_from(std::iter::once("load").chain(command_line.iter().copied()));
    let LoadArgs { options, job: _, run, output } = LoadArgs::from_arg_matches(&matches).unwrap();
    let given = Layer { load: options.0, run: run.0, output: output.own.0, log: output.log.0, ..Layer::default() };
    parse(text, Path::new("jobs/j.toml"), false, given)
}

fn problem(text: &str) -> String {
    let error = anyhow::Error::new(job(text, &[]).unwrap_err());
    let mut out = Vec::new();
    crate::failure::print(&error, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn keys_are_flags_with_underscores_or_dashes() {
    let job = job(
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
    .unwrap();
    let options = &job.options;
    assert_eq!(options.source.sources, ["jobs/a.csv", "jobs/b/*.csv", "-", "/abs.csv"]);
    assert_eq!(options.reading.null, ["NA", "-99"]);
    assert_eq!(options.target.index.as_ref().unwrap().as_str(), "trips");
    assert_eq!(options.target.to, ["https://a:9200", "https://b:9200"]);
    assert_eq!(options.sizes.batch_bytes, ByteSize::new(4 << 20));
    assert_eq!(options.sizes.batch_docs.map(|docs| docs.get()), Some(100));
    assert_eq!(options.sizes.linger, Some(Duration::from_secs(5)));
    assert!(options.errors.no_verify);
    assert!(!job.output.quiet);
    assert_eq!(options.shape.drop, ["x".parse().unwrap()]);
    assert_eq!(options.target.version, Some("v".parse().unwrap()));
    assert_eq!(options.errors.dead_letters, Some(PathBuf::from("jobs/dead.ndjson")));
    assert_eq!(job.output.log.verbose, 2);
}

#[test]
fn a_mapping_may_be_a_table() {
    let text = "index = 'a'\n[mapping.properties.n]\ntype = 'long'\n[settings.settings]\nnumber_of_shards = 2";
    let target = |command_line: &[&str]| job(text, command_line).unwrap().options.target;
    assert_eq!(target(&[]).mapping, Some(Body::Inline(json!({"properties": {"n": {"type": "long"}}}))));
    assert_eq!(target(&[]).settings, Some(Body::Inline(json!({"settings": {"number_of_shards": 2}}))));
    let files = target(&["--mapping", "m.json", "--settings", "s.json"]);
    assert_eq!((files.mapping, files.settings), (Some(Body::File("m.json".into())), Some(Body::File("s.json".into()))));
    assert_eq!(target(&["--map", "auto"]).mapping, None);
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
    let given = ["--index", "b", "--drop", "z", "--api-key-file", "k", "other.ndjson"];
    let options = job(text, &given).unwrap().options;
    assert_eq!(options.source.sources, ["other.ndjson"]);
    assert_eq!(options.target.index.unwrap().as_str(), "b");
    assert_eq!(options.shape.drop, ["z".parse().unwrap()]);
    assert_eq!(options.login.api_key_file, Some(PathBuf::from("k")));
    let login = (options.login.user, options.login.password_file);
    assert_eq!(login, (None, None), "another way to log in replaces the whole");

    let options = job(text, &["--from-dead-letters", "d.ndjson"]).unwrap().options;
    assert!(options.source.sources.is_empty());
    assert_eq!(options.shape.drop.len(), 2);
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    assert_eq!(
        problem("batch_byte = 1"),
        "error[bad_job_file]: jobs/j.toml: unknown key `batch_byte`\nhint: did you mean `batch_bytes`?\n"
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
    let login = job("user = 'u'\npassword_env = 'MY_PASSWORD'", &[]).unwrap().options.login;
    assert_eq!(login.password_env.as_deref(), Some("MY_PASSWORD"));
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
    ] {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn indices_by_pattern_are_only_in_the_file() {
    let text = "[[indices]]\npattern = 'logs-big*'\nshards = 6\nmapping = 'm.json'\nsettings = { refresh_interval = '30s' }\n[[indices]]\npattern = '*'";
    let patterns = job(text, &[]).unwrap().options.target.indices;
    assert_eq!(patterns.len(), 2);
    assert_eq!((patterns[0].pattern.as_str(), patterns[0].shards), ("logs-big*", Some(6)));
    assert_eq!(patterns[0].mapping, Some(Body::File("jobs/m.json".into())));
    assert_eq!(patterns[0].settings, Some(Body::Inline(json!({"refresh_interval": "30s"}))));
    assert_eq!(patterns[1].pattern, "*");
}

#[test]
fn a_job_can_be_a_bake() {
    let job = job("mode = 'bake'\nsources = 'a.csv'\nrepository_path = 'shared'\nbuilder_heap = '4g'", &[]).unwrap();
    let bake = job.bake.unwrap();
    assert_eq!(bake.repository_path.unwrap().0, PathBuf::from("jobs/shared"));
    assert_eq!(bake.builder_heap.unwrap().mib(), 4096);
    assert_eq!(job.options.source.sources, ["jobs/a.csv"]);
    assert!(problem("unthrottle = true").contains("add mode = \"bake\""));
    assert!(problem("mode = 'brew'").contains("mode: expected"));
    assert!(parse("mode = 'load'", Path::new("j.toml"), true, Layer::default()).is_err());
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
    let index = |options: &LoadOptions| options.target.index.as_ref().unwrap().as_str().to_owned();
    assert_eq!((index(one), one.sizes.batch_bytes), ("one".to_owned(), ByteSize::new(4 << 20)));
    assert_eq!((index(two), two.sizes.batch_bytes), ("two".to_owned(), ByteSize::new(1 << 20)));
    assert!([one, two].iter().all(|output| output.sizes.memory == ByteSize::new(8 << 20)));
    assert_eq!((one.query.sql.as_deref(), &two.query.sql_file), (Some("SELECT 1"), &Some("jobs/two.sql".into())));
    assert!(one.target.id.is_some() && two.target.id.is_none() && two.target.id_from == Some(IdFrom::Content));
    let table = &job.options.query.table[0];
    assert_eq!((table.name.as_str(), &table.path), ("b", &PathBuf::from("jobs/b.csv")));
    for (output, expected) in [
        ("to = \"http://a\"", "to: applies to all outputs"),
        ("sources = [\"x\"]", "sources: applies to all outputs"),
        ("separator = \";\"", "separator: applies to all outputs"),
        ("group = \"x\"", "group: applies to all outputs"),
        ("until = \"latest\"", "until: applies to all outputs"),
        ("schema-registry = \"http://h\"", "schema-registry: applies to all outputs"),
        ("db_table = \"t\"", "db_table: applies to all outputs"),
        ("page = true", "page: applies to all outputs"),
        ("indx = \"x\"", "unknown key `indx`"),
    ] {
        let problem = problem(&format!("[[output]]\n{output}\n"));
        assert!(problem.contains(expected), "{problem}");
    }
    assert!(problem("output = 1").contains("written as [[output]]"));
}

/// Every option for irregular data and its tolerance, as a key.
#[test]
fn options_about_odd_data_are_keys() {
    use inrush_commands::mapping::Mixed;
    type Holds = fn(&LoadOptions) -> bool;
    let keys: [(&str, Holds); 12] = [
        ("format = 'json'", |options| options.reading.format == Some(Format::Json)),
        ("format = 'hits'", |options| options.reading.format == Some(Format::Hits)),
        ("records = '/data/rows'", |options| options.reading.records == "/data/rows".parse().ok()),
        ("escape = '\\'", |options| options.reading.escape.map(|escape| escape.0) == Some(b'\\')),
        ("workbook_bytes = '1GiB'", |options| options.reading.workbook_bytes == ByteSize::new(1 << 30)),
        ("to = 'local'", |options| options.target.to == ["local"]),
        ("map = 'auto'\nmixed = 'ignore'", |options| options.target.mixed == Some(Mixed::Ignore)),
        ("shards = 'auto'", |options| options.target.shards == Some(OrAuto::Auto)),
        ("once = true", |options| options.resume.once),
        ("tolerate = '0.1%'", |options| options.errors.tolerate == Some(Tolerance::Percent(0.1))),
        ("tolerate = 3\nallow_empty = true", |options| {
            options.errors.allow_empty && options.errors.tolerate == Some(Tolerance::Count(3))
        }),
        ("alias = 'shop'\nallow_shrink = 'any'", |options| {
            options.end.allow_shrink.map(|shrink| shrink.percent()) == Some(100.0)
        }),
    ];
    for (text, holds) in keys {
        // An option of `inrush load`, and one of `inrush bake`.
        let load = job(text, &[]).unwrap();
        let bake = job(&format!("mode = 'bake'\n{text}"), &[]).unwrap();
        let dashes = job(&text.replace('_', "-"), &[]).unwrap();
        for job in [load, bake, dashes] {
            assert!(holds(&job.options), "{text}");
        }
        // Options that are not about the sources, the cluster and resuming may differ between
        // outputs.
        let output = job(&format!("[[output]]\nsql = 'SELECT 1'\n{text}"), &[]);
        match output {
            Ok(job) => assert!(holds(&job.outputs[0]), "{text}"),
            Err(error) => assert!(error.to_string().contains("applies to all outputs"), "{text}: {error}"),
        }
    }
    let mixed = "map = 'auto'\nmixed = 'keep'";
    let mixed_of = |text: &str, command_line: &[&str]| job(text, command_line).unwrap().options.target.mixed;
    assert_eq!(mixed_of(mixed, &["--mixed", "ignore"]), Some(Mixed::Ignore));
    assert_eq!(mixed_of("map = 'auto'", &["--mixed", "ignore"]), Some(Mixed::Ignore));
    assert_eq!(mixed_of(mixed, &["--mapping", "m.json"]), None, "another origin");
}

#[test]
fn what_is_said_for_each_output_is_not_said_for_all() {
    let error = job("[[output]]\nindex = \"a\"", &["--index", "b"]).unwrap_err();
    assert!(error.to_string().contains("--index is set for each [[output]]"), "{error}");
}

#[test]
fn the_examples_of_the_documents_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("logs.json"), "{}").unwrap();
    let pages = [include_str!("../../../../docs/job.md"), include_str!("../../../../docs/sql.md")];
    let examples = pages.iter().flat_map(|page| page.split("```toml\n").skip(1)).map(|rest| rest.split("```").next());
    let mut taken = 0;
    for text in examples.flatten() {
        if let Err(error) = parse(text, &folder.path().join("job.toml"), false, Layer::default()) {
            panic!("{text}\n{error}");
        }
        taken += 1;
    }
    assert_eq!(taken, 3);
}
