//! Command lines of espipe (its `main.rs`, `input.rs` and `output`).

use super::table::{Fate, Line, Row, Syntax, TUNED, Tool, switch, value};
use super::{Address, Translation, web_port};
use crate::failure::UsageError;

pub(crate) static TOOL: Tool = Tool { name: "espipe", version: "0.7.0", syntax: Syntax::Clap, rows: ROWS };

const TEMPLATE: &str = "put the template into the cluster, or give `--mapping` and `--settings`";
const FILES: &str = "it decides which files are read";

const ROWS: &[Row] = &[
    value("action", Fate::Translated("`--action`; `update` and `upsert` also `--id _id --drop _id`")).unless("index"),
    value("split", Fate::Translated("`--records`; the root `/` is refused")),
    value("generate-id", Fate::Translated("nothing for `false`; else refused")),
    value("pipeline pipeline-name", Fate::Translated("`--pipeline`")),
    value("template template-name template-overwrite", Fate::Noted(TEMPLATE)),
    value("symlinks hidden", Fate::Refused(FILES)).unless("skip"),
    switch("insecure k", Fate::Flag("--insecure")),
    value("apikey a", Fate::Noted("put the key into the variable INRUSH_API_KEY")),
    value("username u", Fate::Translated("`--user`")),
    value("password p", Fate::Without),
    value("batch-size", Fate::Noted(TUNED)),
    value("max-requests", Fate::Noted(TUNED)).unless("16"),
    switch("quiet q", Fate::Flag("--quiet")),
    switch("uncompressed z", Fate::Without),
    value("content", Fate::Without).unless("body"),
    switch("help h version V", Fate::Refused("it loads nothing")),
];

/// Ends of the names of files whose lines or rows are documents.
const READ: [&str; 6] = [".ndjson", ".ndjson.gz", ".jsonl", ".json", ".csv", ".csv.gz"];

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let line = TOOL.read(arguments)?;
    let mut to = Translation::default();
    let (output, inputs) = match line.words.as_slice() {
        [inputs @ .., output] if !inputs.is_empty() => (output.as_str(), inputs),
        words => ("", words),
    };
    if inputs.is_empty() || output.is_empty() {
        to.refuse("the command line", "espipe needs an input and an output");
        return to.done();
    }
    let address = Address::read(output, web_port).filter(|address| !address.path.is_empty());
    let Some(address) = address.filter(|address| !address.path.contains('/')) else {
        // It may have a password.
        let shown = output.rsplit('@').next().unwrap_or_default();
        to.refuse(&format!("the output {shown}"), "it is not the address of an index, as http://host:9200/index");
        return to.done();
    };
    sources(inputs, &line, &mut to);
    to.set("--index", &address.path);
    match line.get("action") {
        Some(action @ ("update" | "upsert")) => {
            to.set("--action", action);
            to.set("--id", "_id");
            to.set("--drop", "_id");
        }
        other => {
            if let Some(action) = other {
                to.set("--action", action);
            }
            to.note("if the documents have a field _id, give --id _id --drop _id");
        }
    }
    pipeline(&line, &mut to);
    line.apply(&mut to);
    for user in [address.user.as_deref(), line.get("username"), line.get("u")].into_iter().flatten() {
        to.login("--user", "INRUSH_PASSWORD", Some(user));
    }
    to.set("--to", &address.at(""));
    to.done()
}

fn sources(inputs: &[String], line: &Line, to: &mut Translation) {
    let mut is_csv = false;
    for input in inputs {
        let path = input.strip_prefix("file://").unwrap_or(input);
        let name = path.to_lowercase();
        if path != "-" && !READ.iter().any(|end| name.ends_with(end)) {
            to.refuse(input, "only .ndjson, .jsonl, .json and .csv are files of documents for espipe and for a load");
        }
        is_csv |= name.ends_with(".csv") || name.ends_with(".csv.gz");
        to.source(path);
    }
    if inputs.iter().any(|input| input == "-") {
        to.set("--format", "ndjson");
    } else {
        to.note("espipe adds a field origin to documents of files");
    }
    if is_csv {
        to.flag("--all-strings");
        to.note("CSV: without --all-strings numbers become numbers; an empty cell is left out");
    }
    match line.get("split").map(|path| path.trim_end_matches('/')) {
        Some("") => to.refuse(
            "--split /",
            "an object at the root would be one document; the elements of an array are documents without it",
        ),
        Some(path) => {
            to.set("--records", path);
            to.note("--split: where the path leads to an object, espipe loads its values, and a load the object");
        }
        None => {}
    }
    let reason = "espipe makes ids of the paths of files; translate it with --generate-id=false, and give the command \
                  --id-from position";
    let several = inputs.len() > 1 || inputs.iter().any(|input| input.contains(['*', '?', '[']));
    match line.get("generate-id") {
        Some("false") => {}
        Some(_) => to.refuse("--generate-id", reason),
        None if several => to.refuse("a load of several files", reason),
        None => {}
    }
}

