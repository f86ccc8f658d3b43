//! Command lines of esbulk (its `cmd/esbulk/main.go`).

use super::table::{Fate, Line, Row, Syntax, TUNED, Tool, switch, value};
use super::{Address, Translation, web_port};
use crate::failure::UsageError;

pub(crate) static TOOL: Tool = Tool { name: "esbulk", version: "0.7.35", syntax: Syntax::Go, rows: ROWS };

const RESTORED: &str = "a large load switches replicas and refreshes off and restores them by itself";

const ROWS: &[Row] = &[
    value("server", Fate::Translated("`--to`")).repeated(),
    value("index", Fate::Translated("`--index`")),
    value("id", Fate::Translated("`--id`; an id of several fields is refused")),
    value("optype", Fate::Translated("`--action`; `update` is `upsert`")).unless("index"),
    switch("purge", Fate::Translated("`--recreate --yes`")),
    value("mapping", Fate::Translated("`--mapping`")),
    value("c", Fate::Noted("give its parts with `--settings FILE` and `--mapping FILE`, and add its aliases yourself")),
    value("p", Fate::Flag("--pipeline")),
    value("u", Fate::Translated("`--user`")),
    value("apikey", Fate::Noted("put the key into the variable INRUSH_API_KEY")),
    switch("k", Fate::Flag("--insecure")),
    value("size", Fate::Noted(TUNED)).unless("1000"),
    value("w", Fate::Noted(TUNED)),
    switch("0", Fate::Noted(RESTORED)),
    value("r", Fate::Noted(RESTORED)).unless("1s"),
    switch("skipbroken", Fate::Noted("a broken line is a dead letter, and the exit status is 3")),
    value("type", Fate::Noted("servers of today have no types")),
    switch("z verbose", Fate::Without),
    value("purge-pause", Fate::Without).unless("1s"),
    value("timeout", Fate::Without).unless("30s"),
    value("seed cpuprofile memprofile", Fate::Without),
    switch("v", Fate::Refused("it loads nothing")),
];

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let line = TOOL.read(arguments)?;
    let mut to = Translation::default();
    match line.words.as_slice() {
        [] => {
            to.source("-");
            to.set("--format", "ndjson");
        }
        [file, others @ ..] => {
            to.source(file);
            for other in others {
                to.refuse(other, "esbulk reads one file, and no flags behind it");
            }
        }
    }
    match line.get("index") {
        Some(index) => to.set("--index", index),
        None => to.refuse("-index", "it is missing"),
    }
    ids(&line, &mut to);
    match line.get("optype") {
        // It creates a document that is not there.
        Some("update") => to.set("--action", "upsert"),
        Some("create") => to.set("--action", "create"),
        Some(other) => to.refuse(&format!("-optype {other}"), "index, create and update are"),
        None => {}
    }
    if line.get("purge").is_some() {
        to.flag("--recreate");
        to.flag("--yes");
        to.note("-purge: --alias in place of --recreate replaces the index without a gap");
    }
    if line.get("mapping").is_some() {
        to.note("-mapping: esbulk also adds it to an index that is there, and a load does not; add it there first");
    }
    match line.get("mapping") {
        Some(text) if text.trim_start().starts_with('{') => {
            to.set("--mapping", "mapping.json");
            to.note("-mapping: write the mapping into the file mapping.json");
        }
        Some(file) => to.set("--mapping", file),
        None => {}
    }
    line.apply(&mut to);
    let nodes = servers(&line, &mut to);
    to.set("--to", &nodes);
    to.done()
}

fn ids(line: &Line, to: &mut Translation) {
    let Some(given) = line.get("id") else { return };
    match given.split([',', ' ']).filter(|field| !field.is_empty()).collect::<Vec<_>>().as_slice() {
        // esbulk takes this one out of the document.
        ["_id"] => {
            to.set("--id", "_id");
            to.set("--drop", "_id");
        }
        [field] => to.set("--id", field),
        _ => to.refuse(
            &format!("-id {given}"),
            "an id of several fields is made with --sql, as in concat(a, b) AS id; see docs/sql.md",
        ),
    }
}

