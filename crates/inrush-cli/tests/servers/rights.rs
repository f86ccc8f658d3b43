//! The table of docs/privileges.md, proven with the security of both products: each command runs
//! with exactly the privileges of its rows, and once without each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use inrush_load::GUARD_INDEX;
use inrush_node::Distribution;
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::server::{Server, Version};

const PAGE: &str = "../../docs/privileges.md";
/// `admin:admin`, the user who prepares and looks on.
const ADMIN: &str = "Basic YWRtaW46YWRtaW4=";
/// The password `admin` as both products keep it, with the least work: each user of the table is
/// checked by it.
const HASH: &str = "$2a$04$VcCDgh2NDk07JGN0rjGbM.dAuUrXQj2O7NFquMPWcjsyrl5uDfvkq";
/// The version of OpenSearch whose security is on Maven.
const OPENSEARCH: &str = "2.19.1";
const DOCS: usize = 50;
/// Commands at once.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Product {
    Elasticsearch,
    OpenSearch,
}

/// What happens without a privilege.
#[derive(Clone, Debug, PartialEq)]
enum Without {
    /// The command ends before it changes anything, and names the privilege.
    Refused,
    /// The first documents are refused, by name.
    Stops,
    /// The command does its work, and says these words if there are any.
    GoesOn(Option<String>),
    /// The command ends with this status, and says these words.
    EndsWith(i32, String),
}

/// A row of the table.
#[derive(Clone, Debug)]
struct Row {
    /// `cluster`, the name of an index, or what stands for one.
    on: String,
    privileges: Vec<String>,
    without: Without,
}

/// The rows of a command.
#[derive(Debug)]
struct Needs {
    command: String,
    /// A command whose rows it has as well.
    those_of: Option<String>,
    rows: Vec<Row>,
}

/// The words in code of a cell.
fn code(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn table(product: Product) -> Vec<Needs> {
    let mut all: Vec<Needs> = Vec::new();
    let page = fs::read_to_string(PAGE).unwrap();
    for line in page.lines().skip_while(|line| !line.starts_with("| command | on |")).skip(2) {
        let Some(line) = line.strip_prefix('|') else { break };
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !cells[0].is_empty() {
            all.push(Needs { command: cells[0].replace('`', ""), those_of: None, rows: Vec::new() });
        }
        let needs = all.last_mut().unwrap();
        let cell = cells[if product == Product::Elasticsearch { 2 } else { 3 }];
        if cell.starts_with("those of") {
            needs.those_of = code(cell).pop();
            continue;
        }
        let without = match cells[4] {
            "refused" => Without::Refused,
            "stops" => Without::Stops,
            other => {
                let words = other.split('"').nth(1).map(str::to_owned);
                match other.split(':').next().unwrap().strip_prefix("ends with ") {
                    Some(status) => Without::EndsWith(status.parse().unwrap(), words.unwrap()),
                    None => Without::GoesOn(words),
                }
            }
        };
        let privileges = code(cell);
        if !privileges.is_empty() {
            needs.rows.push(Row { on: cells[1].replace('`', ""), privileges, without });
        }
    }
    all
}

fn rows_of<'a>(all: &'a [Needs], command: &str) -> Vec<&'a Row> {
    let needs = all.iter().find(|needs| needs.command == command).unwrap_or_else(|| panic!("no rows of {command}"));
    let base = needs.those_of.iter().flat_map(|base| rows_of(all, base));
    base.chain(&needs.rows).collect()
}

/// A command with the privileges of all its rows, or without one of them.
#[derive(Clone)]
struct Case {
    number: usize,
    command: String,
    rows: Vec<Row>,
    without: Option<Row>,
}

impl Case {
    fn all(table: &[Needs]) -> Vec<Case> {
        let mut cases = Vec::new();
        for needs in table {
            let all = rows_of(table, &needs.command);
            let own = needs.rows.iter().map(Some);
            for without in std::iter::once(None).chain(own) {
                let same = |row: &Row, other: &Row| (&row.on, &row.privileges) == (&other.on, &other.privileges);
                let is_left = |row: &&&Row| without.is_none_or(|without| !same(row, without));
                let rows = all.iter().filter(is_left).map(|row| (*row).clone()).collect();
                let (number, command) = (cases.len(), needs.command.clone());
                cases.push(Case { number, command, rows, without: without.cloned() });
            }
        }
        cases
    }

    fn user(&self) -> String {
        format!("user{}", self.number)
    }

    /// The name of an index for what stands for it in the table.
    fn name(&self, on: &str) -> String {
        match on {
            "INDEX" | "STREAM" | "ALIAS" | "OLD" => format!("{}-{}", on.to_lowercase(), self.number),
            "SOURCE" => "source".to_owned(),
            name => name.to_owned(),
        }
    }

