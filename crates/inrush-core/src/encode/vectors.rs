//! Vectors of documents, packed as the server takes them.

use std::sync::Arc;

use super::address::Refusal;
use super::fields::Shallow;
use crate::codes::Code;
use crate::rows::FieldTypes;
use crate::vectors::{BadVector, Element, Packing, VectorField, push_packed, push_packed_bytes};

/// Packs the vectors of documents. All encoding threads share it.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    fields: Arc<[(String, VectorField)]>,
    packing: Packing,
}

/// A field, and the rest of its path below the current object.
type Left<'p> = (&'p str, &'p (String, VectorField));

/// A vector in the text of a document.
struct Found<'p> {
    from: usize,
    end: usize,
    field: &'p (String, VectorField),
}

impl Packer {
    /// Packs those of `fields` that may be packed, while `packing` is on.
    pub fn new(fields: &FieldTypes, packing: Packing) -> Self {
        let fields = fields.vectors().filter(|(_, field)| field.is_packable());
        Packer { fields: fields.map(|(path, field)| (path.to_owned(), *field)).collect(), packing }
    }

    /// Whether documents have vectors to pack.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        !self.fields.is_empty() && self.packing.is_on()
    }

    /// Appends the document with its arrays of numbers packed. What is no array of numbers stays as
    /// it is, so that the server says what it is.
    pub(super) fn write(&self, document: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        // Without a bracket there is no array. A reader of columns has packed its vectors already.
        if memchr::memchr(b'[', document).is_none() {
            out.extend_from_slice(document);
            return Ok(());
        }
        let mut found = Vec::new();
        if Shallow::new(document).is_some() {
            let left: Vec<Left<'_>> = self.fields.iter().map(|field| (field.0.as_str(), field)).collect();
            // What is no JSON is refused by the server.
            let _ = find(document, document.as_ptr() as usize, &left, &mut found);
        }
        let (mut copied, mut values) = (0, Vec::new());
        for Found { from, end, field: (path, field) } in found {
            values.clear();
            let bad = |bad: BadVector| (Code::BadVector, format!("field {path:?} {bad}"));
            if !parse(&document[from..end], field.element, &mut values).map_err(bad)? {
                continue;
            }
            out.extend_from_slice(&document[copied..from]);
            copied = end;
            match field.element {
                Element::Float => {
                    field.check(&values).map_err(bad)?;
                    push_packed(&values, out);
                }
                Element::Byte | Element::Bit => {
                    field.check_length(values.len()).map_err(bad)?;
                    push_packed_bytes(&values, out);
                }
            }
        }
        out.extend_from_slice(&document[copied..]);
        Ok(())
    }
}

