//! Templates of new fields.
//!
//! Source: the documentation of dynamic templates in OpenSearch and Elasticsearch.

use inrush_core::wildcard;
use serde_json::{Map, Value};

/// The kinds of values that templates may be for; a template for all or for objects is not
/// supported.
const KINDS: [&str; 5] = ["string", "long", "double", "boolean", "date"];
/// The types that they may make of one value.
const TYPES: [&str; 14] = [
    "boolean",
    "byte",
    "date",
    "date_nanos",
    "double",
    "float",
    "half_float",
    "integer",
    "ip",
    "keyword",
    "long",
    "scaled_float",
    "short",
    "text",
];

/// The types of fields that searches compute.
const RUNTIME_TYPES: [&str; 7] = ["boolean", "date", "double", "geo_point", "ip", "keyword", "long"];

/// The templates of a mapping, of which the first that fits is taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Templates(Vec<Template>);

#[derive(Debug, Clone)]
struct Template {
    name: String,
    /// `None` where it is not supported.
    rule: Option<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    kind: String,
    /// Patterns of the name and of the full name, those that have to fit and those that must not.
    names: [Option<String>; 2],
    paths: [Option<String>; 2],
    definition: Value,
    /// Whether searches compute the field.
    is_runtime: bool,
}

impl Templates {
    /// Reads the parameter `dynamic_templates`.
    pub(crate) fn read(templates: &Value) -> Self {
        let named = templates.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
        Self(named.map(|(name, template)| Template { name: name.clone(), rule: Rule::read(template) }).collect())
    }