    /// The role: privileges on the cluster, and on indices.
    fn role(&self) -> (BTreeSet<&str>, BTreeMap<String, BTreeSet<&str>>) {
        let (mut cluster, mut indices) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<&str>>::new());
        for row in &self.rows {
            let privileges = row.privileges.iter().map(String::as_str);
            match row.on.as_str() {
                "cluster" => cluster.extend(privileges),
                on => indices.entry(self.name(on)).or_default().extend(privileges),
            }
        }
        (cluster, indices)
    }

    /// Whether its index is built without a server, for a version in the place of the usual one.
    /// That version may be refused, with all privileges as well.
    fn is_of_native_files(&self) -> bool {
        self.command == "bake --engine native" && std::env::var_os("INRUSH_SERVERS").is_some()
    }

    fn title(&self) -> String {
        match &self.without {
            None => format!("{} with all of its privileges", self.command),
            Some(row) => format!("{} without {} on {}", self.command, row.privileges.join(", "), row.on),
        }
    }
}

/// A node with security and a user for each case.
struct Secured {
    server: Server,
    admin: Client,
    folder: PathBuf,
}

impl Secured {
    async fn start(product: Product, cases: &[Case]) -> Secured {
        let folder = crate::server::folder();
        fs::create_dir_all(&folder).unwrap();
        let home = folder.join("server");
        let (version, distribution, name) = match product {
            Product::Elasticsearch => {
                let distribution = Version::Elasticsearch8.distribution();
                (distribution.version.clone(), distribution, "elasticsearch")
            }
            Product::OpenSearch => (OPENSEARCH.to_owned(), Distribution::opensearch(OPENSEARCH), "opensearch"),
        };
        let made = Command::new("../../scripts/secured-server.sh").args([name, &version]).arg(&home).status().unwrap();
        assert!(made.success(), "a server with security cannot be made");
        let settings = match product {
            Product::Elasticsearch => {
                elasticsearch_users(&home.join("config"), cases);
                vec![
                    ("xpack.security.enabled", "true"),
                    ("xpack.security.enrollment.enabled", "false"),
                    ("xpack.security.http.ssl.enabled", "false"),
                    ("xpack.security.transport.ssl.enabled", "false"),
                ]
            }
            Product::OpenSearch => {
                opensearch_users(&home.join("config/opensearch-security"), cases);
                vec![
                    ("plugins.security.disabled", ""),
                    ("plugins.security.ssl.http.enabled", "false"),
                    ("plugins.security.ssl.transport.pemcert_filepath", "node.pem"),
                    ("plugins.security.ssl.transport.pemkey_filepath", "node.key"),
                    ("plugins.security.ssl.transport.pemtrustedcas_filepath", "node.pem"),
                    ("plugins.security.ssl.transport.enforce_hostname_verification", "false"),
                    ("plugins.security.nodes_dn", "[\"CN=node\"]"),
                    ("plugins.security.allow_default_init_securityindex", "true"),
                ]
            }
        };
        let repository = folder.join("repository");
        inrush_node::make_writable(&repository).unwrap();
        let server = Server::own_with(Version::OpenSearch2, 1, |spec| {
            spec.distribution = distribution;
            spec.home = Some(home);
            spec.authorization = Some(ADMIN.to_owned());
            let of = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            spec.settings = settings.into_iter().map(of).collect();
            spec.settings.push(("path.repo".to_owned(), json!([repository]).to_string()));
        })
        .await;
        let admin = Client::new(&server.url()).unwrap().with_authorization(Some(ADMIN.to_owned()));
        Secured { server, admin, folder }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let reply = self.admin.json(method, path, body).await.unwrap();
        (reply.status, reply.json())
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, reply) = self.ask(method, path, body).await;
        assert!(status < 300, "{method} {path}: {reply}");
        reply
    }

    async fn stop(self) {
        self.server.stop().await;
        fs::remove_dir_all(self.folder).unwrap();
    }
}

/// The files of Elasticsearch's file realm.
fn elasticsearch_users(config: &Path, cases: &[Case]) {
    let (mut roles, mut users, mut of_users) =
        (String::new(), format!("admin:{HASH}\n"), "superuser:admin\n".to_owned());
    for case in cases {
        let ((cluster, indices), user) = (case.role(), case.user());
        let indices: Vec<Value> =
            indices.into_iter().map(|(name, privileges)| json!({"names": [name], "privileges": privileges})).collect();
        writeln!(roles, "{user}: {}", json!({"cluster": cluster, "indices": indices})).unwrap();
        writeln!(users, "{user}:{HASH}").unwrap();
        writeln!(of_users, "{user}:{user}").unwrap();
    }
    for (file, text) in [("roles.yml", roles), ("users", users), ("users_roles", of_users)] {
        fs::write(config.join(file), text).unwrap();
    }
}

