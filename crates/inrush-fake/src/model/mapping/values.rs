//! Single values: the type that dynamic mapping gives them, and their fit to a mapped type.

use serde_json::{Value, json};

/// A value as Java's `toString` shows it in the servers' messages.
pub(super) fn preview(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            let fields: Vec<String> = object.iter().map(|(key, value)| format!("{key}={}", preview(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(preview).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// True for types whose value may itself be an array.
pub(super) fn takes_arrays(kind: &str) -> bool {
    matches!(kind, "geo_point" | "dense_vector" | "knn_vector" | "completion" | "flattened" | "flat_object")
}

/// The type and the definition that dynamic mapping gives to a field with this first value.
pub(super) fn infer(value: &Value) -> (&'static str, Value) {
    match value {
        Value::Bool(_) => ("boolean", json!({"type": "boolean"})),
        Value::Number(number) if number.is_f64() => ("float", json!({"type": "float"})),
        Value::Number(_) => ("long", json!({"type": "long"})),
        Value::String(text) if is_slashed_date(text) => {
            ("date", json!({"type": "date", "format": "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"}))
        }
        // Dynamic mapping takes a bare year for text: the servers want a `-` or a `:` in a date.
        Value::String(text) if text.contains('-') && is_iso_date(text) => ("date", json!({"type": "date"})),
        Value::String(_) => {
            ("text", json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}))
        }
        Value::Object(object) if object.is_empty() => ("object", json!({"type": "object"})),
        Value::Object(_) | Value::Array(_) | Value::Null => ("object", json!({})),
    }
}

/// Type and reason of the cause of an error.
pub(super) type Cause = (String, String);

/// Checks that a value fits a type.
pub(super) fn check_scalar(kind: &str, format: Option<&str>, value: &Value) -> Result<(), Cause> {
    let no_text = || ("illegal_state_exception".to_owned(), "Can't get text on a START_OBJECT at 1:6".to_owned());
    match kind {
        "integer" | "short" | "byte" | "long" | "unsigned_long" => check_integer(kind, value),
        "float" | "double" | "half_float" | "scaled_float" => check_float(value),
        "boolean" => match value {
            Value::Bool(_) => Ok(()),
            Value::String(text) if matches!(text.as_str(), "true" | "false" | "") => Ok(()),
            Value::String(text) => Err((
                "illegal_argument_exception".into(),
                format!("Failed to parse value [{text}] as only [true] or [false] are allowed."),
            )),
            _ => Err(("json_parse_exception".into(), "Current token not of boolean type".into())),
        },
        "date" | "date_nanos" => check_date(format, value),
        "ip" => match value {
            Value::String(text) if text.parse::<std::net::IpAddr>().is_ok() => Ok(()),
            other => {
                Err(("illegal_argument_exception".into(), format!("'{}' is not an IP string literal.", preview(other))))
            }
        },
        "text" | "keyword" | "wildcard" | "match_only_text" if value.is_object() => Err(no_text()),
        _ => Ok(()),
    }
}

fn number_format(text: &str, kind: &str) -> Cause {
    let cause = if kind == "long" { "illegal_argument_exception" } else { "number_format_exception" };
    (cause.into(), format!("For input string: \"{text}\""))
}

fn not_numeric(value: &Value) -> Cause {
    let token = match value {
        Value::Object(_) => "START_OBJECT",
        Value::Bool(true) => "VALUE_TRUE",
        Value::Bool(false) => "VALUE_FALSE",
        _ => "VALUE_NULL",
    };
    ("json_parse_exception".into(), format!("Current token ({token}) not numeric, can not use numeric value accessors"))
}

fn check_integer(kind: &str, value: &Value) -> Result<(), Cause> {
    let (low, high) = match kind {
        "byte" => (f64::from(i8::MIN), f64::from(i8::MAX)),
        "short" => (f64::from(i16::MIN), f64::from(i16::MAX)),
        "integer" => (f64::from(i32::MIN), f64::from(i32::MAX)),
        "unsigned_long" => (0.0, 18_446_744_073_709_551_615.0),
        _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_807.0),
    };
    let number = match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        // `coerce` is on by default: a number in a string is a number, an empty string is no value.
        Value::String(text) if text.is_empty() => return Ok(()),
        Value::String(text) => text.trim().parse::<f64>().map_err(|_| number_format(text, kind))?,
        other => return Err(not_numeric(other)),
    };
    // A double cannot tell 2^63 from 2^63 - 1. The servers refuse 2^63, hence `>=`.
    if number < low || number > high || (kind == "long" && number >= high && !fits_i64(value)) {
        return Err((
            "input_coercion_exception".into(),
            format!("Numeric value ({}) out of range of {kind}", preview(value)),
        ));
    }
    Ok(())
}

