//! One load: its index, its program, its fault, and the judgement on what it has left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use inrush_testbed::judgement::{Found, Judgement, Told};
use inrush_testbed::operations::{Form, Operations};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::drawn::{Drawn, Fault, Group, Way, Who};
use super::nodes::{COUNT, ThreeNodes};
use super::proxies::Proxy;
use crate::program;

/// A load that takes longer hangs.
const HANGS: Duration = Duration::from_secs(900);

/// The columns of a [`Line`].
pub const COLUMNS: &str = "seed,server,source,operations,fault,after_percent,addresses,request_timeout,options,seconds,\
                           status,verified,dead_letters,copies,tasks_left,verdict";

/// What became of a load.
pub struct Line {
    /// Its row of the table.
    pub row: String,
    /// All that is wrong; `None` where nothing is.
    pub faults: Option<String>,
}

/// A run of the program.
struct Running {
    child: Child,
    /// Operations that have an answer.
    read: watch::Receiver<u64>,
    /// The last line of its output.
    last: JoinHandle<String>,
}

/// What the program has said at its end.
struct Said {
    status: Option<i32>,
    report: Value,
    messages: String,
    is_resumed: bool,
}

impl Said {
    /// Whether it failed for this reason.
    fn ended_with(&self, code: &str) -> bool {
        self.report["failure_code"] == code
    }
}

/// A load before, while and after its program runs.
struct Load<'a> {
    drawn: &'a Drawn,
    index: String,
    folder: PathBuf,
    made: Operations,
    proxy: Option<Proxy>,
}

/// Runs the loads of a group, and returns a line for each.
pub async fn run(nodes: &mut ThreeNodes, group: &Group) -> Vec<Line> {
    let (began, restarts) = (Instant::now(), nodes.restarts);
    let mut loads = Vec::new();
    nodes.whole().await;
    for drawn in &group.loads {
        loads.push(prepare(nodes, drawn).await);
    }
    nodes.whole().await;
    let victim = match group.fault {
        Fault::Kill(Who::Manager) | Fault::Freeze(Who::Manager, _) => nodes.manager().await,
        _ => nodes.holder(&loads[0].index).await,
    };
    let mut running: Vec<Running> = loads.iter().map(|load| start(load, nodes, victim, &[])).collect();
    let mut too_late = Vec::new();
    for (load, running) in loads.iter().zip(&mut running) {
        let point = load.drawn.shape.operations * group.after / 100;
        too_late.push(running.read.wait_for(|read| *read >= point).await.is_err());
    }
    let ends: Vec<_> =
        running.into_iter().zip(&loads).map(|(running, load)| end(running, load.folder.clone())).collect();
    let ends: Vec<JoinHandle<Said>> = ends.into_iter().map(tokio::spawn).collect();
    strike(nodes, group.fault, victim).await;
    let mut all_said = Vec::new();
    for end in ends {
        all_said.push(end.await.unwrap());
    }
    // What proxies have not passed on, they do not pass on any more.
    loads.iter_mut().for_each(|load| drop(load.proxy.take()));
    let mut tasks_left = nodes.settled().await;
    let mut resumed = false;
    for (load, said) in loads.iter().zip(&mut all_said).filter(|(_, said)| said.ended_with("retries_spent")) {
        // The cluster hung for longer than the retries, and was restarted. The load goes on.
        *said = Said { is_resumed: true, ..end(start(load, nodes, victim, &["--resume"]), load.folder.clone()).await };
        resumed = true;
    }
    if resumed {
        tasks_left += nodes.settled().await;
    }
    let mut lines = Vec::new();
    for ((load, said), too_late) in loads.iter().zip(&all_said).zip(too_late) {
        let told = Told {
            found: nodes.documents(&load.index).await.into_iter().map(found).collect(),
            letters: letters(&load.folder.join("dead.ndjson")),
            skips_conflicts: load.drawn.skips_conflicts,
            duplicates: duplicates(&said.report),
            is_repeated: load.drawn.way.is_repeated(),
        };
        let judgement = Judgement::of(&load.made.expected, &told);
        let mut faults = faults(load.drawn, said, (&told, &judgement), tasks_left > 0 || nodes.restarts > restarts);
        if too_late {
            faults.push("it was over before its fault".to_owned());
        }
        let seconds = began.elapsed().as_secs();
        let cells = [seconds.to_string(), tasks_left.to_string()];
        lines.push(line(nodes, group, load, said, (&told, &judgement), cells, &faults));
    }
    for (load, line) in loads.iter().zip(&lines) {
        delete(nodes, load).await;
        if line.faults.is_none() {
            std::fs::remove_dir_all(&load.folder).unwrap();
        }
    }
    lines
}

/// Makes the index, the files and the proxy of a load.
async fn prepare<'a>(nodes: &ThreeNodes, drawn: &'a Drawn) -> Load<'a> {
    let index = format!("load-{}", drawn.seed);
    make(nodes, drawn, &index).await;
    let folder = nodes.folder.join(&index);
    std::fs::create_dir(&folder).unwrap();
    let made = Operations::drawn(drawn.seed, drawn.shape);
    std::fs::write(folder.join("source"), made.text()).unwrap();
    let proxy = match drawn.way {
        Way::Proxy { kind, read, repeats } => Some(Proxy::start(kind, &folder, &nodes.urls(), read, repeats)),
        _ => None,
    };
    Load { drawn, index, folder, made, proxy }
}