/// The files that OpenSearch's security takes at its first start.
fn opensearch_users(config: &Path, cases: &[Case]) {
    let add = |file: &str, lines: String| {
        let path = config.join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{before}\n{lines}")).unwrap();
    };
    let (mut roles, mut users, mut mapping) = (String::new(), String::new(), String::new());
    for case in cases {
        let ((cluster, indices), user) = (case.role(), case.user());
        let of =
            |(name, actions): (String, BTreeSet<&str>)| json!({"index_patterns": [name], "allowed_actions": actions});
        let role = json!({"cluster_permissions": cluster, "index_permissions": indices.into_iter().map(of).collect::<Vec<_>>()});
        writeln!(roles, "{user}: {role}").unwrap();
        writeln!(users, "{user}: {}", json!({ "hash": HASH })).unwrap();
        writeln!(mapping, "{user}: {}", json!({"users": [user]})).unwrap();
    }
    add("roles.yml", roles);
    add("internal_users.yml", users);
    // The demonstration gives every user a role.
    let meta = "_meta:\n  type: rolesmapping\n  config_version: 2\nall_access:\n  backend_roles: [admin]\n";
    fs::write(config.join("roles_mapping.yml"), format!("{meta}{mapping}")).unwrap();
}

/// The command line of a case. `{to}` stands for the address of the node.
fn arguments(case: &Case, folder: &Path) -> Vec<String> {
    let repository = folder.join("repository").display().to_string();
    let names = ["INDEX", "STREAM", "ALIAS"].map(|on| case.name(on));
    let [index, stream, alias] = names.each_ref().map(String::as_str);
    let load = |more: &[&'static str]| {
        let first = ["load", "documents.ndjson", "--id", "id", "--index", index];
        [&first[..], more].concat()
    };
    let bake = |engine: &'static str| {
        let first = ["bake", "documents.ndjson", "--id", "id", "--index", index, "--engine", engine, "--replicas", "0"];
        [&first[..], &["--repository-path", &repository]].concat()
    };
    let words = match case.command.as_str() {
        "load" => load(&[]),
        "load, without ids" => vec!["load", "documents.ndjson", "--index", index],
        "load, a data stream" => vec!["load", "documents.ndjson", "--index", stream],
        "load --recreate" => load(&["--recreate"]),
        "load --alias" => [load(&["--alias"]), vec![alias]].concat(),
        "load --delete-old" => [load(&["--delete-old", "--alias"]), vec![alias]].concat(),
        "load --force-merge" => load(&["--force-merge", "1"]),
        "load --wait-for replicated" => load(&["--wait-for", "replicated", "--replicas", "0"]),
        "load --replicas-off" => load(&["--replicas-off"]),
        "load --once" => load(&["--once"]),
        "load URL, the source" => vec!["load", "{to}/source", "--from-user", "{user}", "--index", index],
        "bake --engine native" => bake("native"),
        "bake --engine server" => bake("server"),
        "verify" => vec!["verify", "documents.ndjson", "--id", "id", "--index", "source"],
        "segments" => vec!["segments", "{to}/source"],
        "doctor" => vec!["doctor", "{to}/source"],
        "recover" => vec!["recover", index, "--force"],
        "mapping" => return vec!["mapping".to_owned(), "documents.ndjson".to_owned()],
        other => panic!("no command line for {other}"),
    };
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.extend(["--user".to_owned(), case.user()]);
    if !words.iter().any(|word| word == "{to}/source") || words[0] == "load" {
        words.extend(["--to", "{to}"].map(str::to_owned));
    }
    if matches!(words[0].as_str(), "load" | "bake") {
        words.push("--yes".to_owned());
    }
    words
}

