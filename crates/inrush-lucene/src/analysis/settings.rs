//! Analysers and normalizers that the settings of an index define.
//!
//! Source: the documentation of `analysis` in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use std::sync::Arc;

use super::characters::{CharacterFilter, Mapping};
use super::filters::{Filter, Filters};
use super::html::HtmlStrip;
use super::parameters::Parameters;
use super::patterns::{Cut, ReplaceCharacters};
use super::pipeline::{self, Normalizer, Pipeline};
use super::stream::{Stream, TokenFilter};
use super::token_filters::multiplexer::{CHANGING, Multiplexer};
use super::token_filters::synonyms::Synonyms;
use super::token_filters::{self, Made, NORMALIZING, fixed_shingles};
use super::tokenizers::TokenizerPart;
use super::{Analyzer, Plain, Tokenizer};

/// The settings below `index.analysis`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Analysis {
    all: Map<String, Value>,
    /// The version of Lucene.
    lucene: [u32; 3],
}

impl Analysis {
    /// Takes them from the settings of an index: full names with dots, such as
    /// `index.analysis.analyzer.own.type`.
    pub(crate) fn of_settings(settings: &Map<String, Value>, lucene: [u32; 3]) -> Self {
        let mut all = Map::new();
        for (name, value) in settings {
            if let Some(path) = name.strip_prefix("index.analysis.") {
                put(&mut all, path, value);
            }
        }
        Self { all, lucene }
    }

    /// What a field without an analyser has.
    ///
    /// # Errors
    ///
    /// The part of it that is not known here.
    pub(crate) fn default_analyzer(&self) -> Result<Analyzer, String> {
        match self.definition("analyzer", "default") {
            None => Ok(Analyzer::STANDARD),
            Some(_) => self.analyzer("default"),
        }
    }

    /// The analyser of a name.
    ///
    /// # Errors
    ///
    /// The part of it that is not known here.
    pub(crate) fn analyzer(&self, name: &str) -> Result<Analyzer, String> {
        let Some(definition) = self.definition("analyzer", name) else {
            return named_analyzer(name, Parameters::of("analyser", name, None));
        };
        let kind = definition.get("type").map_or("custom", |kind| kind.as_str().unwrap_or_default());
        let parameters = Parameters::of("analyser", name, Some(definition));
        if kind != "custom" {
            return named_analyzer(kind, parameters);
        }
        let parts = self.parts(parameters, false)?;
        parts.analyzer(name.to_owned())
    }

    /// The analyser of a name, if all its tokens are one behind the other.
    ///
    /// # Errors
    ///
    /// As [`Analysis::analyzer`]; and parts that make several tokens at one position.
    pub(crate) fn linear_analyzer(&self, name: &str) -> Result<Analyzer, String> {
        let named = self.analyzer(name)?;
        let is_linear = match &named {
            Analyzer::Plain(_) => true,
            Analyzer::Pipeline(pipeline) => {
                let branches = |filter: &dyn TokenFilter| filter.overlaps() || filter.splits();
                !pipeline.tokenizer.overlaps() && !pipeline.filters.iter().any(|filter| branches(filter.as_ref()))
            }
        };
        is_linear.then_some(named).ok_or_else(|| format!("several tokens of the analyser {name:?} at one place"))
    }

    /// The analyser of a name with the filters of a field of the type `search_as_you_type` behind
    /// it: shingles of a size, or their prefixes.
    ///
    /// # Errors
    ///
    /// As [`Analysis::linear_analyzer`].
    pub(crate) fn as_you_type(&self, name: &str, size: usize, prefixes: bool) -> Result<Analyzer, String> {
        let named = self.linear_analyzer(name)?;
        let source = format!("{name} {size} {prefixes}");
        let Pipeline { characters, tokenizer, mut filters, .. } = match named {
            Analyzer::Plain(Plain { tokenizer, filters }) => {
                let filters = filters.each().map(|filter| Box::new(filter) as Box<dyn TokenFilter>).collect();
                let tokenizer = TokenizerPart::Plain(tokenizer);
                Pipeline { characters: Vec::new(), tokenizer, filters, source: String::new() }
            }
            Analyzer::Pipeline(pipeline) => Arc::into_inner(pipeline).ok_or("an analyser that is in use")?,
        };
        filters.extend(fixed_shingles::as_you_type(size, prefixes));
        Ok(Analyzer::Pipeline(Arc::new(Pipeline { characters, tokenizer, filters, source })))
    }

    /// Whether an analyser is one of parts that the settings name.
    pub(crate) fn is_custom(&self, name: &str) -> bool {
        let definition = self.definition("analyzer", name);
        definition.is_some_and(|definition| definition.get("type").is_none_or(|kind| kind == "custom"))
    }

