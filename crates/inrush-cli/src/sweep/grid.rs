//! The cells of a sweep, and their random order.

use crate::units::bytes_exact;

/// Numbers from lists and ranges, ascending and without repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) Vec<u64>);

/// The most values of one setting. More are probably a typing error.
const STEPS_MAX: usize = 1_000;

impl Steps {
    /// `A,B,…`, each a number, `FROM:TO:STEP` or `FROM:TO:xFACTOR`; both ends are included.
    pub(crate) fn parse(text: &str, number: &dyn Fn(&str) -> Result<u64, String>) -> Result<Self, String> {
        let mut all = Vec::new();
        for part in text.split(',') {
            let fields: Vec<&str> = part.split(':').collect();
            match fields[..] {
                [one] => all.push(positive(number(one)?)?),
                [from, to, step] => range(positive(number(from)?)?, number(to)?, step, number, &mut all)?,
                _ => return Err(format!("{part:?} is neither a number nor FROM:TO:STEP")),
            }
            if all.len() > STEPS_MAX {
                return Err(format!("more than {STEPS_MAX} values"));
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(Steps(all))
    }
}

fn positive(number: u64) -> Result<u64, String> {
    if number == 0 { Err("must be at least 1".to_owned()) } else { Ok(number) }
}

fn range(
    from: u64,
    to: u64,
    step: &str,
    number: &dyn Fn(&str) -> Result<u64, String>,
    all: &mut Vec<u64>,
) -> Result<(), String> {
    if to < from {
        return Err(format!("{from}:{to} ends before it begins"));
    }
    let next: Box<dyn Fn(u64) -> Option<u64>> = match step.strip_prefix('x') {
        Some(factor) => {
            let factor: u64 = factor.parse().map_err(|_| format!("x{factor:?} is not a whole factor, as in x2"))?;
            if factor < 2 {
                return Err("a factor has to be 2 or more".to_owned());
            }
            Box::new(move |n| n.checked_mul(factor))
        }
        None => {
            let step = positive(number(step)?)?;
            Box::new(move |n| n.checked_add(step))
        }
    };
    let mut value = Some(from);
    while let Some(now) = value.filter(|now| *now <= to) {
        all.push(now);
        if all.len() > STEPS_MAX {
            break;
        }
        value = next(now);
    }
    Ok(())
}

/// The size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Batch {
    /// A number of documents.
    Docs(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl std::fmt::Display for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Batch::Docs(docs) => write!(f, "{docs} docs"),
            Batch::Bytes(bytes) => f.write_str(&bytes_exact(*bytes)),
        }
    }
}

/// One combination of settings. The tuner chooses what is `None`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    /// The group: index settings, encoding and compression. Cells of a group are compared by batch
    /// and requests in flight.
    pub(crate) group: String,
    pub(crate) batch: Option<Batch>,
    pub(crate) in_flight: Option<u32>,
}

impl Cell {
    /// Whether the tuner chooses everything.
    pub(crate) fn is_auto(&self) -> bool {
        self.batch.is_none() && self.in_flight.is_none()
    }

    /// The name in the table of runs, without the group.
    pub(crate) fn name(&self) -> String {
        match (self.batch, self.in_flight) {
            (None, None) => "auto".to_owned(),
            (Some(batch), None) => format!("{batch} x auto"),
            (None, Some(in_flight)) => format!("auto x {in_flight}"),
            (Some(batch), Some(in_flight)) => format!("{batch} x {in_flight}"),
        }
    }
}

/// All combinations, group by group; `auto` is the first one of each.
pub(crate) fn cells(groups: &[String], batches: &[Batch], in_flight: &[u32], auto: bool) -> Vec<Cell> {
    let batches: Vec<Option<Batch>> =
        if batches.is_empty() { vec![None] } else { batches.iter().copied().map(Some).collect() };
    let in_flight: Vec<Option<u32>> =
        if in_flight.is_empty() { vec![None] } else { in_flight.iter().copied().map(Some).collect() };
    let mut all = Vec::new();
    for group in groups {
        if auto {
            all.push(Cell { group: group.clone(), batch: None, in_flight: None });
        }
        for batch in &batches {
            for in_flight in &in_flight {
                let cell = Cell { group: group.clone(), batch: *batch, in_flight: *in_flight };
                if !cell.is_auto() {
                    all.push(cell);
                }
            }
        }
    }
    all
}

/// The order of a round: a shuffle (Fisher and Yates) that the seed and the round repeat.
pub(crate) fn order(cells: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(round);
    let mut next = move || {
        // splitmix64
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut all: Vec<usize> = (0..cells).collect();
    for last in (1..cells).rev() {
        // There are far fewer cells than 2^64, so the remainder has no noticeable bias.
        all.swap(last, (next() % (last as u64 + 1)) as usize);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u64>, String> {
        Steps::parse(text, &|n| n.parse().map_err(|_| format!("no number: {n}"))).map(|steps| steps.0)
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(counts("100").unwrap(), [100]);
        assert_eq!(counts("100:300:50,700:1500:400").unwrap(), [100, 150, 200, 250, 300, 700, 1100, 1500]);
        assert_eq!(counts("1:100:x10,5,10").unwrap(), [1, 5, 10, 100]);
        assert_eq!(counts("1:2:5").unwrap(), [1]);
        assert_eq!(counts(&format!("{}:{}:x2", u64::MAX / 2 + 1, u64::MAX)).unwrap().len(), 1);
        for (text, problem) in [
            ("", "no number"),
            ("0", "at least 1"),
            ("1:2", "neither"),
            ("5:1:1", "ends before"),
            ("1:5:0", "at least 1"),
            ("1:5:x1", "2 or more"),
            ("1:5:xx", "not a whole factor"),
            ("1:100000:1", "more than 1000"),
        ] {
            let error = counts(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn every_combination_once_and_auto_in_each_group() {
        let groups = ["a".to_owned(), "b".to_owned()];
        let all = cells(&groups, &[Batch::Docs(10), Batch::Bytes(1 << 20)], &[1, 2], true);
        let names: Vec<String> = all.iter().map(|cell| format!("{} {}", cell.group, cell.name())).collect();
        assert_eq!(names[..5], ["a auto", "a 10 docs x 1", "a 10 docs x 2", "a 1MiB x 1", "a 1MiB x 2"]);
        assert_eq!(names.len(), 10);
        assert_eq!(cells(&groups, &[], &[], true).len(), 2);
        assert_eq!(cells(&groups[..1], &[], &[3], false)[0].name(), "auto x 3");
    }

    #[test]
    fn an_order_has_every_cell_and_is_repeated_by_its_seed() {
        let first = order(20, 7, 0);
        assert_eq!(first, order(20, 7, 0));
        assert_ne!(first, order(20, 7, 1));
        assert_ne!(first, order(20, 8, 0));
        let mut sorted = first;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        assert!(order(0, 1, 1).is_empty());
    }
}
