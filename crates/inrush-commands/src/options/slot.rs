//! Values of options from the front ends, and their places.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::info::{OptionInfo, OptionKind, ValueInfo};

/// The value that a front end has for an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Text, as from a command line. A path need not be UTF-8.
    Text(OsString),
    /// The texts of a list.
    List(Vec<OsString>),
    /// A value, as from a job file or a program. `null` removes the option.
    Value(Value),
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        Given::Text(text.into())
    }
}

impl From<OsString> for Given {
    fn from(text: OsString) -> Self {
        Given::Text(text)
    }
}

impl From<Value> for Given {
    fn from(value: Value) -> Self {
        Given::Value(value)
    }
}

impl Given {
    /// The text, if it is one.
    fn as_text(&self) -> Option<&str> {
        match self {
            Given::Text(text) => text.to_str(),
            Given::List(_) => None,
            Given::Value(value) => value.as_str(),
        }
    }

    /// Splits texts at commas.
    #[doc(hidden)]
    #[must_use]
    pub fn split(self) -> Given {
        let pieces = |text: &str| text.split(',').map(Value::from).collect::<Vec<_>>();
        if let Some(text) = self.as_text() {
            return Given::Value(pieces(text).into());
        }
        match self {
            Given::Value(Value::Array(items)) => {
                let split = |item: Value| match &item {
                    Value::String(text) => pieces(text),
                    _ => vec![item],
                };
                Given::Value(items.into_iter().flat_map(split).collect())
            }
            other => other,
        }
    }
}

/// The type of an option's value, which is parsed from text and from the values of a job file.
pub trait OptionValue: Clone + Debug + PartialEq + Sized {
    /// The argument of a setter in a program: this type, or a type of the standard library that it
    /// is made of.
    type Argument: SetterValue;
    /// The definition of the values.
    const VALUE: ValueInfo;

    /// Checks the argument of a setter.
    ///
    /// # Errors
    /// As [`OptionValue::parse`].
    fn from_argument(argument: Self::Argument) -> Result<Self, String>;

    /// Parses a text.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    fn parse(text: &str) -> Result<Self, String>;

    /// Parses a value: a string, or a whole number as its digits.
    ///
    /// # Errors
    /// As [`OptionValue::parse`].
    fn read(given: Given) -> Result<Self, String> {
        match &given {
            Given::Text(text) => match text.to_str() {
                Some(text) => named(text, Self::parse(text)),
                None => Err(format!("{} is not UTF-8", text.to_string_lossy())),
            },
            Given::Value(Value::String(text)) => named(text, Self::parse(text)),
            Given::Value(Value::Number(number)) if !number.is_f64() => {
                named(&number.to_string(), Self::parse(&number.to_string()))
            }
            Given::Value(other) => Err(format!("expected a string or a whole number, found {}", name_of(other))),
            Given::List(_) => Err("expected one value, found several".to_owned()),
        }
    }

    /// The same value, with paths relative to this folder.
    #[must_use]
    fn relative_to(self, _: &Path) -> Self {
        self
    }
}

/// The argument of a setter for a type: `itself`, or the `text`, `path` or `json` that its text or
/// its value of a job file is read from.
macro_rules! argument {
    (itself) => {
        type Argument = Self;

        fn from_argument(argument: Self) -> Result<Self, String> {
            Ok(argument)
        }
    };
    (text) => {
        type Argument = String;

        fn from_argument(argument: String) -> Result<Self, String> {
            Self::read(Given::Text(argument.into()))
        }
    };
    (path) => {
        type Argument = std::path::PathBuf;

        fn from_argument(argument: std::path::PathBuf) -> Result<Self, String> {
            Self::read(Given::Text(argument.into_os_string()))
        }
    };
    (json) => {
        type Argument = serde_json::Value;

        fn from_argument(argument: serde_json::Value) -> Result<Self, String> {
            Self::read(Given::Value(argument))
        }
    };
}
pub(super) use argument;

fn named<T>(text: &str, read: Result<T, String>) -> Result<T, String> {
    read.map_err(|problem| format!("invalid value '{text}': {problem}"))
}

/// The name of a value's type.
pub(super) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number with a decimal point",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// The place of an option: a flag in a `bool`, a value in an `Option`, a list in a `Vec`.
pub trait Slot {
    /// The argument of a setter.
    type Item;
    /// The kind of the option.
    const KIND: OptionKind;
    /// The definition of its values.
    const VALUE: ValueInfo;

