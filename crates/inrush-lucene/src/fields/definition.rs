//! The definition of a field in a mapping: its type and its parameters.
//!
//! Source: the documentation of field types and mapping parameters in OpenSearch and Elasticsearch.

use serde_json::{Map, Value};

use crate::analysis::{Analysis, Analyzer, Normalizer};
use crate::fields::composed::{Suggest, type_of_ends};
use crate::fields::convert::convert;
use crate::fields::dates::{Dialect, Formats, SLASHES};
use crate::fields::field::{Field, Kind, TextOptions, WILDCARD};
use crate::fields::geo::{self, Rules};
use crate::fields::index_settings::IndexSettings;
use crate::fields::json::Scalar;
use crate::fields::refused::Refused;
use crate::fields::shapes::{Edition, ShapeOptions, is_right};
use crate::fields::target::{KnownProduct, ServerVersion, Unsupported};
use crate::formats::term_vectors::VectorOptions;

/// The default of `position_increment_gap`.
const POSITION_GAP: u32 = 100;
/// The type of texts of which only the words are indexed.
const MATCH_ONLY: &str = "match_only_text";

/// The type of suggestions, and the analyser and the most characters of one that names none.
const COMPLETION: &str = "completion";
const SUGGEST_ANALYZER: &str = "simple";
const SUGGEST_LENGTH_MAX: u64 = 50;
/// The most characters of one that is built here.
const SUGGEST_LENGTH_BUILT: u64 = 255;

/// The type of the number of a text's words.
const TOKEN_COUNT: &str = "token_count";

/// The full name of a member.
pub(crate) fn path_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Reads a field without its multi-fields.
pub(crate) fn field(
    definition: &Map<String, Value>,
    name: &str,
    scope: Option<usize>,
    settings: &IndexSettings,
) -> Result<Field, Unsupported> {
    let type_name = definition.get("type").and_then(Value::as_str).unwrap_or("object");
    match type_of_ends(type_name) {
        Some(ends) => range(definition, ends, name, scope, settings),
        None if type_name == COMPLETION => suggestions(definition, name, scope, settings),
        None => plain(definition, type_name, (name, scope), settings),
    }
}

/// Reads a field of another type than those with a function of their own.
fn plain(
    definition: &Map<String, Value>,
    type_name: &str,
    (name, scope): (&str, Option<usize>),
    settings: &IndexSettings,
) -> Result<Field, Unsupported> {
    let unsupported = |what: String| Unsupported { field: name.to_owned(), what };
    let (target, analysis) = (settings.target, &settings.analysis);
    let mut kind = kind(type_name, definition, target).ok_or_else(|| unsupported(format!("the type {type_name:?}")))?;
    if let Kind::Text { analyzer, .. } = &mut kind
        && !definition.contains_key("analyzer")
    {
        let default = analysis.default_analyzer();
        *analyzer = default.map_err(|part| unsupported(format!("the analyser \"default\" of the settings: {part}")))?;
    }
    let text = kind.is_text();
    let bytes = matches!(kind, Kind::Bytes { .. });
    // The type has no such parameter in Elasticsearch.
    let takes_text = matches!(kind, Kind::Unsigned { .. }) && target.product == KnownProduct::Elasticsearch;
    let coerce = settings.coerce || takes_text;
    let ranges = matches!(kind, Kind::Date(_) | Kind::DateNanos(_)) && name == "@timestamp";
    let mut field = Field {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        kind,
        scope,
        indexed: !bytes,
        doc_values: !text && !bytes,
        single: false,
        grams: type_name == WILDCARD,
        is_part: false,
        copied_to: Vec::new(),
        prefix: String::new(),
        stored: false,
        ranges: ranges && target.has_timestamp_ranges(),
        norms: text && type_name != MATCH_ONLY,
        null_value: None,
        coerce,
        ignore_malformed: false,
    };
    field.ignore_malformed = settings.ignore_malformed && may_be_malformed(&field.kind, target);
    for (parameter, value) in definition {
        match parameter.as_str() {
            "type" | "fields" | "meta" | "scaling_factor" | "copy_to" => {}
            "analyzer" | "normalizer" if value.is_string() => set_analysis(&mut field.kind, value, analysis)
                .map_err(|part| unsupported(format!("the parameter {parameter:?} with {value}: {part}")))?,
            _ => set(&mut field, parameter, value, settings)
                .ok_or_else(|| unsupported(format!("the parameter {parameter:?} with {value}")))?,
        }
    }
    if stands_for_nothing(&field, target) {
        field.null_value = None;
    }
    if !takes_null_value(&field, target) {
        let value = field.null_value.unwrap_or_default();
        return Err(unsupported(format!("the parameter \"null_value\" with {value}")));
    }
    field.ranges &= field.doc_values;
    if field.ignore_malformed && matches!(field.kind, Kind::Unsigned { .. }) && target.refuses_malformed() {
        return Err(unsupported("the parameter \"ignore_malformed\" of this type and this version".to_owned()));
    }
    if !field.indexed
        && let Kind::Text { options: TextOptions { vectors: Some(_), .. }, .. } = &field.kind
    {
        return Err(unsupported("the parameter \"term_vector\" without \"index\"".to_owned()));
    }
    // OpenSearch indexes points in any case.
    field.indexed |= field.kind.is_points() && target.product == KnownProduct::OpenSearch;
    Ok(field)
}

