//! Ranges of numbers, dates and addresses, in fields of the types such as `integer_range`.
//!
//! Source: the documentation of the range types in OpenSearch and Elasticsearch, and the indices
//! that these make.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::composed::Range;
use crate::fields::convert::{Indexable, convert, text};
use crate::fields::dates::Formats;
use crate::fields::document::Walk;
use crate::fields::field::{Field, Kind};
use crate::fields::json::{NO_DUPLICATE, Scalar};
use crate::fields::refused::Refused;
use crate::fields::target::{KnownProduct, ServerVersion};
use crate::fields::values::{double_of, float_of, sortable_double};

/// What a member of a range is.
fn member(name: &str) -> Option<(usize, bool)> {
    match name {
        "gt" => Some((0, true)),
        "gte" => Some((0, false)),
        "lt" => Some((1, true)),
        "lte" => Some((1, false)),
        _ => None,
    }
}

/// Why there is no end.
enum NoEnd {
    /// The document is refused in any case.
    Refused(Refused),
    /// Unless malformed values are ignored.
    Malformed,
}

/// How the servers read a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// A member that is null says nothing, and there is one for each end at most.
    EachOnce,
    /// The last member counts, also one that is null for whether the end is in the range. With
    /// `next`, an end that is absent and not in the range is the neighbour of the last one.
    LastOne { next: bool },
    /// Not known.
    Unknown,
}

impl Reading {
    fn of(target: ServerVersion) -> Self {
        let [major, minor, _] = target.version;
        match (target.product, major) {
            (KnownProduct::OpenSearch, 3) if minor >= 6 => Self::EachOnce,
            (KnownProduct::OpenSearch, 2) if minor == 19 => Self::LastOne { next: false },
            (KnownProduct::Elasticsearch, 8) if minor >= 19 => Self::LastOne { next: true },
            (KnownProduct::Elasticsearch, 9) if minor >= 1 => Self::LastOne { next: true },
            _ => Self::Unknown,
        }
    }
}