    /// Replaces the value.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    fn set(&mut self, given: Given) -> Result<(), String>;

    /// Sets a value, or adds it to a list.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    fn give(&mut self, argument: Argument<Self::Item>) -> Result<(), String>;

    /// Whether there is a value.
    fn is_given(&self) -> bool;

    /// Makes paths relative to this folder.
    fn relative_to(&mut self, folder: &Path);

    /// Takes the value of `lower` if there is none.
    fn fill(&mut self, lower: &Self);

    /// Checks a text.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    fn check(text: &str) -> Result<(), String>;
}

impl Slot for bool {
    type Item = bool;
    const KIND: OptionKind = OptionKind::Flag;
    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("bool");

    fn set(&mut self, given: Given) -> Result<(), String> {
        *self = match given {
            Given::Value(Value::Bool(on)) => on,
            Given::Value(Value::Null) => false,
            Given::Value(other) => return Err(format!("expected true or false, found {}", name_of(&other))),
            Given::Text(_) | Given::List(_) => return Err("expected true or false, found text".to_owned()),
        };
        Ok(())
    }

    fn give(&mut self, on: Argument<bool>) -> Result<(), String> {
        match on {
            Argument::Value(on) => *self = on,
            Argument::Text(text) => self.set(Given::Text(text))?,
        }
        Ok(())
    }

    fn is_given(&self) -> bool {
        *self
    }

    fn relative_to(&mut self, _: &Path) {}

    fn fill(&mut self, lower: &Self) {
        *self |= *lower;
    }

    fn check(_: &str) -> Result<(), String> {
        Ok(())
    }
}

/// The most times that a flag may be given.
const COUNT_MAX: u64 = 9;

impl Slot for u8 {
    type Item = u32;
    const KIND: OptionKind = OptionKind::Count;
    const VALUE: ValueInfo = ValueInfo::NUMBER.within("0 to 9");

    fn set(&mut self, given: Given) -> Result<(), String> {
        let times = match given {
            Given::Value(Value::Null) => Some(0),
            Given::Value(value) => value.as_u64().filter(|times| *times <= COUNT_MAX),
            Given::Text(text) => text.to_str().and_then(|text| text.parse().ok()),
            Given::List(_) => None,
        };
        *self = times
            .and_then(|times| u8::try_from(times).ok())
            .ok_or_else(|| format!("expected a whole number from 0 to {COUNT_MAX}"))?;
        Ok(())
    }

    fn give(&mut self, times: Argument<u32>) -> Result<(), String> {
        self.set(match times {
            Argument::Value(times) => Given::Value(times.into()),
            Argument::Text(text) => Given::Text(text),
        })
    }

    fn is_given(&self) -> bool {
        *self > 0
    }

    fn relative_to(&mut self, _: &Path) {}

    fn fill(&mut self, lower: &Self) {
        if *self == 0 {
            *self = *lower;
        }
    }

    fn check(_: &str) -> Result<(), String> {
        Ok(())
    }
}

impl<T: OptionValue> Slot for Option<T> {
    type Item = T::Argument;
    const KIND: OptionKind = OptionKind::One;
    const VALUE: ValueInfo = T::VALUE;

    fn set(&mut self, given: Given) -> Result<(), String> {
        *self = match given {
            Given::Value(Value::Null) => None,
            given => Some(T::read(given)?),
        };
        Ok(())
    }

    fn give(&mut self, argument: Argument<T::Argument>) -> Result<(), String> {
        *self = Some(argument.check()?);
        Ok(())
    }

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn relative_to(&mut self, folder: &Path) {
        *self = self.take().map(|value| value.relative_to(folder));
    }

    fn fill(&mut self, lower: &Self) {
        if self.is_none() {
            self.clone_from(lower);
        }
    }

    fn check(text: &str) -> Result<(), String> {
        T::parse(text).map(drop)
    }
}

impl<T: OptionValue> Slot for Vec<T> {
    type Item = T::Argument;
    const KIND: OptionKind = OptionKind::List;
    const VALUE: ValueInfo = T::VALUE;

