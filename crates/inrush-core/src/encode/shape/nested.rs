//! Names with dots, and the objects that they stand for: servers index `{"a.b":1}` as
//! `{"a":{"b":1}}`, and keep both apart in the document.

use serde::de::IgnoredAny;

use super::super::address::{Refusal, shallow};
use super::super::fields::write_string;
use super::{first_line, no_object};
use crate::codes::Code;

/// The first name with dots of the document itself, as a CSV column or a flat document has it.
/// Names in its objects do not count: the object may be a field of type `flattened`, or one that is
/// not indexed, whose keys are no paths.
///
/// # Errors
/// The document is nested too deeply.
pub(in super::super) fn dotted_at_top(document: &[u8]) -> Result<Option<String>, Refusal> {
    if !may_have_dotted_keys(document) {
        return Ok(None);
    }
    shallow(document)?;
    let mut members = sonic_rs::to_object_iter(document).map_while(Result::ok);
    Ok(members.find_map(|(key, _)| is_path(&key).then(|| key.to_string())))
}

/// Whether a dot may be in a key, and not in values only: a colon follows the string that it is in.
/// The quote after a number opens a string, and a colon follows it only as its first character.
fn may_have_dotted_keys(document: &[u8]) -> bool {
    let mut rest = document;
    while let Some(dot) = memchr::memchr(b'.', rest) {
        rest = &rest[dot + 1..];
        loop {
            let Some(at) = memchr::memchr2(b'"', b'\\', rest) else { return false };
            let is_escape = rest[at] == b'\\';
            rest = rest.get(at + 1 + usize::from(is_escape)..).unwrap_or_default();
            if !is_escape {
                break;
            }
        }
        if rest.trim_ascii_start().starts_with(b":") {
            return true;
        }
    }
    false
}

/// The first name with dots, in the document or in its objects. Objects in arrays stay as they are.
///
/// # Errors
/// The document is nested too deeply.
fn dotted(document: &[u8]) -> Result<Option<String>, Refusal> {
    if memchr::memchr(b'.', document).is_none() {
        return Ok(None);
    }
    shallow(document)?;
    Ok(dotted_in(document))
}

fn dotted_in(object: &[u8]) -> Option<String> {
    let mut members = sonic_rs::to_object_iter(object).map_while(Result::ok);
    members.find_map(|(key, value)| match value.as_raw_str() {
        _ if is_path(&key) => Some(key.to_string()),
        raw if raw.starts_with('{') => dotted_in(raw.as_bytes()),
        _ => None,
    })
}

/// Whether servers read the name as several. They refuse an empty one.
fn is_path(key: &str) -> bool {
    key.contains('.') && key.split('.').all(|name| !name.is_empty())
}

/// Appends the document with objects in the place of names with dots.
///
/// # Errors
/// The document is not JSON, or has several values for a field.
pub(super) fn nest(document: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    if dotted(document)?.is_none() {
        out.extend_from_slice(document);
        return Ok(());
    }
    serde_json::from_slice::<IgnoredAny>(document).map_err(|error| no_object(error.to_string()))?;
    write(&Node::Object(members(document)?), out);
    Ok(())
}

enum Node {
    /// A value as it was spelled.
    Value(String),
    Object(Vec<(String, Node)>),
}

fn members(object: &[u8]) -> Result<Vec<(String, Node)>, Refusal> {
    let mut all = Vec::new();
    for entry in sonic_rs::to_object_iter(object) {
        let (key, value) = entry.map_err(|error| no_object(first_line(&error.to_string())))?;
        let node = match value.as_raw_str() {
            raw if raw.starts_with('{') => Node::Object(members(raw.as_bytes())?),
            raw => Node::Value(raw.to_owned()),
        };
        let names: Vec<&str> = if is_path(&key) { key.split('.').collect() } else { vec![&*key] };
        let (first, rest) = names.split_first().expect("a key is one name at least");
        let node = rest.iter().rfold(node, |node, name| Node::Object(vec![((*name).to_owned(), node)]));
        add(&mut all, (*first).to_owned(), node, &key)?;
    }
    Ok(all)
}

/// Adds a member, or its members to those of an object of this name.
fn add(all: &mut Vec<(String, Node)>, name: String, node: Node, key: &str) -> Result<(), Refusal> {
    let is_null = |node: &Node| matches!(node, Node::Value(text) if text == "null");
    match all.iter_mut().find(|(known, _)| *known == name) {
        None => all.push((name, node)),
        Some((_, Node::Object(known))) => match node {
            Node::Object(more) => {
                for (name, node) in more {
                    add(known, name, node, key)?;
                }
            }
            // An object that is absent in its row.
            node if is_null(&node) => {}
            Node::Value(_) => return Err(twice(key)),
        },
        Some((_, known)) if is_null(known) && matches!(node, Node::Object(_)) => *known = node,
        Some(_) => return Err(twice(key)),
    }
    Ok(())
}

