//! Command lines of elasticdump (its `bin/elasticdump` and the readers that it calls).

use super::table::{Fate, Line, Row, Syntax, TUNED, Tool, switch, value};
use super::{Address, Translation, decoded, search, web_port};
use crate::failure::UsageError;

pub(crate) static TOOL: Tool = Tool { name: "elasticdump", version: "6.125.1", syntax: Syntax::Minimist, rows: ROWS };

const AWS: &str = "`--aws-sigv4 es` signs requests, `--from-aws-sigv4 es` those to the source; see docs/aws.md";
const S3_LOGIN: &str = "credentials come from the places of Amazon's tools; see docs/aws.md";
const TLS: &str = "give the files with `--ca`, `--cert` and `--key`, for the source with `--from-ca`, `--from-cert` and \
                   `--from-key`";
const CODE: &str = "code of the caller decides";
const PROXY: &str = "another server decides where requests go; see docs/how-to/proxy.md";
const VERSION: &str = "versions decide which of two documents stays; `--keep-versions` is the counterpart for an index";
const ROWS_OF_CSV: &str = "it decides which rows are documents";
const CELLS_OF_CSV: &str = "it changes cells";

const ROWS: &[Row] = &[
    value("input", Fate::Translated("the source")),
    value("input-index", Fate::Translated("the index of the source")),
    value("output", Fate::Translated("`--to`, `--index`")),
    value("output-index", Fate::Translated("`--index`")),
    value("prefix suffix", Fate::Translated("a part of `--index`")),
    value("type", Fate::Translated("nothing for `data`; else refused")).unless("data"),
    value("searchBody", Fate::Translated("`--query`; other parts of a search are refused")),
    switch("searchWithTemplate", Fate::Refused("a template in the cluster is the query")),
    value("searchBodyTemplate", Fate::Refused(CODE)),
    value("transform", Fate::Refused("it changes documents; `--sql` or a pipeline of the cluster computes fields")),
    value("inputTransport outputTransport", Fate::Refused(CODE)),
    value("size", Fate::Refused("it limits how many documents are copied")).unless("-1"),
    value("offset", Fate::Refused("it leaves out the first documents; `--resume` goes on with a load")).unless("0"),
    value("scrollId", Fate::Refused("it goes on with a search that began elsewhere")),
    switch("delete", Fate::Refused("it deletes the documents of the source")),
    value("params input-params output-params", Fate::Refused("parameters of requests decide which documents are read")),
    value("headers input-headers output-headers", Fate::Refused("headers can decide where requests go")),
    value("inputSocksProxy inputSocksPort outputSocksProxy outputSocksPort", Fate::Refused(PROXY)),
    value("bulkAction", Fate::Translated("`--action`; `delete` is refused")).unless("index"),
    switch("handleVersion", Fate::Refused(VERSION)),
    value("versionType", Fate::Refused(VERSION)),
    value("parseExtraFields", Fate::Refused("further metadata of a document decides how it is written")),
    switch("openSearchServerless", Fate::Refused("documents lose their ids")),
    switch("ignore-errors", Fate::Noted("refused documents are dead letters, and the exit status is 3")),
    switch("ignore-es-write-errors", Fate::Flag("--strict")).unless("true"),
    switch(
        "sourceOnly",
        Fate::Noted(
            "for a file as input it does nothing; `--format ndjson` in place of `hits` reads one without `_source`",
        ),
    ),
    switch("quiet", Fate::Flag("--quiet")),
    value("limit concurrency concurrencyInterval intervalCap maxSockets throttleInterval", Fate::Noted(TUNED)),
    value(
        "httpAuthFile",
        Fate::Noted("give `--user` and `--password-file`, for the source `--from-user` and `--from-password-file`"),
    ),
    switch("tlsAuth", Fate::Noted(TLS)),
    value("ca cert key pass input-ca input-cert input-key input-pass", Fate::Noted(TLS)),
    value("output-ca output-cert output-key output-pass", Fate::Noted(TLS)),
    switch("awsChain", Fate::Noted(AWS)),
    value("awsAccessKeyId awsSecretAccessKey sessionToken awsIniFileProfile awsIniFileName", Fate::Noted(AWS)),
    value("awsService awsRegion awsUrlRegex", Fate::Noted(AWS)),
    value("s3AccessKeyId s3SecretAccessKey s3SessionToken", Fate::Noted(S3_LOGIN)),
    value("s3Region", Fate::Translated("`--store-option region=…`")),
    value("s3Endpoint", Fate::Translated("`--store-option endpoint=…`")),
    switch("s3SSLEnabled", Fate::Translated("`--store-option allow_http=true`")).unless("true"),
    value("s3Configs", Fate::Refused("it can name another store")),
    value("csvDelimiter", Fate::Translated("`--separator`")).unless(","),
    value("csvQuoteChar", Fate::Translated("`--quote`, with the same `--csvEscapeChar`; else refused")).unless("\""),
    value("csvCustomHeaders", Fate::Translated("`--columns`")),
    value("csvIdColumn", Fate::Translated("`--id`")),
    value("csvConfigs", Fate::Refused("it sets all options of the reader of CSV")),
    value("csvEscapeChar", Fate::Translated("nothing, where it is the quote; else refused")).unless("\""),
    switch("csvFirstRowAsHeaders", Fate::Refused("rows would be arrays, not documents")).unless("true"),
    switch("csvRenameHeaders", Fate::Refused("other names take the place of the header; `--sql` renames fields")),
    switch("csvHandleNestedData", Fate::Refused("cells become objects and numbers")),
    switch("csvDiscardUnmappedColumns", Fate::Refused("cells without a column are left out")),
    value("csvMaxRows csvSkipLines csvSkipRows", Fate::Refused(ROWS_OF_CSV)).unless("0"),
    switch("csvTrim csvLTrim csvRTrim", Fate::Refused(CELLS_OF_CSV)),
    switch("csvIgnoreEmpty", Fate::Refused("it leaves out rows of empty cells; so does a condition of `--sql`")),
    value("csvIndexColumn csvTypeColumn csvRowDelimiter", Fate::Without),
    switch("csvWriteHeaders", Fate::Without).unless("true"),
    switch("csvIgnoreAutoColumns csvIncludeEndRowDelimiter", Fate::Without),
    // Of the output to files and stores, and of runs for templates.
    switch("overwrite jsonLines toLog fsCompress s3Compress s3ForcePathStyle", Fate::Without),
    value("format fileSize maxRows compressionLevel templateRegex", Fate::Without),
    value("s3ServerSideEncryption s3SSEKMSKeyId s3ACL s3StorageClass s3Options", Fate::Without),
    switch("filterSystemTemplates", Fate::Without).unless("true"),
    switch("delete-with-routing skip-existing noRefresh esCompress support-big-int debug heapSnapshot", Fate::Without),
    switch("scroll-with-post searchAfter pit customBackoff", Fate::Without),
    switch("carryoverConcurrencyCount", Fate::Without).unless("true"),
    value("big-int-fields scrollTime scrollRetryDelay pitKeepAlive timeout force-os-version", Fate::Without),
    value("retryAttempts retryDelay retryDelayBase", Fate::Without),
    switch("help version", Fate::Refused("it copies nothing")),
];

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let line = TOOL.read(arguments)?;
    let mut to = Translation::default();
    for word in &line.words {
        to.refuse(word, "it is not behind a flag");
    }
    if let Some(kind) = line.get("type") {
        let reason = match kind {
            "mapping" | "analyzer" | "settings" | "index" => {
                "it copies no documents; the command of --type=data copies mapping and settings, too, and that of a \
                 file takes --mapping FILE and --settings FILE"
            }
            _ => "a load copies documents, with mapping and settings",
        };
        to.refuse(&format!("--type={kind}"), reason);
    }
    let input = line.get("input").unwrap_or_default();
    let is_index = input.starts_with("http://") || input.starts_with("https://");
    if is_index {
        if let Some(place) = place("input", &line, &mut to) {
            to.source(&format!("{}/{}", place.nodes, place.index));
            if decoded(&place.index).contains(['*', ',']) {
                to.note(
                    "documents with one id in several indices are one document in the target, as with elasticdump; \
                     --index-in-id keeps them apart",
                );
            }
            if let Some(user) = &place.user {
                to.login("--from-user", "INRUSH_FROM_PASSWORD", Some(user));
            }
        }
        if let Some(body) = line.get("searchBody") {
            search_body(body, &mut to);
        }
    } else {
        file(input, &line, &mut to);
    }
    if let Some(place) = place("output", &line, &mut to) {
        let part = |name| line.get(name).unwrap_or_default();
        to.set("--index", &format!("{}{}{}", part("prefix"), decoded(&place.index), part("suffix")));
        if is_index {
            to.flag("--copy-mapping");
            to.flag("--copy-settings");
            to.note("if the index does not exist, it gets the mapping and the settings of the source");
        }
        if let Some(user) = &place.user {
            to.login("--user", "INRUSH_PASSWORD", Some(user));
        }
        others(&line, &mut to);
        to.set("--to", &place.nodes);
    }
    to.done()
}

