//! Words of other tools, and what says the same here. A flag or a command that is not known is
//! answered by these before it is by the nearness of letters.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Words of flags without the dashes, and the answer. The first flag or word in it that is set in
/// code has to exist in the command for the answer to be given.
const FLAGS: &[(&[&str], &str)] = &[
    (&["tab", "tabs", "tsv"], "`--separator tab`"),
    (&["delimiter", "delim", "sep", "field-separator", "fields-terminated-by", "fs"], "`--separator CHAR`"),
    (&["quote-char", "quotechar", "enclosed-by"], "`--quote CHAR`"),
    (&["escape-char", "escapechar"], "`--escape CHAR`"),
    (&["null-value", "null-values", "na", "nullstr", "null-string", "null-if"], "`--null VALUE`"),
    (
        &["header", "has-header", "headers", "first-row-as-headers"],
        "the header of a CSV file is read; `--no-header` says there is none",
    ),
    (&["encoding-errors", "codepage", "code-page", "file-encoding", "input-encoding"], "`--charset NAME`"),
    (
        &["types", "dtype", "dtypes", "column-types", "auto-detect"],
        "`--schema COLUMN:TYPE,…`; types are found without it",
    ),
    (&["all-varchar", "no-infer", "as-text"], "`--all-strings`"),
    (
        &["date-format", "dateformat", "time-format", "timestamp-format", "parse-dates"],
        "`--schema COLUMN:timestamp` reads the usual forms of CSV, `--timestamp FIELD` those of any source; `--sql` with to_timestamp(column, format) reads others",
    ),
    (&["timezone", "tz", "zone", "utc-offset", "default-timezone"], "`--time-zone ZONE`"),
    (&["decimal-separator", "decimal-point", "decimal-comma"], "`--decimal ,`"),
    (
        &["timestamp-field", "time-field", "date-field", "timestamp-column", "timestampfield"],
        "`--timestamp FIELD` makes @timestamp of it",
    ),
    (&["rename-field", "rename-fields", "rename-column", "rename-columns", "renames"], "`--rename FIELD=NAME`"),
    (
        &["select", "fields", "include-fields", "usecols", "keep-fields", "whitelist"],
        "`--only FIELD,…`; `--columns` names columns without a header",
    ),
    (
        &["exclude-fields", "exclude-columns", "omit", "remove-field", "remove-fields", "remove-columns"],
        "`--drop FIELD`",
    ),
    (
        &["where", "filter"],
        "`--sql 'SELECT * FROM input WHERE …'`; for databases `--db-query`, for another index `--query`",
    ),
    (&["search-body", "searchbody", "es-query"], "`--query FILE` reads a part of another index"),
    (&["grok", "pattern", "regex", "regexp"], "`--parse FORM` or `--parse-regex PATTERN`"),
    (
        &["head", "size", "max-docs", "max-rows", "max-records", "nrows", "take", "first"],
        "`--limit N`; `--dry-run` shows the first documents without a load",
    ),
    (
        &["threads", "parallel", "parallelism", "concurrency", "connections", "processes", "thread-count"],
        "`--in-flight N` for requests at once, `--workers N` for threads that read; both are tuned without the flag",
    ),
    (
        &["chunk-size", "chunksize", "bulk-size", "batch-size", "batch", "bulk", "bulk-actions", "flush-size"],
        "`--batch-docs N` or `--batch-bytes SIZE`; the size is tuned without them",
    ),
    (&["max-chunk-bytes", "bulk-bytes", "request-size"], "`--batch-bytes SIZE`; it is tuned without the flag"),
    (&["rate", "rps", "throttle", "rate-limit", "requests-per-second"], "`--max-rate RATE`, or `--gentle`"),
    (
        &[
            "host",
            "hosts",
            "url",
            "server",
            "endpoint",
            "cluster",
            "es-url",
            "es-host",
            "output",
            "node",
            "nodes",
            "addresses",
            "elasticsearch",
            "target",
        ],
        "`--to URL`",
    ),
    (
        &["input", "file", "files", "path", "source", "from-file", "infile"],
        "the sources stand without a flag: inrush load FILE `--index NAME`",
    ),
    (&["index-name", "collection"], "`--index NAME`"),
    (
        &["type", "doc-type", "document-type"],
        "`--index NAME` is enough; the servers have no types any more. `--format` names the format of the source",
    ),
    (&["id-field", "document-id", "doc-id", "primary-key", "key-field", "es-id"], "`--id FIELD`"),
    (&["upsert", "doc-as-upsert"], "`--action upsert`"),
    (&["update"], "`--action update`, or `--action upsert` for documents that may be new"),
    (&["delete"], "`--action delete`"),
    (
        &["create", "op-type", "operation", "write-mode", "write-operation", "mode", "insert"],
        "`--action ACTION`: index, create, update, upsert or delete",
    ),
    (
        &["template", "index-template", "mappings", "index-config"],
        "`--mapping FILE` and `--settings FILE`; templates of the cluster apply as well",
    ),
    (&["append", "create-index"], "`--index NAME`: it is created where it is missing, and documents are added"),
    (&["auto-mapping", "infer", "infer-mapping", "guess"], "`--map auto`"),
    (
        &["overwrite", "truncate", "purge", "replace", "if-exists", "drop-index"],
        "`--recreate`, or `--alias NAME` to replace an index without downtime",
    ),
    (&["swap", "blue-green", "zero-downtime"], "`--alias NAME`"),
    (&["keep-old"], "`--alias` keeps the old index; `--keep N` keeps the last N, and `--delete-old` none"),
    (&["force", "assume-yes", "no-confirm"], "`--yes`"),
    (
        &["username", "login", "auth", "basic-auth"],
        "`--user NAME` with `--password-file FILE` or the variable INRUSH_PASSWORD",
    ),
    (
        &["password", "pass", "passwd"],
        "`--password-file FILE` or the variable INRUSH_PASSWORD: other users see the arguments of a process",
    ),
    (
        &["api-key", "apikey"],
        "`--api-key-file FILE` or `--api-key-env VARIABLE`: other users see the arguments of a process",
    ),
    (
        &["token", "bearer"],
        "`--bearer-file FILE` or `--bearer-env VARIABLE`: other users see the arguments of a process",
    ),
    (&["cacert", "ca-cert", "ca-certs", "tls-ca", "ssl-ca"], "`--ca FILE`"),
    (
        &[
            "no-verify-ssl",
            "no-check-certificate",
            "skip-tls-verify",
            "ssl-insecure",
            "tls-skip-verify",
            "allow-insecure",
            "verify-certs",
        ],
        "`--insecure`, or `--ca FILE` for a certificate of your own",
    ),
    (&["timeout", "http-timeout"], "`--request-timeout DURATION`"),
    (
        &[
            "ignore-errors",
            "skip-errors",
            "continue-on-error",
            "keep-going",
            "max-bad-records",
            "raise-on-error",
            "tolerance",
        ],
        "a load goes on past documents that are refused, and keeps them as dead letters; `--tolerate N` makes it complete without them",
    ),
    (&["max-retries", "retry", "retry-count"], "`--retries N` and `--retry-for DURATION`"),
    (&["gzip", "compress", "http-compress"], "`--compression HOW`; it is tuned without the flag"),
    (
        &["refresh", "refresh-interval"],
        "the index is refreshed at the end, and its interval restored; `--leave-settings` changes nothing",
    ),
    (&["ingest-pipeline"], "`--pipeline NAME`"),
    (
        &["ndjson", "jsonl", "csv", "json-lines", "codec", "file-type", "file-format", "input-format"],
        "`--format FORMAT`; it is found without the flag",
    ),
    (&["error-file", "errors-file", "rejected", "rejects", "bad-file", "dlq", "errors-to"], "`--dead-letters FILE`"),
    (&["continue", "restart", "start-from", "sincedb", "checkpoint"], "`--resume`, or `--once` in a job"),
    (&["schedule", "cron", "every"], "`--once` in a job of cron or systemd; docs/unattended.md"),
    (&["silent", "no-progress", "progress"], "`--quiet` hides the progress"),
    (&["debug", "log", "loglevel"], "`--log-level LEVEL`"),
    (&["config", "conf", "config-file"], "`--job FILE`"),
    (&["sample", "preview", "test", "simulate", "check"], "`--dry-run`"),
    (&["incremental", "tracking-column", "sql-last-value"], "`--since COLUMN` and `--id`"),
    (&["sheet-name", "worksheet", "excel", "xlsx", "ods"], "`--sheet SHEET` and `--header-row N`"),
];

