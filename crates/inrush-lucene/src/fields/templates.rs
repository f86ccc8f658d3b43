//! Templates of new fields.
//!
//! Source: the documentation of dynamic templates in OpenSearch and Elasticsearch.

use inrush_core::wildcard;
use serde_json::{Map, Value};

use crate::fields::target::KnownProduct;

/// The kinds of values, as templates name them.
const KINDS: [&str; 6] = ["object", "string", "long", "double", "boolean", "date"];
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
/// The types that they may make of an object.
const OBJECT_TYPES: [&str; 5] = ["object", "nested", "flattened", "{dynamic_type}", "{dynamicType}"];
/// The types of runtime fields.
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
    /// The kinds of values that it is for.
    kinds: Vec<&'static str>,
    /// Patterns of the name and of the full name: one has to fit of those that are given, and none
    /// of the others.
    names: [Option<Vec<String>>; 2],
    paths: [Option<Vec<String>>; 2],
    definition: Value,
    /// Whether it makes runtime fields.
    is_runtime: bool,
}

/// What a template makes of a value.
#[derive(Debug, PartialEq)]
pub(crate) struct Made<'a> {
    /// The name of the template.
    pub(crate) template: &'a str,
    pub(crate) definition: Value,
    /// Whether it is a runtime field.
    pub(crate) is_runtime: bool,
}

impl Templates {
    /// Reads the parameter `dynamic_templates`.
    pub(crate) fn read(templates: &Value, product: KnownProduct) -> Self {
        let named = templates.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
        let read = |(name, template): (&String, &Value)| Template {
            name: name.clone(),
            rule: template.as_object().and_then(|parts| Rule::read(parts.clone(), product)),
        };
        Self(named.map(read).collect())
    }

    /// What the template for a value of a kind makes of it, if one fits.
    ///
    /// # Errors
    ///
    /// The name of a template that is not supported, and may fit.
    pub(crate) fn find(&self, path: &str, kind: &str) -> Result<Option<Made<'_>>, &str> {
        for Template { name, rule } in &self.0 {
            let rule = rule.as_ref().ok_or(name.as_str())?;
            if rule.fits(path, kind) {
                let definition = rule.definition(path, kind).ok_or(name.as_str())?;
                return Ok(Some(Made { template: name, definition, is_runtime: rule.is_runtime }));
            }
        }
        Ok(None)
    }

    /// Checks that the template for objects leaves the values of an array to those for values: that
    /// it is for an object, or of a type that reads no arrays.
    ///
    /// # Errors
    ///
    /// The name of the template that may not.
    pub(crate) fn check_array(&self, path: &str) -> Result<(), &str> {
        for Template { name, rule } in &self.0 {
            let rule = rule.as_ref().ok_or(name.as_str())?;
            if rule.fits(path, "object") {
                let made = rule.definition.get("type").and_then(Value::as_str).unwrap_or("{dynamic_type}");
                let is_plain = OBJECT_TYPES.contains(&made) || TYPES.contains(&made);
                return if is_plain { Ok(()) } else { Err(name) };
            }
        }
        Ok(())
    }
}

impl Rule {
    fn read(mut parts: Map<String, Value>, product: KnownProduct) -> Option<Self> {
        let has_lists = product == KnownProduct::Elasticsearch;
        let mut texts = |parameter: &str| match parts.remove(parameter) {
            None => Some(None),
            Some(Value::String(text)) => Some(Some(vec![text])),
            Some(Value::Array(texts)) if has_lists => {
                texts.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>().map(Some)
            }
            Some(_) => None,
        };
        let names = [texts("match")?, texts("unmatch")?];
        let paths = [texts("path_match")?, texts("path_unmatch")?];
        let [with, without] = [texts("match_mapping_type")?, texts("unmatch_mapping_type")?];
        let is_any = |kinds: &Vec<String>| kinds.iter().any(|kind| kind == "*");
        let is_known = |kinds: &Vec<String>| kinds.iter().all(|kind| kind == "*" || KINDS.contains(&kind.as_str()));
        let has = |kinds: &Option<Vec<String>>, kind: &str, otherwise: bool| {
            kinds.as_ref().map_or(otherwise, |kinds| is_any(kinds) || kinds.iter().any(|other| other == kind))
        };
        // What has to fit is named by patterns or kinds.
        let is_for_some = names[0].is_some() || paths[0].is_some() || with.is_some() || without.is_some();
        if !is_for_some || !with.iter().chain(&without).all(is_known) {
            return None;
        }
        if parts.remove("match_pattern").is_some_and(|pattern| pattern != "simple") {
            return None;
        }
        let is_runtime = parts.contains_key("runtime");
        let definition = parts.remove("runtime").or_else(|| parts.remove("mapping"))?;
        let is_for =
            |kind: &&str| has(&with, kind, true) && !has(&without, kind, false) && !(is_runtime && *kind == "object");
        let kinds = KINDS.into_iter().filter(is_for).collect();
        parts.is_empty().then_some(Self { kinds, names, paths, definition, is_runtime })
    }

