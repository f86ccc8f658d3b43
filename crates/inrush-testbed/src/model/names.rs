//! Names, numbers and dates as the servers make and check them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::EsError;

pub(super) fn check_index_name(name: &str) -> Result<(), EsError> {
    let complaint = if name.is_empty() {
        "must not be empty"
    } else if name.chars().any(char::is_uppercase) {
        "must be lowercase"
    } else if name.starts_with(['_', '-', '+']) {
        "must not start with '_', '-', or '+'"
    } else if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#']) {
        "must not contain the following characters [ , \", *, \\, <, |, ,, >, /, ?]"
    } else if name.len() > 255 {
        "index name is too long"
    } else if name.contains(':') {
        "must not contain ':'"
    } else {
        return Ok(());
    };
    Err(EsError::new(400, "invalid_index_name_exception", format!("Invalid index name [{name}], {complaint}"))
        .with("index_uuid", "_na_")
        .with("index", name))
}

/// SplitMix64's finaliser: consecutive counters give ids that look unrelated.
pub(crate) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn millis_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Today as `yyyy.MM.dd`, UTC, for the names of backing indices.
pub(super) fn date_now() -> String {
    // Days to civil date, after Howard Hinnant's chrono-compatible algorithm.
    let z = millis_now() / 86_400_000 + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}.{month:02}.{day:02}")
}
