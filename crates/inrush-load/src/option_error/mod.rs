//! Errors of options.

mod style;

use std::borrow::Cow;
use std::fmt;

use inrush_core::Code;
pub use style::{Style, keyword, render};

/// An error of one option, or of several together. Nothing was changed. The text names options in
/// the form of [`render`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    option: Option<&'static str>,
    kind: OptionErrorKind,
    code: Code,
    message: String,
    hint: Option<String>,
}

/// Kind of an option's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionErrorKind {
    /// There is no such option.
    Unknown,
    /// The value cannot be parsed.
    Value,
    /// A required option is missing.
    Missing,
    /// The option excludes another option, the source or the command.
    Conflict,
    /// The value names something unusable, such as a file that cannot be read.
    Unusable,
    /// The user did not confirm the option.
    Declined,
}

impl OptionErrorKind {
    const fn code(self) -> Code {
        match self {
            OptionErrorKind::Unknown => Code::UnknownOption,
            OptionErrorKind::Value => Code::BadOptionValue,
            OptionErrorKind::Missing => Code::MissingOption,
            OptionErrorKind::Conflict => Code::OptionsConflict,
            OptionErrorKind::Unusable => Code::UnusableValue,
            OptionErrorKind::Declined => Code::NotConfirmed,
        }
    }
}

impl OptionError {
    /// An error of this kind.
    pub fn new(kind: OptionErrorKind, message: impl Into<String>) -> Self {
        OptionError { option: None, kind, code: kind.code(), message: message.into(), hint: None }
    }

    /// An error for options that exclude each other.
    pub fn conflict(message: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Conflict, message)
    }

    /// An error for a value that names something unusable.
    pub fn unusable(message: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Unusable, message)
    }

    /// An error for a value that cannot be parsed.
    pub fn value(option: &'static str, problem: impl Into<String>) -> Self {
        OptionError::new(OptionErrorKind::Value, problem).of(option)
    }

    /// Sets a code that says more than that of the kind.
    #[must_use]
    pub fn coded(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// The kind for programs and for the page of errors.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Sets the name of the option.
    #[must_use]
    pub fn of(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The option of the error, where it is a single one.
    pub fn option(&self) -> Option<&'static str> {
        self.option
    }

    /// Kind of the error.
    pub fn kind(&self) -> OptionErrorKind {
        self.kind
    }

    /// The message without the name of the option before it.
    pub fn problem(&self, style: Style) -> Cow<'_, str> {
        render(&self.message, style)
    }

    /// The message, in the style of a front end.
    pub fn message(&self, style: Style) -> String {
        render(&self.to_string(), style).into_owned()
    }

    /// The remedy, in the style of a front end.
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
