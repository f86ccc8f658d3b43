//! The filters of tokens, each made of its parameters.
//!
//! Source: the documentation of the servers' token filters and of Lucene's classes, which the
//! filters name.

mod delimiters;
pub(super) mod fixed_shingles;
mod folding;
mod grams;
mod icu;
mod indic;
mod kstem;
mod light;
pub(super) mod multiplexer;
mod norwegian;
mod porter;
mod porter2;
mod scripts;
mod shingles;
mod simple;
mod stemmers;
pub(super) mod synonyms;
mod words;

use super::filters::Filter;
use super::parameters::Parameters;
use super::patterns;
use super::stream::{Stream, TokenFilter};

/// A filter, as far as there is a fast way without the others.
pub(super) enum Made {
    Plain(Filter),
    Other(Box<dyn TokenFilter>),
}

/// Filters that a normalizer may have: they make one token of one.
pub(super) const NORMALIZING: [&str; 18] = [
    "arabic_normalization",
    "asciifolding",
    "bengali_normalization",
    "cjk_width",
    "decimal_digit",
    "elision",
    "german_normalization",
    "hindi_normalization",
    "icu_folding",
    "icu_normalizer",
    "indic_normalization",
    "lowercase",
    "persian_normalization",
    "scandinavian_folding",
    "scandinavian_normalization",
    "sorani_normalization",
    "trim",
    "uppercase",
];

/// The filter of a type.
pub(super) fn new(kind: &str, mut parameters: Parameters) -> Result<Made, String> {
    let p = &mut parameters;
    let made = match kind {
        "lowercase" => Made::Plain(Filter::Lower),
        "uppercase" => Made::Plain(Filter::Upper),
        "trim" => Made::Plain(Filter::Trim),
        "asciifolding" if !p.flag("preserve_original", false)? => Made::Plain(Filter::Fold),
        "asciifolding" => Made::Other(Box::new(folding::FoldAndKeep)),
        "ngram" => Made::Other(Box::new(grams::Grams::new(p, 2)?)),
        // The one that servers have by themselves makes the first character only.
        "edge_ngram" => Made::Other(Box::new(grams::EdgeGrams::new(p, if p.is_defined() { 2 } else { 1 })?)),
        "shingle" => Made::Other(Box::new(shingles::Shingles::new(p)?)),
        "stop" => Made::Other(Box::new(words::Stop::new(p)?)),
        "keep" => Made::Other(Box::new(words::Keep::new(p)?)),
        "elision" => Made::Other(Box::new(words::Elision::new(p)?)),
        "keyword_marker" => Made::Other(Box::new(words::KeywordMarker::new(p)?)),
        "stemmer_override" => Made::Other(Box::new(words::StemmerOverride::new(p)?)),
        "stemmer" => Made::Other(stemmers::stemmer(p)?),
        "snowball" => Made::Other(stemmers::snowball(p)?),
        "word_delimiter" => Made::Other(Box::new(delimiters::Delimiter::new(p)?)),
        "word_delimiter_graph" => Made::Other(Box::new(delimiters::Graph::new(p)?)),
        "pattern_replace" => Made::Other(Box::new(patterns::ReplaceInTerms::new(p)?)),
        "pattern_capture" => Made::Other(Box::new(patterns::Capture::new(p)?)),
        "kstem" => Made::Other(Box::new(kstem::KStem)),
        "icu_folding" => Made::Other(Box::new(icu::Icu::FOLDING)),
        "icu_normalizer" => Made::Other(Box::new(icu::Icu::normalizer(p)?)),
        "porter_stem" => Made::Other(Box::new(porter::Porter)),
        "length" => Made::Other(Box::new(simple::Length::new(p)?)),
        "truncate" => Made::Other(Box::new(simple::Truncate::new(p)?)),
        "limit" => Made::Other(Box::new(simple::Limit::new(p)?)),
        "unique" => Made::Other(Box::new(simple::Unique { at_one_position: p.flag("only_on_same_position", false)? })),
        "remove_duplicates" => Made::Other(Box::new(simple::Unique { at_one_position: true })),
        "reverse" => Made::Other(Box::new(simple::Reverse)),
        "apostrophe" => Made::Other(Box::new(simple::Apostrophe)),
        "keyword_repeat" => Made::Other(Box::new(simple::KeywordRepeat)),
        "decimal_digit" => Made::Other(Box::new(scripts::DecimalDigit)),
        "cjk_width" => Made::Other(Box::new(scripts::CjkWidth)),
        "german_normalization" => Made::Other(Box::new(scripts::German)),
        "scandinavian_folding" => Made::Other(Box::new(scripts::Scandinavian { folds: true })),
        "scandinavian_normalization" => Made::Other(Box::new(scripts::Scandinavian { folds: false })),
        "arabic_normalization" => Made::Other(Box::new(scripts::Arabic)),
        "indic_normalization" => Made::Other(Box::new(indic::Indic::Normalization)),
        "hindi_normalization" => Made::Other(Box::new(indic::Indic::HindiNormalization)),
        "bengali_normalization" => Made::Other(Box::new(indic::Indic::BengaliNormalization)),
        "persian_normalization" => Made::Other(Box::new(scripts::Persian)),
        "sorani_normalization" => Made::Other(Box::new(scripts::Sorani)),
        _ => return Err(format!("{}: the type {kind:?}", parameters.what)),
    };
    if kind == "lowercase" {
        // Of another filter, which people write here, too; it changes nothing.
        parameters.flag("preserve_original", false)?;
    }
    parameters.finish()?;
    Ok(made)
}

