//! Ids of position or content, made in the reading threads. Counting has to follow the order of the
//! source, so each thread waits for its turn to count. Threads hash before their turn and write ids
//! after it at the same time. They take chunks in the order of the turns, so the thread whose turn
//! it is never waits for another.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use inrush_core::ids::{self, Occurrences};
use inrush_core::ledger::Partition;
use inrush_core::{DocBlock, RowForm};

use crate::config::IdFrom;

/// The form of documents that are made of rows and get their ids so. Ids of their content must not
/// depend on the form of vectors: a load, its dry run and a later comparison make the same.
#[must_use]
pub fn row_form(form: RowForm, from: Option<IdFrom>) -> RowForm {
    match from {
        Some(IdFrom::Content) => RowForm { fields: form.fields.without_vectors(), ..form },
        Some(IdFrom::Position) | None => form,
    }
}

/// Makes the ids of documents.
pub struct Ids {
    from: IdFrom,
    names: Vec<String>,
    turn: Mutex<Turn>,
    next: Condvar,
}

#[derive(Default)]
struct Turn {
    /// Number of the chunk whose turn it is.
    number: u64,
    docs: BTreeMap<Partition, u64>,
    occurrences: Occurrences,
    /// A turn is missing and will never come.
    ended: bool,
}

impl Ids {
    /// Ids for sources with these names.
    pub fn new(from: IdFrom, names: Vec<String>) -> Self {
        Ids { from, names, turn: Mutex::default(), next: Condvar::new() }
    }

    /// Gives the documents of chunk `number` their ids. `None` where an earlier chunk was lost, so
    /// the numbers are unknown.
    pub fn assign(&self, number: u64, mut block: DocBlock) -> Option<DocBlock> {
        let partition = (block.origin.source, block.origin.partition);
        match self.from {
            IdFrom::Position => {
                let first_doc = self.in_turn(number, |turn| {
                    let docs = turn.docs.entry(partition).or_default();
                    let first_doc = *docs;
                    *docs += block.records.len() as u64;
                    first_doc
                })?;
                ids::from_position(&mut block, &self.prefix(partition), first_doc);
            }
            IdFrom::Content => {
                let hashes = ids::content_hashes(&block);
                let occurrences = self.in_turn(number, |turn| turn.occurrences.count(&hashes))?;
                ids::from_content(&mut block, &hashes, &occurrences);
            }
        }
        Some(block)
    }

    /// Ends all waits, because the turn of a chunk will never come.
    pub fn end(&self) {
        self.lock().ended = true;
        self.next.notify_all();
    }

    fn in_turn<T>(&self, number: u64, then: impl FnOnce(&mut Turn) -> T) -> Option<T> {
        let mut turn = self.lock();
        while turn.number != number && !turn.ended {
            turn = self.next.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if turn.ended {
            return None;
        }
        let result = then(&mut turn);
        turn.number += 1;
        drop(turn);
        self.next.notify_all();
        Some(result)
    }

    fn prefix(&self, (source, partition): Partition) -> String {
        let at = source.0 as usize;
        let name = self.names.get(at).map_or("", String::as_str);
        let before = self.names.iter().take(at).filter(|other| *other == name).count();
        ids::position_prefix(name, before as u32, partition)
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        // A panic of a thread ends all turns, so its state does not matter.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