impl<'a> Walk<'a, '_> {
    /// A range, or an array of some.
    pub(super) fn range(&mut self, number: usize) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.range(number)),
            b'n' => Ok(self.reader.skip()?),
            _ => self.one_range(number).map_err(|refused| match refused {
                // OpenSearch goes on with the members of the range as if they were others.
                Refused::Value { .. } if self.mapping.fields[number].ignore_malformed => {
                    self.unsupported_range(number, "a malformed range")
                }
                refused => refused,
            }),
        }
    }

    fn one_range(&mut self, number: usize) -> Result<(), Refused> {
        let field = &self.mapping.fields[number];
        let Kind::Range(bound) = &field.kind else { return self.values(&[number]) };
        let found = match self.reader.peek() {
            b'{' => self.range_of_ends(number, bound)?,
            b'"' if bound.kind == Kind::Ip => match self.reader.scalar()? {
                Scalar::Text(text) => {
                    cidr(&text, bound, self.mapping.target).map_err(|what| self.unsupported_range(number, what))?
                }
                _ => None,
            },
            _ => return Err(self.wrong(number, "an object with the ends of a range")),
        };
        match found {
            Some(range) => self.push(number, Indexable::Range(Box::new(range))),
            None if field.ignore_malformed => self.document.ignored.push(number),
            None => return Err(self.wrong(number, "the ends of a range")),
        }
        Ok(())
    }

    fn unsupported_range(&self, number: usize, what: &str) -> Refused {
        Refused::Unsupported(format!("{what} in the field {:?}", self.mapping.fields[number].name))
    }

    /// The range of an object; none if an end is malformed.
    fn range_of_ends(&mut self, number: usize, bound: &Field) -> Result<Option<Range>, Refused> {
        let reading = Reading::of(self.mapping.target);
        let (mut ends, mut is_open, mut is_malformed) = ([None; 2], [false; 2], false);
        self.reader.open(b'{')?;
        let mut names = HashSet::new();
        while self.reader.more(names.is_empty(), b'}')? {
            let name = self.reader.name()?;
            if !names.insert(name.clone()) {
                return self.reader.malformed(NO_DUPLICATE).map_err(Refused::from);
            }
            let (member, is_null) = (member(&name), self.reader.peek() == b'n');
            if is_null && reading == Reading::EachOnce {
                self.reader.skip()?;
                continue;
            }
            let Some((side, open)) = member else {
                let expected = "no members but `gt`, `gte`, `lt` and `lte`";
                return Err(match (is_null, reading) {
                    (true, Reading::Unknown) => self.unsupported_range(number, "a range with null"),
                    _ => self.wrong(number, expected),
                });
            };
            let is_unknown = reading == Reading::Unknown && (is_null || ends[side].is_some());
            if is_unknown {
                return Err(self.unsupported_range(number, "a range with null or with two members for an end"));
            }
            if reading == Reading::EachOnce && ends[side].is_some() {
                return Err(self.wrong(number, "one member for each end"));
            }
            is_open[side] = open;
            if is_null {
                self.reader.skip()?;
                continue;
            }
            if matches!(self.reader.peek(), b'{' | b'[') {
                return Err(self.wrong(number, "ends of the type of the range"));
            }
            let scalar = self.reader.scalar()?;
            match end(&scalar, bound, (side, open), self.mapping.target) {
                Ok(end) => ends[side] = Some(end),
                Err(NoEnd::Malformed) if !self.mapping.fields[number].ignore_malformed => {
                    return Err(self.wrong(number, "ends of the type of the range"));
                }
                Err(NoEnd::Malformed) => is_malformed = true,
                Err(NoEnd::Refused(refused)) => return Err(refused),
            }
        }
        if is_malformed {
            return Ok(None);
        }
        let next = reading == Reading::LastOne { next: true };
        let last = |side: usize| last(bound, side, next && is_open[side]);
        let ends = [ends[0].unwrap_or_else(|| last(0)), ends[1].unwrap_or_else(|| last(1))];
        // Lucene looks at that only of what it indexes.
        if self.mapping.fields[number].indexed && is_less(ends[1], ends[0], bound) {
            return Err(self.wrong(number, "an end that is not before the beginning"));
        }
        Ok(Some(Range { ends, is_open }))
    }
}

/// The number without a sign that sorts as this one among points of the field.
fn sortable(number: i64, bound: &Field) -> u128 {
    match bound.kind.point().0 {
        4 => u128::from(number as u32 ^ 1 << 31),
        _ => u128::from(number as u64 ^ 1 << 63),
    }
}

/// The end that stands for none: the last value of the type, or its neighbour.
fn last(bound: &Field, side: usize, is_next: bool) -> u128 {
    let is_upper = side == 1;
    let infinity = if is_upper { f64::INFINITY } else { f64::NEG_INFINITY };
    let last = match &bound.kind {
        Kind::Ip => return if is_upper { u128::MAX - u128::from(is_next) } else { u128::from(is_next) },
        Kind::Float => i64::from(f32_bits(infinity as f32)),
        Kind::Double => sortable_double(infinity),
        Kind::Whole { least, most, .. } => {
            if is_upper {
                *most
            } else {
                *least
            }
        }
        _ => {
            if is_upper {
                i64::MAX
            } else {
                i64::MIN
            }
        }
    };
    sortable(if is_upper { last - i64::from(is_next) } else { last + i64::from(is_next) }, bound)
}

/// The number that sorts as a decimal.
fn f32_bits(number: f32) -> i32 {
    let bits = number.to_bits() as i32;
    bits ^ (bits >> 31 & i32::MAX)
}

/// Whether an end is before another one. Zeros are equal.
fn is_less(end: u128, other: u128, bound: &Field) -> bool {
    let number = |end: u128| match bound.kind {
        Kind::Float => f64::from(float_of(i64::from((end as u32 ^ 1 << 31) as i32))),
        _ => double_of((end as u64 ^ 1 << 63) as i64),
    };
    match bound.kind {
        Kind::Float | Kind::Double => number(end) < number(other),
        _ => end < other,
    }
}