    /// The name of what a field without an analyser has.
    pub(crate) fn default_name(&self) -> &'static str {
        if self.definition("analyzer", "default").is_some() { "default" } else { "standard" }
    }

    /// What the normalizer of a name makes of a text.
    ///
    /// # Errors
    ///
    /// The part of it that is not known here.
    pub(crate) fn normalizer(&self, name: &str) -> Result<Normalizer, String> {
        let Some(definition) = self.definition("normalizer", name) else {
            return match name {
                "lowercase" => Ok(Normalizer::Plain(Filters::LOWER)),
                _ => Err(format!("normalizer {name:?}")),
            };
        };
        let parameters = Parameters::of("normalizer", name, Some(definition));
        if definition.get("type").is_some_and(|kind| kind != "custom") {
            return Err(parameters.refuse("type"));
        }
        match self.parts(parameters, true)?.analyzer(name.to_owned())? {
            Analyzer::Plain(plain) => Ok(Normalizer::Plain(plain.filters)),
            Analyzer::Pipeline(pipeline) => Ok(Normalizer::Pipeline(pipeline)),
        }
    }

    fn definition(&self, kind: &str, name: &str) -> Option<&Map<String, Value>> {
        self.all.get(kind)?.get(name)?.as_object()
    }

    /// The parts that a definition names. A normalizer has no tokenizer. `Err` has all parts that
    /// are not known.
    fn parts(&self, mut parameters: Parameters, normalizes: bool) -> Result<Parts, String> {
        let mut parts =
            Parts { characters: Vec::new(), tokenizer: TokenizerPart::Plain(Tokenizer::Keyword), filters: Vec::new() };
        let mut unknown = Vec::new();
        for name in parameters.list("char_filter")?.unwrap_or_default() {
            match self.character_filter(name) {
                Ok(filter) if normalizes && !filter.normalizes() => {
                    unknown.push(format!("character filter {name:?} in a normalizer"));
                }
                Ok(filter) => parts.characters.push(filter),
                Err(part) => unknown.push(part),
            }
        }
        if !normalizes {
            let Some(name) = parameters.text("tokenizer")? else { return Err(parameters.refuse("tokenizer")) };
            if name == "lowercase" && self.definition("tokenizer", name).is_none() {
                parts.tokenizer = TokenizerPart::Plain(Tokenizer::Letter);
                parts.filters.push(Made::Plain(Filter::Lower));
            } else {
                match self.tokenizer(name) {
                    Ok(tokenizer) => parts.tokenizer = tokenizer,
                    Err(part) => unknown.push(part),
                }
            }
        }
        for name in parameters.list("filter")?.unwrap_or_default() {
            match self.token_filter(name, normalizes, &parts) {
                Ok(filter) => parts.filters.push(filter),
                Err(part) => unknown.push(part),
            }
        }
        // People write it here, where it means nothing.
        let _ = parameters.text("language")?;
        unknown.extend(parameters.finish().err());
        if unknown.is_empty() { Ok(parts) } else { Err(unknown.join(", ")) }
    }

    /// A filter of tokens behind other parts.
    fn token_filter(&self, name: &str, normalizes: bool, before: &Parts) -> Result<Made, String> {
        let definition = self.definition("filter", name);
        let part = Parameters::of("token filter", name, definition);
        let kind = kind_of(&part, name, definition)?;
        if normalizes && !NORMALIZING.contains(&kind) {
            return Err(format!("{}: the type {kind:?} in a normalizer", part.what));
        }
        let what = part.what.clone();
        let filter = match kind {
            "multiplexer" if definition.is_some() => self.multiplexer(part)?,
            "synonym" | "synonym_graph" if definition.is_some() => before.synonyms(part, kind == "synonym_graph")?,
            _ => token_filters::new(kind, part)?,
        };
        if normalizes && kind == "asciifolding" && !matches!(filter, Made::Plain(_)) {
            return Err(format!("{what}: the parameter \"preserve_original\" in a normalizer"));
        }
        if let Made::Other(filter) = &filter {
            before.check(&what, filter.as_ref())?;
        }
        Ok(filter)
    }

    /// A filter with chains of filters, each of which makes one token of one.
    fn multiplexer(&self, mut part: Parameters) -> Result<Made, String> {
        let keeps = part.flag("preserve_original", true)?;
        let mut chains = Vec::new();
        for names in part.list("filters")?.unwrap_or_default() {
            let mut chain = Vec::new();
            for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let definition = self.definition("filter", name);
                let own = Parameters::of("token filter", name, definition);
                let kind = kind_of(&own, name, definition)?;
                if !NORMALIZING.contains(&kind) && !CHANGING.contains(&kind) {
                    return Err(format!("{}: the type {kind:?} in {}", own.what, part.what));
                }
                chain.push(match token_filters::new(kind, own)? {
                    Made::Plain(plain) => Box::new(plain) as Box<dyn TokenFilter>,
                    Made::Other(_) if kind == "asciifolding" => return Err(part.refuse("filters")),
                    Made::Other(filter) => filter,
                });
            }
            chains.push(chain);
        }
        if chains.is_empty() {
            return Err(part.refuse("filters"));
        }
        part.finish()?;
        Ok(Made::Other(Box::new(Multiplexer { chains, keeps })))
    }

    fn character_filter(&self, name: &str) -> Result<CharacterFilter, String> {
        let definition = self.definition("char_filter", name);
        let part = Parameters::of("character filter", name, definition);
        match kind_of(&part, name, definition)? {
            "html_strip" => HtmlStrip::new(part, self.lucene).map(CharacterFilter::Html),
            "mapping" if definition.is_some() => Mapping::new(part).map(CharacterFilter::Mapping),
            "pattern_replace" if definition.is_some() => ReplaceCharacters::new(part).map(CharacterFilter::Pattern),
            kind => Err(format!("{}: the type {kind:?}", part.what)),
        }
    }

    fn tokenizer(&self, name: &str) -> Result<TokenizerPart, String> {
        let definition = self.definition("tokenizer", name);
        let part = Parameters::of("tokenizer", name, definition);
        let kind = kind_of(&part, name, definition)?;
        TokenizerPart::new(kind, part, self.lucene[0])
    }
}

