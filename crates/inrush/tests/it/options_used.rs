//! No option is without effect: it changes the plan of a command, or the command refuses it by its
//! name. What each command refuses is listed here.

use std::fs;
use std::path::Path;

use inrush_bake::BakeError;
use inrush_commands::bake::{BakeOptions, BakePlan};
use inrush_commands::options::{
    Environment, FetchOptions, LoadOptions, LoadPlan, OptionGroup, OptionInfo, OptionKind, QueryOptions, ReadingOptions,
};
use inrush_load::LoadError;
use serde_json::{Value, json};

/// Options by name.
type Options = Vec<(&'static str, Value)>;

/// The outcome of an option that was given to a command.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The plan is another one.
    Used,
    /// The plan is the same.
    Ignored,
    /// The option is refused by its name.
    Refused,
    /// The command fails for another reason.
    Failed(String),
}

/// Why a command fails.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    option: Option<&'static str>,
    message: String,
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        let option = match &error {
            LoadError::Usage(error) => error.option(),
            _ => None,
        };
        Problem { option, message: error.to_string() }
    }
}

impl From<BakeError> for Problem {
    fn from(error: BakeError) -> Self {
        match error {
            BakeError::Load(error) => error.into(),
            other => Problem { option: None, message: other.to_string() },
        }
    }
}

/// The commands that take the options of a load.
#[derive(Clone, Copy, Debug)]
enum Command {
    /// `inrush load` of a file.
    File,
    /// `inrush load` of a file through a query.
    Query,
    /// A load of documents that a program hands over.
    Fed,
    /// One of several loads of the results of queries.
    Output,
    /// `inrush bake` of a file.
    Bake,
}

fn write_files(folder: &Path) {
    fs::write(folder.join("a.csv"), "a,b\n1,2\n3,4\n").unwrap();
    fs::write(folder.join("b.csv"), "a,b\n5,6\n").unwrap();
    fs::write(folder.join("v.fbin"), [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    fs::write(folder.join("mixed.ndjson"), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":\"x\"}\n").unwrap();
    fs::write(folder.join("letters.ndjson"), "").unwrap();
    fs::write(folder.join("secret"), "abc\n").unwrap();
    fs::write(folder.join("token"), "0123456789abcdef\n").unwrap();
    fs::write(folder.join("query.sql"), "SELECT b FROM input").unwrap();
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), signed.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), signed.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("warm.ndjson"), "{\"query\":{\"match_all\":{}}}\n").unwrap();
}