/// An end of a range.
fn end(scalar: &Scalar, bound: &Field, (side, open): (usize, bool), target: ServerVersion) -> Result<u128, NoEnd> {
    let wrong = |expected| {
        NoEnd::Refused(Refused::Value { field: bound.name.clone(), type_name: bound.type_name.clone(), expected })
    };
    if let Kind::Date(formats) = &bound.kind {
        let millis = millis(&text(scalar), formats, side == usize::from(!open), target);
        let millis = millis
            .map_err(|what| NoEnd::Refused(Refused::Unsupported(format!("{what} in the field {:?}", bound.name))))?
            .ok_or_else(|| wrong("dates of its formats"))?;
        return Ok(sortable(neighbour(millis, side, open, bound), bound));
    }
    match convert(scalar, bound, target) {
        Ok(Some(Indexable::Number(number))) => Ok(sortable(neighbour(number, side, open, bound), bound)),
        Ok(Some(Indexable::Address(address))) => {
            let next = if side == 0 { address.checked_add(1) } else { address.checked_sub(1) };
            if open { next.ok_or_else(|| wrong("an address that is not the last one")) } else { Ok(address) }
        }
        Err(Refused::Unsupported(what)) => Err(NoEnd::Refused(Refused::Unsupported(what))),
        // Of these the servers say something else than of other malformed ends.
        _ if matches!(scalar, Scalar::Bool(_)) && bound.kind != Kind::Ip => Err(wrong("numbers")),
        _ if matches!((scalar, &bound.kind), (Scalar::Number(_), Kind::Whole { .. })) && bound.ignore_malformed => {
            Err(NoEnd::Refused(Refused::Unsupported(format!("a malformed number in the field {:?}", bound.name))))
        }
        _ => Err(NoEnd::Malformed),
    }
}

/// The value itself, or the next one in the range, if it is not in it. Java counts on from the last
/// whole number with the first one.
fn neighbour(number: i64, side: usize, open: bool, bound: &Field) -> i64 {
    match (&bound.kind, side, open) {
        (_, _, false) => number,
        // There is no number between the zeros.
        (Kind::Float | Kind::Double, 0, true) => {
            if number == -1 {
                1
            } else {
                number + 1
            }
        }
        (Kind::Float | Kind::Double, _, true) => {
            if number == 0 {
                -2
            } else {
                number - 1
            }
        }
        (Kind::Whole { point_bytes: 4, .. }, 0, true) => i64::from((number as i32).wrapping_add(1)),
        (Kind::Whole { point_bytes: 4, .. }, _, true) => i64::from((number as i32).wrapping_sub(1)),
        (_, 0, true) => number.wrapping_add(1),
        (_, _, true) => number.wrapping_sub(1),
    }
}

/// The milliseconds of a date; none if it is no date. Elasticsearch fills the time up of one that
/// is an `is_late` end.
fn millis(text: &str, formats: &Formats, is_late: bool, target: ServerVersion) -> Result<Option<i64>, &'static str> {
    if text.starts_with("now") || text.is_empty() {
        return Ok(None);
    }
    if text.contains("||") {
        return Err("a date with arithmetic");
    }
    let moment = if is_late && target.product == KnownProduct::Elasticsearch {
        formats.last_moment(text)?
    } else {
        match (formats.moment(text), formats.only_of_a_server(text)) {
            (None, Some(what)) => return Err(what),
            (moment, _) => moment,
        }
    };
    match moment.map(|moment| moment.millis) {
        Some(i64::MIN | i64::MAX) => Err("the last date"),
        millis => Ok(millis),
    }
}

