//! The definition of an option.

use inrush_sources::Formats;

/// An option as users see it: the one definition from which the command line, the job file, the
/// Python package and the reference page are made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OptionInfo {
    /// The name, in snake case. A flag of the command line has dashes instead of underscores.
    pub name: &'static str,
    /// The heading under which the option stands.
    pub heading: &'static str,
    /// The kind: a flag, one value, or a list.
    pub kind: OptionKind,
    /// The type of its values.
    pub value: ValueInfo,
    /// The name of the value in a usage text, as in `SIZE`; empty for a flag.
    pub value_name: &'static str,
    /// The default, as users read it; `None`: a flag that is off, or nothing.
    pub default: Option<&'static str>,
    /// The servers' name for it, if they have one.
    pub server: Option<&'static str>,
    /// The front ends that accept it.
    pub scope: Scope,
    /// The formats of files that it is for. `None`: all, or it is not about formats.
    pub formats: Option<Formats>,
    /// Whether the outputs of a job file have values of their own.
    pub outputs: Outputs,
    /// Whether one text may hold several values of a list, separated by commas.
    pub is_delimited: bool,
    /// The letter of a short flag.
    pub short: Option<char>,
    /// The value of a flag that stands without one.
    pub bare: Option<&'static str>,
    /// Options that cannot be given together with this one.
    pub conflicts: &'static [&'static str],
    /// Checks a text as [`OptionGroup::set`](super::OptionGroup::set) would.
    pub check: fn(&str) -> Result<(), String>,
    help: &'static str,
}

/// The kind of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// On or off.
    Flag,
    /// A flag that counts how often it is given.
    Count,
    /// One value.
    One,
    /// Any number of values.
    List,
}

/// The front ends that accept an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The command line, a job file and a program.
    Everywhere,
    /// Only a program: the value has no text, or should not be in one.
    Program,
    /// A job file or a program: the command line has no syntax for it.
    Structured,
    /// The command line or a job file: it is about the output of the command.
    CommandLine,
    /// The command line as an argument without a flag; a job file and a program by its name.
    Argument,
}

/// The values of an option where a job file has several outputs (`[[output]]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// One value for all outputs, and others for some of them.
    Each,
    /// A value for each output. One of the command line would be that of all.
    Own,
    /// One value for all outputs.
    All,
}

/// The values of a type.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ValueInfo {
    /// The unit, as in `bytes`.
    pub unit: Option<&'static str>,
    /// The limits, as in `1 to 64`.
    pub limits: Option<&'static str>,
    /// All possible values. Empty: any value that can be parsed.
    pub choices: &'static [Choice],
    /// The kind of path, if it is one.
    pub path: Option<PathKind>,
    /// The type in Python's notation.
    pub python: &'static str,
}

/// One of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// Another word, which is accepted as well.
    pub alias: Option<&'static str>,
    /// Its meaning.
    pub help: &'static str,
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

impl ValueInfo {
    /// Text.
    pub const TEXT: ValueInfo = ValueInfo { unit: None, limits: None, choices: &[], path: None, python: "str" };

    /// A whole number.
    pub const NUMBER: ValueInfo = ValueInfo { python: "int", ..ValueInfo::TEXT };

    /// One of these.
    pub const fn one_of(choices: &'static [Choice]) -> Self {
        ValueInfo { choices, ..ValueInfo::TEXT }
    }

    /// A path.
    pub const fn path(kind: PathKind) -> Self {
        ValueInfo { path: Some(kind), python: "str | os.PathLike[str]", ..ValueInfo::TEXT }
    }

    /// With a unit.
    pub const fn in_unit(self, unit: &'static str) -> Self {
        ValueInfo { unit: Some(unit), ..self }
    }

    /// With limits.
    pub const fn within(self, limits: &'static str) -> Self {
        ValueInfo { limits: Some(limits), ..self }
    }

    /// With another type in Python.
    pub const fn in_python(self, python: &'static str) -> Self {
        ValueInfo { python, ..self }
    }
}

impl OptionInfo {
    /// An option that is stored in `S`.
    pub const fn new<S: super::Slot>(name: &'static str, heading: &'static str, help: &'static str) -> Self {
        OptionInfo {
            name,
            heading,
            kind: S::KIND,
            value: S::VALUE,
            value_name: "",
            default: None,
            server: None,
            scope: Scope::Everywhere,
            formats: None,
            outputs: Outputs::Each,
            is_delimited: false,
            short: None,
            bare: None,
            conflicts: &[],
            check: S::check,
            help,
        }
    }

    /// Names the value.
    #[must_use]
    pub const fn value_name(self, value_name: &'static str) -> Self {
        OptionInfo { value_name, ..self }
    }

    /// Names the default.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        OptionInfo { default: Some(default), ..self }
    }

    /// Names the servers' setting or parameter.
    #[must_use]
    pub const fn server(self, server: &'static str) -> Self {
        OptionInfo { server: Some(server), ..self }
    }

    /// Sets the front ends that accept it.
    #[must_use]
    pub const fn scope(self, scope: Scope) -> Self {
        OptionInfo { scope, ..self }
    }

    /// Sets the formats of files that it is for.
    #[must_use]
    pub const fn formats(self, formats: Formats) -> Self {
        OptionInfo { formats: Some(formats), ..self }
    }

    /// Sets which outputs of a job file have values of their own.
    #[must_use]
    pub const fn outputs(self, outputs: Outputs) -> Self {
        OptionInfo { outputs, ..self }
    }

    /// Accepts several values in one text, separated by commas.
    #[must_use]
    pub const fn delimited(self) -> Self {
        OptionInfo { is_delimited: true, ..self }
    }

    /// Has a short flag.
    #[must_use]
    pub const fn short(self, short: char) -> Self {
        OptionInfo { short: Some(short), ..self }
    }

    /// May stand without a value on the command line, which is this value then. A value follows
    /// after `=`.
    #[must_use]
    pub const fn bare(self, value: &'static str) -> Self {
        OptionInfo { bare: Some(value), ..self }
    }

    /// Sets a heading other than that of its group.
    #[must_use]
    pub const fn heading(self, heading: &'static str) -> Self {
        OptionInfo { heading, ..self }
    }

    /// Excludes these options.
    #[must_use]
    pub const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        OptionInfo { conflicts, ..self }
    }

    /// The help text in one paragraph, without its default. Other options are named as messages
    /// name them; see [`render`](super::render).
    pub fn help(&self) -> String {
        self.help.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The help text with the default at its end.
    pub fn help_with_default(&self) -> String {
        let help = self.help();
        match self.default {
            Some(default) => format!("{}. Default: {default}", help.trim_end_matches('.')),
            None => help.trim_end_matches('.').to_owned(),
        }
    }

    /// The flag of the command line, with its dashes.
    pub fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    /// Whether the command line has a flag for it.
    pub fn is_flag(&self) -> bool {
        matches!(self.scope, Scope::Everywhere | Scope::CommandLine)
    }

    /// Whether a job file can have it.
    pub fn is_key(&self) -> bool {
        self.scope != Scope::Program
    }

    /// Whether it is also about rows that are in no file, such as those of a query.
    pub(crate) fn is_of_rows(&self) -> bool {
        self.formats.is_some_and(|formats| formats.is_of_rows)
    }

    /// Whether one of several outputs of a job file can have a value of its own.
    pub fn is_of_output(&self) -> bool {
        self.outputs != Outputs::All && self.scope != Scope::CommandLine
    }

    /// Whether a program, as through the Python package, can give it.
    pub fn is_keyword(&self) -> bool {
        self.scope != Scope::CommandLine
    }
}
