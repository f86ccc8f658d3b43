//! What the values of a job file stand for: flags, and bodies of requests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{Arg, ArgAction};

use crate::json_file;

/// The flags an entry stands for.
pub(super) fn flags(arg: &Arg, value: toml::Value, folder: Option<&Path>) -> Result<Vec<OsString>, String> {
    let path_like = matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath);
    let resolve = |text: String| match text.split_once('=') {
        // A name before the path.
        Some((name, path)) if arg.get_id() == "table" => {
            let mut table = OsString::from(format!("{name}="));
            table.push(resolve(path.to_owned(), path_like, folder));
            table
        }
        _ => resolve(text, path_like, folder),
    };
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, toml::Value::Boolean(on)) => Ok(if on { vec![flag(arg, None)] } else { Vec::new() }),
        (ArgAction::SetTrue, other) => Err(format!("expected true or false, found {}", type_name(&other))),
        (ArgAction::Count, toml::Value::Integer(times @ 0..=9)) => Ok((0..times).map(|_| flag(arg, None)).collect()),
        (ArgAction::Count, _) => Err("expected a whole number from 0 to 9".to_owned()),
        (ArgAction::Append, toml::Value::Array(items)) => {
            items.into_iter().map(|item| Ok(flag(arg, Some(resolve(scalar(item)?))))).collect()
        }
        (ArgAction::Append, item) => {
            let text = scalar(item).map_err(|problem| format!("{problem}, or a list of them"))?;
            Ok(vec![flag(arg, Some(resolve(text)))])
        }
        (_, item) => Ok(vec![flag(arg, Some(resolve(scalar(item)?)))]),
    }
}

fn flag(arg: &Arg, value: Option<OsString>) -> OsString {
    match (arg.get_long(), value) {
        (Some(long), None) => format!("--{long}").into(),
        (Some(long), Some(value)) => {
            let mut flag = OsString::from(format!("--{long}="));
            flag.push(value);
            flag
        }
        // A source. It is `-` or begins with the job's folder or a scheme, so it cannot be taken for a flag.
        (None, value) => value.unwrap_or_default(),
    }
}

fn scalar(value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        other => Err(format!("expected a string or a whole number, found {}", type_name(&other))),
    }
}

fn type_name(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a string",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number with a decimal point",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a date or time",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}

/// Paths in a job file are relative to it.
pub(super) fn resolve(text: String, path_like: bool, folder: Option<&Path>) -> OsString {
    let Some(folder) = folder else { return text.into() };
    if !path_like || text == "-" || text.contains("://") || Path::new(&text).is_absolute() {
        return text.into();
    }
    // The folder's own name is no pattern, whatever is in it.
    if text.contains(['*', '?', '[']) {
        let folder = folder.to_string_lossy();
        let mut escaped = String::with_capacity(folder.len());
        for c in folder.chars() {
            match c {
                '*' | '?' | '[' | ']' => escaped.extend(['[', c, ']']),
                c => escaped.push(c),
            }
        }
        return Path::new(&escaped).join(text).into();
    }
    folder.join(text).into()
}

/// A table as it stands, or the file a string names.
pub(super) fn body(
    value: Option<toml::Value>,
    key: &str,
    folder: Option<&Path>,
) -> Result<Option<serde_json::Value>, String> {
    match value {
        None => Ok(None),
        Some(toml::Value::String(file)) => {
            json_file::read(&PathBuf::from(resolve(file, true, folder)), key).map(Some).map_err(|e| e.to_string())
        }
        Some(table @ toml::Value::Table(_)) => json_file::inner(json(table)?, key).map(Some),
        Some(other) => Err(format!("{key}: expected a table or the name of a file, found {}", type_name(&other))),
    }
}

fn json(value: toml::Value) -> Result<serde_json::Value, String> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(on) => on.into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect::<Result<Vec<_>, _>>()?.into(),
        toml::Value::Table(table) => table
            .into_iter()
            .map(|(key, value)| Ok((key, json(value)?)))
            .collect::<Result<serde_json::Map<_, _>, String>>()?
            .into(),
        toml::Value::Datetime(when) => return Err(format!("{when}: a date or time must be a string here")),
    })
}