/// The addresses of the servers, and the user.
fn servers(line: &Line, to: &mut Translation) -> String {
    let mut nodes = Vec::new();
    let mut users = Vec::new();
    for server in line.all("server") {
        let text = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
        match Address::read(&text, web_port) {
            Some(address) => {
                nodes.push(address.whole());
                users.extend(address.user);
            }
            None => to.refuse("-server", "it is not an address of a server"),
        }
    }
    // It takes precedence over users of addresses.
    if let Some(user) = line.get("u") {
        users = vec![user.split(':').next().unwrap_or_default().to_owned()];
    }
    for user in &users {
        to.login("--user", "INRUSH_PASSWORD", Some(user));
    }
    if nodes.is_empty() { "http://localhost:9200".to_owned() } else { nodes.join(",") }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{each_flag, outcome};
    use super::super::tests::{checked, words};
    use super::*;

    #[test]
    fn every_flag_becomes_what_the_table_says() {
        let examples = [
            ("server", "-server h -index a", "--to http://h:80\n"),
            ("server", "-server https://h -server http://b:9200 -index a", "--to https://h:443,http://b:9200\n"),
            ("server", "-server https://joe%40corp.com:x@h -index a", "--user joe@corp.com --to https://h:443\n"),
            ("server", "-server http://h?a -index a", "refused"),
            ("index", "-index a f.ldj", "inrush load f.ldj --index a --to http://localhost:9200\n"),
            ("index", "-index= f.ldj", "-index is not translated: it is missing"),
            ("id", "-index a -id doc.id", "--index a --id doc.id --to"),
            ("id", "-index a -id _id", "--index a --id _id --drop _id --to"),
            ("id", "-index a -id a,b", "-id a,b is not translated"),
            ("optype", "-index a -optype create", "--action create"),
            ("optype", "-index a -optype update", "--action upsert"),
            ("optype", "-index a -optype index", "--index a --to"),
            ("optype", "-index a -optype delete", "-optype delete is not translated"),
            ("purge", "-index a -purge", "--recreate --yes"),
            ("purge", "-index a -purge=T", "--recreate --yes"),
            ("mapping", "-index a -mapping m.json", "--mapping m.json"),
            ("mapping", "-index a -mapping {}", "--mapping mapping.json"),
            ("mapping", "-index a -mapping m.json", "add it there first"),
            ("u", "-index a -u ada:secret", "--user ada --to"),
        ];
        each_flag(&TOOL, translate, "-index a f.ldj", &examples);
    }

    #[test]
    fn an_index_is_purged_only_where_esbulk_purges_it() {
        for line in ["-purge=false", "-purge=0", "-purge=f", "--purge=FALSE", "-purge=F", "-purge=False"] {
            let translation =
                translate(&words(&format!("-server http://a:9200 -index a -id id {line} f.ldj"))).unwrap();
            assert_eq!(checked(&translation), "inrush load f.ldj --index a --id id --to http://a:9200\n", "{line}");
        }
        // A flag behind the file is none.
        let refused = outcome(translate(&words("-index a f.ldj -purge")));
        assert!(refused.contains("-purge is not translated: esbulk reads one file"), "{refused}");
    }

    #[test]
    fn a_command_line() {
        let line = "-server https://a:9200 -server https://b:9200 -index logs -id doc.id -w 8 -size=500 -z -purge -u ada:secret logs.ldj.gz";
        let translation = translate(&words(line)).unwrap();
        let expected = "inrush load logs.ldj.gz --index logs --id doc.id --recreate --yes --user ada \\\n  --to https://a:9200,https://b:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(
            notes.contains("-w: sizes") && notes.contains("INRUSH_PASSWORD") && !notes.contains("secret"),
            "{notes}"
        );
    }

    #[test]
    fn examples_of_its_readme() {
        let check =
            |line: &str, expected: &str| assert_eq!(checked(&translate(&words(line)).unwrap()), expected, "{line}");
        check("-index example file.ldj", "inrush load file.ldj --index example --to http://localhost:9200\n");
        check(
            "-server 10.20.1.2:9201 -index x file.ldj",
            "inrush load file.ldj --index x --to http://10.20.1.2:9201\n",
        );
        check(
            "-server https://elastic:changeme@0.0.0.0:9201 -optype create -index x file.ldj",
            "inrush load file.ldj --index x --action create --user elastic --to https://0.0.0.0:9201\n",
        );
        check("-index x -id x", "inrush load - --format ndjson --index x --id x --to http://localhost:9200\n");
    }

    #[test]
    fn addresses_keep_their_path_and_one_user_is_the_login() {
        let servers = "-server https://ada:x@proxy/es -server https://ada:x@other/es";
        let check = |line: &str, expected: &str| {
            let outcome = outcome(translate(&words(&format!("{line} -index a f.ldj"))));
            assert!(outcome.contains(expected), "{outcome}");
        };
        check(servers, "--user ada --to https://proxy:443/es,https://other:443/es\n");
        check(&format!("{servers} -u bob:y"), "--user bob --to");
        check(&format!("{servers} -server https://bob:y@b"), "the user bob is not translated");
    }
}
