//! The order of the documents of each segment, as the settings of an index ask for.
//!
//! Source: the documentation of `index.sort` of OpenSearch and Elasticsearch, and of
//! `org.apache.lucene.search.SortField` and its classes for what a segment says of its order.

use serde_json::{Map, Value};

use crate::fields::field::{FLAT_OBJECT, Field, JOIN, Kind, WILDCARD};
use crate::fields::target::{KnownProduct, ServerVersion, Unsupported};
use crate::formats::output::Put;

/// A field by which documents are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SortBy {
    /// Its number among the fields of the mapping.
    pub(crate) field: usize,
    name: String,
    kind: SortKind,
    /// Whether the greatest value comes first.
    pub(crate) reverse: bool,
    /// Whether the greatest of several values of a document counts, and not the least.
    pub(crate) greatest: bool,
    /// What documents without a value have.
    pub(crate) missing: i64,
    /// Whether that is the greatest value.
    missing_is_most: bool,
}

/// How the values of a field are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortKind {
    Long,
    /// Nanoseconds since 1970. Where a document without a value has the least one, that is 0 in
    /// Elasticsearch.
    Nanos,
    Int,
    Float,
    Double,
    /// By the order of the terms.
    Term,
}

impl SortKind {
    /// The kind of a field, if documents can be sorted by it here.
    fn of(field: &Field, target: ServerVersion) -> Option<SortKind> {
        match &field.kind {
            Kind::Whole { .. } if field.type_name == "long" => Some(SortKind::Long),
            Kind::Whole { .. } => SortKind::where_tested(SortKind::Int, SortKind::Int, target),
            Kind::Boolean if target.product == KnownProduct::OpenSearch => Some(SortKind::Int),
            Kind::Date(_) | Kind::Boolean => Some(SortKind::Long),
            Kind::DateNanos(_) => SortKind::where_tested(SortKind::Long, SortKind::Nanos, target),
            Kind::Double => Some(SortKind::Double),
            Kind::Float => Some(SortKind::Float),
            Kind::Keyword { .. } if [FLAT_OBJECT, JOIN, WILDCARD].contains(&field.type_name.as_str()) => None,
            Kind::Keyword { .. } => Some(SortKind::Term),
            // The servers that were asked sort no documents by these three.
            Kind::Unsigned { .. } | Kind::HalfFloat | Kind::Scaled(_) => None,
            Kind::TokenCount { .. } | Kind::Ip | Kind::Text { .. } | Kind::GeoPoint { .. } | Kind::GeoShape(_) => None,
            Kind::Bytes { .. } | Kind::Feature | Kind::Range(_) | Kind::Suggest(_) => None,
        }
    }

    /// The kind that each product takes, where a test has shown it.
    fn where_tested(opensearch: SortKind, elasticsearch: SortKind, target: ServerVersion) -> Option<SortKind> {
        match (target.product, target.version) {
            (KnownProduct::OpenSearch, _) => Some(opensearch),
            (KnownProduct::Elasticsearch, [8, 19, _]) => Some(elasticsearch),
            (KnownProduct::Elasticsearch, [9, minor, _]) if minor >= 1 => Some(elasticsearch),
            (KnownProduct::Elasticsearch, _) => None,
        }
    }

    /// The least and the greatest value, or what is beyond both.
    fn bounds(self) -> (i64, i64) {
        match self {
            SortKind::Long | SortKind::Term => (i64::MIN, i64::MAX),
            SortKind::Nanos => (0, i64::MAX),
            SortKind::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
            // Infinity, as doc values have it: negative numbers have their bits flipped.
            SortKind::Float => (i64::from(0x807f_ffff_u32 as i32), 0x7f80_0000),
            SortKind::Double => (0x800f_ffff_ffff_ffff_u64 as i64, 0x7ff0_0000_0000_0000),
        }
    }
}

