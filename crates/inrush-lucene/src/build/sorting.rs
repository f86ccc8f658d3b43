//! Sorts the documents of a segment at its end.

use crate::build::column::{Docs, Keywords};
use crate::build::content::Column;
use crate::build::order::{Order, inverse};
use crate::fields::ids::Ids;
use crate::fields::sorting::SortBy;
use crate::memory::Memory;

impl Order {
    /// The order that is asked for, as a stable sort makes it. `docs` are those of the index, `ids`
    /// know which of them belong together. `None` if documents came in it.
    pub(crate) fn of(sort: &[SortBy], columns: &mut [Column], ids: &Ids, docs: u32) -> Option<Order> {
        let keys: Vec<Vec<i64>> = sort.iter().map(|by| keys(by, &mut columns[by.field], docs)).collect();
        let of = |doc: u32| {
            let place = ids.places(doc).end - 1;
            keys.iter().map(move |keys| keys[place as usize])
        };
        let mut docs_came: Vec<u32> = (0..ids.len()).collect();
        docs_came.sort_by(|a, b| of(*a).cmp(of(*b)));
        if docs_came.is_sorted() {
            return None;
        }
        let came: Vec<u32> = docs_came.iter().flat_map(|doc| ids.places(*doc)).collect();
        let gets = inverse(&came);
        Some(Order { came, gets, docs_came })
    }

    /// What is there while parts are sorted and written, and at most while the order is made.
    pub(crate) fn memory(sort: &[SortBy], columns: &[Column], docs: u32) -> Memory {
        let terms = |by: &SortBy| match &columns[by.field] {
            Column::Keywords(keywords) => keywords.terms.len(),
            _ => 0,
        };
        let terms = sort.iter().map(terms).max().unwrap_or(0);
        // The order three times, and once more while the ids get it. Before that the keys, and the
        // documents with room to sort them; terms with their first bytes, and their ranks.
        Memory { held: 16 * docs as usize, writing: (8 * sort.len() + 16) * docs as usize + 28 * terms }
    }

    /// The number that a document of the index gets.
    fn get(&self, came: u32) -> u32 {
        self.gets[came as usize]
    }

    /// Sorts what documents have: those of `docs`, which are then in the new order. Returns where
    /// each thing was.
    pub(crate) fn apply(&self, docs: &mut Docs) -> Vec<u32> {
        let Some(listed) = docs.finish(self.came.len() as u32) else { return self.came.clone() };
        let mut places: Vec<u64> = (0..).zip(listed).map(|(at, doc)| u64::from(self.get(*doc)) << 32 | at).collect();
        places.sort_unstable();
        docs.replace(places.iter().map(|place| (place >> 32) as u32));
        places.into_iter().map(|place| place as u32).collect()
    }
}

/// What the documents are compared by: the less, the earlier.
fn keys(by: &SortBy, column: &mut Column, docs: u32) -> Vec<i64> {
    let mut keys = vec![by.missing; docs as usize];
    let mut last = None;
    let mut take = |doc: u32, value: i64| {
        let key = &mut keys[doc as usize];
        *key = match last == Some(doc) {
            false => value,
            true if by.greatest => value.max(*key),
            true => value.min(*key),
        };
        last = Some(doc);
    };
    match column {
        Column::Numbers(numbers) => {
            let of = numbers.docs.finish(docs);
            for (at, value) in numbers.values.iter().enumerate() {
                take(of.map_or(at as u32, |of| of[at]), *value);
            }
        }
        Column::Keywords(keywords) => {
            let ranks = ranks(keywords);
            let of = keywords.docs.finish(docs);
            for (at, term) in keywords.values.iter().enumerate() {
                take(of.map_or(at as u32, |of| of[at]), ranks[*term as usize]);
            }
        }
        // No index is sorted by them.
        _ => {}
    }
    if by.reverse {
        keys.iter_mut().for_each(|key| *key = !*key);
    }
    keys
}

/// The place of each term in the order of terms.
fn ranks(keywords: &Keywords) -> Vec<i64> {
    let order = keywords.terms.sorted();
    let mut ranks = vec![0; order.len()];
    for (rank, term) in (0..).zip(order) {
        ranks[term as usize] = rank;
    }
    ranks
}
