//! Logical types: values whose schema has a name that says what their numbers, bytes and structs
//! mean. All decoders find them in this table.
//!
//! Kafka Connect: `org.apache.kafka.connect.data`. Debezium: "Data type mappings" in
//! <https://debezium.io/documentation/reference/stable/connectors/postgresql.html>, and the other
//! classes of `io.debezium.data` and `io.debezium.time`. Protobuf: `confluent.type` of Confluent's
//! converter, and <https://github.com/googleapis/googleapis/tree/master/google/type>.

mod calendar;
mod geometry;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inrush_formats::json_string::push_text;
use inrush_formats::numbers::push_decimal;
use inrush_formats::time::{TimeUnit, Zone, push_date, push_timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The largest scale of a decimal, with either sign. A value of another one stays as it is.
const SCALE_MAX: i64 = 1_000;

/// Longer decimals than any index can hold would take long.
const DECIMAL_BYTES_MAX: usize = 1024;

/// Bits of one number. More are text.
const NUMBER_BITS: usize = 64;

/// More bits than this are not padded with zeros: the type has no length.
const BITS_MAX: usize = 1 << 15;

/// What a value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logical {
    /// A whole number in bytes, divided by this power of ten.
    Decimal(i32),
    /// The same in a struct that has the scale.
    ScaledDecimal,
    /// The same of a type without a scale.
    VariableDecimal,
    /// A number as text in a struct.
    TextDecimal,
    /// Days since 1970.
    Date,
    /// Time since midnight.
    Time(TimeUnit),
    /// Time since 1970.
    Timestamp(TimeUnit, Zone),
    Duration(TimeUnit),
    /// A struct of the parts of a date, a time, or both.
    Calendar,
    /// A struct of the parts of a duration.
    Parts,
    /// JSON as text.
    Json,
    /// Bits in bytes, the lowest first. The length of the type.
    Bits(Option<usize>),
    /// A struct with a shape in well-known binary.
    Geometry,
    /// A struct of a latitude and a longitude.
    LatLng,
}

const UTC: Zone = Zone::Offset(0);

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Document,
    /// A document that is merged into the one of the index: fields without a value are nulls.
    Merge,
    /// A key, whose text is an id.
    Key,
}

impl Purpose {
    pub(super) fn has_nulls(self) -> bool {
        self == Purpose::Merge
    }
}

/// The logical types whose JSON differs from their plain value. All others are right as they are:
/// among them are the texts of `ZonedTimestamp`, `Interval`, `Uuid`, `Xml`, `Enum` and `EnumSet`.
const NAMES: &[(&str, Logical)] = &[
    ("org.apache.kafka.connect.data.Decimal", Logical::Decimal(0)),
    ("org.apache.kafka.connect.data.Date", Logical::Date),
    ("org.apache.kafka.connect.data.Time", Logical::Time(TimeUnit::Millisecond)),
    ("org.apache.kafka.connect.data.Timestamp", Logical::Timestamp(TimeUnit::Millisecond, UTC)),
    ("io.debezium.time.Date", Logical::Date),
    ("io.debezium.time.Time", Logical::Time(TimeUnit::Millisecond)),
    ("io.debezium.time.MicroTime", Logical::Time(TimeUnit::Microsecond)),
    ("io.debezium.time.NanoTime", Logical::Time(TimeUnit::Nanosecond)),
    ("io.debezium.time.Timestamp", Logical::Timestamp(TimeUnit::Millisecond, Zone::None)),
    ("io.debezium.time.MicroTimestamp", Logical::Timestamp(TimeUnit::Microsecond, Zone::None)),
    ("io.debezium.time.NanoTimestamp", Logical::Timestamp(TimeUnit::Nanosecond, Zone::None)),
    ("io.debezium.time.MicroDuration", Logical::Duration(TimeUnit::Microsecond)),
    ("io.debezium.time.NanoDuration", Logical::Duration(TimeUnit::Nanosecond)),
    ("io.debezium.time.StructuredDate", Logical::Calendar),
    ("io.debezium.time.StructuredTime", Logical::Calendar),
    ("io.debezium.time.StructuredTimestamp", Logical::Calendar),
    ("io.debezium.time.StructuredZonedTime", Logical::Calendar),
    ("io.debezium.time.StructuredZonedTimestamp", Logical::Calendar),
    ("io.debezium.time.StructuredDuration", Logical::Parts),
    ("io.debezium.data.VariableScaleDecimal", Logical::VariableDecimal),
    ("io.debezium.data.Json", Logical::Json),
    ("io.debezium.data.Bits", Logical::Bits(None)),
    ("io.debezium.data.geometry.Point", Logical::Geometry),
    ("io.debezium.data.geometry.Geometry", Logical::Geometry),
    ("io.debezium.data.geometry.Geography", Logical::Geometry),
    ("confluent.type.Decimal", Logical::ScaledDecimal),
    ("google.type.Decimal", Logical::TextDecimal),
    ("google.type.Date", Logical::Calendar),
    ("google.type.TimeOfDay", Logical::Calendar),
    ("google.type.DateTime", Logical::Calendar),
    ("google.type.LatLng", Logical::LatLng),
];

