//! Analysers and normalizers that the settings of an index define.
//!
//! Source: the documentation of `analysis` in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use super::filters::{Filter, Filters};
use super::{Analyzer, Tokenizer};

/// The settings below `index.analysis`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Analysis(Map<String, Value>);

impl Analysis {
    /// Takes them from the settings of an index: full names with dots, such as
    /// `index.analysis.analyzer.own.type`.
    pub(crate) fn of_settings(settings: &Map<String, Value>) -> Self {
        let mut all = Map::new();
        for (name, value) in settings {
            if let Some(path) = name.strip_prefix("index.analysis.") {
                put(&mut all, path, value);
            }
        }
        Self(all)
    }

    /// What a field without an analyser has. `None` if it is not known here.
    pub(crate) fn default_analyzer(&self) -> Option<Analyzer> {
        match self.definition("analyzer", "default") {
            None => Some(Analyzer::STANDARD),
            Some(_) => self.analyzer("default"),
        }
    }

    /// The analyser of a name. `None` if it is not known here.
    pub(crate) fn analyzer(&self, name: &str) -> Option<Analyzer> {
        let Some(definition) = self.definition("analyzer", name) else { return Analyzer::named(name) };
        let kind = definition.get("type").map_or("custom", |kind| kind.as_str().unwrap_or_default());
        if kind != "custom" {
            let plain = definition.keys().all(|key| key == "type");
            return Analyzer::named(kind).filter(|_| plain);
        }
        let known = ["type", "tokenizer", "filter", "char_filter"];
        definition.keys().all(|key| known.contains(&key.as_str())).then_some(())?;
        let lower = Some(Filter::Lower);
        let (tokenizer, first) = match definition.get("tokenizer")?.as_str()? {
            name if self.definition("tokenizer", name).is_some() => return None,
            "standard" => (Tokenizer::Standard, None),
            "letter" => (Tokenizer::Letter, None),
            "lowercase" => (Tokenizer::Letter, lower),
            "whitespace" => (Tokenizer::Whitespace, None),
            "keyword" => (Tokenizer::Keyword, None),
            _ => return None,
        };
        Some(Analyzer { tokenizer, filters: self.filters(definition, first)? })
    }

    /// The filters of the normalizer of a name. `None` if it is not known here.
    pub(crate) fn normalizer(&self, name: &str) -> Option<Filters> {
        let Some(definition) = self.definition("normalizer", name) else {
            return (name == "lowercase").then_some(Filters::LOWER);
        };
        let known = ["type", "filter", "char_filter"];
        let is_custom = definition.get("type").is_none_or(|kind| kind == "custom");
        let all_known = definition.keys().all(|key| known.contains(&key.as_str()));
        if is_custom && all_known { self.filters(definition, None) } else { None }
    }

    fn definition(&self, kind: &str, name: &str) -> Option<&Map<String, Value>> {
        self.0.get(kind)?.get(name)?.as_object()
    }

    fn filters(&self, definition: &Map<String, Value>, first: Option<Filter>) -> Option<Filters> {
        if !names(definition.get("char_filter"))?.is_empty() {
            return None;
        }
        let named = names(definition.get("filter"))?.into_iter().map(|name| self.filter(name));
        let filters: Option<Vec<Filter>> = first.map(Some).into_iter().chain(named).collect();
        Filters::new(&filters?)
    }

    fn filter(&self, name: &str) -> Option<Filter> {
        let Some(definition) = self.definition("filter", name) else { return Filter::named(name) };
        let is_false = |value: &Value| *value == false || value == "false";
        let plain = |(key, value): (&String, &Value)| key == "type" || key == "preserve_original" && is_false(value);
        definition.iter().all(plain).then_some(())?;
        Filter::named(definition.get("type")?.as_str()?)
    }
}

/// Names in a list, or with commas between them. `None` if it is neither.
fn names(list: Option<&Value>) -> Option<Vec<&str>> {
    match list {
        None => Some(Vec::new()),
        Some(Value::String(names)) => Some(names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()),
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        Some(_) => None,
    }
}

/// Puts a value at its path into a tree.
fn put(tree: &mut Map<String, Value>, path: &str, value: &Value) {
    let Some((first, rest)) = path.split_once('.') else {
        tree.insert(path.to_owned(), value.clone());
        return;
    };
    let below = tree.entry(first).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(below) = below {
        put(below, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Analyzer;
    use super::Analysis;

    fn analysis(settings: Value) -> Analysis {
        Analysis::of_settings(settings.as_object().unwrap())
    }

    #[test]
    fn definitions_of_settings() {
        let all = analysis(json!({
            "index.analysis.normalizer.low.type": "custom", "index.analysis.normalizer.low.filter": ["lowercase", "fold"],
            "index.analysis.normalizer.odd.filter": "lowercase, elision",
            "index.analysis.filter.fold.type": "asciifolding",
            "index.analysis.analyzer.own.tokenizer": "whitespace", "index.analysis.analyzer.own.filter": "lowercase",
            "index.analysis.analyzer.gap.tokenizer": "standard", "index.analysis.analyzer.gap.position_increment_gap": "3",
            "index.analysis.analyzer.default.type": "simple",
        }));
        assert_eq!(all.normalizer("low").unwrap().text("ÉTÉ"), "ete");
        assert_eq!(all.normalizer("lowercase").unwrap().text("ÉTÉ"), "été");
        assert!(all.normalizer("odd").is_none() && all.normalizer("none").is_none());
        let mut terms = Vec::new();
        all.analyzer("own").unwrap().each("A,b C", |term| terms.push(String::from_utf8_lossy(term).into_owned()));
        assert_eq!(terms, ["a,b", "c"]);
        assert_eq!(all.default_analyzer(), Analyzer::named("simple"));
        assert_eq!(all.analyzer("standard"), Some(Analyzer::STANDARD));
        assert!(all.analyzer("gap").is_none() && all.analyzer("english").is_none());
    }
}
