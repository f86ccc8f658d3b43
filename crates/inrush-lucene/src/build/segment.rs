//! Builds one segment: documents become columns, and each column is written once.

use std::io;
use std::path::{Path, PathBuf};

use super::write::{self, MetaTerms};
use crate::analysis::Analyzer;
use crate::build::column::{Addresses, Keywords, Numbers, Texts};
use crate::build::duplicates::{Entry, write_list};
use crate::fields::convert::Indexable;
use crate::fields::document::{self, Document, Values};
use crate::fields::field::{Field, Kind};
use crate::fields::ids::{Ids, Keep, encode};
use crate::fields::mapping::{Mapping, Product};
use crate::fields::refused::{ID_MAX, Refused};
use crate::formats::commit::{Segment, base36, write_segment_info};
use crate::formats::field_infos::{DOC_VALUES_FORMAT, POSTINGS_FORMAT, write_field_infos};
use crate::formats::output::ID_BYTES;
use crate::formats::stored::{Stored, StoredWriter};

/// What is the same for all documents of a segment.
#[derive(Debug, Clone)]
pub(crate) struct SegmentOptions {
    /// The folder, which must exist.
    pub(crate) folder: PathBuf,
    /// The number of the segment in its folder, from 0 on.
    pub(crate) number: u64,
    /// The id of the segment: random bytes.
    pub(crate) id: [u8; ID_BYTES],
}

/// The values of a field.
pub(crate) enum Column {
    Numbers(Numbers),
    Addresses(Addresses),
    Keywords(Keywords),
    Texts(Analyzer, Texts),
}

impl Column {
    fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Ip => Self::Addresses(Addresses::default()),
            Kind::Keyword { .. } => Self::Keywords(Keywords::new()),
            Kind::Text { analyzer, .. } => Self::Texts(*analyzer, Texts::new()),
            Kind::Whole { .. }
            | Kind::Unsigned { .. }
            | Kind::Double
            | Kind::Float
            | Kind::HalfFloat
            | Kind::Scaled(_)
            | Kind::Date(_)
            | Kind::DateNanos(_)
            | Kind::Boolean
            | Kind::GeoPoint { .. } => Self::Numbers(Numbers::default()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.values.is_empty(),
            Self::Addresses(addresses) => addresses.values.is_empty(),
            Self::Keywords(keywords) => keywords.values.is_empty(),
            Self::Texts(_, texts) => texts.ends.is_empty(),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.memory(),
            Self::Addresses(addresses) => addresses.memory(),
            Self::Keywords(keywords) => keywords.memory(),
            Self::Texts(_, texts) => texts.memory(),
        }
    }

    fn push(&mut self, doc: u32, value: &Indexable) {
        match (self, value) {
            (Self::Numbers(numbers), Indexable::Number(value)) => numbers.push(doc, *value),
            (Self::Addresses(addresses), Indexable::Address(value)) => {
                addresses.values.push(*value);
                addresses.docs.push(doc);
            }
            (Self::Keywords(keywords), Indexable::Term(term)) => keywords.push(doc, term.as_bytes()),
            (Self::Texts(analyzer, texts), Indexable::Text(text)) => {
                texts.start(doc);
                analyzer.each(text, |term| texts.push(term));
            }
            // `convert` makes what the field's kind has a column for.
            _ => debug_assert!(false, "a value of another kind than its column"),
        }
    }
}

/// Takes documents, and writes them as a segment.
///
/// Stored fields go to their file as documents come; everything else is in memory until
/// [`SegmentBuilder::finish`]. See [`SegmentBuilder::memory`].
pub(crate) struct SegmentBuilder<'m> {
    options: SegmentOptions,
    name: String,
    mapping: &'m Mapping,
    /// One for each field of the mapping.
    columns: Vec<Column>,
    /// The names of fields of which a query for existence finds nothing else, and of those with a
    /// malformed value.
    field_names: Keywords,
    ignored: Keywords,
    nested_paths: Keywords,
    routings: Keywords,
    ids: Ids,
    /// Whether a document came with an id. Ids that are made here are all different.
    has_given_ids: bool,
    /// When documents came: the first of them, and a number that grows.
    arrivals: Vec<(u32, u64)>,
    stored: StoredWriter,
    /// The documents of the index, with those that are nested objects.
    docs: u32,
}