    fn fits(&self, path: &str, kind: &str) -> bool {
        let is = |patterns: &Option<Vec<String>>, text: &str, otherwise: bool| {
            let any = |patterns: &Vec<String>| patterns.iter().any(|pattern| wildcard::matches(pattern, text));
            patterns.as_ref().map_or(otherwise, any)
        };
        let [names, paths] = [(&self.names, name_of(path)), (&self.paths, path)]
            .map(|([with, without], text)| is(with, text, true) && !is(without, text, false));
        self.kinds.contains(&kind) && names && paths
    }

    /// What it makes of a value, if that is supported.
    fn definition(&self, path: &str, kind: &str) -> Option<Value> {
        let own = match kind {
            "string" if self.is_runtime => "keyword",
            "string" => "text",
            "double" if !self.is_runtime => "float",
            kind => kind,
        };
        let mut definition = filled(&self.definition, name_of(path), own)?;
        let parts = definition.as_object_mut()?;
        let made = parts.entry("type").or_insert_with(|| own.into()).as_str()?.to_owned();
        let made = made.as_str();
        let is_supported = if self.is_runtime {
            let is_date = made == "date";
            let known = |parameter: &String| parameter == "type" || parameter == "format" && is_date;
            RUNTIME_TYPES.contains(&made) && parts.keys().all(known)
        } else if kind == "object" {
            made == "object" && parts.len() == 1
        } else {
            TYPES.contains(&made)
        };
        is_supported.then_some(definition)
    }
}

/// The last part of a full name.
fn name_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, name)| name)
}

