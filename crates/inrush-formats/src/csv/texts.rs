//! The text of cells from which ids and similar values are made, if documents write the cells
//! differently: `1` in a column of decimals is the number `1.0`, but the id `1`.

use std::iter::Peekable;
use std::sync::Arc;

use inrush_core::DocMeta;

use super::basis::{Basis, Column};
use super::dialect::Layout;
use super::options::is_null;
use super::row::{Row, RowSink};
use super::scan::scan_rows;

/// Columns whose text is kept.
pub(super) struct Texts {
    /// By column: its name if its text is kept.
    columns: Vec<Option<Arc<str>>>,
    /// Whether the type of such a column changes how its values are written.
    always: bool,
}

impl Texts {
    /// `None` if documents write the columns of `fields` as their cells are.
    pub(super) fn new(fields: &[String], columns: &[Column]) -> Option<Self> {
        let wanted = |column: &Column| !column.is_integer() && fields.iter().any(|field| field == column.name());
        let kept = |column: &Column| wanted(column).then(|| Arc::from(column.name()));
        let otherwise = |column: &Column| match column.basis() {
            Basis::Declared(column_type) | Basis::Shown(column_type) => column_type.writes_otherwise(),
            Basis::Nothing | Basis::EachCell { .. } => false,
            Basis::InZone(..) => true,
        };
        let always = columns.iter().any(|column| wanted(column) && otherwise(column));
        let columns: Vec<Option<Arc<str>>> = columns.iter().map(kept).collect();
        columns.iter().any(Option::is_some).then_some(Texts { columns, always })
    }

    /// Whether every chunk has to be read for texts. If not, only chunks with a cell of a wider
    /// type than its column's.
    pub(super) fn always(&self) -> bool {
        self.always
    }

    /// One entry for each row of `data` that begins at one of `starts`.
    pub(super) fn of_rows(
        &self,
        data: &[u8],
        starts: impl Iterator<Item = usize>,
        layout: &Layout,
        nulls: &[String],
    ) -> Vec<DocMeta> {
        let mut rows = Rows { texts: self, nulls, starts: starts.peekable(), row: Vec::new(), all: Vec::new() };
        scan_rows(data, layout, &mut rows);
        rows.all
    }
}

struct Rows<'a, I: Iterator<Item = usize>> {
    texts: &'a Texts,
    nulls: &'a [String],
    /// Where the rows begin that count.
    starts: Peekable<I>,
    row: Vec<(Arc<str>, String)>,
    all: Vec<DocMeta>,
}

impl<I: Iterator<Item = usize>> RowSink for Rows<'_, I> {
    fn cell(&mut self, index: usize, contents: &[u8]) {
        if let Some(Some(name)) = self.texts.columns.get(index)
            && !is_null(self.nulls, contents)
            // A row that is not UTF-8 is rejected.
            && let Ok(text) = str::from_utf8(contents)
        {
            self.row.push((Arc::clone(name), text.to_owned()));
        }
    }

    fn row(&mut self, row: Row) -> bool {
        let texts = std::mem::take(&mut self.row);
        if self.starts.next_if_eq(&row.start).is_some() {
            self.all.push(DocMeta::default().with_texts(texts));
        }
        true
    }
}
