//! Times for people.

use std::time::SystemTime;

/// A time in UTC, to the second.
pub(crate) fn utc(time: SystemTime) -> String {
    let t = time::OffsetDateTime::from(time);
    let (date, h, m, s) = (t.date(), t.hour(), t.minute(), t.second());
    format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", date.year(), u8::from(date.month()), date.day())
}
