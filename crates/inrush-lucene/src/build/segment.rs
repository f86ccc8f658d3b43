//! Builds one segment: documents become columns, and each column is written once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::shard::{DocumentId, NewDocument};
use super::write::{self, MetaTerms};
use crate::build::content::Content;
use crate::build::duplicates::{Arrivals, Built, Entry, write_list};
use crate::build::order::Order;
use crate::build::stored::StoredFields;
use crate::fields::convert::Indexable;
use crate::fields::document::{self, Document, Habits, Values};
use crate::fields::field::{Field, Kind};
use crate::fields::ids::{Keep, encode};
use crate::fields::join;
use crate::fields::live::LiveMapping;
use crate::fields::mapping::Mapping;
use crate::fields::new_fields::{NewFields, refused_again};
use crate::fields::refused::{ID_MAX, Refused};
use crate::fields::sorting::SortBy;
use crate::fields::source::KeptSource;
use crate::fields::target::KnownProduct;
use crate::fields::values;
use crate::formats::commit::{Segment, SegmentInfo, base36, write_segment_info};
use crate::formats::field_infos::{DOC_VALUES_FORMAT, POSTINGS_FORMAT, SUGGEST_FORMAT, write_field_infos};
use crate::formats::live_docs::Deleted;
use crate::formats::output::ID_BYTES;
use crate::formats::stored::Stored;

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

/// Takes documents, and writes them as a segment.
///
/// Stored fields go to their file as documents come; everything else is in memory until
/// [`SegmentBuilder::finish`]. See [`SegmentBuilder::is_full`].
pub(crate) struct SegmentBuilder<'m> {
    options: SegmentOptions,
    name: String,
    live: &'m LiveMapping,
    /// The mapping until now. Fields that other segments have added may be absent.
    pub(super) mapping: Arc<Mapping>,
    pub(super) content: Content,
    pub(super) habits: Habits,
    /// Whether a document came with an id. Ids that are made here are all different.
    has_given_ids: bool,
    arrivals: Arrivals,
    stored: StoredFields,
    /// The documents of the index, with those that are nested objects.
    pub(super) docs: u32,
    /// Documents whose values came from columns.
    pub(super) from_columns: u32,
}

impl<'m> SegmentBuilder<'m> {
    /// The most documents of a segment, so that all its numbers fit.
    pub(crate) const DOCS_MAX: u32 = 1 << 30;

    /// Begins a segment. `content` is empty, and may have the memory of another segment.
    ///
    /// # Errors
    ///
    /// If its files cannot be created, or are there.
    pub(crate) fn new(options: SegmentOptions, live: &'m LiveMapping, content: Option<Content>) -> io::Result<Self> {
        let mapping = live.current();
        let mut content = content.unwrap_or_else(|| Content::new(&mapping));
        content.grow(&mapping);
        let name = format!("_{}", base36(options.number));
        let is_sorted = !mapping.sort.is_empty();
        let stored = StoredFields::create(&options.folder, &name, &options.id, is_sorted)?;
        Ok(Self {
            options,
            name,
            live,
            mapping,
            content,
            habits: Habits::default(),
            has_given_ids: false,
            arrivals: Arrivals::default(),
            stored,
            docs: 0,
            from_columns: 0,
        })
    }

    /// The documents so far, without nested objects.
    #[must_use]
    pub(crate) fn docs(&self) -> u32 {
        self.content.ids.len()
    }

    /// The documents from here on came after those with a lesser number, also in other segments.
    pub(crate) fn arrive(&mut self, number: u64) {
        self.arrivals.push(self.docs, number);
    }

    /// Whether the segment has to end, so that it and its writing need twice `limit` bytes at most.
    pub(crate) fn is_full(&self, limit: usize) -> bool {
        self.content.is_full(limit, self.stored.memory(), &self.mapping.sort, self.docs)
    }

    /// Adds a document.
    ///
    /// # Errors
    ///
    /// If it is refused; the segment is then as before.
    pub(crate) fn add(&mut self, document: &NewDocument) -> Result<(), Refused> {
        if let Some(refused) = self.refuses(document) {
            return Err(refused);
        }
        self.add_values(document)?;
        self.end_document();
        Ok(())
    }

    /// Why a document is refused for its id or its routing value.
    pub(super) fn refuses(&self, document: &NewDocument) -> Option<Refused> {
        match &document.id {
            DocumentId::Given(id) if !(1..=ID_MAX).contains(&id.len()) => Some(Refused::Id),
            _ if document.routing.is_none() && self.mapping.routing_required => Some(Refused::Routing),
            DocumentId::Given(_) | DocumentId::Made(_) => None,
        }
    }

    /// Removes the files of a segment without documents.
    ///
    /// # Errors
    ///
    /// If they cannot be removed.
    pub(crate) fn discard(self) -> io::Result<()> {
        self.stored.discard(&self.options.folder)
    }