/// Reads a field of suggestions.
fn suggestions(
    definition: &Map<String, Value>,
    name: &str,
    scope: Option<usize>,
    settings: &IndexSettings,
) -> Result<Field, Unsupported> {
    let refused = |parameter: &str, value: &Value, more: &str| Unsupported {
        field: name.to_owned(),
        what: format!("the parameter {parameter:?} with {value}{more}"),
    };
    let (mut analyzer, mut separators, mut gaps, mut length) = (SUGGEST_ANALYZER, true, true, SUGGEST_LENGTH_MAX);
    for (parameter, value) in definition {
        match (parameter.as_str(), value) {
            ("type" | "meta" | "copy_to" | "fields", _) | ("search_analyzer", Value::String(_)) => {}
            ("analyzer", Value::String(name)) => analyzer = name,
            ("preserve_separators", Value::Bool(is)) => separators = *is,
            ("preserve_position_increments", Value::Bool(is)) => gaps = *is,
            ("max_input_length" | "max_input_len", Value::Number(most)) => {
                let most = most.as_u64().filter(|most| (1..=SUGGEST_LENGTH_BUILT).contains(most));
                length = most.ok_or_else(|| refused(parameter, value, ""))?;
            }
            _ => return Err(refused(parameter, value, "")),
        }
    }
    let made = settings.analysis.linear_analyzer(analyzer);
    let made = made.map_err(|part| refused("analyzer", &analyzer.into(), &format!(": {part}")))?;
    let suggest = Suggest { analyzer: made, separators, gaps, length_max: length as usize };
    let keyword = Map::from_iter([("type".to_owned(), Value::from("keyword"))]);
    let base = field(&keyword, name, scope, settings)?;
    let kind = Kind::Suggest(Box::new(suggest));
    Ok(Field { type_name: COMPLETION.to_owned(), kind, doc_values: false, norms: true, ..base })
}

/// Reads a field of ranges, with ends of the type `ends`.
fn range(
    definition: &Map<String, Value>,
    ends: &str,
    name: &str,
    scope: Option<usize>,
    settings: &IndexSettings,
) -> Result<Field, Unsupported> {
    let opensearch = settings.target.product == KnownProduct::OpenSearch;
    let mut of_ends = Map::from_iter([("type".to_owned(), Value::from(ends))]);
    for (parameter, value) in definition {
        let unsupported =
            || Unsupported { field: name.to_owned(), what: format!("the parameter {parameter:?} with {value}") };
        match (parameter.as_str(), value) {
            ("type" | "meta" | "copy_to" | "fields", _) => {}
            ("format", Value::String(_)) if ends == "date" => {
                of_ends.insert(parameter.clone(), value.clone());
            }
            ("store", Value::Bool(false)) => {}
            ("index" | "doc_values" | "coerce", Value::Bool(_)) => {}
            ("boost", Value::Number(_)) | ("ignore_malformed", Value::Bool(_)) if opensearch => {}
            _ => return Err(unsupported()),
        }
    }
    let is = |parameter: &str, default: bool| definition.get(parameter).and_then(Value::as_bool).unwrap_or(default);
    let type_name = definition["type"].as_str().unwrap_or_default().to_owned();
    let ignore_malformed = is("ignore_malformed", opensearch && settings.ignore_malformed);
    let (indexed, doc_values) = (is("index", true), is("doc_values", true));
    let bound = field(&of_ends, name, scope, settings)?;
    let bound = Field { type_name, coerce: is("coerce", settings.coerce), ignore_malformed, ranges: false, ..bound };
    Ok(Field { kind: Kind::Range(Box::new(bound.clone())), indexed, doc_values, ..bound })
}

/// Whether a text is to stand for null that is no date: OpenSearch then leaves null out.
fn stands_for_nothing(field: &Field, target: ServerVersion) -> bool {
    let is_text = matches!(field.null_value, Some(Value::String(_)));
    target.product == KnownProduct::OpenSearch
        && is_text
        && field.kind.is_date()
        && matches!(convert(&Scalar::Null, field, target), Err(Refused::Value { .. }))
}

