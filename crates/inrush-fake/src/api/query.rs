//! Queries against single documents.

use serde_json::Value;

use crate::error::ServerError;
use crate::model::Document;

/// The value of a field by its dotted path. `.keyword` is the text itself.
pub(super) fn value_of<'a>(source: &'a Value, field: &str) -> Option<&'a Value> {
    let field = field.strip_suffix(".keyword").unwrap_or(field);
    if let Some(value) = source.get(field) {
        return Some(value);
    }
    field.split('.').try_fold(source, |value, part| value.get(part))
}

/// The values of a field: the elements of an array, none for null or a missing field.
pub(super) fn values_of<'a>(source: &'a Value, field: &str) -> Vec<&'a Value> {
    match value_of(source, field) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(value) => vec![value],
    }
}

/// A value as text.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// True if a document matches a query: `match_all`, `match_none`, `ids`, `term`, `terms`, `exists`,
/// `match` of whole values, `range` of `_seq_no`, and `bool` of these.
///
/// # Errors
///
/// 400 `parsing_exception` for any other query.
pub(super) fn matches(query: &Value, document: &Document, source: &Value) -> Result<bool, ServerError> {
    let id = document.id.as_str();
    let unknown = |name: &str| ServerError::new(400, "parsing_exception", format!("unknown query [{name}]"));
    let Some((name, options)) = query.as_object().and_then(|object| object.iter().next()) else {
        return Err(unknown(""));
    };
    let field_and_value = || options.as_object().and_then(|object| object.iter().next());
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(match name.as_str() {
        "match_all" => true,
        "match_none" => false,
        "ids" => list(options.get("values")).iter().any(|one| as_text(one) == id),
        "range" => match field_and_value() {
            Some((field, range)) if field == "_seq_no" => {
                let bound = |name: &str| range.get(name).and_then(Value::as_i64);
                let seq_no = i64::try_from(document.seq_no).unwrap_or(i64::MAX);
                bound("gt").is_none_or(|bound| seq_no > bound)
                    && bound("gte").is_none_or(|bound| seq_no >= bound)
                    && bound("lt").is_none_or(|bound| seq_no < bound)
                    && bound("lte").is_none_or(|bound| seq_no <= bound)
            }
            _ => return Err(unknown("range of anything but _seq_no")),
        },
        "exists" => {
            options.get("field").and_then(Value::as_str).is_some_and(|field| !values_of(source, field).is_empty())
        }
        "term" | "match" => field_and_value().is_some_and(|(field, wanted)| {
            let wanted = as_text(wanted.get("value").or_else(|| wanted.get("query")).unwrap_or(wanted));
            if field == "_id" {
                wanted == id
            } else {
                values_of(source, field).into_iter().any(|value| as_text(value) == wanted)
            }
        }),
        "terms" => field_and_value().is_some_and(|(field, wanted)| {
            let wanted: Vec<String> = list(Some(wanted)).iter().map(as_text).collect();
            if field == "_id" {
                wanted.iter().any(|one| one == id)
            } else {
                values_of(source, field).into_iter().any(|value| wanted.contains(&as_text(value)))
            }
        }),
        "bool" => return matches_bool(options, document, source),
        other => return Err(unknown(other)),
    })
}

/// True if a document matches a `bool` query: all of `must` and `filter`, none of `must_not`, and
/// one of `should` if there is any.
fn matches_bool(options: &Value, document: &Document, source: &Value) -> Result<bool, ServerError> {
    let clauses = |key: &str| match options.get(key) {
        Some(Value::Array(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    for clause in clauses("must").iter().chain(&clauses("filter")) {
        if !matches(clause, document, source)? {
            return Ok(false);
        }
    }
    for clause in &clauses("must_not") {
        if matches(clause, document, source)? {
            return Ok(false);
        }
    }
    let should = clauses("should");
    let mut any = should.is_empty();
    for clause in &should {
        any |= matches(clause, document, source)?;
    }
    Ok(any)
}
