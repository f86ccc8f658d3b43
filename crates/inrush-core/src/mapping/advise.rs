//! From the observed values to a mapping, with a reason for each decision.

use serde_json::{Map, Value, json};

use super::field::{Field, Seen};
use super::shape::Shape;
use super::{Mixed, Note, NoteKind, RowPosition};

/// Larger numbers become `long`: half of the range of `integer`, because a later document beyond it
/// would be refused. `long` costs little more, as doc values are stored by their actual range.
const INTEGER_MAX: i128 = 1 << 30;

/// A double represents every whole number up to here.
const DOUBLE_MAX: i128 = 1 << 53;

/// Characters of the longest keyword that is indexed. At up to 4 bytes each they stay below the
/// 32,766 bytes of a Lucene term; a longer term refuses the whole document.
const KEYWORD_MAX: u32 = 8191;

/// Bytes of the longest value that counts as a category rather than text.
const CATEGORY_BYTES_MAX: usize = 256;

/// Bytes of the longest value of one word (an id, a path, a URL).
const WORD_BYTES_MAX: usize = 2048;

/// The findings besides the mapping.
#[derive(Default)]
pub(super) struct Found {
    pub(super) notes: Vec<Note>,
    /// Paths of arrays of objects with several fields.
    pub(super) arrays_of_objects: Vec<String>,
    /// Fields that would have to be values and objects.
    pub(super) clashes: Vec<String>,
}

/// The mapping of the whole document.
pub(super) fn root(field: &Field, names: &[String], mixed: Mixed, found: &mut Found) -> Value {
    json!({ "properties": properties(field, "", Names(names), mixed, found) })
}

/// The names of the sources.
#[derive(Clone, Copy)]
struct Names<'a>(&'a [String]);

impl Names<'_> {
    fn describe(self, position: RowPosition) -> String {
        match self.0.get(position.source as usize) {
            Some(name) if self.0.len() > 1 => format!("{name} row {}", position.row),
            _ => format!("row {}", position.row),
        }
    }
}

fn properties(field: &Field, path: &str, names: Names<'_>, mixed: Mixed, found: &mut Found) -> Map<String, Value> {
    let mut properties = Map::new();
    for (name, child) in &field.children {
        let above = path;
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        clash(field, name, above, found);
        let mut advice = Advisor { path: &path, names, mixed, found };
        if let Some(property) = advice.property(child) {
            properties.insert(name.clone(), property);
        }
    }
    properties
}

/// Notes that the member `name` of `field` makes an object of a member that is a value: `a.b`
/// beside `a`.
fn clash(field: &Field, name: &str, above: &str, found: &mut Found) {
    let Some(other) = name.match_indices('.').map(|(at, _)| &name[..at]).find(|other| is_value(field, other)) else {
        return;
    };
    let full = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    let (name, other) = (full(name), full(other));
    let text = format!(
        "is a value, and {name} makes it an object, which servers refuse: give one of the two another name, as with \
         option `rename={name}={}`",
        name.replace('.', "_")
    );
    found.clashes.push(format!("{other} {text}"));
    found.notes.push(Note { field: other, kind: NoteKind::Conflict, text });
}

/// Whether the field at `path` has values other than objects. Each dot may be one of a name, or
/// stand between names.
fn is_value(field: &Field, path: &str) -> bool {
    let has_values = |field: &Field| kinds(field).iter().any(|(name, _)| *name != "an object");
    field.children.get(path).is_some_and(has_values)
        || path
            .match_indices('.')
            .any(|(at, _)| field.children.get(&path[..at]).is_some_and(|child| is_value(child, &path[at + 1..])))
}

struct Advisor<'a> {
    path: &'a str,
    names: Names<'a>,
    mixed: Mixed,
    found: &'a mut Found,
}