    /// Indexes a document, before [`SegmentBuilder::end_document`].
    fn add_values(&mut self, given: &NewDocument) -> Result<(), Refused> {
        let source = given.source;
        let mut document = document::read(source, &self.mapping, &mut self.habits)?;
        if let Some(number) = document.child_by.filter(|_| given.routing.is_none()) {
            return Err(join::no_routing(&self.mapping.fields[number]));
        }
        if let Some(new) = document.new.take() {
            document = self.read_with_new(source, *new)?;
        }
        if let Some(refused) = document.refused {
            return Err(refused);
        }
        if self.docs + document.children.len() as u32 >= Self::DOCS_MAX {
            return Err(Refused::Full);
        }
        let mapping = Arc::clone(&self.mapping);
        let kept = mapping.source.of(source)?;
        for child in &document.children {
            self.index(&child.values, given);
            self.content.nested_paths.push(self.docs, self.mapping.nested[child.path].path.as_bytes());
            self.stored.end_doc();
            self.docs += 1;
        }
        self.begin_document(given, kept.as_deref());
        self.index(&document.values, given);
        self.ignore(&document);
        self.habits.take_back(document.values);
        Ok(())
    }

    /// Begins a document with what the servers add, and `source`, which is kept of its text. Its
    /// stored fields are in their order: a search in OpenSearch stops to read where it has what it
    /// asked for, and may not see `_ignored`.
    pub(super) fn begin_document(&mut self, document: &NewDocument, source: Option<&[u8]>) {
        let given;
        let id = match &document.id {
            DocumentId::Made(id) => id.bytes(),
            DocumentId::Given(id) => {
                self.has_given_ids = true;
                given = encode(id);
                &given
            }
        };
        self.content.ids.push(id, self.docs);
        self.stored.add(write::ID, Stored::Bytes(id));
        if let Some(routing) = &document.routing {
            self.content.routings.push(self.docs, routing.as_bytes());
            self.content.field_names.push(self.docs, b"_routing");
            self.stored.add(write::ROUTING, Stored::Text(routing));
        }
        if let Some(source) = source {
            self.stored.add(write::SOURCE, Stored::Bytes(source));
        }
    }

    /// Ends the document whose values are indexed.
    pub(super) fn end_document(&mut self) {
        self.stored.end_doc();
        self.docs += 1;
    }