    /// The place of the template for a value of a kind, if one fits.
    ///
    /// # Errors
    ///
    /// The name of a template that is not supported, and may fit.
    pub(crate) fn find(&self, path: &str, kind: &str) -> Result<Option<usize>, &str> {
        for (place, template) in self.0.iter().enumerate() {
            match &template.rule {
                None => return Err(&template.name),
                Some(rule) if rule.fits(path, kind) => return Ok(Some(place)),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    /// The definition of a field by the template of a place.
    pub(crate) fn definition(&self, place: usize) -> Option<&Value> {
        self.0.get(place)?.rule.as_ref().map(|rule| &rule.definition)
    }

    /// Whether the template of a place is for fields that searches compute.
    pub(crate) fn is_runtime(&self, place: usize) -> bool {
        self.0.get(place).and_then(|template| template.rule.as_ref()).is_some_and(|rule| rule.is_runtime)
    }
}

impl Rule {
    fn read(template: &Value) -> Option<Self> {
        let mut parts: Map<String, Value> = template.as_object()?.clone();
        let kind = parts.remove("match_mapping_type")?.as_str().filter(|kind| KINDS.contains(kind))?.to_owned();
        let is_runtime = parts.contains_key("runtime");
        let definition = match parts.remove("runtime") {
            Some(runtime) => runtime_definition(&kind, &runtime)?,
            None => mapping_definition(&kind, parts.remove("mapping")?)?,
        };
        if parts.remove("match_pattern").is_some_and(|pattern| pattern != "simple") {
            return None;
        }
        let mut pattern = |name: &str| match parts.remove(name) {
            None => Some(None),
            Some(Value::String(pattern)) => Some(Some(pattern)),
            Some(_) => None,
        };
        let names = [pattern("match")?, pattern("unmatch")?];
        let paths = [pattern("path_match")?, pattern("path_unmatch")?];
        parts.is_empty().then_some(Self { kind, names, paths, definition, is_runtime })
    }

    fn fits(&self, path: &str, kind: &str) -> bool {
        let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
        let is = |pattern: &Option<String>, text: &str, otherwise| {
            pattern.as_ref().map_or(otherwise, |pattern| wildcard::matches(pattern, text))
        };
        let [names, paths] = [(&self.names, name), (&self.paths, path)]
            .map(|([with, without], text)| is(with, text, true) && !is(without, text, false));
        self.kind == kind && names && paths
    }
}

/// The definition of a field that is indexed, if it is supported.
fn mapping_definition(kind: &str, mapping: Value) -> Option<Value> {
    let text = mapping.to_string();
    let made = mapping.get("type")?.as_str().filter(|made| TYPES.contains(made))?;
    // The name and the type may be put into it.
    if text.contains("{name}") || text.contains("{dynamic_type}") || text.contains("{dynamicType}") {
        return None;
    }
    // Such a date gets the format of its value.
    if kind == "date" && made.starts_with("date") && mapping.get("format").is_none() {
        return None;
    }
    Some(mapping)
}

/// The definition of a field that searches compute, if it is supported. Without a type it has that
/// of its value.
fn runtime_definition(kind: &str, runtime: &Value) -> Option<Value> {
    let mut definition = runtime.as_object()?.clone();
    let own = if kind == "string" { "keyword" } else { kind };
    let made = definition.entry("type").or_insert_with(|| own.into()).as_str()?.to_owned();
    let known = |parameter: &String| parameter == "type" || parameter == "format" && made == "date";
    (RUNTIME_TYPES.contains(&made.as_str()) && definition.keys().all(known)).then_some(Value::Object(definition))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Templates;

    #[test]
    fn the_first_template_that_fits_is_taken() {
        let templates = Templates::read(&json!([
            {"ids": {"match_mapping_type": "long", "match": "*_id", "unmatch": "x*", "mapping": {"type": "keyword"}}},
            {"below": {"match_mapping_type": "string", "path_match": "a.*", "mapping": {"type": "text"}}},
            {"texts": {"match_mapping_type": "string", "mapping": {"type": "keyword"}}},
            {"any": {"match": "*", "mapping": {"type": "keyword"}}}
        ]));
        assert_eq!(templates.find("o.user_id", "long"), Ok(Some(0)));
        assert_eq!(templates.find("o.x_id", "long"), Err("any"));
        assert_eq!(templates.find("a.b", "string"), Ok(Some(1)));
        assert_eq!(templates.find("b.a", "string"), Ok(Some(2)));
        assert_eq!(templates.find("b", "object"), Err("any"));
        assert_eq!(templates.definition(1), Some(&json!({"type": "text"})));
    }

    #[test]
    fn templates_that_are_not_supported() {
        let mapping = json!({"type": "keyword"});
        for template in [
            json!({"match_mapping_type": "*", "mapping": mapping}),
            json!({"match_mapping_type": "object", "mapping": mapping}),
            json!({"match_mapping_type": ["string"], "mapping": mapping}),
            json!({"match_mapping_type": "string", "match_pattern": "regex", "match": "a+", "mapping": mapping}),
            json!({"match_mapping_type": "string", "unmatch_mapping_type": "long", "mapping": mapping}),
            json!({"match_mapping_type": "string", "mapping": {"type": "{dynamic_type}"}}),
            json!({"match_mapping_type": "string", "mapping": {"type": "keyword", "copy_to": "{name}.x"}}),
            json!({"match_mapping_type": "string", "mapping": {"index": false}}),
            json!({"match_mapping_type": "date", "mapping": {"type": "date"}}),
            json!({"match_mapping_type": "double", "mapping": {"type": "geo_point"}}),
            json!({"match_mapping_type": "string", "runtime": {"type": "long", "script": "emit(1)"}}),
            json!({"match_mapping_type": "string", "runtime": {"type": "{dynamic_type}"}}),
        ] {
            assert_eq!(Templates::read(&json!([{"t": template}])).find("a", "string"), Err("t"), "{template}");
        }
    }

    #[test]
    fn fields_that_searches_compute() {
        for (kind, runtime, expected) in [
            ("string", json!({}), json!({"type": "keyword"})),
            ("double", json!({}), json!({"type": "double"})),
            ("date", json!({"format": "yyyy"}), json!({"type": "date", "format": "yyyy"})),
            ("long", json!({"type": "ip"}), json!({"type": "ip"})),
        ] {
            let templates = Templates::read(&json!([{"t": {"match_mapping_type": kind, "runtime": runtime}}]));
            assert_eq!((templates.definition(0), templates.is_runtime(0)), (Some(&expected), true));
        }
    }
}