impl SortBy {
    /// Reads the settings `index.sort.*`.
    ///
    /// # Errors
    ///
    /// If documents cannot be sorted so here.
    pub(crate) fn read(
        settings: &Map<String, Value>,
        fields: &[Field],
        has_nested: bool,
        target: ServerVersion,
    ) -> Result<Vec<SortBy>, Unsupported> {
        let all = |what: &str| texts(settings.get(&format!("index.sort.{what}")));
        let (names, orders, modes, missing) = (all("field"), all("order"), all("mode"), all("missing"));
        let at = |values: &[String], number: usize| values.get(number).map(|value| value.to_ascii_lowercase());
        let sorted_by = names.iter().enumerate().map(|(number, name)| {
            let unsupported = |what: &str| Unsupported { field: name.clone(), what: what.to_owned() };
            if has_nested && !keeps_nested(target) {
                return Err(unsupported("an index sort (index.sort.field) beside nested objects"));
            }
            let fits = |field: &Field| field.name == *name && field.doc_values && field.scope.is_none();
            let found = fields.iter().position(fits);
            let kind = found.and_then(|field| Some((field, SortKind::of(&fields[field], target)?)));
            let (field, kind) = kind.ok_or_else(|| unsupported("an index sort (index.sort.field) by such a field"))?;
            let reverse = at(&orders, number).is_some_and(|order| order == "desc");
            let greatest = at(&modes, number).map_or(reverse, |mode| mode == "max");
            let missing_first = at(&missing, number).is_some_and(|missing| missing == "_first");
            let missing_is_most = missing_first == reverse;
            let (least, most) = kind.bounds();
            let missing = if missing_is_most { most } else { least };
            Ok(SortBy { field, name: name.clone(), kind, reverse, greatest, missing, missing_is_most })
        });
        sorted_by.collect()
    }

    /// What a segment says of it.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let kind = match self.kind {
            SortKind::Long | SortKind::Nanos => "LONG",
            SortKind::Int => "INT",
            SortKind::Float => "FLOAT",
            SortKind::Double => "DOUBLE",
            SortKind::Term => {
                out.put_string("SortedSetSortField");
                out.put_string(&self.name);
                out.put_u32(self.reverse.into());
                out.put_u32(self.greatest.into());
                out.put_u32(if self.missing_is_most { 2 } else { 1 });
                return out;
            }
        };
        out.put_string("SortedNumericSortField");
        out.put_string(&self.name);
        out.put_string(kind);
        out.put_u32(self.reverse.into());
        out.put_u32(self.greatest.into());
        // Documents without a value have one.
        out.put_u32(1);
        match self.kind {
            SortKind::Int | SortKind::Float => out.put_i32(self.missing as i32),
            SortKind::Long | SortKind::Nanos | SortKind::Double | SortKind::Term => out.put_i64(self.missing),
        }
        out
    }
}

/// Whether the server sorts documents with nested objects.
fn keeps_nested(target: ServerVersion) -> bool {
    target.product == KnownProduct::Elasticsearch || target.version >= [3, 3, 0]
}