/// A definition with the name and the type of a field where it refers to them. `None` where the
/// name of a parameter does.
fn filled(definition: &Value, name: &str, own: &str) -> Option<Value> {
    Some(match definition {
        Value::String(text) => {
            let text = text.replace("{name}", name).replace("{dynamic_type}", own).replace("{dynamicType}", own);
            Value::String(text)
        }
        Value::Array(values) => {
            Value::Array(values.iter().map(|value| filled(value, name, own)).collect::<Option<_>>()?)
        }
        Value::Object(parts) => {
            let part = |(parameter, value): (&String, &Value)| {
                let value = (!parameter.contains('{')).then(|| filled(value, name, own))??;
                Some((parameter.clone(), value))
            };
            Value::Object(parts.iter().map(part).collect::<Option<_>>()?)
        }
        plain => plain.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Made, Templates};
    use crate::fields::target::KnownProduct;

    fn read(templates: &Value) -> Templates {
        Templates::read(templates, KnownProduct::Elasticsearch)
    }

    /// Of the only template, whose name is `t`.
    fn made(definition: Value) -> Option<Made<'static>> {
        Some(Made { template: "t", definition, is_runtime: false })
    }

    #[test]
    fn the_first_template_that_fits_is_taken() {
        let templates = read(&json!([
            {"ids": {"match_mapping_type": "long", "match": "*_id", "unmatch": "x*", "mapping": {"type": "keyword"}}},
            {"below": {"match_mapping_type": "string", "path_match": "a.*", "mapping": {"type": "text"}}},
            {"texts": {"match_mapping_type": "string", "mapping": {"type": "keyword"}}},
            {"odd": {"match_pattern": "regex", "match": "^b$", "mapping": {"type": "keyword"}}}
        ]));
        let found = |path, kind| templates.find(path, kind).map(|made| made.map(|made| made.template));
        assert_eq!(found("o.user_id", "long"), Ok(Some("ids")));
        assert_eq!(found("o.x_id", "long"), Err("odd"));
        assert_eq!(found("a.b", "string"), Ok(Some("below")));
        assert_eq!(found("b.a", "string"), Ok(Some("texts")));
    }

    #[test]
    fn templates_for_several_kinds() {
        let keyword = || made(json!({"type": "keyword"}));
        for (template, kinds) in [
            (json!({"match": "*"}), "string long double boolean date"),
            (json!({"match_mapping_type": "*"}), "string long double boolean date"),
            (json!({"match_mapping_type": ["string", "long"]}), "string long"),
            (json!({"unmatch_mapping_type": ["string", "object"], "match": ["b*", "a"]}), "long double boolean date"),
            (json!({"match": "b"}), ""),
        ] {
            let mut template = template;
            template["mapping"] = json!({"type": "keyword"});
            let templates = read(&json!([{ "t": template }]));
            for kind in ["string", "long", "double", "boolean", "date"] {
                let expected = kinds.contains(kind).then(keyword).flatten();
                assert_eq!(templates.find("o.a", kind), Ok(expected), "{template} {kind}");
            }
        }
        let lists = json!([{"t": {"match_mapping_type": ["string"], "mapping": {"type": "keyword"}}}]);
        assert_eq!(Templates::read(&lists, KnownProduct::OpenSearch).find("a", "string"), Err("t"));
    }

    #[test]
    fn definitions_name_the_field_and_its_type() {
        let mapping = json!({"type": "{dynamic_type}", "null_value": "no {name}", "doc_values": false});
        let templates = read(&json!([{ "t": { "match": "*", "mapping": mapping } }]));
        let expected = json!({"type": "boolean", "null_value": "no b", "doc_values": false});
        assert_eq!(templates.find("a.b", "boolean"), Ok(made(expected)));
        assert_eq!(templates.find("o", "object"), Err("t"));
        let templates = read(&json!([{"t": {"match": "*", "mapping": {}}}]));
        let types = ["string", "double", "date", "object"]
            .map(|kind| templates.find("a", kind).unwrap().unwrap().definition["type"].as_str().unwrap().to_owned());
        assert_eq!(types, ["text", "float", "date", "object"]);
    }

    #[test]
    fn templates_that_are_not_supported() {
        let mapping = json!({"type": "keyword"});
        for template in [
            json!({"match_mapping_type": "binary", "mapping": mapping}),
            json!({"match_mapping_type": "string", "match_pattern": "regex", "match": "a+", "mapping": mapping}),
            json!({"match_mapping_type": "string", "mapping": {"type": "keyword", "{name}": true}}),
            json!({"match_mapping_type": "string", "mapping": {"type": "geo_point"}}),
            json!({"match_mapping_type": "string", "runtime": {"type": "long", "script": "emit(1)"}}),
            json!({"match_mapping_type": "string", "runtime": {"type": "text"}}),
            json!({"match_mapping_type": "string", "other": 1, "mapping": mapping}),
            json!({"unmatch": "b", "mapping": mapping}),
        ] {
            assert_eq!(read(&json!([{"t": template}])).find("a", "string"), Err("t"), "{template}");
        }
        for mapping in
            [json!({"type": "nested"}), json!({"type": "object", "dynamic": false}), json!({"type": "keyword"})]
        {
            assert_eq!(
                read(&json!([{"t": {"match": "*", "mapping": mapping}}])).find("a", "object"),
                Err("t"),
                "{mapping}"
            );
        }
    }

    #[test]
    fn arrays_may_be_one_value() {
        let float = json!({"numbers": {"match_mapping_type": "double", "mapping": {"type": "float"}}});
        let first =
            |template: &Value| read(&json!([float, { "t": template }])).check_array("o.p").map_err(str::to_owned);
        for kind in ["geo_point", "dense_vector", "shape"] {
            let template = json!({"match": "p", "mapping": {"type": kind}});
            assert_eq!(first(&template), Err("t".to_owned()), "{kind}");
        }
        for template in [
            json!({"match": "p", "mapping": {"type": "keyword"}}),
            json!({"match_mapping_type": "object", "mapping": {"type": "nested"}}),
            json!({"match": "*", "mapping": {"type": "{dynamic_type}"}}),
            json!({"match": "q", "mapping": {"type": "geo_point"}}),
            json!({"match_mapping_type": "string", "mapping": {"type": "geo_point"}}),
        ] {
            assert_eq!(first(&template), Ok(()), "{template}");
        }
    }

    #[test]
    fn runtime_fields() {
        for (kind, runtime, expected) in [
            ("string", json!({}), json!({"type": "keyword"})),
            ("double", json!({}), json!({"type": "double"})),
            ("date", json!({"format": "yyyy"}), json!({"type": "date", "format": "yyyy"})),
            ("long", json!({"type": "ip"}), json!({"type": "ip"})),
        ] {
            let templates = read(&json!([{"t": {"match": "*", "runtime": runtime}}]));
            let expected = Made { template: "t", definition: expected, is_runtime: true };
            assert_eq!((templates.find("a", kind), templates.find("a", "object")), (Ok(Some(expected)), Ok(None)));
        }
    }
}
