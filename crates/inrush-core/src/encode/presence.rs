//! Which documents have vectors, by their text as it is sent.

use std::sync::Arc;

use super::fields::Shallow;
use super::vectors::below;
use crate::items::VectorItems;
use crate::vectors::VectorMark;

/// Looks for the vectors of documents. All encoding threads share it.
#[derive(Clone, Debug)]
pub struct Presence {
    fields: Arc<[String]>,
}

impl Default for Presence {
    fn default() -> Self {
        Presence::new([])
    }
}

/// A field by its number, and the rest of its path below the current object.
type Left<'p> = (&'p str, usize);

impl Presence {
    /// Looks for the first [`VectorItems::FIELDS_MAX`] of these fields.
    pub fn new(fields: impl IntoIterator<Item = String>) -> Self {
        Presence { fields: fields.into_iter().take(VectorItems::FIELDS_MAX).collect() }
    }

    /// The paths of the fields.
    #[inline]
    pub fn fields(&self) -> &Arc<[String]> {
        &self.fields
    }

    /// The marks of a document. `is_part`: it changes the fields that it has, and leaves others as
    /// they are. 0 where the document cannot be read, which the server refuses.
    #[inline]
    pub(super) fn marks(&self, document: &[u8], is_part: bool) -> u64 {
        if self.fields.is_empty() { 0 } else { self.look(document, is_part).unwrap_or_default() }
    }

    fn look(&self, document: &[u8], is_part: bool) -> Option<u64> {
        Shallow::new(document)?;
        let left: Vec<Left<'_>> = self.fields.iter().map(String::as_str).zip(0..).collect();
        let absent = if is_part { VectorMark::AsItWas } else { VectorMark::Without };
        let mut marks = vec![absent; self.fields.len()];
        find(document, &left, &mut marks).ok()?;
        Some(marks.into_iter().enumerate().map(|(field, mark)| VectorItems::bits(field, mark)).sum())
    }
}

