//! The numbers that a text has for a date, and the moment that the servers make of them.

use super::calendar::{Clock, Resolver, YEAR_MAX, ZONE_MAX, day_of_week, day_of_year, first_week, last_day, weeks};
use super::{Fit, Moment};

/// A number of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    /// A year of an era, of which the first is 1.
    YearOfEra,
    Month,
    Day,
    DayOfYear,
    /// The year that a week belongs to by ISO 8601.
    WeekYear,
    Week,
    /// A day of such a week from 1 on, which is a Monday.
    DayOfWeek,
    /// The same as a name.
    DayName,
    Hour,
    /// From 1 to 24.
    ClockHour,
    /// From 0 to 11.
    HourOfHalf,
    /// From 1 to 12.
    ClockHourOfHalf,
    /// The first or the second half of a day.
    Half,
    Minute,
    Second,
    Nano,
    /// The distance from UTC in milliseconds.
    Zone,
}

const UNITS: usize = Unit::Zone as usize + 1;

/// The numbers of a date as it is written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    numbers: [i64; UNITS],
    /// A bit for each number that is there.
    present: u32,
}

impl Found {
    pub(super) fn get(&self, unit: Unit) -> Option<i64> {
        (self.present & 1 << unit as u32 != 0).then(|| self.numbers[unit as usize])
    }

    /// Sets a number. `None` if it is there with another value.
    pub(super) fn set(&mut self, unit: Unit, number: i64) -> Option<()> {
        let is_new = self.get(unit).is_none_or(|before| before == number);
        self.numbers[unit as usize] = number;
        self.present |= 1 << unit as u32;
        is_new.then_some(())
    }

    /// The moment of the numbers. Beyond the range of milliseconds it is its end if it `clamps`.
    pub(super) fn moment(&self, resolver: Resolver, clamps: bool) -> Result<Moment, Fit> {
        let mut clock = self.clock(resolver).ok_or(Fit::Not)?;
        let day = self.day(resolver).ok_or(Fit::Not)?;
        if clock.is_some_and(|clock| clock.parts[0] == 24) && day == Some(last_day()) {
            return Err(Fit::Not);
        }
        let day = match day {
            Some(day) => day,
            None => {
                // Without a day there is none behind it.
                if let Some(clock) = &mut clock {
                    clock.parts[0] %= 24;
                }
                self.day_of_some(clock.is_some())?
            }
        };
        let zone = self.get(Unit::Zone).unwrap_or_default();
        if zone.abs() > ZONE_MAX {
            return Err(Fit::Never);
        }
        clock.unwrap_or_default().on(day, zone, clamps).ok_or(Fit::Never)
    }

    /// The same with what Elasticsearch adds for the end of a range: the first month and day, the
    /// last hour, minute, second and nanosecond. `None` where that is not known here.
    pub(super) fn filled(mut self) -> Option<Self> {
        const OTHERS: [Unit; 9] = [
            Unit::DayOfYear,
            Unit::WeekYear,
            Unit::Week,
            Unit::DayOfWeek,
            Unit::ClockHour,
            Unit::HourOfHalf,
            Unit::ClockHourOfHalf,
            Unit::Half,
            Unit::DayName,
        ];
        const ADDED: [(Unit, i64); 6] = [
            (Unit::Month, 1),
            (Unit::Day, 1),
            (Unit::Hour, 23),
            (Unit::Minute, 59),
            (Unit::Second, 59),
            (Unit::Nano, 999_999_999),
        ];
        let has = |unit: &Unit| self.get(*unit).is_some();
        if OTHERS.iter().any(has) || !has(&Unit::Year) && !has(&Unit::YearOfEra) {
            return None;
        }
        for (unit, number) in ADDED {
            if self.get(unit).is_none() {
                self.set(unit, number)?;
            }
        }
        Some(self)
    }

    /// The time, if there is an hour. The outer `None` is for a time that is none.
    fn clock(&self, resolver: Resolver) -> Option<Option<Clock>> {
        let within = |unit, least: i64, most: i64| match self.get(unit) {
            Some(number) if !(least..=most).contains(&number) => None,
            number => Some(number),
        };
        let clock_hour = within(Unit::ClockHour, 1, 24)?.map(|hour| hour % 24);
        let of_half = within(Unit::ClockHourOfHalf, 1, 12)?.map(|hour| hour % 12);
        let of_half = both(of_half, within(Unit::HourOfHalf, 0, 11)?)?;
        let half = self.get(Unit::Half);
        let in_halves = of_half.zip(half).map(|(hour, half)| 12 * half + hour);
        let hour = both(self.get(Unit::Hour), both(clock_hour, in_halves)?)?;
        let (minute, second, nano) = (self.get(Unit::Minute), self.get(Unit::Second), self.get(Unit::Nano));
        // Of a time without a unit in the middle, Java knows nothing.
        let has_gap = minute.is_none() && (second.is_some() || nano.is_some()) || second.is_none() && nano.is_some();
        if hour.is_some() && has_gap {
            return Some(None);
        }
        within(Unit::Minute, 0, 59)?;
        within(Unit::Second, 0, 59)?;
        let Some(hour) = hour else { return Some(None) };
        let parts = [hour, minute.unwrap_or_default(), second.unwrap_or_default()];
        let clock = Clock { parts, nanos: nano.unwrap_or_default() as u32, ..Clock::default() };
        let of_half = of_half.is_none_or(|of_half| of_half == hour % 12);
        let fits = resolver.takes(clock) && half.is_none_or(|half| half == hour % 24 / 12) && of_half;
        fits.then_some(Some(clock))
    }

