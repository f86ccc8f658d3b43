//! What a segment holds in memory until it is written.

use crate::analysis::Analyzer;
use crate::build::column::{Addresses, Keywords, Numbers, Texts};
use crate::build::order::{Order, inverse};
use crate::build::values::{Blobs, Features, Ranges, Shapes, Suggestions};
use crate::fields::convert::Indexable;
use crate::fields::field::{Field, Kind};
use crate::fields::ids::Ids;
use crate::fields::mapping::Mapping;
use crate::fields::sorting::SortBy;
use crate::memory::Memory;

/// The values of a field.
pub(crate) enum Column {
    Numbers(Numbers),
    Addresses(Addresses),
    Keywords(Keywords),
    Texts(Analyzer, Texts),
    Blobs(Blobs),
    Features(Features),
    Ranges(Ranges),
    Shapes(Shapes),
    Suggestions(Suggestions),
}

impl Column {
    fn new(field: &Field) -> Self {
        match &field.kind {
            Kind::Ip => Self::Addresses(Addresses::default()),
            Kind::Keyword { .. } => Self::Keywords(Keywords { grams: field.grams, ..Keywords::new() }),
            Kind::Text { analyzer, options } => {
                Self::Texts(analyzer.clone(), Texts::new(options.needs_places(), analyzer))
            }
            Kind::Bytes { .. } => Self::Blobs(Blobs::default()),
            Kind::Feature => Self::Features(Features::new()),
            Kind::Range(_) => Self::Ranges(Ranges::default()),
            Kind::GeoShape(_) => Self::Shapes(Shapes::default()),
            Kind::Suggest(_) => Self::Suggestions(Suggestions::new()),
            Kind::Whole { .. }
            | Kind::Unsigned { .. }
            | Kind::Double
            | Kind::Float
            | Kind::HalfFloat
            | Kind::Scaled(_)
            | Kind::Date(_)
            | Kind::DateNanos(_)
            | Kind::Boolean
            | Kind::TokenCount { .. }
            | Kind::GeoPoint { .. } => Self::Numbers(Numbers::default()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.values.is_empty(),
            Self::Addresses(addresses) => addresses.values.is_empty(),
            Self::Keywords(keywords) => keywords.values.is_empty(),
            Self::Texts(_, texts) => texts.ends.is_empty(),
            Self::Blobs(blobs) => blobs.len() == 0,
            Self::Features(features) => features.weights.is_empty(),
            Self::Ranges(ranges) => ranges.values.is_empty(),
            Self::Shapes(shapes) => shapes.triangles.is_empty(),
            Self::Suggestions(suggestions) => suggestions.docs.is_empty(),
        }
    }

    /// Puts the values into another order of the documents.
    fn sort(&mut self, order: &Order) {
        match self {
            Self::Numbers(numbers) => numbers.sort(order),
            Self::Addresses(addresses) => addresses.sort(order),
            Self::Keywords(keywords) => keywords.sort(order),
            Self::Texts(_, texts) => texts.sort(order),
            Self::Blobs(blobs) => blobs.sort(order),
            Self::Features(features) => features.sort(order),
            Self::Ranges(ranges) => ranges.sort(order),
            Self::Shapes(shapes) => shapes.sort(order),
            Self::Suggestions(suggestions) => suggestions.sort(order),
        }
    }

    pub(crate) fn push(&mut self, doc: u32, value: &Indexable) {
        match (self, value) {
            (Self::Numbers(numbers), Indexable::Number(value) | Indexable::Written(value, _)) => {
                numbers.push(doc, *value)
            }
            (Self::Addresses(addresses), Indexable::Address(value)) => {
                addresses.values.push(*value);
                addresses.docs.push(doc);
            }
            (Self::Keywords(keywords), Indexable::Term(term)) => keywords.push(doc, term.as_bytes()),
            (Self::Texts(analyzer, texts), Indexable::Text(text)) => texts.add(doc, analyzer, text),
            (Self::Blobs(blobs), Indexable::Bytes(bytes)) => blobs.push(doc, bytes),
            (Self::Features(features), Indexable::Feature(term, weight)) => {
                features.push(doc, term.as_bytes(), *weight);
            }
            (Self::Ranges(ranges), Indexable::Range(range)) => ranges.push(doc, **range),
            (Self::Shapes(shapes), Indexable::Shape(shape)) => shapes.push(doc, shape),
            (Self::Suggestions(suggestions), Indexable::Suggestion(suggestion)) => suggestions.push(doc, suggestion),
            // `convert` makes what the field's kind has a column for.
            _ => debug_assert!(false, "a value of another kind than its column"),
        }
    }
}

/// The parts of the memory of a segment, in sixteenths: those at which it ends, those that the next
/// one may get of it, and so at least one by which the next one may need another memory.
const ENDS: usize = 14;
const KEPT: usize = 15;

/// The columns of a segment, and its ids.
///
/// The next segment of a writer takes the same memory: fresh memory costs more than what it is
/// filled with.
pub(crate) struct Content {
    /// One for each field of the mapping.
    pub(crate) columns: Vec<Column>,
    /// The names of fields of which a query for existence finds nothing else, and of those with a
    /// malformed value.
    pub(crate) field_names: Keywords,
    pub(crate) ignored: Keywords,
    pub(crate) nested_paths: Keywords,
    pub(crate) routings: Keywords,
    pub(crate) ids: Ids,
    /// Bytes that each part has of segments before, in the order of [`Content::parts`].
    kept: Vec<usize>,
}

impl Content {
    pub(crate) fn new(mapping: &Mapping) -> Self {
        let columns: Vec<Column> = mapping.fields.iter().map(Column::new).collect();
        let [field_names, ignored, nested_paths, routings] = std::array::from_fn(|_| Keywords::new());
        let kept = vec![0; columns.len() + 5];
        Self { columns, field_names, ignored, nested_paths, routings, ids: Ids::default(), kept }
    }