/// Words of commands, and the answer.
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["import", "index", "bulk", "push", "ingest", "upload", "put", "insert", "write", "run"],
        "inrush load FILE --index NAME",
    ),
    (&["delete", "remove"], "inrush load FILE --index NAME --id FIELD --action delete"),
    (&["update", "upsert"], "inrush load FILE --index NAME --id FIELD --action upsert"),
    (&["copy", "reindex", "clone", "migrate", "sync"], "inrush load http://HOST:9200/INDEX --index NAME --to URL"),
    (&["diff", "compare", "count"], "inrush verify FILE --index NAME"),
    (&["check", "health", "status", "info", "diagnose"], "inrush doctor"),
    (&["schema", "infer", "guess"], "inrush mapping FILE"),
    (&["transform", "cat"], "inrush convert IN OUT"),
    (&["export", "dump", "download", "unload", "save", "scroll"], "inrush convert http://HOST:9200/INDEX OUT.ndjson"),
    (&["resume", "continue"], "inrush load … --resume"),
    (&["tune", "benchmark", "bench"], "inrush sweep FILE"),
    (&["server", "start", "local"], "inrush node start"),
    (&["translate"], "inrush from TOOL …"),
    (
        &["alias", "swap", "switch", "undo", "revert"],
        "inrush rollback ALIAS; inrush load FILE --alias NAME moves it to a new index",
    ),
];