impl Logical {
    /// The type with this name. `parameter` finds a number among the parameters of the schema.
    pub(super) fn named(name: &str, parameter: impl Fn(&str) -> Option<i64>) -> Option<Logical> {
        let (_, logical) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(match logical {
            Logical::Decimal(_) => Logical::Decimal(scale(parameter("scale")?)?),
            Logical::Bits(_) => Logical::Bits(parameter("length").and_then(|length| usize::try_from(length).ok())),
            other => *other,
        })
    }

    /// The struct whose name has lost its package, as in Protobuf. `has` says whether it has a
    /// field, so that other structs of this name are none.
    #[cfg(feature = "protobuf")]
    pub(super) fn of_struct(last: &str, has: impl Fn(&str) -> bool) -> Option<Logical> {
        let is_it = |known: &str| known.starts_with("io.debezium.") && known.rsplit('.').next() == Some(last);
        let (_, logical) = NAMES.iter().find(|(known, _)| is_it(known))?;
        let fields: &[&str] = match logical {
            Logical::VariableDecimal => &["scale", "value"],
            Logical::Geometry => &["wkb", "srid"],
            Logical::Parts => &["months", "days", "nanos"],
            Logical::Calendar if last.contains("Date") => &["year", "month", "day"],
            Logical::Calendar if last.contains("Timestamp") => &["year", "hour", "nanos"],
            Logical::Calendar => &["hour", "minute", "nanos"],
            _ => return None,
        };
        fields.iter().all(|field| has(field)).then_some(*logical)
    }

    /// Appends the JSON of a value. One that is not as its type says stays as it is.
    ///
    /// A type without a scale has numbers with and without a fraction. In documents a whole one
    /// gets `.0`, so that the first number makes a field for all of them.
    pub(super) fn push(self, plain: &[u8], purpose: Purpose, out: &mut Vec<u8>) {
        let before = out.len();
        if self.convert(plain, out).is_none() {
            out.truncate(before);
            out.extend_from_slice(plain);
        } else if self == Logical::VariableDecimal
            && purpose != Purpose::Key
            && out[before..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
        {
            out.extend_from_slice(b".0");
        }
    }

    fn convert(self, plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Logical::Decimal(scale) => {
                let text: String = serde_json::from_slice(plain).ok()?;
                push_bytes_decimal(out, &text, scale)
            }
            Logical::ScaledDecimal | Logical::VariableDecimal => {
                let Scaled { scale: of_it, value } = serde_json::from_slice(plain).ok()?;
                push_bytes_decimal(out, &value, scale(of_it)?)
            }
            Logical::TextDecimal => {
                let Text { value } = serde_json::from_slice(plain).ok()?;
                let number: &RawValue = serde_json::from_str(&value).ok()?;
                let is_number = |text: &str| text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                is_number(number.get()).then(|| out.extend_from_slice(number.get().as_bytes()))
            }
            Logical::Date => {
                let days = whole(plain)?;
                quoted(out, |out| push_date(out, days))
            }
            Logical::Time(unit) => {
                let nanos = nanos(whole(plain)?, unit)?;
                quoted(out, |out| calendar::push_clock(out, nanos))
            }
            Logical::Timestamp(unit, zone) => {
                let value = whole(plain)?;
                quoted(out, |out| push_timestamp(out, value, unit, zone))
            }
            Logical::Duration(unit) => {
                let nanos = nanos(whole(plain)?, unit)?;
                quoted(out, |out| calendar::push_duration(out, nanos))
            }
            Logical::Calendar => calendar::push(plain, out),
            Logical::Parts => calendar::push_parts(plain, out),
            Logical::Json => {
                let text: String = serde_json::from_slice(plain).ok()?;
                let json: &RawValue = serde_json::from_str(&text).ok()?;
                out.extend_from_slice(json.get().as_bytes());
                Some(())
            }
            Logical::Bits(length) => push_bits(plain, length, out),
            Logical::Geometry => geometry::push(plain, out),
            Logical::LatLng => geometry::push_lat_lng(plain, out),
        }
    }
}