/// A value of an option; a flag is set.
fn value(info: &OptionInfo, folder: &Path) -> Value {
    let file = |name: &str| json!(folder.join(name));
    // The default changes nothing.
    if let Some(choice) = info.value.choices.iter().rfind(|choice| (info.name, choice.name) != ("engine", "auto")) {
        return json!(choice.name);
    }
    match info.name {
        "sources" => file("b.csv"),
        "from_dead_letters" => file("letters.ndjson"),
        "trace" | "dead_letters" => file("out"),
        "password_file"
        | "api_key_file"
        | "bearer_file"
        | "from_password_file"
        | "from_api_key_file"
        | "from_bearer_file"
        | "fetch_password_file"
        | "source_password_file" => file("secret"),
        "password_env" | "api_key_env" | "bearer_env" | "from_password_env" | "from_api_key_env"
        | "from_bearer_env" | "fetch_password_env" => json!("PATH"),
        "ca" | "from_ca" | "fetch_ca" | "cert" | "from_cert" => file("cert.pem"),
        "key" | "from_key" => file("key.pem"),
        "warm" => file("warm.ndjson"),
        "page" | "otlp" => json!(true),
        "page_token_file" => file("token"),
        "sql_file" => file("query.sql"),
        "learned" => json!("none"),
        "state"
        | "builder_data"
        | "builder_home"
        | "java_home"
        | "repository_path"
        | "repository_path_on_target"
        | "textfile" => {
            json!(folder.join("folder"))
        }
        "include" => json!("*.csv"),
        "exclude" => json!("*.md"),
        "records" => json!("/items"),
        "parse_regex" => json!("(?<x>.*)"),
        "fixed_width" => json!("x:1-3"),
        "separator" => json!(";"),
        "quote" => json!("'"),
        "escape" => json!("\\"),
        "comment" => json!("#"),
        "skip_lines" => json!(1),
        "columns" => json!(["x", "y"]),
        "schema" => json!("a:string"),
        "decimal" => json!(","),
        "rename" => json!("a=x"),
        "time_zone" => json!("Europe/Paris"),
        "charset" => json!("latin1"),
        "null" => json!("NULL"),
        "store_option" | "repository_option" => json!("aws_region=eu-west-1"),
        "kafka_option" => json!("client.rack=a"),
        "from" | "until" => json!("latest"),
        "fetch" => json!("sqlite:///a.db SELECT a FROM t WHERE a IN ($keys)"),
        "fetch_url" => json!("http://127.0.0.1:3/?a={keys}"),
        "fetch_body" => json!("{keys}"),
        "sql" => json!("SELECT a FROM input"),
        "table" => json!(format!("other={}", folder.join("b.csv").display())),
        "vectors" => json!(format!("v={}", folder.join("v.fbin").display())),
        "query" => json!({"match_all": {}}),
        "to" | "builder" => json!("http://127.0.0.1:2"),
        "mapping" => json!({"properties": {"a": {"type": "long"}}}),
        "settings" => json!({"index": {"codec": "best_compression"}}),
        "indices" => json!([{"pattern": "x-*", "shards": 2}]),
        "max_rate" => json!("100docs"),
        "linger" | "request_timeout" | "retry_for" | "pause_for" | "grace" | "wait_timeout" | "since_overlap" => {
            json!("7s")
        }
        "memory" | "sql_memory" | "workbook_bytes" | "sample" | "builder_heap" | "build_memory" => json!("300MiB"),
        "with" => json!("key"),
        "coalesce" => json!("5s"),
        "batch_bytes" | "max_document_bytes" => json!("2MiB"),
        "compression" => json!("gzip:7"),
        "tolerate" | "max_errors" | "allow_shrink" => json!("5%"),
        "builder_setting" => json!("s3.client.default.region=eu-west-1"),
        _ => match info.kind {
            OptionKind::Flag => json!(true),
            _ if info.value.python.starts_with("int") => json!(3),
            _ => json!("other"),
        },
    }
}

/// Options without which another one means nothing.
fn companions(command: Command, name: &str, folder: &Path) -> Options {
    let file = |name: &str| json!(folder.join(name));
    let is_fed = matches!(command, Command::Fed);
    let looks_up = matches!(command, Command::File | Command::Query);
    let url = || json!("http://127.0.0.1:3/?b={keys}");
    match name {
        "password_file" | "password_env" | "password" => vec![("user", json!("u"))],
        "user" => vec![("password", json!("p"))],
        "cert" => vec![("key", file("key.pem")), ("to", json!("https://127.0.0.1:1"))],
        "key" => vec![("cert", file("cert.pem")), ("to", json!("https://127.0.0.1:1"))],
        "ca" | "insecure" => vec![("to", json!("https://127.0.0.1:1"))],
        "aws_region" | "aws_profile" => vec![("aws_sigv4", json!("es"))],
        "delete_old" | "keep" | "old_writes" | "warm" | "allow_shrink" => {
            vec![("alias", json!("now")), ("id", json!("a"))]
        }
        "time_zone" => vec![("timestamp", json!("a"))],
        "mixed" if !is_fed => vec![("sources", file("mixed.ndjson")), ("map", json!("auto"))],
        "yes" => vec![("recreate", json!(true))],
        "field" | "fixed_width" | "parse" | "parse_regex" if !is_fed => vec![("format", json!("text"))],
        "records" if !is_fed => vec![("format", json!("json"))],
        "sheet" | "header_row" | "workbook_bytes" if !is_fed => vec![("format", json!("excel"))],
        "version" => vec![("id", json!("a"))],
        "action" => vec![("id", json!("a"))],
        // Their names come first where look-ups are refused.
        name if name.starts_with("fetch") && !looks_up => Vec::new(),
        "fetch" | "fetch_url" => vec![("id", json!("a"))],
        "fetch_password_file" | "fetch_password_env" => {
            vec![("id", json!("a")), ("fetch_url", url()), ("fetch_user", json!("u"))]
        }
        "fetch_user" => vec![("id", json!("a")), ("fetch_url", url()), ("fetch_password_env", json!("PATH"))],
        "fetch_body" | "fetch_id" | "fetch_missing" | "fetch_ca" => vec![("id", json!("a")), ("fetch_url", url())],
        "resume" | "once" => vec![("state", json!(folder))],
        "page_token_file" => vec![("page", json!(true))],
        "repository_option" => vec![("repository", json!("r"))],
        _ => Vec::new(),
    }
}