fn answer<'a>(table: &'a [(&[&str], &str)], word: &str) -> Option<&'a str> {
    table.iter().find(|(words, _)| words.contains(&word)).map(|(_, answer)| *answer)
}

/// What says the same as this word of a flag or of a command.
pub(crate) fn answer_to(word: &str) -> Option<String> {
    answer(FLAGS, word).or_else(|| answer(COMMANDS, word)).map(|answer| answer.replace('`', ""))
}

/// The flags that stand in code in an answer.
fn flags(answer: &str) -> impl Iterator<Item = &str> {
    let code = answer.split('`').skip(1).step_by(2);
    code.filter_map(|code| code.strip_prefix("--")).map(|flag| flag.split(' ').next().unwrap_or(flag))
}

/// Puts the answer to the word of another tool into an error of the arguments, in place of a tip by
/// the nearness of letters.
pub(crate) fn explain(error: &mut Error, root: &Command, arguments: &[std::ffi::OsString]) {
    let invalid = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let name = arguments.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => invalid(error, ContextKind::InvalidArg).and_then(|flag| {
            let word = flag.trim_start_matches('-').replace('_', "-").to_ascii_lowercase();
            let command = root.find_subcommand(name)?;
            let fits = |answer: &&str| flags(answer).next().is_none_or(|flag| has(command, flag));
            let answer = answer(FLAGS, &word).filter(fits).map(|answer| answer.replace('`', ""));
            answer.or_else(|| others_with(root, &word))
        }),
        ErrorKind::InvalidSubcommand => {
            invalid(error, ContextKind::InvalidSubcommand).and_then(|word| answer(COMMANDS, &word).map(str::to_owned))
        }
        ErrorKind::InvalidValue => is_charset(error).then(|| "--charset NAME for the charset of files".to_owned()),
        _ => None,
    };
    let Some(tip) = tip else { return leave_out_far(error) };
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue] {
        error.remove(kind);
    }
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

fn has(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(flag) && !arg.is_hide_set())
}

/// The commands that have this flag, where another one does not.
fn others_with(root: &Command, flag: &str) -> Option<String> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set() && has(command, flag));
    let names: Vec<String> = commands.map(|command| format!("inrush {}", command.get_name())).collect();
    (!names.is_empty()).then(|| format!("--{flag} is a flag of {}", names.join(", ")))
}

/// Removes tips that hardly help: words that are not near, and how a flag would be the name of a
/// file.
fn leave_out_far(error: &mut Error) {
    let word = |error: &Error, kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let flag = word(error, ContextKind::InvalidArg);
    if error.kind() == ErrorKind::UnknownArgument && flag.starts_with("--") {
        error.remove(ContextKind::Suggested);
    }
    for (given, suggested) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
    ] {
        let given = word(error, given);
        let near = |other: &String| is_near(given.trim_start_matches('-'), other.trim_start_matches('-'));
        let kept: Vec<String> = match error.get(suggested) {
            Some(ContextValue::String(other)) => vec![other.clone()],
            Some(ContextValue::Strings(others)) => others.clone(),
            _ => continue,
        };
        let kept: Vec<String> = kept.into_iter().filter(near).collect();
        error.remove(suggested);
        if kept.is_empty() {
            error.remove(ContextKind::Suggested);
        } else if let [one] = &kept[..] {
            error.insert(suggested, ContextValue::String(one.clone()));
        } else {
            error.insert(suggested, ContextValue::Strings(kept));
        }
    }
}