#[cold]
fn twice(key: &str) -> Refusal {
    let reason = format!(
        "option `dots=nest`: the document has several values for the field `{key}`; leave one out with option `drop`, \
         or give it another name with option `rename`"
    );
    (Code::BadField, reason)
}

fn write(node: &Node, out: &mut Vec<u8>) {
    match node {
        Node::Value(text) => out.extend_from_slice(text.as_bytes()),
        Node::Object(members) => {
            out.push(b'{');
            for (at, (name, node)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(out, name);
                out.push(b':');
                write(node, out);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(document: &str) -> Result<String, Refusal> {
        let mut out = Vec::new();
        nest(document.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn names_with_dots_become_objects() {
        for (document, expected) in [
            (r#"{"a.b":1.50,"c":2,"a.d":[{"x.y":1}]}"#, r#"{"a":{"b":1.50,"d":[{"x.y":1}]},"c":2}"#),
            (r#"{"a":{"b.c":1},"a.b.d":2}"#, r#"{"a":{"b":{"c":1,"d":2}}}"#),
            (r#"{"a":null,"a.b":1,"c.d":1,"c":null}"#, r#"{"a":{"b":1},"c":{"d":1}}"#),
            (r#"{"a.b":null}"#, r#"{"a":{"b":null}}"#),
            (r#"{"a..b":1,".":2,"n": 1.5}"#, r#"{"a..b":1,".":2,"n": 1.5}"#),
            (r#"{"a\".b":"x.y"}"#, r#"{"a\"":{"b":"x.y"}}"#),
        ] {
            assert_eq!(nested(document).unwrap(), expected);
        }
    }

    #[test]
    fn two_values_for_a_field_are_refused() {
        for document in [r#"{"a":1,"a.b":2}"#, r#"{"a.b":2,"a":[1]}"#, r#"{"a.b":1,"a":{"b":2}}"#] {
            let (code, reason) = nested(document).unwrap_err();
            assert!(code == Code::BadField && reason.contains("several values for the field `a"), "{reason}");
        }
        assert_eq!(nested(r#"{"a.b":1} x"#).unwrap_err().0, Code::InvalidJson);
    }

    #[test]
    fn a_name_with_dots_is_found_in_the_document_itself() {
        let found = |document: &str| dotted_at_top(document.as_bytes()).unwrap();
        for (document, name) in [
            (r#"{"x":1.5,"t":"A. B.","a.b" : 1}"#, "a.b"),
            (r#"{"a.b":{"c.d":1}}"#, "a.b"),
            (r#"{"t":"a.\"b\\","a.\"b":1}"#, "a.\"b"),
            (r#"{"o":{"x.y":1},"n":-1.5e3,":":2,"p.q":[1.5]}"#, "p.q"),
        ] {
            assert_eq!(found(document).as_deref(), Some(name), "{document}");
        }
        for document in [
            r#"{"labels":{"app.kubernetes.io/name":"x"},"n":1.5}"#,
            r#"{"x":"a.b","y":[{"a.b":1}],"a.":1}"#,
            r#"{"x":"a. \" : b"}"#,
            "{}",
            "[1.5]",
            "no.json",
            "\"a.\\",
        ] {
            assert_eq!(found(document), None, "{document}");
        }
    }

    #[test]
    fn only_keys_are_worth_a_look() {
        for document in [r#"{"x":"a.b","n":1.5,"t":"A.\n\"B.\":"}"#, r#"{"n":1.5,"":".","a":[0.5]}"#, "."] {
            assert!(!may_have_dotted_keys(document.as_bytes()), "{document}");
        }
        for document in [r#"{"a.b":1}"#, r#"{"o":{"a\\.b\"" : 1}}"#] {
            assert!(may_have_dotted_keys(document.as_bytes()), "{document}");
        }
    }

    #[test]
    fn a_name_with_dots_is_found_at_any_depth() {
        let found = |document: &str| dotted(document.as_bytes()).unwrap();
        assert_eq!(found(r#"{"x":1.5,"a":{"b.c":1}}"#).as_deref(), Some("b.c"));
        for document in [r#"{"x":"a.b","y":[{"a.b":1}],"a.":1}"#, "{}", "[1.5]", "no.json"] {
            assert_eq!(found(document), None, "{document}");
        }
    }
}