/// An index in a cluster.
struct Place {
    nodes: String,
    index: String,
    user: Option<String>,
}

/// The index of one side, as elasticdump takes its address apart: the last part of a path of
/// several is a type. A given index is below the whole address.
fn place(side: &str, line: &Line, to: &mut Translation) -> Option<Place> {
    let shown = format!("--{side}");
    let Some(address) = Address::read(line.get(side).unwrap_or_default(), web_port) else {
        to.refuse(&shown, "it is not the address of an index; a snapshot of the cluster keeps an index in files");
        return None;
    };
    let given = line.get(if side == "input" { "input-index" } else { "output-index" });
    let parts: Vec<&str> = address.path.split('/').filter(|part| !part.is_empty()).collect();
    let (nodes, index, kind) = match (given, parts.as_slice()) {
        (Some(given), _) => {
            let mut given = given.split('/').filter(|part| !part.is_empty());
            (address.whole(), given.next(), given.next())
        }
        (None, []) => (address.whole(), None, None),
        (None, [index]) => (address.at(""), Some(*index), None),
        (None, [above @ .., index, kind]) => (address.at(&above.join("/")), Some(*index), Some(*kind)),
    };
    if kind.is_some() {
        to.note(format!("{shown}: the type is left out; servers of today have none"));
    }
    let Some(index) = index else {
        to.refuse(&shown, "it names no index, and a load has one; a pattern as http://host:9200/logs-* is one");
        return None;
    };
    Some(Place { nodes, index: index.to_owned(), user: address.user })
}

