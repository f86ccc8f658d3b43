//! Command lines of elasticdump 6.125.1 (its README).

use inrush_core::Code;

use super::{Argument, Arguments, IndexUrl, Translation, index_url, search};
use crate::failure::UsageError;

const SWITCHES: [&str; 12] = [
    "all",
    "awsChain",
    "fsCompress",
    "overwrite",
    "debug",
    "quiet",
    "delete",
    "ignore-errors",
    "noRefresh",
    "sourceOnly",
    "support-big-int",
    "searchWithTemplate",
];

/// The arguments that decide together.
#[derive(Default)]
struct Dump {
    input: String,
    output: String,
    input_index: Option<String>,
    output_index: Option<String>,
    kind: Option<String>,
    source_only: bool,
}

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let (mut dump, mut flags) = (Dump::default(), Translation::default());
    let mut all = Arguments::new(arguments, &SWITCHES);
    while let Some(argument) = all.next()? {
        match argument {
            // The value of a switch.
            Argument::Word(word) if word == "true" || word == "false" => {}
            Argument::Word(word) => flags.untranslated(&word),
            Argument::Flag(flag, value) => {
                let value = value.unwrap_or_default();
                match flag.as_str() {
                    "input" => dump.input = value,
                    "output" => dump.output = value,
                    "input-index" => dump.input_index = Some(value),
                    "output-index" => dump.output_index = Some(value),
                    "type" => dump.kind = Some(value),
                    "sourceOnly" => dump.source_only = value != "false",
                    _ => translate_flag(&flag, &value, &mut flags)?,
                }
            }
        }
    }
    let mut to = dump.translate()?;
    to.notes.append(&mut flags.notes);
    // The address of the cluster is the last argument.
    let end = to.arguments.pop();
    to.arguments.append(&mut flags.arguments);
    to.arguments.extend(end);
    Ok(to)
}

impl Dump {
    fn translate(self) -> Result<Translation, UsageError> {
        let Some(output) = index_url(&self.output).filter(|url| url.nodes.starts_with("http")) else {
            let error = UsageError::new(
                Code::NotTranslated,
                format!("the output {} is not the address of an index", self.output),
            );
            return Err(error.hint("a load writes to a cluster; a snapshot of the cluster keeps an index"));
        };
        let mut to = Translation::default();
        let source = index_url(&self.input).filter(|url| url.nodes.starts_with("http"));
        match self.kind.as_deref() {
            None | Some("data") => {}
            Some("mapping" | "analyzer" | "settings") if source.is_none() => {
                let what = format!("--input {} has no documents", self.input);
                return Err(UsageError::new(Code::NotTranslated, what).hint(
                    "translate the run with --type data, and give its command --mapping FILE and --settings FILE",
                ));
            }
            Some("mapping" | "analyzer" | "settings") if source.is_some() => {
                to.note(
                    "one load copies settings, mapping and documents: the other runs of elasticdump are not needed",
                );
            }
            Some(other) => {
                return Err(UsageError::new(Code::NotTranslated, format!("--type {other} has no counterpart"))
                    .hint("--type data has one"));
            }
        }
        match &source {
            Some(url) => {
                let (nodes, index) = place("--input", self.input_index.as_deref(), url, &mut to)?;
                to.source(&format!("{nodes}/{index}"));
                if let Some(user) = &url.user {
                    to.login("--from-user", "INRUSH_FROM_PASSWORD", Some(user));
                }
            }
            None => self.file(&mut to),
        }
        let (nodes, index) = place("--output", self.output_index.as_deref(), &output, &mut to)?;
        to.set("--index", index);
        if source.is_some() {
            to.flag("--copy-mapping");
            to.flag("--copy-settings");
        }
        if let Some(user) = &output.user {
            to.login("--user", "INRUSH_PASSWORD", Some(user));
        }
        to.set("--to", nodes);
        Ok(to)
    }