    /// The days from 1970 to a day that is whole. The outer `None` is for a day that is none.
    fn day(&self, resolver: Resolver) -> Option<Option<i64>> {
        let of_era = self.get(Unit::YearOfEra);
        // The eras before and after the year 0 have as many years.
        of_era.is_none_or(|year| (1..=YEAR_MAX + 1).contains(&year)).then_some(())?;
        let of_weeks = self.get(Unit::WeekYear);
        of_weeks.is_none_or(|year| i32::try_from(year).is_ok()).then_some(())?;
        // A strict resolver asks for the era.
        let of_era = of_era.filter(|_| resolver != Resolver::Strict);
        let year = self.get(Unit::Year).or(of_era);
        let (month, day, of_year) = (self.get(Unit::Month), self.get(Unit::Day), self.get(Unit::DayOfYear));
        let mut found = match (year, month, day, of_year) {
            (Some(year), Some(month), Some(day), _) => Some(resolver.day(year, month, day)?),
            (Some(year), _, _, Some(of_year)) => Some(day_of_year(year, of_year)?),
            _ => None,
        };
        let day_of_week = self.get(Unit::DayOfWeek);
        if let (Some(year), Some(week), Some(of_week)) = (of_weeks, self.get(Unit::Week), day_of_week) {
            ((1..=weeks(year)?).contains(&week) && (1..=7).contains(&of_week)).then_some(())?;
            let day = first_week(year)? + 7 * (week - 1) + of_week - 1;
            found = both(found, Some(day).filter(|day| *day <= last_day()))?;
        }
        let Some(day) = found else { return Some(None) };
        let named = self.get(Unit::DayName).is_none_or(|name| name == self::day_of_week(day));
        let of_year = of_year.is_none_or(|of_year| year.and_then(|year| day_of_year(year, of_year)) == Some(day));
        (named && of_year).then_some(Some(day))
    }

    /// Whether its week is the 53rd of a year that has 52.
    pub(super) fn has_one_week_more(&self) -> bool {
        let year = self.get(Unit::WeekYear).and_then(weeks);
        year == Some(52) && self.get(Unit::Week) == Some(53)
    }

    /// The day that the servers take where it is not whole.
    fn day_of_some(&self, has_time: bool) -> Result<i64, Fit> {
        if let Some(year) = self.get(Unit::WeekYear) {
            let week = self.get(Unit::Week).unwrap_or(1);
            let first = first_week(year).filter(|_| (1..=53).contains(&week)).ok_or(Fit::Never)?;
            let day = first + 7 * (week - 1);
            return if day <= last_day() { Ok(day) } else { Err(Fit::Never) };
        }
        let year = self.get(Unit::Year).or(self.get(Unit::YearOfEra));
        if let (Some(year), Some(of_year)) = (year, self.get(Unit::DayOfYear)) {
            return day_of_year(year, of_year).ok_or(Fit::Never);
        }
        let (month, day) = (self.get(Unit::Month), self.get(Unit::Day));
        match (year, month) {
            (None, None) if !has_time => Err(Fit::Never),
            // Only the time counts.
            (year, None) if has_time => match year {
                Some(year) if !(-YEAR_MAX..=YEAR_MAX).contains(&year) => Err(Fit::Never),
                _ => Ok(0),
            },
            (year, None) => Resolver::Strict.day(year.unwrap_or(1970), 1, 1).ok_or(Fit::NoYear),
            (year, Some(month)) => {
                Resolver::Strict.day(year.unwrap_or(1970), month, day.unwrap_or(1)).ok_or(Fit::Never)
            }
        }
    }
}

/// The number that one of two has. The outer `None` is for two different ones.
fn both(one: Option<i64>, other: Option<i64>) -> Option<Option<i64>> {
    match (one, other) {
        (Some(one), Some(other)) => (one == other).then_some(Some(one)),
        (one, other) => Some(one.or(other)),
    }
}