/// Looks for the fields in an object until each has a value. As in a mapping, `a.b` is a field of
/// each object in `a` if `a` is an array.
fn find(object: &[u8], left: &[Left<'_>], marks: &mut [VectorMark]) -> Result<(), sonic_rs::Error> {
    for entry in sonic_rs::to_object_iter(object) {
        let (key, value) = entry?;
        let raw = value.as_raw_str();
        let (mut inner, mut is_found): (Vec<Left<'_>>, bool) = (Vec::new(), false);
        for &(path, field) in left {
            match below(path, &key) {
                None => {}
                Some("") => {
                    is_found = true;
                    match raw {
                        "null" if marks[field] == VectorMark::With => {}
                        "null" => marks[field] = VectorMark::Without,
                        _ => marks[field] = VectorMark::With,
                    }
                }
                Some(rest) => inner.push((rest, field)),
            }
        }
        if !raw.starts_with('{') {
            // Servers merge objects only: another value takes the place of what was in the index.
            for &(_, field) in &inner {
                if marks[field] == VectorMark::AsItWas {
                    marks[field] = VectorMark::Without;
                }
            }
        }
        match raw.as_bytes().first() {
            Some(b'{') if !inner.is_empty() => find(raw.as_bytes(), &inner, marks)?,
            Some(b'[') if !inner.is_empty() => {
                for element in sonic_rs::to_array_iter(raw.as_bytes()) {
                    let element = element?;
                    if element.as_raw_str().starts_with('{') {
                        find(element.as_raw_str().as_bytes(), &inner, marks)?;
                    }
                }
            }
            _ => {}
        }
        // The rest of a long text need not be read.
        if is_found && left.iter().all(|(_, field)| marks[*field] == VectorMark::With) {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::Value;

    use super::*;
    use VectorMark::{AsItWas, With, Without};

    fn marks(document: &str, is_part: bool) -> [Option<VectorMark>; 2] {
        let presence = Presence::new(["v".to_owned(), "o.w".to_owned()]);
        let marks = vec![presence.marks(document.as_bytes(), is_part)];
        let items = VectorItems { fields: Arc::clone(presence.fields()), marks };
        [items.mark(0, 0), items.mark(0, 1)]
    }

    #[test]
    fn a_document_has_a_vector_where_its_field_is_not_null() {
        for (document, v, w) in [
            (r#"{"v":[1,2],"o":{"w":[3]}}"#, With, With),
            (r#" { "o" : [ 1, {"x":0}, { "w" : "P4AAAA==" } ] , "a":{"v":[1]} } "#, Without, With),
            (r#"{"v":null,"o":{"w":null}}"#, Without, Without),
            (r#"{"v":[1],"o":[{"w":[1]},{"w":null}]}"#, With, With),
            (r#"{"o.w":[1],"V":[1],"v.x":[1],"t":"\"v\":[1]"}"#, Without, With),
            (r#"{"\u0076":[1],"o":null}"#, With, Without),
            ("{}", Without, Without),
        ] {
            assert_eq!(marks(document, false), [Some(v), Some(w)], "{document}");
        }
    }

    #[test]
    fn a_part_of_a_document_leaves_what_it_does_not_name() {
        assert_eq!(marks(r#"{"a":1}"#, true), [Some(AsItWas); 2]);
        assert_eq!(marks(r#"{"v":null,"o":{"w":[1]}}"#, true), [Some(Without), Some(With)]);
        for (document, w) in [
            (r#"{"o":null}"#, Without),
            (r#"{"o":[]}"#, Without),
            (r#"{"o":[{"x":1}]}"#, Without),
            (r#"{"o":[{"x":1},{"w":[1]}]}"#, With),
            (r#"{"o":{}}"#, AsItWas),
            (r#"{"o":{"x":null}}"#, AsItWas),
            (r#"{"o":{"w":null}}"#, Without),
        ] {
            assert_eq!(marks(document, true), [Some(AsItWas), Some(w)], "{document}");
        }
    }

    /// Whether a document has the vectors `v` and `o.w`.
    fn has(document: &Value) -> [bool; 2] {
        let is_set = |object: &Value, name: &str| object.get(name).is_some_and(|value| !value.is_null());
        let is_within = match &document["o"] {
            Value::Array(objects) => objects.iter().any(|object| is_set(object, "w")),
            object => is_set(object, "w"),
        };
        [is_set(document, "v"), is_within]
    }

    /// Changes a document as servers do.
    fn merge(old: &mut Value, part: &Value) {
        match (old, part) {
            (Value::Object(old), Value::Object(part)) => {
                for (name, value) in part {
                    merge(old.entry(name.as_str()).or_insert(Value::Null), value);
                }
            }
            (old, part) => *old = part.clone(),
        }
    }

    proptest! {
        #[test]
        fn a_document_has_after_its_change_what_the_mark_says(
            (v, new_v) in (value_of_v(), value_of_v()),
            o in select(vec!["", r#""o":null"#, r#""o":{}"#, r#""o":{"w":null,"x":1}"#, r#""o":{"w":[1]}"#]),
            new_o in select(vec![
                "",
                r#""o":null"#,
                r#""o":5"#,
                r#""o":[]"#,
                r#""o":[{"x":1},2]"#,
                r#""o":[{"x":1},{"w":[1]}]"#,
                r#""o":[{"w":[1]},{"w":null}]"#,
                r#""o":{}"#,
                r#""o":{"x":null}"#,
                r#""o":{"w":null}"#,
                r#""o":{"w":[2]}"#,
            ]),
        ) {
            let text = |v: &str, o: &str| {
                let members: Vec<&str> = [v, o].into_iter().filter(|member| !member.is_empty()).collect();
                format!("{{{}}}", members.join(","))
            };
            let (old, part) = (text(v, o), text(new_v, new_o));
            let mut document: Value = serde_json::from_str(&old).unwrap();
            let before = has(&document);
            prop_assert_eq!(marks(&old, false), before.map(|has| Some(if has { With } else { Without })));
            merge(&mut document, &serde_json::from_str(&part).unwrap());
            let after = has(&document);
            for (field, mark) in marks(&part, true).into_iter().enumerate() {
                let expected = match mark {
                    Some(AsItWas) => before[field],
                    mark => mark == Some(With),
                };
                prop_assert_eq!(after[field], expected, "{} {} {:?}", old, part, mark);
            }
        }
    }

    fn value_of_v() -> impl Strategy<Value = &'static str> {
        select(vec!["", r#""v":null"#, r#""v":[1]"#])
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let deep = format!("{{\"a\":{}{},\"v\":[1]}}", "[".repeat(100_000), "]".repeat(100_000));
        for document in ["no json", "", "[1]", "{\"a\":1", deep.as_str()] {
            assert_eq!(marks(document, false), [None; 2], "{}", &document[..document.len().min(20)]);
        }
    }

    #[test]
    fn only_so_many_fields_are_looked_for() {
        let presence = Presence::new((0..100).map(|field| format!("v{field}")));
        assert_eq!(presence.fields().len(), VectorItems::FIELDS_MAX);
        let marks = vec![presence.marks(br#"{"v31":[1],"v0":[1]}"#, false)];
        let items = VectorItems { fields: Arc::clone(presence.fields()), marks };
        assert_eq!([items.mark(0, 0), items.mark(0, 30), items.mark(0, 31)], [Some(With), Some(Without), Some(With)]);
        assert_eq!(items.mark(1, 0), None);
    }
}
