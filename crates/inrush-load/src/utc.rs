//! Times for people.

use std::time::SystemTime;

/// A time in UTC, to the millisecond. Times are in the order of their texts.
pub(crate) fn utc_ms(time: SystemTime) -> String {
    let ms = time::OffsetDateTime::from(time).millisecond();
    format!("{}.{ms:03}Z", utc(time).trim_end_matches('Z'))
}

/// A time in UTC, to the second.
pub(crate) fn utc(time: SystemTime) -> String {
    let t = time::OffsetDateTime::from(time);
    let (date, h, m, s) = (t.date(), t.hour(), t.minute(), t.second());
    format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", date.year(), u8::from(date.month()), date.day())
}
