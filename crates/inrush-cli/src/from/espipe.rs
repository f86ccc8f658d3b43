//! Command lines of espipe 0.7.0 (its `--help` and its page about outputs).

use super::{Argument, Arguments, Translation, index_url};
use crate::failure::UsageError;
use inrush_core::Code;

const SWITCHES: [&str; 6] = ["insecure", "k", "quiet", "q", "uncompressed", "z"];

/// Ends of files that espipe converts.
const CONVERTED: [&str; 13] =
    [".doc", ".docx", ".docm", ".odt", ".pdf", ".ppt", ".pptx", ".odp", ".rtf", ".epub", ".md", ".yaml", ".yml"];

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let mut flags = Translation::default();
    let mut paths = Vec::new();
    let mut all = Arguments::new(arguments, &SWITCHES);
    while let Some(argument) = all.next()? {
        match argument {
            Argument::Word(path) => paths.push(path),
            Argument::Flag(flag, value) => translate_flag(&flag, &value.unwrap_or_default(), &mut flags),
        }
    }
    let output = paths.pop().filter(|_| !paths.is_empty());
    let output = output.ok_or_else(|| {
        UsageError::new(Code::NotTranslated, "espipe needs an input and an output").hint("give all of its arguments")
    })?;
    let Some(url) = index_url(&output).filter(|url| url.nodes.starts_with("http") && !url.index.is_empty()) else {
        let error = UsageError::new(Code::NotTranslated, format!("the output {output} is not the address of an index"));
        return Err(error.hint("write the address for a name of a hosts file or a context: http://host:9200/index"));
    };
    let mut to = Translation::default();
    for path in &paths {
        to.source(path.strip_prefix("file://").unwrap_or(path));
    }
    if paths.iter().any(|path| path == "-") {
        to.set("--format", "ndjson");
    }
    if paths.iter().any(|path| path.trim_end_matches(".gz").ends_with(".csv")) {
        to.flag("--all-strings");
        to.note("CSV: without --all-strings numbers become numbers");
    }
    to.set("--index", &url.index);
    if !flags.has("--action") {
        to.set("--action", "create");
    }
    to.arguments.append(&mut flags.arguments);
    to.notes.append(&mut flags.notes);
    to.set("--to", &url.nodes);
    to.note("if the documents have a field _id, give --id _id --drop _id");
    if paths.iter().any(|path| CONVERTED.iter().any(|end| path.ends_with(end))) {
        to.note("espipe makes Markdown of these files: convert them first");
    }
    Ok(to)
}

fn translate_flag(flag: &str, value: &str, to: &mut Translation) {
    match flag {
        "action" => to.set("--action", value),
        "split" => match value.trim_end_matches('/') {
            // The elements of an array are documents without a flag.
            "" => {}
            path => to.set("--records", path),
        },
        "generate-id" if value == "true" => to.set("--id-from", "position"),
        "insecure" | "k" => to.flag("--insecure"),
        "apikey" | "a" => to.login("--user", "INRUSH_API_KEY", None),
        "username" | "u" => to.login("--user", "INRUSH_PASSWORD", Some(value)),
        "batch-size" | "max-requests" => to.tuned(&format!("--{flag}")),
        "pipeline" | "pipeline-name" => {
            to.note(format!("--{flag}: put the pipeline into the cluster, and give its name with --pipeline"));
        }
        "template" | "template-name" => {
            to.note(format!("--{flag}: put the template into the cluster, or give --mapping and --settings"));
        }
        "quiet" | "q" => to.flag("--quiet"),
        // gzip is taken only where it is faster. Their values are those of this program.
        "uncompressed" | "z" | "password" | "p" | "generate-id" | "symlinks" | "hidden" => {}
        _ => to.untranslated(&format!("--{flag}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, words};
    use super::*;

    #[test]
    fn a_command_line() {
        let line =
            "reply.json https://host:9200/shop --split /hits/hits --action upsert --apikey secret --batch-size 500";
        let translation = translate(&words(line)).unwrap();
        let expected =
            "inrush load reply.json --index shop --records /hits/hits --action upsert --to https://host:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(notes.contains("INRUSH_API_KEY") && !notes.contains("secret"), "{notes}");
    }

    #[test]
    fn text_of_csv_stays_text_and_names_of_hosts_are_refused() {
        let translation = translate(&words("users.csv.gz http://localhost:9200/users --generate-id true")).unwrap();
        let expected = "inrush load users.csv.gz --all-strings --index users --action create --id-from position \\\n  --to http://localhost:9200\n";
        assert_eq!(checked(&translation), expected);
        assert!(translate(&words("docs.ndjson env:/docs")).unwrap_err().to_string().contains("env:/docs"));
        assert!(translate(&words("docs.ndjson")).is_err());
    }
}
