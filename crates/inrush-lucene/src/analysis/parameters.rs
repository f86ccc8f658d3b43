//! The parameters of a part of an analyser, as the settings have them.

use serde_json::{Map, Value};

/// A part of an analyser in the settings: its parameters, which are taken one by one.
pub(super) struct Parameters<'a> {
    /// Such as `token filter "my_stop"`.
    pub(super) what: String,
    /// Nothing for a part that the server has by itself.
    definition: Option<&'a Map<String, Value>>,
    /// A `_name` means nothing to servers; people write remarks there.
    taken: Vec<&'a str>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(kind: &str, name: &str, definition: Option<&'a Map<String, Value>>) -> Self {
        Self { what: format!("{kind} {name:?}"), definition, taken: vec!["type", "_name"] }
    }

    /// Whether the settings define it; a part that the server has by itself may differ in its
    /// defaults.
    pub(super) fn is_defined(&self) -> bool {
        self.definition.is_some()
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.definition?.get(name)
    }

    fn wrong(&self, name: &str, value: &Value) -> String {
        format!("{}: the parameter {name:?} with {value}", self.what)
    }

    /// A whole number.
    pub(super) fn number(&mut self, name: &'static str, default: usize) -> Result<usize, String> {
        let Some(value) = self.take(name) else { return Ok(default) };
        let number = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| i32::try_from(number).ok());
        number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| self.wrong(name, value))
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(default),
            Some(value) if *value == true || value == "true" => Ok(true),
            Some(value) if *value == false || value == "false" => Ok(false),
            Some(value) => Err(self.wrong(name, value)),
        }
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong(name, value)),
        }
    }

    /// A text, or a number as one.
    pub(super) fn text_or_number(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(value) => Err(self.wrong(name, value)),
        }
    }

    /// A list of texts; one text is one of them, with its commas.
    pub(super) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<&'a str>>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let list = match value {
            Value::String(text) => Some(vec![text.as_str()]),
            Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
            _ => None,
        };
        list.map(Some).ok_or_else(|| self.wrong(name, value))
    }

    /// A list of texts, or texts with commas between them.
    pub(super) fn list(&mut self, name: &'static str) -> Result<Option<Vec<&'a str>>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let list = match value {
            Value::String(texts) => Some(texts.split(',').map(str::trim).filter(|text| !text.is_empty()).collect()),
            Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
            _ => None,
        };
        list.map(Some).ok_or_else(|| self.wrong(name, value))
    }

    /// What is refused, with the value of a parameter.
    pub(super) fn refuse(&self, name: &str) -> String {
        let value = self.definition.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        self.wrong(name, value)
    }

    /// Ends the reading: what was not taken is not known here.
    pub(super) fn finish(self) -> Result<(), String> {
        let mut names = self.definition.into_iter().flat_map(Map::keys);
        match names.find(|name| !self.taken.contains(&name.as_str())) {
            Some(name) => Err(format!("{}: the parameter {name:?}", self.what)),
            None => Ok(()),
        }
    }
}