/// Makes the index or the data stream.
async fn make(nodes: &ThreeNodes, drawn: &Drawn, index: &str) {
    let settings = json!({"number_of_shards": 6, "number_of_replicas": 1});
    let types = json!({"@timestamp": {"type": "date"}, "at": {"type": "long"}, "n": {"type": "long"}});
    let body = json!({"settings": settings, "mappings": {"dynamic": false, "properties": types}});
    if drawn.shape.form == Form::Stream {
        let template = json!({"index_patterns": [index], "priority": 500, "data_stream": {}, "template": body});
        nodes.ask("PUT", &format!("/_index_template/{index}"), template).await;
        nodes.ask("PUT", &format!("/_data_stream/{index}"), Value::Null).await;
    } else {
        nodes.ask("PUT", &format!("/{index}"), body).await;
    }
}

async fn delete(nodes: &ThreeNodes, load: &Load<'_>) {
    let index = &load.index;
    if load.drawn.shape.form == Form::Stream {
        nodes.ask("DELETE", &format!("/_data_stream/{index}"), Value::Null).await;
        nodes.ask("DELETE", &format!("/_index_template/{index}"), Value::Null).await;
    } else {
        nodes.ask("DELETE", &format!("/{index}"), Value::Null).await;
    }
}

fn command(load: &Load<'_>, nodes: &ThreeNodes, victim: usize) -> Command {
    let Load { drawn, index, folder, proxy, .. } = load;
    let others = (0..COUNT).filter(|at| *at != victim).map(|at| nodes.url(at));
    let addresses: Vec<String> = match (drawn.way, proxy) {
        (_, Some(proxy)) => vec![proxy.url.clone()],
        (Way::Others, _) => others.collect(),
        (Way::Other, _) => others.take(1).collect(),
        (Way::Victim, _) => vec![nodes.url(victim)],
        _ => nodes.urls(),
    };
    let mut command = Command::from(program::inrush());
    command.args(["load", "source", "--index", index, "--to", &addresses.join(","), "--yes", "--json"]);
    command.args(["--report-every", "50ms", "--dead-letters", "dead.ndjson", "--retries", "1000"]);
    // Tasks that OpenSearch keeps for ever are waited for as long.
    command.args(["--retry-for", "5m"]);
    command.args(["--request-timeout", &format!("{}s", drawn.timeout)]).args(&drawn.options);
    match drawn.shape.form {
        Form::Bulk => command.args(["--format", "bulk"]),
        Form::Lines | Form::Stream => command.args(["--format", "ndjson", "--action", "create"]),
    };
    if let Some(authority) = proxy.as_ref().and_then(|proxy| proxy.authority.as_ref()) {
        command.arg("--ca").arg(authority);
    }
    command.current_dir(folder).env("XDG_STATE_HOME", folder.join("state"));
    let messages = std::fs::File::create(folder.join("messages")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(messages).kill_on_drop(true);
    command
}

fn start(load: &Load<'_>, nodes: &ThreeNodes, victim: usize, flags: &[&str]) -> Running {
    let mut child = command(load, nodes, victim).args(flags).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (progress, read) = watch::channel(0);
    let last = tokio::spawn(async move {
        let mut last = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let counts: Value = serde_json::from_str(&line).unwrap_or_default();
            // The report has a status, and says nothing of a moment before its end.
            if counts["status"].is_null() {
                progress.send_replace(counts["docs_read"].as_u64().unwrap_or_default());
            }
            last = line;
        }
        last
    });
    Running { child, read, last }
}

/// Waits for the end of the program.
async fn end(mut running: Running, folder: PathBuf) -> Said {
    let status = match timeout(HANGS, running.child.wait()).await {
        Ok(status) => status.unwrap().code(),
        Err(_) => {
            running.child.kill().await.unwrap();
            None
        }
    };
    let last = running.last.await.unwrap();
    let messages = std::fs::read_to_string(folder.join("messages")).unwrap_or_default();
    Said { status, report: serde_json::from_str(&last).unwrap_or_default(), messages, is_resumed: false }
}

async fn strike(nodes: &mut ThreeNodes, fault: Fault, victim: usize) {
    let other = (victim + 1) % COUNT;
    match fault {
        Fault::Kill(_) => nodes.crash(&[victim]).await,
        Fault::KillTwo => nodes.crash(&[victim, other]).await,
        Fault::Rolling => nodes.roll().await,
        Fault::Freeze(_, seconds) => freeze(nodes, &[victim], seconds).await,
        Fault::FreezeTwo(seconds) => freeze(nodes, &[victim, other], seconds).await,
    }
}

