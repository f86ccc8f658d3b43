//! Mappings and settings from JSON files.

use std::path::Path;

use crate::failure::UsageError;

/// Reads the body of `key` (`mappings` or `settings`) from a file, which holds it either as it is or under that key.
pub(crate) fn read(path: &Path, key: &str) -> Result<serde_json::Value, UsageError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| UsageError::new(format!("cannot read {}: {error}", path.display())))?;
    parse(&text, key).map_err(|problem| UsageError::new(format!("{}: {problem}", path.display())))
}

fn parse(text: &str, key: &str) -> Result<serde_json::Value, String> {
    let value: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("not valid JSON: {error}"))?;
    inner(value, key)
}

/// The body of `key`, which stands alone or under that key.
pub(crate) fn inner(value: serde_json::Value, key: &str) -> Result<serde_json::Value, String> {
    let serde_json::Value::Object(mut object) = value else {
        return Err(format!("expected a JSON object, the body of {key}"));
    };
    // No mapping and no setting is called `mappings` or `settings`, so this is the body of a create request.
    match object.remove(key) {
        None => Ok(object.into()),
        Some(inner @ serde_json::Value::Object(_)) if object.is_empty() => Ok(inner),
        Some(serde_json::Value::Object(_)) => {
            let others: Vec<_> = object.keys().map(|other| format!("`{other}`")).collect();
            Err(format!("holds {} besides `{key}`; put the body of `{key}` into a file of its own", others.join(", ")))
        }
        Some(_) => Err(format!("expected a JSON object under `{key}`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_stands_alone_or_under_its_key() {
        assert_eq!(parse(r#"{"properties":{}}"#, "mappings"), Ok(json!({"properties": {}})));
        assert_eq!(parse(r#"{"mappings":{"dynamic":false}}"#, "mappings"), Ok(json!({"dynamic": false})));
        assert_eq!(parse("\u{feff}{}", "settings"), Ok(json!({})));
        for (text, problem) in [
            (r#"{"mappings":{},"settings":{}}"#, "holds `settings` besides `mappings`"),
            (r#"{"mappings":1}"#, "object under `mappings`"),
            ("[]", "expected a JSON object"),
            ("{", "not valid JSON"),
        ] {
            let error = parse(text, "mappings").unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
