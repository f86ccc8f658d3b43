//! Sizes as text.

/// A size in the syntax of options, exactly: `96MiB`, `1000000`.
pub fn exact_size(bytes: u64) -> String {
    for (shift, name) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes.is_multiple_of(1 << shift) {
            return format!("{}{name}", bytes >> shift);
        }
    }
    bytes.to_string()
}