#[derive(Deserialize)]
struct Scaled {
    scale: i64,
    value: String,
}

#[derive(Deserialize)]
struct Text {
    value: String,
}

fn scale(scale: i64) -> Option<i32> {
    i32::try_from(scale).ok().filter(|_| scale.abs() <= SCALE_MAX)
}

fn push_bytes_decimal(out: &mut Vec<u8>, base64: &str, scale: i32) -> Option<()> {
    let bytes = STANDARD.decode(base64).ok()?;
    push_decimal(out, &digits(&bytes).ok()?, scale);
    Some(())
}

/// A whole number, also in the form `1.5E3`.
fn whole(plain: &[u8]) -> Option<i64> {
    if let Ok(whole) = serde_json::from_slice(plain) {
        return Some(whole);
    }
    let number: f64 = serde_json::from_slice(plain).ok()?;
    // Doubles hold all whole numbers below this one.
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
}

fn nanos(value: i64, unit: TimeUnit) -> Option<i64> {
    value.checked_mul(match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    })
}

fn quoted(out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>)) -> Option<()> {
    out.push(b'"');
    push(out);
    out.push(b'"');
    Some(())
}

/// Up to 64 bits are a number, more are text of zeros and ones.
fn push_bits(plain: &[u8], length: Option<usize>, out: &mut Vec<u8>) -> Option<()> {
    let text: String = serde_json::from_slice(plain).ok()?;
    let bytes = STANDARD.decode(text).ok()?;
    if length.unwrap_or(bytes.len() * 8) <= NUMBER_BITS && bytes.len() * 8 <= NUMBER_BITS {
        let number = bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        out.extend_from_slice(number.to_string().as_bytes());
        return Some(());
    }
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:08b}")).collect();
    let digits = digits.trim_start_matches('0');
    let width = length.filter(|length| *length <= BITS_MAX).unwrap_or_default();
    push_text(out, &format!("{digits:0>width$}"));
    Some(())
}

/// The decimal digits of a number in two's complement, the highest byte first.
pub(super) fn digits(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > DECIMAL_BYTES_MAX {
        return Err(format!("a decimal has {} bytes, and at most {DECIMAL_BYTES_MAX} are read", bytes.len()));
    }
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    if bytes.len() <= 16 {
        let mut all = [if is_negative { 0xFF } else { 0 }; 16];
        all[16 - bytes.len()..].copy_from_slice(bytes);
        return Ok(i128::from_be_bytes(all).to_string());
    }
    // The absolute value, in words of 32 bits, the lowest first.
    let mut words: Vec<u32> = bytes
        .rchunks(4)
        .map(|chunk| {
            let fill = if is_negative { 0xFFFF_FFFF } else { 0 };
            chunk.iter().fold(fill, |word, byte| word << 8 | u32::from(*byte))
        })
        .collect();
    if is_negative {
        let mut carry = true;
        for word in &mut words {
            (*word, carry) = (!*word).overflowing_add(u32::from(carry));
        }
    }
    // Nine digits at a time, the last ones first.
    let mut parts = Vec::new();
    while words.iter().any(|word| *word != 0) {
        let mut left = 0;
        for word in words.iter_mut().rev() {
            let value = left << 32 | u64::from(*word);
            *word = (value / 1_000_000_000) as u32;
            left = value % 1_000_000_000;
        }
        parts.push(left);
    }
    let mut text = String::from(if is_negative { "-" } else { "" });
    text.push_str(&parts.pop().unwrap_or(0).to_string());
    for part in parts.iter().rev() {
        text.push_str(&format!("{part:09}"));
    }
    Ok(text)
}

#[cfg(test)]
pub(super) mod tests;