    /// Adds columns for fields that the mapping has got.
    pub(crate) fn grow(&mut self, mapping: &Mapping) {
        for field in &mapping.fields[self.columns.len()..] {
            self.kept.insert(self.columns.len(), 0);
            self.columns.push(Column::new(field));
        }
    }

    fn parts(&self) -> impl Iterator<Item = &dyn Part> {
        let columns = self.columns.iter().map(|column| column as &dyn Part);
        let terms = [&self.field_names, &self.ignored, &self.nested_paths, &self.routings];
        columns.chain(terms.map(|terms| terms as &dyn Part)).chain([&self.ids as &dyn Part])
    }

    /// Whether the segment has to end, so that it and its writing need twice `limit` bytes at most.
    /// `besides` are held for the segment, too.
    pub(crate) fn is_full(&self, limit: usize, besides: usize, sort: &[SortBy], docs: u32) -> bool {
        let (mut held, mut resident, mut writing, mut sorting) = (besides, besides, 0, 0);
        for (part, kept) in self.parts().zip(&self.kept) {
            let memory = part.memory();
            held += memory.held;
            resident += memory.held.max(*kept);
            // Parts are sorted and written one after the other.
            writing = writing.max(memory.writing);
            sorting = sorting.max(part.sorting(docs));
        }
        if !sort.is_empty() {
            let order = Order::memory(sort, &self.columns, docs);
            writing = order.writing.max(order.held + writing.max(sorting));
        }
        let with_writing = |held: usize| held.max((held + writing) / 2);
        with_writing(held) >= limit / 16 * ENDS || with_writing(resident) >= limit
    }

    /// Forgets everything. A part keeps its memory, but for one that was used much less than
    /// before. `None` if the next segment of `limit` bytes could end for that memory, and not for
    /// its own.
    pub(crate) fn emptied(mut self, limit: usize) -> Option<Content> {
        let columns = self.columns.iter_mut().map(|column| column as &mut dyn Part);
        let terms = [&mut self.field_names, &mut self.ignored, &mut self.nested_paths, &mut self.routings];
        let parts = columns.chain(terms.map(|terms| terms as &mut dyn Part)).chain([&mut self.ids as &mut dyn Part]);
        for (part, kept) in parts.zip(&mut self.kept) {
            let held = part.memory().held;
            if held < *kept / 16 * ENDS {
                part.renew();
                *kept = 0;
            } else {
                part.clear();
                *kept = held.max(*kept);
            }
        }
        (self.kept.iter().sum::<usize>() <= limit / 16 * KEPT).then_some(self)
    }

