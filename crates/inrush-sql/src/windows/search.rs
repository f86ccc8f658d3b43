//! Finds the records with which a query fails.

/// Runs of the query in one search. A query that fails with more records than that can find is
/// wrong itself.
const RUNS_MAX: usize = 4_000;

/// The records of `all` with which `run` fails, each with the reason, by halving. `None` if there
/// are too many. Empty if it fails only with several records at once.
pub(super) fn failing<P: Copy>(all: &[P], mut run: impl FnMut(&[P]) -> Result<(), String>) -> Option<Vec<(P, String)>> {
    let (mut parts, mut found, mut runs) = (vec![all], Vec::new(), 0);
    while let Some(part) = parts.pop() {
        runs += 1;
        if runs > RUNS_MAX {
            return None;
        }
        match (run(part), part) {
            (Ok(()), _) | (Err(_), []) => {}
            (Err(why), [record]) => found.push((*record, why)),
            (Err(_), part) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(all: usize, is_bad: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let all: Vec<usize> = (0..all).collect();
        let found = failing(&all, |part| match part.iter().any(|record| is_bad(*record)) {
            true => Err("bad".to_owned()),
            false => Ok(()),
        });
        found.map(|found| found.into_iter().map(|(record, _)| record).collect())
    }

    #[test]
    fn the_records_are_found_by_halving() {
        assert_eq!(bad(100_000, |record| record == 77_777), Some(vec![77_777]));
        assert_eq!(bad(1, |_| true), Some(vec![0]));
        assert_eq!(bad(0, |_| true), Some(vec![]));
        assert_eq!(bad(9, |record| record % 4 == 0), Some(vec![0, 4, 8]));
        assert_eq!(bad(10_000, |_| true), None, "the query is wrong");
    }

    #[test]
    fn a_query_that_fails_with_several_at_once_has_no_bad_record() {
        let all: Vec<usize> = (0..8).collect();
        let found = failing(&all, |part| if part.len() > 4 { Err("too large".to_owned()) } else { Ok(()) });
        assert_eq!(found, Some(vec![]));
    }
}