/// The addresses with some bits in common, such as `10.0.0.0/8`; none if the text is no such thing.
fn cidr(text: &str, bound: &Field, target: ServerVersion) -> Result<Option<Range>, &'static str> {
    // Java leaves out what is empty at the end.
    let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
    let [address, bits] = parts[..] else { return Ok(None) };
    let found = match convert(&Scalar::Text(Cow::Borrowed(address)), bound, target) {
        Ok(Some(Indexable::Address(found))) => found,
        Err(Refused::Unsupported(_)) => return Err("a text that is nearly an address"),
        _ => return Ok(None),
    };
    let is_short = found >> 32 == 0xffff;
    if is_short && address.contains(':') {
        return Ok(None);
    }
    let before = if is_short { 96 } else { 0 };
    let digits = bits.strip_prefix(['+', '-']).unwrap_or(bits);
    if !bits.is_ascii() {
        return Err("digits that are none of ASCII");
    }
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| bits.parse::<i32>().ok()).flatten();
    let Some(bits) = number.and_then(|bits| u32::try_from(bits).ok()).filter(|bits| bits + before <= 128) else {
        return Ok(None);
    };
    let rest = u128::MAX.checked_shr(bits + before).unwrap_or(0);
    Ok(Some(Range { ends: [found & !rest, found | rest], is_open: [false; 2] }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Range;
    use crate::fields::convert::Indexable;
    use crate::fields::document::{Habits, read};
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const OPENSEARCH: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
    const ELASTICSEARCH: ServerVersion =
        ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 21], lucene: [9, 12, 2] };

    fn mapping(fields: &Value, target: ServerVersion) -> Mapping {
        Mapping::parse(&json!({"dynamic": "strict", "properties": fields}), target).unwrap()
    }

    fn one(definition: &Value, value: &str, target: ServerVersion) -> Result<Option<Range>, Refused> {
        let mapping = mapping(&json!({ "r": definition }), target);
        let source = format!("{{\"r\":{value}}}");
        let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
        Ok(document.values.first().map(|(_, value)| match value {
            Indexable::Range(range) => **range,
            other => panic!("{other:?}"),
        }))
    }

    fn ends(kind: &str, value: &str, target: ServerVersion) -> [u128; 2] {
        one(&json!({ "type": kind }), value, target).unwrap().unwrap().ends
    }

    fn whole(number: i64) -> u128 {
        u128::from(number as u64 ^ 1 << 63)
    }

    #[test]
    fn ends_are_those_that_are_in_the_range() {
        let wholes = |value, target| ends("long_range", value, target);
        for target in [OPENSEARCH, ELASTICSEARCH] {
            assert_eq!(wholes(r#"{"gte":1,"lt":9}"#, target), [whole(1), whole(8)]);
            assert_eq!(wholes(r#"{"gt":"1.5","lte":null}"#, target), [whole(2), whole(i64::MAX)]);
            assert_eq!(wholes(r#"{}"#, target), [whole(i64::MIN), whole(i64::MAX)]);
            let integers = ends("integer_range", r#"{"gt":-1,"lte":2147483647}"#, target);
            assert_eq!(integers, [1 << 31, u128::from(u32::MAX)]);
            assert_eq!(ends("float_range", r#"{"gt":-1e-45}"#, target)[0], (1 << 31) - 1);
            assert_eq!(ends("float_range", r#"{"lt":0}"#, target)[1], (1 << 31) - 2);
            assert_eq!(ends("double_range", r#"{"gt":0.0}"#, target)[0], whole(1));
            assert_eq!(ends("double_range", r#"{"lt":5e-324}"#, target)[1], whole(0));
            let all = 0xffff_0000_0000;
            assert_eq!(ends("ip_range", r#"{"gt":"0.0.0.1","lt":"0.0.0.9"}"#, target), [all + 2, all + 8]);
            assert_eq!(ends("ip_range", r#""10.1.2.3/8""#, target), [all + (10 << 24), all + (11 << 24) - 1]);
            assert_eq!(ends("ip_range", r#""1::2/128""#, target), [(1 << 112) + 2; 2]);
            assert_eq!(ends("ip_range", r#""::/0""#, target), [0, u128::MAX]);
        }
        // A `gt` of null says nothing, or that the least number is not in the range.
        assert_eq!(wholes(r#"{"gt":null,"lt":0}"#, OPENSEARCH), [whole(i64::MIN), whole(-1)]);
        assert_eq!(wholes(r#"{"gt":null,"lt":0}"#, ELASTICSEARCH), [whole(i64::MIN + 1), whole(-1)]);
        assert_eq!(wholes(r#"{"gt":1,"gte":5}"#, ELASTICSEARCH), [whole(5), whole(i64::MAX)]);
    }

    #[test]
    fn dates_at_the_ends_are_filled_up_in_elasticsearch() {
        const DAY: i64 = 86_400_000;
        let dates = |format: &str, value: &str, target| {
            let found = one(&json!({"type": "date_range", "format": format}), value, target);
            found.map(|range| range.unwrap().ends.map(|end| (end as u64 ^ 1 << 63) as i64))
        };
        let default = "strict_date_optional_time||epoch_millis";
        let days = r#"{"gte":"1970-01-02","lte":"1970-01-02"}"#;
        assert_eq!(dates(default, days, OPENSEARCH), Ok([DAY, DAY]));
        assert_eq!(dates(default, days, ELASTICSEARCH), Ok([DAY, 2 * DAY - 1]));
        let between = r#"{"gt":"1970-01-02","lt":"1970-01-04"}"#;
        assert_eq!(dates(default, between, OPENSEARCH), Ok([DAY + 1, 3 * DAY - 1]));
        assert_eq!(dates(default, between, ELASTICSEARCH), Ok([2 * DAY, 3 * DAY - 1]));
        for (format, end, expected) in [
            (default, r#""1970-01-01T01""#, 2 * 3_600_000 - 1),
            (default, r#""1970-01-01T00:00:01.5Z""#, 1500),
            (default, r#""1970-01-01T00:00:01+01:00""#, 1999 - 3_600_000),
            (default, r#""1970""#, DAY - 1),
            (default, "15000", 15000),
            ("epoch_second", "1", 1999),
            ("yyyy-MM", r#""1970-02""#, 32 * DAY - 1),
            ("yyyy-MM-dd HH:mm:ss", r#""1970-01-01 00:00:01""#, 1999),
            ("strict_date", r#""1970-01-01""#, DAY - 1),
        ] {
            let value = format!("{{\"lte\":{end}}}");
            assert_eq!(dates(format, &value, ELASTICSEARCH).map(|ends| ends[1]), Ok(expected), "{format} {end}");
        }
        for (format, value) in [
            (default, r#"{"lte":"1970-01-01||+1d"}"#),
            (default, r#"{"lte":-5}"#),
            ("yyyy-DDD", r#"{"lte":"1970-001"}"#),
            ("HH:mm", r#"{"lte":"12:00"}"#),
        ] {
            let found = dates(format, value, ELASTICSEARCH);
            assert!(matches!(found, Err(Refused::Unsupported(_))), "{format} {value}");
        }
    }

    #[test]
    fn what_the_servers_refuse() {
        for (kind, value) in [
            ("long_range", "5"),
            ("long_range", r#""5""#),
            ("long_range", r#"{"gte":5,"lte":4}"#),
            ("long_range", r#"{"gte":"x"}"#),
            ("long_range", r#"{"gte":true}"#),
            ("long_range", r#"{"gte":[1]}"#),
            ("long_range", r#"{"from":1}"#),
            ("integer_range", r#"{"gt":2147483648}"#),
            ("long_range", r#"{"gt":9223372036854775807,"lte":-9223372036854775808,"x":1}"#),
            ("float_range", r#"{"gte":1e39}"#),
            ("float_range", r#"{"gt":-1e-45,"lt":0}"#),
            ("ip_range", r#""10.0.0.0""#),
            ("ip_range", r#""10.0.0.0/33""#),
            ("ip_range", r#""::ffff:1.2.3.4/8""#),
            ("ip_range", r#""10.0.0.0/-1""#),
            ("ip_range", r#"{"gt":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}"#),
            ("date_range", r#"{"gte":"now"}"#),
            ("date_range", r#"{"gte":""}"#),
        ] {
            for target in [OPENSEARCH, ELASTICSEARCH] {
                let found = one(&json!({ "type": kind }), value, target);
                assert!(matches!(found, Err(Refused::Value { .. })), "{kind} {value} {found:?}");
            }
        }
        let twice = r#"{"gt":1,"gte":5}"#;
        assert!(matches!(one(&json!({"type": "long_range"}), twice, OPENSEARCH), Err(Refused::Value { .. })));
        // Zeros are equal; without an index, no one looks at the order.
        assert!(one(&json!({"type": "float_range"}), r#"{"gte":0,"lte":-0.0}"#, OPENSEARCH).is_ok());
        assert!(one(&json!({"type": "long_range", "index": false}), r#"{"gte":2,"lte":1}"#, OPENSEARCH).is_ok());
        assert_eq!(one(&json!({"type": "long_range"}), "null", OPENSEARCH), Ok(None));
    }

    #[test]
    fn malformed_ranges_are_ignored_where_the_mapping_says_so() {
        for (kind, value, is_ignored) in [
            ("long_range", r#"{"gte":"x","lte":1}"#, true),
            ("float_range", r#"{"gte":1e39}"#, true),
            ("ip_range", r#""x/8""#, true),
            ("ip_range", r#"{"gte":5}"#, true),
            ("long_range", r#"{"gte":5,"lte":1}"#, false),
            ("long_range", "5", false),
            ("date_range", r#"{"gte":"x"}"#, false),
            ("float_range", r#"{"gte":true}"#, false),
        ] {
            let definition = json!({"type": kind, "ignore_malformed": true});
            assert_eq!(one(&definition, value, OPENSEARCH).is_ok(), is_ignored, "{kind} {value}");
        }
        let beyond = r#"{"gte":9223372036854775808}"#;
        let found = one(&json!({"type": "long_range", "ignore_malformed": true}), beyond, OPENSEARCH);
        assert!(matches!(found, Err(Refused::Unsupported(_))));
    }

    #[test]
    fn what_only_a_server_builds_is_named() {
        let of = |definition: Value| {
            let fields = json!({"properties": {"r": definition, "k": {"type": "keyword"}, "q": {"type": "ip_range"}}});
            Mapping::parse(&fields, OPENSEARCH).err().map(|error| error.what)
        };
        let known =
            json!({"type": "integer_range", "index": false, "doc_values": "false", "coerce": false, "boost": 2});
        assert_eq!(of(known), None);
        assert_eq!(of(json!({"type": "date_range", "format": "uuuu||epoch_second"})), None);
        for definition in [
            json!({"type": "long_range", "store": true}),
            json!({"type": "long_range", "format": "yyyy"}),
            json!({"type": "date_range", "format": "yyyy-'W'ww"}),
            json!({"type": "date_range", "locale": "fr"}),
            json!({"type": "long_range", "copy_to": "k"}),
            json!({"type": "keyword", "copy_to": "q"}),
            json!({"type": "long_range", "fields": {"k": {"type": "keyword"}}}),
            json!({"type": "keyword", "fields": {"r": {"type": "long_range"}}}),
            json!({"type": "nested", "include_in_parent": true, "properties": {"r": {"type": "long_range"}}}),
        ] {
            assert!(of(definition.clone()).is_some(), "{definition}");
        }
        let target = ServerVersion { version: [3, 2, 0], ..OPENSEARCH };
        let found = one(&json!({"type": "long_range"}), r#"{"gt":null}"#, target);
        assert!(matches!(found, Err(Refused::Unsupported(_))));
    }
}
