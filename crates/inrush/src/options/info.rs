//! What there is to know about an option.

/// An option as users see it: the one definition from which the command line, the job file, the
/// Python package and the reference page are made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OptionInfo {
    /// The name, in snake case. A flag of the command line has dashes instead of underscores.
    pub name: &'static str,
    /// The heading under which the option stands.
    pub heading: &'static str,
    /// How often and how it is given.
    pub kind: OptionKind,
    /// What its values are.
    pub value: ValueInfo,
    /// The name of the value in a usage text, as in `SIZE`; empty for a flag.
    pub value_name: &'static str,
    /// The default, as users read it; `None`: a flag that is off, or nothing.
    pub default: Option<&'static str>,
    /// The servers' name for it, where they have one.
    pub server: Option<&'static str>,
    /// Who can give it.
    pub scope: Scope,
    /// Values of a list may stand in one text, separated by commas.
    pub is_delimited: bool,
    /// The letter of a short flag.
    pub short: Option<char>,
    /// Options that cannot be given together with this one.
    pub conflicts: &'static [&'static str],
    /// Checks a text as [`OptionGroup::set`](super::OptionGroup::set) would.
    pub check: fn(&str) -> Result<(), String>,
    help: &'static str,
}

/// How an option is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// On or off.
    Flag,
    /// On, as often as it is given.
    Count,
    /// One value.
    One,
    /// Any number of values.
    List,
}

/// Who can give an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The command line, a job file and a program.
    Everywhere,
    /// A program only: what a text cannot say, or should not hold.
    Program,
    /// A job file or a program: what the command line has no form for.
    Structured,
    /// The command line or a job file: how the command shows its work.
    CommandLine,
    /// The command line as an argument without a flag; a job file and a program by its name.
    Argument,
}

/// What the values of a type are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ValueInfo {
    /// The unit, as in `bytes`.
    pub unit: Option<&'static str>,
    /// The limits, as in `1 to 64`.
    pub limits: Option<&'static str>,
    /// All values that there are; empty: any that can be read.
    pub choices: &'static [Choice],
    /// Whether it names a file or a folder.
    pub path: Option<PathKind>,
    /// The type in Python's notation.
    pub python: &'static str,
}

/// One of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// As it is given.
    pub name: &'static str,
    /// Another name, which is taken as well.
    pub alias: Option<&'static str>,
    /// What it means.
    pub help: &'static str,
}

/// What a path leads to.
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
    /// An option that is kept in `S`.
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
            is_delimited: false,
            short: None,
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

    /// Says who can give it.
    #[must_use]
    pub const fn scope(self, scope: Scope) -> Self {
        OptionInfo { scope, ..self }
    }

    /// Takes several values in one text, separated by commas.
    #[must_use]
    pub const fn delimited(self) -> Self {
        OptionInfo { is_delimited: true, ..self }
    }

    /// Has a short flag.
    #[must_use]
    pub const fn short(self, short: char) -> Self {
        OptionInfo { short: Some(short), ..self }
    }

    /// Stands under another heading than its group.
    #[must_use]
    pub const fn heading(self, heading: &'static str) -> Self {
        OptionInfo { heading, ..self }
    }

    /// Cannot be given together with these.
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

    /// Whether a program, as through the Python package, can give it.
    pub fn is_keyword(&self) -> bool {
        self.scope != Scope::CommandLine
    }
}