    /// Reads a document again, with a mapping that has its new fields. That is the mapping then,
    /// unless the document is refused.
    #[cold]
    fn read_with_new<'a>(&mut self, source: &'a [u8], mut new: NewFields) -> Result<Document<'a>, Refused> {
        if self.live.is_fixed() {
            let why = format!("the field {:?}, which is not in the mapping (name it there),", new.first());
            return Err(Refused::Unsupported(why));
        }
        loop {
            let current = self.live.current();
            if !Arc::ptr_eq(&current, &self.mapping) {
                // Another segment may have added the same fields.
                self.grow(current);
                let mut document = document::read(source, &self.mapping, &mut self.habits)?;
                match document.new.take() {
                    Some(more) => new = *more,
                    None => return Ok(document),
                }
            }
            let grown = Arc::new(self.mapping.with_fields(&new)?);
            let read = document::read(source, &grown, &mut Habits::default());
            let document = read.map_err(refused_again)?;
            if let Some(more) = &document.new {
                return Err(Refused::Unsupported(format!("the new field {:?}", more.first())));
            }
            if self.live.replace(&self.mapping, &grown) {
                self.grow(grown);
                return Ok(document);
            }
        }
    }

    /// Takes a mapping with more fields.
    fn grow(&mut self, mapping: Arc<Mapping>) {
        self.mapping = mapping;
        self.content.grow(&self.mapping);
        self.habits = Habits::default();
    }

    fn index(&mut self, values: &Values, document: &NewDocument) {
        for (number, value) in values {
            let field = &self.mapping.fields[*number];
            match value {
                Indexable::Exists => {}
                Indexable::OwnId => {
                    let id = Indexable::Term(document.id.text());
                    self.content.columns[*number].push(self.docs, &id);
                }
                value if field.indexed || field.doc_values => self.content.columns[*number].push(self.docs, value),
                // A segment has only fields whose column has a value, of which nothing is written.
                value if field.stored && self.content.columns[*number].is_empty() => {
                    self.content.columns[*number].push(self.docs, value);
                }
                _ => {}
            }
            if field.stored {
                store(&mut self.stored, write::FIRST + *number as u32, &field.kind, value);
            }
            if field.needs_name() {
                for name in names(field, self.mapping.target.product) {
                    self.content.field_names.push(self.docs, name.as_bytes());
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
            self.content.ignored.push(self.docs, name.as_bytes());
            if !self.mapping.target.has_ignored_values() {
                self.stored.add(write::IGNORED, Stored::Text(name));
            }
        }
    }

    /// Writes the segment, and returns the names of its files and what it held. `first_seq_no` is
    /// the sequence number of its first document, `primary_term` that of the shard. Of documents
    /// with one id, `keep` says which one stays.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or if there is no document.
    pub(crate) fn finish(
        mut self,
        first_seq_no: u64,
        primary_term: u64,
        keep: Keep,
    ) -> io::Result<(Built, Vec<String>, Content)> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
        if self.docs == 0 {
            return Err(invalid("a segment needs a document"));
        }
        let mut losers = self.content.ids.sort(keep);
        let order = Order::of(&self.mapping.sort, &mut self.content.columns, &self.content.ids, self.docs);
        if let Some(order) = &order {
            self.content.sort(order, &mut losers);
        }
        let mut deleted = Deleted::default();
        losers.iter().for_each(|&doc| deleted.extend(self.content.ids.places(doc)));
        let came = order.as_ref().map(|order| order.came.as_slice());
        if self.has_given_ids {
            self.list_ids(came)?;
        }
        let mut files = self.stored.finish(&self.options.folder, &self.name, &self.options.id, came)?;
        let version = self.mapping.target.lucene;
        let place = Place { folder: &self.options.folder, segment: &self.name, id: &self.options.id, docs: self.docs };
        let meta = write::Meta {
            first_seq_no,
            primary_term,
            docs_came: order.as_ref().map(|order| order.docs_came.as_slice()),
            parent_field: self.mapping.parent_field(),
            has_source: self.mapping.source != KeptSource::Nothing,
            ids: &self.content.ids,
            terms: [
                MetaTerms::new("_field_names", write::FIELD_NAMES, &mut self.content.field_names),
                MetaTerms::new("_ignored", write::IGNORED, &mut self.content.ignored)
                    .with_doc_values(self.mapping.target.has_ignored_values()),
                MetaTerms::new("_nested_path", write::NESTED_PATH, &mut self.content.nested_paths),
                MetaTerms::new("_routing", write::ROUTING, &mut self.content.routings),
            ],
        };
        let has_nested = self.content.ids.own_places().is_some();
        let fields = write::field_infos(&self.mapping.fields, &self.content.columns, &meta);
        files.extend(write::columns(&place, &self.mapping.fields, &mut self.content.columns, meta)?);
        files.push(write_field_infos(place.folder, place.segment, place.id, &fields, version)?);
        let sort = self.mapping.sort.iter().map(SortBy::encoded).collect();
        let info = SegmentInfo { docs: self.docs, has_nested, files: files.clone(), sort };
        write_segment_info(place.folder, place.segment, place.id, info, version)?;
        let duplicates = losers.len() as u32;
        files.push(format!("{}.si", self.name));
        let segment = Segment { name: self.name, id: self.options.id, docs: self.docs, deleted, duplicates };
        Ok((Built { segment, arrivals: self.arrivals }, files, self.content))
    }

    /// Writes the ids for the comparison with other segments. `came` has the number under which
    /// each document came, if it has another one now.
    fn list_ids(&self, came: Option<&[u32]>) -> io::Result<()> {
        let entries = self.content.ids.sorted().map(|(id, places)| {
            let (doc, children) = (places.end - 1, places.len() as u32 - 1);
            let came = came.map_or(doc, |came| came[doc as usize]);
            Entry { id, doc, came, children }
        });
        write_list(&self.options.folder, &self.name, entries)
    }
}

/// Stores a value as the servers do it.
fn store(stored: &mut StoredFields, field: u32, kind: &Kind, value: &Indexable) {
    match (value, kind) {
        (Indexable::Written(_, text), _) => stored.add(field, Stored::Text(text)),
        (Indexable::Text(text), _) => stored.add(field, Stored::Text(text)),
        (Indexable::Term(term), _) => stored.add(field, Stored::Bytes(term.as_bytes())),
        (Indexable::Address(address), _) => stored.add(field, Stored::Bytes(&address.to_be_bytes())),
        (Indexable::Number(is), Kind::Boolean) => stored.add(field, Stored::Text(if *is == 1 { "T" } else { "F" })),
        (Indexable::Number(number), Kind::Float) => stored.add(field, Stored::Float(values::float_of(*number))),
        (Indexable::Number(number), Kind::Double) => stored.add(field, Stored::Double(values::double_of(*number))),
        (Indexable::Number(number), Kind::Whole { point_bytes: 4, .. } | Kind::TokenCount { .. }) => {
            stored.add(field, Stored::Int(*number as i32));
        }
        (Indexable::Number(number), _) => stored.add(field, Stored::Long(*number)),
        (Indexable::Bytes(bytes), _) => stored.add(field, Stored::Bytes(bytes)),
        (Indexable::Feature(..) | Indexable::Range(_) | Indexable::Suggestion(_) | Indexable::Shape(_), _) => {}
        (Indexable::OwnId | Indexable::Exists, _) => {}
    }
}

/// What `_field_names` has of a field: OpenSearch also the objects above it.
fn names(field: &Field, product: KnownProduct) -> impl Iterator<Item = &str> {
    let dots = field.name.match_indices('.').map(|(at, _)| at).filter(move |_| product == KnownProduct::OpenSearch);
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

    pub(crate) fn suggestions_base(&self) -> (String, String) {
        self.base(SUGGEST_FORMAT)
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
