//! Features, which are terms with a weight: fields of the types `rank_feature` and `rank_features`.
//!
//! Source: the documentation of these types in OpenSearch, and that of
//! `org.apache.lucene.document.FeatureField`, which says what stands for a weight.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::composed::{Feature, ONE, SEVERAL};
use crate::fields::convert::Indexable;
use crate::fields::document::Walk;
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::refused::{Refused, TERM_MAX};
use crate::fields::values;

/// Bits of a weight that are not kept.
const LOST_BITS: u32 = 15;

impl Feature {
    fn wrong(&self, expected: &'static str) -> Refused {
        let type_name = if self.is_object { SEVERAL } else { ONE };
        Refused::Value { field: self.name.clone(), type_name: type_name.to_owned(), expected }
    }

    /// What stands for a value; none if that is no positive number.
    fn weight(&self, value: &Scalar) -> Option<u32> {
        let value = values::float_of(values::float(value, true)?);
        let weight = if self.is_positive { value } else { 1.0 / value };
        (weight.is_finite() && weight >= f32::MIN_POSITIVE).then(|| weight.to_bits() >> LOST_BITS)
    }
}

impl<'a> Walk<'a, '_> {
    /// A feature, or an object of some.
    pub(super) fn feature(&mut self, feature: &Feature) -> Result<(), Refused> {
        match (self.reader.peek(), feature.is_object) {
            (b'[', _) => self.each(|walk| walk.feature(feature)),
            (b'{', true) => self.features(feature),
            (_, true) => Err(feature.wrong("an object")),
            (b'{', false) => Err(feature.wrong("a positive number")),
            (b'n', false) => Ok(self.reader.skip()?),
            (_, false) => self.add_feature(feature, Cow::Owned(feature.name.clone())),
        }
    }

    fn features(&mut self, feature: &Feature) -> Result<(), Refused> {
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            if !names.insert(name.clone()) {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            match self.reader.peek() {
                b'{' | b'[' => return Err(feature.wrong("numbers only")),
                b'n' => self.reader.skip()?,
                _ => self.add_feature(feature, name)?,
            }
        }
        Ok(())
    }

    fn add_feature(&mut self, feature: &Feature, term: Cow<'a, str>) -> Result<(), Refused> {
        let weight = feature.weight(&self.reader.scalar()?).ok_or_else(|| feature.wrong("a positive number"))?;
        let values = &mut self.document.values;
        let is_it = |value: &Indexable| matches!(value, Indexable::Feature(other, _) if *other == term);
        if values.iter().any(|(number, value)| *number == feature.number && is_it(value)) {
            return Err(feature.wrong("one value of a feature"));
        }
        if term.len() > TERM_MAX {
            let name = self.mapping.fields[feature.number].name.clone();
            self.document.refused.get_or_insert(Refused::ImmenseTerm(name));
            return Ok(());
        }
        values.push((feature.number, Indexable::Feature(term, weight)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fields::convert::Indexable;
    use crate::fields::document::{Habits, read};
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const TARGET: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

    fn parse(fields: &Value) -> Result<Mapping, String> {
        Mapping::parse(&json!({"dynamic": "strict", "properties": fields}), TARGET).map_err(|error| error.what)
    }

    fn found(source: &str) -> Result<Vec<String>, Refused> {
        let fields = json!({"r": {"type": "rank_feature"}, "o.less": {"type": "rank_feature", "positive_score_impact": false},
            "f": {"type": "rank_features"}});
        let mapping = parse(&fields).unwrap();
        let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
        let shown = |(number, value): &(usize, Indexable)| match value {
            Indexable::Feature(term, weight) => {
                format!("{}:{term}={}", mapping.fields[*number].name, f32::from_bits(weight << 15))
            }
            other => panic!("{other:?}"),
        };
        document.refused.map_or_else(|| Ok(document.values.iter().map(shown).collect()), Err)
    }

    #[test]
    fn features_are_terms_with_a_weight() {
        for (source, expected) in [
            (r#"{"r":8}"#, vec!["_feature:r=8"]),
            (r#"{"r":"0x1p3","o":{"less":4}}"#, vec!["_feature:r=8", "_feature:o.less=0.25"]),
            (r#"{"r":[1.00001]}"#, vec!["_feature:r=1"]),
            (r#"{"r":[null,[]]}"#, vec![]),
            (r#"{"f":{"a":1,"":"2","b.c":null}}"#, vec!["f:a=1", "f:=2"]),
            (r#"{"f":[{"a":1},[{"b":2},{}]]}"#, vec!["f:a=1", "f:b=2"]),
        ] {
            assert_eq!(found(source).unwrap(), expected, "{source}");
        }
    }

    #[test]
    fn what_is_no_feature_is_refused() {
        for source in [
            r#"{"r":0}"#,
            r#"{"r":-1}"#,
            r#"{"r":"NaN"}"#,
            r#"{"r":""}"#,
            r#"{"r":true}"#,
            r#"{"r":1e-38}"#,
            r#"{"r":1e39}"#,
            r#"{"r":{}}"#,
            r#"{"r":[1,2]}"#,
            r#"{"o":{"less":0}}"#,
            r#"{"o":{"less":1e38}}"#,
            r#"{"f":null}"#,
            r#"{"f":1}"#,
            r#"{"f":[null]}"#,
            r#"{"f":{"a":true}}"#,
            r#"{"f":{"a":[1]}}"#,
            r#"{"f":[{"a":1},{"a":2}]}"#,
        ] {
            assert!(matches!(found(source), Err(Refused::Value { .. })), "{source}");
        }
        let long = |bytes: usize| found(&format!(r#"{{"f":{{"{}":1}}}}"#, "x".repeat(bytes))).map(drop);
        assert_eq!((long(32_766), long(32_767)), (Ok(()), Err(Refused::ImmenseTerm("f".to_owned()))));
    }

    #[test]
    fn what_only_a_server_builds_is_named() {
        let of = |definition: Value| parse(&json!({ "f": definition })).err();
        assert_eq!(of(json!({"type": "rank_features", "positive_score_impact": "true", "meta": {"a": "b"}})), None);
        for parameter in ["copy_to", "fields", "index"] {
            let what = of(json!({"type": "rank_feature", parameter: "x"}));
            assert_eq!(what, Some(format!("the parameter {parameter:?}")));
        }
        assert!(of(json!({"type": "keyword", "fields": {"r": {"type": "rank_feature"}}})).is_some());
        let nested =
            |parameter: &str| json!({"type": "nested", parameter: true, "properties": {"r": {"type": "rank_feature"}}});
        assert_eq!((of(nested("dynamic")), of(nested("include_in_root")).is_some()), (None, true));
        let elasticsearch =
            ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 0], lucene: [9, 12, 2] };
        let fields = json!({"properties": {"f": {"type": "rank_feature"}}});
        assert!(Mapping::parse(&fields, elasticsearch).is_err());
    }
}