/// The name of a pipeline is that of its file.
fn pipeline(line: &Line, to: &mut Translation) {
    let file = line.get("pipeline").map(std::path::Path::new);
    let stem = file.and_then(|file| file.file_stem()?.to_str());
    if let Some(name) = line.get("pipeline-name").or(stem) {
        to.set("--pipeline", name);
    }
    if file.is_some() {
        to.note("--pipeline: put the pipeline into the cluster first");
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{each_flag, outcome};
    use super::super::tests::{checked, words};
    use super::*;

    #[test]
    fn every_flag_becomes_what_the_table_says() {
        let examples = [
            ("action", "- http://h/a --action create", "--action create --to"),
            ("action", "- http://h/a --action index", "--index a --to"),
            ("action", "- http://h/a --action=update", "--action update --id _id --drop _id"),
            ("action", "- http://h/a --action upsert", "--action upsert --id _id --drop _id"),
            ("split", "a.json http://h/a --split /hits/hits/", "--records /hits/hits"),
            ("split", "a.json http://h/a --split /", "--split / is not translated"),
            ("generate-id", "a.csv http://h/a --generate-id true", "--generate-id is not translated"),
            ("generate-id", "a.csv b.csv http://h/a --generate-id=false", "inrush load a.csv b.csv --all-strings"),
            ("pipeline", "- http://h/a --pipeline p/geo.yml", "--pipeline geo --to"),
            ("pipeline-name", "- http://h/a --pipeline p/geo.yml --pipeline-name g", "--pipeline g --to"),
            ("pipeline-name", "- http://h/a --pipeline-name _none", "--pipeline _none --to"),
            ("username", "- http://h/a --username ada --password x", "--user ada --to"),
            ("u", "- http://h/a -uada -px", "--user ada --to"),
        ];
        each_flag(&TOOL, translate, "a.ndjson http://h:9200/a", &examples);
    }

    #[test]
    fn a_command_line() {
        let line =
            "reply.json https://host:9200/shop --split /hits/hits --action upsert --apikey secret --batch-size 500";
        let translation = translate(&words(line)).unwrap();
        let expected = "inrush load reply.json --records /hits/hits --index shop --action upsert --id _id --drop _id \\\n  \
                        --to https://host:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(notes.contains("INRUSH_API_KEY") && !notes.contains("secret"), "{notes}");
    }

    #[test]
    fn outputs_have_a_port_a_user_and_one_index() {
        let check = |output: &str, expected: &str| {
            let outcome = outcome(translate(&words(&format!("docs.ndjson {output}"))));
            assert!(outcome.contains(expected) && !outcome.contains("secret"), "{output}: {outcome}");
        };
        check("https://joe%40corp.com:secret@h/a", "--index a --user joe@corp.com --to https://h:443\n");
        check("http://joe:secret@h/a -u ann -p secret", "the user ann is not translated");
        check("http://h/a", "--to http://h:80\n");
        for output in
            ["env:/docs", ".es:/docs", "cluster:docs", "out.ndjson", "http://h", "http://ann:secret@h/es/a", "-"]
        {
            check(output, "is not the address of an index");
        }
        check("", "needs an input and an output");
    }

    #[test]
    fn files_that_are_one_document_for_espipe_are_refused() {
        for name in [
            "docs.txt",
            "a.log",
            "a.md",
            "a.yaml",
            "a.yml",
            "a.toon",
            "a.pdf",
            "a.docx",
            "a.xlsx",
            "a.xls",
            "a.ods",
            "a.pps",
            "a.tsv",
            "a.gz",
            "a",
            "https://host/a",
            "a.jsonl.gz",
        ] {
            let refused = outcome(translate(&words(&format!("{name} http://h/a"))));
            assert!(refused.contains(&format!("{name} is not translated")), "{refused}");
        }
        for name in ["a.NDJSON", "a.ndjson.gz", "a.jsonl", "file://a.json", "a.CSV", "https://host/a.csv"] {
            assert!(translate(&words(&format!("{name} http://h/a"))).is_ok(), "{name}");
        }
        for names in ["a.csv b.csv", "logs/*.ndjson"] {
            let refused = outcome(translate(&words(&format!("{names} http://h/a"))));
            assert!(refused.contains("a load of several files is not translated"), "{refused}");
        }
    }

    #[test]
    fn text_of_csv_stays_text() {
        let translation = translate(&words("users.csv.gz http://localhost:9200/users")).unwrap();
        let expected = "inrush load users.csv.gz --all-strings --index users --to http://localhost:9200\n";
        assert_eq!(checked(&translation), expected);
    }
}
