//! The windows whose rows are not settled, and the positions that the source hears of.
//!
//! Rows have numbers of their own in a partition of their own, in the order of the windows. When
//! the source loses a partition with records in one of these windows, the rows of all of them are
//! given back, and the windows are run again without those records. Their rows then belong to the
//! next partition of rows, so that older rows never follow newer ones.

use std::collections::{BTreeMap, VecDeque};

use inrush_core::SourceId;
use inrush_core::block::Origin;
use inrush_sources::{DocBlock, Partition};

use super::records::Window;

/// The first partition of rows. Partitions of the source have lower numbers, by which the topics of
/// dead letters are found.
pub(super) const ROWS: u32 = 1 << 31;

/// The windows that were read and are not settled.
#[derive(Debug)]
pub(super) struct Book {
    rows: SourceId,
    /// How often rows were given back.
    generation: u32,
    /// The number of the next row.
    next_row: u64,
    /// The window whose query runs.
    running: Option<Window>,
    /// Windows whose rows were returned, each with the number after its last row.
    returned: VecDeque<(Window, u64)>,
    /// Windows that have to be run again.
    again: VecDeque<Window>,
    /// Partitions that were lost, of which the reader does not know yet.
    lost: Vec<Partition>,
    /// Partitions of rows that were given back, of which the engine does not know yet.
    ended: Vec<Partition>,
    /// Positions up to which windows are settled, by partition of the source.
    done: BTreeMap<Partition, u64>,
    /// Positions up to which records that are not rows are settled.
    told: BTreeMap<Partition, u64>,
}

