//! Avro becomes JSON.
//!
//! The bytes are read by the schema with which they were written, and each value is written as JSON
//! at once. "Binary encoding" in <https://avro.apache.org/docs/1.12.0/specification/>. JSON is as
//! of Avro files:
//!
//! | Avro | JSON |
//! |---|---|
//! | `int`, `long` | a number |
//! | `float`, `double` | the shortest number of the same value; NaN and infinity are null |
//! | `decimal` | a number with all its digits |
//! | `timestamp-…`, `local-timestamp-…` | `2024-01-31T10:00:00.123Z`, `2024-01-31T10:00:00.123` |
//! | `date`, `time-…`, `duration` | `2024-01-31`, `10:00:00`, `P1M2DT3S` |
//! | `bytes`, `fixed` | base64; a `uuid` as people write it |
//! | a logical type of Kafka Connect or Debezium (`connect.name`) | as [`super::logical`] says |
//! | `enum` | its symbol |
//! | a union | its value |
//! | a field or an entry of a map that is null | nothing; `null` where documents are merged |
//! | an element of an array that is null | `null` |

mod schema;

use inrush_core::Code;
use inrush_formats::json_string::{push_base64, push_text, push_uuid};
use inrush_formats::numbers::push_decimal;
use inrush_formats::time::{TimeUnit, push_date, push_interval, push_time, push_timestamp};
pub(crate) use schema::Schema;
use schema::{At, Type};

use super::Problem;
use super::logical::{Logical, Purpose, digits};

/// The most types inside each other. The search servers accept no more than 1,000 levels of JSON.
const LEVELS_MAX: usize = 200;

impl Schema {
    /// Appends the JSON of a value, of `bytes_max` at most. One to merge has the fields that
    /// are null. The output may have grown in case of an error.
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        bytes_max: usize,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let most = out.len().saturating_add(bytes_max);
        let mut decoding = Decoding { types: &self.types, purpose, rest: bytes, most, levels: 0, out };
        let result = decoding.value(self.root).and_then(|is_there| {
            if !is_there {
                decoding.out.extend_from_slice(b"null");
            }
            match decoding.rest.len() {
                0 => Ok(()),
                more => Err(format!("{more} bytes are left behind the value")),
            }
        });
        let at = bytes.len() - decoding.rest.len();
        result.map_err(|problem| {
            (
                Code::BadAvro,
                format!("the bytes do not fit the schema: {problem}, at byte {at}; was it written with it?"),
            )
        })
    }
}

/// A value while it is decoded.
struct Decoding<'a> {
    types: &'a [Type],
    purpose: Purpose,
    rest: &'a [u8],
    /// The largest length of the output.
    most: usize,
    levels: usize,
    out: &'a mut Vec<u8>,
}