fn fits_i64(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some(),
        Value::String(text) => text.trim().parse::<i64>().is_ok(),
        _ => false,
    }
}

fn check_float(value: &Value) -> Result<(), Cause> {
    match value {
        Value::Number(_) => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        Value::String(text) => text.trim().parse::<f64>().map(|_| ()).map_err(|_| number_format(text, "float")),
        other => Err(not_numeric(other)),
    }
}

fn check_date(format: Option<&str>, value: &Value) -> Result<(), Cause> {
    let format = format.unwrap_or("strict_date_optional_time||epoch_millis");
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => {
            return Err(("illegal_argument_exception".into(), "cannot parse empty date".into()));
        }
        Value::String(text) => text.clone(),
        other => preview(other),
    };
    let fits = format.split("||").any(|one| match one {
        "epoch_millis" | "epoch_second" => text.parse::<f64>().is_ok(),
        "strict_date_optional_time" | "date_optional_time" | "strict_date_optional_time_nanos" | "iso8601" => {
            is_iso_date(&text)
        }
        pattern => fits_pattern(pattern, &text),
    });
    if fits && !value.is_boolean() && !value.is_object() {
        return Ok(());
    }
    Err(("illegal_argument_exception".into(), format!("failed to parse date field [{text}] with format [{format}]")))
}

fn is_slashed_date(text: &str) -> bool {
    fits_pattern("yyyy/MM/dd", text) || fits_pattern("yyyy/MM/dd HH:mm:ss", text)
}

/// Compares a text with a custom date pattern: a letter stands for a digit, any other character for
/// itself.
fn fits_pattern(pattern: &str, text: &str) -> bool {
    let pattern = pattern.replace('\'', "");
    // Names of months, zones and fractions have no fixed shape: such patterns accept any digit.
    if pattern.contains("MMM") || pattern.contains(['Z', 'X', 'z', 'S', 'E', 'a', '_']) {
        return text.chars().any(|c| c.is_ascii_digit());
    }
    pattern.len() == text.len()
        && pattern
            .chars()
            .zip(text.chars())
            .all(|(p, t)| if p.is_ascii_alphabetic() && p != 'T' { t.is_ascii_digit() } else { p == t })
}

/// True for `strict_date_optional_time`: `yyyy`, `yyyy-MM` or `yyyy-MM-dd`, the last one optionally
/// with `T` and a time with a zone.
fn is_iso_date(text: &str) -> bool {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let in_range = |part: Option<&&str>, length: usize, low: u32, high: u32| {
        part.is_none_or(|part| {
            part.len() == length
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|n| (low..=high).contains(&n))
        })
    };
    let date_fits = parts.len() <= 3
        && in_range(parts.first(), 4, 0, 9999)
        && in_range(parts.get(1), 2, 1, 12)
        && in_range(parts.get(2), 2, 1, 31);
    date_fits
        && match time {
            None | Some("") => true,
            Some(time) => parts.len() == 3 && is_iso_time(time),
        }
}

fn is_iso_time(time: &str) -> bool {
    let clock = match time.find(['Z', '+', '-']) {
        Some(zone) => &time[..zone],
        None => time,
    };
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    parts.len() <= 3
        && parts
            .iter()
            .enumerate()
            .all(|(i, part)| part.len() == 2 && part.parse::<u32>().is_ok_and(|n| n < if i == 0 { 24 } else { 60 }))
        && !fraction.is_empty()
        && fraction.len() <= 9
        && fraction.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_coerced_as_the_servers_do() {
        for (kind, value, fits) in [
            ("integer", json!(3_000_000_000_u64), false),
            ("integer", json!("12"), true),
            ("long", json!(1.5), true),
            ("long", json!(""), true),
            ("long", json!(i64::MAX), true),
            ("long", json!(1e20), false),
            ("long", json!(true), false),
            ("float", json!("x"), false),
            ("boolean", json!(""), true),
            ("boolean", json!(1), false),
            ("boolean", json!("yes"), false),
            ("date", json!(12345), true),
            ("date", json!("2024-01-02T03:04:05.678Z"), true),
            ("date", json!("2024-01-02T03:04:05+02:00"), true),
            ("date", json!("2024-01-02 03:04:05"), false),
            ("date", json!("2024-13-02"), false),
            ("date", json!(""), false),
            ("ip", json!("10.0.0.1"), true),
            ("ip", json!("10.0.0"), false),
            ("keyword", json!(5), true),
        ] {
            assert_eq!(check_scalar(kind, None, &value).is_ok(), fits, "{kind} {value}");
        }
    }
}