fn search_body(body: &str, to: &mut Translation) {
    if body.starts_with('@') {
        to.refuse(&format!("--searchBody {body}"), "give the content of the file in its place");
    } else {
        search("--searchBody", body, to);
    }
}

/// A file as input.
fn file(input: &str, line: &Line, to: &mut Translation) {
    let csv = input.strip_prefix("csv://");
    match input {
        "" => to.refuse("--input", "it is missing"),
        "$" => to.source("-"),
        input => to.source(csv.unwrap_or(input)),
    }
    to.set("--format", if csv.is_some() { "csv" } else { "hits" });
    if csv.is_none() {
        return;
    }
    escapes(line, to);
    for (name, flag) in
        [("csvDelimiter", "--separator"), ("csvQuoteChar", "--quote"), ("csvCustomHeaders", "--columns")]
    {
        if let Some(value) = line.get(name) {
            to.set(flag, value);
        }
    }
    to.flag("--all-strings");
    to.note("CSV: without --all-strings numbers become numbers; an empty cell is left out");
    to.note("CSV: a blank line is no document, and a row with too few cells is a dead letter");
    match line.get("csvIdColumn") {
        Some(column) => to.set("--id", column),
        None => to.note("CSV: --id @id --drop @id,@index,@type take the id from a file that elasticdump wrote"),
    }
}