async fn freeze(nodes: &mut ThreeNodes, victims: &[usize], seconds: u64) {
    victims.iter().for_each(|at| nodes.freeze(*at));
    // The time is what the fault is, and waits for nothing.
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    victims.iter().for_each(|at| nodes.thaw(*at));
}

fn found(hit: Value) -> Found {
    Found {
        id: hit["_id"].as_str().unwrap().to_owned(),
        routing: hit["_routing"].as_str().map(str::to_owned),
        source: hit["_source"].clone(),
    }
}

/// The dead letters by their lines, with their errors.
fn letters(path: &Path) -> BTreeMap<u64, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let letters = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    letters.map(|letter| (letter["position"]["line"].as_u64().unwrap(), letter["error"].to_string())).collect()
}

/// The copies that the report allows for: those that are possible, or those that the count proves.
fn duplicates(report: &Value) -> u64 {
    let counts = ["/possible_duplicates", "/verified/duplicates"].map(|at| report.pointer(at).and_then(Value::as_u64));
    counts.into_iter().flatten().max().unwrap_or_default()
}

/// All that is wrong with a load. `endless`: the cluster keeps tasks that do not end, or hung.
fn faults(drawn: &Drawn, said: &Said, (told, judgement): (&Told, &Judgement), endless: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let report = &said.report;
    let verified = report["verified"]["state"] == "yes";
    // A proxy that repeats requests makes copies of documents without ids, and dead letters of
    // operations that were done. Only the count can show them, and may take the copies for those of
    // a request without an answer.
    let may_differ = told.is_repeated && judgement.copies + judgement.repeated > 0;
    let judgement = match may_differ {
        true => &Judgement { untold: 0, ..judgement.clone() },
        false => judgement,
    };
    if !judgement.is_clean() {
        faults.push(judgement.to_string());
    }
    if verified && !judgement.is_right() {
        faults.push("verified yes".to_owned());
    }
    let right = if told.letters.is_empty() { 0 } else { 3 };
    match said.status {
        Some(status) if status == right || (may_differ && status == 4) => {}
        Some(status) => faults.push(format!("status {status} instead of {right}")),
        None => faults.push("hangs".to_owned()),
    }
    // A proxy can end the requests of the count, too, and the report says that.
    let is_not_counted = matches!(drawn.way, Way::Proxy { .. })
        && report["verified"]["state"] == "not provable"
        && report["verified"]["detail"].as_str().is_some_and(|detail| detail.contains("could not be counted"));
    // Nothing shows whether a task without an end has written, and a shard that hangs is not
    // counted. The report says so.
    let is_open = endless
        && report["verified"]["state"] == "not provable"
        && report["verified"]["detail"].as_str().is_some_and(|detail| {
            detail.contains("may still take effect") || detail.contains("did not return a count")
        });
    if !verified && !may_differ && !is_not_counted && !is_open {
        faults.push(format!("verified {}", report["verified"]));
    }
    let names = |text: &str| text.contains("another client");
    if !may_differ && (names(&report.to_string()) || names(&said.messages)) {
        faults.push("another client is named".to_owned());
    }
    if report["docs_read"] != drawn.shape.operations {
        faults.push(format!("{} of {} operations read", report["docs_read"], drawn.shape.operations));
    }
    if let Some(failure) = report["failure"].as_str() {
        faults.push(failure.to_owned());
    }
    faults
}

fn line(
    nodes: &ThreeNodes,
    group: &Group,
    load: &Load<'_>,
    said: &Said,
    (told, judgement): (&Told, &Judgement),
    [seconds, tasks_left]: [String; 2],
    faults: &[String],
) -> Line {
    let (drawn, shape) = (load.drawn, load.drawn.shape);
    let options: Vec<&str> = drawn.options.iter().map(|option| option.trim_start_matches("--")).collect();
    let verdict = match (faults.is_empty(), said.is_resumed) {
        (true, false) => "right".to_owned(),
        (true, true) => "right after --resume".to_owned(),
        (false, _) => faults.join("; "),
    };
    let cells = [
        drawn.seed.to_string(),
        nodes.title.clone(),
        format!("{:?}{}", shape.form, if shape.refused { " with refusals" } else { "" }),
        shape.operations.to_string(),
        format!("{:?}", group.fault),
        group.after.to_string(),
        format!("{:?}", drawn.way),
        format!("{} s", drawn.timeout),
        options.join(" "),
        seconds,
        said.status.map_or_else(|| "none".to_owned(), |status| status.to_string()),
        said.report["verified"]["state"].as_str().unwrap_or("none").to_owned(),
        told.letters.len().to_string(),
        format!("{} of {}", judgement.copies, told.duplicates),
        tasks_left,
        verdict.clone(),
    ];
    let row = cells.map(|cell| cell.replace(", ", " ").replace([',', '\n'], " ")).join(",");
    std::fs::write(load.folder.join("report.json"), said.report.to_string()).unwrap();
    let faults = (!faults.is_empty()).then(|| {
        let examples = judgement.examples.join("\n  ");
        format!("seed {}: {verdict}\n  {examples}\n  files: {}", drawn.seed, load.folder.display())
    });
    Line { row, faults }
}
