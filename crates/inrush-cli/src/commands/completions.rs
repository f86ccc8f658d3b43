//! `inrush completions`.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, CompletionsArgs};

/// Names of the cluster for bash. It splits a command line also at `=` and `:`, so the words are
/// those of the line.
const BASH: &str = r#"
# Indices and aliases of the cluster that the command line names. `inrush complete` takes at most a
# second.
_inrush_or_names() {
    local flag=$3 word=$2 words
    if [[ $word == = ]]; then
        word=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $flag in
        --index | --alias)
            read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
            # No name contains a space or a wildcard.
            COMPREPLY=($("$1" complete "${flag#--}" "$word" -- "${words[@]:1}" 2>/dev/null))
            ;;
        *) _inrush "$@" ;;
    esac
}

complete -F _inrush_or_names -o bashdefault -o default inrush
"#;

/// The same for zsh, before the line that begins the definitions of clap.
const ZSH: &str = r#"
# Indices and aliases of the cluster that the command line names. `inrush complete` takes at most a
# second.
_inrush_names() {
    local -a names
    # The definitions below leave out the program: the first word is that of the command.
    names=(${(f)"$($service complete $1 "$PREFIX" -- "${(@)words[1,CURRENT-1]}" 2>/dev/null)"})
    compadd -a names
}
"#;

/// The same for fish.
const FISH: &str = r#"
# Indices and aliases of the cluster that the command line names. `inrush complete` takes at most a
# second.
function __inrush_names
    set -l words (commandline -opc)
    set -l word (commandline -ct | string replace -r -- '^--[a-z]+=' '')
    $words[1] complete $argv[1] "$word" -- $words[2..-1] 2>/dev/null
end

complete -c inrush -n "__fish_inrush_using_subcommand load bake verify" -l index -x -a "(__inrush_names index)"
complete -c inrush -n "__fish_inrush_using_subcommand load bake" -l alias -x -a "(__inrush_names alias)"
"#;

/// The whole script for PowerShell. The one of clap completes no values, and nothing behind a
/// source.
const POWERSHELL: &str = r#"# `inrush complete` prints commands, flags and values with their help, and names of indices and
# aliases of the cluster that the command line names. It takes at most a second.
Register-ArgumentCompleter -Native -CommandName inrush -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.Extent.Text })
    $inrush = $commandAst.GetCommandName()
    & $inrush complete all "$wordToComplete" '--' @words 2>$null | ForEach-Object {
        $word, $help = $_ -split "`t", 2
        [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $help)
    }
}
"#;

/// Prints the script of a shell, and returns the exit status.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8> {
    super::print(&script(args.shell)).map(|()| 0)
}

fn script(shell: Shell) -> String {
    if shell == Shell::PowerShell {
        return POWERSHELL.to_owned();
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut in_short(Cli::command()), "inrush", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + BASH,
        Shell::Fish => script + FISH,
        Shell::Zsh => {
            let script: String = script.lines().map(|line| for_zsh(line) + "\n").collect();
            // The first line is for zsh itself.
            script.replacen("\nautoload -U is-at-least\n", &format!("{ZSH}\nautoload -U is-at-least\n"), 1)
        }
        _ => script,
    }
}

/// A line of clap's script for zsh, with the names of the cluster where a flag takes one.
fn for_zsh(line: &str) -> String {
    let kind = ["index", "alias"].into_iter().find(|kind| line.starts_with(&format!("'--{kind}=[")));
    if let (Some(kind), Some(flag)) = (kind, line.strip_suffix(":NAME:_default' \\")) {
        return format!("{flag}:NAME:{{_inrush_names {kind}}}' \\");
    }
    match line.strip_prefix("'*::") {
        // With two colons, no flag is completed behind the first source.
        Some(rest) if !rest.starts_with("arguments ") => format!("'*:{rest}"),
        _ => line.to_owned(),
    }
}

/// The command with the first sentence of each help, which is what a shell has room for.
pub(super) fn in_short(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_help().map(ToString::to_string) {
            Some(help) => arg.help(first_sentence(&help).to_owned()),
            None => arg,
        })
        .mut_subcommands(in_short)
}

fn first_sentence(help: &str) -> &str {
    help.find(". ").map_or(help, |end| &help[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_where_a_flag_takes_one() {
        for (shell, index, alias) in [
            (Shell::Zsh, "{_inrush_names index}", "{_inrush_names alias}"),
            (Shell::Fish, "(__inrush_names index)", "(__inrush_names alias)"),
            (Shell::Bash, "--index | --alias)", "complete -F _inrush_or_names"),
        ] {
            let script = script(shell);
            assert!(script.contains(index) && script.contains(alias), "{shell}");
        }
        assert!(script(Shell::Zsh).contains("_inrush_names() {"), "the function that zsh calls");
    }

    #[test]
    fn help_is_short() {
        assert_eq!(first_sentence("Format of the input. Default: by the name"), "Format of the input");
        assert_eq!(first_sentence("as in docs.rs and 3.5"), "as in docs.rs and 3.5");
        let longest = script(Shell::Fish).lines().map(str::len).max().unwrap_or_default();
        assert!(longest < 600, "{longest} characters in a line");
    }
}