/// Finds the arrays of the fields in an object, in their order. `start` is the address of the
/// document. As in a mapping, `a.b` is a field of each object in `a` if `a` is an array.
fn find<'p>(object: &[u8], start: usize, left: &[Left<'p>], found: &mut Vec<Found<'p>>) -> Result<(), sonic_rs::Error> {
    for entry in sonic_rs::to_object_iter(object) {
        let (key, value) = entry?;
        let raw = value.as_raw_str();
        let below: Vec<Left<'p>> = left.iter().filter_map(|(rest, field)| Some((below(rest, &key)?, *field))).collect();
        if below.is_empty() {
            continue;
        }
        match (raw.as_bytes().first(), below.iter().find(|(rest, _)| rest.is_empty())) {
            (Some(b'['), Some((_, field))) => {
                // The value is a slice of the document.
                let from = raw.as_ptr() as usize - start;
                found.push(Found { from, end: from + raw.len(), field });
            }
            (Some(b'{'), _) => find(raw.as_bytes(), start, &below, found)?,
            (Some(b'['), None) => {
                for element in sonic_rs::to_array_iter(raw.as_bytes()) {
                    let element = element?;
                    let raw = element.as_raw_str();
                    if raw.starts_with('{') {
                        find(raw.as_bytes(), start, &below, found)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The rest of `path` below the member `key`, which may stand for several names.
pub(super) fn below<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// Reads an array of numbers. `false`: it has something else.
fn parse(array: &[u8], element: Element, values: &mut Vec<f32>) -> Result<bool, BadVector> {
    let Some(inner) = array.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) else { return Ok(false) };
    let mut left = inner.trim_ascii_start();
    if left.is_empty() {
        return Ok(true);
    }
    loop {
        if left.starts_with(b"null") {
            return Err(BadVector::Missing(values.len()));
        }
        let digits = left.strip_prefix(b"-").unwrap_or(left);
        let number = digits.first().filter(|first| first.is_ascii_digit());
        let Some((number, len)) = number.and_then(|_| fast_float2::parse_partial::<f32, _>(left).ok()) else {
            return Ok(false);
        };
        if element != Element::Float && (number.fract() != 0.0 || !(-128.0..=127.0).contains(&number)) {
            return Err(BadVector::NotByte(values.len()));
        }
        values.push(number);
        left = match left[len..].trim_ascii_start() {
            [] => return Ok(true),
            [b',', rest @ ..] => rest.trim_ascii_start(),
            _ => return Ok(false),
        };
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    fn packer(properties: Value) -> Packer {
        let packing = Packing::default();
        packing.begin();
        Packer::new(&FieldTypes::of_mapping(&json!({ "properties": properties })), packing)
    }

    fn of(element: &str) -> Value {
        json!({"type": "dense_vector", "dims": 8, "element_type": element})
    }

    fn written(packer: &Packer, document: &str) -> Result<String, Refusal> {
        let mut out = b"before".to_vec();
        packer.write(document.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out[6..].to_vec()).unwrap())
    }

    fn floats(text: &str) -> Vec<f32> {
        let bytes = STANDARD.decode(text).unwrap();
        bytes.chunks(4).map(|four| f32::from_be_bytes(four.try_into().unwrap())).collect()
    }

    #[test]
    fn arrays_become_the_same_floats() {
        let packer = packer(json!({"v": of("float"), "o": {"properties": {"w": of("float")}}}));
        let array = "[ -0.0, 1e-45,1.1754942e-38 ,3.4028235E38,0.1,-1,0.3333333333333333,16777217]";
        let expected = [-0.0f32, 1e-45, 1.175_494_2e-38, f32::MAX, 0.1, -1.0, 0.333_333_34, 16_777_216.0];
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for (document, pointer) in [
            (format!("{{\"v\":{array}}}"), "/v"),
            (format!(" {{ \"a\" : [1,2] , \"v\" : {array} , \"b\" : {{\"v\":[3]}} }} "), "/v"),
            (format!("{{\"o\":{{\"w\":{array},\"v\":[1]}}}}"), "/o/w"),
            (format!("{{\"o.w\":{array}}}"), "/o.w"),
            (format!("{{\"o\":[{{\"x\":1}},3,{{\"w\":{array}}}]}}"), "/o/2/w"),
            (format!("{{\"\\u0076\":{array}}}"), "/v"),
        ] {
            let mut sent: Value = serde_json::from_str(&written(&packer, &document).unwrap()).unwrap();
            let text = sent.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{sent}")).to_owned();
            assert_eq!(bits(&floats(&text)), bits(&expected), "{document}");
            // All else is as it was.
            let mut given: Value = serde_json::from_str(&document).unwrap();
            *sent.pointer_mut(pointer).unwrap() = Value::Null;
            *given.pointer_mut(pointer).unwrap() = Value::Null;
            assert_eq!(sent, given);
        }
    }

    #[test]
    fn several_vectors_of_a_document_are_packed_in_place() {
        let packer = packer(json!({"a": of("float"), "b": of("byte"), "c": of("bit")}));
        let sent = written(&packer, r#"{"c":[-1],"x":1,"a":[1,0,0,0,0,0,0,0],"b":[-128,0,1,2,3,4,5,127]}"#).unwrap();
        // A field of 8 bits is too short to be packed.
        let expected = r#"{"c":[-1],"x":1,"a":"P4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","b":"gAABAgMEBX8="}"#;
        assert_eq!(sent, expected);
    }

    #[test]
    fn what_is_no_array_of_numbers_is_left_to_the_server() {
        let packer = packer(json!({"v": of("float")}));
        for document in [
            "{\"v\":null}",
            "{\"v\":\"P4AAAA==\"}",
            "{\"v\":5}",
            "{\"v\":{\"a\":1}}",
            "{\"v\":[[1,2],[3]]}",
            "{\"v\":[\"1\"]}",
            "{\"v\":[1,true]}",
            "{\"v\":[1,,2]}",
            "{\"v\":[nan]}",
            "{\"v\":[-inf]}",
            "{\"v\":[+1]}",
            "{\"v\":[.5]}",
            "{\"v\":[1 2]}",
            "{\"v\":[1,]}",
            "{\"v\":[,1]}",
            "{\"v\":[1e]}",
            "{\"w\":[1]}",
            "{\"V\":[1]}",
            "{\"v.x\":[1]}",
            "{}",
            "[1]",
            "no json",
            "",
            "{\"v\":[1,2",
        ] {
            assert_eq!(written(&packer, document).unwrap(), document);
        }
        let deep = format!("{{\"v\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(written(&packer, &deep).unwrap(), deep);
    }

    #[test]
    fn bad_vectors_are_refused_with_their_reason() {
        let packer = packer(json!({
            "v": {"type": "dense_vector", "dims": 8, "similarity": "cosine"},
            "b": of("byte"),
            "o": {"properties": {"d": {"type": "dense_vector", "dims": 8, "similarity": "dot_product"}}},
        }));
        for (document, reason) in [
            ("{\"v\":[1,2,3]}", "field \"v\" has 3 elements, and the mapping says 8"),
            ("{\"v\":[]}", "has 0 elements"),
            ("{\"v\":[1,2,3,null,5,6,7,8]}", "null as element 3"),
            ("{\"v\":[1,2,3,4,5,6,7,1e39]}", "beyond float32 as element 7"),
            ("{\"v\":[0,0,0,0,-0.0,0,0,0]}", "the similarity cosine refuses"),
            ("{\"o\":{\"d\":[2,0,0,0,0,0,0,0]}}", "field \"o.d\" has the squared length 4"),
            ("{\"b\":[1,2,3,4,5,6,7,128]}", "from -128 to 127 as element 7"),
            ("{\"b\":[0.5,2,3,4,5,6,7,8]}", "as element 0"),
            ("{\"b\":[1]}", "field \"b\" has 1 elements"),
        ] {
            let (code, found) = written(&packer, document).unwrap_err();
            assert_eq!(code, Code::BadVector);
            assert!(found.contains(reason), "{found}");
        }
    }

    #[test]
    fn nothing_is_packed_before_the_server_has_shown_that_it_takes_it() {
        let fields = FieldTypes::of_mapping(&json!({"properties": {"v": of("float")}}));
        let packing = Packing::default();
        let packer = Packer::new(&fields, packing.clone());
        assert!(!packer.is_on());
        packing.begin();
        assert!(packer.is_on());
        assert!(!Packer::new(&FieldTypes::default(), packing).is_on());
    }
}
