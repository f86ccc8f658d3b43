//! The places of a field's words in the texts of their documents.

/// The gap in offsets between two values of one document.
const GAP: u32 = 1;

/// The offsets of a field's occurrences, in units of UTF-16.
#[derive(Default)]
pub(super) struct Offsets {
    /// Where each occurrence starts and ends.
    places: Vec<(u32, u32)>,
    /// Where the next value of the document begins.
    next: u32,
}

impl Offsets {
    /// Begins a document.
    pub(super) fn start(&mut self) {
        self.next = 0;
    }

    /// Adds an occurrence in the next value.
    #[inline]
    pub(super) fn push(&mut self, start: u32, end: u32) {
        self.places.push((self.next + start, self.next + end));
    }

    /// Ends a value that is this long.
    pub(super) fn end_value(&mut self, units: u32) {
        self.next += units + GAP;
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.next = 0;
    }

    /// Bytes in memory.
    pub(super) fn held(&self) -> usize {
        size_of_val(self.places.as_slice())
    }

    pub(super) fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// Takes the occurrences in another order.
    pub(super) fn replace(&mut self, places: Vec<(u32, u32)>) {
        self.places = places;
    }
}

/// Counts the units of UTF-16 of a text, from its beginning on.
pub(super) struct Units<'t> {
    text: &'t [u8],
    is_ascii: bool,
    at: usize,
    units: u32,
}

impl<'t> Units<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text: text.as_bytes(), is_ascii: text.is_ascii(), at: 0, units: 0 }
    }

    /// The units before a place, which is no earlier than the one before.
    #[inline]
    pub(super) fn before(&mut self, place: usize) -> u32 {
        if self.is_ascii {
            return place as u32;
        }
        // A character begins with a byte that is no continuation, and has a second unit if it has
        // four bytes.
        let count = |byte: &u8| u32::from(byte & 0xc0 != 0x80) + u32::from(*byte >= 0xf0);
        self.units += self.text[self.at..place].iter().map(count).sum::<u32>();
        self.at = place;
        self.units
    }
}

#[cfg(test)]
mod tests {
    use super::Units;

    #[test]
    fn units_are_those_of_utf_16() {
        for text in ["", "plain words", "l’été 東京 👩‍🚒 𠮷 ß\u{fffd}x"] {
            let mut units = Units::new(text);
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                assert_eq!(units.before(at) as usize, text[..at].encode_utf16().count(), "{text:?} {at}");
            }
        }
    }
}
