//! The types of fields that rows are written for.

use serde_json::Value;

/// How a field of the target takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Whole numbers. The server indexes only the whole part of a fraction.
    Whole,
    /// Numbers with fractions.
    Fraction,
    /// Dates in a format with a blank between date and time, and without ISO 8601.
    SpacedDate,
    /// Bytes in base64.
    Binary,
    /// Strings.
    Text,
}

/// The type by the definition of a field in a mapping.
pub(super) fn field_type(field: &Value) -> Option<FieldType> {
    let text = |name: &str| field.get(name).and_then(Value::as_str);
    match text("type")? {
        "long" | "integer" | "short" | "byte" | "unsigned_long" => Some(FieldType::Whole),
        "double" | "float" | "half_float" | "scaled_float" => Some(FieldType::Fraction),
        "date" | "date_nanos" if text("format").is_some_and(is_spaced) => Some(FieldType::SpacedDate),
        "binary" => Some(FieldType::Binary),
        "keyword" | "constant_keyword" | "counted_keyword" | "wildcard" | "version" => Some(FieldType::Text),
        "text" | "match_only_text" | "annotated_text" | "search_as_you_type" | "semantic_text" | "completion" => {
            Some(FieldType::Text)
        }
        _ => None,
    }
}

/// Whether a format of dates takes a blank between date and time, and no `T`. Formats with a name,
/// such as `strict_date_optional_time`, have the `T`.
fn is_spaced(format: &str) -> bool {
    let takes_t = |part: &str| part.contains("'T'") || part.contains('_') && !part.starts_with("epoch_");
    let mut parts = format.split("||").map(str::trim);
    parts.clone().any(|part| part.contains(' ')) && !parts.any(|part| takes_t(part) || part == "iso8601")
}

#[cfg(test)]
mod tests {
    use super::is_spaced;

    #[test]
    fn formats_with_a_blank_that_take_no_t() {
        for spaced in [
            "yyyy-MM-dd HH:mm:ss",
            "yyyy-MM-dd HH:mm:ss||yyyy-MM-dd",
            "uuuu-MM-dd HH:mm:ss.SSS || epoch_millis",
            "dd/MM/yyyy HH:mm",
        ] {
            assert!(is_spaced(spaced), "{spaced}");
        }
        for other in [
            "strict_date_optional_time||epoch_millis",
            "yyyy-MM-dd HH:mm:ss||strict_date_optional_time",
            "yyyy-MM-dd HH:mm:ss||yyyy-MM-dd'T'HH:mm:ss",
            "yyyy-MM-dd HH:mm:ss||iso8601",
            "yyyyMMdd",
            "epoch_second",
        ] {
            assert!(!is_spaced(other), "{other}");
        }
    }
}
