//! Text tables that several queries use are read once, and kept as columns in a temporary file.

use inrush_core::Code;
use std::fs::File;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use inrush_sources::SourceError;
use tempfile::TempPath;

use super::reading::Reading;
use super::scan::Work;
use super::table::Table;

/// Reads a table with `threads` threads into a file. Records that are not rows are passed to
/// `reading`.
pub(super) fn keep(table: &Arc<Table>, reading: &Arc<Reading>, threads: usize) -> Result<Table, SourceError> {
    let work = Work::new(Arc::clone(table), Arc::clone(reading), Arc::clone(&table.schema), true);
    copy(table, &work, threads).map(|path| table.in_file(path)).map_err(|problem| {
        // The source's own error says more.
        reading.failed().unwrap_or_else(|| {
            let names = table.names.join(", ");
            SourceError::new(names, format!("cannot be kept in a temporary file (TMPDIR says where): {problem}"))
                .coded(Code::OutputFailed)
        })
    })
}

fn copy(table: &Table, work: &Work, threads: usize) -> Result<TempPath, String> {
    let file = tempfile::Builder::new().prefix("inrush-table-").suffix(".arrow").tempfile().map_err(text)?;
    let (file, path) = file.into_parts();
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).map_err(text)?;
    let writer: FileWriter<BufWriter<File>> =
        FileWriter::try_new_with_options(BufWriter::new(file), &table.schema, options).map_err(text)?;
    let writer = Mutex::new(writer);
    let run = || -> Result<(), String> {
        while let Some(batch) = work.next().map_err(text)? {
            // A thread that panicked makes the others panic at the end of the scope.
            writer.lock().unwrap_or_else(PoisonError::into_inner).write(&batch).map_err(text)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // If the system starts no more threads, the existing ones do the work.
        let more = |_| std::thread::Builder::new().spawn_scoped(scope, run).ok();
        let threads: Vec<_> = (1..threads.max(1)).map_while(more).collect();
        let mut result = run();
        for thread in threads {
            match thread.join() {
                Ok(other) => result = result.and(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        result
    })?;
    writer.into_inner().unwrap_or_else(PoisonError::into_inner).finish().map_err(text)?;
    Ok(path)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
