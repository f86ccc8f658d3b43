//! Patterns with stars, as the servers have them for names of indices and fields.

/// Whether `name` matches `pattern`, in which `*` stands for any text, also for none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    // The first place of each part leaves the most for those behind it.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("logs-*", "logs-a", true),
            ("logs-*", "log", false),
            ("*c", "abc", true),
            ("*-a-*-b", "x-a-y-b", true),
            ("*-a-*-b", "x-a-b", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b", "abc", false),
            ("a*a", "a", false),
            ("é*", "éé", true),
            ("a.*.c", "a.c", false),
            ("trips", "trips", true),
            ("trips", "trips2", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        let many = "*a".repeat(40) + "b";
        assert!(!matches(&many, &"a".repeat(80)));
    }
}
