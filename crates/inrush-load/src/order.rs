//! The proof that operations on one id took effect in their order, where a request had no answer:
//! at the end each such id is read.

use std::collections::BTreeMap;

use inrush_cluster::api::documents::DocumentKey;
use inrush_cluster::transport::Transport;
use inrush_core::flow::{Comparison, LastWrite, Left, Order, ReadBack};

use crate::compare;
use crate::report::{Verified, VerifiedState};

/// Reads the ids of `writes`, and says for each whether the last operation was the last write.
/// `index`: that of action lines that name none, where no reply named one.
pub(crate) async fn read_back(transport: &Transport, index: Option<&str>, writes: &[LastWrite]) -> Vec<ReadBack> {
    let key = |write: &LastWrite| {
        let key = compare::key(&write.action, index.or(write.index.as_deref()))?;
        Some(DocumentKey { index: write.index.clone().unwrap_or(key.index), ..key })
    };
    let Some(keys) = writes.iter().map(key).collect::<Option<Vec<DocumentKey>>>() else {
        return vec![ReadBack::Failed("an action line has no id".to_owned()); writes.len()];
    };
    let found = match compare::patiently(transport, &keys).await {
        Ok(found) => found,
        Err(error) => return vec![ReadBack::Failed(error.to_string()); writes.len()],
    };
    let (mut results, mut asked) = (Vec::with_capacity(writes.len()), BTreeMap::new());
    for ((write, key), found) in writes.iter().zip(&keys).zip(found) {
        results.push(match (&write.left, found) {
            (Left::Write(mark), Some(stored)) => {
                same(i64::try_from(mark.seq_no) == Ok(stored.seq_no) && mark.primary_term == stored.primary_term)
            }
            (Left::Document(document), Some(stored)) => {
                match compare::equal(transport, key, (document, &stored), &mut asked).await {
                    Comparison::Failed(why) => ReadBack::Failed(why),
                    comparison => same(comparison == Comparison::Equal),
                }
            }
            (Left::Absent, found) => same(found.is_none()),
            (Left::Write(_) | Left::Document(_), None) => ReadBack::Written,
        });
    }
    results
}

fn same(is_same: bool) -> ReadBack {
    if is_same { ReadBack::Same } else { ReadBack::Written }
}

/// Adds what is known of the order to the result of a verification.
pub(crate) fn judge(verified: Verified, order: &Order) -> Verified {
    let counts = matches!(verified.state, VerifiedState::Yes | VerifiedState::NotProvable);
    if !counts || (order.written == 0 && order.unknown == 0) {
        let detail = match order.unchecked {
            0 => verified.detail,
            ids => format!(
                "{}; up to {ids} ids were sent again, and their order rests on the cluster's list of tasks alone",
                verified.detail
            ),
        };
        return Verified { detail, ..verified };
    }
    let count = verified.detail;
    if order.written > 0 {
        let detail = format!(
            "{} ids were written to behind the load's later operations on them, by a request that had got no answer or \
             by another client: {}; load their documents again ({count})",
            order.written,
            order.named.join(", "),
        );
        return Verified { state: VerifiedState::No, detail, ..verified };
    }
    let why = order.why.as_deref().unwrap_or("their last state is not known");
    let detail = format!(
        "an earlier operation may still take effect, or have taken effect, after the last one on {} ids: {why} ({count})",
        order.unknown
    );
    Verified { state: VerifiedState::NotProvable, detail, ..verified }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_part_of_the_verdict() {
        let yes = || Verified::new(VerifiedState::Yes, "x holds 3 documents".to_owned());
        let order = |change: fn(&mut Order)| {
            let mut order = Order::default();
            change(&mut order);
            order
        };
        assert_eq!(judge(yes(), &order(|o| o.checked = 7)).state, VerifiedState::Yes);
        let unknown = judge(yes(), &order(|o| (o.unknown, o.why) = (2, Some("a node hangs".into()))));
        assert_eq!(unknown.state, VerifiedState::NotProvable);
        assert!(unknown.detail.contains("2 ids: a node hangs (x holds"), "{}", unknown.detail);
        let written = judge(yes(), &order(|o| (o.written, o.named) = (1, vec!["{\"index\":{\"_id\":\"a\"}}".into()])));
        assert_eq!(written.state, VerifiedState::No);
        assert!(written.detail.contains("\"_id\":\"a\""), "{}", written.detail);
        let no = Verified::new(VerifiedState::No, "1 fewer".to_owned());
        assert_eq!(judge(no, &order(|o| o.unknown = 1)).state, VerifiedState::No);
    }
}