impl<'m> SegmentBuilder<'m> {
    /// The most documents of a segment, so that all its numbers fit.
    pub(crate) const DOCS_MAX: u32 = 1 << 30;

    /// Begins a segment.
    ///
    /// # Errors
    ///
    /// If its files cannot be created, or are there.
    pub(crate) fn new(options: SegmentOptions, mapping: &'m Mapping) -> io::Result<Self> {
        let name = format!("_{}", base36(options.number));
        let stored = StoredWriter::create(&options.folder, &name, &options.id)?;
        let columns = mapping.fields.iter().map(|field| Column::new(&field.kind)).collect();
        Ok(Self {
            options,
            name,
            mapping,
            columns,
            field_names: Keywords::new(),
            ignored: Keywords::new(),
            nested_paths: Keywords::new(),
            routings: Keywords::new(),
            ids: Ids::default(),
            has_given_ids: false,
            arrivals: Vec::new(),
            stored,
            docs: 0,
        })
    }

    /// The documents so far, without nested objects.
    #[must_use]
    pub(crate) fn docs(&self) -> u32 {
        self.ids.len()
    }

    /// The documents from here on came after those with a lesser number, also in other segments.
    pub(crate) fn arrive(&mut self, number: u64) {
        if self.arrivals.last().is_none_or(|(_, last)| *last != number) {
            self.arrivals.push((self.docs, number));
        }
    }

    /// Bytes in memory. Writing the segment needs as much again at most.
    #[must_use]
    pub(crate) fn memory(&self) -> usize {
        let terms = [&self.field_names, &self.ignored, &self.nested_paths, &self.routings];
        self.columns.iter().map(Column::memory).sum::<usize>()
            + terms.into_iter().map(Keywords::memory).sum::<usize>()
            + self.ids.memory()
    }

    /// Adds a document with an id.
    ///
    /// # Errors
    ///
    /// If it is refused; the segment is then as before.
    pub(crate) fn add_with_id(&mut self, source: &[u8], id: &str, routing: Option<&str>) -> Result<(), Refused> {
        if !(1..=ID_MAX).contains(&id.len()) {
            return Err(Refused::Id);
        }
        self.add_encoded(source, &encode(id), routing)?;
        self.has_given_ids = true;
        Ok(())
    }

    /// Adds a document with an id that no other one has.
    ///
    /// # Errors
    ///
    /// If it is refused; the segment is then as before.
    pub(crate) fn add_made(&mut self, source: &[u8], id: &[u8], routing: Option<&str>) -> Result<(), Refused> {
        self.add_encoded(source, id, routing)
    }

    /// Removes the files of a segment without documents.
    ///
    /// # Errors
    ///
    /// If they cannot be removed.
    pub(crate) fn discard(self) -> io::Result<()> {
        let files = self.stored.finish()?;
        files.iter().try_for_each(|file| std::fs::remove_file(self.options.folder.join(file)))
    }

    fn add_encoded(&mut self, source: &[u8], id: &[u8], routing: Option<&str>) -> Result<(), Refused> {
        if routing.is_none() && self.mapping.routing_required {
            return Err(Refused::Routing);
        }
        let document = document::read(source, self.mapping)?;
        if self.docs + document.children.len() as u32 >= Self::DOCS_MAX {
            return Err(Refused::Full);
        }
        for child in &document.children {
            self.index(&child.values);
            self.nested_paths.push(self.docs, self.mapping.nested[child.path].path.as_bytes());
            self.stored.end_doc();
            self.docs += 1;
        }
        self.index(&document.values);
        self.ignore(&document);
        if let Some(routing) = routing {
            self.routings.push(self.docs, routing.as_bytes());
            self.field_names.push(self.docs, b"_routing");
            self.stored.add(write::ROUTING, Stored::Text(routing));
        }
        self.ids.push(id, self.docs);
        self.stored.add(write::ID, Stored::Bytes(id));
        self.stored.add(write::SOURCE, Stored::Bytes(source));
        self.stored.end_doc();
        self.docs += 1;
        Ok(())
    }

