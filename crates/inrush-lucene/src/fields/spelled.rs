//! Parameters of a mapping that are spelled in another way than the servers answer them: booleans
//! and numbers as text, and members of `_source` that say the default.
//!
//! Source: `XContentMapValues.nodeBooleanValue` and its neighbours in OpenSearch and Elasticsearch.
//! Text for a boolean is `true` or `false`, in small letters.

use serde_json::{Map, Number, Value};

const BOOLEANS: [&str; 17] = [
    "coerce",
    "date_detection",
    "doc_values",
    "eager_global_ordinals",
    "enabled",
    "fielddata",
    "ignore_malformed",
    "ignore_z_value",
    "include_in_parent",
    "include_in_root",
    "index",
    "norms",
    "numeric_detection",
    "positive_score_impact",
    "preserve_position_increments",
    "preserve_separators",
    "store",
];
const NUMBERS: [&str; 6] =
    ["depth_limit", "ignore_above", "max_input_length", "max_shingle_size", "position_increment_gap", "scaling_factor"];

/// A mapping with booleans and numbers instead of text, and without a `_source` that says the
/// default.
pub(super) fn plain(mapping: &Value) -> Value {
    let mut mapping = mapping.clone();
    let Value::Object(root) = &mut mapping else { return mapping };
    spell(root);
    for (name, member) in [("_routing", "required"), ("_source", "enabled")] {
        if let Some(value) = root.get_mut(name).and_then(|value| value.get_mut(member)) {
            spell_boolean(value);
        }
    }
    if root.get("_source").is_some_and(is_default_source) {
        root.remove("_source");
    }
    for template in root.get_mut("dynamic_templates").and_then(Value::as_array_mut).into_iter().flatten() {
        let rules = template.as_object_mut().into_iter().flat_map(Map::values_mut);
        rules.filter_map(|rule| rule.get_mut("mapping")?.as_object_mut()).for_each(spell);
    }
    mapping
}

/// Whether all documents keep their source as they were sent.
fn is_default_source(source: &Value) -> bool {
    let is_default = |(name, value): (&String, &Value)| match name.as_str() {
        "enabled" => *value == true,
        "includes" | "excludes" => value.as_array().is_some_and(Vec::is_empty),
        "mode" => value == "stored",
        _ => false,
    };
    source.as_object().is_some_and(|members| members.iter().all(is_default))
}

/// Spells the parameters of a definition and of all below it.
fn spell(definition: &mut Map<String, Value>) {
    for (name, value) in definition {
        match name.as_str() {
            "properties" | "fields" => {
                let below = value.as_object_mut().into_iter().flat_map(Map::values_mut);
                below.filter_map(Value::as_object_mut).for_each(spell);
            }
            name if BOOLEANS.contains(&name) => spell_boolean(value),
            name if NUMBERS.contains(&name) => spell_number(value),
            _ => {}
        }
    }
}

fn spell_boolean(value: &mut Value) {
    match value.as_str() {
        Some("true") => *value = Value::Bool(true),
        Some("false") => *value = Value::Bool(false),
        _ => {}
    }
}

/// Digits, and a fraction where there is one. Other text stays, and is refused by its name.
fn spell_number(value: &mut Value) {
    let Some(text) = value.as_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    else {
        return;
    };
    let whole = text.parse::<u64>().ok().map(Number::from);
    if let Some(number) = whole.or_else(|| text.parse().ok().and_then(Number::from_f64)) {
        *value = Value::Number(number);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_a_boolean_or_a_number_where_servers_take_it() {
        let given = json!({
            "_source": {"enabled": "true", "includes": [], "excludes": []},
            "_routing": {"required": "false"},
            "date_detection": "false",
            "dynamic_templates": [{"t": {"match": "index", "mapping": {"type": "keyword", "index": "false"}}}],
            "properties": {
                "index": {"type": "text", "index": "false", "fielddata": "true",
                    "fields": {"store": {"type": "keyword", "store": "true", "ignore_above": "256"}}},
                "enabled": {"enabled": "false"},
                "price": {"type": "scaled_float", "scaling_factor": "100.5", "null_value": "1", "meta": {"index": "true"}},
                "nested": {"type": "nested", "include_in_root": "true", "properties": {"norms": {"type": "text", "norms": "false"}}},
            }
        });
        let expected = json!({
            "_routing": {"required": false},
            "date_detection": false,
            "dynamic_templates": [{"t": {"match": "index", "mapping": {"type": "keyword", "index": false}}}],
            "properties": {
                "index": {"type": "text", "index": false, "fielddata": true,
                    "fields": {"store": {"type": "keyword", "store": true, "ignore_above": 256}}},
                "enabled": {"enabled": false},
                "price": {"type": "scaled_float", "scaling_factor": 100.5, "null_value": "1", "meta": {"index": "true"}},
                "nested": {"type": "nested", "include_in_root": true, "properties": {"norms": {"type": "text", "norms": false}}},
            }
        });
        assert_eq!(plain(&given), expected);
        assert_eq!(plain(&expected), expected);
    }

    #[test]
    fn other_text_and_other_sources_stay() {
        for other in [
            json!({"_source": {"enabled": false}}),
            json!({"_source": {"excludes": ["a"]}}),
            json!({"_source": {"mode": "synthetic"}}),
            json!({"properties": {"a": {"type": "text", "index": "no", "norms": "TRUE"}}}),
            json!({"properties": {"a": {"type": "keyword", "ignore_above": "many"}}}),
            json!({"properties": {"a": {"type": "keyword", "ignore_above": "-1"}}}),
            json!("no object"),
        ] {
            assert_eq!(plain(&other), other);
        }
        for default in [json!({}), json!({"mode": "stored"}), json!({"enabled": true, "excludes": []})] {
            assert_eq!(plain(&json!({ "_source": default })), json!({}));
        }
    }
}
