//! The order of the documents of a segment that is sorted at its end.

/// The order of the documents of a segment. Nested objects stay before their document.
pub(crate) struct Order {
    /// The number under which each document of the index came.
    pub(crate) came: Vec<u32>,
    /// The number that each document of the index gets.
    pub(super) gets: Vec<u32>,
    /// The same without nested objects: the number under which each document came.
    pub(crate) docs_came: Vec<u32>,
}

/// The number that each thing gets, of the number that each had.
pub(crate) fn inverse(came: &[u32]) -> Vec<u32> {
    let mut gets = vec![0; came.len()];
    for (number, came) in (0..).zip(came) {
        gets[*came as usize] = number;
    }
    gets
}
