//! `*` in names of indices, settings and fields.

/// True if `name` matches `pattern`. A `*` matches any run of characters, also an empty one.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    // `split` yields at least one part.
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_any_run() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("a*c", "abc", true),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "axyc", false),
            ("*.x", "y.x", true),
            ("aa*aa", "aaa", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