/// The filters of the analyser `standard`. Nothing without stop words.
pub(super) fn standard(p: &mut Parameters) -> Result<Option<Vec<Made>>, String> {
    let stop = words::Stop::of_analyzer(p, "_none_")?;
    Ok(stop.map(|stop| vec![Made::Plain(Filter::Lower), Made::Other(Box::new(stop))]))
}

/// The filters of the analyser `pattern`.
pub(super) fn pattern(p: &mut Parameters) -> Result<Vec<Made>, String> {
    let lower = p.flag("lowercase", true)?.then_some(Made::Plain(Filter::Lower));
    let stop = words::Stop::of_analyzer(p, "_none_")?;
    let stop = stop.map(|stop| Made::Other(Box::new(stop) as Box<dyn TokenFilter>));
    Ok(lower.into_iter().chain(stop).collect())
}

/// The filters of the analyser `stop`.
pub(super) fn stop(p: &mut Parameters) -> Result<Vec<Made>, String> {
    lower_and_stop(p, "_english_")
}

fn lower_and_stop(p: &mut Parameters, default: &'static str) -> Result<Vec<Made>, String> {
    let stop = words::Stop::of_analyzer(p, default)?;
    let stop = stop.map(|stop| Made::Other(Box::new(stop) as Box<dyn TokenFilter>));
    Ok([Made::Plain(Filter::Lower)].into_iter().chain(stop).collect())
}

/// The filters of the analyser of a language.
pub(super) fn of_language(language: &str, p: &mut Parameters) -> Result<Option<Vec<Made>>, String> {
    let other = |filter: Box<dyn TokenFilter>| Made::Other(filter);
    let (stop_words, first, last) = match language {
        "english" => {
            ("_english_", Some(other(Box::new(stemmers::PossessiveEnglish))), vec![other(Box::new(porter::Porter))])
        }
        "french" => {
            let elision = words::Elision::of(&words::FRENCH);
            ("_french_", Some(other(Box::new(elision))), vec![other(Box::new(light::Light::French))])
        }
        "german" => ("_german_", None, vec![other(Box::new(scripts::German)), other(Box::new(light::Light::German))]),
        "italian" => {
            let elision = words::Elision::of(&words::ITALIAN);
            ("_italian_", Some(other(Box::new(elision))), vec![other(Box::new(light::Light::Italian))])
        }
        "norwegian" => ("_norwegian_", None, vec![other(Box::new(norwegian::Norwegian::Snowball))]),
        "spanish" => ("_spanish_", None, vec![other(Box::new(light::Light::Spanish))]),
        _ => return Ok(None),
    };
    let mut filters: Vec<Made> = first.into_iter().collect();
    filters.extend(lower_and_stop(p, stop_words)?);
    if let Some(words) = p.list("stem_exclusion")? {
        filters.push(other(Box::new(words::KeywordMarker::of(&words))));
    }
    filters.extend(last);
    Ok(Some(filters))
}

impl TokenFilter for Filter {
    fn apply(&self, stream: &mut Stream) {
        match self {
            Filter::Trim => stream.shorten(|_, term| {
                let rest = term.trim_start_matches(super::is_white);
                let start = term.len() - rest.len();
                start..start + rest.trim_end_matches(super::is_white).len()
            }),
            filter => stream.map(|_, term, out| filter.change(term, out)),
        }
    }

    fn grows(&self) -> usize {
        if *self == Filter::Fold { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests;