    fn index(&mut self, values: &Values) {
        for (number, value) in values {
            let field = &self.mapping.fields[*number];
            if field.indexed || field.doc_values {
                self.columns[*number].push(self.docs, value);
            }
            if field.indexed && !field.doc_values && !field.norms {
                for name in names(field, self.mapping.target.product) {
                    self.field_names.push(self.docs, name.as_bytes());
                }
            }
        }
    }

    /// Notes the fields of which a value is not indexed.
    fn ignore(&mut self, document: &Document) {
        let mut ignored = document.ignored.clone();
        ignored.sort_unstable();
        ignored.dedup();
        for number in ignored {
            let name = &self.mapping.fields[number].name;
            self.ignored.push(self.docs, name.as_bytes());
            if !self.mapping.target.has_ignored_values() {
                self.stored.add(write::IGNORED, Stored::Text(name));
            }
        }
    }

    /// Writes the segment. `first_seq_no` is the sequence number of its first document,
    /// `primary_term` that of the shard. Of documents with one id, `keep` says which one stays.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or if there is no document.
    pub(crate) fn finish(mut self, first_seq_no: u64, primary_term: u64, keep: Keep) -> io::Result<Segment> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
        if self.docs == 0 {
            return Err(invalid("a segment needs a document"));
        }
        let losers = self.ids.sort(keep);
        let deleted = losers.iter().flat_map(|&doc| self.ids.places(doc)).collect();
        if self.has_given_ids {
            self.list_ids()?;
        }
        let mut files = self.stored.finish()?;
        let version = self.mapping.target.lucene;
        let place = Place { folder: &self.options.folder, segment: &self.name, id: &self.options.id, docs: self.docs };
        let meta = write::Meta {
            first_seq_no,
            primary_term,
            ids: &self.ids,
            terms: [
                MetaTerms::new("_field_names", write::FIELD_NAMES, &mut self.field_names),
                MetaTerms::new("_ignored", write::IGNORED, &mut self.ignored)
                    .with_doc_values(self.mapping.target.has_ignored_values()),
                MetaTerms::new("_nested_path", write::NESTED_PATH, &mut self.nested_paths),
                MetaTerms::new("_routing", write::ROUTING, &mut self.routings),
            ],
        };
        let has_nested = self.ids.own_places().is_some();
        let fields = write::field_infos(&self.mapping.fields, &self.columns, &meta);
        files.extend(write::columns(&place, &self.mapping.fields, &mut self.columns, meta)?);
        files.push(write_field_infos(place.folder, place.segment, place.id, &fields, version)?);
        write_segment_info(place.folder, place.segment, place.id, self.docs, has_nested, files, version)?;
        let duplicates = losers.len() as u32;
        Ok(Segment { name: self.name, id: self.options.id, docs: self.docs, deleted, duplicates })
    }

    /// Writes the ids for the comparison with other segments.
    fn list_ids(&self) -> io::Result<()> {
        let entries = self.ids.sorted().map(|(id, places)| {
            let (doc, children) = (places.end - 1, places.len() as u32 - 1);
            let at = self.arrivals.partition_point(|(first, _)| *first <= doc);
            let arrival = at.checked_sub(1).map_or(0, |at| self.arrivals[at].1);
            Entry { id, arrival, doc, children }
        });
        write_list(&self.options.folder, &self.name, entries)
    }
}

/// What `_field_names` has of a field: OpenSearch also the objects above it.
fn names(field: &Field, product: Product) -> impl Iterator<Item = &str> {
    let dots = field.name.match_indices('.').map(|(at, _)| at).filter(move |_| product == Product::OpenSearch);
    dots.chain([field.name.len()]).map(|end| &field.name[..end])
}

/// Where a segment goes, and how large it is.
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) segment: &'a str,
    pub(crate) id: &'a [u8; ID_BYTES],
    pub(crate) docs: u32,
}

impl Place<'_> {
    pub(crate) fn postings_base(&self) -> (String, String) {
        self.base(POSTINGS_FORMAT)
    }

    pub(crate) fn doc_values_base(&self) -> (String, String) {
        self.base(DOC_VALUES_FORMAT)
    }

    /// The beginning of the names of a format's files, and the suffix of the segment in it.
    fn base(&self, format: &str) -> (String, String) {
        let suffix = format!("{format}_0");
        (format!("{}_{suffix}", self.segment), suffix)
    }
}
