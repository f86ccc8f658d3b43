//! Builds one segment: documents become columns, and each column is written once.

use std::io;
use std::path::{Path, PathBuf};

use super::write;
use crate::analysis::WORDS;
use crate::build::column::{Addresses, Keywords, Numbers, Texts};
use crate::fields::document::{self, Document, Indexable, Refused};
use crate::fields::ids::{IdMaker, Ids, encode};
use crate::fields::mapping::{Field, Kind, Mapping, Product};
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
    Texts(Texts),
}

impl Column {
    fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Whole { .. } | Kind::Double | Kind::Float | Kind::Scaled(_) | Kind::Date(_) | Kind::Boolean => {
                Self::Numbers(Numbers::default())
            }
            Kind::Ip => Self::Addresses(Addresses::default()),
            Kind::Keyword { .. } => Self::Keywords(Keywords::new()),
            Kind::Text => Self::Texts(Texts::new()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.values.is_empty(),
            Self::Addresses(addresses) => addresses.values.is_empty(),
            Self::Keywords(keywords) => keywords.values.is_empty(),
            Self::Texts(texts) => texts.ends.is_empty(),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.memory(),
            Self::Addresses(addresses) => addresses.memory(),
            Self::Keywords(keywords) => keywords.memory(),
            Self::Texts(texts) => texts.memory(),
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
            (Self::Texts(texts), Indexable::Text(text)) => {
                texts.start(doc);
                WORDS.each(text, |word| texts.push(word));
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
    ids: Ids,
    stored: StoredWriter,
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
            ids: Ids::default(),
            stored,
            docs: 0,
        })
    }

    /// The documents so far.
    #[must_use]
    pub(crate) fn docs(&self) -> u32 {
        self.docs
    }

    /// Bytes in memory. Writing the segment needs as much again at most.
    #[must_use]
    pub(crate) fn memory(&self) -> usize {
        self.columns.iter().map(Column::memory).sum::<usize>() + self.ids.memory()
    }

    /// Adds a document with an id.
    ///
    /// # Errors
    ///
    /// If it is refused; the segment is then as before.
    pub(crate) fn add_with_id(&mut self, source: &[u8], id: &str) -> Result<(), Refused> {
        if !(1..=document::ID_MAX).contains(&id.len()) {
            return Err(Refused::Id);
        }
        self.add_encoded(source, &encode(id))
    }

    /// Adds a document with an id that is made here.
    ///
    /// # Errors
    ///
    /// If it is refused; the segment is then as before.
    pub(crate) fn add(&mut self, source: &[u8], ids: &mut IdMaker) -> Result<(), Refused> {
        self.add_encoded(source, &ids.make())
    }

    fn add_encoded(&mut self, source: &[u8], id: &[u8]) -> Result<(), Refused> {
        if self.docs == Self::DOCS_MAX {
            return Err(Refused::Full);
        }
        let document = document::read(source, self.mapping)?;
        self.index(&document);
        self.ids.push(id);
        self.stored.add(write::ID, Stored::Bytes(id));
        self.stored.add(write::SOURCE, Stored::Bytes(source));
        self.stored.end_doc();
        self.docs += 1;
        Ok(())
    }

    fn index(&mut self, document: &Document) {
        for (number, value) in &document.values {
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
        let mut ignored = document.ignored.clone();
        ignored.sort_unstable();
        ignored.dedup();
        for number in ignored {
            let name = &self.mapping.fields[number].name;
            self.ignored.push(self.docs, name.as_bytes());
            self.stored.add(write::IGNORED, Stored::Text(name));
        }
    }

    /// Writes the segment. `first_seq_no` is the sequence number of its first document,
    /// `primary_term` that of the shard.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, if there is no document, or if two have one id.
    pub(crate) fn finish(mut self, first_seq_no: u64, primary_term: u64) -> io::Result<Segment> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
        if self.docs == 0 {
            return Err(invalid("a segment needs a document"));
        }
        if let Some((a, b)) = self.ids.sort() {
            return Err(invalid(&format!("the documents {a} and {b} of the segment have one id")));
        }
        let mut files = self.stored.finish()?;
        let version = self.mapping.target.lucene;
        let place = Place { folder: &self.options.folder, segment: &self.name, id: &self.options.id, docs: self.docs };
        let meta = write::Meta {
            first_seq_no,
            primary_term,
            ids: &self.ids,
            field_names: &mut self.field_names,
            ignored: &mut self.ignored,
        };
        let fields = write::field_infos(&self.mapping.fields, &self.columns, &meta);
        files.extend(write::columns(&place, &self.mapping.fields, &mut self.columns, meta)?);
        files.push(write_field_infos(place.folder, place.segment, place.id, &fields, version)?);
        write_segment_info(place.folder, place.segment, place.id, self.docs, files, version)?;
        Ok(Segment { name: self.name, id: self.options.id })
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