/// The options of a command without the one that is tried.
fn base(command: Command, info: &OptionInfo, folder: &Path) -> Options {
    let mut options = vec![("index", json!("i")), ("to", json!("http://127.0.0.1:1"))];
    match command {
        Command::Fed => {}
        Command::File => options.push(("sources", json!(folder.join("a.csv")))),
        Command::Query | Command::Output => {
            options.push(("sources", json!(folder.join("a.csv"))));
            options.push(("sql", json!("SELECT * FROM input")));
        }
        Command::Bake => {
            options.push(("sources", json!(folder.join("a.csv"))));
            options.push(("state", json!(folder)));
            options.push(("repository_path", json!(folder.join("repository"))));
        }
    }
    for (name, value) in companions(command, info.name, folder) {
        let replaced = if name == "repository" { "repository_path" } else { name };
        options.retain(|(other, _)| *other != name && *other != replaced);
        options.push((name, value));
    }
    let excludes = |name: &str| {
        let of_other = |other: &&OptionInfo| other.name == name && other.conflicts.contains(&info.name);
        info.conflicts.contains(&name) || LoadOptions::infos().iter().chain(&BakeOptions::infos()).any(of_other)
    };
    options.retain(|(name, _)| !excludes(name) && (info.name != "from_dead_letters" || *name != "sources"));
    options
}

/// The plan of a command, as text.
async fn plan(command: Command, options: &Options) -> Result<String, Problem> {
    let (mut load, mut bake) = (LoadOptions::default(), BakeOptions::default());
    for (name, value) in options {
        match bake.set(name, value.clone().into()) {
            Some(set) => set.unwrap(),
            None => load.give(name, value.clone()).unwrap(),
        }
    }
    let environment = Environment::new(|name| (name == "PATH").then(|| "abc".into()));
    let reading = load.reading.clone();
    let text = |plan: LoadPlan| {
        let LoadPlan { config, source, reopen: _, fetch, local, model, confirmations, notes, watch } = plan;
        let reading = reading.format_options(config.limits.document_bytes_max);
        let info = source.describe();
        format!(
            "{config:?} {:?} {} {reading:?} {fetch:?} {local:?} {model:?} {confirmations:?} {notes:?} {watch:?}",
            info.names, info.reading
        )
    };
    Ok(match command {
        Command::File | Command::Query => text(load.resolve(&environment).await?),
        Command::Fed => text(load.resolve_fed("program", None, &environment).await?.1),
        Command::Output => {
            let plans = load.clone().resolve_outputs(vec![load.clone()], &environment).await?;
            plans.into_iter().map(text).collect()
        }
        Command::Bake => {
            let BakePlan { config, sources, notes, watch } = bake.resolve(load, &environment).await?;
            let reading = reading.format_options(config.load.limits.document_bytes_max);
            let read = sources().unwrap().describe().reading;
            format!("{config:?} {read} {reading:?} {notes:?} {watch:?}")
        }
    })
}