impl Advisor<'_> {
    fn note(&mut self, kind: NoteKind, text: String) {
        self.found.notes.push(Note { field: self.path.to_owned(), kind, text });
    }

    fn describe(&self, kinds: &[(&'static str, Seen)]) -> String {
        let position = |position| self.names.describe(position);
        let described = kinds.iter().map(|(name, seen)| match seen.count {
            1 => format!("{name} once ({})", position(seen.first)),
            count => {
                format!("{name} {count} times (first in {}, last in {})", position(seen.first), position(seen.last))
            }
        });
        described.collect::<Vec<_>>().join(", ")
    }

    /// The mapping of one field; `None` if nothing is known about its values.
    fn property(&mut self, field: &Field) -> Option<Value> {
        let kinds = kinds(field);
        if kinds.is_empty() {
            let what = if field.arrays.any() { "empty" } else { "null" };
            self.note(NoteKind::Choice, format!("is {what} in all documents, so its type is unknown"));
            return None;
        }
        if !field.objects.any() {
            return Some(self.scalar(field, &kinds));
        }
        let scalars: u64 = kinds.iter().filter(|(name, _)| *name != "an object").map(|(_, seen)| seen.count).sum();
        if scalars > 0 {
            let described = self.describe(&kinds);
            if self.mixed != Mixed::Widen {
                self.note(
                    NoteKind::Conflict,
                    format!("is {described}: stored unchanged in each document, but not searchable; to search it, rename one of the two fields first"),
                );
                return Some(json!({ "type": "object", "enabled": false }));
            }
            self.note(
                NoteKind::Conflict,
                format!("is {described}: servers accept either objects or values, so they will refuse documents with the rarer kind; option `mixed=keep` accepts all of them but makes this field unsearchable; otherwise rename one of the two fields first"),
            );
            if scalars > field.objects.count {
                let kinds: Vec<_> = kinds.into_iter().filter(|(name, _)| *name != "an object").collect();
                return Some(self.scalar(field, &kinds));
            }
        }
        if geo_point(field) {
            return Some(json!({ "type": "geo_point" }));
        }
        if field.objects_in_arrays.any() && field.children.len() > 1 {
            self.found.arrays_of_objects.push(self.path.to_owned());
        }
        let properties = properties(field, self.path, self.names, self.mixed, self.found);
        Some(if properties.is_empty() { json!({ "type": "object" }) } else { json!({ "properties": properties }) })
    }

    fn scalar(&mut self, field: &Field, kinds: &[(&'static str, Seen)]) -> Value {
        let strings = &field.strings;
        let numbers = field.integers.any() || field.decimals.any();
        let numeric = strings.of(Shape::Integer).count + strings.of(Shape::Decimal).count;
        if field.booleans.any() {
            if !numbers && strings.filled() == strings.of(Shape::Boolean).count {
                return json!({ "type": "boolean" });
            }
            return self.mixed(kinds, "");
        }
        if numbers {
            // A numeric field takes numbers in strings, and takes an empty string as no value.
            if strings.filled() == numeric {
                return self.number(field);
            }
            // If most values are numbers, the others are malformed.
            let bare = field.integers.count + field.decimals.count;
            if self.mixed == Mixed::Ignore && 2 * (bare + numeric) > bare + strings.filled() {
                let number = self.number(field);
                // Numbers beyond 64 bits are keywords already.
                return if number["type"] == "keyword" { number } else { self.without_malformed(kinds, number) };
            }
            return self.mixed(kinds, "; option `mixed=ignore` keeps a numeric type if most values are numbers");
        }
        self.string(field)
    }

    /// A keyword, the only type that takes values of several kinds. `instead`: an alternative, for
    /// the note.
    fn mixed(&mut self, kinds: &[(&'static str, Seen)], instead: &str) -> Value {
        let described = self.describe(kinds);
        self.note(
            NoteKind::Conflict,
            format!(
                "is {described}: mapped as keyword, which accepts all of them but sorts and compares them as text{instead}"
            ),
        );
        keyword()
    }

    /// The type of most values. Documents with other values are accepted; this field of theirs is
    /// not indexed.
    fn without_malformed(&mut self, kinds: &[(&'static str, Seen)], mut property: Value) -> Value {
        let described = self.describe(kinds);
        self.note(
            NoteKind::Conflict,
            format!("is {described}: mapped as {} with \"ignore_malformed\", which accepts all documents and indexes this field only where it fits", property["type"]),
        );
        property["ignore_malformed"] = json!(true);
        property
    }

    fn number(&mut self, field: &Field) -> Value {
        let strings = &field.strings;
        if field.decimals.any() || strings.of(Shape::Decimal).any() {
            let longest = field.most.max(-field.least);
            if field.integers.any() && longest > DOUBLE_MAX {
                self.note(
                    NoteKind::Choice,
                    format!("has whole numbers as large as {longest} as well as decimals: a double distinguishes only their first 15 to 17 digits; map it as keyword if all digits matter"),
                );
            }
            return json!({ "type": "double" });
        }
        let (mut least, mut most) = (field.least, field.most);
        if strings.of(Shape::Integer).any() {
            least = least.min(strings.least.into());
            most = most.max(strings.most.into());
        }
        if most > i64::MAX.into() {
            self.note(NoteKind::Choice, format!("goes up to {most}, which exceeds a long: mapped as keyword"));
            return keyword();
        }
        let small = least >= -INTEGER_MAX && most <= INTEGER_MAX;
        json!({ "type": if small { "integer" } else { "long" } })
    }

    fn string(&mut self, field: &Field) -> Value {
        let strings = &field.strings;
        let filled = strings.filled();
        let all = |shapes: &[Shape]| filled > 0 && shapes.iter().map(|s| strings.of(*s).count).sum::<u64>() == filled;
        if all(&[Shape::Boolean]) {
            return json!({ "type": "boolean" });
        }
        let special = special();
        if let Some((shapes, property, _)) = special.iter().find(|(shapes, ..)| all(shapes)) {
            if shapes.contains(&Shape::DayOrMonth) && all(&[Shape::DayOrMonth]) {
                let text = "is a date whose day and month are ambiguous in all documents: taken as day/month/year";
                self.note(NoteKind::Choice, text.to_owned());
            }
            if all(&[Shape::DateDots]) {
                let text = format!(
                    "is a date as in 31.12.2025, mapped with this format; option `schema={}:timestamp` sends the cells \
                     of CSV in ISO 8601",
                    self.path
                );
                self.note(NoteKind::Reading, text);
            }
            return self.allow_empty(property.clone(), strings.of(Shape::Empty));
        }
        // If nearly all values agree, the exceptions are worth a note.
        let matching = |shapes: &[Shape]| shapes.iter().map(|s| strings.of(*s).count).sum::<u64>();
        if let Some((shapes, property, what)) = special.iter().find(|(shapes, ..)| matching(shapes) * 10 > filled * 9)
            && let Some(other) = strings.first_other(shapes)
        {
            let (matching, other) = (matching(shapes), self.names.describe(other));
            if self.mixed == Mixed::Ignore {
                self.note(
                    NoteKind::Conflict,
                    format!("looks like {what} in {matching} of {filled} documents, but not in {other}; mapped so with \"ignore_malformed\", which accepts all documents and indexes this field only where it fits"),
                );
                let mut property = property.clone();
                property["ignore_malformed"] = json!(true);
                return property;
            }
            self.note(
                NoteKind::Conflict,
                format!("looks like {what} in {matching} of {filled} documents, but not in {other}; mapped as text or keyword, which accepts all values"),
            );
        }
        if filled == 0 {
            return keyword();
        }
        // A value such as `1,234` does not tell what its comma means.
        let numbers = [Shape::DecimalComma, Shape::CommaOrThousands, Shape::Integer];
        if all(&numbers) && strings.of(Shape::DecimalComma).any() {
            let text = format!(
                "is a number with a decimal comma, which servers take for text; option `decimal=,` reads such numbers in \
                 all columns of CSV, option `schema={}:decimal-comma` in this one",
                self.path
            );
            self.note(NoteKind::Reading, text);
        }
        let words = strings.words as f64 / filled as f64;
        let category = strings.longest <= CATEGORY_BYTES_MAX && strings.repeat();
        let word = strings.longest <= WORD_BYTES_MAX && words < 1.5;
        if category || word {
            return keyword();
        }
        if strings.longest > WORD_BYTES_MAX {
            return json!({ "type": "text" });
        }
        json!({ "type": "text", "fields": { "keyword": { "type": "keyword", "ignore_above": CATEGORY_BYTES_MAX } } })
    }

    /// Adds `ignore_malformed` where values are empty: dates, addresses and points refuse an empty
    /// string.
    fn allow_empty(&mut self, mut property: Value, empty: Seen) -> Value {
        if empty.any() {
            let (count, first) = (empty.count, self.names.describe(empty.first));
            self.note(
                NoteKind::Choice,
                format!("is empty in {count} documents (first in {first}), which its type does not accept: \"ignore_malformed\" accepts them without indexing this field"),
            );
            property["ignore_malformed"] = json!(true);
        }
        property
    }
}

/// Shapes with a type of their own, used if all values agree.
fn special() -> [(&'static [Shape], Value, &'static str); 9] {
    let date = |format: &str| json!({ "type": "date", "format": format });
    let with_space =
        "strict_date_optional_time||yyyy-MM-dd HH:mm:ss||yyyy-MM-dd HH:mm:ss.SSS||yyyy-MM-dd HH:mm:ss.SSSSSS";
    [
        (&[Shape::Date], json!({ "type": "date" }), "a date"),
        (
            &[Shape::Date, Shape::DateSpaceTime, Shape::DateSpaceMillis, Shape::DateSpaceMicros],
            date(with_space),
            "a date with a time",
        ),
        (
            &[
                Shape::Date,
                Shape::DateSpaceTime,
                Shape::DateSpaceMillis,
                Shape::DateSpaceMicros,
                Shape::DateSpaceCommaMillis,
                Shape::DateSpaceCommaMicros,
            ],
            date(&format!("{with_space}||yyyy-MM-dd HH:mm:ss,SSS||yyyy-MM-dd HH:mm:ss,SSSSSS")),
            "a date with a time",
        ),
        (&[Shape::DateSlashes], date("yyyy/MM/dd"), "a date"),
        (&[Shape::DateDots], date("dd.MM.yyyy||dd.MM.yyyy HH:mm||dd.MM.yyyy HH:mm:ss"), "a date"),
        // Ambiguous dates follow the unambiguous ones.
        (&[Shape::DayMonthYear, Shape::DayOrMonth], date("dd/MM/yyyy"), "a date as day/month/year"),
        (&[Shape::MonthDayYear, Shape::DayOrMonth], date("MM/dd/yyyy"), "a date as month/day/year"),
        (&[Shape::Ip], json!({ "type": "ip" }), "an IP address"),
        (&[Shape::LatLon], json!({ "type": "geo_point" }), "a point"),
    ]
}

fn keyword() -> Value {
    json!({ "type": "keyword", "ignore_above": KEYWORD_MAX })
}

/// The kinds of values of a field, with their counts and positions.
fn kinds(field: &Field) -> Vec<(&'static str, Seen)> {
    [
        ("an object", field.objects),
        ("true or false", field.booleans),
        ("a whole number", field.integers),
        ("a decimal number", field.decimals),
        ("a string", field.strings.all),
    ]
    .into_iter()
    .filter(|(_, seen)| seen.any())
    .collect()
}

/// Whether the field is an object with a latitude and a longitude in all documents.
fn geo_point(field: &Field) -> bool {
    let degrees = |name: &str, most: f64| {
        field.children.get(name).is_some_and(|child| {
            let numbers = child.integers.count + child.decimals.count;
            let others = child.nulls.any() || child.strings.all.any() || child.objects.any() || child.arrays.any();
            numbers == field.objects.count && !others && !child.booleans.any() && child.magnitude <= most
        })
    };
    field.children.len() == 2 && degrees("lat", 90.0) && degrees("lon", 180.0)
}
