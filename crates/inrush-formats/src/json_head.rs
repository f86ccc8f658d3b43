//! Classifies JSON text by its beginning.

use memchr::{memchr, memrchr};
use serde_json::{Map, Value};

use super::bulk::{NOT_TAKEN, TAKEN};
use super::json_scan::{Expected, Scan};
use super::one_line::end_of_string;

/// Whether text that begins with `{` has to be read value by value, and not line by line.
/// `complete` says that `head` is the whole text, `in_lines` that the name implies one document a
/// line.
pub(crate) fn is_values(head: &[u8], complete: bool, in_lines: bool) -> bool {
    let line = memchr(b'\n', head).map(|end| &head[..end]);
    let (mut scan, mut elements) = (Scan::default(), Vec::new());
    // Without a path the scan cannot fail at the top.
    let _ = scan.run(line.unwrap_or(head), &mut elements);
    if scan.state == Expected::Damaged || elements.iter().any(|element| element.damage.is_some()) {
        // The text has lines, the first of which is damaged, unless it is the only one and has
        // values around the damage.
        let whole = elements.iter().filter(|element| element.damage.is_none()).count();
        return whole > 1 && (line.is_none() || is_alone(head, line, complete));
    }
    match (scan.state, elements.len()) {
        // A comma follows it.
        (Expected::Before, 1..) | (_, 2..) => true,
        (Expected::Between, 1) => !in_lines && is_alone(head, line, complete) && records_path(head).is_some(),
        // Another value begins where the first has ended.
        (_, 1) => true,
        // The value continues after the line, or after `head`.
        _ => match line {
            Some(line) => !in_lines || line.trim_ascii() == b"{",
            None => !in_lines && !complete,
        },
    }
}

/// Whether nothing follows the first line.
fn is_alone(head: &[u8], line: Option<&[u8]>, complete: bool) -> bool {
    complete && line.is_none_or(|line| head[line.len()..].trim_ascii().is_empty())
}

/// Keys of an action line of a bulk request.
const ACTIONS: [&str; 4] = ["index", "create", "update", "delete"];

/// The body of a bulk request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BulkBody {
    /// Keys of its first line that cannot be read.
    pub(crate) not_taken: Vec<String>,
}

/// Detects the body of a bulk request: an action line, followed by another kind of line unless the
/// action is a delete.
pub(crate) fn bulk_body(head: &[u8]) -> Option<BulkBody> {
    let mut lines = lines(head);
    let (action, keys) = lines.next().and_then(action)?;
    let is_body = action == "delete" || lines.next().is_some_and(|next| self::action(next).is_none());
    is_body.then(|| BulkBody { not_taken: keys.into_iter().filter(|key| NOT_TAKEN.contains(&key.as_str())).collect() })
}

/// Whether the beginning of a longer text is enough to classify it: it has a line, and the next
/// line as well if a document must follow.
pub(crate) fn says_enough(head: &[u8]) -> bool {
    let whole = memrchr(b'\n', head).map_or(&[][..], |end| &head[..end]);
    let mut lines = lines(whole);
    match lines.next().map(action) {
        None => false,
        Some(Some((action, _))) if action != "delete" => lines.next().is_some(),
        Some(_) => true,
    }
}

/// Lines that are not blank.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// The action of a line and the keys of its target, if it is an action line.
fn action(line: &[u8]) -> Option<(String, Vec<String>)> {
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return None };
    let mut members = object.into_iter();
    match (members.next(), members.next()) {
        (Some((name, Value::Object(target))), None) if ACTIONS.contains(&name.as_str()) => {
            let keys: Vec<String> = target.into_iter().map(|(key, _)| key).collect();
            let is_known = |key: &String| TAKEN.contains(&key.as_str()) || NOT_TAKEN.contains(&key.as_str());
            keys.iter().all(is_known).then_some((name, keys))
        }
        _ => None,
    }
}

/// Whether the first record is a search hit.
pub(crate) fn is_hit(head: &[u8]) -> bool {
    first_object(head).is_some_and(|hit| hit.contains_key("_id") && hit.get("_source").is_some_and(Value::is_object))
}