/// The type of a part; one that the server has by itself has its name.
fn kind_of<'a>(
    part: &Parameters,
    name: &'a str,
    definition: Option<&'a Map<String, Value>>,
) -> Result<&'a str, String> {
    let Some(definition) = definition else { return Ok(name) };
    definition.get("type").and_then(Value::as_str).ok_or_else(|| part.refuse("type"))
}

/// The parts of an analyser in their order.
struct Parts {
    characters: Vec<CharacterFilter>,
    tokenizer: TokenizerPart,
    filters: Vec<Made>,
}

fn behind_several(what: &str) -> String {
    format!("{what} behind a part that makes several tokens of one place")
}

impl Parts {
    fn filters(&self) -> impl Iterator<Item = &dyn TokenFilter> {
        self.filters.iter().map(|made| match made {
            Made::Plain(plain) => plain as &dyn TokenFilter,
            Made::Other(other) => other.as_ref(),
        })
    }

    fn overlaps(&self) -> bool {
        self.tokenizer.overlaps() || self.filters().any(|filter| filter.overlaps())
    }

    /// Synonyms behind these parts, which also make the words of their rules.
    fn synonyms(&self, mut part: Parameters, is_graph: bool) -> Result<Made, String> {
        if self.overlaps() {
            return Err(behind_several(&part.what));
        }
        let synonyms = Synonyms::new(&mut part, is_graph, |text| self.words(text))?;
        part.finish()?;
        Ok(Made::Other(Box::new(synonyms)))
    }

    /// The terms of a text, if each is one position further than the one before.
    fn words(&self, text: &str) -> Option<Vec<String>> {
        let mut stream = Stream::default();
        pipeline::begin(&self.characters, &self.tokenizer, text, &mut stream);
        self.filters().for_each(|filter| filter.apply(&mut stream));
        let is_word = |term: &str| !term.is_empty() && !term.contains('\0');
        let words: Option<Vec<String>> = stream
            .terms()
            .map(|(token, term)| (token.increment == 1 && is_word(term)).then(|| term.to_owned()))
            .collect();
        let is_known = !stream.doubts && !stream.overflow && !stream.halves;
        words.filter(|words| is_known && !words.is_empty())
    }

    /// Refuses a filter that is not exact behind those before.
    fn check(&self, what: &str, filter: &dyn TokenFilter) -> Result<(), String> {
        if filter.splits() && self.overlaps() {
            return Err(behind_several(what));
        }
        if filter.ends_early() && (self.tokenizer.reads_ahead() || self.filters().any(|filter| filter.reads_ahead())) {
            return Err(format!("{what} without \"consume_all_tokens\" behind a part that reads ahead"));
        }
        Ok(())
    }

    fn analyzer(self, source: String) -> Result<Analyzer, String> {
        let Self { characters, tokenizer, filters } = self;
        if let (true, TokenizerPart::Plain(tokenizer)) = (characters.is_empty(), &tokenizer) {
            let plain = filters.iter().map(|made| if let Made::Plain(plain) = made { Some(*plain) } else { None });
            if let Some(filters) = plain.collect::<Option<Vec<_>>>().and_then(|plain| Filters::new(&plain)) {
                return Ok(Analyzer::Plain(Plain { tokenizer: *tokenizer, filters }));
            }
        }
        let filters = filters.into_iter().map(|made| match made {
            Made::Plain(plain) => Box::new(plain) as Box<dyn TokenFilter>,
            Made::Other(other) => other,
        });
        Ok(Analyzer::Pipeline(Arc::new(Pipeline { characters, tokenizer, filters: filters.collect(), source })))
    }
}

