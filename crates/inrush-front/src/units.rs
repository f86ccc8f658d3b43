//! Formats sizes, counts and time spans for people.

use inrush_commands::options::ByteSize;

/// A size for people: `512 B`, `1.5 KiB`, `2.0 MiB`.
pub fn bytes(bytes: u64) -> String {
    const NAMES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut name = 0;
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && name + 1 < NAMES.len() {
        value /= 1024.0;
        name += 1;
    }
    format!("{value:.1} {}", NAMES[name])
}

/// A size in the syntax of flags, exactly: `96MiB`, `1000000`.
pub fn bytes_exact(bytes: u64) -> String {
    ByteSize::new(bytes).map_or_else(|| "0".to_owned(), |size| size.to_string())
}

/// A count with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 document`, `2 documents`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A time span for people: `0.4 s`, `59.9 s`, `2 min 05 s`, `3 h 07 min`.
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(2 << 20), bytes((1 << 20) - 1)],
            ["0 B", "1023 B", "1.5 KiB", "2.0 MiB", "1.0 MiB"]
        );
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "document"), counted(2, "document")], ["1 document", "2 documents"]);
        assert_eq!(
            [seconds(0.0), seconds(59.96), seconds(125.0), seconds(11_240.0), seconds(f64::INFINITY)],
            ["0.0 s", "1 min 00 s", "2 min 05 s", "3 h 07 min", "?"]
        );
    }
}
