//! The points of a history: seconds for the last ten minutes, and longer intervals before. Pure.

use std::collections::VecDeque;

use inrush_core::report::Counts;

use crate::latency::Latency;
use crate::snapshot::Point;

/// Points of the newest row: ten minutes of seconds.
const NEWEST_MAX: usize = 600;
/// Points of each older row, whose intervals are twice as long as those of the row after it.
const OLDER_MAX: usize = 240;

/// A list of points that grows with the logarithm of the time: 600 for ten minutes, 2,280 for
/// twelve hours, 4,440 for a month. Sums over all points stay as they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Points {
    /// The newest row first.
    rows: Vec<VecDeque<Point>>,
}

impl Points {
    /// Adds the newest point.
    pub(crate) fn push(&mut self, point: Point) {
        let mut added = Some(point);
        let mut row = 0;
        while let Some(point) = added.take() {
            if row == self.rows.len() {
                self.rows.push(VecDeque::new());
            }
            self.rows[row].push_back(point);
            let max = if row == 0 { NEWEST_MAX } else { OLDER_MAX };
            if self.rows[row].len() > max {
                let pair = (self.rows[row].pop_front(), self.rows[row].pop_front());
                added = match pair {
                    (Some(older), Some(newer)) => Some(merge(&older, &newer)),
                    (one, _) => one,
                };
            }
            row += 1;
        }
    }

    /// The newest point.
    pub(crate) fn last(&self) -> Option<&Point> {
        self.rows.first()?.back()
    }

    /// All points, the oldest first.
    pub(crate) fn all(&self) -> Vec<Point> {
        self.rows.iter().rev().flatten().copied().collect()
    }
}

/// The interval of both points, which are neighbours.
fn merge(older: &Point, newer: &Point) -> Point {
    let d = older.d + newer.d;
    Point {
        t: newer.t,
        d,
        docs: older.docs + newer.docs,
        created: older.created + newer.created,
        updated: older.updated + newer.updated,
        deleted: older.deleted + newer.deleted,
        noop: older.noop + newer.noop,
        not_found: older.not_found + newer.not_found,
        already_there: older.already_there + newer.already_there,
        conflicting: older.conflicting + newer.conflicting,
        dropped: older.dropped + newer.dropped,
        redirected: older.redirected + newer.redirected,
        superseded: older.superseded + newer.superseded,
        dead_lettered: older.dead_lettered + newer.dead_lettered,
        unknown: older.unknown + newer.unknown,
        read: older.read + newer.read,
        sent: older.sent + newer.sent,
        req: older.req + newer.req,
        rejected: older.rejected + newer.rejected,
        retried: older.retried + newer.retried,
        lost: older.lost + newer.lost,
        ans: older.ans + newer.ans,
        wall: older.wall + newer.wall,
        took: older.took + newer.took,
        max: older.max.max(newer.max),
        mem: older.mem.max(newer.mem),
        fly: if d > 0.0 { (older.fly * older.d + newer.fly * newer.d) / d } else { newer.fly },
        plan_bytes: newer.plan_bytes,
        plan_fly: newer.plan_fly,
        lag: newer.lag,
    }
}

/// The interval that is not over yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// What requests have added.
    sums: Point,
    /// The sum and the number of the seen requests in flight.
    fly: (u64, u64),
}

impl Open {
    /// An answer with the server's own time.
    pub(crate) fn answered(&mut self, wall: f64, took: f64) {
        self.sums.ans += 1;
        self.sums.wall += wall;
        self.sums.took += took;
        self.sums.max = self.sums.max.max(wall);
    }

    /// A request without an answer.
    pub(crate) fn lost(&mut self) {
        self.sums.lost += 1;
    }

