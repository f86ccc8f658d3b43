//! Columns in the names of folders: `year=2024/country=FR/part-0.parquet`, as Hive and Spark write
//! them.

use std::collections::HashMap;
use std::path::Path;

use inrush_formats::json_string::push_escaped;

/// Hive's name for a null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The fields that each file gets from its folders, as name and JSON value. A field is a whole
/// number (from -2^63 to 2^63 - 1, without leading zeros) if it is one in all files of the job, and
/// a string otherwise. A null is left out.
pub(crate) fn fields<'a>(paths: impl Iterator<Item = Option<&'a Path>>) -> Vec<Vec<(String, String)>> {
    let files: Vec<_> = paths.map(|path| path.map_or_else(Vec::new, pairs)).collect();
    let mut whole: HashMap<&str, bool> = HashMap::new();
    for (name, value) in files.iter().flatten() {
        if let Some(value) = value {
            *whole.entry(name).or_insert(true) &= is_whole(value);
        }
    }
    let json = |name: &str, value: &str| {
        if whole.get(name) == Some(&true) {
            return value.to_owned();
        }
        let mut text = vec![b'"'];
        push_escaped(&mut text, value.as_bytes());
        text.push(b'"');
        // Escapes are ASCII, so the text stays valid UTF-8.
        String::from_utf8_lossy(&text).into_owned()
    };
    let file = |pairs: &Vec<(String, Option<String>)>| {
        let fields = pairs.iter().filter_map(|(name, value)| Some((name.clone(), json(name, value.as_deref()?))));
        fields.collect()
    };
    files.iter().map(file).collect()
}

/// Names and values of the folders of `path`. The last value of a name counts.
fn pairs(path: &Path) -> Vec<(String, Option<String>)> {
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    for folder in path.parent().into_iter().flat_map(Path::components) {
        let Some((name, value)) = folder.as_os_str().to_str().and_then(|text| text.split_once('=')) else { continue };
        let name = unescape(name);
        if name.is_empty() {
            continue;
        }
        pairs.retain(|(known, _)| *known != name);
        pairs.push((name, (value != NULL).then(|| unescape(value))));
    }
    pairs
}

fn is_whole(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical = digits == "0" && digits == value || !digits.starts_with(['0', '+']);
    canonical && value.parse::<i64>().is_ok()
}

/// Decodes `%2F` and the like.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = match (byte, after) {
            (b'%', [a, b, ..]) => std::str::from_utf8(&[*a, *b]).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paths: &[&str], expected: &[&[(&str, &str)]]) {
        let expected: Vec<Vec<_>> =
            expected.iter().map(|f| f.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()).collect();
        assert_eq!(fields(paths.iter().map(|path| Some(Path::new(*path)))), expected);
    }

    #[test]
    fn folders_are_fields_and_file_names_are_not() {
        check(&["/data/year=2024/c=FR/x=1.parquet"], &[&[("year", "2024"), ("c", "\"FR\"")]]);
        check(&["a.parquet", "b=1/.."], &[&[], &[("b", "1")]]);
        check(&["=1/a%20b=x%2Fy%/z"], &[&[("a b", "\"x/y%\"")]]);
        check(&["a=1/a=2/z"], &[&[("a", "2")]]);
    }

    #[test]
    fn a_field_is_a_number_only_where_it_is_one_everywhere() {
        check(&["m=1/z", "m=x/z"], &[&[("m", "\"1\"")], &[("m", "\"x\"")]]);
        check(&["m=01/z"], &[&[("m", "\"01\"")]]);
        check(&["m=-5/z", "m=0/z"], &[&[("m", "-5")], &[("m", "0")]]);
        check(&["m=-0/z"], &[&[("m", "\"-0\"")]]);
        check(&["m=99999999999999999999/z"], &[&[("m", "\"99999999999999999999\"")]]);
        check(&["m=__HIVE_DEFAULT_PARTITION__/z", "m=1/z"], &[&[], &[("m", "1")]]);
    }
}