    /// Puts everything into another order, and renumbers the documents that lose.
    pub(crate) fn sort(&mut self, order: &Order, losers: &mut [u32]) {
        self.columns.iter_mut().filter(|column| !column.is_empty()).for_each(|column| column.sort(order));
        for terms in [&mut self.field_names, &mut self.ignored, &mut self.nested_paths, &mut self.routings] {
            terms.sort(order);
        }
        let gets = inverse(&order.docs_came);
        self.ids.reorder(&order.docs_came, &gets);
        losers.iter_mut().for_each(|doc| *doc = gets[*doc as usize]);
        losers.sort_unstable();
    }
}

/// Something of which a segment has memory.
trait Part {
    fn memory(&self) -> Memory;
    /// Bytes that are needed to put the values of `docs` documents into another order.
    fn sorting(&self, docs: u32) -> usize;
    /// Forgets the values, and keeps their memory.
    fn clear(&mut self);
    /// Forgets the values with their memory.
    fn renew(&mut self);
}

impl Part for Column {
    fn memory(&self) -> Memory {
        match self {
            Self::Numbers(numbers) => numbers.memory(),
            Self::Addresses(addresses) => addresses.memory(),
            Self::Keywords(keywords) => keywords.memory(),
            Self::Texts(_, texts) => texts.memory(),
            Self::Blobs(blobs) => blobs.memory(),
            Self::Features(features) => features.memory(),
            Self::Ranges(ranges) => ranges.memory(),
            Self::Shapes(shapes) => shapes.memory(),
            Self::Suggestions(suggestions) => suggestions.memory(),
        }
    }

    fn sorting(&self, docs: u32) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.sorting(docs),
            Self::Addresses(addresses) => addresses.sorting(docs),
            Self::Keywords(keywords) => keywords.sorting(docs),
            Self::Texts(_, texts) => texts.sorting(docs),
            Self::Blobs(blobs) => blobs.sorting(docs),
            Self::Features(features) => features.sorting(docs),
            Self::Ranges(ranges) => ranges.sorting(docs),
            Self::Shapes(shapes) => shapes.sorting(docs),
            Self::Suggestions(suggestions) => suggestions.sorting(docs),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Numbers(numbers) => numbers.clear(),
            Self::Addresses(addresses) => addresses.clear(),
            Self::Keywords(keywords) => keywords.clear(),
            Self::Texts(_, texts) => texts.clear(),
            Self::Blobs(blobs) => blobs.clear(),
            Self::Features(features) => features.clear(),
            Self::Ranges(ranges) => ranges.clear(),
            Self::Shapes(shapes) => shapes.clear(),
            Self::Suggestions(suggestions) => suggestions.clear(),
        }
    }

    fn renew(&mut self) {
        match self {
            Self::Numbers(numbers) => *numbers = Numbers::default(),
            Self::Addresses(addresses) => *addresses = Addresses::default(),
            Self::Keywords(keywords) => keywords.renew(),
            Self::Texts(_, texts) => texts.renew(),
            Self::Blobs(blobs) => *blobs = Blobs::default(),
            Self::Features(features) => *features = Features::new(),
            Self::Ranges(ranges) => *ranges = Ranges::default(),
            Self::Shapes(shapes) => *shapes = Shapes::default(),
            Self::Suggestions(suggestions) => *suggestions = Suggestions::new(),
        }
    }
}

impl Part for Keywords {
    fn memory(&self) -> Memory {
        Keywords::memory(self)
    }

    fn sorting(&self, docs: u32) -> usize {
        Keywords::sorting(self, docs)
    }

    fn clear(&mut self) {
        Keywords::clear(self);
    }

    fn renew(&mut self) {
        *self = Keywords::new();
    }
}

impl Part for Ids {
    fn memory(&self) -> Memory {
        Ids::memory(self)
    }

    fn sorting(&self, _: u32) -> usize {
        Ids::sorting(self)
    }

    fn clear(&mut self) {
        Ids::clear(self);
    }

    fn renew(&mut self) {
        *self = Ids::default();
    }
}
