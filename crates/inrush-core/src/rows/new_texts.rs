//! New fields that dynamic templates make fields of strings, of numbers and texts alike.

use std::collections::BTreeSet;

use serde_json::Value;

use super::field_type::{FieldType, field_type};
use crate::wildcard;

/// The types that servers give the cells of a table before they look at templates.
const KINDS: [&str; 3] = ["string", "long", "double"];

/// The dynamic templates of a mapping, in their order, and the fields that it has already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NewTexts {
    templates: Vec<Template>,
    known: BTreeSet<String>,
}

impl NewTexts {
    /// Those of the body of `mappings`. None where documents add no fields.
    pub(super) fn of_mapping(mapping: &Value) -> Self {
        let adds = mapping.get("dynamic").is_none_or(|dynamic| dynamic == true || dynamic == "true");
        let all = mapping.get("dynamic_templates").and_then(Value::as_array).filter(|_| adds);
        let templates = all.into_iter().flatten().filter_map(Value::as_object).flat_map(|named| named.values());
        NewTexts { templates: templates.map(Template::new).collect(), known: BTreeSet::new() }
    }

    /// Takes a path that is not that of a new field.
    pub(super) fn know(&mut self, path: &str) {
        if !self.templates.is_empty() {
            self.known.insert(path.to_owned());
        }
    }

    /// Whether a new field of this path has strings: by the first template that takes it, for each
    /// type of cells.
    pub(super) fn has(&self, path: &str) -> bool {
        let is_text = |kind| {
            let first = self.templates.iter().find(|template| template.may_take(path, kind));
            first.is_some_and(|template| template.makes_text)
        };
        !self.templates.is_empty() && !self.known.contains(path) && KINDS.into_iter().all(is_text)
    }
}

/// A template: the names and types that it takes, and what it makes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template {
    kinds: Vec<String>,
    other_kinds: Vec<String>,
    names: Vec<String>,
    other_names: Vec<String>,
    paths: Vec<String>,
    other_paths: Vec<String>,
    makes_text: bool,
}

impl Template {
    fn new(template: &Value) -> Self {
        let list = |name: &str| match template.get(name) {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let is_regex = template.get("match_pattern").is_some_and(|pattern| pattern == "regex");
        // Which names a regular expression takes is not looked at: it may take each one.
        let patterns = |name| if is_regex { Vec::new() } else { list(name) };
        let makes_text = template.get("mapping").and_then(field_type) == Some(FieldType::Text);
        Template {
            kinds: list("match_mapping_type"),
            other_kinds: list("unmatch_mapping_type"),
            names: patterns("match"),
            other_names: patterns("unmatch"),
            paths: patterns("path_match"),
            other_paths: patterns("path_unmatch"),
            makes_text: makes_text && !is_regex,
        }
    }

    fn may_take(&self, path: &str, kind: &str) -> bool {
        let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
        let takes = |patterns: &[String], text| patterns.iter().any(|pattern| wildcard::matches(pattern, text));
        let fits = |patterns: &[String], others: &[String], text| {
            (patterns.is_empty() || takes(patterns, text)) && !takes(others, text)
        };
        fits(&self.kinds, &self.other_kinds, kind)
            && fits(&self.names, &self.other_names, name)
            && fits(&self.paths, &self.other_paths, path)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_template_that_takes_a_field_says_what_it_has() {
        let keyword = json!({"type": "keyword"});
        let cases = [
            (json!([{"ids": {"match": "*_id", "mapping": keyword}}]), true),
            (json!([{"ids": {"match": ["x", "*_id"], "unmatch": "zip_*", "mapping": keyword}}]), false),
            (json!([{"all": {"match_mapping_type": "*", "mapping": keyword}}]), true),
            (json!([{"some": {"match_mapping_type": ["string", "double", "long"], "mapping": keyword}}]), true),
            // A number would be a number, and a text would be of another template.
            (json!([{"texts": {"match_mapping_type": "string", "mapping": keyword}}]), false),
            (json!([{"numbers": {"match_mapping_type": "long", "mapping": keyword}}]), false),
            (
                json!([{"texts": {"match_mapping_type": "string", "mapping": {"type": "text"}}},
                       {"ids": {"path_match": "o.*", "mapping": keyword}}]),
                true,
            ),
            (json!([{"n": {"match": "zip*", "mapping": {"type": "long"}}}, {"all": {"mapping": keyword}}]), false),
            (json!([{"r": {"match_pattern": "regex", "match": "^a$", "mapping": keyword}}]), false),
            (json!([{"r": {"match_pattern": "regex", "match": "^a$"}}, {"all": {"mapping": keyword}}]), false),
            (json!([{"computed": {"match": "*", "runtime": {"type": "keyword"}}}]), false),
        ];
        for (templates, expected) in cases {
            let mapping = json!({"dynamic_templates": templates});
            assert_eq!(NewTexts::of_mapping(&mapping).has("o.zip_id"), expected, "{templates}");
            let fixed = json!({"dynamic": "strict", "dynamic_templates": templates});
            assert!(!NewTexts::of_mapping(&fixed).has("o.zip_id"));
        }
    }
}