/// Whether the first record is a dead letter of a load.
pub(crate) fn is_dead_letter(head: &[u8]) -> bool {
    let Some(letter) = first_object(head) else { return false };
    let has = |member: &str, names: [&str; 2]| {
        letter.get(member).is_some_and(|inner| names.iter().all(|name| inner.get(name).is_some()))
    };
    let has_document = ["document", "text", "base64", "action"].iter().any(|name| letter.contains_key(*name));
    has("error", ["type", "reason"]) && has("position", ["source", "partition"]) && has_document
}

/// The first record, if it is an object.
fn first_object(head: &[u8]) -> Option<Map<String, Value>> {
    let (mut scan, mut elements) = (Scan::default(), Vec::new());
    let _ = scan.run(head, &mut elements);
    let first = elements.first()?;
    serde_json::from_slice(&head[first.start..first.end]).ok()
}

/// The path for `--records` of an array of objects inside the first value, which is an object. The
/// search enters objects only.
pub(crate) fn records_path(head: &[u8]) -> Option<String> {
    // The names of the open members, from the outermost.
    let mut names: Vec<String> = Vec::new();
    let (mut at, mut arrays) = (0, 0);
    while at < head.len() {
        match head[at] {
            b'{' if arrays == 0 => names.push(String::new()),
            b'[' if arrays == 0 && names.iter().all(|name| !name.is_empty()) && has_objects(&head[at + 1..]) => {
                return (!names.is_empty()).then(|| path(&names));
            }
            b'{' | b'[' => arrays += 1,
            b'}' | b']' if arrays > 0 => arrays -= 1,
            b'}' | b']' => {
                names.pop();
                if names.is_empty() {
                    return None;
                }
            }
            b'"' => {
                let end = end_of_string(head, at);
                let is_name = head[end..].trim_ascii_start().first() == Some(&b':');
                if arrays == 0
                    && is_name
                    && let Some(name) = names.last_mut()
                {
                    *name = serde_json::from_slice(&head[at..end]).unwrap_or_default();
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether the first value is an object that has all these fields, given as paths, or the outermost
/// objects that they are in.
pub(crate) fn has_at_the_top(head: &[u8], paths: &[String]) -> bool {
    let mut left: Vec<&str> = paths.iter().map(String::as_str).collect();
    let (mut at, mut depth) = (0, 0);
    while at < head.len() && !left.is_empty() {
        match head[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth < 2 => break,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = end_of_string(head, at);
                if depth == 1
                    && head[end..].trim_ascii_start().first() == Some(&b':')
                    && let Ok(name) = serde_json::from_slice::<String>(&head[at..end])
                {
                    left.retain(|path| *path != name && path.split('.').next() != Some(name.as_str()));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    left.is_empty()
}

/// Whether an array, given from behind its bracket, begins with two objects, or with one whose end
/// is not in the text.
fn has_objects(rest: &[u8]) -> bool {
    if rest.trim_ascii_start().first() != Some(&b'{') {
        return false;
    }
    let (mut scan, mut elements) = (Scan::default(), Vec::new());
    let _ = scan.run(rest, &mut elements);
    match elements.first() {
        Some(first) => matches!(rest[first.end..].trim_ascii_start().first(), None | Some(b',')),
        None => true,
    }
}

fn path(names: &[String]) -> String {
    if names.iter().any(|name| name.contains(['.', '/'])) {
        names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
    } else {
        names.join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_lines() {
        for (head, in_lines, expected) in [
            ("{\"a\":1}\n{\"a\":2}\n", false, false),
            ("{\"a\":1}", false, false),
            ("{} {\"a\":{}", true, true),
            ("{\"a\":1}{\"a\":2}\n", true, true),
            ("{\"a\":1} {\"a\":2}", false, true),
            ("{\"a\":1},\n{\"a\":2}\n", true, true),
            ("{\n\"a\":1}", false, true),
            ("{\n\"a\":1}", true, true),
            ("{ \"a\":1,\n \"b\":2}", false, true),
            ("{\"a\":\"x\n{\"a\":2}", true, false),
            ("{\"a\":\"x\n{\"a\":2}", false, true),
            ("{\"a\":9} // c\n{\"a\":1}", false, false),
            ("{\"a\":1} } {\"a\":2}", false, true),
            ("{\"a\":1} } {\"a\":2}\n", true, true),
            ("{\"a\":1} } {\"a\":2}\n{}\n", false, false),
            ("{\"a\":[{},{}]}\n", false, true),
            ("{\"a\":[{},{}]}\n", true, false),
            ("{\"a\":[{},{}]}\n{}", false, false),
        ] {
            assert_eq!(is_values(head.as_bytes(), true, in_lines), expected, "{head}");
        }
        assert!(is_values(b"{\"a\":\"long", false, false));
        assert!(!is_values(b"{\"a\":\"long", false, true));
        assert!(!is_values(b"{\"a\":\"cut off", true, false));
    }

    #[test]
    fn bulk_bodies_are_told_from_documents() {
        for (head, expected) in [
            ("{\"index\":{\"_id\":\"1\"}}\n{\"a\":1}\n", true),
            ("{\"create\":{}}\n\n{\"a\":", true),
            ("{\"delete\":{\"_id\":1}}\n{\"delete\":{\"_id\":2}}\n", true),
            ("{\"index\":{}}\n{\"index\":{}}\n", false),
            ("{\"index\":{\"_id\":\"1\"}}", false),
            ("{\"index\":{\"value\":1}}\n{\"a\":1}\n", false),
            ("{\"index\":{},\"a\":1}\n{\"a\":1}\n", false),
        ] {
            let expected = expected.then(|| BulkBody { not_taken: Vec::new() });
            assert_eq!(bulk_body(head.as_bytes()), expected, "{head}");
        }
        let head = b"{\"index\":{\"_id\":\"1\",\"_parent\":\"q\",\"pipeline\":\"p\"}}\n{}";
        let body = bulk_body(head).unwrap();
        assert_eq!(body.not_taken, ["_parent", "pipeline"]);
    }

    #[test]
    fn an_action_line_alone_does_not_say_enough() {
        for (head, expected) in [
            ("", false),
            ("{\"a\":1}", false),
            ("{\"a\":1}\n", true),
            ("\n", false),
            ("{\"index\":{}}\n", false),
            ("\n{\"index\":{}}\n\n{\"a\":", false),
            ("{\"index\":{}}\n{\"a\":1}\n", true),
            ("{\"index\":{\"a\":1}}\n", true),
            ("{\"delete\":{\"_id\":\"1\"}}\n", true),
            ("a,b\n", true),
        ] {
            assert_eq!(says_enough(head.as_bytes()), expected, "{head:?}");
        }
    }

    #[test]
    fn hits_are_told_from_documents() {
        assert!(is_hit(b"{\"_index\":\"a\",\"_id\":\"1\",\"_source\":{}}\n{"));
        assert!(is_hit(b"[{\"_id\":\"1\",\"_source\":{}}"));
        assert!(!is_hit(b"{\"_id\":\"1\",\"_source\":3}"));
        assert!(!is_hit(b"{\"_id\":\"1\"}"));
    }

    #[test]
    fn fields_of_the_outermost_object_are_found() {
        let has = |head: &str, paths: &[&str]| {
            has_at_the_top(head.as_bytes(), &paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
        };
        let order = "{\n \"lines\":[{\"sku\":\"a\"},{}],\"o\":{\"k\":1},\"d.e\":2, \"id\" : \"x\"}";
        assert!(has(order, &["id"]) && has(order, &["o.k", "id", "d.e"]));
        assert!(!has(order, &["sku"]) && !has(order, &["id", "k"]) && !has(order, &["x"]));
        assert!(!has("{\"a\":1} {\"id\":2}", &["id"]) && !has("{\"a\":[{\"id\":1},", &["id"]));
        assert!(!has("[{\"id\":1}]", &["id"]) && !has("{\"a\":\"id", &["id"]));
    }

    #[test]
    fn records_inside_of_an_object_are_found() {
        for (head, expected) in [
            ("{\"type\":\"F\",\"features\":[{\"type\":1},", Some("features")),
            ("{\"took\":1,\"_shards\":{\"total\":[1]},\"hits\":{\"hits\":[ {\"_id\":\"1", Some("hits.hits")),
            ("{\"a.b\":{\"c/d\":[{},{}]}}", Some("/a.b/c~1d")),
            ("{\"a\":[{}],\"b\":[1,{}],\"c\":[[{},{}]]}", None),
            ("{\"a\":{}} {\"b\":[{},{}]}", None),
            ("{\"a\":\"[{\\\"},{", None),
        ] {
            assert_eq!(records_path(head.as_bytes()).as_deref(), expected, "{head}");
        }
    }
}