    fn set(&mut self, given: Given) -> Result<(), String> {
        *self = match given {
            Given::Value(Value::Null) => Vec::new(),
            Given::Value(Value::Array(items)) => {
                items.into_iter().map(|item| T::read(Given::Value(item))).collect::<Result<_, _>>()?
            }
            Given::Value(other) => {
                let is_scalar = matches!(other, Value::String(_) | Value::Number(_));
                let read = T::read(Given::Value(other));
                vec![if is_scalar { read? } else { read.map_err(|problem| format!("{problem}, or a list of them"))? }]
            }
            Given::List(texts) => texts.into_iter().map(|text| T::read(Given::Text(text))).collect::<Result<_, _>>()?,
            text @ Given::Text(_) => vec![T::read(text)?],
        };
        Ok(())
    }

    fn give(&mut self, argument: Argument<T::Argument>) -> Result<(), String> {
        self.push(argument.check()?);
        Ok(())
    }

    fn is_given(&self) -> bool {
        !self.is_empty()
    }

    fn relative_to(&mut self, folder: &Path) {
        *self = self.drain(..).map(|value| value.relative_to(folder)).collect();
    }

    fn fill(&mut self, lower: &Self) {
        if self.is_empty() {
            self.clone_from(lower);
        }
    }

    fn check(text: &str) -> Result<(), String> {
        T::parse(text).map(drop)
    }
}

/// A group of options, or all of them.
pub trait OptionGroup: Clone + Default {
    /// The definitions of the options.
    fn infos() -> Vec<&'static OptionInfo>;

    /// Sets the option `name`. `None`: the group has no such option.
    fn set(&mut self, name: &str, given: Given) -> Option<Result<(), String>>;

    /// Whether the option `name` has a value.
    fn is_given(&self, name: &str) -> bool;

    /// Makes paths relative to this folder.
    fn relative_to(&mut self, folder: &Path);

    /// Takes the options of `lower` that have no value here, except those that are `decided`.
    fn fill(&mut self, lower: &Self, decided: &dyn Fn(&str) -> bool);

    /// The options that have a value, in the order of their definition.
    fn given(&self) -> impl Iterator<Item = &'static OptionInfo> {
        Self::infos().into_iter().filter(move |info| self.is_given(info.name))
    }
}

/// The argument of a setter: a value, or the text that the command line accepts for it.
pub trait IntoOption<T> {
    /// The argument, not checked yet.
    #[doc(hidden)]
    fn into_option(self) -> Argument<T>;
}

/// The argument of a setter, not checked yet.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Argument<T> {
    /// A value.
    Value(T),
    /// Its text. A path need not be UTF-8.
    Text(OsString),
}

impl<A> Argument<A> {
    fn check<T: OptionValue<Argument = A>>(self) -> Result<T, String> {
        match self {
            Argument::Value(value) => T::from_argument(value),
            Argument::Text(text) => T::read(Given::Text(text)),
        }
    }
}

/// A type that setters take. Besides it they take its text.
#[doc(hidden)]
pub trait SetterValue {}

/// Types other than [`String`], which is a value itself.
#[doc(hidden)]
pub trait NotText: SetterValue {}

/// Declares types that setters take.
#[doc(hidden)]
#[macro_export]
macro_rules! setter_values {
    ($($type:ty),* $(,)?) => {
        $(
            impl $crate::options::SetterValue for $type {}
            impl $crate::options::NotText for $type {}
        )*
    };
}

impl SetterValue for String {}
setter_values! { u32, std::time::Duration, PathBuf, OsString, Value }

impl<T: SetterValue> IntoOption<T> for T {
    fn into_option(self) -> Argument<T> {
        Argument::Value(self)
    }
}

impl<T: SetterValue> IntoOption<T> for &str {
    fn into_option(self) -> Argument<T> {
        Argument::Text(self.into())
    }
}

impl<T: SetterValue> IntoOption<T> for &String {
    fn into_option(self) -> Argument<T> {
        Argument::Text(self.into())
    }
}

impl<T: NotText> IntoOption<T> for String {
    fn into_option(self) -> Argument<T> {
        Argument::Text(self.into())
    }
}

/// A flag takes no text.
impl IntoOption<bool> for bool {
    fn into_option(self) -> Argument<bool> {
        Argument::Value(self)
    }
}

impl IntoOption<PathBuf> for &Path {
    fn into_option(self) -> Argument<PathBuf> {
        Argument::Value(self.to_owned())
    }
}

impl IntoOption<OsString> for &Path {
    fn into_option(self) -> Argument<OsString> {
        Argument::Value(self.as_os_str().to_owned())
    }
}

impl IntoOption<OsString> for PathBuf {
    fn into_option(self) -> Argument<OsString> {
        Argument::Value(self.into_os_string())
    }
}