/// Refuses cells with escaped quotes of another kind. In a load a quote inside quotes is doubled.
fn escapes(line: &Line, to: &mut Translation) {
    let given = |name| line.get(name).unwrap_or("\"");
    let (quote, escape) = (given("csvQuoteChar"), given("csvEscapeChar"));
    if quote == escape {
        return;
    }
    if line.get("csvEscapeChar").is_some() {
        let reason = "it is not the quote; the escape character of a load, --escape, has other rules";
        to.refuse(&format!("--csvEscapeChar {escape}"), reason);
    } else {
        let reason = format!(
            "elasticdump's escape character stays \"; give --csvEscapeChar {quote}, too, if quotes in cells are doubled"
        );
        to.refuse(&format!("--csvQuoteChar {quote}"), &reason);
    }
}

/// Flags that do not depend on others.
fn others(line: &Line, to: &mut Translation) {
    match line.get("bulkAction") {
        Some("delete") => to.refuse("--bulkAction=delete", "elasticdump sends documents with it"),
        Some(action) => to.set("--action", action),
        None => {}
    }
    for (name, option) in [("s3Region", "region"), ("s3Endpoint", "endpoint")] {
        if let Some(value) = line.get(name) {
            to.set("--store-option", &format!("{option}={value}"));
        }
    }
    if line.get("s3SSLEnabled").is_some() {
        to.set("--store-option", "allow_http=true");
    }
    line.apply(to);
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{each_flag, outcome};
    use super::super::tests::{checked, words};
    use super::*;

    const OUT: &str = "--output=http://new:9200/shop";

    #[test]
    fn every_flag_becomes_what_the_table_says() {
        let to = "--output http://new:9200/b";
        let examples = [
            (
                "input",
                "--input=http://old:9200/a --output http://new:9200/b",
                "inrush load http://old:9200/a --index b",
            ),
            ("input", &format!("--input $ {to}"), "inrush load - --format hits"),
            ("input", &format!("--input s3://b/f.json {to}"), "inrush load s3://b/f.json --format hits"),
            ("input", "--input=http://old:9200 --output=http://new:9200/a", "--input is not translated"),
            ("input", "--input= --output=http://new:9200/a", "--input is not translated: it is missing"),
            ("input-index", &format!("--input-index a --input http://h/p {to}"), "load http://h:80/p/a --index b"),
            ("input-index", &format!("--input-index a/doc --input http://h/p {to}"), "load http://h:80/p/a --index b"),
            ("output", "--output https://h/b --input f.json", "--index b --to https://h:443\n"),
            ("output", "--output f.json --input http://h/a", "--output is not translated: it is not the address"),
            ("output-index", "--output-index c --output https://h/b --input f", "--index c --to https://h:443/b\n"),
            ("prefix", "--prefix x- --output http://h/b --input f.json", "--index x-b --to"),
            ("suffix", "--suffix=-x --prefix=y --output http://h/b --input f.json", "--index yb-x --to"),
            ("type", &format!("--type data --input f.json {to}"), "--format hits --index b --to"),
            ("type", &format!("--type mapping --input http://h/a {to}"), "--type=mapping is not translated"),
            ("type", &format!("--type index --input http://h/a {to}"), "copies no documents"),
            ("type", &format!("--type alias --input http://h/a {to}"), "--type=alias is not translated"),
            (
                "searchBody",
                r#"--searchBody={"query":{"term":{"a":1}}} --input http://h/a --output http://n/b"#,
                r#"http://h:80/a --query '{"term":{"a":1}}' --index b"#,
            ),
            ("searchBody", &format!("--searchBody=@f --input http://h/a {to}"), "the content of the file"),
            ("searchBody", &format!("--searchBody={{ --input http://h/a {to}"), "not JSON"),
            ("bulkAction", &format!("--bulkAction create --input f {to}"), "--action create"),
            ("bulkAction", &format!("--bulkAction delete --input f {to}"), "refused"),
            ("s3Region", &format!("--s3Region eu --input s3://b/f {to}"), "--store-option region=eu"),
            ("s3Endpoint", &format!("--s3Endpoint http://m --input s3://b/f {to}"), "endpoint=http://m"),
            ("s3SSLEnabled", &format!("--s3SSLEnabled false --input s3://b/f {to}"), "--store-option allow_http=true"),
            ("csvDelimiter", &format!("--csvDelimiter ; --input csv://f {to}"), "--format csv --separator ';'"),
            ("csvQuoteChar", &format!("--csvQuoteChar ' --csvEscapeChar ' --input csv://f {to}"), r"--quote ''\'''"),
            ("csvQuoteChar", &format!("--csvQuoteChar ' --input csv://f {to}"), "escape character stays \";"),
            (
                "csvEscapeChar",
                &format!(r"--csvEscapeChar \ --input csv://f {to}"),
                r"--csvEscapeChar \ is not translated",
            ),
            (
                "csvEscapeChar",
                &format!("--csvEscapeChar ' --csvQuoteChar | --input csv://f {to}"),
                "it is not the quote",
            ),
            ("csvEscapeChar", &format!("--csvEscapeChar ' --input f.json {to}"), "--format hits --index b"),
            ("csvCustomHeaders", &format!("--csvCustomHeaders a,b --input csv://f {to}"), "--columns a,b"),
            ("csvIdColumn", &format!("--csvIdColumn sku --input csv://f {to}"), "--all-strings --id sku"),
        ];
        each_flag(&TOOL, translate, "--input=http://old:9200/shop --output=http://new:9200/shop", &examples);
    }

    #[test]
    fn flags_that_decide_about_documents_ids_or_the_cluster_are_refused() {
        let of_an_index = "--size=10 --offset=1 --params={} --input-params={} --searchBody=@f --searchWithTemplate \
                           --delete --transform=x --versionType=external --handleVersion --headers={} \
                           --inputSocksProxy=h --outputSocksPort=1 --scrollId=x --openSearchServerless";
        let of_csv = "--csvSkipLines=1 --csvSkipRows=1 --csvMaxRows=1 --csvTrim --csvLTrim --csvRTrim --csvIgnoreEmpty \
                      --csvHandleNestedData --csvRenameHeaders --csvFirstRowAsHeaders=false --csvConfigs={}";
        for (input, flags) in [("http://old:9200/a", of_an_index), ("csv://a.csv", of_csv)] {
            for flag in words(flags) {
                let refused = outcome(translate(&words(&format!("--input={input} {OUT} {flag}"))));
                let name = flag.split('=').next().unwrap();
                assert!(refused.starts_with("refused: ") && refused.contains(name), "{flag}: {refused}");
            }
        }
    }

    #[test]
    fn a_copy_of_an_index() {
        let line = r#"--input=http://ada:secret@old:9200/shop --output http://new:9200/shop-2 --type=data --limit=1000 --searchBody={"query":{"term":{"a":1}}}"#;
        let translation = translate(&words(line)).unwrap();
        let expected = "inrush load http://old:9200/shop --from-user ada --query '{\"term\":{\"a\":1}}' --index shop-2 \\\n  \
                        --copy-mapping --copy-settings --to http://new:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(notes.contains("INRUSH_FROM_PASSWORD") && !notes.contains("secret"), "{notes}");
    }

    #[test]
    fn a_pattern_has_a_note_about_ids_of_several_indices() {
        for (index, has_note) in [("logs-*", true), ("a,b", true), ("a%2Cb", true), ("logs-%2A", true), ("logs", false)]
        {
            let translation = translate(&words(&format!("--input=http://old:9200/{index} {OUT}"))).unwrap();
            let notes = translation.notes.join("\n");
            assert_eq!(notes.contains("--index-in-id"), has_note, "{index}: {notes}");
        }
    }

    #[test]
    fn a_switch_takes_no_flag_as_its_value() {
        for switch in ["--esCompress", "--delete-with-routing", "--s3Compress", "--customBackoff", "--tlsAuth"] {
            let line = format!(
                r#"--input=http://old:9200/a {OUT} {switch} --searchBody={{"query":{{"term":{{"tenant":7}}}}}}"#
            );
            assert!(outcome(translate(&words(&line))).contains(r#"--query '{"term":{"tenant":7}}'"#), "{line}");
            let line = format!("--input=a.json {OUT} {switch}");
            assert!(translate(&words(&line)).is_ok(), "{line}");
        }
        for line in ["--sourceOnly false", "--sourceOnly=false", "--no-sourceOnly"] {
            let translation = translate(&words(&format!("--input=a.json {OUT} {line}"))).unwrap();
            assert_eq!(checked(&translation), "inrush load a.json --format hits --index shop --to http://new:9200\n");
        }
        let refused = outcome(translate(&words(&format!("--input=a.json {OUT} --all x"))));
        assert!(refused.contains("--all is not a flag of elasticdump"), "{refused}");
        let refused = outcome(translate(&words(&format!("x --input=a.json {OUT}"))));
        assert!(refused.contains("x is not translated: it is not behind a flag"), "{refused}");
    }

    #[test]
    fn ports_users_and_types_are_those_of_the_address() {
        let check = |line: &str, expected: &str| {
            let outcome = outcome(translate(&words(line)));
            assert!(outcome.contains(expected) && !outcome.contains("secret"), "{line}: {outcome}");
        };
        let both = "--input=https://joe%40corp.com:secret@h/a --output=https://ann%3Ab:secret@search.example.com/b";
        check(both, "inrush load https://h:443/a --from-user joe@corp.com --index b");
        check(both, "--user ann:b --to https://search.example.com:443\n");
        check("--input=http://h/a/doc --output=http://n/p/b/doc", "load http://h:80/a --index b");
        check("--input=http://h/a/doc --output=http://n/p/b/doc", "--to http://n:80/p\n");
        check("--input=http://h/a --output=ftp://ann:secret@n/b", "--output is not translated");
        check("--input=http://h/a --output=http://ann:secret@n", "--output is not translated: it names no index");
    }

    #[test]
    fn examples_of_its_readme() {
        let check =
            |line: &str, expected: &str| assert_eq!(checked(&translate(&words(line)).unwrap()), expected, "{line}");
        let copy = "inrush load http://production.es.com:9200/my_index --index my_index --copy-mapping --copy-settings \\\n  \
                    --to http://staging.es.com:9200\n";
        let line =
            "--input=http://production.es.com:9200/my_index --output=http://staging.es.com:9200/my_index --type=data";
        check(line, copy);
        let line = "--s3AccessKeyId x --s3SecretAccessKey y --input s3://bucket/file.json \
                    --output=http://production.es.com:9200/my_index --s3ForcePathStyle true \
                    --s3Endpoint https://production.minio.co";
        check(
            line,
            "inrush load s3://bucket/file.json --format hits --index my_index \\\n  \
             --store-option endpoint=https://production.minio.co --to http://production.es.com:9200\n",
        );
        let line = "--input=http://es.com:9200/api/search --input-index=my_index/my_type \
                    --output=http://es.com:9200/api/search --output-index=my_index --type=data";
        let translation = translate(&words(line)).unwrap();
        let command = checked(&translation);
        assert!(
            command.starts_with("inrush load http://es.com:9200/api/search/my_index --index my_index "),
            "{command}"
        );
        assert!(command.ends_with("--to http://es.com:9200/api/search\n"), "{command}");
    }
}
