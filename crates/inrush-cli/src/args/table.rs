//! Flags of the command line from the definitions of options.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};
use inrush_commands::options::{
    Choice, Given, OptionGroup, OptionInfo, OptionKind, OptionValue, PathKind, Scope, Style, render,
};
use serde_json::Value;

/// A group of options as flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options<G>(pub(crate) G);

impl<G> Deref for Options<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.0
    }
}

impl<G> DerefMut for Options<G> {
    fn deref_mut(&mut self) -> &mut G {
        &mut self.0
    }
}

impl<G: OptionGroup> Args for Options<G> {
    fn augment_args(command: Command) -> Command {
        G::infos().into_iter().filter(|info| is_argument(info)).fold(command, |command, info| command.arg(arg(info)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: OptionGroup> FromArgMatches for Options<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Options(G::default());
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for info in G::infos().into_iter().filter(|info| is_argument(info)) {
            let Some(given) = given(info, matches) else { continue };
            if let Some(Err(problem)) = self.0.set(info.name, given) {
                let problem = format!("{}: {}", info.flag(), render(&problem, Style::Flag));
                return Err(Error::raw(clap::error::ErrorKind::ValueValidation, problem));
            }
        }
        Ok(())
    }
}

fn is_argument(info: &OptionInfo) -> bool {
    info.is_flag() || info.scope == Scope::Argument
}

/// The value of a flag, if it was given.
fn given(info: &OptionInfo, matches: &ArgMatches) -> Option<Given> {
    match info.kind {
        OptionKind::Flag => matches.get_flag(info.name).then(|| Value::Bool(true).into()),
        OptionKind::Count => match matches.get_count(info.name) {
            0 => None,
            times => Some(Value::from(times).into()),
        },
        OptionKind::One if is_path(info) => matches.get_one::<OsString>(info.name).cloned().map(Given::Text),
        OptionKind::One => matches.get_one::<String>(info.name).map(|text| text.as_str().into()),
        OptionKind::List if is_path(info) => {
            matches.get_many::<OsString>(info.name).map(|all| Given::List(all.cloned().collect()))
        }
        OptionKind::List => {
            matches.get_many::<String>(info.name).map(|all| Given::List(all.map(OsString::from).collect()))
        }
    }
}

fn is_path(info: &OptionInfo) -> bool {
    info.value.path.is_some()
}

/// The flag of an option.
pub(crate) fn arg(info: &'static OptionInfo) -> Arg {
    let help = render(&info.help_with_default(), Style::Flag).into_owned();
    let arg = Arg::new(info.name).help(help).help_heading(info.heading);
    let arg = if info.scope == Scope::Argument { arg } else { arg.long(info.flag().split_off(2)) };
    let arg = match info.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    let arg = match info.kind {
        OptionKind::Flag => return arg.action(ArgAction::SetTrue),
        OptionKind::Count => return arg.action(ArgAction::Count),
        OptionKind::One => arg.action(ArgAction::Set),
        OptionKind::List => arg.action(ArgAction::Append),
    };
    let arg = arg.value_name(info.value_name).value_parser(parser(info));
    let arg = if info.is_delimited { arg.value_delimiter(',') } else { arg };
    // The text of an empty cell may look like a flag, as -99.
    let arg = if info.name == "null" { arg.allow_hyphen_values(true) } else { arg };
    let arg = match info.bare {
        // Without the sign the next argument, such as a source, would be the value.
        Some(value) => arg.num_args(0..=1).require_equals(true).default_missing_value(value),
        None => arg,
    };
    match info.value.path {
        Some(PathKind::File) => arg.value_hint(ValueHint::FilePath),
        Some(PathKind::Folder) => arg.value_hint(ValueHint::DirPath),
        None => arg,
    }
}

/// A parser for one of several words, for a flag that is not an option of a load.
pub(crate) fn one_of<T: OptionValue + Send + Sync + 'static>() -> impl TypedValueParser<Value = T> {
    words(T::VALUE.choices).try_map(|text| T::parse(&text))
}

fn words(choices: &'static [Choice]) -> PossibleValuesParser {
    PossibleValuesParser::new(choices.iter().map(|choice| {
        let help = render(choice.help, Style::Flag).into_owned();
        let value = PossibleValue::new(choice.name).help(help);
        choice.alias.into_iter().fold(value, PossibleValue::alias)
    }))
}

fn parser(info: &'static OptionInfo) -> ValueParser {
    if !info.value.choices.is_empty() {
        return words(info.value.choices).into();
    }
    if is_path(info) {
        return clap::value_parser!(OsString);
    }
    ValueParser::new(move |text: &str| -> Result<String, String> {
        (info.check)(text).map(|()| text.to_owned()).map_err(|problem| render(&problem, Style::Flag).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use inrush_commands::options::LoadOptions;

    use super::*;

    #[test]
    fn every_option_for_the_command_line_is_a_flag_with_help() {
        let command = Options::<LoadOptions>::augment_args(Command::new("load"));
        for info in LoadOptions::infos() {
            let arg = command.get_arguments().find(|arg| arg.get_id() == info.name);
            assert_eq!(arg.is_some(), is_argument(info), "{}", info.name);
            let Some(arg) = arg else { continue };
            let help = arg.get_help().unwrap().to_string();
            assert!(!help.contains("option `"), "{}: {help}", info.name);
            assert_eq!(arg.get_help_heading(), Some(info.heading), "{}", info.name);
        }
    }

    /// A flag that required another one would be refused as a key of a job file, although the file
    /// has the other one, too.
    #[test]
    fn no_flag_needs_another_one_to_be_read() {
        let command = Options::<LoadOptions>::augment_args(Command::new("load"));
        for info in LoadOptions::infos().into_iter().filter(|info| info.is_flag()) {
            let values = [
                "1",
                "1s",
                "1%",
                "a",
                ".",
                "none",
                "a=b",
                "a:1-2",
                "a:float",
                "utf-8",
                "latest",
                "key",
                "auto",
                "Europe/Paris",
            ];
            let values = info.value.choices.iter().map(|choice| choice.name).chain(values);
            let given = |value: &str| match info.kind {
                OptionKind::Flag | OptionKind::Count => vec!["load".to_owned(), info.flag()],
                _ => vec!["load".to_owned(), format!("{}={value}", info.flag())],
            };
            let mut tried = values.map(|value| command.clone().try_get_matches_from(given(value)));
            assert!(tried.any(|tried| tried.is_ok()), "{}", info.flag());
        }
    }
}