/// The analyser of a type. The parameters of `standard` and the others are for their stop words.
fn named_analyzer(kind: &str, mut parameters: Parameters) -> Result<Analyzer, String> {
    let (what, source) = (parameters.what.clone(), parameters.what.clone());
    let p = &mut parameters;
    if kind == "pattern" {
        let tokenizer = TokenizerPart::Pattern(Cut::of_analyzer(p)?);
        let filters = token_filters::pattern(p)?;
        parameters.finish()?;
        return Parts { characters: Vec::new(), tokenizer, filters }.analyzer(source);
    }
    let filters = match kind {
        "simple" | "whitespace" | "keyword" => None,
        "standard" => {
            if p.number("max_token_length", super::WORD_MAX)? != super::WORD_MAX {
                return Err(p.refuse("max_token_length"));
            }
            token_filters::standard(p)?
        }
        "stop" => Some(token_filters::stop(p)?),
        _ if let Some(filters) = token_filters::of_language(kind, p)? => Some(filters),
        _ if p.is_defined() => return Err(format!("{what}: the type {kind:?}")),
        _ => return Err(what),
    };
    parameters.finish()?;
    let tokenizer = if kind == "stop" { Tokenizer::Letter } else { Tokenizer::Standard };
    match (Plain::named(kind), filters) {
        (Some(plain), None) => Ok(Analyzer::Plain(plain)),
        (_, filters) => {
            let filters = filters.unwrap_or_default();
            Parts { characters: Vec::new(), tokenizer: TokenizerPart::Plain(tokenizer), filters }.analyzer(source)
        }
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

    use super::super::{Analyzer, Plain};
    use super::Analysis;

    fn analysis(settings: Value) -> Analysis {
        Analysis::of_settings(settings.as_object().unwrap(), [10, 4, 0])
    }

    #[test]
    fn definitions_of_settings() {
        let all = analysis(json!({
            "index.analysis.normalizer.low.type": "custom", "index.analysis.normalizer.low.filter": ["lowercase", "fold"],
            "index.analysis.normalizer.odd.filter": "lowercase, stop",
            "index.analysis.normalizer.page.char_filter": "html_strip",
            "index.analysis.filter.fold.type": "asciifolding",
            "index.analysis.analyzer.own.tokenizer": "whitespace", "index.analysis.analyzer.own.filter": "lowercase",
            "index.analysis.analyzer.own.language": "french",
            "index.analysis.analyzer.gap.tokenizer": "standard", "index.analysis.analyzer.gap.position_increment_gap": "3",
            "index.analysis.analyzer.odd.tokenizer": "thai", "index.analysis.analyzer.odd.x": 1,
            "index.analysis.analyzer.odd.char_filter": "icu_normalizer", "index.analysis.analyzer.odd.filter": ["trim", "synonym"],
            "index.analysis.analyzer.default.type": "simple",
        }));
        assert_eq!(all.normalizer("low").unwrap().text("ÉTÉ"), Ok("ete".into()));
        assert_eq!(all.normalizer("lowercase").unwrap().text("ÉTÉ"), Ok("été".into()));
        assert_eq!(all.normalizer("odd").unwrap_err(), "token filter \"stop\": the type \"stop\" in a normalizer");
        assert_eq!(all.normalizer("page").unwrap_err(), "character filter \"html_strip\" in a normalizer");
        assert_eq!(all.normalizer("none").unwrap_err(), "normalizer \"none\"");
        let Ok(Analyzer::Plain(own)) = all.analyzer("own") else { panic!("{:?}", all.analyzer("own")) };
        let mut terms = Vec::new();
        own.each("A,b C", |term| terms.push(String::from_utf8_lossy(term).into_owned()));
        assert_eq!(terms, ["a,b", "c"]);
        assert_eq!(all.default_analyzer(), Ok(Analyzer::Plain(Plain::named("simple").unwrap())));
        assert_eq!(all.analyzer("standard"), Ok(Analyzer::STANDARD));
        assert_eq!(all.analyzer("gap").unwrap_err(), "analyser \"gap\": the parameter \"position_increment_gap\"");
        assert_eq!(
            all.analyzer("odd").unwrap_err(),
            "character filter \"icu_normalizer\": the type \"icu_normalizer\", tokenizer \"thai\": the type \"thai\", \
             token filter \"synonym\": the type \"synonym\", analyser \"odd\": the parameter \"x\""
        );
        assert_eq!(all.analyzer("dutch").unwrap_err(), "analyser \"dutch\"");
    }
}