/// Whether a word is most likely another one: few letters differ, or one has the beginning of the
/// other.
fn is_near(word: &str, other: &str) -> bool {
    let stem = other.strip_suffix('s').unwrap_or(other);
    other.starts_with(word) || word.starts_with(stem) || 2 * distance(word, other) <= word.len()
}

/// How many letters differ: changed, left out or added.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (to, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[to + 1];
            row[to + 1] = changed.min(row[to] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A value of `--encoding` that names a charset.
fn is_charset(error: &Error) -> bool {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).to_ascii_lowercase();
    text(ContextKind::InvalidArg).starts_with("--encoding")
        && ["utf", "latin", "iso", "cp", "windows", "ascii", "shift", "gb", "big5", "euc", "koi"]
            .iter()
            .any(|begin| value.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn error(words: &[&str]) -> String {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut error = Cli::command().try_get_matches_from(&arguments).unwrap_err();
        explain(&mut error, &Cli::command(), &arguments);
        error.to_string()
    }

    #[test]
    fn each_word_leads_to_flags_that_exist() {
        let root = Cli::command();
        let load = root.find_subcommand("load").unwrap();
        let known: Vec<&str> = load.get_arguments().filter_map(clap::Arg::get_long).collect();
        let mut seen = std::collections::BTreeSet::new();
        for (words, answer) in FLAGS {
            let mut named = flags(answer).peekable();
            assert!(named.peek().is_some(), "no flag in {answer}");
            assert!(named.all(|flag| known.contains(&flag)), "{answer}");
            for word in *words {
                assert!(seen.insert(word), "{word} stands twice");
                assert!(!known.contains(word), "{word} is a flag");
                let text = error(&["inrush", "load", "f.csv", &format!("--{word}"), "x"]);
                assert!(text.contains(&format!("tip: {}", answer.replace('`', ""))), "{word}: {text}");
                assert!(!text.contains("a similar argument"), "{word}: {text}");
            }
        }
        assert!(seen.len() >= 40);
    }

    #[test]
    fn each_word_leads_to_a_command_that_exists() {
        let root = Cli::command();
        for (words, answer) in COMMANDS {
            let command = answer.split(' ').nth(1).unwrap();
            assert!(root.find_subcommand(command).is_some(), "{answer}");
            for word in *words {
                assert!(root.find_subcommand(word).is_none(), "{word} is a command");
                let text = error(&["inrush", word, "f.csv"]);
                assert!(text.contains(&format!("tip: {answer}")), "{word}: {text}");
            }
        }
    }

    #[test]
    fn words_that_are_far_get_no_tip() {
        for words in [
            &["load", "f", "--nosuch"][..],
            &["load", "f", "--nosuch", "x"],
            &["load", "f", "--ignored-error"],
            &["serve"],
            &["xyzzy", "f"],
        ] {
            let text = error(&[&["inrush"][..], words].concat());
            assert!(!text.contains("tip"), "{words:?}: {text}");
        }
        for (word, near) in
            [("sperator", "--separator"), ("dead-letter-file", "--dead-letters"), ("skip", "--skip-lines")]
        {
            let text = error(&["inrush", "load", "f", &format!("--{word}"), "x"]);
            assert!(text.contains(near), "{word}: {text}");
        }
        assert!(error(&["inrush", "laod", "f"]).contains("'load'"));
        assert_eq!(["", "ab", "acb", "b"].map(|other| distance("abc", other)), [3, 1, 2, 2]);
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(
            error(&["inrush", "load", "f", "--batch-byte", "1"]).contains("a similar argument exists: '--batch-bytes'")
        );
        // This command has no `--separator`.
        assert!(!error(&["inrush", "doctor", "--delimiter", ","]).contains("--separator"));
        assert!(
            error(&["inrush", "verify", "f", "--mapping", "m"]).contains("tip: --mapping is a flag of inrush load, ")
        );
        assert!(error(&["inrush", "load", "f", "--encoding", "latin1"]).contains("--charset"));
        assert!(!error(&["inrush", "load", "f", "--encoding", "bson"]).contains("--charset"));
    }
}
