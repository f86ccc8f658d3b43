//! The query parameter `filter_path`.

use serde_json::{Map, Value};

use crate::pattern;

/// Applies a `filter_path`: patterns with commas between them. `*` matches any part of one name,
/// `**` any depth, and a leading `-` excludes. Objects and arrays that end up empty disappear, so
/// items can lose their positions.
pub fn filter_path(value: Value, patterns: &str) -> Value {
    let all: Vec<&str> = patterns.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let includes: Vec<Vec<&str>> =
        all.iter().filter(|one| !one.starts_with('-')).map(|one| one.split('.').collect()).collect();
    let excludes: Vec<Vec<&str>> =
        all.iter().filter_map(|one| one.strip_prefix('-')).map(|one| one.split('.').collect()).collect();
    let included = if includes.is_empty() {
        Some(value)
    } else {
        let paths: Vec<&[&str]> = includes.iter().map(Vec::as_slice).collect();
        include(value, &paths)
    };
    let paths: Vec<&[&str]> = excludes.iter().map(Vec::as_slice).collect();
    let left = match included {
        Some(value) if !paths.is_empty() => exclude(value, &paths),
        other => other,
    };
    left.unwrap_or_else(|| Value::Object(Map::new()))
}

/// The parts of the paths below `name`. An empty path matches everything below.
fn below<'a>(paths: &[&'a [&'a str]], name: &str) -> Vec<&'a [&'a str]> {
    let mut next = Vec::new();
    for path in paths {
        match path {
            ["**", rest @ ..] => {
                next.push(*path);
                if let [first, tail @ ..] = rest
                    && pattern::matches(first, name)
                {
                    next.push(tail);
                }
            }
            [first, rest @ ..] if pattern::matches(first, name) => next.push(rest),
            _ => {}
        }
    }
    next
}

fn include(value: Value, paths: &[&[&str]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty() || *path == ["**"]) {
        return Some(value);
    }
    match value {
        Value::Object(object) => {
            let kept: Map<String, Value> = object
                .into_iter()
                .filter_map(|(name, value)| {
                    let next = below(paths, &name);
                    if next.is_empty() { None } else { Some((name, include(value, &next)?)) }
                })
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept: Vec<Value> = items.into_iter().filter_map(|item| include(item, paths)).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => None,
    }
}

fn exclude(value: Value, paths: &[&[&str]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return None;
    }
    match value {
        Value::Object(object) => {
            let was_empty = object.is_empty();
            let kept: Map<String, Value> = object
                .into_iter()
                .filter_map(|(name, value)| {
                    let next = below(paths, &name);
                    Some((name, exclude(value, &next)?))
                })
                .collect();
            (was_empty || !kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let was_empty = items.is_empty();
            let kept: Vec<Value> = items.into_iter().filter_map(|item| exclude(item, paths)).collect();
            (was_empty || !kept.is_empty()).then_some(Value::Array(kept))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn filter_path_keeps_named_keys_and_drops_empty_objects() {
        let reply = json!({"took": 1, "errors": true, "items": [
            {"index": {"_index": "a", "_id": "1", "result": "created", "status": 201}},
            {"index": {"_index": "a", "_id": "2", "status": 400, "error": {"type": "t", "reason": "r"}}}]});
        assert_eq!(
            filter_path(reply.clone(), "took,errors,items.*.status,items.*.error"),
            json!({"took": 1, "errors": true, "items": [{"index": {"status": 201}}, {"index": {"status": 400, "error": {"type": "t", "reason": "r"}}}]})
        );
        assert_eq!(
            filter_path(reply.clone(), "items.*.error.type"),
            json!({"items": [{"index": {"error": {"type": "t"}}}]})
        );
        assert_eq!(filter_path(reply.clone(), "**.reason"), json!({"items": [{"index": {"error": {"reason": "r"}}}]}));
        assert_eq!(filter_path(reply.clone(), "nothing"), json!({}));
        assert_eq!(filter_path(reply, "-items"), json!({"took": 1, "errors": true}));
    }
}