impl Book {
    pub(super) fn new(rows: SourceId) -> Self {
        Book {
            rows,
            generation: 0,
            next_row: 0,
            running: None,
            returned: VecDeque::new(),
            again: VecDeque::new(),
            lost: Vec::new(),
            ended: Vec::new(),
            done: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// The source of rows.
    pub(super) fn rows(&self) -> SourceId {
        self.rows
    }

    fn partition(&self) -> Partition {
        (self.rows, ROWS + self.generation)
    }

    fn origin(&self) -> Origin {
        let (source, partition) = self.partition();
        let mut origin = Origin { source, partition, ..Origin::default() };
        origin.first_doc = self.next_row;
        origin.first_line = self.next_row + 1;
        origin.own_numbers = true;
        origin
    }

    /// The memory of all windows.
    pub(super) fn bytes(&self) -> usize {
        let returned = self.returned.iter().map(|(window, _)| window);
        returned.chain(&self.again).chain(&self.running).map(Window::bytes).sum()
    }

    /// The query of a window begins, without records that were lost meanwhile. Returns the
    /// generation of its rows.
    pub(super) fn begin(&mut self, window: &mut Window) -> u32 {
        window.forget(&self.lost);
        self.running = Some(window.clone());
        self.generation
    }

    /// Whether rows of this generation are still wanted.
    pub(super) fn is_current(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// The position of the next rows. `None` if they are not wanted any more.
    pub(super) fn number(&mut self, generation: u32, rows: u64) -> Option<Origin> {
        let origin = self.is_current(generation).then(|| self.origin())?;
        self.next_row += rows;
        Some(origin)
    }

    /// All rows of the window were returned. Returns the block that ends them, so that a window
    /// without rows is settled as well. `None` if they are not wanted any more.
    pub(super) fn finish(&mut self, generation: u32, window: Window) -> Option<DocBlock> {
        let origin = self.number(generation, 1)?;
        self.running = None;
        self.returned.push_back((window, self.next_row));
        Some(DocBlock { origin, lines: 1, ..DocBlock::default() })
    }

    /// The next window that has to be run again.
    pub(super) fn take_again(&mut self) -> Option<Window> {
        self.again.pop_front()
    }

    /// The source has lost these partitions. Returns the partition of the rows that are given back,
    /// if there are any.
    pub(super) fn lose(&mut self, partitions: &[Partition]) -> Option<Partition> {
        self.lost.extend(partitions);
        self.forget(partitions);
        self.again.iter_mut().for_each(|window| window.forget(partitions));
        let returned = self.returned.iter().map(|(window, _)| window);
        let is_affected = returned.chain(&self.running).any(|window| window.has_any(partitions));
        if !is_affected {
            return None;
        }
        let given_back = self.partition();
        self.ended.push(given_back);
        self.generation += 1;
        self.next_row = 0;
        // They are older than those that wait to be run again.
        let returned = self.returned.drain(..).map(|(window, _)| window);
        let all: Vec<Window> = returned.chain(self.running.take()).collect();
        for mut window in all.into_iter().rev() {
            window.forget(partitions);
            self.again.push_front(window);
        }
        Some(given_back)
    }

    /// Forgets positions of partitions that the source has no more.
    pub(super) fn forget(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            self.done.remove(partition);
            self.told.remove(partition);
        }
    }

    /// The partitions of rows that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<Partition> {
        std::mem::take(&mut self.ended)
    }

    /// The partitions that were lost since the last call.
    pub(super) fn take_lost(&mut self) -> Vec<Partition> {
        std::mem::take(&mut self.lost)
    }

    /// Documents below these numbers are settled. Returns the settled positions of the source.
    pub(super) fn settle(&mut self, up_to: &BTreeMap<Partition, u64>) -> BTreeMap<Partition, u64> {
        for (partition, number) in up_to {
            if *partition == self.partition() {
                while let Some((window, _)) = self.returned.pop_front_if(|(_, end)| *end <= *number) {
                    self.done.extend(window.ends());
                }
            } else if partition.0 != self.rows {
                self.told.insert(*partition, *number);
            }
        }
        let both = |(partition, done): (&Partition, &u64)| Some((*partition, *done.min(self.told.get(partition)?)));
        self.done.iter().filter_map(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::block::Record;

    use super::*;

    const RESULT: SourceId = SourceId(2);

    fn of(partition: u32) -> Partition {
        (SourceId(0), partition)
    }

    /// A window with one record of each partition, whose numbers end here.
    fn window(ends: &[(u32, u64)]) -> Window {
        let mut window = Window::default();
        for (partition, end) in ends {
            let origin = Origin { partition: *partition, first_doc: end - 10, own_numbers: true, ..Origin::default() };
            let records = vec![Record { start: 0, end: 2, byte: 0, line: 0 }];
            window.push(DocBlock { origin, lines: 10, data: "{}".into(), records, ..DocBlock::default() }, true);
        }
        window
    }

    /// Runs a window with one row.
    fn run(book: &mut Book, mut window: Window) -> u64 {
        let generation = book.begin(&mut window);
        book.number(generation, 1).unwrap();
        let end = book.finish(generation, window).unwrap();
        end.origin.first_doc + end.lines
    }

    fn positions<const N: usize>(positions: [(u32, u64); N]) -> BTreeMap<Partition, u64> {
        positions.into_iter().map(|(partition, number)| (of(partition), number)).collect()
    }

    fn rows(generation: u32, number: u64) -> BTreeMap<Partition, u64> {
        BTreeMap::from([((RESULT, ROWS + generation), number)])
    }

    #[test]
    fn a_position_is_settled_with_all_rows_of_its_window() {
        let mut book = Book::new(RESULT);
        let first = run(&mut book, window(&[(0, 10), (1, 20)]));
        let second = run(&mut book, window(&[(0, 20)]));
        assert_eq!((first, second), (2, 4));
        assert!(book.settle(&positions([(0, 20), (1, 20)])).is_empty(), "rows are not settled");
        assert!(book.settle(&rows(0, first - 1)).is_empty());
        assert_eq!(book.settle(&rows(0, first)), positions([(0, 10), (1, 20)]));
        assert_eq!(book.settle(&rows(0, second)), positions([(0, 20), (1, 20)]));
        assert_eq!(book.bytes(), 0);
    }

    #[test]
    fn a_record_that_is_no_row_holds_its_partition_back() {
        let mut book = Book::new(RESULT);
        let end = run(&mut book, window(&[(0, 10), (1, 20)]));
        book.settle(&positions([(0, 4)]));
        assert_eq!(book.settle(&rows(0, end)), positions([(0, 4)]));
        assert_eq!(book.settle(&positions([(0, 10), (1, 20)])), positions([(0, 10), (1, 20)]));
    }

    #[test]
    fn rows_of_a_lost_partition_are_given_back_and_the_others_are_made_again() {
        let mut book = Book::new(RESULT);
        book.settle(&positions([(0, 40), (1, 40)]));
        let settled = run(&mut book, window(&[(0, 10), (1, 10)]));
        run(&mut book, window(&[(1, 20)]));
        run(&mut book, window(&[(0, 20), (1, 30)]));
        let generation = book.begin(&mut window(&[(1, 40)]));
        assert_eq!(book.settle(&rows(0, settled)), positions([(0, 10), (1, 10)]));
        assert_eq!(book.lose(&[of(7)]), None, "it has no record in a window");
        assert_eq!(book.lose(&[of(0)]), Some((RESULT, ROWS)));
        assert_eq!((book.take_ended(), book.take_ended()), (vec![(RESULT, ROWS)], vec![]));
        assert_eq!(book.take_lost(), [of(7), of(0)]);
        assert!(!book.is_current(generation) && book.number(generation, 1).is_none());
        assert!(book.finish(generation, window(&[(1, 40)])).is_none());
        book.settle(&rows(0, 100));
        let mut ends = Vec::new();
        let mut last = 0;
        while let Some(window) = book.take_again() {
            ends.extend(window.ends());
            last = run(&mut book, window);
        }
        assert_eq!(ends, [(of(1), 20), (of(1), 30), (of(1), 40)]);
        assert_eq!(book.settle(&rows(1, last)), positions([(1, 40)]));
    }

    #[test]
    fn a_second_loss_leaves_the_windows_in_their_order() {
        let mut book = Book::new(RESULT);
        book.settle(&positions([(2, 40)]));
        for end in [10, 20, 30] {
            run(&mut book, window(&[(0, end), (1, end), (2, end)]));
        }
        assert!(book.lose(&[of(0)]).is_some());
        book.take_lost();
        let mut first = book.take_again().unwrap();
        let generation = book.begin(&mut first);
        assert!(book.lose(&[of(1)]).is_some(), "it is in the window that runs");
        assert!(!book.is_current(generation));
        let again = std::iter::from_fn(|| book.take_again());
        let ends: Vec<_> = again.flat_map(|window| window.ends().collect::<Vec<_>>()).collect();
        assert_eq!(ends, [(of(2), 10), (of(2), 20), (of(2), 30)]);
        assert_eq!(book.bytes(), 0);
        // It was read before the reader knew of the loss.
        let mut late = window(&[(1, 40), (2, 40)]);
        book.begin(&mut late);
        assert_eq!(late.ends().collect::<Vec<_>>(), [(of(2), 40)]);
    }
}
