//! What the readers of a job's files share.

use std::collections::HashMap;
use std::sync::Arc;

use inrush_core::RowForm;

use super::buffer::BufferPool;
#[cfg(feature = "columns")]
use super::columns::BinaryForms;
use super::csv::ColumnType;
use super::format::{Format, FormatOptions};
use super::uses::Unused;
use super::warnings::Warnings;

/// The state that all readers of a job's files share.
pub struct Reading {
    /// How the files are read.
    pub options: FormatOptions,
    /// The warnings about their contents.
    pub warnings: Warnings,
    /// The options that no file so far has used.
    pub unused: Unused,
    /// The format of the last file that was opened. An empty file may have none.
    pub opened: Option<Format>,
    /// The types of columns found in earlier CSV files.
    pub(super) column_types: HashMap<String, ColumnType>,
    /// How binary values of earlier columnar files were written.
    #[cfg(feature = "columns")]
    pub(crate) binary_forms: BinaryForms,
    /// Fields whose original text is kept.
    pub texts: Vec<String>,
    /// How rows are written for the load.
    pub rows: RowForm,
    /// Buffers for reading.
    pub(super) chunks: Arc<BufferPool>,
    /// Buffers for documents.
    pub documents: Arc<BufferPool>,
}

impl Reading {
    /// The state before anything was read.
    pub fn new(options: FormatOptions, warnings: Warnings) -> Self {
        Reading {
            unused: Unused::new(&options.given, options.parse.is_some()),
            opened: None,
            options,
            warnings,
            column_types: HashMap::new(),
            #[cfg(feature = "columns")]
            binary_forms: BinaryForms::default(),
            texts: Vec::new(),
            rows: RowForm::default(),
            chunks: BufferPool::new(),
            documents: BufferPool::new(),
        }
    }

    /// A copy in the state before anything was read, with warnings of its own.
    pub fn anew(&self) -> Self {
        let (texts, rows) = (self.texts.clone(), self.rows.clone());
        Reading { texts, rows, ..Reading::new(self.options.clone(), Warnings::default()) }
    }

    /// Keeps the original text of these fields.
    pub fn keep_texts(&mut self, fields: &[String]) {
        self.texts = fields.to_vec();
    }
}
