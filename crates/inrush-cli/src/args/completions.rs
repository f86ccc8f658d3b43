//! The arguments of `inrush completions`.

use clap::Args;
use clap_complete::Shell;

/// Prints completions for a shell: commands, flags and the values of flags.
///
/// bash: inrush completions bash >~/.local/share/bash-completion/completions/inrush
///
/// zsh: inrush completions zsh >FOLDER/_inrush, where FOLDER is in fpath
///
/// fish: inrush completions fish >~/.config/fish/completions/inrush.fish
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
