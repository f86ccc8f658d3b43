//! Texts that are found as they are typed: fields of the type `search_as_you_type`.
//!
//! Source: the documentation of the type in OpenSearch, and the indices that it makes. The field
//! is a text; beside it are fields with the shingles of two, three and four words, and one with the
//! beginnings of the longest ones.

use serde_json::{Map, Value};

use crate::fields::definition::field;
use crate::fields::field::{Field, Kind};
use crate::fields::index_settings::IndexSettings;
use crate::fields::target::Unsupported;

/// The name of the type.
pub(super) const AS_YOU_TYPE: &str = "search_as_you_type";

/// The most words of a shingle, where a mapping does not say it.
const WORDS: u64 = 3;

/// The parameters besides those of a text.
const KNOWN: [&str; 9] = [
    "analyzer",
    "search_analyzer",
    "search_quote_analyzer",
    "similarity",
    "norms",
    "index_options",
    "term_vector",
    "store",
    "copy_to",
];

/// Reads a definition: the text, and the fields beside it.
pub(super) fn read(
    definition: &Map<String, Value>,
    name: &str,
    scope: Option<usize>,
    settings: &IndexSettings,
) -> Result<Vec<Field>, Unsupported> {
    let unsupported = |what: String| Unsupported { field: name.to_owned(), what };
    let words = match definition.get("max_shingle_size") {
        None => WORDS,
        Some(words) => words
            .as_u64()
            .filter(|words| (2..=4).contains(words))
            .ok_or_else(|| unsupported(format!("the parameter \"max_shingle_size\" with {words}")))?,
    };
    let mut text = Map::from_iter([("type".to_owned(), Value::from("text"))]);
    for (parameter, value) in definition {
        match (parameter.as_str(), value) {
            ("type" | "max_shingle_size" | "meta" | "fields", _) => {}
            ("index", Value::Bool(true)) | ("doc_values", Value::Bool(false)) => {}
            (known, _) if KNOWN.contains(&known) => {
                text.insert(parameter.clone(), value.clone());
            }
            _ => return Err(unsupported(format!("the parameter {parameter:?} with {value}"))),
        }
    }
    let root = field(&text, name, scope, settings)?;
    let analysis = &settings.analysis;
    let analyzer = definition.get("analyzer").and_then(Value::as_str).unwrap_or(analysis.default_name());
    let part = |suffix: &str, words: u64, prefixes: bool| {
        let made = analysis.as_you_type(analyzer, words as usize, prefixes);
        let made = made.map_err(|part| unsupported(format!("the parameter \"analyzer\" with {analyzer:?}: {part}")))?;
        let Kind::Text { mut options, .. } = root.kind else { return Err(unsupported("no text".to_owned())) };
        // The servers ask the parts of an analyser here, and not its name.
        options.gap = if analysis.is_custom(analyzer) { options.gap } else { 0 };
        if prefixes {
            options.vectors = None;
        }
        let kind = Kind::Text { analyzer: made, options };
        let norms = root.norms && !prefixes;
        Ok(Field { name: format!("{name}.{suffix}"), kind, norms, stored: false, is_part: true, ..root.clone() })
    };
    let mut fields = vec![Field { type_name: AS_YOU_TYPE.to_owned(), ..root.clone() }];
    for words in 2..=words {
        fields.push(part(&format!("_{words}gram"), words, false)?);
    }
    fields.push(part("_index_prefix", words, true)?);
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fields::mapping::Mapping;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const TARGET: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

    fn parse(fields: &Value) -> Result<Mapping, String> {
        Mapping::parse(&json!({ "properties": fields }), TARGET).map_err(|error| error.what)
    }

    #[test]
    fn shingles_and_beginnings_are_fields() {
        let names = |definition: Value| {
            let fields = parse(&json!({ "t": definition })).unwrap().fields;
            let name = |field: &super::Field| format!("{}{}", field.name, if field.needs_name() { "!" } else { "" });
            fields.iter().map(name).collect::<Vec<_>>()
        };
        let kind = "search_as_you_type";
        assert_eq!(names(json!({ "type": kind })), ["t", "t._2gram", "t._3gram", "t._index_prefix"]);
        let definition = json!({"type": kind, "max_shingle_size": 2, "norms": false, "doc_values": "false"});
        assert_eq!(names(definition), ["t!", "t._2gram", "t._index_prefix"]);
        let part =
            json!({"type": "text", "fields": {"x": {"type": kind, "max_shingle_size": "2", "analyzer": "simple"}}});
        assert_eq!(names(part), ["t", "t.x", "t.x._2gram", "t.x._index_prefix"]);
    }

    #[test]
    fn what_only_a_server_builds_is_named() {
        for definition in [
            json!({"index": false}),
            json!({"max_shingle_size": 5}),
            json!({"analyzer": "dutch"}),
            json!({"position_increment_gap": 5}),
        ] {
            let mut definition = definition;
            definition["type"] = json!("search_as_you_type");
            assert!(parse(&json!({ "t": definition })).is_err(), "{definition}");
        }
        let target = ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 0], lucene: [9, 12, 2] };
        let fields = json!({"properties": {"t": {"type": "search_as_you_type"}}});
        assert!(Mapping::parse(&fields, target).is_err());
    }
}