/// Whether the value that stands for null, if there is one, is one that the servers take and write
/// as it is here.
fn takes_null_value(field: &Field, target: ServerVersion) -> bool {
    match (&field.null_value, &field.kind) {
        (None, _) | (_, Kind::GeoPoint { .. }) => true,
        (Some(Value::Number(number)), Kind::Keyword { .. }) if number.is_f64() => false,
        (Some(Value::Object(_) | Value::Array(_)), _) => false,
        (Some(_), _) => convert(&Scalar::Null, field, target).is_ok(),
    }
}

/// Whether the type has the parameter `ignore_malformed`.
fn may_be_malformed(kind: &Kind, target: ServerVersion) -> bool {
    let is_boolean = *kind == Kind::Boolean && target.ignores_malformed_booleans();
    is_boolean || kind.is_number() || matches!(kind, Kind::Date(_) | Kind::DateNanos(_) | Kind::Ip) || kind.is_points()
}

/// Sets the analyser of a text or the normalizer of a keyword. `Err` is the part of it that is not
/// known.
fn set_analysis(kind: &mut Kind, name: &Value, analysis: &Analysis) -> Result<(), String> {
    let name = name.as_str().unwrap_or_default();
    match kind {
        Kind::Text { analyzer, .. } | Kind::TokenCount { analyzer, .. } => *analyzer = analysis.analyzer(name)?,
        Kind::Keyword { normalizer, .. } => *normalizer = analysis.normalizer(name)?,
        _ => return Err("this type".to_owned()),
    }
    Ok(())
}

/// Sets a parameter. `None` if it is not known.
fn set(field: &mut Field, parameter: &str, value: &Value, settings: &IndexSettings) -> Option<()> {
    let product = settings.target.product;
    let dialect = Dialect::of(settings.target);
    let number = field.kind.is_number();
    if !has_parameter(field, parameter) {
        return None;
    }
    if product == KnownProduct::OpenSearch && changes_no_file(field, parameter, value) {
        return Some(());
    }
    match (parameter, value, &mut field.kind) {
        ("eager_global_ordinals" | "split_queries_on_whitespace", Value::Bool(_), Kind::Keyword { .. }) => {}
        ("ignore_above", Value::Number(most), Kind::Keyword { ignore_above, .. }) => {
            *ignore_above = u32::try_from(most.as_u64()?).unwrap_or(u32::MAX);
        }
        // How queries are made of a text, and how hits are scored.
        ("search_analyzer" | "search_quote_analyzer", Value::String(_), Kind::Text { .. }) => {}
        ("fielddata" | "eager_global_ordinals", Value::Bool(_), Kind::Text { .. }) => {}
        ("similarity", Value::String(name), Kind::Text { .. } | Kind::Keyword { .. }) if settings.has_lengths(name) => {
        }
        ("norms", Value::Bool(norms), Kind::Text { .. } | Kind::Keyword { .. }) => field.norms = *norms,
        ("enable_position_increments", Value::Bool(is), Kind::TokenCount { gaps, .. }) => *gaps = *is,
        ("null_value", value, Kind::TokenCount { .. }) if !value.is_null() => return None,
        ("index_options", value, Kind::Keyword { .. }) if value == "docs" => {}
        ("index_options", Value::String(name), Kind::Text { options, .. }) => {
            (options.freqs, options.positions, options.offsets) = match name.as_str() {
                "docs" => (false, false, false),
                "freqs" => (true, false, false),
                "positions" => (true, true, false),
                "offsets" => (true, true, true),
                _ => return None,
            };
        }
        ("term_vector", Value::String(name), Kind::Text { options, .. }) => {
            options.vectors = vectors(name)?;
        }
        ("position_increment_gap", Value::Number(gap), Kind::Text { options, .. }) => {
            options.gap = gap.as_u64().and_then(|gap| u32::try_from(gap).ok()).filter(|gap| *gap <= 10_000)?;
        }
        ("format", Value::String(text), Kind::Date(formats) | Kind::DateNanos(formats)) => {
            *formats = Formats::parse(text, dialect)?;
        }
        // What Elasticsearch says of a new field with this format, which has no words.
        ("locale", locale, Kind::Date(formats)) if locale == "" && *formats == Formats::parse(SLASHES, dialect)? => {}
        // How dates are written.
        ("print_format", Value::String(_), Kind::Date(_) | Kind::DateNanos(_))
            if product == KnownProduct::OpenSearch => {}
        ("ignore_z_value", Value::Bool(ignore), Kind::GeoPoint { ignore_height }) => *ignore_height = *ignore,
        ("ignore_z_value", Value::Bool(ignore), Kind::GeoShape(options)) => options.ignore_height = *ignore,
        ("coerce", Value::Bool(coerce), Kind::GeoShape(options)) => options.coerce = *coerce,
        ("orientation", Value::String(name), Kind::GeoShape(options)) => options.is_right = is_right(name)?,
        ("store", Value::Bool(store), kind) if !*store || kind.can_be_stored() => field.stored = *store,
        ("index", Value::Bool(index), _) => field.indexed = *index,
        ("doc_values", Value::Bool(values), kind) if !kind.is_text() => field.doc_values = *values,
        ("null_value", Value::Null, kind) if !kind.is_text() => {}
        ("null_value", value, Kind::GeoPoint { .. }) => {
            let rules = Rules { ignore_height: true, ignore_malformed: false, null_value: None, product };
            let found = geo::points(&value.to_string(), rules).ok()?;
            (found.points.len() == 1).then_some(())?;
            field.null_value = Some(value.clone());
        }
        ("null_value", value, kind) if !kind.is_text() => field.null_value = Some(value.clone()),
        ("coerce", Value::Bool(coerce), _) if number => field.coerce = *coerce,
        ("ignore_malformed", Value::Bool(ignore), kind) if may_be_malformed(kind, settings.target) => {
            field.ignore_malformed = *ignore
        }
        _ => return None,
    }
    Some(())
}