    /// Requests of a part of the load: answers with the sums of their times, the longest of them,
    /// and requests without an answer.
    pub(crate) fn add(&mut self, answers: &Latency, longest: f64, lost: u64) {
        self.sums.ans += answers.answers();
        self.sums.wall += answers.wall;
        self.sums.took += answers.took;
        self.sums.max = self.sums.max.max(longest);
        self.sums.lost += lost;
    }

    /// The state at a moment of the interval.
    pub(crate) fn saw(&mut self, memory: u64, in_flight: u32) {
        self.sums.mem = self.sums.mem.max(memory);
        self.fly.0 += u64::from(in_flight);
        self.fly.1 += 1;
    }

    /// Ends the interval. `counts` are those since the end of the one before.
    pub(crate) fn close(&mut self, (t, d): (f64, f64), counts: &Counts) -> Point {
        let Open { sums, fly } = std::mem::take(self);
        Point {
            t,
            d,
            docs: counts.docs_read,
            created: counts.docs_created,
            updated: counts.docs_updated,
            deleted: counts.docs_deleted,
            noop: counts.docs_noop,
            not_found: counts.docs_not_found,
            already_there: counts.docs_already_there,
            conflicting: counts.docs_conflicting,
            dropped: counts.docs_dropped,
            redirected: counts.docs_redirected,
            superseded: counts.docs_superseded,
            dead_lettered: counts.docs_dead_lettered,
            unknown: counts.docs_unknown,
            read: counts.bytes_read,
            sent: counts.bytes_sent,
            req: counts.requests,
            rejected: counts.rejected_items,
            retried: counts.retried_items,
            wall: rounded(sums.wall),
            took: rounded(sums.took),
            max: rounded(sums.max),
            fly: match fly.1 {
                0 => 0.0,
                times => rounded(fly.0 as f64 / times as f64),
            },
            ..sums
        }
    }
}

/// Three decimals, which keep the JSON short.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn second(t: u32, docs: u64, wall: f64) -> Point {
        Point { t: f64::from(t), d: 1.0, docs, created: docs, req: 1, ans: 1, wall, max: wall, ..Point::default() }
    }

    proptest! {
        #[test]
        fn sums_are_kept_and_points_are_neighbours(docs in proptest::collection::vec(0..5_000_u64, 1..3_000)) {
            let mut points = Points::default();
            for (t, docs) in docs.iter().enumerate() {
                points.push(second(t as u32 + 1, *docs, *docs as f64 / 1000.0));
            }
            let all = points.all();
            prop_assert_eq!(all.iter().map(|point| point.docs).sum::<u64>(), docs.iter().sum::<u64>());
            prop_assert_eq!(all.iter().map(|point| point.req).sum::<u64>(), docs.len() as u64);
            let longest = all.iter().map(|point| point.max).fold(0.0, f64::max);
            prop_assert_eq!(longest, *docs.iter().max().unwrap() as f64 / 1000.0);
            let mut end = 0.0;
            for point in &all {
                prop_assert_eq!(point.t - point.d, end);
                end = point.t;
            }
            prop_assert_eq!(end, docs.len() as f64);
        }
    }

    #[test]
    fn the_last_ten_minutes_are_seconds_and_months_are_bounded() {
        let mut points = Points::default();
        for t in 1..=30 * 86_400 {
            points.push(second(t, 1, 0.1));
            if t == 12 * 3600 {
                assert!(points.all().len() <= 2_300, "{}", points.all().len());
            }
        }
        let all = points.all();
        assert!(all.len() <= 4_440, "{}", all.len());
        assert!(all.iter().rev().take(599).all(|point| point.d == 1.0));
        assert_eq!(all.iter().map(|point| point.docs).sum::<u64>(), 30 * 86_400);
    }

    #[test]
    fn a_mean_weighs_intervals_by_their_length() {
        let (a, b) = (Point { d: 1.0, fly: 8.0, ..Point::default() }, Point { d: 3.0, fly: 4.0, ..Point::default() });
        assert_eq!(merge(&a, &b).fly, 5.0);
    }
}