async fn outcome(command: Command, info: &OptionInfo, folder: &Path) -> Outcome {
    let mut options = base(command, info, folder);
    let without = plan(command, &options).await;
    options.retain(|(name, _)| *name != info.name);
    options.push((info.name, value(info, folder)));
    match plan(command, &options).await {
        Ok(with) if without.as_ref() == Ok(&with) => Outcome::Ignored,
        Ok(_) => Outcome::Used,
        Err(Problem { option, message }) => {
            let is_named = |end: &str| message.contains(&format!("option `{}{end}", info.name));
            match option == Some(info.name) || is_named("`") || is_named("=") {
                true => Outcome::Refused,
                false => Outcome::Failed(message),
            }
        }
    }
}

/// What a command refuses where its source is a file or a program.
fn refused(command: Command) -> Vec<&'static str> {
    fn names<G: OptionGroup>() -> Vec<&'static str> {
        G::infos().into_iter().map(|info| info.name).collect()
    }
    let of_files = [names::<ReadingOptions>(), names::<QueryOptions>()].concat();
    let of_kinds = LoadOptions::infos_of_kinds().into_iter().map(|info| info.name);
    let of_other_sources: Vec<_> = of_kinds.filter(|name| !of_files.contains(name)).collect();
    let of_command = match command {
        // They mean nothing without a query.
        Command::File => {
            vec!["table", "sql_memory", "store_option", "validate", "extended_json", "timestamps", "binary"]
        }
        Command::Query => vec!["from_dead_letters", "store_option", "validate", "extended_json", "vectors"],
        Command::Output => [
            vec!["from_dead_letters", "store_option", "resume", "once", "validate", "extended_json", "limit"],
            vec!["vectors"],
            names::<FetchOptions>(),
        ]
        .concat(),
        Command::Fed => [
            vec!["sources", "from_dead_letters", "map", "mixed", "limit"],
            names::<ReadingOptions>().into_iter().filter(|name| !matches!(*name, "timestamps" | "binary")).collect(),
            names::<QueryOptions>(),
            names::<FetchOptions>(),
        ]
        .concat(),
        Command::Bake => [
            vec!["store_option", "action", "recreate", "durability", "validate", "extended_json"],
            vec!["timestamps", "binary", "count_at"],
            vec!["replicas_off", "no_copy", "keep", "graph", "fail_on_warning", "under_policy", "once", "forget"],
            vec!["learned"],
            names::<QueryOptions>(),
            names::<FetchOptions>(),
        ]
        .concat(),
    };
    [of_other_sources, of_command].concat()
}

/// Effects that the plan's text does not show, and errors that are about something else.
fn is_elsewhere(command: Command, name: &str) -> bool {
    let is_query = matches!(command, Command::Query | Command::Output);
    match name {
        // The credentials of the machine are looked for.
        "aws_sigv4" | "aws_region" | "aws_profile" => true,
        // The query is inside its source.
        "sql" | "sql_file" | "sql_memory" => is_query,
        // A column of a result has one type.
        "mixed" => is_query,
        // The tables of a query are read for their columns, and the file is a CSV file.
        "format" | "records" | "sheet" | "header_row" | "workbook_bytes" => is_query,
        // Files are opened by the bake itself.
        "sources" => matches!(command, Command::Bake),
        // A bake asks nothing.
        "yes" => matches!(command, Command::Bake),
        _ => false,
    }
}

#[tokio::test]
async fn each_option_is_used_or_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mut findings = Vec::new();
    for command in [Command::File, Command::Query, Command::Fed, Command::Output, Command::Bake] {
        let mut infos = LoadOptions::infos();
        if matches!(command, Command::Bake) {
            infos.extend(BakeOptions::infos());
        }
        let refused = refused(command);
        for info in infos.into_iter().filter(|info| !is_elsewhere(command, info.name)) {
            let expected = if refused.contains(&info.name) { Outcome::Refused } else { Outcome::Used };
            let outcome = outcome(command, info, folder.path()).await;
            if outcome != expected {
                findings.push(format!("{command:?} {}: {outcome:?}, expected {expected:?}", info.name));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