/// Whether a field of a type with few parameters has one of this name.
fn has_parameter(field: &Field, parameter: &str) -> bool {
    match field.kind {
        Kind::Bytes { .. } => ["store", "doc_values"].contains(&parameter),
        Kind::GeoShape(_) => parameter != "null_value",
        _ if field.grams => ["null_value", "ignore_above", "doc_values"].contains(&parameter),
        _ if field.type_name == MATCH_ONLY => {
            !["norms", "index_options", "index", "store", "term_vector"].contains(&parameter)
        }
        _ => true,
    }
}

/// Whether a parameter is one of OpenSearch that changes nothing of the index: `boost` is for
/// searches, and `doc_values` of a text is left out of the mapping.
fn changes_no_file(field: &Field, parameter: &str, value: &Value) -> bool {
    match (parameter, &field.kind) {
        ("boost", Kind::Text { .. } | Kind::Keyword { .. } | Kind::Date(_) | Kind::Whole { .. }) => value.is_number(),
        ("doc_values", Kind::Text { .. }) => value.is_boolean() && field.type_name == "text",
        _ => false,
    }
}

/// What the vectors of terms have by a value of `term_vector`. There are no payloads.
fn vectors(name: &str) -> Option<Option<VectorOptions>> {
    let with = |positions, offsets| Some(Some(VectorOptions { positions, offsets }));
    match name {
        "no" => Some(None),
        "yes" => with(false, false),
        "with_positions" | "with_positions_payloads" => with(true, false),
        "with_offsets" => with(false, true),
        "with_positions_offsets" | "with_positions_offsets_payloads" => with(true, true),
        _ => None,
    }
}

fn kind(name: &str, definition: &Map<String, Value>, target: ServerVersion) -> Option<Kind> {
    let whole = |least, most, point_bytes| Kind::Whole { least, most, point_bytes };
    let opensearch = target.product == KnownProduct::OpenSearch;
    let text = |positions| Kind::Text {
        analyzer: Analyzer::STANDARD,
        options: TextOptions { freqs: positions, positions, offsets: false, gap: POSITION_GAP, vectors: None },
    };
    Some(match name {
        "keyword" => Kind::Keyword { ignore_above: u32::MAX, normalizer: Normalizer::NONE },
        WILDCARD if target.has_wildcards() => Kind::Keyword { ignore_above: u32::MAX, normalizer: Normalizer::NONE },
        "text" => text(true),
        MATCH_ONLY if opensearch => text(false),
        "long" => whole(i64::MIN, i64::MAX, 8),
        "integer" => whole(i64::from(i32::MIN), i64::from(i32::MAX), 4),
        "short" => whole(i64::from(i16::MIN), i64::from(i16::MAX), 4),
        "byte" => whole(i64::from(i8::MIN), i64::from(i8::MAX), 4),
        "unsigned_long" => Kind::Unsigned { point_bytes: if opensearch { 16 } else { 8 } },
        "double" => Kind::Double,
        "float" => Kind::Float,
        "half_float" => Kind::HalfFloat,
        "scaled_float" => Kind::Scaled(definition.get("scaling_factor")?.as_f64()?),
        "date" => Kind::Date(Formats::millis_of(Dialect::of(target))),
        "date_nanos" => Kind::DateNanos(Formats::nanos_of(Dialect::of(target))),
        "ip" => Kind::Ip,
        "boolean" => Kind::Boolean,
        "binary" => Kind::Bytes { repeats: opensearch },
        TOKEN_COUNT if opensearch => Kind::TokenCount { analyzer: Analyzer::STANDARD, gaps: true },
        "geo_point" => Kind::GeoPoint { ignore_height: true },
        "geo_shape" => Kind::GeoShape(ShapeOptions {
            coerce: false,
            is_right: true,
            ignore_height: true,
            edition: Edition::of(target)?,
        }),
        _ => return None,
    })
}