/// A setting that is a text or several.
fn texts(setting: Option<&Value>) -> Vec<String> {
    match setting {
        Some(Value::String(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Mapping;

    fn sorted(settings: Value, product: KnownProduct, version: [u32; 3]) -> Result<Vec<SortBy>, String> {
        let mapping = json!({"properties": {"n": {"type": "long"}, "i": {"type": "integer"}, "tag": {"type": "keyword"},
            "x": {"type": "double"}, "h": {"type": "half_float"}, "u": {"type": "unsigned_long"},
            "s": {"type": "scaled_float", "scaling_factor": 10}, "bare": {"type": "long", "doc_values": false},
            "nanos": {"type": "date_nanos"}}});
        let target = ServerVersion { product, version, lucene: [10, 4, 0] };
        let mapping = Mapping::with_settings(&mapping, settings.as_object().unwrap(), target);
        mapping.map(|mapping| mapping.sort).map_err(|unsupported| unsupported.to_string())
    }

    #[test]
    fn settings_are_read_as_the_servers_do() {
        let of = |settings| sorted(settings, KnownProduct::OpenSearch, [3, 6, 0]).unwrap();
        assert_eq!(of(json!({})), []);
        let [n] = of(json!({"index.sort.field": "n"})).try_into().unwrap();
        assert_eq!((n.reverse, n.greatest, n.missing), (false, false, i64::MAX));
        let [tag, x] = of(json!({"index.sort.field": ["tag", "x"], "index.sort.order": ["desc", "asc"],
            "index.sort.mode": ["min", "max"], "index.sort.missing": ["_last", "_first"]}))
        .try_into()
        .unwrap();
        // The last place is that of the least value where the greatest comes first.
        assert_eq!((tag.kind, tag.reverse, tag.greatest, tag.missing), (SortKind::Term, true, false, i64::MIN));
        assert_eq!((x.kind, x.greatest, x.missing_is_most), (SortKind::Double, true, false));
        assert_eq!(f64::from_bits((x.missing ^ i64::MAX) as u64), f64::NEG_INFINITY);
        let [desc] = of(json!({"index.sort.field": "n", "index.sort.order": "desc"})).try_into().unwrap();
        assert!(desc.greatest);
    }

    #[test]
    fn nanoseconds_are_whole_numbers() {
        for (product, version, least) in [
            (KnownProduct::OpenSearch, [2, 19, 6], Some(i64::MIN)),
            (KnownProduct::Elasticsearch, [8, 19, 21], Some(0)),
            (KnownProduct::Elasticsearch, [9, 1, 5], Some(0)),
            (KnownProduct::Elasticsearch, [8, 18, 0], None),
            (KnownProduct::Elasticsearch, [9, 0, 0], None),
        ] {
            let of = |order: &str, missing: &str| {
                let settings =
                    json!({"index.sort.field": "nanos", "index.sort.order": order, "index.sort.missing": missing});
                sorted(settings, product, version).ok().map(|sort| sort.into_iter().next().unwrap())
            };
            let missing = |order, missing| of(order, missing).map(|by| by.missing);
            let most = least.map(|_| i64::MAX);
            assert_eq!([missing("asc", "_first"), missing("asc", "_last")], [least, most], "{product:?} {version:?}");
            assert_eq!([missing("desc", "_first"), missing("desc", "_last")], [most, least], "{product:?} {version:?}");
            let Some(by) = of("desc", "_last") else { continue };
            let mut expected = Vec::new();
            ["SortedNumericSortField", "nanos", "LONG"].iter().for_each(|text| expected.put_string(text));
            [1, 1, 1].iter().for_each(|number| expected.put_u32(*number));
            expected.put_i64(by.missing);
            assert_eq!(by.encoded(), expected);
        }
    }

    #[test]
    fn what_cannot_be_sorted_is_named() {
        let of = |field: &str, product, version| sorted(json!({"index.sort.field": field}), product, version);
        for field in ["h", "u", "s", "bare", "none"] {
            let error = of(field, KnownProduct::OpenSearch, [3, 6, 0]).unwrap_err();
            assert!(error.contains("index.sort.field") && error.contains(field), "{error}");
        }
        assert_eq!(of("i", KnownProduct::OpenSearch, [2, 19, 0]).unwrap()[0].kind, SortKind::Int);
        assert_eq!(of("i", KnownProduct::Elasticsearch, [8, 19, 3]).unwrap()[0].kind, SortKind::Int);
        assert!(of("i", KnownProduct::Elasticsearch, [9, 0, 0]).is_err());
        let nested = json!({"properties": {"n": {"type": "long"}, "o": {"type": "nested"}}});
        let settings = json!({"index.sort.field": "n"});
        for (version, expected) in [([3, 6, 0], true), ([2, 19, 0], false)] {
            let target = ServerVersion { product: KnownProduct::OpenSearch, version, lucene: [9, 12, 0] };
            let found = Mapping::with_settings(&nested, settings.as_object().unwrap(), target);
            assert_eq!(found.is_ok(), expected);
        }
    }
}
