//! Command lines of esbulk, as its README describes them (read in November 2026).

use super::{Argument, Arguments, Translation, index_url};
use crate::failure::UsageError;

const SWITCHES: [&str; 8] = ["0", "k", "purge", "sjson", "skipbroken", "v", "verbose", "z"];

pub(crate) fn translate(arguments: &[String]) -> Result<Translation, UsageError> {
    let mut to = Translation::default();
    let mut all = Arguments::new(arguments, &SWITCHES);
    let (mut servers, mut files, mut flags) = (Vec::new(), Vec::new(), Translation::default());
    while let Some(argument) = all.next()? {
        match argument {
            Argument::Word(file) => files.push(file),
            Argument::Flag(flag, value) => {
                let value = value.unwrap_or_default();
                match flag.as_str() {
                    "server" => servers.push(server(&value, &mut flags)),
                    _ => translate_flag(&flag, &value, &mut flags),
                }
            }
        }
    }
    match files.as_slice() {
        [] => {
            to.source("-");
            to.set("--format", "ndjson");
        }
        files => files.iter().for_each(|file| to.source(file)),
    }
    to.arguments.append(&mut flags.arguments);
    to.notes.append(&mut flags.notes);
    to.set("--to", &if servers.is_empty() { "http://localhost:9200".to_owned() } else { servers.join(",") });
    Ok(to)
}

/// The address of a server, without user and password.
fn server(text: &str, flags: &mut Translation) -> String {
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    match index_url(&text) {
        Some(url) => {
            if let Some(user) = &url.user {
                flags.login("--user", "INRUSH_PASSWORD", Some(user));
            }
            url.whole
        }
        None => text,
    }
}

fn translate_flag(flag: &str, value: &str, to: &mut Translation) {
    match flag {
        "index" => to.set("--index", value),
        "id" if value.contains(',') => {
            to.note(format!(
                "-id {value}: an id of several fields is made with --sql, as in concat(a, b) AS id; see docs/sql.md"
            ));
        }
        "id" => to.set("--id", value),
        "mapping" if value.trim_start().starts_with('{') => {
            to.set("--mapping", "mapping.json");
            to.note("-mapping: write the mapping into the file mapping.json");
        }
        "mapping" => to.set("--mapping", value),
        "p" => to.set("--pipeline", value),
        "c" => to.note(format!("-c {value}: give its parts with --settings FILE and --mapping FILE")),
        "k" => to.flag("--insecure"),
        // It creates a document that is not there.
        "optype" if value == "update" => to.set("--action", "upsert"),
        "optype" => to.set("--action", value),
        "purge" => {
            to.flag("--recreate");
            to.flag("--yes");
            to.note("-purge: --alias in place of --recreate replaces the index without a gap");
        }
        "u" => to.login("--user", "INRUSH_PASSWORD", value.split(':').next()),
        "size" | "w" => to.tuned(&format!("-{flag}")),
        "0" | "r" => {
            to.note(format!("-{flag}: a large load switches replicas and refreshes off and restores them by itself"))
        }
        "sjson" | "skipbroken" => {
            to.note(format!("-{flag}: a broken line is a dead letter, and the exit status is 3"));
        }
        "type" => to.note("-type: servers of today have no types"),
        "z" | "verbose" => {}
        _ => to.untranslated(&format!("-{flag}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, words};
    use super::*;

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
            "inrush load file.ldj --user elastic --action create --index x --to https://0.0.0.0:9201\n",
        );
        let created = translate(&words("-purge -c settings_and_mappings.json -index my_index a.ldj")).unwrap();
        assert!(created.notes.iter().any(|note| note.contains("settings_and_mappings.json")), "{created:?}");
    }

    #[test]
    fn addresses_keep_their_path_and_a_login_is_given_once() {
        let line = "-server https://ada:x@proxy/es -server https://ada:x@other/es -u bob:y -skipbroken -index a f.ldj";
        let translation = translate(&words(line)).unwrap();
        let expected = "inrush load f.ldj --user ada --index a --to https://proxy/es,https://other/es\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        assert!(notes.contains("that of bob is not translated") && notes.contains("-skipbroken: a broken"), "{notes}");
    }

    #[test]
    fn stdin_and_what_has_no_counterpart() {
        let translation = translate(&words("-index logs -id a,b -cpuprofile x")).unwrap();
        assert_eq!(checked(&translation), "inrush load - --format ndjson --index logs --to http://localhost:9200\n");
        assert!(
            translation.notes[0].contains("concat") && translation.notes[1].contains("not translated"),
            "{translation:?}"
        );
        assert!(translate(&words("-index")).is_err());
    }
}
