//! Writes indices that Lucene, and with it OpenSearch and Elasticsearch, opens.
//!
//! All documents are there in advance. So they become columns, and each segment is written once:
//! terms are interned, ids, points and ordinals are sorted by radix, and there is no log, no
//! refresh and no merge.
//!
//! A [`Mapping`] says what is indexed of each field, documents add fields to a [`LiveMapping`], a
//! [`Shard`] takes documents on any number of threads, and a [`ShardSnapshot`] hands the index
//! over. Values that come in columns are indexed without reading the text of their documents. What
//! the mapping or a document asks for beyond what is supported is refused by its name, and nothing
//! is left out silently.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use inrush_lucene::{
//!     Keep, KnownProduct, LiveMapping, Mapping, NewDocument, ServerVersion, Shard, ShardOptions,
//!     ShardSnapshot,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = ShardSnapshot::open(Path::new("repository/indices/k3lI…/0"))?;
//! let lucene = snapshot.lucene();
//! let target = ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene };
//! let mapping = serde_json::json!({ "properties": { "n": { "type": "long" } } });
//! let mapping = LiveMapping::new(Mapping::parse(&mapping, target)?);
//! let folder = Path::new("scratch");
//! let (segment_memory, random) = (128 << 20, [7; 32]);
//! let keep = Keep::Last;
//! let options =
//!     ShardOptions { folder: folder.into(), primary_term: 1, segment_memory, random, keep };
//! let shard = Shard::new(options, &mapping);
//! let mut writer = shard.writer();
//! writer.add(&NewDocument::with_id(br#"{"n":1}"#, "first"))?;
//! writer.finish()?;
//! shard.commit(snapshot.generation(), snapshot.user_data())?;
//! snapshot.fill(folder, [7; 16])?;
//! # Ok(())
//! # }
//! ```

mod analysis;
mod build;
mod fields;
mod formats;
mod hash;
mod memory;
mod radix;
mod repository;

pub use build::shard::{
    AddError, Committed, DocumentId, MadeId, MadeIds, NewDocument, Shard, ShardOptions, ShardWriter,
};
pub use fields::ids::Keep;
pub use fields::live::LiveMapping;
pub use fields::mapping::Mapping;
pub use fields::refused::Refused;
pub use fields::target::{KnownProduct, ServerVersion, Unsupported};
pub use repository::ShardSnapshot;

/// Calls `visit` with each term that a built-in analyser of the servers makes of a text, and with
/// where its word is. `None` if the analyser is not known here.
pub fn analyze(analyzer: &str, text: &str, visit: impl FnMut(std::ops::Range<usize>, &[u8])) -> Option<()> {
    analysis::Plain::named(analyzer).map(|analyzer| analyzer.each_at(text, visit))
}

/// A term of a text: how many positions further it is than the one before, and where it starts and
/// ends in units of UTF-16. The last one is the end of the text, and has no bytes.
#[doc(hidden)]
pub type AnalyzedTerm<'a> = (Option<&'a [u8]>, u32, (u32, u32));

/// An analyser of the settings of an index.
#[doc(hidden)]
pub struct SettingsAnalyzer(analysis::Analyzer);

impl SettingsAnalyzer {
    /// Reads it for a version of Lucene.
    ///
    /// # Errors
    ///
    /// The part of it that is not known.
    pub fn read(
        settings: &serde_json::Map<String, serde_json::Value>,
        name: &str,
        lucene: [u32; 3],
    ) -> Result<Self, String> {
        analysis::Analysis::of_settings(settings, lucene).analyzer(name).map(Self)
    }

    /// Calls `visit` with each term of a text; returns whether they are those of a server.
    pub fn each(&self, text: &str, mut visit: impl FnMut(AnalyzedTerm)) -> bool {
        match &self.0 {
            analysis::Analyzer::Plain(plain) => {
                let units = |end: usize| text[..end].encode_utf16().count() as u32;
                plain.each_at(text, |place, term| visit((Some(term), 1, (units(place.start), units(place.end)))));
                visit((None, 0, (units(text.len()), units(text.len()))));
                true
            }
            analysis::Analyzer::Pipeline(pipeline) => {
                let end = pipeline.each(text, true, |term| visit((Some(term.term), term.increment, term.offsets)));
                visit((None, end.increment, (end.offset, end.offset)));
                // A load looks at the end only of texts that are in doubt, or long.
                let is_seen = self.0.doubts(text) || text.len() > self.0.harmless(fields::refused::TERM_MAX);
                end.unread.is_none() || !is_seen
            }
        }
    }
}

/// Reads dates by a format of a mapping, which is `None` if it is not known: the milliseconds since
/// 1970, or none. `Err` is for a text of which only a server knows whether it is a date.
#[doc(hidden)]
pub fn read_dates(target: ServerVersion, format: &str) -> Option<impl Fn(&str) -> Result<Option<i64>, ()> + use<>> {
    let formats = fields::dates::Formats::parse(format, fields::dates::Dialect::of(target))?;
    Some(move |text: &str| match formats.moment(text) {
        None if formats.only_of_a_server(text).is_some() => Err(()),
        moment => Ok(moment.map(|moment| moment.millis)),
    })
}