    fn file(&self, to: &mut Translation) {
        let csv = self.input.strip_prefix("csv://");
        let format = match () {
            () if csv.is_some() => "csv",
            () if self.source_only => "ndjson",
            () => "hits",
        };
        to.source(if self.input == "$" { "-" } else { csv.unwrap_or(&self.input) });
        to.set("--format", format);
    }
}

/// The address of the cluster and its index, without a type. A given index is below the whole
/// address.
fn place<'a>(
    side: &str,
    given: Option<&'a str>,
    url: &'a IndexUrl,
    to: &mut Translation,
) -> Result<(&'a str, &'a str), UsageError> {
    let (nodes, index) = given.map_or((&*url.nodes, &*url.index), |given| (&*url.whole, given));
    if index.is_empty() {
        return Err(UsageError::new(Code::NotTranslated, format!("{side} names no index"))
            .hint("make a command of each index; a pattern as http://host:9200/logs-* copies several into one"));
    }
    let (index, kind) = index.split_once('/').unwrap_or((index, ""));
    if !kind.is_empty() {
        to.note(format!("{side}-index: servers of today have no types"));
    }
    Ok((nodes, index))
}

fn translate_flag(flag: &str, value: &str, to: &mut Translation) -> Result<(), UsageError> {
    match flag {
        "searchBody" if value.starts_with('@') => {
            to.note(format!("--searchBody: put the query of {} into a file, and give --query @FILE", &value[1..]));
        }
        "searchBody" => search("--searchBody", value, to)
            .map_err(|error| UsageError::new(Code::NotTranslated, format!("--searchBody is not JSON: {error}")))?,
        "csvDelimiter" => to.set("--separator", value),
        "bulkAction" => to.set("--action", value),
        "transform" => to.note("--transform: an ingest pipeline (--pipeline) or --sql computes fields"),
        "ca" | "cert" | "key" | "pass" | "tlsAuth" | "input-ca" | "input-cert" | "input-key" | "output-ca"
        | "output-cert" | "output-key" => {
            to.note(format!("--{flag}: see docs/how-to/secrets.md; flags for the source begin with --from-"));
        }
        "awsChain" | "awsAccessKeyId" | "awsSecretAccessKey" | "awsIniFileProfile" | "awsIniFileName" | "awsRegion"
        | "awsService" | "awsRefresh" | "sessionToken" => to.note(format!(
            "--{flag}: --aws-sigv4 es signs requests, with credentials from the places of the tools of Amazon"
        )),
        "limit" | "concurrency" | "concurrencyInterval" | "intervalCap" | "maxSockets" | "throttleInterval" => {
            to.tuned(&format!("--{flag}"));
        }
        "offset" | "scrollId" => to.note(format!("--{flag}: --resume continues a load that was cut off")),
        "ignore-errors" => to.note("--ignore-errors: refused documents are dead letters, and the exit status is 3"),
        "httpAuthFile" => to.note(
            "--httpAuthFile: give --user and --password-file, for the source --from-user and --from-password-file",
        ),
        "s3AccessKeyId" | "s3SecretAccessKey" | "s3Region" => {
            to.note(format!(
                "--{flag}: credentials and region come from the places of the tools of Amazon; see docs/aws.md"
            ));
        }
        "s3Endpoint" => to.set("--store-option", &format!("endpoint={value}")),
        "size" if value == "-1" => {}
        "overwrite"
        | "debug"
        | "quiet"
        | "noRefresh"
        | "support-big-int"
        | "big-int-fields"
        | "scrollTime"
        | "timeout"
        | "fsCompress"
        | "all"
        | "s3ForcePathStyle"
        | "carryoverConcurrencyCount"
        | "fileSize" => {}
        _ => to.untranslated(&format!("--{flag}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, words};
    use super::*;

    #[test]
    fn a_copy_of_an_index() {
        let line = r#"--input=http://ada:secret@old:9200/shop --output http://new:9200/shop-2 --type=data --limit=1000 --searchBody={"query":{"term":{"a":1}}}"#;
        let translation = translate(&words(line)).unwrap();
        let expected = "inrush load http://old:9200/shop --from-user ada --index shop-2 --copy-mapping --copy-settings \\\n  \
                        --query '{\"term\":{\"a\":1}}' --to http://new:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(notes.contains("INRUSH_FROM_PASSWORD") && !notes.contains("secret"), "{notes}");
    }

    #[test]
    fn parts_of_a_search_are_named() {
        let line = r#"--input=http://old:9200/a --output=http://new:9200/a --searchBody={"query":{"match_all":{}},"size":9,"_source":["b"]}"#;
        let translation = translate(&words(line)).unwrap();
        assert!(checked(&translation).contains(r#"--query '{"match_all":{}}'"#), "{translation:?}");
        assert_eq!(translation.notes, ["_source of --searchBody is not translated"]);
        let all = translate(&words(&line.replace(r#"["b"]"#, "true"))).unwrap();
        assert!(all.notes.is_empty(), "{all:?}");
    }

    #[test]
    fn files() {
        let check =
            |line: &str, expected: &str| assert_eq!(checked(&translate(&words(line)).unwrap()), expected, "{line}");
        let to = "--index shop --to http://new:9200";
        check(
            "--input=shop.json --output=http://new:9200/shop",
            &format!("inrush load shop.json --format hits {to}\n"),
        );
        check("--input=$ --output=http://new:9200/shop --sourceOnly", &format!("inrush load - --format ndjson {to}\n"));
        let csv = "--input csv://shop.csv --output=http://new:9200/shop --csvDelimiter ;";
        check(csv, "inrush load shop.csv --format csv --index shop --separator ';' --to http://new:9200\n");
    }

    #[test]
    fn examples_of_its_readme() {
        let check =
            |line: &str, expected: &str| assert_eq!(checked(&translate(&words(line)).unwrap()), expected, "{line}");
        let copy = "inrush load http://production.es.com:9200/my_index --index my_index --copy-mapping --copy-settings \\\n  \
                    --to http://staging.es.com:9200\n";
        for kind in ["analyzer", "mapping", "data"] {
            let line = format!(
                "--input=http://production.es.com:9200/my_index --output=http://staging.es.com:9200/my_index --type={kind}"
            );
            check(&line, copy);
        }
        let line = "--s3AccessKeyId x --s3SecretAccessKey y --input s3://bucket/file.json \
                    --output=http://production.es.com:9200/my_index --s3ForcePathStyle true \
                    --s3Endpoint https://production.minio.co";
        check(
            line,
            "inrush load s3://bucket/file.json --format hits --index my_index \\\n  \
             --store-option endpoint=https://production.minio.co --to http://production.es.com:9200\n",
        );
        let line = "--input=http://es.com:9200/api/search --input-index=my_index/my_type \
                    --output=http://es.com:9200/api/search --output-index=my_index --type=mapping";
        let translation = translate(&words(line)).unwrap();
        let command = checked(&translation);
        assert!(
            command.starts_with("inrush load http://es.com:9200/api/search/my_index --index my_index "),
            "{command}"
        );
        assert!(command.ends_with("--to http://es.com:9200/api/search\n"), "{command}");
        assert!(translation.notes.iter().any(|note| note.contains("no types")), "{translation:?}");
        assert!(translate(&words("--input=./m.json --output=http://es.com:9200/a --type=mapping")).is_err());
        assert!(translate(&words("--input=http://es.com:9200 --output=http://new:9200/a")).is_err());
    }

    #[test]
    fn dumps_and_templates_have_no_counterpart() {
        let refused = |line: &str| translate(&words(line)).unwrap_err().to_string();
        assert!(refused("--input=http://old:9200/shop --output=shop.json").contains("shop.json"));
        assert!(refused("--input=t.json --output=http://new:9200/x --type=template").contains("--type template"));
        assert!(refused("--input=a.json --output=http://new:9200/x --searchBody={").contains("not JSON"));
    }
}
