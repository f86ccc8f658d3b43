//! `inrush explain`.

use anyhow::Result;
use inrush_commands::options::{Style, nearest, render};
use inrush_core::Code;
use inrush_core::codes::Area;

use crate::args::ExplainArgs;
use crate::failure::UsageError;

/// Prints what is known of a code, or all codes. Returns the exit status.
pub(crate) fn run(args: &ExplainArgs) -> Result<u8> {
    let text = match &args.code {
        None => list(),
        Some(name) => match status(name.trim()) {
            Some(text) => format!("{}: {text}\n", name.trim()),
            None => explained(code(name)?),
        },
    };
    super::print(&text).map(|()| 0)
}

/// The code of this name, also as an error shows it.
fn code(name: &str) -> Result<Code, UsageError> {
    let bare = name.trim().trim_end_matches(':').trim_start_matches("error").trim_matches(['[', ']']);
    Code::named(&bare.to_lowercase()).ok_or_else(|| {
        let error = UsageError::new(Code::BadOptionValue, format!("there is no code `{bare}`"));
        if bare.ends_with("_exception") {
            return error.hint("this is a server's name of an error; its reason is beside it in the dead letter");
        }
        match nearest(bare, Code::ALL.iter().map(|code| code.name())) {
            Some(near) => error.hint(format!("did you mean `{near}`? `inrush explain` lists all")),
            None => error.hint("`inrush explain` lists all"),
        }
    })
}

/// What an exit status, or a status of HTTP in an error of the cluster, means, and what to do.
fn status(number: &str) -> Option<&'static str> {
    Some(match number {
        "0" => "exit status: all is done, and no check failed",
        "1" => "exit status: the run failed; its last message has the cause, and \"what next\" the next command",
        "2" => {
            "exit status: refused before it began; correct the option, the job file or the file that the message names"
        }
        "3" => {
            "exit status: some documents were not indexed; correct the dead letters, and load them with --from-dead-letters"
        }
        "4" => "exit status: the documents were indexed, but a check failed; the report says which",
        "75" => "exit status: the same load or bake is already running; try again later",
        "130" => "exit status: interrupted; the same command with --resume continues",
        "400" => {
            "the cluster cannot use the request or the document, mostly because a value does not fit the mapping; the reason is beside it in the dead letter: correct the document or the mapping, and load the dead letters again"
        }
        "401" => "the cluster does not know the user; give --user with a password, or --api-key-file",
        "403" => {
            "the user lacks a privilege, or the index is blocked; docs/privileges.md lists what each command needs"
        }
        "404" => "there is no such index, document or pipeline; check the name",
        "409" => "the document exists already or has a newer version; --on-conflict says what becomes of it",
        "413" => "the body of the request is larger than the cluster accepts; give a smaller --batch-bytes",
        "429" => "the cluster has too much to do; a load sends the documents again, more slowly",
        "500" => "the cluster failed; its log has the cause",
        "502" | "503" | "504" => "a node or a shard is not available; a load sends the documents again for --retry-for",
        _ => return None,
    })
}

fn explained(code: Code) -> String {
    let (cause, cure) = (render(code.cause(), Style::Flag), render(code.cure(), Style::Flag));
    format!("{code}: {}\n\n  {cause}\n\nWhat to do:\n\n  {cure}\n", code.area().title())
}

fn list() -> String {
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for area in Area::ALL {
        text.push_str(&format!("{}\n", area.title()));
        for code in Code::ALL.iter().filter(|code| code.area() == area) {
            let cause = render(code.cause(), Style::Flag);
            text.push_str(&format!("  {:<width$}  {}\n", code.name(), first_sentence(&cause)));
        }
    }
    text
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_explained_as_it_stands_in_an_error() {
        for name in ["unreachable", "error[unreachable]", "error[unreachable]:", "[Unreachable]"] {
            assert_eq!(code(name).unwrap(), Code::Unreachable, "{name}");
        }
        let text = explained(Code::Unreachable);
        assert!(text.starts_with("unreachable: Cluster\n") && text.contains("that --to has its address"), "{text}");
    }

    #[test]
    fn statuses_are_explained() {
        assert!(status("3").unwrap().contains("--from-dead-letters"));
        assert!(status("429").unwrap().contains("again") && status("200").is_none());
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error: anyhow::Error = code("unreachible").unwrap_err().into();
        assert!(crate::failure::hint_of(&error).unwrap().contains("`unreachable`"));
        assert_eq!(list().lines().filter(|line| line.starts_with("  ")).count(), Code::ALL.len());
    }
}
