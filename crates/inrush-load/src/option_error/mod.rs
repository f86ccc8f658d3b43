//! Options that cannot be used.

mod style;

use std::borrow::Cow;
use std::fmt;

pub use style::{Style, render};

/// An option, or several together, that cannot be used; nothing was done. Options are named as
/// [`render`] wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    option: Option<&'static str>,
    kind: OptionErrorKind,
    message: String,
    hint: Option<String>,
}

/// What is wrong with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionErrorKind {
    /// There is no such option.
    Unknown,
    /// Its value cannot be read.
    Value,
    /// It has to be given, and is not.
    Missing,
    /// It does not fit another option, the source or the command.
    Conflict,
    /// What it names cannot be used, as a file that cannot be read.
    Unusable,
    /// It was asked whether it is meant, and it is not.
    Declined,
}

impl OptionError {
    /// Says what was found.
    pub fn new(kind: OptionErrorKind, message: impl Into<String>) -> Self {
        OptionError { option: None, kind, message: message.into(), hint: None }
    }

    /// Options that do not fit together, or something else.
    pub fn conflict(message: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Conflict, message)
    }

    /// Something that an option names cannot be used.
    pub fn unusable(message: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Unusable, message)
    }

    /// The value of an option cannot be read.
    pub fn value(option: &'static str, problem: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Value, problem).of(option)
    }

    /// Names the option.
    #[must_use]
    pub fn of(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    /// Says what to do instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The option that it is about, where it is about one.
    pub fn option(&self) -> Option<&'static str> {
        self.option
    }

    /// What is wrong.
    pub fn kind(&self) -> OptionErrorKind {
        self.kind
    }

    /// What was found, without the name of the option before it.
    pub fn problem(&self, style: Style) -> Cow<'_, str> {
        render(&self.message, style)
    }

    /// What was found, in the style of a front end.
    pub fn message(&self, style: Style) -> String {
        render(&self.to_string(), style).into_owned()
    }

    /// What to do, in the style of a front end.
    pub fn hint_in(&self, style: Style) -> Option<Cow<'_, str>> {
        self.hint.as_deref().map(|hint| render(hint, style))
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(option), OptionErrorKind::Value) = (self.option, self.kind) {
            write!(f, "option `{option}`: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for OptionError {}

impl From<String> for OptionError {
    fn from(message: String) -> Self {
        OptionError::conflict(message)
    }
}

impl From<&str> for OptionError {
    fn from(message: &str) -> Self {
        OptionError::conflict(message)
    }
}