impl Decoding<'_> {
    /// Appends a value. If it is null, appends nothing and returns `false`.
    fn value(&mut self, at: At) -> Result<bool, String> {
        let types = self.types;
        match &types[at] {
            Type::Null => return Ok(false),
            Type::Boolean => match self.take(1)?[0] {
                0 => self.out.extend_from_slice(b"false"),
                1 => self.out.extend_from_slice(b"true"),
                other => return Err(format!("{other} is no boolean")),
            },
            Type::Int => {
                let value = self.int()?;
                self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Type::Long => {
                let value = self.long()?;
                self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Type::Float => {
                let value = f32::from_le_bytes(self.array()?);
                return Ok(value.is_finite() && self.number(value));
            }
            Type::Double => {
                let value = f64::from_le_bytes(self.array()?);
                return Ok(value.is_finite() && self.number(value));
            }
            Type::Bytes => {
                let bytes = self.bytes()?;
                push_base64(self.out, bytes);
            }
            Type::String => {
                let text = self.text()?;
                push_text(self.out, text);
            }
            Type::Fixed(size) => {
                let bytes = self.take(*size)?;
                push_base64(self.out, bytes);
            }
            Type::Uuid => {
                let bytes = self.take(16)?;
                push_uuid(self.out, bytes);
            }
            Type::Enum(symbols) => {
                let index = self.int()?;
                let symbol = usize::try_from(index).ok().and_then(|index| symbols.get(index));
                let no_symbol = || format!("{index} is none of {} symbols", symbols.len());
                self.out.extend_from_slice(symbol.ok_or_else(no_symbol)?);
            }
            Type::Union(branches) => {
                let index = self.long()?;
                let branch = usize::try_from(index).ok().and_then(|index| branches.get(index));
                let branch = *branch.ok_or_else(|| format!("{index} is none of {} branches", branches.len()))?;
                return self.inside(|decoding| decoding.value(branch));
            }
            Type::Record(fields) => self.inside(|decoding| decoding.record(fields))?,
            Type::Logical(logical, plain) => return self.logical(*logical, *plain),
            Type::Array(items) => self.inside(|decoding| decoding.items(*items))?,
            Type::Map(values) => self.inside(|decoding| decoding.entries(*values))?,
            Type::Date | Type::TimeMillis | Type::TimeMicros | Type::Timestamp(..) | Type::Duration => {
                self.out.push(b'"');
                self.moment(&types[at])?;
                self.out.push(b'"');
            }
            Type::Decimal(size, scale) => {
                let bytes = if let Some(size) = size { self.take(*size)? } else { self.bytes()? };
                push_decimal(self.out, &digits(bytes)?, *scale);
            }
        }
        Ok(true)
    }

    fn logical(&mut self, logical: Logical, plain: At) -> Result<bool, String> {
        let before = self.out.len();
        let is_there = self.inside(|decoding| decoding.value(plain))?;
        if is_there {
            let plain = self.out.split_off(before);
            logical.push(&plain, self.purpose, self.out);
        }
        Ok(is_there)
    }

    /// A value inside another one.
    fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.levels == LEVELS_MAX {
            return Err(format!("more than {LEVELS_MAX} types are inside each other"));
        }
        self.levels += 1;
        let done = work(self);
        self.levels -= 1;
        done
    }

    fn record(&mut self, fields: &[(Vec<u8>, At)]) -> Result<(), String> {
        self.out.push(b'{');
        for (prefix, kind) in fields {
            let before = self.out.len();
            self.out.extend_from_slice(prefix);
            self.member(*kind, before)?;
        }
        self.close(b'{', b'}');
        self.check_size()
    }

    fn items(&mut self, items: At) -> Result<(), String> {
        self.out.push(b'[');
        while let count @ 1.. = self.count()? {
            for _ in 0..count {
                if !self.value(items)? {
                    self.out.extend_from_slice(b"null");
                }
                self.out.push(b',');
                self.check_size()?;
            }
        }
        self.close(b'[', b']');
        Ok(())
    }

    fn entries(&mut self, values: At) -> Result<(), String> {
        self.out.push(b'{');
        while let count @ 1.. = self.count()? {
            for _ in 0..count {
                let before = self.out.len();
                let name = self.text()?;
                push_text(self.out, name);
                self.out.push(b':');
                self.member(values, before)?;
                self.check_size()?;
            }
        }
        self.close(b'{', b'}');
        Ok(())
    }

    /// Appends the value of a member, whose name begins at `before`.
    fn member(&mut self, kind: At, before: usize) -> Result<(), String> {
        match self.value(kind)? {
            true => self.out.push(b','),
            false if self.purpose.has_nulls() => self.out.extend_from_slice(b"null,"),
            false => self.out.truncate(before),
        }
        Ok(())
    }

    /// Ends an object or array whose members are each followed by a comma.
    fn close(&mut self, opening: u8, closing: u8) {
        match self.out.last_mut() {
            Some(last) if *last != opening => *last = closing,
            _ => self.out.push(closing),
        }
    }

    /// The number of values in the next block of an array or map. 0 at the end.
    fn count(&mut self) -> Result<u64, String> {
        let count = self.long()?;
        if count < 0 {
            // The size of the block in bytes, for readers that pass over it.
            self.long()?;
        }
        Ok(count.unsigned_abs())
    }

    fn check_size(&self) -> Result<(), String> {
        match self.out.len() > self.most {
            true => Err("the document is larger than the largest size of a document".to_owned()),
            false => Ok(()),
        }
    }

    fn moment(&mut self, kind: &Type) -> Result<(), String> {
        match kind {
            Type::Date => {
                let days = self.int()?;
                push_date(self.out, days.into());
            }
            Type::TimeMillis => {
                let millis = self.int()?;
                push_time(self.out, millis.into(), TimeUnit::Millisecond);
            }
            Type::TimeMicros => {
                let micros = self.long()?;
                push_time(self.out, micros, TimeUnit::Microsecond);
            }
            Type::Timestamp(unit, zone) => {
                let value = self.long()?;
                push_timestamp(self.out, value, *unit, *zone);
            }
            // The only other one: months, days and milliseconds, without signs.
            _ => {
                let [months, days, millis] = [self.array()?, self.array()?, self.array()?].map(u32::from_le_bytes);
                let whole = |value: u32| i32::try_from(value).map_err(|_| format!("{value} is out of range"));
                push_interval(self.out, whole(months)?, whole(days)?, i64::from(millis) * 1_000_000);
            }
        }
        Ok(())
    }

    fn number(&mut self, value: impl zmij::Float) -> bool {
        self.out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
        true
    }
}

impl<'a> Decoding<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| {
            let there = self.rest.len();
            format!("{len} bytes are expected and {there} are there")
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        // `take` returns as many bytes as asked for.
        Ok(self.take(N)?.try_into().expect("the length is N"))
    }

    /// Zigzag encoding in 7 bits a byte.
    fn long(&mut self) -> Result<i64, String> {
        let mut value = 0;
        for (at, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * at);
            if byte & 0x80 == 0 {
                if at == 9 && *byte > 1 {
                    break;
                }
                self.rest = &self.rest[at + 1..];
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err("a number is cut off or has more than 64 bits".to_owned())
    }

    fn int(&mut self) -> Result<i32, String> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| format!("{value} has more than 32 bits"))
    }

    fn bytes(&mut self) -> Result<&'a [u8], String> {
        let len = self.long()?;
        let len = usize::try_from(len).map_err(|_| format!("{len} is no length"))?;
        self.take(len)
    }

    fn text(&mut self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|error| format!("text is not UTF-8: {error}"))
    }
}

#[cfg(test)]
mod tests;