impl Secured {
    /// The indices that all cases read, and a template for streams.
    async fn fill(&self) {
        let documents = documents();
        fs::write(self.folder.join("documents.ndjson"), &documents).unwrap();
        let bulk: String = documents
            .lines()
            .enumerate()
            .map(|(n, line)| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{line}\n"))
            .collect();
        self.send("PUT", "/source", json!({"settings": {"number_of_replicas": 0}})).await;
        let loaded = self.admin.send("POST", "/source/_bulk?refresh=true", &[], bulk).await.unwrap();
        assert_eq!(loaded.json()["errors"], json!(false), "{}", loaded.json());
        let hidden = json!({"settings": {"number_of_shards": 1, "hidden": true}, "mappings": {"dynamic": false}});
        self.send("PUT", &format!("/{GUARD_INDEX}"), hidden).await;
        let template = json!({"index_patterns": ["stream-*"], "data_stream": {}, "priority": 500});
        self.send("PUT", "/_index_template/streams", template).await;
    }

    async fn run(&self, case: &Case) -> Output {
        let (index, old) = (case.name("INDEX"), case.name("OLD"));
        match case.command.as_str() {
            "load --alias" | "load --delete-old" => {
                let aliases = json!({ case.name("ALIAS"): {} });
                drop(self.send("PUT", &format!("/{old}"), json!({ "aliases": aliases })).await);
            }
            "load --recreate" => drop(self.send("PUT", &format!("/{index}"), json!({})).await),
            "recover" => self.leave_behind(&index).await,
            _ => {}
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_inrush"));
        let words = arguments(case, &self.folder).into_iter();
        command
            .args(words.map(|word| word.replace("{to}", &self.server.url()).replace("{user}", &case.user())))
            .current_dir(&self.folder)
            .env("XDG_STATE_HOME", self.folder.join(case.user()))
            .envs([("INRUSH_PASSWORD", "admin"), ("INRUSH_FROM_PASSWORD", "admin")])
            .stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    /// Leaves a lease as a killed load does, with the settings that it changed.
    async fn leave_behind(&self, index: &str) {
        self.send("PUT", &format!("/{index}"), json!({"settings": {"number_of_replicas": 0}})).await;
        let settings = self.send("GET", &format!("/{index}/_settings"), Value::Null).await;
        let uuid = settings[index]["settings"]["index"]["uuid"].as_str().unwrap().to_owned();
        let changes = json!({"index.number_of_replicas": {"original": "1", "applied": "0"}});
        let lease = json!({"index": index, "phase": "held", "changes": changes, "holders": {"ended": {"beat": 2}}});
        self.send("PUT", &format!("/{GUARD_INDEX}/_doc/{uuid}?refresh=true"), lease).await;
    }

    /// Whether the case ended as its row says; else what is wrong.
    async fn check(&self, case: &Case) -> Result<(), String> {
        let output = self.run(case).await;
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let status = output.status.code();
        if case.is_of_native_files() && said.contains("the target has version") {
            return Ok(());
        }
        // A diagnosis that finds something has a status of its own.
        let is_done = status == Some(0) || case.command == "doctor" && status == Some(4);
        let is_named =
            |row: &Row| row.privileges.iter().any(|privilege| said.contains(privilege.trim_end_matches('*')));
        let is_right = match &case.without {
            None => is_done,
            Some(row) => match &row.without {
                Without::GoesOn(words) => is_done && words.as_ref().is_none_or(|words| said.contains(words)),
                Without::EndsWith(with, words) => status == Some(*with) && said.contains(words),
                Without::Stops => status == Some(1) && is_named(row),
                Without::Refused => matches!(status, Some(1 | 2)) && is_named(row) && self.is_unchanged(case).await,
            },
        };
        if is_right { Ok(()) } else { Err(format!("{}: status {status:?}\n{said}", case.title())) }
    }

    /// Whether a refused command has left no index behind, and not changed the one that was there.
    async fn is_unchanged(&self, case: &Case) -> bool {
        let there = self.ask("GET", &format!("/{}", case.name("INDEX")), Value::Null).await.0 == 200;
        there == matches!(case.command.as_str(), "load --recreate" | "recover")
    }
}

fn documents() -> String {
    let document = |n: usize| json!({"id": n.to_string(), "n": n, "@timestamp": "2026-01-01T00:00:00Z"});
    (0..DOCS).map(|n| format!("{}\n", document(n))).collect()
}

async fn prove(product: Product) {
    let table = table(product);
    let cases = Case::all(&table);
    let secured = Arc::new(Secured::start(product, &cases).await);
    secured.fill().await;
    let mut wrong = Vec::new();
    let mut running = JoinSet::new();
    let mut left = cases.into_iter();
    loop {
        while running.len() < AT_ONCE
            && let Some(case) = left.next()
        {
            let secured = Arc::clone(&secured);
            running.spawn(async move { secured.check(&case).await });
        }
        match running.join_next().await {
            None => break,
            Some(checked) => wrong.extend(checked.unwrap().err()),
        }
    }
    assert!(wrong.is_empty(), "{} of the cases:\n{}", wrong.len(), wrong.join("\n"));
    Arc::into_inner(secured).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_8_19() {
    prove(Product::Elasticsearch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_2_19() {
    prove(Product::OpenSearch).await;
}
